"""What many members cost, on a virtual network, so that only packets and the processor count:

    python -m tests.replica.members 3 10 30 50

A line for each number of members: the packets of one event and how long it takes until all know it (the
median of ten), those of a message to all others until it is delivered, and until all know that everybody has
got it, and what happens at some events a second at each: packets, how long until all know an event, and the
seconds of one processor that all members together take for a second. Packets take 1 to 50 ms.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from statistics import median
from time import process_time
from typing import NamedTuple

from microcosm.replica.network.peer import NEVER
from tests.replica.simulated import World

STEP = 0.05
"""Seconds between two looks at who knows what."""


class Cost(NamedTuple):
    """Packets for each member, seconds of the network's time, and of a processor."""

    packets: float
    seconds: float
    processor: float

    def __str__(self) -> str:
        return f"{self.packets:7.2f} packets, {self.seconds:5.2f} s, {self.processor:5.2f} s of a processor"


class Members:
    """Members in memory, which have met."""

    def __init__(self, count: int, seed: int = 1) -> None:
        self.world = World(None, [f"m{n}" for n in range(count)], seed)
        self.nodes = [*self.world.nodes.values()]
        self.world.go(3.0)
        begun = self.world.packets
        self.world.go(13.0)
        self.idle = (self.world.packets - begun) / 10.0
        """Packets in a second in which nothing happens."""

    def until(self, holds: Callable[[], bool], patience: float = 60.0) -> Cost:
        """Let time pass until something holds; what it took, but for what is there when nothing happens."""
        world = self.world
        begun, packets, spent = world.now, world.packets, process_time()
        while not holds():
            assert world.now < begun + patience, "it never holds"
            world.go(world.now + STEP)
        took = world.now - begun
        packets = world.packets - packets
        return Cost((packets - self.idle * took) / len(self.nodes), took, process_time() - spent)

    def known(self, events: Sequence[str]) -> bool:
        return all(node.replica.happened(event) for node in self.nodes for event in events)

    def event(self, n: int) -> Cost:
        """One event, until all know it and nobody speaks of it any more."""
        world, name = self.world, f"event {n}"
        node = world.random.choice(self.nodes)
        world.act(node.name, lambda node: node.replica.local(name))
        known = self.until(lambda: self.known([name]))
        rest = self.until(lambda: not any(node.carrier.gossip._push_at < NEVER for node in self.nodes))
        return Cost(known.packets + rest.packets, known.seconds, known.processor + rest.processor)

    def message(self) -> tuple[Cost, Cost]:
        """A message to all others: until it is delivered and acknowledged; until all know that it is."""
        world, (first, *others) = self.world, self.nodes
        sent = str(first.replica._next())
        begun = world.now
        world.act(first.name, lambda node: node.replica.send([each.name for each in others], b"look"))
        events = [f"d:{node.name}:{sent}" for node in others]

        def delivered() -> bool:
            return all(node.replica.happened(event) for node, event in zip(others, events, strict=True))

        there = self.until(lambda: delivered() and first.endpoint.durable.process.machine.idle())
        known = self.until(lambda: self.known(events))
        packets, spent = there.packets + known.packets, there.processor + known.processor
        return there, Cost(packets, world.now - begun, spent)

    def steadily(self, rate: float, seconds: float) -> tuple[Cost, int]:
        """So many events a second at each: what one of them costs, and how many are known by nobody else."""
        world, open_, took = self.world, dict[str, float](), list[float]()
        packets, spent, end, made = world.packets, process_time(), world.now + seconds, 0
        step = 1.0 / (rate * len(self.nodes))
        looked = world.now
        while world.now < end:
            name = f"steady {made}"
            made += 1
            node = world.random.choice(self.nodes)
            world.act(node.name, lambda node, name=name: node.replica.local(name))  # type: ignore[misc]
            open_[name] = world.now
            world.go(world.now + step)
            if world.now >= looked + 0.25:
                looked = world.now
                for each in [each for each in open_ if self.known([each])]:
                    took.append(world.now - open_.pop(each))
        each = (world.packets - packets) / made / len(self.nodes)
        spent = (process_time() - spent) / seconds
        self.until(lambda: self.known([*open_]))
        return Cost(each, median(took), spent), len(open_)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("members", type=int, nargs="+", help="how many")
    parser.add_argument("--rate", type=float, default=3.0, help="events a second at each member")
    parser.add_argument("--seconds", type=float, default=10.0)
    asked = parser.parse_args(arguments)
    for count in asked.members:
        members = Members(count)
        events = [members.event(n) for n in range(10)]
        print(f"{count} members, for each member; idle: {members.idle / count:.2f} packets a second")
        middle = Cost(*(median(each) for each in zip(*events, strict=True)))
        print(f"  one event:            {middle}")
        there, known = members.message()
        print(f"  a message to all:     {there}\n  all know of it:       {known}")
        steady, left = members.steadily(asked.rate, asked.seconds)
        print(f"  {asked.rate * count:5.0f} events a second: {steady} a second; {left} under way", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
