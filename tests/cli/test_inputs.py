"""One kind of input: microcosms and logs, files, folders, patterns, standard input, wherever FILE stands."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import pytest

from microcosm import Microcosm, Relation
from microcosm.cli import output
from microcosm.cli.app import main
from microcosm.errors import TextError
from microcosm.files import expanded, natural
from microcosm.state import opening

Run = Callable[..., Any]

LOG = [
    '{"process": "p", "seq": 1, "kind": "send", "message": "m", "label": "ask"}',
    '{"process": "q", "seq": 1, "kind": "receive", "message": "m", "label": "hear"}',
    '{"process": "q", "seq": 2, "kind": "internal", "label": "write x=1"}',
    '{"process": "p", "seq": 2, "kind": "internal", "label": "write x=2"}',
]
QUESTIONS = (
    ("online", "p:1", "q:2"),
    ("offline", "p:1", "q:2"),
    ("why", "p:1", "q:2"),
    ("why-not", "q:2 < p:1"),
    ("possible", "p:1", "q:2"),
    ("table",),
    ("check",),
    ("events",),
    ("draw",),
    ("evolve", "--add", "q:2 < late"),
    ("merge",),
)
"""Every command that takes FILE, but for those that compare or write, and what it is asked."""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("run.jsonl").write_text("\n".join(LOG) + "\n", encoding="utf-8")
    return "run.jsonl"


def split(folder: str) -> list[str]:
    """The log in a file for each process."""
    Path(folder).mkdir()
    for process in "pq":
        lines = [line for line in LOG if f'"process": "{process}"' in line]
        Path(folder, f"{process}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [f"{folder}/p.jsonl", f"{folder}/q.jsonl"]


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked[0])
def test_a_log_is_asked_as_the_microcosm_that_is_extracted_from_it(
    run: Run, log: str, asked: tuple[str, ...]
) -> None:
    command, *rest = asked
    assert run("extract", log, "-o", "run.mc", "-q").code == 0
    direct, by_file = run(command, log, *rest, "--json"), run(command, "run.mc", *rest, "--json")
    assert direct.code == by_file.code in (0, 3)
    assert direct.out.replace("run.jsonl", "run.mc") == by_file.out.replace("run.jsonl", "run.mc")


@pytest.mark.parametrize("asked", QUESTIONS[:-1], ids=lambda asked: asked[0])
def test_several_files_a_folder_a_pattern_and_a_stream_are_one_log(
    run: Run, log: str, asked: tuple[str, ...]
) -> None:
    command, *rest = asked
    files = split("parts")
    Path("parts/.hidden").write_text("nothing of this is read", encoding="utf-8")
    whole = json.dumps(json.loads(run(command, *files, *rest, "--json").out.splitlines()[0]))
    for given in (["parts"], ["parts/*.jsonl"], [*files[:1], "parts/q*"]):
        ran = run(command, *given, *rest, "--json")
        assert json.dumps(json.loads(ran.out.splitlines()[0])) == whole, ran.err
    piped = run(command, "-", *rest, "--json", stdin="\n".join(LOG).encode())
    by_file = run(command, log, *rest, "--json")
    assert piped.code == by_file.code
    assert piped.out.replace("<stdin>", log) == by_file.out


def test_a_stream_is_told_by_its_content(run: Run, log: str) -> None:
    text = b'{"schema": "microcosm/1", "external": [["a", "<", "b"]]}'
    for content, pair in ((b"a < b\n", "ab"), (text, "ab"), (gzip.compress("\n".join(LOG).encode()), None)):
        left, right = pair or ("p:1", "q:1")
        assert run("online", "-", left, right, stdin=content).out.split()[1] == "<" or pair is None
    assert run("online", "-", "a", "b", stdin=b"").code == 3


def test_a_stream_that_cannot_be_sought_in_is_put_aside(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    for in_memory in (1 << 20, 100):
        monkeypatch.setattr("microcosm.files.IN_MEMORY", in_memory)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Pipe("\n".join(LOG).encode())))
        assert Microcosm.read("-").online("p:1", "q:2") is Relation.BEFORE
        sys.stdin.close()


@pytest.mark.skipif(os.name == "nt", reason="pipes have no such names there")
def test_what_comes_through_a_pipe_is_read_as_a_file_is(run: Run, log: str) -> None:
    """Its beginning was looked at, and lost: `online <(…) a b` said that nothing is known of a and b."""

    def piped(content: str) -> str:
        reading, writing = os.pipe()
        os.write(writing, content.encode())
        os.close(writing)
        return f"/dev/fd/{reading}"

    text = "\n".join(LOG)
    for content, a, b in (("a < c\nc < b", "a", "b"), (text, "p:1", "q:2")):
        assert run("online", piped(content), a, b).out.startswith(f"{a} ")
        assert run("online", piped(content), a, b, "--json").json["verdict"] == "<"
        assert run("bisim", piped(content), piped(content)).code == 0
        assert run("table", piped(content), "--json").json["events"]
        assert run("order", piped(content), "--complete", "--json").code == 0
        assert Microcosm.read(piped(content)).online(a, b) is Relation.BEFORE
        assert Microcosm.from_trace(piped(content)).online(a, b) is Relation.BEFORE
    Path("a.mc").write_text("a < b", encoding="utf-8")
    answer = run("online", "a.mc", "a", "b", "--json").out
    assert run("verify", piped("a < b"), piped(answer)).code == 0
    parts = LOG[0], "\n".join(LOG[1:])
    for name, part in zip("xy", parts, strict=True):
        Path(name).write_text(part, encoding="utf-8")
    told = [run("order", *each, "--json").json_lines for each in (map(piped, parts), "xy")]
    through, stored = [[one["orderings"] for one in each] for each in told]
    assert through == stored
    os.mkfifo("again")
    for content, b in (("a < b", "b"), ("a < c", "c")):
        writer = Thread(target=Path("again").write_text, args=(content,))
        writer.start()
        assert Microcosm.read("again").online("a", b) is Relation.BEFORE
        writer.join()


def test_no_file_is_left_behind(run: Run, log: str) -> None:
    before = {path.name for path in Path().iterdir()}
    run("online", log, "p:1", "q:1")
    run("table", "-", stdin="\n".join(LOG).encode())
    assert {path.name for path in Path().iterdir()} == before


def test_several_microcosms_are_not_one(run: Run, log: str) -> None:
    Path("a.mc").write_text("a < b\n", encoding="utf-8")
    ran = run("online", "a.mc", log, "a", "b")
    assert ran.refused(2)
    assert "`merge` joins them" in ran.err
    with pytest.raises(TextError, match="merge"):
        Microcosm.read("a.mc", log)
    both = run("table", "a.mc", log, "--json")
    assert [json.loads(line)["file"] for line in both.out.splitlines()] == ["a.mc", log]


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_answered(run: Run, log: str) -> None:
    ran = run("check", "nowhere.mc", log)
    assert ran.code == 4
    assert "nowhere.mc: no such file" in ran.err
    assert f"{log}: consistent" in ran.out


def test_the_options_of_logs_are_those_of_every_command(run: Run, log: str) -> None:
    assert run("online", log, "p:1", "q:1", "--process", "q").code == 0
    assert run("online", log, "p:1", "q:1", "--format", "nonsense").code == 2
    assert "no execution" in run("table", log, "--trace", "9").err
    Path("a.mc").write_text("a < b\n", encoding="utf-8")
    ran = run("online", "a.mc", "a", "b", "--process", "p")
    assert (ran.code, "asked of logs" in ran.err) == (4, True)
    with pytest.raises(TextError, match="asked of logs"):
        Microcosm.read("a.mc", process="p")


def test_as_many_warnings_as_are_asked_for(run: Run, log: str) -> None:
    Path(log).write_text("\n".join([*LOG, *["nonsense"] * 9]), encoding="utf-8")
    told = {
        n: run("online", log, "p:1", "q:1", "--warnings", n).err.count("[bad-line]")
        for n in ("all", "2", "none")
    }
    assert told == {"all": 9, "2": 3, "none": 0}
    assert run("online", log, "p:1", "q:1", "--warnings", "many").code == 2


def test_folders_and_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("run10.log", "run2.log", "deep/a.log", ".git/x"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    assert expanded(["."]) == ["deep/a.log", "run2.log", "run10.log"]
    assert expanded(["run*.log", "-", "nowhere"]) == ["run2.log", "run10.log", "-", "nowhere"]
    Path("empty").mkdir()
    for nothing in ("empty", "no*"):
        with pytest.raises(TextError):
            expanded([nothing])
    assert sorted(["p:10", "p:9", "q", "p"], key=natural) == ["p", "p:9", "p:10", "q"]


def test_marks_of_a_table_that_spark_wrote_are_no_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere a name that begins with `_` is one like another: nothing of a log is left out."""
    monkeypatch.chdir(tmp_path)
    for name in ("table/_SUCCESS", "table/_started_1", "table/part-0.jsonl", "logs/_odd.log", "logs/a.log"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    assert expanded(["table"]) == expanded(["table/*"]) == ["table/part-0.jsonl"]
    assert expanded(["logs"]) == ["logs/_odd.log", "logs/a.log"]


def test_what_is_neither_says_so(run: Run, log: str) -> None:
    Path("what").write_text("Lorem ipsum dolor sit amet\n" * 3, encoding="utf-8")
    ran = run("online", "what", "a", "b")
    assert ran.code == 4
    assert "microcosm" in ran.err
    assert [source.fault is None for source in opening.sources(["what", "nowhere"])] == [True, False]


def test_a_pattern_that_matches_no_file_is_the_name_of_an_event(run: Run) -> None:
    Path("run.mc").write_text('"?" < "a < b"\na < b\n', encoding="utf-8")
    assert run("online", "run.mc", "?", "a < b", "--json").json["pair"] == ["?", "a < b"]
    assert run("online", "run*", "a < b", "--json").json["pair"] == ["a", "b"]
    Path("b").write_text("b < a", encoding="utf-8")  # which `?` matches
    assert "merge" in run("online", "run.mc", "?", "a < b").err
    for nowhere in ("*.none", "none.mc", ""):
        ran = run("online", nowhere, "a < b")
        assert ran.refused(4)
        assert "no such file" in ran.err or "an empty text names no file" in ran.err


def test_the_words_of_a_log_say_which_event(run: Run, log: str) -> None:
    for words in ("q:2", "run.jsonl:3", "./run.jsonl:3", "/x=1/", "/^q:2/", "/q:2 write/"):
        ran = run("online", log, "p:1", words, "--json")
        assert json.loads(ran.out)["pair"] == ["p:1", "q:2"]
    for words, said in (
        ("/write/", "is 2 events; say which"),
        ("/nothing like it/", "is no event"),
        ("/(/", "the regular expression does not compile"),
        ("run.jsonl:9", "the nearest lines"),
        ("/x=1/", "both events are"),
    ):
        ran = run("online", log, "/x=1/" if words == "/x=1/" else "p:1", words)
        assert ran.refused(2)
        assert said in ran.err
    assert run("online", log, "p:1", "elsewhere:3").code == 3
    assert run("online", log, "p:1", "elsewhere:3", "--must-exist").code == 4


def test_events_are_listed_in_natural_order_and_searched(run: Run, log: str) -> None:
    Path(log).write_text(
        "".join(
            f'{{"process": "p", "seq": {n}, "label": "n{n}", "http.status": {n}}}\n' for n in range(1, 13)
        ),
        encoding="utf-8",
    )
    names = [line.split()[0] for line in run("events", log).out.splitlines()]
    assert names == [f"p:{n}" for n in range(1, 13)]
    [row] = run("events", log, "http.status=7", "--json").out.splitlines()
    assert json.loads(row)["label"] == "n7"
    assert run("events", log, "--grep", "^n1", "seq=10").out.startswith("p:10")
    assert run("events", log, "seq=99").code == 3
    ran = run("events", log, "http.stats=7")
    assert (ran.code, "http.status" in ran.err) == (2, True)


@pytest.mark.parametrize("label", ["x", "a b", 'say "hi"', '"x"', "\\", 'a\\"', "a=b", "'", "=", '"'])
def test_a_session_finds_events_by_what_they_have_as_the_command_does(run: Run, label: str) -> None:
    rows = [{"process": "p", "label": each} for each in (label, "other", f'"{label}"', f"{label}=")]
    Path("m.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    for wanted in ([label], [label, label], ["other", label], [label, "other"]):
        found = [
            each["name"]
            for each in run("events", "m.jsonl", *(f"label={w}" for w in wanted), "--json").json_lines
        ]
        line = " ".join(["events", *(f"label={json.dumps(w)}" for w in wanted)])
        assert run("repl", "m.jsonl", "--json", stdin=f"{line}\n".encode()).json["events"] == found
        assert found == (["p:1"] if {*wanted} == {label} else [])


def test_answers_of_a_log_are_verified_with_their_words(run: Run, log: str) -> None:
    ran = run("online", log, "p:1", "q:2", "--json")
    Path("answer").write_text(ran.out, encoding="utf-8")
    assert json.loads(ran.out)["events"]["q:1"] == {"label": "hear", "file": log, "line": 2}
    assert run("verify", log, "answer").code == 0
    Path("answer").write_text(ran.out.replace("hear", "here"), encoding="utf-8")
    assert run("verify", log, "answer").code == 1


def test_a_long_proof_folds_and_is_whole_where_it_is_asked_for(run: Run, log: str) -> None:
    """A message goes from one to the next of a hundred processes, each of which is busy for a while."""
    lines = []
    for turn in range(100):
        said = [{"kind": "receive", "message": f"m{turn - 1}"}] if turn else []
        told = (*said, *[{"kind": "internal"}] * 5, {"kind": "send", "message": f"m{turn}"})
        for seq, more in enumerate(told, 1):
            lines.append(json.dumps({"process": f"p{turn}", "seq": seq, **more}))
    Path(log).write_text("\n".join(lines), encoding="utf-8")
    asked = ("why", log, "p0:1", "p99:7")
    folded, whole = run(*asked).out, run(*asked, "--full").out
    assert "p1:1 … p1:7  (process p1, 6 steps)" in folded
    [left_out] = [line for line in folded.splitlines() if "--full shows them" in line]
    links = int(left_out.split("…")[1].split()[0].replace(",", ""))
    shown = sum(int(steps) for steps in re.findall(r"(\d+) steps", folded)) + folded.count("(Init")
    assert links + shown == whole.count("(Init")
    assert len(folded.splitlines()) < 40 < len(whole.splitlines())
    assert run(*asked, "--json").out == run(*asked, "--json", "--full").out


def test_what_may_be_complete_is_said_to_be(run: Run, log: str) -> None:
    hint = "say --complete"
    assert hint in run("online", log, "q:2", "p:2").out
    assert hint not in run("online", log, "q:2", "nobody").out
    Path("holes.jsonl").write_text("\n".join(LOG[1:]), encoding="utf-8")
    assert hint not in run("online", "holes.jsonl", "q:2", "p:2").out
    ran = run("offline", "holes.jsonl", "q:2", "p:2", "--complete")
    assert ran.refused(4)
    assert "the log is not complete" in ran.err
    assert "holes.jsonl:1" in ran.err
    assert run("offline", log, "q:1", "q:2", "--complete=r").code == 4


def test_what_nothing_can_order_is_said_of_a_log_without_messages(run: Run, log: str) -> None:
    hint = "this log names no message"
    lines = [json.dumps({"process": who, "label": f"{who} {at}"}) for who in "pq" for at in range(2)]
    Path("apart.jsonl").write_text("\n".join(lines), encoding="utf-8")
    Path("one.jsonl").write_text("\n".join(lines[:2]), encoding="utf-8")
    assert hint in run("online", "apart.jsonl", "p:1", "q:1").out
    assert hint not in run("online", "apart.jsonl", "p:1", "p:2").out
    assert hint not in run("online", "apart.jsonl", "p:1", "nobody").out
    assert hint not in run("online", "one.jsonl", "p:1", "nobody").out
    assert hint not in run("online", log, "q:2", "p:2").out
    spans = [{"traceId": "t", "id": "a", "localEndpoint": {"serviceName": "s"}, "timestamp": 1}]
    spans += [{**spans[0], "id": each, "parentId": "a"} for each in "bc"]
    Path("spans.json").write_text(json.dumps(spans), encoding="utf-8")
    names = [json.loads(line)["name"] for line in run("events", "spans.json", "--json").out.splitlines()]
    assert hint not in run("online", "spans.json", *names[-2:]).out


def test_a_limit_on_verification_is_an_answer(run: Run, log: str) -> None:
    Path("a.mc").write_text("a <> b\n", encoding="utf-8")
    Path("answer").write_text(run("offline", "a.mc", "a", "b", "--json").out, encoding="utf-8")
    assert run("verify", "a.mc", "answer").code == 0
    ran = run("verify", "a.mc", "answer", "--limit", "0", "--json")
    assert ran.code in (0, 3)


def test_warnings_come_after_the_answer_where_people_look_on(
    log: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(log).write_text("\n".join([*LOG, "nonsense"]), encoding="utf-8")
    told: list[str] = []
    monkeypatch.setattr("microcosm.cli.output.is_terminal", lambda stream: stream is not sys.stdin)
    monkeypatch.setattr("microcosm.cli.output.complain", lambda *lines: told.extend(["said", *lines]))
    monkeypatch.setattr("microcosm.cli.output.say_all", lambda *lines: told.append("answer"))
    assert main(["online", log, "p:1", "q:1"]) == 0
    assert told[0] == "answer"
    assert "[bad-line]" in told[-1]


def test_progress_is_told_where_it_takes_long_and_people_look_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "PATIENCE", 0.01)
    monkeypatch.setattr(output, "EVERY", 0.01)
    with output.progress("counting", 10, "numbers") as nothing:
        assert nothing.stopping(None)() is False
    assert capsys.readouterr().err == ""  # a pipe
    monkeypatch.setattr("microcosm.cli.output.is_terminal", lambda stream: True)
    monkeypatch.setenv("TERM", "xterm")
    with output.progress("counting", 10, "numbers") as counted:
        counted.done = 5
        sleep(0.3)
    assert "counting" in capsys.readouterr().err


def test_of_a_complete_log_online_tells_what_follows_offline(tmp_path: Path, run: Run) -> None:
    given = "send a = m p -> q\nreceive b = m q\nsend c = n r -> q\nreceive d = n q\na < b\nc < d\nb < d\n"
    file, proof = tmp_path / "whole.mc", tmp_path / "proof.json"
    file.write_text(given, encoding="utf-8")
    assert run("online", str(file), "a", "c").code == 3
    file.write_text(f"{given}complete\n", encoding="utf-8")
    told = run("online", str(file), "a", "c", "--json")
    assert told.code == 0
    assert told.json["verdict"] == "||"
    assert told.json["derivation"]["conclusion"]["judgement"] == "offline"
    proof.write_text(told.out, encoding="utf-8")
    assert run("verify", str(file), str(proof)).code == 0
    proof.write_text(told.out.replace('"verdict": "||"', '"verdict": "<"'), encoding="utf-8")
    assert run("verify", str(file), str(proof)).code == 1
    file.write_text(given, encoding="utf-8")
    proof.write_text(told.out, encoding="utf-8")
    assert run("verify", str(file), str(proof)).code == 1


def test_a_log_to_which_nothing_is_written_yet_is_one_among_others(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"process": "a", "label": "x"}\n{"process": "a", "label": "y"}\n')
    (tmp_path / "b.jsonl").write_text("")
    assert main(["online", str(tmp_path), "a:1", "a:2"]) == 0
    assert main(["online", str(tmp_path / "b.jsonl"), "a:1", "a:2"]) == 3


@pytest.mark.parametrize("between", ["", "\n"])
def test_an_array_of_events_is_told_how_it_is_read(run: Run, tmp_path: Path, between: str) -> None:
    event = '{"process": "p", "seq": 1, "kind": "internal"}'
    (tmp_path / "all.json").write_text(f"[{event},{between}{event}]", encoding="utf-8")
    for command in (["online", "all.json", "p:1", "p:2"], ["extract", "all.json"]):
        ran = run(*command)
        assert (ran.code, "Traceback" in ran.err) == (4, False)
        assert "jq -c '.[]'" in ran.err


def test_records_under_a_key_that_a_microcosm_has_as_well_are_told_how_they_are_read(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "all.json").write_text('{"events": [{"timestamp": 1, "message": "up"}], "next": "x"}')
    ran = run("events", "all.json")
    assert (ran.code, "jq -c '.events[]'" in ran.err) == (4, True)
    (tmp_path / "all.json").write_text('{"schema": "microcosm/1", "events": [{"timestamp": 1}]}')
    ran = run("events", "all.json")
    assert (ran.code, "jq" in ran.err, 'events[0]: unknown field "timestamp"' in ran.err) == (4, False, True)


@pytest.mark.parametrize(
    "line",
    [
        "table ONE other.mc", "check ONE", "bisim ONE other.mc", "diff ONE other.mc", "repl ONE",
        "order ONE other.mc", "order ONE --stream", "extract other.mc -o ONE", "draw other.mc -o ONE",
        "trace other.mc --to ONE.jsonl",
    ],
)  # fmt: skip
def test_no_name_of_a_file_reaches_a_terminal_with_what_it_would_obey(run: Run, line: str) -> None:
    Path("other.mc").write_text("b < c\n", encoding="utf-8")
    Path("\x1b[31mone.jsonl").write_text('{"process": "p", "label": "x"}\n', encoding="utf-8")
    ran = run(*line.replace("ONE", "\x1b[31mone.jsonl").split())
    assert "\\x1b[31mone.jsonl" in ran.out + ran.err
    assert "\x1b" not in ran.out + ran.err


@pytest.mark.parametrize("to", ["o.mc", "o.json"])
@pytest.mark.parametrize("options", [(), ("--pattern", "(?<event>.*)")])
def test_a_log_whose_name_is_no_utf_8_is_written_and_read_again(
    run: Run, to: str, options: tuple[str, ...]
) -> None:
    name = os.fsdecode(b"l\xff.log")
    Path(name).write_text('{"process": "p", "label": "x"}\n{"process": "p", "label": "y"}\n', "utf-8")
    assert run("extract", name, *options, "-o", to).code == 0
    assert run("check", to).code == 0
    assert run("trace", name, *options, "--to", "again.jsonl").code == 0
    assert run("trace", to, "--to", "again.jsonl").code == 0
    assert run("extract", "again.jsonl").code == 0
    assert run("page", name, *options, "-o", "o.html").code == 0
    assert run("order", name, "again.jsonl").code == 0


def test_the_name_of_a_drawing_says_in_what_it_is_drawn(run: Run, log: str, tmp_path: Path) -> None:
    begins = {"a.svg": "<svg", "a.DOT": "digraph", "a.gv": "digraph", "a.mmd": "flowchart", "dot": "<svg"}
    for name, begin in begins.items():
        assert run("draw", log, "-o", str(tmp_path / name), "-q").code == 0
        assert (tmp_path / name).read_text("utf-8").startswith(begin), name
    assert run("draw", log, "--svg", "-o", str(tmp_path / "b.dot"), "-q").code == 0
    assert (tmp_path / "b.dot").read_text("utf-8").startswith("<svg")


@pytest.mark.parametrize("command", ["extract", "page", "draw"])
def test_what_is_read_is_not_written_over(run: Run, command: str) -> None:
    text = '{"process": "p", "seq": 1, "label": "x"}\n{"process": "p", "seq": 2, "label": "y"}\n'
    Path("log.jsonl").write_text(text, encoding="utf-8")
    for out in ("log.jsonl", "./log.jsonl", str(Path("log.jsonl").resolve())):
        told = run(command, "log.jsonl", "-o", out)
        assert told.code == 2
        assert "is what is read, and would be lost" in told.err
    assert Path("log.jsonl").read_text(encoding="utf-8") == text
