"""A replica on the network: members that come, go, come back as others, or were never there."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from microcosm.errors import ReplicaError
from microcosm.replica.network.process import Fence
from microcosm.replica.network.write_ahead import STATE, remembered
from microcosm.replica.node import serve
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory
from tests.replica.nodes import OPTIONS, Remembering, level, meet, ran

pytest.importorskip("cryptography")


def test_at_every_commit_a_replica_states_the_members_of_its_network() -> None:
    """Added, evicted, heard of as evicted, or given up before they were met: in one commit with the rest."""

    async def scene() -> None:
        stores = {name: Remembering() for name in "abc"}
        async with AsyncExitStack() as stack:
            a, b, c = [
                await stack.enter_async_context(serve(store, name, **OPTIONS))
                for name, store in stores.items()
            ]
            for one, other in ((a, b), (b, c), (c, a)):
                meet(one, other)
                one.replica.local(f"met {other.replica.name}")
                await level(one, other)
            a.add_member("never met", ("127.0.0.1", 9))
            a.evict("never met")
            c.close()
            a.evict("c")
            await b.until(lambda replica: replica.members == ("a", "b"))
            assert a.replica.members == ("a", "b")
        seen = set()
        for name, store in stores.items():
            for count in range(2, len(store.commits) + 1):
                replica = Replica(store.after(count))
                process = remembered(replica.network, replica.noted(STATE))
                named = {member.name for member in process.members} if process is not None else set()
                assert {*replica.members} - {name} == named
                seen.add((name, len(named)))
        assert {("a", 3), ("a", 1), ("b", 2), ("b", 1)} <= seen

    ran(scene())


def test_members_that_a_crash_left_behind_are_put_right() -> None:
    """As when an older program stopped between the commit of an eviction and that of the members."""

    async def scene() -> None:
        store = Memory()
        async with serve(store, "a", **OPTIONS) as a, serve(Memory(), "b", **OPTIONS) as b:
            meet(a, b)
            a.replica.local("met")
            await level(a, b)
            a.evict("b")
        older = Replica(store)
        older._begin(replace(older.identity, members=("a", "b", "by hand")))
        async with serve(store, **OPTIONS) as a:
            assert a.replica.members == ("a", "by hand")

    ran(scene())


def test_a_copy_of_a_peer_begins_anew_when_it_hears_of_it() -> None:
    async def scene() -> None:
        store = Memory()
        Replica(store, "b", incarnation=7).local("first")
        copy = Memory()
        copy.commit([(record.kind, record.payload) for record in store.records()])
        async with serve(store, "b", **OPTIONS) as one, serve(Memory(), "a", **OPTIONS) as a:
            with pytest.raises(ReplicaError, match="is this replica itself"):
                a.add_member("a", one.address)
            assert a.fault is None
            meet(a, one)
            one.replica.local("second")
            await level(a, one)
            where = one.address
            one.close()
            for _ in range(2):  # it has started more often than the one that it is a copy of
                async with serve(copy, "b", **OPTIONS):
                    pass
            async with serve(copy, "b", address=where, **OPTIONS) as other:
                other.add_member("a", a.address)
                await other.until(lambda replica: replica.divergences)
                assert other.health == "diverged"
                assert other.replica.stream != ("b", 7)
                await a.until(lambda replica: replica.divergences)
                assert "runs twice" in a.divergences()[0]["why"]
                other.replica.local("third")
            assert (a.fault, other.fault) == (None, None)

    ran(scene())


def test_a_new_incarnation_comes_in_after_the_old_one_is_evicted() -> None:
    async def scene() -> None:
        store = Memory()
        async with serve(Memory(), "a", **OPTIONS) as a:
            async with serve(store, "b", **OPTIONS) as b:
                where = b.address
                meet(a, b)
                b.replica.local("old")
                await level(a, b)
            Replica(store).renew()
            async with serve(store, address=where, **OPTIONS) as b:
                while a.metrics()["members"]["b"]["stranger"] != b.replica.stream[1]:
                    await asyncio.sleep(0.01)  # nothing is committed for a stranger
                a.evict("b")
                assert a.replica.members == ("a",)
                a.add_member("b", where)
                b.replica.local("new")
                await level(a, b)
                assert a.replica.events == ["new", "old"]

    ran(scene())


def test_an_eviction_by_who_has_not_met_the_evicted_is_followed() -> None:
    async def scene() -> None:
        names = ("a", "b", "c")
        async with AsyncExitStack() as stack:
            a, b, c = [await stack.enter_async_context(serve(Memory(), name, **OPTIONS)) for name in names]
            meet(a, b)
            a.replica.local("said")
            await level(a, b)
            where = a.address
            a.close()
            meet(b, c)
            await level(b, c)
            c.add_member("a", where)
            c.evict("a")
            await b.until(lambda replica: replica.members == ("b", "c"))
            message = c.replica.send("b", b"and go on")
            await b.until(lambda replica: replica.happened(f"d:b:{message}"))

    ran(scene())


def test_who_lets_in_what_another_has_evicted_agrees_with_it_again() -> None:
    async def scene() -> None:
        async with serve(Memory(), "a", **OPTIONS) as a, serve(Memory(), "b", **OPTIONS) as b:
            meet(a, b)
            await level(a, b)
            b.add_member("c", ("127.0.0.1", 9))
            b._carrier.durable.bind(b._carrier.durable.process.membership.of("c").number, 7)
            b.replica.note_divergence("c", "c does not remember", mine=False)
            a._carrier.durable.fence(Fence("c", 7))
            a.transport.flush()
            await b.until(lambda replica: "c" in b.gone())
            assert b.health == "diverged"
            b.replace("c")
            assert b.health == "ok"

    ran(scene())


def test_who_waits_at_an_evicted_node_is_told() -> None:
    """It waited for ever."""

    async def scene() -> None:
        async with serve(Memory(), "a", **OPTIONS) as a, serve(Memory(), "b", **OPTIONS) as b:
            meet(a, b)
            a.replica.local("said")
            await level(a, b)
            waiting = asyncio.ensure_future(b.until(lambda replica: replica.happened("never")))
            await asyncio.sleep(0)
            a.evict("b")
            with pytest.raises(ReplicaError, match="evicted"):
                await waiting
            await b.stopped()

    ran(scene())


def test_an_eviction_is_heard_of_and_followed() -> None:
    async def scene() -> None:
        names = ("a", "b", "c")
        async with AsyncExitStack() as stack:
            a, b, c = [await stack.enter_async_context(serve(Memory(), name, **OPTIONS)) for name in names]
            for one, other in ((a, b), (b, c), (c, a)):
                meet(one, other)
                one.replica.local(f"met {other.replica.name}")
                await level(one, other)
            met = c._carrier.durable.process.membership.of("a")  # not only heard of, by way of `b`
            await c.until(lambda replica: met.incarnation is not None)
            a.close()
            c.replica.send(["a", "b"], b"both")
            await b.until(lambda replica: any(event.startswith("d:b") for event in replica.events))
            b.replica.send("c", b"after")
            await c.until(lambda replica: [each.on for each in c.blocked()] == ["a"])
            c.evict("a")
            await b.until(lambda replica: replica.members == ("b", "c"))
            assert (b.members, c.members, c.replica.members) == (("c",), ("b",), ("b", "c"))
            await c.until(lambda replica: c.blocked() == [])

    ran(scene())
