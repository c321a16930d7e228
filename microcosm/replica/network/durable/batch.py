"""What one transaction of an endpoint makes durable, and what may happen only then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from microcosm.protocol.machine import Send
from microcosm.replica.store import Store

if TYPE_CHECKING:
    from microcosm.replica.network.link.peer import Peer

Then = Callable[[BaseException | None], object]
"""Called once something is durable, with None; or with what keeps it from ever being so."""


@dataclass(slots=True)
class WriteBatch:
    """Cut off what has happened so far; what happens meanwhile is in the next one.

    `write` may run in any thread, one batch after another; all else belongs to the thread of the endpoint.
    """

    records: list[tuple[str, bytes]] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    """Packets that follow from what is written, in order."""
    said: list[tuple[Peer, list[bytes]]] = field(default_factory=list)
    """Pieces of exchanges, which tell what is known."""
    then: list[Then] = field(default_factory=list)
    snapshot: bytes | None = None
    """What is to stand for all records, those of this batch among them."""

    def writes(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.records) or self.snapshot is not None

    def write(self, store: Store) -> None:
        """One transaction, and the snapshot after it. Raises what the store does."""
        if self.writes():
            last = store.commit(self.records)
            if self.snapshot is not None:
                store.compact(last, self.snapshot)

    def tell(self, error: BaseException | None) -> None:
        """Tell those who wait."""
        waiting, self.then = self.then, []
        for then in waiting:
            then(error)
