"""A replica: a microcosm inside an application, durable, and able to exchange what it knows with others.

    >>> from microcosm.replica.store import Memory
    >>> phone = Replica(Memory(), "phone", incarnation=1)
    >>> _ = phone.local("unshare"), phone.local("upload")
    >>> _ = phone.learn("upload < notify")
    >>> phone.online("unshare", "notify")
    Relation.BEFORE

Every change is an evolution with a dot, committed to the store before it is told to anybody. No clock, no
thread, no socket: time is passed in, messages come in and go out as bytes (`exchange`, `outbox`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from secrets import randbits
from typing import TYPE_CHECKING, Any, TypeVar

from microcosm.errors import Contradiction, Undefined
from microcosm.files import AnyPath
from microcosm.logic.document import parse_correspondences
from microcosm.logic.names import unfit
from microcosm.logic.rulebook import RuleBook
from microcosm.relations.correspondence import GIVEN_RELATIONS, Correspondence
from microcosm.relations.relation import Relation
from microcosm.replica import evolution as evolutions
from microcosm.replica.dots import Dot, Dots, Run, Stream
from microcosm.replica.errors import WrongReplica
from microcosm.replica.evolution import Add, Append, Evolution, Forget, Remove
from microcosm.replica.exchange import Exchange
from microcosm.replica.forgetting import SLACK, Forgetting
from microcosm.replica.knowledge import Knowledge
from microcosm.replica.outbox import Deliver, Outbox
from microcosm.replica.quarantine import Conflict
from microcosm.replica.records import OWN, apply, encode_forgotten, load
from microcosm.replica.snapshot import Identity, encode_identity, encode_state
from microcosm.replica.store import Store
from microcosm.replica.subscriptions import Decided, Subscriptions
from microcosm.state.forgetting import without_events
from microcosm.state.microcosm import Microcosm

if TYPE_CHECKING:
    from microcosm.logic.derivation import Derivation
    from microcosm.state.offline import Offline
    from microcosm.state.possibility import Possibility

Written = TypeVar("Written", bound=Evolution)

LOOK_AFTER = 64
"""What is due to be forgotten is looked for after so many records, or some part of what is held."""

COMPACT_AFTER = 1000
"""A snapshot is made after so many records, and after as many as twice what is held."""


class Replica:
    """One device's microcosm, kept in `store` (or in the journal at a path).

    A new store needs a `name`; one that is there belongs to a name, and asking for another raises
    `WrongReplica`. `members` are the names of all replicas: removals are remembered until each of them is
    known to have them, for ever where `members` is empty. `incarnation` is chosen at random unless given.

    Not for several threads at once. Changes cost what they write, and what they change in the microcosm when
    it is next asked; questions cost what they do in `Microcosm`.
    """

    def __init__(
        self,
        store: Store | AnyPath,
        name: str | None = None,
        *,
        members: Collection[str] = (),
        incarnation: int | None = None,
        forgetting: Forgetting | None = None,
        outbox: Outbox | None = None,
        rules: RuleBook | None = None,
        largest: int = 1 << 16,
    ) -> None:
        if isinstance(store, str | os.PathLike):
            from microcosm.replica.opening import open_store

            store = open_store(store, create=name is not None)
        self._store = store
        self._rules = rules
        self.forgetting = forgetting if forgetting is not None else Forgetting()
        self.outbox = outbox
        self.subscriptions = Subscriptions()
        self.exchange = Exchange(self, largest=largest)
        """Messages in and out; see `microcosm.replica.exchange`."""
        self._deliver: list[Deliver] = []
        self._depth = 0
        self._failed = False
        """Whether an inner transaction broke off after it had changed something."""
        self._pending: list[tuple[str, bytes]] = []
        self._passed: dict[Dot, set[str]] = {}
        """Who is known to have each removal that is held."""
        self._untidied = 0
        self._now: float | None = None
        self._state, self._since = load(self._store)
        self._knowledge = self._fresh()
        if self._state.identity is None:
            if name is None:
                raise WrongReplica("there is no replica in this store yet; give it a name")
            self._begin(Identity(_fit(name), incarnation or randbits(32) | 1, tuple(sorted(members))))
        elif name is not None and name != self.name:
            raise WrongReplica(f"this is the store of the replica {self.name}, not of {name}")
        self._recognise(getattr(store, "instance", None))

    # -- who it is -----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the replica."""
        return self._identity.name

    @property
    def stream(self) -> Stream:
        """The name and the incarnation, which its dots bear."""
        return (self._identity.name, self._identity.incarnation)

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all replicas, as far as stated."""
        return self._identity.members

    def set_members(self, members: Collection[str]) -> None:
        """State the names of all replicas anew."""
        self._begin(Identity(self.name, self.stream[1], tuple(sorted(members))))

    def renew(self, incarnation: int | None = None) -> None:
        """Begin a new incarnation, for a store that may lack evolutions that others have (an old copy, say).

        What it holds of the earlier ones stays, as that of another process.
        """
        self._begin(Identity(self.name, incarnation or randbits(32) | 1, self.members))
        self._knowledge = Knowledge(self._state.ledger, self.stream, self._rules)

    # -- questions -----------------------------------------------------------------------------------

    @property
    def known(self) -> Microcosm:
        """The microcosm as of now, for any question; it follows the replica, do not change it.

        Between two changes of the replica all answers are of one state. `snapshot` stays as it is.
        """
        return self._knowledge.microcosm

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

    def online(self, a: str, b: str) -> Relation:
        """`Microcosm.online`."""
        return self.known.online(a, b)

    def offline(self, a: str, b: str, **options: Any) -> Offline:
        """`Microcosm.offline`: what cannot be and what must be."""
        return self.known.offline(a, b, **options)

    def possible(self, a: str, b: str) -> Possibility:
        """`Microcosm.possible`."""
        return self.known.possible(a, b)

    def why(self, a: str, b: str) -> Derivation | None:
        """`Microcosm.why`."""
        return self.known.why(a, b)

    def table(self) -> Iterator[tuple[str, str, Relation]]:
        """`Microcosm.table`."""
        return self.known.table()

    @property
    def conflicts(self) -> list[Conflict]:
        """The correspondences that are set aside, in minimal contradictory sets."""
        return self._knowledge.conflicts

    @property
    def twice(self) -> list[str]:
        """The events that two processes claim, or one twice; they stand in no chain."""
        return self._knowledge.twice

    def is_given(self, fact: str | Correspondence) -> bool:
        """Whether a correspondence is given as such, set aside or not."""
        return all(each.key() in self._state.ledger.facts for each in _facts(fact))

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

    # -- changes ---------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[Replica]:
        """Several changes, committed together: all of them, or none where something is raised inside.

        Transactions nest; the outermost commits. Undoing costs reading the store again.
        """
        self._depth += 1
        begun = len(self._pending)
        try:
            yield self
            if self._depth == 1 and self._failed:
                raise Undefined("a part of this transaction has failed, so none of it is done")
            if self._depth == 1 and self._pending:
                last = self._store.commit(self._pending)
                self._since += len(self._pending)
                self._untidied += len(self._pending)
                self._pending = []
                if self._since > max(COMPACT_AFTER, 2 * len(self._state.ledger.held)):
                    self._compact(last)
        except BaseException:
            self._failed = self._failed or len(self._pending) > begun
            if self._depth == 1 and self.outbox is not None:
                self.outbox.undone()
            if self._depth == 1 and self._failed:
                self._pending, self._failed = [], False
                self._reload()
            raise
        finally:
            self._depth -= 1
        if not self._depth:
            if self._untidied > max(LOOK_AFTER, len(self._state.ledger.held) // (2 * SLACK)):
                self.tidy(self._now)
            if len(self.subscriptions):
                self.subscriptions.settle(self.known)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._depth > 0

    def local(self, event: str, *, at: float | None = None) -> Dot:
        """`event` has happened here, after all that did before. Raises `Undefined`, `Contradiction`."""
        return self._happen(event, at, admitted=True)

    def learn(self, given: str | Correspondence, *, at: float | None = None) -> list[Dot]:
        """Somebody has said that this holds; a chain `a < b < c` is taken whole or not at all.

        What is given already is no change. Raises `Contradiction` where it contradicts what is known or set
        aside, `Undefined` for what is no correspondence; nothing is changed then.
        """
        facts = _facts(given)
        with self.transaction():
            return [dot for fact in facts for dot in self._learn(fact, at)]

    def update(self, given: str | Correspondence, *, at: float | None = None) -> list[Dot]:
        """Put a direction in the place of a given `a <> b`. Raises as `Microcosm.update` does."""
        facts = _facts(given)
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
        facts = _facts(given)
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

    def compact(self) -> None:
        """Write a snapshot in the place of all records."""
        self._compact(self._store.commit(()))

    def note(self, kind: str, payload: bytes) -> None:
        """Keep the last payload of a kind, with whatever else this transaction commits."""
        if kind in OWN:
            raise Undefined(f"records of the kind {kind} are the replica's own")
        with self.transaction():
            self._write(kind, payload)

    def noted(self, kind: str) -> bytes | None:
        """The last payload of a kind."""
        return self._state.notes.get(kind)

    def recorded(self, kind: str, payload: bytes) -> None:
        """The network has put a record into the store, beside what the replica commits."""
        apply(self._state, kind, payload)

    @property
    def network(self) -> list[tuple[str, bytes]]:
        """The records of the network since its note `network state`, in their order; read only."""
        return self._state.network

    def content(self) -> bytes:
        """All that it keeps, as a snapshot of its store. Cost: linear."""
        return encode_state(self._state)

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self._store

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    # -- messages ----------------------------------------------------------------------------------------

    def send(self, to: str | Collection[str], payload: bytes, *, at: float | None = None) -> str:
        """Send a message in causal order by way of the outbox; the name of the message, M.

        The event is `c:M`. It is durable when this returns; raises what the outbox refuses it with.
        """
        if self.outbox is None:
            raise Undefined("this replica has no outbox to send by")
        receivers = (to,) if isinstance(to, str) else tuple(to)
        with self.transaction():
            message = str(self._next())
            self.outbox.accept(message, receivers, payload)  # first: what it refuses has changed nothing
            self.local(f"c:{message}", at=at)
        if not self._depth:
            self.outbox.committed()
        return message

    def on_deliver(self, deliver: Deliver) -> Deliver:
        """Have a function called for each delivery; what it changes is committed with the delivery."""
        self._deliver.append(deliver)
        return deliver

    def delivered(
        self,
        sender: str,
        message: str,
        payload: bytes,
        disclosed: Iterable[Correspondence] = (),
        *,
        at: float | None = None,
    ) -> None:
        """The transport delivers a message; the event is `d:NAME:M`.

        `disclosed` is what the message proves (`outbox.drained`). It is taken in any case, and so is the
        event: what contradicts them, or they contradict, is set aside. All of it is one transaction with what
        `on_deliver` does.
        """
        with self.transaction():
            self._happen(f"d:{self.name}:{message}", at, admitted=False)
            for fact in disclosed:
                if fact.key() not in self._state.ledger.facts:
                    fact = fact.normal()  # noqa: PLW2901
                    self._put(Add(self._next(), fact, (), self._places(fact), at))
            for deliver in self._deliver:
                deliver(sender, message, payload)
        if not self._depth and self.outbox is not None:
            self.outbox.committed()

    # -- the side of an exchange ---------------------------------------------------------------------------

    def seen(self) -> Dots:
        """Every dot that need not come again; read only."""
        return self._state.ledger.seen

    def held_of(self, dots: Dots) -> list[Evolution]:
        """The evolutions of some dots that are still held, in the order of their dots."""
        held = self._state.ledger.held
        if len(dots) < len(held):
            return [held[dot] for dot in dots.dots() if dot in held]
        return [held[dot] for dot in sorted(held) if dot in dots]

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
                if self._state.ledger.take(evolution):
                    self._pending.append(("evolution", evolutions.encode(evolution)))
                    new += 1
        return new

    def level_with(self, peer: str) -> None:
        """A peer has all that is held here: removals that all members have are remembered no longer."""
        others = {*self.members} - {self.name}
        if peer not in others:
            return
        for dot in self._state.ledger.removals():
            passed = self._passed.setdefault(dot, set())
            passed.add(peer)
            if passed >= others:
                self._state.ledger.settle(dot)
                del self._passed[dot]

    def _recognise(self, instance: bytes | None) -> None:
        """Begin a new incarnation where the store is a copy, which may lack what others have seen of it."""
        noted = self._state.notes.get("instance")
        if instance is not None and instance != noted:
            with self.transaction():
                if noted is not None:
                    self.renew()
                self._write("instance", instance)

    # -- inside --------------------------------------------------------------------------------------------

    @property
    def _identity(self) -> Identity:
        assert self._state.identity is not None
        return self._state.identity

    def _begin(self, identity: Identity) -> None:
        with self.transaction():
            self._write("replica", encode_identity(identity))
        self._knowledge.own = self.stream

    def _next(self) -> Dot:
        return Dot(*self.stream, self._state.ledger.seen.last(self.stream) + 1)

    def _happen(self, event: str, at: float | None, *, admitted: bool) -> Dot:
        """Append an event; `admitted` only if it contradicts nothing."""
        ledger = self._state.ledger
        if event in ledger.places:
            raise Undefined(f"{event} has happened already, at {min(ledger.places[event])}")
        _fit(event)
        with self.transaction():
            if admitted:
                self._knowledge.admit_event(event)
            if at is not None and (self._now is None or at > self._now):
                self._now = at
            return self._put(Append(self._next(), event, at)).dot

    def _put(self, evolution: Written) -> Written:
        content = evolutions.encode(evolution)
        if len(content) > evolutions.LARGEST:
            self._failed = True  # the microcosm may have it already
            raise Undefined(
                f"an evolution of {len(content)} bytes is too large; {evolutions.LARGEST} is the most"
            )
        with self.transaction():
            self._state.ledger.take(evolution)
            self._pending.append(("evolution", content))
        return evolution

    def _write(self, kind: str, payload: bytes) -> None:
        apply(self._state, kind, payload)
        self._pending.append((kind, payload))

    def _learn(self, fact: Correspondence, at: float | None) -> list[Dot]:
        if fact.relation not in (*GIVEN_RELATIONS, Relation.NOT_BEFORE):
            raise Undefined(f"`{fact}` is no correspondence: only <, >, ||, <> and !< can be given")
        if fact.left == fact.right:
            raise Undefined(f"an event stands in no relation to itself: {fact.left}")
        _fit(fact.left)
        _fit(fact.right)
        if not self._admit(fact):
            return []
        return [self._put(Add(self._next(), fact, (), self._places(fact), at)).dot]

    def _admit(self, fact: Correspondence) -> bool:
        """Whether a correspondence is new. Raises `Contradiction`."""
        if fact.key() not in self._state.ledger.facts:
            self._knowledge.admit(fact)
            return True
        aside = self._knowledge.set_aside(fact.key())
        if aside is not None:
            raise Contradiction(f"`{fact}` is given already, and set aside: {aside}", aside.derivations())
        return False

    def _places(self, fact: Correspondence) -> tuple[Dot | None, Dot | None]:
        places = self._state.ledger.places
        return _only(places.get(fact.left)), _only(places.get(fact.right))

    def _forget(self, marks: list[Run], names: Collection[str]) -> int:
        """Record what follows through events, then drop them, in one transaction."""
        ledger = self._state.ledger
        gone = {*names}
        for run in marks:
            chain = ledger.chains.get((run.replica, run.incarnation), {})
            gone |= {event for number, event in chain.items() if number < run.end}
        old = self.known.givens
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
                told = (Run(*stream, 1, number + 1) for stream, number in sorted(ledger.marks.items()))
                self._put(Forget(self._next(), tuple(told)))
        return len(gone)

    def _compact(self, last: int) -> None:
        self._store.compact(last, encode_state(self._state))
        self._since = 0

    def _reload(self) -> None:
        self._state, self._since = load(self._store)
        self._passed = {}
        self._knowledge = self._fresh()

    def _fresh(self) -> Knowledge:
        own = self._state.identity
        stream = (own.name, own.incarnation) if own is not None else ("", 0)
        return Knowledge(self._state.ledger, stream, self._rules)


def _facts(given: str | Correspondence) -> list[Correspondence]:
    found = [given] if isinstance(given, Correspondence) else parse_correspondences(given)
    return [fact.normal() for fact in found]


def _fit(name: str) -> str:
    fault = unfit(name)
    if fault is not None:
        raise Undefined(fault)
    return name


def _only(places: Collection[Dot] | None) -> Dot | None:
    return next(iter(places)) if places is not None and len(places) == 1 else None
