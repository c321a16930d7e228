"""Correspondences that are read into columns are those that are read one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import tuning
from microcosm.errors import TextError
from microcosm.givens.givens import Givens
from microcosm.state.microcosm import Microcosm
from microcosm.text import mc_reader
from microcosm.text.mc_reader import read_givens
from microcosm.text.mc_writer import write_mc

events = st.sampled_from(["a", "b", "c", "d", '"log in"', "from", "-e", "p:1"])
TOLD = [
    *("", " process p", ' process ""', " seq 12", " kind send", " kind sent", " message m", ' message "a b"'),
    *(
        ' "log in"',
        ' "log \\" in"',
        ' ""',
        " at f:3",
        " at f:x",
        ' at "my f:3"',
        " time 3",
        "  seq 3",
        " # no",
    ),
]
told = st.one_of(
    st.builds("send {} = {} {}".format, events, events, events),
    st.builds("receive {} = {} {}".format, events, events, events),
    st.builds("event {}{}{}".format, events, st.sampled_from(TOLD), st.sampled_from(TOLD)),
    st.sampled_from(["send a = m p -> q", 'event x1 n=3 at "f g:3"', 'event x2 "\\u0061" at f:1']),
)
lines = st.one_of(
    st.builds("{} < {}".format, events, events),
    st.builds("{} < {} < {}".format, events, events, events),
    st.builds('{} < {} from "{}"'.format, events, events, st.sampled_from(["m1", "x:3"])),
    st.lists(told, min_size=2, max_size=4).map("\n".join),
    st.sampled_from(["", "# a comment", "internal i1 < i2", "b > a", "a || b", "a !< b", "c <> a", "name n"]),
)


def read(text: str, columns: int) -> Givens | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "COLUMNS_FROM", columns)
        if columns:
            patch.setattr(mc_reader, "BEGINNINGS", ())
        try:
            return read_givens(text, "file.mc")
        except TextError as error:
            return str(error)


@given(st.lists(lines, max_size=12).map("\n".join))
def test_columns_are_what_is_read_one_by_one(text: str) -> None:
    mine, theirs = read(text, 0), read(text, 1 << 30)
    if isinstance(theirs, str) or isinstance(mine, str):
        assert mine == theirs
        return
    assert theirs.links is None
    assert list(mine.named()) == list(theirs.named())
    assert mine.externals == theirs.externals
    assert write_mc(mine) == write_mc(theirs)
    assert mine == theirs
    assert mine.events == theirs.events
    assert [f.source for f in mine.external.values()] == [f.source for f in theirs.external.values()]


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_microcosm_on_columns_answers_and_evolves_as_any(shuffled: bool) -> None:
    stated = [f"e{a} < e{a + step}" for a in range(40) for step in (1, 7)]
    text = "\n".join(stated[::-1] if shuffled else stated)
    given_ = read(text, 0)
    assert isinstance(given_, Givens)
    mine, theirs = Microcosm(given_), Microcosm(read_givens(text))
    assert given_.links is not None
    assert list(mine.table()) == list(theirs.table())
    for known in (mine, theirs):
        assert given_.links is not None
        known.add("e3 || f")
        known.remove("e3 < e4")
        known.add("f < e9")
        known._check()
    assert list(mine.table()) == list(theirs.table())
    assert mine.to_text() == theirs.to_text()
