"""Claim: `spark extract` takes no longer than twice Spark's own repartition and sort of the same rows.

Logs of many traces, two cores. *floor* is Spark's repartition by trace and sort, which writes nothing;
*found* are those stages of the job that gather and sort the same rows and write their edges, frontiers and
what is odd; *job* is all of it, reading and events too, once Java is warm. polars and DuckDB write the
covering edges alone, as programs of their own: they check nothing, say nothing of what is odd, and have no
frontiers; *in process* is `microcosm extract`. Seconds are of the processor, those of Java and of all workers
included. What Spark needs may be missing: then nothing is measured, and standard error says so.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import Line

NAME = "spark"


def run(quick: bool = False) -> list[Line]:
    """Logs of rows in Parquet, and of lines of JSON, by turns."""
    from microcosm.spark.installation import NoJava, find_java, lacking
    from microcosm.spark.session import NEEDED

    missing = lacking(NEEDED)
    try:
        find_java()
    except NoJava:
        missing.append("Java")
    if missing:
        print(f"not measured, for lack of {', '.join(missing)}: {NAME}", file=sys.stderr)
        return []
    from benchmarks.spark_cost import cores

    lines: list[Line] = []
    rounds = 1 if quick else 3
    with TemporaryDirectory() as there, cores(2) as (spark, into):
        folder = Path(there)
        for events in (20_000,) if quick else (200_000, 1_000_000):
            lines += _beside_the_floor(spark, into, folder, events, rounds)
        lines += _beside_peers(spark, into, folder, 20_000 if quick else 1_000_000, 1 if quick else 2)
    return lines


def _beside_the_floor(spark: object, into: Path, folder: Path, events: int, rounds: int) -> list[Line]:
    from benchmarks import spark_many

    found: list[Line] = []
    for name in ("together", "mixed"):
        file = spark_many.made(folder, name, events)
        times: dict[str, list[float]] = {"found": [], "floor": [], "job": []}
        for number in range(-1, rounds):  # the first warms up
            costs = spark_many.measured(spark, file, into / f"{name}-{events}-{number}", name)
            if number >= 0:
                for subject, of in times.items():
                    of.append(costs[subject][0])
        middle = {subject: median(of) for subject, of in times.items()}
        found += [
            Line(
                NAME, f"{events:,} events, rows of a trace {name}", subject, at, at / middle["found"], rounds
            )
            for subject, at in middle.items()
        ]
    return found


def _beside_peers(spark: object, into: Path, folder: Path, events: int, rounds: int) -> list[Line]:
    from benchmarks import spark_peers

    log, little = spark_peers.made(folder, events)
    for name in spark_peers.PROGRAMS:
        if find_spec(name.lower()) is None:
            print(f"not installed: {name}", file=sys.stderr)
    times: dict[str, list[float]] = {}
    spark_peers.extracted(spark, little, into / "little")
    for number in range(rounds):
        seconds = {"job": spark_peers.extracted(spark, log, into / f"peers-{number}")}
        seconds |= spark_peers.programs(log, folder)
        for subject, (cost, _) in seconds.items():
            times.setdefault(subject, []).append(cost)
    middle = {subject: median(of) for subject, of in times.items()}
    case = f"{events:,} events of {events // 250:,} traces in JSON"
    return [Line(NAME, case, subject, at, at / middle["job"], rounds) for subject, at in middle.items()]
