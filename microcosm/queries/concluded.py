"""What is shown of each pair of a log that is said to be complete: concurrence, beside the online verdicts.

That a log is complete lets offline decision making conclude that two events are concurrent, and is no online
rule (theory/reading-orderings.md). So verdicts stay those of the paper, and whoever answers people asks here:
where the online verdict is `?` or silence, and a rule about complete logs concludes `||`, that is shown,
marked as concluded offline. No other offline rule is asked, so that a row of it is a few row operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from microcosm.engine.body import Body, LiteralSource
from microcosm.engine.engine import Engine
from microcosm.engine.lowering import Program
from microcosm.engine.memo import View
from microcosm.givens.facts import COMPLETE
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Derivation
from microcosm.logic.rule import Judgement
from microcosm.queries.batch import VerdictTable
from microcosm.queries.graph import Neighbours

if TYPE_CHECKING:
    from microcosm.engine.prove import Prover


class ConcludedOffline(Enum):
    """What is concluded of a pair offline, where online decision making does not decide it."""

    APART = "||"

    def __str__(self) -> str:
        """With a mark: `||*`."""
        return f"{self.value}*"


Shown: TypeAlias = Relation | ConcludedOffline
"""What is shown of a pair: its online verdict, or what a complete log lets conclude."""

_CONCURRENT = (Judgement.OFFLINE, Relation.CONCURRENT)
_COMPLETE = LiteralSource("base", name=COMPLETE)


class Concluded:
    """What a log that is said to be complete tells of the pairs that are undecided online.

    Nothing where the rules in force conclude nothing from that alone. Valid until the givens change. Cost:
    that of the order of the log, once; of a row a few row operations.

    >>> from microcosm.state.microcosm import Microcosm
    >>> known = Microcosm.parse("a < b \\n a < c \\n complete").concluded
    >>> known.verdict("b", "c"), known.verdict("a", "c"), [*known.with_verdict(Relation.CONCURRENT, "b")]
    (<ConcludedOffline.APART: '||'>, Relation.BEFORE, ['c'])
    """

    def __init__(self, engine: Engine, around: Neighbours, prover: Prover) -> None:
        self._engine, self._around, self._prover = engine, around, prover
        self._bodies = concluding_concurrency(engine.memo.program)

    def __reduce__(self) -> tuple[object, ...]:
        return Concluded, (self._engine, self._around, self._prover)

    def verdict(self, a: str, b: str) -> Shown:
        """What is shown of two distinct events. Cost: as online, and a row where that decides nothing."""
        found = self._engine.verdict(a, b)
        if found in (Relation.UNKNOWN, Relation.SILENT) and self._concluded(a, b):
            return ConcludedOffline.APART
        return found

    def proof(self, a: str, b: str) -> Derivation | None:
        """The derivation of `||- a || b` from the log's being complete; None where that does not follow.

        Cost: a row.
        """
        if not self._concluded(a, b):
            return None
        at = self._engine.universe.position
        return self._prover.steps.step(self._engine.memo, self._bodies, (_CONCURRENT, at[a], at[b]))

    def apart(self, event: str) -> list[str]:
        """The events that are undecided beside one online, and concluded to be concurrent with it."""
        return [*self._around.named(self._row(event) & self._around.undecided(event))]

    def with_verdict(self, relation: Relation, event: str) -> Iterator[str]:
        """The events of which a relation to `event` is shown; among the concurrent ones also those `apart`.

        Cost: as of the online verdict; for `?` and silence only what is not concluded is asked about.
        """
        if relation not in (Relation.CONCURRENT, Relation.UNKNOWN, Relation.SILENT):
            return self._around.with_verdict(relation, event)
        concluded = self._row(event) & self._around.undecided(event)
        return self._around.with_verdict(relation, event, concluded)

    def rows(self, names: Sequence[str]) -> Iterator[dict[Shown, int]]:
        """As `Engine.rows`, with what is concluded in a set of its own, and no more in `?` or silence."""
        for name, online in zip(names, self._engine.rows(names), strict=True):
            concluded = self._row(name) & (online[Relation.UNKNOWN] | online[Relation.SILENT])
            yield {
                **{verdict: row & ~concluded for verdict, row in online.items()},
                ConcludedOffline.APART: concluded,
            }

    def table(self, names: list[str]) -> VerdictTable:
        """What is shown of every pair of some events, the first before the second in their order."""
        return VerdictTable(self._engine, names, self.rows)

    def _concluded(self, a: str, b: str) -> bool:
        at = self._engine.universe.position.get(b, -1)
        return at >= 0 and a != b and bool(self._row(a) >> at & 1)

    def _row(self, event: str) -> int:
        at = self._engine.universe.position.get(event, -1)
        return self._view.row(at) if at >= 0 and self._engine.mentions(event) else 0

    @cached_property
    def _view(self) -> View:
        return View(self._bodies, self._engine.memo)


def concluding_concurrency(program: Program) -> tuple[Body, ...]:
    """The rules that conclude `||` of two events from `complete(a, b)`, and from nothing else that
    holds. Cost: linear in the rules.
    """
    return tuple(
        body
        for body in program.concluding.get(_CONCURRENT, ())
        if {pair.source for pair in body.pairs if pair.positive} == {_COMPLETE}
        and not (body.nones or body.ones)
        and all(pair.ends <= {0, 1} for pair in body.pairs)
    )
