"""The evaluation that seed 001 leaves as future work, knowledge per integer, and the long run.

    python -m benchmarks.evaluation latency [--largest N]    patterns of communication, 10 to 10,000 processes
    python -m benchmarks.evaluation knowledge                what a replica can decide, against metadata
    python -m benchmarks.evaluation million                  10⁶ messages under loss, duplicates, reordering

Latency is in round trips, on a network of constant delays. "ideal" is an omniscient delivery that waits for
nothing but causality; RST and KS are as fast, so it stands for them where they would take too long.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from time import process_time

from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.disclosure import Disclosure
from microcosm.protocol.encoding import encode
from microcosm.protocol.machine import Delivery
from microcosm.protocol.packets import Packet
from microcosm.relations.correspondence import Correspondence
from microcosm.relations.relation import Relation
from microcosm.simulation.events import CAUSAL_SEND, Event, carries_message
from microcosm.simulation.network import Constant, Link, Network
from microcosm.simulation.run import Run
from microcosm.simulation.simulate import Setting, simulate
from microcosm.simulation.statistics import Gauge
from microcosm.simulation.workload import Mixture, patterns
from microcosm.state.microcosm import Microcosm

SIZES = (10, 100, 1_000, 10_000)
LARGEST = {"rst": 100, "ks": 1_000}
"""Beyond so many processes they are not run."""
COMPARED = ("hybrid-basic", "hybrid-sps", "rst", "ks", "mf", "cykas")
HYBRIDS = ("hybrid-basic", "hybrid-sps", "hybrid-multicast", "hybrid-multicast-sps")


def latency(largest: int) -> Iterator[tuple[object, ...]]:
    """Mean latency and non-causal share of it, throughput and operations, for each pattern and size."""
    yield (
        "pattern",
        "processes",
        "protocol",
        "messages",
        "latency",
        "non-causal",
        "per round trip",
        "operations",
    )
    for size in (size for size in SIZES if size <= largest):
        for pattern in patterns(size, 100):
            for name in COMPARED:
                if size > LARGEST.get(name, size):
                    continue
                work = patterns(size, 100)[pattern]
                run = Run(PROTOCOLS[name].make(size), Network(Link(Constant(0.5))), work)
                gauge = Gauge(run, lambda i, j: 0.5)
                run.go()
                found = gauge.read()
                rate = found.delivered / max(found.duration, 1e-9)
                costs = (f"{found.latency:.3g}", f"{found.non_causal:.3g}", f"{rate:.3g}")
                yield pattern, size, name, found.sent, *costs, f"{found.operations:.3g}"


def knowledge() -> Iterator[tuple[object, ...]]:
    """Of all pairs of application events, the share that a replica can decide online."""
    yield (
        "protocol",
        "integers",
        "bytes",
        "pairs decided",
        "per integer",
        "per byte",
        "network facts a message",
    )
    for name in PROTOCOLS:
        size, messages = 4, 40
        run = Run(
            PROTOCOLS[name].make(size),
            Network(Link(Constant(0.5))),
            Mixture(messages),
            tick=1.0 if PROTOCOLS[name].machine.NEEDS_TICKS else None,
        )
        sizes: list[int] = []
        told = _listening(run, sizes)
        run.go()
        events = messages * 2
        pairs = events * (events - 1) / 2
        share = sum(_decided(disclosure.application) for disclosure in told) / len(told) / pairs
        metadata = sum(run.metadata) / len(run.metadata)
        network = sum(len(disclosure.network) for disclosure in told) / messages
        per_integer = f"{share / metadata:.2%}" if metadata else "(no metadata)"
        octets = sum(sizes) / len(sizes)
        costs = (f"{metadata:.3g}", f"{octets:.3g}", f"{share:.1%}", per_integer, f"{share / octets:.2%}")
        yield name, *costs, f"{network:.3g}"


def _decided(facts: list[Correspondence]) -> int:
    known = Microcosm()
    for fact in facts:
        if fact.relation is not Relation.NOT_BEFORE:
            known.add(fact)
    decided = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)
    return sum(verdict in decided for _, _, verdict in known.table())


def _listening(run: Run, sizes: list[int]) -> list[Disclosure]:
    """A disclosure for each machine of a run, told what the machine does; `sizes` are those of packets."""
    told = [Disclosure(machine, str(machine.me)) for machine in run.machines]
    sends = [0] * run.size

    def see(event: Event) -> None:
        if event.kind == CAUSAL_SEND:
            sends[event.process] += 1
            told[event.process].causally_sent(str(event.message), sends[event.process])

    run.observers.append(see)

    def take(i: int, j: int, packet: Packet) -> None:
        told[j].received(i, packet)
        if carries_message(packet):
            sizes.append(len(encode(packet)))

    run.on_packet = take
    for machine, disclosure in zip(run.machines, told, strict=True):
        machine.on_deliver = _first(disclosure, machine.on_deliver)
    return told


def _first(disclosure: Disclosure, then: Callable[[Delivery], None] | None) -> Callable[[Delivery], None]:
    """Tell of a delivery, then hand it on."""

    def deliver(delivery: Delivery) -> None:
        disclosure.delivered(delivery, str(delivery.payload))
        if then is not None:
            then(delivery)

    return deliver


def million() -> Iterator[tuple[object, ...]]:
    """Exactly once, in causal order, whatever the network does."""
    yield "protocol", "messages", "delivered copies", "violations", "operations a message", "seconds"
    for name in HYBRIDS:
        start = process_time()
        outcome = simulate(name, Setting(messages=1_000_000, loss=0.3, duplicate=0.2, reorder=True))
        found = outcome.statistics
        spent = f"{process_time() - start:.0f}"
        yield name, found.sent, found.delivered, len(outcome.violations), f"{found.operations:.3g}", spent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=__doc__)
    parser.add_argument("what", choices=("latency", "knowledge", "million"))
    parser.add_argument("--largest", type=int, default=1_000, metavar="N")
    asked = parser.parse_args()
    rows = {"latency": lambda: latency(asked.largest), "knowledge": knowledge, "million": million}[
        asked.what
    ]()
    for row in rows:
        print("\t".join(map(str, row)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
