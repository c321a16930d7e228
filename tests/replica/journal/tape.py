"""A disk that is watched: each write, sync, truncation, removal and renaming of a journal, in order.

SQLite is watched through a virtual file system of apsw, which brings its own copy of SQLite; the head file
through the `Disk` that a journal asks for everything else. From a tape follows what a loss of power may leave
(`Tape.after_loss`): what was synced, and of the rest any sectors.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import apsw

from microcosm.replica.journal.files import Disk, Flat

SECTOR = 512


class Step(NamedTuple):
    """One thing done to a file (its name without folder): `write`, `truncate`, `sync`, `remove`, `rename`,
    `folder` (the folder is synced), or `mark` (something that the test wants to remember)."""

    what: str
    name: str = ""
    at: int = 0
    content: bytes = b""
    to: str = ""


class Tape:
    """What was done; `fault` is asked before each step, and may end the process."""

    def __init__(self, fault: Callable[[Step, Callable[[Step], None]], None] | None = None) -> None:
        self.steps: list[Step] = []
        self._fault = fault

    def add(self, step: Step, do: Callable[[Step], None] = lambda step: None) -> None:
        """Do a step and remember it."""
        if self._fault is not None:
            self._fault(step, do)
        do(step)
        self.steps.append(step)

    def mark(self, name: str) -> None:
        self.steps.append(Step("mark", name))

    def after_kill(self) -> dict[str, bytes]:
        """The files that a process leaves that is killed after all these steps: the system writes for it."""
        files: dict[str, _File] = {}
        for step in self.steps:
            if step.what in ("write", "truncate"):
                files.setdefault(step.name, _File()).unsynced.append(step)
            _move(files, step)
        for file in files.values():
            file.sync()
        return {name: bytes(file.durable or b"") for name, file in files.items()}

    def after_loss(self, moment: int, chosen: random.Random) -> dict[str, bytes]:
        """The files that a loss of power before the step number `moment` may leave; `chosen` chooses."""
        files: dict[str, _File] = {}
        waiting: list[Step] = []  # what the folder does not yet remember
        for step in self.steps[:moment]:
            match step.what:
                case "write" | "truncate":
                    files.setdefault(step.name, _File()).unsynced.append(step)
                case "sync" if step.name in files:
                    files[step.name].sync()
                case "remove" | "rename":
                    waiting.append(step)
                    _move(files, step)
                case "folder":
                    waiting.clear()
        undone = waiting[chosen.randint(0, len(waiting)) :]
        if undone:  # the same again, without those that the folder forgot
            kept = [step for step in self.steps[:moment] if not any(step is each for each in undone)]
            shorter = Tape()
            shorter.steps = [*kept, Step("folder")]
            return shorter.after_loss(len(shorter.steps), chosen)
        left = {name: file.lose(chosen) for name, file in files.items()}
        return {name: content for name, content in left.items() if content is not None}


class _File:
    def __init__(self) -> None:
        self.durable: bytearray | None = None
        self.unsynced: list[Step] = []

    def sync(self) -> None:
        content = self.durable if self.durable is not None else bytearray()
        for step in self.unsynced:
            _apply(content, step, step.at, step.content)
        self.durable, self.unsynced = content, []

    def lose(self, chosen: random.Random) -> bytes | None:
        """What is synced, and any sectors of what is not; a file that was never synced may not be there."""
        if self.durable is None and chosen.random() < 0.3:
            return None
        content = bytearray(self.durable or b"")
        kept = chosen.choice((0.0, 0.5, 0.9, 1.0))
        for step in self.unsynced:
            for at, piece in _sectors(step):
                if chosen.random() < kept:
                    _apply(content, step, at, piece)
        return bytes(content)


def _sectors(step: Step) -> Iterator[tuple[int, bytes]]:
    """The parts of a write that are written whole or not at all."""
    if step.what == "truncate":
        yield step.at, b""
    at, end = step.at, step.at + len(step.content)
    while at < end:
        upto = min(end, (at // SECTOR + 1) * SECTOR)
        yield at, step.content[at - step.at : upto - step.at]
        at = upto


def _apply(content: bytearray, step: Step, at: int, piece: bytes) -> None:
    if step.what == "truncate":
        del content[at:]
        return
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(piece)] = piece


def _move(files: dict[str, _File], step: Step) -> None:
    """Remove or rename a file, if that is what the step does."""
    if step.what in ("remove", "rename"):
        file = files.pop(step.name, None)
        if step.what == "rename" and file is not None:
            files[step.to] = file


class _WatchedFile(apsw.VFSFile):
    def __init__(self, tape: Tape, name: Any, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._tape, self._name = tape, os.path.basename(path)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        def do(step: Step) -> None:
            super(_WatchedFile, self).xWrite(step.content, step.at)

        self._tape.add(Step("write", self._name, offset, bytes(data)), do)

    def xTruncate(self, newsize: int) -> None:
        def do(step: Step) -> None:
            super(_WatchedFile, self).xTruncate(step.at)

        self._tape.add(Step("truncate", self._name, newsize), do)

    def xSync(self, flags: int) -> None:
        def do(step: Step) -> None:
            super(_WatchedFile, self).xSync(flags)

        self._tape.add(Step("sync", self._name), do)


class _WatchedSystem(apsw.VFS):
    def __init__(self, tape: Tape, name: str) -> None:
        self._tape = tape
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _WatchedFile(self._tape, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        def do(step: Step) -> None:
            super(_WatchedSystem, self).xDelete(filename, syncdir)

        self._tape.add(Step("remove", os.path.basename(filename)), do)
        if syncdir:
            self._tape.add(Step("folder"))


class _WatchedFlat(Flat):
    def __init__(self, tape: Tape, path: Path) -> None:
        self._tape, self._name = tape, path.name
        super().__init__(path)

    def write(self, offset: int, content: bytes) -> None:
        def do(step: Step) -> None:
            super(_WatchedFlat, self).write(step.at, step.content)

        self._tape.add(Step("write", self._name, offset, content), do)

    def sync(self) -> None:
        self._tape.add(Step("sync", self._name))  # nobody pulls the plug of this machine


class WatchedDisk(Disk):
    """A disk whose steps go on a tape."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._system = _WatchedSystem(tape, f"watched-{id(self)}")

    def connect(self, path: Path, access: str) -> sqlite3.Connection:
        flags = {
            "ro": apsw.SQLITE_OPEN_READONLY,
            "rw": apsw.SQLITE_OPEN_READWRITE,
            "rwc": apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE,
        }[access]
        with _Said():
            opened = apsw.Connection(str(path.absolute()), flags=flags, vfs=f"watched-{id(self)}")
        return cast(sqlite3.Connection, _Connection(opened))

    def flat(self, path: Path) -> Flat:
        return _WatchedFlat(self._tape, path)

    def rename(self, old: Path, new: Path) -> None:
        self._tape.add(Step("rename", old.name, to=new.name), lambda step: os.replace(old, new))
        self.sync_folder(new.parent)

    def sync_folder(self, folder: Path) -> None:
        self._tape.add(Step("folder"))


class _Said:
    """Errors of apsw as those of sqlite3."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error):
            said = sqlite3.OperationalError(str(error))
            code = getattr(error, "result", 1)
            said.sqlite_errorcode = code
            said.sqlite_errorname = str(apsw.mapping_result_codes.get(code, ""))
            raise said from error


class _Cursor:
    def __init__(self, cursor: apsw.Cursor) -> None:
        self._cursor = cursor

    def fetchone(self) -> Any:
        with _Said():
            return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        with _Said():
            return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Any]:
        while (row := self.fetchone()) is not None:
            yield row


class _Connection:
    """What a journal uses of a connection of sqlite3, done by apsw."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, sql: str, values: Sequence[Any] = ()) -> _Cursor:
        with _Said():
            return _Cursor(self._connection.execute(sql, tuple(values)))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with _Said():
            self._connection.executemany(sql, [tuple(row) for row in rows])

    def close(self) -> None:
        with suppress(apsw.IOError):  # one that cannot write asks in vain for the lock to write at its end
            self._connection.close()
