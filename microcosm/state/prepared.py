"""What answers questions about some givens: each part is made when first needed, and kept until a change."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from microcosm.engine.engine import Engine
from microcosm.engine.prove import Prover
from microcosm.givens.givens import Givens
from microcosm.logic.rulebook import RuleBook

if TYPE_CHECKING:
    from microcosm.queries.batch import Batch
    from microcosm.queries.concluded import Concluded
    from microcosm.queries.graph import Neighbours
    from microcosm.queries.offline import Decisions
    from microcosm.queries.possible import PairsLeft, Possibility, Worlds
    from microcosm.worlds.search import Stop


class Prepared:
    """The parts that answer questions of one engine and its givens. Valid until the givens change.

    Nothing is made, and no module of questions loaded, before it is asked for. Cost of each: see its class.
    """

    def __init__(self, engine: Engine, givens: Givens, rules: RuleBook) -> None:
        self._engine, self._givens, self._rules = engine, givens, rules

    @cached_property
    def prover(self) -> Prover:
        """What derives the judgements of the engine."""
        return Prover(self._engine, self._givens)

    @cached_property
    def worlds(self) -> Worlds:
        """The worlds that fit."""
        from microcosm.queries.possible import Worlds

        return Worlds(self._givens, self._engine)

    @cached_property
    def batch(self) -> Batch:
        """What answers many pairs at once."""
        from microcosm.queries.batch import Batch

        return Batch(self._engine, self._givens)

    @cached_property
    def neighbours(self) -> Neighbours:
        """The events around an event."""
        from microcosm.queries.graph import Neighbours

        return Neighbours(self._engine, self._givens)

    @cached_property
    def concluded(self) -> Concluded:
        """What a complete log lets conclude beside the verdicts."""
        from microcosm.queries.concluded import Concluded

        return Concluded(self._engine, self.neighbours, self.prover.steps)

    def decisions(self, profile: str = "full") -> Decisions:
        """Offline decision making, under the rules in a profile. Cost: for another profile an engine."""
        from microcosm.queries.offline import Decisions

        rules = self._rules.in_profile(profile)
        if rules is self._rules:
            return Decisions(self._engine, self.prover, rules, self._givens)
        engine = Engine(rules, self._givens)
        return Decisions(engine, Prover(engine, self._givens), rules, self._givens)

    def possible(self, a: str, b: str, stop: Stop | None) -> Possibility:
        """What is possible of a pair; under an ordering, less what the rules refute by it.

        Cost: exponential in the `<>` at worst.
        """
        found = self.worlds.possible(a, b, stop)
        if not self._givens.orderings or not found.ignored or not found.relations:
            return found
        return self.decisions().narrowed(a, b, found, stop)

    def possible_table(self, stop: Stop | None) -> tuple[PairsLeft, bool] | None:
        """What is possible of every pair, and whether all were decided; under an ordering, less what
        propagation refutes. None where no world fits. Cost: as `Worlds.table`.
        """
        found = self.worlds.table(stop)
        if not self._givens.orderings or not self.worlds.ignored or found is None:
            return found
        pairs = self.decisions().narrowed_table(found[0], stop)
        return None if pairs is None else (pairs, found[1])
