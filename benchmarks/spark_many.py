"""Many traces of 1,000 events: the job beside Spark's own repartition and sort of the same rows, on one core.

    python -m benchmarks.spark_many --events 200000

*floor* groups the rows by trace and sorts them, and writes nothing. *job* is all of `spark extract`; *found*
is its stage that does the same and finds edges and frontiers. Seconds are of the processor, Java and workers.
"""

from __future__ import annotations

import argparse

from benchmarks.spark_cost import costing, log, one_core, processor_seconds
from microcosm.spark import extract as job
from microcosm.spark import output


class _Costing(output.Output):
    """An output that knows what each of its stages costs."""

    costs: dict[str, float]

    def stage(self, spark: object, name: str, table: object) -> object:
        before = processor_seconds()
        found = super().stage(spark, name, table)  # type: ignore[arg-type]
        _Costing.costs[name] = processor_seconds() - before
        return found

    def tables(self, spark: object, name: str, *rest: object) -> object:
        before = processor_seconds()
        found = super().tables(spark, name, *rest)  # type: ignore[arg-type]
        _Costing.costs[name] = processor_seconds() - before
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[200_000])
    asked = parser.parse_args()
    job.Output = _Costing  # type: ignore[misc]
    with one_core() as (spark, folder):
        for events in [20_000, *asked.events]:  # the first, small one warms up
            file, out = folder / f"{events}.parquet", folder / f"{events}"
            log(file, events, 8, traces=events // 1000)
            rows = spark.read.parquet(str(file)).repartition("trace").sortWithinPartitions("trace", "seq")
            floor = costing(lambda rows=rows: rows.write.format("noop").mode("overwrite").save())  # type: ignore[misc]
            _Costing.costs = {}
            whole = costing(lambda file=file, out=out: job.extract(spark, [str(file)], str(out)))  # type: ignore[misc]
            found = _Costing.costs["found"]
            print(f"{events:,} events: floor {floor:.1f} s, job {whole:.1f} s")
            print(f"  found {found:.1f} s: {floor / found:.2f} of the speed of the floor")
            print("  seconds:", {name: round(cost, 1) for name, cost in _Costing.costs.items()})


if __name__ == "__main__":
    main()
