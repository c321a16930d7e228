"""`find`, `assert`, `settle`, and `verify` of what they say: exits, JSON, reports, bad input."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from microcosm.cli.app import main

LOG = [
    ("alice", "take lock", {}),
    ("alice", "write x=1", {"kind": "send", "message": "m1"}),
    ("bob", "told x=1", {"kind": "receive", "message": "m1"}),
    ("bob", "write x=2", {}),
    ("carol", "write x=3", {}),
    ("carol", "write y=1", {}),
    ("alice", "drop lock", {}),
    ("carol", "take lock", {}),
]

ASK = r"""# what is asked
event write(key) where label ~ "write (?<key>\w+)"
event told(key)  where label ~ "told (?<key>\w+)"
state holding(who) on who from label ~ "take" until label ~ "drop"

never write(key) || write(key)
every told(key) after some write(key)
never holding(a) while holding(b)
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in a folder with a log and questions about it."""
    monkeypatch.chdir(tmp_path)
    seq: dict[str, int] = {}
    lines = []
    for process, label, more in LOG:
        seq[process] = seq.get(process, 0) + 1
        lines.append(json.dumps({"process": process, "seq": seq[process], "label": label, **more}))
    Path("log.jsonl").write_text("\n".join(lines) + "\n")
    Path("lock.ask").write_text(ASK)

    def ran(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


def answer(run: Run, *arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = run("assert", "log.jsonl", *arguments, "--json")
    return code, json.loads(out)


def test_the_fields_and_the_exits(run: Run) -> None:
    code, told = answer(run, "lock.ask")
    assert code == 3
    assert told["schema"] == "microcosm/1"
    race, precedence, exclusion = told["questions"]
    assert (race["text"], race["line"], race["verdict"]) == ("never write(key) || write(key)", 6, "open")
    assert race["counts"] == {"true": 1, "false": 0, "open": 2}
    assert race["witnesses"][0]["events"] == {"write.1": "alice:2", "write.2": "carol:1"}
    assert race["witnesses"][0]["parameters"] == {"key": "x"}
    assert precedence["verdict"] == "holds"
    assert exclusion["verdict"] == "open"
    assert answer(run, "-e", 'event t where label ~ "told"; event w where label ~ "x=1"; never w < t')[0] == 1
    assert answer(run, "-e", 'event t where label ~ "told"; event w where label ~ "x=1"; never t < w')[0] == 0


def test_complete_decides(run: Run) -> None:
    text = ASK.replace("never write", "complete\nnever write", 1)
    Path("all.ask").write_text(text)
    code, told = answer(run, "all.ask")
    assert code in (1, 3)
    assert told["questions"][1]["verdict"] == "holds"


def test_find(run: Run) -> None:
    code, out, _ = run("find", "log.jsonl", 'label ~ "write"')
    assert code == 0
    assert 'event = alice:2 "write x=1" (log.jsonl:2)' in out
    code, out, _ = run("find", "log.jsonl", "write(k) < write(k)", "--with", "lock.ask", "--json")
    assert code == 0
    (first, *rest) = [json.loads(line) for line in out.splitlines()]
    assert first["events"] == {"write.1": "alice:2", "write.2": "bob:2"}
    assert first["labels"]["alice:2"] == "write x=1"
    assert {one["verdict"] for one in rest} == {"open"}
    code, out, _ = run("find", "log.jsonl", "write(k)", "--with", "lock.ask", "--csv", "--limit", "2")
    assert out == "" or out.splitlines()[0].startswith("write")
    assert run("find", "log.jsonl", 'label ~ "nowhere"')[0] == 1


def test_settle(run: Run) -> None:
    code, out, _ = run("settle", "log.jsonl", "alice:2", "carol:1", "--json")
    assert code == 3
    (asked,) = json.loads(out)["questions"]
    assert {one["kind"] for one in asked["settle"]} >= {"clock"}
    assert run("settle", "log.jsonl", "alice:1", "alice:2")[0] == 0


def test_settle_asks_for_the_direction_of_what_is_related(run: Run) -> None:
    Path("m.mc").write_text("a <> b\nc < a\nc < b\n")
    code, out, _ = run("settle", "m.mc", "a", "b", "--json")
    assert code == 3
    (asked,) = json.loads(out)["questions"]
    assert asked["verdict"] == "open"
    assert " < " in asked["text"]
    assert [one["decides"] for one in asked["settle"] if one["kind"] == "clock"] == [1]


def test_settle_of_an_event_that_nothing_names_says_so(run: Run) -> None:
    code, out, err = run("settle", "log.jsonl", "alice:1", "alice:99")
    assert (code, out) == (4, "")
    assert "nothing names the event 'alice:99'" in err
    assert run("settle", "log.jsonl", "carol:3", "carol:4")[0] == 4


def test_settle_says_that_completeness_decides_what_no_tuple_shows(run: Run) -> None:
    text = 'event w where label ~ "write z"; event t; assert exists a: w: exists b: t: a < b'
    code, out, _ = run("settle", "log.jsonl", "-e", text)
    assert code == 3
    assert "what the log lacks may have happened" in out
    assert "(`complete`): decides 1 of 1" in out
    assert run("assert", "log.jsonl", "-e", f"complete; {text}")[0] == 1


@pytest.mark.parametrize(
    ("text", "field", "meant"),
    [
        ('event w where labell ~ "write"; never w || w', "labell", "label"),
        ('event w where proces = "bob"; never w || w', "proces", "process"),
        ("event w(k = kye); never w(k) || w(k)", "kye", None),
        ('state s from http.code = 3 until label ~ "drop"; never s while s', "http.code", None),
    ],
)
def test_a_field_that_no_event_has_is_told(run: Run, text: str, field: str, meant: str | None) -> None:
    for command in (("assert", "log.jsonl", "-e", text), ("find", "log.jsonl", text)):
        _, _, err = run(*command)
        assert f"no event has the field `{field}`" in err
        if meant is not None:
            assert f"did you mean `{meant}`" in err
    asked_for = 'event w where label ~ "write" and not deleted; never w < w where w.process = "x"'
    assert "no event has the field" not in run("assert", "log.jsonl", "-e", asked_for)[2]


def test_junit_and_vacuity(run: Run) -> None:
    question = (
        'event none where label ~ "nowhere"; event w where label ~ "write"; never none || w; never w < w'
    )
    code, _, err = run("assert", "log.jsonl", "-e", question.replace("never w < w", ""))
    assert code == 0
    assert "vacuous" in err
    assert "none matches 0" in err
    assert run("assert", "log.jsonl", "-e", question.replace("never w < w", ""), "--no-vacuous")[0] == 1
    code, _, _ = run("assert", "log.jsonl", "lock.ask", "-e", question, "--junit", "out.xml")
    assert code == 1
    suite = ET.parse("out.xml").getroot()
    assert suite.attrib["tests"] == "5"
    assert suite.attrib["failures"] == "2"
    assert suite.attrib["skipped"] == "2"


def test_proofs_are_written_and_verify(run: Run) -> None:
    question = 'event w where label ~ "write"; never w < w'
    assert run("assert", "log.jsonl", "-e", question, "--proofs", "proofs", "--proof", "2")[0] == 1
    written = sorted(Path("proofs").iterdir())
    assert len(written) == 2
    for proof in written:
        assert run("verify", "log.jsonl", str(proof))[0] == 0


def test_each_proof_has_a_file_of_its_own(run: Run) -> None:
    """Of questions on one line, and of lines of one number in several texts, too."""
    text = "never w < w; never w > w"
    for name in ("one.ask", "other.ask"):
        Path(name).write_text(f'event w where label ~ "write"; {text}\n')
    asked = ("assert", "log.jsonl", "one.ask", "other.ask", "-e", text, "--proof", "2")
    told = json.loads(run(*asked, "--json", "--proofs", "proofs")[1])
    proofs = sum(
        len(witness.get("derivations", ())) for one in told["questions"] for witness in one["witnesses"]
    )
    assert len([*Path("proofs").iterdir()]) == proofs > 6


def test_an_answer_verifies_and_no_changed_one_does(run: Run) -> None:
    questions = ASK + 'event w where label ~ "write"\nnever w < w\nknow write("y") > told(k)\n'
    Path("more.ask").write_text(questions)
    out = run("assert", "log.jsonl", "more.ask", "--json", "--proof", "9")[1]
    told = json.loads(out)

    def valid(changed: dict[str, Any]) -> bool:
        Path("answer.json").write_text(json.dumps(changed))
        code = run("verify", "log.jsonl", "answer.json")[0]
        assert code in (0, 1)
        return code == 0

    assert valid(told)
    mutants: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
        ("verdict", lambda a: a["questions"][0].update(verdict="violated")),
        ("verdict", lambda a: a["questions"][3].update(verdict="holds")),
        ("count", lambda a: a["questions"][0]["counts"].update(true=2)),
        ("count", lambda a: a["questions"][3]["counts"].update(false=0)),
        ("witness", lambda a: a["questions"][3]["witnesses"][0]["events"].update({"w.1": "bob:2"})),
        ("witness", lambda a: a["questions"][0]["witnesses"][0]["parameters"].update(key="y")),
        ("witness", lambda a: a["questions"][3]["witnesses"].pop(0)),
        ("witness", lambda a: a["questions"][0]["witnesses"].clear()),
        ("witness", lambda a: [one["witnesses"].clear() for one in a["questions"]]),
        ("witness", lambda a: a["questions"][3]["witnesses"].append(a["questions"][3]["witnesses"][0])),
        ("vacuous", lambda a: a["questions"][0].update(vacuous=True)),
        ("text", lambda a: a["questions"][0].update(text="never write(key) < write(key)")),
        ("asked", lambda a: a["asked"][0].update(text=a["asked"][0]["text"].replace("||", "<"))),
        ("atom", lambda a: a["questions"][3]["witnesses"][0]["atoms"][0].__setitem__(1, ">")),
        ("proof", lambda a: a["questions"][3]["witnesses"][0]["derivations"][0].update(rule="In-Tr")),
        ("proof", lambda a: a["questions"][3]["witnesses"][0]["derivations"].append({})),
        ("proof", lambda a: a["questions"][3]["witnesses"][0].update(
            derivations=a["questions"][3]["witnesses"][1]["derivations"])),
        ("proof", lambda a: a["questions"][3]["witnesses"][0]["derivations"].clear()),
        ("proof", lambda a: a["questions"][3]["witnesses"][1]["derivations"].clear()),
        ("proof", lambda a: a.update(proved=0)),
        ("proof", lambda a: a.update(proved="all")),
        ("proof", lambda a: a.pop("proved")),
        ("settle", lambda a: a["questions"][0]["settle"].clear()),
        ("field", lambda a: a["questions"][0].update(more=1)),
        ("none", lambda a: a["questions"].pop()),
    ]  # fmt: skip
    for what, change in mutants:
        changed = deepcopy(told)
        change(changed)
        assert not valid(changed), what


BAD = [
    ("never write(k) || write(k)", "1:7", "nothing above defines write"),
    ("event write(k) where label = 3; never write(k) || write(k)", "1:13", "nothing binds the parameter k"),
    ('event w where label ~ "(a+)+"; never w', "1:23", "may run away"),
    ('event w where label ~ "a|(b"; never w', "1:23", "does not compile"),
    ('event w where label ~ "a; never w', "1:23", "ends the quoted text"),
    ('event w where label ~ "a"; never w where k = 3', "1:42", "nothing binds k"),
    ('event w where label ~ "a"\nnever w while w', "2:7", "states are compared by `while`"),
    ('event w where label ~ "a"\nnever w ||', "2:11", "expected"),
    ("complete\nevent w; never w", "1:1", "the log is not complete"),
    ('event w where label ~ "a"', None, "there is no question here"),
    (
        'event a where label ~ "told"; event b where label ~ "write x=1"\nknow a < b; never a',
        "2:1",
        "contradicts",
    ),
    ("event w; event w; never w", "1:16", "is defined already"),
]


@pytest.mark.parametrize(("text", "place", "message"), BAD)
def test_bad_input_is_one_message_with_its_place(
    run: Run, text: str, place: str | None, message: str
) -> None:
    Path("bad.ask").write_text(text)
    lines = Path("log.jsonl").read_text().splitlines()
    lines[1] = lines[1].replace('"seq": 2', '"seq": 4')  # a gap, for the one that says `complete`
    if text.startswith("complete"):
        Path("log.jsonl").write_text(
            "\n".join([line.replace('"seq": 3', '"seq": 9') for line in lines]) + "\n"
        )
    code, out, err = run("assert", "log.jsonl", "bad.ask")
    assert code == 4, err
    assert out == ""
    assert message in err
    if place is not None:
        assert f"bad.ask:{place}: " in err
    assert "Traceback" not in err


def test_a_contradiction_shows_both_sides(run: Run) -> None:
    text = 'event a where label ~ "told"; event b where label ~ "write x=1"; know a < b; never a'
    code, _, err = run("assert", "log.jsonl", "-e", text)
    assert code == 4
    assert "(Init: questions:1: know a < b; " in err
    assert "(Init: message m1; log.jsonl:2 and log.jsonl:3)" in err


def test_a_state_that_never_ends_is_told(run: Run) -> None:
    text = 'state s from label ~ "take" until label ~ "never"; never s while s'
    code, _, err = run("assert", "log.jsonl", "-e", text)
    assert code == 3
    assert "never ends" in err


def test_fewer_witnesses_than_are_proved_verify(run: Run) -> None:
    question = 'event w where label ~ "write"; never w < w'
    shown = run("assert", "log.jsonl", "-e", question, "--json", "--proof", "3", "--witnesses", "1")[1]
    Path("answer.json").write_text(shown)
    assert run("verify", "log.jsonl", "answer.json")[0] == 0


def test_usage(run: Run) -> None:
    assert run("assert", "log.jsonl")[0] == 2
    assert run("assert", "lock.ask")[0] == 2
    assert run("find", "log.jsonl")[0] == 2
    assert run("assert", "log.jsonl", "lock.ask", "--proof", "x")[0] == 2
    assert run("assert", "nowhere.jsonl", "lock.ask")[0] == 4


def test_what_is_asked_on_the_command_line_uses_the_patterns_of_the_files(run: Run) -> None:
    code, out, _ = run("assert", "log.jsonl", "lock.ask", "-e", "never write(k) > told(k)", "--json")
    assert code == 1
    assert [one["verdict"] for one in json.loads(out)["questions"]] == ["open", "holds", "open", "violated"]
    Path("answer.json").write_text(out)
    assert run("verify", "log.jsonl", "answer.json")[0] == 0


@pytest.mark.parametrize("proved", ["1", "2"])
def test_an_answer_without_its_derivations_is_refused(run: Run, proved: str) -> None:
    question = 'event w where label ~ "write"; never w < w'
    told = json.loads(run("assert", "log.jsonl", "-e", question, "--json", "--proof", proved)[1])
    Path("answer.json").write_text(json.dumps(told))
    assert run("verify", "log.jsonl", "answer.json")[0] == 0
    for witness in told["questions"][0]["witnesses"]:
        witness["derivations"] = []
    for stated in (int(proved), 0):
        Path("answer.json").write_text(json.dumps({**told, "proved": stated}))
        code, out, err = run("verify", "log.jsonl", "answer.json")
        assert code == 1
        assert "witness 1: no derivation concludes" in out + err


def test_a_log_is_stated_complete_by_an_option_as_by_a_line(run: Run) -> None:
    event = 'event write(key) where label ~ "write (?<key>\\w+)"'
    stated = answer(run, "-e", f"{event}; complete; never write(k) || write(k)")
    option = answer(run, "-e", f"{event}; never write(k) || write(k)", "--complete")
    assert stated[0] == option[0] == 1
    for field in ("verdict", "counts", "witnesses"):
        assert stated[1]["questions"][0][field] == option[1]["questions"][0][field]
    sought = f"{event}; write(k) || write(k)"
    assert run("find", "log.jsonl", sought)[0] == 3
    found = run("find", "log.jsonl", f"complete; {sought}")
    assert found == run("find", "log.jsonl", sought, "--complete")
    assert found[0] == 0
    assert "open" not in found[1]


def test_a_complete_log_has_an_answer_to_whether_something_is_there(run: Run) -> None:
    question = 'event x where label ~ "lock"; assert exists a: x, b: x: a < b and b < a'
    assert run("assert", "log.jsonl", "-e", question)[0] == 3
    assert run("assert", "log.jsonl", "-e", question, "--complete")[0] == 1
    assert run("assert", "log.jsonl", "-e", f"complete; {question}")[0] == 1


def test_a_log_with_gaps_is_not_stated_complete(run: Run) -> None:
    text = Path("log.jsonl").read_text().replace('"seq": 3', '"seq": 9')
    Path("log.jsonl").write_text(text)
    code, _, err = run("assert", "log.jsonl", "lock.ask", "--complete")
    assert code == 4
    assert "complete" in err


def test_names_and_words_that_a_terminal_would_obey_are_escaped(run: Run) -> None:
    """Of whatever the log says, its parameters too."""
    red, turned = "\x1b[31mred", "a \u202eb"
    lines = [
        {"process": red, "seq": 1, "id": red, "label": red},
        {"process": red, "seq": 3, "id": turned, "label": turned},
        {"process": "q", "seq": 1, "id": "\x1b c", "kind": "receive", "message": "\x1bm"},
    ]
    Path("odd.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    text = "event any(l = process); state s(l = process) from seq = 1 until seq = 9"
    asked = f"{text}; never any(l) < any(k); every any(l) before some any(l); possibly s(l)"
    for command in (
        ("find", "odd.jsonl", "seq = 1"),
        ("find", "odd.jsonl", f"{text}; any(l) < any(k)"),
        ("assert", "odd.jsonl", "-e", asked),
        ("settle", "odd.jsonl", "-e", asked),
        ("settle", "odd.jsonl", turned, red),
    ):
        _, out, err = run(*command)
        assert "\\u001b[31m" in out or "\\x1b[31m" in out
        assert not {"\x1b", "\u202e"} & {*out, *err}
    _, out, _ = run("find", "odd.jsonl", "seq = 3")
    assert out == 'event = "a \\u202eb" "a \\u202eb" (odd.jsonl:2)\n'


def test_what_worlds_decided_verifies_where_they_are_not_exact(run: Run) -> None:
    """As under a known ordering: the answer says `exact: false`, and was compared with one without worlds."""
    rows = "\n".join(f'event {name} "w"' for name in "abc")
    Path("known.mc").write_text(f"a < b\nordering causal\nsend c = m p\n{rows}\n", encoding="utf-8")
    asked = 'assert for all x: [label = "w"], y: [label = "w"]: x = y or x < y or y < x or x || y'
    code, out, _ = run("assert", "known.mc", "-e", asked, "--exact", "--json")
    assert (code, json.loads(out)["questions"][0]["exact"]) == (0, False)
    Path("answer.json").write_text(out, encoding="utf-8")
    assert run("verify", "known.mc", "answer.json")[0] == 0
    Path("answer.json").write_text(out.replace('"true": 9', '"true": 8'), encoding="utf-8")
    assert run("verify", "known.mc", "answer.json")[0] == 1


def test_csv_has_a_row_for_each_whatever_ends_lines_in_its_words(run: Run) -> None:
    odd = ["a\nb", "\r", "a\r\nb", 'a,"b', "\u2028", " a "]
    Path("odd.mc").write_text("".join(f"x < {json.dumps(name)}\n" for name in odd), encoding="utf-8")
    told = run("find", "odd.mc", '[name != "x"]', "--csv")[1]
    assert {*map(tuple, csv.reader(StringIO(told, newline="")))} == {
        ("event", "verdict"),
        *((name, "true") for name in odd),
    }


def test_csv_that_people_look_at_has_nothing_that_a_terminal_would_obey(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"process": "p\x1b[2J", "kind": "internal", "label": "x"}
    Path("odd.jsonl").write_text(json.dumps(event) + "\n", encoding="utf-8")
    assert "\x1b" in run("find", "odd.jsonl", "[name]", "--csv")[1]  # a program gets it as it is
    monkeypatch.setattr("microcosm.cli.output.is_terminal", lambda stream: True)
    assert r"p\x1b[2J:1,true" in run("find", "odd.jsonl", "[name]", "--csv")[1]
    assert "\x1b" not in run("assert", "odd.jsonl", "-e", 'never [name = "no\x1b"]')[1]


def test_what_is_known_besides_the_events_of_a_log_is_asked_about_too(run: Run) -> None:
    """As what was added, merged or supposed: it was passed over, and what is violated was said to hold."""
    Path("mixed.mc").write_text('a <> b\nevent x process p seq 1 "w"\n', encoding="utf-8")
    assert run("find", "mixed.mc", "[name]", "--csv")[1].split() == [
        "event,verdict",
        *(f"{e},true" for e in "xab"),
    ]
    assert run("assert", "mixed.mc", "-e", "never [name] <> [name]")[0] == 1
    assert run("settle", "mixed.mc", "a", "b")[0] == 3


def test_bad_text_of_a_question_is_bad_input_on_the_command_line_too(run: Run) -> None:
    bad = "never write("
    Path("bad.ask").write_text(bad)
    assert run("assert", "log.jsonl", "bad.ask")[0] == 4
    for command in (("assert", "log.jsonl", "-e", bad), ("find", "log.jsonl", bad)):
        code, _, err = run(*command)
        assert code == 4
        assert ":1:13: expected " in err


def test_a_word_that_two_files_define_tells_nothing_to_what_is_asked_beside_them(run: Run) -> None:
    for name in ("take", "drop"):
        Path(f"{name}.ask").write_text(f'event w where label ~ "{name}"\nnever w < w\n')
    code, _, err = run("assert", "log.jsonl", "take.ask", "drop.ask", "-e", "never w || w")
    assert code == 4
    assert "nothing above defines w" in err
    asked = ("assert", "log.jsonl", "take.ask", "drop.ask", "-e", "event w; never w || w", "--json")
    code, out, _ = run(*asked)
    Path("answer.json").write_text(out)
    assert run("verify", "log.jsonl", "answer.json")[0] == 0


def test_what_is_true_for_all_is_found_as_it_is_asserted(run: Run) -> None:
    formula = 'for all a: [label ~ "write"], b: [label ~ "lock"]: a < b'
    found = run("find", "log.jsonl", formula, "--json")
    assert found == run("find", "log.jsonl", f"assert {formula}", "--json")
    assert found[0] == 0
    assert found[1]


@pytest.mark.parametrize("value", [7, 7.0, 7.5, "7", True, ["a", 1], 10**20])
def test_events_are_found_by_a_value_in_one_way(run: Run, value: object) -> None:
    Path("one.jsonl").write_text(
        json.dumps({"process": "p", "seq": 1, "label": "x", "attributes": {"n": value}}) + "\n"
    )
    text = json.dumps(int(value) if value == 7 and isinstance(value, float) else value).strip('"')
    quoted = text.replace('"', '\\"')
    assert run("find", "one.jsonl", f'n = "{quoted}"')[0] == 0
    assert run("events", "one.jsonl", f"n={text}")[0] == 0


def test_where_the_search_for_what_settles_is_stopped_the_answers_stay(run: Run) -> None:
    asked = "assert", "log.jsonl", "lock.ask", "--json"
    whole, ended = run(*asked), run(*asked, "--limit", "0")
    assert ended[0] == whole[0]
    assert "stopped before it was known what would settle" in ended[2]
    told, of_the_whole = (json.loads(out)["questions"] for _, out, _ in (ended, whole))
    assert any(one["settle"] for one in of_the_whole)
    assert told == [{**one, "settle": []} for one in of_the_whole]
    Path("answer.json").write_text(ended[1])
    assert run("verify", "log.jsonl", "answer.json")[0] == 0
