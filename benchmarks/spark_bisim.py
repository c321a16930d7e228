"""Digests of many small microcosms, beside one of 20,000 events: processor time of one core, without Spark.

    python -m benchmarks.spark_bisim --microcosms 2000

*plain* is what `spark bisim` does of a row of JSON with 50 events and 73 facts; *read and judge* is what it
does of a row that is not plain (here: the same, read as any other); *great* is one row of 20,000 events.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import process_time

from microcosm.spark.bisim.microcosms import Row, judged, judgements, rows
from microcosm.spark.io.inputs import by_lines


def small(random: Random, name: str) -> dict[str, object]:
    facts = {tuple(sorted(random.sample(range(50), 2))) for _ in range(73)}
    return {"id": name, "external": [[f"e{a}", "<", f"e{b}"] for a, b in facts]}


def great(random: Random) -> dict[str, object]:
    chain = [[f"e{at - 8}", "<", f"e{at}"] for at in range(8, 20_000)]
    crossing = [[f"e{at - 16 - random.randrange(8)}", "<", f"e{at}"] for at in range(32, 20_000, 3)]
    return {"id": "great", "external": [*chain, *crossing]}


def seconds(file: Path, quick: bool) -> tuple[float, list[str | None]]:
    begin = process_time()
    digests: list[str | None] = []
    for piece in by_lines(file):
        if quick:
            for _, batch in judgements(piece, frozenset(), None):
                digests += batch.column(1).to_pylist()
        else:
            each = (row for row in rows(piece) if isinstance(row, Row))
            digests += [judged(row.givens)[0] for row in each if row.givens is not None]
    return process_time() - begin, digests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--microcosms", type=int, default=2000)
    count = parser.parse_args().microcosms
    random = Random(1)
    with TemporaryDirectory() as folder:
        table, one = Path(folder) / "table.jsonl", Path(folder) / "great.jsonl"
        table.write_text("".join(json.dumps(small(random, str(at))) + "\n" for at in range(count)), "utf-8")
        one.write_text(json.dumps(great(random)) + "\n", "utf-8")
        seconds(table, True)
        quick, digests = seconds(table, True)
        slow, same = seconds(table, False)
        assert digests == same
        print(f"plain: {count / quick:,.0f} a second; read and judge: {count / slow:,.0f} a second")
        print(f"great: {seconds(one, True)[0]:.2f} s")


if __name__ == "__main__":
    main()
