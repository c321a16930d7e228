"""What happens in a run, one event at a time, in the order of execution.

    causal_send   the application asks for message `message` to be sent to `to`
    send          a copy goes to the network, for `to` (again, if it is a retransmission)
    receive       a copy comes off the wire, from `peer`
    deliver       the message goes up to the application; `peer` sent it

Acks, permits and nulls are no messages, and no events here.
"""

from __future__ import annotations

from typing import NamedTuple

from microcosm.protocol.packets import (
    Ack,
    Clocked,
    Marker,
    Migration,
    Permit,
    TreeChange,
    Welcome,
    YouCanTell,
)

CAUSAL_SEND = "causal_send"
SEND = "send"
RECEIVE = "receive"
DELIVER = "deliver"

CONTROL = (Ack, Permit, YouCanTell, TreeChange, Welcome, Marker, Migration)


class Event(NamedTuple):
    """One event of process `process`. Processes and messages are numbers here."""

    time: float
    process: int
    kind: str
    message: int
    to: tuple[int, ...] = ()
    peer: int = -1


def carries_message(packet: object) -> bool:
    """Whether a packet brings a message, and is not an ack, a permit or a null.

    >>> carries_message(Ack(1)), carries_message(Clocked(3, 1)), carries_message(Clocked(3, 0, "hello"))
    (False, False, True)
    """
    return not isinstance(packet, CONTROL) and not (isinstance(packet, Clocked) and packet.null)


def process_name(process: int) -> str:
    """How a process is called in traces: p1, p2, ..."""
    return f"p{process + 1}"


def message_name(message: int) -> str:
    """How a message is called in traces: m1, m2, ..."""
    return f"m{message + 1}"


class TraceLines:
    """Events as objects of the own trace format, one after the other; `seq` counts from 1 at each process."""

    def __init__(self) -> None:
        self._seq: dict[int, int] = {}

    def line(self, event: Event) -> dict[str, object]:
        """The object of the next event."""
        seq = self._seq[event.process] = self._seq.get(event.process, 0) + 1
        line: dict[str, object] = {
            "process": process_name(event.process),
            "seq": seq,
            "kind": event.kind,
            "message": message_name(event.message),
        }
        if event.to:
            line["to"] = [process_name(j) for j in event.to]
        return line
