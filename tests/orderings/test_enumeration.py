"""All eighteen verdicts against enumeration: every small computation, and random ones of multicasts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations, product
from random import Random

import pytest

from microcosm.givens.columns import Message
from microcosm.givens.givens import Givens
from microcosm.order.order import base_facts
from microcosm.orderings.computation import Computation
from microcosm.orderings.ordering import Ordering, violations
from microcosm.orderings.queue import queue_execution
from microcosm.orderings.verdicts import Verdict, classify
from tests.orderings import oracle
from tests.orderings.notation import computation_of, is_crown, is_knot

Verdicts = dict[Ordering, Verdict]


def said(verdicts: Verdicts) -> dict[str, tuple[bool, bool]]:
    return {one.value: (verdict.closure, verdict.interior) for one, verdict in verdicts.items()}


def check(computation: Computation, verdicts: Verdicts) -> None:
    """Every witness is what it claims to be."""
    numbers = {name: m for m, name in enumerate(computation.messages)}
    for ordering, verdict in verdicts.items():
        assert (verdict.kept is None) is not verdict.closure
        assert (verdict.broken is None) is verdict.interior
        if verdict.kept is not None:
            assert ordering not in violations(computation, verdict.kept)
        if verdict.broken is not None:
            assert violations(computation, verdict.broken)[ordering] == verdict.broken_by
        if verdict.pattern is not None:
            messages = tuple(numbers[name] for name in verdict.pattern.messages)
            within = {numbers[name] for name in verdict.pattern.within}
            assert set(messages) <= within
            assert not classify(computation.restrict(within))[ordering].closure
            if verdict.pattern.kind == "crown":
                assert is_crown(computation, messages)
            elif verdict.pattern.kind == "causal-knot":
                assert is_knot(computation, messages)
            elif verdict.pattern.kind != "inversion":
                assert within == set(messages)
                assert all(classify(computation.restrict(within - {m}))[ordering].closure for m in within)


@pytest.mark.parametrize(
    ("messages", "count"), [(0, 1), (1, 2), (2, 16), (3, 178), pytest.param(4, 2744, marks=pytest.mark.slow)]
)
def test_all_computations(messages: int, count: int) -> None:
    """2,940 computations with at least one message, of at most four peers, unreceived messages included."""
    every = oracle.computations(messages, 4)
    assert len(every) == count
    for chains in every:
        assert said(classify(computation_of(chains))) == oracle.verdicts(chains), chains


def test_the_witnesses_of_all_computations_of_three_messages() -> None:
    for chains in oracle.computations(3, 4):
        computation = computation_of(chains)
        check(computation, classify(computation))


MULTICASTS = [((1, 4), 4), ((2, 4), 98), ((3, 3), 831)]


def agree(scope: Iterable[oracle.Chains]) -> None:
    """Verdicts are those of the oracle, and their witnesses what they claim to be."""
    for chains in scope:
        computation = computation_of(chains)
        verdicts = classify(computation)
        assert said(verdicts) == oracle.verdicts(chains), oracle.shown(chains)
        assert said(classify(computation_of(chains[::-1]))) == said(verdicts)  # whoever is the first receiver
        check(computation, verdicts)


@pytest.mark.parametrize(("scope", "count"), MULTICASTS)
def test_all_multicasts(scope: tuple[int, int], count: int) -> None:
    """Messages that any of the other peers receive, lost copies included; of the larger scope every fifth."""
    every = oracle.multicasts(*scope)
    assert len(every) == count
    assert {c for c in every if all(k == "s" or c_once(c, m) for row in c for k, m in row)} == {
        *oracle.computations(*scope)
    }
    agree(every if count < 100 else every[::5])


def c_once(chains: oracle.Chains, m: int) -> bool:
    """Whether a message is received once."""
    return sum(row.count(("r", m)) for row in chains) == 1


@pytest.mark.slow
def test_all_multicasts_of_three_messages() -> None:
    agree(oracle.multicasts(3, 3))


def implications(scope: Iterable[oracle.Chains]) -> set[tuple[str, str]]:
    """The orderings that imply each other, in every execution of every computation of a scope."""
    kept = {
        oracle.satisfied(execution, oracle.causal(chains))
        for chains in scope
        for execution in oracle.executions(chains)
    }
    return {
        (a, b)
        for a in oracle.NAMES
        for b in oracle.NAMES
        if a != b and all(b in held for held in kept if a in held)
    }


@pytest.mark.parametrize("multicast", [False, True])
def test_lemma_4_hierarchy(multicast: bool) -> None:
    """What implies what, of messages with one receiver each and of any: by enumeration and as stated."""
    of_one = [c for n in (2, 3) for c in oracle.computations(n, 3)]
    found = implications([*of_one, *oracle.multicasts(2, 4)] if multicast else of_one)
    below = {(one, weaker) for one in Ordering for weaker in one.weaker(multicast)}
    for _ in Ordering:
        below |= {(a, c) for a, b in below for d, c in below if b == d}
    assert found == {(a.value, b.value) for a, b in below}
    lost = {("fifo-1-n", "causal")}
    assert found == implications(of_one) - (lost if multicast else set())
    if multicast:
        for name in oracle.NAMES:  # and what the rules rely on is what holds of all
            held = base_facts(Givens(messages=ONE, orderings=[name]))
            must = base_facts(Givens(messages=ONE, orderings=[f"{name} interior"]))
            for other in oracle.NAMES:
                predicate, implied = other.replace("-", "_"), name == other or (name, other) in found
                assert bool(held[predicate]) is bool(must[predicate]) is implied
                assert bool(must[f"{predicate}_interior"]) is implied
                assert not held[f"{predicate}_interior"]


ONE = [Message("send", "s", "m", "p", ("q",)), Message("receive", "r", "m", "q")]


def test_which_inclusions_survive_several_receivers() -> None:
    """Theorems 19 and 27, and the table of docs/theory/reading-orderings.md, in all small multicasts."""
    chain = ["rsc", "fifo-n-n", "fifo-1-n", "causal", "fifo-1-1"], ["fifo-n-n", "fifo-n-1", "causal"]
    claims = {(a, b) for names in chain for i, a in enumerate(names) for b in names[i + 1 :]}
    same = {("fifo-n-1", "fifo-1-n"), ("fifo-1-n", "fifo-n-1")}  # of closures: Theorems 17 and 18
    of_one = [c for n in (1, 2, 3) for c in oracle.computations(n, 4)]
    for scope, lost in (
        (of_one, set()),
        ([*oracle.multicasts(2, 4), *oracle.multicasts(3, 3)], {("fifo-1-n", "causal")}),
    ):
        found = [oracle.verdicts(chains) for chains in scope]
        interior = {(a, b) for a, b in claims if any(v[a][1] and not v[b][1] for v in found)}
        closure = {(a, b) for a, b in claims | same if any(v[a][0] and not v[b][0] for v in found)}
        assert interior == lost
        assert closure == (lost | {("fifo-1-n", "fifo-n-1")} if lost else set())


def test_characterisations_of_several_receivers() -> None:
    """The other rows of that table, from the causal order alone."""
    for chains in [*oracle.multicasts(2, 4), *oracle.multicasts(3, 3)]:
        before, verdicts = oracle.causal(chains), oracle.verdicts(chains)
        events = [event for row in oracle.placed(chains) for event in row]
        send = {e[1]: e for e in events if e[0] == "s"}
        got = {m: [e for e in events if e[:2] == ("r", m)] for m in send}
        two = [(a, b) for a in send for b in send if a != b and got[a] and got[b]]

        for name in ("fifo-1-1", "causal"):  # Theorem 10
            assert len(set(verdicts[name])) == 1
        causal = verdicts["causal"][0]
        if causal:
            assert not any((x, y) in before for m in send for x in got[m] for y in got[m])
        shared = [(a, b) for a, b in two if {x[2] for x in got[a]} & {y[2] for y in got[b]}]
        chained = all((send[a], send[b]) in before or (send[b], send[a]) in before for a, b in shared)
        assert verdicts["fifo-n-1"][1] is (causal and chained)  # Theorem 25
        ordered = [(a, b) for a, b in two if (send[a], send[b]) in before]
        own = all({*product(got[a], got[b])} <= before for a, b in ordered if send[a][2] == send[b][2])
        assert verdicts["fifo-1-n"][1] is own
        total = all((a, b) in ordered or (b, a) in ordered for a, b in two)
        assert verdicts["fifo-n-n"][1] is (
            total and all({*product(got[a], got[b])} <= before for a, b in ordered)
        )
        computation = computation_of(chains)
        crowns = (
            tuple(found) for n in range(2, len(send) + 1) for found in permutations(range(len(send)), n)
        )
        crown = any(is_crown(computation, found) for found in crowns)
        assert verdicts["rsc"][0] is not crown  # Theorem 13


def drawn(
    rng: Random, peers: int, messages: int, receivers: int
) -> tuple[oracle.Chains, list[oracle.Placed]]:
    """A random execution, and its chains."""
    chains: list[list[oracle.Event]] = [[] for _ in range(peers)]
    order: list[oracle.Placed] = []
    left, transit = list(range(messages)), list[tuple[int, int]]()
    while left or transit:
        if left and (not transit or rng.random() < 0.5):
            m, p = left.pop(0), rng.randrange(peers)
            event: oracle.Placed = ("s", m, p)
            others = [q for q in range(peers) if q != p]
            transit += [(m, q) for q in rng.sample(others, rng.randint(0, min(receivers, len(others))))]
        else:
            event = ("r", *transit.pop(rng.randrange(len(transit))))
        chains[event[2]].append(event[:2])
        order.append(event)
    return tuple(map(tuple, chains)), order


@pytest.mark.parametrize("receivers", [1, 2, 3])
def test_random_executions_and_multicasts(receivers: int) -> None:
    """Multicast: each reception of a message counts, and those of one message are not compared."""
    rng = Random(receivers)
    for _ in range(400):
        chains, order = drawn(rng, rng.randint(2, 4), rng.randint(1, 4), receivers)
        if len(order) > 9:
            continue
        computation = computation_of(chains)
        numbers = {
            (kind, m, p): computation.chains[p][at]
            for p, chain in enumerate(chains)
            for at, (kind, m) in enumerate(chain)
        }
        verdicts = classify(computation, [numbers[event] for event in order])
        assert said(verdicts) == oracle.verdicts(chains), chains
        held = {one.value for one, verdict in verdicts.items() if verdict.execution}
        assert held == oracle.satisfied(tuple(order), oracle.causal(chains))
        for verdict in verdicts.values():
            assert (verdict.inverted is None) is verdict.execution
        check(computation, verdicts)


def test_isomorphism_time_reversal_and_deletion() -> None:
    """Reversal exchanges Fifo n-1 and Fifo 1-n and fixes Fifo n-n; deletion keeps closures."""
    rng = Random(5)
    swapped = {"fifo-n-1": "fifo-1-n", "fifo-1-n": "fifo-n-1"}
    for _ in range(150):
        chains, _ = drawn(rng, 4, 8, 1)
        received = {m for chain in chains for kind, m in chain if kind == "r"}
        chains = tuple(tuple(e for e in chain if e[1] in received) for chain in chains)
        verdicts = said(classify(computation_of(chains)))
        names = {m: at for at, m in enumerate(rng.sample(range(8), 8))}
        renamed = [tuple((kind, names[m]) for kind, m in chain) for chain in chains]
        rng.shuffle(renamed)
        assert said(classify(computation_of(tuple(renamed)))) == verdicts
        other = {"s": "r", "r": "s"}
        backwards = tuple(tuple((other[kind], m) for kind, m in reversed(chain)) for chain in chains)
        reversed_ = said(classify(computation_of(backwards)))
        for name in ("fifo-1-1", "fifo-n-1", "fifo-1-n", "fifo-n-n"):
            assert reversed_[swapped.get(name, name)] == verdicts[name]
        computation = computation_of(chains)
        for m in range(len(computation.messages)):
            fewer = said(classify(computation.restrict(set(range(len(computation.messages))) - {m})))
            assert all(fewer[name][0] or not verdicts[name][0] for name in fewer)


@pytest.mark.parametrize("messages", [1, 2, 3, 4])
def test_the_two_oracles_of_one_queue_agree(messages: int) -> None:
    received = oracle.computations(messages, 4, lossless=True)
    assert received == tuple(
        chains for chains in oracle.computations(messages, 4) if sum(map(len, chains)) == 2 * messages
    )
    for chains in received:
        assert oracle.one_queue(chains) is oracle.verdicts(chains)["fifo-n-n"][0], chains


@pytest.mark.thorough
def test_one_queue_with_five_messages() -> None:
    """The closure of Fifo n-n of fully received computations of five messages."""
    every = oracle.computations(5, 4, lossless=True)
    assert len(every) == 25_787
    for chains in every:
        assert (queue_execution(computation_of(chains)) is not None) is oracle.one_queue(chains), chains
