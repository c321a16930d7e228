"""Transcripts of the command line: prose, files, commands, and after each command what it said.

# A line of prose.
file album.mc
    unshare < upload
$ online album.mc unshare upload
unshare < upload   (happens before)
! note: what standard error says
exit 0
$ repl album.mc
> a line of standard input
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

ROOT = str(Path(__file__).parents[2])
"""Where the checkout is; transcripts say CHECKOUT."""


class Ran(Protocol):
    """What a run leaves behind."""

    code: int
    out: str
    err: str


def replay(text: str, folder: Path, run: Callable[..., Ran]) -> str:
    """The transcript with everything that its commands say now in the place of what it says they did."""
    return "".join(f"{line}\n" for line in _replayed(text.splitlines(), folder, run))


def _replayed(lines: list[str], folder: Path, run: Callable[..., Ran]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        yield line
        if line.startswith("file "):
            begin = at
            while at < len(lines) and lines[at].startswith("    "):
                yield lines[at]
                at += 1
            content = "".join(f"{text[4:]}\n" for text in lines[begin:at])
            (folder / line.removeprefix("file ")).write_text(content, encoding="utf-8")
        elif line.startswith("$ "):
            end = at
            while end < len(lines) and not lines[end].startswith("exit "):
                end += 1
            fed = "".join(f"{text[2:]}\n" for text in lines[at:end] if text == ">" or text.startswith("> "))
            ran = run(*shlex.split(line.removeprefix("$ ").replace("CHECKOUT", ROOT)), stdin=fed.encode())
            yield from (text.replace(ROOT, "CHECKOUT").rstrip() for text in ran.out.splitlines())
            yield from (f"! {text}".replace(ROOT, "CHECKOUT").rstrip() for text in ran.err.splitlines())
            yield f"exit {ran.code}"
            at = min(end + 1, len(lines))
