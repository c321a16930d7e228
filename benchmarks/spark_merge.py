"""What the driver does with the slices of a giant trace, without the trace: vectors put together in order.

    python -m benchmarks.spark_merge --slices 1000,10000,100000 --processes 16,64

Of each slice there are the last base of every process and those before `--leaving` sendings that are received
up to three slices later; every process has heard of all in each slice. Slices are made as they are asked for,
so what is measured is `put_together`: seconds by the clock without the making, the most memory, and the
vectors that it still has in the end. The last column is what tasks stage for it, uncompressed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from random import Random

import numpy as np

from microcosm.spark.giant.slices import Base, put_together

EVENTS = 1000
"""Events of a process in a slice."""


def slices(count: int, processes: int, leaving: int) -> Iterator[tuple[list[Base], np.ndarray]]:
    """The bases of a run of `count` slices, the same each time."""
    random = Random(1)
    left: list[tuple[int, int]] = []
    for number in range(count):
        begin, end = number * EVENTS, (number + 1) * EVENTS
        seen = dict(random.sample(left, min(len(left), leaving)))
        bases = []
        for process in range(processes):
            knows = {other: end - random.randrange(1, 400) for other in range(processes) if other != process}
            if seen and random.random() < 0.5:
                knows.update([random.choice([*seen.items()])])
            bases.append(Base(process, end - 1, knows))
        for process in random.sample(range(processes), min(leaving, processes)):
            at = begin + random.randrange(1, EVENTS - 1)
            knows = {other: begin + random.randrange(EVENTS // 2) for other in range(processes)}
            bases.append(Base(process, at, knows))
            left.append((process, at))
        left = left[-3 * leaving :]
        yield bases, np.full(processes, begin)


def alone(count: int, processes: int, leaving: int) -> None:
    """One measurement, printed."""
    begin = time.perf_counter()
    bases = sum(len(found) for found, _ in slices(count, processes, leaving))
    making = time.perf_counter() - begin
    begin = time.perf_counter()
    knowledge = put_together(lambda: slices(count, processes, leaving))
    seconds = time.perf_counter() - begin - 2 * making
    kept = sum(map(bool, (vector for of in knowledge._vectors.values() for vector in of)))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    staged = bases * (2 + 2 * processes) * 8 / 1e6
    print(
        f"{count:>8,} {processes:>9,} {seconds:>9.1f} {most:>7,.0f} MB {kept:>8,} {staged:>9,.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", default="1000,10000")
    parser.add_argument("--processes", default="16,64")
    parser.add_argument("--leaving", type=int, default=4)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    counts, processes = ([*map(int, text.split(","))] for text in (asked.slices, asked.processes))
    if asked.alone:
        return alone(counts[0], processes[0], asked.leaving)
    print(
        f"{'slices':>8} {'processes':>9} {'seconds':>9} {'memory':>10} {'vectors':>8} {'staged':>12}",
        flush=True,
    )
    for each in processes:
        for count in counts:  # each in a process of its own, as memory is not given back
            own = [
                "--slices",
                str(count),
                "--processes",
                str(each),
                "--leaving",
                str(asked.leaving),
                "--alone",
            ]
            subprocess.run([sys.executable, "-m", "benchmarks.spark_merge", *own], check=True)
    return None


if __name__ == "__main__":
    main()
