"""The claims of Orderings Beyond Causality in their corrected form, on all computations up to four messages.

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
    from microcosm.orderings.ordering import Ordering
    from microcosm.text.statement import ORDERINGS

    assert tuple(one.value for one in Ordering) == NAMES == tuple(ORDERINGS)


Execution = tuple[Placed, ...]


def comp(execution: Execution) -> frozenset[tuple[int, tuple[Placed, ...]]]:
    """The computation of an execution (Definition 3): each peer's events in order."""
    peers = {event[2] for event in execution}
    return frozenset((p, tuple(event for event in execution if event[2] == p)) for p in peers)


def classes_of(executions: list[Execution]) -> list[frozenset[Execution]]:
    """Definition 6: what is causally equivalent to each, among all of them."""
    found: dict[frozenset[tuple[int, tuple[Placed, ...]]], set[Execution]] = {}
    for execution in executions:
        found.setdefault(comp(execution), set()).add(execution)
    return [*map(frozenset, found.values())]


def open_sets(executions: list[Execution]) -> set[frozenset[Execution]]:
    """Definition 7: the unions of classes of causal equivalence, one for each choice of executions."""
    found: set[frozenset[Execution]] = {frozenset()}
    for one in classes_of(executions):
        found |= {some | one for some in found}
    return found


def universe(size: int) -> list[Execution]:
    """All executions of the first computations of up to two messages that have no more than so many."""
    found: list[Execution] = []
    for chains in every(2):
        mine = list(oracle.executions(chains))
        if len(found) + len(mine) <= size:
            found += [execution for execution in mine if execution not in found]
    return found


def subsets(executions: list[Execution]) -> Iterator[frozenset[Execution]]:
    for chosen in range(2 ** len(executions)):
        yield frozenset(e for at, e in enumerate(executions) if chosen >> at & 1)


def test_definition_7_open_sets_are_the_closed_ones() -> None:
    """A topology in which complements of open sets are open; a class is all linear extensions of an order."""
    executions = universe(12)
    every_one, opens = frozenset(executions), open_sets(executions)
    assert {frozenset(), every_one} <= opens
    assert opens == {every_one - some for some in opens}
    assert all(a | b in opens and a & b in opens for a in opens for b in opens)
    for chains in every(2):
        linear = frozenset(oracle.executions(chains))
        assert classes_of([*linear]) == [linear]
    assert len(opens) < 2 ** len(executions)


def test_definition_8_closure_and_interior() -> None:
    """The smallest closed set around, the greatest open one within: the verdicts of the oracle."""
    executions = universe(12)
    opens, classes = open_sets(executions), classes_of(executions)
    for some in subsets(executions):
        closure = frozenset(executions).intersection(*(closed for closed in opens if some <= closed))
        interior = frozenset().union(*(open_ for open_ in opens if open_ <= some))
        assert closure in opens
        assert interior <= some <= closure
        assert closure == frozenset().union(*(one for one in classes if one & some))
        assert interior == frozenset().union(*(one for one in classes if one <= some))
    for chains in every(2):
        linear = list(oracle.executions(chains))
        for name in NAMES:
            kept = {e for e in linear if name in oracle.satisfied(e, oracle.causal(chains))}
            assert oracle.verdicts(chains)[name] == (bool(kept), kept == {*linear})


def test_lemma_9_collapse() -> None:
    """A set is its closure iff it is its interior: of all sets of executions, and so of the orderings."""
    executions = universe(12)
    classes = classes_of(executions)
    collapsed = 0
    for some in subsets(executions):
        closure = frozenset().union(*(one for one in classes if one & some))
        interior = frozenset().union(*(one for one in classes if one <= some))
        assert (some == closure) is (some == interior)
        collapsed += some == closure
    assert collapsed == 2 ** len(classes)


def smallest_with(wanted: set[str], unwanted: set[str]) -> set[str]:
    """The computations with fewest events (messages may be lost) in some interiors and not in others."""
    found = [
        chains
        for chains in every(2)
        if all(in_interior(name, chains) for name in wanted)
        and not any(in_interior(name, chains) for name in unwanted)
    ]
    fewest = min(sum(map(len, chains)) for chains in found)
    return {oracle.shown(chains) for chains in found if sum(map(len, chains)) == fewest}


def canonical(text: str) -> str:
    return oracle.shown(oracle.canonical(chains_of(text)))


def test_errata_of_the_proof_of_theorem_11() -> None:
    """Item 3 means Exec(Fifo n-n): Figure 5 is in Int(Fifo 1-n). And two messages are not enough."""
    figure_5 = chains_of("s1|r1|s2|r2")
    before = oracle.causal(figure_5)
    bad = next(
        e for e in oracle.executions(figure_5) if [k + str(m) for k, m, _ in e] == ["s1", "s2", "r2", "r1"]
    )
    assert {"fifo-n-n", "rsc"}.isdisjoint(oracle.satisfied(bad, before))
    assert in_interior("fifo-1-n", figure_5)
    assert not in_interior("fifo-n-n", figure_5)
    assert in_closure("rsc", figure_5)
    one_channel = (
        chains_of("s1 s2|r1 r2"),
        chains_of("s1 s2|r2 r1"),
    )  # two sends, two receptions: "non trivial"
    for chains in one_channel:
        for name in ("fifo-1-n", "fifo-n-1", "fifo-n-n"):
            assert in_closure(name, chains) is in_interior(name, chains)


def test_errata_of_the_captions_of_figures_9_10_and_12() -> None:
    """What they should say is true of them, and nothing smaller separates the interiors so."""
    assert smallest_received({"fifo-n-n"}, {"rsc"}) == {canonical("s1 s2|r1 r2")}  # Figure 9
    assert canonical("s1 r2|s2 r1") in smallest_received({"fifo-1-n", "fifo-n-1"}, {"fifo-n-n"})  # Figure 10
    assert smallest_with({"fifo-n-1"}, {"fifo-1-n"}) == {canonical("s1 s2|r1|r2")}  # Figure 11
    assert smallest_with({"fifo-1-n"}, {"fifo-n-1"}) == {canonical("s1|s2|r1 r2")}  # Figure 12
    for chains in every(3):
        assert in_interior("fifo-n-n", chains) or not in_interior("rsc", chains)  # so nothing is as in 9


def smallest_received(wanted: set[str], unwanted: set[str]) -> set[str]:
    """The same, where nothing is lost."""
    return {
        oracle.shown(chains)
        for chains in every(2)
        if sum(map(len, chains)) == 4
        and sum(kind == "r" for row in chains for kind, _ in row) == 2
        and all(in_interior(name, chains) for name in wanted)
        and not any(in_interior(name, chains) for name in unwanted)
    }
