"""What there is to read: microcosm files, and logs of any format, of which microcosms are made.

Which of them a file is, is decided here and nowhere else.
"""

from __future__ import annotations

from microcosm import files
from microcosm.errors import TextError
from microcosm.givens.givens import Givens
from microcosm.text.mc_reader import read_givens

MICROCOSM_ENDING = ".mc"


def read(path: files.AnyPath) -> Givens:
    """What a file gives: `.mc`, JSON, or a log of any format, packed or not. Raises `TextError`.

    Standard input (`-`) is a microcosm: of a stream it cannot be told which log it is before it is read.
    """
    content = files.read_bytes(path)
    givens = givens_in(content, path)
    if givens is not None:
        return givens
    from microcosm.traces.extract import microcosm_of_logs

    return microcosm_of_logs([path]).givens


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
