"""A session read from a pipe or a file: each line is repeated behind the prompt, and answered."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from microcosm.cli import exits, output
from microcosm.cli.session.session import PROMPT, Session


def run(session: Session, lines: Iterable[bytes], *, json: bool) -> int:
    """Answer every line; the exit code: 4 where one could not be read, 1 where one was refused, else 0."""
    worst = exits.HOLDS
    for line in map(_text, lines):
        if not json:
            output.say(f"{PROMPT}{output.printable(line)}".rstrip())
        outcome, over = exits.FAULT, False  # unless it is answered
        with session.surviving():
            outcome, over = _told(session, line, json)
        output.finish()
        worst = max(worst, outcome)
        if over:
            return worst
    if not session.is_saved:
        output.note("the session ends with changes that are not saved")
    return worst


def _told(session: Session, line: str, json: bool) -> tuple[int, bool]:
    """Answer a line; what it counts for the exit code, and whether it ends the session."""
    answer = session.answer(line)
    if answer is None or answer.ends:
        return exits.HOLDS, answer is not None
    if json:
        output.emit({"line": line, **answer.fields()})
    else:
        output.say_all(answer.lines)
    return (answer.outcome if answer.outcome in (exits.REFUTED, exits.BAD_INPUT) else exits.HOLDS), False


def standard_input() -> Iterator[bytes]:
    """The lines of standard input as they come; none where it is closed."""
    if sys.stdin is not None:
        yield from sys.stdin.buffer


def _text(raw: bytes) -> str:
    """A line without its end; bytes that are no UTF-8 become what no line may hold."""
    return raw.rstrip(b"\r\n").decode("utf-8", "surrogateescape")
