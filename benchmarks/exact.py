"""Claim: whether a world fits, and what is possible of a pair, is decided faster than by solvers.

Each subject starts from the pairs that are given and says whether a world fits. "And a world shown" ends with
one that an independent checker has accepted; "CaDiCaL, our clauses" is our own encoding without our search
before it. For the pair query all
subjects hold the facts and have found one world before the time begins; ours shows a checked world for every
member. Answers are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random

from benchmarks import solvers
from benchmarks.families import Family
from benchmarks.knowledge import crafted, knowledge, planted, unplanted
from benchmarks.measure import Line, paired
from microcosm.worlds import sat
from microcosm.worlds.possible import Possibilities
from microcosm.worlds.propagation import Orientation
from microcosm.worlds.search import NoWorld

NAME = "exact possibilities"

CLINGO_LIMIT = 100
"""clingo states transitivity for all triples: more events than this take it minutes."""

AT_ONCE_LIMIT = 100
"""Transitivity for all triples of more events than this takes tens of seconds to state."""

Z3_CRAFTED_LIMIT = 300
"""z3 takes minutes for larger crafted knowledge."""


def run(quick: bool = False) -> list[Line]:
    """Planted, unplanted and crafted knowledge, and pairs of a planted one."""
    for name in solvers.missing():
        print(f"{NAME}: {name} is not installed, and left out", file=sys.stderr)
    sizes = (20, 40) if quick else (100, 300)
    cases = [family(size) for size in sizes for family in (planted, unplanted)]
    cases += [crafted(size, ratio) for size in (*sizes, *(() if quick else (600,))) for ratio in (1.7, 2.1)]
    rounds = 1 if quick else 9
    lines = [line for family in cases for line in fits(family, rounds)]
    return lines + pair_query(planted(sizes[-1]), rounds)


def fits(family: Family, rounds: int) -> list[Line]:
    known, absent = knowledge(family), solvers.missing()
    hard = family.name.startswith("crafted")
    subjects: dict[str, Callable[[], object]] = {
        "microcosm": lambda: Possibilities(knowledge(family)).realisable(),
        "and a world shown": lambda: Possibilities(knowledge(family)).world() is not None,
        "without a SAT solver": lambda: Possibilities(knowledge(family), solver=False).realisable(),
        "CaDiCaL, our clauses": lambda: our_clauses(family),
        "CaDiCaL": lambda: solvers.cadical(family),
        "z3": lambda: solvers.z3_fits(family),
        "clingo": lambda: solvers.clingo_fits(family),
        "CP-SAT": lambda: solvers.cp_sat(family),
    }
    if hard and family.size > Z3_CRAFTED_LIMIT:
        for name in ("without a SAT solver", "z3", "CP-SAT"):
            del subjects[name]
    if family.size > CLINGO_LIMIT:
        subjects.pop("clingo")
    if family.size <= AT_ONCE_LIMIT and "CaDiCaL" not in absent:
        subjects["CaDiCaL, all triples"] = lambda: solvers.cadical_at_once(family)
    for name in absent:
        subjects.pop(name, None)
    if "CaDiCaL" in absent:
        del subjects["CaDiCaL, our clauses"]
    lines, answers = paired(NAME, family.name, subjects, rounds=rounds, patience=6)
    assert len(set(answers.values())) == 1, (family.name, answers)
    assert known.size == family.size
    return lines


def our_clauses(family: Family) -> bool:
    state = Orientation(knowledge(family))
    return state.consistent and not isinstance(sat.solve(state), NoWorld)


def pair_query(family: Family, rounds: int, count: int = 20) -> list[Line]:
    """Twenty pairs that nothing is given about."""
    rng = Random(7)
    given = {*family.before, *family.concurrent, *family.related}
    pairs = []
    while len(pairs) < count:
        a, b = rng.sample(range(family.size), 2)
        if (a, b) not in given and (b, a) not in given:
            pairs.append((a, b))

    def ours() -> Callable[[], object]:
        asked = Possibilities(knowledge(family))
        assert asked.realisable()
        return lambda: ["".join(map(str, asked.possible(a, b).worlds)) for a, b in pairs]

    subjects = {"microcosm": ours()}
    if "z3" not in solvers.missing():
        ask = solvers.z3_pairs(family)
        subjects["z3, push and pop"] = lambda: ask(pairs)
    lines, answers = paired(NAME, f"{count} pairs of {family.name}", subjects, rounds=rounds)
    assert len({tuple(answer) for answer in answers.values()}) == 1  # type: ignore[arg-type, var-annotated]
    return lines
