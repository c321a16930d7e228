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


@dataclass(frozen=True, slots=True)
class Irregularity:
    """One thing that is odd: `lost` events went unread because of it, `lines` lines belong to no event.

    What each `kind` means stands in docs/reference/traces.md.
    """

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
    families: set[str] = field(default_factory=set)
    """The families of formats that were read event by event (`microcosm.traces.reading`)."""
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

    @property
    def holes(self) -> list[Irregularity]:
        """The findings that speak against the log's being complete."""
        return [each for each in self.findings if each.lost or each.kind not in HARMLESS]

    def repeat(self, found: Irregularity, fatal: bool = True) -> None:
        """Report what another report has found."""
        file, line, lost, lines = found.file, found.line, found.lost, found.lines
        self.add(found.kind, found.message, file=file, line=line, lost=lost, lines=lines, fatal=fatal)


HARMLESS = frozenset(
    (
        "bad-encoding",
        "clock-inversion",
        "comment",
        "duplicate-event",
        "isolated-event",
        "line-before-cause",
        "line-end",
        "line-order",
        "missing-time",
        "no-text",
        "other-encoding",
        "partial-span",
        "self-send",
        "stamp-inversion",
        "stamp-of-several",
        "token-concurrent",
        "too-many-chosen",
        "unreceived-send",
        "wide-frontier",
    )
)
"""After anything else two events between which no edge leads need not be concurrent."""


OF_SEVERAL = "there are {} executions, and nothing tells how they stand to each other; choose one"
"""Why a log of several executions cannot be called complete."""
OF_SPANS = "spans do not tell how a caller heard of the end of what it called"
ASSUMED = "the times of some events are assumed"
"""Other reasons why."""
OF_STREAMS = "nothing orders what {0} and {0}/stderr wrote"
WITHOUT_MESSAGES = "no message, clock or link tells what its processes heard of each other"
"""Reasons why that are seen when all is read."""

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
