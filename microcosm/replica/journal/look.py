"""One look at a journal: what is in it, whether its chain holds, and whether the head file agrees.

Everything here reads through a connection on which the caller has begun a transaction, so that it sees one
moment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from microcosm.errors import MicrocosmError
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.disk import Head
from microcosm.replica.journal.schema import About
from microcosm.replica.store import Record

ROWS = "SELECT number, since, CAST(kind AS BLOB), payload, chain FROM record"
ROW_TYPES = (int, int, bytes, bytes, bytes)
Row = tuple[int, int, bytes, bytes, bytes]
NO_SEAL = bytes(journal_schema.HASH_SIZE)
"""In place of the seal of a snapshot, where there is none."""


class Broken(MicrocosmError):
    """The chain does not hold, or a row is not of the form that was written; the text says where."""


class Place(NamedTuple):
    """Where a chain is: at the record `number`, whose hash is `chain`."""

    number: int
    chain: bytes


class JournalState(NamedTuple):
    """How far a journal goes: its snapshot, its last record, and the record before the last transaction."""

    instance: bytes
    base: Place
    edition: int
    seal: bytes
    last: Place
    since: int


def base(connection: sqlite3.Connection, about: About) -> tuple[Place, int, bytes]:
    """Where the records begin, and the edition and seal of the snapshot before them. Raises `Broken`."""
    row = connection.execute("SELECT through, edition, chain, seal, content FROM snapshot").fetchone()
    if row is None:
        return Place(0, journal_schema.genesis(about.application, about.identity)), 0, NO_SEAL
    through, edition, chain, seal, content = row
    if tuple(map(type, row)) != ROW_TYPES or min(through, edition) < 0:
        raise Broken("the snapshot does not check")
    if journal_schema.seal(through, edition, chain, content) != seal:
        raise Broken("the snapshot does not check")
    return Place(through, chain), edition, seal


def rows(connection: sqlite3.Connection, start: Place, until: int | None = None) -> Iterator[Row]:
    """The rows (`ROWS`) of the records after `start` up to `until`, in order. Raises `Broken`.

    Cost: some microseconds a record; all that is read of a journal comes through here, when it is opened too.
    """
    last, before = start
    # A limit, and not a bound of the numbers: what lies beyond may be on a page that cannot be read.
    query = f"{ROWS} WHERE number > ? ORDER BY number LIMIT ?"
    link = journal_schema.link
    for row in connection.execute(query, (last, -1 if until is None else until - last)):
        number, since, kind, payload, chain = row
        last += 1
        if number != last or (type(number), type(since)) != (int, int):
            raise Broken(f"record {last} is missing or has no form")
        if type(kind) is not bytes or type(payload) is not bytes or type(chain) is not bytes:
            raise Broken(f"record {last} is missing or has no form")
        if not 0 <= since < number or link(before, number, kind, payload) != chain:
            raise Broken(f"the chain breaks at record {number}")
        yield row
        before = chain
    if until is not None and last != until:
        raise Broken(f"record {last + 1} is missing")


def walk(
    connection: sqlite3.Connection, start: Place, until: int | None = None
) -> Iterator[tuple[Record, int, bytes]]:
    """The records after `start` up to `until`, each with its `since` and its hash. Raises `Broken`."""
    for number, since, kind, payload, chain in rows(connection, start, until):
        yield Record(number, kind.decode(), payload), since, chain


def survey(connection: sqlite3.Connection, about: About) -> JournalState:
    """The state of a journal all of whose records check. Cost: all its bytes, once. Raises `Broken`."""
    start, edition, seal = base(connection, about)
    covered = "SELECT count(*) FROM record WHERE number <= ?"
    [[below]] = connection.execute(covered, (start.number,)).fetchall()
    if below:
        raise Broken(f"{below} records are there that the snapshot stands for")
    last, since, chain = start.number, start.number, start.chain
    for number, written_after, _, _, link in rows(connection, start):
        group = max(written_after, start.number)  # a snapshot may stand for a part of a transaction
        if group not in (since, last):
            raise Broken(f"record {number} is in no transaction")
        last, since, chain = number, group, link
    return JournalState(about.instance, start, edition, seal, Place(last, chain), since)


def recovered(connection: sqlite3.Connection, state: JournalState) -> bool:
    """Whether a journal that was found in a state, and has since been recovered by SQLite, is in that state.

    Cost: that of counting; the records are not read again.
    """
    row = connection.execute("SELECT through, chain, edition, seal FROM snapshot").fetchone()
    base, seals = (Place(*row[:2]), row[2:]) if row else (Place(0, state.base.chain), (0, NO_SEAL))
    [ends] = connection.execute("SELECT count(*), min(number), max(number) FROM record").fetchall()
    first, last = state.base.number, state.last.number
    if base != state.base or seals != (state.edition, state.seal):
        return False
    if ends != ((last - first, first + 1, last) if last > first else (0, None, None)):
        return False
    return chain_at(connection, state.base, last) == state.last.chain


def disagreement(connection: sqlite3.Connection, state: JournalState, head: Head | None) -> str | None:
    """What is wrong with a state, given what was durable; None if nothing is.

    In the mode `full` a crash between the two syncs of a commit leaves the journal one transaction ahead of
    the head, and nothing else does; in the weaker modes it may be ahead by any number.
    """
    if head is None:
        return "the head file is missing"
    if head.instance != state.instance:
        return "the head file is that of another copy"
    last = state.last.number
    if head.number > last:
        return missing(last, head)
    if head.edition > state.edition or (head.edition == state.edition and head.seal != state.seal):
        return f"the snapshot through record {head.through}, which was durable, is missing"
    if head.number >= state.base.number:
        try:
            check_record(connection, state.base, head)
        except Broken as broken:
            return str(broken)
    if head.mode != "full" or (head.number, head.edition) == (last, state.edition):
        return None
    appended = head.edition == state.edition and state.since == head.number
    compacted = head.edition + 1 == state.edition and head.number == last
    if appended or compacted:
        return None
    return f"the head file is more than a transaction behind, at record {head.number} of {last}"


def missing(last: int, head: Head) -> str:
    """What is said where the records end before the head."""
    return f"records {last + 1} to {head.number}, which were durable, are missing"


def check_record(connection: sqlite3.Connection, start: Place, head: Head) -> None:
    """Raise `Broken` where the record of the head is another one than was durable."""
    if chain_at(connection, start, head.number) != head.chain:
        raise Broken(f"record {head.number} is not the one that was durable")


def chain_at(connection: sqlite3.Connection, start: Place, number: int) -> bytes | None:
    """The hash that a record carries, or that the records begin with; None where there is no such record."""
    if number == start.number:
        return start.chain
    row = connection.execute("SELECT chain FROM record WHERE number = ?", (number,)).fetchone()
    return row[0] if row else None


def reach(connection: sqlite3.Connection, about: About) -> tuple[Place, int]:
    """Where the records begin, and the number of the last. Cost: nothing is checked, so it is small."""
    row = connection.execute("SELECT through, chain FROM snapshot").fetchone()
    first = Place(*row) if row else Place(0, journal_schema.genesis(about.application, about.identity))
    [[last]] = connection.execute("SELECT max(number) FROM record").fetchall()
    return first, first.number if last is None else int(last)
