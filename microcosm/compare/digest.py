"""Digests that say in 64 characters what a microcosm knows, or what it is given.

Two microcosms are analogous exactly if their analogy digests are equal, and are given the same exactly if
their givens digests are equal (but for collisions of SHA-256). Both depend on names and relations alone:
not on the order of arrival, the process, the machine or the version of this program, as long as the first
byte of what is hashed stays as it is here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256

from microcosm import tuning
from microcosm.compare.same_givens import given_items
from microcosm.compare.verdict_rows import (
    KNOWN,
    VerdictRows,
    cover,
    known_rows,
    related_names,
    seeds_own,
    verdict_blocks,
    verdict_rows,
)
from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.order.bits import bits
from microcosm.state.microcosm import Microcosm

VERSION = b"\x01"
"""The first byte of what is hashed."""


def analogy_digest(known: Microcosm) -> str:
    """The digest of all online verdicts, `?` and silence included, in hexadecimal.

    SHA-256 of, in this order (numbers are 8 bytes, little-endian):

    1. the byte 01;
    2. the number n of events of which something is known, and each of them in the order of Unicode code
       points: the number of bytes of its name in UTF-8, and these bytes;
    3. for each of `<`, `||`, `<>` in turn n rows of ⌈n/8⌉ bytes: bit i of row k, counted from the low
       bit of the first byte, is set where event i has that verdict to event k;
    4. only where the silent pairs are others than the shipped rules conclude from 3, which no
       microcosm under the shipped rules shows: the byte 3f and n rows of silent pairs; the events of 2 are
       then all that have a verdict other than `?`.

    Isolated events do not matter, as they do not to analogy. Under rules that leave events outside the
    microcosm silent (without Un-4), compare digests only where the same events are named. Cost: as
    analogy; under other rules than the shipped ones the saturation of the table comes in.

    >>> one, other = Microcosm.parse("a < b < c"), Microcosm.parse("b < c \\n a < b \\n a < c")
    >>> analogy_digest(one) == analogy_digest(other) != analogy_digest(Microcosm())
    True
    """
    return _hashed(_parts_of(known))


def analogy_digest_of(givens: Givens, rules: RuleBook | None = None) -> str:
    """`analogy_digest` of the microcosm with these givens, many times faster where it is small.

    Raises `Contradiction` where it cannot be a microcosm. Cost: under the rules of the seed that of one
    closure; no engine is built.
    """
    rows = known_rows(givens) if seeds_own(rules if rules is not None else read_rules()) else None
    if rows is None:
        return analogy_digest(Microcosm(givens, rules=rules))
    return rows_digest(rows)


def rows_digest(table: VerdictRows) -> str:
    """The digest of known relations under the shipped rules; each event of the table has one."""
    return sha256(VERSION + b"".join(_parts(table))).hexdigest()


def givens_digest(givens: Givens) -> str:
    """The digest of all that is given (`microcosm.compare.same_givens`), in hexadecimal.

    SHA-256 of the byte 01 and the UTF-8 bytes of a JSON array in ASCII, without spaces: one array for
    each given, tuples as arrays, in the order of their JSON texts by code points. Cost: n log n.
    """
    items = sorted(json.dumps(item, ensure_ascii=True, separators=(",", ":")) for item in given_items(givens))
    return sha256(VERSION + f"[{','.join(items)}]".encode()).hexdigest()


def _hashed(parts: Iterable[bytes]) -> str:
    hashed = sha256(VERSION)
    for part in parts:
        hashed.update(part)
    return hashed.hexdigest()


def _parts_of(known: Microcosm) -> Iterator[bytes]:
    engine = known._engine
    if seeds_own(known.rules):
        names = related_names(engine)
        if len(names) > tuning.ROWS_UP_TO:
            yield from _blockwise(engine, names)
        else:
            yield from _parts(verdict_rows(engine, names))
        return
    table = verdict_rows(engine, known.events, silent=True)
    if _under_shipped_rules(table) == table:
        yield from _parts(verdict_rows(engine, related_names(engine)))
    else:
        table = verdict_rows(engine, _remarkable(table), silent=True)
        yield from _parts(table)
        yield b"?"
        yield from _matrix(table, Relation.SILENT)


def _under_shipped_rules(table: VerdictRows) -> VerdictRows | None:
    """The verdicts that the shipped rules give on the relations known in `table`; None for a cycle."""
    names, givens = table.names, Givens(stamps=dict.fromkeys(table.names, 0))
    for relation in KNOWN:
        rows = table.rows[relation]
        for k, row in enumerate(cover(rows) if relation is Relation.BEFORE else rows):
            for i in bits(row):
                givens.add(Correspondence(names[i], relation, names[k]))
    try:
        return verdict_rows(Engine(read_rules(), givens), names, silent=True)
    except CyclicGivens:
        return None


def _remarkable(table: VerdictRows) -> list[str]:
    """The events with a verdict other than `?`."""
    found = 0
    for rows in table.rows.values():
        for k, row in enumerate(rows):
            if row:
                found |= row | 1 << k
    return [table.names[k] for k in bits(found)]


def _parts(table: VerdictRows) -> Iterator[bytes]:
    yield from _names(table.names)
    for relation in KNOWN:
        yield from _matrix(table, relation)


def _blockwise(engine: Engine, names: list[str]) -> Iterator[bytes]:
    """`_parts` of more events than all rows of which can be held."""
    yield from _names(names)
    for relation in KNOWN:
        for rows in verdict_blocks(engine, names, relation):
            yield _bytes(rows, len(names))


def _names(names: list[str]) -> Iterator[bytes]:
    yield _number(len(names))
    for name in names:
        written = name.encode("utf-8", "surrogatepass")
        yield _number(len(written)) + written


def _matrix(table: VerdictRows, relation: Relation) -> Iterator[bytes]:
    yield _bytes(table.rows[relation], len(table.names))


def _bytes(rows: list[int], events: int) -> bytes:
    width = events + 7 >> 3
    return b"".join([row.to_bytes(width, "little") for row in rows])


def _number(number: int) -> bytes:
    return number.to_bytes(8, "little")
