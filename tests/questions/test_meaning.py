"""Verdicts and counts against every world that fits, every consistent cut, and every tuple."""

from __future__ import annotations

import json
from itertools import combinations, pairwise, permutations
from operator import gt, le, lt
from random import Random

import pytest

from microcosm import Microcosm, tuning
from microcosm.engine.engine import Engine
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import read_rules
from microcosm.questions.answers import Answers
from microcosm.questions.language import compared
from microcosm.questions.questioned_log import QuestionedLog
from microcosm.questions.reader import read_questions
from microcosm.worlds.world import World
from tests.enumeration import all_worlds, as_givens, enumerated, up_to_renaming
from tests.questions.enumerated import (
    PATTERNS,
    Log,
    Meaning,
    Order,
    agreed,
    orders_fitting,
    random_log,
    random_question,
)
from tests.rulesets import without
from tests.thorough import draws

VERDICTS = {1: "holds", -1: "violated", 0: "open"}


def worlds_of(givens: Givens, events: str) -> list[Order]:
    return [world.before for world in WORLDS[len(events)] if world.fits(givens)]


WORLDS = {size: list(all_worlds("abcd"[:size])) for size in (3, 4)}


def surely(worlds: list[Order]) -> Order:
    return frozenset.intersection(*worlds)


def tells_all(givens: Givens, before: Order) -> bool:
    """Whether in a world all is concurrent of which a complete log says nothing."""
    stated = {(fact.left, str(fact.relation), fact.right) for fact in givens.external.values()}
    order = {(a, b) for a, sign, b in stated if sign == "<"} | set(pairwise(givens.internal))
    members = {*givens.internal, *(end for a, _, b in stated for end in (a, b))}
    for e in members:
        order |= {(a, b) for a, x in order if x == e for y, b in order if y == e}
    said = order | {(a, b) for a, sign, b in stated if sign != "<"}
    silent = [(a, b) for a, b in permutations(members, 2) if (a, b) not in said and (b, a) not in said]
    return before.isdisjoint(silent)


def test_what_a_log_lacks_leaves_open_in_one_world_as_in_all() -> None:
    """No world is left to look into then: of ten events without any order there are billions."""
    known = Microcosm.parse("a <> b <> c <> d <> e <> f <> g <> h <> i <> j")
    asked = iter(range(10_000))
    exact = {"exact": True, "stop": lambda: next(asked, None) is None}
    text = "event any; every any after some any; assert for all x: any: exists y: any: x < y"
    assert [(a.verdict, a.exact) for a in known.assert_(text, **exact)] == [("open", True)] * 2  # noqa: PT009


def held(log: Log, worlds: list[Order], seed: object, rng: Random) -> None:
    """One random question, with and without the search of worlds, against the enumeration."""
    text, formula = random_question(rng)
    if log.givens.complete and log.ordered:
        worlds = [before for before in worlds if tells_all(log.givens, before)]
    if not worlds:
        return
    meanings = [Meaning(log, before) for before in worlds]
    values = [meaning.value(formula, {}, {}) for meaning in meanings]
    expected = agreed(values)
    questions = read_questions(PATTERNS + text)
    engine = Engine(read_rules(), log.givens)
    said = (seed, text, log)
    asked = QuestionedLog(log.givens, engine, questions)
    (quick,) = Answers(asked)
    if quick.verdict != "open":
        assert quick.verdict == VERDICTS[expected], said
    (exact,) = Answers(asked, exact=True)
    assert exact.verdict == VERDICTS[expected], said
    assert exact.exact or (log.givens.complete and not log.ordered), said
    if formula[0] in ("all", "some", "pairs") and "S(n)" not in text:
        each = zip(
            *([m.value(formula[2], *t) for t in m.tuples(formula, {}, {})] for m in meanings), strict=True
        )
        agreements = [agreed(one) for one in each]
        counts = {"true": agreements.count(1), "false": agreements.count(-1), "open": agreements.count(0)}
        assert exact.counts == counts, said
        assert quick.counts["true"] <= counts["true"], said
        assert quick.counts["false"] <= counts["false"], said
        nothing = any(not meanings[0].candidates(pattern) for _, pattern, _ in formula[1])
        assert exact.vacuous == (not agreements and nothing), said


@pytest.mark.parametrize("part", range(4)[:: draws(2, 1)])
def test_all_microcosms_of_three_events(part: int) -> None:
    for number, facts in enumerate(enumerated("abc", superseding=True)):
        for seed in range(draws(1, 3)):
            rng = Random(f"{number} {seed} {part}")
            givens = as_givens(facts)
            worlds = worlds_of(givens, "abc")
            if worlds:
                held(random_log(givens, "abc", surely(worlds), rng), worlds, (number, seed), rng)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_microcosms_of_four_events(part: int) -> None:
    for number, facts in enumerate(up_to_renaming("abcd", superseding=True)):
        if number % 4 == part:
            rng = Random(number)
            givens = as_givens(facts)
            worlds = worlds_of(givens, "abcd")
            if worlds:
                log = random_log(givens, "abcd", surely(worlds), rng)
                for _ in range(draws(1, 3)):
                    held(log, worlds, number, rng)


def random_givens(rng: Random, events: str) -> Givens:
    """Part of what is so in some world, some of it vague."""
    world = World.random(events, rng, rng.choice([0.2, 0.4, 0.6]))
    givens = Givens()
    for a, b in combinations(rng.sample(events, len(events)), 2):
        if rng.random() < 0.75:
            relation = world.relation(a, b)
            chance = rng.random()
            if chance < 0.2 and relation is not Relation.CONCURRENT:
                relation = Relation.RELATED
            elif chance < 0.4 and relation is not Relation.BEFORE:
                relation = Relation.NOT_BEFORE
            if relation is Relation.AFTER:
                a, b, relation = b, a, Relation.BEFORE  # noqa: PLW2901
            givens.add(Correspondence(a, relation, b))
    return givens


@pytest.mark.parametrize("events", ["abcde", "abcdef", "abcdefg"])
@pytest.mark.parametrize("seed", range(12))
def test_random_microcosms_of_up_to_seven_events(events: str, seed: int) -> None:
    rng = Random(f"{events} {seed}")
    givens = random_givens(rng, events)
    worlds = orders_fitting(givens, events, 400)
    if worlds:
        log = random_log(givens, events, surely(worlds), rng)
        for _ in range(3):
            held(log, worlds, (events, seed), rng)


def test_a_part_of_the_search_that_a_known_ordering_excludes_is_no_contradiction_of_the_log() -> None:
    """The worlds of a < c and d < b fit what is given, but causal order has no such run."""
    log = "send a = m p -> q \n receive b = m q \n send c = n p -> q \n receive d = n q \n ordering causal"
    known = Microcosm.parse(f"{log} \n a <> c")
    text = "event any; assert for all x: any, y: any: x < y or y < x or x || y or x = y"
    assert [answer.verdict for answer in known.assert_(text, exact=True)] == ["holds"]  # noqa: PT009


@pytest.mark.parametrize("rule", ["Ref-||", "Ref-<", "Off-OK"])
def test_a_search_by_cases_that_tell_the_rules_nothing_comes_to_its_end(rule: str) -> None:
    known = Microcosm.parse("a < c \n b < d", rules=without(rule))
    for sign in ("<", "||"):
        text = f'never [name = "a"] {sign} [name = "b"]'
        assert [answer.verdict for answer in known.assert_(text, exact=True)] == ["open"]  # noqa: PT009


@pytest.mark.parametrize("sign", ["=", "!=", "<", ">="])
def test_values_of_two_events_compare_as_those_of_each_pair_do(sign: str) -> None:
    """Where one event has no text, an empty one, or numbers with more digits than a float."""
    values = [None, "", "1", "2", 1.0, 2**60, 2**60 + 1, "x", True]
    said = (None if value is None else json.dumps(value) for value in values)
    lines = [f"event e{at} process p{at}" + (f" k={value}" if value else "") for at, value in enumerate(said)]
    known = Microcosm.parse("\n".join(["e0 < e1", *lines]))
    for a, one in enumerate(values):
        found = known.find(f'never x: [name = "e{a}"] < y: [name] where x.k {sign} y.k').counts
        held = [compared(one, sign, other) for b, other in enumerate(values) if b != a]
        assert sum(found.values()) == sum(held)


@pytest.mark.parametrize("word", ["nan", "inf", "-Infinity", "1_0", " 9", "٣", "0x1", "1e", "", "."])
def test_what_no_file_writes_as_a_number_compares_as_text(word: str) -> None:
    for other in ("5", "m", "-1e3", ".5", "7."):
        for sign, holds in (("<", lt), ("<=", le), (">", gt)):
            assert compared(word, sign, other) is holds(word, other)
            assert compared(other, sign, word) is holds(other, word)


def test_a_name_that_begins_as_never_does_forbids_nothing() -> None:
    known = Microcosm.parse("a < b")
    for name in ("never_seen", "seen"):
        text = f'event {name} where name = "b"; {name} !< [name = "a"]'
        assert known.find(text).counts == {"true": 1, "false": 0, "open": 0}
    assert known.find('never [name = "a"]').counts == {"true": 1, "false": 0, "open": 0}


@pytest.mark.parametrize("seed", range(8))
def test_right_clocks_in_columns_answer_as_those_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They tell all of the order, so that pairs need not be looked at."""
    rng, vectors, lines = Random(seed), [[0] * 3 for _ in range(3)], list[tuple[int, int, str]]()
    for _ in range(rng.randint(3, 14)):
        own, other = rng.sample(range(3), 2)
        if rng.random() < 0.5:
            vectors[own] = [*map(max, vectors[own], vectors[other])]
        vectors[own][own] += 1
        entries = ", ".join(f"p{number}: {count}" for number, count in enumerate(vectors[own]) if count)
        lines.append((own, vectors[own][own], f"clock p{own}:{vectors[own][own]} = p{own} {{{entries}}}"))
    some = ('[process = "p0"]', '[name ~ "1"]')
    asked = [f"never {some[0]} {relation} {some[1]}" for relation in ("<", "||", "<>", "!<")]
    asked.append(f"assert for all x: {some[0]}: exists y: {some[1]}: x || y")
    found = []
    for columns_from, labelled_from in ((10**9, 10**9), (0, 10**9), (0, 0)):
        monkeypatch.setattr(tuning, "CLOCKS_IN_COLUMNS", columns_from)
        monkeypatch.setattr(tuning, "LABELLED_FROM", labelled_from)
        known = Microcosm.parse("\n".join(line for _, _, line in sorted(lines)))
        assert known.givens.rightly_clocked is (columns_from == 0)
        found.append([(each.verdict, each.counts) for each in known.assert_("; ".join(asked))])  # noqa: PT009
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("labelled_from", [2, 10**9])
def test_right_clocks_say_nothing_of_an_event_without_one(
    labelled_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of which something was given once."""
    monkeypatch.setattr(tuning, "CLOCKS_IN_COLUMNS", 0)
    monkeypatch.setattr(tuning, "LABELLED_FROM", labelled_from)
    monkeypatch.setattr(tuning, "EVENTS_A_CHAIN", 1)
    known = Microcosm.parse("clock p:1 = p {p: 1}\nclock q:1 = q {q: 1}\nevent x process r seq 1")
    known.add("p:1 < x")
    known.remove("p:1 < x")
    assert known.givens.rightly_clocked
    asked = 'never [name = "p:1"] || [name = "x"]; never [name = "p:1"] || [name = "q:1"]'
    assert [answer.verdict for answer in known.assert_(asked)] == ["open", "violated"]  # noqa: PT009
