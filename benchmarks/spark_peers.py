"""`spark extract` beside polars and DuckDB, which find the covering edges alone: a log of many small traces.

    python -m benchmarks.spark_peers --events 1000000

Seconds of the processor of whole programs, Java and workers among them; in brackets, by the clock. polars
and DuckDB check nothing, say nothing of what is odd, and have no frontiers; they write a Parquet file of
edges, in columns, of less than 1 MB for a million events. *in process* is `microcosm extract`, which writes
the text of the whole microcosm, edges with their sources and messages: some 90 MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import pyarrow.parquet as pq

from benchmarks.spark_cost import cores, costing, log
from microcosm.spark.extract import job

DUCKDB = """
import duckdb, sys
log, out = sys.argv[1:]
duckdb.sql('set threads = 2; set enable_progress_bar = false')
duckdb.sql(f'''
    copy (
        with events as (select trace, process, seq, kind, message from read_json('{log}',
            format = 'newline_delimited', columns = {{trace: 'VARCHAR', process: 'VARCHAR', seq: 'BIGINT',
            kind: 'VARCHAR', message: 'VARCHAR'}}))
        select trace, process, lag(seq) over (partition by trace, process order by seq) as before,
            process as to_process, seq
        from events qualify before is not null
        union all
        select trace, s.process, s.seq, r.process, r.seq from events s join events r using (trace, message)
        where s.kind = 'send' and r.kind = 'receive'
    ) to '{out}' (format parquet)''')
"""
POLARS = """
import polars as pl, sys
log, out = sys.argv[1:]
texts = dict.fromkeys(("trace", "process", "kind", "message"), pl.String)
events = pl.read_ndjson(log, schema={**texts, "seq": pl.Int64})
own = events.sort("trace", "process", "seq").select(
    "trace", "process", "seq", before=pl.col("seq").shift(1).over("trace", "process"), to_process="process"
).drop_nulls()
sent, received = (events.filter(pl.col("kind") == kind) for kind in ("send", "receive"))
pairs = sent.join(received, on=["trace", "message"]).select(
    "trace", "process", seq="seq_right", before="seq", to_process="process_right"
)
pl.concat([own, pairs]).write_parquet(out)
"""


PROGRAMS = {"polars": POLARS, "DuckDB": DUCKDB}


def made(folder: Path, events: int) -> tuple[Path, Path]:
    """A log of traces of 250 events in JSON, and the beginning of it."""
    table, lines, little = (folder / name for name in ("log.parquet", "log.jsonl", "little.jsonl"))
    log(table, events, 2, traces=events // 250)
    with lines.open("w", encoding="utf-8") as stream:
        for batch in pq.ParquetFile(table).iter_batches():
            for row in batch.to_pylist():
                said = {name: value for name, value in row.items() if value is not None}
                stream.write(json.dumps(said) + "\n")
    with lines.open(encoding="utf-8") as stream:
        little.write_text("".join(islice(stream, 30_000)), encoding="utf-8")
    return lines, little


def programs(lines: Path, folder: Path) -> dict[str, tuple[float, float]]:
    """What each program took, by the processor and by the clock; what is not installed is left out."""
    there = {name: text for name, text in PROGRAMS.items() if find_spec(name.lower()) is not None}
    runs = {name: [sys.executable, "-c", text] for name, text in there.items()}
    runs["in process"] = [sys.executable, "-m", "microcosm", "extract", "-q"]
    found = {}
    for name, command in runs.items():
        out = str(folder / f"{name}{'.mc' if name == 'in process' else '.parquet'}")
        whole = [*command, str(lines), *(["-o", out] if name == "in process" else [out])]
        begin = monotonic()
        cost = costing(partial(subprocess.run, whole, check=True, stdout=subprocess.DEVNULL))
        found[name] = cost, monotonic() - begin
    return found


def extracted(spark: Any, source: Path, out: Path) -> tuple[float, float]:
    """What the job took, by the processor and by the clock."""
    begin = monotonic()
    cost = costing(lambda: job.extract(spark, [str(source)], str(out)))
    return cost, monotonic() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    with TemporaryDirectory() as there, cores(2) as (spark, into):
        lines, little = made(Path(there), asked.events)
        extracted(spark, little, into / "little")  # warms up
        for number in range(asked.rounds):
            took = programs(lines, Path(there))
            took["Spark, once Java is warm"] = extracted(spark, lines, into / str(number))
            told = (f"{name} {cost:.1f} [{clock:.1f}]" for name, (cost, clock) in took.items())
            print(f"{asked.events:,} events of {asked.events // 250:,} traces:", ", ".join(told), flush=True)


if __name__ == "__main__":
    main()
