"""The six message orderings (seed 004, Table 1, in its corrected form: strict orders, distinct messages)."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum


class Ordering(StrEnum):
    """What a network may keep: whatever is sent first, in a sense, is received first.

    Members stand in the order of the table; `weaker` has what each implies (Lemma 4).
    """

    FIFO_1_1 = "fifo-1-1"
    """Per channel: one sender, one receiver."""
    CAUSAL = "causal"
    """Per receiver, where the sends are causally ordered."""
    FIFO_N_1 = "fifo-n-1"
    """Per receiver (a mailbox), however the sends are ordered."""
    FIFO_1_N = "fifo-1-n"
    """Per sender (an outbox), whoever receives."""
    FIFO_N_N = "fifo-n-n"
    """One queue for all."""
    RSC = "rsc"
    """Realizable with synchronous communication: nothing is sent between a send and its reception."""

    def weaker(self, multicast: bool) -> tuple[Ordering, ...]:
        """The orderings that this one implies directly: of messages with one receiver each, or of any.

        Where a message has several, one of them may send what follows from it to another, which then need
        not have it yet: Fifo 1-n compares messages of one sender only, and no longer implies Causal. Cost:
        constant.

        >>> [one.value for one in Ordering.FIFO_N_N.weaker(multicast=True)]
        ['fifo-n-1', 'fifo-1-n']
        >>> [[*map(str, Ordering.FIFO_1_N.weaker(multicast))] for multicast in (False, True)]
        [['causal'], ['fifo-1-1']]
        """
        if multicast and self is Ordering.FIFO_1_N:
            return (Ordering.FIFO_1_1,)
        return _WEAKER[self]

    @staticmethod
    def strongest(held: Collection[Ordering], multicast: bool) -> list[Ordering]:
        """Those that no other one of them implies, in the order of the table.

        Cost: constant.

        >>> Ordering.strongest([Ordering.CAUSAL, Ordering.FIFO_1_N], multicast=True)
        [<Ordering.CAUSAL: 'causal'>, <Ordering.FIFO_1_N: 'fifo-1-n'>]
        """
        implied: set[Ordering] = set()
        for one in reversed(Ordering):
            if one in held or one in implied:
                implied.update(one.weaker(multicast))
        return [one for one in Ordering if one in held and one not in implied]


_WEAKER = {
    Ordering.FIFO_1_1: (),
    Ordering.CAUSAL: (Ordering.FIFO_1_1,),
    Ordering.FIFO_N_1: (Ordering.CAUSAL,),
    Ordering.FIFO_1_N: (Ordering.CAUSAL,),
    Ordering.FIFO_N_N: (Ordering.FIFO_N_1, Ordering.FIFO_1_N),
    Ordering.RSC: (Ordering.FIFO_N_N,),
}
