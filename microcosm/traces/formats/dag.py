"""Histories with explicit parents: commits of git, editing histories of replicated documents.

Each node is a process of its own, for the nodes of an author are no chain, and comes after its parents;
the closure is never made. Three texts are read: tab-separated lines below a line with the names of the
columns (`commit`, `parents`, and any others, among them perhaps `commit_time`), lines `commit parent
parent …` as of `git log --format='%H %P'`, and the JSON of josephg's editing traces, whose
transactions name their parents by number: by their place in their own history, of which a log may have
several, each an execution. Times order nothing; where they contradict the order, that is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count

from microcosm.errors import TraceError
from microcosm.traces.event import TraceEvent, in_trace
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_units import units
from microcosm.traces.text.lines import LOOKED_AT, Lines

NAME = "dag"

_KEYS = frozenset(("txns",))
_BARE = re.compile(r"[0-9a-f]{7,64}( [0-9a-f]{7,64})*\s*")


def detects(head: str, path: str) -> int:
    """2 where the first line names the columns, lines are hashes, or the text is an editing trace."""
    lines = [line for line in head.split("\n")[:LOOKED_AT] if line.strip()][:-1] or [head]
    if head.lstrip().startswith("{"):
        return 2 * ('"endContent"' in head or ('"txns"' in head and '"parents"' in head))
    named = {"commit", "parents"} <= set(lines[0].strip().split("\t"))
    return 2 * (named or all(_BARE.fullmatch(line) for line in lines))


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """An event for each node; lines that are none are reported as `bad-line`.

    Memory: constant, but for the times of nodes whose parents have not been read, where there are times.
    """
    if stream.head.lstrip().startswith("{"):
        yield from _transactions(stream, file, report, options)
        return
    times = _Times(file, report)
    columns: list[str] | None = None
    for number, text in stream.filled():
        if columns is None:
            columns = text.strip().split("\t") if "\t" in text else ["commit", "parents"]
            if not {"commit", "parents"} <= set(columns):
                raise TraceError("the columns `commit` and `parents` are missing", file=file, line=number)
            if "\t" in text:
                continue
        fields = text.rstrip("\r").split("\t") if "\t" in text else text.strip().split(" ", 1)
        if text.strip().split("\t") == columns:
            continue  # where files were put together
        named = dict(zip(columns, fields, strict=False))
        node = named.pop("commit", "").strip()
        if not node or len(fields) > len(columns) or " " in node:
            report.add("bad-line", "not a node with its parents", file=file, line=number, lost=1, lines=1)
            continue
        parents = tuple(dict.fromkeys(named.pop("parents", "").split()))
        times.add(node, parents, named.get("commit_time", ""), number)
        yield _node(node, parents, named, file, number)


def _transactions(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    histories = options.shared(NAME, lambda: count(1))
    history, last = next(histories), -1
    for unit in units(stream, _KEYS, file, report):
        parents, agent = unit.value.get("parents"), unit.value.get("agent")
        if 0 <= unit.place <= last:
            history = next(histories)
        last = unit.place if unit.place >= 0 else last
        if unit.place < 0 or type(parents) is not list or any(type(parent) is not int for parent in parents):
            message = "not a transaction at a known place, with a list of numbers for `parents`"
            report.add("bad-line", message, file=file, line=unit.line, lost=1)
            continue
        attributes = {} if agent is None else {"agent": agent}
        trace = None if history == 1 else f"history {history}"
        before = tuple(map(str, dict.fromkeys(parents)))
        yield _node(str(unit.place), before, attributes, file, unit.line, trace)


def _node(
    node: str,
    parents: tuple[str, ...],
    attributes: Mapping[str, object],
    file: str,
    line: int,
    trace: str | None = None,
) -> TraceEvent:
    above = tuple(in_trace(trace, parent) for parent in parents)
    return TraceEvent(
        node,
        1,
        attributes=attributes,
        trace=trace,
        name=in_trace(trace, node),
        after=above,
        file=file,
        line=line,
        links=("parent revision",) * len(above),
    )


class _Times:
    """The times of nodes, compared with those of their parents; a node may stand before or after these."""

    def __init__(self, file: str, report: Report) -> None:
        self._file = file
        self._report = report
        self._known: dict[str, int] = {}
        self._children: dict[str, list[tuple[str, int, int]]] = {}

    def add(self, node: str, parents: tuple[str, ...], time: str, line: int) -> None:
        if not (time.isascii() and time.isdigit() and len(time) < 20):
            return
        own = self._known[node] = int(time)
        for parent in parents:
            if parent not in self._known:
                self._children.setdefault(parent, []).append((node, own, line))
            elif self._known[parent] > own:
                self._inversion(node, parent, line)
        for child, theirs, where in self._children.pop(node, ()):
            if own > theirs:
                self._inversion(child, node, where)

    def _inversion(self, node: str, parent: str, line: int) -> None:
        message = f"{node}: its time is before that of its parent {parent}"
        self._report.add("clock-inversion", message, file=self._file, line=line)
