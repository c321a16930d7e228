"""The statements of Worlds of Events, section 5 and 6, on all microcosms of three events and samples of more.

What they say of bisimilarity is held to greatest fixpoints over whole graphs of evolutions.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, islice, permutations
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from microcosm import Contradiction, Microcosm, Relation, bisimilar
from microcosm.compare import bisimilarity as module
from microcosm.compare.bisimilarity import Bisimilarity, after, irredundant, redundant
from microcosm.compare.verdict_rows import analogous
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence
from microcosm.givens.relation import Relation as R
from tests import oracle
from tests.compare.test_analogy import BOOKS
from tests.enumeration import Facts, as_givens, enumerated, inside
from tests.fixpoint import State, classes, forward_classes, removals
from tests.model import same_givens
from tests.strategies import microcosms
from tests.thorough import draws

Key = tuple[tuple[tuple[str, str], str | None], ...]


def table_of(facts: Facts | State, events: str) -> Key:
    """All verdicts on `events`, by the oracle."""
    return tuple(oracle.tabulate(events, facts, inside(tuple(facts))).items())


@cache
def of_three() -> dict[State, Microcosm]:
    return {frozenset(facts): Microcosm(as_givens(facts), strict=True) for facts in enumerated("abc")}


def pairs_of_three() -> list[tuple[State, State]]:
    return list(combinations(of_three(), 2))


def sampled_of_four(count: int, *, irredundant: bool = False) -> list[tuple[Facts, Facts]]:
    """Pairs of microcosms of four events, half of them analogous if there are so many."""
    rng = Random(4)
    sample = rng.sample(enumerated("abcd"), 1500)

    def wanted(facts: Facts) -> bool:
        return not irredundant or not redundant(Microcosm(as_givens(facts)))

    alike: dict[Key, list[Facts]] = {}
    for facts in sample:
        alike.setdefault(table_of(facts, "abcd"), []).append(facts)
    groups = [list(filter(wanted, group)) for group in alike.values() if len(group) > 1]
    pairs = [pair for group in groups for pair in combinations(group, 2)][: count // 2]
    others = filter(wanted, rng.sample(sample, len(sample)))
    return [*pairs, *islice(zip(others, others, strict=False), count - len(pairs))]


# Forward


def test_analogy_is_equality_of_all_verdicts() -> None:
    """Over all pairs of 3 events; there are 105 classes."""
    tables = {state: table_of(state, "abc") for state in of_three()}
    assert (len(tables), len(set(tables.values()))) == (111, 105)
    for one, other in pairs_of_three():
        found = bisimilar(of_three()[one], of_three()[other])
        assert found.holds is (tables[one] == tables[other])
        if not found.holds:
            assert found.witness is not None
            assert found.witness.pair is not None
            assert found.witness.path == ()
            signs = tuple(dict(tables[state])[found.witness.pair] for state in (one, other))
            assert tuple(v.value for v in found.witness.verdicts or ()) == signs
            assert signs[0] != signs[1]


def test_analogy_of_four_events() -> None:
    for one, other in sampled_of_four(600):
        same = table_of(one, "abcd") == table_of(other, "abcd")
        assert analogous(Microcosm(as_givens(one)), Microcosm(as_givens(other))) is same


@cache
def forward(*, updating: bool) -> dict[State, int]:
    """The forward class of each microcosm of 3 events.

    Additions may name a fourth event, and must: of 3 events alone a microcosm that decides every pair cannot
    evolve at all, and so would be like any other.
    """
    found = forward_classes("abcd", updating=updating)
    return {state: found[state] for state in of_three()}


def test_theorem_5_10_analogous_microcosms_are_forward_bisimilar() -> None:
    """By additions, and by updates too, which the paper leaves open."""
    for one, other in pairs_of_three():
        if analogous(of_three()[one], of_three()[other]):
            assert forward(updating=True)[one] == forward(updating=True)[other]
            assert forward(updating=False)[one] == forward(updating=False)[other]


@given(microcosms(2, 6), st.data())
def test_theorem_5_10_analogous_microcosms_stay_so_whatever_both_are_told(
    givens: Givens, data: st.DataObject
) -> None:
    one, other = Microcosm(givens), Microcosm(redundantly(givens, data))
    assert analogous(one, other)
    fact = data.draw(facts_about(one.events))
    told = []
    for known in (one, other):
        try:
            known.add(fact)
            told.append(True)
        except Contradiction:
            told.append(False)
    assert told[0] is told[1]
    assert analogous(one, other)


def test_theorem_5_12_order_of_arrival_does_not_matter() -> None:
    """More of it stands in test_theorems.py."""
    facts = ["a < b", "b <> c", "c || d", "d < e", "a < c"]
    first = Microcosm.parse("\n".join(facts))
    for order in permutations(facts):
        later = Microcosm()
        for fact in order:
            later.add(fact)
        assert bisimilar(first, later).holds
        assert bisimilar(first, later, backward=True).holds


def test_theorem_5_14_forward_bisimilar_microcosms_are_analogous_with_updates() -> None:
    found = forward(updating=True)
    assert len(set(found.values())) == 105
    for one, other in pairs_of_three():
        assert (found[one] == found[other]) is bisimilar(of_three()[one], of_three()[other]).holds


def test_theorem_5_14_fails_under_additions_alone() -> None:
    """As theory/errata-worlds.md says: 50 classes, which are those of analogy if `<>` is read as `||`."""
    found = forward(updating=False)
    assert len(set(found.values())) == 50
    vague, beside = frozenset({("a", "<>", "b")}), frozenset({("a", "||", "b")})
    assert found[vague] == found[beside]
    assert not bisimilar(of_three()[vague], of_three()[beside]).holds
    blurred = {state: tuple((p, "||" if s == "<>" else s) for p, s in blurry(state)) for state in found}
    assert len(set(blurred.values())) == 50
    for one, other in pairs_of_three():
        assert (found[one] == found[other]) is (blurred[one] == blurred[other])


def blurry(state: State) -> Key:
    """What is known in `state`; `?` and silence are taken together."""
    return tuple(
        (pair, sign if sign in ("<", ">", "||", "<>") else None) for pair, sign in table_of(state, "abc")
    )


def test_an_update_of_a_superseded_pair_changes_no_verdict() -> None:
    """In the default profile one of two analogous microcosms may have it to update, and the other not."""
    one, other = Microcosm.parse("a < b"), Microcosm.parse("a < b \n a <> b")
    other.update("a < b")
    assert bisimilar(one, other).holds


# Backward


def test_backward_bisimilarity_is_equality_of_the_givens() -> None:
    """Over all pairs of 3 events: all 111 are alone in their class."""
    backward = classes(of_three(), removals)
    assert len(set(backward.values())) == 111
    for one, other in pairs_of_three():
        assert not bisimilar(of_three()[one], of_three()[other], backward=True).holds
    for known in of_three().values():
        assert bisimilar(known, known.copy(), backward=True) == Bisimilarity(True)


@pytest.mark.slow
def test_backward_classes_of_four_events_are_singletons() -> None:
    states = [frozenset(facts) for facts in enumerated("abcd")]
    assert len(set(classes(states, removals).values())) == len(states) == 10_191


def test_backward_bisimilarity_of_four_events() -> None:
    for one, other in sampled_of_four(draws(80, 200)):
        here, there = Microcosm(as_givens(one)), Microcosm(as_givens(other))
        found = bisimilar(here, there, backward=True)
        assert found.holds is (set(one) == set(other))
        check_path(here, there, found)


def test_on_irredundant_microcosms_analogy_is_backward_bisimilarity() -> None:
    irredundant = {s: m for s, m in of_three().items() if not redundant(m)}
    assert len(irredundant) < len(of_three())
    for one, other in combinations(irredundant.values(), 2):
        assert bisimilar(one, other).holds is bisimilar(one, other, backward=True).holds
    for left, right in sampled_of_four(draws(80, 200), irredundant=True):
        one, other = Microcosm(as_givens(left)), Microcosm(as_givens(right))
        assert bisimilar(one, other).holds is bisimilar(one, other, backward=True).holds


# Theorems 6.3, 6.4 and 6.6 are no theorems; docs/theory/errata-worlds.md has what holds.

SMALL, LARGE = "a < c \n c < b", "a < b \n a < c \n c < b"


def test_theorem_6_3_analogous_microcosms_may_differ_after_a_removal() -> None:
    one, other = Microcosm.parse(SMALL), Microcosm.parse(LARGE)
    assert bisimilar(one, other).holds
    found = bisimilar(one, other, backward=True)
    assert not found.holds
    assert found.witness is not None
    assert [str(fact) for fact in found.witness.path or ()] == ["a < c"]
    assert found.witness.pair == ("a", "b")
    assert found.witness.verdicts == (Relation.UNKNOWN, Relation.BEFORE)
    assert found.witness.given is not None
    assert (found.witness.given.to, found.witness.given.statement) == (2, "a < b")


def test_theorem_6_4_as_corrected_the_order_of_removal_does_not_matter_where_givens_are_equal() -> None:
    for gone in permutations(["a < b", "a < c", "c < b"]):
        one, other = Microcosm.parse(LARGE), Microcosm.parse(LARGE)
        for statement, elsewhere in zip(gone, reversed(gone), strict=True):
            one.remove(statement)
            other.remove(elsewhere)
        assert bisimilar(one, other, backward=True).holds


def test_theorem_6_6_analogy_does_not_imply_backward_bisimilarity_but_equal_givens_do() -> None:
    backward = classes(of_three(), removals)
    apart = [
        (one, other)
        for one, other in pairs_of_three()
        if table_of(one, "abc") == table_of(other, "abc") and backward[one] != backward[other]
    ]
    assert len(apart) == 6
    assert all({len(one), len(other)} == {2, 3} for one, other in apart)


# Witnesses


def facts_about(events: list[str]) -> st.SearchStrategy[Correspondence]:
    names = [*events, "new", "newer"]
    return st.builds(
        lambda pair, relation: Correspondence(pair[0], relation, pair[1]),
        st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True),
        st.sampled_from([R.BEFORE, R.CONCURRENT, R.RELATED]),
    )


def redundantly(givens: Givens, data: st.DataObject) -> Givens:
    """An analogous microcosm: what follows given too, what follows without it not given."""
    changed = givens.copy()
    known = Microcosm(givens)
    for a, b in combinations(known.events, 2):
        verdict = known.online(a, b)
        if verdict in (R.BEFORE, R.AFTER, R.CONCURRENT) and data.draw(st.booleans()):
            changed.add(Correspondence(a, verdict, b))
        if verdict in (R.BEFORE, R.AFTER) and data.draw(st.integers(0, 3)) == 0:
            changed.add(Correspondence(a, R.RELATED, b))
    for key in list(changed.external):
        if data.draw(st.booleans()):
            less = changed.copy()
            del less.external[key]
            if analogous(Microcosm(less), known):
                changed = less
    return changed


def without(givens: Givens, gone: tuple[tuple[str, str, str], ...]) -> Givens:
    left = givens.copy()
    left.external = {key: fact for key, fact in givens.external.items() if key not in gone}
    return left


def fewest_removals(one: Givens, other: Givens) -> int | None:
    """How many removals it takes until verdicts differ, trying all sets; the oracle judges."""
    events = sorted({*one.named(), *other.named()})
    keys = sorted({*one.external, *other.external})
    for size in range(len(keys) + 1):
        for gone in combinations(keys, size):
            tables = [oracle.verdict_table(events, without(each, gone)) for each in (one, other)]
            if tables[0] != tables[1]:
                return size
    return None


def check_path(one: Microcosm, other: Microcosm, found: Bisimilarity) -> None:
    """The witness is true, and its path a shortest one."""
    if found.holds:
        assert found.witness is None
        return
    assert found.witness is not None
    assert found.witness.given is not None
    path, pair = found.witness.path, found.witness.pair
    fewest = fewest_removals(one.givens, other.givens)
    assert (None if path is None else len(path)) == fewest
    if path is not None:
        assert pair is not None
        verdicts = tuple(
            oracle.verdict_table(pair, without(known.givens, tuple(fact.key() for fact in path)))[pair]
            for known in (one, other)
        )
        assert verdicts == tuple(v.value for v in found.witness.verdicts or ())
        assert verdicts[0] != verdicts[1]
        assert after(one, path).online(*pair).value == verdicts[0]


@given(microcosms(2, 5), st.data())
def test_the_path_is_a_shortest_one(givens: Givens, data: st.DataObject) -> None:
    assume(len(givens.external) <= 6)
    other = redundantly(givens, data)
    if data.draw(st.booleans()):
        other.internal = []
    if data.draw(st.integers(0, 3)) == 0:
        other.clocks = {}
    if data.draw(st.integers(0, 3)) == 0:
        other.tokens = {}
    assume(len({*givens.external, *other.external}) <= 9)
    one, two = Microcosm(givens), Microcosm(other)
    found = bisimilar(one, two, backward=True)
    if found.holds:
        assert same_givens(givens, other)
    check_path(one, two, found)


@pytest.mark.parametrize(
    ("one", "other", "path", "given"),
    [
        ("internal a < b", "a < b", ["a < b"], (1, "internal a < b")),
        ("a < b", "internal a < b", ["a < b"], (1, "a < b")),
        ("internal a < b", "internal a < b \n a < b", None, (2, "a < b")),
        ("internal a < b < c", "internal a < b \n b < c", ["b < c"], (1, "internal a < b < c")),
        ("a < b \n stamp a = 3", "a < b \n stamp a = 4", None, (1, "stamp a = 3")),
        ("a < b \n b !< a", "a < b", None, (1, "b !< a")),
        ("a < b \n a <> b", "a < b", ["a < b"], (1, "a <> b")),
        ("token t = a, b", "a <> b", ["a <> b"], (1, "token t = a, b")),
        ("a < b \n token t = a, b", "a < b \n a <> b", ["a < b", "a <> b"], (1, "token t = a, b")),
        ("clock a = p {p: 1} \n clock b = q {q: 1}", "a || b", ["a || b"], (1, "clock a = p {p: 1}")),
        ("complete", "", None, (1, "complete")),
        ("internal a", "", None, (1, "internal a")),
        ("send a = m p -> q", "send a = m p -> q, r", None, (1, "send a = m p -> q")),
        ("ordering causal", "ordering fifo-1-1", None, (1, "ordering causal")),
        ("a < x < b \n a < y < b", "a < x < b \n a < y < b \n a < b", ["a < x", "a < y"], (2, "a < b")),
        ("internal a < x \n x < y < b", "internal a < x \n x < y < b \n a < b", ["x < y"], (2, "a < b")),
    ],
)
def test_a_witness_names_what_only_one_is_given(
    one: str, other: str, path: list[str] | None, given: tuple[int, str]
) -> None:
    left, right = Microcosm.parse(one), Microcosm.parse(other)
    assert bisimilar(left, right).holds
    found = bisimilar(left, right, backward=True)
    assert found.witness is not None
    told = None if found.witness.path is None else [str(fact) for fact in found.witness.path]
    assert told == path
    assert found.witness.given is not None
    assert (found.witness.given.to, found.witness.given.statement) == given
    check_path(left, right, found)


def test_givens_are_the_same_however_they_are_written() -> None:
    one = 'a || b \n a < c from "here" \n clock d = p {p: 1, q: 0} \n token t = a, c'
    other = "name other \n token t = c, a \n clock d = p {p: 1} \n c > a \n b || a"
    assert bisimilar(Microcosm.parse(one), Microcosm.parse(other), backward=True).holds


def test_a_bisimilarity_is_never_true_by_accident() -> None:
    found = bisimilar(Microcosm(), Microcosm())
    with pytest.raises(TypeError, match="holds"):
        bool(found)


def test_many_candidates_are_no_trouble() -> None:
    """A chain and its whole closure: one link of the chain is enough."""
    names = [f"e{at:02}" for at in range(40)]
    chain = Microcosm.parse(" < ".join(names))
    closure = Microcosm.parse("\n".join(f"{a} < {b}" for a, b in combinations(names, 2)))
    found = bisimilar(chain, closure, backward=True)
    assert found.witness is not None
    assert [str(fact) for fact in found.witness.path or ()] == ["e00 < e01"]
    assert Counter(type(item) for item in found.witness.path or ()) == {Correspondence: 1}


# -- irredundant microcosms: what is left out follows, and nothing of what is left does --------------------


@given(microcosms(2, 7))
def test_the_reduction_is_analogous_and_minimal(givens: Givens) -> None:
    m = Microcosm(givens)
    reduced = irredundant(m)
    assert analogous(m, reduced)
    assert not redundant(reduced)
    events = sorted(givens.named())
    table = oracle.verdict_table(events, givens)
    assert oracle.verdict_table(events, reduced.givens) == table
    for key in reduced.givens.external:
        less = reduced.givens.copy()
        del less.external[key]
        assert oracle.verdict_table(events, less) != table


@given(microcosms(2, 6))
def test_intervals_and_trials_find_the_same(givens: Givens) -> None:
    m = Microcosm(givens)
    facts = [fact for _, fact in sorted(givens.external.items())]
    assert module._by_intervals(m, facts) == module._by_trial(m, facts)


@given(microcosms(2, 5), st.sampled_from(sorted(BOOKS)))
def test_the_reduction_under_other_rules(givens: Givens, book: str) -> None:
    try:
        m = Microcosm(givens, rules=BOOKS[book])
    except Contradiction:
        return
    reduced = irredundant(m)
    for fact in redundant(m):
        verdicts = m.online(fact.left, fact.right), reduced.online(fact.left, fact.right)
        assert verdicts[0] is verdicts[1]


@given(microcosms(2, 6))
def test_irredundant_and_analogous_with_equal_internal_events_means_equal_givens(givens: Givens) -> None:
    """The reduction is the same wherever one starts: the transitive reduction is unique."""
    m = Microcosm(givens)
    closed = givens.copy()
    for a, b, verdict in m.table():
        if verdict.value in ("<", ">"):
            closed.add(Correspondence(a, verdict, b))
    assert bisimilar(irredundant(m), irredundant(Microcosm(closed)), backward=True).holds


@pytest.mark.parametrize(("one", "other"), [("internal a < b", "a < b"), ("token t = a, b", "a <> b")])
def test_with_other_internal_events_or_tokens_it_does_not(one: str, other: str) -> None:
    """Nothing is redundant in either, they are analogous, and not given the same."""
    left, right = Microcosm.parse(one), Microcosm.parse(other)
    assert not redundant(left)
    assert not redundant(right)
    assert bisimilar(left, right).holds
    assert not bisimilar(left, right, backward=True).holds
