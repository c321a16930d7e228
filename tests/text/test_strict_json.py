"""The strict JSON reader, that its loop for deep texts agrees with the standard library, and who uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Microcosm, verify
from microcosm.cli.app import main
from microcosm.errors import TextError
from microcosm.text.json_form import TwiceError, decode_json, from_inside

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
