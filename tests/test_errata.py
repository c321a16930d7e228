"""The errata of theory/errata-worlds.md: each claim by its smallest example, and that no smaller exists."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product

import pytest

from microcosm import Contradiction, Microcosm, Relation, World, bisimilar
from microcosm.kernel import check as kernel
from microcosm.queries.offline import Inconsistent
from tests import oracle
from tests.enumeration import Facts, as_givens, enumerated, inside
from tests.fixpoint import State, Steps, additions, classes, forward_classes, known, removals

UNWORLDLY = (("a", "<", "c"), ("c", "<", "b"), ("a", "||", "d"), ("b", "||", "d"), ("c", "<>", "d"))


def worlds(events: str) -> Iterator[World]:
    """Every world on these events (19 on three, 219 on four)."""
    pairs = list(combinations(events, 2))
    for chosen in product(*([(), (pair,), (pair[::-1],)] for pair in pairs)):
        before = frozenset(pair for some in chosen for pair in some)
        if all((a, d) in before for a, b in before for c, d in before if b == c):
            yield World(tuple(events), before)


def true_in(world: World, facts: Facts) -> bool:
    """Whether all that is given holds in a world; worked out from its order alone."""
    for a, sign, b in facts:
        ordered = ((a, b) in world.before, (b, a) in world.before)
        if sign == "<" and not ordered[0]:
            return False
        if sign in ("||", "<>") and any(ordered) != (sign == "<>"):
            return False
    return True


@pytest.mark.parametrize(("events", "count"), [("abc", 19), ("abcd", 219)])
def test_the_worlds_are_all_there(events: str, count: int) -> None:
    assert len(list(worlds(events))) == count


def test_condition_4_holds_and_yet_no_world_fits() -> None:
    known = Microcosm(as_givens(UNWORLDLY), strict=True)
    assert known.online("c", "d") is Relation.RELATED
    assert not any(true_in(world, UNWORLDLY) for world in worlds("abcd"))


def test_offline_decision_making_refutes_both_directions() -> None:
    """Section 1: each is refuted alone, and together they contradict what is given."""
    known = Microcosm(as_givens(UNWORLDLY), strict=True)
    contradiction = known.contradiction()
    assert contradiction is not None
    assert kernel.check(known.givens, known.rules, contradiction.to_json()) is None
    with pytest.raises(Inconsistent):
        known.offline("c", "d", depth=0)


GUARDED = (("a", "<", "d"), ("b", "<", "c"), ("b", "||", "d"))


def impossible(facts: Facts, a: str, b: str) -> bool:
    """Whether b is before a in no world of four events that has the facts; there is such a world."""
    fitting = [world for world in worlds("abcd") if true_in(world, facts)]
    return bool(fitting) and not any((b, a) in world.before for world in fitting)


def test_the_guard_on_assumptions_loses_a_refutation() -> None:
    """Section 8: of a ? b the paper refutes nothing, though b < a is true in no world."""
    known = Microcosm(as_givens(GUARDED), strict=True)
    assert known.online("a", "b") is Relation.UNKNOWN
    assert impossible(GUARDED, "a", "b")
    assert known.offline("a", "b", profile="paper").refuted == ()
    assert known.offline("a", "b").refuted == (Relation.AFTER,)
    silent = Microcosm(as_givens((GUARDED[0], GUARDED[2])), strict=True)
    assert silent.online("a", "b") is Relation.SILENT
    assert silent.offline("a", "b", profile="paper").refuted == (Relation.AFTER,), (
        "it knows less, and refutes"
    )


def test_three_events_are_too_few_for_the_guard() -> None:
    """Whatever answers `?` among three events may be anything."""
    for facts in enumerated("abc"):
        fitting = [world for world in worlds("abc") if true_in(world, facts)]
        online = oracle.tabulate("abc", facts, inside(facts))
        for a, b in combinations("abc", 2):
            if online[a, b] == "?":
                found = {((a, b) in world.before, (b, a) in world.before) for world in fitting}
                assert len(found) == 3, facts


def test_three_events_are_too_few_for_that() -> None:
    for facts in enumerated("abc"):
        assert any(true_in(world, facts) for world in worlds("abc")), facts


def test_dropping_any_of_the_five_makes_it_worldly() -> None:
    for left_out in UNWORLDLY:
        rest = tuple(fact for fact in UNWORLDLY if fact != left_out)
        assert any(true_in(world, rest) for world in worlds("abcd"))


@pytest.mark.parametrize("strict", [True, False])
def test_an_order_that_reaches_a_concurrent_pair_is_refused(strict: bool) -> None:
    known = Microcosm.parse("a < b\na || c", strict=strict)
    with pytest.raises(Contradiction) as refused:
        known.add("b < c")
    assert len(refused.value.derivations) == 2
    assert known.online("a", "c") is Relation.CONCURRENT
    assert known.online("b", "c") is Relation.SILENT


def test_silence_exists_with_three_events_and_not_with_two() -> None:
    assert Microcosm.parse("a < b\na || c").online("b", "c") is Relation.SILENT
    for facts in enumerated("ab"):
        verdict = Microcosm(as_givens(facts)).online("a", "b")
        assert verdict is not Relation.SILENT
        assert (verdict is Relation.UNKNOWN) == (not inside(facts))


def test_a_silent_pair_is_decided_by_an_addition() -> None:
    known = Microcosm.parse("a < b\na || c")
    known.add("b || c")
    assert known.online("b", "c") is Relation.CONCURRENT


def test_analogy_does_not_survive_removal_but_equality_does() -> None:
    one, other = Microcosm.parse("a < c\nc < b"), Microcosm.parse("a < b\na < c\nc < b")
    assert list(one.table()) == list(other.table())
    one.remove("a < c")
    other.remove("a < c")
    assert (one.online("a", "b"), other.online("a", "b")) == (Relation.UNKNOWN, Relation.BEFORE)


def test_removal_in_any_order_leads_to_the_same() -> None:
    given = ["a < c", "c < b", "a < b", "a || d"]
    for gone in permutations(given, 3):
        known = Microcosm.parse("\n".join(given))
        for statement in gone:
            known.remove(statement)
        (left,) = set(given) - set(gone)
        alone = Microcosm.parse(left)
        for a, b in combinations("abcd", 2):
            assert known.online(a, b) is alone.online(a, b)


VAGUE, BESIDE = frozenset({("a", "<>", "b")}), frozenset({("a", "||", "b")})


def states(events: str) -> list[State]:
    return [frozenset(facts) for facts in enumerated(events)]


def verdicts(state: State, events: str) -> frozenset[object]:
    return frozenset(oracle.tabulate(events, state, inside(tuple(state))).items())


def test_theorem_5_14_additions_alone_do_not_tell_related_from_concurrent() -> None:
    for events in ("ab", "abc", "abcd"):
        forward = forward_classes(events, updating=False)
        assert forward[VAGUE] == forward[BESIDE]
        both = forward_classes(events, updating=True)
        assert both[VAGUE] != both[BESIDE]
    assert not bisimilar(Microcosm.parse("a <> b"), Microcosm.parse("a || b")).holds


def test_theorem_5_14_105_classes_of_analogy_50_of_additions_and_20_without_a_fourth_event() -> None:
    three = states("abc")
    forward = forward_classes("abcd", updating=False)
    assert len({verdicts(state, "abc") for state in three}) == 105
    assert len({forward[state] for state in three}) == 50
    assert len(set(classes(three, lambda m: additions(m, "abc")).values())) == 20


def test_theorem_5_14_holds_if_only_condition_4_refuses() -> None:
    """An order that reaches a `||` pair is then an addition like any other."""
    graph: dict[State, Steps] = {}
    waiting = states("abc")
    while waiting:
        state = waiting.pop()
        if state not in graph:
            graph[state] = to_the_letter(state, "abcd")
            waiting += graph[state].values()
    found = classes(graph, graph.__getitem__)
    for one, other in combinations(states("abc"), 2):
        assert (found[one] == found[other]) is (verdicts(one, "abc") == verdicts(other, "abc"))


def to_the_letter(state: State, events: str) -> Steps:
    """Additions that neither close a cycle nor order a `<>` pair."""
    return {
        ("add", fact): state | {fact}
        for a, b in combinations(events, 2)
        if frozenset((a, b)) not in known(state)
        for fact in ((a, "<", b), (b, "<", a), (a, "||", b), (a, "<>", b))
        if not any(
            a == b or (sign == "<>" and {(a, "<", b), (b, "<", a)} & judged)
            for judged in [oracle.initial(state | {fact})]
            for a, sign, b in judged
        )
    }


def test_theorems_6_3_and_6_6_need_three_events_to_fail_where_six_pairs_do() -> None:
    assert len({verdicts(state, "ab") for state in states("ab")}) == len(states("ab"))
    alike = [p for p in combinations(states("abc"), 2) if verdicts(p[0], "abc") == verdicts(p[1], "abc")]
    assert len(alike) == 6
    for few, many in alike:
        assert {len(few), len(many)} == {2, 3}
        assert few < many or many < few
        gone = min(few & many)
        assert verdicts(few - {gone}, "abc") != verdicts(many - {gone}, "abc")
    assert len(set(classes(states("abc"), removals).values())) == 111


def test_theorem_6_4_the_same_removals_in_two_orders() -> None:
    one, other = Microcosm.parse("a < c\nc < b"), Microcosm.parse("a < b\na < c\nc < b")
    for first, second in (("a < c", "c < b"), ("c < b", "a < c")):
        one.remove(first)
        other.remove(second)
    assert one.givens.external == {}
    assert other.online("a", "b") is Relation.BEFORE


def test_irredundant_microcosms_with_other_internal_events_are_told_apart() -> None:
    internal, external = Microcosm.parse("internal a < b"), Microcosm.parse("a < b")
    assert bisimilar(internal, external).holds
    assert not bisimilar(internal, external, backward=True).holds
