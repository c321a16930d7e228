"""A node whose disk takes its time: everything else goes on, and nothing is seen before it is durable."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from microcosm.errors import Contradiction, JournalError, MicrocosmError, ReplicaError
from microcosm.replica.background import running
from microcosm.replica.journal import Journal, log
from microcosm.replica.journal.files import Disk, Flat
from microcosm.replica.node import serve
from microcosm.replica.replica import Replica
from microcosm.replica.store import APPLICATION, Memory
from tests.replica.test_node import OPTIONS, into, level, meet, ran

pytest.importorskip("cryptography")


class Gated(Disk):
    """A disk whose syncs of the head file, the last step of a commit, wait for a gate."""

    def __init__(self) -> None:
        self.gate, self.arrived = threading.Event(), threading.Event()
        self.gate.set()
        self.failing: OSError | None = None

    def flat(self, path: Path) -> Flat:
        disk = self

        class Waiting(Flat):
            def sync(self) -> None:
                disk.arrived.set()
                disk.gate.wait()
                if disk.failing is not None:
                    raise disk.failing
                super().sync()

        return Waiting(path)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """No commit ends inside."""
        self.arrived.clear()
        self.gate.clear()
        try:
            yield
        finally:
            self.gate.set()

    async def reached(self) -> None:
        """Return when a commit waits."""
        await asyncio.get_running_loop().run_in_executor(None, self.arrived.wait)


def journal(folder: Path, disk: Disk) -> Journal:
    return Journal.open(folder / "a.journal", application=APPLICATION, create=True, disk=disk)


def test_everything_else_goes_on_while_a_commit_is_written(tmp_path: Path) -> None:
    async def scene() -> None:
        disk, got, told = Gated(), list[bytes](), list[str]()
        async with (
            serve(journal(tmp_path, disk), "a", on_deliver=into(got), **OPTIONS) as a,
            serve(Memory(), "b", **OPTIONS) as b,
        ):
            meet(a, b)
            a.replica.local("before")
            await level(a, b)
            await a.durable()
            with disk.closed():
                writing = asyncio.create_task(a.do(lambda replica: replica.local("slow")))
                await disk.reached()
                message = b.replica.send("a", b"meanwhile")
                await a.until(lambda replica: got == [b"meanwhile"])
                a.when_durable(lambda error: told.append("delivered"))
                assert str(a.replica.online("before", "slow")) == "<"
                joined = [asyncio.create_task(a.do(lambda r, n=n: r.local(f"also {n}"))) for n in range(5)]
                retransmissions = 0
                while retransmissions < 3:  # b's timers run, and so do a's: it is asked, and says nothing
                    await b.changed()
                    retransmissions = b.metrics()["members"]["a"]["retransmissions"]
                assert [each.on for each in b.blocked()] == ["a"]
                assert not b.replica.happened("slow")
                assert not b.replica.happened(f"d:a:{message}")
                assert (writing.done(), told, any(each.done() for each in joined)) == (False, [], False)
            await writing
            before = a.metrics()["commits"].count
            await asyncio.gather(*joined)
            assert told == ["delivered"]
            assert a.metrics()["commits"].count <= before + 2  # five changes and a delivery share one
            await b.until(lambda replica: replica.happened(f"d:a:{message}") and b.blocked() == [])
            await level(a, b)

    ran(scene())


def test_a_change_that_is_undone_undoes_nothing_else(tmp_path: Path) -> None:
    """The replica reads its store again, which must have what was not even written then."""

    async def scene() -> None:
        disk = Gated()
        async with serve(journal(tmp_path, disk), "a", **OPTIONS) as a:

            def half(replica: Replica) -> None:
                with replica.transaction():
                    replica.local("never")
                    replica.learn("one < other < one")

            with disk.closed():
                one = asyncio.create_task(a.do(lambda replica: replica.local("one")))
                await disk.reached()
                two = asyncio.create_task(a.do(lambda replica: replica.local("two")))
                await asyncio.sleep(0)
                threading.Timer(0.05, disk.gate.set).start()  # the next line holds up the loop
                with pytest.raises(Contradiction):
                    await a.do(half)
            await asyncio.gather(one, two)
            assert a.replica.events == ["one", "two"]
        with closing(Replica(tmp_path / "a.journal")) as again:
            assert again.events == ["one", "two"]

    ran(scene())


def test_who_waits_is_told_that_it_will_never_be_durable(tmp_path: Path) -> None:
    async def scene() -> None:
        disk = Gated()
        async with serve(journal(tmp_path, disk), "a", **OPTIONS) as a:
            with disk.closed():
                one = asyncio.create_task(a.do(lambda replica: replica.local("one")))
                await disk.reached()
                two = asyncio.create_task(a.do(lambda replica: replica.local("two")))
                await asyncio.sleep(0)
                disk.failing = OSError("the disk is gone")
            for each in (one, two):
                with pytest.raises(ReplicaError, match="the disk is gone"):
                    await each
            assert "the disk is gone" in str(a.fault)
            with pytest.raises(MicrocosmError, match="the disk is gone"):
                await a.do(lambda replica: replica.local("three"))

    ran(scene())


def test_snapshots_are_written_aside_and_have_everything(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            serve(tmp_path / "a.journal", "a", **OPTIONS) as a,
            serve(Memory(), "b", **OPTIONS) as b,
        ):
            meet(a, b)
            for n in range(30):
                await a.do(lambda replica, n=n: replica.local(f"e{n}"))  # type: ignore[misc]
                await b.send("a", b"%d" % n)
                if n % 4 == 0:
                    await a.do(lambda replica: replica.compact())
            await a.until(lambda replica: sum(each.startswith("d:a:") for each in replica.events) == 30)
            await level(a, b)
            known = a.replica.digest()
        again = Replica(tmp_path / "a.journal")
        assert again.digest() == known
        again.close()
        async with serve(tmp_path / "a.journal", **OPTIONS) as a:
            assert a.blocked() == []
            a.replica.local("goes on")

    ran(scene())


def test_a_snapshot_that_is_too_large_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with serve(tmp_path / "a.journal", "a", **OPTIONS) as a:
            for n in range(30):
                await a.do(lambda replica, n=n: replica.local(f"e{n}"))  # type: ignore[misc]
            monkeypatch.setattr(log, "LARGEST", 500)
            for n in range(30, 40):
                await a.do(lambda replica: replica.compact())
                await a.do(lambda replica, n=n: replica.local(f"e{n}"))  # type: ignore[misc]
        with closing(Replica(tmp_path / "a.journal")) as again:
            assert len(again.events) == 40
            with pytest.raises(JournalError, match="at most"):
                again.compact()

    ran(scene())


def test_threads_share_commits(tmp_path: Path) -> None:
    disk = Gated()
    with running(journal(tmp_path, disk), "a", **OPTIONS) as a:

        def one(n: int) -> Callable[[], None]:
            return lambda: a.do(lambda node: node.replica.local(f"e{n}")) and None

        before = a.do(lambda node: node.metrics()["commits"].count)
        with disk.closed():
            threads = [threading.Thread(target=one(n)) for n in range(12)]
            threads[0].start()
            disk.arrived.wait()
            for thread in threads[1:]:
                thread.start()
            while a._result(held(a)) < 12:
                pass
        for thread in threads:
            thread.join()
        assert a.do(lambda node: node.metrics()["commits"].count) - before == 2
        assert len(a.do(lambda node: node.replica.events)) == 12


async def _events(node: object) -> int:
    return len(node.replica.events)  # type: ignore[attr-defined]


def held(a: object) -> object:
    """How many events the replica has in memory, durable or not."""
    return _events(a._node)  # type: ignore[attr-defined]
