"""A computation: the events of each peer in order, and which reception answers which send.

Orderings Beyond Causality, Definition 2, with one thing beyond it: a message may have several receivers
(multicast). Events, peers and messages are numbers; their names are kept for reports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from microcosm.errors import MicrocosmError


class NoComputation(MicrocosmError):
    """What was given is no computation: what is wrong, in words."""


@dataclass(frozen=True, slots=True)
class Computation:
    """Events 0 … n-1, messages 0 … k-1. Sends without a reception are part of it; internal events are not.

    `chains[p]` are the events of peer p in order, numbered one after the other; `peer[e]`, `index[e]`
    and `message[e]` are an event's peer, its place in the chain and its message. `send[m]`
    is the event that sends m and `receptions[m]` are those that receive it, at most one a peer
    and none at the sender.
    """

    peers: tuple[str, ...]
    messages: tuple[str, ...]
    names: tuple[str, ...]
    chains: list[list[int]]
    peer: list[int]
    index: list[int]
    message: list[int]
    send: list[int]
    receptions: list[list[int]]

    def __len__(self) -> int:
        return len(self.peer)

    @property
    def multicast(self) -> bool:
        """Whether a message has several receptions."""
        return any(len(receptions) > 1 for receptions in self.receptions)

    def sends(self, event: int) -> bool:
        """Whether an event is a send. Cost: constant."""
        return self.send[self.message[event]] == event

    def successors(self, event: int) -> list[int]:
        """The next event of the peer and, of a send, its receptions: what generates the causal order.

        Cost: linear in them.
        """
        after = event + 1
        found = [after] if after < len(self.index) and self.index[after] else []
        return found + self.receptions[self.message[event]] if self.sends(event) else found

    def future(self, event: int) -> set[int]:
        """The events strictly after this one causally. Cost: linear in them."""
        found: set[int] = set()
        waiting = self.successors(event)
        while waiting:
            reached = waiting.pop()
            if reached not in found:
                found.add(reached)
                waiting += self.successors(reached)
        return found

    def restrict(self, messages: Iterable[int]) -> Computation:
        """The computation of some messages only: all events of the others are left out.

        Messages and peers keep their order, and peers without events are dropped. Cost: that of
        sorting what is kept.
        """
        kept = sorted(set(messages))
        number = {m: at for at, m in enumerate(kept)}
        parts: dict[int, list[int]] = {}
        for m in kept:
            for event in (self.send[m], *self.receptions[m]):
                parts.setdefault(self.peer[event], []).append(event)
        old = [event for p in sorted(parts) for event in sorted(parts[p])]
        new = {event: at for at, event in enumerate(old)}
        chains = [[new[event] for event in sorted(parts[p])] for p in sorted(parts)]
        return Computation(
            tuple(self.peers[p] for p in sorted(parts)),
            tuple(self.messages[m] for m in kept),
            tuple(self.names[event] for event in old),
            chains,
            [p for p, chain in enumerate(chains) for _ in chain],
            [at for chain in chains for at in range(len(chain))],
            [number[self.message[event]] for event in old],
            [new[self.send[m]] for m in kept],
            [[new[event] for event in self.receptions[m]] for m in kept],
        )

    def __str__(self) -> str:
        """The notation of the tests, peers apart by bars.

        >>> str(parse("s1 r2|s2 r1"))
        's1 r2|s2 r1'
        """
        return "|".join(
            " ".join(("s" if self.sends(e) else "r") + self.messages[self.message[e]] for e in chain)
            for chain in self.chains
        )


def build(
    events: Mapping[str, Sequence[tuple[str, str]]],
    names: Mapping[str, Sequence[str]] | None = None,
    acyclic: bool = False,
) -> Computation:
    """The computation of each peer's `("send" | "receive", message)` in order.

    `names` are those of the events, `peer:position` where they are not given; `acyclic` says that no message
    is received before it is sent. Raises `NoComputation` for a message sent twice, received twice by a peer,
    never sent, sent to its own sender, and for a cycle. Cost: linear.
    """
    chains: list[list[int]] = []
    peer: list[int] = []
    index: list[int] = []
    message: list[int] = []
    are_sends: list[bool] = []
    labels: list[str] = []
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    for p, (process, chain) in enumerate(events.items()):
        first, many = len(peer), len(chain)
        chains.append([*range(first, first + many)])
        peer += [p] * many
        index += range(many)
        message += [numbers[name] for _, name in chain]
        are_sends += [kind == "send" for kind, _ in chain]
        labels += [f"{process}:{at}" for at in range(1, many + 1)] if names is None else names[process]
    send = [-1] * len(numbers)
    receptions: list[list[int]] = [[] for _ in numbers]
    messages = (*numbers,)
    for event, (m, is_send) in enumerate(zip(message, are_sends, strict=True)):
        if not is_send:
            receptions[m].append(event)
        elif send[m] >= 0:
            raise NoComputation(f"message {messages[m]} is sent twice")
        else:
            send[m] = event
    for name, sent, received in zip(messages, send, receptions, strict=True):
        receivers = {peer[event] for event in received}
        if sent < 0:
            raise NoComputation(f"message {name} is received and never sent")
        if peer[sent] in receivers:
            raise NoComputation(f"message {name} is sent to its own sender")
        if len(receivers) < len(received):
            raise NoComputation(f"message {name} is received twice by one peer")
    found = Computation(
        tuple(events), messages, tuple(labels), chains, peer, index, message, send, receptions
    )
    if not acyclic and linear_extension(found) is None:
        raise NoComputation("a message is received before it is sent")
    return found


def parse(text: str) -> Computation:
    """A computation in the notation of the tests: `s1 r2|s2 r1`, one part a peer (p1, p2, …).

    Cost: linear in the text. Raises as `build` does.

    >>> parse("s1|r1").receptions
    [[1]]
    """
    peers = [part.split() for part in text.split("|")]
    return build(
        {
            f"p{at}": [("send" if word[0] == "s" else "receive", word[1:]) for word in words]
            for at, words in enumerate(peers, 1)
        }
    )


def linear_extension(
    computation: Computation, extra: Mapping[int, Sequence[int]] | None = None, beyond: int = 0
) -> list[int] | None:
    """The events in an order that extends the causal one and `extra` edges, or None where there is a cycle.

    Nodes n … n + `beyond` - 1 may stand in `extra` and are left out of the result. Cost: linear.

    >>> linear_extension(parse("s1 r2|s2 r1"), {2: [0]})
    [2, 0, 1, 3]
    """
    return sort(computation, extra or {}, beyond)[0]


def predecessors(computation: Computation, extra: Mapping[int, Sequence[int]], beyond: int = 0) -> list[int]:
    """How many predecessors each event has, and each of the nodes `beyond` the events. Cost: linear."""
    waiting = [1] * len(computation) + [0] * beyond
    for chain in computation.chains:
        if chain:
            waiting[chain[0]] = 0
    for receptions in computation.receptions:
        for event in receptions:
            waiting[event] += 1
    for targets in extra.values():
        for target in targets:
            waiting[target] += 1
    return waiting


def sort(
    computation: Computation, extra: Mapping[int, Sequence[int]], beyond: int = 0
) -> tuple[list[int] | None, list[int]]:
    """The order, or None; and how many predecessors of each node remain unplaced (Kahn). Cost: linear.

    What was made ready last is placed next, so that an execution stays with a process while it can. The edges
    of the computation are read off its chains and messages; only those of `extra` are made.
    """
    count = len(computation)
    waiting = predecessors(computation, extra, beyond)
    order: list[int] = []
    message, send, receptions_of = computation.message, computation.send, computation.receptions
    index = [*computation.index, 0]
    ready = [node for node in range(count + beyond - 1, -1, -1) if not waiting[node]]
    nothing: tuple[int, ...] = ()
    placed = 0
    while ready:
        node = ready.pop()
        placed += 1
        if node < count:
            order.append(node)
            if send[message[node]] == node:
                for target in receptions_of[message[node]]:
                    waiting[target] -= 1
                    if not waiting[target]:
                        ready.append(target)
            target = node + 1
            if index[target]:
                waiting[target] -= 1
                if not waiting[target]:
                    ready.append(target)
        for target in extra.get(node, nothing):
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return (order if placed == count + beyond else None), waiting
