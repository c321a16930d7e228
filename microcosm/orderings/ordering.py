"""The six message orderings (seed 004, Table 1, in its corrected form: strict orders, distinct messages)."""

from __future__ import annotations

from enum import StrEnum


class Ordering(StrEnum):
    """What a network may keep: whatever is sent first, in a sense, is received first.

    Members stand in the order of the table; `weaker` has what each implies at once (Lemma 4).
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

    @property
    def weaker(self) -> tuple[Ordering, ...]:
        """The orderings that this one implies directly.

        >>> [one.value for one in Ordering.FIFO_N_N.weaker]
        ['fifo-n-1', 'fifo-1-n']
        """
        return _WEAKER[self]


_WEAKER = {
    Ordering.FIFO_1_1: (),
    Ordering.CAUSAL: (Ordering.FIFO_1_1,),
    Ordering.FIFO_N_1: (Ordering.CAUSAL,),
    Ordering.FIFO_1_N: (Ordering.CAUSAL,),
    Ordering.FIFO_N_N: (Ordering.FIFO_N_1, Ordering.FIFO_1_N),
    Ordering.RSC: (Ordering.FIFO_N_N,),
}
