"""What a delivery proves: correspondences that a process may conclude from what it received.

Two worlds are kept apart. In the *application* world the events are causal sends and deliveries;
happens-before is that of Hybrid Buffering, Figure 1. The *network* world has network sends and the receptions
of acks and permits besides, and knows more: that a permit came proves deliveries elsewhere, which are no part
of the receiver's application past. A fact of one world may be false in the other: the lists are never
merged.

Events are named

    c:M            message M is causally sent                 (both worlds)
    d:P:M          process P delivers it                      (both worlds)
    d:K.N          message number N of process K is delivered, by whoever it is for other than this process
    s:K.N:P        message number N of K goes to the network for P, the first time
    a:P:N:Q        P has the ack of its message number N from Q, the first time
    g:P:K.N        P has the permit for message number N of K, the first time

where M is the name that the application gives to a message, and K.N what the protocol knows it by.
"""

from __future__ import annotations

from collections import deque

from microcosm.givens.relation import Correspondence, Relation
from microcosm.protocol.comparators import KS, RST, Newtop
from microcosm.protocol.hybrid.common import Hybrid
from microcosm.protocol.machine import Delivery, Machine
from microcosm.protocol.monitoring import Monitored
from microcosm.protocol.packets import (
    Ack,
    Counts,
    Dependent,
    HybridMessage,
    LamportClocked,
    Logged,
    MatrixStamped,
    Packet,
    Permit,
    Secret,
    Serial,
    Vectored,
)

MEMORY = 64
"""A delivery is compared with so many earlier ones, where messages carry enough to compare any two."""


class Disclosure:
    """What one process learns, told step by step by its host.

    Call `causally_sent` before each causal send, `received` before each packet is handed to the machine, and
    `delivered` from within each delivery. `application` and `network` grow accordingly; `process` is the
    name of this one in events. Cost: constant a step for the hybrids, at most `MEMORY` facts a delivery else.
    """

    def __init__(self, machine: Machine, process: str) -> None:
        self.application: list[Correspondence] = []
        self.network: list[Correspondence] = []
        self._machine = machine
        self._process = process
        self._last: str | None = None
        self._from: dict[int, str] = {}
        """The message that was delivered last from each process."""
        self._compared: deque[tuple[str, int, Packet]] = deque(maxlen=MEMORY)
        self._named: dict[tuple[int, int], str] = {}
        """Messages by sender and clock, where the protocol numbers them for all."""
        self._uncovered: dict[int, list[int]] = {}
        """Numbers of messages to others that each process sent, not known to be delivered yet."""
        self._known: dict[int, int] = {}
        """Up to which number each process's messages have been looked at."""
        self._permitted: dict[int, int] = {}
        self._acked: set[tuple[int, int]] = set()

    def causally_sent(self, message: str, number: int) -> None:
        """This process is about to send a message, whose number will be `number` (0: to itself only)."""
        if number:
            self._named[self._machine.me, number] = message
        self._happens(f"c:{message}")

    def received(self, sender: int, packet: object) -> None:
        """A packet is there. Acks and permits prove deliveries, in the network world."""
        me = self._process
        if isinstance(packet, Ack) and packet.sound():
            key = (packet.mid, sender)
            if key not in self._acked:
                self._acked.add(key)
                self._network(f"d:{sender}:{self._machine.me}.{packet.mid}", f"a:{me}:{packet.mid}:{sender}")
        elif isinstance(packet, Permit) and packet.sound() and isinstance(self._machine, Hybrid):
            last = self._known.get(sender, 0)
            if self._permitted.get(sender, 0) < packet.mid <= last + self._machine.window:
                self._permitted[sender] = packet.mid
                self._cover(sender, packet.mid, f"g:{me}:{sender}.{packet.mid}")

    def delivered(self, delivery: Delivery, message: str) -> None:
        """A message goes up to the application."""
        sender, packet = delivery.sender, delivery.packet
        here = f"d:{self._process}:{message}"
        if packet is None:  # to oneself: its causal send is the event before
            self._happens(here)
            return
        self._application(f"c:{message}", Relation.BEFORE, here, f"message {message}")
        ordered = not isinstance(self._machine, Monitored) or self._machine.me in self._machine.monitors
        if ordered:
            if sender in self._from:
                self._application(
                    f"c:{self._from[sender]}", Relation.BEFORE, f"c:{message}", "order of the sender"
                )
            self._from[sender] = message
            self._compare(sender, packet, message)
        self._happens(here)
        self._prove(sender, packet)

    def _happens(self, event: str) -> None:
        """The next event of this process, in both worlds."""
        if self._last is not None:
            fact = Correspondence(self._last, Relation.BEFORE, event, f"process {self._process}")
            self.application.append(fact)
            self.network.append(fact)
        self._last = event

    def _application(self, left: str, relation: Relation, right: str, source: str) -> None:
        self.application.append(Correspondence(left, relation, right, source))

    def _network(self, left: str, right: str) -> None:
        self.network.append(Correspondence(left, Relation.BEFORE, right, f"packets at {self._process}"))

    def _compare(self, sender: int, packet: Packet, message: str) -> None:
        """What the metadata says about this message and earlier ones: all of it is about causal sends."""
        machine = self._machine
        if isinstance(machine, RST | Monitored):
            column = self._column(packet)
            for name, other, earlier in self._compared:
                before = column[other] > self._column(earlier)[other]
                relation = Relation.BEFORE if before else Relation.CONCURRENT
                if other != sender or relation is Relation.BEFORE:
                    self._application(f"c:{name}", relation, f"c:{message}", "vector times")
            self._compared.append((message, sender, packet))
        elif isinstance(machine, KS) and isinstance(packet, Logged):
            for s, clock, _ in packet.log:
                if (s, clock) in self._named:
                    name = self._named[s, clock]
                    self._application(f"c:{name}", Relation.BEFORE, f"c:{message}", "log of the message")
            self._named[sender, packet.clock] = message
        elif isinstance(packet, Dependent):
            for s, _, mid in packet.needs or ():
                if (s, mid) in self._named:
                    name = self._named[s, mid]
                    self._application(f"c:{name}", Relation.BEFORE, f"c:{message}", "dependency")
            self._named[sender, packet.mid] = message
        elif isinstance(machine, Newtop):
            for name, _, earlier in self._compared:
                if _clock(earlier) <= _clock(packet):
                    self._application(f"c:{message}", Relation.NOT_BEFORE, f"c:{name}", "Lamport clocks")
            self._compared.append((message, sender, packet))

    def _column(self, packet: Packet) -> Counts:
        """How many messages of each process to this one happened before the packet's message."""
        if isinstance(packet, MatrixStamped):
            return tuple(row[self._machine.me] for row in packet.vectors)
        assert isinstance(packet, Vectored)
        assert isinstance(self._machine, Monitored)
        return packet.vectors[self._machine.monitors.index(self._machine.me)]

    def _prove(self, sender: int, packet: Packet) -> None:
        """What the message proves about messages of its sender to others, in the network world."""
        me = self._machine.me
        if isinstance(packet, HybridMessage):
            waiting = self._uncovered.setdefault(sender, [])
            waiting += range(packet.pid + 1, packet.mid)
            self._known[sender] = packet.mid
            if self._machine.MULTICAST:
                waiting.append(packet.mid)  # its copies to others
            if not packet.permit:
                self._cover(sender, packet.mid, f"s:{sender}.{packet.mid}:{me}")
            elif packet.mid <= self._permitted.get(sender, 0):
                self._cover(sender, packet.mid, f"g:{self._process}:{sender}.{self._permitted[sender]}")
        elif isinstance(packet, Serial) or (isinstance(packet, Secret) and not packet.eager):
            for number in range(self._known.get(sender, 0) + 1, packet.mid):
                self._network(f"d:{sender}.{number}", f"s:{sender}.{packet.mid}:{me}")
            self._known[sender] = packet.mid

    def _cover(self, sender: int, number: int, event: str) -> None:
        """All messages of the sender up to `number`, to others, had been delivered before an event."""
        waiting = self._uncovered.get(sender, [])
        covered = [mid for mid in waiting if mid <= number]
        self._uncovered[sender] = [mid for mid in waiting if mid > number]
        for mid in covered:
            self._network(f"d:{sender}.{mid}", event)


def _clock(packet: Packet) -> int:
    assert isinstance(packet, LamportClocked)
    return packet.clock
