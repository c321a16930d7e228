"""What goes wrong around a node: hosts, members that move, wrong keys, lost and read-only files."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import AsyncExitStack, closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from microcosm.errors import JournalError, LostJournal, MicrocosmError
from microcosm.givens.relation import Relation
from microcosm.replica.journal import Journal
from microcosm.replica.journal import files as journal_files
from microcosm.replica.journal.examine import fsck
from microcosm.replica.journal.files import Files, FilesInPlace
from microcosm.replica.network.keys import Key, Keyring
from microcosm.replica.network.transport import HostNames, is_literal
from microcosm.replica.node import ReplicaNode, serve
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory
from tests.replica.nodes import OPTIONS, into, meet, ran
from tests.replica.nodes import level as levelled

pytest.importorskip("cryptography")


def test_a_host_name_that_takes_long_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object, **__: object) -> None:
        time.sleep(5)
        raise socket.gaierror("no such host")

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            a, b = [await stack.enter_async_context(serve(Memory(), name, **OPTIONS)) for name in "ab"]
            meet(a, b)
            monkeypatch.setattr(socket, "getaddrinfo", slow)
            began = time.monotonic()
            a.add_member("c", ("nobody.example", 7))
            for n in range(20):
                a.replica.local(f"e{n}")
            await levelled(a, b)
            assert time.monotonic() - began < 4
            assert a.metrics()["drops"]["address unknown"] > 0

    ran(scene())


def test_members_are_found_by_the_names_of_their_hosts() -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            a, b = [
                await stack.enter_async_context(serve(Memory(), name, address=("localhost", 0), **OPTIONS))
                for name in "ab"
            ]
            a.add_member("b", ("localhost", b.address[1]))
            b.add_member("a", ("localhost", a.address[1]))
            a.replica.local("x")
            await levelled(a, b)
            assert (a.moved(), b.moved()) == ({}, {})

    ran(scene())
    assert [is_literal(host) for host in ("127.0.0.1", "::1", "fe80::1%lo", "localhost", "")] == [
        *(True, True, True, False, False)
    ]


def other_socket(node: ReplicaNode) -> None:
    """A node speaks from another port from now on, as a phone in another network does."""
    transport = node.transport
    fresh = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fresh.setblocking(False)
    fresh.bind(("127.0.0.1", 0))
    transport._loop.remove_reader(transport._socket.fileno())
    transport._socket.close()
    transport._socket = fresh
    transport._loop.add_reader(fresh.fileno(), transport._readable)


def test_a_member_that_moves_is_answered_where_it_is() -> None:
    async def scene() -> None:
        got: list[bytes] = []
        async with AsyncExitStack() as stack:
            a = await stack.enter_async_context(serve(Memory(), "a", **OPTIONS))
            b = await stack.enter_async_context(serve(Memory(), "b", on_deliver=into(got), **OPTIONS))
            meet(a, b)
            b.replica.local("here")
            await levelled(a, b)
            before = b.address
            other_socket(b)
            b.replica.local("there")
            await levelled(a, b)
            a.replica.send("b", b"found")
            await b.until(lambda replica: got == [b"found"])
            assert a.moved() == {"b": (before, b.address)}

    ran(scene())


def test_a_member_that_starts_elsewhere_is_met() -> None:
    async def scene() -> None:
        store = Memory()
        async with serve(Memory(), "a", **OPTIONS) as a:
            async with serve(store, "b", **OPTIONS) as b:
                meet(a, b)
                b.replica.local("here")
                await levelled(a, b)
            async with serve(store, "b", **OPTIONS) as b:
                b.replica.local("there")
                await levelled(a, b)
                assert a.moved()["b"][1] == b.address

    ran(scene())


def test_a_wrong_key_is_said_on_both_sides() -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            other = {**OPTIONS, "keys": Keyring([Key(1, b"x" * 32)])}
            a = await stack.enter_async_context(serve(Memory(), "a", **OPTIONS))
            b = await stack.enter_async_context(serve(Memory(), "b", **other))
            meet(a, b)
            while not (a.unreadable() and b.unreadable()):
                await asyncio.sleep(0.01)
            b.use_keys(OPTIONS["keys"])
            a.replica.local("x")
            await levelled(a, b)
            assert (a.unreadable(), b.unreadable()) == ({}, {})

    ran(scene())


def test_a_question_that_fails_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Replica(Memory(), "a")
    told: list[object] = []
    with monkeypatch.context() as patched:
        patched.setattr("microcosm.state.microcosm.Microcosm.online", failing)
        with pytest.raises(MicrocosmError):
            one.when_decided("x", "y", lambda *verdict: told.append(verdict))
    assert not one.subscriptions.waiting
    one.when_decided("x", "y", lambda *verdict: told.append(verdict))
    with monkeypatch.context() as patched:
        patched.setattr("microcosm.state.microcosm.Microcosm.online", failing)
        one.local("z")  # it has happened, whatever becomes of the question
    one.when_decided("x", "y", lambda *verdict: told.append(verdict))
    one.learn("x < y")
    assert told == [("x", "y", Relation.BEFORE)]


def failing(*_: object, **__: object) -> None:
    raise MicrocosmError("no answer")


@pytest.mark.parametrize("ending", ["", "-wal", "-head"])
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("age", [0, 3600])
def test_a_journal_that_is_deleted_or_replaced_acknowledges_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, replaced: bool, age: int
) -> None:
    """Also where the folder seemed to be at rest when it was last looked at."""
    path, now = tmp_path / "journal", time.time_ns
    with Journal.open(path, application="test", create=True) as journal:
        monkeypatch.setattr("time.time_ns", lambda: now() + age * 10**9)
        assert journal.commit([("note", b"one")]) == 1
        time.sleep(0.03 if age else 0)  # of changes within a tick of the clock the second may not show
        at = Path(f"{path}{ending}")
        moved = at.with_name("moved")
        at.rename(moved)
        if replaced:
            shutil.copy(moved, at)
        with pytest.raises(LostJournal, match="deleted or replaced"):
            journal.commit([("note", b"two")])
        with pytest.raises(JournalError, match="stopped"):
            journal.commit([("note", b"three")])
    moved.replace(at)
    with Journal.open(path, application="test") as journal:  # what was said not to be done is not
        assert [record.payload for record in journal.records()] == [b"one"]


@pytest.mark.parametrize("times", [10**18, 10**18 + 1])
def test_two_changes_of_a_folder_may_have_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """A folder that changed a moment ago is not at rest; where times are coarse the moment is longer."""
    with Journal.open(tmp_path / "journal", application="test", create=True):
        pass
    watch, real = FilesInPlace(files := Files(tmp_path / "journal")), os.stat

    def frozen(path: Path) -> os.stat_result:
        names = ("st_ino", "st_dev", "st_ctime_ns")
        found = {name: getattr(real(path), name) for name in names}
        return cast(os.stat_result, SimpleNamespace(**found | {"st_ctime_ns": times}))

    monkeypatch.setattr("microcosm.replica.journal.files.os.stat", frozen)
    monkeypatch.setattr("time.time_ns", lambda: times + (19_000_000 if times % 10 else 2_000_000_000))
    assert not watch.missing()
    files.head.rename(tmp_path / "moved")
    assert watch.missing()


def test_a_file_system_that_cannot_be_written(tmp_path: Path) -> None:
    """A real one, where this system lets us make one."""
    with Journal.open(tmp_path / "j", application="microcosm replica", create=True) as store:
        Replica(store, "a").learn("x < y")
    script = f"""
        mount --bind {tmp_path} {tmp_path} && mount -o remount,ro,bind {tmp_path} || exit 77
        for each in status "query --json" fsck export metrics; do
            set -- $each; command=$1; shift
            [ "$command" = query ] && set -- "$@" x y
            {sys.executable} -m microcosm replica $command {tmp_path}/j "$@" || exit 1
        done
        touch {tmp_path}/x 2> /dev/null && exit 2
        exit 0
    """
    if shutil.which("unshare") is None:
        pytest.skip("no unshare")
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(inside, capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no namespaces here")
    assert done.returncode == 0, done.stderr + done.stdout


def test_a_damaged_journal_is_still_found_so_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.open(tmp_path / "j", application="microcosm replica", create=True) as store:
        Replica(store, "a").learn("x < y")
    monkeypatch.setattr(journal_files, "_writable", lambda path: path != tmp_path)
    head = bytearray((tmp_path / "j-head").read_bytes())
    for at in range(0, len(head), 64):
        head[at] ^= 1
    (tmp_path / "j-head").write_bytes(head)
    assert fsck(tmp_path / "j").faults


def test_the_name_of_a_host_is_looked_up_each_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for a thread, which stopped the network, it is asked again."""

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def scene() -> None:
        there = ["127.0.0.1"]
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, *_: [(0, 0, 0, "", (there[-1], port))])
        news = asyncio.Event()
        names = HostNames(socket.AF_INET, asyncio.get_running_loop(), news.set)
        now = time.monotonic()
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", start)
            assert names.found(("phone.example", 7), now) is None
        assert names.found(("phone.example", 7), now) is None
        await news.wait()
        there.append("127.0.0.2")
        assert names.found(("phone.example", 7), now + 50) == ("127.0.0.1", 7)
        assert not names._looked_up
        news.clear()
        assert names.found(("phone.example", 7), now + 70) == ("127.0.0.1", 7)
        await news.wait()
        assert names.found(("phone.example", 7), now + 71) == ("127.0.0.2", 7)

    ran(scene())


def test_of_several_addresses_of_a_host_one_that_answers_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one was taken, whether or not anybody answered there."""

    async def scene() -> None:
        listed = [(0, 0, 0, "", (f"127.0.0.{n}", 7)) for n in (1, 2, 3)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_: listed)
        news = asyncio.Event()
        names = HostNames(socket.AF_INET, asyncio.get_running_loop(), news.set)
        now, tried = time.monotonic(), list[object]()
        for _ in range(4):
            news.clear()
            names.found(("phone.example", 7), now)
            await news.wait()
            tried.append(names.found(("phone.example", 7), now))
            now += 6
        assert tried == [("127.0.0.1", 7), ("127.0.0.2", 7), ("127.0.0.3", 7), ("127.0.0.1", 7)]
        for _ in range(2):  # and as long as it answers
            assert names.named(("127.0.0.1", 7)) == ("phone.example", 7)
            names.found(("phone.example", 7), now)
            while names._looked_up:
                await asyncio.sleep(0.01)
            assert names.found(("phone.example", 7), now) == ("127.0.0.1", 7)
            assert names._known["phone.example", 7][1] > time.monotonic() + 50
            now += 70
        for host in ("127.0.0.2", "127.0.0.3"):  # one that was tried, and answers later
            names.named((host, 7))
            names.found(("phone.example", 7), now)
            while names._looked_up:
                await asyncio.sleep(0.01)
            assert names.found(("phone.example", 7), now) == (host, 7)
            now += 70

    ran(scene())


def test_members_at_addresses_of_a_link_are_reached_by_their_scope() -> None:
    """Nobody could listen at one, and who spoke from one was said to have moved."""
    scoped = [f"{host}%{name}" for host, name in linked()]
    if not scoped:
        pytest.skip("no IPv6 here")

    async def scene() -> None:
        options = {**OPTIONS, "address": (scoped[0], 0)}
        async with AsyncExitStack() as stack:
            a, b = [await stack.enter_async_context(serve(Memory(), name, **options)) for name in "ab"]
            a.add_member("b", (scoped[0], b.address[1]))
            b.add_member("a", a.address)
            a.replica.local("x")
            await levelled(a, b)
            assert (a.moved(), b.moved()) == ({}, {})
            assert a.metrics()["drops"].get("not sent", 0) == b.metrics()["drops"].get("not sent", 0) == 0

    ran(scene())


def linked() -> list[tuple[str, str]]:
    """The addresses of a link that this machine has (Linux says them), each with its interface."""
    try:
        lines = Path("/proc/net/if_inet6").read_text().split("\n")
    except OSError:
        return []
    parts = [line.split() for line in lines if line.startswith("fe80")]
    return [(":".join(each[0][at : at + 4] for at in range(0, 32, 4)), each[-1]) for each in parts]


def test_who_listens_at_all_addresses_of_ipv6_reaches_members_of_ipv4() -> None:
    """Two that did, and had each other's address of IPv4, never met, and nothing said so."""
    with closing(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)) as found:
        try:
            found.bind(("::", 0))
            assert not found.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
        except (OSError, AssertionError):
            pytest.skip("no IPv6 here, or one for itself")

    async def scene() -> None:
        options = {**OPTIONS, "address": ("::", 0)}
        async with AsyncExitStack() as stack:
            a, b = [await stack.enter_async_context(serve(Memory(), name, **options)) for name in "ab"]
            a.add_member("b", ("127.0.0.1", b.address[1]))
            b.add_member("a", ("127.0.0.1", a.address[1]))
            a.replica.local("x")
            await levelled(a, b)
            assert (a.moved(), b.moved()) == ({}, {})

    ran(scene())


def test_who_cannot_tell_what_was_delivered_takes_no_more_messages() -> None:
    async def scene() -> None:
        got: list[bytes] = []
        async with AsyncExitStack() as stack:
            a = await stack.enter_async_context(serve(Memory(), "a", **OPTIONS))
            b = await stack.enter_async_context(serve(Memory(), "b", on_deliver=into(got), **OPTIONS))
            meet(a, b)
            a.replica.send("b", b"first")
            await b.until(lambda replica: got == [b"first"])
            b.pause(True)
            a.replica.send("b", b"second")
            a.replica.local("x")
            await levelled(a, b)  # what is known goes on
            assert got == [b"first"]
            b.pause(False)
            await b.until(lambda replica: got == [b"first", b"second"])

    ran(scene())
