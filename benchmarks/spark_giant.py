"""One giant trace in slices, beside a single pass over it in one partition.

    python -m benchmarks.spark_giant --events 1000000 --processes 8 [--slices 8]

*base* sorts the events into a causal order in one partition, and one task keeps the vectors: it can use no
second machine, and finds neither edges nor faults. *scan* is what finds the same vectors in slices: messages
matched, cuts, slices, vectors. Seconds are of the processor, Java and workers together, on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from benchmarks.spark_cost import costing, log, one_core, processor_seconds, worker_memory
from microcosm.spark import extract as job
from microcosm.spark import output
from microcosm.spark.extract import Asked

SCAN = ("ends-0", "pairs-0", "cuts-0", "sliced-0", "bases-0")


def base(spark: Any, file: str) -> list[Any]:
    """What every process knows at the end, by one task. Events stand in a causal order by time."""
    from pyspark.sql import functions as F

    def kernel(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        numbers: dict[str, int] = {}
        vectors: list[list[int]] = []
        flying: dict[str, list[int]] = {}
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("process", "seq", "kind", "message"))
            for process, seq, kind, message in zip(*columns, strict=True):
                number = numbers.setdefault(process, len(numbers))
                if number == len(vectors):
                    vectors.append([0] * 64)
                vector = vectors[number]
                if kind == "receive":
                    other = flying.pop(message)
                    vectors[number] = vector = [a if a > b else b for a, b in zip(vector, other, strict=True)]
                vector[number] = seq
                if kind == "send":
                    flying[message] = vector[:]
        names = list(numbers)
        knows = [{names[at]: seq for at, seq in enumerate(vector) if seq} for vector in vectors]
        made = [
            {"process": name, "knows": list(known.items())} for name, known in zip(names, knows, strict=True)
        ]
        schema = pa.schema([("process", pa.string()), ("knows", pa.map_(pa.string(), pa.int64()))])
        yield pa.RecordBatch.from_pylist(made, schema=schema)

    rows = spark.read.parquet(file).select(
        "process", "seq", "kind", "message", F.monotonically_increasing_id().alias("at")
    )
    in_order = rows.repartition(1).sortWithinPartitions("at").drop("at")
    return in_order.mapInArrow(kernel, "process string, knows map<string,long>").collect()


class _Costing(output.Output):
    """An output that knows what each of its stages costs."""

    costs: dict[str, float]
    peaks: dict[str, int]

    def stage(self, spark: Any, name: str, table: Any) -> Any:
        before = processor_seconds()
        with worker_memory() as peak:
            found = super().stage(spark, name, table)
        _Costing.costs[name] = processor_seconds() - before
        _Costing.peaks[name] = peak[0]
        return found

    def tables(self, spark: Any, name: str, *rest: Any) -> Any:
        before = processor_seconds()
        with worker_memory() as peak:
            found = super().tables(spark, name, *rest)
        _Costing.costs[name] = processor_seconds() - before
        _Costing.peaks[name] = peak[0]
        return found

    def remembered(self, name: str, value: Any) -> Any:
        before = processor_seconds()
        found = super().remembered(name, value)
        _Costing.costs[name] = processor_seconds() - before
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--slices", type=int)
    asked = parser.parse_args()
    job.Output = _Costing  # type: ignore[misc]
    with one_core() as (spark, folder):
        for events in [30_000, *asked.events]:  # the first, small one warms up
            file, out = folder / f"{events}.parquet", folder / f"{events}"
            log(file, events, asked.processes)
            _Costing.costs, _Costing.peaks = {}, {}
            found: list[Any] = []
            single = costing(lambda file=file, found=found: found.extend(base(spark, str(file))))  # type: ignore[misc]
            whole = costing(
                lambda file=file, out=out: job.extract(
                    spark, [str(file)], str(out), Asked(slices=asked.slices or 8)
                )  # type: ignore[misc]
            )
            frontiers = {
                row.process: row.knows for row in spark.read.parquet(str(out / "frontiers")).collect()
            }
            assert frontiers == {row.process: row.knows for row in found}
            scan = sum(_Costing.costs[name] for name in SCAN)
            print(f"{events:,} events, {asked.processes} processes, {asked.slices or 8} slices")
            print(f"  base {single:.1f} s, scan {scan:.1f} s: {scan / single:.2f}; whole job {whole:.1f} s")
            print("  seconds:", {name: round(cost, 1) for name, cost in _Costing.costs.items()})
            print(
                "  peak MiB of a worker:",
                _Costing.peaks["bases-0"],
                "in the slices,",
                _Costing.peaks["read"],
                "reading",
            )


if __name__ == "__main__":
    main()
