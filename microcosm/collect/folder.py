"""A folder of files of whole lines, of which none is lost that was said to be kept.

One thread writes. All lines that wait are written at once and synced together (group commit), and only then
is anybody told. A group that cannot be written is taken back to its beginning, so that no half of it is left;
a process that is killed leaves at most one unfinished line at the end of a file, and nobody was told that it
is kept. A file is not gone on with after a fault or by another process: a new one is begun. No file with a
line in it is ever removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

from microcosm import files
from microcosm.errors import TextError

Told = Callable[[OSError | None], None]


class Folder:
    """Keeps lines. After so many bytes (`largest`) or seconds (`oldest`) of a file the next one is begun.

    Raises `TextError` where the folder cannot be made or written.
    """

    def __init__(self, path: str, *, largest: int = 64 << 20, oldest: float = 3600.0) -> None:
        files.require_posix("folders of collected spans")
        self.path = Path(path)
        self.largest = largest
        self.oldest = oldest
        self.files = 0
        """Begun so far, by this object."""
        self.commits = 0
        self.fault: OSError | None = None
        """Why the last group could not be written, if it could not."""
        try:
            files.make_folder(path)
        except OSError as error:
            raise TextError(f"cannot be made: {error.strerror}", file=path) from None
        if not os.access(path, os.W_OK | os.X_OK):
            raise TextError("cannot be written", file=path)
        self._file = -1
        self._size = 0
        """Bytes of the file at hand, all of them synced."""
        self._begun = 0.0
        self._number = 0
        self._waiting: SimpleQueue[tuple[bytes, Told] | None] = SimpleQueue()
        self._writer = Thread(target=self._run, name="collect-writer", daemon=True)
        self._writer.start()

    def keep(self, line: bytes, told: Told) -> None:
        """Keep a line with its end; `told` is called once it is on disk (None), or with why it is not.

        That is in the thread that writes.
        """
        self._waiting.put((line, told))

    def close(self) -> None:
        """End, once all that was to be kept so far is."""
        self._waiting.put(None)
        self._writer.join()
        self._end_file()

    def _run(self) -> None:
        going = True
        while going:
            group = [self._waiting.get()]
            with suppress(Empty):
                while True:
                    group.append(self._waiting.get_nowait())
            going = None not in group
            kept = [one for one in group if one is not None]
            if kept:
                self._commit(b"".join(line for line, _ in kept))
            for _, told in kept:
                told(self.fault)

    def _commit(self, content: bytes) -> None:
        """Write and sync; `fault` says whether that went well."""
        try:
            if self._file >= 0 and (
                self._size + len(content) > self.largest or monotonic() - self._begun > self.oldest
            ):
                self._end_file()
            if self._file < 0:
                self._begin_file()
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            self.fault = error
            self._take_back()
        else:
            self.fault = None
            self._size += len(content)
            self.commits += 1

    def _begin_file(self) -> None:
        """A file that nobody has, after all that are there; its name is as durable as what it will hold."""
        while self._file < 0:
            taken = (found.stem.rpartition("-")[2] for found in self.path.glob("spans-*.jsonl"))
            last = max((int(number) for number in taken if number.isdecimal()), default=0)
            self._number = max(self._number, last) + 1
            with suppress(FileExistsError):
                self._file = os.open(
                    self.path / f"spans-{self._number:06}.jsonl",
                    os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC,
                    0o666,
                )
        self._size = 0
        self._begun = monotonic()
        self.files += 1
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _take_back(self) -> None:
        """Leave nothing of a group that failed, nor an empty file; what is written next goes to a new one.

        After a sync that failed nobody knows what a file has but what was synced before.
        """
        if self._file < 0:
            return
        with suppress(OSError):
            os.ftruncate(self._file, self._size)
            if not self._size:
                os.unlink(self.path / f"spans-{self._number:06}.jsonl")
                self.files -= 1
        self._end_file()

    def _end_file(self) -> None:
        if self._file >= 0:
            with suppress(OSError):
                os.close(self._file)
            self._file = -1
