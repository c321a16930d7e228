"""A statement meets few functions and files on its way to a given: one can follow it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest

import microcosm
from microcosm.text.mc_reader import read_givens

PACKAGE = Path(microcosm.__file__).parent


def entered(text: str, facts: int) -> set[tuple[str, str]]:
    """The functions of the package, by file, that are entered from a text to what is external."""
    found: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and Path(code.co_filename).is_relative_to(PACKAGE) and code.co_name[0] != "<":
            found.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        read = len(read_givens(text).external)
    finally:
        sys.setprofile(None)
    assert read == facts
    return found


@pytest.mark.parametrize(
    ("text", "functions", "files"),
    [("a < b\nb < c\nc < d\n", 10, 4), ("a < b < c < d\n", 15, 5)],
)
def test_the_way_of_a_statement_is_short(text: str, functions: int, files: int) -> None:
    """Neighbouring correspondences are read as columns, other statements line by line."""
    entered(text, 3)  # what is loaded and remembered once is
    found = entered(text, 3)
    assert len(found) <= functions, sorted(found)
    assert len({file for file, _ in found}) <= files
