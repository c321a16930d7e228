"""The records of a replica in its store, and what they come to.

replica     its identity (the last one counts)
evolution   an evolution, its own or another's
forget      what was forgotten here: processes up to a number, and other events
network …   what the network of the replica keeps: a state, and all inputs since then in their order
any other   a note of whoever commits with the replica; the last one of each kind is kept
"""

from __future__ import annotations

from collections.abc import Collection

import msgpack

from microcosm.errors import Malformed
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import DotRun
from microcosm.replica.ledger.snapshot import ReplicaState, decode_identity, decode_state
from microcosm.replica.store import Store

OWN = ("replica", "evolution", "forget", "instance", "network", "network start", "network state")
"""Kinds that no note may have."""


def load(store: Store) -> tuple[ReplicaState, int]:
    """The state that a store holds, and how many records it has after the snapshot. Raises `Malformed`."""
    snapshot = store.snapshot()
    state = ReplicaState() if snapshot is None else decode_state(snapshot[1])
    count = 0
    for record in store.records(after=snapshot[0] if snapshot is not None else 0):
        try:
            apply(state, record.kind, record.payload)
        except Malformed as error:
            raise Malformed(f"record {record.number} ({record.kind}) of the store: {error}") from None
        count += 1
    return state, count


def apply(state: ReplicaState, kind: str, payload: bytes) -> None:
    """What one record changes. Raises `Malformed`."""
    match kind:
        case "replica":
            state.identity = decode_identity(payload)
        case "evolution":
            state.ledger.take(evolutions.decode(payload))
        case "forget":
            state.ledger.forget(*decode_forgotten(payload))
        case "network state":
            state.notes[kind] = payload
            state.network.clear()
        case "network" | "network start":
            state.network.append((kind, payload))
        case _:
            state.notes[kind] = payload


def encode_forgotten(marks: Collection[DotRun], names: Collection[str]) -> bytes:
    """The payload of a record `forget`."""
    written: bytes = msgpack.packb([[list(run) for run in marks], sorted(names)])
    return written


def decode_forgotten(payload: bytes) -> tuple[list[DotRun], list[str]]:
    """Runs of processes, and names of events. Raises `Malformed`."""
    match evolutions.read(payload):
        case (tuple(marks), tuple(names)) if all(isinstance(name, str) for name in names):
            return [evolutions.run_of(run) for run in marks], list(names)
    raise Malformed("nothing that can be forgotten")
