"""The eighteen verdicts on a trace: six orderings as executions, closures and interiors, with witnesses.

A witness is data: an inverted pair, a pattern, or an execution. Each was checked by the predicate itself.

Patterns are tuples of messages that no execution of an ordering has: crowns, causal knots, and ladders. The
searches for crowns and knots find the smallest one through each message that they are given to begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from microcosm.orderings.closures import (
    AddedEdges,
    along_messages,
    boxes_break,
    cycle,
    mailbox_edges,
    mailbox_execution,
    outbox_edges,
    outbox_execution,
    queue_breaks,
    shortest,
    steps_cycle,
    synchronous_execution,
    synchrony_breaks,
)
from microcosm.orderings.computation import Computation, linear_extension
from microcosm.orderings.ordering import MessagePair, Ordering, violation, violations
from microcosm.orderings.queue import queue_cycle, queue_execution
from microcosm.tuning import gc_paused

BUDGET = 500_000
"""Steps after which a smaller pattern is not looked for."""

SMALL = 200
"""Of a computation of at most so many messages the smallest pattern is found, of others a small one."""


Execute = Callable[[Computation], list[int] | None]
"""An execution that keeps an ordering, or None."""

PatternKind = Literal["inversion", "causal-knot", "crown", "ladder", "cycle"]


@dataclass(frozen=True, slots=True)
class ExcludedPattern:
    """Why no execution keeps an ordering: messages that form a pattern which it excludes.

    Of a crown or causal knot there is none smaller, and none of the messages of a ladder can be left
    out (of long traces: see `SMALL`). `within` adds those of the causal paths that the pattern rests on.
    """

    kind: PatternKind
    messages: tuple[str, ...]
    within: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """An ordering of a trace: may, must and does it hold?

    `execution` is None where there is none. `inverted` shows that the execution breaks the ordering
    and `pattern` that all do, `kept` is an execution that keeps it and `broken` one that breaks it,
    by the pair `broken_by`; executions are causally equivalent to the trace.
    """

    execution: bool | None
    closure: bool
    interior: bool
    inverted: MessagePair | None = None
    pattern: ExcludedPattern | None = None
    kept: list[int] | None = None
    broken: list[int] | None = None
    broken_by: MessagePair | None = None


def classify(computation: Computation, execution: Sequence[int] | None = None) -> dict[Ordering, Verdict]:
    """The verdicts on a computation and, where given, on one of its executions.

    Cost: O(events × peers), and for the witnesses of a violated closure a bounded search more.

    >>> from microcosm.orderings.computation import parse
    >>> verdict = classify(parse("s1 r2|s2 r1"), [0, 2, 3, 1])[Ordering.RSC]
    >>> verdict.execution, verdict.closure, verdict.pattern
    (False, False, ExcludedPattern(kind='crown', messages=('1', '2'), within=('1', '2')))
    """
    with gc_paused():
        return _Classification(computation, execution).verdicts()


class _Classification:
    def __init__(self, computation: Computation, execution: Sequence[int] | None) -> None:
        self._of = computation
        self._execution = execution
        self._order = list(execution) if execution is not None else _some(computation)
        self._violated = violations(computation, self._order)
        self._knot: ExcludedPattern | None = None

    def verdicts(self) -> dict[Ordering, Verdict]:
        found = {o: self._invariant(o) for o in (Ordering.FIFO_1_1, Ordering.CAUSAL)}
        mailbox, outbox = boxes_break(self._of, self._order)
        found[Ordering.FIFO_N_1] = self._verdict(
            Ordering.FIFO_N_1,
            mailbox_execution,
            self._knotted(mailbox_execution, lambda: (mailbox_edges(self._of), 0)),
            lambda _: mailbox,
        )
        found[Ordering.FIFO_1_N] = self._verdict(
            Ordering.FIFO_1_N,
            outbox_execution,
            self._knotted(outbox_execution, lambda: outbox_edges(self._of)),
            lambda _: outbox,
        )
        knot = found[Ordering.FIFO_N_1].pattern or found[Ordering.FIFO_1_N].pattern
        found[Ordering.FIFO_N_N] = self._verdict(
            Ordering.FIFO_N_N,
            queue_execution,
            self._ladder,
            lambda order: queue_breaks(self._of, order),
            excluded=knot,
        )
        found[Ordering.RSC] = self._verdict(
            Ordering.RSC, synchronous_execution, self._crown, lambda order: synchrony_breaks(self._of, order)
        )
        return found

    def _invariant(self, ordering: Ordering) -> Verdict:
        """Fifo 1-1 and Causal hold of all executions of a computation or of none (Theorem 10)."""
        pair = self._violated.get(ordering)
        given = self._execution is not None
        if pair is None:
            return Verdict(True if given else None, True, True, kept=self._order)
        number = {name: m for m, name in enumerate(self._of.messages) if name in pair}
        found = [number[name] for name in pair]
        pattern = self._pattern("inversion", found)
        return Verdict(
            False if given else None,
            False,
            False,
            pair if given else None,
            pattern,
            broken=self._order,
            broken_by=pair,
        )

    def _verdict(
        self,
        ordering: Ordering,
        execution: Execute,
        explain: Callable[[], ExcludedPattern],
        added: Callable[[list[int]], AddedEdges | None],
        excluded: ExcludedPattern | None = None,
    ) -> Verdict:
        pair = self._violated.get(ordering)
        given = self._execution is not None
        holds = (pair is None) if given else None
        inverted = pair if given else None
        kept = None
        if excluded is None:
            kept = self._order if pair is None else execution(self._of)
        if kept is None:
            pattern = excluded or explain()
            return Verdict(
                holds, False, False, inverted, pattern, broken=self._order, broken_by=self._violated[ordering]
            )
        if pair is not None:
            again = violation(self._of, kept, ordering)
            assert again is None, f"{ordering.value}: the execution that was made breaks it"
            return Verdict(holds, True, False, inverted, kept=kept, broken=self._order, broken_by=pair)
        edges = added(kept)
        if edges is None:
            return Verdict(holds, True, True, inverted, kept=kept)
        broken = linear_extension(self._of, edges)
        assert broken is not None
        by = violation(self._of, broken, ordering)
        assert by is not None, f"{ordering.value}: the execution that was made keeps it"
        return Verdict(holds, True, False, inverted, kept=kept, broken=broken, broken_by=by)

    def _pattern(self, kind: PatternKind, found: Sequence[int]) -> ExcludedPattern:
        names = self._of.messages
        within = self._on_paths(kind, found)
        assert excluded(kind, self._of.restrict(within)), f"this {kind} excludes nothing"
        return ExcludedPattern(kind, tuple(names[m] for m in found), tuple(names[m] for m in within))

    def _on_paths(self, kind: PatternKind, found: Sequence[int]) -> list[int]:
        """The messages of a pattern and those of a causal path of few messages for each of its links."""
        of = self._of
        messages = set(found)
        links: list[tuple[int, list[int]]] = []
        if kind == "crown":
            links = [
                (of.send[m], of.receptions[n]) for m, n in zip(found, (*found[1:], found[0]), strict=True)
            ]
        elif kind == "causal-knot":
            links = [
                (of.send[m], [of.send[n]]) for m, n in zip(found[::2], found[1::2], strict=True) if m != n
            ]
        elif kind == "inversion":
            links = [(of.send[found[0]], [of.send[found[1]]])]
        for start, ends in links:
            way = shortest(of, start, ends, along_messages(of))
            assert way is not None, "no causal path"
            messages |= {of.message[event] for event in way}
        return sorted(messages)

    def _knotted(
        self, execution: Execute, edges: Callable[[], tuple[AddedEdges, int]]
    ) -> Callable[[], ExcludedPattern]:
        def explain() -> ExcludedPattern:
            if self._knot is not None and self._excludes(self._knot, execution):
                return self._knot
            core = cycle(self._of, *edges())
            found = self._smallest(knot_through, core)
            if found is not None:
                knot = self._pattern("causal-knot", found)
                if self._excludes(knot, execution):
                    self._knot = knot
                    return knot
            return self._pattern("cycle", self._minimal(core, execution))

        return explain

    def _excludes(self, knot: ExcludedPattern, execution: Execute) -> bool:
        """Whether a knot excludes an ordering: of messages with several receivers it may exclude another."""
        names = set(knot.within)
        within = (m for m, name in enumerate(self._of.messages) if name in names)
        return execution(self._of.restrict(within)) is None

    def _minimal(self, core: list[int], execution: Execute) -> list[int]:
        return minimal(self._of, core, lambda part: execution(part) is None)

    def _crown(self) -> ExcludedPattern:
        found = self._smallest(crown_through, steps_cycle(self._of))
        assert found is not None
        return self._pattern("crown", found)

    def _ladder(self) -> ExcludedPattern:
        return self._pattern("ladder", self._minimal(queue_cycle(self._of), queue_execution))

    def _smallest(self, search: PatternSearch, core: list[int]) -> tuple[int, ...] | None:
        """The smallest pattern of a small computation; of a large one the smallest in its `core`."""
        if len(self._of.messages) <= SMALL:
            return smallest(search, self._of, range(len(self._of.messages)), BUDGET)
        part = self._of.restrict(core)
        found = smallest(search, part, range(len(core)), BUDGET)
        kept = sorted(core)
        return None if found is None else tuple(kept[m] for m in found)


def excluded(kind: PatternKind, part: Computation) -> bool:
    """Whether the messages of a pattern alone are what it says: asked of the predicates themselves.

    Cost: linear in the part; for a ladder that of `queue_execution`.
    """
    match kind:
        case "crown":
            return synchronous_execution(part) is None
        case "ladder":
            return queue_execution(part) is None
        case "inversion":
            return bool({Ordering.FIFO_1_1, Ordering.CAUSAL} & violations(part, _some(part)).keys())
        case _:
            return mailbox_execution(part) is None or outbox_execution(part) is None


def _some(computation: Computation) -> list[int]:
    order = linear_extension(computation)
    assert order is not None
    return order


MessageTuple = tuple[int, ...]

PatternSearch = Callable[[Computation, int, int | None], tuple[MessageTuple | None, int]]
"""The smallest pattern through a message, of fewer than so many messages; and the steps it took."""


def smallest(
    search: PatternSearch, computation: Computation, starts: Iterable[int], budget: int
) -> MessageTuple | None:
    """The smallest pattern that goes through one of `starts`.

    After `budget` steps no further start is tried, and what is found need not be the smallest. Cost: a search
    for each start, at most `budget` steps and one search beyond.
    """
    best: MessageTuple | None = None
    for start in starts:
        found, steps = search(computation, start, None if best is None else len(best))
        if found is not None and (best is None or len(found) < len(best)):
            best = found
        budget -= steps
        if best is not None and budget < 0:
            break
    return best


def crown_through(computation: Computation, start: int, below: int | None) -> tuple[MessageTuple | None, int]:
    """The smallest crown with a message in it, of fewer than `below` messages; and the steps it took.

    Cost: linear in the computation, for it is searched breadth-first.
    """
    send, message = computation.send, computation.message
    parent: dict[int, int] = {start: start}
    seen: set[int] = set()
    level = [start]
    steps = 0
    size = 1
    while level and (below is None or size + 1 <= below):
        size += 1
        reached: list[int] = []
        for m in level:
            waiting = computation.successors(send[m])
            mine: set[int] = set() if m == start else seen
            while waiting:
                event = waiting.pop()
                if event in mine:
                    continue
                mine.add(event)
                steps += 1
                other = message[event]
                if send[other] != event:
                    if other == start and m != start:
                        return _back(parent, m, start), steps
                    if other not in parent:
                        parent[other] = m
                        reached.append(other)
                waiting += computation.successors(event)
        level = reached
    return None, steps


def _back(parent: dict[int, int], last: int, start: int) -> MessageTuple:
    found = [last]
    while found[-1] != start:
        found.append(parent[found[-1]])
    return tuple(reversed(found))


def knot_through(computation: Computation, start: int, below: int | None) -> tuple[MessageTuple | None, int]:
    """The smallest causal knot that begins with a message, of fewer than `below` ones; and the steps it took.

    From a send along causality to another one, from there to its reception, along the receptions of
    that peer to another one, and to its send: until `start` is reached again. Cost: linear in the
    computation, for it is searched breadth-first.
    """
    send, message = computation.send, computation.message
    origin: dict[int, int] = {}  # by event: the first message of the couple that reached it
    rides: dict[int, tuple[int, int]] = {}  # by first message of a couple: the couple before it
    lowest: dict[int, int] = {}  # by peer: from where receptions are reached
    level = [start]
    steps = 0
    size = 0
    while level and (below is None or size + 2 < below):
        size += 2
        reached: list[int] = []
        for first in level:
            waiting = [send[first]]
            while waiting:
                event = waiting.pop()
                if event in origin:
                    continue
                origin[event] = first
                steps += 1
                waiting += computation.successors(event)
                second = message[event]
                if send[second] != event:
                    continue
                for reception in computation.receptions[second]:
                    p, at = computation.peer[reception], computation.index[reception]
                    chain = computation.chains[p]
                    for place in range(at + 1, lowest.get(p, len(chain))):
                        steps += 1
                        third = message[chain[place]]
                        if send[third] != chain[place] and third not in rides:
                            rides[third] = (first, second)
                            reached.append(third)
                    lowest[p] = min(lowest.get(p, len(chain)), at + 1)
            if start in rides:
                return _couples(rides, start), steps
        level = reached
    return None, steps


def _couples(rides: dict[int, tuple[int, int]], start: int) -> MessageTuple:
    found: list[tuple[int, int]] = []
    at = start
    while not found or at != start:
        found.append(rides[at])
        at = found[-1][0]
    return tuple(m for couple in reversed(found) for m in couple)


def minimal(
    computation: Computation, messages: Iterable[int], breaks: Callable[[Computation], bool]
) -> list[int]:
    """As few of the messages as still break an ordering: without any one of them they do not.

    `breaks` must hold of all of them, and with any of more messages if it holds of fewer. Cost: at most
    two calls of `breaks` a message.
    """
    kept = list(messages)
    size = max(1, len(kept) // 2)
    while True:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if fewer and breaks(computation.restrict(fewer)):
                kept = fewer
            else:
                at += size
        if size == 1:
            return kept
        size = max(1, size // 2)
