"""A process whose inputs are written down before anything that follows from them is seen.

What is done waits in memory until `flush`: the inputs since the last one, and what the application added
in the course of them (`include`), go to the store in one transaction; only then do packets leave. So a
message is acknowledged once its delivery and the effects of it are durable, both or neither: exactly once, as
far as effects are records. An effect elsewhere, a mail sent, may happen again after a crash.

`flush` is `cut`, the writing of what was cut off (`WriteBatch.write`), and `settled`. A host may do the
second in another thread, and go on here meanwhile; whatever follows then leaves with the next batch.

What only waits in a buffer, or frees one, is written with the next transaction: to forget it is to lose a
packet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from msgpack import packb, unpackb

from microcosm.errors import JournalError, ReplicaError
from microcosm.protocol.machine import Send
from microcosm.replica.network.process import Input, Process
from microcosm.replica.store import Commits, Records, Store

if TYPE_CHECKING:
    from microcosm.replica.network.peer import Peer


Recorded = Callable[[str, bytes], object]


class WriteAhead:
    """The inputs and effects that are not durable yet, and the packets that wait for them."""

    def __init__(self, process: Process, store: Store, recorded: Recorded | None = None) -> None:
        self.process = process
        self.store = store
        self.failed = False
        self.changing = False
        """Whether a change of members, of which nothing may be seen yet, is not durable yet."""
        self._recorded = recorded
        self._pending: list[Input] = []
        self._effects: list[tuple[str, bytes]] = []
        self._urgent = False
        """Whether any of it can be seen by somebody, and is to be written soon."""
        self._then: list[Then] = []
        self._sends: list[Send] = []
        self._withheld: set[int] = set()
        self._in_flight: WriteBatch | None = None
        self.commits = Commits()

    def include(self, kind: str, payload: bytes) -> None:
        """Write a record in the transaction of the next flush. Raises `ValueError` for a kind used here."""
        self._usable()
        if kind in (KIND, START):
            raise ValueError(f"records of kind {kind!r} are written by the endpoint")
        self._effects.append((kind, payload))
        self._urgent = True

    def record(self, kind: str, payload: bytes) -> None:
        """The same of a record that `recorded` is to know of at once."""
        self.include(kind, payload)
        if self._recorded is not None:
            self._recorded(kind, payload)

    def flush(self) -> list[Send]:
        """Make everything so far durable; the packets that may leave then, in order.

        Cost: one commit, or none where nothing changed that anybody could see. If the store fails, so does
        this object: open it again.
        """
        batch = self.cut()
        self.failed = True
        batch.write(self.store)
        self.failed = False
        leaving = self.settled(batch)
        batch.settle(None)
        return leaving

    def cut(self) -> WriteBatch:
        """Everything so far, to be written and then `settled` before the next `cut`."""
        self._usable()
        assert self._in_flight is None, "one batch after the other"
        self._in_flight = batch = WriteBatch()
        if self._sends or self._urgent:
            batch.records, self._effects = self._effects, []
            if self._pending:
                batch.records.append((KIND, packb(self._pending)))
                self._pending = []
            batch.then, self._then = self._then, []
            self._urgent = False
            if self._recorded is not None:
                for kind, payload in batch.records:
                    if kind in (KIND, START):
                        self._recorded(kind, payload)
        batch.sends, self._sends = self._sends, []
        return batch

    def settled(self, batch: WriteBatch) -> list[Send]:
        """A batch is durable: the packets that may leave now, in order."""
        self._in_flight = None
        if batch.took is not None:
            self.commits.add(batch.took)
        self.changing = self.changing and self._urgent
        if self.process.evicted:
            return []
        talks = self.process.membership.talks  # else it is told everything again once it keeps all fences
        untold = {number for number in {send.to for send in batch.sends} if not talks(number)}
        self._withheld |= untold
        return [send for send in batch.sends if send.to not in untold]

    @property
    def waits(self) -> bool:
        """Whether there is something that was not even cut off yet."""
        return bool(self._pending or self._effects)

    def hasten(self) -> None:
        """Let the next `cut` be of everything, also of what nobody could see."""
        self._urgent = self._urgent or self.waits

    def when_durable(self, then: Then) -> None:
        """Call back once everything so far is durable that anybody was told; at once if it is.

        The argument is None then, or what keeps it from ever being so.
        """
        if self._urgent:
            self._then.append(then)
        elif self._in_flight is not None:
            self._in_flight.then.append(then)
        else:
            then(None)

    def give_up(self, error: BaseException) -> None:
        """Nothing more is written: tell those who wait."""
        self.failed = True
        if self._in_flight is not None:
            self._in_flight.settle(error)
        WriteBatch(then=self._then).settle(error)
        self._then = []

    def state(self) -> bytes:
        """The state as it is, durable or not."""
        written: bytes = packb(self.process.state())
        return written

    def _usable(self) -> None:
        if self.failed:
            raise ReplicaError("stopped by an earlier fault, or renewed; open it again")


STATE = "network state"
"""Of the record that holds a whole state (`Durable.state`), where records and a snapshot share a store."""

KIND = "network"
"""Of the records: each is a list of inputs, after a first one that names the replica."""

START = "network start"
"""Of the record that begins an incarnation: its name and number."""


def remembered(records: Records, snapshot: bytes | None = None) -> Process | None:
    """The process that records, after a snapshot, are of; None if there is none. Raises `ReplicaError`."""
    process = None
    if snapshot is not None:
        try:
            process = Process.restored(unpackb(snapshot, use_list=False))
        except (ValueError, TypeError) as error:
            raise ReplicaError(f"the snapshot is not one of this version: {error}") from None
    for kind, payload in records:
        if kind == START:
            process = Process(*unpackb(payload, use_list=False))
        elif kind == KIND:
            if process is None:
                raise ReplicaError("records of messages of nobody; the journal is damaged")
            for step in unpackb(payload, use_list=False):
                process.apply(step)
    return process


Then = Callable[[BaseException | None], object]
"""Called once something is durable, with None; or with what keeps it from ever being so."""


@dataclass(slots=True)
class WriteBatch:
    """Cut off what has happened so far; what happens meanwhile is in the next one.

    `write` may run in any thread, one batch after another; all else belongs to the thread of the endpoint.
    """

    records: list[tuple[str, bytes]] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    """Packets that follow from what is written, in order."""
    fragments: list[tuple[Peer, list[bytes]]] = field(default_factory=list)
    """Pieces of exchanges, which tell what is known."""
    then: list[Then] = field(default_factory=list)
    snapshot: bytes | None = None
    """What is to stand for all records, those of this batch among them."""
    took: float | None = None
    """Seconds of the commit, if there was one."""

    def writes(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.records) or self.snapshot is not None

    def write(self, store: Store) -> None:
        """One transaction, and the snapshot after it. Raises what the store does."""
        if self.writes():
            began = perf_counter()
            last = store.commit(self.records)
            self.took = perf_counter() - began
            if self.snapshot is not None:
                with suppress(JournalError):  # what is committed is
                    store.compact(last, self.snapshot)

    def settle(self, error: BaseException | None) -> None:
        """Tell those who wait."""
        waiting, self.then = self.then, []
        for then in waiting:
            then(error)


Answer = TypeVar("Answer")


async def run_in_thread(work: Callable[[], Answer], undo: Callable[[Answer], object]) -> Answer:
    """What `work` returns. If this is cancelled meanwhile, it ends all the same, and is undone."""
    going = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(going)
    except asyncio.CancelledError:
        while not going.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([going])
        if going.exception() is None:
            undo(going.result())
        raise
