"""Programs of two versions side by side: what one of them cannot read it keeps, hands on, and reads later.

A program of version 2 is this one, with every evolution that it makes written as `[2, kind, dot, …, "more"]`.
The oracle reads no evolution by the code under test: it knows the bytes of each, as they were made, and takes
the correspondences that are added and not taken away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from random import Random
from typing import Any
from unittest.mock import patch

import msgpack
import pytest

from microcosm.errors import Contradiction, Malformed, Undefined
from microcosm.replica import exchange
from microcosm.replica import exchange as said
from microcosm.replica.exchange import AntiEntropy
from microcosm.replica.ledger import evolution
from microcosm.replica.ledger.dots import FARTHEST, Dot, DotRun
from microcosm.replica.ledger.evolution import Append, Evolution, NewerEvolution
from microcosm.replica.node import serve
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory
from tests.replica.invariants import check
from tests.replica.nodes import OPTIONS, meet, ran
from tests.replica.test_rollback import copy_of

PLAIN_DECODE, PLAIN_ENCODE = evolution.decode, evolution.encode


class Versions:
    """Which programs run, and the bytes of all that was ever said."""

    def __init__(self) -> None:
        self.contents: dict[Dot, bytes] = {}

    @contextmanager
    def of(self, version: int) -> Iterator[None]:
        """A program of a version runs."""

        def decode(content: bytes) -> Evolution:
            parts = evolution.read(content)
            if version == 2 and type(parts) is tuple and parts[0] == 2:
                if parts[-1] != "more":
                    raise Malformed("not of version 2")
                return PLAIN_DECODE(msgpack.packb([1, *parts[1:-1]]))
            return PLAIN_DECODE(content)

        def encode(said: Evolution) -> bytes:
            if isinstance(said, NewerEvolution):
                return said.content
            if said.dot not in self.contents:
                parts = msgpack.unpackb(PLAIN_ENCODE(said))
                self.contents[said.dot] = msgpack.packb([1, *parts[1:]] if version == 1 else newer(parts))
            return self.contents[said.dot]

        with patch.object(evolution, "decode", decode), patch.object(evolution, "encode", encode):
            yield

    def given(self, dots: set[Dot]) -> set[tuple[str, str, str]]:
        """The correspondences that evolutions come to: added, and not taken away."""
        added: dict[tuple[Any, ...], tuple[str, str, str]] = {}
        gone: set[tuple[Any, ...]] = set()
        for dot in dots:
            _, kind, name, *rest = msgpack.unpackb(self.contents[dot])
            if kind == 1:
                (left, sign, right, _), replaced = rest[:2]
                added[tuple(name)] = (left, sign, right)
                gone |= {tuple(each) for each in replaced}
            elif kind == 2:
                gone |= {tuple(each) for each in rest[0]}
        return {fact for dot, fact in added.items() if dot not in gone}

    def is_newer(self, dot: Dot) -> bool:
        return bool(msgpack.unpackb(self.contents[dot])[0] == 2)


def newer(parts: list[Any]) -> list[Any]:
    return [2, *parts[1:], "more"]


class Party:
    """Replicas whose programs are of different versions."""

    def __init__(self, seed: int, versions: dict[str, int], *, signed: bool) -> None:
        self.random, self.programs, self.versions = Random(seed), Versions(), versions
        self.stores = {name: Memory() for name in versions}
        self.replicas: dict[str, Replica] = {}
        for name in versions:
            self.open(name)
            if signed:
                self.replicas[name].sign()
        self.said = 0

    def open(self, name: str) -> None:
        with self.programs.of(self.versions[name]):
            self.replicas[name] = Replica(self.stores[name], name, members=[*self.versions])

    def meet(self, one: str, other: str) -> None:
        """They exchange until neither says anything more, each by its own program."""
        for begins, answers in ((one, other), (other, one)):
            with self.programs.of(self.versions[begins]):
                waiting = [(answers, begins, each) for each in self.replicas[begins].exchange.begin(answers)]
            while waiting:
                to, sender, message = waiting.pop(0)
                with self.programs.of(self.versions[to]):
                    told = self.replicas[to].exchange.receive(sender, message)
                waiting += [(sender, to, each) for each in told]

    def all_meet(self) -> None:
        for _ in range(3):
            for one in self.replicas:
                for other in self.replicas:
                    if one < other:
                        self.meet(one, other)

    def step(self) -> None:
        random = self.random
        name = random.choice([*self.versions])
        replica = self.replicas[name]
        with self.programs.of(self.versions[name]), suppress(Contradiction, Undefined):
            facts = replica.ledger.given()
            match random.randrange(8):
                case 0:
                    self.said += 1
                    replica.local(f"{name} {self.said}")
                case 1 | 2:
                    left, right = sorted(random.sample("abcdefghijkl", 2))
                    replica.learn(f"{left} {random.choice(['<', '<>'])} {right}")
                case 3 if facts:
                    fact = random.choice(facts)
                    replica.remove(fact)
                case 4 if facts:
                    fact = random.choice(facts)
                    replica.update(f"{fact.left} < {fact.right}")
                case 5 if random.random() < 0.3:
                    replica.compact()
                case 6 if random.random() < 0.3:
                    self.open(name)
        if random.random() < 0.3:
            self.meet(*random.sample([*self.versions], 2))

    def held(self, name: str) -> set[tuple[str, str, str]]:
        return set(self.replicas[name].ledger.facts)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_old_and_new_together_and_then_all_are_new(seed: int, signed: bool) -> None:
    """`old` joins two new ones that never meet; later it is upgraded, and at last another one is."""
    if signed:
        pytest.importorskip("cryptography")
    versions = {"old": 1, "older": 1, "a": 2, "b": 2}
    party = Party(seed, versions, signed=signed)
    for _ in range(80):
        party.step()
    for _ in range(3):
        for name in ("a", "b", "older"):
            party.meet("old", name)
    said_by_new = {dot for dot in party.programs.contents if party.programs.is_newer(dot)}
    everything = party.programs.given({*party.programs.contents})
    readable = party.programs.given({*party.programs.contents} - said_by_new)
    a, b, old = (party.replicas[name] for name in ("a", "b", "old"))
    with party.programs.of(2):
        assert a.digest() == b.digest()
    assert party.held("a") == party.held("b") == everything
    assert said_by_new
    unread = {*old.ledger.newer}
    assert unread <= said_by_new
    assert all(old.held(dot) == NewerEvolution(dot, party.programs.contents[dot]) for dot in unread)
    assert party.held("old") <= readable  # and what it was told to be removed is not given either
    assert old.counts()["unread"] == len(unread)
    assert old.digest() != a.digest() or not unread
    assert not old.exchange.blamed
    for name in ("old", "older"):
        with party.programs.of(1):
            check(party.replicas[name].ledger)
            if party.random.random() < 0.5:
                party.replicas[name].compact()
            party.open(name)
            assert {*party.replicas[name].ledger.newer} >= unread
        party.versions[name] = 2
        party.open(name)  # the new program reads what the old one kept
        assert party.replicas[name].counts()["unread"] == 0
        assert party.held(name) == everything
        with party.programs.of(2):
            assert party.replicas[name].digest() == a.digest()
            check(party.replicas[name].ledger)
    party.all_meet()
    with party.programs.of(2):
        assert len({replica.digest() for replica in party.replicas.values()}) == 1
        for replica in party.replicas.values():
            replica.local(f"after {replica.name}")
    party.all_meet()
    assert len({replica.digest() for replica in party.replicas.values()}) == 1


def content(version: int, dot: Dot, event: str = "upload") -> bytes:
    parts = [version, 0, list(dot), event, None]
    return msgpack.packb(parts if version == 1 else newer(parts))  # type: ignore[no-any-return]


def test_what_is_wrong_with_it_is_found_when_it_is_read() -> None:
    """A name that only a message has, and a number far beyond, stay unread by the program that reads them."""
    programs, store = Versions(), Memory()
    replica = Replica(store, "phone", incarnation=1)
    bad = [content(2, Dot("laptop", 1, 1), "d:phone:laptop.1.1"), content(2, Dot("laptop", 1, FARTHEST + 9))]
    good = content(2, Dot("laptop", 1, 2))
    replica.exchange.receive("laptop", said.encode(said.Supply((*bad, good))))
    assert replica.counts()["unread"] == 2  # the number is seen to be too far without reading more
    for way in ("records", "snapshot"):
        copy = copy_of(store)
        with programs.of(2):
            if way == "snapshot":
                with programs.of(1):
                    Replica(copy).compact()
            upgraded = Replica(copy)
            assert upgraded.events == ["upload"], way
            assert upgraded.counts()["unread"] == 1
            check(upgraded.ledger)


def test_there_is_a_bound_to_what_is_kept_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond is not taken, blamed on nobody, asked for again, and had by a program that reads it."""
    monkeypatch.setattr(exchange, "MOST_NEWER", 2000)
    replica = Replica(Memory(), "phone", incarnation=1)
    supplies = [said.Supply((content(2, Dot("laptop", 1, n), f"e{n}"),)) for n in range(1, 100)]
    for supply in supplies:
        replica.exchange.receive("laptop", said.encode(supply))
    kept = replica.counts()["unread"]
    assert 2 < kept < 10
    assert list(replica.seen()) == [DotRun("laptop", 1, 1, kept + 1)]
    assert (list(replica.exchange.newer), [*replica.exchange.blamed]) == (["laptop"], [])
    with Versions().of(2):
        for supply in supplies:
            replica.exchange.receive("laptop", said.encode(supply))
        assert len(replica.events) == 99 - kept
        assert len(Replica(replica.store).events) == 99


def test_what_has_no_dot_in_its_place_is_not_kept() -> None:
    replica = Replica(Memory(), "phone", incarnation=1)
    without = msgpack.packb([2, "kind", ["laptop", 1, 1]]), msgpack.packb([2, 0])
    replica.exchange.receive("laptop", said.encode(said.Supply(without)))
    assert (replica.counts()["seen"], list(replica.exchange.newer)) == (0, ["laptop"])


def test_exchanges_are_of_the_newest_version_that_both_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three programs one reads versions 2 and 3, one 2 alone, one 3 alone."""
    pytest.importorskip("cryptography")
    heard: dict[tuple[str, str], set[int]] = {}

    def receive(exchange: AntiEntropy, peer: str, content: bytes) -> list[bytes]:
        heard.setdefault((peer, exchange._side.stream[0]), set()).add(content[1])
        return plain(exchange, peer, content)

    plain = AntiEntropy.receive
    monkeypatch.setattr(AntiEntropy, "receive", receive)

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            nodes = []
            for name, versions in (("both", (2, 3)), ("old", (2,)), ("new", (3,))):
                monkeypatch.setattr(said, "VERSIONS", versions)
                nodes.append(await stack.enter_async_context(serve(Memory(), name, **OPTIONS)))
            both, old, new = nodes
            monkeypatch.setattr(said, "VERSIONS", (2, 3))
            meet(old, new)
            old.replica.local("x")
            message = old.replica.send("new", b"messages go on")
            await new.until(lambda replica: replica.happened(f"d:new:{message}"))
            while not (old.replica.exchange.newer and new.replica.exchange.newer):
                await asyncio.sleep(0.02)
            assert "x" not in new.replica.events
            assert (old.metrics()["newer"], heard) == (
                {"new": "exchanges of no version that this program reads"},
                {},
            )
            meet(both, old)
            meet(both, new)
            await new.until(lambda replica: "x" in replica.events)
            assert heard[("old", "both")] == heard[("both", "old")] == {2}
            assert heard[("new", "both")] == heard[("both", "new")] == {3}
            assert ("old", "new") not in heard

    ran(scene())


def test_it_is_not_displaced_and_displaces_nothing() -> None:
    replica = Replica(Memory(), "phone", incarnation=1)
    replica.forgetting = type(replica.forgetting)(size=20)
    supply = said.Supply(tuple(content(2, Dot("laptop", 1, n), f"e{n}") for n in range(1, 100)))
    replica.exchange.receive("laptop", said.encode(supply))
    for n in range(20):
        replica.local(f"own {n}")
    assert replica.tidy() == 0
    assert replica.counts()["unread"] == 99
    assert replica.held(Dot("phone", 1, 1)) == Append(Dot("phone", 1, 1), "own 0")
