"""Progress of whatever takes long: on standard error, with a rate, and only where people look on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

from microcosm.cli import output

if TYPE_CHECKING:
    from microcosm.traces.report import Report

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
def told(doing: str, total: float | None = None, units: str = "") -> Iterator[Progress]:
    """Tell on standard error how far something is, once it takes a second; nothing is told into a pipe.

    >>> with told("counting", 3, "numbers") as progress:
    ...     progress.did(2)
    >>> progress.done
    2
    """
    progress = Progress(doing, total, units)
    if output.is_hushed() or not output.is_terminal(sys.stderr) or os.environ.get("TERM") == "dumb":
        yield progress
        return
    over = Event()
    teller = Thread(target=_tell, args=(progress, over), daemon=True)
    teller.start()
    try:
        yield progress
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
    with told(f"reading {shown}", total or None, "bytes") as progress:
        report.took = progress.did
        yield


def written(events: int) -> AbstractContextManager[Progress]:
    """Tell how many pairs of some events are written, unless people see them come."""
    if output.is_terminal(sys.stdout):
        return nullcontext(Progress(""))
    return told("writing", events * (events - 1) / 2, "pairs")


def _tell(progress: Progress, over: Event) -> None:
    """Draw a bar, or where the end is not known a count and a rate, until it is over."""
    begun = monotonic()
    if over.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = [TextColumn("{task.description}"), TimeElapsedColumn()]
    if progress.total is not None:
        columns[1:1] = [BarColumn(), TextColumn("{task.percentage:>3.0f}%")]
        columns.append(TimeRemainingColumn())
    console = Console(file=sys.stderr, force_terminal=True, no_color=not output.styled(sys.stderr))
    with Bar(*columns, TextColumn("{task.fields[rate]}"), console=console, transient=True) as bar:
        task = bar.add_task(output.printable(progress.doing), total=progress.total, rate="")
        while not over.wait(EVERY):
            seconds = monotonic() - begun
            rate = f"{progress.done / seconds:,.0f} {progress.units}/s" if progress.done else ""
            bar.update(task, completed=progress.done, rate=rate)
