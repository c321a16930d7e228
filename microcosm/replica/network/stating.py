"""The members that a replica states follow those of its network, in the commit that changes these.

Two commits, one after the other, would let a crash in between leave a replica that remembers removals for
somebody who was evicted long ago, for ever.
"""

from __future__ import annotations

from microcosm.replica.ledger.snapshot import Identity, encode_identity
from microcosm.replica.network.durable.durable import Durable
from microcosm.replica.replica import Replica


class Stating:
    """Whoever commits for the network calls `follow` before; what it adds is committed along."""

    def __init__(self, replica: Replica, durable: Durable) -> None:
        self._replica, self._durable = replica, durable
        self._named: set[str] | None = None

    def follow(self) -> None:
        """State what has changed since the last time. The first time: also that the evicted are gone.

        Names that the replica states and the network never knew stay. Cost: the members.
        """
        replica, process = self._replica, self._durable.process
        named = {member.name for member in process.members}
        if named == self._named:
            return
        before, self._named = self._named, named
        gone = ({fence.name for fence in process.membership.fences} if before is None else before) - named
        stated = ({*replica.members} | named) - gone
        if stated and (wanted := tuple(sorted(stated | {replica.name}))) != replica.members:
            content = encode_identity(Identity(*replica.stream, wanted))
            self._durable.include("replica", content)
            replica.recorded("replica", content)
