"""A replica on the network: what is one transaction, and what happens when something goes wrong."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from microcosm.errors import Busy, ReplicaError, Undefined
from microcosm.replica.background import running
from microcosm.replica.errors import WrongReplica
from microcosm.replica.metrics import exposition
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.network.limits import Limits
from microcosm.replica.network.remembering import STATE, remembered
from microcosm.replica.node import Node, serve
from microcosm.replica.opening import open_store
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory, Record
from tests.replica.network.proxy import Proxy

pytest.importorskip("cryptography")

RING = Keyring([Key(1, b"k" * 32)])
QUICK = Limits(least_wait=0.01, longest_wait=0.1)
OPTIONS: dict[str, Any] = {"keys": RING, "limits": QUICK, "interval": 0.1}


def ran(scene: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30.0):
            await scene

    asyncio.run(bounded())


def into(got: list[bytes]) -> Callable[[str, str, bytes], object]:
    """Deliver to a list."""
    return lambda sender, message, payload: got.append(payload)


def meet(one: Node, other: Node) -> None:
    one.add_member(other.replica.name, other.address)
    other.add_member(one.replica.name, one.address)


async def level(one: Node, other: Node) -> None:
    while one.replica.digest() != other.replica.digest():
        await one.changed()


class Remembering(Memory):
    """A store that says what it held after each commit, as a crash would have left it."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[list[tuple[str, bytes]]] = []

    def commit(self, records: Any) -> int:
        if records:
            self.commits.append(list(records))
        return super().commit(records)

    def after(self, count: int) -> Memory:
        store = Memory()
        for records in self.commits[:count]:
            store.commit(records)
        return store


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
                records = (Record(n, *each) for n, each in enumerate(replica.network, 1))
                process = remembered(records, replica.noted(STATE))
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
                records = (Record(n, *each) for n, each in enumerate(replica.network, 1))
                process = remembered(records, replica.noted(STATE))
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
        Replica(store).set_members(["a", "b", "by hand"])
        async with serve(store, **OPTIONS) as a:
            assert a.replica.members == ("a", "by hand")

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
                ("b", bytes(1 << 20), "at most 1,048,560"),
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
            a.add_member("b", proxy.door(0))
            b.add_member("a", proxy.door(1))
            a.replica.local("large" * 1500)
            for n in range(300):
                (a, b)[n % 2].replica.local(f"e{n}")
            await level(a, b)
            assert len(b.replica.events) == 301
        proxy.close()

    ran(scene())


def test_a_peer_with_the_same_name_is_one_clear_error() -> None:
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
                await other.stopped()
                assert isinstance(other.fault, WrongReplica)
                assert "another one has the name b" in str(other.fault)
            assert a.fault is None

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
                    await a.changed()
                a.evict("b")
                assert a.replica.members == ("a",)
                a.add_member("b", where)
                b.replica.local("new")
                await level(a, b)
                assert a.replica.events == ["new", "old"]

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


def test_the_clock_jumps_and_nothing_else_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with serve(Memory(), "a", **OPTIONS) as a, serve(Memory(), "b", **OPTIONS) as b:
            meet(a, b)
            a.replica.local("before")
            await level(a, b)
            before = a.metrics()["drops"]
            real = time.time
            monkeypatch.setattr(time, "time", lambda: real() - 1e7)
            a.replica.local("after")
            await level(a, b)
            while not (a.jumps and b.jumps):
                await a.changed()
            assert (a.metrics()["clock jumps"], a.metrics()["drops"]) == (1, before)

    ran(scene())


def test_in_a_thread() -> None:
    got: list[bytes] = []
    with (
        running(Memory(), "a", **OPTIONS) as a,
        running(Memory(), "b", on_deliver=into(got), **OPTIONS) as b,
    ):
        a.do(lambda node: node.add_member("b", b.do(lambda other: other.address)))
        b.do(lambda node: node.add_member("a", a.do(lambda other: other.address)))
        a.do(lambda node: node.replica.local("upload"))
        message = a.send("b", b"look")
        b.wait(lambda replica: replica.happened(f"d:b:{message}"), timeout=30)
        b.wait(lambda replica: "upload" in replica.events, timeout=30)
        with pytest.raises(TimeoutError):
            b.wait(lambda replica: False, timeout=0.01)
        with pytest.raises(ReplicaError, match="is no member"):
            a.send("c", b"")
        with (
            pytest.raises(ReplicaError, match="cannot listen"),
            running(Memory(), "c", address=a.do(lambda node: node.address), **OPTIONS),
        ):
            pass
    assert got == [b"look"]


SAMPLE = re.compile(
    r'^(microcosm_[a-z_]+?)(_total|_bucket|_count|_sum)?(\{[a-z]+="[^"]*"\})? (\d+(\.\d+)?(e-\d+)?)$'
)


def test_metrics_are_in_the_format() -> None:
    """Each line is of a family whose type was declared, suffixes fit it, and the text ends as it must."""

    async def scene() -> None:
        async with serve(Memory(), "a", **OPTIONS) as a, serve(Memory(), "b", **OPTIONS) as b:
            meet(a, b)
            a.replica.send("b", b"x")
            await level(a, b)
            while not a.metrics()["members"]["b"]["met"]:
                await a.changed()
            a.add_member('odd "name"', ("127.0.0.1", 9))
            text = exposition(a.replica, a.metrics())
        *lines, last, empty = text.split("\n")
        assert (last, empty) == ("# EOF", "")
        assert 'peer="odd \\"name\\""' in text
        kinds: dict[str, str] = {}
        values: dict[str, float] = {}
        for line in lines:
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name not in kinds
                kinds[name] = kind
            elif not line.startswith("# HELP "):
                found = SAMPLE.match(line.replace('\\"', ""))
                assert found is not None, line
                suffixes = {
                    "counter": ("_total",),
                    "gauge": (None,),
                    "histogram": ("_bucket", "_count", "_sum"),
                }
                assert found[2] in suffixes[kinds[found[1]]]
                values[line.rpartition(" ")[0]] = float(found[4])
        assert values["microcosm_events"] == len(a.replica.events)
        assert (
            values['microcosm_commit_seconds_bucket{le="+Inf"}']
            == values["microcosm_commit_seconds_count"]
            > 1
        )
        assert values['microcosm_met{peer="b"}'] == 1

    ran(scene())
