"""The columns of a page of a plain log that grows: each new event is put at the end of its process's part.

Every column is kept in parts, one for each chain, so that what a log says more costs in proportion to itself,
and a browser that has the columns as they were is sent the pieces that are others. What a page has beyond
that (all verdicts of few events, their log's lines) is for a page that is made whole; so is a log that is not
steady: a new process, a label or a message of another form.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from microcosm.errors import MicrocosmError
from microcosm.givens.event_table import EventTable
from microcosm.page.columns import IRREGULARITIES, MESSAGE, UNHEARD, PageModel
from microcosm.page.knowledge import TABLED, Knowledge
from microcosm.page.packing import Column, counter, escaped, leb, zigzag
from microcosm.page.write import LINES, digest_of
from microcosm.queries.drawing import lane_order
from microcosm.traces.growing import Growth
from microcosm.traces.report import Report

Parts = Mapping[str, Sequence[bytes]]
"""The bytes of each column, in one part or in one or two for each chain."""

Piece = tuple[int, int, str]
"""From where on in a column, how many bytes go, and what comes in their place, in base64."""


class Unsteady(MicrocosmError):
    """The page is to be made whole."""


@dataclass(slots=True)
class _Steps:
    """One chain's part of a column of steps: so many entries without a value, then the first value, and how
    much each further one is above the one before it.
    """

    empty: int = 0
    first: int | None = None
    last: int = 0
    body: bytearray = field(default_factory=bytearray)

    def add(self, value: int | None) -> None:
        """One more entry; None repeats what was last, in this chain or before it."""
        if self.first is not None:
            self.body += leb(zigzag(0 if value is None else value - self.last))
        elif value is None:
            self.empty += 1
        if value is not None:
            self.first = value if self.first is None else self.first
            self.last = value


@dataclass(slots=True)
class _Chain:
    """One chain's part of every column."""

    kind: bytearray = field(default_factory=bytearray)
    seq: _Steps = field(default_factory=_Steps)
    line: _Steps = field(default_factory=_Steps)
    label: bytearray = field(default_factory=bytearray)
    sent: _Steps = field(default_factory=_Steps)
    messages: bytearray = field(default_factory=bytearray)
    heard: int = 0
    dst: _Steps = field(default_factory=_Steps)
    src: bytearray = field(default_factory=bytearray)


def _joined(runs: Iterable[_Steps], shifts: Iterable[int]) -> list[bytes]:
    """A column of steps, whose values are shifted by so much on each chain; two parts for each.

    The first part is what the chain before it may change.
    """
    found: list[bytes] = []
    last = 0
    for run, shift in zip(runs, shifts, strict=True):
        if run.first is None:
            found += (bytes(run.empty), b"")
        else:
            found += (bytes(run.empty) + leb(zigzag(run.first + shift - last)), bytes(run.body))
            last = run.last + shift
    return found


class GrowingPage:
    """A page of a plain log, as `contents` of `page.write` would make it, kept up to date.

    Made of a page that was made whole. Raises `Unsteady` where it cannot be kept up, and so does `grow`,
    after which it is of no use. Cost: linear to make; of `grow` linear in what is new and in the chains.
    """

    def __init__(self, model: PageModel, head: Mapping[str, Any], columns: Sequence[Column]) -> None:
        self._head = {name: value for name, value in head.items() if name != "digest"}
        self._kinds = {column.name: column.kind for column in columns}
        counts = {column.name: column.count for column in columns}
        table, lanes, known = model.table, model.layout.lanes, Knowledge(model)
        messages = [(a, b) for b, a, why in model.edges if why == MESSAGE]
        plain = len(messages) == len(model.edges) and len(model.layout.chains) == len(lanes)
        large = len(model) > max(TABLED, LINES) and counts.get("apart") == 0 and known.all_heard()
        if table is None or len(table) < len(model) or not (plain and large and model.shortcuts):
            raise Unsteady
        self._chain = {lane.name: number for number, lane in enumerate(lanes)}
        self._group = known.groups()
        self._weight: Counter[tuple[int, int]] = Counter()
        self._word, self._counter = counter(next(filter(None, model.messages_sent), ""))
        self._labels: dict[str, int] = {}
        """What events are called, each once, in the order of the log."""
        self._chains = [_Chain() for _ in lanes]
        self._take(table, 0, [(model.rows[a], model.rows[b]) for a, b in messages])
        self.parts: Parts = self._parts()
        """The bytes of each column as they are now; another one whenever they are others."""
        self._report = model.report or Report()
        head, again = self.contents()
        if [(c.name, c.count, c.data) for c in again] != [(c.name, c.count, c.data) for c in columns]:
            raise Unsteady

    def grow(self, growth: Growth) -> None:
        """Take in what a log says more. Raises `Unsteady`."""
        table = growth.found.givens.events
        if (
            table is None
            or not growth.steady
            or any(time is not None for time in table.times[growth.first :])
        ):
            raise Unsteady
        messages = [(a, b) for a, b, source in growth.links if source.startswith("message ")]
        self._take(table, growth.first, messages)
        self.parts, self._report = self._parts(), growth.report

    def contents(self) -> tuple[dict[str, Any], list[Column]]:
        """The head and the columns, as `page.write.contents` gives them. Cost: linear in bytes."""
        many, edges = sum(len(one.kind) for one in self._chains), sum(one.heard for one in self._chains)
        counts = {"dst": edges, "why": edges, "src": 2 * edges, "apart": 0}
        counts |= {"labels": len(self._labels)} if "labels.of" in self._kinds else {}
        counts |= {"messages": 1} if "messages.n" in self._kinds else {}
        offset = self._offset()
        head = {
            **self._head,
            "counts": {
                **self._head["counts"],
                "events": many,
                "edges": edges,
                "reported": dict(self._report.counts),
            },
            "chains": {**self._head["chains"], "offset": offset},
            "order": lane_order(len(self._chains), self._weight),
            "irregularities": [*self._irregularities(offset)],
        }
        columns = [
            Column(name, kind, counts.get(name, many), b"".join(self.parts[name]))
            for name, kind in self._kinds.items()
        ]
        return {**head, "digest": digest_of(head, columns)}, columns

    def _offset(self) -> list[int]:
        return [0, *accumulate(len(one.kind) for one in self._chains)]

    def _irregularities(self, offset: Sequence[int]) -> Iterator[list[object]]:
        for one in self._report.findings[:IRREGULARITIES]:
            chain, index = self._place((one.line or 0) - 1)
            yield [one.kind, offset[chain] + index, one.file, one.line, one.message]

    def _place(self, row: int) -> tuple[int, int]:
        return self._chain[self._table.processes[row]], self._table.seqs[row] - 1

    def _take(self, table: EventTable, first: int, messages: Iterable[tuple[int, int]]) -> None:
        """Put events from number `first` on at the ends of their chains; `messages` arrive at them."""
        self._table, sending = table, {b: a for a, b in messages}
        columns = (table.processes, table.kinds, table.messages, table.labels, table.lines)
        news = zip(*(column[first:] for column in columns), strict=True)
        for row, (process, kind, message, label, line) in enumerate(news, first):
            number = self._chain.get(process, -1)
            if number < 0:
                raise Unsteady
            own = self._chains[number]
            at = len(own.kind)
            own.seq.add(at + 1)
            own.line.add(line)
            text = label or ""
            if text and "labels" not in self._kinds:
                raise Unsteady
            which = self._labels.setdefault(text, len(self._labels))
            if "labels.of" in self._kinds:
                if which > 255 and self._kinds["labels.of"] == "u8":
                    raise Unsteady
                own.label += bytes([which]) if self._kinds["labels.of"] == "u8" else leb(which)
            else:
                own.label += f"{escaped(text)}\n".encode()
            self._sends(own, message if kind == "send" else None)
            own.kind.append(1 | UNHEARD if kind == "send" else 2 if kind == "receive" else 0)
            if kind == "receive":
                of, index = self._place(sending[row])
                if self._group[of] != self._group[number]:
                    raise Unsteady
                self._chains[of].kind[index] &= ~UNHEARD
                own.dst.add(at)
                own.src += leb(zigzag(of - number)) + leb(zigzag(index - at))
                own.heard += 1
                self._weight[min(of, number), max(of, number)] += 1

    def _sends(self, own: _Chain, message: str | None) -> None:
        if "messages.n" not in self._kinds:
            if message and "messages" not in self._kinds:
                raise Unsteady
            own.messages += f"{escaped(message or '')}\n".encode()
            return
        number = self._counter(message) if message else None
        if message and (number is None or int(number[1]) + 1 == own.sent.last):
            raise Unsteady
        own.sent.add(None if number is None else int(number[1]) + 1)

    def _parts(self) -> dict[str, list[bytes]]:
        """The bytes of all columns. Raises `Unsteady` where a column would have another form."""
        chains, none = self._chains, [0] * len(self._chains)
        listed = 4 * len(self._labels) <= sum(len(one.kind) for one in chains)
        if "labels" in self._kinds and listed != ("labels.of" in self._kinds):
            raise Unsteady
        labels = [bytes(one.label) for one in chains]
        found = {
            "kind": [bytes(one.kind) for one in chains],
            "dst": _joined([one.dst for one in chains], self._offset()[:-1]),
            "src": [bytes(one.src) for one in chains],
            "why": [bytes(one.heard) for one in chains],
            "seq": _joined([one.seq for one in chains], none),
            "line": _joined([one.line for one in chains], none),
            "labels": labels,
            "messages": [bytes(one.messages) for one in chains],
            "apart": [b""],
        }
        if "labels.of" in self._kinds:
            found["labels"], found["labels.of"] = (
                ["".join(f"{escaped(t)}\n" for t in self._labels).encode()],
                labels,
            )
        if "messages.n" in self._kinds:
            last = 0
            for sent in (one.sent for one in chains if one.sent.first is not None):
                if sent.first == last:
                    raise Unsteady
                last = sent.last
            found["messages"] = [f"{escaped(self._word)}\n".encode()]
            found["messages.n"] = _joined([one.sent for one in chains], none)
        if not found.keys() >= self._kinds.keys():
            raise Unsteady
        return {name: found[name] for name in self._kinds}


def pieces(old: Parts, new: Parts) -> dict[str, list[Piece]]:
    """What makes columns out of those that they were. Cost: linear in the parts that are others."""
    found: dict[str, list[Piece]] = {}
    for name, parts in new.items():
        at, listed = 0, found.setdefault(name, [])
        for was, part in zip(old[name], parts, strict=True):
            if was != part:
                same = _same(was, part)
                listed.append((at + same, len(was) - same, base64.b64encode(part[same:]).decode()))
            at += len(was)
    return found


def _same(one: bytes, other: bytes) -> int:
    """How many bytes two begin with alike. Cost: as to compare them, times a logarithm."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
