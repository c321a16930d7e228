"""The evaluation that Hybrid Buffering leaves as future work, knowledge per integer, and the long run.

    python -m benchmarks.evaluation latency [--largest N]    patterns of communication, 10 to 10,000 processes
    python -m benchmarks.evaluation knowledge                what a replica can decide, against metadata
    python -m benchmarks.evaluation million                  10⁶ messages under loss, duplicates, reordering

Latency is in round trips, on a network of constant delays. "ideal" is an omniscient delivery that waits for
nothing but causality; RST and KS are as fast, so it stands for them where they would take too long.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from time import process_time

from benchmarks.patterns import patterns
from microcosm.cli.commands.simulate_compare import knowledge as shares
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.simulation.run import Constant, Network, NetworkLink, Run
from microcosm.simulation.simulate import Gauge, SimulationSetting, simulate

SIZES = (10, 100, 200, 1_000, 10_000)
LARGEST = {"rst": 200, "ks": 1_000}
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
                run = Run(PROTOCOLS[name].make(size), Network(NetworkLink(Constant(0.5))), work)
                gauge = Gauge(run, lambda i, j: 0.5)
                run.go()
                found = gauge.read()
                rate = found.delivered / max(found.duration, 1e-9)
                costs = (f"{found.latency:.3g}", f"{found.non_causal:.3g}", f"{rate:.3g}")
                yield pattern, size, name, found.sent, *costs, f"{found.operations:.3g}"


def knowledge() -> Iterator[tuple[object, ...]]:
    """What a replica can decide of all pairs of application events, and what the metadata costs."""
    yield (
        *("protocol", "integers", "bytes", "online", "offline", "exactly", "narrowed"),
        *("exactly, an integer", "exactly, a byte", "network facts a message"),
    )
    for one in shares():
        decided = (one.online, one.offline, one.exactly, one.narrowed)
        each = f"{one.exactly / one.metadata:.2%}" if one.metadata else "(no metadata)"
        costs = (f"{one.metadata:.3g}", f"{one.octets:.3g}", *(f"{share:.1%}" for share in decided), each)
        yield one.protocol, *costs, f"{one.exactly / one.octets:.2%}", f"{one.network:.3g}"


def million() -> Iterator[tuple[object, ...]]:
    """Exactly once, in causal order, whatever the network does."""
    yield "protocol", "messages", "delivered copies", "violations", "operations a message", "seconds"
    for name in HYBRIDS:
        start = process_time()
        outcome = simulate(name, SimulationSetting(messages=1_000_000, loss=0.3, duplicate=0.2, reorder=True))
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
