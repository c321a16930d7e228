"""States: on each process the intervals from an event that begins one to the next that ends it.

A consistent cut sees an interval when its first event has happened and its last has not. n intervals can be
seen at once iff none ends at or before the start of another: the least cut that has all the starts has none
of the ends then. Of which some cannot be seen at once are left out by elimination (Garg and Waldecker, weak
conjunctive predicates).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from microcosm.errors import MicrocosmError
from microcosm.questions.language import StatePattern, Value, as_text
from microcosm.questions.patterns import Groups, Values, bindings, condition

if TYPE_CHECKING:
    from microcosm.givens.event_table import EventTable


@dataclass(frozen=True, slots=True)
class Interval:
    """From `begin` on, until `end`; where the log has no end, None, and `last` is the process's last event.

    `broken` says that events of the process are missing in between, so that it may have been interrupted.
    """

    begin: int
    end: int | None
    last: int
    broken: bool
    values: Values

    @property
    def until(self) -> int:
        """The end, or the last event that is known not to be it."""
        return self.last if self.end is None else self.end


class Unordered(MicrocosmError):
    """Two events of one process of which the log does not say which came first."""

    def __init__(self, process: str, one: str, other: str) -> None:
        super().__init__(
            f"the events of {process or 'no process'} are not known to be in one order: {one} and {other}"
        )


def by_process(table: EventTable) -> dict[str, list[int]]:
    """The events of each process, in its order: by `seq` where all have one, else as they were read."""
    found: dict[str, list[int]] = {}
    for number, process in enumerate(table.processes):
        found.setdefault(process, []).append(number)
    seqs = [*table.seqs]
    for events in found.values():
        if min(map(seqs.__getitem__, events)) > 0:
            events.sort(key=seqs.__getitem__)
    return found


def missing(table: EventTable) -> dict[str, int]:
    """How many events are missing of each process, by the gaps in its numbers; of those with any."""
    found, seqs = {}, [*table.seqs]
    for process, events in by_process(table).items():
        numbers = [seqs[number] for number in events]
        gaps = sum([b - a - 1 for a, b in pairwise(numbers) if b > a + 1 and a])
        if gaps:
            found[process] = gaps
    return found


def intervals(
    pattern: StatePattern, table: EventTable, before: Callable[[int, int], bool]
) -> tuple[list[Interval], int]:
    """Every interval of a state, process by process; and how many events end one.

    A start within an interval of the same parameters begins none. Raises `Unordered` where the log does not
    order the starts and ends of a process. Cost: one pass.
    """
    names = pattern.parameters
    begins, ends = condition(pattern.begin, table), condition(pattern.end, table)
    binding = bindings(names, pattern.bound, table)
    seqs = [*table.seqs]
    found: list[Interval] = []
    closed = 0
    for process, events in by_process(table).items():
        if isinstance(pattern.process, Value) and process != as_text(pattern.process.value):
            continue
        starts: dict[Values, tuple[int, int]] = {}
        steps: list[int] = []
        gaps = _gaps(seqs, events)
        for at, number in enumerate(events):
            groups: Groups = {}
            if ends(number, groups):
                closed += 1
                said = [groups.get(name) for name in names]
                over = [
                    values
                    for values in starts
                    if all(b is None or b == a for a, b in zip(values, said, strict=True))
                ]
                for values in over:
                    begin, since = starts.pop(values)
                    found.append(Interval(begin, number, number, gaps[at] > gaps[since], values))
                if over:
                    steps.append(number)
            groups = {}
            bound = binding(number, groups) if begins(number, groups) else None
            if bound is not None and bound not in starts:
                starts[bound] = (number, at)
                steps.append(number)
        for values, (begin, since) in starts.items():
            found.append(Interval(begin, None, events[-1], gaps[-1] > gaps[since], values))
        if starts:
            steps.append(events[-1])
        for a, b in pairwise(steps):
            if a != b and not before(a, b):
                raise Unordered(process, table.names[a], table.names[b])
    return found, closed


def _gaps(seqs: Sequence[int], events: Sequence[int]) -> list[int]:
    """For each event of a process how many gaps its numbers have shown so far."""
    numbers = [seqs[number] for number in events]
    return [*accumulate((a > 0 and b > a + 1 for a, b in pairwise(numbers)), initial=0)]


def seen_at_once(
    chains: Sequence[Sequence[Interval]], blocks: Callable[[Interval, Interval], bool]
) -> list[Interval] | None:
    """One interval of each chain, none of which `blocks` another; None where there are no such.

    `blocks(one, other)` says that one ends before the other begins, for all that is asked; with an interval
    it has to block by all that begin later on the other's chain, and what blocks an end, by all earlier ends.
    So an interval that blocks the first one left of another chain is done with. Cost: O(k²·m) questions for m
    intervals on each of k chains.
    """
    at = [0] * len(chains)
    if not all(chains):
        return None
    fresh = list(range(len(chains)))
    while fresh:
        i = fresh.pop()
        for j in range(len(chains)):
            while i != j and blocks(chains[i][at[i]], chains[j][at[j]]):
                at[i] += 1
                if at[i] == len(chains[i]):
                    return None
                if i not in fresh:
                    fresh.append(i)
            if i != j and blocks(chains[j][at[j]], chains[i][at[i]]) and j not in fresh:
                fresh.append(j)
    return [chain[k] for chain, k in zip(chains, at, strict=True)]


def on_chains(found: Sequence[Interval], table: EventTable) -> Iterator[list[Interval]]:
    """Intervals of the same process and parameters together, the earliest first."""
    chains: dict[tuple[str, Values], list[Interval]] = {}
    for one in found:
        chains.setdefault((table.processes[one.begin], one.values), []).append(one)
    yield from chains.values()
