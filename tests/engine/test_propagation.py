"""Sweeps along the order: the same `?` as by a search over sets; on logs, and under other rules."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest

from microcosm import Microcosm, tuning
from microcosm.engine import propagation as sweep
from microcosm.engine import table as fixpoint
from microcosm.engine.engine import Engine
from microcosm.engine.lowering import initial, online
from microcosm.engine.prove import Prover
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel import check as kernel
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.order.labels import Labels
from microcosm.order.order import Closure
from tests.rulesets import edited, extended, ten

UNKNOWN = online(Relation.UNKNOWN)
UN_2 = "|- a R e                      where R in <, ||, <>"
OTHER_LINKS = {
    "against the order": "|- e R a                      where R in <, ||, <>",
    "the order alone": "|- a < e",
    "no order": "|- a R e                      where R in ||, <>",
}


def log(events: int, processes: int, others: int, seed: int) -> Givens:
    """Chains with messages, and some `||` and `<>` that do not contradict them."""
    rng = Random(seed)
    last: list[int | None] = [None] * processes
    before: dict[int, set[int]] = {}
    given = Givens()
    for event in range(events):
        process = rng.randrange(processes)
        past: set[int] = set()
        for sender in {last[process], last[rng.randrange(processes)] if event % 3 == 0 else None} - {None}:
            assert sender is not None
            past |= before[sender] | {sender}
            given.add(Correspondence(f"e{sender}", Relation.BEFORE, f"e{event}"))
        before[event] = past
        last[process] = event
    told: set[tuple[int, int]] = set()
    for _ in range(4 * others):
        a, b = sorted(rng.sample(range(events), 2))
        if a not in before[b] and (a, b) not in told and len(told) < others:
            told.add((a, b))
            relation = rng.choice([Relation.CONCURRENT, Relation.RELATED])
            given.add(Correspondence(f"e{a}", relation, f"e{b}"))
    return given


def by_sets(given: Givens) -> set[tuple[str, str]]:
    """Every pair of `?`, by the paper's rules over sets of names."""
    names = list(given.named())
    after: dict[str, set[str]] = {name: set() for name in names}
    beside: dict[Relation, dict[str, set[str]]] = {
        relation: {name: set() for name in names} for relation in (Relation.CONCURRENT, Relation.RELATED)
    }
    for fact in given.external.values():
        if fact.relation is Relation.BEFORE:
            after[fact.left].add(fact.right)
        else:
            beside[fact.relation][fact.left].add(fact.right)
            beside[fact.relation][fact.right].add(fact.left)
    for middle in names:
        for first in names:
            if middle in after[first]:
                after[first] |= after[middle]
    known = {a: set(after[a]) for a in names}
    for a in names:
        for b in after[a]:
            known[b].add(a)
        known[a] |= beside[Relation.CONCURRENT][a] | beside[Relation.RELATED][a]
    found = {
        (a, b)
        for a in names
        for b in names
        if a != b
        and b not in known[a]
        and (not known[a] & known[b] or any(row[a] & row[b] for row in beside.values()))
    }
    agenda = list(found)
    while agenda:
        e, b = agenda.pop()
        for a in names:
            led = e in after[a] or any(e in row[a] for row in beside.values())
            if led and a != b and b not in known[a] and (a, b) not in found:
                found |= {(a, b), (b, a)}
                agenda += [(a, b), (b, a)]
    return found


def table_of(given: Givens, rules: RuleBook) -> set[tuple[str, str]]:
    engine = Engine(rules, given)
    tables, at = engine.memo.tables(UNKNOWN), engine.universe.position
    assert tables is not None
    rows = {a: tables.row(UNKNOWN, at[a]) for a in given.named()}
    return {(a, b) for a, row in rows.items() for b in given.named() if row >> at[b] & 1}


@pytest.mark.parametrize("seed", range(30))
def test_a_log_swept_has_the_pairs_of_a_search_by_sets(seed: int) -> None:
    rng = Random(seed)
    given = log(rng.randrange(20, 70), rng.randrange(1, 12), rng.choice([0, 1, 3, 20]), seed)
    assert table_of(given, read_rules()) == by_sets(given)


@pytest.mark.parametrize("seed", range(30))
def test_rows_gain_in_the_mirror_what_they_gain_within_themselves(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    given = log(rng.randrange(20, 70), rng.randrange(1, 12), rng.choice([0, 1, 3, 20]), seed)
    monkeypatch.setattr(tuning, "ROWS_HEAVY", 0)
    with patch.object(sweep.Sweep, "_mirrored", autospec=True, side_effect=sweep.Sweep._mirrored) as mirrored:
        assert table_of(given, read_rules()) == by_sets(given)
    with patch.object(fixpoint, "Sweep", wraps=fixpoint.Sweep) as swept:
        table_of(given, read_rules())
    assert mirrored.called or not swept.called


@pytest.mark.parametrize("links", OTHER_LINKS.values(), ids=OTHER_LINKS)
@pytest.mark.parametrize("seed", range(3))
def test_other_links_are_mirrored_as_well(seed: int, links: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, rules = log(60, 5, 12, seed), edited(UN_2, links, rule="Un-2")
    found = table_of(given, rules)
    monkeypatch.setattr(tuning, "ROWS_HEAVY", 0)
    assert table_of(given, rules) == found


@pytest.mark.parametrize("seed", range(8))
def test_orders_of_labels_lay_out_their_rows_for_the_table(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = log(60, 4, 6, seed)
    expected = by_sets(given)
    monkeypatch.setattr(tuning, "ROWS_UP_TO", 0)
    monkeypatch.setattr(tuning, "EVENTS_A_CHAIN", 0)
    engine = Engine(read_rules(), given)
    assert isinstance(engine.order, Labels)
    assert table_of(given, read_rules()) == expected
    closure = engine.memo.judged(initial(Relation.BEFORE))
    assert isinstance(closure, Closure)
    with engine.memo.laid_out():
        assert closure._futures is not None
    assert closure._futures is None, "rows of labels are let go"


@pytest.mark.parametrize("links", OTHER_LINKS.values(), ids=OTHER_LINKS)
@pytest.mark.parametrize("seed", range(6))
def test_other_links_are_swept_to_the_same_table_as_rule_by_rule(seed: int, links: str) -> None:
    given, rules = log(60, 5, 12, seed), edited(UN_2, links, rule="Un-2")
    with patch.object(fixpoint, "Sweep", wraps=fixpoint.Sweep) as swept:
        found = table_of(given, rules)
    with patch.object(fixpoint, "rules_of", lambda *_: None):
        assert found == table_of(given, rules)
    assert swept.called or not found


def test_rules_of_another_form_are_not_swept() -> None:
    with patch.object(fixpoint, "Sweep", wraps=fixpoint.Sweep) as swept:
        table_of(log(20, 3, 4, 1), extended("Chain"))
    assert swept.call_count == 0


@pytest.mark.parametrize("seed", range(4))
def test_premises_were_found_before_their_conclusions(seed: int) -> None:
    """Without any search, derivations follow the order in which the sweeps found the pairs."""
    given, rules = log(40, 4, 8, seed), read_rules()
    with patch.object(Prover, "EXPANSIONS", 0):
        witness = Prover(Engine(rules, given), given)
        for a, b in sorted(by_sets(given))[::12]:
            proof = witness.derive(Judgement.ONLINE, a, Relation.UNKNOWN, b)
            assert proof is not None
            assert kernel.check(given, rules, proof.to_json()) is None


def test_rows_are_swept_where_events_that_were_named_once_are_not_now() -> None:
    """The order has positions beyond those of the events; other relations that rules deduce do not."""
    far = "\nrule Far:\n    no g in M with |-0 b <> g, |-0 a _ g\n    ---\n    |- a <> b\n"
    rules = parse_rules(ten() + far)
    known = Microcosm.parse("a < b \n b <> c \n c < d", rules=rules)
    known.remove("c < d")
    known.remove("b <> c")
    told = Microcosm.parse("a < b", rules=rules).why_not("a", "?", "never")
    assert known.why_not("a", "?", "never") == told
