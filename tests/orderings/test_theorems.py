"""The claims of seed 004 in their corrected form, each tested on all computations of up to four messages.

Truth is what the oracle says; closures and interiors are asked for by name, `in_closure("rsc", chains)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest

from tests.orderings import oracle
from tests.orderings.notation import chains_of
from tests.orderings.oracle import NAMES, Chains, Placed

HIERARCHY = (
    ("rsc", "fifo-n-n"),
    ("fifo-n-n", "fifo-1-n"),
    ("fifo-n-n", "fifo-n-1"),
    ("fifo-1-n", "causal"),
    ("fifo-n-1", "causal"),
    ("causal", "fifo-1-1"),
)


def in_closure(name: str, chains: Chains) -> bool:
    return oracle.verdicts(chains)[name][0]


def in_interior(name: str, chains: Chains) -> bool:
    return oracle.verdicts(chains)[name][1]


def every(most: int = 4) -> Iterator[Chains]:
    for messages in range(1, most + 1):
        yield from oracle.computations(messages, 4)


class Small:
    """A computation as sets: what the definitions of the paper speak of."""

    def __init__(self, chains: Chains) -> None:
        self.before = oracle.causal(chains)
        rows = [event for row in oracle.placed(chains) for event in row]
        self.events = rows
        self.send = {e[1]: e for e in rows if e[0] == "s"}
        self.reception = {e[1]: e for e in rows if e[0] == "r"}

    def chain(self, events: list[Placed]) -> bool:
        return all((a, b) in self.before or (b, a) in self.before for a in events for b in events if a != b)

    def crown(self) -> bool:
        """Definition 12 with two or more distinct messages, all received."""
        return any(
            all((self.send[a], self.reception[b]) in self.before for a, b in _around(found))
            for size in range(2, len(self.reception) + 1)
            for found in permutations(self.reception, size)
        )

    def knot(self) -> bool:
        """Definition 14: strict order, distinct messages."""
        for size in range(2, len(self.reception) + 1, 2):
            for found in permutations(self.reception, size):
                steps = list(_around(found))
                if all((self.send[a], self.send[b]) in self.before for a, b in steps[::2]) and all(
                    (self.reception[a], self.reception[b]) in self.before for a, b in steps[1::2]
                ):
                    return True
        return False

    def acyclic_with(self, extra: set[tuple[Placed, Placed]]) -> bool:
        after: dict[Placed, set[Placed]] = {}
        for a, b in self.before | extra:
            after.setdefault(a, set()).add(b)
        left = set(self.events)
        while ends := {e for e in left if after.get(e, set()).isdisjoint(left)}:
            left -= ends
        return not left

    def mailbox(self) -> set[tuple[Placed, Placed]]:
        """Definition 15."""
        met = self.reception
        return {
            (self.send[a], self.send[b])
            for a in met
            for b in met
            if met[a][2] == met[b][2] and (met[a], met[b]) in self.before
        }

    def outbox(self) -> set[tuple[Placed, Placed]]:
        """Definition 28."""
        met = self.reception
        return {
            (met[a], met[b])
            for a in met
            for b in met
            if self.send[a][2] == self.send[b][2] and (self.send[a], self.send[b]) in self.before
        }


def _around(found: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    return zip(found, (*found[1:], found[0]), strict=True)


def test_lemma_4_and_lemma_5_hierarchy() -> None:
    """Over executions and, for Causal and Fifo 1-1, over computations; Fifo n-1 and 1-n are incomparable."""
    kept: set[frozenset[str]] = set()
    for chains in every(3):
        before = oracle.causal(chains)
        kept.update(oracle.satisfied(execution, before) for execution in oracle.executions(chains))
    assert all(weaker in held for held in kept for stronger, weaker in HIERARCHY if stronger in held)
    assert any("fifo-n-1" in held and "fifo-1-n" not in held for held in kept)
    assert any("fifo-1-n" in held and "fifo-n-1" not in held for held in kept)
    for stronger, weaker in HIERARCHY:
        assert any(weaker in held and stronger not in held for held in kept)


def test_theorem_10_collapse_of_fifo_1_1_and_causal() -> None:
    for chains in every():
        for name in ("fifo-1-1", "causal"):
            assert in_closure(name, chains) is in_interior(name, chains)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fifo-1-n", "s1 s2|r1|r2"),  # Figure 3
        ("fifo-n-1", "s1|s2|r1 r2"),  # Figure 4
        ("fifo-n-n", "s1|r1|s2|r2"),  # Figure 5
        ("rsc", "s1|r1|s2|r2"),
    ],
)
def test_theorem_11_no_collapse(name: str, text: str) -> None:
    """Erratum 5: the title means Fifo 1-n too, and with two peers n-1 and 1-n do collapse."""
    assert in_closure(name, chains_of(text))
    assert not in_interior(name, chains_of(text))
    for chains in every():
        if len(chains) <= 2 and name in ("fifo-1-n", "fifo-n-1") and in_closure("causal", chains):
            assert in_closure(name, chains) is in_interior(name, chains)


def test_theorem_13_crowns() -> None:
    """Erratum 2: crowns have two or more messages; every reception would be one of size 1."""
    for chains in every():
        assert in_closure("rsc", chains) is not Small(chains).crown()
    assert in_closure("rsc", chains_of("s1|r1"))


def test_lemma_16_and_lemma_29_acyclic() -> None:
    """Erratum 4: "antisymmetric" is not enough."""
    for chains in every():
        small = Small(chains)
        assert in_closure("fifo-n-1", chains) is small.acyclic_with(small.mailbox())
        assert in_closure("fifo-1-n", chains) is small.acyclic_with(small.outbox())
    small = Small(chains_of("s1 s2|s3 s4|r2 r3|r4 r1"))
    both = small.before | small.mailbox()
    assert all((b, a) not in both for a, b in both)
    assert not small.acyclic_with(small.mailbox())


def test_theorem_17_and_theorem_18_causal_knots() -> None:
    for chains in every():
        knot = Small(chains).knot()
        assert in_closure("fifo-n-1", chains) is not knot
        assert in_closure("fifo-1-n", chains) is not knot


def test_theorem_19_inclusion_of_closures() -> None:
    for chains in every():
        assert in_closure("fifo-n-n", chains) or not in_closure("rsc", chains)
        assert in_closure("fifo-1-n", chains) or not in_closure("fifo-n-n", chains)
        assert in_closure("fifo-1-n", chains) is in_closure("fifo-n-1", chains)
    figure_6, figure_8 = chains_of("s1 r2|s2 r1"), chains_of("s1 r2|s2 s3|r3 s4|r4 r1")
    assert in_closure("fifo-n-n", figure_6)
    assert not in_closure("rsc", figure_6)
    assert in_closure("fifo-1-n", figure_8)
    assert not in_closure("fifo-n-n", figure_8)


def test_corollary_22_interpolation() -> None:
    """Any order of two or three events that the causal one allows is that of some execution."""
    for chains in every(2):
        before = oracle.causal(chains)
        executions = list(oracle.executions(chains))
        places = [{e: i for i, e in enumerate(execution)} for execution in executions]
        events = [e for row in oracle.placed(chains) for e in row]
        for size in (2, 3):
            for order in permutations(events, size):
                allowed = all((b, a) not in before for i, a in enumerate(order) for b in order[i + 1 :])
                found = any(sorted(order, key=place.__getitem__) == list(order) for place in places)
                assert found is allowed


def test_theorem_23_interior_of_rsc() -> None:
    """Errata 1 and 10, in total form: no reception, or Causal and all events a chain."""
    for chains in every():
        small = Small(chains)
        chain = in_closure("causal", chains) and small.chain(small.events)
        assert in_interior("rsc", chains) is (not small.reception or chain)
    assert in_interior("rsc", chains_of("s1|s2"))


def test_theorem_24_interior_of_fifo_n_n() -> None:
    for chains in every():
        small = Small(chains)
        sends = [small.send[m] for m in small.reception]
        chain = small.chain(sends) and small.chain(list(small.reception.values()))
        assert in_interior("fifo-n-n", chains) is (in_closure("causal", chains) and chain)


def test_theorem_25_and_theorem_26_interiors_of_the_boxes() -> None:
    for chains in every():
        small = Small(chains)
        causal = in_closure("causal", chains)
        met = small.reception
        mailboxes = [[small.send[m] for m in met if met[m][2] == p] for p in range(4)]
        outboxes = [[met[m] for m in met if small.send[m][2] == p] for p in range(4)]
        assert in_interior("fifo-n-1", chains) is (causal and all(map(small.chain, mailboxes)))
        assert in_interior("fifo-1-n", chains) is (causal and all(map(small.chain, outboxes)))


def test_theorem_27_inclusion_of_interiors() -> None:
    """Errata 8 and 9: Figure 9 separates RSC from Fifo n-n, Figure 10 Fifo n-n from the boxes."""
    for chains in every():
        for stronger, weaker in HIERARCHY:
            assert in_interior(weaker, chains) or not in_interior(stronger, chains)
    figure_9, figure_10 = chains_of("s1 s2|r1 r2"), chains_of("s1 r2|s2 r1")
    assert in_interior("fifo-n-n", figure_9)
    assert not in_interior("rsc", figure_9)
    assert in_interior("fifo-1-n", figure_10)
    assert in_interior("fifo-n-1", figure_10)
    assert not in_interior("fifo-n-n", figure_10)
    boxes = {(in_interior("fifo-n-1", chains), in_interior("fifo-1-n", chains)) for chains in every(2)}
    assert {(True, False), (False, True)} <= boxes


def test_lemma_31_inversion() -> None:
    """Two sends, or two receptions, that are concurrent can change places without the others doing so."""
    for chains in every(3):
        small = Small(chains)
        places = [{e: i for i, e in enumerate(x)} for x in oracle.executions(chains)]
        for one, other in ((small.send, small.reception), (small.reception, small.send)):
            seen = {
                (a, b, place[one[a]] < place[one[b]], place[other[a]] < place[other[b]])
                for place in places
                for a in small.reception
                for b in small.reception
                if a != b
            }
            for a, b, first, second in seen:
                if first and (one[a], one[b]) not in small.before:
                    assert (a, b, False, second) in seen


def test_names_of_the_orderings() -> None:
    from microcosm.logic.statement import ORDERINGS
    from microcosm.orderings.ordering import Ordering

    assert tuple(one.value for one in Ordering) == NAMES == tuple(ORDERINGS)
