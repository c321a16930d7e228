"""What a program logs is recorded, and `logging` is none the worse for it."""

from __future__ import annotations

import logging
import logging.config
from collections.abc import Iterator
from pathlib import Path

import pytest

from microcosm.errors import TextError
from microcosm.record import Recorder, RecordHandler
from tests.record.logs import lines


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger of its own, without handlers."""
    found = logging.getLogger("tests.record")
    found.setLevel(logging.DEBUG)
    found.propagate = False
    yield found
    for handler in [each for each in found.handlers if isinstance(each, RecordHandler)]:
        found.removeHandler(handler)
        handler.close()


def test_a_record_is_an_event_with_what_extra_brings(tmp_path: Path, logger: logging.Logger) -> None:
    log = tmp_path / "a.jsonl"
    handler = RecordHandler("a", log, level="INFO", flush="exit")
    logger.addHandler(handler)
    logger.debug("not heard")
    logger.info("took %s of %d", "one", 2, extra={"key": "x", "process_": 1})
    try:
        raise ValueError("bad")
    except ValueError:
        logger.exception("failed")
    handler.close()
    first, second = lines(log)
    assert (first["process"], first["seq"], first["kind"], first["label"]) == (
        "a",
        1,
        "internal",
        "took one of 2",
    )
    told = {"key": "x", "process_": 1, "level": "INFO", "logger": "tests.record"}
    assert {**told, "time": first["attributes"]["time"]} == first["attributes"]
    assert second["attributes"]["exception"] == "ValueError('bad')"


def test_a_recorder_of_the_program_stays_open_and_has_one_chain(
    tmp_path: Path, logger: logging.Logger
) -> None:
    log = tmp_path / "a.jsonl"
    with Recorder("a", log) as recorder:
        logger.addHandler(handler := RecordHandler(recorder=recorder))
        header = recorder.send("x")
        logger.info("said")
        handler.close()
        recorder.receive(header)
    assert [each["seq"] for each in lines(log)] == [1, 2, 3]


def test_what_the_recorder_says_itself_is_not_recorded(tmp_path: Path) -> None:
    with RecordHandler("a", tmp_path / "a.jsonl").recorder as recorder:
        handler = RecordHandler(recorder=recorder)
        handler.handle(logging.makeLogRecord({"name": "microcosm.record", "msg": "full"}))
    assert (tmp_path / "a.jsonl").read_text(encoding="utf-8") == ""


def test_arguments_that_do_not_fit_are_told_as_logging_tells_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = RecordHandler("a", tmp_path / "a.jsonl")
    handler.handle(logging.makeLogRecord({"msg": "%d", "args": ("no number",)}))
    handler.close()
    assert "Logging error" in capsys.readouterr().err


def test_it_has_a_process_or_a_recorder() -> None:
    for wrong in ({}, {"process": "a", "recorder": Recorder("a")}):
        with pytest.raises(TextError, match="a process, or a recorder"):
            RecordHandler(**wrong)  # type: ignore[arg-type]
