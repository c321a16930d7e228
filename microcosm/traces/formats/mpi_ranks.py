"""How the operations of the ranks of an MPI program meet, by counting: messages, and collective operations.

The k-th sending on a channel meets the k-th reception that was asked for there, and the k-th collective
operation of a rank that of every other. That holds of a log that lacks no line; `Ranks.faults` says what
shows that one does.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

SENDING = ("send", "isend")
ASKING = ("recv", "irecv")
TO_ALL = frozenset(
    ("barrier", "allreduce", "alltoall", "alltoallv", "allgather", "allgatherv", "reducescatter")
)
ROOT_ARGUMENT = {"bcast": 1, "scatter": 2, "reduce": 2, "gather": 2}
"""Where collective operations with a root have it; without it the root is rank 0."""
_FROM_ROOT = frozenset(("bcast", "scatter"))


class Line(NamedTuple):
    """A line that is an operation."""

    file: str
    number: int
    rank: str
    operation: str
    words: list[str]


class Channel(NamedTuple):
    """Where the messages of a run queue up."""

    run: int
    source: str
    destination: str
    tag: str


class Message(NamedTuple):
    """The message of a number on a channel.

    >>> str(Message(Channel(0, "p", "q", "5"), 2))
    'p->q tag 5 #2'
    """

    channel: Channel
    number: int

    def __str__(self) -> str:
        _, source, destination, tag = self.channel
        return f"{source}->{destination}{f' tag {tag}' if tag else ''} #{self.number}"


@dataclass(slots=True)
class Collective:
    """The k-th collective operation of a run: which it is, its root, its position at each rank."""

    operation: str
    root: str
    events: dict[str, int] = field(default_factory=dict)

    def before(self, rank: str) -> list[str]:
        """The ranks at which it comes before what follows it at a rank."""
        if self.operation in _FROM_ROOT:
            return [other for other in self.events if other == self.root != rank]
        if self.operation in ROOT_ARGUMENT and rank != self.root:
            return []
        return [other for other in self.events if other != rank]


class Step(NamedTuple):
    """A line as an event of its rank in a run.

    `received` are the messages of which it is known that they have arrived, though not that it is this
    event which receives them; `follows` is the number of the collective operation just before.
    """

    line: Line
    run: int
    position: int
    kind: str
    message: Message | None = None
    received: tuple[Message, ...] = ()
    follows: int | None = None


@dataclass(slots=True)
class _Rank:
    """A rank in a run: where it is, what it has asked for, which collective operation it just did."""

    run: int
    first: Line
    position: int = 0
    last: str = ""
    asked: dict[Channel, deque[Message]] = field(default_factory=dict)
    sending: Counter[Channel] = field(default_factory=Counter)
    unclear: set[Channel] = field(default_factory=set)
    """Channels some requests of which may be done, one does not know which."""
    done: int = 0
    """How many requests are done of which one does not know which they are."""
    collectives: int = 0
    just: int | None = None


class Ranks:
    """The ranks on their way through the lines. Memory: requests under way, and collective operations.

    `runs` counts the runs: a rank that says `init` again is in the next one. `odd` is the first fault
    that shows in a line, and the line.
    """

    def __init__(self) -> None:
        self.sent: Counter[Channel] = Counter()
        self.asked: Counter[Channel] = Counter()
        self.collectives: defaultdict[int, list[Collective]] = defaultdict(list)
        self.disagreed: tuple[str, Line] | None = None
        """The first two ranks that disagree on a collective operation, or on how many there are."""
        self.odd: tuple[str, Line] | None = None
        self._ranks: dict[tuple[int, str], _Rank] = {}
        self._run: Counter[str] = Counter()

    @property
    def runs(self) -> int:
        return 1 + max(self._run.values(), default=0)

    def places(self) -> Iterator[tuple[int, str]]:
        """The runs of all ranks."""
        return iter(self._ranks)

    def step(self, line: Line) -> Step:
        """What the next line is; those of each rank in its order."""
        name = line.rank
        run = self._run.get(name, 0)
        rank = self._ranks.get((run, name))
        if rank is not None and line.operation == "init":
            run = self._run[name] = run + 1
            rank = None
        if rank is None:
            rank = self._ranks[run, name] = _Rank(run, line)
        rank.position += 1
        rank.last = line.operation
        follows, rank.just = rank.just, None
        kind, message, received = self._exchanged(line, rank)
        if line.operation in TO_ALL or line.operation in ROOT_ARGUMENT:
            self._collective(line, rank)
        return Step(line, run, rank.position, kind, message, received, follows)

    def faults(self) -> Iterator[tuple[str, Line]]:
        """What shows that lines are missing, and a line to look at."""
        if self.odd is not None:
            yield self.odd
        for (run, name), rank in self._ranks.items():
            collectives = self.collectives[run]
            if rank.collectives < len(collectives) and self.disagreed is None:
                said = (
                    f"{name} does {rank.collectives} collective operations where others do {len(collectives)}"
                )
                self.disagreed = said, rank.first
        if self.disagreed is not None:
            yield self.disagreed
        for channel in self.sent | self.asked:
            sent, asked = self.sent[channel], self.asked[channel]
            source = self._ranks.get((channel.run, channel.source))
            destination = self._ranks.get((channel.run, channel.destination))
            over = f"{channel.source} sends {sent} messages to {channel.destination}, which receives {asked}"
            if asked > sent and source is not None:  # else its file is not there
                yield over, source.first
            elif sent > asked and destination is not None and destination.last == "finalize":
                yield over, destination.first
        ranks = list(self._ranks.values())
        for say, having in (
            ("begin with init", [rank.first.operation == "init" for rank in ranks]),
            ("end with finalize", [rank.last == "finalize" for rank in ranks]),
        ):
            if any(having) and not all(having):
                yield f"some ranks {say} and some do not", ranks[having.index(False)].first

    def _exchanged(self, line: Line, rank: _Rank) -> tuple[str, Message | None, tuple[Message, ...]]:
        """The kind and the message of an event; the messages that have arrived by it."""
        operation, words = line.operation, line.words
        tag = words[1] if len(words) > 2 else ""
        if operation in SENDING:
            channel = Channel(rank.run, line.rank, words[0], tag)
            number = self.sent[channel] = self.sent.get(channel, 0) + 1
            if operation == "isend":
                rank.sending[channel] += 1
            return "send", Message(channel, number), ()
        if operation in ASKING:
            channel = Channel(rank.run, words[0], line.rank, tag)
            number = self.asked[channel] = self.asked.get(channel, 0) + 1
            message = Message(channel, number)
            if operation == "recv":
                return "receive", message, ()
            rank.asked.setdefault(channel, deque()).append(message)
        elif operation in ("wait", "test") and len(words) > 1:
            return self._waited(line, rank, Channel(rank.run, words[0], words[1], " ".join(words[2:3])))
        elif operation == "waitall":
            return self._all_waited(words, rank)
        return "internal", None, ()

    def _waited(
        self, line: Line, rank: _Rank, channel: Channel
    ) -> tuple[str, Message | None, tuple[Message, ...]]:
        """What a wait for a request on a channel receives; a test does not tell whether it did."""
        waiting = rank.asked.get(channel)
        if line.operation == "test":
            rank.unclear.add(channel)
        elif waiting:
            clear = len(waiting) == 1 or (channel not in rank.unclear and not rank.done)
            message = waiting.popleft()
            if clear:
                rank.unclear.discard(channel)
                return "receive", message, ()
            return "internal", None, (message,)  # or one behind it, which came later
        elif rank.sending[channel]:
            rank.sending[channel] -= 1
        elif self.odd is None:
            self.odd = f"{line.rank} waits for what it has not begun", line
        return "internal", None, ()

    def _all_waited(self, words: list[str], rank: _Rank) -> tuple[str, Message | None, tuple[Message, ...]]:
        """What a wait for several requests receives: all there are, unless it says that it is for fewer."""
        messages = [message for waiting in rank.asked.values() for message in waiting]
        under_way = len(messages) + rank.sending.total() - rank.done
        number = int(words[0]) if words and words[0].isascii() and words[0].isdigit() else under_way
        if number < under_way:
            rank.done += number
            return "internal", None, ()
        rank.asked.clear()
        rank.sending.clear()
        rank.unclear.clear()
        rank.done = 0
        if len(messages) == 1:
            return "receive", messages[0], ()
        return "internal", None, tuple(messages)

    def _collective(self, line: Line, rank: _Rank) -> None:
        at = ROOT_ARGUMENT.get(line.operation)
        root = line.words[at] if at is not None and len(line.words) > at else "0"
        known = self.collectives[rank.run]
        rank.just = rank.collectives
        rank.collectives += 1
        if rank.just == len(known):
            known.append(Collective(line.operation, root))
        collective = known[rank.just]
        if (collective.operation, collective.root) != (line.operation, root) and self.disagreed is None:
            said = f"{line.rank}:{rank.position} does {line.operation} where another rank does "
            self.disagreed = said + collective.operation, line
        collective.events[line.rank] = rank.position
