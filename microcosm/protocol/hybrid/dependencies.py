"""The hybrid that trades metadata for latency, which Hybrid Buffering leaves to the future (section 6).

SPS keeps a message at its sender while something before it may be undelivered. Here a message may go at
once, and names what its receiver, and those who hear of it through that one, have to wait for: its
*dependencies* (s, d, n), "message n of process s to process d may be undelivered, and the earlier ones of s
to d". Process d delivers it once it has delivered message n of s; receiver-buffering thus goes beyond FIFO.
The choice is made for each message: if it would name more than `budget` dependencies it waits for permits,
as in Algorithm 1.

What a message m of i to j depends on:

- for each process d other than j, the last unacknowledged message of i to d that is earlier (to j: FIFO);
- what the delivered messages depend on for which a permit is missing: they carried it.

Where this is nothing, m is not flagged. Else a permit follows, which says that all that happened before m,
to others than j, is delivered. So it is due when all earlier messages of i are acknowledged *and* the
permits that m depends on have come: entries of the window stay until then. A message before which no permit
is missing, but with too many unacknowledged ones to name, goes out flagged without dependencies: *opaque*.
What its receiver sends afterwards waits for its permit.

With a budget of 0 messages go out as CSPS has it; without a bound no message ever waits at its sender, and
each is delivered as early as causality allows.

Safety, by induction over deliveries. Let x, to d, happen before m, from i to j. When m goes to the network,
either x is delivered; or x is of i and goes to j (FIFO); or m names (s, d, n) with n at or after x; or m is
opaque, and its receiver sends nothing before x is delivered. At d = j a named message is waited for.
Liveness: what a message waits for happened before it, so the earliest that is missing waits for nothing.

What a message says of third processes is believed: who names what nobody ever sent has others wait for ever.
What it says of its receiver's own sendings, or its sender's, that cannot be is refused.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, ClassVar

from microcosm.protocol.hybrid.common import Outgoing
from microcosm.protocol.hybrid.unicast import HybridQueue
from microcosm.protocol.machine import STRANGER, UNSOUND, WINDOW
from microcosm.protocol.packets import LARGEST, Ack, Dependency, Dependent, HybridMessage, Packet, Permit

BUDGET = 4
"""So many dependencies a message names, at most, unless told otherwise."""

Needs = tuple[Dependency, ...] | None
"""What a message depends on; None: it does not say."""


@dataclass(slots=True, eq=False)
class NamingOutgoing(Outgoing):
    """A message on its way out: in the send buffer, then in the window of those that are not settled."""

    needs: Needs = None
    """What it names: known once it is sent."""
    permitted: bool = False
    """Whether its permit has been sent."""

    def packet(self) -> Dependent:
        """What goes to the network, and goes again if it is lost. Cost: constant."""
        return Dependent(self.mid, self.pid, self.permit, self.payload, self.needs)


class HybridDependencies(HybridQueue[NamingOutgoing]):
    """One process. Time and space of a message: the budget times (one and the missing permits).

    >>> a = HybridDependencies(1)
    >>> for receiver in (3, 2): _ = a.causal_send([receiver], "hello")
    >>> a.take()[1].packet
    Dependent(mid=2, pid=0, permit=True, payload='hello', needs=((1, 3, 1),))
    """

    __slots__ = ("_blocked", "_needs", "_open", "budget")

    MULTICAST = False

    def __init__(
        self, me: int, known: Container[int] | None = None, window: int = WINDOW, budget: int | None = BUDGET
    ) -> None:
        """`budget` None: no bound."""
        super().__init__(me, known, window)
        self.budget = budget
        self._needs: dict[tuple[int, int], Needs] = {}
        """Of each delivered message whose permit is missing, what it depends on."""
        self._open: dict[int, int] = {}
        """For each process the last message to it, while unacknowledged: its ack proves all before (FIFO)."""
        self._blocked: dict[int, set[int]] = {}
        """For each sender, those whose next message waits for one of that sender."""

    def _message(self, to: tuple[int, ...], mid: int, pids: list[int], payload: Any) -> NamingOutgoing:
        return NamingOutgoing(to[0], mid, pids[0], self._missing.next, payload)

    def _try_send(self) -> None:
        waiting = self._waiting
        while waiting:
            message = waiting[0]
            permitted = self._missing.first >= message.waits
            needs = self._dependencies(message)
            if needs is None and not permitted:
                return
            waiting.popleft()
            message.needs, message.permit, message.sent = needs, needs != (), True
            self._unacked.add(message)
            self._open[message.receiver] = message.mid
            self.operations += 1
            self._emit(message.receiver, message.packet())

    def _dependencies(self, message: NamingOutgoing) -> Needs:
        """What a message depends on, sorted; None where that is too much to be named, or not known."""
        budget = LARGEST if self.budget is None else self.budget
        if len(self._open) > budget + (message.receiver in self._open):
            return None
        self.operations += len(self._open)
        needs = {(self.me, d): mid for d, mid in self._open.items() if d != message.receiver}
        for key in self._missing:
            if len(needs) > budget or (self._missing.index(key) or 0) >= message.waits:
                break
            carried = self._needs[key]
            if carried is None:
                return None
            for s, d, mid in carried:
                self.operations += 1
                needs[s, d] = max(mid, needs.get((s, d), 0))
        return None if len(needs) > budget else tuple((s, d, mid) for (s, d), mid in sorted(needs.items()))

    def _on_message(self, sender: int, message: HybridMessage) -> str | None:
        assert isinstance(message, Dependent)
        for s, d, n in message.needs or ():
            if n > self._last_sent.get(d, 0) if s == self.me else s == sender and n >= message.mid:
                return UNSOUND  # there is no such message, and nobody shall wait for it
        return super()._on_message(sender, message)

    def _deliver_held(self, sender: int) -> None:
        ready = [sender]
        while ready:
            sender = ready.pop()
            before = self._delivered.get(sender, 0)
            super()._deliver_held(sender)
            if self._delivered.get(sender, 0) > before:
                ready += sorted(self._blocked.pop(sender, ()))

    def _holds_back(self, sender: int, message: HybridMessage) -> bool:
        """Whether a message to this process is to be delivered before; whose it is, is kept."""
        assert isinstance(message, Dependent)
        for s, d, n in message.needs or ():
            self.operations += 1
            if d == self.me and self._delivered.get(s, 0) < n:
                self._blocked.setdefault(s, set()).add(sender)
                return True
        return False

    def _await_permit(self, sender: int, message: HybridMessage) -> None:
        assert isinstance(message, Dependent)
        # What was to this process is delivered, and of its own messages it knows more itself.
        needs = message.needs and tuple(one for one in message.needs if self.me not in one[:2])
        if needs != ():
            self._needs[sender, message.mid] = needs
            self._missing.add((sender, message.mid))

    def _acknowledge(self, sender: int, mid: int, message: NamingOutgoing) -> str | None:
        if message.receiver != sender:
            return STRANGER
        message.acked = True
        message.payload = None
        if self._open.get(sender) == mid:
            del self._open[sender]
        if mid == self._unacked.first:
            self._settle()
        self._try_send()  # there is less to be named
        return None

    def _permit(self, sender: int, mid: int) -> str | None:
        if self._missing.remove((sender, mid)):
            del self._needs[sender, mid]
            self._settle()
            self._try_send()
        return None

    def _settle(self) -> None:
        """Send the permits that are due, and forget what is acknowledged and permitted, oldest first."""
        unacked = self._unacked
        while len(unacked):
            message = unacked.peek
            self.operations += 1
            if self._missing.first < message.waits:
                return
            if message.permit and not message.permitted:
                message.permitted = True
                self._emit(message.receiver, Permit(message.mid))
            if not message.acked:
                return
            unacked.remove()

    def settles(self, sender: int, packet: Packet, silent: bool, reorder: bool, once: bool) -> bool:
        """Only what came before: permits are answered by permits here, and acks change what messages name.

        Cost: constant.
        """
        return isinstance(packet, Dependent) and reorder and packet.mid <= self._delivered.get(sender, 0)

    def _outgoing_integers(self) -> int:
        held = (each for of_one in self._buffered.values() for each in of_one.values())
        kept = [message.needs for message in self._unacked]
        kept += [*self._needs.values(), *(each.needs for each in held if isinstance(each, Dependent))]
        outgoing = 5 * (len(self._unacked) + len(self._waiting))
        return 1 + 2 * len(self._open) + outgoing + 3 * sum(len(needs or ()) for needs in kept)

    def _check(self) -> None:
        super()._check()
        unacked, missing = self._unacked, self._missing
        assert set(self._needs) == set(missing)
        assert () not in self._needs.values()
        if len(unacked):
            assert not unacked.peek.acked or missing.first < unacked.peek.waits, "settled, and kept"
        last = {message.receiver: message for message in unacked}
        assert self._open == {j: message.mid for j, message in last.items() if not message.acked}
        if self._waiting:
            assert self._dependencies(self._waiting[0]) is None, "sendable, and not sent"
        for message in unacked:
            assert self.budget is None or len(message.needs or ()) <= self.budget
            if not message.permit:
                assert missing.first >= message.waits, "a flag is missing"

    HANDLERS: ClassVar[dict[type, str]] = {Dependent: "_on_message", Ack: "_on_ack", Permit: "_on_permit"}
