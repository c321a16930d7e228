"""Journals that are put back from an older copy, and copies that run at once: no dot names two things."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from random import Random
from typing import Any

import pytest

from microcosm.replica.network.endpoint import Endpoint
from microcosm.replica.network.keys import GREETING, header_of
from microcosm.replica.network.process import Fence, Process
from microcosm.replica.node import ReplicaNode, serve
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.replica.network.pair import Pair
from tests.replica.nodes import OPTIONS, any_changes, into, meet, ran
from tests.replica.nodes import level as levelled

pytest.importorskip("cryptography")


def copy_of(store: Memory) -> Memory:
    """The files of a journal, copied while it is closed."""
    copy = Memory()
    copy._records, copy._snapshot, copy._last = [*store._records], store._snapshot, store._last
    return copy


async def told(node: ReplicaNode) -> list[dict[str, str]]:
    """What a node says of who diverged, as soon as it does."""
    while not node.divergences():
        await node.changed()
    return node.divergences()


async def met(one: ReplicaNode, other: ReplicaNode, event: str) -> None:
    one.replica.local(event)
    await levelled(one, other)


class Scene:
    """Nodes a and b that have met, and what a was at two moments."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self.stack = stack
        self.stores = {name: Memory() for name in "ab"}
        self.got: dict[str, list[bytes]] = {name: [] for name in "ab"}

    async def start(self, name: str, store: Memory | None = None, **options: Any) -> ReplicaNode:
        return await self.stack.enter_async_context(
            serve(store or self.stores[name], name, on_deliver=into(self.got[name]), **{**OPTIONS, **options})
        )

    async def send(self, one: ReplicaNode, other: ReplicaNode, payload: bytes) -> None:
        one.replica.send(other.replica.name, payload)
        while one.blocked():
            await one.changed()


@pytest.mark.parametrize("who", ["sender", "receiver", "both"])
@pytest.mark.parametrize("starts", [1, 3])
def test_who_is_put_back_is_found_out_before_anything_is_accepted(who: str, starts: int) -> None:
    """Whatever it sent or made meanwhile, both sides say so, and what to do; then all goes on."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            here = Scene(stack)
            a, b = await here.start("a"), await here.start("b")
            meet(a, b)
            await here.send(a, b, b"one")
            await met(b, a, "first")
            addresses = a.address, b.address
            a.close()
            b.close()
            old = {name: copy_of(store) for name, store in here.stores.items()}
            a, b = await here.start("a", address=addresses[0]), await here.start("b", address=addresses[1])
            await here.send(a, b, b"two")
            await here.send(a, b, b"three")
            await met(a, b, "lost")
            a.close()
            b.close()
            for name in {"sender": "a", "receiver": "b", "both": "ab"}[who]:
                here.stores[name] = old[name]
            for name in "ab":
                if here.stores[name] is old[name]:
                    for _ in range(starts - 1):
                        async with serve(here.stores[name], name, **OPTIONS) as away:
                            away.replica.local(f"{name} away {_}")
            here.got["b"].clear()
            a, b = await here.start("a", address=addresses[0]), await here.start("b", address=addresses[1])
            if who == "both":  # both are as they were together: nothing contradicts, and nothing is lost
                await here.send(a, b, b"four")
                assert here.got["b"] == [b"four"]
                await levelled(a, b)
                return
            a.replica.send("b", b"four")
            mine, theirs = (a, b) if who == "sender" else (b, a)
            assert "`replica renew` this journal" in (await told(mine))[0]["why"]
            assert "its journal is an older copy" in (await told(theirs))[0]["why"]
            assert (a.health, b.health) == ("diverged", "diverged")
            assert here.got["b"] == []
            name, at = mine.replica.name, mine.address
            mine.close()
            replica = Replica(here.stores[name])
            replica.renew()
            assert replica.divergences == []
            theirs.evict(name)
            theirs.add_member(name, at)
            mine = await here.start(name, address=at)
            a, b = (mine, theirs) if who == "sender" else (theirs, mine)
            await here.send(a, b, b"five")
            assert here.got["b"][-1:] == [b"five"]
            await levelled(a, b)
            assert (a.health, b.health) == ("ok", "ok")

    ran(scene())


def test_who_replaces_a_member_has_not_settled_what_it_forgot_itself() -> None:
    """Who evicts a member that says so does not believe it."""
    replica = Replica(Memory(), "a")
    for mine in (True, False):
        replica.note_divergence("b", "it is older", mine)
    replica.settle_divergences("b", mine=False)
    assert replica.divergences == [{"member": "b", "why": "it is older", "mine": True}]
    replica.settle_divergences("b")
    assert replica.divergences == []


def test_clones_that_run_at_once_are_both_told() -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            here = Scene(stack)
            a, b = await here.start("a"), await here.start("b")
            meet(a, b)
            await met(a, b, "first")
            address = a.address
            a.close()
            clone = copy_of(here.stores["a"])
            a = await here.start("a", address=address)
            await met(a, b, "second")
            other = await here.start("a", clone)
            other.replica.local("of the clone")
            assert "another process runs one" in (await told(other))[0]["why"]
            assert "or runs twice" in (await told(b))[0]["why"]
            await here.send(a, b, b"still")
            assert here.got["b"] == [b"still"]

    ran(scene())


def test_a_clone_that_has_started_less_often_is_told_and_so_is_its_peer() -> None:
    """Beside a session with the one that has started more often, which goes on."""

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            here = Scene(stack)
            a, b = await here.start("a"), await here.start("b")
            meet(a, b)
            await met(a, b, "first")
            address = a.address
            a.close()
            clone = copy_of(here.stores["a"])
            for event in ("second", "third", "fourth"):
                a = await here.start("a", address=address)
                await met(a, b, event)
                if event != "fourth":
                    a.close()
            other = await here.start("a", clone)
            assert "it has started 4 times, and knows of 2" in (await told(other))[0]["why"]
            assert "or runs twice" in (await told(b))[0]["why"]
            assert (other.health, b.health) == ("diverged", "diverged")
            await here.send(a, b, b"still")
            assert here.got["b"] == [b"still"]
            assert not a.divergences()

    ran(scene())


def renewed(pair: Pair) -> Endpoint:
    """a goes on as incarnation 2, and b is told so."""
    pair.ends["a"].durable.renewed(2)
    pair.ends["b"].evict("a", pair.now)
    pair.ends["b"].add_member("a", ("a", 1), pair.now)
    return pair.open("a", 2)


@pytest.mark.parametrize("starts", [0, 1, 3, 5])
def test_who_is_renewed_still_knows_how_often_the_others_have_started(starts: int) -> None:
    """Also of one that was put back, and has started more often since than is remembered of it."""
    pair = Pair(names="ab")
    pair.settle()
    old = copy_of(pair.stores["b"])
    for _ in range(3):
        pair.ends["b"] = pair.open("b", 1)
        pair.settle()
    if starts:
        pair.stores["b"] = old
    for _ in range(starts):
        pair.ends["b"] = pair.open("b", 1)  # and nothing comes of it
    pair.ends["a"] = renewed(pair)
    pair.settle()
    found = [end.diverged() for end in pair.ends.values()]
    if starts:
        assert [[name, mine] for [(name, _, mine)] in found] == [["b", False], ["a", True]]
        why = (
            "it has started 4 times, and knows of 2"
            if starts == 1
            else "its start 4 was that of another copy"
        )
        assert why in found[1][0][1]
    else:
        assert found == [[], []]
        pair.goes_on()
        pair.goes_on("b", "a")


def test_who_is_renewed_meets_a_member_that_is_another_one_since() -> None:
    """What is remembered of the starts of the one before says nothing of it; and it stays a member."""
    pair = Pair(names="ab")
    pair.settle()
    for _ in range(3):
        pair.ends["b"] = pair.open("b", 1)
        pair.settle()
    pair.stores["b"] = Memory()
    pair.ends["b"] = pair.open("b", 2)
    pair.ends["b"].add_member("a", ("a", 1), pair.now)
    pair.ends["a"] = renewed(pair)
    pair.settle()
    assert [end.diverged() for end in pair.ends.values()] == [[], []]
    assert Fence("b", 1) in pair.ends["a"].durable.process.membership.fences
    pair.goes_on()
    fresh = pair.ends["a"].durable.renewed(3)
    assert [*fresh.process.membership.named] == ["b"]


def test_who_is_renewed_keeps_members_of_whom_an_earlier_incarnation_was_given_up() -> None:
    pair = Pair(names="ab")
    pair.settle()
    pair.ends["a"].evict("b", pair.now)
    pair.ends["a"].add_member("b", ("b", 1), pair.now)
    fresh = pair.ends["a"].durable.renewed(2)
    assert [*fresh.process.membership.named] == ["b"]
    assert [*fresh.process.membership.fences] == [Fence("b", 1)]
    assert fresh.process.state() == Process.restored(fresh.process.state()).state()


@pytest.mark.parametrize("starts", [1, 2])
def test_what_was_delivered_is_told_before_a_newer_start_is_learnt(starts: int) -> None:
    """Else it would seem to be of the new start, in which others were sent as many messages meanwhile."""
    pair = Pair()
    pair.settle()
    old = copy_of(pair.stores["b"])
    pair.goes_on("b", "a")
    pair.stores["b"] = old
    for _ in range(starts):
        pair.ends["b"] = pair.open("b", 1)
        for _ in range(3):
            pair.ends["b"].durable.send(["c"], b"to another")
            pair.out("b")
    pair.ends["a"] = pair.open("a", 1)
    pair.settle()
    assert [(name, mine) for name, _, mine in pair.ends["a"].diverged()] == [("b", False)]
    [(name, why, mine)] = pair.ends["b"].diverged()
    assert (name, mine) == ("a", True)
    assert "its message 1 was delivered, which it has" in why


def test_a_message_that_was_delivered_and_went_to_others_is_found_out_whatever_the_start() -> None:
    pair = Pair()
    pair.settle()
    pair.goes_on("a", "c")
    pair.goes_on("a", "b")
    process, number = (
        pair.ends["a"].durable.process,
        pair.ends["a"].durable.process.membership.named["b"].number,
    )
    known = pair.ends["b"].durable.process.memory_of(1, 1)
    assert (known.delivered, process.contradicts(number, known)) == (2, None)
    assert "has sent to others" in str(process.contradicts(process.membership.named["c"].number, known))
    assert "which it has not sent" in str(process.contradicts(number, known._replace(delivered=3)))
    pair.ends["a"].durable.send(["b"], b"more")
    assert process.contradicts(number, known._replace(delivered=3)) is None


def test_who_is_not_answered_greets_again() -> None:
    """It may be a copy, to which nobody speaks, for they speak to the other one."""
    pair = Pair(names="ab")
    pair.settle()
    a, greeted = pair.ends["a"], list[float]()
    heard = a._peers[1].heard_at or 0.0
    for _ in range(16):
        pair.now += 0.5
        a.say("b", b"a piece")
        a.poll(pair.now)
        headers = [header_of(packet) for _, packet in pair.out("a")]
        greeted += [pair.now - heard for header in headers if header and header.kind == GREETING]
    assert 5.0 <= greeted[0] < 6.0


def test_an_ordinary_restart_is_no_divergence() -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            here = Scene(stack)
            a, b = await here.start("a"), await here.start("b")
            meet(a, b)
            addresses = {"a": a.address, "b": b.address}
            nodes = {"a": a, "b": b}
            for n in range(6):
                one, other = ("a", "b") if n % 2 else ("b", "a")
                nodes[one].replica.send(other, b"%d" % n)  # perhaps acknowledged, perhaps not
                await asyncio.sleep(0.02 * (n % 3))
                nodes[one].close()
                nodes[one] = await here.start(one, address=addresses[one])
            await met(nodes["a"], nodes["b"], "last")
            while len(here.got["a"]) + len(here.got["b"]) < 6:
                await any_changes(*nodes.values())
            assert not nodes["a"].divergences()
            assert not nodes["b"].divergences()

    ran(scene())


@pytest.mark.parametrize("seed", range(6))
def test_journals_put_back_at_any_time_and_written_again(seed: int) -> None:
    """Without a network that would know of starts: what stands under a dot decides; both agree in the end."""
    random = Random(seed)
    stores = {name: Memory() for name in "ab"}
    replicas = {name: Replica(store, name, members=("a", "b")) for name, store in stores.items()}
    backups = {name: copy_of(store) for name, store in stores.items()}
    known: dict[str, frozenset[str]] = dict.fromkeys("ab", frozenset())
    saved = dict(known)
    for n in range(150):
        name = random.choice("ab")
        one, other = replicas[name], replicas["a" if name == "b" else "b"]
        match random.randrange(8):
            case 0 | 1 | 2:
                one.local(f"{name}{n}")
                known[name] |= {f"{name}{n}"}
            case 3:
                one.learn(f"x{n} < y{n}")
            case 4 | 5:
                level(one, other)
                known = dict.fromkeys("ab", known["a"] | known["b"])
            case 6 if n % 3 == 0:
                backups[name], saved[name] = copy_of(stores[name]), known[name]
            case 7 if n % 5 == 0:
                stores[name] = copy_of(backups[name])
                replicas[name], known[name] = Replica(stores[name]), saved[name]
    a, b = replicas.values()
    for _ in range(3):
        level(a, b)
    assert a.digest() == b.digest()
    assert known["a"] | known["b"] == {event for event in a.events if event[0] in "ab"}
    assert a.twice == []
    for name, store in stores.items():
        assert Replica(store).digest() == replicas[name].digest()
