"""Token networks: what a system does so that causality ensures an ordering (Orderings Beyond Causality, 4.5).

Messages carry tokens. Without control messages, and although the network may delay whatever it likes, every
computation of such a system is in the interior of its ordering:

    RSC         one token; its holder may send, and every message takes it along
    Fifo n-n    one token; its holder may send, to one peer, until it sends the token along
    Fifo n-1    a token for each receiver, without which nobody sends to it
    Fifo 1-n    a token for each sender, without which nobody receives from it

The tokens of the last two go along with any message. What may be received is received in the order in which
it was sent, as a number in the token tells. Conversely every computation of an interior in which
all messages are received is one of such a network (`tests/orderings/test_tokens.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import NamedTuple

from microcosm.orderings.computation import Computation, build
from microcosm.orderings.ordering import Ordering

ONE = (Ordering.RSC, Ordering.FIFO_N_N)
"""The orderings for which there is one token."""


class InTransit(NamedTuple):
    """A message in transit, and the tokens that go along with it."""

    message: int
    sender: int
    receiver: int
    tokens: frozenset[int]


@dataclass(frozen=True, slots=True)
class TokenNetwork:
    """A state of a network of peers 0 … n-1, with what has happened so far; `steps` are the next states.

    `holders` are pairs of a token and its holder; a token that is nowhere yet is where it is first needed.
    `bound` is the only peer to which the holder of the one token of Fifo n-n may send.

    >>> network = TokenNetwork.of(Ordering.FIFO_N_N, 3)
    >>> first = [after for after in network.steps() if str(after.computation()) == "s0||"]
    >>> sorted({(letter.receiver, *letter.tokens) for after in first for letter in after.transit})
    [(1,), (1, 0), (2,), (2, 0)]
    >>> [str(after.computation()) for after in first[0].steps()]  # still at peer 0, and bound to peer 1
    ['s0 s1||', 's0 s1||', 's0|r0|']
    """

    ordering: Ordering
    chains: tuple[tuple[tuple[str, int], ...], ...]
    transit: tuple[InTransit, ...] = ()
    holders: frozenset[tuple[int, int]] = frozenset()
    bound: int | None = None
    sent: int = 0

    @staticmethod
    def of(ordering: Ordering, peers: int) -> TokenNetwork:
        """Before anything happens. Raises `ValueError` for Fifo 1-1 and Causal, which need no tokens.

        Cost: linear in the peers.
        """
        if ordering in (Ordering.FIFO_1_1, Ordering.CAUSAL):
            raise ValueError(f"{ordering.value} is ensured by numbers and vectors, not by tokens")
        return TokenNetwork(ordering, ((),) * peers)

    def computation(self) -> Computation:
        """What has happened so far. Cost: linear in what has happened."""
        return build({f"p{p}": [(kind, str(m)) for kind, m in row] for p, row in enumerate(self.chains)})

    def steps(self) -> Iterator[TokenNetwork]:
        """The states after one more send or reception.

        Cost: quadratic in the peers and in the letters in transit.
        """
        for sender in range(len(self.chains)):
            for receiver in range(len(self.chains)):
                if sender != receiver:
                    yield from self._sends(sender, receiver)
        for at, letter in enumerate(self.transit):
            token = self._token(letter.sender, letter.receiver)
            if all(self._token(one.sender, one.receiver) != token for one in self.transit[:at]):
                yield from self._receptions(letter)

    def _token(self, sender: int, receiver: int) -> int:
        """The token that a message from one peer to another one needs, to be sent or to be received."""
        if self.ordering in ONE:
            return 0
        return receiver if self.ordering is Ordering.FIFO_N_1 else sender

    def _sends(self, sender: int, receiver: int) -> Iterator[TokenNetwork]:
        holders = dict(self.holders)
        if self.ordering is not Ordering.FIFO_1_N:
            token = self._token(sender, receiver)
            if any(token in letter.tokens for letter in self.transit):
                return
            if holders.setdefault(token, sender) != sender or self.bound not in (None, receiver):
                return
        mine = sorted(token for token, holder in holders.items() if holder == sender)
        least = len(mine) if self.ordering is Ordering.RSC else 0
        for along in chain.from_iterable(combinations(mine, n) for n in range(least, len(mine) + 1)):
            letter = InTransit(self.sent, sender, receiver, frozenset(along))
            yield replace(
                self,
                chains=self._with(sender, "send", self.sent),
                transit=(*self.transit, letter),
                holders=frozenset((token, p) for token, p in holders.items() if token not in along),
                bound=receiver if self.ordering is Ordering.FIFO_N_N and not along else None,
                sent=self.sent + 1,
            )

    def _receptions(self, letter: InTransit) -> Iterator[TokenNetwork]:
        receiver = letter.receiver
        holders = {**dict(self.holders), **dict.fromkeys(letter.tokens, receiver)}
        if self.ordering is Ordering.FIFO_1_N:
            elsewhere = any(letter.sender in one.tokens for one in self.transit if one != letter)
            if elsewhere or holders.setdefault(letter.sender, receiver) != receiver:
                return
        yield replace(
            self,
            chains=self._with(receiver, "receive", letter.message),
            transit=tuple(one for one in self.transit if one != letter),
            holders=frozenset(holders.items()),
        )

    def _with(self, peer: int, kind: str, message: int) -> tuple[tuple[tuple[str, int], ...], ...]:
        return (*self.chains[:peer], (*self.chains[peer], (kind, message)), *self.chains[peer + 1 :])
