"""`replica serve` without a standard input: a Unix socket, HTTP, JSON logs, a unit file, a container."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from microcosm.cli.exits import UsageError
from microcosm.cli.options import endpoint_of
from microcosm.files import host_and_port
from microcosm.replica.network.keys import new_ring, write_keys
from tests.replica.served import PATIENCE, ROOT

pytest.importorskip("cryptography")

EXAMPLES = ROOT / "examples" / "operating"


class Client:
    """One that speaks lines over the socket."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rwb")

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def put(self, **asked: Any) -> None:
        self.file.write(json.dumps(asked).encode() + b"\n")
        self.file.flush()

    def line(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.readline())
        return found

    def ask(self, do: str, **what: Any) -> dict[str, Any]:
        """The answer to a line; what is told meanwhile is passed over."""
        self.put(do=do, id=do, **what)
        while "event" in (found := self.line()):
            pass
        assert found["re"] == do
        return found


class Service:
    """A replica as a service runs it: nothing to read, standard output in a file."""

    def __init__(self, folder: Path, *more: str, name: str = "phone") -> None:
        self.folder, self.path = folder, folder / f"{name}.sock"
        self.out, self.errors = folder / f"{name}.out", folder / f"{name}.errors"
        if not (folder / "keys").exists():
            write_keys(folder / "keys", new_ring())
        line = [sys.executable, "-m", "microcosm", "replica", "serve", f"{name}.journal", "--keys", "keys"]
        line += ["--name", name, "--stay", "--socket", f"{name}.sock", "--http", "127.0.0.1:0", *more]
        with self.out.open("wb") as out, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                line,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        self.clients: list[Client] = []
        self.serving: dict[str, Any] = {}

    def ready(self) -> Service:
        """Wait until it serves."""
        until = time.monotonic() + PATIENCE
        while not self.out.read_bytes().endswith(b"\n"):
            assert self.process.poll() is None, self.errors.read_text()
            assert time.monotonic() < until
            time.sleep(0.02)
        self.serving = json.loads(self.out.read_text().splitlines()[0])
        return self

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        host, _, port = self.serving["http"].rpartition(":")
        asking = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=PATIENCE)
        asking.request(method, path)
        with closing(asking):
            answer = asking.getresponse()
            return answer.status, answer.read().decode()

    def client(self) -> Client:
        self.clients.append(Client(self.path))
        return self.clients[-1]

    def end(self) -> int:
        for client in self.clients:
            client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: that of a Unix socket has some hundred bytes at most."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def test_clients_of_the_socket_are_answered_and_told_each_for_itself(folder: Path) -> None:
    service = Service(folder, "--log", "json").ready()
    try:
        assert stat.S_IMODE(service.path.stat().st_mode) == 0o600
        one, two = service.client(), service.client()
        assert one.ask("local", event="upload")["dot"]
        assert two.ask("events")["events"] == ["upload"]
        two.file.write(b"no json\n[1]\n")
        two.put(do="local", event=7, id="x")
        assert ["error" in two.line() for _ in range(3)] == [True] * 3
        one.put(do="when", left="upload", right="share", id="when")
        assert one.line()["re"] == "when"
        assert two.ask("learn", given="upload < share")["dots"]
        told = [one.line()]
        assert [each["event"] for each in told] == ["decided"]
        half = service.client()  # goes in the midst of a line: it is no line of anybody else
        half.file.write(b'{"do": "stop"')
        half.file.flush()
        half.close()
        for number in range(200):  # more than are read ahead
            two.put(do="local", event=f"e{number}", id=number)
        assert [two.line()["re"] for _ in range(200)] == [*range(200)]

        status, text = service.get("/metrics")
        assert status == 200
        assert text.endswith("# EOF\n")
        digest = one.ask("digest")["digest"]
        assert f'microcosm_digest_info{{digest="{digest}"}} 1' in text
        size = int(text.partition("\nmicrocosm_journal_bytes ")[2].split()[0])
        assert size > 4096
        assert 'microcosm_health{health="ok"} 1' in text
        assert "microcosm_fault{" not in text
        assert service.get("/healthz") == service.get("/readyz") == (200, '{"health": "ok", "fault": null}\n')
        assert service.get("/")[0] == 404
        assert service.get("/metrics", "POST")[0] == 405

        second = Service(folder, "--log", "json", "--socket", str(service.path), name="tablet")
        assert second.process.wait(PATIENCE) == 4
        said = json.loads(second.errors.read_text().splitlines()[-1])
        assert said["level"] == "error"
        assert "another process listens" in said["message"]
        assert len(one.ask("events")["events"]) == 202  # the first one still listens
        assert "error" not in one.ask("stop")
        assert service.process.wait(PATIENCE) == 0
        assert not service.path.exists()
    finally:
        service.end()


def test_who_reads_is_not_cut_off_however_much_there_is(folder: Path) -> None:
    service = Service(folder).ready()
    try:
        client = service.client()
        events = [f"{number:02}{'e' * 60_000}" for number in range(40)]
        for event in events:
            assert client.ask("local", event=event)["dot"]
        assert client.ask("events")["events"] == events
        assert client.ask("events")["events"] == events
    finally:
        service.end()


def test_who_is_ready_and_who_only_lives(folder: Path) -> None:
    """A journal that cannot be written: it answers, and says that it is not to be sent work."""
    service = Service(folder).ready()
    try:
        client = service.client()
        client.ask("local", event="x")
        pid, file = service.process.pid, resource.RLIMIT_FSIZE
        unlimited = resource.prlimit(pid, file, (8192, resource.RLIM_INFINITY))  # what it tells is less
        assert "error" in client.ask("local", event="y")
        until = time.monotonic() + PATIENCE
        while json.loads(service.get("/healthz")[1])["health"] != "read-only":
            assert time.monotonic() < until
            time.sleep(0.05)
        assert (service.get("/healthz")[0], service.get("/readyz")[0]) == (200, 503)
        resource.prlimit(pid, file, unlimited)
        while service.get("/readyz")[0] != 200:
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        assert service.end() == 0, service.errors.read_text()


def test_there_is_room_for_so_many_clients(folder: Path) -> None:
    service = Service(folder).ready()
    try:
        clients = [service.client() for _ in range(64)]
        assert "digest" in clients[-1].ask("digest")
        one_more = service.client()
        assert one_more.line()["error"] == "64 clients are here already"
        clients[0].close()
        until = time.monotonic() + PATIENCE
        while "error" in (answer := service.client().ask("digest")):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert "digest" in answer
    finally:
        assert service.end() == 0


def test_a_connection_for_which_there_is_no_file_ends_nothing(folder: Path) -> None:
    """It was the end of the replica, and was said of its standard output."""
    service = Service(folder, "--http", "127.0.0.1:0").ready()
    host, _, port = service.serving["http"].rpartition(":")
    limits = resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE)
    used = len(os.listdir(f"/proc/{service.process.pid}/fd"))
    resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (used + 2, limits[1]))
    connections = [socket.create_connection((host, int(port))) for _ in range(10)]
    until = time.monotonic() + PATIENCE
    while "connections wait: [Errno 24]" not in service.errors.read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    for connection in connections:
        connection.close()
    resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, limits)
    assert service.get("/healthz")[0] == 200
    assert "dot" in service.client().ask("local", event="goes on")
    assert service.end() == 0


def test_an_address_is_told_as_it_is_taken(folder: Path) -> None:
    """Also one of IPv6, which had no brackets in what was told, and could be stated without."""
    for host in ("192.0.2.7", "album.example", "::1", "fe80::1%eth0"):
        assert endpoint_of(host_and_port(host, 7001)) == (host, 7001)
    for unclear in ("::1", "2001:db8::7", "::1:7001", "[::1:7001", "::1]:7001", "[]:1"):
        with pytest.raises(UsageError):
            endpoint_of(unclear)
    service = Service(folder, "--http", "[::1]:0", "--listen", "[::1]:0").ready()
    assert [service.serving[each].startswith("[::1]:") for each in ("http", "address")] == [True, True]
    assert service.get("/healthz")[0] == 200
    assert service.end() == 0


def test_keys_are_read_again_at_a_signal(folder: Path) -> None:
    """Keys that cannot be used leave those that there are; with those of the group it is met."""
    service = Service(folder).ready()
    (folder / "keys").rename(folder / "keys of another group")
    tablet = Service(folder, "--member", f"phone={service.serving['address']}", name="tablet").ready()
    until = time.monotonic() + PATIENCE
    try:
        client, other = service.client(), tablet.client()
        client.ask("member", name="tablet", address=tablet.serving["address"])
        client.ask("local", event="of both")
        (folder / "keys").chmod(0o644)
        service.process.send_signal(signal.SIGHUP)
        while "the keys stay as they were" not in service.errors.read_text():
            assert time.monotonic() < until
            time.sleep(0.02)
        assert other.ask("events")["events"] == []
        (folder / "keys").chmod(0o600)
        service.process.send_signal(signal.SIGHUP)
        while other.ask("events")["events"] != ["of both"]:
            assert time.monotonic() < until
            time.sleep(0.2)
    finally:
        assert (service.end(), tablet.end()) == (0, 0)


def test_a_signal_while_the_journal_is_opened_ends_nothing(folder: Path) -> None:
    """It did, with whatever reads the keys again as soon as they are new."""
    write_keys(folder / "keys", new_ring())
    program = """if True:
        import os, signal, sys
        from microcosm.cli.app import main
        from microcosm.cli.replica import serving

        def reading(path, read=serving.read_keys, times=[]):
            times.append(path)
            if len(times) == 1:
                os.kill(os.getpid(), signal.SIGHUP)
            print("read", file=sys.stderr)
            return read(path)

        serving.read_keys = reading
        sys.exit(main(["replica", "serve", "p", "--name", "phone", "--keys", "keys"]))
    """
    command = [sys.executable, "-c", program]
    ended = subprocess.run(
        command, check=False, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "read\nread\n")


def test_a_socket_that_nobody_answers_is_replaced_and_a_file_is_not(folder: Path) -> None:
    service = Service(folder).ready()
    service.process.kill()
    service.process.wait(PATIENCE)
    assert service.path.exists()
    service = Service(folder).ready()
    assert service.client().ask("events")["events"] == []
    assert service.end() == 0
    assert not service.path.exists()
    service.path.write_text("mine")
    service = Service(folder)
    assert service.process.wait(PATIENCE) == 4
    assert "is no socket" in service.errors.read_text()
    assert service.path.read_text() == "mine"


def test_the_unit_and_the_container_run_the_same_command(folder: Path) -> None:
    """Each as it stands in its file, with its paths below a folder, by whoever runs the tests."""
    unit = (EXAMPLES / "microcosm-replica.service").read_text()
    start = shlex.split(next(line for line in unit.splitlines() if line.startswith("ExecStart="))[10:])
    container = (EXAMPLES / "Containerfile").read_text()
    entry = json.loads(next(line for line in container.splitlines() if line.startswith("ENTRYPOINT "))[11:])
    for number, line in enumerate((start, entry)):
        below = folder / str(number)
        below.mkdir()
        write_keys(below / "album.keys", new_ring())
        command = [re.sub(r"^(/\S*|%d)/", f"{below}/", part).replace(":7001", ":0") for part in line[1:]]
        command[command.index("--http") + 1] = "127.0.0.1:0"
        process = subprocess.Popen(
            [sys.executable, "-m", "microcosm", *command],
            cwd=below, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["event"] == "serving"
        assert said["name"] == "phone"
        path = next(Path(command[at + 1]) for at, part in enumerate(command) if part == "--socket")
        client = Client(path)
        assert client.ask("status")["health"] == "ok"
        client.close()
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=PATIENCE)[1] == b""
        assert process.returncode == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_finds_nothing_to_say_of_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "microcosm-replica.service"
    text = (EXAMPLES / unit.name).read_text().replace("/opt/microcosm/bin/microcosm", sys.executable)
    unit.write_text(text)
    found = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert unit.name not in found.stderr
    assert found.returncode == 0, found.stderr
    unit.write_text(text.replace("ExecStart=", "ExecStrat="))
    assert (
        subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, check=False).returncode
        != 0
    )
