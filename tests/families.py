"""Larger knowledge with `<>`: planted (true in a world, so consistent) and crafted (hard on purpose)."""

from __future__ import annotations

from random import Random

from benchmarks.knowledge import triangles
from microcosm.worlds.constraints import Constraints


def planted(size: int, seed: int) -> Constraints:
    """2n `<`, 2n `||` and n `<>` at most, all true in one random world."""
    rng = Random(seed)
    rank = rng.sample(range(size), size)
    world = {(a, b) for a in range(size) for b in range(size) if rank[a] // 3 < rank[b] // 3 - 1}
    known: dict[str, list[tuple[int, int]]] = {"<": [], "||": [], "<>": []}
    for _ in range(8 * size):
        a, b = rng.sample(range(size), 2)
        if (a, b) in world and len(known["<"]) < 2 * size and rng.random() < 0.5:
            known["<"].append((a, b))
        elif (a, b) in world and len(known["<>"]) < size:
            known["<>"].append((b, a))
        elif (a, b) not in world and (b, a) not in world and len(known["||"]) < 2 * size:
            known["||"].append((a, b))
    return Constraints(size, known["<"], known["||"], known["<>"])


def crafted(size: int, seed: int, ratio: float) -> Constraints:
    """Not-all-equal 3-SAT: `ratio` clauses a variable, about `size` events; hard near 2.1.

    A variable is the direction of a `<>`. A clause is a triangle of `<>`, which may have any directions but
    a cycle; each of its sides is tied to a variable by two `<>` whose far ends are `||`, so that
    both point the same way or neither does.
    """
    rng = Random(seed)
    variables = max(3, round(size / (2 + 6 * ratio)))
    clauses = max(1, (size - 2 * variables) // 6)
    count = 2 * variables + 6 * clauses
    concurrent, related = triangles(rng, rng.sample(range(count), count), variables, clauses)
    return Constraints(count, [], [*concurrent], [*related])
