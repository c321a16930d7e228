"""All that a replica keeps, in one piece of bytes: what a store's snapshot holds.

Not kept is what follows again: the microcosm, what is set aside, and who is known to have what.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgpack

from microcosm.errors import Malformed
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import Dots
from microcosm.replica.ledger.evolution import read, run_of
from microcosm.replica.ledger.ledger import Delta, Ledger

VERSION = 1
"""Of an identity."""

STATE_VERSION = 2
"""Of a snapshot; those of version 1 had no network."""


@dataclass(slots=True)
class Identity:
    """Who a replica is: its name, its incarnation, and the names of all members, itself among them."""

    name: str
    incarnation: int
    members: tuple[str, ...]


@dataclass(slots=True)
class ReplicaState:
    """What a replica keeps; `notes` are the last payloads of records of other kinds, by kind.

    `network` are the records of its network since the note `network state`.
    """

    identity: Identity | None = None
    ledger: Ledger = field(default_factory=Ledger)
    notes: dict[str, bytes] = field(default_factory=dict)
    network: list[tuple[str, bytes]] = field(default_factory=list)


def encode_identity(identity: Identity) -> bytes:
    """The bytes of an identity."""
    written: bytes = msgpack.packb([VERSION, identity.name, identity.incarnation, list(identity.members)])
    return written


def decode_identity(content: bytes) -> Identity:
    """The identity that bytes stand for. Raises `Malformed`."""
    match read(content):
        case (1, str(name), int(incarnation), tuple(members)) if all(isinstance(m, str) for m in members):
            return Identity(name, incarnation, members)
    raise Malformed("no identity of a replica that this program can read")


def encode_state(state: ReplicaState) -> bytes:
    """The bytes of all of it. Cost: linear."""
    assert state.identity is not None
    ledger = state.ledger
    written: bytes = msgpack.packb(
        [
            STATE_VERSION,
            encode_identity(state.identity),
            [list(run) for run in ledger.seen],
            [[*stream, number, number + 1] for stream, number in ledger.marks.items() if number],
            [evolutions.encode(evolution) for evolution in ledger.held.values()],
            state.notes,
            state.network,
        ]
    )
    return written


def decode_state(content: bytes) -> ReplicaState:
    """The state that bytes stand for. Raises `Malformed`."""
    match read(content):
        case (1, bytes(identity), tuple(seen), tuple(marks), tuple(held), dict(notes)):
            network: tuple[tuple[str, bytes], ...] = ()
        case (2, bytes(identity), tuple(seen), tuple(marks), tuple(held), dict(notes), tuple(network)):
            pass
        case _:
            raise Malformed("no snapshot of a replica that this program can read")
    ledger = Ledger()
    for mark in map(run_of, marks):
        ledger.marks[mark.replica, mark.incarnation] = mark.first
    for each in held:
        ledger.hold(evolutions.decode(each))
    ledger.seen = Dots(map(run_of, seen))
    ledger.changes = Delta()
    return ReplicaState(decode_identity(identity), ledger, notes, list(network))
