"""What programs read: the JSON fields and the exit code of every command, on every path.

Those that change microcosms stand in test_evolve.py, those about rules in test_rules.py.
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from microcosm import Microcosm
from microcosm.givens.givens import Givens
from microcosm.text.mc_reader import read_givens
from microcosm.text.mc_writer import write_mc
from tests.cli.conftest import ALBUM, Run
from tests.strategies import microcosms

EXPECTED = {
    ("unshare", "view"): "<",
    ("view", "unshare"): ">",
    ("like", "upload"): "||",
    ("like", "log in"): "<>",
    ("unshare", "nobody"): "?",
    ("like", "comment"): "?",
    ("backup", "view"): "?",
    ("notify", "like"): None,
}


def known(text: str) -> set[str]:
    """The events of a microcosm text."""
    return set(read_givens(text).named())


def judged(left: str, relation: str, right: str) -> dict[str, str]:
    return {"judgement": "online", "left": left, "relation": relation, "right": right}


@pytest.mark.parametrize(("pair", "verdict"), EXPECTED.items(), ids=str)
@pytest.mark.parametrize("command", ["online", "why"])
def test_a_verdict(run: Run, album: str, command: str, pair: tuple[str, str], verdict: str | None) -> None:
    ran = run(command, album, *pair, "--json")
    answer = ran.json
    unknown = {"unknown_events"} if "nobody" in pair else set()
    assert set(answer) == {"schema", "pair", "verdict", "derivation"} | unknown
    assert answer.get("unknown_events", []) == sorted(unknown and {"nobody"})
    assert answer["pair"] == list(pair)
    assert answer["verdict"] == verdict
    assert ran.code == (3 if verdict in ("?", None) else 0)
    if verdict is None:
        assert answer["derivation"] is None
    else:
        left, right = pair[::-1] if verdict == ">" else pair
        sign = "<" if verdict == ">" else verdict
        assert answer["derivation"]["conclusion"] == judged(left, sign, right)
    assert run(command, album, *pair).code == ran.code


@pytest.mark.parametrize("pair", [pair for pair, verdict in EXPECTED.items() if verdict], ids=str)
def test_every_answer_verifies_as_does_its_derivation(run: Run, album: str, pair: tuple[str, str]) -> None:
    answer = run("online", album, *pair, "--json")
    Path("answer.json").write_text(answer.out, encoding="utf-8")
    Path("derivation.json").write_text(json.dumps(answer.json["derivation"]), encoding="utf-8")
    for proof in ("answer.json", "derivation.json"):
        ran = run("verify", album, proof, "--json")
        assert (ran.code, ran.json) == (0, {"schema": "microcosm/1", "valid": True, "fault": None})
    assert run("verify", album, "-", stdin=answer.out.encode()).code == 0
    assert run("verify", "-", "answer.json", stdin=Path(album).read_bytes()).code == 0


TAMPERED = {
    "another verdict": lambda answer: {**answer, "verdict": "||"},
    "the converse": lambda answer: {**answer, "verdict": ">"},
    "a refutation": lambda answer: {**answer, "verdict": "!<"},
    "another pair": lambda answer: {**answer, "pair": ["unshare", "notify"]},
    "the pair turned": lambda answer: {**answer, "pair": answer["pair"][::-1]},
    "no pair": lambda answer: {key: value for key, value in answer.items() if key != "pair"},
    "three events": lambda answer: {**answer, "pair": ["unshare", "view", "x"]},
    "no verdict": lambda answer: {key: value for key, value in answer.items() if key != "verdict"},
    "no derivation": lambda answer: {**answer, "derivation": None, "verdict": None},
    "another schema": lambda answer: {**answer, "schema": "microcosm/2"},
    "an unknown field": lambda answer: {**answer, "possible": ["<"]},
    "another rule": lambda answer: {**answer, "derivation": {**answer["derivation"], "rule": "Un-3"}},
    "no premises": lambda answer: {**answer, "derivation": {**answer["derivation"], "premises": []}},
    "a number": lambda answer: 7,
    "a list": lambda answer: [answer],
    "an empty object": lambda answer: {},
    "null": lambda answer: None,
    "a derivation that is a number": lambda answer: {**answer, "derivation": 7},
}


@pytest.mark.parametrize("tamper", TAMPERED)
def test_what_was_tampered_with_is_not_valid(run: Run, album: str, tamper: str) -> None:
    answer = run("online", album, "unshare", "view", "--json").json
    text = json.dumps(TAMPERED[tamper](answer))
    ran = run("verify", album, "-", "--json", stdin=text.encode())
    assert ran.code == 1
    assert set(ran.json) == {"schema", "valid", "fault"}
    assert ran.json["valid"] is False
    assert ran.json["fault"]
    shown = run("verify", album, "-", stdin=text.encode())
    assert (shown.code, shown.out) == (1, f"not valid: {ran.json['fault']}\n")


@pytest.mark.parametrize("text", ["", "nonsense", "{", "{} {}", '{"a": NaN}', "\xff"])
def test_what_is_no_json_is_bad_input(run: Run, album: str, text: str) -> None:
    ran = run("verify", album, "-", "--json", stdin=text.encode("latin-1"))
    assert ran.refused(4)
    assert ran.err.startswith("error: <stdin>")


def test_a_key_that_stands_twice_is_not_valid(run: Run, album: str) -> None:
    ran = run("verify", album, "-", "--json", stdin=b'{"rule": "Init", "rule": "In-Tr"}')
    assert (ran.code, ran.json["valid"]) == (1, False)


def test_lemmas_may_stand_beside_the_derivation_or_in_it(run: Run, album: str) -> None:
    answer = run("online", album, "unshare", "view", "--json").json
    lemma = answer["derivation"]["premises"][0]
    derivation = {**answer["derivation"], "premises": [{"ref": 0}]}
    inside = {**answer, "derivation": {**derivation, "lemmas": [lemma]}}
    beside = {**answer, "derivation": derivation, "lemmas": [lemma]}
    for told in (inside, beside):
        assert run("verify", album, "-", stdin=json.dumps(told).encode()).code == 0


@pytest.mark.parametrize(
    ("asked", "holds", "code"),
    [("unshare < view", True, 1), ("view > unshare", True, 1), ("view < unshare", False, 0),
     ("unshare ? nobody", True, 1), ("notify ? like", False, 0), ('like<>"log in"', True, 1),
     ("like ∥ upload", True, 1)],
)  # fmt: skip
def test_why_not(run: Run, album: str, asked: str, holds: bool, code: int) -> None:
    ran = run("why-not", album, asked, "--json")
    assert ran.code == code
    unknown = {"unknown_events"} if "nobody" in asked else set()
    assert set(ran.json) == {"schema", "holds", "premises"} | unknown
    assert ran.json["holds"] is holds
    for premise in ran.json["premises"]:
        assert set(premise) == {"rule", "text", "holds"}
        assert isinstance(premise["holds"], bool)
    if not holds:
        assert not all(premise["holds"] for premise in ran.json["premises"])
    assert run("why-not", album, asked).code == code


def test_the_table_of_several_files_is_an_object_a_line(run: Run, album: str) -> None:
    Path("other.mc").write_text("internal a < b\n stamp z = 1", encoding="utf-8")
    Path("empty.mc").write_text("", encoding="utf-8")
    ran = run("table", album, "other.mc", "empty.mc", "--json")
    first, second, third = ran.json_lines
    assert ran.code == 0
    assert first["file"] == album
    events = first["events"]
    assert events == sorted(known(ALBUM))
    assert [pair[:2] for pair in first["pairs"]] == [[a, b] for a in events for b in events if a < b]
    for a, b, value in first["pairs"]:
        assert run("online", album, a, b, "--json").json["verdict"] == value
    expected = {"schema": "microcosm/1", "file": "other.mc", "events": ["a", "b", "z"]}
    assert second == {**expected, "pairs": [["a", "b", "<"], ["a", "z", "?"], ["b", "z", "?"]]}
    assert third == {"schema": "microcosm/1", "file": "empty.mc", "events": [], "pairs": []}


@given(microcosms(0, 6), st.sets(st.sampled_from("abcdefgh"), max_size=4))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_event_that_a_file_names_is_in_the_table_as_single_questions_answer(
    run: Run, known: Givens, more: set[str]
) -> None:
    text = write_mc(known) + "".join(f"event {name} process {name}\n" for name in sorted(more))
    Path("some.mc").write_text(text, encoding="utf-8")
    asked = Microcosm.read("some.mc")
    names = sorted({*asked.events, *more})
    pairs = [*combinations(names, 2)]
    wanted = {
        "online": [asked.online(*pair).value for pair in pairs],
        "possible": [[str(one) for one in asked.possible(*pair).relations] for pair in pairs],
    }
    for mode, verdicts in wanted.items():
        table = run("table", "some.mc", "--json", "--mode", mode).json
        assert table["events"] == names
        assert table["pairs"] == [[*pair, verdict] for pair, verdict in zip(pairs, verdicts, strict=True)]
        counted = run("table", "some.mc", "--all", "--mode", mode).out.splitlines()
        assert len(counted) == len(pairs)


def test_the_table_goes_on_after_a_bad_file(run: Run, album: str) -> None:
    ran = run("table", "nowhere.mc", album, "--json")
    assert ran.code == 4
    missing, found = ran.json_lines
    assert (missing["file"], missing["exit"], found["file"]) == ("nowhere.mc", 4, album)
    assert ran.err.count("error: ") == 1


def test_check(run: Run, album: str) -> None:
    Path("cycle.mc").write_text("a < b < c < a", encoding="utf-8")
    fine, cycle = run("check", album, "cycle.mc", "--json").json_lines
    assert fine == {"schema": "microcosm/1", "consistent": True, "derivation": None, "conflict": None}
    assert set(cycle) == {"schema", "consistent", "derivation", "conflict"}
    assert cycle["conflict"] == ["a < b", "b < c", "c < a"]
    assert cycle["consistent"] is False
    assert cycle["derivation"]["rule"] == "Clash"
    assert cycle["derivation"]["conclusion"]["relation"] == "contradiction"
    assert len(cycle["derivation"]["premises"]) == 2
    assert run("check", album).code == 0
    assert run("check", album, "cycle.mc").code == 1
    assert run("check", "cycle.mc", "nowhere.mc").code == 4


@pytest.mark.parametrize(
    "text", ["a < b < c < a", "a < b\nb || a", "a || b\nb <> a", "internal a < b\nb < a"], ids=repr
)
def test_a_contradiction_is_bad_input_but_for_check_and_evolve(run: Run, text: str) -> None:
    Path("bad.mc").write_text(text, encoding="utf-8")
    for command in (
        ("online", "bad.mc", "a", "b"),
        ("why", "bad.mc", "a", "b"),
        ("why-not", "bad.mc", "a < b"),
        ("table", "bad.mc"),
        ("merge", "bad.mc"),
        ("verify", "bad.mc", "-"),
    ):
        ran = run(*command, "--json", stdin=b"{}")
        assert ran.refused(4), command
        assert ran.err.startswith("error: ")
        assert ran.err.count("\n\n  ⊢₀ ") == 2
    assert run("check", "bad.mc").code == 1
    assert run("evolve", "bad.mc").code == 1


def test_what_only_violates_condition_4_is_superseded_or_refused(run: Run) -> None:
    Path("four.mc").write_text("a < b < c\na <> c", encoding="utf-8")
    assert run("online", "four.mc", "a", "c", "--json").json["verdict"] == "<"
    for command in (("online", "four.mc", "a", "c"), ("table", "four.mc"), ("why-not", "four.mc", "a < c")):
        assert run(*command, "--strict").code == 4
    assert run("check", "four.mc").code == 0
    assert run("evolve", "four.mc", "--strict").code == 1
    assert run("evolve", "four.mc").code == 0


COMMANDS = [
    ("demo",), ("online",), ("why",), ("why-not",), ("table",), ("verify",), ("check",), ("evolve",),
    ("merge",), ("extract",), ("trace",), ("offline",), ("possible",),
    ("rules", "list"), ("rules", "show"), ("rules", "check"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_and_the_common_options(run: Run, command: tuple[str, ...]) -> None:
    ran = run(*command, "--help")
    assert ran.code == 0
    assert f"  microcosm {' '.join(command)}" in ran.out.split("Example")[1]
    assert "--json" in ran.out
    assert "--rules DIR" in ran.out


@pytest.mark.parametrize(
    "argv",
    [(), ("rules",), ("nonsense",), ("online",), ("online", "album.mc", "a"),
     ("online", "album.mc", "a", "b", "c"), ("online", "album.mc", "a", "b", "--nonsense"),
     ("online", "album.mc", "view", "view"),
     ("why", "album.mc", "unshare", "view", "--offline", "--since", "a < b"),
     ("why", "album.mc", "a", "b", "--since", "a"),
     ("why", "album.mc", "a", "b", "--since", "a < b := a < b"), ("why-not", "album.mc", "a"),
     ("why-not", "album.mc", "a !< b"), ("why-not", "album.mc", "a < a"),
     ("why-not", "album.mc", '"\\x" < b'),
     ("table",), ("table", "album.mc", "--mode", "nonsense"), ("table", "album.mc", "--limit", "3"),
     ("table", "album.mc", "--depth", "1"), ("table", "album.mc", "--mode", "offline", "--depth", "-1"),
     ("offline", "album.mc", "a", "a"), ("offline", "album.mc", "a", "b", "--depth", "deep"),
     ("offline", "album.mc", "a", "b", "--profile", "nonsense"), ("offline", "album.mc", "a"),
     ("possible", "album.mc", "a", "a"), ("possible", "album.mc", "a", "b", "--limit", "-1"),
     ("table", "-", "-"), ("verify", "-", "-"), ("merge", "-", "album.mc", "-"), ("check",),
     ("evolve", "album.mc", "--add", "a <"), ("evolve", "album.mc", "--update", "nonsense"),
     ("evolve", "album.mc", "--internal", ""), ("evolve", "album.mc", "--forget", "\udcff"),
     ("rules", "show", "Nothing"), ("trace", "album.mc", "--to", "out.csv"), ("extract",),
     ("extract", "album.mc", "--format", "nonsense"), ("extract", "album.mc", "--pattern", "(")],
    ids=ascii,
)  # fmt: skip
def test_usage_errors(run: Run, album: str, argv: tuple[str, ...]) -> None:
    ran = run(*argv)
    assert ran.refused(2)
    assert ran.err.count("error: ") == (argv not in ((), ("rules",)))
    assert "microcosm" in ran.err


def test_version(run: Run) -> None:
    ran = run("--version")
    assert ran.code == 0
    assert ran.out.startswith("microcosm ")


def test_names_come_from_the_command_line_as_they_are(run: Run) -> None:
    text = json.dumps({"external": [['"', "<", "-x"], ["-x", "<", "a b"]]})
    ran = run("online", "-", "--json", "--", '"', "a b", stdin=text.encode())
    assert ran.json["pair"] == ['"', "a b"]
    assert ran.json["verdict"] == "<"


def test_a_near_name_is_offered_on_standard_error(run: Run, album: str) -> None:
    ran = run("online", album, "uplaod", "view", "--json")
    assert ran.json["verdict"] == "?"
    assert ran.err == "note: uplaod is not in this microcosm; did you mean upload?\n"
    stamped = run("online", "-", "z", "a", stdin=b"a < b\nstamp z = 3")
    assert stamped.err == "note: z is named in this microcosm, but nothing relates it to another event\n"


def test_a_name_that_is_no_text_is_asked_about_all_the_same(run: Run, album: str) -> None:
    """What a shell hands over need not be UTF-8; Python has it as half surrogates."""
    ran = run("online", album, "\udcff", "view", "--json")
    assert (ran.code, ran.json["pair"]) == (3, ["\udcff", "view"])
    assert run("why", album, "\udcff", "view").code == 3
    assert run("online", "\udcff", "a", "b").code == 4
