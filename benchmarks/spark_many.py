"""Many traces of 1,000 events: the job beside Spark's own repartition and sort of the same rows, on one core.

    python -m benchmarks.spark_many --events 200000

*floor* groups the rows by trace and sorts them, and writes nothing; *written* writes them as Parquet too,
five columns of an event where a job writes its edges and frontiers. *job* is all of `spark extract`; *found*
are its stages that do the same and find and write edges and frontiers. *together*: the rows of a trace follow
each other in the log; *mixed*: they never do, and a trace is in what each of eight tasks reads. With
`--gathered` Spark gathers them wherever they lie, as it does those that are spread too widely. Seconds are of
the processor, Java and workers, and by the clock in brackets; the first round is dearer, as Java warms up.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark_cost import costing, log, one_core, processor_seconds
from microcosm.spark.extract import job, routes
from microcosm.spark.io import inputs as pieces
from microcosm.spark.io import staging as output


class _Costing(output.Output):
    """An output that knows what each of its stages costs."""

    costs: dict[str, float]

    def stage(self, name: str, table: object) -> object:
        before = processor_seconds()
        found = super().stage(name, table)  # type: ignore[arg-type]
        _Costing.costs[name] = processor_seconds() - before
        return found

    def tables(self, name: str, *rest: object) -> object:
        before = processor_seconds()
        found = super().tables(name, *rest)  # type: ignore[arg-type]
        _Costing.costs[name] = processor_seconds() - before
        return found


def mixed(file: Path) -> None:
    """Put the rows of all traces in turn: each row of a trace is followed by one of another."""
    table = pq.read_table(file)
    trace = table.column("trace").combine_chunks().dictionary_encode().indices.to_numpy()
    begin = np.searchsorted(trace, np.arange(trace[-1] + 1))
    order = np.argsort(np.arange(len(trace)) - begin[trace], kind="stable")
    pq.write_table(table.take(pa.array(order)), file, row_group_size=1 << 17)


def made(folder: Path, name: str, events: int) -> Path:
    """A log of traces of 1,000 events, whose rows follow each other or are `mixed`."""
    file = folder / f"{name}-{events}.parquet"
    log(file, events, 8, traces=events // 1000)
    if name == "mixed":
        mixed(file)
    return file


class _ByRowGroups(job._Job):
    """A job in which each row group of the log is read by a task of its own."""

    def _read(self, inputs: pieces.Inputs) -> output.Staged:
        with patch.object(pieces, "LARGEST", 1 << 10):
            return super()._read(inputs)


def measured(spark: Any, file: Path, out: Path, name: str) -> dict[str, tuple[float, float]]:
    """Seconds of the two floors, of the whole job, and of its stages that do what the floors do and more."""

    def both(run: Callable[[], object]) -> tuple[float, float]:
        begin = time.monotonic()
        return costing(run), time.monotonic() - begin

    rows = spark.read.parquet(str(file)).repartition("trace").sortWithinPartitions("trace", "seq")
    found = {
        "floor": both(lambda: rows.write.format("noop").mode("overwrite").save()),
        "written": both(lambda: rows.write.mode("overwrite").parquet(f"{out}-floor")),
    }
    reading = _ByRowGroups if name == "mixed" else job._Job
    with patch.object(job, "Output", _Costing), patch.object(job, "_Job", reading):
        _Costing.costs, made = {}, []
        found["job"] = both(lambda: made.append(job.extract(spark, [str(file)], str(out))))
    stages = ("found", "shuffled")
    costs, seconds = (
        sum(some.get(stage, 0) for stage in stages) for some in (_Costing.costs, made[0].stages)
    )
    return {**found, "found": (costs, seconds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--gathered", action="store_true", help="let Spark gather all rows, wherever they lie"
    )
    asked = parser.parse_args()
    if asked.gathered:
        routes.MOST = 0
    with one_core() as (spark, folder):
        files = {name: made(folder, name, asked.events) for name in ("together", "mixed")}
        for number in range(asked.rounds):
            for name, file in files.items():
                found = measured(spark, file, folder / f"{name}-{number}", name)
                told = ", ".join(f"{what} {cost:.2f} s [{by:.2f}]" for what, (cost, by) in found.items())
                ours = found["found"][0]
                floor, written = (found[what][0] / ours for what in ("floor", "written"))
                print(f"{asked.events:,} events, {name}: {told}", flush=True)
                print(f"  {floor:.2f} of the speed of the floor, {written:.2f} of that which is written")
                print("  seconds:", {stage: round(cost, 1) for stage, cost in _Costing.costs.items()})


if __name__ == "__main__":
    main()
