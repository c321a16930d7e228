"""The order of some givens, rows or labels, whichever suits; and whether a complete log orders what it must.

Of a complete log what is not ordered is concurrent. That holds only where the log orders all that is
ordered by definition: the events of each process, and a sending and its reception. Where it does
not, its silence about a pair proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from functools import cached_property, partial
from itertools import chain, count, pairwise
from typing import Literal, NamedTuple

from microcosm import tuning
from microcosm.givens.facts import (
    PREDICATES,
    STAMPED_OUT,
    BaseFacts,
    covered,
    expect,
    heard,
    lines,
    senders,
    undirected,
)
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.order.bits import Remembered
from microcosm.order.chain_cover import ChainCover, ProcessOf, Wide
from microcosm.order.clock_order import clock_rows
from microcosm.order.happens_before import Cycle, HappensBefore, cycle_or_order, edge_sets
from microcosm.order.labels import Labels
from microcosm.order.rows import Rows


def happens_before(
    size: int,
    edges: Iterable[tuple[int, int]],
    process: ProcessOf | None = None,
    labels: Callable[[int], ChainCover | None] | None = None,
) -> HappensBefore:
    """The order that the edges generate. Raises `Cycle`. Cost: linear in size and edges, at first.

    `labels` may know those of so many positions without a look at the edges.

    >>> type(happens_before(3, [(0, 1), (1, 2)])).__name__
    'Rows'
    """
    if size > tuning.ROWS_UP_TO:
        most = size // max(1, tuning.EVENTS_A_CHAIN)
        made = None if labels is None else labels(size)
        if made is not None and len(made.chains) <= most:
            return Labels(size, made, process)
        if iter(edges) is edges:  # to be gone through but once
            edges = list(edges)
        try:
            return Labels(size, edges, process, most)
        except Wide:
            pass
    return Rows(size, edges)


def labelled(order: HappensBefore, size: int, processes: Callable[[], ProcessOf]) -> Labels | None:
    """An order as labels; None where it has few events, or many chains. Cost: linear where it has rows."""
    if isinstance(order, Labels):
        return order
    if size < tuning.LABELLED_FROM:
        return None
    try:
        return Labels(size, [*order.edges()], processes(), size // max(1, tuning.EVENTS_A_CHAIN))
    except Wide:
        return None


class Tour(NamedTuple):
    """The positions of an order, each after those it leads to, and what it leads to directly; and back.

    Cost: linear in the positions.
    """

    latest_first: list[int]
    successors: list[set[int]]
    predecessors: list[set[int]]

    def along(self, forwards: bool) -> tuple[list[int], list[set[int]]]:
        """All positions, each after its neighbours in one direction, and these neighbours."""
        if forwards:
            return self.latest_first, self.successors
        return self.latest_first[::-1], self.predecessors


class Closure:
    """A transitive predicate: its rows are those of happens-before.

    Labels make a row whenever they are asked for it, and searches ask for the same ones again and again: here
    they are remembered. Cost: that of the rows of happens-before, a look-up once all are known.
    """

    def __init__(self, order: HappensBefore) -> None:
        self.order = order
        self._futures: list[int] | None = None  # all rows, once they are known
        self._pasts: list[int] | None = None
        self._tour: Tour | None = None
        self._made: tuple[Remembered, Remembered] | None = None
        if isinstance(order, Labels):
            self._made = Remembered(order.future), Remembered(order.past)

    renew = __init__  # the order changed, or is another one

    def all_rows(self, width: int, forwards: bool) -> list[int]:
        if isinstance(self.order, Rows) and width == self.order.size <= Rows.SATURATE:
            self.order.saturate()
        rows = self.order.all_rows(forwards)
        if rows is None or len(rows) != width:
            return [*map(self.row if forwards else self.col, range(width))]
        return rows

    def lay_out(self) -> None:
        """Have all rows at hand, until `fold`. Cost: a row operation a link; n²/4 bytes."""
        if isinstance(self.order, Rows) and self.order.size <= Rows.SATURATE:
            self.order.saturate()  # they stay at hand
            return
        rows = Rows(self.order.size, self.order.edges())
        rows.saturate()
        self._futures, self._pasts = rows.all_rows(forwards=True), rows.all_rows(forwards=False)

    def fold(self) -> None:
        """Let go of all rows, where they would not fit in for long."""
        self._tour = None
        if self.order.size > Rows.SATURATE or self._made is not None:
            self._futures = self._pasts = None

    def tour(self, width: int) -> Tour:
        """The way along the order, of so many positions. Cost: linear in its links, once until `fold`."""
        if self._tour is None or len(self._tour.latest_first) != width:
            if isinstance(self.order, Rows) and self.order.size == width:
                causal, successors, predecessors = self.order.links()
            else:
                successors, predecessors = edge_sets(width, self.order.edges())
                causal = cycle_or_order(width, successors, predecessors)
            self._tour = Tour(causal[::-1], successors, predecessors)
        return self._tour

    def row(self, a: int) -> int:
        futures = self._futures  # another thread may let go of them
        if futures is not None:
            return futures[a]
        if self._made is not None:
            return self._made[0][a]
        found = self.order.future(a)
        self._futures = self.order.all_rows(forwards=True)
        return found

    def col(self, b: int) -> int:
        pasts = self._pasts
        if pasts is not None:
            return pasts[b]
        if self._made is not None:
            return self._made[1][b]
        found = self.order.past(b)
        self._pasts = self.order.all_rows(forwards=False)
        return found

    def holds(self, a: int, b: int) -> bool:
        return self.order.before(a, b)

    def support(self) -> tuple[int, int]:
        everything = (1 << self.order.size) - 1
        return everything, everything


def lacking(givens: Givens) -> str | None:
    """What a complete log would say and the givens do not, in words; None where nothing is lacking.

    Of what its clocks have seen it may still not tell the way (`untold`). Cost: that of the order of what is
    given, and a question of it for each message.

    >>> from microcosm.givens.columns import Message
    >>> givens = Givens(messages=[Message("send", "s", "m", "p"), Message("receive", "r", "m", "q")])
    >>> lacking(givens)
    'nothing orders the sending s of m and its reception r'
    """
    position = givens.numbers()
    edges = given_edges(givens, position)
    try:
        causal = cycle_or_order(len(position), *edge_sets(len(position), edges))
        order = happens_before(len(position), edges)
    except Cycle:
        return None  # contradictory anyway
    rank = dict(zip(causal, count(), strict=False))
    return lacking_order(givens, position, rank.__getitem__, order.before)


def untold(givens: Givens) -> str | None:
    """Why a complete log does not tell all of its order, in words; None where what it does not order is
    concurrent. Cost: as for `lacking`.

    >>> from microcosm.givens.relation import Clock
    >>> a, b, c = Clock("p", {"p": 1}), Clock("p", {"p": 1}, ticked=False), Clock("q", {"p": 1, "q": 1})
    >>> log = Givens(clocks={"a": a, "b": b, "c": c})
    >>> lacking(log), untold(log)
    (None, 'a clock has seen a value that several events share: c may have heard of a or b')
    """
    if (lack := lacking(givens)) is not None:
        return lack
    _, exits, entries = heard(givens)
    if not exits:
        return None
    some, to = sorted(exits), min(entries)
    of = f"{', '.join(some[:3])} or others" if len(some) > 3 else " or ".join(some)
    return f"a clock has seen a value that several events share: {to} may have heard of {of}"


def given_edges(givens: Givens, position: Mapping[str, int]) -> list[tuple[int, int]]:
    """Pairs of positions that generate the given order. Cost: linear, and that of the cover of the clocks."""
    links = givens.order_columns
    external = givens.external.values() if links is None else ()
    linked: Iterable[tuple[int, int]] = ()
    if links is not None:
        linked = zip(*links.placed(map(position.__getitem__, links.names)), strict=True)
    before = ((f.left, f.right) for f in external if f.relation is Relation.BEFORE)
    stated = ((position[a], position[b]) for a, b in chain(before, pairwise(givens.internal)))
    return [*linked, *stated, *clock_rows(givens.clocks, position).cover()]


def fits_as_stated(givens: Givens) -> bool:
    """Whether the order of `<`, and of `<>` read from left to right, leaves each `||` unordered: then it is
    a world of the correspondences that are given. False may mean that only other worlds fit.

    Cost: that of this order, and a question of it for each `||`.

    >>> from microcosm.givens.relation import Correspondence
    >>> fits_as_stated(Givens(internal=["a", "b"]))
    True
    """
    position = givens.numbers()
    stated = [(f.relation, position[f.left], position[f.right]) for f in givens.external.values()]
    related = [(a, b) for relation, a, b in stated if relation is Relation.RELATED]
    try:
        order = happens_before(len(position), [*given_edges(givens, position), *related])
    except Cycle:
        return False
    concurrent = ((a, b) for relation, a, b in stated if relation is Relation.CONCURRENT)
    return all(order.ordered(a, b) is None for a, b in concurrent)


def reached(givens: Givens, events: Collection[str], end: Literal[0, 1]) -> set[str]:
    """Some events and all that is given to be after them (end 0), or before them (end 1). Cost: linear.

    >>> sorted(reached(Givens(internal=["a", "b", "c"]), ["b"], 1))
    ['a', 'b']
    """
    position = givens.numbers()
    following: dict[int, list[int]] = {}
    for edge in given_edges(givens, position):
        following.setdefault(edge[end], []).append(edge[1 - end])
    found = {position[event] for event in events}
    waiting = [*found]
    while waiting:
        for other in following.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    names = [*position]
    return {names[at] for at in found}


def lacking_order(
    givens: Givens,
    position: Mapping[str, int],
    rank: Callable[[int], int],
    before: Callable[[int, int], bool],
) -> str | None:
    """What is missing that a complete log would have, or None (`lacking`), where the order is known.

    `before` is its test for two positions, and `rank` grows along it.
    """
    partly = covered(givens) if isinstance(givens.complete, tuple) else None
    messages = [m for m in givens.messages if partly is None or m.event in partly]
    sent = senders(messages)

    def ranked(event: str) -> int:
        return rank(position[event])

    of_process = ((f" of process {process}", events) for process, events in lines(givens).items())
    related = ((", which are related", events) for events in undirected(givens))
    for what, events in chain(of_process, related):
        for a, b in pairwise(sorted(events, key=ranked)):
            if not before(position[a], position[b]):
                return f"nothing orders {a} and {b}{what}"
    for message in messages:
        if message.kind == "receive":
            origins = [sending.event for sending in sent(message)]
            if not origins and partly is not None:
                continue  # it comes from somebody else
            if not origins:
                return f"the sending of {message.message}, received at {message.event}, is not in it"
            if not any(before(position[origin], position[message.event]) for origin in origins):
                what = f"the sending {origins[0]} of {message.message} and its reception {message.event}"
                return f"nothing orders {what}"
    return heard(givens).fault


class BaseTables(BaseFacts, Mapping[str, Set[tuple[str, ...]]]):
    """From each base predicate to all of its facts, as tuples of events; made when asked for.

    Cost: the size of the answer, which for `same_process` is quadratic in the events of a process.
    """

    @cached_property
    def _made(self) -> dict[str, frozenset[tuple[str, ...]]]:
        return {}

    def __getitem__(self, name: str) -> frozenset[tuple[str, ...]]:
        if name not in self._made:
            self._made[name] = frozenset(self._facts(name))
        return self._made[name]

    def _facts(self, name: str) -> Iterator[tuple[str, ...]]:
        if PREDICATES.get(name) == 1:
            return ((event,) for event in self.events(name))
        expect(name, 2)
        firsts = self.givens.stamps if name == STAMPED_OUT else self.shared(name)[0]
        return ((a, b) for a in firsts for b in self.partners(name, 0, a))

    def __iter__(self) -> Iterator[str]:
        return iter(PREDICATES)

    def __len__(self) -> int:
        return len(PREDICATES)


def base_facts(givens: Givens) -> BaseTables:
    """The base predicates of some givens. Cost: linear in the messages; of `complete`, that of `lacking`.

    >>> from microcosm.givens.columns import Message
    >>> messages = [Message("send", "e", "m", "p"), Message("receive", "f", "m", "q")]
    >>> facts = base_facts(Givens(messages=messages))
    >>> facts["matches"], facts["send"]
    (frozenset({('e', 'f')}), frozenset({('e',)}))
    """
    return BaseTables(givens, lambda: lacking(givens) is None, partial(reached, givens))
