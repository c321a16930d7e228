"""The records of a replica in its store, and what they come to.

replica     its identity (the last one counts)
evolution   an evolution, its own or another's
forget      what was forgotten here: processes up to a number, and other events
struck      dots whose correspondences somebody saw removed
disown      dots of its own that may name two things: they are taken out
confirmed   up to which number of its incarnation a member has what it has of itself
network …   what the network of the replica keeps: a state, and all inputs since then in their order
any other   a note of whoever commits with the replica; the last one of each kind is kept

A snapshot holds all of it in one piece of bytes. Not kept is what follows again: the microcosm, what is set
aside, and who is known to have what.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import msgpack

from microcosm.errors import Malformed
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import DotRun, Dots
from microcosm.replica.ledger.evolution import read, run_of
from microcosm.replica.ledger.ledger import Delta, Ledger
from microcosm.replica.store import Store

OWN = (
    *("replica", "evolution", "forget", "struck", "disown", "confirmed", "instance"),
    *("network", "network start", "network state"),
)
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
        case "struck":
            state.ledger.strike(map(evolutions.run_of, evolutions.read(payload)))
        case "disown":
            state.ledger.disown(evolutions.run_of(evolutions.read(payload)))
        case "confirmed":
            incarnation, number = evolutions.read(payload)
            state.confirmed = {incarnation: number}
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


VERSION = 2
"""Of an identity; those of version 1 were known by the incarnation of their dots."""

STATE_VERSION = 4
"""Of a snapshot; those of version 1 had no network, of 2 nothing confirmed, of 3 nothing struck."""


@dataclass(slots=True)
class Identity:
    """Who a replica is: its name, its incarnation, and the names of all members, itself among them."""

    name: str
    incarnation: int
    """That of its dots: another one as soon as they might name two things."""
    members: tuple[str, ...]
    known_as: int = 0
    """The incarnation by which the members know it on the network; 0: that of its dots."""


@dataclass(slots=True)
class ReplicaState:
    """What a replica keeps; `notes` are the last payloads of records of other kinds, by kind.

    `network` are the records of its network since the note `network state`.
    """

    identity: Identity | None = None
    ledger: Ledger = field(default_factory=Ledger)
    notes: dict[str, bytes] = field(default_factory=dict)
    network: list[tuple[str, bytes]] = field(default_factory=list)
    confirmed: dict[int, int] = field(default_factory=dict)
    """By the incarnation: up to which number members have what the replica has of itself."""


def encode_identity(identity: Identity) -> bytes:
    """The bytes of an identity."""
    written: bytes = msgpack.packb(
        [VERSION, identity.name, identity.incarnation, list(identity.members), identity.known_as]
    )
    return written


def decode_identity(content: bytes) -> Identity:
    """The identity that bytes stand for. Raises `Malformed`."""
    match read(content):
        case (1, str(name), int(incarnation), tuple(members)) if all(isinstance(m, str) for m in members):
            return Identity(name, incarnation, members)
        case (2, str(name), int(incarnation), tuple(members), int(known_as)) if all(
            isinstance(m, str) for m in members
        ):
            return Identity(name, incarnation, members, known_as)
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
            list(state.confirmed.items()),
            [list(run) for run in ledger.struck],
        ]
    )
    return written


def decode_state(content: bytes) -> ReplicaState:
    """The state that bytes stand for. Raises `Malformed`."""
    match read(content):
        case (int(version), bytes(identity), tuple(seen), tuple(marks), tuple(held), dict(notes), *rest) if (
            len(rest) == version - 1 <= 3
        ):
            network, confirmed, struck = (*rest, (), (), ())[:3]
        case _:
            raise Malformed("no snapshot of a replica that this program can read")
    ledger = Ledger()
    for mark in map(run_of, marks):
        ledger.marks[mark.replica, mark.incarnation] = mark.first
    for each in held:
        ledger.hold(evolutions.decode(each))
    ledger.seen, ledger.struck = Dots(map(run_of, seen)), Dots(map(run_of, struck))
    ledger.changes = Delta()
    return ReplicaState(decode_identity(identity), ledger, notes, list(network), dict(confirmed))
