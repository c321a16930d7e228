"""What came out of a trace: its microcosm, and what is odd about it, said once each and counted by kind.

No event is lost silently: the events of a log are those that its reader yields and those that are
reported here as lost. Under `--strict` the first irregularity is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from microcosm.errors import TraceError, printable
from microcosm.givens.givens import Givens

KINDS = {
    "long-line": "a line is longer than a line may be, and is skipped",
    "bad-line": "a line is not an event of the format",
    "bad-encoding": "bytes of a line are no UTF-8; U+FFFD and their hexadecimal digits are put for them",
    "bad-archive": "a packed file is damaged or cut off; what could be unpacked is read",
    "other-encoding": "a file is UTF-16 or UTF-32 (counted by file); it is read as such",
    "line-end": "lines end in a carriage return alone (counted by file); it is taken for a line end",
    "bad-clock": "a record's vector time cannot be read; the record is left out",
    "bad-host": "a record names no process; it is left out",
    "unparsed-text": "lines of text belong to no record (counted by run of lines)",
    "comment": "lines of text are comments (counted by run of lines)",
    "no-text": "a record has no text; the event is kept",
    "no-message": "an event sends or receives, but its message is not named",
    "line-order": "the lines of a process are not in the order of its own clock component",
    "duplicate-event": "an event appears twice; the first is kept",
    "scattered-process": "a process without positions stands in several files; each part is by itself",
    "another-life": "a process lived again, or twice at a time; each life is a process by itself",
    "misnamed-field": "a field is not known, and like one that is (told once a name); it is an attribute",
    "restart": "a process begins again: what follows is taken for another execution",
    "seq-against-clock": "a process's positions contradict its clocks; the clocks are believed",
    "equal-clock": "positions are not believed, and clocks do not tell which of two events was first",
    "seq-gap": "positions of a process are missing: the log has a hole",
    "log-hole": "something shows that lines are missing; nothing follows from counting (told once)",
    "clock-gap": "own clock values of a process are missing: the log has a hole",
    "own-missing": "a clock has no entry for its own process",
    "clock-not-monotone": "a clock forgets what an earlier one of its process knew; it is not believed",
    "clock-contradiction": "a clock has seen an event but not what that event had seen; it is not believed",
    "unmatched-receive": "a message is received whose sending is not in the log",
    "unreceived-send": "a message is sent whose reception is not in the log",
    "duplicate-receive": "a process receives a message again; the first time counts",
    "repeated-send": "a process sends a message again; the first time counts",
    "wrong-receiver": "a message is received by a process that it was not sent to; they are not matched",
    "ambiguous-message": "a received message was sent by several processes; they are not matched",
    "message-against-clock": "clocks say that a message was not sent before its reception; they are believed",
    "link-against-clock": "clocks say that an event did not come after another; they are believed",
    "message-cycle": "a message is received before it is sent; process order is believed",
    "self-send": "a process receives its own message; the reception is left out",
    "line-before-cause": "a line stands before one that it depends on: the lines are no execution",
    "stamp-inversion": "a stamp is no later than that of an earlier event; it is not believed",
    "unknown-event": "an event comes after one that is not in the log; nothing follows from it",
    "link-cycle": "events come after one another in a circle; these links are not believed",
    "clock-inversion": "an event has an earlier time of day than one it comes after; times order nothing",
    "partial-span": "a span is reported in parts; they are one span",
    "missing-time": "a span does not say when it began or ended; it is kept",
    "ambiguous-content": "messages of equal content, told apart by their order or not (counted by content)",
    "collective-mismatch": "processes disagree on a collective operation; it orders nothing",
    "token-concurrent": "two holders of a token are concurrent by their clocks; the token is left out",
    "too-many-chosen": "more events are chosen than may be compared pair by pair; none is",
    "wide-frontier": "a process knew of too many others for its frontier to be told",
    "unused-clock": "a stream does not use recorded clocks; order follows from processes and messages",
    "unused-link": "a stream does not use links to events; order follows from processes and messages",
    "unreadable": "a file, or the rest of it, cannot be read",
    "left-out": "a microcosm says what a log cannot (counted by file); a log made of it lacks that",
    "isolated-event": "an event has no correspondence with any other",
}
"""The kinds of irregularity, and what each means and entails."""


@dataclass(frozen=True, slots=True)
class Irregularity:
    """One thing that is odd: `lost` events went unread because of it, `lines` lines belong to no event."""

    kind: str
    message: str
    file: str
    line: int | None
    lost: int = 0
    lines: int = 0

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return printable(f"{place}: {self.message} [{self.kind}]")


@dataclass(eq=False)
class Report:
    """Irregularities, counted by kind; `strict` makes the first one a `TraceError`.

    `each` is called with every irregularity as it is found. Of each kind the first `KEPT` are kept
    in `findings`, so that a log of nothing but faults does not fill the memory.

    >>> report = Report()
    >>> report.add("seq-gap", "p: 4 follows 2", file="a.jsonl", line=7)
    >>> print(report.findings[0], dict(report.counts))
    a.jsonl:7: p: 4 follows 2 [seq-gap] {'seq-gap': 1}
    """

    KEPT: ClassVar = 100

    strict: bool = False
    each: Callable[[Irregularity], None] | None = None
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Irregularity] = field(default_factory=list)
    lost: int = 0
    lines: int = 0
    took: Callable[[int], None] | None = None
    """Called with the number of bytes of each piece that is read, where somebody wants to know."""

    def add(
        self,
        kind: str,
        message: str,
        *,
        file: str,
        line: int | None = None,
        lost: int = 0,
        lines: int = 0,
        fatal: bool = True,
    ) -> None:
        """Report an irregularity. Raises `TraceError` under `strict`, unless it is not `fatal`."""
        if self.strict and fatal:
            hint = "Without --strict this is reported and passed over."
            raise TraceError(f"{message} [{kind}]", file=file, line=line, hint=hint)
        self.counts[kind] += 1
        self.lost += lost
        self.lines += lines
        found = Irregularity(kind, message, file, line, lost, lines)
        if self.counts[kind] <= self.KEPT:
            self.findings.append(found)
        if self.each is not None:
            self.each(found)

    def repeat(self, found: Irregularity, fatal: bool = True) -> None:
        """Report what another report has found."""
        file, line, lost, lines = found.file, found.line, found.lost, found.lines
        self.add(found.kind, found.message, file=file, line=line, lost=lost, lines=lines, fatal=fatal)


HOLES = frozenset(
    (
        "ambiguous-message",
        "clock-contradiction",
        "clock-gap",
        "clock-not-monotone",
        "collective-mismatch",
        "duplicate-receive",
        "equal-clock",
        "link-against-clock",
        "link-cycle",
        "message-against-clock",
        "message-cycle",
        "no-message",
        "restart",
        "seq-against-clock",
        "seq-gap",
        "unknown-event",
        "unmatched-receive",
        "wrong-receiver",
    )
)
"""After these, that no edge leads from one event to another does not mean that they are concurrent."""


OF_SEVERAL = "there are {} executions, and nothing tells how they stand to each other; choose one"
"""Why a log of several executions cannot be called complete."""
OF_SPANS = "spans do not tell how a caller heard of the end of what it called"
ASSUMED = "the times of some events are assumed"
"""Other reasons why."""

COUNTED = {
    "events": "event",
    "processes": "process",
    "messages": "message",
    "correspondences": "correspondence",
    "clocks": "clock",
}
"""What is told in one line of what a log gave, and one of each."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """A microcosm and what it was made of.

    `events` counts the events of the trace (of the view, where one process was asked for), those
    included that nothing relates to another: they are `isolated` and the microcosm does not name
    them. `messages` are those with an id or, in a log without ids, the receptions that merged clocks
    show. `outside` counts the events that the process could not know. `correspondences` are those
    stated one by one: external ones and consecutive internal ones. `reported` counts irregularities
    by kind.
    """

    givens: Givens
    events: int
    processes: int
    reported: dict[str, int]
    messages: int = 0
    correspondences: int = 0
    isolated: int = 0
    outside: int = 0
    incomplete: tuple[str, ...] = ()
    """Why the log cannot be called complete, whatever its author says: a line each."""

    def counts(self) -> dict[str, object]:
        """What was found, in numbers."""
        found: dict[str, object] = {name: getattr(self, name) for name in COUNTED if name != "clocks"}
        return {**found, "clocks": len(self.givens.clocks), "reported": dict(self.reported)}

    def summary(self) -> str:
        """The numbers on one line."""
        counts = self.counts()
        return ", ".join(
            f"{counts[name]:,} {one if counts[name] == 1 else name}" for name, one in COUNTED.items()
        )
