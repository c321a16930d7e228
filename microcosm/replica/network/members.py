"""Who takes part: members that are let in and given up, and what goes with them.

Messages are given up with a member: those that it had not acknowledged. Who evicts a member may be told at
once, but eviction spreads: others hear of it, and let go as well. So it is noted, in the commit that lets it
go, and stays so until somebody has asked for it. The same is done for a replica that begins another
incarnation, whose messages that were under way nobody sends any more.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from msgpack import packb

from microcosm.errors import ReplicaError
from microcosm.replica.ledger.records import encode_identity
from microcosm.replica.network.durable import Durable, check_address
from microcosm.replica.network.process import DeliveredMessage, Process
from microcosm.replica.network.status import blocked
from microcosm.replica.network.write_ahead import STATE
from microcosm.replica.replica import Replica
from microcosm.replica.store import Store


class Members(ABC):
    """The members of a replica, which its node, or a command while there is none, lets in and gives up."""

    replica: Replica
    network: Durable
    """What the network remembers."""

    @abstractmethod
    def add_member(self, name: str, address: tuple[str, int]) -> None:
        """A new member, or a new address of one. Raises `ReplicaError`, for one of this name too."""

    @abstractmethod
    def _drop(self, name: str, heard: Collection[int]) -> None:
        """See `Durable.evict`."""

    @abstractmethod
    def _flush(self) -> None:
        """Make all of it durable."""

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the other replicas."""
        return tuple(member.name for member in self.network.process.members)

    def evict(self, name: str) -> list[str]:
        """Give a member up for good, here and, as soon as they hear of it, at all others.

        The messages to it that it has not acknowledged: they are lost, unless they are sent again.
        """
        return self._evict(name, mine=True)

    def _evict(self, name: str, *, mine: bool) -> list[str]:
        """See `evict`, and `Authored.settle_divergences` for `mine`."""
        if name not in self.gone():
            self._drop(name, self.replica.incarnations_of(name) if mine else ())
        self.replica.settle_divergences(name, mine=mine)
        self._flush()
        return self._taken(name)

    def replace(
        self,
        name: str,
        address: tuple[str, int] | None = None,
        incarnation: int | None = None,
        author: str | None = None,
    ) -> list[str]:
        """Let a member in that has begun another incarnation: evict the old one, and add it again.

        Where another member has evicted it, and this one heard of it, it is only added. Where it is known as
        `incarnation` already, it is left as it is. `author`: see `trust`. What `evict` gives.
        """
        gone = self.gone()
        old = None if name in gone else self.network.process.membership.of(name)
        where = address or (gone[name] if old is None else (old.host, old.port))
        check_address(name, *where)  # first: an eviction cannot be undone
        self.trust(name, author)
        if old is not None and incarnation is not None and old.remembered == incarnation:
            lost = self._taken(name)
        else:
            lost = self._evict(name, mine=False)
        self.add_member(name, where)
        return lost

    def trust(self, name: str, author: str | None) -> None:
        """A member signs with the key `author` (`Replica.trust`), if that is stated."""
        if author is not None:
            self.replica.sign()
            self.replica.trust(name, author)

    def gone(self) -> dict[str, tuple[str, int]]:
        """Members that another one has evicted, and where they were; `replace` lets them in again."""
        return gone(self.replica, self.network.process)

    def lost(self) -> dict[str, list[str]]:
        """By the member: messages to it that it has not acknowledged, and that are not sent any more.

        It was evicted, here or by somebody else, or this replica has begun another incarnation. What `evict`
        and `replace` have told is left out.
        """
        return lost(self.replica)

    def undelivered(self) -> list[str]:
        """The messages of this replica that nobody is known to have got, and that are not under way."""
        return undelivered(self.replica, self.network.process)

    def _taken(self, name: str) -> list[str]:
        messages = taken(self.replica, self.network, name)
        self._flush()
        return messages


class Stating:
    """Has the members that a replica states follow those of its network, in the commit that changes these.

    And has it give up those whom the network does (`ReplicaState.give_up`), also where another incarnation
    takes the name at the same moment.

    Two commits, one after the other, would let a crash in between leave a replica that remembers removals for
    somebody who was evicted long ago, for ever. Whoever commits for the network calls `follow` before; what
    it adds is committed along.
    """

    def __init__(self, replica: Replica, durable: Durable) -> None:
        self._replica, self._durable = replica, durable
        self._named: set[str] | None = None
        self._fences = len(durable.process.membership.fences)

    def follow(self) -> None:
        """State what has changed since the last time. The first time: also that the evicted are gone.

        Names that the replica states and the network never knew stay. Cost: the members.
        """
        replica, process = self._replica, self._durable.process
        named, fences = {member.name for member in process.members}, process.membership.fences
        if named == self._named and len(fences) == self._fences:
            return
        before, self._named = self._named, named
        new = {fence.name for fence in islice(fences, self._fences, None)}
        self._fences = len(fences)
        gone = ({fence.name for fence in fences} if before is None else before) - named
        if given_up := new | replica.not_given_up(gone):
            content = packb(sorted(given_up))
            self._durable.record("give up", content)
        stated = ({*replica.members} | named) - gone
        if stated and (wanted := tuple(sorted(stated | {replica.name}))) != replica.members:
            content = encode_identity(replace(replica.identity, members=wanted))
            self._durable.record("replica", content)


NOTE = "let go"

MOST = 10_000
"""So many messages to a member are named at most, the newest."""


def network_of(replica: Replica, store: Store, deliver: Callable[[DeliveredMessage], None]) -> Durable:
    """What the network remembers of a replica; as another incarnation if the replica is one."""
    incarnation = replica.known_as
    durable = Durable.opened(
        *(store, replica.name, incarnation, deliver),
        snapshot=replica.noted(STATE),
        recorded=replica.recorded,
        records=replica.network,
    )
    durable.letting_go = partial(let_go, replica)
    return durable if durable.process.incarnation == incarnation else durable.renewed(incarnation)


def let_go(replica: Replica, durable: Durable, process: Process, name: str) -> None:
    """Note what goes with a member that is given up, or as `process` the incarnation before this one.

    Cost: the buffers.
    """
    messages = sorted({each.message for each in blocked(process) if each.to == name})
    if not messages and process is not durable.process:
        return
    found = _noted(replica)
    member = process.membership.of(name)
    before = found.get(name, {}).get("messages", [])
    found[name] = {"address": [member.host, member.port], "messages": [*before, *messages][-MOST:]}
    durable.record(NOTE, json.dumps(found).encode())


def lost(replica: Replica) -> dict[str, list[str]]:
    """By the member: messages to it that were let go, and that it is not known to have got."""
    found = {
        name: [each for each in about["messages"] if not replica.happened(f"d:{name}:{each}")]
        for name, about in _noted(replica).items()
    }
    return {name: messages for name, messages in found.items() if messages}


def taken(replica: Replica, durable: Durable, name: str) -> list[str]:
    """What `lost` has for a member, which somebody is told now; forgotten with the next flush."""
    messages, found = lost(replica).get(name, []), _noted(replica)
    if found.pop(name, None) is not None:
        durable.record(NOTE, json.dumps(found).encode())
    return messages


def gone(replica: Replica, process: Process) -> dict[str, tuple[str, int]]:
    """Members that others have evicted, and where they were: they may come back as another incarnation."""
    named = process.membership.named
    return {
        name: (about["address"][0], about["address"][1])
        for name, about in _noted(replica).items()
        if name not in named
    }


def undelivered(replica: Replica, process: Process) -> list[str]:
    """The messages of this replica, in any incarnation, which nobody is known to have got, and which are not
    under way. Cost: the events."""
    mark, under_way = f":{replica.name}.", {each.message for each in blocked(process)}
    events = [event for event in replica.events if event.startswith(("c:", "d:"))]
    delivered = {event[event.rindex(mark) + 1 :] for event in events if event[0] == "d" and mark in event}
    sent = (event[2:] for event in events if event[0] == "c" and event[1:].startswith(mark))
    return [each for each in sent if each not in delivered and each not in under_way]


def _noted(replica: Replica) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(replica.noted(NOTE) or b"{}")
    return found


class Unserved(Members):
    """Those of a replica that is not served, on whose network nothing comes or goes."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.network = network_of(replica, replica.store, _refused)
        self._stating = Stating(replica, self.network)
        self._stating.follow()

    def add_member(self, name: str, address: tuple[str, int]) -> None:
        """A new member, or a new address of one. Raises `ReplicaError`."""
        self.network.member(name, *address)
        self._flush()

    def _drop(self, name: str, heard: Collection[int]) -> None:
        self.network.evict(name, heard)

    def _flush(self) -> None:
        self._stating.follow()
        self.network.flush()


def _refused(letter: DeliveredMessage) -> None:
    """There is no application here that a message could be delivered to."""
    raise ReplicaError(f"message {letter.id} is due; `replica serve` delivers it, do it there")
