"""One giant trace in slices, beside a single pass over it in one partition.

    python -m benchmarks.spark_giant --events 1000000 4000000 --processes 8 [--slices 8] [--cores 2]

*base* sorts the events into a causal order in one partition, and one task keeps the vectors: it can use no
second machine, and finds neither edges nor faults. *scan* is what finds the same vectors in slices: messages
matched, cuts, slices, vectors. Seconds are of the processor, Java and workers together; in brackets, by the
clock on the wall, which is what more cores are for. *ordered* is what puts the events of each process in
order before, which the edges need; the single pass has its own order by Spark. `--slices` is how many the
first trace is done in; a larger one is done in as many more, so that slices are of one size, and the memory
of a worker should be, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from benchmarks.spark_cost import cores, costing, log, processor_seconds, worker_memory
from microcosm.spark.extract import job
from microcosm.spark.extract.job import ExtractOptions
from microcosm.spark.io import staging as output

SCAN = ("pairs-0", "cuts-0", "bases-0")


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
    took: dict[str, float]
    peaks: dict[str, int]

    def stage(self, name: str, table: Any) -> Any:
        return self._costing(name, lambda: super(_Costing, self).stage(name, table))

    def tables(self, name: str, *rest: Any) -> Any:
        return self._costing(name, lambda: super(_Costing, self).tables(name, *rest))

    def remembered(self, name: str, value: Any) -> Any:
        return self._costing(name, lambda: super(_Costing, self).remembered(name, value))

    def _costing(self, name: str, run: Callable[[], Any]) -> Any:
        cost, begin = processor_seconds(), monotonic()
        with worker_memory() as peak:
            found = run()
        _Costing.took[name] = monotonic() - begin
        _Costing.costs[name] = processor_seconds() - cost
        _Costing.peaks[name] = peak[0]
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--slices", type=int, default=8)
    parser.add_argument("--cores", type=int, default=1)
    asked = parser.parse_args()
    job.Output = _Costing  # type: ignore[misc]
    with cores(asked.cores) as (spark, folder):
        peaks: list[int] = []
        for events in [300_000, *asked.events]:  # the first, small one warms up
            file, out = folder / f"{events}.parquet", folder / f"{events}"
            log(file, events, asked.processes)
            slices = max(1, asked.slices * events // asked.events[0])
            _Costing.costs, _Costing.peaks, _Costing.took = {}, {}, {}
            found: list[Any] = []
            begin = monotonic()
            single = costing(lambda file=file, found=found: found.extend(base(spark, str(file))))  # type: ignore[misc]
            took = monotonic() - begin
            asked_ = ExtractOptions(slices=slices)
            whole = costing(
                lambda file=file, out=out, asked_=asked_: job.extract(spark, [str(file)], str(out), asked_)  # type: ignore[misc]
            )
            frontiers = {
                row.process: row.knows for row in spark.read.parquet(str(out / "frontiers")).collect()
            }
            assert frontiers == {row.process: row.knows for row in found}
            scan, scanned = (sum(of[name] for name in SCAN) for of in (_Costing.costs, _Costing.took))
            print(f"{events:,} events, {asked.processes} processes, {slices} slices, {asked.cores} cores")
            print(f"  base {single:.1f} s [{took:.1f}], scan {scan:.1f} s [{scanned:.1f}]:", end=" ")
            print(f"{scan / single:.2f} [{scanned / took:.2f}]; whole job {whole:.1f} s")
            ordered = scan + _Costing.costs["chains-0"]
            print(f"  ordered and scan {ordered:.1f} s: {ordered / single:.2f}")
            print("  seconds:", {name: round(cost, 1) for name, cost in _Costing.costs.items()})
            peaks.append(max(_Costing.peaks.values()))
            print(f"  peak MiB of a worker: {_Costing.peaks['read']} reading, {peaks[-1]} in all", flush=True)
        for events, peak in zip(asked.events[1:], peaks[2:], strict=True):
            times = events / asked.events[0]
            print(f"{times:.1f} times the events: {peak / peaks[1]:.2f} times the memory of a worker")


if __name__ == "__main__":
    main()
