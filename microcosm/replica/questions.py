"""What can be asked of a replica: the questions of `Microcosm`, what is set aside, how much there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica.conflicts.conflicts import Conflict
from microcosm.replica.core import Core, facts_of
from microcosm.replica.ledger.dots import Stream
from microcosm.replica.subscriptions import Decided
from microcosm.state.microcosm import Microcosm

if TYPE_CHECKING:
    from microcosm.logic.derivation import Derivation
    from microcosm.queries.offline import Offline
    from microcosm.queries.possible import Possibility


class Questions(Core):
    """A replica that answers."""

    def snapshot(self) -> Microcosm:
        """A copy of the microcosm, independent of the replica. Cost: linear."""
        return self.known.copy()

    @property
    def events(self) -> list[str]:
        """Every event that is known, sorted. Cost: n log n."""
        return sorted({*self._state.ledger.places, *self._state.ledger.naming})

    def chains(self) -> dict[Stream, list[str]]:
        """The events of each process in their order. Cost: linear."""
        return {stream: [*self._state.ledger.chain(stream)] for stream in sorted(self._state.ledger.chains)}

    def happened(self, event: str) -> bool:
        """Whether an event stands in the chain of some process. Constant time."""
        return event in self._state.ledger.places

    def online(self, a: str, b: str, *, must_exist: bool = False) -> Relation:
        """`Microcosm.online`."""
        return self.known.online(a, b, must_exist=must_exist)

    def offline(self, a: str, b: str, **options: Any) -> Offline:
        """`Microcosm.offline`: what cannot be and what must be."""
        return self.known.offline(a, b, **options)

    def possible(self, a: str, b: str, *, must_exist: bool = False) -> Possibility:
        """`Microcosm.possible`."""
        return self.known.possible(a, b, must_exist=must_exist)

    def why(self, a: str, b: str, *, must_exist: bool = False) -> Derivation | None:
        """`Microcosm.why`."""
        return self.known.why(a, b, must_exist=must_exist)

    def table(self) -> Iterator[tuple[str, str, Relation]]:
        """`Microcosm.table`."""
        return iter(self.known.table())

    @property
    def conflicts(self) -> list[Conflict]:
        """The correspondences that are set aside, in minimal contradictory sets."""
        return self._view.conflicts

    @property
    def twice(self) -> list[str]:
        """The events that two processes claim, or one twice; they stand in no chain."""
        return self._view.twice

    def is_given(self, fact: str | Correspondence) -> bool:
        """Whether a correspondence is given as such, set aside or not."""
        return all(each.key() in self._state.ledger.facts for each in facts_of(fact))

    def when_decided(self, a: str, b: str, tell: Decided, *, accurate: bool = False) -> None:
        """Call `tell(a, b, verdict)` once `a` and `b` are decided: now, or after what decides them.

        Decided is what is neither `?` nor silent, and with `accurate` not `<>` either. Cost: a question for
        each that waits after each transaction.
        """
        self.subscriptions.add(a, b, tell, accurate)
        if not self._depth:
            self.subscriptions.settle(self.known)

    def digest(self) -> str:
        """64 characters that say what is known and what is set aside: equal after an exchange.

        SHA-256 of a JSON text of the chains, the correspondences, the sets that are set aside and the events
        that stand twice, all sorted. Of replicas that forgot different things it differs. Cost: n log n.
        """
        ledger = self._state.ledger
        aside = [[fact.key() for fact in conflict.facts] for conflict in self.conflicts]
        withheld = {key for keys in aside for key in keys}
        said = {
            "chains": [[list(stream), ledger.chain(stream)] for stream in sorted(ledger.chains)],
            "given": sorted(key for key in ledger.facts if key not in withheld),
            "aside": sorted(aside),
            "twice": self.twice,
        }
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def counts(self) -> dict[str, int]:
        """How much there is: events, correspondences, evolutions held and seen, and so on."""
        ledger = self._state.ledger
        return {
            "events": len({*ledger.places, *ledger.naming}),
            "correspondences": len(ledger.facts),
            "held": len(ledger.held),
            "seen": len(ledger.seen),
            "removals": len(ledger.removals()),
            "quarantined": sum(len(conflict.facts) for conflict in self.conflicts),
        }
