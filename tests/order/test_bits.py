"""Rows of bits against sets of numbers."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.order import bits as module
from microcosm.order.bits import (
    Remembered,
    bits,
    from_positions,
    lowest,
    marks,
    meeting,
    transposed,
    use_gmp,
    without,
)

WIDTHS = st.sampled_from([1, 7, 64, 65, 300, 5_000])


@st.composite
def sets(draw: st.DrawFn) -> tuple[set[int], int]:
    width = draw(WIDTHS)
    return draw(st.sets(st.integers(0, width - 1), max_size=draw(st.sampled_from([1, 5, 20, 60])))), width


@pytest.fixture(params=[False, True], ids=["alone", "GMP"], scope="module")
def listing(request: pytest.FixtureRequest) -> bool:
    """Whether GMP lists members."""
    if request.param:
        pytest.importorskip("gmpy2")
    return bool(request.param)


@given(drawn=sets())
def test_members_come_ascending_however_many_they_are(listing: bool, drawn: tuple[set[int], int]) -> None:
    assert use_gmp(listing) is listing
    members, width = drawn
    row = from_positions(members, width)
    assert row == sum(1 << at for at in members)
    assert list(bits(row)) == sorted(members)
    assert [at for at, mark in enumerate(marks(row, width)) if mark] == sorted(members)
    assert len(marks(row, width)) == width
    if members:
        assert lowest(row) == next(bits(row)) == min(members)


@given(st.sampled_from([1, 64, 384, 385, 500]), st.integers(1, 8), st.integers(0, 999))
def test_rows_are_taken_from_one_or_meet_it(listing: bool, width: int, sparse: int, seed: int) -> None:
    use_gmp(listing)
    rng = Random(seed)
    row, which, *rows = (
        reduce(and_, [rng.getrandbits(width) for _ in range(sparse)]) for _ in range(width + 2)
    )
    chosen = [at for at in range(width) if which >> at & 1]
    assert without(row, rows, which) == row & ~reduce(or_, [rows[at] for at in chosen], 0)
    assert meeting(row, rows, which) == sum(1 << at for at in chosen if rows[at] & row)


def test_rows_that_were_made_together_are_forgotten_together() -> None:
    version = 1
    kept = Remembered(lambda at: version << at)
    assert kept.filled([1, 2, 4]) == kept.first(3) == [1, 2, 4]
    assert kept.first(2) == [1, 2]
    kept.clear()
    version = 3
    assert [kept[at] for at in range(3)] == kept.first(3) == [3, 6, 12]


@given(st.integers(0, 20).flatmap(lambda n: st.lists(st.integers(0, (1 << n) - 1), min_size=n, max_size=n)))
def test_a_transposed_square_has_rows_for_columns(rows: list[int]) -> None:
    given_rows = list(rows)
    columns = transposed(rows)
    assert rows == given_rows
    assert [[column >> a & 1 for column in columns] for a in range(len(rows))] == [
        [row >> b & 1 for b in range(len(rows))] for row in rows
    ]


SIDES = st.sampled_from([0, 1, 2, 7, 63, 64, 65, 130, 256, 257, 300])


@given(st.tuples(SIDES, SIDES), st.randoms(), st.sampled_from([0, 256]))
def test_a_matrix_of_any_sides_is_transposed(sides: tuple[int, int], rng: Random, as_text: int) -> None:
    """Against its bits as lists of text."""
    high, wide = sides
    rows = [rng.getrandbits(wide) if wide else 0 for _ in range(high)]
    told = [f"{row:0{wide}b}"[::-1] for row in rows] if wide else []
    expected = [int("".join(column)[::-1], 2) for column in zip(*told, strict=True)] or [0] * wide
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TURNED_AS_TEXT", as_text)
        assert transposed(rows, wide) == expected


def test_gmp_comes_when_it_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many wide rows, unless it is not wanted; narrow ones do not count."""
    pytest.importorskip("gmpy2")
    narrow, wide = 1 << 20, 1 << 1_000
    for wanted in (True, False):
        monkeypatch.setattr(module, "_xmpz", None)
        monkeypatch.setattr(module, "_left", 3)
        monkeypatch.setattr(module, "GMP_WANTED", wanted)
        used = []
        for row in (wide, wide, *[narrow] * 5, wide, wide, narrow):
            assert list(bits(row)) == [row.bit_length() - 1]
            used.append(module._xmpz is not None)
        assert used == [False] * 7 + [wanted] * 3
