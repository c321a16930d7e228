"""What each message that waits is waiting for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from microcosm.replica.network import envelope
from microcosm.replica.network.durable.process import COUNT_BYTES, LAST, ME, Process


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
    if len(part) < 1 + COUNT_BYTES + envelope.SIZE:
        return f"message {int.from_bytes(part[1 : 1 + COUNT_BYTES], 'big')}"
    return f"{process.name}.{process.incarnation}.{envelope.number_in(part)}"
