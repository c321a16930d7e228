"""CSight's logs: of one event a line, of channels, and of two-phase commit.

    4 0,0,0,1,2 recv 1 0 3 4     `csight`: process, vector time, what happened; or without the process
    1,1 cs?syn # inferred        `csight_channels`: vector time, channel, `!` or `?`, message
    TM, 0, tx_prepare, 0         `csight_2pc`: sender, receiver, type, transaction

In the first, processes are the numbers of the entries of the clock. The last word of a `send` or `recv` names
the message. Events that neither send nor receive need not tick, so that several may show equal clocks: the
order of lines is the program order. Lines may do without the process: then every event ticks, and the process
is the entry that is beyond all that lines before have shown.

In the second, comments may name the processes of the entries of clocks (`# index 0: server
(127.0.0.1:2020)`) and the ends of channels (`# cs = client->server`); otherwise the process of an event is
the entry that grew by one since its last event, and processes are numbers. Comments hold in the files
behind, too; where they come, or change, behind events, another execution begins. Messages are told apart by
channel, content and order.

In these two another execution begins after a line of dashes, `=== … ===` or `# run …` (of channels), and
where the own entry of a process falls (of channels: does not grow).

In the third, a line stands for the sending of a message and for its reception at the same place: that nothing
happened in between is assumed, and both events are marked so (attribute `assumed`). Of several files each
goes on where the one before it ended.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial

from microcosm.traces.event import LARGEST, Contents, Counted, TraceEvent
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import LOOKED_AT, BadLine, Lines
from microcosm.traces.text.records import between_executions

_EVENT = re.compile(r"\s*(\d+)\s+(\d+(?:,\d+)*)\s+(\S.*?)\s*")
_BARE = re.compile(r"\s*(\d+(?:,\d+)+)\s+(\S.*?)\s*")
_KINDS = {"send": "send", "recv": "receive"}


def detects(head: str, path: str) -> int:
    """2 where one of the first lines has a process, a clock of several entries and a text; 1 without
    process.
    """
    lines = [line for line in head.split("\n")[:LOOKED_AT] if line.strip()]
    if any(one is not None and "," in one[2] for one in map(_EVENT.fullmatch, lines)):
        return 2
    return int(all(map(_BARE.fullmatch, lines[:-1] or lines)))


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; lines that are none are reported as `bad-line`. Memory: what has been seen."""
    run = options.one(LineRun, report)
    known: dict[str, int] = {}
    event = partial(TraceEvent, file=file, numbered=True)
    for number, text in stream.filled():
        boundary = between_executions(number, text)
        if boundary is not None:
            run.begin(boundary.name)
            known = {}
            continue
        trace = run.trace
        try:
            process, clock, label = _event(text, known)
        except BadLine as fault:
            report.add("bad-line", str(fault), file=file, line=number, lost=1, lines=1)
            continue
        word, *rest = label.split()
        kind = _KINDS.get(word, "internal")
        ticks = kind != "internal" or not _EVENT.fullmatch(text)
        if not run.take(process, clock[process], text.strip(), ticks=ticks, file=file, line=number):
            continue
        if run.trace != trace:
            known = {**clock}
        seq = options.positions[run.trace, process].append()
        message = rest[-1] if kind != "internal" and rest else None
        yield event(process, seq, kind, message, clock=clock, label=label, trace=run.trace, line=number)


@dataclass(slots=True)
class LineRun:
    """The execution at hand of a log whose lines are the program order; it may go on in another file.

    There the own clock value of a process never falls: where it does, a line that was there before is
    there again, or another execution has begun. `seen` has the lines, by process.
    """

    report: Report
    options: Options
    trace: str | None = None
    highest: dict[str, int] = field(default_factory=dict)
    seen: dict[str, set[int]] = field(default_factory=dict)

    def begin(self, name: str | None = None) -> None:
        """What follows is another execution. Before the first event that is said of a name only."""
        if self.seen or name is not None:
            self.trace = self.options.begin(name, behind=bool(self.seen))
        self.highest, self.seen = {}, {}

    def take(self, process: str, own: int, text: Hashable, *, ticks: bool, file: str, line: int) -> bool:
        """Whether a line is an event that has not been seen; one that cannot go on begins an execution.

        `text` is what it says. `ticks`: the event cannot but advance its process's component.
        """
        digest = hash(text)
        known = self.seen.get(process, ())
        if digest in known:
            message = f"{process}: the same line stands there already"
            self.report.add("duplicate-event", message, file=file, line=line, lost=1, lines=1)
            return False
        highest = self.highest.get(process, 0)
        if own < highest or (ticks and own == highest > 0):
            message = f"{process}: own clock value {own} after {highest}: another execution begins"
            self.report.add("restart", message, file=file, line=line)
            self.begin()
        self.highest[process] = own
        self.seen.setdefault(process, set()).add(digest)
        return True


def _event(text: str, known: dict[str, int]) -> tuple[str, dict[str, int], str]:
    """The process, the clock and the text of a line; `known` is what lines before have shown. Raises
    `BadLine`.
    """
    found = _EVENT.fullmatch(text)
    if found is None and (bare := _BARE.fullmatch(text)):
        clock = numbered_clock(bare[1])
        before = {**known}
        known.update((entry, value) for entry, value in clock.items() if value > known.get(entry, 0))
        return _grown(clock, before, "the line has no process"), clock, bare[2]
    if found is None:
        raise BadLine("not an event: `process 1,0,… what happened` is expected")
    clock = numbered_clock(found[2])
    process = str(int(found[1])) if len(found[1]) < len(str(LARGEST)) else found[1]
    if process not in clock:
        raise BadLine(f"the clock has no entry for process {found[1]}")
    return process, clock, found[3]


def numbered_clock(text: str) -> dict[str, int]:
    """A list of counts as a vector time of numbered processes. Raises `BadLine` beyond 64 bits.

    >>> numbered_clock("2,0,1")
    {'0': 2, '1': 0, '2': 1}
    """
    words = text.split(",")
    digits = len(str(LARGEST))
    if max(map(len, words)) >= digits and any(len(word) > digits or int(word) > LARGEST for word in words):
        raise BadLine("an entry of the clock is beyond 64 bits")
    return dict(zip(_numbers(len(words)), map(int, words), strict=True))


@cache
def _numbers(size: int) -> list[str]:
    """The names of numbered processes."""
    return [*map(str, range(size))]


_TWO_PHASE = "csight_2pc"

_MESSAGE = re.compile(r"\s*([^\s,]+),\s*([^\s,]+),\s*([^\s,]+),\s*([^\s,]+)\s*")
_NUMBERS = re.compile(r"[\d.\s,+-]*")


def detects_two_phase(head: str, path: str) -> int:
    """1 where each of the first lines has four words with commas, and some are no numbers."""
    lines = [line for line in head.split("\n")[:LOOKED_AT] if line.strip()]
    fit = all(_MESSAGE.fullmatch(line) and not _NUMBERS.fullmatch(line) for line in lines)
    return 2 * (fit and any("tx_" in line for line in lines))


def read_two_phase(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """Two events for each line; lines that are none are reported as `bad-line`.

    A line that is there already is the same message told again. What a later file says of a process is a
    process of its own, for nothing orders the files. Memory: a number for each message.
    """
    known: dict[int, None] = options.shared(_TWO_PHASE, dict)
    home: dict[str, str] = options.shared(f"{_TWO_PHASE} files", dict)
    for number, text in stream.filled():
        found = _MESSAGE.fullmatch(text)
        if found is None:
            message = "not a message: `sender, receiver, type, transaction` is expected"
            report.add("bad-line", message, file=file, line=number, lost=2, lines=1)
            continue
        sender, receiver, label, transaction = found.groups()
        if (digest := hash(found.groups())) in known:
            message = f"{label} of transaction {transaction} from {sender} to {receiver} stands there already"
            report.add("duplicate-event", message, file=file, line=number, lost=2)
            continue
        known[digest] = None
        message = Counted(f"m{len(known)}")
        more = {"assumed": True, "transaction": transaction}
        sender, receiver = (
            name if home.setdefault(name, file) == file else f"{name} ({file})" for name in (sender, receiver)
        )
        for process, kind, to in ((sender, "send", (receiver,)), (receiver, "receive", ())):
            seq = options.positions[None, process].append()
            yield TraceEvent(
                process, seq, kind, message, to, label=label, attributes=more, file=file, line=number
            )


_CHANNELS = "csight_channels"

_ON_CHANNEL = re.compile(r"\s*(\d+(?:,\d+)*)\s+([^\s!?]+)([!?])(\S+)\s*(?:#\s*(.*))?")
_INDEX = re.compile(r"#\s*index (\d+):\s*(\S+)")
_CHANNEL = re.compile(r"#\s*(\S+)\s*=\s*(\S+?)\s*->\s*(\S+)\s*")
_RUN = re.compile(r"#\s*(run \d+)\b")


def detects_channels(head: str, path: str) -> int:
    """2 where a line that is no comment has a clock and a channel with `!` or `?`."""
    lines = (line for line in head.split("\n") if line.strip() and not line.startswith("#"))
    return 2 * (_ON_CHANNEL.fullmatch(next(lines, "")) is not None)


def read_channels(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; lines that are neither events nor comments are reported as `bad-line`.

    Memory: two counts for each content on a channel.
    """
    names: dict[str, str] = options.shared(f"{_CHANNELS} names", dict)
    ends: dict[str, tuple[str, str]] = options.shared(f"{_CHANNELS} ends", dict)
    run = options.one(LineRun, report)
    of_runs: defaultdict[str | None, Contents[tuple[str, str]]]
    of_runs = options.shared(f"{_CHANNELS} contents", lambda: defaultdict(Contents))
    last: dict[str, int] = {}
    event = partial(TraceEvent, file=file)
    for number, text in stream:
        if text.startswith("#"):
            if index := _INDEX.match(text):
                if run.seen and names.get(index[1]) != index[2]:
                    detail = f"entry {index[1]} of clocks is now called {index[2]}: another execution begins"
                    report.add("restart", detail, file=file, line=number)
                    run.begin()
                    last = {}
                names[index[1]] = index[2]
            elif channel := _CHANNEL.fullmatch(text):
                ends[channel[1]] = channel[2], channel[3]
            elif begun := _RUN.match(text):
                run.begin(begun[1])
                last = {}
            continue
        boundary = between_executions(number, text)
        if boundary is not None:
            run.begin(boundary.name)
            last = {}
        if boundary is not None or not text.strip():
            continue
        try:
            found = _ON_CHANNEL.fullmatch(text)
            if found is None:
                raise BadLine("not an event: `1,0 channel!message` or `1,0 channel?message` is expected")
            _, channel_name, sign, content, note = found.groups()
            clock, sends = numbered_clock(found[1]), sign == "!"
            named = {names.get(entry, entry): value for entry, value in clock.items()} if names else clock
            process = ends.get(channel_name, ("", ""))[not sends]
            if process not in named:
                grown = _grown(clock, last, "the comments do not name the ends of the channel")
                process = names.get(grown, grown)
        except BadLine as fault:
            report.add("bad-line", str(fault), file=file, line=number, lost=1, lines=1)
            continue
        label = f"{channel_name}{sign}{content}"
        fields = label, *clock.values()
        if not run.take(process, named[process], fields, ticks=True, file=file, line=number):
            continue
        last = clock
        key, contents = (channel_name, content), of_runs[run.trace]
        message = contents.sent(key) if sends else contents.received(key)
        if contents.ambiguous(key):
            detail = f"{content} is sent more than once on {channel_name}, and received"
            report.add("ambiguous-content", detail, file=file, line=number)
        seq, kind = options.positions[run.trace, process].append(), "send" if sends else "receive"
        to = ends[channel_name][1:] if sends and channel_name in ends else ()
        more = {"channel": channel_name, **({"note": note} if note else {})}
        yield event(
            process, seq, kind, message, to, named, label=label, trace=run.trace, line=number, attributes=more
        )


def _grown(clock: dict[str, int], before: dict[str, int], otherwise: str) -> str:
    """The only entry of a clock that is beyond what was before. Raises `BadLine`."""
    grown = [entry for entry, value in clock.items() if value > before.get(entry, 0)]
    if len(grown) != 1:  # another execution may begin, where no other has done anything
        grown = [entry for entry, value in clock.items() if value]
    if len(grown) != 1:
        raise BadLine(f"{otherwise}, and the clock does not tell")
    return grown[0]
