"""What is kept of the others when events are forgotten, by a fixpoint of the tests' own."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from random import Random

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from microcosm.givens.facts import STRONGER
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import read_rules
from microcosm.queries.offline import Inconsistent
from microcosm.state.forget import without_events
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_reader import read_givens
from tests import oracle
from tests.enumeration import Facts, as_givens, up_to_renaming
from tests.notation import mc
from tests.oracle import Triple
from tests.propagation import Propagated, propagated

ALL = "abcd"


def stated(givens: Givens) -> set[Triple]:
    """The correspondences of givens, refuted ones included."""
    facts = (*givens.external.values(), *givens.refuted.values())
    return {(fact.left, str(fact.relation), fact.right) for fact in facts}


def initial(facts: set[Triple], events: set[str]) -> set[Triple]:
    """All that is judged initially of some events."""
    given = {fact for fact in facts if fact[1] != "!<"}
    return {(a, sign, b) for a, sign, b in oracle.initial(given) if {a, b} <= events}


def forgotten(
    facts: Facts, order: tuple[str, ...], at_once: bool
) -> tuple[Givens, Propagated, Propagated] | None:
    """The givens left, and what propagation tells of the others before and after."""
    old = propagated(facts)
    if old is None:
        return None
    givens, rules = as_givens(facts), read_rules()
    left = givens
    for some in [order] if at_once else [(event,) for event in order]:
        left = without_events(left, some, rules)
    kept = set(givens.named()) - set(order)
    new = propagated(stated(left))
    assert new is not None
    assert initial(stated(left), kept) == initial(set(facts), kept)
    return left, old.among(kept), new.among(kept)


@cache
def cases() -> list[tuple[Facts, Givens, Propagated, Propagated]]:
    """Of every microcosm of 4 events one event forgotten; of some two, in turn and at once."""
    found = []
    for k, facts in enumerate(up_to_renaming(ALL, superseding=True)):
        orders: list[tuple[tuple[str, ...], bool]] = [((ALL[k % 4],), True), ((ALL[k % 4 - 1],), True)]
        if k % 16 == 0:
            orders += [(two, at_once) for two in permutations(ALL, 2) for at_once in (False, True)]
        for order, at_once in orders:
            told = forgotten(facts, order, at_once)
            if told is not None:
                found.append((facts, *told))
    return found


def test_every_initial_judgement_and_every_refuted_order_of_the_others_stays() -> None:
    for facts, left, old, new in cases():
        assert new.refuted == old.refuted, (facts, left)
        assert new.before <= old.before
        assert new.related <= old.related


def test_that_a_pair_is_not_concurrent_is_lost_where_only_propagation_through_the_event_ordered_it() -> None:
    lost = 0
    for facts, left, old, new in cases():
        gone = old.before - new.before
        assert old.related - new.related == gone | {(b, a) for a, b in gone}
        for a, b in gone:
            lost += 1
            assert (a, "<", b) not in initial(set(facts), {a, b}), "it was judged offline alone"
            assert not Microcosm(left).offline(a, b, depth=0).relation
    assert lost


def test_the_smallest_such_loss() -> None:
    """b < d is proved offline, since d < b would put c before b; and so b < a, by way of d."""
    known = Microcosm(mc("d<a b||c b<>d c<d"))
    assert known.offline("b", "a", depth=0).relation is Relation.BEFORE
    before = known.online("b", "a")
    known.forget("d")
    assert known.offline("b", "a").refuted == (Relation.AFTER,)
    assert known.online("b", "a") is before, "nothing new is judged online"


@given(st.integers(0, 10**6))
def test_of_more_events_and_with_refutations_given(seed: int) -> None:
    rng = Random(seed)
    order = rng.sample("abcdef", 6)
    facts: list[Triple] = []
    for at, a in enumerate(order):
        for b in order[at + 1 :]:
            sign = rng.choice(("", "", "<", "||", "<>", "<>", "!<", "!>"))
            if sign:
                facts.append((b, "!<", a) if sign == "!>" else (a, sign, b))
    named = sorted({event for a, _, b in facts for event in (a, b)})
    gone = tuple(rng.sample(named, min(len(named), rng.randint(1, 3))))
    for at_once in (False, True):
        told = forgotten(tuple(facts), gone, at_once)
        if told is not None:
            assert told[2].refuted == told[1].refuted
            assert told[2].before <= told[1].before


def test_a_forgotten_event_leaves_no_stamp_clock_message_or_token() -> None:
    text = (
        "a < e < b\nstamp e = 3\nstamp a = 1\nclock e = p {p: 1}\nsend e = m p -> q\nreceive b = m q\n"
        "token t = a, e\ntoken u = a, b, e\ne !< c\n"
    )
    left = without_events(read_givens(text), ["e"], read_rules())
    assert "e" not in set(left.named())
    assert left.stamps == {"a": 1}
    assert left.clocks == {}
    assert [message.event for message in left.messages] == ["b"]
    assert left.tokens == {"u": ("a", "b")}


def test_what_the_stamp_of_a_forgotten_event_refuted_of_the_others_stays() -> None:
    """Nothing but orders and stamps is given: b is after a, whose stamp is later than that of c."""
    for stamps in ("stamp a = 5\nstamp c = 3\n", "stamp a = [5.5, 6]\nstamp c = [1, 2.5]\n"):
        known = Microcosm.parse("a < b\n" + stamps)
        assert Relation.BEFORE in known.offline("b", "c").refuted
        known.forget("a")
        assert [str(fact) for fact in known.givens.refuted.values()] == ["b !< c"]
        assert Relation.BEFORE in known.offline("b", "c").refuted


@pytest.mark.parametrize("again", ["receive y = m q", "send y = m o"])
def test_one_of_two_that_a_message_may_mean_does_not_count_when_the_other_is_forgotten(again: str) -> None:
    """m was received twice, or sent by two: which is meant is not known, and does not become known."""
    text = f"send s = m p\nsend t = n p\nreceive r = n q\nreceive x = m q\n{again}\ns < t\nordering causal\n"
    counting = Microcosm.parse(text.replace(f"{again}\n", ""))
    assert counting.offline("x", "r").relation is Relation.BEFORE
    known = Microcosm.parse(text)
    before = known.offline("x", "r").possible
    known.forget("y")
    assert (
        known.offline("x", "r").possible == before == (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)
    )


@given(st.integers(0, 10**6))
def test_nothing_more_is_known_of_the_others_by_the_messages_of_what_is_forgotten(seed: int) -> None:
    rng = Random(seed)
    events = rng.sample("abcdefg", 7)
    said = [f"{a} < {b}" for a, b in combinations(events, 2) if rng.random() < 0.25]
    for event in events:
        kind, message, process = rng.choice(("send", "receive")), rng.choice("mn"), rng.choice("pq")
        to = f" -> {rng.choice(('p', 'q', 'p, q'))}" if kind == "send" and rng.random() < 0.5 else ""
        said.append(f"{kind} {event} = {message} {process}{to}")
    said.append(f"ordering {rng.choice(list(STRONGER))}{rng.choice(('', ' interior'))}")
    said.append(rng.choice(("", "complete", "complete p", "complete p, q")))
    known = Microcosm.parse("\n".join(said))
    try:
        before = {(a, b): set(left) for a, b, left in known.offline_table()}
    except Inconsistent:
        reject()
    known.forget(events[0])
    assert all(before[a, b] <= set(left) for a, b, left in known.offline_table())


def test_a_log_of_which_something_is_not_told_is_complete_no_more_when_that_is_forgotten() -> None:
    """c may be before b, as both are of p; and so before y."""
    known = Microcosm.parse("process p = c, b\nb < y\ncomplete")
    known.forget("b")
    assert known.offline("c", "y").possible == (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)


def test_an_event_that_is_forgotten_is_none_of_a_complete_log() -> None:
    """What is written and read again does not conclude that it is concurrent with what came before it."""
    rows = "\n".join(f"event {name} process {name}" for name in "abc")
    known = Microcosm.parse(f"a < b\ncomplete\n{rows}")
    known.forget("b")
    again = Microcosm.parse(known.to_text())
    assert again == known
    assert (again.events, again.online("a", "b")) == (["a", "c"], Relation.UNKNOWN)
    assert again.offline("a", "b").relation is None
    assert again.offline("a", "c").relation is Relation.CONCURRENT
