"""The kernel's search, held to the rules read literally: every assignment of events, to a fixpoint."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.errors import RuleError
from microcosm.givens.columns import Message
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.kernel.plan import RowGoal, RulePlans, planned
from microcosm.kernel.search import Search
from microcosm.logic.rule import (
    ANY,
    BasePredicate,
    Given,
    In,
    Instance,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Premise,
    finer,
)
from microcosm.logic.rulebook import RuleBook, parse_rules
from microcosm.order.order import base_facts
from tests.notation import mc
from tests.rulesets import ADDED, TEN, ten

MORE = """
rule Skip:
    |-0 a || b
    |-0 c || b
    ------
    |-0 a <> c
rule Message:
    matches(a, b)
    ------
    |-0 a < b
rule Process:
    same_process(a, b)
    not send(a)
    |-0 e < b
    ------
    |-0 a || b
rule Guarded:
    |/- a _ b
    given a R e
    e in M
    ------
    ||- a !< b
rule Refuted-Tr:
    ||- b !< c
    ||- a !< b
    ------
    ||- a !< c
rule Wild:
    |-0 a _ b
    |-0 b _ c
    |/-0 a < c
    not matches(a, c)
    no g in M with |- g ? a, |-0 b _ g
    ------
    ||- a || c
rule Loose:
    |/-0 a < e
    a in M
    b not in M
    ------
    ||- a <> b
rule Meet:
    |-0 a < e
    |-0 b < e
    |-0 a || b
    ------
    ||- a <> b
rule Knows-All:
    a in M
    b in M
    no g in M with |- a ? g
    ------
    ||- a !|| b
rule Turn:
    ||- a || b
    ------
    ||- b || a
"""
RULES = parse_rules(ten() + "".join(ADDED.values()) + MORE).rules
RELATIONS = [r for r in Relation if r not in (Relation.AFTER, Relation.NOT_AFTER, Relation.SILENT)]


class Literal:
    """The facts of a microcosm by brute force; `level` puts every denial after what it denies."""

    def __init__(self, instances: tuple[Instance, ...], givens: Givens, events: set[str]) -> None:
        self.events = sorted(events)
        self.given = GivenFacts(givens)
        self.base = base_facts(givens)
        self.facts: set[tuple[Judgement, str, Relation, str]] = set()
        for level in range(4):
            here = [i for i in instances if self.level(i.conclusion) == level]
            while new := {fact for i in here for fact in self.concluded(i)} - self.facts:
                self.facts |= new

    @staticmethod
    def level(head: Judged) -> int:
        later = {Judgement.INITIAL: 0, Judgement.ONLINE: 1, Judgement.OFFLINE: 3}[head.judgement]
        return later + (head.relation is Relation.UNKNOWN)

    def concluded(self, instance: Instance) -> Iterator[tuple[Judgement, str, Relation, str]]:
        head = instance.conclusion
        assert isinstance(head.relation, Relation)
        names = sorted({head.left, head.right, *(v for p in instance.premises for v in self.variables(p))})
        for chosen in product(self.events, repeat=len(names)):
            e = dict(zip(names, chosen, strict=True))
            if e[head.left] != e[head.right] and all(self.true(p, e) for p in instance.premises):
                yield head.judgement, e[head.left], head.relation, e[head.right]

    def variables(self, premise: Premise) -> set[str]:
        match premise:
            case Judged(left=a, right=b) | Given(left=a, right=b):
                return {a, b}
            case In(event):
                return {event}
            case BasePredicate(_, events):
                return set(events)
            case Not(body) | MostAccurate(body):
                return self.variables(body)
            case NoneWith(event, body):
                return {v for p in body for v in self.variables(p)} - {event}
        raise AssertionError(premise)

    def true(self, premise: Premise, e: dict[str, str]) -> bool:
        match premise:
            case Judged(judgement, a, relation, b) if relation == ANY:
                ends = ((e[a], e[b]), (e[b], e[a]))
                return any((judgement, x, r, y) in self.facts for r in RELATIONS for x, y in ends)
            case Judged(judgement, a, relation, b):
                return (judgement, e[a], relation, e[b]) in self.facts
            case Given(a, relation, b):
                assert isinstance(relation, Relation)
                return bool(list(self.given.evidence(e[a], relation, e[b])))
            case In(event):
                return e[event] in self.given.members
            case BasePredicate(name, events):
                return tuple(e[v] for v in events) in self.base[name]
            case Not(body):
                return not self.true(body, e)
            case MostAccurate(of):
                return not any(self.true(more, e) for more in finer(of))
            case NoneWith(event, body):
                return not any(all(self.true(p, {**e, event: m}) for p in body) for m in self.given.members)
        raise AssertionError(premise)


@st.composite
def givens(draw: st.DrawFn) -> Givens:
    """Any givens: contradictions and clocks that no run could have recorded included."""
    rng = Random(draw(st.integers(0, 2**20)))
    names = "abcd"[: rng.choice([2, 3, 3, 4])]
    found = Givens(internal=rng.sample(names, rng.choice([0, 0, 1, 2, len(names)])))
    stated = [Relation.BEFORE, Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.NOT_BEFORE]
    for _ in range(rng.randrange(6)):
        a, b = rng.sample(names, 2)
        found.add(Correspondence(a, rng.choice(stated), b))
    if rng.random() < 0.5:
        processes = "pqr"[: rng.randrange(1, 4)]
        for event in rng.sample(names, rng.randrange(len(names) + 1)):
            entries = {p: rng.randrange(-1, 4) for p in processes if rng.random() < 0.8}
            execution = rng.choice((None, None, None, "x"))
            found.clocks[event] = Clock(rng.choice(processes), entries, rng.random() < 0.7, execution)
    if rng.random() < 0.3:
        found.tokens["t"] = tuple(rng.sample(names, rng.randrange(1, len(names) + 1)))
    for _ in range(rng.choice([0, 0, 3])):
        kind = "send" if rng.random() < 0.5 else "receive"
        found.messages.append(Message(kind, rng.choice(names), rng.choice("mn"), rng.choice("pq")))
    return found


def search(rules: RuleBook, known: Givens, *asked: str) -> Search:
    return Search(RulePlans(rules.instances), GivenFacts(known), {*known.named(), *asked})


@given(givens(), st.integers(0, 2**20))
@settings(max_examples=60, deadline=None)
def test_the_search_finds_what_the_rules_say(known: Givens, seed: int) -> None:
    rng = Random(seed)
    share, more = rng.choice([0.6, 0.9, 1.0]), rng.choice([0.0, 0.2, 1.0])
    rules = RuleBook(tuple(rule for rule in RULES if rng.random() < (share if rule.name in TEN else more)))
    events = sorted({*known.named(), "y", "z"})
    literal = Literal(rules.instances, known, set(events))
    found = search(rules, known, "y", "z")
    pairs = list(product(events, repeat=2))  # an event and itself are not related
    questions = [(j, a, r, b) for j in Judgement for r in [*RELATIONS, ANY] for a, b in pairs]
    rng.shuffle(questions)
    for judgement, a, relation, b in questions[: rng.choice([5, 100, len(questions)])]:
        judged, binding = Judged(judgement, "a", relation, "b"), {"a": a, "b": b}
        assert found.true(judged, binding) == literal.true(judged, binding), (judgement, a, relation, b)


def holds(found: Search, a: str, relation: Relation, b: str) -> bool:
    return found.true(Judged(Judgement.INITIAL, "a", relation, "b"), {"a": a, "b": b})


TRANSITIVE = "rule In-Tr:\n |-0 a < b\n |-0 b < c\n ------\n |-0 a < c\n"
INIT = "rule Init:\n given a R b  where R in <\n ------\n |-0 a R b\n"


def test_a_transitive_rule_alone_concludes_nothing() -> None:
    assert not holds(search(parse_rules(TRANSITIVE), mc("a<b | b c")), "a", Relation.BEFORE, "b")


def test_without_the_transitive_rule_the_compressed_givens_are_still_all_there() -> None:
    known = mc("a<b b<c | i1 i2 i3")
    found = search(parse_rules(INIT), known)
    assert holds(found, "i1", Relation.BEFORE, "i3")
    assert not holds(found, "a", Relation.BEFORE, "c")
    assert holds(search(parse_rules(INIT + TRANSITIVE), known), "a", Relation.BEFORE, "c")


@pytest.mark.parametrize(
    "premises", [("a < a", "a < c"), ("a < b", "c < b"), ("b < a", "b < c"), ("b < c", "a < d")]
)
def test_a_rule_that_only_looks_transitive_is_not(premises: tuple[str, str]) -> None:
    looks = "rule In-Tr:\n |-0 {}\n |-0 {}\n ------\n |-0 a < c\n".format(*premises)
    known = mc("x<y y<z")
    literal = Literal(parse_rules(INIT + looks).instances, known, set("xyz"))
    found = search(parse_rules(INIT + looks), known)
    for a, b in permutations("xyz", 2):
        expected = (Judgement.INITIAL, a, Relation.BEFORE, b) in literal.facts
        assert holds(found, a, Relation.BEFORE, b) is expected, (a, b)


def test_links_may_be_concluded_by_any_rule() -> None:
    rules = parse_rules(TRANSITIVE + "rule Link:\n given a || b\n |/- a < b\n ------\n |-0 a < b\n")
    found = search(rules, mc("a||b b||c c||d"))
    assert holds(found, "a", Relation.BEFORE, "d")
    assert not holds(found, "d", Relation.BEFORE, "a")


NEVER = ["given a < a", "|-0 a < a", "|-0 a _ a", "matches(a, a)", "same_process(a, a)"]


@pytest.mark.parametrize("never", NEVER)
def test_no_event_is_related_to_itself(never: str) -> None:
    known = mc("a<b b<a")
    known.messages += [Message("send", "a", "m", "p"), Message("receive", "a", "m", "p")]
    asked = Judged(Judgement.ONLINE, "a", Relation.UNKNOWN, "b")
    for premise in (never, f"b in M\n {never}", f"|-0 a < b\n {never}"):
        rules = parse_rules(INIT + TRANSITIVE + f"rule Self:\n {premise}\n c in M\n ------\n |- a ? c\n")
        assert not search(rules, known).true(asked, {"a": "a", "b": "b"})
    text = f"rule None:\n b in M\n no a in M with {never}\n c in M\n ------\n |- b ? c"
    assert search(parse_rules(INIT + TRANSITIVE + text), known).true(asked, {"a": "a", "b": "b"})


@pytest.mark.parametrize("known", [Givens(internal=["x"]), Givens(tokens={"t": ("x",)}), mc("x<x")])
def test_no_event_is_given_beside_itself(known: Givens) -> None:
    found = search(parse_rules(INIT), known)
    for relation in (Relation.BEFORE, Relation.RELATED):
        for given_ in (Given("a", relation, "e"), Given("e", relation, "a")):
            assert list(found.solutions(planned([given_], ["a"]), {"a": "x"})) == []


def test_a_premise_between_known_events_is_a_test() -> None:
    meet = "rule Meet:\n |-0 a < e\n |-0 b < e\n |-0 a || b\n ------\n |- a ? b\n"
    found = search(parse_rules(ten() + meet), mc("a<e b<e c<e a||b"))
    assert {
        (a, b)
        for a, b in permutations("abce", 2)
        if found.true(Judged(Judgement.ONLINE, "a", Relation.UNKNOWN, "b"), {"a": a, "b": b})
    } == {("a", "b"), ("b", "a")}


def test_any_clocks_give_what_they_give() -> None:
    """Components may be absent, fall, or be negative; equal own components keep the order of statement."""
    rules = parse_rules(INIT + TRANSITIVE)
    rng = Random(2)
    for _ in range(150):
        known = Givens()
        for event in rng.sample("abcd", 4):
            entries = {p: rng.randrange(-1, 3) for p in "pqr" if rng.random() < 0.7}
            execution = rng.choice((None, None, None, "x"))
            known.clocks[event] = Clock(rng.choice("pqr"), entries, rng.random() < 0.7, execution)
        literal = Literal(rules.instances, known, set("abcd"))
        found = search(rules, known)
        for a, b in permutations("abcd", 2):
            expected = (Judgement.INITIAL, a, Relation.BEFORE, b) in literal.facts
            after = found.row(RowGoal((Judgement.INITIAL, Relation.BEFORE), 0, a))
            before = found.row(RowGoal((Judgement.INITIAL, Relation.BEFORE), 1, b))
            assert (b in after) is (a in before) is expected, (known.clocks, a, b)


def test_clocks_are_not_expanded() -> None:
    """10,000 events of 4 processes hold some 50 million pairs."""
    rng, known = Random(1), Givens()
    time = {p: dict.fromkeys("pqrs", 0) for p in "pqrs"}
    for i in range(10_000):
        p, q = rng.choice("pqrs"), rng.choice("pqrs")
        if rng.random() < 0.1:
            time[p] = {r: max(time[p][r], time[q][r]) for r in "pqrs"}
        time[p][p] += 1
        known.clocks[f"e{i}"] = Clock(p, dict(time[p]))
    found = search(parse_rules(ten()), known, "z")
    assert found.true(Not(Judged(Judgement.INITIAL, "a", ANY, "z")), {"a": "e5000", "z": "z"})
    assert found.true(Judged(Judgement.INITIAL, "a", Relation.BEFORE, "z"), {"a": "e0", "z": "e9999"})
    given_ = GivenFacts(known)
    for i in range(0, 10_000, 97):
        before = any(True for _ in given_.evidence(f"e{i}", Relation.BEFORE, "e5000"))
        assert holds(found, f"e{i}", Relation.BEFORE, "e5000") is before


def test_a_large_token_is_not_expanded() -> None:
    known = Givens(tokens={"t": tuple(f"e{i}" for i in range(20_000))})
    found = search(parse_rules(ten()), known, "z")
    assert found.true(Judged(Judgement.INITIAL, "a", Relation.RELATED, "b"), {"a": "e7", "b": "e19999"})
    assert found.true(Not(Judged(Judgement.INITIAL, "a", ANY, "z")), {"a": "e7", "z": "z"})


def test_negation_that_is_not_stratified_is_an_error() -> None:
    rules = parse_rules(INIT + "rule Even:\n |-0 a < b\n |/- b ? c\n ------\n |- a ? c\n")
    found = search(rules, mc("a<b b<c c<a"))
    with pytest.raises(RuleError, match="not stratified"):
        found.true(Judged(Judgement.ONLINE, "a", Relation.UNKNOWN, "b"), {"a": "a", "b": "b"})
