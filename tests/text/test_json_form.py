"""The JSON form: the same givens as the text, and strict about everything else; that the loop for deep texts
agrees with the standard library, and who uses it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Microcosm, verify
from microcosm.cli.app import main
from microcosm.errors import TextError
from microcosm.givens.columns import Message
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.text.json_form import TwiceError, decode_json, from_inside, givens_from_json, givens_to_json
from microcosm.text.mc_reader import read_givens
from tests.text.documents import ALBUM, all_givens, sources

EXAMPLE: dict[str, Any] = {
    "schema": "microcosm/1",
    "name": None,
    "internal": ["e1"],
    "external": [
        ["a", "<", "b"], ["c", ">", "b"], ["c", "||", "d", "message m7"], ["e", "<>", "f", "node.log:12"],
    ],
    "refuted": [["b", "a"]],
    "stamps": {"e1": 5, "u": [10.0, 12.5]},
    "clocks": {"u": ["phone", {"phone": 3, "laptop": 1}, True], "v": ["phone", {}, False]},
    "messages": [["send", "e", "m1", "phone", ["laptop", "album"]], ["receive", "f", "m1", "laptop"]],
    "processes": {"phone": ["e3"]},
    "orderings": ["causal", "rsc interior"],
    "complete": False,
    "tokens": {"lock": ["e1", "u"]},
}  # fmt: skip


def test_every_field() -> None:
    givens = read_givens(" \n" + json.dumps(EXAMPLE), "album.json")
    assert givens == Givens(
        internal=["e1"],
        external={
            fact.key(): fact
            for fact in (
                Correspondence("a", Relation.BEFORE, "b"),
                Correspondence("b", Relation.BEFORE, "c"),
                Correspondence("c", Relation.CONCURRENT, "d"),
                Correspondence("e", Relation.RELATED, "f"),
            )
        },
        refuted={("b", "!<", "a"): Correspondence("b", Relation.NOT_BEFORE, "a")},
        stamps={"e1": 5, "u": (10.0, 12.5)},
        clocks={
            "u": Clock("phone", {"phone": 3, "laptop": 1}),
            "v": Clock("phone", {}, ticked=False),
        },
        messages=[
            Message("send", "e", "m1", "phone", ("laptop", "album")),
            Message("receive", "f", "m1", "laptop"),
        ],
        processes={"phone": ("e3",)},
        orderings=["causal", "rsc interior"],
        tokens={"lock": ("e1", "u")},
    )
    assert sources(givens) == [
        "album.json:external[0]",
        "album.json:external[1]",
        "message m7",
        "node.log:12",
        "album.json:refuted[0]",
    ]


def test_it_is_written_as_it_was_read() -> None:
    givens = read_givens(json.dumps(EXAMPLE), "album.json")
    expected = {**EXAMPLE, "external": [["a", "<", "b"], ["b", "<", "c"], *EXAMPLE["external"][2:]]}
    assert givens_to_json(givens) == expected


def test_absent_fields_are_empty() -> None:
    assert read_givens("{}") == Givens()
    assert givens_from_json({"schema": "microcosm/1", "external": []}) == Givens()
    assert sources(givens_from_json({"external": [["a", "<", "b"]]})) == ["external[0]"]


def test_text_and_json_say_the_same() -> None:
    givens = read_givens(ALBUM, "album.mc")
    assert read_givens(json.dumps(givens_to_json(givens))) == givens


@given(all_givens())
def test_what_is_written_reads_back(givens: Givens) -> None:
    written = givens_to_json(givens)
    again = read_givens(json.dumps(written))
    assert again == givens
    assert givens_to_json(again) == written
    assert list(again.clocks) == list(givens.clocks)
    for back, stated in zip(sources(again), sources(givens), strict=True):
        assert stated is None or back == stated


def test_what_is_written_shares_nothing_with_the_givens() -> None:
    givens = read_givens(json.dumps(EXAMPLE))
    written = givens_to_json(givens)
    again = givens_from_json(written)
    again.internal.append("x")
    again.clocks["u"].entries["q"] = 1
    assert givens_to_json(givens) == written


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("schema", "microcosm/2", 'schema: expected "microcosm/1", not "microcosm/2"'),
        ("schema", None, 'schema: expected "microcosm/1", not null'),
        ("name", 3, "name: expected a string, not 3"),
        ("internals", [], 'unknown field "internals"'),
        ("internal", "e1", 'internal: expected a list, not "e1"'),
        ("internal", ["a", 1], "internal[1]: expected a name (a string), not 1"),
        ("internal", ["a", "b", "a"], "internal[2]: 'a' stands twice"),
        ("internal", [""], "internal[0]: a name cannot be empty"),
        ("internal", ["\ud800"], "internal[0]: a name cannot contain half of a surrogate pair"),
        ("external", {}, "external: expected a list, not an object"),
        ("external", [["a", "<"]], "external[0]: expected [event, relation, event]"),
        ("external", [["a", "<", "b", "c", "d"]], "not a list of 5"),
        ("external", [["a", "<", "b"], ["a", "!<", "b"]], "external[1][1]: expected a relation"),
        ("external", [["a", "?", "b"]], 'expected a relation ("<", ">", "||", "<>"), not "?"'),
        ("external", [["a", ["<"], "b"]], "external[0][1]: expected a relation"),
        ("external", [["a", "<", "a"]], "external[0][2]: an event stands in no relation to itself: 'a'"),
        ("external", [[None, "<", "b"]], "external[0][0]: expected a name (a string), not null"),
        ("external", [["a", "<", "b", None]], "external[0][3]: expected a string, not null"),
        ("refuted", [["a", "<", "b", "c"]], "refuted[0]: expected [event, event]"),
        ("refuted", [["a", "a"]], "refuted[0][1]: an event stands in no relation to itself"),
        ("stamps", [], "stamps: expected an object, not a list of 0"),
        ("stamps", {"e": True}, 'stamps["e"]: expected an integer (a Lamport time) or [earliest'),
        ("stamps", {"e": 5.0}, 'stamps["e"]: expected an integer'),
        ("stamps", {"e": [1, 2, 3]}, 'stamps["e"]: expected [earliest, latest], not a list of 3'),
        ("stamps", {"e": [1, False]}, 'stamps["e"][1]: expected a number, not false'),
        ("stamps", {"e": [1, "2"]}, 'stamps["e"][1]: expected a number, not "2"'),
        ("stamps", {"e": [2, 1]}, 'stamps["e"]: the interval ends (1) before it begins (2)'),
        ("stamps", {"": 1}, 'stamps[""]: a name cannot be empty'),
        ("clocks", {"e": ["p"]}, 'clocks["e"]: expected [process, {process: count}, ticked]'),
        ("clocks", {"e": ["p", [], True]}, 'clocks["e"][1]: expected an object'),
        ("clocks", {"e": ["p", {"q": -1}, True]}, 'clocks["e"][1]["q"]: a clock counts events'),
        ("clocks", {"e": ["p", {"q": 1.0}, True]}, 'clocks["e"][1]["q"]: expected a count, not 1.0'),
        ("clocks", {"e": ["p", {"q": True}, True]}, 'clocks["e"][1]["q"]: expected a count, not true'),
        ("clocks", {"e": ["p", {}, 1]}, 'clocks["e"][2]: expected true or false, not 1'),
        ("messages", [["deliver", "e", "m", "p"]], 'messages[0][0]: expected "send" or "receive"'),
        ("messages", [["send", "e", "m", "p", "q"]], "messages[0][4]: expected a list"),
        ("messages", [["receive", "e", "m", "p", ["q"]]], "messages[0][4]: a reception has no receivers"),
        ("messages", [["send", "e", "m"]], "messages[0]: expected"),
        ("orderings", ["causal", "casual"], 'orderings[1]: unknown ordering "casual"'),
        ("orderings", ["causal  interior"], "orderings[0]: unknown ordering"),
        ("complete", 0, "complete: expected true or false, not 0"),
        ("tokens", {"t": []}, 'tokens["t"]: expected the names of some events'),
        ("processes", {"p": []}, 'processes["p"]: expected the names of some events'),
        ("events", [{"name": "a", "seq": -1}], "events[0].seq: expected a whole number up to 19 digits"),
        ("events", [{"name": "a", "line": 10**19}], "events[0].line: expected a whole number"),
        ("events", [{"name": "a", "seq": True}], "events[0].seq: expected a whole number"),
        ("tokens", {"t": ["a", "a"]}, "tokens[\"t\"][1]: 'a' stands twice"),
    ],
)  # fmt: skip
def test_errors_name_the_member(field: str, value: object, message: str) -> None:
    with pytest.raises(TextError) as caught:
        read_givens(json.dumps({**EXAMPLE, field: value}), "f.json")
    assert message in caught.value.message
    assert caught.value.file == "f.json"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ('{\n  "internal": ["a",]}', "not JSON", (2, 20 if sys.version_info < (3, 13) else 19)),
        ("{", "not JSON", (1, 2)),
        ("{} {}", "more than one JSON document", (1, 4)),
        ('{"complete": True}', "not JSON", (1, 14)),
        ('{"internal": [], "internal": []}', "the key 'internal' stands twice", (None, None)),
        ('{"clocks": {"e": ["p", {"p": 1, "p": 2}, true]}}', "the key 'p' stands twice", (None, None)),
        ('{"stamps": {"e": [NaN, 1]}}', "NaN is no JSON number", (None, None)),
        ('{"stamps": {"e": [-Infinity, 1]}}', "-Infinity is no JSON number", (None, None)),
        ('{"stamps": {"e": [1e999, 1e999]}}', "the number is too large", (None, None)),
        ('{"stamps": {"e": ' + "9" * 5000 + "}}", "too many digits", (None, None)),
        ('{"external": ' + "[" * 100_000, "nested too deeply", (None, None)),
        ('{"internal": ["a\tb"]}', "not JSON: Invalid control character", (1, 17)),
    ],
)
def test_what_is_no_json(text: str, message: str, place: tuple[int | None, int | None]) -> None:
    with pytest.raises(TextError) as caught:
        read_givens(text, "f.json")
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize("found", [[], None, 3, "x", {1: 2}])
def test_only_an_object_is_a_microcosm(found: object) -> None:
    with pytest.raises(TextError):
        givens_from_json(found)


def test_a_near_field_is_suggested() -> None:
    with pytest.raises(TextError) as caught:
        read_givens('{"externals": []}')
    assert caught.value.hint == "Did you mean 'external'?"


def test_an_error_is_short() -> None:
    with pytest.raises(TextError) as caught:
        read_givens(json.dumps({"internal": ["x" * 10_000, 3, "y"], "x" * 10_000: 1}))
    assert len(str(caught.value)) < 300


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(VALUES, st.sampled_from([None, 0, 2]))
def test_the_loop_reads_what_the_library_writes(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert from_inside(text, "f") == value
    assert decode_json(text, "f", deep=True) == value


@pytest.mark.parametrize("depth", [10, 20_000])
def test_depth_is_no_obstacle(depth: int) -> None:
    value = decode_json('{"a": [' * depth + "1" + "]}" * depth, "f", deep=True)
    for _ in range(depth):
        assert isinstance(value, dict)
        [value] = value["a"]
    assert value == 1


BAD = (
    "", " ", "nonsense", "{", "[1,", "[1 2]", '{"a" 1}', '{"a": 1,}', "{1: 2}", "[1]]", '"a', "NaN",
    "[Infinity]", "01", "+1", "1.", "tru", "'a'", '"\\x"', '"\n"', "[" * 5000, "[" * 5000 + "x",
    '{"a":' * 5000 + "NaN",
)  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:12] or "empty")
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(TextError, match="JSON"):
        decode_json(text, "f", deep=True)
    with pytest.raises(TextError, match="JSON"):
        from_inside(text, "f")


def test_a_key_that_stands_twice_is_refused() -> None:
    for text in ('{"a": 1, "a": 1}', "[" * 3000 + '{"a": 1, "b": 2, "a": 3}' + "]" * 3000):
        with pytest.raises(TwiceError, match="'a'"):
            decode_json(text, "f", deep=True)


def test_a_fault_has_its_place() -> None:
    with pytest.raises(TextError) as caught:
        decode_json('{"a": 1,\n "b": nonsense}', "proof.json")
    assert str(caught.value).splitlines()[:3] == [
        "proof.json:2:7: not JSON: Expecting value",
        '   "b": nonsense}',
        "        ^",
    ]


def test_a_number_of_any_length_is_a_number() -> None:
    assert decode_json("1" * 5000, "f", deep=True) == float("inf")


PROOF = Microcosm.parse("a < b < c").why("a", "c")
assert PROOF is not None
STATED = json.dumps(PROOF.to_json())


@pytest.mark.parametrize(
    "text",
    [
        STATED, STATED.replace("{", '{"rule": "Init", ', 1), STATED.replace('"a"', '"b"'),
        '{"premises": [' * 5000 + STATED + "]}" * 5000, f'{{"derivation": {STATED}, "a": {"1" * 5000}}}',
        "[" * 5000 + "]" * 5000, "[" * 5000, STATED + STATED, '{"rule": NaN}', "", "null", "[1.5]",
    ],
    ids=lambda text: text[:12] or "empty",
)  # fmt: skip
def test_python_and_the_command_verify_alike(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, proof = tmp_path / "m.mc", tmp_path / "proof.json"
    file.write_text("a < b < c\n")
    proof.write_text(text)
    code = main(["verify", str(file), str(proof), "--json"])
    told = json.loads(capsys.readouterr().out)
    if code == 4:
        with pytest.raises(TextError) as caught:
            verify(file, proof)
        assert told["error"] == caught.value.message
    else:
        found = verify(file, proof)
        assert (found.valid, code) == (told["valid"], int(not found.valid))
        if '"derivation"' not in text:  # the command takes whole answers, too
            assert found.fault == told["fault"]
