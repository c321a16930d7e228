"""What a replica is made of: who it is, its store, its transactions, and the microcosm of what it holds.

And what it asks of whoever carries its messages (`Outbox`), and who waits for a verdict (`Subscriptions`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from secrets import randbits
from typing import NamedTuple, Protocol, Self, TypeVar

from msgpack import packb

from microcosm.errors import MicrocosmError, Undefined, WrongReplica
from microcosm.files import AnyPath
from microcosm.givens.relation import Correspondence, Relation
from microcosm.givens.spelling import checked
from microcosm.logic.rulebook import RuleBook
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger import records
from microcosm.replica.ledger.dots import Dot, Stream
from microcosm.replica.ledger.evolution import Add, Evolution
from microcosm.replica.ledger.forgetting import Forgetting
from microcosm.replica.ledger.ledger import Ledger
from microcosm.replica.ledger.records import Identity, ReplicaState
from microcosm.replica.store import APPLICATION, Store
from microcosm.replica.view import LedgerView
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_reader import parse_correspondences
from microcosm.text.statement import unfit

Own = TypeVar("Own", bound=Evolution)

DIVERGED = "diverged"
"""Of the note that says when a member knew more of this replica than itself."""

COMPACT_AFTER = 1000
"""A snapshot is made after so many records, and after as many as are held: records take twice as long to
read again."""


class Core:
    """A replica that says nothing and does nothing yet; see `microcosm.replica.replica.Replica`."""

    def __init__(
        self,
        store: Store | AnyPath,
        name: str | None = None,
        *,
        members: Collection[str] = (),
        incarnation: int | None = None,
        forgetting: Forgetting | None = None,
        rules: RuleBook | None = None,
    ) -> None:
        opened = None
        if isinstance(store, str | os.PathLike):
            store = opened = open_store(store, create=name is not None)
        self._store = store
        self._rules = rules
        self.forgetting = forgetting if forgetting is not None else Forgetting()
        self.outbox: Outbox | None = None
        self.subscriptions = Subscriptions()
        self._depth = 0
        self._failed = False
        """Whether an inner transaction broke off after it had changed something."""
        self._pending: list[tuple[str, bytes]] = []
        self._passed: dict[Dot, set[str]] = {}
        """Who is known to have each removal that is held."""
        self._confirmed: tuple[int, int] | None = None
        """Incarnation and number up to which a member has what is known here of this one; not written."""
        self._untidied = 0
        self._now: float | None = None
        try:
            self._enter(name, members, incarnation)
        except BaseException:
            if opened is not None:
                opened.close()
            raise

    @property
    def name(self) -> str:
        """The name of the replica."""
        return self.identity.name

    @property
    def stream(self) -> Stream:
        """The name and the incarnation, which its dots bear."""
        identity = self._state.identity
        assert identity is not None
        return (identity.name, identity.incarnation)

    @property
    def ledger(self) -> Ledger:
        """What is seen and held, and what it comes to; read only."""
        return self._state.ledger

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all replicas, as far as stated."""
        return self.identity.members

    def renew(self, incarnation: int | None = None) -> None:
        """Begin a new incarnation, for a store that may lack evolutions that others have (an old copy, say).

        What it holds of the earlier ones stays, as that of another process.
        """
        with self.transaction():
            self._begin(Identity(self.name, incarnation or randbits(32) | 1, self.members))
            if self.noted(DIVERGED):
                self._write(DIVERGED, b"[]")
        self._view = self._fresh()

    @property
    def known_as(self) -> int:
        """The incarnation by which the members know it on the network."""
        return self.identity.known_as or self.identity.incarnation

    @property
    def known(self) -> Microcosm:
        """The microcosm as of now, for any question; it follows the replica, do not change it.

        Between two changes of the replica all answers are of one state. `snapshot` stays as it is.
        """
        return self._view.microcosm

    @contextmanager
    def transaction(self) -> Iterator[Self]:
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
                if self._confirmed is not None:
                    confirmed, self._confirmed = self._confirmed, None
                    self._write("confirmed", packb(confirmed))
                last = self._store.commit(self._pending)
                self._since += len(self._pending)
                self._untidied += len(self._pending)
                self._pending = []
                if self._since > max(COMPACT_AFTER, len(self.ledger.held)):
                    with suppress(Exception):  # what is committed is; it is tried again after as many
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
            self._settle()

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._depth > 0

    def compact(self) -> None:
        """Write a snapshot in the place of all records."""
        self._compact(self._store.commit(()))

    def note(self, kind: str, payload: bytes) -> None:
        """Keep the last payload of a kind, with whatever else this transaction commits."""
        if kind in records.OWN:
            raise Undefined(f"records of the kind {kind} are the replica's own")
        with self.transaction():
            self._write(kind, payload)

    def noted(self, kind: str) -> bytes | None:
        """The last payload of a kind."""
        return self._state.notes.get(kind)

    def recorded(self, kind: str, payload: bytes) -> None:
        """The network has put a record into the store, beside what the replica commits."""
        records.apply(self._state, kind, payload)

    @property
    def network(self) -> list[tuple[str, bytes]]:
        """The records of the network since its note `network state`, in their order; read only."""
        return self._state.network

    def content(self) -> bytes:
        """All that it keeps, as a snapshot of its store. Cost: linear."""
        return records.encode_state(self._state)

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self._store

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    # -- inside --------------------------------------------------------------------------------------------

    def _enter(self, name: str | None, members: Collection[str], incarnation: int | None) -> None:
        """Become the replica that the store is of, or begin a new one."""
        self._state, self._since = records.load(self._store)
        self._view = self._fresh()
        if self._state.identity is None:
            if name is None:
                raise WrongReplica("there is no replica in this store yet; give it a name")
            self._begin(Identity(fit(name), incarnation or randbits(32) | 1, tuple(sorted(members))))
        elif name is not None and name != self.name:
            raise WrongReplica(f"this is the store of the replica {self.name}, not of {name}")
        # a copy of a store may lack what others have seen of it
        instance, noted = getattr(self._store, "instance", None), self._state.notes.get("instance")
        if instance is not None and instance != noted:
            with self.transaction():
                if noted is not None:
                    self.renew()
                self._write("instance", instance)

    @contextmanager
    def telling_after(self) -> Iterator[None]:
        """Who waits for a verdict is told after the block, where what is raised is theirs."""
        self.subscriptions.held = True
        try:
            yield
        finally:
            self.subscriptions.held = False
        self._settle()

    def _settle(self) -> None:
        """After a transaction: tell those who wait."""
        if self.subscriptions.waiting and not self.subscriptions.held:
            self.subscriptions.settle(self.known)

    @property
    def identity(self) -> Identity:
        """Who it is."""
        assert self._state.identity is not None
        return self._state.identity

    def _begin(self, identity: Identity) -> None:
        with self.transaction():
            self._write("replica", records.encode_identity(identity))
        self._view.own = self.stream

    def _next(self) -> Dot:
        stream, ledger = self.stream, self.ledger
        dot = Dot(*stream, ledger.seen.last(stream) + 1)
        if (
            dot in ledger.early
        ):  # somebody has taken it away before there was one: it is of another incarnation
            self._begin(replace(self.identity, incarnation=randbits(32) | 1, known_as=self.known_as))
            ledger.changes.forgotten = True
            return Dot(*self.stream, 1)
        return dot

    def _put(self, evolution: Own) -> Own:
        """Take an evolution of this replica, within a transaction. Raises `Undefined` for one too large."""
        content = evolutions.encode(evolution)
        if len(content) > evolutions.LARGEST:
            self._failed = True  # the microcosm may have it already
            raise Undefined(
                f"an evolution of {len(content)} bytes is too large; {evolutions.LARGEST} is the most"
            )
        if self._state.author is None:
            self.ledger.take(evolution)
        else:
            self._state.take(evolution, content)
        self._pending.append(("evolution", content))
        return evolution

    def _write(self, kind: str, payload: bytes) -> None:
        records.apply(self._state, kind, payload)
        self._pending.append((kind, payload))

    def _give(self, fact: Correspondence, at: float | None = None, replaces: tuple[Dot, ...] = ()) -> Add:
        """Give a correspondence, with where its events have happened, if that is one place."""
        places = self.ledger.places
        left, right = places.get(fact.left, ()), places.get(fact.right, ())
        stand = next(iter(left)) if len(left) == 1 else None, next(iter(right)) if len(right) == 1 else None
        return self._put(Add(self._next(), fact, replaces, stand, at))

    def _compact(self, last: int) -> None:
        self._since = 0
        self._store.compact(last, records.encode_state(self._state))

    def _reload(self) -> None:
        """Be as the store is; where it cannot be read, know nothing, lest something is told that it lacks."""
        self._state = ReplicaState(self._state.identity)
        self._passed = {}
        try:
            self._state, self._since = records.load(self._store)
        finally:
            self._view = self._fresh()

    def _fresh(self) -> LedgerView:
        own = self._state.identity
        stream = (own.name, own.incarnation) if own is not None else ("", 0)
        return LedgerView(self.ledger, stream, self._rules)


def facts_of(given: str | Correspondence) -> list[Correspondence]:
    """The correspondences of a text, or the one given, in their normal form. Raises `TextError`."""
    found = [given] if isinstance(given, Correspondence) else parse_correspondences(given)
    return [checked(fact).normal() for fact in found]


def fit(name: str) -> str:
    """The name, if an event or a replica can have it. Raises `Undefined`."""
    fault = unfit(name)
    if fault is not None:
        raise Undefined(fault)
    return name


Deliver = Callable[[str, str, bytes], object]
"""Called with the name of the sender, the message and its payload, within the transaction of the delivery."""


class Outbox(Protocol):
    """Carries messages in causal order. Nothing may leave before it is committed."""

    def accept(self, message: str, to: tuple[str, ...], payload: bytes) -> None:
        """Take a message over, within a transaction of the replica, where `note` keeps what must be durable.

        Raises `MicrocosmError` to refuse it (nobody of that name, no room); the send is then undone.
        """
        ...

    def undone(self) -> None:
        """The transaction came to nothing, and with it what was accepted in it."""
        ...

    def committed(self) -> None:
        """The transaction is durable: what was accepted, and acks of what was delivered, may leave."""
        ...


Decided = Callable[[str, str, Relation], None]

DECIDED = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED)


class Subscription(NamedTuple):
    """One who waits for a verdict on a pair; `accurate`: for one of `<`, `>`, `||`."""

    left: str
    right: str
    callback: Decided
    accurate: bool


class Subscriptions:
    """Those who wait; each is told once."""

    def __init__(self) -> None:
        self.waiting: list[Subscription] = []
        self.held = False
        """Whether nobody is told for now."""

    def settle(self, known: Microcosm) -> None:
        """Tell those whose pair is decided. Who is told may add others, and change the replica.

        All of them are told, and then what one of them raised is raised.
        """
        settled, waiting = [], []
        for each in self.waiting:
            try:
                verdict = known.online(each.left, each.right)
            except MicrocosmError:  # there is no answer, and what has changed has changed
                continue
            if verdict in DECIDED and not (each.accurate and verdict is Relation.RELATED):
                settled.append((each, verdict))
            else:
                waiting.append(each)
        self.waiting = waiting
        with ExitStack() as telling:
            for each, verdict in reversed(settled):
                telling.callback(each.callback, each.left, each.right, verdict)


def open_store(path: AnyPath, *, create: bool = False) -> Store:
    """The journal at a path; `create` makes it where there is none. Raises `MicrocosmError`."""
    from microcosm.replica.journal import Journal

    return Journal.open(path, application=APPLICATION, create=create)
