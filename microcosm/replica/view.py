"""What a replica may conclude: the microcosm of what its ledger holds, without what is set aside.

The chain of the replica itself is the internal one; those of others are external correspondences. Small
changes are made in place, large ones and whatever contradicts by building anew, and only when somebody asks.

Under rules that do not close `<` (`engine.lowering.closes_givens`) every pair of a chain is stated, not only
each event and the next, so that all replicas judge alike; everything is built anew then, and the rules say
what contradicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from microcosm import tuning
from microcosm.engine.lowering import closes_givens, tells_given_order
from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.replica.conflicts import Conflict, Decided, excluded, quarantine, set_aside
from microcosm.replica.ledger.dots import Stream
from microcosm.replica.ledger.ledger import Delta, FactKey, Ledger
from microcosm.state.microcosm import Microcosm
from microcosm.text.names import quote
from microcosm.text.statement import spelled


class LedgerView:
    """The microcosm of a ledger. `own` is the stream whose chain is internal."""

    def __init__(self, ledger: Ledger, own: Stream, rules: RuleBook | None = None) -> None:
        self.ledger = ledger
        self.own = own
        self._rules = rules
        self._known: Microcosm | None = None
        self._conflicts: list[Conflict] = []
        self._groups: Decided = {}
        self._skips = False
        """Whether it has links of chains across events that came later."""

    @property
    def microcosm(self) -> Microcosm:
        """What is known now. It changes with the replica; do not change it."""
        changes, self.ledger.changes = self.ledger.changes, Delta()
        if self._known is None or (len(changes) and not self._follow(self._known, changes)):
            self._known = None  # first: two of them are twice the memory
            self._known = self._built()
        return self._known

    @property
    def plain(self) -> Microcosm:
        """What is known now, each chain linked from event to event only.

        Cost: perhaps that of building it anew.
        """
        _ = self.microcosm
        if self._skips or self._known is None:
            self._known = None
            self._known = self._built()
        return self._known

    @property
    def conflicts(self) -> list[Conflict]:
        """What is set aside now."""
        _ = self.microcosm
        return self._conflicts

    def set_aside(self, key: FactKey) -> Conflict | None:
        """The conflict that a correspondence is part of, if it is set aside."""
        return next((c for c in self.conflicts if key in {fact.key() for fact in c.facts}), None)

    def admit(self, fact: Correspondence) -> None:
        """Make sure that a new correspondence contradicts nothing, what is set aside included.

        Raises `Contradiction` with derivations; the microcosm is then as it was. Cost: none for an order up
        to an event that nothing names yet, which the microcosm takes when it is next asked; else that of
        taking the fact at once.
        """
        ledger = self.ledger
        fresh = fact.right not in ledger.naming and fact.right not in ledger.places
        last = fresh and fact.relation is Relation.BEFORE
        if last and self._closed:  # no path goes on from it, so it is part of no contradiction
            if self._known is not None and len(ledger.changes) >= tuning.CHANGES_IN_PLACE // 2:
                _ = self.microcosm  # while what has changed is little enough to be made in place
            return
        known = self.microcosm
        if self._conflicts and not last and not self._apart(known, fact):
            self._same_with([fact], [])
            return
        if fact.relation is Relation.NOT_BEFORE:
            other = known.derive(Judgement.INITIAL, fact.left, Relation.BEFORE, fact.right)
            if other is not None:
                raise Contradiction(f"`{spelled(fact)}` contradicts {other.conclusion}", (other,))
        known.add(fact)
        refuted = self._refuted(known) if fact.relation is Relation.BEFORE and not last else None
        if refuted is not None:
            other = known.derive(Judgement.INITIAL, refuted.left, Relation.BEFORE, refuted.right)
            known.remove(fact)
            sides = (other,) if other is not None else ()
            raise Contradiction(f"`{spelled(fact)}` contradicts the given `{spelled(refuted)}`", sides)

    def admit_event(self, event: str) -> None:
        """Make sure that an event may be appended to the own chain. Raises `Contradiction`, as `admit`."""
        if event not in self.ledger.naming:
            return  # nothing is said of it
        known = self.microcosm
        last = known.givens.internal[-1:]
        if self._apart(known, *(Correspondence(each, Relation.BEFORE, event) for each in last)):
            known.append(event)
            refuted = self._refuted(known)
            if refuted is not None:
                self._known = None
                raise Contradiction(f"`{quote(event)}` cannot be next: `{spelled(refuted)}` is given")
            return
        self._same_with([], [event])

    def _apart(self, known: Microcosm, *facts: Correspondence) -> bool:
        """Whether correspondences, each alone, contradict nothing with the help of what is set aside.

        What stands they may contradict. So no set that is set aside comes or goes with them. Where the answer
        is no, it may be that they do not either. Cost: a question or two for each correspondence that is
        set aside; where some lie before or after, also for each that excludes an order.
        """
        if not self._conflicts:
            return True
        aside = [fact for conflict in self._conflicts for fact in conflict.facts]
        orders = [fact for fact in aside if fact.relation is Relation.BEFORE]

        def upto(left: str, right: str) -> bool:
            return left == right or known.holds(Judgement.INITIAL, left, Relation.BEFORE, right)

        def begins(event: str) -> bool:
            return any(upto(event, each.left) for each in orders)

        def ends(event: str) -> bool:
            return any(upto(each.right, event) for each in orders)

        for fact in facts:
            a, b = fact.left, fact.right
            if any({each.left, each.right} == {a, b} for each in aside):
                return False
            if fact.relation is not Relation.BEFORE:
                if any(begins(left) and ends(right) for left, right in excluded(fact)):
                    return False
                continue
            before, after = ends(a), begins(b)
            if before and after:
                return False
            if any(upto(x, a) and upto(b, y) for each in aside for x, y in excluded(each)):
                return False
            for left, sign, right in self.ledger.facts if before or after else ():
                if sign in ("||", "!<"):
                    for x, y in ((left, right), (right, left))[: 2 if sign == "||" else 1]:
                        if before and upto(b, y) and begins(x):
                            return False
                        if after and upto(x, a) and ends(y):
                            return False
        return True

    def _same_with(self, facts: list[Correspondence], events: list[str]) -> None:
        """Raise `Contradiction` where something more would be set aside."""
        found = self._quarantine([*self.ledger.given(), *facts], events)
        if [conflict.facts for conflict in found] != [conflict.facts for conflict in self._conflicts]:
            fresh = next(c for c in found if c.facts not in [old.facts for old in self._conflicts])
            what = "`, `".join([*map(spelled, facts), *map(quote, events)])
            raise Contradiction(
                f"`{what}` would contradict, with what is given: {fresh}", fresh.derivations()
            )

    def _built(self) -> Microcosm:
        ledger, self._skips = self.ledger, False
        facts = ledger.given()
        try:
            known = Microcosm(self._givens(facts), rules=self._rules)
        except Contradiction:
            pass
        else:
            if self._refuted(known) is None:
                self._conflicts = []
                return known
        self._conflicts = self._quarantine(facts)
        aside = {fact.key() for conflict in self._conflicts for fact in conflict.facts}
        return Microcosm(self._givens([f for f in facts if f.key() not in aside]), rules=self._rules)

    @property
    def _closed(self) -> bool:
        """Whether the rules close `<` and judge no more; the shipped ones do, unread as they may be."""
        rules = self._rules
        return rules is None or (closes_givens(rules) and not tells_given_order(rules))

    def _quarantine(self, facts: list[Correspondence], events: Sequence[str] = ()) -> list[Conflict]:
        """What is set aside of some correspondences, were `events` appended to the own chain."""
        if self._rules is not None and not self._closed:
            return set_aside(facts, lambda some: self._givens(some, events), self._rules)
        streams = sorted({*self.ledger.chains, self.own})
        chains = [[*self.ledger.chain(stream), *(events if stream == self.own else ())] for stream in streams]
        found = quarantine(chains, facts, self._groups if not events else dict(self._groups))
        shipped = self._rules is None or self._rules is read_rules()
        return found if shipped else [replace(conflict, rules=self._rules) for conflict in found]

    def _givens(self, facts: list[Correspondence], events: Sequence[str] = ()) -> Givens:
        givens = Givens(name=self.own[0], internal=[*self.ledger.chain(self.own), *events])
        for stream in sorted(self.ledger.chains):
            if stream != self.own:
                links: Iterable[Correspondence] = self.ledger.links(stream)
                if not self._closed:
                    source = f"events of {stream[0]}"
                    pairs = combinations(self.ledger.chain(stream), 2)
                    links = [Correspondence(a, Relation.BEFORE, b, source) for a, b in pairs]
                for fact in links:
                    givens.add(fact)
        for fact in facts:
            givens.add(fact)
        return givens

    def _refuted(self, known: Microcosm) -> Correspondence | None:
        """A given `a !< b` with a < b."""
        for fact in known.givens.refuted.values():
            if known.holds(Judgement.INITIAL, fact.left, Relation.BEFORE, fact.right):
                return fact
        return None

    def _follow(self, known: Microcosm, changes: Delta) -> bool:
        """Make changes in place; whether that could be done (if not, build anew)."""
        ledger = self.ledger
        size = len(ledger.held)
        if not self._closed or changes.forgotten or len(changes) > max(tuning.CHANGES_IN_PLACE, size // 100):
            return False
        at_the_end = self._last(changes)
        if self._conflicts and not at_the_end and changes.withdrawn:
            return False
        beside = self._conflicts and not at_the_end
        try:
            fresh = {ledger.chains[dot.stream][dot.number] for dot in changes.appended}
            for dot in changes.appended:
                event = ledger.chains[dot.stream][dot.number]
                before, after = ledger.neighbours(dot)
                around = (event, before, after)
                if any(len(ledger.places[each]) > 1 for each in around if each is not None):
                    return False
                across = after is not None and after not in fresh  # else it links itself to this one
                source = f"events of {dot.replica}"
                links = [
                    Correspondence(left, Relation.BEFORE, right, source)
                    for left, right in ((before, event), (event, after if across else None))
                    if left is not None and right is not None
                ]
                if beside and not self._apart(known, *links):
                    return False
                if dot.stream == self.own:
                    last = known.givens.internal[-1] if known.givens.internal else None
                    if last == before:
                        known.append(event)
                    elif last != event:  # which has been admitted already
                        return False
                    continue
                self._skips = self._skips or (across and before is not None)
                for link in links:
                    known.add(link)
            for key in changes.given:
                if key in ledger.facts:
                    if beside and not self._apart(known, ledger.stated(key)):
                        return False
                    known.add(ledger.stated(key))
            for key in changes.withdrawn:
                if key not in ledger.facts and not ledger.is_link(key[0], key[2]):
                    given = known.givens.external.get(key) or known.givens.refuted.get(key)
                    if given is not None:
                        known.remove(given)
        except Contradiction:
            return False
        return at_the_end or self._refuted(known) is None

    def _last(self, changes: Delta) -> bool:
        """Whether all that is new are events after which nothing old comes, and orders up to them.

        No path goes through these, so they are part of no contradiction: what is set aside stays as it is.
        """
        ledger = self.ledger
        new = {ledger.chains[dot.stream][dot.number] for dot in changes.appended}
        new |= {right for _, _, right in changes.given if right not in ledger.places}
        if changes.withdrawn or any(sign != "<" or right not in new for _, sign, right in changes.given):
            return False
        for event in new:
            for dot in ledger.places.get(event, ()):
                after = ledger.neighbours(dot)[1]
                if len(ledger.places[event]) > 1 or (after is not None and after not in new):
                    return False
            if any(sign != "<" or right not in new for _, sign, right in ledger.naming.get(event, ())):
                return False
        return True
