"""The files of a journal, which lie beside one another, and a copy of them as they are."""

from __future__ import annotations

import os
import shutil
from hashlib import blake2b
from pathlib import Path

from microcosm.errors import JournalError
from microcosm.replica.journal.schema import APPLICATION_ID


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
        return self.database.with_name(self.database.name + ending)

    def must_exist(self) -> None:
        """Raise `JournalError` where there is no database, or it is no file."""
        if self.database.is_dir():
            raise JournalError("is a directory, not a journal", file=str(self.database))
        if not self.database.exists():
            raise JournalError("no such journal", file=str(self.database), hint="check the path")

    def must_be_journal(self) -> None:
        """Raise `JournalError` for what is plainly none, before anything is put beside it.

        Not so where a head file is: then it was one, and may be damaged.
        """
        self.must_exist()
        if not self.head.exists() and not _marked(self.database):
            raise JournalError("is not a journal", file=str(self.database))

    def new(self) -> Files:
        """Files to build a journal in before it takes the place of this one; there is none of them yet."""
        made = Files(self.database.with_name(f".{self.database.name}.new"))
        for path in (made.database, made.wal, made.shm, made.head):
            path.unlink(missing_ok=True)
        return made

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
            said = f"no copy of it can be kept: {error.strerror}"
            raise JournalError(said, file=str(self.database), hint="make room") from None

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
            part.mkdir()
            for path in there:
                shutil.copy2(path, part / path.name)
            for path in (*part.iterdir(), part):
                _sync(path)
            os.replace(part, kept)
            _sync(kept.parent)
        return str(kept)


def _marked(database: Path) -> bool:
    """Whether a file begins as a database of SQLite does that is a journal (*Database File Format*, 1.3)."""
    try:
        with database.open("rb") as file:
            header = file.read(72)
    except OSError:
        return True  # whoever goes on is told
    return header[:16] == b"SQLite format 3\0" and int.from_bytes(header[68:]) == APPLICATION_ID


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
