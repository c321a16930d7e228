"""Theorem 10 of docs/theory/np.md: both reductions, built, and the program held to what they reduce from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise, product
from random import Random

import pytest

from microcosm import Microcosm
from tests.thorough import draws

Clause = tuple[int, ...]
"""Literals: k or -k for variable k, counted from 1."""

EVERY_WAY = ((1, 2, 3), (1, 2, -3), (1, -2, 3), (-1, 2, 3))
"""Each of them takes two of the eight assignments away, and together all."""


def reduced(variables: int, clauses: Sequence[Clause]) -> str:
    """The microcosm of the reduction: some world fits iff an assignment makes no clause all equal."""
    related = [(f"x{k}.0", f"x{k}.1") for k in range(1, variables + 1)]
    apart = []
    for at, clause in enumerate(clauses):
        corners = [f"v{at}.{k}" for k in range(3)]
        related += combinations(corners, 2)
        for k, literal in enumerate(clause):
            steps = [f"y{at}.{k}.{i}" for i in range(2 if literal > 0 else 1)]
            x = f"x{abs(literal)}"
            path = [f"{x}.0", f"{x}.1", *steps, corners[k], corners[(k + 1) % 3]]
            related += pairwise(path[1:-1])
            apart += zip(path, path[2:], strict=False)
    return "\n".join([*(f"{a} <> {b}" for a, b in related), *(f"{a} || {b}" for a, b in apart)])


def not_all_equal(variables: int, clauses: Sequence[Clause]) -> bool:
    """Whether some assignment makes no clause all equal, by trying all."""
    return any(
        all(len({values[abs(one) - 1] is (one > 0) for one in clause}) == 2 for clause in clauses)
        for values in product((False, True), repeat=variables)
    )


def fits(text: str) -> bool:
    return Microcosm.parse(text).contradiction() is None


def test_a_world_fits_iff_the_clauses_can_be_not_all_equal() -> None:
    assert not not_all_equal(3, EVERY_WAY)
    assert not fits(reduced(3, EVERY_WAY))
    for left_out in range(4):
        some = [clause for k, clause in enumerate(EVERY_WAY) if k != left_out]
        assert not_all_equal(3, some)
        assert fits(reduced(3, some))
    random = Random(26)
    for _ in range(draws(6, 200)):
        names = [random.sample(range(1, 5), 3) for _ in range(random.randint(3, 7))]
        clauses = [tuple(random.choice((k, -k)) for k in name) for name in names]
        assert fits(reduced(4, clauses)) is not_all_equal(4, clauses), clauses


def test_of_two_new_events_all_is_possible_iff_a_world_fits() -> None:
    """Corollary 11: what is asked of a pair of which nothing is known is whether any world fits."""
    for clauses in (EVERY_WAY, EVERY_WAY[1:]):
        known = Microcosm.parse(reduced(3, clauses))
        assert len(known.possible("new", "newer").relations) == (3 if not_all_equal(3, clauses) else 0)


def is_comparability(size: int, edges: frozenset[tuple[int, int]]) -> bool:
    """Whether some direction of all edges is transitive, by trying all."""
    listed = sorted(edges)
    for turned in product((False, True), repeat=len(listed)):
        order = {(b, a) if turn else (a, b) for (a, b), turn in zip(listed, turned, strict=True)}
        if all((a, d) in order for a, b in order for c, d in order if b == c):
            return True
    return False


@pytest.mark.parametrize("seed", range(2))
def test_a_world_fits_iff_a_comparability_graph_lies_between(seed: int) -> None:
    random = Random(seed)
    pairs = list(combinations(range(5), 2))
    seen = set()
    for _ in range(draws(6, 100)):
        must = [pair for pair in pairs if random.random() < 0.5]
        never = [pair for pair in pairs if pair not in must and random.random() < 0.9]
        free = [pair for pair in pairs if pair not in must and pair not in never]
        between = any(
            is_comparability(5, frozenset((*must, *more)))
            for count in range(len(free) + 1)
            for more in combinations(free, count)
        )
        text = "\n".join([*(f"e{a} <> e{b}" for a, b in must), *(f"e{a} || e{b}" for a, b in never)])
        assert fits(text) is between, text
        seen.add(between)
    circle = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    assert not is_comparability(5, frozenset(circle))
    assert seen
