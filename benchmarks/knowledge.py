"""The inputs with `<>`: planted, unplanted and crafted families, n events with about as many `<>`."""

from __future__ import annotations

from random import Random

from benchmarks.families import Family, Pairs, closure, rand
from microcosm.worlds.constraints import Constraints


def knowledge(family: Family) -> Constraints:
    """The constraints of a family."""
    return Constraints(family.size, [*family.before], [*family.concurrent], [*family.related])


def planted(size: int, seed: int = 1) -> Family:
    """2n `<`, 2n `||`, n `<>`, all true in one world: the closure of 2n random pairs."""
    rng = Random(seed)
    future = closure(size, rand(size, 2, seed).before)
    drawn: dict[str, set[tuple[int, int]]] = {"<": set(), "||": set(), "<>": set()}
    wanted = {"<": 2 * size, "||": 2 * size, "<>": size}
    while any(len(drawn[sign]) < wanted[sign] for sign in wanted):
        a, b = rng.sample(range(size), 2)
        if future[a] >> b & 1:
            sign = "<" if rng.random() < 2 / 3 else "<>"
        elif future[b] >> a & 1:
            continue
        else:
            sign = "||"
        pair = (min(a, b), max(a, b)) if sign != "<" else (a, b)
        if len(drawn[sign]) < wanted[sign] and not drawn["<" if sign == "<>" else "<>"] & {pair, pair[::-1]}:
            drawn[sign].add(pair)
    return Family(f"planted {size}", size, *(sorted(drawn[sign]) for sign in ("<", "||", "<>")))


def unplanted(size: int, seed: int = 1) -> Family:
    """n/2 `<`, n/2 `||`, n `<>` drawn without a world in mind: it may or may not fit one."""
    rng = Random(seed)
    before = rand(size, 1, seed).before[::2]
    future = closure(size, before)
    drawn: tuple[Pairs, Pairs] = ([], [])
    taken: set[tuple[int, int]] = set()
    for pairs, count in zip(drawn, (size // 2, size), strict=True):
        while len(pairs) < count:
            a, b = sorted(rng.sample(range(size), 2))
            if (a, b) not in taken and not future[a] >> b & 1 and not future[b] >> a & 1:
                taken.add((a, b))
                pairs.append((a, b))
    return Family(f"unplanted {size}", size, before, *drawn)


def crafted(size: int, ratio: float = 2.1, seed: int = 1) -> Family:
    """Not-all-equal 3-SAT with `ratio` clauses a variable, hardest near 2.1.

    A variable is the direction of a `<>`, a clause a triangle of `<>`, which has any directions but a cycle;
    two `<>` with `||` between their far ends point both towards their common end or both away from it,
    and so tie the sides of the triangle to the variables.
    """
    rng = Random(seed)
    variables = max(3, round(size / (2 + 6 * ratio)))
    clauses = (size - 2 * variables) // 6
    concurrent, related = triangles(rng, rng.sample(range(size), size), variables, clauses)
    return Family(f"crafted {size}, {ratio} clauses a variable", size, [], concurrent, related)


def triangles(rng: Random, name: list[int], variables: int, clauses: int) -> tuple[Pairs, Pairs]:
    """The `||` and the `<>` of so many clauses, each of three variables drawn; `name` in turn."""
    fresh = iter(name[2 * variables :])
    ends = [(name[2 * v], name[2 * v + 1]) for v in range(variables)]
    related, concurrent = list(ends), Pairs()
    for _ in range(clauses):
        corners = [next(fresh) for _ in range(3)]
        for at, variable in enumerate(rng.sample(range(variables), 3)):
            a, b = corners[at], corners[(at + 1) % 3]
            p, q = ends[variable] if rng.random() < 0.5 else ends[variable][::-1]
            tie = next(fresh)
            related += [(a, b), (b, tie), (tie, p)]
            concurrent += [(a, tie), (b, p), (tie, q)]
    return concurrent, related
