from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from microcosm.errors import Busy, ReplicaError, Undefined
from microcosm.replica.core import open_store
from microcosm.replica.network.endpoint import Limits
from microcosm.replica.network.write_ahead import STATE, remembered
from microcosm.replica.node import serve
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory
from tests.replica.network.proxy import Proxy
from tests.replica.nodes import OPTIONS, Remembering, into, level, meet, ran

pytest.importorskip("cryptography")


def test_every_commit_has_an_event_and_its_message_or_neither() -> None:
    """At every instant that a crash may leave: sendings and deliveries of the replica are the network's."""

    async def scene() -> None:
        stores = {"phone": Remembering(), "laptop": Remembering()}
        async with AsyncExitStack() as stack:
            phone, laptop = [
                await stack.enter_async_context(serve(store, name, **OPTIONS))
                for name, store in stores.items()
            ]
            meet(phone, laptop)

            @laptop.replica.on_deliver
            def answer(sender: str, message: str, payload: bytes) -> None:
                laptop.replica.local(f"effect of {message}")
                laptop.replica.send(sender, b"answer to " + payload)

            for n in range(20):
                phone.replica.local(f"e{n}")
                phone.replica.send("laptop", b"%d" % n)
                await asyncio.sleep(0)
            await phone.until(lambda replica: sum(e.startswith("d:phone:") for e in replica.events) == 20)
        for name, store in stores.items():
            numbers = {"c:": 0, "d:": 0}
            for count in range(2, len(store.commits) + 1):
                replica = Replica(store.after(count))
                own = replica.chains().get(replica.stream, [])
                process = remembered(replica.network, replica.noted(STATE))
                if process is None:
                    continue
                numbers = {kind: sum(event.startswith(kind) for event in own) for kind in ("c:", "d:")}
                assert process.sent == numbers["c:"]
                assert sum(process.machine._delivered.values()) == numbers["d:"]
                assert sum(event.startswith("effect") for event in own) == (
                    numbers["d:"] if name == "laptop" else 0
                )
                if name == "laptop":
                    assert numbers["c:"] == numbers["d:"]
            assert numbers == {"c:": 20, "d:": 20}

    ran(scene())


def test_a_message_discloses_that_it_was_sent_before_it_was_delivered() -> None:
    async def scene() -> None:
        async with (
            serve(Memory(), "phone", **OPTIONS) as phone,
            serve(Memory(), "laptop", **OPTIONS) as laptop,
        ):
            meet(phone, laptop)
            phone.replica.local("upload")
            message = phone.replica.send("laptop", b"look")
            await laptop.until(lambda replica: replica.happened(f"d:laptop:{message}"))
            laptop.replica.local("view")
            await level(phone, laptop)
            for node in (phone, laptop):
                assert str(node.replica.online("upload", "view")) == "<"
                assert node.blocked() == []

    ran(scene())


def test_what_is_undone_sends_nothing() -> None:
    async def scene() -> None:
        got: list[bytes] = []
        async with AsyncExitStack() as stack:
            a = await stack.enter_async_context(serve(Memory(), "a", **OPTIONS))
            b = await stack.enter_async_context(serve(Memory(), "b", on_deliver=into(got), **OPTIONS))
            meet(a, b)

            def half() -> None:
                with a.replica.transaction():
                    a.replica.local("never")
                    a.replica.send("b", b"never")
                    raise RuntimeError

            with pytest.raises(RuntimeError):
                half()
            for to, payload, fault in (
                ("nobody", b"", "is no member"),
                ("a", b"", "not to the replica itself"),
                ("b", bytes(1 << 20), "at most 1,048,552"),
            ):
                with pytest.raises(ReplicaError, match=fault):
                    a.replica.send(to, payload)
            assert a.replica.events == []
            with a.replica.transaction():
                a.replica.send("b", b"one")
                a.replica.send(["b"], b"two")
            await b.until(lambda replica: len(got) == 2)
            assert got == [b"one", b"two"]

    ran(scene())


def test_back_pressure_is_busy_and_can_be_waited_out() -> None:
    async def scene() -> None:
        got: list[bytes] = []
        few = {**OPTIONS, "limits": Limits(most_copies=4, least_wait=0.01, longest_wait=0.1)}
        async with AsyncExitStack() as stack:
            a = await stack.enter_async_context(serve(Memory(), "a", **few))
            b = await stack.enter_async_context(serve(Memory(), "b", on_deliver=into(got), **OPTIONS))
            a.add_member("b", b.address)
            for n in range(4):
                a.replica.send("b", b"%d" % n)
            with pytest.raises(Busy):
                a.replica.send("b", b"4")
            assert {(each.to, each.on) for each in a.blocked()} == {("b", "b")}
            assert len(a.replica.events) == 4
            b.add_member("a", a.address)
            for n in range(4, 20):
                await a.send("b", b"%d" % n)
            await b.until(lambda replica: len(got) == 20)
            assert got == [b"%d" % n for n in range(20)]

    ran(scene())


def test_a_delivery_that_fails_happens_when_it_is_opened_again(tmp_path: Path) -> None:
    async def scene() -> None:
        path = tmp_path / "b.journal"

        def broken(sender: str, message: str, payload: bytes) -> None:
            raise OSError("no room")

        async with serve(Memory(), "a", **OPTIONS) as a:
            async with serve(path, "b", on_deliver=broken, **OPTIONS) as b:
                where = b.address
                meet(a, b)
                message = a.replica.send("b", b"once")
                await b.stopped()
                assert isinstance(b.fault, OSError)
                with pytest.raises(ReplicaError, match="no room"):
                    b.replica.send("a", b"")
            async with serve(path, address=where, **OPTIONS) as b:
                await b.until(lambda replica: replica.happened(f"d:b:{message}"))
                await level(a, b)

    ran(scene())


def test_a_snapshot_has_the_network_too(tmp_path: Path) -> None:
    async def scene() -> None:
        got: list[bytes] = []
        path = tmp_path / "a.journal"
        async with serve(Memory(), "b", on_deliver=into(got), **OPTIONS) as b:
            async with serve(path, "a", **OPTIONS) as a:
                a.add_member("b", ("127.0.0.1", 9))
                a.replica.send("b", b"before")
                a.replica.compact()
                assert a.replica.network == []
                a.replica.send("b", b"after")
            with open_store(path) as store:  # type: ignore[attr-defined]
                replica = Replica(store)
                replica.compact()  # by somebody who knows nothing of networks
                assert len(replica.network) > 0
            async with serve(path, **OPTIONS) as a:
                assert len(a.blocked()) == 2
                meet(a, b)
                await b.until(lambda replica: len(got) == 2)
                assert got == [b"before", b"after"]

    ran(scene())


def test_large_evolutions_go_in_pieces_through_loss() -> None:
    async def scene() -> None:
        proxy = Proxy(3, loss=0.2, doubled=0.2)
        async with serve(Memory(), "a", **OPTIONS) as a, serve(Memory(), "b", **OPTIONS) as b:
            proxy.ends = [a.address, b.address]
            a.add_member("b", proxy.address(0))
            b.add_member("a", proxy.address(1))
            a.replica.local("large" * 1500)
            for n in range(300):
                (a, b)[n % 2].replica.local(f"e{n}")
            await level(a, b)
            assert len(b.replica.events) == 301
        proxy.close()

    ran(scene())


def test_a_delivery_that_was_said_to_be_impossible_happens_all_the_same() -> None:
    """What was falsely said of an event to come is set aside when it comes: it stops no replica."""

    async def scene() -> None:
        one, other = serve(Memory(), "a", **OPTIONS), serve(Memory(), "b", **OPTIONS)
        async with one as a, other as b:
            meet(a, b)
            b.replica.local("x")
            await level(a, b)
            incarnation = a.replica.stream[1]
            a.replica.learn(f"d:b:a.{incarnation}.2 < x")
            await level(a, b)
            message = a.replica.send("b", b"all the same")
            assert message == f"a.{incarnation}.2"
            await b.until(lambda replica: replica.happened(f"d:b:{message}"))
            await level(a, b)
            assert b.fault is None
            assert [len(conflict.facts) for conflict in a.replica.conflicts] == [1]
            assert str(a.replica.online("x", f"d:b:{message}")) == "<"

    ran(scene())


def test_no_transaction_is_left_open_in_an_await() -> None:
    async def scene() -> None:
        async with serve(Memory(), "a", **OPTIONS) as a, serve(Memory(), "b", **OPTIONS) as b:
            meet(a, b)
            await level(a, b)

            async def left_open() -> None:
                with b.replica.transaction():
                    a.replica.send("b", b"meanwhile")
                    await b.stopped()
                    raise Undefined("given up")

            with pytest.raises(Undefined):
                await left_open()
            assert "left open" in str(b.fault)

    ran(scene())
