"""The online verdicts of a microcosm as rows of bits, in an order that does not depend on its history.

The engine numbers events as it met them. Here event k is the k-th of a list of names, so that the rows of
two microcosms can be compared, and hashed, as they are.

Of `?` and silence nothing is kept unless asked for: under the rules of the paper the relations that are known
decide which is which. The rules for `?` (Un-1 to Un-4) ask for relations of `|-`, for `_` of `|-0`, and
whether an event is in M. A pair has some relation of `|-0` exactly where it has one of `|-`, for what
In-OK holds back is outranked on the same pair; and an event of which nothing is known is `?` to every
other, in M (Un-3) or not (Un-4). `tests/compare/test_analogy.py` tries it.

Two microcosms are *analogous* whose verdicts are the same on every pair (Definition 5.1). They stay so,
whatever both are told (Theorem 5.10): analogy decides whether two replicas can ever deduce differently.

Under these rules the rows can also be had straight from the givens: for many small microcosms all at once
(`known_rows`), where building an engine costs more than everything that is asked of it; of large ones row by
row (`given_verdicts`), so that two of them are compared without a table of all pairs. Measured, for 50 events
and 73 facts: 74 µs all at once, 145 row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import chain, pairwise, permutations
from typing import NamedTuple

from microcosm.engine.engine import Engine
from microcosm.engine.ground import Processes, Universe
from microcosm.engine.lowering import online
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.givens.spelling import expect
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook
from microcosm.order.bits import bits, from_positions, transposed
from microcosm.order.clock_order import ClockRows, clock_rows
from microcosm.order.happens_before import Cycle, cycle_or_order, edge_sets
from microcosm.order.order import Closure, given_edges, happens_before, reached
from microcosm.state.microcosm import Microcosm

Row = Callable[[int], int]
"""The set of events that are in some relation to an event, as bits."""

KNOWN = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED)
"""The verdicts that say something; `>` is `<` read from the other event."""


@dataclass(frozen=True, slots=True)
class VerdictRows:
    """For each relation R and k: the set of all i with `names[i] R names[k]`, as bits.

    For `<` these are the rows of the past. `SILENT` stands among the relations where rules were asked.
    """

    names: list[str]
    rows: dict[Relation, list[int]]

    def put(self, i: int, verdict: Relation, k: int) -> None:
        """Record the verdict on event i and event k; `?` is where nothing is recorded."""
        if verdict is Relation.AFTER:
            i, verdict, k = k, Relation.BEFORE, i
        if verdict is not Relation.UNKNOWN:
            self.rows[verdict][k] |= 1 << i


PROVED = "e6b74ba1df4256cccd24a171843057b71a05aa4ddf1d14d84c9f2c835aba7ad1"
"""The fingerprint of the rules of which the above is proved: those of the paper, as shipped."""


@lru_cache(maxsize=16)
def seeds_own(rules: RuleBook) -> bool:
    """Whether the rules of `|-0` and `|-` are those of the paper, so that what is said above holds of them.

    Rules that differ in anything but comments and names, even to the same effect, are taken as others: then
    everything is derived and compared, silent pairs too.
    """
    return fingerprint(rules) == PROVED


def fingerprint(rules: RuleBook) -> str:
    """A digest of the rules that conclude `|-0` and `|-`, whatever their order. Cost: linear."""
    described = {
        repr((instance.conclusion, instance.premises))
        for instance in rules.instances
        if instance.conclusion.judgement is not Judgement.OFFLINE
    }
    return sha256("\n".join(sorted(described)).encode()).hexdigest()


def related_names(engine: Engine) -> list[str]:
    """The events of which some relation to another is known, sorted. Cost: one row an event, for `<` none."""
    found = 0
    for relation in KNOWN:
        judged = engine.memo.judged(online(relation))
        if isinstance(judged, Closure):
            found |= from_positions(
                {at for edge in judged.order.edges() for at in edge}, len(engine.universe)
            )
            continue
        rows, columns = judged.support()
        for at in bits((rows | columns) & engine.universe.named & ~found):
            if judged.row(at) or judged.col(at):
                found |= 1 << at
    return sorted(engine.universe.names[at] for at in bits(found))


def verdict_rows(engine: Engine, names: Sequence[str]) -> VerdictRows:
    """The verdicts on `names`, silence among them; an event that the engine does not know has empty rows.

    Cost: a row of each relation an event, and n² / 64 word operations several times over.
    """
    width = len(engine.universe)
    named = engine.universe.named
    position = [engine.universe.position.get(name, 0) for name in names]
    position = [at if named >> at & 1 else 0 for at in position]  # at 0 there is no event
    inside = sum(1 << at for at in set(position) if at)
    rows: dict[Relation, list[int]] = {}
    before = engine.memo.judged(online(Relation.BEFORE))
    taken = [before.row(at) | before.col(at) if at else 0 for at in position]
    for relation in KNOWN:
        judged = engine.memo.judged(online(relation))
        if relation is Relation.BEFORE:
            found = [before.row(at) if at else 0 for at in position]
        else:
            found = [judged.row(at) & ~row if at else 0 for at, row in zip(position, taken, strict=True)]
            taken = [row | new for row, new in zip(taken, found, strict=True)]
        rows[relation] = _renumbered(found, position, width)
    unknown = engine.memo.judged(online(Relation.UNKNOWN))
    found = [
        inside & ~(row | unknown.row(at) | 1 << at) if at else 0
        for at, row in zip(position, taken, strict=True)
    ]
    rows[Relation.SILENT] = _renumbered(found, position, width)
    return VerdictRows(list(names), rows)


def cover(past: list[int]) -> list[int]:
    """The transitive reduction of a strict order: of each past the events without one in between.

    Cost: a row operation for each pair of the cover and, where events are numbered against the order,
    some more.
    """
    reduced = []
    for row in past:
        rest, between = row, 0
        while rest:
            at = rest.bit_length() - 1
            between |= past[at]
            rest &= ~(between | 1 << at)
        reduced.append(row & ~between)
    return reduced


def _renumbered(rows: list[int], position: list[int], width: int) -> list[int]:
    """Row k for the column of position k; bit i of it for row i."""
    if not any(rows):
        return rows
    columns = transposed(rows, width)
    return [columns[at] for at in position]


def known_rows(givens: Givens) -> VerdictRows | None:
    """The known relations of the events of which something is known; None where givens contradict.

    Contradictions are those that no microcosm may have: a cycle of `<`, `||` on an ordered pair, or beside
    `<>`.
    Cost: O((n + givens) · n / 64).
    """
    rows = _rows(givens, sorted(givens.members()))
    if rows is None:
        return None
    related = 0
    for matrix in rows.rows.values():
        for k, row in enumerate(matrix):
            if row:
                related |= row | 1 << k
    if related == (1 << len(rows.names)) - 1:
        return rows
    return _rows(givens, [rows.names[k] for k in bits(related)])


def _rows(givens: Givens, names: list[str]) -> VerdictRows | None:
    position = {name: at for at, name in enumerate(names)}
    clocks = ClockRows({e: clock for e, clock in givens.clocks.items() if e in position}, position)
    size = len(names)
    concurrent = [clocks.concurrent(at) for at in range(size)] if clocks else [0] * size
    related = [0] * size
    edges = [*clocks.cover(), *pairwise(position[e] for e in givens.internal if e in position)]
    for fact in givens.external.values():
        a, b = position[fact.left], position[fact.right]
        if fact.relation is Relation.BEFORE:
            edges.append((a, b))
        else:
            rows = concurrent if fact.relation is Relation.CONCURRENT else related
            rows[a] |= 1 << b
            rows[b] |= 1 << a
    for group in givens.tokens.values():
        members = {position[event] for event in group if event in position}
        row = sum(1 << at for at in members)
        for at in members:
            related[at] |= row & ~(1 << at)
    try:
        past, future = _orders(size, edges)
    except Cycle:
        return None
    for k in range(size):
        ordered = past[k] | future[k]
        if concurrent[k] & (ordered | related[k]):
            return None
        related[k] &= ~ordered
    return VerdictRows(
        names, {Relation.BEFORE: past, Relation.CONCURRENT: concurrent, Relation.RELATED: related}
    )


def _orders(size: int, edges: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The rows of the past and of the future. Raises `Cycle`."""
    successors, predecessors = edge_sets(size, edges)
    order = cycle_or_order(size, successors, predecessors)
    past, future = [0] * size, [0] * size
    for rows, neighbours, way in ((past, predecessors, order), (future, successors, order[::-1])):
        for v in way:
            row = 0
            for w in neighbours[v]:
                row |= rows[w] | 1 << w
            rows[v] = row
    return past, future


def analogous(one: Microcosm, other: Microcosm) -> bool:
    """Whether every ordered pair of events of either has the same online verdict in both.

    `?` and silence count as verdicts. Cost under the shipped rules: linear where they are and both have the
    same clocks and tokens; else also a row of each relation for each event up to the first by name that
    differs. Under other rules the saturation of both tables, some n² / 64 word operations, and a question for
    each event that the other does not name.

    >>> analogous(Microcosm.parse("a < c < b"), Microcosm.parse("c < b \\n a < b \\n a < c"))
    True
    """
    return first_difference(one, other) is None


def first_difference(one: Microcosm, other: Microcosm) -> tuple[str, str] | None:
    """A pair whose verdicts differ: the first by name of which not the same is known. None if analogous.

    Cost: as `analogous`.
    """
    for pair in differing(one, other):
        for a, b in (pair, pair[::-1]):  # rules may judge a pair in one direction only
            if one.online(a, b) is not other.online(a, b):
                return a, b
    return None


def given_apart(one: Microcosm, other: Microcosm) -> set[tuple[str, str]] | None:
    """The pairs that are given to one of two only and have another verdict in the other.

    None where more may differ: under other rules than the shipped ones, or where clocks or tokens are not the
    same. Else two that have no such pair are analogous: each has the links from which the order of the other
    follows, and `||` and `<>` follow from nothing else. Cost: two questions for each thing that is given to
    one only.
    """
    expect(Microcosm, "microcosm", one, other)
    mine, theirs = one.givens, other.givens
    if not (seeds_own(one.rules) and seeds_own(other.rules)):
        return None
    if [*mine.clocks.items()] != [*theirs.clocks.items()] or mine.tokens != theirs.tokens:
        return None
    pairs = {*pairwise(mine.internal)} ^ {*pairwise(theirs.internal)}
    pairs |= {(fact.left, fact.right) for _, fact in mine.external.items() ^ theirs.external.items()}
    return {pair for pair in pairs if one.online(*pair) is not other.online(*pair)}


def differing(one: Microcosm, other: Microcosm) -> Iterator[tuple[str, str]]:
    """Each pair of which not the same is known, the first event before the second by name, in that order.

    Under other rules than the shipped ones also those on which only one is silent. Cost: as `analogous`.
    """
    apart = given_apart(one, other)
    if apart is not None and not apart:
        return
    if seeds_own(one.rules) and seeds_own(other.rules):
        left, right, events = compared(one, other, apart)
        names = left.names
        for k in events:
            differs = 0
            for mine, theirs in zip(left[1:], right[1:], strict=True):
                differs |= mine(k) ^ theirs(k)
            yield from (
                (names[k], name) for name in sorted(names[i] for i in bits(differs)) if name > names[k]
            )
        return
    names = sorted({*one.events, *other.events})
    tables = [whole_table(known, names).rows for known in (one, other)]
    differ = [0] * len(names)
    for relation, rows in tables[0].items():
        differ = [d | x ^ y for d, x, y in zip(differ, rows, tables[1][relation], strict=True)]
    for k, (row, column) in enumerate(zip(differ, transposed(differ, len(names)), strict=True)):
        yield from ((names[k], names[at]) for at in bits((row | column) >> k << k))


class Verdicts(NamedTuple):
    """The online verdicts of a microcosm on numbered events: of each the sets of those before it, after it,
    and so on.
    """

    names: Sequence[str]
    past: Row
    future: Row
    concurrent: Row
    related: Row

    def clear(self, k: int) -> int:
        """The events whose relation to event k is known accurately."""
        return self.past(k) | self.future(k) | self.concurrent(k)

    def known(self, k: int) -> int:
        """The events of whose relation to event k something is known."""
        return self.clear(k) | self.related(k)


def given_order(givens: Givens, universe: Universe) -> Closure:
    """The order that is given, by the positions of a universe. Cost: linear."""
    edges = given_edges(givens, universe.position)
    return Closure(happens_before(len(universe), edges, Processes(givens, universe)))


def given_verdicts(givens: Givens, universe: Universe, order: Closure | None = None) -> Verdicts:
    """What is known straight from the givens, under the shipped rules, by the positions of a universe.

    Cost: linear; that of a row of the order for each set that is asked for.
    """
    position, size = universe.position, len(universe)
    order = given_order(givens, universe) if order is None else order
    clocks = clock_rows(givens.clocks, position)
    stated: dict[Relation, dict[int, int]] = {Relation.CONCURRENT: {}, Relation.RELATED: {}}
    for fact in givens.external.values():
        if fact.relation in stated:
            rows, a, b = stated[fact.relation], position[fact.left], position[fact.right]
            rows[a] = rows.get(a, 0) | 1 << b
            rows[b] = rows.get(b, 0) | 1 << a
    vague = stated[Relation.RELATED]
    for group in givens.tokens.values():
        row = from_positions(map(position.__getitem__, group), size)
        for at in bits(row):
            vague[at] = vague.get(at, 0) | row & ~(1 << at)

    def concurrent(k: int) -> int:
        return (clocks.concurrent(k) if clocks else 0) | stated[Relation.CONCURRENT].get(k, 0)

    def related(k: int) -> int:
        row = vague.get(k, 0)
        return row and row & ~(order.row(k) | order.col(k))

    return Verdicts(universe.names, order.col, order.row, concurrent, related)


def compared(
    one: Microcosm, other: Microcosm, apart: set[tuple[str, str]] | None
) -> tuple[Verdicts, Verdicts, list[int]]:
    """What two know under the shipped rules, numbered alike, and the events of which that may differ.

    The events are in the order of their names; `apart` is what `given_apart` finds. A pair that only one of
    two with equal clocks orders is ordered by way of a link that the other has not. Cost: linear.
    """
    universe = Universe(
        [*dict.fromkeys(chain(one._engine.universe.position, other._engine.universe.position))]
    )
    left, right = (given_verdicts(known.givens, universe) for known in (one, other))
    if apart is None:
        return left, right, sorted(universe.position.values(), key=universe.names.__getitem__)
    events = {*chain.from_iterable(apart)}
    for known in (one, other):
        links = {way for pair in apart for way in (pair, pair[::-1]) if known.online(*way) is Relation.BEFORE}
        events |= reached(known.givens, {a for a, _ in links}, 1)
        events |= reached(known.givens, {b for _, b in links}, 0)
    return left, right, [universe.position[event] for event in sorted(events)]


def whole_table(known: Microcosm, names: Sequence[str]) -> VerdictRows:
    """The verdicts on `names`, silence included, those on events that nothing here names among them.

    Rules cannot tell one such event from another, so two of them are asked about, and stand for all.
    """
    table = verdict_rows(known._engine, names)
    own = set(known.events)
    inside = [k for k, name in enumerate(names) if name in own]
    outside = [k for k, name in enumerate(names) if name not in own]
    for k in inside if outside else ():
        for verdict, straight in (
            (known.online(names[k], names[outside[0]]), True),
            (known.online(names[outside[0]], names[k]), False),
        ):
            for o in outside:
                table.put(*((k, verdict, o) if straight else (o, verdict, k)))
    if len(outside) > 1:
        verdict = known.online(names[outside[0]], names[outside[1]])
        for o, p in permutations(outside, 2):
            table.put(o, verdict, p)
    return table
