"""Climbing towards the pairs that need no recursion: the same `?` as by a search over sets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import pytest

from microcosm import Microcosm, tuning
from microcosm.engine import backward_search as search
from microcosm.engine import reachability, table
from microcosm.engine.engine import Engine
from microcosm.engine.lowering import online
from microcosm.engine.memo import Memo
from microcosm.engine.prove import Prover
from microcosm.engine.steps import Goal
from microcosm.givens.columns import Message
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel import check as kernel
from microcosm.logic.derivation import Derivation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.order.labels import Labels
from tests.engine.test_propagation import OTHER_LINKS, UN_2, by_sets, log, table_of
from tests.rulesets import edited, ten
from tests.thorough import draws

Pairs = set[tuple[str, str]]

ACROSS = """
rule Across:
    receive(a)
    |/-0 a _ b
    |- a R e                      where R in ||, <>
    |- e ? b
    ------------
    |- a ? b
"""


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Counter[bool | None]:
    """However few the events are, searches climb, and nothing takes over; what the climbs answered."""
    monkeypatch.setattr(tuning, "CLIMBED_FROM", 0)
    monkeypatch.setattr(table.Table, "MOST", 0)
    found = Counter[bool | None]()
    trail = search.BackwardSearch.climb

    def counted(self: search.BackwardSearch, goal: search.Goal) -> search.Trail | None:
        answer = trail(self, goal)
        found[None if answer is None else bool(answer)] += 1
        return answer

    monkeypatch.setattr(search.BackwardSearch, "climb", counted)
    return found


def rooted(events: int, processes: int, others: int, seed: int) -> Givens:
    """A log, and an event before all others, so that none are unknown for want of a relation."""
    given = log(events, processes, others, seed)
    for name in sorted(given.named()):
        given.add(Correspondence("root", Relation.BEFORE, name))
    return given


def searched(given: Givens, rules: RuleBook) -> Pairs:
    engine = Engine(rules, given)
    names = sorted(given.named())
    pairs = [
        p for p in combinations(names, 2) if engine.holds(Judgement.ONLINE, p[0], Relation.UNKNOWN, p[1])
    ]
    assert all(engine.holds(Judgement.ONLINE, b, Relation.UNKNOWN, a) for a, b in pairs)
    return {*pairs, *((b, a) for a, b in pairs)}


def test_climbs_find_what_a_search_by_sets_finds(answers: Counter[bool | None]) -> None:
    for seed in range(draws(12, 60)):
        rng = Random(seed)
        given = (rooted, log)[seed % 2](
            rng.randrange(15, 45), rng.randrange(2, 9), rng.choice([0, 2, 3, 4, 6, 12]), seed
        )
        assert searched(given, read_rules()) == by_sets(given), seed
    assert min(answers[True], answers[False]) > 100, answers


def test_climbs_that_are_given_up_leave_it_to_the_search(
    answers: Counter[bool | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLIMBED_ALONG", "CLIMBED_ANYHOW", "STEPS_ALONG", "STEPS_ANYHOW"):
        monkeypatch.setattr(tuning, name, 1)
    for seed in range(draws(10, 20)):
        given = rooted(30, 4, 5, seed)
        assert searched(given, read_rules()) == by_sets(given), seed
    assert answers[None] > 100, answers


@pytest.mark.parametrize("links", OTHER_LINKS.values(), ids=OTHER_LINKS)
def test_other_links_are_climbed_to_the_same_end(links: str, answers: Counter[bool | None]) -> None:
    rules = edited(UN_2, links, rule="Un-2")
    for seed in range(8):
        given = rooted(30, 4, 6, seed)
        assert searched(given, rules) == table_of(given, rules), seed
    assert answers[True] + answers[False] > 4, answers


UN_3 = "no e in M with |-0 a _ e, |-0 b _ e"

PATTERNS = {
    "as shipped": UN_3,
    "after both": "no e in M with |-0 a < e, |-0 b < e",
    "before both": "no e in M with |-0 e < a, |-0 e < b",
    "between": "no e in M with |-0 a < e, |-0 e < b",
    "a sending": "no e in M with send(e), |-0 e < a, |-0 e < b",
}

ALONG = {"onwards": "|- a < e", "back": "|- e < a", "as shipped": UN_2}


@pytest.mark.parametrize("links", ALONG.values(), ids=ALONG)
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_what_is_before_both_ends_bars_what_the_table_does_not_have(
    links: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = parse_rules(ten().replace(UN_2, links).replace(UN_3, pattern))
    monkeypatch.setattr(table.Table, "MOST", 0)
    looks = Counter[bool]()
    look = reachability.Reachability._common

    def counted(self: reachability.Reachability, a: int, b: int) -> int:
        found = look(self, a, b)
        looks[bool(found)] += 1
        return found

    monkeypatch.setattr(reachability.Reachability, "_common", counted)
    for seed in range(draws(6, 30)):
        rng = Random(seed)
        given = log(rng.randrange(12, 30), rng.randrange(2, 9), 0, seed)
        names = sorted(given.named())
        given.messages = [Message("send", name, f"m{name}", "p") for name in rng.sample(names, 4)]
        if seed % 3 == 0:
            given.add(Correspondence(rng.choice(names), Relation.NOT_BEFORE, "nowhere else"))
        assert searched(given, rules) == table_of(given, rules), seed
    barring = {"as shipped", "after both" if links == ALONG["back"] else "before both"}
    barring |= set() if links == ALONG["back"] else {"a sending"}
    assert bool(looks[True]) is (pattern in {PATTERNS[name] for name in barring})


@pytest.mark.parametrize("links", ALONG.values(), ids=ALONG)
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_where_a_few_events_bar_all_goals_the_table_has_none(
    links: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = parse_rules(ten().replace(UN_2, links).replace(UN_3, pattern))
    monkeypatch.setattr(table.Table, "MOST", 0)
    found = Counter[bool]()
    nothing = reachability.Reachability.nothing

    def counted(self: reachability.Reachability) -> bool:
        answer = nothing(self)
        found[answer] += 1
        return answer

    monkeypatch.setattr(reachability.Reachability, "nothing", counted)
    for seed in range(draws(8, 60)):
        rng = Random(seed)
        given = (rooted, log)[seed % 2](rng.randrange(20, 60), rng.randrange(2, 5), seed % 7 // 5, seed)
        names = sorted(given.named())
        given.messages = [Message("send", name, f"m{name}", "p") for name in rng.sample(names, 6)]
        if seed % 4 == 3:
            given.add(Correspondence(rng.choice(names), Relation.NOT_BEFORE, "nowhere else"))
        assert searched(given, rules) == table_of(given, rules), seed
    assert found[False]
    assert bool(found[True]) is (pattern == UN_3)


def test_an_event_that_leaves_m_bars_no_goal_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is still before both ends, by rules that put the ends of a message in order."""
    monkeypatch.setattr(table.Table, "MOST", 0)
    carried = "rule Carried:\n    matches(a, b)\n    ------------\n    |-0 a < b\n"
    messages = "send e = m p -> q, r \n receive a = m q \n receive b = m r"
    known = Microcosm.parse(f"e < on \n a < x \n b < y \n {messages}", rules=parse_rules(ten() + carried))
    assert known.online("x", "y") is Relation.SILENT
    known.remove("e < on")
    assert known.online("e", "x") is Relation.BEFORE
    assert known.online("x", "y") is Relation.UNKNOWN


def test_an_event_that_bars_one_goal_is_tried_for_the_next_until_something_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table.Table, "MOST", 0)
    looks = 0
    look = reachability.Reachability._common

    def counted(self: reachability.Reachability, a: int, b: int) -> int:
        nonlocal looks
        looks += 1
        return look(self, a, b)

    monkeypatch.setattr(reachability.Reachability, "_common", counted)
    others = [f"e{k}" for k in range(12)]
    known = Microcosm.parse("\n".join(f"root < {name}" for name in others))
    assert {known.online(a, b) for a, b in combinations(others, 2)} == {Relation.SILENT}
    assert looks == 1
    known.remove("root < e0")
    for a, b in combinations(others, 2):
        assert known.online(a, b) is (Relation.UNKNOWN if a == "e0" else Relation.SILENT)


@pytest.mark.parametrize("labelled", [False, True])
def test_what_barred_goals_before_a_change_bars_those_that_it_still_does(
    labelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Correspondences come and go, and all that is unknown is asked after each; by rows and by labels."""
    monkeypatch.setattr(table.Table, "MOST", 0)
    monkeypatch.setattr(tuning, "BARRING_KEPT", 3)
    if labelled:
        monkeypatch.setattr(tuning, "ROWS_UP_TO", 0)
        monkeypatch.setattr(tuning, "EVENTS_A_CHAIN", 0)
    hits = 0
    barred = reachability.Reachability.surely_vain

    def counted(self: reachability.Reachability, a: int, b: int) -> bool:
        nonlocal hits
        found = barred(self, a, b)
        hits += found
        return found

    monkeypatch.setattr(reachability.Reachability, "surely_vain", counted)
    for seed in range(draws(6, 30)):
        rng = Random(seed)
        known = Microcosm((rooted, log)[seed % 2](rng.randrange(12, 20), rng.randrange(2, 6), 0, seed))
        for _ in range(8):
            stated = [*known.givens.external.values()]
            if rng.random() < 0.6:
                known.remove(rng.choice(stated))
            else:
                a, b = rng.sample(known.events, 2)
                known.add(f"{a} < {b}" if known.online(b, a) is not Relation.BEFORE else f"{b} < {a}")
            names = known.events
            unknown = {p for p in combinations(names, 2) if known.online(*p) is Relation.UNKNOWN}
            assert unknown == {p for p in by_sets(known.givens.copy()) if p[0] < p[1]}, seed
        assert isinstance(known._engine.order, Labels) is labelled
    assert hits > 100


def test_each_move_is_made_only_where_its_own_rule_allows_it(answers: Counter[bool | None]) -> None:
    """Rules that lead on along the order do so from a sending only, those along `||` from a reception."""
    rules = parse_rules(ten().replace(UN_2, "send(a)\n    |- a < e") + ACROSS)
    for seed in range(20):
        given, rng = rooted(30, 4, 8, seed), Random(seed)
        for name in given.named():
            given.messages.append(Message(rng.choice(["send", "receive"]), name, f"m{name}", "p"))
        assert searched(given, rules) == table_of(given, rules), seed
    assert min(answers[True], answers[False]) > 4, answers


def test_nothing_is_denied_while_a_rule_cannot_be_listed(
    answers: Counter[bool | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "RULES_LISTED", 0)
    for seed in range(draws(4, 10)):
        given = rooted(30, 4, 6, seed)
        assert searched(given, read_rules()) == by_sets(given), seed
    assert answers[None] > 10
    assert answers.keys() == {None}


def test_what_was_climbed_to_is_derived_by_that_way(
    answers: Counter[bool | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    otherwise = Prover._breadth_first

    def of_others(self: Prover, memo: Memo, goal: Goal) -> Derivation | None:
        assert goal[0] != online(Relation.UNKNOWN)
        return otherwise(self, memo, goal)

    monkeypatch.setattr(Prover, "_breadth_first", of_others)
    derived = 0
    for seed in range(5):
        given = rooted(30, 5, 8, seed)
        engine = Engine(read_rules(), given)
        witness = Prover(engine, given)
        for a, b in sorted(by_sets(given)):
            before = answers[True]
            if engine.holds(Judgement.ONLINE, a, Relation.UNKNOWN, b) and answers[True] > before:
                for pair in ((a, b), (b, a)):
                    proof = witness.derive(Judgement.ONLINE, pair[0], Relation.UNKNOWN, pair[1])
                    assert proof is not None
                    assert kernel.check(given, read_rules(), proof.to_json()) is None
                    derived += 1
    assert derived > 50


def test_what_is_listed_is_forgotten_when_the_ground_changes(answers: Counter[bool | None]) -> None:
    given = rooted(30, 4, 2, 5)
    known = Microcosm(given)
    changed = 0
    for a, b in combinations(sorted(given.named()), 2):
        before = by_sets(given)
        if (a, b) in before or known.online(a, b) is not Relation.SILENT:
            continue
        known.add(fact := Correspondence(a, Relation.CONCURRENT, b))
        given.add(fact)
        after = by_sets(given)
        names = sorted(given.named())
        assert {p for p in combinations(names, 2) if known.online(*p) is Relation.UNKNOWN} == {
            p for p in combinations(names, 2) if p in after
        }
        changed += after - before != set()
        if changed > 3:
            break
    assert changed > 3
