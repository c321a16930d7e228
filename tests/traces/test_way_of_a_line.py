"""A line of a log meets few functions and files on its way to a correspondence: one can follow it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType

import pytest

import microcosm
from microcosm.traces.extract import microcosm_of_logs

PACKAGE = Path(microcosm.__file__).parent


def entered(path: Path) -> set[tuple[str, str]]:
    """The functions of the package, by file, that are entered from a log to its correspondences, as texts."""
    found: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and Path(code.co_filename).is_relative_to(PACKAGE) and code.co_name[0] != "<":
            found.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        told = [str(each) for each in microcosm_of_logs([path]).givens.external.values()]
    finally:
        sys.setprofile(None)
    assert told == ["p:1 < q:1"]
    return found


@pytest.mark.parametrize(
    ("more", "functions", "files"),
    [
        ({}, 34, 8),
        ({"label": "x"}, 34, 8),
        ({"label": "x", "attributes": {"x": 1}}, 34, 8),
        ({"attributes": {"x": [1]}}, 40, 12),
    ],
)
def test_the_way_of_a_line_is_short(
    tmp_path: Path, more: dict[str, object], functions: int, files: int
) -> None:
    """Events with more than a message and simple attributes are read with care, one by one."""
    path = tmp_path / "log.jsonl"
    ends = {"process": "p", "kind": "send"}, {"process": "q", "kind": "receive"}
    lines = [
        {"process": end["process"], "seq": 1, "kind": end["kind"], "message": "m", **more} for end in ends
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    entered(path)  # what is loaded and remembered once is
    found = entered(path)
    assert len(found) <= functions
    assert len({file for file, _ in found}) <= files
