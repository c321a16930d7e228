"""What a replica asks of whoever carries its messages; the transport fits in here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from microcosm.givens.relation import Correspondence
    from microcosm.protocol.disclosure import Disclosure

Deliver = Callable[[str, str, bytes], None]
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


def drained(disclosure: Disclosure, process: str) -> list[Correspondence]:
    """What a process has learnt from its messages since the last call, but for the order of its own events.

    A replica appends these itself. Facts of the network world, which may be false in that of the application,
    are dropped.
    """
    own = f"process {process}"
    found = [fact for fact in disclosure.application if fact.source != own]
    disclosure.application.clear()
    disclosure.network.clear()
    return found
