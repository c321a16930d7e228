"""The microcosms of a table: read row by row, their digests, consistency and differences. No Spark here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.compare.bisimilarity import bisimilar
from microcosm.compare.digest import analogy_digest_of
from microcosm.compare.verdict_rows import seeds_own
from microcosm.errors import Contradiction, MicrocosmError, TextError
from microcosm.files import decode, read_bytes
from microcosm.givens.exact import json_text
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.queries.offline import Inconsistent
from microcosm.queries.possible import Worlds
from microcosm.spark.bisim.plain_rows import digests, json_form, of_batch, of_lines, plain_digest
from microcosm.spark.io.events import ODD_ROWS, arrow_schema, batched
from microcosm.spark.io.inputs import LINES, PARQUET, Piece
from microcosm.state.microcosm import Microcosm
from microcosm.text.json_form import decode_json, givens_from_json, givens_to_json
from microcosm.text.mc_reader import read_givens
from microcosm.traces.formats.parquet import expect_once, records
from microcosm.traces.text.lines import LINE_LIMIT
from microcosm.worlds.propagation import MEMBERS

_TOGETHER = 512
_BYTES = 1 << 20
"""So many rows of a table, or so long ones, are looked at together."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: a microcosm, or why it is none (`fault`), and where it stands; 0: a whole file."""

    at: int
    file: str
    id: str | None = None
    givens: Givens | None = None
    digest: str | None = None
    fault: str | None = None


def rows(piece: Piece, wanted: Set[str] | None = None) -> Iterator[Row | pa.RecordBatch]:
    """The rows of a piece; one that cannot be read is a row with a `fault`.

    Plain microcosms in a table are told as batches of `DIGESTED` alone, but for those whose ids are `wanted`
    (None: of none); `at` is then the row's number.
    """
    ending = Path(piece.path).suffix
    try:
        if ending == PARQUET:
            yield from _parquet_rows(piece, wanted)
        elif ending in LINES:
            yield from _lines(piece, wanted)
        else:
            givens = read_givens(decode(read_bytes(piece.path), piece.path), piece.path)
            yield Row(0, piece.path, Path(piece.path).stem, givens)
    except (MicrocosmError, OSError) as error:
        yield Row(getattr(error, "line", None) or 0, piece.path, fault=_error_text(error))


def judged(givens: Givens, rules: str | None = None) -> tuple[str | None, bool]:
    """The digest of a microcosm, None where its givens exclude each other at once; whether a world fits.

    `rules` is the folder of other rules than the shipped ones; worlds do not ask for rules. Cost: a
    closure; with `<>`, or under other rules, that of a search for a world.
    """
    seeds = plain_enough(rules)
    try:
        digest = analogy_digest_of(givens, _rules(rules))
    except Contradiction:
        return None, not seeds and Worlds(givens).fits()
    return digest, (seeds and _only_order(givens)) or Worlds(givens).fits()


def _only_order(givens: Givens) -> bool:
    """Whether givens that do not clash at once are their own world: all that is not ordered is concurrent."""
    others = (givens.refuted, givens.stamps, givens.clocks, givens.tokens, givens.messages, givens.orderings)
    return not any(others) and all(fact.relation is not Relation.RELATED for fact in givens.external.values())


def plain_enough(rules: str | None) -> bool:
    """Whether the digests of plain microcosms under these rules are known without an engine."""
    return seeds_own(_rules(rules))


def document(givens: Givens) -> str:
    """A microcosm as a text that `difference` reads."""
    return json_text(givens_to_json(givens))


def difference(
    one: str, other: str, rules: str | None = None
) -> tuple[str, str, str | None, str | None] | None:
    """A pair on which two microcosms differ, and its two verdicts (None: silence); None where none does."""
    left, right = (Microcosm(read_givens(text), rules=_rules(rules)) for text in (one, other))
    witness = bisimilar(left, right).witness
    if witness is None or witness.pair is None or witness.verdicts is None:
        return None
    return (*witness.pair, witness.verdicts[0].value, witness.verdicts[1].value)


def offline(text: str, rules: str | None = None) -> Iterator[tuple[str, str, list[str]]]:
    """The pairs of which the offline rules exclude something at depth 0, and what they leave of them.

    Nothing where they contradict themselves. Cost: quadratic in its events.
    """
    try:
        for a, b, left in Microcosm(read_givens(text), rules=_rules(rules)).offline_table():
            if len(left) < len(MEMBERS):
                yield a, b, list(map(str, left))
    except (Inconsistent, Contradiction):
        return


@cache
def _rules(directory: str | None) -> RuleBook:
    return read_rules(directory)


def _lines(piece: Piece, wanted: Set[str] | None) -> Iterator[Row | pa.RecordBatch]:
    for lines in _together(_numbered(piece)):
        left = dict(lines)
        if wanted is not None:
            places, batch = of_lines([line if len(line) <= LINE_LIMIT else b"" for _, line in lines])
            yield from _known(batch, [lines[at][0] for at in places], wanted, left)
        for number, line in left.items():
            try:
                if len(line) > LINE_LIMIT:
                    raise TextError(f"longer than {LINE_LIMIT:,} bytes")
                record = decode_json(decode(line, piece.path), piece.path)
                yield _row(number, record, piece.path, wanted)
            except MicrocosmError as error:
                yield Row(number, piece.path, fault=_error_text(error))


def _known(
    batch: pa.RecordBatch | None, numbers: Sequence[int], wanted: Set[str], left: dict[int, Any]
) -> Iterator[pa.RecordBatch]:
    """The rows whose digests are known and enough; the others stay in `left`, which has all by number."""
    read = None if batch is None else of_batch(batch)
    if read is not None:
        given, ids = read
        known = [
            (name, digest, True, number)
            for number, name, digest in zip(numbers, ids, digests(given), strict=True)
            if digest is not None and name not in wanted
        ]
        for *_, number in known:
            del left[number]
        if known:
            schema = arrow_schema(DIGESTED)
            yield pa.RecordBatch.from_arrays([*map(pa.array, zip(*known, strict=True))], schema=schema)


def _together(lines: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Lines in batches; a long one ends its batch."""
    kept: list[tuple[int, bytes]] = []
    size = 0
    for number, line in lines:
        kept.append((number, line))
        size += len(line)
        if len(kept) == _TOGETHER or size > _BYTES:
            yield kept
            kept, size = [], 0
    if kept:
        yield kept


def _numbered(piece: Piece) -> Iterator[tuple[int, bytes]]:
    """The lines of a piece that are not blank; of one that is too long, no more than shows this."""
    number = piece.line
    with piece.stream() as lines:
        while line := lines.readline(LINE_LIMIT + 1):
            number += 1
            if line.strip():
                yield number, line
            while len(line) > LINE_LIMIT and not line.endswith(b"\n"):
                line = lines.readline(LINE_LIMIT + 1) or b"\n"


def _parquet_rows(piece: Piece, wanted: Set[str] | None) -> Iterator[Row | pa.RecordBatch]:
    number = piece.line
    try:
        with pq.ParquetFile(piece.path) as table:
            expect_once(table.schema_arrow, piece.path)
            groups = range(piece.start, table.num_row_groups if piece.stop is None else piece.stop)
            described = [table.metadata.row_group(group) for group in groups]
            long = sum(each.total_byte_size for each in described)
            count = sum(each.num_rows for each in described)
            size = max(1, min(_TOGETHER, _BYTES * count // max(1, long)))
            for batch in table.iter_batches(size, row_groups=groups):
                numbers = range(number + 1, number + 1 + batch.num_rows)
                number += batch.num_rows
                left = dict(zip(numbers, range(batch.num_rows), strict=True))
                if wanted is not None:
                    with suppress(UnicodeDecodeError):
                        yield from _known(batch, numbers, wanted, left)
                others = records(batch.take(pa.array(left.values(), pa.int64())))
                for at, record in zip(left, others, strict=True):
                    try:
                        if isinstance(record, str):
                            raise TextError(record)
                        yield _row(at, json_form(record), piece.path, wanted)
                    except (MicrocosmError, ValueError) as error:
                        yield Row(at, piece.path, fault=_error_text(error))
    except pa.ArrowException as error:
        yield Row(0, piece.path, fault=f"no Parquet that can be read: {_error_text(error)}")


def _row(at: int, record: object, file: str, wanted: Set[str] | None) -> Row:
    if not isinstance(record, dict):
        return Row(at, file, fault="a row is a JSON object")
    name = record.pop("id", None)
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not name:
        return Row(at, file, fault="`id` must be some text")
    digest = plain_digest(record) if wanted is not None and name not in wanted else None
    if digest is not None:
        return Row(at, file, name, digest=digest)
    return Row(at, file, name, givens_from_json(record, file))


def _error_text(error: BaseException) -> str:
    return (getattr(error, "message", None) or str(error).strip() or type(error).__name__).splitlines()[0]


DIGESTED = "id string, digest string, consistent boolean, at long"
"""What is needed of a row."""

JUDGED = f"{DIGESTED}, document string"
"""A microcosm; `document` is its JSON form, where this was asked for and it has a digest."""

TABLES = {"judged": JUDGED, "odd": ODD_ROWS}

_BATCH = 1024
"""So many rows, of which each may have a document, are put together."""
_ROWS = 1 << 32
"""More rows than a piece has."""


def judgements(
    piece: Piece, documents: Set[str] | None, rules: str | None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of `TABLES` for a piece of a table.

    `at` puts the rows of all pieces in order; `rules` is the folder of other
    rules than the shipped ones. `documents` are the ids of which a document is asked for (None: of all).
    """
    return batched(_judged(piece, documents, rules), TABLES, _BATCH)


def _judged(
    piece: Piece, documents: Set[str] | None, rules: str | None
) -> Iterator[tuple[str, dict[str, Any] | pa.RecordBatch]]:
    before = piece.number * _ROWS
    tabular = Path(piece.path).suffix in (*LINES, PARQUET)
    for found in rows(piece, documents if plain_enough(rules) else None):
        if isinstance(found, pa.RecordBatch):
            *given, at = found.columns
            columns = [*given, pc.add(at, before), pa.nulls(len(at), pa.string())]
            yield "judged", pa.RecordBatch.from_arrays(columns, schema=arrow_schema(JUDGED))
        elif found.fault is not None:
            kind = "unreadable" if tabular and not found.at else "bad-line"
            place = {"file": found.file, "line": found.at or None, "reported": kind}
            yield "odd", {**place, "fault": found.fault, "count": 1, "lost": 1}
        else:
            digest, consistent, kept = found.digest, True, None
            if found.givens is not None:
                digest, consistent = judged(found.givens, rules)
                wanted = documents is None or found.id in documents
                kept = document(found.givens) if wanted and digest is not None else None
            told = {"id": found.id, "digest": digest, "consistent": consistent}
            yield "judged", {**told, "at": before + found.at, "document": kept}
