"""Why no directions fit, in a form that any checker of DRAT proofs reads.

Two things are to be checked, and both can be by others: that the clauses cannot all hold, of which the
solver's proof is the evidence; and that each clause follows from what is given, for which comments tell how:
it forbids a path of directions, between which `<=` is known and whose ends are refuted, by propagation alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from microcosm.worlds.constraints import Pair

Clause = list[int]


@dataclass(slots=True)
class Certificate:
    """Clauses that each follow by propagation alone, and a DRAT refutation of them, line by line.

    Variable k, from 1, says that the k-th of `pairs` is ordered as written, -k that it is the other way
    round. A clause names a path in its order. Where propagation alone refutes, one clause is empty.

    Cost of its methods: linear in the clauses.
    """

    pairs: list[Pair]
    clauses: list[Clause] = field(default_factory=list)
    drat: list[str] = field(default_factory=list)

    def dimacs(self, names: Sequence[str]) -> str:
        """The clauses in DIMACS form, and as comments what they mean; `names` are those of the positions.

        >>> print(Certificate([(0, 1), (2, 1)], [[-1, 2]]).dimacs("abc"), end="")
        c variable 1: a < b
        c variable 2: c < b
        c clause 1: not a < b <= b < c, for a !< c
        p cnf 2 1
        -1 2 0
        """
        return "\n".join([*self._lines(names), ""])

    def proof(self) -> str:
        """The refutation as a file has it."""
        return "\n".join([*self.drat, ""])

    def directions(self, clause: Clause) -> list[Pair]:
        """What a clause says not to hold all together, in the order of the path."""
        return [self.pairs[-k - 1] if k < 0 else self.pairs[k - 1][::-1] for k in clause]

    def _lines(self, names: Sequence[str]) -> Iterator[str]:
        for k, (a, b) in enumerate(self.pairs, 1):
            yield f"c variable {k}: {names[a]} < {names[b]}"
        for k, clause in enumerate(self.clauses, 1):
            if way := self.directions(clause):
                path = " <= ".join(f"{names[a]} < {names[b]}" for a, b in way)
                yield f"c clause {k}: not {path}, for {names[way[0][0]]} !< {names[way[-1][1]]}"
        yield f"p cnf {len(self.pairs)} {len(self.clauses)}"
        for clause in self.clauses:
            yield " ".join(map(str, [*clause, 0]))
