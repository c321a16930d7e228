"""The files of a journal, which lie beside one another, and all that it asks of the operating system.

In one place, so that tests can watch it and let it fail. The head file says up to which record a journal was
durable.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

from microcosm.errors import DamagedJournal, JournalError, LockedJournal, MicrocosmError
from microcosm.files import require_posix

APPLICATION_ID = 0x6D636A6C
"""In the header of the database: it is a journal of ours."""

PRIVATE = 0o600
"""Who may read what is in a journal: its owner."""


class Flat:
    """A small file that is written in place."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)

    def write(self, offset: int, content: bytes) -> None:
        """Put `content` at `offset`."""
        if os.pwrite(self._descriptor, content, offset) != len(content):
            raise OSError("a write was cut short")

    def sync(self) -> None:
        """Return when what was written would outlast a loss of power."""
        full_sync(self._descriptor)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


class Disk:
    """The real one."""

    def connect(self, path: Path, access: str) -> sqlite3.Connection:
        """Open a database; `access` is that of SQLite's addresses: `ro`, `rw`, or `rwc` to create it."""
        if access == "rwc":  # SQLite gives the files beside it the rights of the database
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE))
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={access}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )

    def flat(self, path: Path) -> Flat:
        """Open a file to be written in place."""
        return Flat(path)

    def rename(self, old: Path, new: Path) -> None:
        """Move a file over another, if there is one, and have the folder remember."""
        os.replace(old, new)
        self.sync_folder(new.parent)

    def sync_folder(self, folder: Path) -> None:
        """Have a folder remember which files it has."""
        _sync(folder)


DISK = Disk()

UNWRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
"""What the system says where nothing can be written."""


def full_sync(descriptor: int) -> None:
    """Return when what was written to a file would outlast a loss of power.

    That is `fsync`, but on macOS, where `fsync` leaves bytes in the drive.
    """
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


class Lock:
    """The right to write a journal: a lock on a file beside it, which stays there. A fork shares it.

    `reading`: so that nobody writes meanwhile, where possible; a file system that cannot be written will do.
    """

    def __init__(self, path: Path, of: Path, *, reading: bool = False) -> None:
        require_posix("journals of replicas")
        import fcntl

        self._descriptor: int | None = None
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
        except OSError as error:
            if not reading or error.errno not in UNWRITABLE:
                raise JournalError(f"cannot be opened: {error.strerror}", file=str(of)) from None
            if not path.exists():
                return  # who cannot make one here cannot write the journal either
            descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
                raise FileNotFoundError  # whoever had it has just taken it away
        except OSError:
            holder = os.read(descriptor, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            hint = "end that process first; it may be read meanwhile"
            raise LockedJournal(f"locked by process {holder}", file=str(of), hint=hint) from None
        with suppress(OSError):  # where it may only be read
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Let others write. A second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


MENDED = ((3, 44, 6), (3, 50, 7))
"""Versions of SQLite before the first without the WAL-reset bug that have the correction as well."""


def wal_reset_bug(version: tuple[int, ...]) -> bool:
    """Whether a version of SQLite has the WAL-reset bug.

    From 3.7.0 to 3.51.2, but for 3.44.6 and 3.50.7, a connection that checkpoints may miss that another
    resets the write-ahead log, and then leave pages out of the database (*Write-Ahead Logging*, "The
    WAL-Reset Bug"). It takes two connections that write or checkpoint. A journal has one; a second program
    that opens the file is a second.

    >>> [wal_reset_bug(v) for v in ((3, 6, 23), (3, 7, 0), (3, 44, 5), (3, 44, 6), (3, 51, 2), (3, 51, 3))]
    [False, True, True, False, True, False]
    """
    mended = any(version[:2] == since[:2] and version >= since for since in MENDED)
    return (3, 7, 0) <= version < (3, 51, 3) and not mended


class Files:
    """`NAME` is the database, `NAME-wal` and `NAME-shm` are SQLite's, `NAME-head` and `NAME-lock` ours."""

    def __init__(self, database: Path) -> None:
        # SQLite puts its files beside what a link points to, not beside the link
        self.database = database.resolve() if database.is_symlink() else database
        self.wal = self._beside("-wal")
        self.shm = self._beside("-shm")
        self.head = self._beside("-head")
        self.lock = self._beside("-lock")

    def _beside(self, ending: str) -> Path:
        return Path(f"{self.database}{ending}")

    def must_exist(self) -> None:
        """Raise `JournalError` where there is no database, or it is no file; damaged where it is empty."""
        if self.database.is_dir():
            raise JournalError("is a directory, not a journal", file=str(self.database))
        if not self.database.exists():
            raise JournalError("no such journal", file=str(self.database), hint="check the path")
        if not self.database.is_file():
            raise JournalError("is not a journal", file=str(self.database))
        if self.head.exists() and not self.database.stat().st_size:  # SQLite would delete the log beside it
            raise DamagedJournal(
                ("it is empty",), file=str(self.database), copy=None, hint="restore a backup"
            )

    def must_be_journal(self) -> None:
        """Raise `JournalError` for what is plainly none, before anything is put beside it.

        Not so where a head file is: then it was one, and may be damaged.
        """
        self.must_exist()
        if not self.head.exists() and not _marked(self.database):
            raise JournalError("is not a journal", file=str(self.database))

    @contextmanager
    def readable(self) -> Iterator[Files]:
        """These files, or where nothing can be written beside them a copy, for SQLite writes even to read.

        Cost: none, or their size on the disk of temporary files.
        """
        if _writable(self.database.parent):
            yield self
            return
        with TemporaryDirectory(prefix="microcosm-") as folder:
            copy = Files(Path(folder) / self.database.name)
            for path, to in ((self.database, copy.database), (self.wal, copy.wal), (self.head, copy.head)):
                with suppress(FileNotFoundError):
                    shutil.copyfile(path, to)
            yield copy

    def identity(self) -> tuple[tuple[int, int] | None, ...]:
        """Which files lie there now: device and number of each, None where it is gone. Cost: microseconds."""
        found: list[tuple[int, int] | None] = []
        for path in (self.database, self.wal, self.head):
            try:
                status = os.stat(path)
            except OSError:
                found.append(None)
            else:
                found.append((status.st_dev, status.st_ino))
        return tuple(found)

    def new(self) -> Files:
        """Files to build a journal in before it takes the place of this one; there is none of them yet."""
        made = Files(self.database.with_name(f".{self.database.name}.new"))
        made.remove()
        return made

    def remove(self) -> None:
        """Delete them, but for the lock, which stays there."""
        for path in (self.database, self.wal, self.shm, self.head):
            path.unlink(missing_ok=True)

    def try_to_keep(self) -> str | None:
        """`keep` where that is possible: there may be no room, and the journal is left as it is anyway."""
        try:
            return self.keep()
        except JournalError:
            return None

    def keep(self) -> str:
        """Copy what is there to a folder beside, `NAME.damaged-` and its hash; the same is copied once."""
        try:
            return self._copy()
        except OSError as error:
            message = f"no copy of it can be kept: {error.strerror}"
            raise JournalError(message, file=str(self.database), hint="make room") from None

    def _copy(self) -> str:
        there = [
            path for path in (self.database, self.wal, self.head) if path.exists() and path.stat().st_size
        ]
        hashed = blake2b(digest_size=4)
        for path in there:
            hashed.update(path.name.encode() + b"\0" + path.read_bytes())
        kept = self._beside(f".damaged-{hashed.hexdigest()}")
        if not kept.exists():
            part = kept.with_name(kept.name + ".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(mode=0o700)
            try:
                for path in there:
                    shutil.copy2(path, part / path.name)
                for path in (*part.iterdir(), part):
                    _sync(path)
                os.replace(part, kept)
            except OSError:
                shutil.rmtree(part, ignore_errors=True)
                raise
            _sync(kept.parent)
        return str(kept)


class FilesInPlace:
    """Whether the files of a journal are still those that were opened.

    They are asked only where the folder has changed, as it does with every name in it. To ask a file that is
    written has its price later: for it, Linux since 6.13 gives the next write a time stamp of its own, and
    each sync of the file takes a third longer.
    """

    TICK, COARSE_TICK = 20_000_000, 2_500_000_000
    """How many nanoseconds may pass between two changes that have the same time; the second where times come
    in whole seconds.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._opened = files.identity()
        self._settled: tuple[int, ...] = ()
        """What the folder was when the files were asked and it had not just changed: then, and as long as it
        is the same, they are there.
        """

    def missing(self) -> bool:
        """Whether one of them was deleted, moved or replaced. Cost: one look at the folder, some 2 us."""
        now = time.time_ns()
        try:
            status = os.stat(self._files.database.parent)
        except OSError:
            return True
        folder = status.st_dev, status.st_ino, status.st_ctime_ns
        if folder == self._settled:
            return False
        tick = self.TICK if status.st_ctime_ns % 1_000_000_000 else self.COARSE_TICK
        self._settled = folder if now - status.st_ctime_ns > tick else ()
        return self._files.identity() != self._opened


def _marked(database: Path) -> bool:
    """Whether a file begins as a database of SQLite does that is a journal (*Database File Format*, 1.3)."""
    try:
        with database.open("rb") as file:
            header = file.read(72)
    except OSError:
        return True  # whoever goes on is told
    return header[:16] == b"SQLite format 3\0" and int.from_bytes(header[68:]) == APPLICATION_ID


def _writable(folder: Path) -> bool:
    """Whether files can be made in a folder."""
    return os.access(folder, os.W_OK | os.X_OK)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


SLOT = 4096
SIZE = 2 * SLOT
MAGIC = b"mc head\n"
MODES = ("full", "normal", "off")
_FORM = struct.Struct(">8sQIB16sQ32sQQ32s")
_CHECK = 16


@dataclass(frozen=True, slots=True)
class Head:
    """What was durable: the last record with its chain, and the snapshot with its seal.

    `turn` counts the writes of the file; `mode` is that of the writer, which says what `durable` was worth.
    """

    turn: int
    schema: int
    mode: str
    instance: bytes
    number: int
    chain: bytes
    through: int
    edition: int
    seal: bytes

    def pack(self) -> bytes:
        """The bytes of a slot, with their own hash."""
        content = _FORM.pack(
            *(MAGIC, self.turn, self.schema, MODES.index(self.mode), self.instance),
            *(self.number, self.chain, self.through, self.edition, self.seal),
        )
        return content + blake2b(content, digest_size=_CHECK).digest()


class BadHead(MicrocosmError):
    """A head file that does not check; the text says how."""


def read(path: Path) -> Head | None:
    """The newest head of a file; None where there is no file. Raises `BadHead`."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(content) != SIZE:
        raise BadHead(f"the head file has {len(content)} bytes in place of {SIZE}")
    slots = [_slot(content[at : at + SLOT], parity) for parity, at in enumerate((0, SLOT))]
    heads = sorted((head for head in slots if head), key=lambda head: head.turn)
    turns = [head.turn for head in heads]
    if not turns or (turns != [0] and turns[1:] != [turns[0] + 1]):
        raise BadHead("a slot of the head file is missing")
    return heads[-1]


def _slot(content: bytes, parity: int) -> Head | None:
    if not any(content):
        return None
    body, check = content[: _FORM.size], content[_FORM.size : _FORM.size + _CHECK]
    good = blake2b(body, digest_size=_CHECK).digest() == check and not any(content[_FORM.size + _CHECK :])
    if good:
        magic, turn, schema, mode, *rest = _FORM.unpack(body)
        if magic == MAGIC and turn % 2 == parity and mode < len(MODES):
            return Head(turn, schema, MODES[mode], *rest)
    raise BadHead("a slot of the head file does not check")


class HeadFile:
    """A head file open for writing."""

    def __init__(self, disk: Disk, path: Path, head: Head) -> None:
        self._flat = disk.flat(path)
        self.head = head

    @classmethod
    def create(cls, disk: Disk, path: Path, head: Head) -> HeadFile:
        """A new file, synced, with `head` as its first turn."""
        path.unlink(missing_ok=True)
        file = cls(disk, path, replace(head, turn=0))
        file._flat.write(0, file.head.pack().ljust(SIZE, b"\0"))
        file._flat.sync()
        return file

    @property
    def next(self) -> int:
        """The turn of the next write."""
        return self.head.turn + 1

    def advance(self, head: Head, sync: bool = True) -> None:
        """Write `head`, which is of the `next` turn; durable on return, unless told otherwise."""
        assert head.turn == self.next
        self._flat.write(head.turn % 2 * SLOT, head.pack())
        if sync:
            self._flat.sync()
        self.head = head

    def close(self) -> None:
        """Let go of the file."""
        self._flat.close()
