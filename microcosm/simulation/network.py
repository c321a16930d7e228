"""What a network does to packets, as values: delays, order, loss, duplication, partitions that heal.

Times are in whatever unit the latencies are in; by default a round trip takes about 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Protocol


class Latency(Protocol):
    """How long a packet travels, one way."""

    def draw(self, random: Random) -> float:
        """The delay of one packet."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same delay."""

    delay: float = 0.5

    def draw(self, random: Random) -> float:
        return self.delay


@dataclass(frozen=True, slots=True)
class Uniform:
    """Any delay from `low` to `high`."""

    low: float = 0.2
    high: float = 0.8

    def draw(self, random: Random) -> float:
        return self.low + (self.high - self.low) * random.random()


@dataclass(frozen=True, slots=True)
class Exponential:
    """At least `least`, and on average `mean` more: a few packets take very long."""

    least: float = 0.25
    mean: float = 0.25

    def draw(self, random: Random) -> float:
        return self.least + random.expovariate(1 / self.mean)


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of a connection. Without `reorder`, no packet overtakes another."""

    latency: Latency = Uniform()
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: bool = False

    def faults(self) -> set[str]:
        """Which of `loss`, `duplicate`, `reorder` it is capable of."""
        return {name for name in ("loss", "duplicate", "reorder") if getattr(self, name)}


@dataclass(frozen=True, slots=True)
class Partition:
    """From `begin` to `end` nothing passes between `members` and the others.

    Packets are lost where the link can lose packets, and held back until `end` elsewhere.
    """

    begin: float
    end: float
    members: frozenset[int]

    def separates(self, a: int, b: int, now: float) -> bool:
        """Whether a packet sent now from a to b is stopped."""
        return self.begin <= now < self.end and (a in self.members) is not (b in self.members)


@dataclass(frozen=True, slots=True)
class Pause:
    """From `begin` to `end` the process takes nothing off the wire."""

    process: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Network:
    """The links between all processes, and what happens to them and to the processes.

    `links` overrides `link` for a pair (from, to). `service` is the time that a process (by default:
    each) spends on a packet before it takes the next: a slow receiver.
    """

    link: Link = Link()
    links: Mapping[tuple[int, int], Link] = field(default_factory=dict)
    partitions: tuple[Partition, ...] = ()
    pauses: tuple[Pause, ...] = ()
    service: Mapping[int, float] | float = 0.0

    def between(self, a: int, b: int) -> Link:
        """The link from a to b."""
        return self.links.get((a, b), self.link)

    def service_of(self, process: int) -> float:
        """The time that a process spends on a packet."""
        return self.service.get(process, 0.0) if isinstance(self.service, Mapping) else self.service

    def faults(self) -> set[str]:
        """Which of `loss`, `duplicate`, `reorder` some link is capable of."""
        return set().union(self.link.faults(), *(link.faults() for link in self.links.values()))


def spread(size: int, low: float, high: float, random: Random, link: Link) -> Network:
    """A network in which each pair of processes has a round trip time of its own, from `low` to `high`.

    A packet takes half of it, give or take a half of that.
    """
    links = {}
    for a in range(size):
        for b in range(a):
            rtt = low + (high - low) * random.random()
            near = Link(Uniform(rtt / 4, 3 * rtt / 4), link.loss, link.duplicate, link.reorder)
            links[a, b] = links[b, a] = near
    return Network(link, links)
