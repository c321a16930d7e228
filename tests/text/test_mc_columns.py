"""Correspondences that are read into columns are those that are read one by one."""

from __future__ import annotations

from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import tuning
from microcosm.errors import Contradiction, TextError
from microcosm.givens.givens import Givens
from microcosm.state.microcosm import Microcosm
from microcosm.text import mc_reader, mc_writer
from microcosm.text.mc_reader import read_givens
from microcosm.text.mc_writer import iter_mc, write_mc
from microcosm.text.statement import all_stated, is_default, stated

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


def process_columns(givens: Givens) -> dict[str, str]:
    """The process of each event that is told of, the last that is said."""
    return {
        event: process for column in givens.process_columns() for event, process in zip(*column, strict=True)
    }


@given(st.lists(lines, max_size=12).map("\n".join))
def test_columns_are_what_is_read_one_by_one(text: str) -> None:
    mine, theirs = read(text, 0), read(text, 1 << 30)
    if isinstance(theirs, str) or isinstance(mine, str):
        assert mine == theirs
        return
    assert theirs.order_columns is None
    assert list(mine.named()) == list(theirs.named())
    assert mine.external_count == theirs.external_count
    assert mine.listed() == theirs.listed() == list(mine.named())
    assert process_columns(mine) == process_columns(theirs)
    assert write_mc(mine) == write_mc(theirs)
    assert mine == theirs
    assert mine.events == theirs.events
    assert [f.source for f in mine.external.values()] == [f.source for f in theirs.external.values()]


def careful(text: str) -> Givens | str:
    """What a document says line by line and word by word, nothing in columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "COLUMNS_FROM", 1 << 30)
        patch.setattr(mc_reader, "BEGINNINGS", ())
        patch.setattr(mc_reader, "read_correspondences", lambda text, at, place, line: (at, None))
        patch.setattr(mc_reader, "short_cut", lambda line, source: None)
        try:
            return read_givens(text, "file.mc")
        except TextError as error:
            return str(error)


PLACES = ["m 1", "process p", "x:3", "line 4", "f:external[2]", "", "[1]", "a\x7fb", "é", "\\u0041", "\\q"]


@given(st.lists(st.sampled_from(PLACES), min_size=1))
def test_sources_together_are_stated_as_each_alone(sources: list[str]) -> None:
    assert [*map(is_default, all_stated(sources))] == [is_default(stated(source)) for source in sources]
    assert [*all_stated(sources)] == sources


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Chains of processes, messages between them, and who sent and received, as `extract` writes them; some
    names quoted or odd, some lines twice, the wrong way round, spoilt, apart, or behind others."""
    odd = st.sampled_from(["{}", "{}", "{}", '"{}"', '"a {}"', "é{}", "-{}", '"\\u0041{}"', "n-{}", "from"])
    form = draw(st.sampled_from(["{}"] * 3 + ['"{} x"', "ü{}"]))
    threads = [[form.format(f"{p}:{seq}") for seq in range(1, draw(st.integers(1, 6)) + 1)] for p in "pqr"]
    stated = [
        [f'{a} < {b} from "process {p}"' for a, b in pairwise(thread)]
        for p, thread in zip("pqr", threads, strict=True)
    ]
    events = st.sampled_from([event for thread in threads for event in thread])
    sources = st.one_of(st.just(""), st.sampled_from(PLACES).map(' from "{}"'.format))
    signs = st.sampled_from(["<"] * 8 + [">", "||", "<>", "!<"])
    crossing = st.builds("{} {} {}{}".format, events, signs, events, sources)
    told = [[f"{draw(st.sampled_from(['send', 'receive']))} {e} = m{e[-1]} p" for e in t] for t in threads]
    found = [*chain(*stated), *draw(st.lists(crossing, max_size=8)), *chain(*told)]
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(found) - 1))
        word = draw(odd).format(at)
        spoilt = [found[at] + " # why", found[at].replace("<", f"< {word} <", 1), word, "", "\t" + found[at]]
        spoilt += [found[at] + "\r", f"event {word} kind send", "internal i < j", f"{word} < z", "complete"]
        found.insert(draw(st.integers(0, len(found))), draw(st.sampled_from([found[at], *spoilt])))
    return "\n".join(found) + draw(st.sampled_from(["", "\n"]))


@given(documents(), st.sampled_from([1, 2, 1000]))
def test_columns_are_what_is_read_word_by_word(text: str, rows: int) -> None:
    mine, theirs = read(text, 0), careful(text)
    if isinstance(theirs, str) or isinstance(mine, str):
        assert mine == theirs
        return
    assert list(mine.named()) == mine.listed() == list(theirs.named())
    assert (mine.external_count, process_columns(mine)) == (theirs.external_count, process_columns(theirs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mc_writer, "_ROWS", rows)
        assert write_mc(mine) == "".join(iter_mc(mine)) == write_mc(theirs)
        assert write_mc(mine, sources=False) == write_mc(theirs, sources=False)
    expected = [(f, f.source, is_default(f.source)) for f in theirs.external.values()]
    if mine.order_columns is not None:
        for fact, source, _ in expected:
            found = mine.order_columns.fact(fact.left, fact.right)
            assert found == fact
            assert found is not None
            assert found.source == source
    assert [(f, f.source, is_default(f.source)) for f in mine.external.values()] == expected
    assert (mine, mine.events) == (theirs, theirs.events)


@given(documents())
def test_columns_are_answered_as_what_is_read_word_by_word(text: str) -> None:
    mine, theirs = read(text, 0), careful(text)
    if isinstance(theirs, str) or isinstance(mine, str):
        return
    both: list[Microcosm | str] = []
    for givens in (mine, theirs):
        try:
            both.append(Microcosm(givens))
        except Contradiction as error:
            both.append(str(error))
    one, other = both
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert {(a, b, r) for a, b, r in one.table()} == {(a, b, r) for a, b, r in other.table()}


messages = st.lists(
    st.tuples(st.sampled_from(["send", "receive"]), *[st.sampled_from("abcdefg")] * 3), min_size=2
)


@given(st.lists(st.permutations("abcdef").map(lambda p: (p[0], p[1])), min_size=1, unique=True), messages)
def test_whose_events_are_is_known_from_lines_of_messages(
    stated: list[tuple[str, str]], told: list[tuple[str, ...]]
) -> None:
    text = "\n".join([f"{a} < {b}" for a, b in stated] + ["{} {} = {} {}".format(*each) for each in told])
    mine, theirs = read(text, 0), read(text, 1 << 30)
    assert isinstance(mine, Givens)
    assert isinstance(theirs, Givens)
    assert mine.order_columns is not None
    assert mine.message_columns is not None
    assert mine.listed() == theirs.listed()
    assert process_columns(mine) == process_columns(theirs)
    linked = {end for pair in stated for end in pair}
    assert (mine.order_columns.processes is not None) is (linked <= {event for _, event, *_ in told})
    assert mine.messages == theirs.messages


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_microcosm_on_columns_answers_and_evolves_as_any(shuffled: bool) -> None:
    stated = [f"e{a} < e{a + step}" for a in range(40) for step in (1, 7)]
    text = "\n".join(stated[::-1] if shuffled else stated)
    given_ = read(text, 0)
    assert isinstance(given_, Givens)
    mine, theirs = Microcosm(given_), Microcosm(read_givens(text))
    assert given_.order_columns is not None
    assert list(mine.table()) == list(theirs.table())
    for known in (mine, theirs):
        assert given_.order_columns is not None
        known.add("e3 || f")
        known.remove("e3 < e4")
        known.add("f < e9")
        known._check()
    assert list(mine.table()) == list(theirs.table())
    assert mine.to_text() == theirs.to_text()
