"""What tells a microcosm from a log: nothing that can be read as a microcosm is taken for a log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError
from microcosm.givens.givens import Givens
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
