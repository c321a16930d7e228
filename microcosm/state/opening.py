"""What there is to read: microcosm files, and logs of any format, of which microcosms are made.

Which of them a file is, and which reader is the fast one that will do, is decided here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from microcosm import files
from microcosm.errors import TextError
from microcosm.givens.givens import Givens
from microcosm.text.mc_reader import read_givens

if TYPE_CHECKING:
    from microcosm.traces.extraction import Extraction
    from microcosm.traces.report import Report

MICROCOSM_ENDING = ".mc"


def read(path: files.AnyPath) -> Givens:
    """What a file gives: `.mc`, JSON, or a log of any format, packed or not. Raises `TextError`.

    Standard input (`-`) is a microcosm: of a stream it cannot be told which log it is before it is read.
    """
    content = files.read_bytes(path)
    givens = givens_in(content, path)
    return extracted([path]).givens if givens is None else givens


def givens_in(content: bytes, path: files.AnyPath) -> Givens | None:
    """What the content of a microcosm file gives; None where it is that of a log. Raises `TextError`."""
    file = files.display_name(path)
    if path == files.STDIN or file.endswith(MICROCOSM_ENDING) or not _may_be_log(path):
        return read_givens(files.decode(content, file), file)
    try:
        return read_givens(files.decode(content, file), file)
    except TextError:
        return None


def _may_be_log(path: files.AnyPath) -> bool:
    from microcosm.traces import reading as formats
    from microcosm.traces.report import Report
    from microcosm.traces.text.lines import open_lines

    try:
        with open_lines(path, Report()) as stream:
            formats.detect(stream.head, stream.file)
    except TextError:  # no log, so whatever is wrong is wrong with a microcosm
        return False
    return True


def extracted(
    paths: Sequence[files.AnyPath],
    *,
    format: str | None = None,
    pattern: str | None = None,
    process: str | None = None,
    token: str | None = None,
    trace: str | None = None,
    with_clocks: bool = True,
    report: Report | None = None,
) -> Extraction:
    """The microcosm of one log, which may be spread over several files, and what it was made of.

    `format` is told from each file where it is not given, `pattern` describes the records of a text log;
    `process` asks for what that process could know, `token` names an attribute whose holders exclude each
    other, `trace` picks one execution of several; irregularities go to `report`. Raises `TextError`,
    `TraceError` where `report` is strict. Cost: linear; a tenth of that for one plain log in the own format.
    """
    from microcosm.traces import reading as formats
    from microcosm.traces.columns import plain_extraction
    from microcosm.traces.extract import extract
    from microcosm.traces.report import Report

    report = Report() if report is None else report
    if with_clocks and len(paths) == 1 and not any((format, pattern, process, token, trace)):
        found = plain_extraction(paths[0], report)
        if found is not None:
            return found
    events = formats.read(paths, format=format, pattern=pattern, report=report, trace=trace)
    return extract(events, process=process, token=token, with_clocks=with_clocks, report=report)
