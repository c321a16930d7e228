"""The strict JSON reader, and that its loop for deep texts agrees with the standard library."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.cli.commands.verify import TwiceError, deep, parse
from microcosm.errors import TextError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(VALUES, st.sampled_from([None, 0, 2]))
def test_the_loop_reads_what_the_library_writes(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert deep(text, "f") == value
    assert parse(text, "f") == value


@pytest.mark.parametrize("depth", [10, 20_000])
def test_depth_is_no_obstacle(depth: int) -> None:
    value = parse('{"a": [' * depth + "1" + "]}" * depth, "f")
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
    with pytest.raises(TextError, match="no JSON"):
        parse(text, "f")
    with pytest.raises(TextError, match="no JSON"):
        deep(text, "f")


def test_a_key_that_stands_twice_is_refused() -> None:
    for text in ('{"a": 1, "a": 1}', "[" * 3000 + '{"a": 1, "b": 2, "a": 3}' + "]" * 3000):
        with pytest.raises(TwiceError, match='"a"'):
            parse(text, "f")


def test_a_fault_has_its_place() -> None:
    with pytest.raises(TextError) as caught:
        parse('{"a": 1,\n "b": nonsense}', "proof.json")
    assert str(caught.value).splitlines()[:3] == [
        "proof.json:2:7: is no JSON: Expecting value",
        '   "b": nonsense}',
        "        ^",
    ]


def test_a_number_of_any_length_is_a_number() -> None:
    assert parse("1" * 5000, "f") == float("inf")
