"""What an exchange needs of its replica."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from microcosm.replica.exchange_messages import ExchangeMessage, Heads, Supply
from microcosm.replica.ledger.dots import Dot, DotRun, Dots, Stream
from microcosm.replica.ledger.evolution import Evolution


class Side(Protocol):
    """A replica, as its exchanges see it."""

    def seen(self) -> Dots:
        """Every dot that is seen."""
        ...

    def proved(self) -> Dots:
        """Every dot that need not come again: seen, and signed by its author."""
        ...

    def unlinked(self) -> Iterable[tuple[DotRun, DotRun]]:
        """Of what waits for what it follows: what is between, and the first that waits behind it."""
        ...

    def asks(self) -> None:
        """A peer is asked what it knows: what waits for something else does not wait for ever."""
        ...

    @property
    def signs(self) -> bool:
        """Whether it signs, and takes only what is signed."""
        ...

    def heads(self) -> bytes:
        """What stands for the newest heads that it knows."""
        ...

    def newest_heads(self) -> Heads:
        """The newest heads that it knows."""
        ...

    def compare_heads(self, peer: str, told: Heads) -> Iterator[ExchangeMessage]:
        """What to tell a peer of heads that it told."""
        ...

    def supplies(self, found: Iterable[Evolution], largest: int, asked: Dots) -> Iterator[Supply]:
        """Evolutions that are held, of those that were asked for, with what vouches for them."""
        ...

    def accept(self, peer: str, supply: Supply) -> Iterator[ExchangeMessage]:
        """Take what is signed by whom it ought to be, durably; what to tell the peer."""
        ...

    def held_of(self, dots: Dots) -> list[Evolution]:
        """The evolutions of some dots that are still held, in the order of their dots."""
        ...

    def take(self, some: Iterable[Evolution]) -> int:
        """Take evolutions, durably, all or none; how many were new."""
        ...

    @property
    def stream(self) -> Stream:
        """Its own evolutions."""
        ...

    def fault_in(self, evolution: Evolution) -> str | None:
        """Why an evolution is not to be taken; None where nothing is wrong."""
        ...

    def has_room(self, evolution: Evolution) -> bool:
        """Whether an evolution is kept that cannot be read."""
        ...

    def unknown_own(self, evolution: Evolution) -> list[Dot]:
        """The dots of this replica that an evolution names, and that it does not know."""
        ...

    def diverged(self, peer: str, dot: Dot) -> bool:
        """A peer knows a dot of this replica that it does not know; whether it has begun anew for that."""
        ...

    def struck(self) -> Dots:
        """The dots whose correspondences are known to be removed."""
        ...

    def strike(self, runs: Iterable[DotRun]) -> None:
        """Somebody saw the correspondences of these dots removed."""
        ...

    def level_with(self, peer: str) -> None:
        """The peer has seen all that is held here."""
        ...
