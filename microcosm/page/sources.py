"""What the page of a small log has of the log itself: its lines as they stand, and attributes of events.

Only files that the page is made of are read: a log may say of its events that they come from any file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from microcosm.errors import TextError
from microcosm.files import STDIN, expanded
from microcosm.page.columns import PageModel
from microcosm.page.packing import Column, lines
from microcosm.traces.report import Report
from microcosm.traces.text.lines import open_lines

MOST = 5_000
"""So many lines of a log are in its page, and the attributes of so many events; of more, none."""

BYTES = 4 << 20
"""Larger files are not read once more."""

LONGEST = 2_000
"""Of a longer line the beginning is shown."""


def log_columns(model: PageModel, files: Sequence[str]) -> Iterator[Column]:
    """The columns `attributes`, JSON of each event, and `log`, of each file its name and its lines.

    Cost: linear in the files, which are read once more if they are small.
    """
    if len(model) <= MOST:
        attributes = [dict(each) if each else {} for each in model.told("attributes", None)]
        if any(attributes):
            yield lines("attributes", [json.dumps(each, default=str) if each else "" for each in attributes])
    log: list[list[object]] = []
    room = MOST
    for file in expanded(files):
        text = _text(file, room)
        if text:
            log.append([file, text])
            room -= len(text)
    if log:
        yield Column("log", "json", len(log), json.dumps(log, separators=(",", ":")).encode())


def _text(file: str, room: int) -> list[str]:
    """The lines of a file; none if they are too many, or of what is no text or cannot be read again."""
    found: list[str] = []
    try:
        if file == STDIN or not Path(file).is_file() or Path(file).stat().st_size > BYTES:
            return found
        with open_lines(file, Report()) as stream:
            if "\0" in stream.head:
                return found
            for _, text in stream:
                if len(found) == room:
                    return []
                found.append(text if len(text) <= LONGEST else text[:LONGEST] + "…")
    except (TextError, OSError):
        return []
    return found
