"""The session from a pipe: what it reads, keeps, refuses and saves, and that nothing ends it but its end."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import shutil
from contextlib import suppress
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from microcosm import Microcosm
from microcosm.cli import output
from microcosm.cli.session import repl
from microcosm.cli.session.commands import COMMANDS
from microcosm.cli.session.session import How, Session, opened
from microcosm.errors import Undefined
from microcosm.files import shipped
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel import check as kernel
from microcosm.logic.rulebook import read_rules
from microcosm.text.mc_reader import read_givens
from tests.cli.conftest import Run

LOG = """\
{"process": "p", "seq": 1, "kind": "send", "message": "m", "id": "ask"}
{"process": "q", "seq": 1, "kind": "receive", "message": "m", "id": "hear"}
"""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mc").write_text("a < b < c\na || d\n", encoding="utf-8")
    how = How(read_rules())
    return Session(opened(["a.mc"], how), how, COMMANDS)


def say(session: Session, *lines: str) -> list[str]:
    """What is answered to the last of some lines."""
    answers: list[str] = []
    for line in lines:
        answer = session.answer(line)
        answers = [] if answer is None else list(answer.lines)
    return answers


def test_a_script_and_its_exit_codes(run: Run, album: str) -> None:
    assert run("repl", album, stdin=b"unshare < upload?\nquit\n").code == 0
    assert run("repl", album, stdin=b"unshare ? upload\n like ? view").code == 0
    assert run("repl", album, stdin=b"upload < unshare\n").code == 1
    assert run("repl", album, stdin=b"upload < unshare\nwhat?\n").code == 4
    assert run("repl", "nowhere.mc").code == 4
    assert run("repl", album, "--format", "nonsense").code == 2


def test_the_end_of_a_script_says_that_changes_are_lost(run: Run, album: str) -> None:
    assert "not saved" in run("repl", album, stdin=b"view < end\n").err
    assert run("repl", album, stdin=b"view < end\nundo\n").err == ""
    assert run("repl", album, stdin=b"view < end\nquit!\n").err == ""
    assert run("repl", album, "--quiet", stdin=b"view < end\n").err == ""


def test_bytes_that_are_no_text_take_one_line(run: Run, album: str) -> None:
    ran = run("repl", album, stdin=b"\xff\xfe\nunshare \x00 < upload?\r\nunshare < upload?\r\n")
    lines = ran.out.splitlines()
    assert lines[2] == "  ^ expected text in UTF-8"
    assert lines[4] == "          ^ expected text, not the control character U+0000"
    assert lines[6].startswith("yes")
    assert ran.code == 4


def test_json_answers_with_one_object_a_line(run: Run, album: str) -> None:
    script = b"unshare < notify?\n\n# no\npast of notify\nview < unshare\nwhy\ndiff\nsilent\nhelp\nquit\n"
    ran = run("repl", album, "--json", stdin=script)
    pair, past, refused, fault, diff, silent, told = ran.json_lines
    assert pair["pair"] == ["unshare", "notify"]
    assert (pair["verdict"], pair["holds"]) == ("<", True)
    assert sorted(past["events"]) == ["unshare", "upload"]
    assert refused["derivations"][0]["conclusion"]["left"] == "unshare"
    assert fault["error"].startswith("expected")
    assert fault["column"] == 5
    assert diff["diff"] == []
    assert ["like", "view"] in silent["pairs"]
    assert "why" in told["help"]
    assert all(each["schema"] == "microcosm/1" for each in ran.json_lines)


def test_the_kernel_accepts_what_a_session_answers(run: Run, album: str) -> None:
    script = b"why unshare < view\nwhy view > unshare\nwhy like || upload\nwhy backup ? unshare\n"
    for answer in run("repl", album, "--json", stdin=script).json_lines:
        assert answer["derivation"] is not None
        del answer["line"]
        assert run("verify", album, "-", stdin=json.dumps(answer).encode()).code == 0


def test_ascii_where_the_encoding_has_no_other_signs(run: Run, album: str) -> None:
    script = b"why unshare < view\nwhy not view < unshare\nview < unshare\nhelp\ne < f < g < h < i < j\n"
    ran = run("repl", album, stdin=script, encoding="ascii")
    assert "|- unshare < view  (In-OK)" in ran.out
    assert "|-0 unshare < view already" in ran.out
    assert ran.out.isascii()
    assert "\\u" not in ran.out


def test_a_log_is_read_as_extract_reads_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(LOG, encoding="utf-8")
    ran = run("repl", "run.jsonl", stdin=b"ask < hear?\n")
    extracted = run("extract", "run.jsonl", "-o", "run.mc")
    assert ran.out.splitlines()[0].partition(": ")[2].startswith(extracted.out.strip().partition(": ")[2])
    assert "yes: ask < hear" in ran.out
    told = run("repl", "run.jsonl", "--process", "p", stdin=b"hear ? ask\n")
    assert "hear is not in this microcosm" in told.out


@pytest.mark.parametrize(
    ("name", "content", "events"),
    [
        ("plain", "a < b", ["a", "b"]),
        ("clocks", 'clock a = p {"p": 1}\nclock b = p {"p": 2}\n', ["a", "b"]),
        ("form.json", '{"schema": "microcosm/1", "internal": ["a", "b"]}', ["a", "b"]),
        ("lines", LOG, ["ask", "hear"]),
        ("viz.log", 'p {"p":1}\nstart\nq {"q":1}\nstart\n', ["p:1", "q:1"]),
        ("empty", "", []),
    ],
)
def test_what_a_file_holds_is_told_from_its_content(
    run: Run, tmp_path: Path, name: str, content: str, events: list[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    ran = run("repl", name, "--json", stdin=b"events\n")
    assert ran.json["events"] == events


def test_a_file_that_is_neither_is_said_to_be_no_microcosm(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.mc").write_text("a <\n", encoding="utf-8")
    ran = run("repl", "bad.mc")
    assert ran.code == 4
    assert "bad.mc:1:4" in ran.err


def test_a_log_may_come_by_standard_input_and_the_questions_from_a_file(run: Run) -> None:
    Path("asked").write_text("ask < hear?\nhear ? ask\n", encoding="utf-8")
    for log in (LOG.encode(), gzip.compress(LOG.encode()), LOG.encode("utf-16")):
        ran = run("repl", "-", "--script", "asked", stdin=log)
        assert ran.code == 0
        assert "yes: ask < hear" in ran.out
    refused = run("repl", "-", stdin=LOG.encode())
    assert refused.code == 2
    assert "--script FILE" in refused.err


def test_a_session_reads_all_that_extract_reads(run: Run) -> None:
    """Several files, packed or not, in other encodings, with bytes that are no UTF-8."""
    send, receive = LOG.replace('"id"', '"label": "caf\xe9", "id"').encode("latin1").splitlines(keepends=True)
    Path("p.jsonl").write_bytes(send)
    Path("q.log").write_bytes(bz2.compress(receive))
    ran = run("repl", "p.jsonl", "q.log", stdin=b"ask < hear?\n")
    assert "yes: ask" in ran.out
    assert "< hear" in ran.out
    assert "[bad-encoding]" in ran.err
    for form, content in (("xz", lzma.compress(send)), ("cr", send.replace(b"\n", b"\r")), ("bad", send)):
        Path(form).write_bytes(content)
        told = run("extract", form, "q.log", "--json").json
        assert (told["events"], run("repl", form, "q.log", "--json", stdin=b"events\n").json["events"]) == (
            2,
            ["ask", "hear"],
        )
    assert run("repl", "bad", "--json", stdin=b"events\n").json["events"] == ["ask"]
    Path("rubbish.jsonl").write_text("rubbish\n" * 3, encoding="utf-8")
    for command in ("repl", "extract", "order"):
        ran = run(command, "rubbish.jsonl", stdin=b"")
        assert ran.refused(4)
        assert ran.err.count("error:") == 1


def test_a_log_is_read_only_unless_it_is_said_otherwise(run: Run) -> None:
    Path("run.jsonl").write_text(LOG, encoding="utf-8")
    changes = (
        "hear < late",
        "add hear < late",
        "update ask < hear",
        "remove ask < hear",
        "forget ask",
        "internal z",
    )
    for change in (*changes, "token t = ask, hear"):
        ran = run("repl", "run.jsonl", stdin=f"{change}\ndiff\n".encode())
        assert ran.code == 1
        assert "not changed: read-only, for a log was opened" in ran.out
        assert "suppose" in ran.out
        assert "--edit" in ran.out
        assert "no difference" in ran.out
        assert ran.err.count("not saved") == 0
    assert "ask `hear < late?`" in run("repl", "run.jsonl", stdin=b"hear < late\n").out
    edited = run("repl", "run.jsonl", "--edit", stdin=b"hear < late\nask < late?\n")
    assert "yes: ask < late" in edited.out
    assert edited.code == 0


def test_a_supposition_is_said_in_proofs_and_taken_back_by_undo(run: Run) -> None:
    Path("run.jsonl").write_text(LOG, encoding="utf-8")
    ran = run("repl", "run.jsonl", stdin=b"suppose hear < late\nwhy ask < late\nundo\nask ? late\nquit\n")
    assert ran.code == 0
    assert ran.err == ""
    assert "supposed: hear < late (`undo` takes it back)" in ran.out
    assert "Init: supposed" in ran.out
    assert "late is not in this microcosm" in ran.out
    assert run("repl", "run.jsonl", stdin=b"suppose hear < ask\n").code == 1
    supposed = run(
        "repl", "run.jsonl", "--json", stdin=b"suppose hear < late\nsuppose token t = ask, late\ndiff\n"
    )
    assert [answer.get("supposed") for answer in supposed.json_lines[:2]] == [
        "hear < late",
        "token t = ask, late",
    ]
    assert len(supposed.json_lines[2]["diff"]) == 2


def test_what_is_supposed_is_not_saved_as_known(run: Run) -> None:
    Path("run.jsonl").write_text(LOG, encoding="utf-8")
    ran = run(
        "repl", "run.jsonl", stdin=b"suppose hear < late\nsave run.mc\nundo\nsave run.mc\nhear < end\nsave\n"
    )
    assert "not saved: something is supposed" in ran.out
    assert "added: hear < end" in ran.out  # it is a file of its own now
    text = Path("run.mc").read_text(encoding="utf-8")
    assert "late" not in text
    assert "hear < end" in text


def test_without_a_file_the_session_begins_empty(run: Run) -> None:
    ran = run("repl", stdin=b"a < b\nsave\nsave a.mc\na < b?\n")
    assert "expected `save FILE`: no file was opened" in ran.out
    assert Path("a.mc").read_text(encoding="utf-8") == "a < b\n"


def test_a_contradiction_shows_the_other_side_and_changes_nothing(session: Session) -> None:
    before = session.known.to_text()
    said = say(session, "c < a")
    assert "would close a cycle" in said[0]
    assert any("In-Tr" in line for line in said)
    assert session.known.to_text() == before
    assert "cannot both hold" in say(session, "d < x < a")[0]
    assert session.known.to_text() == before
    assert say(session, "diff") == ["no difference"]


def test_a_file_that_changed_is_not_overwritten(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "a.mc"
    theirs = "a < b\nsomebody < else\n"
    file.write_text(theirs, encoding="utf-8")
    said = say(session, "c < e", "save")
    assert said == [
        "not saved: a.mc has changed since it was read; `save!` replaces it, `save OTHER` keeps both"
    ]
    assert say(session, "save ./a.mc")[0].startswith("not saved")
    assert file.read_text(encoding="utf-8") == theirs
    assert say(session, "diff") == ["+ c < e"]
    assert say(session, "save mine.mc") == ["saved: mine.mc"]
    assert file.read_text(encoding="utf-8") == theirs
    assert say(session, "e < f", "save") == ["saved: mine.mc"]
    assert say(session, "save a.mc")[0] == "not saved: a.mc exists; `save! a.mc` replaces it"
    assert say(session, "save! a.mc") == ["saved: a.mc"]
    assert Microcosm.read(file).online("a", "f") is Relation.BEFORE


def test_a_name_that_no_file_can_have(run: Run) -> None:
    ran = run("repl", stdin=b'a < b\nsave "a\\u0000b"\nload! "a\\u0000b"\na < b?\n')
    assert (ran.code, "fault of this program" in ran.err) == (4, False)
    assert "yes: a < b" in ran.out


def test_a_file_that_was_touched_or_taken_away_is_saved(session: Session, tmp_path: Path) -> None:
    os.utime(tmp_path / "a.mc")
    assert say(session, "c < e", "save") == ["saved: a.mc"]
    (tmp_path / "a.mc").unlink()
    assert say(session, "e < f", "save") == ["saved: a.mc"]
    assert (tmp_path / "a.mc").exists()


def test_a_log_is_never_overwritten(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text(LOG, encoding="utf-8")
    ran = run("repl", "run.jsonl", stdin=b"save\nsave run.jsonl\nsave! ./run.jsonl\nsave! run.mc\nsave\n")
    assert log.read_text(encoding="utf-8") == LOG
    assert ran.out.count("not the log that was opened") == 2
    assert ran.out.count("saved: run.mc") == 2


def test_saved_as_json_where_the_name_asks_for_it(session: Session, tmp_path: Path) -> None:
    assert say(session, "save a.json") == ["saved: a.json"]
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["schema"] == "microcosm/1"


def test_a_closed_standard_input_is_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repl, "sys", SimpleNamespace(stdin=None))
    assert list(repl.standard_input()) == []
    assert not output.is_terminal(None)


def test_what_is_said_of_an_endless_name_is_short(session: Session) -> None:
    for line in (f"past of {'x' * 100_000}", f'past of "{"x" * 100_000}"', "x" * 100_000, '"' * 100_001):
        [said] = say(session, line)
        assert len(said) < 250


def test_a_place_that_cannot_be_written_is_one_line(session: Session, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for target in ("nowhere/x.mc", "folder"):
        said = say(session, f"save! {target}")
        assert len(said) == 1
        assert said[0].startswith("error: ")
    assert say(session, "c < e", "diff") == ["+ c < e"]


@pytest.mark.parametrize("line", ["load nowhere.mc", "load broken.mc", "load wrong.mc", "load -"])
def test_what_cannot_be_loaded_leaves_the_session_as_it_is(
    session: Session, tmp_path: Path, line: str
) -> None:
    (tmp_path / "broken.mc").write_text("a < \n", encoding="utf-8")
    (tmp_path / "wrong.mc").write_text("a < b\nb < a\n", encoding="utf-8")
    assert say(session, line)[0].startswith("error: ")
    assert say(session, "a < c?")[0].startswith("yes")
    assert say(session, "undo") == ["nothing to be undone"]


def test_a_file_that_cannot_be_loaded_is_named_in_json(run: Run) -> None:
    Path("m.mc").write_text("a < b\n", encoding="utf-8")
    told = run("repl", "m.mc", "--json", stdin=b"load! nowhere.mc\n").json
    assert {name: told[name] for name in ("error", "file")} == {"error": "no such file", "file": "nowhere.mc"}


def test_events_may_be_cut_short_in_questions_and_not_in_changes(session: Session) -> None:
    say(session, "upload < unshare")
    assert say(session, "upl < uns?") == ["yes: upload < unshare   (happens before)"]
    assert say(session, "u < uns?") == ["  ^ 'u' is ambiguous: unshare or upload"]
    assert say(session, "forget upl") == ["error: nothing names the event 'upl'; did you mean 'upload'?"]
    assert "upl" not in session.known
    assert say(session, '"upl" < uns?')[0].startswith("not known")
    say(session, "up < unshare")
    assert say(session, "up < unshare?")[0].startswith("yes: up < unshare")


def test_a_long_line_names_the_column_instead_of_pointing_to_it(session: Session) -> None:
    line = f'"{"x" * 200}" < b < c?'
    assert say(session, line) == ["error: column 208: expected `?` or the end of the line, not '<'"]
    assert say(session, '"事件" < b < c?') == [
        "error: column 10: expected `?` or the end of the line, not '<'"
    ]


def test_a_fault_of_the_program_does_not_end_the_session(
    run: Run, album: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("unforeseen")

    with monkeypatch.context() as patch:
        patch.setattr(Microcosm, "why_not", broken)
        ran = run("repl", album, stdin=b"why not view < unshare\nunshare < view?\n")
    assert "a fault of this program" in ran.err
    assert "yes: unshare < view" in ran.out
    assert ran.code == 70


def test_strict_sessions_refuse_what_the_paper_refuses(run: Run, album: str) -> None:
    ran = run("repl", "--strict", stdin=b"a < b\na < b\na <> b\nundo\na < b?\n")
    assert ran.out.count("error: ") == 2
    assert "undone: add a < b\n> a < b?\nnot known: a ? b" in ran.out


def test_suppositions_for_programs_and_nothing_is_changed_by_them(run: Run) -> None:
    Path("fits.mc").write_text("a < c\na || d\n", encoding="utf-8")
    asked = b"possible c d\nwhat if c < d\nassume c || d\noffline d c\ncheck\ngivens\n"
    ran = run("repl", "fits.mc", "--json", stdin=asked)
    possible, refuted, supposed, offline, checked, givens = ran.json_lines[-6:]
    assert (ran.code, possible["possible"], possible["exact"]) == (0, [">", "||"], True)
    assert (refuted["assumed"], refuted["possible"]) == (["c", "<", "d"], False)
    assert supposed["follows"] == [["c", "d", ["||"]]]
    assert (offline["verdict"], offline["refuted"]) == (None, [">"])
    assert (checked["consistent"], checked["conflict"]) == (True, None)
    assert givens["microcosm"]["external"] == [["a", "<", "c"], ["a", "||", "d"]]
    known = read_givens("a < c\na || d\n")
    for proof in (refuted["derivation"], offline["derivations"]["!>"]):
        assert kernel.check(known, read_rules(), proof) is None


@pytest.mark.parametrize("asked", ["possible a b", "offline a b", "what if a < b", "check"])
def test_where_no_world_fits_every_supposition_says_so(run: Run, asked: str) -> None:
    text = "a < c < b\na || d\nb || d\nc <> d\n"
    Path("none.mc").write_text(text, encoding="utf-8")
    ran = run("repl", "none.mc", "--json", stdin=asked.encode())
    answer = ran.json_lines[-1]
    assert (ran.code, answer["consistent"], len(answer["conflict"])) == (1, False, 5)
    assert kernel.check(read_givens(text), read_rules(), answer["derivation"]) is None


def test_what_could_be_supposed_of_a_complete_log_may_be_added_to_it(session: Session) -> None:
    Path("whole.mc").write_text("z < a < b\nc <> d\ncomplete\n", encoding="utf-8")
    session.answer("load whole.mc")
    for sign, right in product(("<", ">", "||", "<>"), "bcdz?"):
        told = session.answer(f'what if a {sign} "{right}"')
        assert told is not None
        supposed, fields = session.known.copy(), told.fields()
        if fields["possible"] or fields["derivation"]["rule"] == "Clash":
            assert list(told.lines)
            with suppress(Undefined):
                supposed.add(Correspondence("a", Relation(sign), right))
            assert (supposed.contradiction() is None) is fields["possible"]
        if not fields["possible"]:
            assert kernel.check(supposed.givens, read_rules(), fields["derivation"]) is None


CROSSED = """\
send a = m p -> q
send b = n p -> q
receive c = m q
receive d = n q
a < b
d < c
ordering causal
"""
"""What its orders say some world has, and causal order does not."""
APART = "send a = m p -> q \n receive b = m q \n send c = n r -> s \n receive d = n s \n a < b \n c < d \n"
"""Two messages that nothing orders."""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CROSSED, "the network is known to keep an ordering"),
        (
            f"{APART}ordering fifo-n-n interior \n complete",
            "to keep an ordering of messages and the log is stated to be complete",
        ),
    ],
)
def test_a_session_and_the_command_agree_on_what_worlds_do_not_know(run: Run, text: str, why: str) -> None:
    Path("m.mc").write_text(text, encoding="utf-8")
    assert why in run("check", "m.mc").out
    said = run("repl", "m.mc", stdin=b"check\n")
    assert why in said.out
    assert "(Clash)" in said.out
    assert said.code == 1
    told = run("repl", "m.mc", "--json", stdin=b"check\n").json
    assert (told["consistent"], told["conflict"]) == (False, None)


@pytest.mark.parametrize("options", [(), ("--edit",)])
def test_what_was_typed_is_told_without_what_a_terminal_would_obey(
    run: Run, options: tuple[str, ...]
) -> None:
    Path("log.jsonl").write_text('{"process": "p", "label": "x"}\n', encoding="utf-8")
    told = ["\x1b[31m", "\u2028"]
    lines = [
        f'{before}"{odd}" || b{after}'
        for odd in told
        for before, after in (("", ""), ("suppose ", ""), ("update ", ""), ("remove ", ""), ("", "?"))
    ]
    lines += [
        "diff",
        "undo 2",
        "redo 2",
        "diff",
        *(f'save "{odd}.mc"\nload "{odd}.mc"' for odd in told),
        "quit",
    ]
    ran = run("repl", "log.jsonl", *options, stdin="\n".join(lines).encode())
    assert not any(odd in ran.out + ran.err for odd in told)


def test_what_would_settle_is_asked_of_events_as_all_else_is(session: Session) -> None:
    """Quoted, cut short, or by a question; the quotes were part of the name, and a blank ended it."""
    say(session, '"log in" <> d', 'debt || "log in"')
    plain = say(session, "settle debt d")
    assert say(session, 'settle "debt" "d"') == plain != []
    assert say(session, "settle deb d") == plain
    assert say(session, 'settle "log in" a')[0].startswith('open: never [name = "log in"] || [name = "a"]')
    assert say(session, "settle event any; never any < any")[0].startswith("violated")


@pytest.mark.parametrize("odd", ["a\nb", "\n", "\\\n", '\\"\n"', "'", "\r\n", "\\", "a \\n", "\u2028#"])
def test_what_would_settle_is_asked_of_any_name(session: Session, odd: str) -> None:
    quoted = json.dumps(odd)
    say(session, f"{quoted} <> other")
    assert say(session, f"settle {quoted} other")[0].endswith("[1 open]")


@pytest.mark.parametrize("more", ["", " # perhaps", ' from "a friend"'])
def test_proofs_say_what_is_supposed_however_it_is_written(run: Run, more: str) -> None:
    lines = ({"process": process, "seq": 1, "label": "x"} for process in "pq")
    Path("run.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    ran = run("repl", "run.jsonl", stdin=f"suppose p:1 < q:1{more}\nwhy p:1 < q:1\n".encode())
    assert "Init: supposed" in ran.out


def test_only_of_a_log_it_is_said_that_it_may_be_complete(run: Run) -> None:
    ends = (("p", "send"), ("q", "receive"))
    lines = [{"process": p, "seq": 1, "kind": kind, "message": "m", "label": kind} for p, kind in ends]
    lines += [{"process": p, "seq": 2, "label": "rest"} for p in "pq"]
    Path("run.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert run("extract", "run.jsonl", "-o", "run.mc").code == 0
    ran = run("repl", "run.jsonl", stdin=b"p:2 ? q:2\n")
    assert "say --complete" in ran.out
    ran = run("repl", "run.jsonl", stdin=b"load run.mc\np:2 ? q:2\n")
    assert "say --complete" not in ran.out
    shutil.copytree(shipped("rules"), "own")
    rules = Path("own/orderings.rules")
    text = rules.read_text(encoding="utf-8")
    rules.write_text(text[: text.index("rule Complete-Apart")], encoding="utf-8")
    ran = run("online", "run.jsonl", "p:2", "q:2", "--rules", "own")
    assert ran.code == 3
    assert "say --complete" not in ran.out


def test_why_without_a_relation_explains_the_verdict(session: Session) -> None:
    for a, b in product("abcd", repeat=2):
        if a != b:
            verdict = session.known.online(a, b)
            sign = "<" if verdict is Relation.SILENT else str(verdict)
            assert say(session, f"why {a} {b}") == say(session, f"why {a} {sign} {b}"), (a, b)
            assert say(session, f"why not {a} {b}") == say(session, f"why not {a} < {b}"), (a, b)
