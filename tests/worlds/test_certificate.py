"""Certificates of the SAT solver, by a checker of the tests' own: clause by clause, lemma by lemma."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from microcosm.givens.relation import Relation
from microcosm.worlds.constraints import Constraints
from microcosm.worlds.possible import Possibilities
from microcosm.worlds.sat import Certificate
from tests import drat
from tests.families import crafted
from tests.oracle import Triple
from tests.propagation import propagated

pytest.importorskip("pysat", reason="the extra `sat` is not installed")

FIVE, CHORDS = [(k, (k + 1) % 5) for k in range(5)], [(k, (k + 2) % 5) for k in range(5)]


def stated(known: Constraints) -> list[Triple]:
    """The knowledge as statements."""
    parts = (("<", known.before), ("||", known.concurrent), ("<>", known.related), ("!<", known.refuted))
    return [(str(a), sign, str(b)) for sign, pairs in parts for a, b in pairs]


def certified(known: Constraints, a: int, relation: Relation, b: int) -> Certificate:
    found = Possibilities(known).certificate(a, relation, b)
    assert found is not None
    names = [f"e{v}" for v in range(known.size)]
    assert drat.fault(found.dimacs(names), found.proof()) is None
    return found


def clauses_follow(known: Constraints, assumed: Triple, found: Certificate, some: int) -> None:
    """All directions that a clause says not to hold together contradict the rest by propagation alone."""
    facts = [*stated(known), assumed]
    assert propagated(facts) is not None
    for clause in Random(1).sample(found.clauses, min(some, len(found.clauses))):
        way = [(str(a), "<", str(b)) for a, b in found.directions(clause)]
        assert propagated([*facts, *way]) is None, way


def test_the_five_cycle_with_a_chord_left_open() -> None:
    known = Constraints(5, related=FIVE, concurrent=CHORDS[1:])
    found = certified(known, 0, Relation.CONCURRENT, 2)
    clauses_follow(known, ("0", "||", "2"), found, len(found.clauses))
    assert Possibilities(known).certificate(0, Relation.BEFORE, 2) is None, "a world has it"


def test_what_propagation_alone_refutes_has_an_empty_clause() -> None:
    for known in (
        Constraints(3, before=[(0, 1)], concurrent=[(0, 2)]),
        Constraints(4, before=[(0, 1)], concurrent=[(0, 2)], related=[(2, 3)]),
    ):
        assert certified(known, 1, Relation.BEFORE, 2).clauses == [[]]
    assert certified(Constraints(2, before=[(0, 1), (1, 0)]), 0, Relation.BEFORE, 1).clauses == [[]]


def test_a_crafted_pair_that_a_hundred_others_decide() -> None:
    """No world fits; one does once some `<>` are dropped, the last of which is then refuted."""
    known = crafted(60, 0, 3.0)
    rest = known.related.copy()
    while not Possibilities(Constraints(known.size, [], known.concurrent, [*rest])).realisable():
        dropped = rest.pop()
    fits = Constraints(known.size, [], known.concurrent, [*rest])
    a, b = dropped
    assert [*Possibilities(fits).possible(a, b).worlds] == [Relation.CONCURRENT]
    for relation, assumed in ((Relation.BEFORE, (a, "<", b)), (Relation.AFTER, (b, "<", a))):
        found = certified(fits, a, relation, b)
        clauses_follow(fits, (str(assumed[0]), "<", str(assumed[2])), found, 4)


def test_a_certificate_that_was_tampered_with_is_refused() -> None:
    """What the checker accepts is unsatisfiable; every clause of the five-cycle is needed."""
    known = Constraints(5, related=FIVE, concurrent=CHORDS[1:])
    names = "abcde"
    found = certified(known, 0, Relation.CONCURRENT, 2)
    whole = found.clauses
    refused = 0
    for at, clause in enumerate(whole):
        mutants = [[-clause[0], *clause[1:]], clause[::-1][:-1], None]
        for mutant in mutants:
            found.clauses = whole[:at] + ([mutant] if mutant else []) + whole[at + 1 :]
            wrong = drat.fault(found.dimacs(names), found.proof())
            if drat.satisfiable(found.dimacs(names)):
                assert wrong is not None
                refused += 1
    assert refused >= len(whole)
    found.clauses = whole
    lemmas = found.drat
    found.drat = lemmas[:-1]
    assert drat.fault(found.dimacs(names), found.proof()) == "the empty clause is never reached"
    found.drat = ["0"]
    assert (drat.fault(found.dimacs(names), found.proof()) is None) is drat.follows(
        [tuple(clause) for clause in whole], []
    )
    for mutant in ("1 2", "x 0", ""):
        found.drat = [mutant, *lemmas]
        assert drat.fault(found.dimacs(names), found.proof()) is not None


def test_the_checker_refuses_what_does_not_follow() -> None:
    """Three of the four clauses over two variables can hold, all four cannot."""
    clauses = [(1, 2), (1, -2), (-1, 2), (-1, -2)]
    for left_out in clauses:
        rest = [clause for clause in clauses if clause != left_out]
        text = "p cnf 2 3\n" + "".join(f"{a} {b} 0\n" for a, b in rest)
        assert drat.satisfiable(text)
        for first, second in permutations((1, -1, 2, -2), 2):
            assert drat.fault(text, f"{first} 0\n{second} 0\n0\n") is not None
    everything = "p cnf 2 4\n" + "".join(f"{a} {b} 0\n" for a, b in clauses)
    assert drat.fault(everything, "1 0\n0\n") is None
    assert drat.fault(everything, "0\n") == "line 1 does not follow"
