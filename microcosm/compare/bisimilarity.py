"""Bisimilarity: whether two microcosms will ever deduce differently (Worlds of Events, sections 5 and 6).

Forward, both are told the same, additions and updates: analogous microcosms stay analogous (Theorem 5.10),
and those that are not differ already. So forward bisimilarity is analogy. (Beyond the paper, a superseded
`<>` may stand in one of them only and be updated there; that changes no verdict.)

Backward, the same is removed from both. Then what is given counts, not what follows: backward bisimilarity
is equality of the givens (docs/theory/errata-worlds.md, 5 to 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from microcosm.compare.digest import given_differences, said
from microcosm.compare.removals import shortest_removals, tried_removals
from microcosm.compare.verdict_rows import first_difference, seeds_own
from microcosm.givens.relation import Correspondence, Relation
from microcosm.state.microcosm import Microcosm


@dataclass(frozen=True, slots=True)
class OnlyGiven:
    """A statement that is given to one of two microcosms only: to the first (1) or the second (2)."""

    to: int
    statement: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Why two microcosms are not bisimilar.

    After `path`, the removal of these from each microcosm that is given them, `pair` has the two
    `verdicts`. The path is empty where they differ at once. Where no path leads to different verdicts,
    all three are None, and only `given` tells the two apart. Forward, `given` is None. `sure` is false where
    there may be a shorter path, or one after all: under other rules than the shipped ones, of many givens.
    """

    pair: tuple[str, str] | None
    verdicts: tuple[Relation, Relation] | None
    path: tuple[Correspondence, ...] | None
    given: OnlyGiven | None = None
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Bisimilarity:
    """The answer of `bisimilar`: whether it `holds`, and if not a `witness`. It has no truth value."""

    holds: bool
    witness: Difference | None = None

    def __bool__(self) -> NoReturn:
        raise TypeError("a Bisimilarity is neither true nor false; ask for its `holds`")


def bisimilar(one: Microcosm, other: Microcosm, backward: bool = False) -> Bisimilarity:
    """Whether two microcosms are bisimilar, forward (additions and updates) or backward (removals).

    The witness is a pair with its verdicts in the two microcosms after a shortest path of removals;
    forward the path is empty. Under other rules than the shipped ones forward decides analogy. Cost:
    `analogous`, and if backward `shortest_removals` (under other rules `tried_removals`).

    >>> one, other = Microcosm.parse("a < c < b"), Microcosm.parse("a < c < b \\n a < b")
    >>> bisimilar(one, other).holds
    True
    >>> witness = bisimilar(one, other, backward=True).witness
    >>> [str(gone) for gone in witness.path], witness.pair, witness.verdicts
    (['a < c'], ('a', 'b'), (Relation.UNKNOWN, Relation.BEFORE))
    """
    given = _only_given(one, other) if backward else None
    if backward and given is None:
        return Bisimilarity(True)
    pair = first_difference(one, other)
    if pair is not None:
        return Bisimilarity(False, Difference(pair, _verdicts(one, other, pair), (), given))
    if not backward:
        return Bisimilarity(True)
    return Bisimilarity(False, _after_removals(one, other, given))


def after(known: Microcosm, path: tuple[Correspondence, ...]) -> Microcosm:
    """A copy without those of `path` that are given."""
    left = Microcosm(known.givens, rules=known.rules)
    for fact in path:
        if fact.key() in known.givens.external:
            left.remove(fact)
    return left


def _after_removals(one: Microcosm, other: Microcosm, given: OnlyGiven | None) -> Difference:
    seeds = seeds_own(one.rules) and seeds_own(other.rules)
    found, sure = (shortest_removals(one, other), True) if seeds else tried_removals(one, other)
    if found is not None:
        path, pair = tuple(found[0]), found[1]
        verdicts = _verdicts(after(one, path), after(other, path), pair)
        if verdicts[0] is not verdicts[1]:
            return Difference(pair, verdicts, path, given, sure)
    return Difference(None, None, None, given, sure)


def _verdicts(one: Microcosm, other: Microcosm, pair: tuple[str, str]) -> tuple[Relation, Relation]:
    return one.online(*pair), other.online(*pair)


def _only_given(one: Microcosm, other: Microcosm) -> OnlyGiven | None:
    mine, theirs = given_differences(one.givens, other.givens)
    if mine:
        return OnlyGiven(1, said(mine[0], one.givens))
    return OnlyGiven(2, said(theirs[0], other.givens)) if theirs else None
