"""A checker of DRAT proofs, small enough to be read: each lemma by unit propagation (RUP), else as RAT.

It shares nothing with the solver or with the package: it reads a formula in DIMACS form and a proof as text.
"""

from __future__ import annotations

from itertools import product

Clause = tuple[int, ...]


def formula(dimacs: str) -> list[Clause]:
    """The clauses of a DIMACS text, which has as many as it says and no other variables."""
    lines = [line for line in dimacs.splitlines() if line and not line.startswith("c")]
    kind, form, variables, count = lines[0].split()
    assert (kind, form) == ("p", "cnf")
    clauses = [tuple(map(int, line.split())) for line in lines[1:]]
    assert len(clauses) == int(count)
    assert all(c[-1] == 0 and all(0 < abs(x) <= int(variables) for x in c[:-1]) for c in clauses)
    return [c[:-1] for c in clauses]


def fault(dimacs: str, proof: str) -> str | None:
    """Why the proof does not refute the formula; None where it does."""
    clauses = formula(dimacs)
    for number, line in enumerate(proof.splitlines(), 1):
        words = line.split()
        deletes = words[:1] == ["d"]
        try:
            *lemma, end = map(int, words[deletes:])
        except ValueError:
            return f"line {number} is no clause"
        if end != 0:
            return f"line {number} does not end"
        if deletes:
            same = next((c for c in clauses if {*c} == {*lemma}), None)
            if same is not None and len(same) > 1:  # units stay, as checkers agree
                clauses.remove(same)
            continue
        if not follows(clauses, lemma) and not harmless(clauses, lemma):
            return f"line {number} does not follow"
        if not lemma:
            return None
        clauses.append(tuple(lemma))
    return "the empty clause is never reached"


def follows(clauses: list[Clause], lemma: list[int]) -> bool:
    """Whether the opposite of a lemma leads to a conflict by unit propagation."""
    true = {-literal for literal in lemma}
    while True:
        before = len(true)
        for clause in clauses:
            if any(literal in true for literal in clause):
                continue
            left = {literal for literal in clause if -literal not in true}
            if not left:
                return True
            if len(left) == 1:
                true |= left
        if len(true) == before:
            return any(-literal in true for literal in true)


def harmless(clauses: list[Clause], lemma: list[int]) -> bool:
    """Whether a lemma is RAT on its first literal: whatever it resolves with there gives what follows."""
    if not lemma:
        return False
    pivot = lemma[0]
    others = [[x for x in clause if x != -pivot] for clause in clauses if -pivot in clause]
    return all(any(-x in lemma for x in other) or follows(clauses, [*lemma, *other]) for other in others)


def satisfiable(dimacs: str) -> bool:
    """By trying everything."""
    clauses = formula(dimacs)
    variables = sorted({abs(literal) for clause in clauses for literal in clause})
    for signs in product((1, -1), repeat=len(variables)):
        true = {sign * variable for sign, variable in zip(signs, variables, strict=True)}
        if all(any(literal in true for literal in clause) for clause in clauses):
            return True
    return False
