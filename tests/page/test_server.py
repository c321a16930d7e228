"""Who may ask the server of a page, what, and how much; what it answers is what a session answers."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import re
import socket
import sys
import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from microcosm.cli.app import main
from microcosm.errors import Undefined
from microcosm.page.server import MOST_BYTES, TookTooLong, Turns, listening
from tests.page.talking import Client, behind, talked

ALBUM = Path(__file__).parents[2] / "examples" / "photo-album.jsonl"

MC = "unshare < upload\nupload < notify\nlike || upload\n"


@pytest.fixture
def album(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("album.mc").write_text(MC, encoding="utf-8")
    return Path("album.mc")


def test_nobody_asks_without_the_token_or_from_elsewhere(album: Path) -> None:
    line = json.dumps({"line": "like < notify"})

    def talk(address: str) -> list[tuple[str, int]]:
        with_it = Client(address)
        port = with_it.url.rpartition(":")[2]
        bare = Client(address).http
        del bare.headers["Authorization"]
        found = []

        def tried(what: str, **headers: str) -> None:
            right = {"Authorization": f"Bearer {with_it.token}".encode()}
            said = {name: value.encode("latin-1") for name, value in headers.items()}
            for path in ("/line", "/columns", "/events", "/elsewhere"):
                method = "POST" if path == "/line" else "GET"
                answer = bare.request(method, path, content=line, headers=right | said)
                assert "unshare" not in answer.text
                found.append((what, answer.status_code))

        for token in (
            "",
            "Bearer",
            f"Bearer {'0' * 32}",
            f"Basic {with_it.token}",
            with_it.token,
            "Bearer é",
        ):
            tried("token", Authorization=token)
        for host in (
            "evil.example",
            f"evil.example:{port}",
            f"127.0.0.1.evil.example:{port}",
            f"[::1]:{port}",
            "",
        ):
            tried("host", Host=host)
        for origin in (
            "http://evil.example",
            "null",
            f"https://127.0.0.1:{port}",
            f"http://localhost:{port}",
            "",
        ):
            tried("origin", Origin=origin)
        tried("both", Origin="http://evil.example", Host="evil.example")
        for host, status in (("evil.example", 421), (f"localhost:{port}", 200)):
            answer = bare.get("/", headers={"Host": host})
            assert answer.status_code == status
        assert bare.get("/", headers={"Origin": "http://evil.example"}).status_code == 403
        assert with_it.http.post("/line", content=line, headers={"Origin": with_it.url}).status_code == 200
        return found

    codes = {"token": 401, "host": 421, "origin": 403, "both": 421}
    found = talked(who := behind(album), talk)
    assert len(found) == 4 * 17
    assert [each for each in found if each[1] != codes[each[0]]] == []
    assert who.session.known.online("like", "notify").value == "<"  # by the one who might


def test_two_hosts_in_one_request_are_none(album: Path) -> None:
    def talk(address: str) -> bytes:
        port = int(address.partition("/#")[0].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            head = (
                f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
            )
            connection.sendall(head.encode())
            return connection.makefile("rb").readline()

    assert talked(behind(album), talk).split()[1] in (b"400", b"421")


def test_bodies_are_small_json_with_one_line(album: Path) -> None:
    bodies: list[tuple[Any, int]] = [
        (b"", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b"[" * 50_000, 400),
        (b'"line"', 400),
        (b'{"line": 1}', 400),
        (b'{"line": "a < b\\nc < d"}', 400),
        (b'{"line": "a < b\\rc < d"}', 400),
        (json.dumps({"line": " " * MOST_BYTES}).encode(), 413),
        ((b" " * 10_000 for _ in range(100)), 413),
        (json.dumps({"line": "x" * 60_000}).encode(), 200),
        (b'{"line": "\\ud800 < b?"}', 200),
        (b'{"line": "\\u0000"}', 200),
        (b'{"line": ""}', 200),
    ]

    def talk(address: str) -> list[int]:
        client = Client(address)
        codes = [client.http.post("/line", content=body).status_code for body, _ in bodies]
        return [*codes, client.http.get("/line").status_code, client.http.put("/columns").status_code]

    assert talked(behind(album), talk) == [*(code for _, code in bodies), 405, 405]


def test_the_page_without_a_token_says_nothing_of_the_log_and_may_do_nothing_else() -> None:
    answer = talked(behind(ALBUM), lambda address: httpx.get(address, trust_env=False))
    assert not any(word in answer.text for word in ("unshare", "album", "laptop", "digest-seen"))
    policy = answer.headers["Content-Security-Policy"]
    [script] = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_tokens_are_of_128_bits_and_never_the_same(album: Path) -> None:
    tokens = {talked(behind(album), lambda address: Client(address).token) for _ in range(3)}
    assert len(tokens) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", token) for token in tokens)


LINES = [
    "unshare ? notify",
    "why unshare < notify",
    "why not notify < unshare",
    "what if like < unshare",
    "what if like || notify",
    "offline like notify",
    "like < notify",
    "diff",
    "notify < unshare",
    "suppose late < like",
    "undo 2",
    "redo",
    "past of notify",
    "nonsense nonsense nonsense",
    "like <",
    "find name = like",
    "# nothing",
    "save album2.mc",
]


def test_answers_are_those_of_repl(
    album: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(LINES).encode())))
    main(["repl", str(album), "--json", "-q"])
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    saved = Path("album2.mc").read_text(encoding="utf-8")
    Path("album2.mc").unlink()

    def talk(address: str) -> list[dict[str, object]]:
        client = Client(address)
        return [client.line(line) for line in LINES]

    answers = talked(behind(album), talk)
    changed = [answer["line"] for answer in answers if answer.pop("version", None) is not None]
    assert changed == ["like < notify", "suppose late < like", "undo 2", "redo"]
    assert [answer for answer in answers if answer["line"] != "# nothing"] == told
    assert Path("album2.mc").read_text(encoding="utf-8") == saved


def test_columns_are_those_of_the_version(album: Path) -> None:
    def talk(address: str) -> list[Any]:
        client = Client(address)
        first = client.http.get("/columns").json()
        again = client.http.get(f"/columns?since={first['version']}").status_code
        version = client.line("like < late")["version"]
        second = client.http.get(f"/columns?since={first['version']}").json()
        client.line("undo")
        third = client.http.get("/columns?since=nonsense").json()
        return [first, again, version, second, third]

    first, again, version, second, third = talked(behind(album), talk)
    assert (again, second["version"], third) == (204, version, first)
    assert second["head"]["counts"]["events"] == first["head"]["counts"]["events"] + 1 == 5
    names = gzip.decompress(base64.b64decode(second["columns"]["names"])).decode().splitlines()
    assert {*names} == {"unshare", "upload", "notify", "like", "late"}


def test_each_change_is_told_to_everybody(album: Path) -> None:
    def talk(address: str) -> list[int]:
        one, other = Client(address), Client(address)
        versions = []
        with one.http.stream("GET", "/events") as stream:
            lines = (line for line in stream.iter_lines() if line.startswith("data: "))
            for line in (None, "like < late", "undo"):
                if line is not None:
                    other.line(line)
                versions.append(json.loads(next(lines)[6:])["version"])
        return versions

    first, second, third = talked(behind(album), talk)
    assert first == third != second


def test_what_was_supposed_and_withdrawn_between_two_looks_is_told(album: Path) -> None:
    """The version is the first one again: who saw the second has to be told."""

    def talk(address: str) -> list[str]:
        one, other = Client(address), Client(address)
        with one.http.stream("GET", "/events") as stream:
            lines = filter(None, stream.iter_lines())
            told = [next(lines)]
            other.line("like < late")
            other.line("undo")
            while len(told) < 2 or ('"' in told[-1] and told[-1] != told[0]):
                told.append(next(lines))
        return told

    first, *_, last = talked(behind(album), talk)
    assert last == first  # and not ": still there", which is said when nothing was told for long


SLOW, SOUGHT = "a" * 1000, "a*a*a*a*b"
"""A name, and an expression that is looked for by trying all ways to cut it up: 10^12 of them."""


def test_an_alarm_takes_no_interrupt_away() -> None:
    def work() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            time.sleep(0.1)

    turns = Turns(0.01)
    promise = turns.put(work, lambda: None)
    turns.close()
    with pytest.raises(KeyboardInterrupt):
        turns.run()
    assert not promise.done()


def test_an_answer_that_takes_too_long_makes_room_for_the_next(tmp_path: Path) -> None:
    path = tmp_path / "slow.mc"
    path.write_text(f'"{SLOW}" < b\nb < c\n', encoding="utf-8")
    who = behind(path)

    def talk(address: str) -> list[Any]:
        client, others = Client(address), [Client(address) for _ in range(3)]
        client.line("c < d")
        found: list[Any] = [None] * 4

        def ask(number: int) -> None:
            found[number] = others[number].line((f"events /{SOUGHT}/", "b ? d", "why b < d")[number])

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
            time.sleep(0.05)
        for thread in threads:
            thread.join()
        found[3] = client.line("diff")
        return found

    slow, verdict, proof, diff = talked(who, talk, limit=2)
    assert "took too long" in slow["error"]
    assert verdict["verdict"] == proof["verdict"] == "<"
    assert diff["diff"] == [["+", "c < d"]]  # nothing is lost by it


def test_work_that_is_ended_is_recovered_from_and_the_rest_is_done() -> None:
    turns, recovered = Turns(0.05), []

    def forever() -> None:
        while True:
            pass

    late = turns.put(forever, lambda: recovered.append("late"))
    swallowed = turns.put(_swallowing, lambda: recovered.append("swallowing"))
    given_up = turns.put(forever, lambda: recovered.append("given up"))
    given_up.cancel()
    failed = turns.put(lambda: 1 // 0, lambda: recovered.append("failed"))
    without = turns.put(lambda: time.sleep(0.2) or "unlimited")
    fine = turns.put(lambda: "fine", lambda: recovered.append("fine"))
    turns.close()
    turns.run()
    assert recovered == ["late", "swallowing"]
    assert isinstance(late.exception(), TookTooLong)
    assert isinstance(swallowed.exception(), TookTooLong)
    assert isinstance(failed.exception(), ZeroDivisionError)
    assert (without.result(), fine.result()) == ("unlimited", "fine")


def test_work_is_done_in_the_main_thread_alone() -> None:
    found: list[BaseException] = []

    def run() -> None:
        try:
            Turns().run()
        except Undefined as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "main thread" in str(found[0])


def _swallowing() -> None:
    """Work that goes on whatever fails in it."""
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


def test_a_page_that_is_read_only_changes_nothing(album: Path) -> None:
    changes = ["a < b", "add a < b", "suppose a < b", "remove unshare < upload", "forget like", "internal x"]
    changes += ["save", "save other.mc", "save! other.mc", "load other.mc", "undo", "update like < upload"]

    def talk(address: str) -> list[Any]:
        client = Client(address)
        before = client.http.get("/columns").text
        answers = [client.line(line) for line in changes]
        assert client.http.get("/columns").text == before
        return [*answers, client.line("unshare ? notify")]

    *refused, asked = talked(behind(album, read_only=True), talk)
    assert all("read-only" in answer["error"] for answer in refused)
    assert asked["verdict"] == "<"
    assert [path.name for path in Path().iterdir()] == ["album.mc"]
    assert album.read_text(encoding="utf-8") == MC


def test_a_fault_is_an_answer_and_quitting_is_not_for_the_page(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = behind(album)

    def fails(line: str) -> None:
        raise RecursionError("too deep")

    def talk(address: str) -> list[Any]:
        client = Client(address)
        quitting = client.line("quit!")
        with monkeypatch.context() as patched:
            patched.setattr(who.session, "answer", fails)
            fault = client.line("a < b?")
        return [quitting, fault, client.line("unshare ? upload")]

    quitting, fault, after = talked(who, talk)
    assert "Ctrl-C" in quitting["error"]
    assert "RecursionError" in fault["error"]
    assert after["verdict"] == "<"


def test_a_port_in_use_is_said(album: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["view", str(album), "--no-browser", "--port", str(port)]) == 4
    assert f"cannot listen on 127.0.0.1 port {port}" in capsys.readouterr().err
    assert main(["view", "-", "--follow", "--no-browser"]) == 2


def test_answers_wait_for_no_acknowledgement() -> None:
    async def asked() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            found.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(accept, sock=listening(0)) as server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            told = await found
            writer.close()
            await writer.wait_closed()
            return told

    assert asyncio.run(asked()) != 0


def test_two_replicas_are_shown_as_diff_ranks_their_news_and_asked_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from microcosm.cli.commands.page import _beside, sources_of
    from microcosm.cli.session.session import How
    from microcosm.logic.rulebook import read_rules

    phone, laptop = tmp_path / "phone.mc", tmp_path / "laptop.mc"
    phone.write_text("a < b < c\nx || y\n", encoding="utf-8")
    laptop.write_text("a < b < d\nc < d\ny < z\n", encoding="utf-8")
    one, two = sources_of([str(phone), str(laptop)], None)
    assert two is not None
    who = _beside(one, two, How(read_rules()), False, ())

    def talk(address: str) -> list[Any]:
        client = Client(address)
        head = client.http.get("/columns").json()["head"]
        first = client.line("a ? d")
        client.line("d < z")
        return [head, first, client.line("a ? z"), client.http.get("/columns").json()["head"]]

    head, together, later, after = talked(who, talk)
    assert main(["diff", str(phone), str(laptop), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [[item["fact"] for item in items] for items in head["other"]["news"]] == [
        [item["fact"] for item in items] for items in told["news"]
    ]
    assert together["verdict"] == later["verdict"] == "<"
    assert after["other"] == head["other"]
    assert head["counts"]["events"] == after["counts"]["events"] == 7
    assert phone.read_text(encoding="utf-8") == "a < b < c\nx || y\n"
