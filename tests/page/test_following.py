"""A log that is read on as it grows: only whole lines of it, and from its beginning where it begins anew."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.cli.session.page_session import Following, SessionBackend, reread, signature
from microcosm.cli.session.session import How
from microcosm.logic.rulebook import read_rules
from microcosm.state.microcosm import Microcosm
from microcosm.traces.report import Report
from microcosm.traces.text.lines import only_whole_lines, open_lines
from tests.page.talking import Client, behind
from tests.page.test_server import SLOW, SOUGHT

ALBUM = Path(__file__).parents[2] / "examples" / "photo-album.jsonl"
LINES = ALBUM.read_text(encoding="utf-8").splitlines(keepends=True)
HOW = How(read_rules())

texts = st.lists(
    st.sampled_from([b"a", b"\n", b"\r\n", "é".encode(), b"{", b"long " * 900]), max_size=20
).map(b"".join)


@given(texts)
def test_what_is_read_ends_where_the_last_line_does(
    tmp_path_factory: pytest.TempPathFactory, text: bytes
) -> None:
    path = tmp_path_factory.mktemp("log") / "run.log"
    path.write_bytes(text)
    with only_whole_lines(), open_lines(path, Report()) as lines:
        found = [*lines]
    first, ended, _ = text.partition(b"\n")
    document = not ended or first.strip() in (b"", b"{", b"[")
    expected = text if document else text[: text.rindex(b"\n") + 1]
    path.write_bytes(expected)
    with open_lines(path, Report()) as lines:
        assert found == [*lines]


def test_a_log_cut_off_anywhere_is_that_of_its_whole_lines(tmp_path: Path) -> None:
    """Wherever a writer is within its last line, nothing of that line is believed."""
    log, whole = tmp_path / "run.jsonl", tmp_path / "whole" / "run.jsonl"
    whole.parent.mkdir()
    text = "".join(LINES[:6])
    for cut in range(len(LINES[0]), len(text) + 1, 7):
        log.write_text(text[:cut], encoding="utf-8")
        whole.write_text(text[: text.rindex("\n", 0, cut) + 1], encoding="utf-8")
        found = reread([str(log)], HOW)
        assert found.known.givens == Microcosm.read(whole).givens
        assert found.report is not None
        assert "bad-line" not in found.report.counts


def test_packed_files_and_documents_are_read_as_they_are(tmp_path: Path) -> None:
    packed, document = tmp_path / "run.jsonl.gz", tmp_path / "spans.json"
    packed.write_bytes(gzip.compress("".join(LINES).encode().removesuffix(b"\n")))
    span = {"traceId": "1", "spanId": "a", "name": "x", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    spans = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [span]}]}]}
    for text in (json.dumps(spans), json.dumps(spans, indent=1)):
        document.write_text(text, encoding="utf-8")
        assert len(reread([str(document)], HOW).known.events_table or ()) == 2
    assert len(reread([str(packed)], HOW).known) == 15


def test_what_was_supposed_is_still_supposed(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text("".join(LINES[:9]), encoding="utf-8")
    who = behind(log)
    who.answer("suppose ask < acl-saved")
    who.answer("suppose upload < look")
    version = who.version
    log.write_text("".join(LINES), encoding="utf-8")
    found = reread([str(log)], HOW)
    who.renew(found, who.pack(found.known, found))
    assert who.version != version
    assert who.note is None
    assert who.answer("login ? like-seen")["verdict"] == "<"
    assert who.answer("ask ? acl-told")["verdict"] == who.answer("upload ? like")["verdict"] == "<"
    assert who.contents()["head"]["counts"]["events"] == 15
    contrary = [
        '{"process": "p", "seq": 1, "kind": "internal", "id": "look"}',
        '{"process": "p", "seq": 2, "kind": "internal", "id": "upload"}',
    ]
    log.write_text("\n".join(contrary) + "\n", encoding="utf-8")
    found = reread([str(log)], HOW)
    who.renew(found, who.pack(found.known, found))
    assert who.note == "no longer supposed: suppose upload < look"
    assert who.answer("look ? upload")["verdict"] == "<"


def followed(log: Path, text: str, *said: str, edit: bool = False) -> SessionBackend:
    """A session in which some lines were said before the log said this."""
    who = behind(log, edit=edit)
    following = Following([str(log)], who.session.how)
    for line in said:
        assert "error" not in who.answer(line)
    log.write_text(text, encoding="utf-8")
    following.look(who, lambda work: work())
    return who


def test_what_was_changed_is_still_changed(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text("".join(LINES[:9]), encoding="utf-8")
    changes = ["ask < acl-saved", "remove login < ask", "internal x", "suppose upload < look", "forget edit"]
    who = followed(log, "".join(LINES), *changes, edit=True)
    assert who.note is None
    assert who.answer("undo 9")["changes"] == [
        "forget edit", "suppose upload < look", "internal x", "remove login < ask", "add ask < acl-saved"
    ]  # fmt: skip
    assert who.answer("diff")["diff"] == []
    assert who.answer("login ? like-seen")["verdict"] == "<"
    stated = tmp_path / "run.mc"
    stated.write_text("a < b\n", encoding="utf-8")
    who = followed(stated, "c < b\n", "b < c", "a || d")
    assert who.note == "no longer given: add b < c"
    assert (who.answer("b ? c")["verdict"], who.answer("a ? d")["verdict"]) == (">", "||")


def test_what_is_followed_is_shown_in_the_place_of_what_was_loaded_or_saved_and_that_is_said(
    tmp_path: Path,
) -> None:
    log, other = tmp_path / "run.jsonl", tmp_path / "other.mc"
    for say, lost in ((f"load {other}", "no longer given: add m < o; "), (f"save! {other}", "")):
        log.write_text("".join(LINES[:9]), encoding="utf-8")
        other.write_text("m < n\n", encoding="utf-8")
        who = followed(log, "".join(LINES), say, "m < o", edit=True)
        assert who.note == f"{lost}what is followed is shown again, in the place of {other}"
        assert who.session.logs == (str(log),)
        assert (who.answer("m ? o")["verdict"] == "<") is not bool(lost)


def test_a_signature_tells_growth_truncation_and_rotation(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text(LINES[0], encoding="utf-8")
    seen = [signature([str(tmp_path)])]
    with log.open("a", encoding="utf-8") as file:
        file.write(LINES[1])
    seen.append(signature([str(tmp_path)]))
    os.truncate(log, len(LINES[0]))
    seen.append(signature([str(tmp_path)]))
    log.rename(tmp_path / ".old")
    assert signature([str(log)]) == ()
    log.write_text(LINES[0], encoding="utf-8")
    seen.append(signature([str(tmp_path)]))
    (tmp_path / "second.jsonl").write_text(LINES[2], encoding="utf-8")
    seen.append(signature([str(tmp_path)]))
    assert len({*seen}) == 5


Started = Callable[..., tuple[Client, subprocess.Popen[str]]]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """`view` as people start it, in a process of its own."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str, stdin: IO[str] | None = None) -> tuple[Client, subprocess.Popen[str]]:
        command = [sys.executable, "-m", "microcosm", "view", *arguments, "--no-browser"]
        process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        running.append(process)
        assert process.stdout is not None
        return Client(process.stdout.readline().strip()), process

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(os.path.abspath, sys.path)))
    yield start
    for process in running:
        process.kill()
        process.communicate()
    for client in Client.made:
        client.close()
    Client.made.clear()


def until(client: Client, seen: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The head of the page, as soon as it is as wanted."""
    deadline = time.monotonic() + 60
    while True:
        head = client.http.get("/columns").json()["head"]
        if seen(head):
            return head  # type: ignore[no-any-return]
        assert time.monotonic() < deadline, head["counts"]
        time.sleep(0.05)


def test_a_log_is_read_on_as_it_grows_and_ctrl_c_ends_it(started: Started, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text("".join(LINES[:4]) + LINES[4][:30], encoding="utf-8")
    client, process = started("run.jsonl", "--follow")

    def events(many: int) -> Callable[[dict[str, Any]], bool]:
        return lambda head: bool(head["counts"]["events"] == many)

    until(client, events(4))
    with log.open("a", encoding="utf-8") as file:
        file.write(LINES[4][30:] + LINES[5] + LINES[6][:-2])
    until(client, events(6))
    with log.open("a", encoding="utf-8") as file:
        file.write(LINES[6][-2:] + "".join(LINES[7:]))
    assert until(client, events(15))["gaps"]
    assert client.line("unshare ? acl-seen")["verdict"] == "<"
    log.write_text("".join(LINES[:3]), encoding="utf-8")  # cut short, and written anew
    until(client, events(3))
    log.rename(tmp_path / "old")  # rotated: for a while there is none
    time.sleep(0.3)
    assert client.line("unshare ? edit")["verdict"] is not None
    log.write_text("".join(LINES[:2]), encoding="utf-8")
    until(client, events(2))
    log.write_bytes(b"\x00nothing that is a log\n")
    with client.http.stream("GET", "/events") as stream:
        for line in stream.iter_lines():
            if "cannot be read on" in line:
                break
    until(client, events(2))  # what was known stays
    log.write_text("".join(LINES[:5]), encoding="utf-8")
    until(client, events(5))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == ""
    assert "Traceback" not in err


def test_ctrl_c_ends_what_is_being_computed(started: Started, tmp_path: Path) -> None:
    (tmp_path / "slow.mc").write_text(f"{SLOW} < b\n", encoding="utf-8")
    client, process = started("slow.mc", "--limit", "0")
    with pytest.raises(httpx.ReadTimeout):
        client.http.post("/line", json={"line": f"events /{SOUGHT}/"}, timeout=0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in err


def test_what_cannot_be_read_is_said_before_anything_is_served(started: Started, tmp_path: Path) -> None:
    (tmp_path / "bad.mc").write_text("a < \n", encoding="utf-8")
    for name in ("bad.mc", "missing.mc"):
        process = subprocess.run(
            [sys.executable, "-m", "microcosm", "view", name, "--no-browser"],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (process.returncode, process.stdout) == (4, "")
        assert process.stderr.startswith(f"error: {name}")


def test_a_microcosm_of_a_program_is_viewed_until_it_is_interrupted(tmp_path: Path) -> None:
    program = (
        "from microcosm import Microcosm; m = Microcosm.parse('a < b'); m.view(browser=False); print(len(m))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    client = Client(process.stdout.readline().strip())
    assert client.line("b < c")["version"]
    assert client.line("a ? c")["verdict"] == "<"
    client.close()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (0, "2\n")  # its own copy was changed
    assert "Traceback" not in err


def test_standard_input_and_questions_of_a_file(started: Started, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("".join(LINES), encoding="utf-8")
    (tmp_path / "run.ask").write_text('event w where label ~ "upload"\nnever w || w\n', encoding="utf-8")
    with (tmp_path / "run.jsonl").open() as log:
        client, _ = started("-", "--ask", "run.ask", stdin=log)
    head = client.http.get("/columns").json()["head"]
    assert head["counts"]["events"] == 15
    assert [question["text"] for question in head["questions"]] == ["never w || w"]
