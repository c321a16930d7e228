"""What a known ordering tells offline: every conclusion is true, and each rule is tried."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from microcosm import Microcosm, Relation, files
from microcosm.logic import kernel
from microcosm.logic.rule import Base, Instance, Judged, Not, Premise
from microcosm.logic.rulebook import parse_rules
from tests.orderings import oracle
from tests.orderings.notation import chains_of
from tests.orderings.oracle import NAMES, Chains, Placed

STATEMENTS = [*NAMES, *(f"{name} interior" for name in NAMES)]


def name_of(event: Placed) -> str:
    return f"{event[0]}{event[1]}"


def microcosm_of(chains: Chains, given: list[tuple[Placed, Placed]], ordering: str) -> Microcosm:
    """The messages of a computation, some of its happens-before, and what is known of the network."""
    lines = [f"ordering {ordering}"] if ordering else []
    events = [event for row in oracle.placed(chains) for event in row]
    receivers = {m: f"p{p}" for kind, m, p in events if kind == "r"}
    for event in events:
        kind, m, p = event
        to = f" -> {receivers.get(m, 'nobody')}" if kind == "s" else ""
        lines.append(f"{'send' if to else 'receive'} {name_of(event)} = m{m} p{p}{to}")
    lines += [f"{name_of(a)} < {name_of(b)}" for a, b in given]
    return Microcosm.parse("\n".join(lines))


def left_of(microcosm: Microcosm) -> dict[tuple[str, str], tuple[Relation, ...]]:
    return {(a, b): left for a, b, left in microcosm.offline_table()}


Fact = tuple[Placed, Placed]


def truths(chains: Chains, statement: str) -> dict[str, set[Fact]]:
    """What is true of a computation whose network keeps an ordering: relations and base predicates."""
    events = [event for row in oracle.placed(chains) for event in row]
    before = oracle.causal(chains)
    pairs = {(a, b) for a in events for b in events if a != b}
    apart = {(a, b) for a, b in pairs if (a, b) not in before and (b, a) not in before}
    name, _, interior = statement.partition(" ")
    true = {
        "<": before,
        "||": apart,
        "!<": pairs - before,
        "!||": pairs - apart,
        "same_process": {(a, b) for a, b in pairs if a[2] == b[2]},
        "complete": pairs,
    }
    matched = {(a, b) for a, b in pairs if a[0] == "s" and b[0] == "r" and a[1] == b[1]}
    for weaker in NAMES:
        if name == weaker or (name, weaker) in IMPLIED:
            true[weaker.replace("-", "_")] = true[weaker.replace("-", "_") + "_interior"] = matched
            if not interior:
                true[weaker.replace("-", "_") + "_interior"] = set()
    return true


IMPLIED = {
    (a, b)
    for chain in (
        ("rsc", "fifo-n-n", "fifo-n-1", "causal", "fifo-1-1"),
        ("rsc", "fifo-n-n", "fifo-1-n", "causal", "fifo-1-1"),
    )
    for i, a in enumerate(chain)
    for b in chain[i + 1 :]
}


def holds(premise: Premise, named: dict[str, Placed], true: dict[str, set[Fact]]) -> bool:
    """Whether a premise is true; of an unknown ordering no base predicate is."""
    if isinstance(premise, Base):
        return tuple(named[e] for e in premise.events) in true.get(premise.name, set())
    if isinstance(premise, Not):
        assert isinstance(premise.body, Judged)
        a, b = named[premise.body.left], named[premise.body.right]
        return a != b and (a, b) not in true["<"] and (b, a) not in true["<"]
    assert isinstance(premise, Judged)
    return (named[premise.left], named[premise.right]) in true[str(premise.relation)]


def assignments(instance: Instance, true: dict[str, set[Fact]]) -> Iterator[dict[str, Placed]]:
    """The events that the base predicates of a rule allow for its variables."""
    found: list[dict[str, Placed]] = [{}]
    for premise in instance.premises:
        if isinstance(premise, Base):
            found = [
                {**named, **dict(zip(premise.events, fact, strict=True))}
                for named in found
                for fact in true.get(premise.name, set())
                if all(named.get(e, x) == x for e, x in zip(premise.events, fact, strict=True))
            ]
    return iter(found)


def unsound(messages: int, statement: str) -> list[tuple[str, Chains]]:
    """The rules that conclude something false from true premises, of a network that keeps an ordering."""
    book = parse_rules(files.shipped("rules").joinpath("orderings.rules").read_text(encoding="utf-8"))
    name, _, interior = statement.partition(" ")
    found = []
    for chains in oracle.computations(messages, 4):
        if not oracle.verdicts(chains)[name][bool(interior)]:
            continue
        true = truths(chains, statement)
        for instance in book.instances:
            for named in assignments(instance, true):
                if all(holds(premise, named, true) for premise in instance.premises):
                    said = instance.conclusion
                    a, b = named[said.left], named[said.right]
                    if a != b and not holds(said, named, true):
                        found.append((instance.name, chains))
    return found


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_rule_is_sound_of_every_computation(statement: str) -> None:
    """From true premises to a true conclusion, of all that a network with an ordering can have produced."""
    for messages in (1, 2, 3):
        assert unsound(messages, statement) == []


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_conclusion_is_true(statement: str) -> None:
    """Of computations that the network can have produced, and of any part of their happens-before."""
    name, _, interior = statement.partition(" ")
    rng = Random(3)
    produced = [x for x in oracle.computations(3, 4) if oracle.verdicts(x)[name][bool(interior)]]
    said = 0
    for chains in rng.sample(produced, 12):
        before = oracle.causal(chains)
        given = [pair for pair in sorted(before) if rng.random() < 0.5]
        without = left_of(microcosm_of(chains, given, ""))
        for (a, b), left in left_of(microcosm_of(chains, given, statement)).items():
            events = {name_of(e): e for row in oracle.placed(chains) for e in row}
            x, y = events[a], events[b]
            true = (
                Relation.BEFORE
                if (x, y) in before
                else Relation.AFTER
                if (y, x) in before
                else Relation.CONCURRENT
            )
            assert true in left, (chains, given, a, b)
            said += left != without[a, b]
    assert said or statement in ("fifo-1-1", "fifo-1-1 interior", "causal interior")


@pytest.mark.parametrize(
    ("rule", "ordering", "text", "given", "pair", "proved", "refuted"),
    [
        ("Fifo-Send", "fifo-1-1", "s1 s2|r1 r2", [("r1", "r2")], ("s1", "s2"), "<", None),
        ("Fifo-Receive", "fifo-1-1", "s1 s2|r1 r2", [("s1", "s2")], ("r1", "r2"), "<", None),
        ("Causal-Receive", "causal", "s1|s2|r1 r2", [("s1", "s2")], ("r1", "r2"), "<", None),
        ("Causal-Send", "fifo-n-1", "s1|s2|r1 r2", [("r1", "r2")], ("s1", "s2"), None, ">"),
        ("Causal-Apart", "fifo-1-n", "s1 s2|r1|r2", [("s1", "s2")], ("r1", "r2"), None, ">"),
        ("Rsc-Between", "rsc", "s1 s2|r1|r2", [("s1", "s2")], ("r1", "s2"), None, ">"),
        ("Mailbox-Interior", "fifo-n-1 interior", "s1|s2|r1 r2", [("r1", "r2")], ("s1", "s2"), "<", None),
        ("Outbox-Interior", "fifo-1-n interior", "s1 s2|r1|r2", [("s1", "s2")], ("r1", "r2"), "<", None),
        ("Queue-Interior", "fifo-n-n interior", "s1|s2|r1|r2", [], ("s1", "s2"), "<>", "||"),
    ],
)
def test_each_rule(
    rule: str,
    ordering: str,
    text: str,
    given: list[tuple[str, str]],
    pair: tuple[str, str],
    proved: str | None,
    refuted: str | None,
) -> None:
    chains = chains_of(text)
    events = {name_of(e): e for row in oracle.placed(chains) for e in row}
    known = [(events[a], events[b]) for a, b in given]
    found = microcosm_of(chains, known, ordering).offline(*pair)
    assert (str(found.relation) if found.relation is not None else None) == proved
    if refuted is not None:
        assert refuted in [str(one) for one in found.refuted]
    assert not found.exact
    microcosm = microcosm_of(chains, known, ordering)
    for derivation in found.derivations.values():
        assert kernel.check(microcosm.givens, microcosm.rules, derivation.to_json()) is None
    silent = microcosm_of(chains, known, "").offline(*pair)
    assert silent.relation is None
    assert not silent.refuted


def test_facts_that_contradict_the_ordering() -> None:
    """Received the wrong way round: no world of a causal network has all of it."""
    text = "send s1 = m1 a -> b\nsend s2 = m2 a -> b\nreceive r1 = m1 b\nreceive r2 = m2 b\n"
    microcosm = Microcosm.parse(text + "s1 < s2\nr2 < r1\nordering causal")
    assert microcosm.contradiction() is not None
    assert Microcosm.parse(text + "s1 < s2\nr2 < r1").contradiction() is None


def test_a_complete_log_decides_every_pair_exactly() -> None:
    """From the order of the peers and the messages alone; without the statement nothing is concurrent."""
    rng = Random(2)
    for chains in rng.sample([x for x in oracle.computations(3, 4) if oracle.causal(x)], 40):
        before = oracle.causal(chains)
        if any((a, a) in before for a, _ in before):
            continue
        rows = oracle.placed(chains)
        cover = [pair for row in rows for pair in pairwise(row)]
        cover += [(a, b) for a, b in sorted(before) if (a[0], b[0]) == ("s", "r") and a[1] == b[1]]
        events = {name_of(e): e for row in rows for e in row}
        for ordering in ("", "complete"):
            known = Microcosm.parse(f"{microcosm_of(chains, cover, '').to_text()}{ordering}\n")
            for (a, b), left in left_of(known).items():
                x, y = events[a], events[b]
                if (x, y) in before or (y, x) in before:
                    assert left == ((Relation.BEFORE,) if (x, y) in before else (Relation.AFTER,))
                else:
                    assert (left == (Relation.CONCURRENT,)) is bool(ordering)


def test_nothing_is_concurrent_without_the_statement() -> None:
    text = "send s1 = m1 a -> c\nsend s2 = m2 b -> c\nreceive r1 = m1 c\ns1 < r1\n"
    assert Microcosm.parse(text).offline("s1", "s2").relation is None
    known = Microcosm.parse(f"{text}complete")
    found = known.offline("s1", "s2")
    assert (found.relation, found.exact) == (Relation.CONCURRENT, True)
    for derivation in found.derivations.values():
        assert kernel.check(known.givens, known.rules, derivation.to_json()) is None
    related = Microcosm.parse(f"{text}complete\ns1 <> s2").offline("s1", "s2")
    assert related.relation is Relation.BEFORE  # s2 < s1 would order s2 and r1, which the log does not


def test_opposite_views_prove_sends_concurrent() -> None:
    """Two receivers that disagree, and a causal network: whoever sent first, some order would be broken."""
    chains = chains_of("s0 s1|s2 s3|r1 r2|r3 r0")
    known = microcosm_of(chains, [], "causal")
    known.add("s0 < s1")
    known.add("s2 < s3")
    known.add("r1 < r2")
    known.add("r3 < r0")
    for a in ("s0", "s1"):
        for b in ("s2", "s3"):
            assert known.offline(a, b).relation is Relation.CONCURRENT
