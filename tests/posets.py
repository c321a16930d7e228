"""Every way to order a few events: an oracle for possibilities that shares no code with the package.

A world is the set of its ordered pairs. Every choice of a relation for every pair is tried, and kept if it is
transitive; from five events on, every choice for the last event beside each world of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations, permutations, product

Pair = tuple[int, int]
World = frozenset[Pair]


@cache
def posets(size: int) -> tuple[World, ...]:
    """All strict partial orders of 0 … size - 1: every choice of relations, tested for transitivity."""
    found = []
    pairs = list(combinations(range(size), 2))
    if size <= 4:
        for signs in product("<>|", repeat=len(pairs)):
            world = {p if s == "<" else p[::-1] for p, s in zip(pairs, signs, strict=True) if s != "|"}
            if transitive(world, size):
                found.append(frozenset(world))
        return tuple(found)
    last = size - 1
    for smaller in posets(size - 1):
        for signs in product("<>|", repeat=last):
            world = set(smaller) | {
                (e, last) if s == "<" else (last, e) for e, s in enumerate(signs) if s != "|"
            }
            if transitive(world, size):
                found.append(frozenset(world))
    return tuple(found)


def transitive(world: set[Pair], size: int) -> bool:
    """Whether a < b and b < c always come with a < c."""
    return all(
        (a, c) in world for a, b, c in permutations(range(size), 3) if (a, b) in world and (b, c) in world
    )


def sign(world: World, a: int, b: int) -> str:
    """`<`, `>` or `||`."""
    return "<" if (a, b) in world else ">" if (b, a) in world else "||"


ALLOWED = {"<": "<", ">": ">", "||": ("||",), "<>": "<>", "!<": (">", "||"), "!>": ("<", "||")}

Fact = tuple[int, str, int]


@cache
def _where(size: int, fact: Fact) -> int:
    """The worlds in which a fact is true, as bits."""
    a, relation, b = fact
    return sum(1 << at for at, world in enumerate(posets(size)) if sign(world, a, b) in ALLOWED[relation])


def fitting(size: int, facts: Iterable[Fact]) -> int:
    """The worlds in which all facts are true, as bits."""
    worlds = (1 << len(posets(size))) - 1
    for fact in facts:
        worlds &= _where(size, fact)
    return worlds


def possible(size: int, facts: Sequence[Fact]) -> dict[Pair, set[str]]:
    """For each pair a < b of numbers, the relations that some world with all facts gives it."""
    worlds = fitting(size, facts)
    return {
        (a, b): {relation for relation in ("<", ">", "||") if worlds & _where(size, (a, relation, b))}
        for a, b in combinations(range(size), 2)
    }


def holds_in(events: Sequence[str], pairs: Iterable[tuple[str, str]]) -> World:
    """The world that some pairs of names generate (Warshall)."""
    at = {event: number for number, event in enumerate(events)}
    world = {(at[a], at[b]) for a, b in pairs}
    for via, a, b in product(range(len(at)), repeat=3):
        if (a, via) in world and (via, b) in world:
            world.add((a, b))
    return frozenset(world)
