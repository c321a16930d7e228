"""What cannot be, what must be and what may be (seed 003, section 4: offline decision making)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from microcosm.engine.engine import Engine
from microcosm.engine.proofs.prove import Witness
from microcosm.logic.derivation import Derivation
from microcosm.state.judged import Judged, distinct

if TYPE_CHECKING:
    from microcosm.queries.conflict import Given
    from microcosm.queries.offline import Decisions, Offline
    from microcosm.queries.possible import Left, Possibility, Worlds
    from microcosm.worlds.search import Stop


class Decided(Judged):
    """Offline judgements, by the rules; and possibilities, by worlds, which read no rules."""

    def offline(
        self,
        a: str,
        b: str,
        *,
        profile: str = "full",
        depth: int | None = None,
        stop: Stop | None = None,
        must_exist: bool = False,
    ) -> Offline:
        """What cannot be and what must be of two distinct events (Definition 4.1), with derivations.

        `depth` None decides exactly; a number limits how deep assumptions nest (0: propagation alone).
        Profile `paper` reads the rules as the seed does. `stop` is asked now and then whether to give up:
        then `exact` is false. Raises `Inconsistent` where no world fits the givens. Cost: exponential in
        the `<>` at worst.
        """
        distinct(a, b)
        if must_exist:
            self.require(a, b)
        return self._decisions(profile).verdict(a, b, depth, stop)

    def offline_table(
        self, *, profile: str = "full", depth: int = 0, stop: Stop | None = None
    ) -> Iterator[Left]:
        """What is left of `<`, `>` and `||` for every pair of `events`, as `offline` at a depth.

        Raises `Inconsistent` where the rules contradict themselves at that depth.
        """
        return self._decisions(profile).table(depth, stop)

    def contradiction(self, *, profile: str = "full", stop: Stop | None = None) -> Derivation | None:
        """A derivation of a contradiction, None where some world fits all that is given.

        Raises `engine.offline.refutation.Stopped` or `worlds.possible.Undecided` where `stop` came first.
        """
        return self._decisions(profile).contradiction(stop)

    def _decisions(self, profile: str) -> Decisions:
        from microcosm.queries.offline import Decisions

        rules = self.rules.in_profile(profile)
        if rules is self.rules:
            return Decisions(self._engine, self._witness, rules, self._givens)
        engine = Engine(rules, self._givens)
        return Decisions(engine, Witness(engine, self._givens), rules, self._givens)

    def possible(self, a: str, b: str, stop: Stop | None = None, *, must_exist: bool = False) -> Possibility:
        """Which of `<`, `>`, `||` some world that fits gives two distinct events, exactly.

        Each `relations` has a witness in `worlds`; none is left where no world fits (`conflict` says
        why). `stop` is asked now and then whether to give up, which leaves the answer not `exact`. Nor is it
        where an ordering of messages is known: what the offline rules refute by it is left out, the
        witnesses do not heed it, and it is named in `ignored`.
        """
        distinct(a, b)
        if must_exist:
            self.require(a, b)
        found = self.worlds.possible(a, b, stop)
        if not self._givens.orderings or not found.ignored or not found.relations:
            return found
        return self._decisions("full").narrowed(a, b, found, stop)

    def possible_table(self, stop: Stop | None = None) -> tuple[Iterator[Left], bool] | None:
        """What is possible of every pair, as `Worlds.table`; under an ordering, less what is refuted.

        Refuted by propagation alone, that is: `possible` may rule out more of a pair.
        """
        found = self.worlds.table(stop)
        if not self._givens.orderings or not self.worlds.ignored or found is None:
            return found
        pairs = self._decisions("full").narrowed_table(found[0], stop)
        return None if pairs is None else (pairs, found[1])

    @property
    def worlds(self) -> Worlds:
        """The worlds that fit, to ask for one of them, or for what is possible of all pairs."""
        if self._fitting is None:
            from microcosm.queries.possible import Worlds

            self._fitting = Worlds(self._givens)
        return self._fitting

    def conflict(self, stop: Stop | None = None) -> list[Given] | None:
        """A minimal set of givens that no world fits; None where some world fits all of them."""
        from microcosm.queries.conflict import conflict

        return conflict(self._givens, stop)
