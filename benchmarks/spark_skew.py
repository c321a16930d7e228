"""One microcosm of 20,000 events among many small ones: what it adds to a job that compares them.

    python -m benchmarks.spark_skew --microcosms 100000

The same table without it, then with it in the middle. Seconds are of the processor, Java and workers
together, on one core.
"""

from __future__ import annotations

import argparse
import json
from random import Random

from benchmarks.spark_bisim import great, small
from benchmarks.spark_cost import costing, one_core, worker_memory
from microcosm.spark.bisim.job import bisim


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--microcosms", type=int, default=100_000)
    count = parser.parse_args().microcosms
    random = Random(1)
    few = [json.dumps(small(random, str(at))) + "\n" for at in range(min(count, 10_000))]
    with one_core() as (spark, folder):
        costs = {}
        for name, lines, with_great in (
            ("warm", 1000, True),
            ("even", count, False),
            ("skewed", count, True),
        ):
            table = folder / f"{name}.jsonl"
            with table.open("w", encoding="utf-8") as stream:
                for at in range(lines):
                    stream.write(few[at % len(few)].replace('{"id": "', f'{{"id": "{at}-', 1))
                    if with_great and at == lines // 2:
                        stream.write(json.dumps(great(random)) + "\n")
            with worker_memory() as peak:
                costs[name] = costing(
                    lambda table=table, name=name: bisim(spark, str(table), str(folder / f"{name}.out"))  # type: ignore[misc]
                )
            print(
                f"{name}: {lines:,} microcosms, {costs[name]:.1f} s, a worker takes {peak[0]} MiB", flush=True
            )
        print(
            f"the great one adds {costs['skewed'] - costs['even']:.1f} s;",
            f"{count / costs['even']:,.0f} a second",
        )


if __name__ == "__main__":
    main()
