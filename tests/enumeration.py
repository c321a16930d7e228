"""Every well-formed microcosm of a few events: the ground on which all engines must agree.

Labelled events, at most one given a pair, no internal events; no cycle, no `||` on an ordered pair and,
unless `superseding`, no `<>` on one. There are 111 of 3 events and 10,191 of 4 (12,123 superseding).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.worlds.world import World
from tests.oracle import Triple, refusal

Facts = tuple[Triple, ...]


@cache
def enumerated(events: str, superseding: bool = False) -> tuple[Facts, ...]:
    """All of them, in a fixed order. Cost: 5 to the power of the number of pairs, checked one by one."""
    return tuple(f for f in _candidates(events) if refusal(f, strict=not superseding) is None)


@cache
def up_to_renaming(events: str, superseding: bool = False) -> tuple[Facts, ...]:
    """One of each class of those that differ only in which event bears which name.

    Not always the first: the k-th class gives its k-th member, so that all sorts of namings occur.
    """
    classes: dict[tuple[Triple, ...], list[Facts]] = {}
    for facts in enumerated(events, superseding):
        same = (dict(zip(events, names, strict=True)) for names in permutations(events))
        classes.setdefault(min(_renamed(facts, names) for names in same), []).append(facts)
    return tuple(members[k % len(members)] for k, members in enumerate(classes.values()))


def as_givens(facts: Facts) -> Givens:
    """The same microcosm as the package reads it."""
    givens = Givens()
    for a, sign, b in facts:
        givens.add(Correspondence(a, Relation(sign), b))
    return givens


def side_by_side(several: Sequence[Facts]) -> Givens:
    """One microcosm of many that share no event: the events of the k-th are marked with k.

    No rule of the calculus carries anything from one to another, so that each keeps its verdicts; thousands
    are asked about for the price of a few.
    """
    givens = Givens()
    for k, facts in enumerate(several):
        for a, sign, b in facts:
            givens.add(Correspondence(f"{a}{k}", Relation(sign), f"{b}{k}"))
    return givens


def inside(facts: Facts) -> set[str]:
    """The events in M."""
    return {event for a, _, b in facts for event in (a, b)}


def _renamed(facts: Facts, names: dict[str, str]) -> tuple[Triple, ...]:
    renamed = ((names[a], sign, names[b]) for a, sign, b in facts)
    return tuple(sorted((a, sign, b) if sign == "<" or a < b else (b, sign, a) for a, sign, b in renamed))


def _candidates(events: str) -> Iterator[Facts]:
    choices: list[list[Facts]] = []
    for a, b in combinations(events, 2):
        choices.append([(), ((a, "<", b),), ((b, "<", a),), ((a, "||", b),), ((a, "<>", b),)])
    for chosen in product(*choices):
        yield tuple(fact for given in chosen for fact in given)


def all_worlds(events: Sequence[str]) -> Iterator[World]:
    """Every world on `events`, once each, in a fixed order: the labelled strict partial orders.

    Each order on the first n - 1 events is extended by every pair of a past and a future of the last
    that keeps it transitive. Cost: linear in what comes: 1, 3, 19, 219, 4231, 130023 of 1 to 6 events.
    """
    names = tuple(events)
    stack: list[tuple[list[int], list[int]]] = [([], [])]
    while stack:
        past, future = stack.pop()
        size = len(past)
        if size == len(names):
            pairs = ((i, j) for i, row in enumerate(future) for j in range(size) if row >> j & 1)
            yield World(names, frozenset((names[i], names[j]) for i, j in pairs))
            continue
        new = 1 << size
        for below, above in _places(past, future):
            stack.append(
                (
                    [row | (new if above >> i & 1 else 0) for i, row in enumerate(past)] + [below],
                    [row | (new if below >> i & 1 else 0) for i, row in enumerate(future)] + [above],
                )
            )


def _places(past: list[int], future: list[int]) -> Iterator[tuple[int, int]]:
    """Every (past, future) that one more event can have beside the given rows."""
    for below in range(1 << len(past)):
        inside = [i for i in range(len(past)) if below >> i & 1]
        if any(past[i] & ~below for i in inside):
            continue
        common = ((1 << len(past)) - 1) & ~below
        for i in inside:
            common &= future[i]
        above = common
        while True:
            if not any(future[i] & ~above for i in range(len(past)) if above >> i & 1):
                yield below, above
            if not above:
                break
            above = (above - 1) & common
