"""Real processes, `microcosm replica serve`, on a loopback that loses, doubles and turns round."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from microcosm.cli.app import main
from microcosm.cli.replica import lines as replica_input
from microcosm.cli.replica.lines import Outlet, PendingLines
from microcosm.cli.replica.monitor import Interfaces, Log, Warnings
from microcosm.cli.replica.serving import Serving
from microcosm.replica.journal import Journal, Reader
from microcosm.replica.network.keys import new_ring, read_keys, write_keys
from microcosm.replica.node import ReplicaNode
from microcosm.replica.replica import Replica
from microcosm.replica.store import APPLICATION, Memory
from tests.cli.conftest import Run
from tests.replica.network.causal import History, faults
from tests.replica.network.proxy import Proxy
from tests.replica.served import PATIENCE, Served

pytest.importorskip("cryptography")


def chain(folder: Path, name: str) -> list[str]:
    """The events of a replica in the order in which they happened, as its journal has them."""
    store = Reader(folder / f"{name}.journal")
    try:
        replica = Replica(store)
        return [event for stream, chain in replica.chains().items() if stream[0] == name for event in chain]
    finally:
        store.close()


def history(folder: Path, name: str, sent: dict[str, tuple[str, str]]) -> History:
    """What a replica sent and delivered, as its journal has it."""
    steps = []
    for event in chain(folder, name):
        kind, _, message = event.partition(":")
        if kind == "c":
            steps.append(("sent", f"{message} {sent[message][1]}"))
        elif kind == "d":
            steps.append(("delivered", message.partition(":")[2]))
    return History(f"{name}.1", steps)


async def level(replicas: list[Served]) -> None:
    """Wait until all have the same digest."""
    async with asyncio.timeout(PATIENCE):
        while len({(await each.ask("digest"))["digest"] for each in replicas}) > 1:
            await replicas[0].ask("events")


def meshed(names: str, loss: float) -> dict[tuple[str, str], Proxy]:
    """A bad network between each two."""
    return {pair: Proxy(n, loss, 0.2) for n, pair in enumerate(combinations(names, 2))}


async def opened(folder: Path, names: str, proxies: dict[tuple[str, str], Proxy]) -> dict[str, Served]:
    write_keys(folder / "keys", new_ring())
    replicas = {}
    for name in names:
        ends = {
            (set(pair) - {name}).pop(): proxy.address(pair.index(name))
            for pair, proxy in proxies.items()
            if name in pair
        }
        where = {other: f"{host}:{port}" for other, (host, port) in ends.items()}
        replicas[name] = Served(folder, name, where)
    await asyncio.gather(*(each.start() for each in replicas.values()))
    for (one, other), proxy in proxies.items():
        proxy.ends = [replicas[one].address, replicas[other].address]
    return replicas


def run_scene(folder: Path, names: str, loss: float, rounds: int, killed: str) -> None:
    """Everybody sends to everybody; some are killed and come back; the network is cut, and mended."""

    async def scene() -> None:
        proxies = meshed(names, loss)
        for proxy in proxies.values():
            proxy.ends = [("127.0.0.1", 9)] * 2  # nobody, until it is known who listens where
        replicas = await opened(folder, names, proxies)
        sent: dict[str, tuple[str, str]] = {}
        for round_ in range(rounds):
            for name, each in replicas.items():
                await each.ask("local", event=f"{name}{round_}")
                for other in names.replace(name, ""):
                    answer = await each.ask("send", to=other, payload=f"{round_}" * (1 + 400 * (round_ % 3)))
                    sent[answer["message"]] = (name, other)
            if round_ < len(killed):
                await replicas[killed[round_]].kill()
                cut = next(iter(proxies.values()))
                cut.loss = 1.0
                await replicas[killed[round_]].start()
                cut.loss = loss
        last = replicas[names[-1]]
        assert (await last.ask("query", left=f"{names[-1]}0", right=f"{names[-1]}1"))["verdict"] == "<"
        wanted = Counter(to for _, to in sent.values())
        async with asyncio.timeout(PATIENCE):
            for name, each in replicas.items():
                while True:
                    events = (await each.ask("events"))["events"]
                    if sum(event.startswith(f"d:{name}:") for event in events) == wanted[name]:
                        break
        await level(list(replicas.values()))
        digests = {(await each.ask("digest"))["digest"] for each in replicas.values()}
        assert len(digests) == 1
        codes = [await each.stop(number) for each, number in zip(replicas.values(), SIGNALS, strict=False)]
        assert codes == [0] * len(names)
        assert sum(proxy.lost for proxy in proxies.values()) > 0, "the network was none that loses"
        for proxy in proxies.values():
            proxy.close()
        assert faults(history(folder, name, sent) for name in names) == []
        told = {line["message"] for each in replicas.values() for line in each.told if "message" in line}
        assert told == set(sent)  # at least once, for what leaves the replica

    asyncio.run(scene())


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGTERM)


def test_two_processes_one_killed(tmp_path: Path) -> None:
    run_scene(tmp_path, "ab", loss=0.2, rounds=5, killed="b")


@pytest.mark.slow
def test_three_processes_on_a_worse_network(tmp_path: Path) -> None:
    run_scene(tmp_path, "abc", loss=0.3, rounds=12, killed="bacb")


def test_what_was_delivered_is_told_once_it_is_durable_and_again_after_a_kill(tmp_path: Path) -> None:
    """Also told: that somebody else uses the name of a member."""

    async def scene() -> None:
        write_keys(tmp_path / "keys", new_ring())
        a, b = Served(tmp_path, "a", {}), Served(tmp_path, "b", {})
        await asyncio.gather(a.start(), b.start())
        await a.ask("member", name="b", address="{}:{}".format(*b.address))
        await b.ask("member", name="a", address="{}:{}".format(*a.address))
        message = (await a.ask("send", to="b", payload="look"))["message"]
        told = [{"schema": "microcosm/1", "event": "delivered", "from": "a", "message": message}]
        told[0]["payload"] = "look"

        def delivered() -> list[object]:
            return [line for line in b.told if line["event"] == "delivered"]

        await b.until(lambda: delivered() == told)
        await b.kill()
        assert f"d:b:{message}" in chain(tmp_path, "b")
        await b.start()
        await b.until(lambda: delivered() == told * 2)
        assert await b.stop() == 0
        await b.start()
        await b.ask("status")
        assert delivered() == told * 2
        (tmp_path / "other").mkdir()
        write_keys(tmp_path / "other" / "keys", read_keys(tmp_path / "keys"))
        other = Served(tmp_path / "other", "b", {"a": "{}:{}".format(*a.address)})
        await other.start()
        async with asyncio.timeout(PATIENCE):
            while "another replica answers to the name b" not in a.said_on_standard_error():
                await a.ask("status")
        await a.until(lambda: any(line["event"] == "stranger" for line in a.told))
        [stranger] = [line for line in a.told if line["event"] == "stranger"]
        assert stranger["member"] == "b"
        assert str(stranger["incarnation"]) in a.said_on_standard_error()
        assert [await each.stop() for each in (a, b, other)] == [0, 0, 0]

    asyncio.run(scene())


def test_lines_to_tell_are_noted_until_they_are_told() -> None:
    said: list[dict[str, object]] = []
    replica = Replica(Memory(), "b", incarnation=1)
    told = PendingLines(said.append)

    def commit() -> bool:
        note = told.note()
        if note is not None:
            replica.note(*note)
        return note is not None

    told.add({"n": 1})
    told.add({"n": 2})
    assert said == []
    assert commit()
    assert not commit()
    told.add({"n": 3})
    told.durable(None)
    assert [*PendingLines.left(replica)] == [{"n": 1}, {"n": 2}]
    assert commit()
    assert [*PendingLines.left(replica)] == [
        {"n": 1},
        {"n": 2},
        {"n": 3},
    ]  # perhaps not written yet
    told.written()
    told.add({"n": 4})
    assert commit()
    assert [*PendingLines.left(replica)] == [{"n": 2}, {"n": 3}, {"n": 4}]
    told.durable(None)
    told.durable(OSError())
    assert said == [{"n": 1}, {"n": 2}]
    assert told.waits
    told.tell_again(replica)  # the journal was opened again, and has what could not be written
    assert said == [{"n": 1}, {"n": 2}, {"n": 3}]
    told.tell_again(replica)
    assert len(said) == 3
    PendingLines.all_written(replica)
    assert [*PendingLines.left(replica)] == []


def test_large_lines_fill_what_is_to_be_told() -> None:
    """Each commit writes all of them down, and a record has its largest size."""
    told = PendingLines(lambda line: None)
    for _ in range(15):
        told.add({"payload": "x" * (1 << 20)})
    assert not told.full
    told.add({"payload64": "x" * (1 << 20)})
    assert told.full
    told.durable(None)
    assert told.full
    told.written()
    assert not told.full


def test_messages_are_taken_again_as_soon_as_the_lines_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """However seldom it looks at anything else."""
    monkeypatch.setattr(replica_input, "MOST_PENDING", 2)
    written: list[Callable[[], object]] = []
    paused: list[bool] = []
    serving = Serving("a.journal", "keys", stay=False, interfaces=Interfaces())
    durable = SimpleNamespace(when_durable=lambda then: then(None), pause=paused.append)
    serving._node = cast("ReplicaNode", durable)
    serving._outlet = cast("Outlet", SimpleNamespace(put=lambda _, then: written.append(then)))
    for number in range(2):
        serving._delivered("b", f"b.1.{number}", b"look")
    assert paused == [True]
    written.pop()()
    assert paused == [True, False]


def test_lines_that_are_too_long_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_input, "LONGEST", 200_000)
    content = [b"first", b"x" * 200_000, b"y" * 200_001, b"", b"z" * 500_000, b"after", b"w" * 300_000]
    source, sink = os.pipe()
    writer = threading.Thread(target=_written, args=(sink, b"\n".join(content)))
    writer.start()
    with os.fdopen(source) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        found = [line if line is None else len(line) for line in replica_input.lines()]
    writer.join()
    assert found == [5, 200_000, None, 0, None, 5, None]


def _written(sink: int, content: bytes) -> None:
    with os.fdopen(sink, "wb") as stream:
        stream.write(content)


@pytest.fixture
def phone(tmp_path: Path, run: Run) -> Path:
    """A replica with a member and a key."""
    assert run("replica", "init", "phone.j", "--name", "phone").code == 0
    assert run("replica", "key", "new", "keys").code == 0
    assert run("replica", "member", "add", "phone.j", "laptop", "127.0.0.1:9").code == 0
    return tmp_path


@pytest.mark.usefixtures("phone")
def test_members_are_added_and_evicted(run: Run) -> None:
    assert run("replica", "status", "phone.j", "--json").json["members"] == ["laptop", "phone"]
    moved = run("replica", "member", "add", "phone.j", "laptop", "[::1]:10", "--json").json
    assert moved["members"] == [{"name": "laptop", "address": "[::1]:10"}]
    assert "laptop at [::1]:10, not met yet" in run("replica", "status", "phone.j").out
    assert run("replica", "member", "add", "phone.j", "laptop", "2001:db8::7").code == 2  # no port in it
    assert run("replica", "member", "evict", "phone.j", "laptop", "--json").json["members"] == []
    assert run("replica", "status", "phone.j", "--json").json["members"] == ["phone"]
    again = run("replica", "member", "evict", "phone.j", "laptop")
    assert (again.code, again.err) == (4, "error: 'laptop' is no member; `replica member add` makes it one\n")
    assert run("replica", "member", "add", "phone.j", "laptop", "nowhere").code == 2


@pytest.mark.usefixtures("phone")
def test_keys_are_readable_by_the_owner_only_and_rotate(tmp_path: Path, run: Run) -> None:
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o600
    assert run("replica", "key", "new", "keys").code == 4
    rotated = run("replica", "key", "rotate", "keys", "--overlap", "2", "--json").json["keys"]
    assert [key["id"] for key in rotated] == [1, 2]
    assert rotated[0]["ends"] - rotated[1]["starts"] == pytest.approx(3600)
    again = run("replica", "key", "rotate", "keys")
    assert (again.code, again.err.count("\n")) == (4, 1)
    assert read_keys(tmp_path / "keys").keys[0].secret.hex() not in again.out + again.err


@pytest.mark.usefixtures("phone")
def test_a_replacing_that_is_refused_evicts_nobody(run: Run) -> None:
    before = run("replica", "status", "phone.j", "--json").json["peers"]
    for wrong in (("--author", "xy"), ("a\u200bb:1",)):
        assert run("replica", "member", "replace", "phone.j", "laptop", *wrong).code == 4
        status = run("replica", "status", "phone.j", "--json").json
        assert (status["peers"], status["members"]) == (before, ["laptop", "phone"])


@pytest.mark.usefixtures("phone")
def test_an_overlap_has_an_end(tmp_path: Path, run: Run) -> None:
    before = (tmp_path / "keys").read_text()
    assert run("replica", "key", "rotate", "keys", "--overlap", "1e9").code == 2
    assert (tmp_path / "keys").read_text() == before
    assert run("replica", "key", "rotate", "keys", "--overlap", "1e6").code == 0


def test_who_is_evicted_again_is_said_again() -> None:
    said: list[dict[str, object]] = []
    warnings, about = (
        Warnings(said.append, Log(as_json=True)),
        {"jumps": 0, "replica": Replica(Memory(), "a")},
    )
    silent = ("strangers", "unreadable", "moved", "lost", "divergences")
    node = SimpleNamespace(**about, suspects={}, **dict.fromkeys(silent, dict))
    for gone, members in (({"b": None}, ()), ({"b": None}, ()), ({}, ("b",)), ({"b": None}, ())):
        node.gone, node.members = gone.copy, members
        warnings.look(cast("ReplicaNode", node))
    assert said == [{"event": "evicted", "member": "b"}] * 2


def test_lines_in_lines_out(phone: Path, run: Run) -> None:
    asked = [
        {"do": "local", "event": "unshare", "id": 1},
        {"do": "local", "event": "upload"},
        {"do": "when", "left": "unshare", "right": "view"},
        {"do": "learn", "given": "upload < view"},
        {"do": "query", "left": "unshare", "right": "view"},
        {"do": "query", "left": "view", "right": "unshare", "offline": True},
        {"do": "send", "to": "laptop", "payload": "look"},
        {"do": "send", "to": "laptop", "payload64": "AA=="},
        {"do": "send", "to": "laptop", "payload": "x" * (1 << 20)},
        {"do": "send", "to": "tablet", "payload": ""},
        {"do": "local", "event": "upload"},
        {"do": "local"},
        {"do": "member", "name": "phone", "address": "127.0.0.1:9"},
        {"do": "fly"},
        [],
        {"do": "status"},
        {"do": "compact"},
        {"do": "keys"},
        {"do": "evict", "name": "laptop"},
        {"do": "stop"},
        {"do": "local", "event": "too late"},
    ]
    said = "".join(json.dumps(each) + "\n" for each in asked) + "nonsense\n"
    found = run("replica", "serve", "phone.j", "--keys", "keys", "--metrics", "m.txt", stdin=said.encode())
    assert (found.code, found.err) == (0, "")
    serving, *answers = found.json_lines
    assert serving["event"] == "serving"
    assert (answers[0]["re"], answers[0]["dot"].endswith(".1")) == (1, True)
    decided = [each for each in answers if each.get("event") == "decided"]
    assert [each["verdict"] for each in decided] == ["<"]
    answers = [each for each in answers if "event" not in each]
    assert answers[4]["verdict"] == "<"
    assert answers[5]["refuted"] == ["<", "||"]
    errors = {at: each["error"] for at, each in enumerate(answers) if "error" in each}
    assert sorted(errors) == [8, 9, 10, 11, 12, 13, 14]
    assert "at most" in errors[8]
    assert "is no member" in errors[9]
    assert "has happened already" in errors[10]
    assert "'event' is missing" in errors[11]
    assert "is this replica itself" in errors[12]
    assert [each["on"] for each in answers[15]["waiting"]] == ["laptop", "laptop"]
    assert answers[15]["waiting"][0]["message"] == answers[6]["message"]
    assert len(answers) == 20
    assert "microcosm_send_buffer" in (phone / "m.txt").read_text()
    after = run("replica", "status", "phone.j", "--json").json
    assert (after["events"], after["waiting"], after["peers"]) == (5, [], [])


@pytest.mark.usefixtures("phone")
def test_status_names_what_a_message_waits_for_and_compact_keeps_it(run: Run) -> None:
    said = b'{"do": "send", "to": "laptop", "payload": "look"}\n'
    sent = run("replica", "serve", "phone.j", "--keys", "keys", stdin=said).json_lines[1]["message"]
    for _ in range(2):
        shown = run("replica", "status", "phone.j").out
        assert f"waiting: {sent} from phone to laptop waits for the ack of laptop\n" in shown
        assert run("replica", "compact", "phone.j").code == 0
    assert run("replica", "renew", "phone.j").code == 0
    assert run("replica", "serve", "phone.j", "--keys", "keys").code == 0
    renewed = run("replica", "status", "phone.j", "--json").json
    assert renewed["incarnation"] != int(sent.split(".")[1])
    assert [peer["name"] for peer in renewed["peers"]] == ["laptop"]
    metrics = run("replica", "metrics", "phone.j").out
    assert metrics.endswith("# EOF\n")
    assert "microcosm_events 1\n" in metrics


def test_what_cannot_be_served_is_one_clear_error(phone: Path, run: Run) -> None:
    """Exit 4, one line, and what is in the journal is as it was."""

    def refused(*options: str, why: str) -> None:
        before = (phone / "phone.j").read_bytes()
        found = run("replica", "serve", *options)
        assert found.code == 4
        assert found.out == ""
        assert found.err.startswith("error: ")
        assert found.err.count("\n") == 1
        assert why in found.err
        assert (phone / "phone.j").read_bytes() == before

    refused("phone.j", "--keys", "none", why="no such key file")
    (phone / "bad").write_text("{}")
    (phone / "bad").chmod(0o600)
    refused("phone.j", "--keys", "bad", why="is no key file")
    (phone / "keys").chmod(0o640)
    refused("phone.j", "--keys", "keys", why="others can read this key file; `chmod 600 keys`")
    (phone / "keys").chmod(0o600)
    refused("nothing.j", "--keys", "keys", why="nothing.j")
    refused(
        "phone.j",
        "--name",
        "tablet",
        "--keys",
        "keys",
        why="is the store of the replica phone, not of tablet",
    )
    for listens in ("--listen", "--http"):
        found = run("replica", "serve", "phone.j", "--keys", "keys", listens, "ä..ö:1")
        assert (found.code, found.out, "cannot listen " in found.err) == (4, "", True)
    with Journal.open(phone / "other", application="another", create=True):
        pass
    refused("other", "--keys", "keys", why="another")
    with Journal.open(phone / "phone.j", application=APPLICATION):
        refused("phone.j", "--keys", "keys", why=f"locked by process {os.getpid()}")
        assert run("replica", "status", "phone.j").code == 0
    with closing(sqlite3.connect(phone / "phone.j")) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.commit()
    refused("phone.j", "--keys", "keys", why="newer")


@pytest.mark.usefixtures("phone")
def test_a_peer_with_the_same_name_and_a_taken_address_are_refused(run: Run) -> None:
    same = run("replica", "serve", "phone.j", "--keys", "keys", "--member", "phone=127.0.0.1:9")
    assert (same.code, same.err.count("\n")) == (4, 1)
    assert "'phone' is this replica itself" in same.err
    for words in (
        ("serve", "phone.j", "--keys", "keys", "--member", "b=127.0.0.1:0"),
        ("member", "add", "phone.j", "b", "h:0"),
    ):
        nowhere = run("replica", *words)
        assert (nowhere.code, nowhere.err.count("port 0 is no port of a member")) == (2, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        found = run("replica", "serve", "phone.j", "--keys", "keys", "--listen", where)
    assert (found.code, found.err.count("\n")) == (4, 1)
    assert f"cannot listen on {where}" in found.err
    assert run("replica", "serve", "phone.j", "--keys", "keys").code == 0


def test_a_watched_status_is_drawn_again_until_it_is_interrupted(
    phone: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(range(2))

    def look(_: float) -> None:
        if next(looks, None) is None:
            raise KeyboardInterrupt
        run_aside("replica", "member", "add", str(phone / "phone.j"), "tablet", "127.0.0.1:11")

    monkeypatch.setattr("time.sleep", look)
    found = run("replica", "status", "phone.j", "--watch")
    assert found.code == 0
    first, *others, rest = found.out.split("\n\n")
    assert (len(others), rest) == (2, ""), "each view, plainly, where there is no terminal"
    assert first.startswith("replica phone")
    assert "tablet" not in first
    assert all("tablet at 127.0.0.1:11, not met yet" in view for view in others)
    assert "\x1b" not in found.out
    assert run("replica", "status", "phone.j", "--watch", "--json").code == 2


def test_what_is_watched_where_nobody_can_see_it_ends(phone: Path) -> None:
    watch = f'exec "{sys.executable}" -m microcosm replica status phone.j --watch >&-'
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(["sh", "-c", watch], cwd=phone, env=path, timeout=60, check=False)
    assert ended.returncode == 141


def run_aside(*argv: str) -> None:
    with redirect_stdout(io.StringIO()):
        assert main(argv) == 0
