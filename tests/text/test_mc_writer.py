"""What is written reads back."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from microcosm.givens.givens import Givens
from microcosm.text.mc_reader import parse_statement, read_givens
from microcosm.text.mc_writer import iter_mc, write_mc
from microcosm.text.names import quote
from microcosm.text.short_cut import short_cut
from microcosm.text.statement import Clocked, Correspondences, all_quoted, unquote
from tests.strategies import event_names
from tests.text.documents import all_givens, sources


@given(event_names())
@example("a-")
@example("\x7f\x9b31m")
@example("\u202eevil")
@example("\U000e0041")
def test_quote_writes_what_reads_back_and_shows(name: str) -> None:
    text = quote(name)
    assert text.isprintable()
    assert (unquote(text) if text.startswith('"') else text) == name
    assert parse_statement(f"{text}<{quote('x' + name)}").facts[0].left == name  # type: ignore[union-attr]


@given(all_givens())
def test_what_is_written_reads_back(givens: Givens) -> None:
    again = read_givens(write_mc(givens))
    assert again == givens
    assert [None if given is None else str(given) for given in sources(givens)] == [
        None if stated is None else back for stated, back in zip(sources(givens), sources(again), strict=True)
    ]
    assert list(again.clocks) == list(givens.clocks)
    assert write_mc(again) == write_mc(givens)


@given(all_givens())
def test_what_is_written_takes_the_short_cut(givens: Givens) -> None:
    for line in iter_mc(givens):
        if isinstance(parse_statement(line), Clocked | Correspondences):
            assert short_cut(line.removesuffix("\n")) is not None


@given(st.lists(event_names() | st.text("ab-.:\n é", max_size=4), max_size=5))
@example(["-a"])
@example(["a", "", "b"])
@example(["a-", "b"])
@example(["a\nb", "c"])
@example(["a", "from"])
def test_names_are_quoted_together_as_one_by_one(names: list[str]) -> None:
    assert [*all_quoted(names)] == [*map(quote, names)]
