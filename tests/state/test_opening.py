"""What tells a microcosm from a log: nothing that can be read as a microcosm is taken for a log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.givens.givens import Givens
from microcosm.state.microcosm import Microcosm
from microcosm.state.opening import _may_state
from microcosm.text.mc_reader import read_givens
from microcosm.text.mc_writer import write_mc
from tests.text.documents import ALBUM, all_givens

LINES = ["", "  ", "# a comment < b", "ts=1 level=info", "Lorem ipsum", "a b c", *ALBUM.splitlines()]
LINES += [
    "event e1",
    "event < b",
    'internal"a"',
    'name"x y"',
    "\ta→b",
    "process p = a",
    "a ≮ b",
    "\x0bcomplete",
]


@given(all_givens(), st.lists(st.sampled_from(LINES[:3]), max_size=3))
def test_whatever_is_written_as_a_microcosm_may_be_one(givens: Givens, before: list[str]) -> None:
    assert _may_state("\n".join([*before, write_mc(givens)]))


@given(st.lists(st.sampled_from(LINES), max_size=4), st.booleans())
def test_what_may_not_be_one_is_refused_by_its_reader(lines: list[str], marked: bool) -> None:
    text = "\n".join(lines)
    if not _may_state(("\ufeff" if marked else "") + text):
        with pytest.raises(TextError):
            read_givens(text)


def test_a_log_whose_name_is_no_utf_8_is_read_written_and_shown(tmp_path: Path) -> None:
    """Its name is written with escapes, wherever it is: in names of events, in places, on a page."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/w\xffb.log")
    try:
        Path(path).write_text(
            'ts=12:00:01 level=info msg="x"\nts=12:00:02 level=info msg="y"\n', encoding="utf-8"
        )
    except OSError:
        pytest.skip("no file can have such a name here")
    log = Microcosm.read(path)
    assert log.events == ["w\\udcffb:1", "w\\udcffb:2"]
    assert log.event(f"{path}:2") == log.events[1]
    for name in ("copy.mc", "copy.json"):
        log.write(tmp_path / name)
        copy = Microcosm.read(tmp_path / name)
        assert copy == log
        assert copy.events_table == log.events_table
    log.page(tmp_path / "page.html", files=[path], title="x\udcff")
    assert "<title>x\\udcff</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_a_name_that_no_file_can_have_is_told_of_where_it_is_written(name: str) -> None:
    for write in (Microcosm().write, Microcosm().page):
        with pytest.raises(TextError, match="cannot be written"):
            write(name)


@pytest.mark.parametrize("name", ["found.json", "found", "found.log"])
@pytest.mark.parametrize(
    ("text", "is_log"),
    [
        ('{"foo": 1, "bar": [2]}', True),
        ("[1, 2]", True),
        ('{"external": [], "foo": 1}', False),
        ('{"internal": [1]}', False),
    ],
)
def test_json_is_told_as_what_it_has_fields_of(name: str, text: str, is_log: bool, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TextError) as caught:
        Microcosm.read(path)
    assert ("is in no trace format" in caught.value.message) is (is_log or name.endswith(".log"))
