"""What recorded times are good for: which clocks to believe, which events ticked, whom each has seen.

Right clocks grow along every process, and an event's clock covers the clock of whatever it has seen.
A clock that breaks this is reported and not believed; those that remain agree with each other, so
what they say of pairs is a strict partial order with its concurrency (tested by brute force).

An interval of a physical clock proves no order by itself: real time is no causal order, and two clocks may
differ. Where somebody states that all clocks of a log agree within `epsilon`, and that whatever is over
before something begins is before it (a linearizable system, a test that waits), then an event whose interval
ends more than `epsilon` before that of another begins is before it (`over_before`). That is knowledge of
whoever states it, and each correspondence that rests on it names it as its source.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest

from microcosm.givens.exact import Number
from microcosm.givens.relation import Clock, Stamp
from microcosm.traces.event import TraceEvent, covers
from microcosm.traces.execution import Execution
from microcosm.traces.report import Report


class Clocks:
    """The clocks of an execution that are believed: `times[i]` is that of event i.

    `covers[i]` has the latest events of other processes that i's clock
    has seen and the event before it in its process has not; none is implied by another.

    Cost: O(events × processes), and a logarithm for each entry that grows.
    """

    def __init__(self, execution: Execution, report: Report) -> None:
        self._execution = execution
        self._report = report
        self._ticked: dict[int, bool] = {}
        self.covers: dict[int, list[int]] = {}
        self.times: dict[int, Clock] = {}
        clocked: dict[str, list[int]] = {}
        for process, chains in execution.chains.items():
            chain = clocked[process] = [i for i in chains[0] if execution.events[i].clock is not None]
            events = [execution.events[i] for i in chain]
            ticks = ticked(events, process not in execution.discredited)
            self._ticked.update(zip(chain, ticks, strict=True))
        self._ticked.update(dict.fromkeys(execution.unticked & self._ticked.keys(), False))
        if any(event.numbered for event in execution.events):
            for at, advances in _by_kinds(execution, self._ticked).items():
                event = execution.events[at]
                if event.numbered:  # own lines count as well, where they leave out `seq`
                    self._ticked[at] = advances and (self._ticked[at] or not event.in_own_format)
        self._agreeing([event for chain in clocked.values() for event in self._growing(chain)])
        self.times = {
            event: Clock(execution.events[event].process, self._clock(event), ticks)
            for event, ticks in self._ticked.items()
        }

    def _clock(self, event: int) -> dict[str, int]:
        return self._execution.events[event].clock or {}

    def _growing(self, chain: list[int]) -> list[int]:
        """The events of a process whose clocks grow; of two that do not one forgets, or has too much.

        It is the one that is not in order with the next, nor, if it is the later, with the one before these.
        Where that does not tell neither is believed.
        """
        kept: list[int] = []
        for event, following in zip_longest(chain, chain[1:]):
            clock = self._clock(event)
            if not kept or covers(clock, self._clock(kept[-1])):
                kept.append(event)
                continue
            odd = {event}
            if len(kept) == 1 or covers(clock, self._clock(kept[-2])):
                odd = {kept[-1], event}
                then = {} if following is None else self._clock(following)
                fits = {one for one in odd if covers(then, self._clock(one))}
                odd = odd - fits or odd
            kept += (one for one in (kept.pop(), event) if one not in odd)
            for one in sorted(odd):
                self._drop("clock-not-monotone", one, "its clock and its neighbour's are not in order")
        return kept

    def _agreeing(self, events: list[int]) -> None:
        """Keep what agrees, in the order of the sums of clocks, which extends what right clocks say."""
        entries = self._execution.events
        clocks = {event: self._clock(event) for event in events}
        sums = {event: sum(clock.values()) for event, clock in clocks.items()}
        # Of two events with equal clocks only one that did not tick may have seen the other.
        order = sorted(events, key=lambda event: (sums[event], not self._ticked[event]))
        rank = {event: at for at, event in enumerate(order)}
        # Whoever has seen an event has at least so much for its process in the clock.
        least = {event: entries[event].own + (not self._ticked[event]) for event in events}
        chains: dict[str, tuple[list[int], list[int]]] = {}
        claimed: dict[str, int] = {}
        nothing: dict[str, int] = {}
        for event in order:
            process, clock = entries[event].process, clocks[event]
            own_leasts, own_chain = chains.setdefault(process, ([], []))
            if claimed.get(process, 0) >= least[event]:
                self._drop("clock-contradiction", event, "it was seen by an event that its clock has seen")
                continue
            before = (clocks[own_chain[-1]] if own_chain else nothing).get
            grown = [(at, value) for at, value in clock.items() if value > before(at, 0) and at != process]
            latest: list[int] = []
            for other, value in grown:
                if other in chains:
                    leasts, chain = chains[other]
                    reached = bisect_right(leasts, value) - 1
                    if reached >= 0 and leasts[reached] > before(other, 0):
                        latest.append(chain[reached])
            latest.sort(key=rank.__getitem__, reverse=True)
            kept: list[int] = []
            for other_event in latest:
                of, needed = entries[other_event].process, least[other_event]
                if all(clocks[later].get(of, 0) < needed for later in kept):
                    kept.append(other_event)
            behind = next((other for other in kept if not covers(clock, clocks[other])), None)
            if behind is not None:
                message = f"its clock has seen {entries[behind].id} but not all that that had seen"
                self._drop("clock-contradiction", event, message)
                continue
            own_leasts.append(least[event])
            own_chain.append(event)
            for name, value in grown:
                claimed[name] = max(claimed.get(name, 0), value)
            if kept:
                self.covers[event] = kept

    def _drop(self, kind: str, event: int, message: str) -> None:
        del self._ticked[event]
        entry = self._execution.events[event]
        self._report.add(kind, f"{entry.id}: {message}", file=entry.file, line=entry.line)


def ticked(events: Sequence[TraceEvent], positions: bool) -> list[bool]:
    """Which of the clocked events of a process, in program order, advanced its component themselves.

    All, where each own value is shown once; where the process repeats values, or by its positions
    must have done so in a hole of the log, only the first event of a value with no hole before it.
    `positions` says whether they count. An own value of 0 is never ticked.

    >>> p = [TraceEvent("p", seq, clock={"p": own}) for seq, own in ((1, 1), (2, 1), (3, 2), (5, 3))]
    >>> ticked(p, positions=True)
    [True, False, True, False]
    """
    owns, seqs = [event.own for event in events], [event.seq for event in events]
    repeats = bool(owns) and positions and 1 < seqs[0] > owns[0]
    for (last, before), (own, seq) in pairwise(zip(owns, seqs, strict=True)):
        repeats = repeats or own == last or (positions and own - last < seq - before)
    if not repeats:
        return [own > 0 for own in owns]
    ticks = []
    last = before = 0
    for event, own in zip(events, owns, strict=True):
        ticks.append(own == last + 1 and (not positions or event.place == before + 1))
        last, before = own, event.place
    return ticks


def _by_kinds(execution: Execution, ticks: Mapping[int, bool]) -> dict[int, bool]:
    """Which events ticked in a log without positions, which cannot show that an event before one is lost.

    Sendings and receptions do. Another event that shows a value first may follow one that ticked and is not
    in the log: so it did not tick where there are holes, nor where an event of such a name repeats a value.
    """
    entries = execution.events
    rising: dict[int, bool] = {}
    holes = False
    for chains in execution.chains.values():
        last = 0
        for event in chains[0]:
            if event in ticks:
                own = entries[event].own
                rising[event] = own > last
                holes = holes or own > last + 1
                last = own
    repeating = {_name(entries[event]) for event, rises in rising.items() if not rises}
    telling = bool(repeating) or any(entry.kind != "internal" for entry in entries)
    found = {}
    for event, rises in rising.items():
        if entries[event].kind != "internal":
            found[event] = rises
        elif (holes and telling) or _name(entries[event]) in repeating:
            found[event] = False
    return found


def _name(event: TraceEvent) -> str:
    """The first word of what an event is called."""
    return (event.label or "").split(" ", 1)[0]


def as_stated(epsilon: Number) -> str:
    """Where the correspondences come from, for proofs.

    >>> as_stated(0), as_stated(5)
    ('synchronous clocks, as stated', 'synchronous clocks within 5, as stated')
    """
    return f"synchronous clocks{f' within {epsilon}' if epsilon else ''}, as stated"


def over_before(stamps: Mapping[int, Stamp], epsilon: Number) -> Iterator[tuple[int, int]]:
    """Pairs that generate "the one was over before the other began", of events with intervals.

    A pair that follows of two others by way of one event is left out. Cost: n log n, and for each event as
    many pairs as events were under way at one time before it.

    >>> list(over_before({1: (0, 2), 2: (1, 3), 3: (4, 5), 4: (6, 7), 5: 9}, 0))
    [(1, 3), (2, 3), (3, 4)]
    >>> list(over_before({1: (0, 2), 2: (4, 5)}, 2))
    []
    """
    intervals = {event: stamp for event, stamp in stamps.items() if isinstance(stamp, tuple)}
    by_end = deque(sorted(intervals, key=lambda event: (intervals[event][1], event)))
    last: deque[int] = deque()
    began: Number | None = None
    for event in sorted(intervals, key=lambda event: (intervals[event][0], event)):
        begins = intervals[event][0]
        while by_end and intervals[by_end[0]][1] + epsilon < begins:
            over = by_end.popleft()
            last.append(over)
            began = intervals[over][0] if began is None else max(began, intervals[over][0])
        while began is not None and last and intervals[last[0]][1] + epsilon < began:
            last.popleft()
        yield from ((over, event) for over in last)
