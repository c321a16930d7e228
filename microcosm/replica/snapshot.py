"""All that a replica keeps, in one piece of bytes: what a store's snapshot holds.

Not kept is what follows again: the microcosm, what is set aside, and who is known to have what.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgpack

from microcosm.replica import evolution as evolutions
from microcosm.replica.dots import Dots
from microcosm.replica.errors import Malformed
from microcosm.replica.evolution import read, run_of
from microcosm.replica.ledger import Changes, Ledger

VERSION = 1


@dataclass(slots=True)
class Identity:
    """Who a replica is: its name, its incarnation, and the names of all members, itself among them."""

    name: str
    incarnation: int
    members: tuple[str, ...]


@dataclass(slots=True)
class State:
    """What a replica keeps; `notes` are the last payloads of records of other kinds, by kind."""

    identity: Identity | None = None
    ledger: Ledger = field(default_factory=Ledger)
    notes: dict[str, bytes] = field(default_factory=dict)


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


def encode_state(state: State) -> bytes:
    """The bytes of all of it. Cost: linear."""
    assert state.identity is not None
    ledger = state.ledger
    written: bytes = msgpack.packb(
        [
            VERSION,
            encode_identity(state.identity),
            [list(run) for run in ledger.seen],
            [[*stream, number, number + 1] for stream, number in ledger.marks.items() if number],
            [evolutions.encode(evolution) for evolution in ledger.held.values()],
            state.notes,
        ]
    )
    return written


def decode_state(content: bytes) -> State:
    """The state that bytes stand for. Raises `Malformed`."""
    match read(content):
        case (1, bytes(identity), tuple(seen), tuple(marks), tuple(held), dict(notes)):
            ledger = Ledger()
            for mark in map(run_of, marks):
                ledger.marks[mark.replica, mark.incarnation] = mark.first
            for each in held:
                ledger.hold(evolutions.decode(each))
            ledger.seen = Dots(map(run_of, seen))
            ledger.changes = Changes()
            return State(decode_identity(identity), ledger, notes)
    raise Malformed("no snapshot of a replica that this program can read")
