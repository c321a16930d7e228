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
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from microcosm.errors import Undefined, WrongReplica
from microcosm.files import AnyPath
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import RuleBook
from microcosm.replica.admission import Admitting, EarlyParts
from microcosm.replica.conflicts import Conflict
from microcosm.replica.core import Decided, Deliver, Outbox, Subscription, fit
from microcosm.replica.exchange import AntiEntropy, Same, decode
from microcosm.replica.ledger.dots import Dot, Stream
from microcosm.replica.ledger.evolution import Append
from microcosm.replica.ledger.forgetting import Forgetting
from microcosm.replica.store import Store
from microcosm.state.microcosm import Microcosm

if TYPE_CHECKING:
    from microcosm.logic.derivation import Derivation
    from microcosm.queries.offline import Offline
    from microcosm.queries.possible import Possibility


class Replica(Admitting):
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
        self.early = EarlyParts()
        self.exchange = AntiEntropy(self, largest=largest)
        """Messages in and out; see `microcosm.replica.exchange`."""
        self._deliver: list[Deliver] = []

    # -- questions ------------------------------------------------------------------------------------

    def snapshot(self) -> Microcosm:
        """A copy of the microcosm, independent of the replica, that names every event of one place.

        Events of others that nothing relates to another are in it as events of a process, which is the
        replica, or its incarnation where it has several such: nothing follows from that. Cost: linear.
        """
        known, places = self.known, self.ledger.places
        givens = known.givens.copy()
        alone = [event for event in sorted(places.keys() - {*givens.named()}) if len(places[event]) == 1]
        dots = {event: next(iter(places[event])) for event in alone}
        several = Counter(dot.replica for dot in dots.values())
        for event, (name, incarnation, _) in dots.items():
            process = name if several[name] == 1 else f"{name}.{incarnation}"
            givens.processes[process] = (*givens.processes.get(process, ()), event)
        return Microcosm(givens, strict=known.strict, rules=known.rules)

    @property
    def events(self) -> list[str]:
        """Every event that is known, sorted. Cost: n log n."""
        return sorted({*self.ledger.places, *self.ledger.naming})

    def chains(self) -> dict[Stream, list[str]]:
        """The events of each process in their order. Cost: linear."""
        return {stream: [*self.ledger.chain(stream)] for stream in sorted(self.ledger.chains)}

    def happened(self, event: str) -> bool:
        """Whether an event stands in the chain of some process. Constant time."""
        return event in self.ledger.places

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
        """The events that two processes claim, or one twice, sorted; they stand in no chain. Cost: linear."""
        return sorted(event for event, places in self.ledger.places.items() if len(places) > 1)

    def when_decided(self, a: str, b: str, callback: Decided, *, accurate: bool = False) -> None:
        """Call `callback(a, b, verdict)` once `a` and `b` are decided: now, or after what decides them.

        Decided is what is neither `?` nor silent, and with `accurate` not `<>` either. Cost: a question for
        each that waits after each transaction. Raises what the question does, and waits for nothing then.
        What `callback` raises undoes nothing: whoever made the change gets it; on the network the node stops.
        """
        self.known.online(fit(a), fit(b))
        self.subscriptions.waiting.append(Subscription(a, b, callback, accurate))
        if not self._depth:
            self.subscriptions.settle(self.known)

    def digest(self) -> str:
        """64 characters that say what is known and what is set aside: equal after an exchange.

        SHA-256 of a JSON text of the chains, the correspondences, the sets that are set aside and the events
        that stand twice, and the dots of what is unread, all sorted. Of replicas that forgot different things
        it differs. Cost: n log n.
        """
        ledger = self.ledger
        aside = [[fact.key() for fact in conflict.facts] for conflict in self.conflicts]
        withheld = {key for keys in aside for key in keys}
        state = {
            "chains": [[list(stream), ledger.chain(stream)] for stream in sorted(ledger.chains)],
            "given": sorted(key for key in ledger.facts if key not in withheld),
            "aside": sorted(aside),
            "twice": self.twice,
        }
        if ledger.newer:
            state["unread"] = sorted(ledger.newer)
        return sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()

    def counts(self) -> dict[str, int]:
        """How much there is: events, correspondences, evolutions held and seen, and so on."""
        ledger = self.ledger
        return {
            "events": len({*ledger.places, *ledger.naming}),
            "correspondences": len(ledger.facts),
            "held": len(ledger.held),
            "seen": ledger.seen.count,
            "removals": len(ledger.removals()),
            "unread": len(ledger.newer),
            "divergences": len(self.divergences),
            "quarantined": sum(len(conflict.facts) for conflict in self.conflicts),
        }

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
            self._happen(f"c:{message}", at, admitted=True)
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
        and stands where it does among the sender's events; and whatever is `disclosed`.
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
                if fact.key() not in self.ledger.facts:
                    fact = fact.normal()  # noqa: PLW2901
                    self._give(fact, at)
            for deliver in self._deliver:
                deliver(sender, message, payload)
        if not self._depth and self.outbox is not None:
            self.outbox.committed()

    # -- the side of an exchange ---------------------------------------------------------------------------

    def compare_held(self, other: Replica) -> None:
        """Find out where two replicas hold different things under one dot, and take these out at both.

        Of each such stream nothing counts from the first such number on; the replica whose it is says it
        again under other dots. Where both sign, their heads say it. Cost: what they hold, unless both sign.
        """
        if self.signs and other.signs:
            return
        one, two = self.ledger, other.ledger
        cut = [Dot(*stream, first) for each in (one, two) for stream, first in each.closed.items()]
        doubtful = sorted([*one.unlike(two), *two.unlike(one), *cut], reverse=True)
        for stream, first in {dot.stream: dot.number for dot in doubtful}.items():
            for each, peer in ((self, other), (other, self)):
                if each.ledger.closed.get(stream, first + 1) > first:
                    each.part_from(peer.name, stream, first)
        for each in (self, other):
            each.take_back(self)
            each.take_back(other)

    def level_with(self, peer: str) -> None:
        """A peer has all that is held here: removals that all members have are remembered no longer."""
        self._confirm()
        self._say_again()
        others = {*self.members} - {self.name}
        if peer not in others:
            return
        for dot in self.ledger.removals():
            passed = self._passed.setdefault(dot, set())
            passed.add(peer)
            if passed >= others:
                self.ledger.settle(dot)
                del self._passed[dot]


PATIENCE = 1000
"""So many rounds that bring nothing new are enough; each tells dozens of messages of what is gone."""


@dataclass(slots=True)
class Traffic:
    """What an exchange took: messages, their bytes, and the evolutions that were new to each side."""

    messages: int = 0
    bytes: int = 0
    new: tuple[int, int] = (0, 0)


def level(one: Replica, other: Replica) -> Traffic:
    """Exchange until neither has anything that the other lacks.

    Cost: what they differ in; unless both sign, also what they hold.

    >>> from microcosm.replica.store import Memory
    >>> phone, laptop = (Replica(Memory(), name, incarnation=1) for name in ("phone", "laptop"))
    >>> _ = phone.learn("unshare < upload"), laptop.learn("upload < view")
    >>> level(phone, laptop).new, laptop.online("unshare", "view")
    ((1, 1), Relation.BEFORE)
    """
    one.compare_held(other)
    for owner, reader in ((one, other), (other, one)):
        reader.exchange.is_held(owner.name, owner.ledger.held)
    traffic = Traffic()
    before = [each.seen().copy() for each in (one, other)]
    same = False
    idle = 0
    asking, answering = other, one
    while not same:
        known = one.seen().count + other.seen().count
        said = [each.said() for each in (one, other)]
        asking, answering = answering, asking  # in turn: what waits in vain is dropped by who asks
        waiting = deque((answering, asking, message) for message in asking.exchange.begin(answering.name))
        while waiting:
            to, sender, message = waiting.popleft()
            traffic.messages += 1
            traffic.bytes += len(message)
            same = isinstance(decode(message), Same)
            waiting += ((sender, to, answer) for answer in to.exchange.receive(sender.name, message))
        if said != [each.said() for each in (one, other)]:
            same = False  # what was disputed has been said again
        idle = idle + 1 if one.seen().count + other.seen().count == known else 0
        if idle > PATIENCE:
            raise WrongReplica(f"{one.name} and {other.name} do not come to an end; is one a copy?")
    for each in (one, other):
        each.keep_confirmed()
    traffic.new = (one.seen() - before[0]).count, (other.seen() - before[1]).count
    return traffic
