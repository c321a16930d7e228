"""Every interleaving of a few messages, an eviction and a few restarts, between three durable processes.

A step is an input of one process and the flush after it. Between steps any packet may come next, or be lost
for good by a restart of its receiver; a restart forgets all that was not committed. Whoever fences the
evicted process tells the others, as endpoints do. In every state that can be reached no message may be
delivered after one that it happened before, nor twice; where nothing is on the way any more, a few rounds of
repeating everything must bring whatever is missing between processes that were not evicted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgpack

from microcosm.replica.network.durable import Durable
from microcosm.replica.network.process import DeliveredMessage, Fence, Process
from microcosm.replica.store import Memory
from tests.replica.invariants import check

NAMES = "abc"
EVICTED = 0
FENCE = Fence(NAMES[EVICTED], 1)
ROUNDS = 8

Script = tuple[tuple[int, int], ...]


class Kept(NamedTuple):
    """A process: its committed state, the inputs since, and whom it holds something back from."""

    state: bytes
    pending: tuple[Any, ...]
    withheld: frozenset[int]


class App(NamedTuple):
    """What an application knows, as bits of messages: its causal past, and what was delivered to it."""

    past: int = 0
    done: int = 0


class World(NamedTuple):
    nodes: tuple[Kept, ...]
    apps: tuple[App, ...]
    safe: tuple[App, ...]
    """What the applications would remember after a restart."""
    transit: frozenset[tuple[int, int, Any]]
    sends: tuple[tuple[int, int, int], ...]
    """Sender, receiver and causal past of each message."""
    restarts: int
    evicted: bool


class Done(NamedTuple):
    """What a step of one process did."""

    node: Kept
    sends: tuple[tuple[int, Any], ...]
    delivered: tuple[int, ...]
    committed: bool


class Counting(Memory):
    commits = 0

    def commit(self, records: Any) -> int:
        self.commits += 1
        return super().commit(records)


def number(i: int, j: int) -> int:
    """By which number process i knows process j: members were added in order."""
    return j + 1 if j < i else j


def process(i: int, num: int) -> int:
    return num - 1 if num - 1 < i else num


def beginning(i: int) -> Kept:
    """A process that has met all others."""
    one = Process(NAMES[i], 1)
    for j, name in enumerate(NAMES):
        if j != i:
            one.apply((4, name, "", 0))
            one.apply((5, number(i, j), 1))
    return Kept(msgpack.packb(one.state()), (), frozenset())


@cache
def stepped(i: int, node: Kept, kind: str, peer: int, what: Any) -> Done:
    """An input of process i, and the flush after it. Raises `AssertionError` where an invariant breaks."""
    store, letters = Counting(), list[DeliveredMessage]()
    restored = Process.restored(msgpack.unpackb(node.state, use_list=False))
    durable = Durable(restored, store, letters.append)
    if kind != "restart":
        for step in node.pending:
            durable._pending.append(step)
            restored.apply(step)
        durable._withheld = set(node.withheld)
    extra: list[tuple[int, Any]] = []
    members = restored.membership.members
    if kind == "send":
        if number(i, peer) in members:
            durable.send([NAMES[peer]], bytes([what]))
    elif kind == "packet" and isinstance(what, Fence):
        durable.fence(what)
        durable.confirmed(number(i, peer), what)
        extra.append((peer, ("kept", what)))
    elif kind == "packet" and isinstance(what, tuple):
        durable.confirmed(number(i, peer), what[1])
    elif kind == "packet":
        durable.receive(number(i, peer), what)
    elif kind == "evict":
        durable.evict(NAMES[EVICTED])
    elif kind in ("repeat", "restart"):
        for num in members:
            durable.repeat(num)
    sends = [(process(i, send.to), send.packet) for send in durable.flush()]
    for num in members:
        extra += [(process(i, num), fence) for fence in restored.membership.unconfirmed(num)]
    check(restored)
    committed = store.commits > 0 and not durable._pending
    state = msgpack.packb(restored.state()) if committed else node.state
    after = Kept(state, tuple(durable._pending), frozenset(durable._withheld))
    return Done(after, (*sends, *extra), tuple(letter.payload[0] for letter in letters), committed)


class Explorer:
    """A breadth-first search. `messages`: how many, from anybody to anybody, or for each its sender and
    receiver, sent in this order. The number of restarts, and whether there is an eviction, bound it further.
    """

    def __init__(self, messages: int | Script, restarts: int, evict: bool, most: int = 300_000) -> None:
        self.script = None if isinstance(messages, int) else messages
        self.messages = messages if isinstance(messages, int) else len(messages)
        self.restarts, self.evict, self.most = restarts, evict, most
        self.origin: dict[World, tuple[World, str] | None] = {}

    def run(self) -> str | None:
        """The first fault, with the steps to it; None where there is none. `origin` has all states then."""
        none = (App(),) * len(NAMES)
        nodes = tuple(map(beginning, range(len(NAMES))))
        start = World(nodes, none, none, frozenset(), (), self.restarts, not self.evict)
        self.origin = {start: None}
        queue = deque([start])
        while queue:
            world = queue.popleft()
            if not world.transit and (missing := self.missing(world)):
                return f"{missing}\n{self.story(world)}"
            for what, i, kind, peer, value in self.steps(world):
                try:
                    following = self.after(world, i, kind, peer, value)
                except AssertionError as error:
                    return f"{error or 'an invariant is broken'}\n{self.story(world)}\n{what}"
                if following not in self.origin:
                    self.origin[following] = (world, what)
                    queue.append(following)
            assert len(self.origin) <= self.most, "too much to explore"
        return None

    def steps(self, world: World) -> Iterator[tuple[str, int, str, int, Any]]:
        everyone = range(len(NAMES))
        if len(world.sends) < self.messages:
            for i in everyone:
                for j in everyone:
                    if i != j and (self.script is None or self.script[len(world.sends)] == (i, j)):
                        yield f"{NAMES[i]} sends to {NAMES[j]}", i, "send", j, len(world.sends)
        for i, j, packet in world.transit:
            yield f"{NAMES[j]} takes {packet} of {NAMES[i]}", j, "packet", i, packet
        if world.restarts:
            for i in everyone:
                yield f"{NAMES[i]} restarts", i, "restart", -1, None
        if not world.evicted:
            for i in everyone:
                if i != EVICTED:
                    yield f"{NAMES[i]} evicts {NAMES[EVICTED]}", i, "evict", -1, None

    def after(self, world: World, i: int, kind: str, peer: int, value: Any) -> World:
        done = stepped(i, world.nodes[i], kind, peer, value)
        apps, safe, sends = list(world.apps), list(world.safe), world.sends
        app = safe[i] if kind == "restart" else apps[i]
        if kind == "send":
            sends = (*sends, (i, peer, app.past))
            app = app._replace(past=app.past | 1 << value)
        for message in done.delivered:
            _, receiver, past = sends[message]
            assert receiver == i, "delivered to the wrong process"
            assert not app.done >> message & 1, f"message {message + 1} is delivered twice"
            for other, (_, _, before) in enumerate(sends):
                late = app.done >> other & 1 and before >> message & 1
                assert not late, f"message {message + 1} is delivered at {NAMES[i]} after {other + 1}"
            app = App(app.past | past | 1 << message, app.done | 1 << message)
        apps[i] = app
        if done.committed or kind == "restart":
            safe[i] = app
        transit = set(world.transit)
        if kind == "packet":
            transit.discard((peer, i, value))
        transit.update((i, to, packet) for to, packet in done.sends)
        return World(
            (*world.nodes[:i], done.node, *world.nodes[i + 1 :]),
            *(tuple(apps), tuple(safe), frozenset(transit), sends),
            *(world.restarts - (kind == "restart"), world.evicted or kind == "evict"),
        )

    def missing(self, world: World) -> str | None:
        """What is never delivered, however often everything is repeated."""
        gone = {EVICTED} if self.evict and world.evicted else set()
        for _ in range(ROUNDS):
            if not self.lacking(world, gone):
                return None
            for i in range(len(NAMES)):
                world = self.after(world, i, "repeat", -1, None)
            while world.transit:
                i, j, packet = min(world.transit, key=repr)
                world = self.after(world, j, "packet", i, packet)
        lacking = self.lacking(world, gone)
        return f"message {lacking[0] + 1} is never delivered" if lacking else None

    def lacking(self, world: World, gone: set[int]) -> list[int]:
        return [
            message
            for message, (sender, receiver, _) in enumerate(world.sends)
            if not gone & {sender, receiver} and not world.apps[receiver].done >> message & 1
        ]

    def story(self, world: World) -> str:
        lines = []
        while (origin := self.origin[world]) is not None:
            world, what = origin
            lines.append(what)
        return "\n".join(lines[::-1])


def explored(messages: int | Script, restarts: int, evict: bool) -> tuple[str | None, int]:
    """The first fault, and how many states there are."""
    stepped.cache_clear()
    explorer = Explorer(messages, restarts, evict)
    return explorer.run(), len(explorer.origin)
