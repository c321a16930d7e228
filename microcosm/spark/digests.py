"""The digests of many plain microcosms at once, column by column.

Most of a table are plain (`microcosm.spark.plain`) and small, and then objects for events and facts take
longer than all the rest. Here the names of a batch are numbers, the pasts of all its events are one array of
64-bit rows, and one round of array operations closes all microcosms a step further. What is not plain, has
more than 64 events or may be a fault has no digest here, and is left to the code for one row. No Spark here.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from microcosm.logic.document_json import SCHEMA
from microcosm.state.digest import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

WIDEST = 64
"""Events of a microcosm, at most: a row of bits is one number."""

_EMPTY = ("refuted", "stamps", "clocks", "messages", "orderings", "tokens")


def of_lines(lines: Sequence[bytes]) -> list[tuple[str, str] | None]:
    """Id and digest of each line of JSON that is a plain microcosm; None: not known here.

    >>> of_lines([b'{"id": "x", "external": [["a", "<", "b"]]}', b'{"id": "y"', b"[]"])
    [None, None, None]
    >>> len(of_lines([b'{"id": "x", "external": [["a", "<", "b"]]}'])[0][1])
    64
    """
    import pyarrow as pa
    from pyarrow import json as reader

    nothing: list[tuple[str, str] | None] = [None] * len(lines)
    block = b"\n".join([line.strip() for line in lines])
    # Each line an object of its own: only so a row that is read is a line.
    apart = block.count(b"}\n{") == len(lines) - 1 == block.count(b"\n")
    if not (apart and block[:1] == b"{" and block[-1:] == b"}"):
        return nothing
    text = pa.string()
    fact = pa.list_(text)
    told = [("id", text), ("name", text), ("schema", text), ("complete", pa.bool_())]
    schema = pa.schema([*told, ("internal", fact), ("external", pa.list_(fact))])
    try:
        block.decode()
        table = reader.read_json(
            BytesIO(block),
            reader.ReadOptions(use_threads=False, block_size=len(block) + 1),
            reader.ParseOptions(explicit_schema=schema),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return nothing
    if table.num_rows != len(lines):
        return nothing
    # Null and absent look alike in columns, and only one of them is right.
    sure = np.ones(len(lines), dtype=bool)
    if b"null" in block:
        sure[:] = [b"null" not in line.replace(b'"name": null', b"") for line in lines]
    return _of_table(table, sure)


def of_batch(batch: pa.RecordBatch) -> list[tuple[str, str] | None]:
    """The same for rows of a Parquet table, in which a field that is null is absent."""
    import pyarrow as pa

    return _of_table(pa.Table.from_batches([batch]), np.ones(batch.num_rows, dtype=bool))


def _of_table(table: pa.Table, sure: Any) -> list[tuple[str, str] | None]:
    import pyarrow as pa

    columns = {name: _array(table.column(name)) for name in table.schema.names}
    nothing: list[tuple[str, str] | None] = [None] * table.num_rows
    known = {"id", "name", "schema", "complete", "internal", "external", *_EMPTY}
    ids, facts = columns.get("id"), columns.get("external")
    if not columns.keys() <= known or ids is None or not pa.types.is_string(ids.type):
        return nothing
    facts = facts if facts is not None else pa.nulls(table.num_rows, pa.list_(pa.list_(pa.string())))
    internal = columns.get("internal", pa.nulls(table.num_rows, pa.list_(pa.string())))
    fit = sure & _lengths(ids, "binary") & _without_more(columns)
    three = _three(facts)
    if (
        three is None
        or not pa.types.is_list(internal.type)
        or not pa.types.is_string(internal.type.value_type)
    ):
        return nothing
    (owner, left, relation, right), whole = three
    fit &= whole
    chained = _members(internal)
    if chained is None:
        return nothing
    found = _digests(fit, owner, left, relation, right, *chained)
    names = ids.to_pylist()
    return [None if digest is None else (names[at], digest) for at, digest in enumerate(found)]


def _array(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
    return array


def _lengths(array: pa.Array, of: str, least: int = 1) -> Any:
    """Where members of an array are at least so long; a null is not."""
    import pyarrow.compute as pc

    length = pc.binary_length(array) if of == "binary" else pc.list_value_length(array)
    return pc.fill_null(pc.greater_equal(length, least), False).to_numpy(zero_copy_only=False)


def _without_more(columns: dict[str, pa.Array]) -> Any:
    """The rows that say nothing but an internal chain and external facts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fit: Any = np.True_
    for name in _EMPTY:
        if name in columns and not pa.types.is_null(columns[name].type):
            column = columns[name]
            kind = column.type
            if pa.types.is_list(kind) or pa.types.is_map(kind):
                empty = pa.array(np.diff(column.offsets.to_numpy()) == 0)
            elif pa.types.is_struct(kind) and not kind.num_fields:
                continue
            else:
                empty = pc.is_null(column)
            fit = fit & empty.to_numpy(zero_copy_only=False)
    for name, value in (("schema", SCHEMA), ("complete", False)):
        if name in columns and not pa.types.is_null(columns[name].type):
            same = pc.fill_null(pc.equal(columns[name], pa.scalar(value)), True)
            fit = fit & same.to_numpy(zero_copy_only=False)
    if "name" in columns and not (
        pa.types.is_null(columns["name"].type) or pa.types.is_string(columns["name"].type)
    ):
        fit = fit & pc.is_null(columns["name"]).to_numpy(zero_copy_only=False)
    return fit


def _members(lists: pa.Array) -> tuple[Any, pa.Array] | None:
    """The members of lists and the row of each; None where one is null."""
    import pyarrow.compute as pc

    flat = pc.list_flatten(lists)
    if flat.null_count:
        return None
    return pc.list_parent_indices(lists).to_numpy(zero_copy_only=False), flat


def _three(facts: pa.Array) -> tuple[tuple[Any, pa.Array, pa.Array, pa.Array], Any] | None:
    """The facts of all rows: row, left, relation, right of each; and the rows whose facts are such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = facts.type
    members = _members(facts) if pa.types.is_list(kind) else None
    if members is None:
        return None
    owner, flat = members
    whole = np.ones(len(facts), dtype=bool)
    if pa.types.is_struct(kind.value_type):
        fields = flat.flatten()
        if len(fields) < 3:
            return None
        good = np.ones(len(flat), dtype=bool)
        for at, field in enumerate(fields):
            present = pc.is_valid(field) if at < 3 else pc.is_null(field)
            good &= present.to_numpy(zero_copy_only=False)
        parts = list(fields[:3])
    elif pa.types.is_list(kind.value_type) and pa.types.is_string(kind.value_type.value_type):
        good = pc.equal(pc.list_value_length(flat), 3).to_numpy(zero_copy_only=False)
        chosen = flat if good.all() else flat.filter(pa.array(good))
        words = pc.list_flatten(chosen)
        parts = [words.take(pa.array(np.arange(at, len(words), 3))) for at in range(3)]
    else:
        return None
    whole[owner[~good]] = False
    if len(parts[0]) == len(good):
        parts = [part.filter(pa.array(good)) for part in parts] if not good.all() else parts
    owner = owner[good]
    if any(part.null_count or not pa.types.is_string(part.type) for part in parts):
        return None
    return (owner, parts[0], parts[1], parts[2]), whole


@dataclass(frozen=True, slots=True)
class _Events:
    """The events of a batch, those of a row together and by name: row, name and place in its row of each."""

    row: Any
    name: Any
    place: Any
    first: Any
    count: Any


def _digests(
    fit: Any, owner: Any, left: pa.Array, relation: pa.Array, right: pa.Array, row: Any, chain: pa.Array
) -> list[str | None]:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = len(fit)
    words = pa.concat_arrays([left, right, chain]).dictionary_encode()
    spelled = words.dictionary
    order = pc.sort_indices(spelled).to_numpy()  # by bytes, which is by code points
    rank = np.empty(len(spelled), dtype=np.int64)
    rank[order] = np.arange(len(spelled))
    codes = rank[words.indices.to_numpy()]
    facts = len(left)
    a, b, c = codes[:facts], codes[facts : 2 * facts], codes[2 * facts :]
    names = [spelled[int(at)].as_py() for at in order]
    fit = fit.copy()
    nameless = np.array([not name for name in names], dtype=bool)
    for places, used in ((owner, a), (owner, b), (row, c)):
        fit[places[nameless[used]]] = False
    before = pc.equal(relation, "<").to_numpy(zero_copy_only=False)
    apart = pc.equal(relation, "||").to_numpy(zero_copy_only=False)
    fit[owner[~(before | apart) | (a == b)]] = False  # nothing is related to itself
    # The internal chain: consecutive ones are ordered; one that is alone is in no relation.
    next_ = row[1:] == row[:-1]
    together = np.zeros(len(row), dtype=bool)
    together[1:] |= next_
    together[:-1] |= next_
    width = max(1, len(names))
    keys = [owner * width + a, owner * width + b, (row * width + c)[together]]
    chained = np.sort(keys[2])
    fit[chained[1:][chained[1:] == chained[:-1]] // width] = False
    events, place_of = _numbered(np.concatenate(keys), rows, width)
    fit &= events.count <= WIDEST
    one, other = place_of[:facts], place_of[facts : 2 * facts]
    inner = place_of[2 * facts :]
    of_inner = row[together]
    follows = of_inner[1:] == of_inner[:-1]
    source = np.concatenate((one[before], inner[:-1][follows]))
    target = np.concatenate((other[before], inner[1:][follows]))
    bit = np.left_shift(np.uint64(1), np.minimum(events.place, WIDEST - 1).astype(np.uint64))
    fit_edge = fit[events.row[source]]
    past = _closed(source[fit_edge], target[fit_edge], bit, events.row)
    sides = (np.concatenate((one[apart], other[apart])), np.concatenate((other[apart], one[apart])))
    concurrent = np.zeros(len(bit), dtype=np.uint64)
    np.bitwise_or.at(concurrent, sides[0], bit[sides[1]])
    clash = (past & (bit | concurrent)) != 0
    fit[events.row[clash]] = False
    return _hashed(fit, events, names, past, concurrent)


def _numbered(keys: Any, rows: int, width: int) -> tuple[_Events, Any]:
    """The events that keys `row * width + name` mean; and which one each key is."""
    if rows * width <= 8 * len(keys) + 1024:  # a table of all that could be
        there = np.zeros(rows * width, dtype=bool)
        there[keys] = True
        found = np.flatnonzero(there)
        number = np.cumsum(there) - 1
        which = number[keys]
    else:
        found, which = np.unique(keys, return_inverse=True)
    row, name = np.divmod(found, width)
    count = np.bincount(row, minlength=rows)
    first = np.cumsum(count) - count
    return _Events(row, name, np.arange(len(found)) - first[row], first, count), which


def _closed(source: Any, target: Any, bit: Any, row: Any) -> Any:
    """The events before each, as bits; those on cycles are before themselves."""
    past = np.zeros(len(bit), dtype=np.uint64)
    order = np.argsort(target, kind="stable")
    source, target, of = source[order], target[order], row[target[order]]
    while len(source):
        starts = np.flatnonzero(np.concatenate(([True], target[1:] != target[:-1])))
        ends = target[starts]
        known = past[ends]
        found = np.bitwise_or.reduceat(past[source] | bit[source], starts) | known
        past[ends] = found
        changed = np.zeros(int(row[-1]) + 1, dtype=bool)
        changed[of[starts][found != known]] = True
        left = np.flatnonzero(changed[of])
        source, target, of = source[left], target[left], of[left]
    return past


def _hashed(fit: Any, events: _Events, names: Sequence[str], past: Any, concurrent: Any) -> list[str | None]:
    """SHA-256 of what `microcosm.state.digest.analogy_digest` says."""
    written = [len(name.encode()).to_bytes(8, "little") + name.encode() for name in names]
    spelled = list(map(written.__getitem__, events.name.tolist()))
    found: list[str | None] = [None] * len(fit)
    chosen = np.flatnonzero(fit)
    widths = events.count[chosen] + 7 >> 3
    for width in np.unique(widths).tolist():
        before, apart = (
            np.ascontiguousarray(rows).astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].tobytes()
            for rows in (past, concurrent)
        )
        some = chosen[widths == width]
        firsts, counts = events.first[some].tolist(), events.count[some].tolist()
        for at, first, count in zip(some.tolist(), firsts, counts, strict=True):
            end = first + count
            part = slice(first * width, end * width)
            parts = (VERSION, count.to_bytes(8, "little"), *spelled[first:end])
            known = (before[part], apart[part], bytes(count * width))
            found[at] = sha256(b"".join(parts + known)).hexdigest()
    return found
