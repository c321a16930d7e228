"""How an endpoint stands, as plain values for people and for metrics; what each waiting message waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from microcosm.replica.network.durable.durable import Durable
from microcosm.replica.network.durable.process import COUNT_BYTES, LAST, ME, Process
from microcosm.replica.network.link import wire
from microcosm.replica.network.link.peer import Peer


def status(durable: Durable, peers: Iterable[Peer], now: float) -> dict[str, Any]:
    """What is under way, and for each member what is waited for. Ages are in seconds."""
    process = durable.process
    return {
        "name": process.name,
        "incarnation": process.incarnation,
        "boot": process.boot,
        "evicted": process.evicted,
        "send buffer": process.machine.unacked,
        "held back": process.machine.unsent,
        "refused for space": durable.refused_for_space,
        "fences": [tuple(fence) for fence in process.membership.fences],
        "refused": dict(process.machine.refused),
        "members": {peer.member.name: _of_peer(durable, peer, now) for peer in peers},
    }


def _of_peer(durable: Durable, peer: Peer, now: float) -> dict[str, Any]:
    number = peer.member.number
    return {
        "address": peer.address,
        "incarnation": peer.member.incarnation,
        "met": peer.session is not None and peer.met,
        "stranger": peer.stranger,
        "silent for": None if peer.heard_at is None else now - peer.heard_at,
        "unacknowledged": peer.unacked,
        "held out of order": durable.process.machine.holds(number),
        "missing permits": {mid: now - since for mid, since in peer.missing()},
        "unconfirmed fences": [tuple(fence) for fence in durable.process.membership.unconfirmed(number)],
        "retransmissions": peer.retransmissions,
        "suppressed answers": peer.suppressed,
        "window": int(peer.congestion.window),
        "round trip": peer.congestion.rtt,
    }


class Blocked(NamedTuple):
    """A message that cannot go on yet, and why, for people. `to` or `sender` is this replica itself."""

    message: str
    sender: str
    to: str
    why: str
    on: str
    """The member that can change it."""

    def __str__(self) -> str:
        return f"{self.message} from {self.sender} to {self.to} waits for {self.why}"


def blocked(process: Process) -> Iterator[Blocked]:
    """Each copy of a message that is held back, under way, or out of order. Cost: the buffers."""
    machine, me = process.machine, process.name
    held = {(mid, to): cause for mid, to, cause in machine.waiting()}
    for mid, receiver, sent in machine.unacknowledged():
        to, name = _named(process, receiver), _message(process, mid)
        cause = held.get((mid, receiver))
        if cause is not None and not sent:
            other = _named(process, cause[0])
            yield Blocked(name, me, to, f"the permit of {other} for its message {cause[1]}", other)
        else:
            yield Blocked(name, me, to, f"the ack of {to}", to)
    for sender, mid, pid in machine.early():
        other = _named(process, sender)
        yield Blocked(f"part {mid}", other, me, f"part {pid} of {other}, which comes before it", other)


def _named(process: Process, number: int) -> str:
    if number == ME:
        return process.name
    member = process.membership.members.get(number)
    return f"member {number}" if member is None else member.name


def _message(process: Process, mid: int) -> str:
    """What the application knows a message by, of which this is a part."""
    part = process.machine.payload(mid)
    while isinstance(part, bytes) and part[:1] != LAST:
        mid += 1
        part = process.machine.payload(mid)
    if not isinstance(part, bytes):
        return f"part {mid}"
    if len(part) < 1 + COUNT_BYTES + wire.SIZE:
        return f"message {int.from_bytes(part[1 : 1 + COUNT_BYTES], 'big')}"
    return f"{process.name}.{process.incarnation}.{wire.number_in(part)}"
