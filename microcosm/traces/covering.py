"""An execution as a few edges and what every process knew at the end: for traces too large for rows of bits.

The edges are what orders: consecutive events of a process, a sending and its reception, what a clock
has newly seen. All else that is ordered follows from them; of what is concurrent only what was asked for
is told.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import chain, combinations, pairwise

from microcosm.givens.relation import Relation
from microcosm.traces.causality import Causality
from microcosm.traces.event import TraceEvent
from microcosm.traces.execution import Execution, executions
from microcosm.traces.report import HARMLESS, Report

MOST_CHOSEN = 5_000
"""So many events of a trace may be asked about at once: their pairs are millions."""

WIDEST = 1_000
"""A frontier is told of so many processes at most: where each event is a process of its own, as in graphs
of commits, frontiers are whole pasts."""

Edge = tuple[str, str, str, str]
"""left, relation, right, source"""


@dataclass(frozen=True, slots=True)
class Frontier:
    """What a process knew by its last event: the highest position in its past, for every process in it.

    `knows` is None where these are more than `WIDEST`.
    """

    process: str
    last: str
    knows: dict[str, int] | None


@dataclass(slots=True)
class Foreign:
    """A link to an event that is not in the execution: `right` says that `left` came before it.

    `last`: nothing of the execution comes after `right`, so that believing this closes no cycle.
    """

    left: str
    right: str
    last: bool
    file: str
    line: int


@dataclass(slots=True)
class Covering:
    """The edges of an execution and the frontiers of its processes; `events` counts those kept.

    `apart` are the events that prove to be of executions which the log does not name.
    """

    events: int = 0
    edges: list[Edge] = field(default_factory=list)
    frontiers: list[Frontier] = field(default_factory=list)
    foreign: list[Foreign] = field(default_factory=list)
    apart: list[TraceEvent] = field(default_factory=list)


def covering(
    events: Collection[TraceEvent],
    report: Report,
    *,
    full_names: bool = False,
    token: str | None = None,
    chosen: Collection[tuple[str, int]] = (),
    complete: bool = True,
    names: Collection[str] = (),
) -> Covering:
    """The edges and frontiers of one execution.

    `full_names` puts the execution before the names of its events, as where there are several; so it is also
    where these prove to be several, as clocks that begin again show. `token`
    names an attribute: consecutive holders of one value are related by `<>`. `chosen` are events, by
    process and position: those of them that are concurrent are related by `||`, where both have clocks by
    these, else where the log is said to be `complete`, shows no holes, and no link leads out of it. Other
    executions have `names`.

    Cost: linear in the events times the processes, and for chosen events quadratic in these.

    >>> log = [TraceEvent("p", 1, "send", "m"), TraceEvent("q", 1, "receive", "m"), TraceEvent("p", 2)]
    >>> found = covering(log, Report(), chosen=[("q", 1), ("p", 2)])
    >>> for edge in found.edges: print(edge)
    ('p:1', '<', 'p:2', 'process p')
    ('p:1', '<', 'q:1', 'message m')
    ('p:2', '||', 'q:1', 'concurrent')
    >>> [(each.process, each.knows) for each in found.frontiers]
    [('p', {'p': 2}), ('q', {'p': 1, 'q': 1})]
    """
    found = Covering()
    runs = executions(events, report, names)
    stated = {event.trace for event in events}
    parts = [_Part(run, report, full_names or len(runs) > 1) for run in runs]
    for run, part in zip(runs, parts, strict=True):
        found.events += len(run.events)
        found.apart += run.events if run.trace not in stated else ()
        found.edges += part.ordered()
        found.frontiers += part.frontiers()
        found.foreign += part.foreign()
        if token is not None:
            found.edges += part.holders(token)
    complete = complete and not found.foreign  # of what leads out, and perhaps in again, nothing is known
    for part in parts:  # now it is known what is missing
        if chosen:
            found.edges += part.concurrent(set(chosen), complete)
        part.report_isolated()
    return found


class _Part:
    """What one execution gives as edges and frontiers."""

    def __init__(self, run: Execution, report: Report, full_names: bool) -> None:
        self._run = run
        self._causality = causality = Causality(run, full_names, report)
        self._names = causality.names
        self._related: set[int] = {*causality.exchange.message_events}

    def ordered(self) -> list[Edge]:
        """The edges that order, each pair once: of its sources the first of process, message, clock, link."""
        edges: dict[tuple[int, int], str] = {}
        for before, after, source in self._causality.edges():
            edges.setdefault((before, after), source)
        self._related.update(chain.from_iterable(edges))
        return [(self._names[a], "<", self._names[b], source) for (a, b), source in edges.items()]

    def frontiers(self) -> list[Frontier]:
        """What each process knew. Memory: a vector for each event that something still waits for."""
        run, order = self._run, self._causality.before.order
        uses = [0] * len(run.events)
        for event in order:
            for source in self._causality.before.into(event):
                uses[source] += 1
        last = {process: [each[-1] for each in chains if each] for process, chains in run.chains.items()}
        for end in chain.from_iterable(last.values()):
            uses[end] += 1  # what a process ends with is kept
        vectors: dict[int, dict[str, int] | None] = {}
        for event in order:
            known: dict[str, int] | None = {}
            for at, source in enumerate(self._causality.before.into(event)):
                vector = vectors[source]
                uses[source] -= 1
                if not uses[source]:
                    del vectors[source]
                if known is None or vector is None:
                    known = None
                elif at == 0:
                    known = vector if not uses[source] else dict(vector)
                else:
                    for process, seq in vector.items():
                        if seq > known.get(process, 0):
                            known[process] = seq
            if known is not None:
                entry = run.events[event]
                known[entry.process] = max(entry.seq, known.get(entry.process, 0))
                if len(known) > WIDEST:
                    known = None
            if uses[event]:
                vectors[event] = known
        # A process has no last event where all of its events have names that are taken.
        return [self._frontier(process, ends, vectors) for process, ends in last.items() if ends]

    def foreign(self) -> list[Foreign]:
        """The links to events that are not here."""
        events, names = self._run.events, self._names
        links = self._causality.foreign()
        return [Foreign(name, names[e], last, events[e].file, events[e].line) for e, name, _, last in links]

    def holders(self, token: str) -> list[Edge]:
        """Consecutive holders of each token, by `<>`; nothing where clocks show two to be concurrent."""
        edges: list[Edge] = []
        for name, group in self._causality.holders(token).items():
            if not self._causality.clash(name, group):
                self._related.update(group if len(group) > 1 else ())
                edges += [(self._names[a], "<>", self._names[b], f"token {name}") for a, b in pairwise(group)]
        return edges

    def concurrent(self, chosen: set[tuple[str, int]], complete: bool) -> list[Edge]:
        """The pairs of chosen events that are concurrent."""
        run = self._run
        wanted = [at for at, entry in enumerate(run.events) if (entry.process, entry.seq) in chosen]
        if len(wanted) > MOST_CHOSEN:
            what = f"{len(wanted):,} events are chosen, more than {MOST_CHOSEN:,}"
            self._causality.odd("too-many-chosen", wanted[0], what)
            return []
        report = self._causality.report
        complete = complete and not report.lost and {*report.counts} <= HARMLESS
        pasts = self._pasts(wanted) if complete else {}
        edges: list[Edge] = []
        for (i, a), (j, b) in combinations(enumerate(wanted), 2):
            if run.events[a].process == run.events[b].process:
                continue
            by_clock = self._causality.by_clocks(a, b)
            unordered = complete and not pasts[b] >> i & 1 and not pasts[a] >> j & 1
            if by_clock is Relation.CONCURRENT or (by_clock is None and unordered):
                left, right = sorted((self._names[a], self._names[b]))
                edges.append((left, "||", right, "concurrent"))
                self._related.update((a, b))
        return edges

    def report_isolated(self) -> None:
        """Report the events that no given names."""
        known = self._related | self._causality.times.keys() | self._causality.stamps.keys()
        self._causality.isolated(event for event in range(len(self._names)) if event not in known)

    def _pasts(self, wanted: list[int]) -> dict[int, int]:
        """The chosen events in the past of each chosen one, as bits."""
        place = {event: at for at, event in enumerate(wanted)}
        rows = [0] * len(self._run.events)
        for event in self._causality.before.order:
            row = 0
            for source in self._causality.before.into(event):
                row |= rows[source] | (1 << place[source] if source in place else 0)
            rows[event] = row
        return {event: rows[event] for event in wanted}

    def _frontier(self, process: str, ends: list[int], vectors: dict[int, dict[str, int] | None]) -> Frontier:
        last = max(ends, key=lambda end: self._run.events[end].seq)
        knows: dict[str, int] = {}
        for end in ends:
            vector = vectors[end]
            if vector is None:
                what = f"{process} knew of more than {WIDEST:,} processes"
                self._causality.odd("wide-frontier", last, what, False)
                return Frontier(process, self._names[last], None)
            for name, seq in vector.items():
                knows[name] = max(seq, knows.get(name, 0))
        return Frontier(process, self._names[last], dict(sorted(knows.items())))
