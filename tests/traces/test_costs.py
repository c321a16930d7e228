"""What reading costs grows with the log and no faster: counted exactly, in lines of code that run."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import microcosm
from microcosm.traces import reading as formats
from microcosm.traces.execution import executions
from microcosm.traces.report import Report
from tests.traces.samples import SAMPLES

PACKAGE = str(Path(microcosm.__file__).parent)


def lines_run(path: Path, format: str, pattern: str | None) -> tuple[int, int]:
    """How many lines of this package run while a log is read and its executions are made; and its events."""
    count = 0

    def each_line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return each_line

    def each_call(frame: FrameType, event: str, _: Any) -> Any:
        return each_line if frame.f_code.co_filename.startswith(PACKAGE) else None

    report = Report()
    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        events = deque(formats.read([path], format, pattern, report))
        executions(events, report)
    finally:
        sys.settrace(before)
    return count, len(events)


@pytest.mark.parametrize("order", ["as written", "backwards"])
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_reading_twice_as_much_takes_twice_as_long(name: str, order: str, tmp_path: Path) -> None:
    costs = []
    for size in (100, 200, 400):
        sample = SAMPLES[name](1, size)
        if order == "backwards" and not sample.shuffles:
            return
        records = sample.records if order == "as written" else sample.records[::-1]
        path = tmp_path / f"{size}.log"
        path.write_bytes(sample.binary("".join((sample.header, *records, sample.footer))))
        count, events = lines_run(path, sample.format, sample.pattern)
        costs.append(count / events)
    assert costs[2] < 1.15 * costs[1] < 1.3 * costs[0]
