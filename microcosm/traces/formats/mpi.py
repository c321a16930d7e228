"""SimGrid's time-independent traces of MPI programs: `rank operation arguments`, in program order.

    0 send 1 0 1e6          to rank 1, tag 0
    1 irecv 0 0 1e6         from rank 0, tag 0
    1 wait 0 1 0            for what rank 0 sends to rank 1 with tag 0

Messages of a (source, destination, tag) are received in the order in which they are sent; which one meets a
reception from any source, or of any tag, is not told. An `irecv` only asks: it is the `wait` for it that
receives. The k-th collective operation of each rank is the
same one: what follows it at a rank comes after it at all others (at the root, or the root's, for
operations that have one). Both are counted, and a line that is missing shifts all behind it: where
anything in the log shows that one is, only ranks are ordered. The ranks may have a file each, or share
some; of a rank that stands in several files each part is by itself, for nothing orders the files. A rank
that says `init` again is one of another run.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from microcosm.traces.event import Counted, Spool, TraceEvent
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import BadLine, Lines

SENDING = ("send", "isend")
ASKING = ("recv", "irecv")
TO_ALL = frozenset(
    ("barrier", "allreduce", "alltoall", "alltoallv", "allgather", "allgatherv", "reducescatter")
)
ROOT_ARGUMENT = {"bcast": 1, "scatter": 2, "reduce": 2, "gather": 2}
"""Where collective operations with a root have it; without it the root is rank 0."""
_FROM_ROOT = frozenset(("bcast", "scatter"))

_LINE = re.compile(r"\s*(\S+)\s+([A-Za-z]\w*)((?:\s+\S+)*)\s*")
_RANK = re.compile(r"[A-Za-z_]*\d+")
_POINT_TO_POINT = frozenset((*SENDING, *ASKING, "test", "wait", "waitall"))
_OF_LISTS = ("gatherv", "scatterv")
"""Collective operations whose root stands behind a list, where a line does not tell: they order nothing."""
_ALONE = frozenset(("init", "finalize", "compute", "sleep", "sample", "location", "comm_size", *_OF_LISTS))
_OPERATIONS = _POINT_TO_POINT | _ALONE | TO_ALL | ROOT_ARGUMENT.keys()
_LOOKED_AT = 50


def detects(head: str, path: str) -> int:
    """2 where all of the first lines are a rank and an operation, some of them telling."""
    lines = [line for line in head.split("\n")[:_LOOKED_AT] if line.strip() and not line.startswith("#")]
    if len(head) > 1 and not head.endswith("\n") and len(lines) > 1:
        lines.pop()  # it may be cut
    found = [_LINE.fullmatch(line) for line in lines]
    known = all(one and _RANK.fullmatch(one[1]) and one[2].lower() in _OPERATIONS for one in found)
    telling = _POINT_TO_POINT | TO_ALL | {"init", "finalize"}
    return 2 * (known and any(one is not None and one[2].lower() in telling for one in found))


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """No event before the last file is read; lines that are none are reported as `bad-line`."""
    program = options.one(_Program, report)
    program.begin(file)
    lost = report.lost
    for number, text in stream:
        if not text.strip() or text.startswith("#"):
            continue
        try:
            program.add(number, *_operation(text))
        except BadLine as fault:
            report.add("bad-line", str(fault), file=file, line=number, lost=1, lines=1)
    if report.lost > lost:
        program.hole("a line cannot be read", file, None)
    yield from ()


def _operation(text: str) -> tuple[str, str, list[str]]:
    """The rank, the operation and its arguments. Raises `BadLine`."""
    found = _LINE.fullmatch(text)
    operation = "" if found is None else found[2].lower()
    if found is None or operation not in _OPERATIONS:
        raise BadLine("not an event: `rank operation arguments` is expected")
    words = found[3].split()
    if operation in (*SENDING, *ASKING) and not words:
        raise BadLine(f"{operation} does not say with whom")
    return found[1], operation, words


# -- the ranks, and how their operations meet by counting -------------------------------------------------


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

    @property
    def is_open(self) -> bool:
        """Whether a reception takes what comes, of any source or tag (which a negative number stands for)."""
        return "-" in (self.source[:1], self.tag[:1])


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
    requested: dict[Channel, deque[Message]] = field(default_factory=dict)
    sending: Counter[Channel] = field(default_factory=Counter)
    unclear: set[Channel] = field(default_factory=set)
    """Channels some requests of which may be done, one does not know which."""
    done: int = 0
    """How many requests are done of which one does not know which they are."""
    collectives: int = 0
    just: int | None = None


class Ranks:
    """The ranks on their way through the lines. Memory: requests under way, and collective operations.

    A rank that says `init` again is in the next run. `odd` is the first fault that shows in a line, with it.
    """

    def __init__(self) -> None:
        self.sent: Counter[Channel] = Counter()
        self.requested: Counter[Channel] = Counter()
        self.collectives: defaultdict[int, list[Collective]] = defaultdict(list)
        self.disagreed: tuple[str, Line] | None = None
        """The first two ranks that disagree on a collective operation, or on how many there are."""
        self.odd: tuple[str, Line] | None = None
        self._ranks: dict[tuple[int, str], _Rank] = {}
        self._run: Counter[str] = Counter()

    @property
    def places(self) -> list[tuple[int, str]]:
        """All runs of all ranks."""
        return [*self._ranks]

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
                done = f"{name} does {rank.collectives} collective operations"
                self.disagreed = f"{done} where others do {len(collectives)}", rank.first
        if self.disagreed is not None:
            yield self.disagreed
        taking = {(channel.run, channel.destination) for channel in self.requested if channel.is_open}
        for channel in self.sent | self.requested:
            sent, wanted = self.sent[channel], self.requested[channel]
            source = self._ranks.get((channel.run, channel.source))
            destination = self._ranks.get((channel.run, channel.destination))
            what = f"{channel.source} sends {sent} messages to {channel.destination}, which receives {wanted}"
            if channel.is_open or (sent > wanted and (channel.run, channel.destination) in taking):
                continue
            if wanted > sent and source is not None:  # else its file is not there
                yield what, source.first
            elif sent > wanted and destination is not None and destination.last == "finalize":
                yield what, destination.first
        ranks = [*self._ranks.values()]
        begun = [rank.first.operation == "init" for rank in ranks]
        for having in (begun, [rank.last == "finalize" for rank in ranks]):
            if any(having) and not all(having):
                what = "begin with init" if having is begun else "end with finalize"
                yield f"some ranks {what} and some do not", ranks[having.index(False)].first

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
            number = self.requested[channel] = self.requested.get(channel, 0) + 1
            message = Message(channel, number)
            if operation == "recv":
                return "receive", message, ()
            rank.requested.setdefault(channel, deque()).append(message)
        elif operation in ("wait", "test") and len(words) > 1:
            return self._waited(line, rank, Channel(rank.run, words[0], words[1], " ".join(words[2:3])))
        elif operation == "waitall":
            return self._all_waited(words, rank)
        return "internal", None, ()

    def _waited(
        self, line: Line, rank: _Rank, channel: Channel
    ) -> tuple[str, Message | None, tuple[Message, ...]]:
        """What a wait for a request on a channel receives; a test does not tell whether it did."""
        waiting = rank.requested.get(channel)
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
        messages = [message for waiting in rank.requested.values() for message in waiting]
        under_way = len(messages) + rank.sending.total() - rank.done
        number = int(words[0]) if words and words[0].isascii() and words[0].isdigit() else under_way
        if number < under_way:
            rank.done += number
            return "internal", None, ()
        rank.requested.clear()
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
            detail = f"{line.rank}:{rank.position} does {line.operation} where another rank does "
            self.disagreed = detail + collective.operation, line
        collective.events[line.rank] = rank.position


# -- the lines of all files -------------------------------------------------------------------------------


class _Program:
    """The lines of all files: counted as they are read, and gone through once more for the events.

    Only the last line tells whether all ranks count the same, so the events wait for it: reading takes
    a third longer than where each is given away at once, and a seventh with the microcosm made of it.

    Memory: the requests under way, the collective operations, and what a wait for several receives.
    """

    def __init__(self, report: Report, options: Options) -> None:
        self._report = report
        self._options = options
        self._files: list[tuple[str, Spool]] = []
        self._sign: tuple[str, str, int | None] | None = None
        """What showed first that lines are missing, with file and line."""
        self._counting = False
        self._home: dict[str, int] = {}
        """The file of each rank, by number."""
        self._ranks = Ranks()
        self._wanted: set[Message] = set()
        """What has arrived by waits that do not tell which of them received it."""

    def begin(self, file: str) -> None:
        """The lines that follow are of another file."""
        self._files.append((file, Spool()))

    def add(self, number: int, rank: str, operation: str, words: list[str]) -> None:
        """Count in the next line; what a later file says of a rank is a process of its own.

        Nothing tells in which order two files say what one rank did.
        """
        at = len(self._files)
        file, spool = self._files[-1]
        if self._home.setdefault(rank, at) != at:
            self.hole(f"rank {rank} stands in several files", file, number)
            rank = f"{rank} (file {at})"
        spool.add((number, rank, operation, words))
        received = self._ranks.step(Line(file, number, rank, operation, words)).received
        if received:
            self._wanted.update(received)

    def hole(self, what: str, file: str, line: int | None) -> None:
        """Take note of what shows that lines are missing; reported, once, where something hangs on it."""
        if self._sign is None:
            self._sign = f"{what}: lines are missing, and nothing is matched by counting", file, line

    def rest(self) -> Iterator[TraceEvent]:
        """The events of all lines, as they stand."""
        self._sendings = self._positions(self._wanted)
        for fault, line in self._ranks.faults():
            self.hole(fault, line.file, line.number)
        if self._ranks.disagreed is not None:
            detail, line = self._ranks.disagreed
            self._report.add("collective-mismatch", detail, file=line.file, line=line.number)
        several = any(run for run, _ in self._ranks.places)
        traces = {run: f"run {run + 1}" if several else None for run, _ in self._ranks.places}
        taken = {of: self._options.positions[traces[of[0]], of[1]] for of in self._ranks.places}
        before = {of: positions.top for of, positions in taken.items()}
        for step in self._steps():
            line, of = step.line, (step.run, step.line.rank)
            position = before[of] + step.position
            taken[of].add(position)
            after: dict[str, str] = {}
            if step.follows is not None or step.received:
                for rank, at, link in self._after(step):
                    after.setdefault(f"{rank}:{before[step.run, rank] + at}", link)
            message = step.message if step.message is not None and self._is_matched(step.message) else None
            yield TraceEvent(
                line.rank,
                position,
                step.kind,
                None if message is None else Counted(message),
                (step.message.channel.destination,) if step.message and step.kind == "send" else (),
                label=" ".join((line.operation, *line.words)),
                trace=traces[step.run],
                after=tuple(after),
                links=tuple(after.values()),
                file=line.file,
                line=line.number,
            )

    def _steps(self) -> Iterator[Step]:
        """What the lines of all files are, once more from the beginning."""
        ranks = Ranks()
        for file, spool in self._files:
            for record in spool:
                yield ranks.step(Line(file, *record))

    def _positions(self, messages: set[Message]) -> dict[Message, int]:
        """Where these messages are sent, as far as they are."""
        sends = (step for step in self._steps() if step.kind == "send") if messages else ()
        return {step.message: step.position for step in sends if step.message in messages}

    def _after(self, step: Step) -> Iterator[tuple[str, int, str]]:
        """The events of other ranks, by rank and position, that come before a step without a message; and
        what makes them do so.
        """
        line = step.line
        if step.follows is not None and self._counts():
            collective = self._ranks.collectives[step.run][step.follows]
            for other in collective.before(line.rank):
                yield other, collective.events[other], collective.operation
        for message in step.received:
            if message not in self._sendings:
                detail = f"{line.rank}:{step.position}: the sending of {message} is not in the log"
                self._report.add("unmatched-receive", detail, file=line.file, line=line.number)
            elif self._is_matched(message):
                yield message.channel.source, self._sendings[message], "completed reception"

    def _is_matched(self, message: Message) -> bool:
        """Whether counting tells which message it is, or there is no other end of it."""
        channel = message.channel
        return not (self._ranks.sent[channel] and self._ranks.requested[channel]) or self._counts()

    def _counts(self) -> bool:
        """Whether something may be told by counting; that it may not is reported once."""
        if self._sign is not None and not self._counting and self._ranks.disagreed is None:
            self._report.add("log-hole", self._sign[0], file=self._sign[1], line=self._sign[2])
        self._counting = self._sign is not None
        return self._sign is None
