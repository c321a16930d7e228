"""Many traces of 1,000 events: the job beside Spark's own repartition and sort of the same rows, on one core.

    python -m benchmarks.spark_many --events 200000

*floor* groups the rows by trace and sorts them, and writes nothing. *job* is all of `spark extract`; *found*
are its stages that do the same and find and write edges and frontiers. *together*: the rows of a trace follow
each other in the log; *mixed*: they never do, and a trace is in what each of eight tasks reads. Seconds are
of the processor, Java and workers; the first round is dearer, as Java warms up.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark_cost import costing, log, one_core, processor_seconds
from microcosm.spark.extract import job
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    job.Output = _Costing  # type: ignore[misc]
    with one_core() as (spark, folder):
        files = {}
        for name in ("together", "mixed"):
            files[name] = folder / f"{name}.parquet"
            log(files[name], asked.events, 8, traces=asked.events // 1000)
            if name == "mixed":
                mixed(files[name])
        for number in range(asked.rounds):
            for name, file in files.items():
                pieces.LARGEST = 1 << 10 if name == "mixed" else 8 << 20  # one row group, or all of them
                out = folder / f"{name}-{number}"
                rows = spark.read.parquet(str(file)).repartition("trace").sortWithinPartitions("trace", "seq")
                floor = costing(lambda rows=rows: rows.write.format("noop").mode("overwrite").save())  # type: ignore[misc]
                _Costing.costs = {}
                whole = costing(lambda file=file, out=out: job.extract(spark, [str(file)], str(out)))  # type: ignore[misc]
                found = sum(_Costing.costs.get(stage, 0) for stage in ("found", "shuffled"))
                print(f"{asked.events:,} events, {name}: floor {floor:.1f} s, job {whole:.1f} s", flush=True)
                print(f"  found {found:.1f} s: {floor / found:.2f} of the speed of the floor")
                print("  seconds:", {stage: round(cost, 1) for stage, cost in _Costing.costs.items()})


if __name__ == "__main__":
    main()
