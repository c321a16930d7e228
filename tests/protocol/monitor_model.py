"""The abstract algorithm of Hoogerwoord's note, section 5, and its refinements down to vectors (section 6).

A model to be compared with itself, not a protocol to be run (that is `microcosm.protocol.monitoring`):
four programs for the same problem, each from the one before it by the step that the paper takes.

    Histories   H_p, K, and B_j kept for ever: C_j is computed from all B when it is needed
    Pasts       G_p = H_p ∪ (∪ h : h ∈ H_p : C_h) instead of H_p; C_j travels with the message   (P1)
    Projections F_p = G_p ↑ R_μ and E_j = C_j ↑ R_μ instead of G_p and C_j                        (P2, P3)
    Sizes       f_p, e_j, k instead of F_p, E_j, K: how many of them each process sent           (section 6)

The monitor receives j when its causal predecessors that go to the monitor have been received; its guard is
true then and only then, in all four. In the paper's notation `if guard → ... fi`, j waits until it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, TypeVar

X = TypeVar("X")


class AbstractMessage(NamedTuple):
    """A message: its identity, `sndr` and `rcvr`."""

    number: int
    sender: int
    receiver: int


MessageSet = frozenset[AbstractMessage]
NONE: MessageSet = frozenset()


def closed(part: Collection[X], universe: Iterable[X], before: Callable[[X, X], bool]) -> bool:
    """Section 1.0: whether `part` has, with y, every x of the universe that is before y. Cost: quadratic.

    >>> closed({0, 1}, range(4), int.__lt__), closed({1}, range(4), int.__lt__)
    (True, False)
    """
    return all(x in part for x in universe for y in part if before(x, y))


def predecessors(basic: dict[AbstractMessage, MessageSet], j: AbstractMessage) -> MessageSet:
    """Section 3: C_j = B_j ∪ (∪ h : h ∈ B_j : C_h), the causal predecessors of j. Cost: linear in B."""
    found: set[AbstractMessage] = set()
    stack = list(basic[j])
    while stack:
        h = stack.pop()
        if h not in found:
            found.add(h)
            stack += basic[h]
    return frozenset(found)


class MonitorProgram(ABC):
    """What the four have in common: sends, and receptions where `ready` allows them. `monitor` is μ.

    Cost of each method: linear in the sets of messages that it compares, for this is a model and no machine.
    """

    def __init__(self, size: int, monitor: int = 0) -> None:
        self.size = size
        self.monitor = monitor

    def projected(self, letters: MessageSet) -> MessageSet:
        """letters ↑ R_μ: those that go to the monitor (section 1.1). Cost: linear in the letters."""
        return frozenset(j for j in letters if j.receiver == self.monitor)

    @abstractmethod
    def send(self, j: AbstractMessage) -> None:
        """The event send_j, at its sender. Cost: the history of the sender at most."""

    @abstractmethod
    def ready(self, j: AbstractMessage) -> bool:
        """The guard of the reception of j: at the monitor; elsewhere it is true. Cost: a history at most."""

    @abstractmethod
    def receive(self, j: AbstractMessage) -> None:
        """The event receive_j, at its receiver, once it is ready. Cost: two histories at most."""


class Histories(MonitorProgram):
    """The first program: H_p is all that p has sent or received, K what the monitor has received."""

    def __init__(self, size: int, monitor: int = 0) -> None:
        super().__init__(size, monitor)
        self.h: list[MessageSet] = [NONE] * size
        self.k = NONE
        self.b: dict[AbstractMessage, MessageSet] = {}
        """B_j, the basic predecessors of each message."""

    def c(self, j: AbstractMessage) -> MessageSet:
        """C_j, from the B of everybody: nothing distributed could compute it.

        Cost: linear in the messages.
        """
        return predecessors(self.b, j)

    def send(self, j: AbstractMessage) -> None:
        self.b[j] = self.h[j.sender]
        self.h[j.sender] |= {j}

    def ready(self, j: AbstractMessage) -> bool:
        return j.receiver != self.monitor or self.projected(self.c(j)) <= self.k

    def receive(self, j: AbstractMessage) -> None:
        self.h[j.receiver] |= {j}
        if j.receiver == self.monitor:
            self.k |= {j}


class Pasts(MonitorProgram):
    """The second program, by P1: G_p is the history of p with all its causal predecessors."""

    def __init__(self, size: int, monitor: int = 0) -> None:
        super().__init__(size, monitor)
        self.g: list[MessageSet] = [NONE] * size
        self.k = NONE
        self.c: dict[AbstractMessage, MessageSet] = {}
        """C_j, which travels with message j."""

    def send(self, j: AbstractMessage) -> None:
        self.c[j] = self.g[j.sender]
        self.g[j.sender] |= {j}

    def ready(self, j: AbstractMessage) -> bool:
        return j.receiver != self.monitor or self.projected(self.c[j]) <= self.k

    def receive(self, j: AbstractMessage) -> None:
        self.g[j.receiver] |= {j} | self.c[j]
        if j.receiver == self.monitor:
            self.k |= {j}


class Projections(MonitorProgram):
    """The third program, by P2 and P3: only messages to the monitor are kept and travel."""

    def __init__(self, size: int, monitor: int = 0) -> None:
        super().__init__(size, monitor)
        self.f: list[MessageSet] = [NONE] * size
        self.k = NONE
        self.e: dict[AbstractMessage, MessageSet] = {}
        """E_j, which travels with message j."""

    def send(self, j: AbstractMessage) -> None:
        self.e[j] = self.f[j.sender]
        if j.receiver == self.monitor:
            self.f[j.sender] |= {j}

    def ready(self, j: AbstractMessage) -> bool:
        return j.receiver != self.monitor or self.e[j] <= self.k

    def receive(self, j: AbstractMessage) -> None:
        self.f[j.receiver] |= self.e[j]
        if j.receiver == self.monitor:
            self.f[j.receiver] |= {j}
            self.k |= {j}


class Sizes(MonitorProgram):
    """The last program, section 6: closed sets of one sender's messages are told by their sizes."""

    def __init__(self, size: int, monitor: int = 0) -> None:
        super().__init__(size, monitor)
        self.f: list[list[int]] = [[0] * size for _ in range(size)]
        self.k = [0] * size
        self.e: dict[AbstractMessage, list[int]] = {}
        """e_j, which travels with message j."""

    def send(self, j: AbstractMessage) -> None:
        p = j.sender
        self.e[j] = self.f[p][:]
        if j.receiver == self.monitor:
            self.f[p][p] += 1

    def ready(self, j: AbstractMessage) -> bool:
        return j.receiver != self.monitor or all(map(int.__le__, self.e[j], self.k))

    def receive(self, j: AbstractMessage) -> None:
        p = j.receiver
        self.f[p] = list(map(max, self.f[p], self.e[j]))
        if p == self.monitor:
            self.f[p][j.sender] += 1
            self.k[j.sender] += 1
