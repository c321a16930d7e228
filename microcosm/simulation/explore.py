"""Every interleaving of a few messages between a few processes.

The application may send anything at any time, within a number of messages; the network may deliver in
any order (or keep each link FIFO), lose and double a few packets. In every state that can be reached, no
delivery may break causal order or come twice; when nothing is on the way any more, nothing may be missing.

States are compared by content, so interleavings that lead to the same are followed once: steps of different
processes commute, since messages are named by their senders. Processes that have not taken part yet are
interchangeable, where the protocol treats all alike: only the lowest of them may be the next to do so.
What a machine does with an input is worked out once and looked up afterwards. The search is breadth-first,
so what it finds wrong it shows by a shortest scenario.

With a workload (`ExploreScope.programs`) the processes send what it says, and a search may be *reduced*:
where a packet settles (`Machine.settles`), only what happens to this packet is followed, now. That misses no
state in which nothing is on the way, and no fault:

    Take any run from the present state to one where nothing is on the way. The packet p is gone there, so
    the run has a first step at which p, or one like it, is taken, lost or doubled. That step can be moved to
    the front: it commutes with the steps of other processes, which only add packets elsewhere, or behind
    p; and with those of its own process, since p settles. So some run that begins with what happens to p
    has the same end, and the same holds for the rest of that run. A fault is at one step of one process
    (say it stops there), and follows from the steps before on which this one depends: they keep their order,
    and p delivers nothing. So where a run goes wrong, one that is followed does too.

All workloads of so many messages, one by one, are every behaviour of so many messages (`survey`).

Each can be explored by itself, for scopes that one search cannot hold. What the processes send to whom, and
in which order each of them, is fixed in a workload; when they do is not. So every run of so many messages is
a run of one workload (one of fewer messages is the beginning of such a run), and a search of each finds what
a search of all would. What is gained:

- where processes differ by nothing but their numbers, workloads that differ by nothing else are the same;
- receivers are named in one order only, which makes no difference: copies go out in that order, but to
  different links. SPS-optimal multicast keeps its copies so; yet what it sends, flags and permits is, after
  every step, what definitions say that do not mention the order (`_check`);
- a process that has sent all that it will is known to be silent, and the search can be reduced by what that
  makes indifferent (see above);
- only one workload is in memory at a time. What machines do is looked up across all of them.

A fault is searched again without reduction, so that its scenario is the shortest of its workload.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, permutations, product

from microcosm.protocol.catalogue import PROTOCOLS, Protocol
from microcosm.simulation.explore_state import (
    ExploreFault,
    ExploreScope,
    ExploreState,
    ExploreStep,
    Machines,
    Programs,
    Setup,
)

ROUNDS = 12
"""After so many rounds of ticks without further loss, everything must have been delivered."""


@dataclass(frozen=True, slots=True)
class Explored:
    """How many states there are, and the fault that was met first, with the steps to it.

    Not `complete`: there are more than `ExploreScope.most`, of some workload. Where all workloads were
    explored one by one, `workloads` is their number, and `largest` that of the states of the largest.
    """

    states: int
    fault: str | None = None
    scenario: str | None = None
    complete: bool = True
    workloads: int | None = None
    largest: int | None = None


def explore(name: str, scope: ExploreScope) -> Explored:
    """Follow every interleaving. Cost: some 10 µs a step; see the tests for the number of states."""
    return Explorer(PROTOCOLS[name], scope).run()


class Explorer:
    """A breadth-first search; `machines` may be replaced by those of a mutant."""

    def __init__(self, protocol: Protocol, scope: ExploreScope, machines: Machines | None = None) -> None:
        self._protocol = protocol
        self._scope = scope
        self._setup = Setup(protocol, scope, machines)
        self._links = self._setup.links
        self._origin: dict[bytes, tuple[bytes, ExploreStep] | None] = {}
        self._settled: dict[tuple[object, ...], int | None] = {}

    def run(self) -> Explored:
        """Search until all states are known, or one is faulty."""
        start = self._setup.start()
        known = start.digest()
        self._origin[known] = None
        queue = deque([(start, known)])
        after = self._setup.after
        while queue:
            state, known = queue.popleft()
            if not any(state.transit):
                fault = self._liveness(state)
                if fault is not None:
                    return Explored(len(self._origin), fault, self._scenario(state, None))
            for step in self._steps(state):
                try:
                    following = after(state, step)
                except (ExploreFault, AssertionError) as error:
                    fault = self._description(error, state, step)
                    return Explored(len(self._origin), fault, self._scenario(state, step))
                found = following.digest()
                if found not in self._origin:
                    if len(self._origin) >= self._scope.most:
                        return Explored(len(self._origin), complete=False)
                    self._origin[found] = (known, step)
                    queue.append((following, found))
        return Explored(len(self._origin))

    def _steps(self, state: ExploreState) -> Iterator[ExploreStep]:
        scope = self._scope
        if scope.reduced:
            settling = self._settling(state)
            if settling is not None:
                yield from self._fates(state, *settling)
                return
        budget = scope.programs is None and sum(state.sent) < scope.messages
        touched = self._touched(state) if budget else 0
        if budget:
            for i in range(min(scope.processes, touched + 1)):
                for to in self._receivers(state, i, max(touched, i + 1)):
                    yield ExploreStep("send", i, to=to)
        for i, program in enumerate(scope.programs or ()):
            if state.sent[i] < len(program):
                yield ExploreStep("send", i, to=program[state.sent[i]])
        for at, packets in enumerate(state.transit):
            i, j = self._links[at]
            for k in self._choices(packets):
                yield from self._fates(state, at, k)
                if budget and scope.answers:
                    for to in self._receivers(state, j, touched):
                        yield ExploreStep("receive", j, i, k, to)
        if state.losses < scope.losses and not any(state.transit) and not state.ticks:
            yield ExploreStep("tick", 0)

    def _fates(self, state: ExploreState, at: int, k: int) -> Iterator[ExploreStep]:
        """What can happen to a packet: its number on a link that has a number too."""
        i, j = self._links[at]
        yield ExploreStep("receive", j, i, k)
        if state.losses:
            yield ExploreStep("lose", i, j, k)
        if state.doubles:
            yield ExploreStep("double", i, j, k)

    def _settling(self, state: ExploreState) -> tuple[int, int] | None:
        """A packet that settles, by its link and its number there."""
        scope, settles = self._scope, self._setup.machines.settles
        assert scope.programs is not None, "what settles depends on what will be sent"
        if scope.doubles and not scope.reorder:
            return None  # a double comes behind what was sent since: it does not commute with sending
        once = not (scope.losses or scope.doubles)
        for at, packets in enumerate(state.transit):
            if not packets:
                continue
            i, j = self._links[at]
            silent = state.sent[j] == len(scope.programs[j])
            key = (i, state.machines[j], silent, packets)
            if key not in self._settled:
                self._settled[key] = next(
                    (
                        k
                        for k in self._choices(packets)
                        if settles(state.machines[j], i, packets[k], silent, scope.reorder, once)
                    ),
                    None,
                )
            k = self._settled[key]
            if k is not None:
                return at, k
        return None

    def _choices(self, packets: tuple[int, ...]) -> Iterator[int]:
        """The packets of a link that can be next; of equal ones the first."""
        for k, packet in enumerate(packets[: None if self._scope.reorder else 1]):
            if packet not in packets[:k]:
                yield k

    def _touched(self, state: ExploreState) -> int:
        """Processes below this number have taken part; the others are alike."""
        if not self._protocol.symmetric:
            return self._scope.processes
        used = 0
        for j, (past, missing) in enumerate(zip(state.past, state.missing, strict=True)):
            if past or missing:
                used = j + 1
        return used

    def _receivers(self, state: ExploreState, i: int, touched: int) -> Iterator[tuple[int, ...]]:
        """Sets of receivers, new processes only in their order."""
        several = self._protocol.machine.MULTICAST and state.multicasts > 0
        for to in _receivers(self._scope.processes, i, several, permutations):
            fresh = [j for j in to if j >= touched]
            if fresh == list(range(touched, touched + len(fresh))):
                yield to

    def _liveness(self, state: ExploreState) -> str | None:
        """What is missing for ever, now that nothing is on the way."""
        if not any(state.missing):
            return None
        machine = self._protocol.machine
        if not (self._scope.losses or machine.NEEDS_TICKS):
            return "something is never delivered, though nothing was lost"
        calm, after = state._replace(losses=0, doubles=0, ticks=0), self._setup.after
        try:
            for _ in range(ROUNDS):
                calm = after(calm, ExploreStep("tick", 0))
                while any(calm.transit):
                    at = next(at for at, packets in enumerate(calm.transit) if packets)
                    i, j = self._links[at]
                    calm = after(calm, ExploreStep("receive", j, i, 0))
        except (ExploreFault, AssertionError) as error:
            return f"{self._description(error, state, None)}, after ticks"
        return "something is never delivered" if any(calm.missing) else None

    def _description(
        self, error: ExploreFault | AssertionError, state: ExploreState, last: ExploreStep | None
    ) -> str:
        """What is wrong, with the messages as they are numbered in the scenario."""
        if not isinstance(error, ExploreFault):
            return f"{error}" or "an invariant is broken"
        sent = [0] * self._scope.processes
        number: dict[int, int] = {}
        for step in self._steps_to(state, last):
            if step.to:
                message = step.process * self._scope.messages + sent[step.process]
                sent[step.process] += 1
                number[message] = len(number) + 1
        return error.how.format(*(number[message] for message in error.messages))

    def _steps_to(self, state: ExploreState, last: ExploreStep | None) -> list[ExploreStep]:
        steps = [] if last is None else [last]
        origin = self._origin[state.digest()]
        while origin is not None:
            known, step = origin
            steps.append(step)
            origin = self._origin[known]
        return steps[::-1]

    def _scenario(self, state: ExploreState, last: ExploreStep | None) -> str:
        """The steps from the start, as a scenario that can be replayed."""
        return _written(self._protocol.name, self._scope.processes, self._steps_to(state, last))


def _written(protocol: str, size: int, steps: list[ExploreStep]) -> str:
    """Steps in the language of scenarios."""
    lines = [f"{protocol}, {size} processes", ""]
    sent = 0
    for kind, process, peer, at, to in steps:
        place = f" #{at + 1}" if at else ""
        listed = ", ".join(f"p{j + 1}" for j in to)
        if kind == "send":
            sent += 1
            lines.append(f"p{process + 1} sends m{sent} to {listed}")
        elif kind == "receive":
            sent += bool(to)
            answer = f", answering m{sent} to {listed}" if to else ""
            lines.append(f"p{process + 1} receives from p{peer + 1}{place}{answer}")
        elif kind == "tick":
            lines += [f"p{i + 1} ticks" for i in range(size)]
        else:
            lines.append(f"{kind} p{process + 1} -> p{peer + 1}{place}")
    return "\n".join([*lines, "check"]) + "\n"


Receivers = tuple[int, ...]


def survey(
    protocol: str | Protocol, scope: ExploreScope, each: Callable[[int, Explored], object] | None = None
) -> Explored:
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
            return Explored(states, shown.fault, shown.scenario, complete, count, largest)
    return Explored(states, None, None, complete, count, largest)


def workloads(protocol: Protocol, scope: ExploreScope) -> Iterator[Programs]:
    """All workloads of exactly `scope.messages` messages; of those that are alike the greatest."""
    n = scope.processes
    several = protocol.machine.MULTICAST and scope.multicasts != 0
    receivers = [list(_receivers(n, i, several)) for i in range(n)]
    for bars in combinations_with_replacement(range(scope.messages + 1), n - 1):
        split = [b - a for a, b in zip((0, *bars), (*bars, scope.messages), strict=True)]
        sent = (product(to, repeat=many) for to, many in zip(receivers, split, strict=True))
        for programs in product(*sent):
            many = sum(len(to) > 1 for program in programs for to in program)
            allowed = scope.multicasts is None or many <= scope.multicasts
            if allowed and not (protocol.symmetric and _renamed(programs) > programs):
                yield programs


def _receivers(
    n: int, i: int, several: bool, chosen: Callable[[list[int], int], Iterable[Receivers]] = combinations
) -> Iterator[Receivers]:
    """Whom a process may send a message: one of the others, or several."""
    others = [j for j in range(n) if j != i]
    for size in range(1, len(others) + 1 if several else 2):
        yield from chosen(others, size)


def _renamed(programs: Programs) -> Programs:
    """The greatest of the workloads that renaming the processes makes of one."""

    def renamed(name: tuple[int, ...]) -> Programs:
        by_name = {name[i]: program for i, program in enumerate(programs)}
        return tuple(
            tuple(tuple(sorted(name[j] for j in to)) for to in by_name[i]) for i in range(len(programs))
        )

    return max(map(renamed, permutations(range(len(programs)))))
