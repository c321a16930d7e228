"""What may be, of whole microcosms: all small ones; random ones with clocks, tokens, stamps, refutations."""

from __future__ import annotations

import pickle
from collections import Counter
from functools import partial
from itertools import combinations, count, permutations
from random import Random
from threading import Thread

import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st

from microcosm import tuning
from microcosm.errors import Contradiction, Undefined
from microcosm.givens.columns import Message, OrderBuilder
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.queries.conflict import conflict, statement
from microcosm.queries.possible import Worlds, shown_by
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_reader import read_givens
from microcosm.text.statement import Clocked
from microcosm.worlds.constraints import constraints_of
from microcosm.worlds.possible import Possibilities, Undecided
from microcosm.worlds.propagation import MEMBERS
from microcosm.worlds.world import Candidate, World, fault
from tests import oracle, posets
from tests.enumeration import as_givens, enumerated, up_to_renaming
from tests.notation import mc
from tests.posets import Fact
from tests.strategies import microcosms, worlds_and_givens

STRIDE = 29

STATED = ((), (), ("<>",), ("<",), (">",), ("||",), ("!<",), ("<>", "!>"))
"""What may be stated of a pair."""


def facts_of(givens: Givens) -> tuple[list[str], list[Fact]]:
    """Events and facts of givens, pair by pair, by the oracle's reading of chain, clocks, tokens, stamps."""
    events = sorted(givens.named())
    at = {event: number for number, event in enumerate(events)}
    facts = [(at[a], sign, at[b]) for a, sign, b in oracle.stated(givens)]
    facts += [(at[fact.left], "!<", at[fact.right]) for fact in givens.refuted.values()]
    for a, b in permutations(givens.clocks, 2):
        one, other = givens.clocks[a], givens.clocks[b]
        own = one.entries.get(one.process, 0)
        apart = one.process != other.process and one.execution == other.execution
        if apart and other.entries.get(one.process, 0) < own:
            facts.append((at[a], "!<", at[b]))
    for a, b in permutations(givens.stamps, 2):
        match givens.stamps[a], givens.stamps[b]:
            case int(x), int(y) if x >= y:
                facts.append((at[a], "!<", at[b]))
            case (start, _), (_, end) if start > end:
                facts.append((at[a], "!<", at[b]))
    return events, facts


def exact(givens: Givens) -> None:
    """Possible sets, witnesses, consistency and conflict are those of the enumeration."""
    events, facts = facts_of(givens)
    worlds = Worlds(givens)
    fitting = posets.fitting(len(events), facts)
    assert (worlds.one() is not None) is bool(fitting)
    table = worlds.table()
    listed = {} if table is None else {(a, b): set(left) for a, b, left in table[0]}
    for (i, j), signs in posets.possible(len(events), facts).items():
        a, b = events[i], events[j]
        answer = worlds.possible(a, b)
        assert answer.exact
        assert {str(relation) for relation in answer.relations} == signs == set(map(str, answer.worlds))
        assert {str(relation) for relation in listed.get((a, b), ())} == signs
        for relation, witness in answer.worlds.items():
            shown = posets.holds_in(events, witness.before)
            assert posets.sign(shown, i, j) == str(relation)
            assert fitting >> posets.posets(len(events)).index(shown) & 1
            rank = {event: number for number, event in enumerate(witness.order)}
            assert sorted(rank) == events
            assert all(rank[x] < rank[y] for x, y in witness.before)
            assert not any(
                posets.holds_in(events, set(witness.before) - {p}) == shown for p in witness.before
            )
    found = conflict(givens)
    assert (found is None) is bool(fitting)
    if found is not None:
        minimal(found)


def minimal(found: list[object]) -> None:
    """No world fits, and one does as soon as any given is dropped."""
    assert not fits(found)
    for dropped in range(len(found)):
        assert fits(found[:dropped] + found[dropped + 1 :])


def fits(found: list[object]) -> bool:
    """Whether the statements, read back, fit a world, by the oracle."""
    givens = Givens()
    for each in found:
        if isinstance(each, Correspondence):
            givens.add(each)
        elif isinstance(each, Clocked):
            givens.clocks[each.event] = each.clock
        else:
            givens.stamps[each.event] = each.stamp
    events, facts = facts_of(givens)
    return bool(posets.fitting(len(events), facts))


def test_every_microcosm_of_3_events() -> None:
    for facts in enumerated("abc", superseding=True):
        exact(as_givens(facts))


def test_a_sample_of_the_microcosms_of_4_events() -> None:
    for facts in enumerated("abcd")[::STRIDE]:
        exact(as_givens(facts))


def test_every_microcosm_of_4_events() -> None:
    for facts in up_to_renaming("abcd", superseding=True):
        exact(as_givens(facts))


@pytest.mark.slow
def test_the_108_of_4_events_that_fit_no_world_are_found() -> None:
    assert sum(Worlds(as_givens(facts)).one() is None for facts in enumerated("abcd")) == 108


@pytest.mark.slow
def test_without_related_pairs_all_fit_a_world() -> None:
    plain = [facts for facts in enumerated("abcd") if all(sign != "<>" for _, sign, _ in facts)]
    assert all(Worlds(as_givens(facts)).one() is not None for facts in plain)


@given(microcosms(2, 5))
def test_microcosms_with_clocks_and_tokens(givens: Givens) -> None:
    exact(givens)


@st.composite
def anything(draw: st.DrawFn) -> Givens:
    """Givens of up to 5 events that need not be consistent, stamps and clocks of their own included."""
    givens = Givens(internal=draw(st.lists(st.sampled_from("abcde"), max_size=3, unique=True)))
    for a, b in combinations("abcde", 2):
        for relation in draw(
            st.sampled_from([(), (), ("<>",), ("<",), (">",), ("||",), ("!<",), ("<>", "!>")])
        ):
            givens.add(Correspondence(a, Relation(relation), b))
    numbers = st.integers(0, 4)
    spans = st.tuples(numbers, numbers).map(lambda two: (float(min(two)), float(max(two))))
    givens.stamps = draw(st.dictionaries(st.sampled_from("abcde"), st.one_of(numbers, spans), max_size=3))
    clock = st.builds(
        Clock,
        st.sampled_from("pq"),
        st.dictionaries(st.sampled_from("pq"), st.integers(0, 2), max_size=2),
        st.booleans(),
    )
    givens.clocks = draw(st.dictionaries(st.sampled_from("abcde"), clock, max_size=2))
    if draw(st.booleans()):
        givens.tokens["lock"] = tuple(draw(st.permutations("abcde")))[: draw(st.integers(2, 4))]
    return givens


@given(anything())
def test_whatever_is_given(givens: Givens) -> None:
    exact(givens)


@given(anything(), st.lists(st.permutations("abcde").map(lambda p: (p[0], p[1])), max_size=6, unique=True))
def test_a_line_shows_that_a_world_fits_where_nothing_but_the_order_is_given(
    others: Givens, stated: list[tuple[str, str]]
) -> None:
    linking = OrderBuilder()
    for pair in stated:
        linking.extend(pair, ["m"])
    for givens in (Givens(internal=others.internal), others):
        givens.external = {}
        givens.set_order_columns(linking.links())
        line = {event: at for at, event in enumerate(givens.named())}
        shown = shown_by(givens, partial(map, line.__getitem__))
        assert not shown or Worlds(givens).fits()
    chained = Givens(internal=others.internal)
    chained.set_order_columns(linking.links())
    try:
        places = Microcosm(chained)._engine.universe.places
    except Contradiction:
        line = {event: at for at, event in enumerate(chained.named())}
        assert not shown_by(chained, partial(map, line.__getitem__))
    else:
        assert shown_by(chained, places)


AGAINST = Givens(clocks={f"{p}{n}": Clock(p, {p: n}) for p in "pq" for n in (1, 2)})
AGAINST.add(Correspondence("p1", Relation.BEFORE, "q1"))  # of which its clock has not heard


@st.composite
def clocked(draw: st.DrawFn) -> Givens:
    """A run of two processes with clocks, one of which may be wrong, and some statements beside it."""
    givens = Givens()
    for at, event in enumerate("abcde"):
        process = draw(st.sampled_from("pq"))
        heard = draw(st.sampled_from(["", "", *"abcd"[:at]]))
        seen = [givens.clocks[each].entries for each in givens.clocks if each == heard]
        seen += [clock.entries for clock in givens.clocks.values() if clock.process == process][-1:]
        entries = {of: max((each.get(of, 0) for each in seen), default=0) for of in "pq"}
        entries[process] += 1
        givens.clocks[event] = Clock(process, entries)
    if draw(st.booleans()):
        del givens.clocks[draw(st.sampled_from("abcde"))]
    if draw(st.integers(0, 3)) == 0:
        odd = draw(st.sampled_from(sorted(givens.clocks)))
        entries = draw(st.dictionaries(st.sampled_from("pq"), st.integers(0, 3), min_size=1))
        run = draw(st.sampled_from([None, None, "run"]))
        givens.clocks[odd] = Clock(draw(st.sampled_from("pq")), entries, draw(st.booleans()), run)
    for a, b in draw(st.lists(st.sampled_from([*combinations("abcde", 2)]), max_size=2, unique=True)):
        givens.add(Correspondence(a, Relation(draw(st.sampled_from(["<", ">", "||", "!<"]))), b))
    return givens


@given(clocked(), st.sampled_from([1, 64]))
@example(AGAINST, 1)
def test_clocks_of_very_many_events_are_asked_one_by_one(givens: Givens, a_chain: int) -> None:
    """And say what the enumeration says; here of very few."""
    events, facts = facts_of(givens)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "CLOCK_ROWS_UP_TO", 0)
        patch.setattr(tuning, "EVENTS_A_CHAIN", a_chain)
        worlds = Worlds(givens)
        assert (worlds.one() is not None) is bool(posets.fitting(len(events), facts))
        for (i, j), signs in posets.possible(len(events), facts).items():
            assert set(map(str, worlds.possible(events[i], events[j]).relations)) == signs


def test_a_world_that_the_clocks_refute_does_not_pass() -> None:
    clocks = {"a": Clock("p", {"p": 1}), "b": Clock("q", {"q": 1}), "c": Clock("q", {"q": 2})}
    position = {"a": 0, "b": 1, "c": 2}
    for many in (3, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tuning, "CLOCK_ROWS_UP_TO", many)
            known = constraints_of(Givens(clocks=clocks), position, 3)
        assert (known.clocks is None) is (many == 3)
        assert fault(known, Candidate.of(3, [(1, 2)])) is None
        assert fault(known, Candidate.of(3, [(1, 2), (0, 1)])) is not None
        assert fault(known, Candidate.of(3, [(1, 2), (0, 2)])) is not None


@given(worlds_and_givens(4, 8))
def test_what_holds_in_a_world_of_the_microcosm_is_possible(drawn: tuple[object, Givens]) -> None:
    world, givens = drawn
    known = Microcosm(givens)
    for a, b in combinations(world.events, 2):  # type: ignore[attr-defined]
        answer = known.possible(a, b)
        assert world.relation(a, b) in answer.relations  # type: ignore[attr-defined]
        for witness in answer.worlds.values():
            shown = witness.world()
            assert shown.fits(givens) or not set(givens.named()) <= set(shown.events)


@st.composite
def orders(draw: st.DrawFn) -> Givens:
    """Nothing but `<`, stated and internal, and now and then messages under an ordering."""
    chain = draw(st.permutations("abcdef"))
    givens = Givens(internal=[event for event in chain if draw(st.booleans())])
    for a, b in draw(st.lists(st.sampled_from([*combinations(chain, 2)]), max_size=5)):
        givens.add(Correspondence(a, Relation.BEFORE, b))
    if draw(st.booleans()):
        givens.messages = [Message("send", "a", "m", "p"), Message("receive", "g", "m", "q")]
        givens.orderings = draw(st.sampled_from([[], ["fifo 1-1"]]))
    return givens


@given(st.one_of(orders(), microcosms(2, 5)))
def test_what_is_read_off_the_order_of_an_engine_is_what_is_searched(givens: Givens) -> None:
    try:
        known = Microcosm(givens)
    except Contradiction:
        reject()
    mine, theirs = known.worlds, Worlds(givens)
    for a, b in combinations([*givens.named(), "nobody", "else"], 2):
        one, other = mine.possible(a, b), theirs.possible(a, b)
        assert (one.relations, one.exact, one.ignored) == (other.relations, other.exact, other.ignored)
        assert [*one.worlds] == [*other.worlds]
        for relation, witness in one.worlds.items():
            shown = other.worlds[relation]
            assert (len(witness), witness.order, witness.before) == (len(shown), shown.order, shown.before)


def test_a_world_that_is_looked_at_after_a_change_is_one_of_before() -> None:
    known = Microcosm(mc("a<b b<c d<e"))
    answer = known.possible("c", "e")
    known.add("e < a")
    witness = pickle.loads(pickle.dumps(answer.worlds[Relation.CONCURRENT]))
    assert witness.before == answer.worlds[Relation.CONCURRENT].before == [("a", "b"), ("b", "c"), ("d", "e")]
    assert len(witness) == len(witness.order) == 5
    assert known.possible("c", "e").relations == (Relation.AFTER,)


def test_a_pair_of_a_log_that_orders_no_more_than_it_says_makes_no_world() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Possibilities, "__init__", pytest.fail)
        known = Microcosm(mc("a<b b<c d<e"))
        assert known.possible("a", "c").relations == (Relation.BEFORE,)
        assert len(known.possible("a", "e").worlds) == 3
        assert known.offline("a", "c").relation is Relation.BEFORE


def test_an_event_that_nothing_names_may_stand_anywhere() -> None:
    known = Microcosm(mc("a<b"))
    answer = known.possible("zz", "a")
    assert [str(relation) for relation in answer.relations] == ["<", ">", "||"]
    assert sorted(answer.worlds[Relation.CONCURRENT].order) == ["a", "b", "zz"]
    assert answer.worlds[Relation.BEFORE].before == [("a", "b"), ("zz", "a")]
    assert len(known.possible("y", "zz").relations) == 3
    with pytest.raises(Undefined):
        known.possible("a", "a")


def test_possibilities_follow_an_evolution() -> None:
    known = Microcosm(mc("a<b a<>c"))
    assert len(known.possible("b", "c").relations) == 3
    known.add("b || c")
    assert known.possible("a", "c").relations == (Relation.BEFORE,)
    known.remove("b || c")
    assert known.possible("a", "c").relations == (Relation.BEFORE, Relation.AFTER)


def test_the_contradiction_that_condition_4_does_not_see() -> None:
    """Both directions of c <> d are refuted (108 microcosms of 4 events are like this one)."""
    known = Microcosm(mc("a<c c<b a||d b||d c<>d x<y"))
    assert known.possible("a", "b").relations == ()
    assert known.worlds.one() is None
    found = known.conflict()
    assert found is not None
    assert [statement(given) for given in found] == ["a < c", "c < b", "a || d", "b || d", "c <> d"]


def test_a_conflict_with_a_long_chain_and_a_large_token_stays_small() -> None:
    names = [f"e{k}" for k in range(200)]
    givens = Givens(internal=names, stamps={"e150": 3, "e20": 8}, tokens={"lock": tuple(names[::2])})
    found = conflict(givens)
    assert found is not None
    assert [statement(given) for given in found] == ["e20 < e150", "stamp e20 = 8", "stamp e150 = 3"]
    givens = Givens(tokens={"lock": tuple(names)})
    givens.add(Correspondence("e7", Relation.CONCURRENT, "e99", "message m"))
    found = conflict(givens)
    assert found is not None
    assert [(str(given), given.source) for given in found if isinstance(given, Correspondence)] == [
        ("e7 <> e99", "token lock"),
        ("e7 || e99", "message m"),
    ]


def test_a_chain_that_runs_into_a_given_is_found_without_a_search() -> None:
    givens = Givens(stamps={"e900": 4, "e100": 9})
    for k in range(1000):
        givens.add(Correspondence(f"e{k}", Relation.BEFORE, f"e{k + 1}"))
        givens.add(Correspondence(f"x{k}", Relation.RELATED, f"e{k * 7919 % 1000}"))
    found = conflict(givens)
    assert found is not None
    assert len(found) == 802
    givens.add(Correspondence("e501", Relation.BEFORE, "e500"))
    assert {statement(given) for given in conflict(givens) or ()} == {"e500 < e501", "e501 < e500"}


def test_told_to_stop_it_says_so() -> None:
    known = Microcosm(mc("a<>b c<>d a||c"))
    answer = known.possible("a", "b", stop=lambda: True)
    assert not answer.exact
    assert answer.relations == (Relation.BEFORE, Relation.AFTER)
    with pytest.raises(Undecided):
        known.worlds.one(stop=lambda: True)
    assert known.possible("a", "b").exact


def test_stamps_of_many_events_cost_no_pairs() -> None:
    size = 20_000
    givens = Givens(stamps={f"e{k}": (k * 7919) % size for k in range(size)})
    givens.add(Correspondence("e5", Relation.CONCURRENT, "e9"))
    known = Microcosm(givens)
    low, high = sorted(("e1234", "e777"), key=lambda e: (int(e[1:]) * 7919) % size)
    assert known.possible(low, high).relations == (Relation.BEFORE, Relation.CONCURRENT)
    assert known.possible(high, low).relations == (Relation.AFTER, Relation.CONCURRENT)


def test_of_a_token_only_the_pairs_that_contradict_are_in_a_conflict() -> None:
    """All three events have to be under it, and two of the three pairs are enough."""
    givens = read_givens("token t = a, b, c\nb !< a\nc !< b\na !< c\n")
    found = conflict(givens)
    assert found is not None
    related, others = found[:-3], [statement(given) for given in found[-3:]]
    assert others == ["b !< a", "c !< b", "a !< c"]
    assert len(related) == 2
    assert {statement(given) for given in related} < {"a <> b", "a <> c", "b <> c"}


@given(microcosms(), microcosms())
def test_tables_tell_what_one_has_that_another_has_not(some: Givens, others: Givens) -> None:
    """Counts, differences and what is common are those of the pairs, whatever events either names."""
    one, other = Worlds(some).propagated(), Worlds(others).propagated()
    if one is None or other is None:
        reject()
    mine, theirs = ({(a, b): left for a, b, left in table} for table in (one, other))
    assert one.counts() == Counter(mine.values())
    changed = {(a, b): left for a, b, left in one.unlike(other)}
    assert changed == {pair: left for pair, left in mine.items() if left != theirs.get(pair, MEMBERS)}
    for (a, b), left in {(a, b): left for a, b, left in one.common(other)}.items():
        assert left == tuple(r for r in mine[a, b] if r in theirs.get((a, b), MEMBERS))


def test_threads_that_ask_at_once_are_told_what_each_would_be_told_alone() -> None:
    """Another one asks while a search has assumed something: it was told what follows from that, too."""
    world, rng = World.random("abcdefgh", Random(1), 0.2), Random(2)
    told = [(a, world.relation(a, b), b) for a, b in combinations(world.events, 2) if rng.random() < 0.8]
    text = "\n".join(f"{a} {'||' if r is Relation.CONCURRENT else '<>'} {b}" for a, r, b in told)
    pairs = [*combinations(world.events, 2)]

    def told_of(known: Microcosm) -> dict[tuple[str, str], tuple[Relation, ...]]:
        return {pair: known.possible(*pair).relations for pair in pairs}

    def beside(pair: tuple[str, str]) -> None:
        known, found, others, asked = Microcosm.parse(text), {}, list[Thread](), count(1)

        def stop() -> bool:
            if next(asked) == 3:
                others.append(Thread(target=lambda: found.update(told_of(known))))
                others[0].start()
                others[0].join(0.02)
            return False

        assert known.possible(*pair, stop).relations == expected[pair]
        for other in others:
            other.join()
            assert found == expected

    expected = told_of(Microcosm.parse(text))
    for pair in pairs:
        beside(pair)
