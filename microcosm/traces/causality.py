"""What came before what in an execution: a graph of few edges, never all pairs.

An edge leads from an event to the next of its process, from a sending to its reception, and from
what a clock has newly seen to the event of that clock. Messages and stamps that contradict the
clocks or the order of processes are reported and not believed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from microcosm.givens.clock import between
from microcosm.givens.exact import Number
from microcosm.givens.relation import Relation
from microcosm.givens.stamp import Stamp
from microcosm.traces.clocks import Clocks
from microcosm.traces.execution import Execution
from microcosm.traces.messages import Exchange
from microcosm.traces.report import Report


class Before:
    """The graph of an execution, acyclic: `sources[i]` lead to event i besides the one before it.

    `pairs` are the messages that are believed, `links` the other orders that the log states, `stamps`
    the stamps that are believed. `order` lists the events so that every edge leads onwards.
    """

    def __init__(self, execution: Execution, clocks: Clocks, found: Exchange, report: Report) -> None:
        self._execution = execution
        self._report = report
        self.pairs = [pair for pair in found.pairs if not self._against_clock(clocks, *pair)]
        self.links = [(before, event) for event, sources in execution.links.items() for before in sources]
        self.sources = self._sources(clocks)
        self.order = self._topological()
        if len(self.order) < len(execution.events):
            self._break_cycles()
            self.sources = self._sources(clocks)
            self.order = self._topological()
        self.stamps = self._stamps()

    def into(self, event: int) -> Iterable[int]:
        """The events that lead to this one by an edge."""
        before = self._execution.previous[event]
        return (*(() if before < 0 else (before,)), *self.sources.get(event, ()))

    def past(self, events: Iterable[int]) -> set[int]:
        """These events and all that came before them. Cost: linear in the edges among them."""
        found = set(events)
        waiting = list(found)
        while waiting:
            for event in self.into(waiting.pop()):
                if event not in found:
                    found.add(event)
                    waiting.append(event)
        return found

    def _against_clock(self, clocks: Clocks, sending: int, reception: int) -> bool:
        sent, received = clocks.times.get(sending), clocks.times.get(reception)
        if sent is None or received is None or sent.process == received.process:
            return False  # within a process its order tells, below
        if between(sent, received) in (None, Relation.BEFORE):
            return False
        s, r = self._execution.events[sending], self._execution.events[reception]
        message = f"{r.id}: its clock has not seen {s.id}, the sending of {r.message}"
        self._report.add("message-against-clock", message, file=r.file, line=r.line)
        return True

    def _sources(self, clocks: Clocks) -> dict[int, list[int]]:
        sources = {event: list(seen) for event, seen in clocks.covers.items()}
        for before, after in chain(self.pairs, self.links):
            sources.setdefault(after, []).append(before)
        return sources

    def _topological(self) -> list[int]:
        """The events in an order that extends the edges; those on or behind a cycle are missing."""
        count = len(self._execution.events)
        targets: dict[int, list[int]] = {}
        waiting = [0 if before < 0 else 1 for before in self._execution.previous]
        for event, sources in self.sources.items():
            waiting[event] += len(sources)
            for source in sources:
                targets.setdefault(source, []).append(event)
        order = [event for event in range(count) if not waiting[event]]
        for event in order:
            following = targets.get(event, [])
            if event + 1 < count and self._execution.previous[event + 1] == event:
                following = [*following, event + 1]
            for target in following:
                waiting[target] -= 1
                if not waiting[target]:
                    order.append(target)
        return order

    def _break_cycles(self) -> None:
        """Give up the messages and links that lie on cycles: they contradict the order of processes."""
        part = self._components(set(range(len(self._execution.events))).difference(self.order))
        kept = []
        for sending, reception in self.pairs:
            if sending in part and part.get(reception) == part[sending]:
                s, r = self._execution.events[sending], self._execution.events[reception]
                message = f"{r.id}: receives {r.message} before {s.id} sends it"
                self._report.add("message-cycle", message, file=r.file, line=r.line)
            else:
                kept.append((sending, reception))
        self.pairs = kept
        for before, after in self.links:
            if before in part and part.get(after) == part[before]:
                entry = self._execution.events[after]
                message = f"{entry.id}: is after {self._execution.events[before].id} and before it"
                self._report.add("link-cycle", message, file=entry.file, line=entry.line)
        self.links = [(a, b) for a, b in self.links if a not in part or part.get(b) != part[a]]

    def _components(self, events: set[int]) -> dict[int, int]:
        """The strongly connected components among `events`, each by one of its members (Tarjan)."""
        number: dict[int, int] = {}
        low: dict[int, int] = {}
        part: dict[int, int] = {}
        open_: list[int] = []
        for root in sorted(events):
            if root in number:
                continue
            path = [(root, iter(tuple(self.into(root))))]
            number[root] = low[root] = len(number)
            open_.append(root)
            while path:
                event, sources = path[-1]
                source = next((s for s in sources if s in events and s not in part), None)
                if source is None:
                    path.pop()
                    if path:
                        above = path[-1][0]
                        low[above] = min(low[above], low[event])
                    if low[event] == number[event]:
                        while event not in part:
                            part[open_.pop()] = event
                elif source in number:
                    low[event] = min(low[event], number[source])
                else:
                    number[source] = low[source] = len(number)
                    open_.append(source)
                    path.append((source, iter(tuple(self.into(source)))))
        return part

    def _stamps(self) -> dict[int, Stamp]:
        """The stamps that are later than those of all that came before. Cost: linear in the edges."""
        entries = self._execution.events
        if all(entry.stamp is None for entry in entries):
            return {}
        lamport = [-1] * len(entries)
        earliest: list[Number | float] = [float("-inf")] * len(entries)
        kept: dict[int, Stamp] = {}
        for event in self.order:
            for source in self.into(event):
                lamport[event] = max(lamport[event], lamport[source])
                earliest[event] = max(earliest[event], earliest[source])
            stamp = entries[event].stamp
            if stamp is None:
                continue
            late = stamp <= lamport[event] if isinstance(stamp, int) else stamp[1] < earliest[event]
            if late:
                entry = entries[event]
                message = f"{entry.id}: its stamp is no later than that of an event before it"
                self._report.add("stamp-inversion", message, file=entry.file, line=entry.line)
                continue
            kept[event] = stamp
            if isinstance(stamp, int):
                lamport[event] = stamp
            else:
                earliest[event] = max(earliest[event], stamp[0])
        return kept
