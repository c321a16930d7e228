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

from collections.abc import Collection, Iterable

from microcosm.errors import Undefined, WrongReplica
from microcosm.files import AnyPath
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import RuleBook
from microcosm.replica.changes import Changes
from microcosm.replica.exchange.exchange import Exchange
from microcosm.replica.forgetting import Forgetting
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import Dot, Dots
from microcosm.replica.ledger.evolution import Add, Append, Evolution
from microcosm.replica.outbox import Deliver, Outbox
from microcosm.replica.questions import Questions
from microcosm.replica.store import Store


class Replica(Questions, Changes):
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
        outbox: Outbox | None = None,
        largest: int = 1 << 16,
        members: Collection[str] = (),
        incarnation: int | None = None,
        forgetting: Forgetting | None = None,
        rules: RuleBook | None = None,
    ) -> None:
        super().__init__(
            store, name, members=members, incarnation=incarnation, forgetting=forgetting, rules=rules
        )
        self.outbox = outbox
        self.exchange = Exchange(self, largest=largest)
        """Messages in and out; see `microcosm.replica.exchange.exchange`."""
        self._deliver: list[Deliver] = []

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
        sent: Append | None = None,
        at: float | None = None,
    ) -> None:
        """The transport delivers a message; the event is `d:NAME:M`.

        What the message proves is `sent`, the sender's evolution of its sending, which is before the delivery
        and stands where it does among the sender's events; and whatever is `disclosed` (`outbox.drained`).
        It is taken in any case, and so is the event: what contradicts them, or they contradict, is set aside.
        All of it is one transaction with what `on_deliver` does.
        """
        event = f"d:{self.name}:{message}"
        with self.transaction():
            if sent is not None:
                self.take([sent])
                disclosed = (
                    Correspondence(sent.event, Relation.BEFORE, event, f"message {message}"),
                    *disclosed,
                )
            self._happen(event, at, admitted=False)
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

    def held(self, dot: Dot) -> Evolution | None:
        """The evolution of a dot, if it is still held. Constant time."""
        return self._state.ledger.held.get(dot)

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
