"""What can happen at a replica, or be said to it, or be forgotten; each change is an evolution."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from secrets import randbits

from msgpack import packb

from microcosm.errors import Contradiction, Undefined
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.replica.core import facts_of, fit
from microcosm.replica.epochs import AFTER, DISPUTED, Epochs
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import Dot, DotRun, Stream
from microcosm.replica.ledger.evolution import Add, Append, Forget, NewerEvolution, Remove, reserved
from microcosm.replica.ledger.forgetting import SLACK
from microcosm.replica.ledger.records import encode_forgotten
from microcosm.state.forget import without_events

LOOK_AFTER = 64
"""What is due to be forgotten is looked for after so many records, or some part of what is held."""


class Changes(Epochs):
    """A replica that changes."""

    def local(self, event: str, *, at: float | None = None) -> Dot:
        """`event` has happened here, after all that did before. Raises `Undefined`, `Contradiction`.

        Names that begin with `c:` and `d:` are those of messages, and refused.
        """
        if reserved(event):
            raise Undefined(f"{event}: names that begin with c: and d: are those of messages; choose another")
        return self._happen(event, at, admitted=True)

    def learn(self, given: str | Correspondence, *, at: float | None = None) -> list[Dot]:
        """Somebody has said that this holds; a chain `a < b < c` is taken whole or not at all.

        What is given already is no change. Raises `Contradiction` where it contradicts what is known or set
        aside, `Undefined` for what is no correspondence; nothing is changed then.
        """
        facts = facts_of(given)
        with self.transaction():
            return [dot for fact in facts for dot in self._learn(fact, at)]

    def update(self, given: str | Correspondence, *, at: float | None = None) -> list[Dot]:
        """Put a direction in the place of a given `a <> b`. Raises as `Microcosm.update` does."""
        facts = facts_of(given)
        ledger = self._state.ledger
        with self.transaction():
            found = []
            for fact in facts:
                related = Correspondence(fact.left, Relation.RELATED, fact.right)
                if fact.relation is not Relation.BEFORE:
                    raise Undefined(f"an update gives a direction, such as `a < b`; it cannot be `{fact}`")
                if related.key() not in ledger.facts:
                    raise Undefined(f"`{related}` is not given, so it cannot be updated to `{fact}`")
                self._admit(fact)
                replaces = tuple(sorted(ledger.facts[related.key()]))
                found.append(self._put(Add(self._next(), fact, replaces, self._places(fact), at)).dot)
            return found

    def remove(self, given: str | Correspondence) -> list[Dot]:
        """Take a correspondence away, here and wherever it came from the same evolutions. Raises `Undefined`.

        So is a contradiction resolved that is set aside: one side of it is removed.
        """
        facts = facts_of(given)
        ledger = self._state.ledger
        with self.transaction():
            found = []
            for fact in facts:
                if fact.key() not in ledger.facts:
                    raise Undefined(f"`{fact}` cannot be removed: it is not given as such")
                targets = set(ledger.facts[fact.key()])
                for dot in list(targets):
                    add = ledger.held[dot]
                    assert isinstance(add, Add)
                    targets.update(add.replaces)
                found.append(self._put(Remove(self._next(), tuple(sorted(targets)))).dot)
            return found

    def forget(self, *events: str) -> None:
        """Drop some events; what followed through them of the others is kept. It is forgotten here only."""
        for event in events:
            if event not in self._state.ledger.places and event not in self._state.ledger.naming:
                raise Undefined(f"nothing names the event {event}")
        self._forget([], events)

    def tidy(self, now: float | None = None) -> int:
        """Forget what `forgetting` says is due; how many events. `now` is in seconds, as `at` is.

        It is called now and then by itself, with the greatest `at` of a local event so far.
        """
        self._untidied = 0
        marks, names = self.forgetting.due(self._state.ledger, now)
        return self._forget(marks, names) if marks or names else 0

    # -- inside --------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """After a transaction: forget what is due, now and then."""
        if self._untidied > max(LOOK_AFTER, len(self._state.ledger.held) // (2 * SLACK)):
            with suppress(Undefined):  # under rules that cannot do without these events, they stay
                self.tidy(self._now)
        super()._settle()

    def _happen(self, event: str, at: float | None, *, admitted: bool) -> Dot:
        """Append an event; `admitted` only if it contradicts nothing."""
        ledger = self._state.ledger
        if event in ledger.places:
            raise Undefined(f"{event} has happened already, at {min(ledger.places[event])}")
        fit(event)
        with self.transaction():
            if admitted:
                self._view.admit_event(event)
            if at is not None and (self._now is None or at > self._now):
                self._now = at
            dot = self._put(Append(self._next(), event, at)).dot
            if before := self.noted(AFTER):
                self._write(AFTER, b"")
                self._link([before.decode()], event)
            return dot

    def _say_again(self) -> None:
        """Say what was taken out for its dots were disputed, as far as it is not known by now.

        Its events stand in a chain of their own again, between those that were before and after them.
        """
        disputed = self._disputed()
        unread = [each for each in disputed if isinstance(evolutions.decode(each), NewerEvolution)]
        if len(disputed) == len(unread):
            return
        ledger = self._state.ledger
        again: dict[Stream, list[str]] = {}
        with self.transaction():
            self._write(DISPUTED, packb(unread) if unread else b"")
            for content in disputed:
                match evolutions.decode(content):
                    case Append(dot, event, at) if event not in ledger.places and not event.startswith("c:"):
                        if dot.stream not in again:
                            before = [
                                each
                                for n, each in ledger.chains.get(dot.stream, {}).items()
                                if n < dot.number
                            ]
                            again[dot.stream] = before[-1:]
                            stream = (self.name, randbits(32) | 1)
                        number = ledger.seen.last(stream) + 1
                        if number == 1:
                            self._link(again[dot.stream], event)
                        self._put(Append(Dot(*stream, number), event, at))
                        again[dot.stream] = [event]
                    case Add(_, fact, replaces, _, at) if fact.key() not in ledger.facts:
                        self._put(Add(self._next(), fact, replaces, self._places(fact), at))
                    case Remove(_, targets):
                        self._put(Remove(self._next(), targets))
            first = ledger.chain(self.stream)[:1]
            for last in again.values():
                if first:
                    self._link(last, first[0])
                else:
                    self._write(AFTER, "".join(last).encode())

    def _link(self, before: list[str], event: str) -> None:
        """An event came after another, if there is one, which is of another incarnation."""
        for each in before:
            fact = Correspondence(each, Relation.BEFORE, event, f"events of {self.name}")
            self._put(Add(self._next(), fact, (), self._places(fact), None))

    def _learn(self, fact: Correspondence, at: float | None) -> list[Dot]:
        if fact.relation not in (*GIVEN_RELATIONS, Relation.NOT_BEFORE):
            raise Undefined(f"`{fact}` is no correspondence: only <, >, ||, <> and !< can be given")
        if fact.left == fact.right:
            raise Undefined(f"an event stands in no relation to itself: {fact.left}")
        fit(fact.left)
        fit(fact.right)
        if not self._admit(fact):
            return []
        return [self._put(Add(self._next(), fact, (), self._places(fact), at)).dot]

    def _admit(self, fact: Correspondence) -> bool:
        """Whether a correspondence is new. Raises `Contradiction`."""
        if fact.key() not in self._state.ledger.facts:
            self._view.admit(fact)
            return True
        aside = self._view.set_aside(fact.key())
        if aside is not None:
            raise Contradiction(f"`{fact}` is given already, and set aside: {aside}", aside.derivations())
        return False

    def _forget(self, marks: list[DotRun], names: Collection[str]) -> int:
        """LogRecord what follows through events, then drop them, in one transaction."""
        ledger = self._state.ledger
        gone = {*names}
        for run in marks:
            chain = ledger.chains.get((run.replica, run.incarnation), {})
            gone |= {event for number, event in chain.items() if number < run.end}
        old = self._view.plain.givens
        left = without_events(old, gone, self.known.rules)
        bridges = [
            fact
            for fresh, was in ((left.external, old.external), (left.refuted, old.refuted))
            for key, fact in fresh.items()
            if key not in was
        ]
        with self.transaction():
            self._write("forget", encode_forgotten(marks, names))
            for fact in bridges:
                if fact.key() not in ledger.facts and not ledger.is_link(fact.left, fact.right):
                    self._put(Add(self._next(), fact, (), self._places(fact), None))
            if marks:
                told = (DotRun(*stream, 1, number + 1) for stream, number in sorted(ledger.marks.items()))
                self._put(Forget(self._next(), tuple(told)))
        return len(gone)
