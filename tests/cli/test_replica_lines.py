"""`replica serve`: every line is answered; no reader, disk or journal brings it down unsaid."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from microcosm.errors import JournalError, LockedJournal
from microcosm.replica.network.keys import new_ring, write_keys
from tests.cli.conftest import Run
from tests.replica.served import Served

pytest.importorskip("cryptography")

BAD: list[Any] = [
    {"do": "send", "to": "b", "payload": None},
    {"do": "send", "to": "b", "payload": 7},
    {"do": "send", "to": "b", "payload": {}},
    {"do": "send", "to": "b"},
    {"do": "send", "to": "b", "payload64": "!!"},
    {"do": "send", "to": "b", "payload64": 7},
    {"do": "send", "to": None, "payload": ""},
    {"do": "send", "to": [7], "payload": ""},
    {"do": "send", "to": [], "payload": ""},
    {"do": "send", "to": {}, "payload": ""},
    {"do": "member", "name": "b", "address": "nowhere"},
    {"do": "member", "name": "b", "address": "h:999999"},
    {"do": "member", "name": "b", "address": 7},
    {"do": "member", "name": "", "address": "h:1"},
    {"do": "member", "name": "a", "address": "h:1"},
    {"do": "evict", "name": "nobody"},
    {"do": "local"},
    {"do": "local", "event": None},
    {"do": "local", "event": ""},
    {"do": "local", "event": "c:a.1.1"},
    {"do": "local", "event": "\ud800"},
    {"do": "learn", "given": "a <"},
    {"do": "learn", "given": []},
    {"do": "remove", "given": "a < b"},
    {"do": "when", "left": 7, "right": "y"},
    {"do": "when"},
    {"do": "query", "left": "x"},
    {"do": "query", "left": "x", "right": "y", "offline": "no"},
    {"do": "query", "left": "x", "right": "y", "offline": None},
    {"do": ["local"]},
    {"do": {}},
    {"do": None},
    {},
    [],
    7,
    None,
    "local",
    [[[[]]]],
]


async def served(folder: Path, name: str = "a", **members: str) -> Served:
    if not (folder / "keys").exists():
        write_keys(folder / "keys", new_ring())
    return await Served(folder, name, members).start()


def test_every_line_is_answered_whatever_is_wrong_with_it(tmp_path: Path) -> None:
    async def scene() -> None:
        a = await served(tmp_path)
        sink = a._process.stdin
        assert sink is not None
        for _ in range(4):
            for bad in BAD:
                a._asked += 1
                line = {**bad, "id": a._asked} if isinstance(bad, dict) else bad
                future = a._answers[a._asked] = asyncio.get_running_loop().create_future()
                sink.write(json.dumps(line).encode() + b"\n")
                if isinstance(bad, dict):
                    answer = await asyncio.wait_for(future, 20)
                    assert set(answer) == {"schema", "re", "error"}, (bad, answer)
            sink.write(b"\xff\xfe not JSON\n" + b"[" * 10_000 + b"\n" + b'{"do": "local", "event"\n\n')
        assert "dot" in await a.ask("local", event="x")
        assert "no relation to itself" in (await a.ask("when", left="x", right="x"))["error"]
        assert "dot" in await a.ask("local", event="y")
        assert (await a.ask("status"))["health"] == "ok"
        assert await a.stop() == 0

    asyncio.run(scene())


def test_whatever_the_id_of_a_line_is_its_answer_is_json(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", new_ring())
    ids = ("NaN", "1e400", "-Infinity", *("[" * depth + "]" * depth for depth in range(920, 1000, 5)))
    ids = (*ids, "[1.5]", '"\\ud800"')
    said = subprocess.run(
        [*(sys.executable, "-m", "microcosm", "replica", "serve", "a"), "--keys", "keys", "--name", "a"],
        cwd=tmp_path,
        input="".join(f'{{"do": "digest", "id": {each}}}\n' for each in ids),
        text=True,
        capture_output=True,
        check=True,
    )

    def constant(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    _, *answers = [json.loads(line, parse_constant=constant) for line in said.stdout.splitlines()]
    assert [answer["re"] for answer in answers] == [*(None,) * (len(ids) - 2), [1.5], "\ud800"]
    assert ["error" in answer for answer in answers] == [*(True,) * (len(ids) - 2), False, False]


def test_a_line_with_bytes_that_are_no_text_is_not_done(tmp_path: Path) -> None:
    """Two names that differ in such bytes alone would else be one."""
    write_keys(tmp_path / "keys", new_ring())
    given = b'"b\xff" < x'.replace(b'"', b'\\"')
    asked = b'"local", "event": "a\xff"', b'"local", "event": "a\xfe"', b'"learn", "given": "' + given + b'"'
    said = subprocess.run(
        [*(sys.executable, "-m", "microcosm", "replica", "serve", "a"), "--keys", "keys", "--name", "a"],
        cwd=tmp_path,
        input=b"".join(b'{"id": 1, "do": %s}\n' % each for each in (*asked, b'"events"')),
        capture_output=True,
        check=True,
    )
    _, *answers, last = map(json.loads, said.stdout.splitlines())
    assert [(answer["re"], "no UTF-8" in answer["error"]) for answer in answers] == [(1, True)] * 3
    assert last["events"] == []


def test_a_host_name_in_a_line_holds_up_nobody(tmp_path: Path) -> None:
    async def scene() -> None:
        a = await served(tmp_path)
        began = time.monotonic()
        assert (await a.ask("member", name="b", address="nobody.invalid:7"))["members"] == ["b"]
        for n in range(10):
            assert "dot" in await a.ask("local", event=f"e{n}")
        assert await a.stop() == 0
        assert time.monotonic() - began < 10

    asyncio.run(scene())


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_nobody_reads_what_it_says(tmp_path: Path) -> None:
    """It exchanges, delivers, and ends when asked to; what was not read is told the next time."""

    async def scene() -> None:
        write_keys(tmp_path / "keys", new_ring())
        port = free_port()
        b = await Served(tmp_path, "b", {"a": f"127.0.0.1:{port}"}).start()
        deaf = subprocess.Popen(
            [
                *(sys.executable, "-m", "microcosm", "replica", "serve", "a.journal", "--name", "a"),
                *("--keys", "keys", "--listen", f"127.0.0.1:{port}", "--every", "0.2"),
                f"--member=b=127.0.0.1:{b.address[1]}",
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            sent = [(await b.ask("send", to="a", payload="x" * 40_000))["message"] for _ in range(12)]
            for n in range(5):
                await b.ask("local", event=f"b{n}")
            async with asyncio.timeout(30):
                while (await b.ask("status"))["send buffer"]:  # all of it is delivered, though nobody reads
                    await asyncio.sleep(0.05)
            began = time.monotonic()
            deaf.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(deaf.wait, 20) == 0
            assert time.monotonic() - began < 10
        finally:
            deaf.kill()
            for pipe in (deaf.stdin, deaf.stdout):
                assert pipe is not None
                pipe.close()
            deaf.wait()
        a = Served(tmp_path, "a", {})
        await a.start()
        told = {each["message"] for each in a.told if each["event"] == "delivered"}
        await a.until(lambda: {each.get("message") for each in a.told} >= {*sent[-6:]})
        assert told <= {*sent}
        assert await a.stop() == 0
        assert await b.stop() == 0

    asyncio.run(scene())


def test_a_full_disk_is_read_only_until_there_is_room(tmp_path: Path) -> None:
    async def scene() -> None:
        a = await served(tmp_path)
        await a.ask("local", event="x")
        await a.ask("local", event="y")
        pid = a._process.pid
        unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        await a.ask("when", left="x", right="z")
        refused = await a.ask("local", event="z")
        assert "not done" in refused["error"]
        await a.until(lambda: any(each.get("health") == "read-only" for each in a.told))
        assert (await a.ask("query", left="x", right="y"))["verdict"] == "<"
        assert (await a.ask("events"))["events"] == ["x", "y"]
        assert (await a.ask("status"))["health"] == "read-only"
        for change in ({"do": "local", "event": "w"}, {"do": "learn", "given": "x < w"}, {"do": "compact"}):
            assert "read-only" in (await a.ask(**change))["error"]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
        await a.until(lambda: any(each.get("health") == "ok" for each in a.told))
        assert "dot" in await a.ask("local", event="z")
        assert (await a.ask("events"))["events"] == ["x", "y", "z"]
        await a.until(lambda: any(each.get("event") == "decided" for each in a.told))
        assert await a.stop() == 0

    asyncio.run(scene())


def test_metrics_that_cannot_be_written_are_said_and_no_more(tmp_path: Path) -> None:
    async def scene() -> None:
        a = Served(tmp_path, "a", {})
        write_keys(tmp_path / "keys", new_ring())
        a.members = {}
        a._inside = (sys.executable, "-c", WITH_METRICS)
        await a.start()
        assert "dot" in await a.ask("local", event="x")
        status = await a.ask("status")
        assert (status["health"], "metrics" in status["fault"]) == ("degraded", True)
        assert await a.stop() == 0
        assert a.said_on_standard_error().count("metrics cannot be written") == 1

    asyncio.run(scene())


WITH_METRICS = """
import os, sys
os.execv(sys.argv[1], [*sys.argv[1:], "--metrics", "no/such/folder/metrics"])
"""


@pytest.mark.parametrize("replaced", [False, True])
def test_a_journal_that_is_gone_is_the_end_and_its_line_is_answered(tmp_path: Path, replaced: bool) -> None:
    async def scene() -> None:
        a = await served(tmp_path)
        assert "dot" in await a.ask("local", event="x")
        for ending in ("", "-wal", "-head"):
            at = tmp_path / f"a.journal{ending}"
            content = at.read_bytes()
            at.unlink()
            if replaced:
                at.write_bytes(content)
        answer = await a.ask("local", event="y")
        assert "deleted or replaced" in answer["error"]
        assert await a.ended() == 4
        assert "deleted or replaced" in a.said_on_standard_error()

    asyncio.run(scene())


def test_a_backup_is_restored_while_the_others_go_on(tmp_path: Path, run: Run) -> None:
    """As guides/replica.md says: restore, start, replace; what was removed stays so, what is lost is told."""

    async def scene() -> None:
        write_keys(tmp_path / "keys", new_ring())
        a = await Served(tmp_path, "a", {}).start()
        b = await Served(tmp_path, "b", {"a": "{}:{}".format(*a.address)}).start()
        await a.ask("member", name="b", address="{}:{}".format(*b.address))
        await a.ask("learn", given="x < y")
        await a.ask("learn", given="p < q")
        sent = [(await a.ask("send", to="b", payload="before"))["message"]]
        await same(a, b)
        assert run("replica", "backup", "b.journal", "b.backup").code == 0
        sent.append((await a.ask("send", to="b", payload="acknowledged"))["message"])
        await b.ask("local", event="of b, after the backup")
        await a.ask("remove", given="x < y")
        await same(a, b)
        delivered = {f"d:b:{message}" for message in sent}
        async with asyncio.timeout(30):  # an ack may come after what is known of a delivery, or before
            while (await a.ask("status"))["waiting"] or not delivered <= {*(await a.ask("events"))["events"]}:
                await asyncio.sleep(0.05)
        await b.kill()
        lost = (await a.ask("send", to="b", payload="not acknowledged"))["message"]
        for each in tmp_path.glob("b.journal*"):
            each.unlink()
        restored = run("replica", "restore", "b.backup", "b.journal")
        assert restored.code == 0
        assert "at a: microcosm replica member replace JOURNAL b" in restored.out
        b.members = {}
        await b.start()
        answer = await a.ask("replace", name="b")
        assert answer["lost"] == [lost]
        again = (await a.ask("send", to="b", payload="again"))["message"]
        await b.until(lambda: any(each.get("message") == again for each in b.told))
        await same(a, b)
        kept = {"of b, after the backup", *(f"d:b:{message}" for message in (*sent, again))}
        async with asyncio.timeout(30):  # of a chain that is cut all is said again, but not at once
            while not kept <= {*(await b.ask("events"))["events"]}:
                await asyncio.sleep(0.05)
        await same(a, b)
        assert (await b.ask("query", left="x", right="y"))["verdict"] == "?"
        assert (await b.ask("query", left="p", right="q"))["verdict"] == "<"
        assert (await a.ask("status"))["health"] == (await b.ask("status"))["health"] == "ok"
        assert await a.stop() == 0
        assert await b.stop() == 0

    asyncio.run(scene())


def test_a_backup_whose_restoring_failed_can_be_restored_again(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy was there, and in the way; but what somebody else goes on with stays."""
    assert run("replica", "init", "a.journal", "--name", "a").code == 0
    assert run("replica", "backup", "a.journal", "a.backup").code == 0
    restore = ("replica", "restore", "a.backup", "b.journal")
    for error, left in (JournalError("no room", file="b"), 0), (LockedJournal("locked", file="b"), 2):
        with monkeypatch.context() as patched:
            patched.setattr("microcosm.cli.replica.files.network_of", Mock(side_effect=error))
            assert run(*restore).code == 4
        assert len([*tmp_path.glob("b.journal*")]) == left
        for each in tmp_path.glob("b.journal*") if left else ():
            each.unlink()
        assert run(*restore).code == 0
        for each in tmp_path.glob("b.journal*"):
            each.unlink()


def test_of_three_one_is_restored_and_all_are_told_what_is_lost(tmp_path: Path, run: Run) -> None:
    """The second hears of the eviction before it is told to replace: the page's words hold there too."""

    async def scene() -> None:
        write_keys(tmp_path / "keys", new_ring())
        a, b, c = (Served(tmp_path, name, {}) for name in "abc")
        for each in (a, b, c):
            await each.start()
        for one in (a, b, c):
            for other in (a, b, c):
                if one is not other:
                    await one.ask("member", name=other.name, address="{}:{}".format(*other.address))
        await c.ask("local", event="before")
        await same(a, b, c)
        early = (await a.ask("send", to="c", payload="before the backup"))["message"]
        await c.until(lambda: any(each.get("message") == early for each in c.told))
        assert run("replica", "backup", "c.journal", "c.backup").code == 0
        await c.ask("local", event="after the backup")
        await same(a, b, c)
        await c.kill()
        unacknowledged = {
            each.name: [(await each.ask("send", to="c", payload="late"))["message"] for _ in range(count)]
            for each, count in ((a, 2), (b, 3))
        }
        for each in tmp_path.glob("c.journal*"):
            each.unlink()
        restored = run("replica", "restore", "c.backup", "c.journal").out
        said = [line for line in restored.splitlines() if "member replace" in line]
        (number,) = {line.rpartition("--incarnation ")[2] for line in said}
        assert [line.partition(":")[0] for line in said] == ["at a", "at b"]
        await c.start()
        assert (await a.ask("replace", name="c", incarnation="1"))["error"]
        replaced = await a.ask("replace", name="c", incarnation=int(number))
        assert replaced["lost"] == unacknowledged["a"]
        while (await a.ask("status"))["members"]["c"]["incarnation"] != int(number):
            await asyncio.sleep(0.05)
        replaced = await a.ask("replace", name="c", incarnation=int(number))  # once more: it stays
        assert (replaced["members"], replaced["lost"]) == (["b", "c"], [])
        await b.until(lambda: any(each["event"] == "lost" for each in b.told))
        (told,) = (each for each in b.told if each["event"] == "lost")
        assert (told["member"], told["messages"]) == ("c", unacknowledged["b"])
        assert {"schema": "microcosm/1", "event": "evicted", "member": "c"} in b.told
        assert (await b.ask("status"))["lost"] == {"c": unacknowledged["b"]}
        assert "c, at 127.0.0.1:" in run("replica", "status", "b.journal").out
        assert ", ".join(unacknowledged["b"]) in run("replica", "status", "b.journal").out
        replaced = await b.ask("replace", name="c", incarnation=int(number))
        assert replaced["lost"] == unacknowledged["b"]
        status = await b.ask("status")
        assert status["lost"] == status["gone"] == {}
        again = (await b.ask("send", to="c", payload="again"))["message"]
        await c.until(lambda: any(each.get("message") == again for each in c.told))
        await same(a, b, c)
        events = {*(await c.ask("events"))["events"]}
        assert {"before", "after the backup", f"d:c:{early}"} <= events
        assert (await a.ask("lost"))["undelivered"] == unacknowledged["a"]
        for each in (a, b, c):
            assert await each.stop() == 0

    asyncio.run(scene())


def test_a_replica_that_is_renewed_is_told_what_of_its_own_is_lost(tmp_path: Path, run: Run) -> None:
    """What its backup had not seen acknowledged: by `restore`, and as long as nothing says that it came."""

    async def scene() -> None:
        write_keys(tmp_path / "keys", new_ring())
        a = await Served(tmp_path, "a", {"b": "127.0.0.1:9"}).start()
        lost = (await a.ask("send", to="b", payload="to nobody"))["message"]
        assert run("replica", "backup", "a.journal", "a.backup").code == 0
        await a.kill()
        for each in tmp_path.glob("a.journal*"):
            each.unlink()
        assert (
            f"not known to have reached b: {lost}" in run("replica", "restore", "a.backup", "a.journal").out
        )
        await a.start()
        await a.until(lambda: any(each["event"] == "lost" for each in a.told))
        answer = await a.ask("lost")
        assert (answer["lost"], answer["undelivered"]) == ({"b": [lost]}, [lost])
        assert (await a.ask("evict", name="b"))["lost"] == [lost]
        assert (await a.ask("lost"))["lost"] == {}
        assert await a.stop() == 0

    asyncio.run(scene())


async def same(*some: Served) -> None:
    async with asyncio.timeout(30):
        while len({(await each.ask("digest"))["digest"] for each in some}) > 1:
            await asyncio.sleep(0.05)


def test_a_journal_that_was_put_back_is_said_on_both_sides(tmp_path: Path, run: Run) -> None:
    """An event, a metric, a line of status, an exit code, and what to do: at the one and at the other."""

    async def scene() -> None:
        write_keys(tmp_path / "keys", new_ring())
        a = await Served(tmp_path, "a", {}).start()
        b = await Served(tmp_path, "b", {"a": "{}:{}".format(*a.address)}).start()
        await a.ask("member", name="b", address="{}:{}".format(*b.address))
        await a.ask("local", event="first")
        await same(a, b)
        assert await b.stop() == 0
        old = {each.name: each.read_bytes() for each in tmp_path.glob("b.journal*")}
        await b.start()
        await b.ask("local", event="lost")
        await same(a, b)
        assert await b.stop() == 0
        for name, content in old.items():
            (tmp_path / name).write_bytes(content)
        await b.start()
        await b.ask("local", event="instead")
        for each in (a, b):
            await each.until(lambda each=each: any(said["event"] == "diverged" for said in each.told))
            status = await each.ask("status")
            assert status["health"] == "diverged"
            assert "`replica renew`" in status["divergences"][0]["why"]
        assert await a.stop() == 1
        assert await b.stop() == 1
        for name in "ab":
            status = run("replica", "status", f"{name}.journal")
            assert (status.code, "diverged: " in status.out) == (1, True)
            assert "microcosm_divergences 1" in run("replica", "metrics", f"{name}.journal").out
        assert run("replica", "renew", "b.journal").code == 0
        assert run("replica", "member", "replace", "a.journal", "b").code == 0
        await asyncio.gather(a.start(), b.start())
        await same(a, b)
        assert {"first", "lost", "instead"} <= {*(await a.ask("events"))["events"]}
        assert (await a.ask("status"))["health"] == (await b.ask("status"))["health"] == "ok"
        assert await a.stop() == 0
        assert await b.stop() == 0

    asyncio.run(scene())


FAILING = """
import sys
from microcosm.cli.app import main
from microcosm.replica.network.gossip import Gossip
def failing(self, *_):
    raise ZeroDivisionError("in the background")
Gossip.poll = failing
sys.exit(main(sys.argv[1:]))
"""


def serving(folder: Path, *command: str, said: str | None = None) -> subprocess.CompletedProcess[str]:
    """A replica that is served until it ends, of itself or at the end of what is said to it."""
    write_keys(folder / "keys", new_ring())
    return subprocess.run(
        [sys.executable, *command, "replica", "serve", "a.journal", "--name", "a", "--keys", "keys"]
        + (["--stay", "--member", "b=127.0.0.1:9"] if said is None else []),
        input=said or "",
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_background_work_that_fails_is_the_end_and_is_said(tmp_path: Path) -> None:
    done = serving(tmp_path, "-c", FAILING)
    assert done.returncode == 70
    assert "in the background" in done.stderr


def test_answers_come_in_the_order_of_the_lines(tmp_path: Path) -> None:
    lines = [
        json.dumps({"id": n, "do": ("local", "query", "digest", "nothing")[n % 4], "event": f"e{n}"})
        for n in range(100)
    ]
    done = serving(tmp_path, "-m", "microcosm", said="\n".join(lines))
    assert done.returncode == 0
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["re"] for each in told if "re" in each] == [*range(100)]
