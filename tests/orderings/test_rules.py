"""What a known ordering tells offline: every conclusion is true, and each rule is tried."""

from __future__ import annotations

from random import Random

import pytest

from microcosm import Microcosm, Relation
from microcosm.logic import kernel
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
