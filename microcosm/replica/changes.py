"""What can happen at a replica, or be said to it, or be forgotten; each change is an evolution, under a dot.

No dot may name two things. Who hears that a member knows more of this replica than itself, or something else,
cannot tell whether its journal was put back, another process runs one, or somebody invents; so its dots are
of another incarnation from then on, which is right in each case, and it notes that they are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from secrets import randbits
from typing import Any

from msgpack import packb

from microcosm.errors import Contradiction, Undefined, WrongReplica
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.replica.core import DIVERGED, Core, facts_of, fit
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import Dot, DotRun, Dots, Stream
from microcosm.replica.ledger.evolution import Append, Evolution
from microcosm.replica.ledger.forgetting import SLACK
from microcosm.state.forget import without_events
from microcosm.text.statement import spelled

DISPUTED = "disputed"
"""Of the note that has evolutions of a replica that were taken out, until they are said again."""

RETURNED = "returned"
"""Of the note that has those of them that others brought back under their dots: they are its own."""

WITHHELD = "withheld"
"""Of the note that has what was taken out of streams that a peer holds otherwise, until their replicas say it
again."""

AFTER = "after"
"""Of the note that has the last event before dots were of another incarnation, until the next one."""

MOST_DIVERGENCES = 16

LOOK_AFTER = 64
"""What is due to be forgotten is looked for after so many records, or some part of what is held."""


class Changes(Core):
    """A replica that changes, and may begin anew."""

    def local(self, event: str, *, at: float | None = None) -> Dot:
        """`event` has happened here, after all that did before. Raises `Undefined`, `Contradiction`.

        Names that begin with `c:` and `d:` are those of messages, and refused.
        """
        if evolutions.reserved(event):
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
        ledger = self.ledger
        with self.transaction():
            found = []
            for fact in facts:
                related = Correspondence(fact.left, Relation.RELATED, fact.right)
                if fact.relation is not Relation.BEFORE:
                    raise Undefined(
                        f"an update gives a direction, such as `a < b`; it cannot be `{spelled(fact)}`"
                    )
                if related.key() not in ledger.facts:
                    raise Undefined(
                        f"`{spelled(related)}` is not given, so it cannot be updated to `{spelled(fact)}`"
                    )
                self._admit(fact)
                replaces = tuple(sorted(ledger.facts[related.key()]))
                found.append(self._give(fact, at, replaces).dot)
            return found

    def remove(self, given: str | Correspondence) -> list[Dot]:
        """Take a correspondence away, here and wherever it came from the same evolutions. Raises `Undefined`.

        So is a contradiction resolved that is set aside: one side of it is removed.
        """
        facts = facts_of(given)
        ledger = self.ledger
        with self.transaction():
            found = []
            for fact in facts:
                if fact.key() not in ledger.facts:
                    raise Undefined(f"`{spelled(fact)}` cannot be removed: it is not given as such")
                targets = set(ledger.facts[fact.key()])
                for dot in list(targets):
                    add = ledger.held[dot]
                    assert isinstance(add, evolutions.Add)
                    targets.update(add.replaces)
                found.append(self._put(evolutions.Remove(self._next(), tuple(sorted(targets)))).dot)
            return found

    def forget(self, *events: str) -> None:
        """Drop some events; what followed through them of the others is kept. It is forgotten here only."""
        for event in events:
            if event not in self.ledger.places and event not in self.ledger.naming:
                raise Undefined(f"nothing names the event {event}")
        self._forget([], events)

    def tidy(self, now: float | None = None) -> int:
        """Forget what `forgetting` says is due; how many events. `now` is in seconds, as `at` is.

        It is called now and then by itself, with the greatest `at` of a local event so far.
        """
        self._untidied = 0
        marks, names = self.forgetting.due(self.ledger, now)
        return self._forget(marks, names) if marks or names else 0

    # -- what others say ------------------------------------------------------------------------------

    def seen(self) -> Dots:
        """Every dot that need not come again; read only."""
        return self.ledger.seen

    def incarnations_of(self, name: str) -> list[int]:
        """Those that something was seen of which bears a name."""
        return [incarnation for replica, incarnation in self.seen().streams() if replica == name]

    def said(self) -> dict[int, int]:
        """Of each incarnation of this name, the last number that was seen. Cost: the streams."""
        seen = self.seen()
        return {each: seen.last((self.name, each)) for each in self.incarnations_of(self.name)}

    def held(self, dot: Dot) -> Evolution | None:
        """The evolution of a dot, if it is still held. Constant time."""
        return self.ledger.held.get(dot)

    def held_of(self, dots: Dots) -> list[Evolution]:
        """The evolutions of some dots that are still held, in the order of their dots."""
        held = self.ledger.held
        if dots.count < len(held):
            return [held[dot] for dot in dots.dots() if dot in held]
        return [held[dot] for dot in sorted(held) if dot in dots]

    def unknown_own(self, evolution: Evolution) -> list[Dot]:
        """The dots under this name and incarnation that an evolution names, and that are not known here."""
        own = self.stream
        return [dot for dot in evolutions.named(evolution) if dot.stream == own and dot not in self.seen()]

    def take(self, some: Iterable[Evolution]) -> int:
        """Take evolutions of other replicas, in one transaction; how many were new.

        Raises `WrongReplica` where somebody else evolves under this name and incarnation.
        """
        new = 0
        with self.transaction():
            for evolution in some:
                if evolution.dot.stream == self.stream and evolution.dot not in self.seen():
                    raise WrongReplica(
                        f"{evolution.dot} is an evolution of this replica that it does not know: another "
                        f"one has the name {self.name}, or this store is an old copy (then `renew` it)"
                    )
                content = evolutions.encode(evolution)
                if self._state.take(evolution, content):
                    kind = "newer" if isinstance(evolution, evolutions.NewerEvolution) else "evolution"
                    self._pending.append((kind, content))
                    new += 1
        return new

    def strike(self, runs: Iterable[DotRun]) -> None:
        """Somebody saw the correspondences of these dots removed: they are given here no more."""
        with self.transaction():
            self._write("struck", packb([*Dots(runs)]))

    # -- another incarnation of dots ------------------------------------------------------------------

    def begin_anew(self, peer: str, dot: Dot) -> None:
        """Give dots another incarnation from now on, because a peer knows one that this replica does not.

        The members know it as before: only `renew` makes it another one for them.
        """
        last = self.ledger.seen.last(self.stream)
        with self.transaction():
            self._new_epoch()
            self._note_divergence({"member": peer, "dot": list(dot), "last": last})
        self._view = self._fresh()

    def part_from(self, peer: str, stream: Stream, first: int) -> None:
        """Take nothing of a stream from a number on, and take out what there is: a peer has something else.

        It is kept for the replica whose stream that is, which says it again: at once (`take_back`), or once
        the peer has brought what it knows, if it is of the incarnation that this one has now. Cost: linear.
        """
        held = self.ledger.held
        with self.transaction():
            if stream == self.stream:
                self._new_epoch(first)
            dots = sorted(dot for dot in held if dot.stream == stream and dot.number >= first)
            if dots:
                encoded = [evolutions.encode(held[dot]) for dot in dots]
                self._write(WITHHELD, packb([*self._disputed(WITHHELD), *encoded]))
            self._write("cut", packb([*stream, first]))
            self._note_divergence({"member": peer, "unlike": [*stream, first]})
        self._view = self._fresh()

    def take_back(self, other: Changes) -> None:
        """Say what another replica, or this one, has taken out of streams of this name, as far as it is lost.

        Whether that came before or after anything else here, nobody knows any more. Cost: what it is.
        """
        kept = other._disputed(WITHHELD)
        found = {each: read for each in kept if (read := evolutions.decode(each)).dot.replica == self.name}
        if found:
            disputed = self._disputed()  # is said again anyway, and in its place
            with self.transaction():
                self._tell(read for each, read in found.items() if each not in disputed)
            other.note(WITHHELD, packb([each for each in kept if each not in found]))

    def _new_epoch(self, first: int | None = None) -> None:
        """Dots are of another incarnation from now on.

        Those that no member is known to have, and all from `first` on, may name two things. So these are
        taken out, and said again under the new one once a member has brought what it knows of the old one
        (`_say_again`), if it did not bring the same.
        """
        ledger, (name, incarnation) = self.ledger, self.stream
        unconfirmed = self._state.confirmed.get(incarnation, 0) + 1
        first = unconfirmed if first is None else min(first, unconfirmed)
        run = DotRun(name, incarnation, first, ledger.seen.last(self.stream) + 1)
        if run.first < run.end:
            own = [ledger.held[dot] for dot in sorted(ledger.held) if dot.stream == self.stream]
            self._keep_in_doubt(own, first)
            self._write("disown", packb(run))
        last = ledger.chain((name, incarnation))
        if last:
            self._write(AFTER, last[-1].encode())
        self._begin(replace(self.identity, incarnation=randbits(32) | 1, known_as=self.known_as))

    def _keep_in_doubt(self, own: list[Evolution], first: int) -> None:
        """Keep what this replica has said in a stream from a number on, until it is said again.

        The last event before is kept with it: what stands there later may be of another copy of its journal.
        """
        doubtful = [each for each in own if each.dot.number >= first]
        if doubtful:
            before = [each for each in own if each.dot.number < first and isinstance(each, Append)]
            encoded = map(evolutions.encode, [*before[-1:], *doubtful])
            self._write(DISPUTED, packb([*self._disputed(), *encoded]))

    def _disputed(self, kind: str = DISPUTED) -> list[bytes]:
        found = self.noted(kind)
        return list(evolutions.read(found)) if found else []

    def _confirm(self) -> None:
        """A member has all that is held here: so its dots are these. Kept with the next commit."""
        own = self.stream
        self._confirmed = (own[1], self.ledger.seen.last(own))

    def keep_confirmed(self) -> None:
        """Remember now, and not with the next commit, what a member is known to have of this replica."""
        confirmed, self._confirmed = self._confirmed, None
        if confirmed is not None and self._state.confirmed.get(confirmed[0]) != confirmed[1]:
            with self.transaction():
                self._write("confirmed", packb(confirmed))

    def note_divergence(self, peer: str, why: str, mine: bool) -> None:
        """A member and this replica do not agree on what they told each other; `mine`: this one forgot."""
        fields = {"member": peer, "why": why, "mine": mine}
        if fields not in self.divergences:
            with self.transaction():
                if mine:
                    self._new_epoch()
                self._note_divergence(fields)
            self._view = self._fresh()

    def _note_divergence(self, fields: dict[str, Any]) -> None:
        found = self.divergences
        for kind in fields.keys() & {"fork", "unlike"}:  # one that is known better now
            found = [each for each in found if each.get(kind, [])[:2] != fields[kind][:2]]
        self._write(DIVERGED, json.dumps([*found, fields][-MOST_DIVERGENCES:]).encode())

    @property
    def divergences(self) -> list[dict[str, Any]]:
        """When a member and this replica did not agree what had happened, the latest last.

        `member`, and `dot` and `last` where it knew a dot of this replica, which was not so far; `fork` where
        it has signed two things under a dot; `unlike` where two held different things under a dot, and not
        both sign; or `why` and `mine` where they do not remember the same of their messages.
        """
        found: list[dict[str, Any]] = json.loads(self.noted(DIVERGED) or b"[]")
        return found

    # -- inside --------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """After a transaction: forget what is due, now and then."""
        if self._untidied > max(LOOK_AFTER, len(self.ledger.held) // (2 * SLACK)):
            with suppress(Undefined):  # under rules that cannot do without these events, they stay
                self.tidy(self._now)
        super()._settle()

    def _happen(self, event: str, at: float | None, *, admitted: bool) -> Dot:
        """Append an event; `admitted` only if it contradicts nothing."""
        ledger = self.ledger
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
                self._link(before.decode(), event)
            return dot

    def _say_again(self) -> None:
        """Say what was taken out for its dots were disputed, as far as it is not known by now.

        Its events stand in a chain of their own again, between those of this replica before and after them:
        not those of another copy of its journal, which may stand under its dots by now.
        """
        disputed = {each: evolutions.decode(each) for each in self._disputed()}
        unread = [each for each, read in disputed.items() if isinstance(read, evolutions.NewerEvolution)]
        if len(disputed) == len(unread):
            return
        ledger = self.ledger
        returned = [each for each, read in disputed.items() if ledger.held.get(read.dot) == read]
        with self.transaction():
            self._write(DISPUTED, packb(unread) if unread else b"")
            if returned:
                self._write(RETURNED, packb([*self._disputed(RETURNED), *returned]))
            again = self._tell(disputed.values())
            first = ledger.chain(self.stream)[:1]
            for event in again:
                if first:
                    self._link(event, first[0])
                else:
                    self._write(AFTER, event.encode())

    def _tell(self, some: Iterable[Evolution]) -> Collection[str]:
        """Say what was taken out of some streams, as far as it is not known; the last event told of each.

        The events of a stream are a chain again, after what is back under its dot and was before them.
        """
        ledger = self.ledger
        streams: dict[Stream, Stream] = {}
        before: dict[Stream, str] = {}
        told: dict[Stream, str] = {}
        for evolution in sorted(some, key=lambda each: each.dot):
            old = evolution.dot.stream
            match evolution:
                case Append(dot, event) if ledger.held.get(dot) == evolution:
                    if len(ledger.places[event]) == 1:
                        before[old] = event
                case Append(_, event, at) if event not in ledger.places and not event.startswith("c:"):
                    stream = streams.setdefault(old, (self.name, randbits(32) | 1))
                    if old in before and before[old] != told.get(old):
                        self._link(before[old], event)
                    self._put(Append(Dot(*stream, ledger.seen.last(stream) + 1), event, at))
                    before[old] = told[old] = event
                case evolutions.Add(_, fact, replaces, _, at) if fact.key() not in ledger.facts:
                    self._give(fact, at, replaces)
                case evolutions.Remove(_, targets):
                    self._put(evolutions.Remove(self._next(), targets))
        return told.values()

    def _link(self, before: str, event: str) -> None:
        """An event came after another, which is of another incarnation."""
        self._give(Correspondence(before, Relation.BEFORE, event, f"events of {self.name}"))

    def _learn(self, fact: Correspondence, at: float | None) -> list[Dot]:
        if fact.relation not in (*GIVEN_RELATIONS, Relation.NOT_BEFORE):
            raise Undefined(f"`{spelled(fact)}` is no correspondence: only <, >, ||, <> and !< can be given")
        if fact.left == fact.right:
            raise Undefined(f"an event stands in no relation to itself: {fact.left}")
        fit(fact.left)
        fit(fact.right)
        if not self._admit(fact):
            return []
        return [self._give(fact, at).dot]

    def _admit(self, fact: Correspondence) -> bool:
        """Whether a correspondence is new. Raises `Contradiction`."""
        if fact.key() not in self.ledger.facts:
            self._view.admit(fact)
            return True
        aside = self._view.set_aside(fact.key())
        if aside is not None:
            raise Contradiction(
                f"`{spelled(fact)}` is given already, and set aside: {aside}", aside.derivations()
            )
        return False

    def _forget(self, marks: list[DotRun], names: Collection[str]) -> int:
        """Record what follows through events, then drop them, in one transaction."""
        ledger = self.ledger
        gone = {*names} | ledger.below(marks)
        plain = self._view.plain
        old = plain.givens
        left = without_events(old, gone, plain.rules, plain._engine)
        bridges = [
            fact
            for fresh, was in ((left.external, old.external), (left.refuted, old.refuted))
            for key, fact in fresh.items()
            if key not in was
        ]
        with self.transaction():
            self._write("forget", packb([marks, sorted(names)]))
            for fact in bridges:
                if fact.key() not in ledger.facts and not ledger.is_link(fact.left, fact.right):
                    self._give(fact)
            if marks:
                runs = (DotRun(*stream, 1, number + 1) for stream, number in sorted(ledger.marks.items()))
                self._put(evolutions.Forget(self._next(), tuple(runs)))
        return len(gone)
