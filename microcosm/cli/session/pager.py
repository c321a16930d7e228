"""Answers in a terminal: what fits is printed, what does not goes through a pager; waiting is explained."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from shutil import get_terminal_size
from threading import Timer

from microcosm.cli import output

PAGER = "less"
"""What is run where PAGER does not say."""

LESS = "FRX"
"""Its options where LESS does not say: leave at once what fits, show colours, do not clear the screen."""

PATIENCE = 1.0
"""After so many seconds it is said that an answer is being worked on."""

WORKING = "working; Ctrl-C interrupts"


def show(lines: Iterable[str]) -> None:
    """Print `lines`, through the pager where they are more than the terminal has rows."""
    rest = iter(lines)
    with patience():
        first = _screenful(rest)
        more = next(rest, None)
    if more is None:
        output.say(*first)
        return
    every = chain(first, [more], rest)
    if not _paged(every):
        output.say_all(every)


@contextmanager
def patience() -> Iterator[None]:
    """Say that something is being worked on once it takes long, and take that back when it ends."""
    said = False

    def say() -> None:
        nonlocal said
        said = True
        with suppress(OSError, ValueError):
            sys.stdout.write(WORKING)
            sys.stdout.flush()

    timer = Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said:
            sys.stdout.write("\n" if os.environ.get("TERM") == "dumb" else "\r\x1b[K")
            sys.stdout.flush()


def _screenful(lines: Iterator[str]) -> list[str]:
    """As many lines as leave room for the prompt."""
    size = get_terminal_size()
    left, found = size.lines - 2, []
    for line in lines:
        found.append(line)
        left -= max(1, -(-len(line) // max(1, size.columns)))
        if left <= 0:
            break
    return found


def _paged(lines: Iterable[str]) -> bool:
    """Send lines through the pager until it is left; whether there is one."""
    command = os.environ.get("PAGER", PAGER)
    try:
        pager = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.PIPE,
            text=True,
            encoding=sys.stdout.encoding,
            errors="backslashreplace",
            env={**os.environ, "LESS": os.environ.get("LESS", LESS)},
        )
    except (OSError, ValueError, IndexError):  # none of this name, or a command that cannot be read
        return False
    stream = pager.stdin
    assert stream is not None
    try:
        with suppress(BrokenPipeError):  # left before the end, which is what it is for
            stream.writelines(f"{line}\n" for line in lines)
    finally:
        with suppress(BrokenPipeError):
            stream.close()
        _wait(pager)
    return True


def _wait(pager: subprocess.Popen[str]) -> None:
    """Wait for the pager, which has the terminal: an interrupt is its own affair."""
    while True:
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
        return
