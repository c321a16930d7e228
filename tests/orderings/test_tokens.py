"""Section 4.5: the computations of token networks are those of the interiors, no more and no fewer."""

from __future__ import annotations

from random import Random

import pytest

from microcosm.orderings.ordering import Ordering
from microcosm.orderings.verdicts import classify
from tests.orderings import oracle
from tests.orderings.oracle import Chains
from tests.orderings.tokens import TokenNetwork

TOKENS = [Ordering.FIFO_N_1, Ordering.FIFO_1_N, Ordering.FIFO_N_N, Ordering.RSC]


def reached(ordering: Ordering, messages: int, peers: int) -> set[TokenNetwork]:
    """Every state with at most so many messages; the first one goes from peer 0 to peer 1."""
    start = TokenNetwork.of(ordering, peers)
    first = [one for one in start.steps() if (one.transit[0].sender, one.transit[0].receiver) == (0, 1)]
    found, waiting = set(first), first
    while waiting:
        for after in waiting.pop().steps():
            if after.sent <= messages and after not in found:
                found.add(after)
                waiting.append(after)
    return found


def chains_in(network: TokenNetwork) -> Chains:
    rows = (tuple((kind[0], m) for kind, m in row) for row in network.chains)
    return oracle.canonical(tuple(row for row in rows if row))


@pytest.mark.parametrize("scope", [(1, 3), (2, 4), (3, 3), pytest.param((4, 3), marks=pytest.mark.slow)])
@pytest.mark.parametrize("ordering", TOKENS)
def test_token_networks_implement_exactly_the_interiors(ordering: Ordering, scope: tuple[int, int]) -> None:
    """Every computation that all is received of; while messages are in transit none is outside."""
    messages, peers = scope
    states = reached(ordering, messages, peers)
    for chains in {chains_in(state) for state in states}:
        assert oracle.verdicts(chains)[ordering.value][1], oracle.shown(chains)
    whole = {chains_in(state) for state in states if state.sent == messages and not state.transit}
    wanted = {
        chains
        for chains in oracle.computations(messages, peers, lossless=True)
        if oracle.verdicts(chains)[ordering.value][1]
    }
    assert whole == wanted


@pytest.mark.parametrize("ordering", TOKENS)
def test_a_long_run_of_a_token_network_is_in_the_interior(ordering: Ordering) -> None:
    for seed in range(20):
        rng, network = Random(seed), TokenNetwork.of(ordering, 4)
        for _ in range(60):
            network = rng.choice(list(network.steps()) or [network])
        assert classify(network.computation())[ordering].interior


def test_causal_needs_no_tokens() -> None:
    for ordering in (Ordering.FIFO_1_1, Ordering.CAUSAL):
        with pytest.raises(ValueError, match="tokens"):
            TokenNetwork.of(ordering, 3)
