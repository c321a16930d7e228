"""Claim: bit rows close happens-before at least as fast as numpy's, and far faster than a graph library.

Each subject starts from the pairs and ends with all later and all earlier events of every event. "Through the
rules" is the whole way of the package: events have names, the rule files are lowered, the same rows come out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from benchmarks import graphs
from benchmarks.families import Family, rand, trace
from benchmarks.measure import Line, paired
from benchmarks.peers import networkx_closure, numpy_closure
from microcosm.engine.engine import Engine
from microcosm.engine.lowering import initial
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import read_rules
from microcosm.order.rows import Rows

NAME = "closure"

GRAPH_LIMIT = 2_000
"""networkx takes more than ten seconds for a trace of more events than this."""


def run(quick: bool = False) -> list[Line]:
    """Random pairs, and logs of 8 and 64 processes."""
    if graphs.missing():
        print(f"{NAME}: {', '.join(graphs.missing())} not installed, and left out", file=sys.stderr)
    sizes = (200,) if quick else (GRAPH_LIMIT, 5_000, 20_000)
    lines = []
    for size in sizes:
        for family in (rand(size, 4), trace(size, 8), trace(size, 64)):
            lines += measure(family, rounds=1 if quick else 7)
    return lines


def measure(family: Family, rounds: int) -> list[Line]:
    givens = family.givens()

    def rows() -> Rows:
        found = Rows(family.size, family.before)
        found.saturate()
        return found

    def through_the_rules() -> tuple[list[int], list[int]]:
        engine = Engine(read_rules(), givens)
        before = engine.memo.judged(initial(Relation.BEFORE))
        at = engine.universe.position.values()
        return [*map(before.row, at)], [*map(before.col, at)]

    subjects: dict[str, Callable[[], object]] = {
        "bit rows": rows,
        "through the rules": through_the_rules,
        "numpy packed rows": lambda: numpy_closure(family.size, family.before),
    }
    if family.size <= GRAPH_LIMIT:
        subjects["networkx"] = lambda: networkx_closure(family.size, family.before)
    for name, by in graphs.installed().items():
        if family.size <= graphs.LIMITS[name]:
            subjects[name] = partial(by, family)
    lines, answers = paired(NAME, family.name, subjects, rounds=rounds)
    compare(family, answers)
    return lines


def compare(family: Family, answers: dict[str, object]) -> None:
    """Every row of every subject, or where there are no rows their sum, is the same."""
    ours, packed = answers["bit rows"], answers["numpy packed rows"]
    assert isinstance(ours, Rows)
    assert isinstance(packed, tuple)
    pairs = 0
    for v in range(family.size):
        row = ours.future(v)
        pairs += row.bit_count()
        assert row == int.from_bytes(packed[0][v].tobytes(), "little")
        assert ours.past(v) == int.from_bytes(packed[1][v].tobytes(), "little")
    through = answers["through the rules"]
    assert isinstance(through, tuple)
    assert all(sum(map(int.bit_count, rows)) == pairs for rows in through)
    assert all(answers[name] == pairs for name in graphs.BY if name in answers)
    graph = answers.get("networkx")
    assert graph is None or graph.number_of_edges() == pairs  # type: ignore[attr-defined]
