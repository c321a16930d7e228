"""Replicas on a bad network: whatever it loses, repeats, reorders and parts, they converge."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from microcosm.compare.bisimilarity import bisimilar
from microcosm.compare.digest import analogy_digest
from microcosm.errors import Contradiction
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.replica.invariants import check

SIGNS = ("<", "<", "<", "||", "<>", "!<")


class Network:
    """Replicas that gossip over a network which loses, repeats, reorders, parts and heals, and restarts them.

    Datagrams of some 600 bytes, so that an exchange takes many. Everything follows from the seed.
    """

    def __init__(self, seed: int, replicas: int) -> None:
        self.random = Random(seed)
        self.names = [f"r{n}" for n in range(replicas)]
        self.stores = {name: Memory() for name in self.names}
        self.replicas = {name: self._open(name) for name in self.names}
        self.wire: list[tuple[str, str, bytes]] = []
        self.parted: set[str] = set()
        self.events: list[str] = []
        self.restarts = 0

    def _open(self, name: str) -> Replica:
        return Replica(self.stores[name], name, incarnation=1, members=self.names, largest=600)

    def step(self) -> None:
        name = self.random.choice(self.names)
        match self.random.randrange(12):
            case 0 | 1 | 2:
                self.events.append(f"{name}:{len(self.events)}")
                self.replicas[name].local(self.events[-1])
            case 3 | 4 if len(self.events) > 1:
                left, right = self.random.sample(self.events, 2)
                with suppress(Contradiction):
                    self.replicas[name].learn(f"{left} {self.random.choice(SIGNS)} {right}")
            case 5 if self.replicas[name].ledger.facts:
                fact = self.random.choice(self.replicas[name].ledger.given())
                self.replicas[name].remove(fact)
            case 6 | 7:
                peer = self.random.choice([other for other in self.names if other != name])
                self.wire += [(peer, name, message) for message in self.replicas[name].exchange.begin(peer)]
            case 8 if self.random.random() < 0.2:
                self.parted = set(self.random.sample(self.names, self.random.randrange(len(self.names))))
            case 9 if self.random.random() < 0.2:
                self.restarts += 1
                if self.random.random() < 0.5:
                    self.replicas[name].compact()
                self.replicas[name] = self._open(name)
            case _:
                self.carry()

    def carry(self) -> None:
        if not self.wire:
            return
        at = self.random.randrange(len(self.wire))
        to, sender, message = self.wire[at]
        if self.random.random() > 0.2:  # else it comes once more
            del self.wire[at]
        if self.random.random() < 0.3 or (to in self.parted) != (sender in self.parted):
            return
        self.wire += [(sender, to, answer) for answer in self.replicas[to].exchange.receive(sender, message)]

    def settle(self) -> None:
        """The network heals; everybody exchanges with everybody."""
        for _ in range(2):
            for one, other in zip(self.names, self.names[1:] + self.names[:1], strict=True):
                level(self.replicas[one], self.replicas[other])


def run(seed: int, steps: int, replicas: int = 4) -> Network:
    network = Network(seed, replicas)
    for _ in range(steps):
        network.step()
    network.settle()
    first, *others = network.replicas.values()
    for other in others:
        assert other.digest() == first.digest()
        assert analogy_digest(other.known) == analogy_digest(first.known)
        assert [c.facts for c in other.conflicts] == [c.facts for c in first.conflicts]
        assert bisimilar(first.snapshot(), other.snapshot()).holds
    for name, replica in network.replicas.items():
        check(replica.ledger)
        replica.known._check()
        again = network._open(name)
        assert again.digest() == replica.digest()
    return network


@pytest.mark.parametrize("seed", range(6))
def test_they_converge(seed: int) -> None:
    run(seed, 400)


def test_the_runs_have_what_they_are_to_have() -> None:
    """Contradictions, partitions and restarts do occur."""
    networks = [run(seed, 400) for seed in (100, 101)]
    assert sum(len(network.replicas["r0"].conflicts) for network in networks) > 2
    assert all(network.restarts > 2 for network in networks)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1002))
def test_they_converge_after_much(seed: int) -> None:
    run(seed, 1000, replicas=5)


def test_a_network_that_loses_a_third_carries_all() -> None:
    """Without any lossless round: gossip alone makes them level."""
    network = Network(7, 3)
    for _ in range(300):
        network.step()
    network.parted = set()
    for _ in range(4000):
        for name in network.names:
            if not network.wire:
                peer = network.random.choice([other for other in network.names if other != name])
                begun = network.replicas[name].exchange.begin(peer)
                network.wire += [(peer, name, message) for message in begun]
        network.carry()
        if len({replica.digest() for replica in network.replicas.values()}) == 1:
            break
    assert len({replica.digest() for replica in network.replicas.values()}) == 1
