"""Analogy: two microcosms that give the same online verdict on every pair (seed 003, Definition 5.1).

Analogous microcosms stay so whatever both are told (Theorem 5.10), so that analogy is what decides
whether two replicas can ever deduce differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from microcosm.engine.engine import Engine
from microcosm.relations.bits import bits
from microcosm.state.microcosm import Microcosm
from microcosm.state.verdict_rows import (
    VerdictRows,
    related_names,
    silence_is_decided,
    transposed,
    verdict_rows,
)


def analogous(one: Microcosm, other: Microcosm) -> bool:
    """Whether every ordered pair of events of either has the same online verdict in both.

    `?` and silence count as verdicts. Cost: a row of each relation an event and some n² / 64 word
    operations; under other rules than the shipped ones also the saturation of both tables.

    >>> analogous(Microcosm.parse("a < c < b"), Microcosm.parse("c < b \\n a < b \\n a < c"))
    True
    """
    return first_difference(one, other) is None


def first_difference(one: Microcosm, other: Microcosm) -> tuple[str, str] | None:
    """The first pair, in the order of names, whose verdicts differ; None if there is none. Cost: as above."""
    left, right = compared(one, other)
    return next(differing(left, right), None)


def differing(left: VerdictRows, right: VerdictRows) -> Iterator[tuple[str, str]]:
    """Each pair whose verdicts differ, once, the first event before the second, in the order of names."""
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
    if silence_is_decided(one.rules) and silence_is_decided(other.rules):
        names = sorted({name for engine in engines for name in related_names(engine)})
        return verdict_rows(engines[0], names), verdict_rows(engines[1], names)
    names = sorted({*one.events, *other.events})
    left, right = (verdict_rows(_naming(known, names), names, silent=True) for known in (one, other))
    return left, right


def _naming(known: Microcosm, names: Sequence[str]) -> Engine:
    """An engine that knows all of `names`, those not given being named only: stamped, as nothing in M is."""
    givens = known.givens.copy()
    named = set(givens.named())
    givens.stamps.update((name, 0) for name in names if name not in named)
    return Engine(known.rules, givens)
