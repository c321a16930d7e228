"""`spark extract` beside polars and DuckDB, which find the covering edges alone: a log of many small traces.

    python -m benchmarks.spark_peers --events 1000000

Seconds of the processor of whole programs, Java and workers among them; in brackets, by the clock. polars
and DuckDB check nothing, say nothing of what is odd, and have no frontiers. *in process* is `microcosm
extract`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    with TemporaryDirectory() as there:
        folder = Path(there)
        table, lines = folder / "log.parquet", folder / "log.jsonl"
        log(table, asked.events, 2, traces=asked.events // 250)
        with lines.open("w", encoding="utf-8") as stream:
            for batch in pq.ParquetFile(table).iter_batches():
                for row in batch.to_pylist():
                    said = {name: value for name, value in row.items() if value is not None}
                    stream.write(json.dumps(said) + "\n")
        with lines.open(encoding="utf-8") as stream:
            (folder / "little.jsonl").write_text("".join(islice(stream, 30_000)), encoding="utf-8")
        programs = {
            name: [sys.executable, "-c", text] for name, text in (("polars", POLARS), ("DuckDB", DUCKDB))
        }
        programs = {name: run for name, run in programs.items() if find_spec(name.lower()) is not None}
        programs["in process"] = [sys.executable, "-m", "microcosm", "extract", "-q"]
        for _ in range(asked.rounds):
            told = []
            for name, command in programs.items():
                out = str(folder / f"{name}.parquet")
                ends = [str(lines), "-o", out] if name == "in process" else [str(lines), out]
                begin = monotonic()
                cost = costing(
                    lambda run=[*command, *ends]: subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
                )  # type: ignore[misc]
                told.append(f"{name} {cost:.1f} [{monotonic() - begin:.1f}]")
            with cores(2) as (spark, into):  # a Python that ends between two rounds would not be counted
                for size in ("little", "all"):  # the first warms up
                    source = folder / "little.jsonl" if size == "little" else lines
                    begin = monotonic()
                    cost = costing(lambda: job.extract(spark, [str(source)], str(into / size)))  # noqa: B023
                told.append(f"Spark, once Java is warm {cost:.1f} [{monotonic() - begin:.1f}]")
            print(f"{asked.events:,} events of {asked.events // 250:,} traces:", ", ".join(told), flush=True)


if __name__ == "__main__":
    main()
