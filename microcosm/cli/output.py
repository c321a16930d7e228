"""What goes to standard output and what to standard error, for people and for programs.

Standard output carries the answer and nothing else; notes, warnings and errors go to standard error.
Text is unstyled unless it goes to a terminal (and NO_COLOR is not set). How far
whatever takes long is, is told there, with a rate, where people look on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import islice
from time import monotonic
from typing import IO, TYPE_CHECKING, TextIO

from microcosm import errors

if TYPE_CHECKING:
    from threading import Event

    from microcosm.givens.givens import Givens
    from microcosm.traces.report import Report

SCHEMA = "microcosm/1"
"""The first field of every JSON object that is written."""

wanted = {"json": False, "quiet": False, "full": False}
"""Whether the answer is wanted as JSON, without notes and warnings, and with its proofs whole."""

_later: list[str] = []
"""Warnings that wait for the answer."""

_BATCH = 4096
"""So many lines are joined before they are written."""


def prepare(machine: bool = False) -> None:
    """Let nothing stop the output: no character that the encoding lacks, and no closed stream.

    Where a `machine` reads the answer, errors are JSON objects beside what people are told.
    """
    wanted.update(json=machine, quiet=False, full=False)
    _later.clear()
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def finish() -> None:
    """Write out what is buffered, so that a closed pipe or a full disk is noticed while it can be said."""
    sys.stdout.flush()
    tell_warnings()


def give_up_on(stream: TextIO) -> None:
    """Point a stream that cannot be written at nothing, so that leaving the program stays quiet."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def say(*lines: str) -> None:
    """Lines of the answer."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def say_all(lines: Iterable[str], wrote: Callable[[int], None] | None = None) -> None:
    """Lines of the answer, however many; `wrote` is told how many of them are out."""
    write_lines(sys.stdout, lines, wrote)


def write_lines(stream: TextIO, lines: Iterable[str], wrote: Callable[[int], None] | None = None) -> None:
    """Lines to a stream, the first at once, of the others nothing but a batch being held at a time."""
    rest, many = iter(lines), 1
    while batch := list(islice(rest, many)):
        many = _BATCH
        stream.write("\n".join(batch) + "\n")
        if wrote is not None:
            wrote(len(batch))


def emit(fields: Mapping[str, object]) -> None:
    """One JSON object, on one line."""
    say(json_line(fields))


def json_line(fields: Mapping[str, object]) -> str:
    """The text of one JSON object with its `schema`."""
    return as_json({"schema": SCHEMA, **fields})


def as_json(value: object) -> str:
    """A JSON text that standard output can carry: ASCII where its encoding lacks a character."""
    from microcosm.givens.exact import json_text

    return json_text(value, ensure_ascii=not can_show("\U0010ffff", sys.stdout))


def write_givens(givens: Givens, out: str | None, json: bool | None = None) -> None:
    """Write a microcosm to OUT, or to standard output; in its JSON form where that is what machines want.

    They have it on standard output besides, as every command answers them there.
    """
    from microcosm.text.json_form import givens_to_json
    from microcosm.text.mc_writer import mc_texts

    machines = for_machines() if json is None else json
    if machines or (out is not None and out.endswith(".json")):
        texts: Iterable[str] = [as_json(givens_to_json(givens)), "\n"]
    else:
        texts = mc_texts(givens)
    with opened(out) as stream:
        stream.writelines(texts)
    if machines and stream is not sys.stdout:
        sys.stdout.writelines(texts)


def opened(out: str | None) -> AbstractContextManager[IO[str]]:
    """What is written to OUT, or to standard output where that is `-` or not said."""
    from microcosm import files

    return nullcontext(document()) if out is None or out == files.STDIN else files.writing(out)


def document() -> TextIO:
    """Standard output for what is a file elsewhere: UTF-8, as files are, unless a terminal shows it."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and not is_terminal(sys.stdout):
        reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout


def complain(*lines: str) -> None:
    """Lines on standard error; a standard error that is gone is no reason to fail.

    In a terminal they are wrapped by words, what they begin with is coloured, and what it would obey escaped.
    """
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    with suppress(OSError, ValueError):
        shown = (plain(printable(line), sys.stderr) for part in lines for line in part.split("\n"))
        sys.stderr.write("".join(f"{wrapped(line, sys.stderr)}\n" for line in shown))
        sys.stderr.flush()


COLOURS = {"error:": "1;31", "warning:": "33", "note:": "36"}
"""How what is said on standard error begins, and its colour in a terminal."""


def wrapped(line: str, stream: TextIO, prose: bool = False) -> str:
    """What is said as a terminal shows it: by words, its first word in colour; in a pipe as it stands.

    What is indented (as a line of a file over its caret is) is not wrapped, unless it is known to be `prose`.
    """
    if not is_terminal(stream):
        return line
    if len(line) > width(stream) and (prose or not line.startswith(" ")):
        from textwrap import fill

        indent = " " * (len(line) - len(line.lstrip(" ^")))
        line = fill(
            line[len(indent) :],
            width(stream),
            initial_indent=line[: len(indent)],
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    for word, colour in COLOURS.items() if styled(stream) else ():
        if line.startswith(word):
            return f"\x1b[{colour}m{word}\x1b[0m{line.removeprefix(word)}"
    return line


def for_machines() -> bool:
    """Whether the answer is wanted as JSON."""
    return wanted["json"]


Fields = Mapping[str, object]


def answer(fields: Fields | Callable[[], Fields], lines: str | Iterable[str], code: int = 0) -> int:
    """The answer: an object of `fields` for machines, or `lines` for people, made when wanted; the code."""
    if for_machines():
        emit(fields() if callable(fields) else fields)
    else:
        say_all((lines,) if isinstance(lines, str) else lines)
    return code


def is_hushed() -> bool:
    """Whether only answers and errors are wanted."""
    return wanted["quiet"]


def note(text: str) -> None:
    """Something the reader may want to know."""
    if not is_hushed():
        complain(f"note: {text}")


def warn(text: str) -> None:
    """Something that may make the answer other than expected: in a terminal it is told after the answer."""
    if is_hushed():
        return
    if is_terminal(sys.stdout) and is_terminal(sys.stderr):
        _later.append(f"warning: {text}")
    else:
        complain(f"warning: {text}")


def tell_warnings() -> None:
    """Tell the warnings that wait for the end of the answer."""
    if _later:
        complain(*_later)
        _later.clear()


def can_show(text: str, stream: TextIO) -> bool:
    """Whether the encoding of a stream has all characters of `text`."""
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def plain(text: str, stream: TextIO) -> str:
    """Prose with three dots for an ellipsis where the encoding of a stream has none."""
    return text if can_show("…", stream) else text.replace("…", "...")


printable = errors.printable
"""Text with escapes for what a terminal would not show, or would obey."""


def counted(number: int, what: str) -> str:
    """A number of things in words.

    >>> counted(1, "event"), counted(2_000, "pair"), counted(0, "process")
    ('1 event', '2,000 pairs', '0 processes')
    """
    return f"{number:,} {what}{'' if number == 1 else 'es' if what.endswith('s') else 's'}"


def listed(parts: Sequence[str]) -> str:
    """Things one after the other, in words.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def is_terminal(stream: TextIO | None) -> bool:
    """Whether people are at the other end of a stream; a closed one (None) has no other end."""
    with suppress(ValueError):
        return stream is not None and stream.isatty()
    return False


def styled(stream: TextIO) -> bool:
    """Whether to use colour: in a terminal, unless NO_COLOR is set or the terminal is dumb."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width(stream: TextIO) -> int:
    """Columns to wrap prose to: those of the terminal, or COLUMNS, or 80; never more than 100."""
    from shutil import get_terminal_size

    return max(40, min(100, get_terminal_size().columns))


PATIENCE = 1.0
"""After so many seconds it is said how far something has come."""

EVERY = 0.2
"""Seconds from one look to the next."""


class Progress:
    """What is done of something: `done` of `total` (None: nobody knows) so many `units`."""

    def __init__(self, doing: str, total: float | None = None, units: str = "") -> None:
        self.doing = doing
        self.total = total
        self.units = units
        self.done = 0

    def did(self, count: int) -> None:
        """So many more are done."""
        self.done += count

    def stopping(self, stop: Callable[[], bool] | None) -> Callable[[], bool]:
        """A condition that a search asks for again and again, each time being counted as a step."""

        def asked() -> bool:
            self.done += 1
            return stop is not None and stop()

        return asked


@contextmanager
def progress(doing: str, total: float | None = None, units: str = "") -> Iterator[Progress]:
    """Tell on standard error how far something is, once it takes a second; nothing is told into a pipe.

    >>> with progress("counting", 3, "numbers") as counted:
    ...     counted.did(2)
    >>> counted.done
    2
    """
    made = Progress(doing, total, units)
    if is_hushed() or not is_terminal(sys.stderr) or os.environ.get("TERM") == "dumb":
        yield made
        return
    from threading import Event, Thread

    over = Event()
    teller = Thread(target=_draw_progress, args=(made, over), daemon=True)
    teller.start()
    try:
        yield made
    finally:
        over.set()
        teller.join()


@contextmanager
def reading(paths: Sequence[str], report: Report) -> Iterator[None]:
    """Tell how far the reading of some files is."""
    try:
        total = sum(os.path.getsize(path) for path in paths)
    except OSError:
        total = 0
    shown = ", ".join(paths[:3]) + (", …" if paths[3:] else "")
    with progress(f"reading {shown}", total or None, "bytes") as made:
        report.took = made.did
        yield


def writing(events: int) -> AbstractContextManager[Progress]:
    """Tell how many pairs of some events are written, unless people see them come."""
    if is_terminal(sys.stdout):
        return nullcontext(Progress(""))
    return progress("writing", events * (events - 1) / 2, "pairs")


def _draw_progress(made: Progress, over: Event) -> None:
    """Draw a bar, or where the end is not known a count and a rate, until it is over."""
    begun = monotonic()
    if over.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = [TextColumn("{task.description}"), TimeElapsedColumn()]
    if made.total is not None:
        columns[1:1] = [BarColumn(), TextColumn("{task.percentage:>3.0f}%")]
        columns.append(TimeRemainingColumn())
    console = Console(file=sys.stderr, force_terminal=True, no_color=not styled(sys.stderr))
    with Bar(*columns, TextColumn("{task.fields[rate]}"), console=console, transient=True) as bar:
        task = bar.add_task(printable(made.doing), total=made.total, rate="")
        while not over.wait(EVERY):
            seconds = monotonic() - begun
            rate = f"{made.done / seconds:,.0f} {made.units}/s" if made.done else ""
            bar.update(task, completed=made.done, rate=rate)
