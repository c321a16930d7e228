"""A replica on the network: clocks, threads, metrics, and what opening one keeps waiting."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from microcosm.errors import ReplicaError
from microcosm.replica.background import running
from microcosm.replica.core import open_store
from microcosm.replica.network import handshake as reasons
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.network.status import exposition
from microcosm.replica.node import ReplicaNode, serve
from microcosm.replica.replica import Replica
from microcosm.replica.store import LogRecord, Memory, Store
from tests.replica.nodes import OPTIONS, any_changes, into, level, meet, ran

pytest.importorskip("cryptography")


@pytest.mark.parametrize("jump", [-1e7, 1e7])
def test_the_clock_jumps_and_nothing_else_happens(monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    """Months back, or forward: events, messages and exchanges go on, and it is counted once."""

    async def scene() -> None:
        got: list[bytes] = []
        one, other = serve(Memory(), "a", **OPTIONS), serve(Memory(), "b", on_deliver=into(got), **OPTIONS)
        async with one as a, other as b:
            meet(a, b)
            a.replica.send("b", b"before")
            await b.until(lambda replica: len(got) == 1)
            await level(a, b)
            before = a.metrics()["drops"]
            real = time.time
            monkeypatch.setattr(time, "time", lambda: real() + jump)
            a.replica.local("after")
            a.replica.send("b", b"after")
            await b.until(lambda replica: len(got) == 2)
            await level(a, b)
            while not (a.jumps and b.jumps):
                await any_changes(a, b)
            assert (a.metrics()["clock jumps"], a.metrics()["drops"]) == (1, before)
            monkeypatch.setattr(time, "time", real)  # somebody has put it right
            while not (a.jumps == b.jumps == 2):
                await any_changes(a, b)
            a.replica.send("b", b"put right")
            await b.until(lambda replica: got == [b"before", b"after", b"put right"])
            await level(a, b)
            assert (a.fault, b.fault, a.metrics()["drops"]) == (None, None, before)

    ran(scene())


def test_a_clock_that_jumps_past_the_end_of_a_key_stops_nothing_for_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keys end by the time of day. When the clock is right again all that was sent meanwhile arrives."""

    async def scene() -> None:
        got: list[bytes] = []
        options = {**OPTIONS, "keys": Keyring([Key(1, b"k" * 32, ends=time.time() + 1e6)])}
        one, other = serve(Memory(), "a", **options), serve(Memory(), "b", on_deliver=into(got), **options)
        async with one as a, other as b:
            meet(a, b)
            a.replica.send("b", b"before")
            await b.until(lambda replica: len(got) == 1)
            real = time.time
            monkeypatch.setattr(time, "time", lambda: real() + 1e7)
            message = a.replica.send("b", b"meanwhile")
            while not (a.jumps and b.jumps and a.metrics()["drops"].get(reasons.NO_KEY)):
                await any_changes(a, b)
            assert {each.on for each in a.blocked()} == {"b"}
            assert not b.replica.happened(f"d:b:{message}")
            monkeypatch.setattr(time, "time", real)
            await b.until(lambda replica: got == [b"before", b"meanwhile"])
            await level(a, b)
            assert (a.fault, b.fault) == (None, None)

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


def test_who_waits_in_a_thread_hears_of_the_end() -> None:
    ends: list[BaseException] = []

    def waits(what: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            with pytest.raises(ReplicaError, match="closed") as said:
                what()
            ends.append(said.value)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    with running(Memory(), "a", **OPTIONS) as a:
        with pytest.raises(ReplicaError, match="wait for itself"):
            a.do(lambda node: a.do(lambda _: None))
        a.do(lambda node: node.add_member("b", ("127.0.0.1", 9)))
        a.do(lambda node: setattr(node._carrier.durable, "most_copies", 1))
        a.send("b", b"first")
        threads = [waits(lambda: a.wait(lambda replica: False)), waits(lambda: a.send("b", b"no room"))]
        time.sleep(0.1)  # most likely both wait by now; else they are told the end when they begin
    for thread in (*threads, waits(lambda: a.do(lambda node: None))):
        thread.join(20)
    assert len(ends) == 3


def test_who_waits_for_a_node_hears_of_its_end() -> None:
    async def scene() -> None:
        async with serve(Memory(), "a", **OPTIONS) as a:
            waiting = asyncio.ensure_future(a.until(lambda replica: False))
            await asyncio.sleep(0)
        for waits in (waiting, a.changed()):
            with pytest.raises(ReplicaError, match="closed"):
                await waits

    ran(scene())


@pytest.mark.parametrize("address", [("127.0.0.1", 70000), ("127.0.0.1", -1), ("no\0host", 1)])
def test_a_place_that_no_member_can_be_at(address: tuple[str, int]) -> None:
    async def scene() -> None:
        async with serve(Memory(), "a", **OPTIONS) as a:
            with pytest.raises(ReplicaError, match="cannot be at"):
                a.add_member("b", address)
            await a.do(lambda replica: replica.local("x"))
            assert (a.members, a.fault) == ((), None)

    ran(scene())


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


class Elsewhere(Memory):
    """A slow store, which notes the threads that use it."""

    slow = True

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def commit(self, records: Any) -> int:
        self.threads.add(threading.get_ident())
        return super().commit(records)

    def records(self, after: int = 0) -> Iterator[LogRecord]:
        self.threads.add(threading.get_ident())
        return super().records(after)

    def snapshot(self) -> tuple[int, bytes] | None:
        self.threads.add(threading.get_ident())
        return super().snapshot()


def test_a_store_that_waits_for_a_disk_is_opened_in_a_thread() -> None:
    """Read, and begun anew as another incarnation, with all that this commits."""

    async def scene() -> None:
        store = Elsewhere()
        async with serve(store, "a", **OPTIONS) as a:
            a.add_member("b", ("127.0.0.1", 9))
            a.replica.local("before")
        Replica(store).renew()
        store.threads.clear()
        node = await ReplicaNode.open(store, **OPTIONS)
        assert store.threads
        assert threading.get_ident() not in store.threads
        assert node.members == ("b",)
        assert node.replica.stream[1] == node.metrics()["incarnation"]
        node.close()

    ran(scene())


def test_the_loop_goes_on_while_a_journal_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And who gives up meanwhile leaves it closed."""
    begun, go_on = threading.Event(), threading.Event()

    def slowly(path: str, *, create: bool) -> Store:
        begun.set()
        assert go_on.wait(10), "the loop stands still"
        return open_store(path, create=create)

    monkeypatch.setattr("microcosm.replica.node.open_store", slowly)

    async def scene() -> None:
        opening = asyncio.ensure_future(ReplicaNode.open(tmp_path / "j", "a", **OPTIONS))
        while not begun.is_set():
            await asyncio.sleep(0)
        opening.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await opening
        async with serve(tmp_path / "j", "a", **OPTIONS) as node:  # nobody has it locked
            assert node.replica.name == "a"

    ran(scene())
