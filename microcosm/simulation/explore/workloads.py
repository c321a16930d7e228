"""Every workload of so many messages, each explored by itself: for scopes that one search cannot hold.

What the processes send to whom, and in which order each of them, is fixed in a workload; when they do is not.
So every run of so many messages is a run of one workload (one of fewer messages is the beginning of such
a run), and a search of each finds what a search of all would. What is gained:

- where processes differ by nothing but their numbers, workloads that differ by nothing else are the same;
- receivers are named in one order only, which makes no difference: copies go out in that order, but to
  different links. SPS-optimal multicast keeps its copies so; yet what it sends, flags and permits is, after
  every step, what definitions say that do not mention the order (`_check`);
- a process that has sent all that it will is known to be silent, and the search can be reduced by what that
  makes indifferent (see `explore`);
- only one workload is in memory at a time. What machines do is looked up across all of them.

A fault is searched again without reduction, so that its scenario is the shortest of its workload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, permutations, product

from microcosm.protocol.catalogue import PROTOCOLS, Protocol
from microcosm.simulation.explore.explore import Explored, Explorer
from microcosm.simulation.explore_state import Machines, Programs, Scope

Receivers = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Surveyed:
    """How many workloads and states there are, and the first fault with its scenario.

    `largest` is the number of states of the workload that has most. Not `complete`: some workload has more
    than `Scope.most`.
    """

    workloads: int
    states: int
    largest: int
    fault: str | None = None
    scenario: str | None = None
    complete: bool = True


def survey(
    protocol: str | Protocol, scope: Scope, each: Callable[[int, Explored], object] | None = None
) -> Surveyed:
    """Explore every workload of a scope. `each` is told the number of a workload and what was found there."""
    found = PROTOCOLS[protocol] if isinstance(protocol, str) else protocol
    machines = Machines(found.make(scope.processes))
    count = states = largest = 0
    complete = True
    for programs in workloads(found, scope):
        one = replace(scope, programs=programs, reduced=True, multicasts=None)
        explored = Explorer(found, one, machines).run()
        count += 1
        states += explored.states
        largest = max(largest, explored.states)
        complete &= explored.complete
        if each is not None:
            each(count, explored)
        if explored.fault is not None:
            shortest = Explorer(found, replace(one, reduced=False), machines).run()
            shown = explored if shortest.fault is None else shortest
            return Surveyed(count, states, largest, shown.fault, shown.scenario, complete)
    return Surveyed(count, states, largest, complete=complete)


def workloads(protocol: Protocol, scope: Scope) -> Iterator[Programs]:
    """All workloads of exactly `scope.messages` messages; of those that are alike the greatest."""
    n = scope.processes
    several = protocol.machine.MULTICAST and scope.multicasts != 0
    receivers = [list(_receivers(n, i, several)) for i in range(n)]
    for split in _splits(n, scope.messages):
        sent = (product(to, repeat=many) for to, many in zip(receivers, split, strict=True))
        for programs in product(*sent):
            many = sum(len(to) > 1 for program in programs for to in program)
            allowed = scope.multicasts is None or many <= scope.multicasts
            if allowed and not (protocol.symmetric and _renamed(programs) > programs):
                yield programs


def _receivers(n: int, i: int, several: bool) -> Iterator[Receivers]:
    others = [j for j in range(n) if j != i]
    for size in range(1, len(others) + 1 if several else 2):
        yield from combinations(others, size)


def _splits(n: int, messages: int) -> Iterator[tuple[int, ...]]:
    """How many messages each process sends."""
    for bars in combinations_with_replacement(range(messages + 1), n - 1):
        yield tuple(b - a for a, b in zip((0, *bars), (*bars, messages), strict=True))


def _renamed(programs: Programs) -> Programs:
    """The greatest of the workloads that renaming the processes makes of one."""

    def renamed(name: tuple[int, ...]) -> Programs:
        by_name = {name[i]: program for i, program in enumerate(programs)}
        return tuple(
            tuple(tuple(sorted(name[j] for j in to)) for to in by_name[i]) for i in range(len(programs))
        )

    return max(map(renamed, permutations(range(len(programs)))))
