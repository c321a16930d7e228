"""What is said of every microcosm of a table: its digest and whether a world fits it. No Spark here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING

from microcosm.spark.bisim.classes import DIGESTED
from microcosm.spark.bisim.microcosms import Digested, Row, document, judged, plain_enough, rows
from microcosm.spark.io.events import arrow_schema
from microcosm.spark.io.input_splits import Piece

if TYPE_CHECKING:
    import pyarrow as pa

JUDGED = f"{DIGESTED}, document string"
"""A microcosm; `document` is its JSON form, where this was asked for and it has a digest."""

ODD = "place string, fault string, at long"
"""A row that is no microcosm."""

TABLES = {"judged": JUDGED, "odd": ODD}

_BATCH = 1024
_ROWS = 1 << 32
"""More rows than a piece has."""


def judgements(
    number: int, piece: Piece, documents: Set[str] | None, rules: str | None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of `TABLES` for a piece of a table.

    `at` puts the rows of all pieces, which are numbered, in order; `rules` is the folder of other
    rules than the shipped ones. `documents` are the ids of which a document is asked for (None: of all).
    """
    waiting: list[tuple[object, ...]] = []
    before = number * _ROWS
    for found in rows(piece, documents if plain_enough(rules) else None):
        if isinstance(found, Digested):
            places, count = [before + at for at in found.at], len(found.at)
            yield _batch("judged", [found.ids, found.digests, [True] * count, places, [None] * count])
        elif found.fault is not None:
            yield _batch("odd", [[found.place], [found.fault], [before + found.at]])
        else:
            waiting.append(_judged(before, found, documents, rules))
            if len(waiting) == _BATCH:
                yield _batch("judged", zip(*waiting, strict=True))
                waiting = []
    if waiting:
        yield _batch("judged", zip(*waiting, strict=True))


def _batch(table: str, columns: Iterable[Sequence[object]]) -> tuple[str, pa.RecordBatch]:
    import pyarrow as pa

    schema = arrow_schema(TABLES[table])
    arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return table, pa.RecordBatch.from_arrays(arrays, schema=schema)


def _judged(before: int, row: Row, documents: Set[str] | None, rules: str | None) -> tuple[object, ...]:
    """The columns of `JUDGED`."""
    digest, kept = row.digest, None
    consistent = True
    if row.givens is not None:
        digest, consistent = judged(row.givens, rules)
        asked = documents is None or row.id in documents
        kept = document(row.givens) if asked and digest is not None else None
    return row.id, digest, consistent, before + row.at, kept
