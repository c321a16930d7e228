"""Claim: all rules of online decision making, read from files and lowered, for all pairs at once.

The peers have the rules written into them (`benchmarks.peers`). Every verdict is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.by_hand import unknown_table
from benchmarks.families import Family, mixed
from benchmarks.measure import Line, paired
from benchmarks.peers import clingo_table, networkx_table, numpy_table, scipy_table
from microcosm.engine.engine import Engine
from microcosm.engine.lowering import ONLINE_ORDER, online
from microcosm.logic.rulebook import read_rules
from microcosm.order.bits import bits

NAME = "online table"

SETS_LIMIT = 1_000
"""Python sets, matrices and clingo take longer than some ten seconds for more events than this."""

COUNTING: dict[str, Callable[[Family], int]] = {"scipy": scipy_table, "clingo": clingo_table}
"""Peers, by their packages, that say how many pairs are `?`."""


def run(quick: bool = False) -> list[Line]:
    """Sparse microcosms of three sizes, and a dense one."""
    cases = [mixed(100), mixed(200 if quick else 1_000)]
    if not quick:
        cases += [mixed(3_000), mixed(3_000, dense=True)]
    return [line for family in cases for line in measure(family, rounds=1 if quick else 7)]


def measure(family: Family, rounds: int) -> list[Line]:
    givens = family.givens()

    def ours() -> Engine:
        engine = Engine(read_rules(), givens)
        engine.saturate()
        return engine

    subjects: dict[str, Callable[[], object]] = {
        "microcosm": ours,
        "the same rules by hand": lambda: unknown_table(family),
        "numpy packed rows": lambda: numpy_table(family),
    }
    if family.size <= SETS_LIMIT:
        subjects["networkx and sets"] = lambda: networkx_table(family)
        subjects |= {name: partial(count, family) for name, count in COUNTING.items() if find_spec(name)}
    lines, answers = paired(NAME, family.name, subjects, rounds=rounds)
    compare(family, answers)
    return lines


def compare(family: Family, answers: dict[str, Any]) -> None:
    """All verdicts of all subjects are the same."""
    size = family.size
    engine = answers["microcosm"]
    mine = {str(relation): _square(engine, relation, size) for relation in ONLINE_ORDER}
    for name in COUNTING:
        assert answers.get(name, int(mine["?"].sum())) == mine["?"].sum(), (family.name, name)
    packed = answers["numpy packed rows"]
    rows, order = answers["the same rules by hand"]
    by_hand = np.zeros((size, size), dtype=np.uint8)
    for place, row in enumerate(rows):
        by_hand[order[place], [order[b] for b in bits(row)]] = 1
    assert np.array_equal(mine["?"], by_hand), family.name
    sets = answers.get("networkx and sets")
    for sign, found in mine.items():
        theirs = np.unpackbits(packed[sign], axis=1, bitorder="little")[:, :size]
        assert np.array_equal(found, theirs), (family.name, sign)
        if sets is not None:
            listed = np.zeros_like(found)
            for a, row in enumerate(sets[sign]):
                listed[a, list(row)] = 1
            assert np.array_equal(found, listed), (family.name, sign)


def _square(engine: Engine, relation: Any, size: int) -> Any:
    """The judgements of a relation as a square of 0 and 1 over the numbers of the events."""
    judged = engine.memo.judged(online(relation))
    square = np.zeros((size, size), dtype=np.uint8)
    at = [engine.universe.position.get(f"e{v}") for v in range(size)]
    inside = [v for v, x in enumerate(at) if x is not None]
    width = len(engine.universe) // 8 + 1
    for v in inside:
        row = np.frombuffer(judged.row(at[v]).to_bytes(width, "little"), dtype=np.uint8)
        bits = np.unpackbits(row, bitorder="little")
        square[v, inside] = bits[[at[w] for w in inside]]
    return square
