"""One store for a replica and its network: what both write in one moment is one transaction.

Each sees a store of its own. What the replica commits joins the network's next flush (`joining`), which is at
once unless a delivery or an exchange is under way: then the flush that ends it takes everything along, and no
packet that tells of it leaves before. The records of the network are kept by the replica's state too, so that
a snapshot of it has them, whoever makes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import NamedTuple

from msgpack import packb

from microcosm.replica.ledger.records import encode_identity
from microcosm.replica.network.durable import Durable
from microcosm.replica.replica import Replica
from microcosm.replica.store import LogRecord, Store

Records = Sequence[tuple[str, bytes]]

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


class ReplicaStore:
    """The store as the replica sees it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.joining: Callable[[Records], int] | None = None
        """What takes records to the network's flush; until then they go to the store."""
        self.compacting: Callable[[], object] | None = None
        self.reading: Callable[[], object] | None = None
        """What sees to it that all that was taken so is in the store."""

    @property
    def slow(self) -> bool:
        """Whether it waits for a disk."""
        found: bool = getattr(self.store, "slow", False)
        return found

    @property
    def instance(self) -> bytes | None:
        """That of the journal, which tells a copy."""
        found: bytes | None = getattr(self.store, "instance", None)
        return found

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


class NetworkStore:
    """The store as the network sees it: its own records only."""

    def __init__(self, store: Store, replica: Replica) -> None:
        self._store, self._replica = store, replica
        self.slow: bool = getattr(store, "slow", False)
        self.commits = Commits()

    def commit(self, records: Records) -> int:
        """All of it, the replica's records among them, in one transaction. In any thread."""
        begun = perf_counter()
        last = self._store.commit(records)
        self.commits.add(perf_counter() - begun)
        return last

    def records(self, after: int = 0) -> Iterator[LogRecord]:
        """Those of the network, numbered from 1."""
        for number, (kind, payload) in enumerate(list(self._replica.network), 1):
            if number > after:
                yield LogRecord(number, kind, payload)

    def snapshot(self) -> None:
        """There is none here: the state is a note of the replica."""

    def compact(self, through: int, content: bytes) -> None:
        """A snapshot of the replica, which has the state of the network in it. In any thread."""
        self._store.compact(through, content)

    def close(self) -> None:
        """The replica closes."""


class Suspect(NamedTuple):
    """A member that said what no replica of this program says: what, how often, and until when it is not
    heeded."""

    why: str
    times: int
    until: float


class Suspects:
    """Members whose exchanges are not heeded for a while, twice as long each time; their messages are."""

    LONGEST = 3600.0

    def __init__(self) -> None:
        self.found: dict[str, Suspect] = {}

    def blame(self, name: str, why: str, now: float, *, heed: bool = False) -> None:
        """A member has said something wrong; with `heed` it is named, and heeded all the same."""
        times = self.found[name].times + 1 if name in self.found else 1
        wait = 0.0 if heed else min(self.LONGEST, 2.0 ** min(times, 16))
        self.found[name] = Suspect(why, times, now + wait)

    def heeds(self, name: str, now: float) -> bool:
        """Whether what a member says of its knowledge is looked at."""
        return name not in self.found or now >= self.found[name].until


class Nesting:
    """How deep in what the next flush ends."""

    def __init__(self) -> None:
        self.depth = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


class Stating:
    """Has the members that a replica states follow those of its network, in the commit that changes these.

    And has it give up those whom the network does (`ReplicaState.give_up`), also where another incarnation
    takes the name at the same moment.

    Two commits, one after the other, would let a crash in between leave a replica that remembers removals for
    somebody who was evicted long ago, for ever. Whoever commits for the network calls `follow` before; what
    it adds is committed along.
    """

    def __init__(self, replica: Replica, durable: Durable) -> None:
        self._replica, self._durable = replica, durable
        self._named: set[str] | None = None
        self._fences = len(durable.process.membership.fences)

    def follow(self) -> None:
        """State what has changed since the last time. The first time: also that the evicted are gone.

        Names that the replica states and the network never knew stay. Cost: the members.
        """
        replica, process = self._replica, self._durable.process
        named, fences = {member.name for member in process.members}, process.membership.fences
        if named == self._named and len(fences) == self._fences:
            return
        before, self._named = self._named, named
        new = {fence.name for fence in islice(fences, self._fences, None)}
        self._fences = len(fences)
        gone = ({fence.name for fence in fences} if before is None else before) - named
        if given_up := new | replica.not_given_up(gone):
            content = packb(sorted(given_up))
            self._durable.include("give up", content)
            replica.recorded("give up", content)
        stated = ({*replica.members} | named) - gone
        if stated and (wanted := tuple(sorted(stated | {replica.name}))) != replica.members:
            content = encode_identity(replace(replica.identity, members=wanted))
            self._durable.include("replica", content)
            replica.recorded("replica", content)
