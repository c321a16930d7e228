"""The pairs of a `--pairs` file: two ids a line, or a Parquet table of them."""

from __future__ import annotations

import json
from pathlib import Path

from microcosm import files
from microcosm.errors import TextError
from microcosm.spark.io.input_splits import PARQUET

COLUMNS = ("left_id", "right_id")


def read_pairs(path: str) -> list[tuple[str, str]]:
    """The pairs of ids. A line has two ids between tabs or commas, or is a JSON list or object of them.

    Raises `TextError`.
    """
    if Path(path).suffix == PARQUET:
        return _parquet(path)
    found = []
    for number, line in enumerate(files.read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        pair = _pair(line.strip())
        if pair is None:
            hint = "Write two ids, with a tab or a comma between them, or a JSON list."
            raise TextError("is no pair of ids", file=path, line=number, text=line, hint=hint)
        if not (number == 1 and pair == COLUMNS):
            found.append(pair)
    return found


def _pair(line: str) -> tuple[str, str] | None:
    """The two ids of a line.

    >>> _pair("a, b"), _pair('["a", "b,c"]'), _pair('{"left_id": "a", "right_id": "b"}'), _pair("a")
    (('a', 'b'), ('a', 'b,c'), ('a', 'b'), None)
    """
    parts: list[object]
    if line[0] in "[{":
        try:
            found = json.loads(line)
        except ValueError:
            return None
        parts = [found.get(name) for name in COLUMNS] if isinstance(found, dict) else found
    else:
        parts = [part.strip() for part in line.split("\t" if "\t" in line else ",")]
    match parts:
        case [str(left), str(right)] if left and right:
            return left, right
    return None


def _parquet(path: str) -> list[tuple[str, str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=list(COLUMNS))
        left, right = (table.column(name).cast(pa.string()).to_pylist() for name in COLUMNS)
    except FileNotFoundError:
        raise TextError("no such file", file=path) from None
    except (pa.ArrowException, KeyError, OSError) as error:
        raise TextError(f"has no columns {' and '.join(COLUMNS)}: {error}", file=path) from None
    return list(zip(left, right, strict=True))
