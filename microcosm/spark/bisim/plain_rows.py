"""Rows of a Parquet table as columns, where they are plain microcosms.

The others are left to the code for one row. A field that is null is absent. Facts are lists of three texts,
or structs of three and more that are null. No Spark here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from microcosm.spark.bisim.digests import Relations
from microcosm.text.json_form import SCHEMA

if TYPE_CHECKING:
    import pyarrow as pa

_EMPTY = ("refuted", "stamps", "clocks", "messages", "orderings", "tokens")


def of_batch(batch: pa.RecordBatch) -> tuple[Relations, list[str]] | None:
    """The relations that rows give, of which those not read here are not fit, and the ids of the rows.

    None where no row is read here.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    known = {"id", "name", "schema", "complete", "internal", "external", *_EMPTY}
    ids, count = columns.get("id"), batch.num_rows
    if not columns.keys() <= known or ids is None or not pa.types.is_string(ids.type):
        return None
    facts = columns.get("external", pa.nulls(count, pa.list_(pa.list_(pa.string()))))
    internal = columns.get("internal", pa.nulls(count, pa.list_(pa.string())))
    fit = _named(ids) & _without_more(columns)
    three = _three(facts)
    if (
        three is None
        or not pa.types.is_list(internal.type)
        or not pa.types.is_string(internal.type.value_type)
    ):
        return None
    (owner, left, relation, right), whole = three
    fit &= whole
    chained = _members(internal)
    if chained is None:
        return None
    row, chain = chained
    words = pa.concat_arrays([left, right, chain]).dictionary_encode()
    spelled = words.dictionary
    order = pc.sort_indices(spelled).to_numpy()  # by bytes, which is by code points
    rank = np.empty(len(spelled), dtype=np.int64)
    rank[order] = np.arange(len(spelled))
    codes, names = rank[words.indices.to_numpy()], spelled.take(pa.array(order)).to_pylist()
    before = pc.equal(relation, "<").to_numpy(zero_copy_only=False)
    apart = pc.equal(relation, "||").to_numpy(zero_copy_only=False)
    fit[owner[~(before | apart)]] = False
    end = len(left)
    sides = codes[:end], before, codes[end : 2 * end]
    return Relations(fit, names, owner, *sides, row, codes[2 * end :]), ids.to_pylist()


def _named(ids: pa.Array) -> Any:
    """Where an id is some text."""
    import pyarrow.compute as pc

    length = pc.binary_length(ids)
    return pc.fill_null(pc.greater(length, 0), False).to_numpy(zero_copy_only=False)


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
