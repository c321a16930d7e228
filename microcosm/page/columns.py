"""The model of a page: the events of a microcosm, numbered chain by chain, and what is said of each.

A lane is a process of the log, and may hold several chains; what belongs to no known process has lanes of its
own, which chains share that are not there at the same time. Chains are found in one pass over the events in
causal order, as those of `order.chain_cover` are, but without vectors.

What the page can work out itself (depth, vectors, cones) does not go into the file. What the log says of its
events (labels, places, gaps, lost messages) is shown, and nothing is deduced from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from operator import lt
from typing import Any

from microcosm.compare.verdict_rows import seeds_own
from microcosm.engine.engine import Engine
from microcosm.engine.ground import INTERNAL, Processes
from microcosm.engine.lowering import online
from microcosm.givens.event_table import EventTable
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.order.bits import bits
from microcosm.order.happens_before import cycle_or_order, edge_sets
from microcosm.order.order import Closure
from microcosm.page.packing import Column, integers, lines, moments, naturals, numbered, small, steps, words
from microcosm.queries.drawing import lane_order, processes_by_source
from microcosm.traces.event import ANSWERED, SENDS
from microcosm.traces.report import Irregularity, Report


@dataclass(frozen=True, slots=True)
class Lane:
    """A line of the picture; `known` says whether it is a process, called `name`, and not just some room."""

    name: str
    known: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The chains, each a list of events in order, and the lane of each; `order` lists lanes from above."""

    chains: list[list[int]]
    lane: list[int]
    lanes: list[Lane]
    order: list[int]
    causal: Sequence[int]
    """All events in an order that extends the given one."""


def laid_out(lefts: Sequence[int], rights: Sequence[int], owners: Sequence[str | None]) -> Layout:
    """The layout of the events 0, 1, … of which `lefts[i]` comes before `rights[i]`.

    `owners` says the process of each, None where nobody knows. Raises `Cycle`. Cost: linear in events and
    pairs; and where some pair leads downwards, a topological sort.

    >>> found = laid_out([0, 2, 0], [1, 3, 3], ["p", "p", "q", "q"])
    >>> found.chains, [lane.name for lane in found.lanes], found.order
    ([[0, 1], [2, 3]], ['p', 'q'], [0, 1])
    """
    size = len(owners)
    causal: Sequence[int] = range(size)
    if not all(map(lt, lefts, rights)):
        causal = cycle_or_order(size, *edge_sets(size, zip(lefts, rights, strict=True)))
    before: list[list[int] | None] = [None] * size
    for a, b in zip(lefts, rights, strict=True):
        known = before[b]
        if known is None:
            before[b] = [a]
        else:
            known.append(a)
    chains, chain = _chains(causal, before, owners)
    lanes, lane = _lanes(chains, causal, before, owners)
    by_lane = sorted(range(len(chains)), key=lambda number: (lane[number], chains[number][0]))
    weight: Counter[tuple[int, int]] = Counter()
    for b, several in enumerate(before):
        for a in several or ():
            if chain[a] != chain[b]:
                one, other = lane[chain[a]], lane[chain[b]]
                if one != other:
                    weight[(one, other) if one < other else (other, one)] += 1
    return Layout(
        [chains[number] for number in by_lane],
        [lane[number] for number in by_lane],
        lanes,
        lane_order(len(lanes), weight),
        causal,
    )


def _chains(
    causal: Sequence[int], before: Sequence[Sequence[int] | None], owners: Sequence[str | None]
) -> tuple[list[list[int]], list[int]]:
    """An event continues the chain of a predecessor of its process that is still the last of its chain."""
    chain = [0] * len(owners)
    chains: list[list[int]] = []
    for v in causal:
        for u in before[v] or ():
            members = chains[chain[u]]
            if members[-1] == u and owners[u] == owners[v]:
                chain[v] = chain[u]
                members.append(v)
                break
        else:
            chain[v] = len(chains)
            chains.append([v])
    return chains, chain


def _lanes(
    chains: Sequence[Sequence[int]],
    causal: Sequence[int],
    before: Sequence[Sequence[int] | None],
    owners: Sequence[str | None],
) -> tuple[list[Lane], list[int]]:
    """A lane for each process, in the order in which they appear, then as few as do for the other chains."""
    named: dict[str, int] = {}
    for process in dict.fromkeys(owners):
        if process is not None:
            named[process] = len(named)
    lanes = [Lane(name, True) for name in named]
    lane = [0] * len(chains)
    others = []
    for number, members in enumerate(chains):
        process = owners[members[0]]
        if process is None:
            others.append(number)
        else:
            lane[number] = named[process]
    if others:
        depth = depths(causal, before)
        others.sort(key=lambda number: (depth[chains[number][0]], number))
        ends: list[int] = []  # of the last chain on each lane
        for number in others:
            begin, end = depth[chains[number][0]], depth[chains[number][-1]]
            room = next((at for at, last in enumerate(ends) if last + 1 < begin), len(ends))
            if room == len(ends):
                ends.append(end)
                lanes.append(Lane("", False))
            ends[room] = end
            lane[number] = len(named) + room
    return lanes, lane


def depths(causal: Sequence[int], before: Sequence[Sequence[int] | None]) -> list[int]:
    """The length of the longest chain of given pairs that leads to each event. Cost: linear.

    >>> depths([0, 1, 2], [None, [0], [0, 1]])
    [0, 1, 2]
    """
    depth = [0] * len(before)
    for v in causal:
        several = before[v]
        if several is not None:
            depth[v] = 1 + max(map(depth.__getitem__, several))
    return depth


MESSAGE, LINK, CLOCK, STATED = range(4)
"""Why an event is before another: what the column `why` says."""

UNHEARD, UNSENT, CLOCKED, GAP, ODD, TIMED = 4, 8, 16, 32, 64, 128
"""Bits of the column `kind`, above the two that say internal, send or receive.

`CLOCKED` has a clock that tells of every other such event how the two stand; `TIMED` another clock.
"""

DRAWN = ("seq-gap", "clock-gap", "unmatched-receive", "unreceived-send", "isolated-event")
"""Irregularities that the picture has signs of its own for."""

IRREGULARITIES = 5_000
"""So many irregularities are told one by one."""

_KINDS = {"": 0, "internal": 0} | dict.fromkeys(SENDS, 1) | dict.fromkeys(ANSWERED, 2)


Edge = tuple[int, int, int]
"""A given pair that no chain shows: the event to which it leads, that from which it comes, and why."""


class PageModel:
    """The events of one microcosm by their numbers in the page, and what is said of each.

    Named events, and those of its log that nothing relates. Raises `Undefined`. Cost: linear in the givens,
    and in lanes as `lane_order`.
    """

    def __init__(self, engine: Engine, givens: Givens, report: Report | None = None) -> None:
        self.engine, self.givens, self.report = engine, givens, report
        self._columns_read: dict[str, list[Any]] = {}
        self.table: EventTable | None = givens.events
        universe = engine.universe
        position = universe.position
        places = (
            list(position) if not universe.vacant else [universe.names[at] for at in bits(universe.named)]
        )
        if self.table is not None:
            places += [name for name in self.table.names if name not in position]
        place = {name: at for at, name in enumerate(places)}
        rows = [-1] * len(places)
        if self.table is not None:
            for row, name in enumerate(self.table.names):
                rows[place[name]] = row
        owners = self._owners(places, rows)
        stated = self._stated(place)
        self.layout: Layout = laid_out(stated[0], stated[1], owners)
        order = [at for members in self.layout.chains for at in members]
        number = [0] * len(order)
        for new, at in enumerate(order):
            number[at] = new
        self.names = [places[at] for at in order]
        """Of each event, chain by chain, each chain in its order."""
        self.rows = [rows[at] for at in order]
        """Of each event its row in the event table, or -1."""
        self.offset = [0]
        for members in self.layout.chains:
            self.offset.append(self.offset[-1] + len(members))
        self.chain = [c for c, members in enumerate(self.layout.chains) for _ in members]
        self.causal = [number[at] for at in self.layout.causal]
        lefts, rights = (map(number.__getitem__, column) for column in stated[:2])
        self.edges = self._crossing(lefts, rights, stated[2])

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each event by its name."""
        return {name: at for at, name in enumerate(self.names)}

    # -- what is before what -------------------------------------------------------------------------------

    def _owners(self, places: Sequence[str], rows: Sequence[int]) -> list[str | None]:
        """The process of each event as the log has it; else as clocks, messages, ids or sources tell.

        None for an event that is its own process, as a commit is: a lane would tell nothing of it.
        """
        found: list[str | None] = [None] * len(places)
        if self.table is not None:
            processes = [*self.table.processes]
            found = [processes[row] or None if row >= 0 else None for row in rows]
        if None in found:
            by_givens = Processes(self.givens, self.engine.universe)
            position = self.engine.universe.position
            by_source = {} if self.givens.order_columns is not None else processes_by_source(self.givens)
            for at, name in enumerate(places):
                if found[at] is None and name in position:
                    process = by_givens(position[name])
                    if process is INTERNAL:
                        process = self.givens.name or "internal events"
                    found[at] = by_source.get(name) if process is None else str(process)
        events = Counter(found)
        return [
            None if process == name and events[process] == 1 else process
            for process, name in zip(found, places, strict=True)
        ]

    def _stated(self, place: dict[str, int]) -> tuple[list[int], list[int], list[int]]:
        """Pairs from which happens-before follows, as columns of left ends, right ends and reasons."""
        lefts: list[int] = []
        rights: list[int] = []
        why: list[int] = []
        givens, links = self.givens, self.givens.order_columns
        if links is not None:
            at = [*map(place.__getitem__, links.names)]
            lefts += map(at.__getitem__, links.lefts)
            rights += map(at.__getitem__, links.rights)
            why += map(_reason, chain.from_iterable(links.sources))
        else:
            facts = [fact for fact in givens.external.values() if fact.relation is Relation.BEFORE]
            lefts += [place[fact.left] for fact in facts]
            rights += [place[fact.right] for fact in facts]
            why += [_reason(fact.source) for fact in facts]
        names = self.engine.universe.names
        others = [(place[a], place[b], STATED) for a, b in pairwise(givens.internal)]
        others += [(place[names[a]], place[names[b]], CLOCK) for a, b in self.engine.ground.clocks.cover()]
        if not self.shortcuts:
            closed = self.engine.memo.judged(online(Relation.BEFORE))
            if isinstance(closed, Closure):
                others += [(place[names[a]], place[names[b]], STATED) for a, b in closed.order.edges()]
        if others:
            more = zip(*others, strict=True)
            for column, values in zip((lefts, rights, why), more, strict=True):
                column.extend(values)
        return lefts, rights, why

    def _crossing(self, sources: Iterable[int], targets: Iterable[int], why: Iterable[int]) -> list[Edge]:
        """The pairs that no chain of a process shows, once each, by the event to which they lead."""
        chain, lane, lanes = self.chain, self.layout.lane, self.layout.lanes
        drawn = [lanes[number].known for number in lane]
        found: dict[tuple[int, int], int] = {}
        for a, b, reason in zip(sources, targets, why, strict=True):
            if b != a + 1 or chain[a] != chain[b] or not drawn[chain[a]] or reason == MESSAGE:
                found.setdefault((b, a), reason)
        return [(b, a, found[b, a]) for b, a in sorted(found)]

    @cached_property
    def shortcuts(self) -> bool:
        """Whether the rules are those of which it is known what follows from what."""
        return seeds_own(self.engine.rules)

    @cached_property
    def closed(self) -> bool:
        """Whether `<` is the closure of what is given, so that chains and edges say all of it."""
        return self.shortcuts or isinstance(self.engine.memo.judged(online(Relation.BEFORE)), Closure)

    # -- what the log says of its events -------------------------------------------------------------------

    def column(self, name: str, absent: Any) -> list[Any]:
        """A column of the event table by the numbers of the page."""
        found = self._columns_read.get(name)
        if found is None:
            values = [] if self.table is None else [*getattr(self.table, name)]
            values.append(absent)  # which is at -1
            found = self._columns_read[name] = [*map(values.__getitem__, self.rows)]
        return found

    @cached_property
    def messages(self) -> tuple[bytearray, list[str]]:
        """Of each event whether it sends (1) or receives (2), and what."""
        kinds = bytearray(map(_KINDS.__getitem__, self.column("kinds", "")))
        messages = [message or "" for message in self.column("messages", None)]
        if -1 in self.rows:
            for message in self.givens.messages:
                at = self.number[message.event]
                if self.rows[at] < 0:
                    kinds[at], messages[at] = 1 + (message.kind == "receive"), message.message
        return kinds, messages

    @cached_property
    def lost(self) -> dict[int, list[str]]:
        """The events whose message has no other end in the log: of a sending those that should receive it."""
        kinds, messages = self.messages
        sent = {message for kind, message in zip(kinds, messages, strict=True) if kind == 1}
        received = {message for kind, message in zip(kinds, messages, strict=True) if kind == 2}
        found: dict[int, list[str]] = {}
        for at, (kind, message) in enumerate(zip(kinds, messages, strict=True)):
            if message and ((kind == 1 and message not in received) or (kind == 2 and message not in sent)):
                found[at] = []
        if self.givens.message_columns is None:  # else nobody knows any receiver
            heard = {(m.message, m.process) for m in self.givens.messages if m.kind == "receive"}
            for m in self.givens.messages:
                if m.kind == "send" and m.receivers:
                    missing = [to for to in m.receivers if (m.message, to) not in heard]
                    if missing:
                        found[self.number[m.event]] = missing
        return found

    @cached_property
    def gaps(self) -> list[tuple[int, int | None]]:
        """The events before which some of their process are missing, and how many, where that is known.

        By their own clock values, where both have one; else by positions.
        """
        seqs, clocks, lane = self.column("seqs", 0), self.givens.clocks, self.layout.lane
        found: list[tuple[int, int | None]] = []
        for number, members in enumerate(self.layout.chains):
            if not self.layout.lanes[lane[number]].known:
                continue
            first = self.offset[number]
            last_seq = last_own = 0
            timed = True
            for at in range(first, first + len(members)):
                clock = clocks.get(self.names[at]) if clocks else None
                missing = seqs[at] - last_seq - 1 if seqs[at] else 0
                if clock is not None and timed:
                    missing = max(missing if at > first else 0, clock.own - last_own - 1)
                # Nothing says what comes before a chain that is not the first one of its lane.
                scattered = at == first and number > 0 and lane[number - 1] == lane[number]
                if missing > 0 and not scattered:
                    found.append((at, missing))
                last_seq = seqs[at] or last_seq + 1
                timed = clock is not None
                last_own = clock.own if clock is not None else 0
        return found

    @cached_property
    def irregularities(self) -> list[tuple[Irregularity, int | None]]:
        """What the reader of the log found odd, with the event at that place, if there is one."""
        if self.report is None:
            return []
        found = self.report.findings[:IRREGULARITIES]
        places = {(one.file, one.line) for one in found}
        at_place = {
            place: at
            for at, place in enumerate(zip(self.column("files", ""), self.column("lines", 0), strict=True))
            if place in places
        }
        return [(one, at_place.get((one.file, one.line or 0))) for one in found]

    @cached_property
    def kinds(self) -> bytearray:
        """The column `kind`."""
        kinds = bytearray(self.messages[0])
        for at in self.lost:
            kinds[at] |= UNHEARD if kinds[at] & 3 == 1 else UNSENT
        for at, _ in self.gaps:
            kinds[at] |= GAP
        for one, event in self.irregularities:
            if event is not None and one.kind not in DRAWN:
                kinds[event] |= ODD
        for name, clock in self.givens.clocks.items():
            kinds[self.number[name]] |= CLOCKED if clock.ticked and clock.own > 0 else TIMED
        return kinds

    def given(self) -> Iterator[list[object]]:
        """What is given besides orders: `[a, sign, b, source]` for each `||`, `<>` and `!<`."""
        givens = self.givens
        stated = () if givens.order_columns is not None else givens.external.values()
        for fact in chain(stated, givens.refuted.values()):
            if fact.relation is not Relation.BEFORE:
                yield [self.number[fact.left], fact.relation.value, self.number[fact.right], fact.source]

    def columns(self) -> Iterator[Column]:
        """The columns of the events and of the pairs between chains. Cost: linear."""
        yield small("kind", self.kinds)
        chain, offset = self.chain, self.offset
        yield steps("dst", [b for b, _, _ in self.edges])
        unlinked: list[int] = []
        for b, a, _ in self.edges:
            to, of = chain[b], chain[a]
            unlinked += (of - to, (a - offset[of]) - (b - offset[to]))
        yield integers("src", unlinked)
        yield small("why", bytes([why for _, _, why in self.edges]))
        yield from self._name_columns()
        labels = [label or "" for label in self.column("labels", None)]
        if any(labels):
            own = [] if self.table is None else [label or "" for label in self.table.labels]
            yield from words("labels", labels, own)  # as the log says them, to which it may add
        if any(self.messages[1]):
            yield from numbered("messages", self.messages_sent)
        if self.table is not None:
            yield steps("line", self.column("lines", 0))
            if len(self.files) > 2:
                at = {file: number for number, file in enumerate(self.files)}
                yield steps("file", [at[file] for file in self.column("files", "")])
            times = moments(self.column("times", None))
            if times is not None:
                yield steps("time", times)
        if self.executions:
            run = {name: number for number, name in enumerate(self.executions)}
            runs = [
                run[clock.execution] if (clock := self.givens.clocks.get(name)) else 0 for name in self.names
            ]
            yield naturals("run", runs)

    @cached_property
    def files(self) -> list[str]:
        """The files of the log; the first one is no file, for events of which no place is known."""
        return [*dict.fromkeys(["", *self.column("files", "")])]

    @cached_property
    def executions(self) -> list[str | None]:
        """The executions of which there are clocks, where they are several."""
        found = dict.fromkeys(clock.execution for clock in self.givens.clocks.values())
        return [*found] if len(found) > 1 else []

    @cached_property
    def messages_sent(self) -> list[str]:
        """The message of each event; empty where that is what the sending says that an edge comes from."""
        messages = [*self.messages[1]]
        for b, a, why in self.edges:
            if why == MESSAGE and messages[b] == self.messages[1][a]:
                messages[b] = ""
        return messages

    def _name_columns(self) -> Iterator[Column]:
        """Positions in their processes, and the names that are not made of these."""
        lanes, seqs = self.layout.lanes, self.column("seqs", 0)
        made: list[bool] = []
        for number, members in enumerate(self.layout.chains):
            lane, first = lanes[self.layout.lane[number]], self.offset[number]
            begin = f"{lane.name}:"
            made += [
                lane.known and seqs[at] > 0 and self.names[at] == f"{begin}{seqs[at]}"
                for at in range(first, first + len(members))
            ]
        if any(seqs):
            yield steps("seq", seqs)
        if not all(made):
            yield lines("names", ["" if own else name for own, name in zip(made, self.names, strict=True)])


def _reason(source: str | None) -> int:
    if source is None:
        return STATED
    if source.startswith("message "):
        return MESSAGE
    if source.startswith("vector time"):
        return CLOCK
    return LINK if source in ("link", "parent", "span link") else STATED
