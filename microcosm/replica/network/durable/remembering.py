"""What the network of a replica writes into its store, and the process that follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from microcosm.errors import ReplicaError
from microcosm.replica.network.durable.process import Process
from microcosm.replica.store import Record

STATE = "network state"
"""Of the record that holds a whole state (`Durable.export`), where records and a snapshot share a store."""

KIND = "network"
"""Of the records: each is a list of inputs, after a first one that names the replica."""

START = "network start"
"""Of the record that begins an incarnation: its name and number."""


def remembered(records: Iterable[Record], snapshot: bytes | None = None) -> Process | None:
    """The process that records, after a snapshot, are of; None if there is none. Raises `ReplicaError`."""
    process = None if snapshot is None else _restored(snapshot)
    for record in records:
        if record.kind == START:
            process = _begun(record.payload)
        elif record.kind == KIND:
            if process is None:
                raise ReplicaError(f"record {record.number}: messages of nobody; the journal is damaged")
            for step in _unpacked(record.payload):
                process.apply(step)
    return process


def packed(value: Any) -> bytes:
    """The bytes of plain values."""
    import msgpack

    written: bytes = msgpack.packb(value)
    return written


def _unpacked(content: bytes) -> Iterator[Any]:
    import msgpack

    yield from msgpack.unpackb(content, use_list=False)


def _restored(content: bytes) -> Process:
    try:
        return Process.restored(tuple(_unpacked(content)))
    except (ValueError, TypeError) as error:
        raise ReplicaError(f"the snapshot is not one of this version: {error}") from None


def _begun(content: bytes) -> Process:
    name, incarnation = _unpacked(content)
    return Process(name, incarnation)
