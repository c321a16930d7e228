"""Analogy: two microcosms that give the same online verdict on every pair (seed 003, Definition 5.1).

Analogous microcosms stay so whatever both are told (Theorem 5.10), so that analogy is what decides
whether two replicas can ever deduce differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from microcosm.compare.verdict_rows import (
    VerdictRows,
    related_names,
    seeds_own,
    transposed,
    verdict_rows,
)
from microcosm.order.bits import bits
from microcosm.state.microcosm import Microcosm


def analogous(one: Microcosm, other: Microcosm) -> bool:
    """Whether every ordered pair of events of either has the same online verdict in both.

    `?` and silence count as verdicts. Cost: a row of each relation an event and some n² / 64 word
    operations; under other rules than the shipped ones also the saturation of both tables, and a question
    for each event that the other does not name.

    >>> analogous(Microcosm.parse("a < c < b"), Microcosm.parse("c < b \\n a < b \\n a < c"))
    True
    """
    return first_difference(one, other) is None


def first_difference(one: Microcosm, other: Microcosm) -> tuple[str, str] | None:
    """A pair whose verdicts differ: the first by name of which not the same is known. None if analogous.

    Cost: as `analogous`.
    """
    for pair in differing(*compared(one, other)):
        for a, b in (pair, pair[::-1]):  # rules may judge a pair in one direction only
            if one.online(a, b) is not other.online(a, b):
                return a, b
    return None


def differing(left: VerdictRows, right: VerdictRows) -> Iterator[tuple[str, str]]:
    """Each pair whose rows differ, once, the first event before the second, in the order of names."""
    names = left.names
    differs = [0] * len(names)
    for relation, rows in left.rows.items():
        differs = [d | x ^ y for d, x, y in zip(differs, rows, right.rows[relation], strict=True)]
    if not any(differs):
        return
    for k, (row, column) in enumerate(zip(differs, transposed(differs, len(names)), strict=True)):
        yield from ((names[k], names[at]) for at in bits((row | column) >> k << k))


def compared(one: Microcosm, other: Microcosm) -> tuple[VerdictRows, VerdictRows]:
    """The verdicts of both on the events of either, in one order."""
    engines = one._engine, other._engine
    if seeds_own(one.rules) and seeds_own(other.rules):
        names = sorted({name for engine in engines for name in related_names(engine)})
        return verdict_rows(engines[0], names), verdict_rows(engines[1], names)
    names = sorted({*one.events, *other.events})
    return _whole_table(one, names), _whole_table(other, names)


def _whole_table(known: Microcosm, names: Sequence[str]) -> VerdictRows:
    """The verdicts on `names`, silence included, those on events that nothing here names among them.

    Rules cannot tell one such event from another, so two of them are asked about, and stand for all.
    """
    table = verdict_rows(known._engine, names, silent=True)
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
