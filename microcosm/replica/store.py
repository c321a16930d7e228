"""What a replica writes down: numbered records in order, and a snapshot that stands for the first of them.

`Store` is all that the rest of a replica knows of it. `microcosm.replica.journal.Journal` keeps it in a file,
`Memory` until the process ends. A record is a kind, which says how to read it, and a payload of bytes; what
the two mean is the business of who commits them.

A replica and its network share a store: what both write in one moment is one transaction. What the replica
commits joins the network's next flush (`ReplicaStore.joining`), which is at once unless a delivery or an
exchange is under way: then the flush that ends it takes everything along, and no packet that tells of it
leaves before. The records of the network are kept by the replica's state too, so that a snapshot of it has
them, whoever makes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

APPLICATION = "microcosm replica"
"""Whose records these are: the journal of another application is refused."""


Records = Sequence[tuple[str, bytes]]
"""What is to be written: of each record its kind and payload."""


class LogRecord(NamedTuple):
    """One thing written down; `number` counts from 1 in the order of commits and is never used again."""

    number: int
    kind: str
    payload: bytes


class Store(Protocol):
    """An append-only log of records with a snapshot of its beginning."""

    def commit(self, records: Records) -> int:
        """Append records (kind, payload), all or none of them, durable on return.

        Returns the number of the last record there is (also of an empty commit, which writes nothing).
        """
        ...

    def records(self, after: int = 0) -> Iterator[LogRecord]:
        """The records that no snapshot has replaced and whose number is above `after`, in order.

        They are those of the moment of the call: what is committed while they are read does not appear. Where
        `compact` drops some of them before they were read, a store may raise `MicrocosmError` instead.
        """
        ...

    def snapshot(self) -> tuple[int, bytes] | None:
        """The latest snapshot: the number of the last record that it stands for, and its content."""
        ...

    def compact(self, through: int, content: bytes) -> None:
        """From now on `content` stands for the records up to the number `through`, which are dropped.

        `through` may be that of the latest snapshot, whose content is then replaced. Raises `ValueError`
        where it is smaller, or there is no such record yet.
        """
        ...

    def close(self) -> None:
        """Write no more. A second call does nothing."""
        ...


class Memory:
    """A store that lasts as long as the process: for tests and simulation.

    >>> store = Memory()
    >>> store.commit([("note", b"one"), ("note", b"two"), ("note", b"three")])
    3
    >>> store.compact(2, b"one, two")
    >>> store.snapshot(), list(store.records())
    ((2, b'one, two'), [LogRecord(number=3, kind='note', payload=b'three')])
    """

    def __init__(self) -> None:
        self._records: list[LogRecord] = []
        self._snapshot: tuple[int, bytes] | None = None
        self._last = 0

    def commit(self, records: Records) -> int:
        """Append the records. Cost: their number."""
        self._records += [
            LogRecord(number, kind, payload) for number, (kind, payload) in enumerate(records, self._last + 1)
        ]
        self._last += len(records)
        return self._last

    def records(self, after: int = 0) -> Iterator[LogRecord]:
        """The records above `after`, of the moment of the call."""
        return iter([record for record in self._records if record.number > after])

    def snapshot(self) -> tuple[int, bytes] | None:
        """The latest snapshot, or None."""
        return self._snapshot

    def compact(self, through: int, content: bytes) -> None:
        """Let `content` stand for the records up to `through`."""
        check_reach(through, self._snapshot[0] if self._snapshot else 0, self._last)
        self._snapshot = (through, content)
        self._records = [record for record in self._records if record.number > through]

    def close(self) -> None:
        """Nothing is open."""


def check_reach(through: int, least: int, last: int) -> None:
    """Raise `ValueError` for a snapshot that reaches less far than the latest, or past the last record."""
    if not least <= through <= last:
        raise ValueError(f"a snapshot through record {through}; there are records {least + 1} to {last}")


class ReplicaStore:
    """The store as the replica sees it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.slow: bool = getattr(store, "slow", False)
        """Whether it waits for a disk."""
        self.instance: bytes | None = getattr(store, "instance", None)
        """That of the journal, which tells a copy."""
        self.joining: Callable[[Records], int] | None = None
        """What takes records to the network's flush; until then they go to the store."""
        self.compacting: Callable[[], object] | None = None
        self.reading: Callable[[], object] | None = None
        """What sees to it that all that was taken so is in the store."""

    def commit(self, records: Records) -> int:
        """Append records, at once or with the next flush; the number of the last that is durable."""
        return self.store.commit(records) if self.joining is None else self.joining(records)

    def records(self, after: int = 0) -> Iterator[LogRecord]:
        """The records above `after`, those included that the network had still to write."""
        self._catch_up()
        return self.store.records(after)

    def snapshot(self) -> tuple[int, bytes] | None:
        """The latest snapshot, or None."""
        self._catch_up()
        return self.store.snapshot()

    def compact(self, through: int, content: bytes) -> None:
        """Let `content` stand for the records up to `through`; later, if the network adds its state first."""
        if self.compacting is None:
            self.store.compact(through, content)
        else:
            self.compacting()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def _catch_up(self) -> None:
        if self.reading is not None:
            self.reading()


BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, float("inf"))
"""Upper bounds for the times of commits, in seconds."""


class Commits:
    """How long commits took: their number, the sum in seconds, and how many were within each of `BUCKETS`."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.within: Counter[float] = Counter()

    def add(self, seconds: float) -> None:
        """One more commit."""
        self.count += 1
        self.seconds += seconds
        self.within.update(bound for bound in BUCKETS if seconds <= bound)
