"""The order of some givens: rows or labels, whichever suits, and whether a complete log orders what it must.

Of a complete log what is not ordered is concurrent. That holds only where the log orders all that is
ordered by definition: the events of each process, and a sending and its reception. Where it does
not, its silence about a pair proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Literal

from microcosm import tuning
from microcosm.givens.completeness import covered, owned
from microcosm.givens.facts import PREDICATES, STAMPED_OUT, BaseFacts, expect
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.order.chain_cover import ProcessOf, Wide
from microcosm.order.clock_order import ClockRows
from microcosm.order.happens_before import Cycle, HappensBefore, cycle_or_order, edge_sets
from microcosm.order.labels import Labels
from microcosm.order.rows import Rows


def happens_before(
    size: int, edges: Iterable[tuple[int, int]], process: ProcessOf | None = None
) -> HappensBefore:
    """The order that the edges generate. Raises `Cycle`. Cost: linear in size and edges, at first.

    >>> type(happens_before(3, [(0, 1), (1, 2)])).__name__
    'Rows'
    """
    if size > tuning.ROWS_UP_TO:
        if iter(edges) is edges:  # to be gone through but once
            edges = list(edges)
        try:
            least = tuning.EVENTS_A_CHAIN
            return Labels(size, edges, process, size // least if least else None)
        except Wide:
            pass
    return Rows(size, edges)


def lacking(givens: Givens) -> str | None:
    """What a complete log would say and the givens do not, in words; None where nothing is lacking.

    Cost: that of the order of what is given, and a question of it for each message.

    >>> from microcosm.givens.columns import Message
    >>> givens = Givens(messages=[Message("send", "s", "m", "p"), Message("receive", "r", "m", "q")])
    >>> lacking(givens)
    'nothing orders the sending s of m and its reception r'
    """
    position = givens.numbers()
    edges = given_edges(givens, position)
    try:
        rank = {
            at: place
            for place, at in enumerate(cycle_or_order(len(position), *edge_sets(len(position), edges)))
        }
        order = happens_before(len(position), edges)
    except Cycle:
        return None  # contradictory anyway
    return lacking_order(givens, position, rank.__getitem__, order.before)


def given_edges(givens: Givens, position: Mapping[str, int]) -> list[tuple[int, int]]:
    """Pairs of positions that generate the given order. Cost: linear, and that of the cover of the clocks."""
    links = givens.links
    linked = () if links is None else links.placed(position)
    external = givens.external.values() if links is None else ()
    before = ((f.left, f.right) for f in external if f.relation is Relation.BEFORE)
    stated = ((position[a], position[b]) for a, b in chain(before, pairwise(givens.internal)))
    return [*linked, *stated, *ClockRows(givens.clocks, position).cover()]


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
    """As `lacking`, where the order of positions is known: its test, and a rank that grows along it."""
    partly = covered(givens) if isinstance(givens.complete, tuple) else None
    sent: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    of_process: dict[str, dict[str, int]] = {}
    messages = [m for m in givens.messages if partly is None or m.event in partly]
    for event, process in owned(givens):
        if partly is None or event in partly:
            of_process.setdefault(process, {})[event] = position[event]
    for message in messages:
        if message.kind == "send":
            sent.setdefault(message.message, []).append((message.event, message.receivers))
    for process, events in of_process.items():
        for a, b in pairwise(sorted(events, key=lambda event: rank(events[event]))):
            if not before(events[a], events[b]):
                return f"nothing orders {a} and {b} of process {process}"
    for message in messages:
        if message.kind == "receive":
            origins = [e for e, to in sent.get(message.message, ()) if not to or message.process in to]
            if not origins and partly is not None:
                continue  # it comes from somebody else
            if not origins:
                return f"the sending of {message.message}, received at {message.event}, is not in it"
            if not any(before(position[origin], position[message.event]) for origin in origins):
                what = f"the sending {origins[0]} of {message.message} and its reception {message.event}"
                return f"nothing orders {what}"
    return None


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
