"""What is under way to and from one member: nothing of it need outlive the process.

Copies wait in `_queue` until the congestion window has room, then for their ack; each has a timer of its own.
Acks and permits go with the next packet, or in one of their own. Delivery is FIFO between two processes, and
permits come in the order of the messages (Hybrid Buffering, sections 5.4 and 5.5), so that one ack or permit
stands for all before it: the last one is sent, and a lost one is made good by the next. A permit that is the
last one for a while is asked for, by an ack of the oldest message that lacks its permit, and the answer is
the newest permit. Who waits for a permit may be waited for by others, so asking backs off only as far as
sending does, and starts over whenever a permit comes.

The window of the path grows by what is acknowledged, doubling at first, and is halved by a loss, at most once
a round trip (Jacobson, *Congestion avoidance and control*, 1988); waiting times follow RFC 6298. An ack comes
after a commit, so the round trip has the receiver's disk in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import takewhile
from typing import Any, TypeVar

from microcosm.protocol.packets import Ack, HybridMessage, Permit
from microcosm.replica.network.keys import OVERHEAD, ReplayWindow
from microcosm.replica.network.process import Fence, Member
from microcosm.replica.network.wire import COPY_BYTES, FENCE_BYTES, FRAME_BYTES, ID_BYTES, Content, Copied

NEVER = float("inf")

SILENCE, DEAF = 3, 5.0
"""A member is greeted again after so many waits for an ack in vain; and if for so many seconds nothing came
from it, though something was sent to it as often."""


@dataclass(slots=True)
class PeerSession:
    """The derived key of a member that is accepted now; `version` is that of packets to speak with it.

    `exchange` is that of exchanges, 0 if there is none that both read.
    """

    key_id: int
    salt: bytes
    boot: int
    generation: int
    version: int
    exchange: int
    cipher: Any
    window: ReplayWindow


@dataclass(slots=True)
class Flying:
    """A copy that is not acknowledged."""

    message: HybridMessage
    size: int
    tries: int = 0
    sent: float = 0.0
    due: float = NEVER


class Peer:
    """One member, as seen by this run of the endpoint. `mtu` bounds packets, `most` the copies under way."""

    def __init__(self, member: Member, now: float, mtu: int, congestion: Congestion, most: int) -> None:
        self.member = member
        self.address = (member.host, member.port)
        self.congestion = congestion
        self.session: PeerSession | None = None
        self.echo = (member.remembered or 0, 0)
        """Incarnation and boot of the last genuine greeting, whether or not it was a recording.

        Before the first one already the incarnation that what is remembered of it is of, if there is any: so
        a copy of it that is older hears of that before a start of it is learnt that is newer than what is
        remembered, and would take its place.
        """
        self.met = False
        """Whether the member is known to accept our present key."""
        self.greet_at = now
        self.greeted = -NEVER
        self.greetings = 0
        self.diverged = ""
        """Why nothing is exchanged with it: one of the two does not remember what the other does."""
        self.mine = False
        """Whether it is this replica that does not remember."""
        self.answered = self.noted = False
        """Whether the member was answered so; whether it was said here."""
        self.stranger: int | None = None
        """Another incarnation that answers to the name, and is not let in."""
        self.heard_at: float | None = None
        self.unanswered = 0
        """How often something was sent to it since it was heard last."""
        self.source: tuple[str, int] | None = None
        """Where its newest genuine packet came from, if that is not its address."""
        self.greets_from: tuple[str, int] | None = None
        """Where a genuine greeting came from that may be a recording: it is answered there too."""
        self.unreadable = 0
        """Packets in its name that could not be opened, since one could."""
        self.unconfirmed: list[bytes] = []
        """Pieces of exchanges that wait for what they tell to be durable."""
        self.released: list[bytes] = []
        """Those that may leave."""
        self.fences_at = now
        self.retransmissions = 0
        self.suppressed = 0
        """Answers to duplicates that were left out, one having been given in the same tick."""
        self._mtu = mtu
        self._most = most
        self._copies: dict[int, Flying] = {}
        self._queue: deque[int] = deque()
        self._again: deque[int] = deque()
        self._on_wire = 0
        self.missing: dict[int, float] = {}
        """Since when the permit of each message is missing, oldest message first."""
        self._ask_at = NEVER
        self._ask_wait = 0.0
        self._asking = False
        self._timers: list[tuple[float, int]] = []
        self._ack = 0
        self._permits: set[int] = set()
        self.newest = 0
        """The greatest permit so far, also of earlier starts."""
        self._answered: set[tuple[type, int]] = set()
        self._confirm: dict[Fence, None] = {}

    @property
    def places(self) -> list[tuple[str, int]]:
        """Where it is answered."""
        return [self.address] if self.source is None else [self.source, self.address]

    def is_silent(self, now: float) -> bool:
        """Whether it does not answer any more: it may have started anew."""
        deaf = self.unanswered >= SILENCE and self.heard_at is not None and now - self.heard_at >= DEAF
        return deaf or self.congestion.silence >= SILENCE

    @property
    def unacked(self) -> int:
        """Copies that wait for their ack, whether they were sent or not."""
        return len(self._copies)

    def post(self, packet: object) -> None:
        """Something for the member, to leave when it can. The same ack or permit: once in a tick."""
        if isinstance(packet, HybridMessage):
            if packet.mid not in self._copies:
                size = len(packet.payload) + COPY_BYTES
                self._copies[packet.mid] = Flying(packet, size)
                self._queue.append(packet.mid)
        elif isinstance(packet, Ack | Permit):
            answer = (type(packet), packet.mid)
            if answer in self._answered:
                self.suppressed += 1
                return
            self._answered.add(answer)
            if isinstance(packet, Permit):
                self.newest = max(self.newest, packet.mid)
                self._permits |= {packet.mid, self.newest}
            else:
                self._ack = max(self._ack, packet.mid)

    def acknowledged(self, mid: int, now: float) -> Iterator[int]:
        """The ids of all copies for which an ack is one, oldest first; they are done with."""
        if mid not in self._copies:
            return
        while self._copies:
            oldest = next(iter(self._copies))
            if oldest > mid:
                break
            flying = self._copies.pop(oldest)
            if flying.due != NEVER:
                self._on_wire -= 1
                self.congestion.flying -= flying.size
            took = now - flying.sent if flying.tries == 1 and oldest == mid else None
            self.congestion.acknowledged(flying.size, took)
            yield oldest

    def await_permit(self, mid: int, now: float) -> None:
        """A permit is missing: ask for it in a while, and again."""
        if mid not in self.missing:
            self.missing[mid] = now
            if self._ask_at == NEVER:
                self._ask_anew(now)

    def permitted(self, mid: int, now: float) -> list[int]:
        """The ids of all missing permits for which a permit is one, oldest first."""
        found = [*takewhile(mid.__ge__, self.missing)]
        for missing in found:
            del self.missing[missing]
        if found:
            self._ask_anew(now)
        return found

    def confirm(self, fence: Fence) -> None:
        """Tell the member that a fence is kept."""
        self._confirm[fence] = None

    def reset(self) -> None:
        """The member has started anew, or agrees again: all timers start over."""
        self.congestion.silence = 0
        for mid, flying in self._copies.items():
            if flying.due != NEVER:
                self._give_up(mid, flying)
        self._ask_wait = 0.0  # what it had answered may be lost with its last run

    def tick(self) -> None:
        """From now on duplicates are answered again."""
        self._answered.clear()

    def poll(self, now: float) -> None:
        """Let timers run out. Cost: their number, times its logarithm."""
        if self._ask_at <= now:
            self._asking = True
            self._ask_wait = min(self.congestion.wait(17), 2 * max(self._ask_wait, self.congestion.patience))
            self._ask_at = now + self._ask_wait
        while self._timers and self._timers[0][0] <= now:
            due, mid = heappop(self._timers)
            flying = self._copies.get(mid)
            if flying is not None and flying.due == due:
                self.congestion.lost(now)
                self._give_up(mid, flying)

    def stirs(self, now: float) -> bool:
        """Whether there may be something to send to it, fences apart."""
        answers = self._ack or self._permits or self._confirm or self._asking
        return bool(now >= self.greet_at or answers or self.released or self._queue or self._again)

    def next_time(self) -> float:
        """When there will be something to do, fences apart."""
        timers = self._timers
        while timers and ((flying := self._copies.get(timers[0][1])) is None or flying.due != timers[0][0]):
            heappop(timers)
        return min(self._ask_at, self.greet_at, timers[0][0] if timers else NEVER)

    def contents(self, now: float, fences: list[Fence]) -> Iterator[Content]:
        """What to send now, a packet at a time. `fences`: to tell the member of, when it is time."""
        wanted = next(iter(self.missing), 0) if self._asking else 0
        acks = sorted({wanted, self._ack} - {0})
        permits, kept = sorted(self._permits), [*self._confirm]
        due_fences = fences if fences and now >= self.fences_at else []
        self._asking, self._ack, self._permits, self._confirm = False, 0, set(), {}
        if due_fences:
            self.fences_at = now + 2 * self.congestion.patience
        while True:
            room = self._mtu - OVERHEAD - FRAME_BYTES
            said_kept, kept, room = _fitting(kept, FENCE_BYTES, room)
            said_told, due_fences, room = _fitting(due_fences, FENCE_BYTES, room)
            said_permits, permits, room = _fitting(permits, ID_BYTES, room)
            said_acks, acks, room = _fitting(acks, ID_BYTES, room)
            copies = self._packed(now, room)
            if not (copies or said_acks or said_permits or said_told or said_kept):
                return
            yield Content(said_acks, said_permits, copies, said_told, said_kept)

    def _packed(self, now: float, room: int) -> tuple[Copied, ...]:
        """The copies that go into one packet: first those to be sent again, as the window allows."""
        packed: list[Copied] = []
        for line in (self._again, self._queue):
            while line:
                flying = self._copies.get(line[0])
                if flying is None:
                    line.popleft()
                    continue
                if flying.size > room or not self.congestion.room(flying.size) or self._on_wire >= self._most:
                    return tuple(packed)
                line.popleft()
                room -= flying.size
                message = flying.message
                packed.append((message.mid, message.pid, message.permit, message.payload))
                self._start(flying, now)
        return tuple(packed)

    def _start(self, flying: Flying, now: float) -> None:
        self.retransmissions += flying.tries > 0
        flying.tries += 1
        flying.sent = now
        flying.due = now + self.congestion.wait(flying.tries)
        self.congestion.flying += flying.size
        self._on_wire += 1
        heappush(self._timers, (flying.due, flying.message.mid))

    def _give_up(self, mid: int, flying: Flying) -> None:
        flying.due = NEVER
        self.congestion.flying -= flying.size
        self._on_wire -= 1
        self._again.append(mid)

    def _ask_anew(self, now: float) -> None:
        """Ask for the oldest missing permit, if there is one, after the shortest wait."""
        self._ask_wait = 2 * self.congestion.patience
        self._ask_at = now + self._ask_wait if self.missing else NEVER


T = TypeVar("T")


def _fitting(waiting: list[T], size: int, room: int) -> tuple[tuple[T, ...], list[T], int]:
    """Those that fit into so many bytes, those that do not, and the bytes that are left."""
    if not waiting:
        return (), waiting, room
    fit = min(len(waiting), room // size)
    return tuple(waiting[:fit]), waiting[fit:], room - fit * size


PACKET = 1200
LEAST_WINDOW = 8.0 * PACKET
FIRST_WINDOW = 16.0 * PACKET


class Congestion:
    """The path to one peer. Sizes in bytes, times in seconds."""

    def __init__(self, least: float = 0.03, longest: float = 5.0) -> None:
        self.window = FIRST_WINDOW
        self.flying = 0
        """Under way, and neither acknowledged nor given up."""
        self.rtt: float | None = None
        self.silence = 0
        """Times that an ack was waited for in vain since the last one came."""
        self._least = least
        self._longest = longest
        self._threshold = float("inf")
        self._deviation = 0.0
        self._cut = float("-inf")

    @property
    def patience(self) -> float:
        """How long to wait for an ack before sending again."""
        if self.rtt is None:
            return max(self._least, 0.2)
        return min(self._longest, max(self._least, self.rtt + 4 * self._deviation))

    def wait(self, tries: int) -> float:
        """How long to wait for the ack of a message that was sent `tries` times.

        It is doubled each time as long as nothing comes back.
        """
        wait: float = self.patience * 2 ** min(tries - 1, self.silence + 1, 16)
        return min(self._longest, wait)

    def room(self, size: int) -> bool:
        """Whether so much more may be sent. One message always may."""
        return self.flying == 0 or self.flying + size <= self.window

    def acknowledged(self, size: int, took: float | None) -> None:
        """An ack for `size` bytes; `took` is its round trip, if only one sending can have been meant."""
        self.silence = 0
        if self.window < self._threshold:
            self.window += size
        else:
            self.window += PACKET * size / self.window
        if took is None:
            return
        if self.rtt is None:
            self.rtt, self._deviation = took, took / 2
        else:
            self._deviation += (abs(took - self.rtt) - self._deviation) / 4
            self.rtt += (took - self.rtt) / 8

    def lost(self, now: float) -> None:
        """Something was not acknowledged in time."""
        if now - self._cut > (self.rtt or self._least):
            self._cut = now
            self.silence += 1
            self.window = self._threshold = max(LEAST_WINDOW, self.window / 2)
