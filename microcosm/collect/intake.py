"""What every request goes through, whichever way it came: limits, reading, keeping, counting.

Kept are lines, in a folder of files of whole lines, of which none is lost that was said to be kept. One
thread writes. All lines that wait are written at once and synced together (group commit), and only then is
anybody told. A group that cannot be written is taken back to its beginning, so that no half of it is left;
a process that is killed leaves at most one unfinished line at the end of a file, and nobody was told that it
is kept. A file is not gone on with after a fault or by another process: a new one is begun. No file with a
line in it is ever removed.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

from microcosm import files
from microcosm.collect.bodies import Reason, Refused, SpanBatch, spans_of, unpacked
from microcosm.errors import TextError


@dataclass(frozen=True, slots=True)
class IntakeLimits:
    """What is taken at most."""

    body: int = 16 << 20
    """Bytes of a request, packed and unpacked."""
    at_once: int = 64
    """Requests."""
    rate: float = 0.0
    """Spans a second; 0 is without a limit."""
    patience: float = 30.0
    """Seconds for a request to come in."""


@dataclass(slots=True)
class Counts:
    """What came in and what became of it, since the beginning."""

    requests: int = 0
    """Those that were taken."""
    spans: int = 0
    """Those that are kept."""
    received: int = 0
    """Bytes of bodies as they came, also of requests that were refused."""
    written: int = 0
    """Bytes."""
    rejected: int = 0
    """Spans without ids, of requests that were taken otherwise."""
    refused: Counter[str] = field(default_factory=Counter)
    """Requests of which nothing was kept, by reason."""

    def fields(self, folder: Folder) -> dict[str, Any]:
        """The numbers as plain values."""
        return {
            "requests": self.requests,
            "spans": self.spans,
            "received bytes": self.received,
            "written bytes": self.written,
            "files": folder.files,
            "commits": folder.commits,
            "rejected spans": self.rejected,
            "refused requests": dict(sorted(self.refused.items())),
        }


class Intake:
    """Takes requests into a folder."""

    def __init__(self, folder: Folder, limits: IntakeLimits | None = None) -> None:
        self.folder = folder
        self.limits = limits or IntakeLimits()
        self.counts = Counts()
        self._under_way = 0
        self._credit = self.limits.rate
        self._at = monotonic()

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """A request is under way; a refusal within is counted. Raises `Refused` where there are too many.

        Whether there are is told before any of it is read.
        """
        try:
            if self._under_way >= self.limits.at_once:
                raise Refused(Reason.TOO_MANY, f"{self._under_way} requests are under way already")
            self._check_rate()
            self._under_way += 1
            try:
                yield
            finally:
                self._under_way -= 1
        except Refused as why:
            self.counts.refused[why.reason.called] += 1
            raise

    def _check_rate(self) -> None:
        """A second's worth may come at once; what a request has beyond that is waited for after it."""
        rate = self.limits.rate
        if rate:
            now = monotonic()
            self._credit = min(rate, self._credit + rate * (now - self._at))
            self._at = now
            if self._credit <= 0:
                message = f"more than {rate:,.0f} spans a second are not taken"
                raise Refused(Reason.TOO_FAST, message, max(1, ceil(-self._credit / rate)))

    async def take(self, body: bytes, media: str, encoding: str = "") -> SpanBatch:
        """Keep the spans of a body: they are on disk when this ends. Raises `Refused`: nothing is kept."""
        self.counts.received += len(body)
        largest = self.limits.body
        if len(body) > largest:
            raise self.too_large()
        spans = spans_of(unpacked(body, encoding, largest), media)
        self._credit -= spans.kept
        if spans.kept:
            await self._keep(spans.line)
            self.counts.written += len(spans.line)
        self.counts.requests += 1
        self.counts.spans += spans.kept
        self.counts.rejected += spans.rejected
        return spans

    def too_large(self) -> Refused:
        """What is said of a body that is larger than may be."""
        return Refused(Reason.TOO_LARGE, f"the request is larger than {self.limits.body:,} bytes")

    async def _keep(self, line: bytes) -> None:
        loop = asyncio.get_running_loop()
        kept: asyncio.Future[None] = loop.create_future()

        def settle(fault: OSError | None) -> None:
            if kept.done():  # whoever asked has gone
                return
            if fault is None:
                kept.set_result(None)
            else:
                detail = f"cannot be written: {fault.strerror or fault}; nothing of it is kept"
                kept.set_exception(Refused(Reason.NOT_WRITTEN, detail, after=5))

        def done(fault: OSError | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, fault)

        self.folder.keep(line, done)
        await kept


def exposition(intake: Intake) -> str:
    """The counts in the OpenMetrics text format."""
    counts, folder = intake.counts, intake.folder
    lines: list[str] = []

    def metric(name: str, kind: str, meaning: str, *values: tuple[str, int]) -> None:
        full = f"microcosm_collect_{name}"
        lines.extend((f"# TYPE {full} {kind}", f"# HELP {full} {meaning}"))
        suffix = "_total" if kind == "counter" else ""
        lines.extend(f"{full}{suffix}{labels} {value}" for labels, value in values)

    metric("requests", "counter", "Requests that were taken.", ("", counts.requests))
    metric("spans", "counter", "Spans that are kept.", ("", counts.spans))
    metric("rejected_spans", "counter", "Spans without ids, which were left out.", ("", counts.rejected))
    why = [(f'{{reason="{name}"}}', number) for name, number in sorted(counts.refused.items())]
    metric("refused_requests", "counter", "Requests of which nothing was kept.", *why)
    metric("received_bytes", "counter", "Bytes of bodies as they came.", ("", counts.received))
    metric("written_bytes", "counter", "Bytes that are kept.", ("", counts.written))
    metric("files", "counter", "Files begun.", ("", folder.files))
    metric("commits", "counter", "Groups of requests synced at once.", ("", folder.commits))
    metric("healthy", "gauge", "1 where the last group could be written.", ("", int(folder.fault is None)))
    return "\n".join((*lines, "# EOF", ""))


Done = Callable[[OSError | None], None]


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
        self._waiting: SimpleQueue[tuple[bytes, Done] | None] = SimpleQueue()
        self._writer = Thread(target=self._run, name="collect-writer", daemon=True)
        self._writer.start()

    def keep(self, line: bytes, done: Done) -> None:
        """Keep a line with its end; `done` is called once it is on disk (None), or with why it is not.

        That is in the thread that writes.
        """
        self._waiting.put((line, done))

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
            for _, done in kept:
                done(self.fault)

    def _commit(self, content: bytes) -> None:
        """Write and sync; `fault` says whether that went well."""
        try:
            if self._file >= 0 and (
                self._size + len(content) > self.largest
                or monotonic() - self._begun > self.oldest
                or not os.fstat(self._file).st_nlink  # somebody deleted it
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
