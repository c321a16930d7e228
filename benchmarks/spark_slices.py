"""The scan over slices without Spark, beside a single pass: processor time, memory of a worker, slope.

    python -m benchmarks.spark_slices --events 100000 1000000 10000000

*single* is a loop over events in a causal order that keeps the vectors. *match* finds the pairs of messages
in rows sorted by message, *cuts* makes slices consistent that begin where time says, *scan* is the slices one
after the other, and putting them together. The memory is that of a process that scans one slice and does
nothing else, less that of one that scans none; a slice has the same size whatever the number of events.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from microcosm.spark.giant.chains import ENDS, matched
from microcosm.spark.giant.job import scanned_slice
from microcosm.spark.giant.slices import (
    NEVER,
    Knowledge,
    Pairs,
    begins_of,
    crossing,
    lowered,
    monotone,
    put_together,
    scanned,
    slice_of,
)
from microcosm.spark.io.events import arrow_schema

SLICE = 100_000
"""Receptions of a slice."""


def pairs_in(rows: list[tuple[int, int, int, int]]) -> Pairs:
    """The pairs in rows of sender, sent, receiver, received."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Pairs(*(np.ascontiguousarray(column) for column in columns))


def scan(pairs: Pairs, cuts: Any, wanted: Iterable[tuple[int, int]] = ()) -> tuple[Knowledge, list[int]]:
    """All slices one after the other, in this process; and the numbers of the pairs on cycles.

    What is known at `wanted` events (process, position) is kept, too.

    >>> pairs = pairs_in([(0, 1, 1, 1), (1, 2, 2, 1)])
    >>> scan(pairs, np.array([[2], [2], [9]]), [(2, 1)])[0].of(2, 1)
    {0: 1, 1: 2, 2: 1}
    """
    places = np.array([*wanted], dtype=np.int64).reshape(-1, 2).T
    asked: list[list[tuple[int, int]]] = [[] for _ in range(cuts.shape[1] + 1)]
    there = zip(slice_of(cuts, *places).tolist(), *places.tolist(), strict=True)
    for slice_, process, seq in (*there, *crossing(pairs, cuts)):
        asked[slice_].append((process, seq))
    received = slice_of(cuts, pairs.receiver, pairs.received)
    slices, cyclic = [], []
    for slice_, events in enumerate(asked):
        members = np.flatnonzero(received == slice_)
        begins = begins_of(cuts, slice_)
        bases, gone = scanned(pairs[members], begins, events)
        cyclic += members[gone].tolist()
        slices.append((bases, begins))
    if not places.size:
        return put_together(lambda: slices), cyclic
    knowledge = Knowledge({(base.process, base.seq): math.inf for bases, _ in slices for base in bases})
    for bases, begins in slices:
        knowledge.add(bases, begins)
    return knowledge, cyclic


def run(events: int, processes: int) -> tuple[Any, ...]:
    """Arrays of process, position, kind (0 send, 1 receive, 2 neither) and message, in the order of time."""
    random = np.random.default_rng(1)
    messages = events // 3
    sent = np.sort(random.random(messages))
    sender = random.integers(0, processes, messages)
    time = np.concatenate(
        (sent, sent + random.exponential(20 / messages, messages), random.random(events - 2 * messages))
    )
    receiver = (sender + random.integers(1, processes, messages)) % processes
    process = np.concatenate((sender, receiver, random.integers(0, processes, events - 2 * messages)))
    kind = np.repeat((0, 1, 2), (messages, messages, events - 2 * messages))
    message = np.concatenate((np.arange(messages), np.arange(messages), np.full(events - 2 * messages, -1)))
    order = np.argsort(time, kind="stable")
    process, kind, message = process[order], kind[order], message[order]
    seq = np.empty(events, dtype=np.int64)
    for name in range(processes):
        own = process == name
        seq[own] = np.arange(1, own.sum() + 1)
    return process, seq, kind, message


def single(process: Any, seq: Any, kind: Any, message: Any, processes: int) -> list[list[int]]:
    """What every process knows at the end, by one loop."""
    vectors = [[0] * processes for _ in range(processes)]
    flying: dict[int, list[int]] = {}
    for begin in range(0, len(process), 4096):
        part = slice(begin, begin + 4096)
        columns = (column[part].tolist() for column in (process, seq, kind, message))
        for who, at, what, name in zip(*columns, strict=True):
            vector = vectors[who]
            if what == 1:
                other = flying.pop(name)
                vectors[who] = vector = [a if a > b else b for a, b in zip(vector, other)]  # noqa: B905
            vector[who] = at
            if what == 0:
                flying[name] = vector[:]
    return vectors


def message_ends(process: Any, seq: Any, kind: Any, message: Any, processes: int) -> list[pa.RecordBatch]:
    """The rows that Spark hands to the matching: sorted by message."""
    chosen = np.flatnonzero(kind < 2)
    chosen = chosen[np.argsort(message[chosen], kind="stable")]
    names = np.array([f"p{name}" for name in range(processes)])
    schema = arrow_schema(ENDS)
    made = []
    for begin in range(0, len(chosen), 4096):
        at = chosen[begin : begin + 4096]
        text = pa.array([f"m{name:09}" for name in message[at].tolist()])
        ids = pa.array([f"p{p}:{s}" for p, s in zip(process[at].tolist(), seq[at].tolist(), strict=True)])
        columns = [text, pa.array(names[process[at]]), pa.array(seq[at]), pa.array(seq[at] - 1)]
        columns += [pa.array(np.array(("send", "receive"))[kind[at]]), pa.nulls(len(at), schema.types[5])]
        columns += [ids, pa.nulls(len(at), schema.types[7]), pa.array(["log"] * len(at)), pa.array(at)]
        made.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return made


def peak(arguments: tuple[str, int, Any]) -> int:
    """KiB of a process that scans the slice in a folder (none where it is empty)."""
    folder, slice_, begins = arguments
    if folder:
        for _ in scanned_slice(pq.read_table(folder, partitioning=None), slice_, begins):
            pass
    status = Path("/proc/self/status").read_text(encoding="utf-8")  # `getrusage` remembers the parent
    return int(status.partition("VmHWM:")[2].split()[0])


def measured(events: int, processes: int) -> float:
    """Print a line; the seconds of matching, cuts and scan."""
    process, seq, kind, message = run(events, processes)
    clock = [process_time()]
    expected = single(process, seq, kind, message, processes)
    clock.append(process_time())
    numbers = {f"p{name}": name for name in range(processes)}
    matching = 0.0
    parts = []
    ends = message_ends(process, seq, kind, message, processes)
    clock.append(process_time())
    for batch in matched(iter(ends), numbers, {}):
        parts.append([batch.column(name).to_numpy() for name in ("sender", "sent", "receiver", "received")])
    matching = process_time() - clock[-1]
    pairs = Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    slices = max(1, round(len(pairs) / SLICE))
    start = np.full((processes, slices - 1), NEVER, dtype=np.int64)
    for cut in range(slices - 1):
        behind = slice((cut + 1) * events // slices, None)
        np.minimum.at(start[:, cut], process[behind], seq[behind])
    clock.append(process_time())
    cuts = lowered(monotone(start), pairs)
    clock.append(process_time())
    knowledge, _ = scan(pairs, cuts)
    clock.append(process_time())
    for name in range(processes):
        last = int(seq[process == name].max())
        assert knowledge.of(name, last) == {at: seen for at, seen in enumerate(expected[name]) if seen}
    one, cutting, scanning = clock[1] - clock[0], clock[4] - clock[3], clock[5] - clock[4]
    whole = matching + cutting + scanning
    with TemporaryDirectory() as folder:
        middle = slices // 2
        inside = pairs[slice_of(cuts, pairs.receiver, pairs.received) == middle]
        leaving = [each[1:] for each in crossing(pairs, cuts) if each[0] == middle]
        columns = {
            name: np.concatenate((getattr(inside, name), [(*each, -1, -1)[at] for each in leaving])).astype(
                np.int64
            )
            for at, name in enumerate(("sender", "sent", "receiver", "received"))
        }
        part = Path(folder) / str(middle)
        part.mkdir()
        pq.write_table(pa.table(columns), part / "part.parquet")
        with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            begins = begins_of(cuts, middle)
            grown = pool.map(peak, [(str(part), middle, begins)])[0] - pool.map(peak, [("", 0, begins)])[0]
    print(
        f"{events:>10,} events, {slices:>3} slices: single {one:6.2f} s; match {matching:.2f} + "
        f"cuts {cutting:.2f} + scan {scanning:.2f} = {whole:6.2f} s ({whole / one:.2f}); "
        f"a slice takes {grown / 1024:.0f} MiB",
        flush=True,
    )
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--processes", type=int, default=8)
    asked = parser.parse_args()
    costs = [measured(events, asked.processes) for events in asked.events]
    if len(costs) > 1:
        slope = math.log(costs[-1] / costs[0]) / math.log(asked.events[-1] / asked.events[0])
        print(f"slope {slope:.2f} (1 is linear)")


if __name__ == "__main__":
    main()
