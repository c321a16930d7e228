"""Journals for tests: how to open one, what is in one, and how to leave one as a crash would."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from microcosm.replica.journal import Journal, Mode
from microcosm.replica.store import LogRecord, Store

APPLICATION = "test"
FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""A folder in memory, where there is one, for tests to which it is all the same what a sync costs."""

ENDINGS = ("", "-wal", "-head")

Content = tuple[tuple[int, bytes] | None, list[LogRecord]]


def journal(path: Path, mode: Mode = "full") -> Journal:
    return Journal.open(path, application=APPLICATION, mode=mode, create=True)


def content(store: Store) -> Content:
    return store.snapshot(), list(store.records())


def killed(work: Callable[[], object]) -> None:
    """Run `work` in a process of its own, which is killed at its end: nothing is closed or brought home."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def left_open(path: Path, *payloads: bytes, mode: Mode = "full") -> None:
    """A journal with a transaction for each payload, left by a process that was killed; the log is full."""

    def work() -> None:
        opened = journal(path, mode)
        for payload in payloads:
            opened.commit([("note", payload)])

    killed(work)


def files(path: Path) -> dict[str, bytes]:
    """The content of each file of a journal, by its ending; an empty one is as good as none."""
    named = {ending: path.with_name(path.name + ending) for ending in ENDINGS}
    found = {ending: file.read_bytes() for ending, file in named.items() if file.exists()}
    return {ending: each for ending, each in found.items() if each}


def lay(path: Path, contents: dict[str, bytes]) -> None:
    """Put files of a journal there, and none besides."""
    for ending in (*ENDINGS, "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    for kept in path.parent.glob(f"{path.name}.damaged-*"):
        shutil.rmtree(kept)
    for ending, each in contents.items():
        path.with_name(path.name + ending).write_bytes(each)
