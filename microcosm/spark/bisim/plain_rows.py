"""Rows of tables of microcosms: plain ones as columns, others as the JSON form however they are nested.

Plain is what gives an internal chain, `<` and `||`, and nothing else: most of a table is, and reading costs
most. Its digest, which is that of `microcosm.compare.digest`, needs no givens. Whatever is not plain, faults
and contradictions included, is left to the reader of the JSON form. In Parquet a field that is null is
absent; it may be nested as the JSON form is, with structs in place of short lists and maps or entries
in place of objects, or be the JSON text of it. No Spark here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microcosm.compare.digest import VERSION, rows_digest
from microcosm.compare.verdict_rows import VerdictRows
from microcosm.givens.exact import number_or_infinity
from microcosm.givens.relation import Relation
from microcosm.order.happens_before import AcyclicGraph, Cycle
from microcosm.spark.io.inputs import json_rows
from microcosm.text.json_form import SCHEMA
from microcosm.text.statement import unfit

_TABLES = ("stamps", "clocks", "processes", "tokens")
_EMPTY = frozenset(("refuted", "messages", "orderings", *_TABLES))


def of_lines(lines: Sequence[bytes]) -> tuple[Sequence[int], pa.RecordBatch | None]:
    """The lines of JSON whose fields are all of plain microcosms: their places, and a batch with their rows.

    Cost: a line that is other is found by halving, at some ten readings of a line.
    """
    text = pa.string()
    fields = {"id": text, "name": text, "schema": text, "complete": pa.bool_(), "internal": pa.list_(text)}
    fields |= {"external": pa.list_(pa.list_(text)), **dict.fromkeys(_EMPTY, pa.list_(pa.null()))}
    schema = pa.schema(list((fields | dict.fromkeys(_TABLES, pa.struct([]))).items()))
    stripped = [line.strip() for line in lines]
    places: list[int] = []
    found = []
    waiting = [(0, len(lines))]
    while waiting:
        begin, end = waiting.pop()
        batch = json_rows(b"\n".join(stripped[begin:end]), end - begin, schema)
        if batch is not None:
            places += range(begin, end)
            found.append(batch)
        elif end - begin > 1:
            half = (begin + end) // 2
            waiting += [(half, end), (begin, half)]
    return places, pa.concat_batches(found) if found else None


def of_batch(batch: pa.RecordBatch) -> tuple[Relations, list[str]] | None:
    """The relations that rows give, of which those not read here are not fit, and the ids of the rows.

    None where no row is read here.
    """
    every = zip(batch.schema.names, batch.columns, strict=True)
    columns = {name: column for name, column in every if not pa.types.is_null(column.type)}
    known = {"id", "name", "schema", "complete", "internal", "external", *_EMPTY}
    ids, count = columns.get("id"), batch.num_rows
    if not set(batch.schema.names) <= known or ids is None or not pa.types.is_string(ids.type):
        return None
    facts = columns.get("external", pa.nulls(count, pa.list_(pa.list_(pa.string()))))
    internal = columns.get("internal", pa.nulls(count, pa.list_(pa.string())))
    named = pc.fill_null(pc.greater(pc.binary_length(ids), 0), False)
    fit = named.to_numpy(zero_copy_only=False) & _without_more(columns)
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
    concurrent = pc.equal(relation, "||").to_numpy(zero_copy_only=False)
    fit[owner[~(before | concurrent)]] = False
    end = len(left)
    sides = codes[:end], before, codes[end : 2 * end]
    return Relations(fit, names, owner, *sides, row, codes[2 * end :]), ids.to_pylist()


def _without_more(columns: dict[str, pa.Array]) -> Any:
    """The rows that say nothing but an internal chain and external facts."""
    fit: Any = np.True_
    for column in [columns[name] for name in _EMPTY & columns.keys()]:
        kind = column.type
        if pa.types.is_list(kind) or pa.types.is_map(kind):
            fit = fit & (np.diff(column.offsets.to_numpy()) == 0)
        elif not pa.types.is_struct(kind) or kind.num_fields:
            fit = fit & pc.is_null(column).to_numpy(zero_copy_only=False)
    for name, value in (("schema", SCHEMA), ("complete", False)):
        if name in columns:
            same = pc.fill_null(pc.equal(columns[name], pa.scalar(value)), True)
            fit = fit & same.to_numpy(zero_copy_only=False)
    if "name" in columns and not pa.types.is_string(columns["name"].type):
        fit = fit & pc.is_null(columns["name"]).to_numpy(zero_copy_only=False)
    return fit


def _members(lists: pa.Array) -> tuple[Any, pa.Array] | None:
    """The members of lists and the row of each; None where one is null."""
    flat = pc.list_flatten(lists)
    if flat.null_count:
        return None
    return pc.list_parent_indices(lists).to_numpy(zero_copy_only=False), flat


def _three(facts: pa.Array) -> tuple[tuple[Any, pa.Array, pa.Array, pa.Array], Any] | None:
    """The facts of all rows: row, left, relation, right of each; and the rows whose facts are such."""
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


_FIELDS = {"external", "internal"}


def plain_digest(record: Mapping[str, object]) -> str | None:
    """The digest under the rules of the paper; None for what is not plain. Some world fits what is plain.

    Cost: that of a closure.

    >>> one = plain_digest({"external": [["a", "<", "b"], ["b", "<", "c"]]})
    >>> one == plain_digest({"internal": ["a", "b", "c"]}), plain_digest({"external": [["a", "<>", "b"]]})
    (True, None)
    """
    facts, internal = record.get("external", ()), record.get("internal", ())
    if not isinstance(facts, list | tuple) or not isinstance(internal, list | tuple):
        return None
    try:
        relations = {relation for _, relation, _ in facts}
        mentioned = {left for left, _, _ in facts} | {right for _, _, right in facts}
        chained = set(internal)
    except (TypeError, ValueError):  # not three to a fact, or something in them that is no text
        return None
    if not (record.keys() <= _FIELDS and relations <= {"<", "||"} and len(chained) == len(internal)):
        return None
    if any(type(fact) is not list for fact in facts):
        return None
    if any(type(name) is not str or unfit(name) is not None for name in mentioned | chained):
        return None
    if len(internal) > 1:  # an event that is alone is in no relation
        mentioned |= chained
    names: list[str] = sorted(mentioned)
    place = {name: at for at, name in enumerate(names)}
    concurrent = [0] * len(names)
    edges: list[tuple[int, int]] = []
    for left, relation, right in chain(facts, ((a, "<", b) for a, b in pairwise(internal))):
        a, b = place[left], place[right]
        if relation == "<":
            edges.append((a, b))
        elif a != b:
            concurrent[a] |= 1 << b
            concurrent[b] |= 1 << a
        else:
            return None
    try:
        past = AcyclicGraph(len(names), edges).pasts()
    except Cycle:
        return None
    for at in range(len(past)):  # of great ones row by row: all of them once more would take as much memory
        past[at] ^= 1 << at
    if any(row & other for row, other in zip(past, concurrent, strict=True)):
        return None
    rows = {Relation.BEFORE: past, Relation.CONCURRENT: concurrent, Relation.RELATED: [0] * len(names)}
    return rows_digest(VerdictRows(names, rows))


_LISTS = ("internal", "external", "refuted", "messages", "orderings")


def json_form(row: Mapping[str, object]) -> dict[str, object]:
    """The fields of a row that are not null. Raises `ValueError` where a text is no JSON.

    >>> json_form({"external": [{"left": "a", "relation": "<", "right": "b", "source": None}], "name": None})
    {'external': [['a', '<', 'b']]}
    >>> json_form({"stamps": [("a", [5])], "clocks": '{"a": ["p", {"p": 1}]}'})
    {'stamps': {'a': 5}, 'clocks': {'a': ['p', {'p': 1}]}}
    """
    found: dict[str, object] = {}
    for field, value in row.items():
        if value is None:
            continue
        if field in (*_TABLES, *_LISTS) and isinstance(value, str):
            value = json.loads(value, parse_float=number_or_infinity)  # noqa: PLW2901
        if field in _TABLES and (entries := _entries(value)) is not None:
            found[field] = {name: _member(field, each) for name, each in entries.items() if each is not None}
        elif field in _LISTS and isinstance(value, list):
            found[field] = [_listed(each) for each in value]
        else:
            found[field] = value
    return found


def _member(field: str, value: object) -> object:
    if field == "stamps" and isinstance(value, list) and len(value) == 1:
        return value[0]
    if field != "clocks":
        return _listed(value)
    clock = _listed(value)
    if isinstance(clock, list) and len(clock) > 1:
        return [clock[0], _entries(clock[1]) or {}, *clock[2:]]
    return clock


def _entries(value: object) -> dict[str, object] | None:
    """An object, or the list of entries that Arrow makes of a map."""
    if isinstance(value, dict):
        return {name: member for name, member in value.items() if member is not None}
    if isinstance(value, list) and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        return dict(value)
    return None


def _listed(value: object) -> object:
    """A struct as the list of its members, without the nulls at the end."""
    members = list(value.values()) if isinstance(value, dict) else value
    if isinstance(members, list):
        while members and members[-1] is None:
            members.pop()
    return members


WIDEST = 64
"""Events of a microcosm, at most: a row of bits is one number."""


@dataclass(frozen=True, slots=True)
class Relations:
    """What microcosms give: facts and internal chains, in arrays over all of them.

    `names` are sorted by code points; `fit` are the rows that are given here as a whole. A fact has its row
    (`owner`), two names and whether it is `before`, else `||`; a member of a chain has its row (`inner`) and
    name, and the members of a chain are together and in its order.
    """

    fit: Any
    names: Sequence[str]
    owner: Any
    left: Any
    before: Any
    right: Any
    inner: Any
    member: Any


@dataclass(frozen=True, slots=True)
class _Events:
    """The events of a batch, those of a row together and by name: row, name and place in its row of each."""

    row: Any
    name: Any
    place: Any
    first: Any
    count: Any


def digests(given: Relations) -> list[str | None]:
    """The digest of each row; None where none is known here.

    Cost: some sorting, and a few array operations for each step of the longest chain.
    """
    fit, width, rows = given.fit.copy(), max(1, len(given.names)), len(given.fit)
    owner, a, b, before = given.owner, given.left, given.right, given.before
    row, member = given.inner, given.member
    if given.names and not given.names[0]:  # no event is nameless
        for places, used in ((owner, a), (owner, b), (row, member)):
            fit[places[used == 0]] = False
    fit[owner[a == b]] = False  # nothing is related to itself
    # The internal chain: consecutive ones are ordered; one that is alone is in no relation.
    next_ = row[1:] == row[:-1]
    together = np.zeros(len(row), dtype=bool)
    together[1:] |= next_
    together[:-1] |= next_
    keys = [owner * width + a, owner * width + b, (row * width + member)[together]]
    chained = np.sort(keys[2])
    fit[chained[1:][chained[1:] == chained[:-1]] // width] = False
    events, place_of = _numbered(np.concatenate(keys), rows, width)
    fit &= events.count <= WIDEST
    facts = len(a)
    one, other = place_of[:facts], place_of[facts : 2 * facts]
    inner = place_of[2 * facts :]
    of_inner = row[together]
    follows = of_inner[1:] == of_inner[:-1]
    source = np.concatenate((one[before], inner[:-1][follows]))
    target = np.concatenate((other[before], inner[1:][follows]))
    bit = np.left_shift(np.uint64(1), np.minimum(events.place, WIDEST - 1).astype(np.uint64))
    fit_edge = fit[events.row[source]]
    past = _closed(source[fit_edge], target[fit_edge], bit, events.row)
    others = ~before
    sides = (np.concatenate((one[others], other[others])), np.concatenate((other[others], one[others])))
    concurrent = np.zeros(len(bit), dtype=np.uint64)
    np.bitwise_or.at(concurrent, sides[0], bit[sides[1]])
    clash = (past & (bit | concurrent)) != 0
    fit[events.row[clash]] = False
    return _hashed(fit, events, given.names, past, concurrent)


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
    """SHA-256 of what `microcosm.compare.digest.analogy_digest` says."""
    written = [len(name.encode()).to_bytes(8, "little") + name.encode() for name in names]
    spelled = list(map(written.__getitem__, events.name.tolist()))
    found: list[str | None] = [None] * len(fit)
    chosen = np.flatnonzero(fit)
    widths = events.count[chosen] + 7 >> 3
    for width in np.unique(widths).tolist():
        before, unordered = (
            np.ascontiguousarray(rows).astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].tobytes()
            for rows in (past, concurrent)
        )
        some = chosen[widths == width]
        firsts, counts = events.first[some].tolist(), events.count[some].tolist()
        for at, first, count in zip(some.tolist(), firsts, counts, strict=True):
            end = first + count
            part = slice(first * width, end * width)
            parts = (VERSION, count.to_bytes(8, "little"), *spelled[first:end])
            known = (before[part], unordered[part], bytes(count * width))
            found[at] = sha256(b"".join(parts + known)).hexdigest()
    return found
