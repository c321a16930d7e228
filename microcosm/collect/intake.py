"""What every request goes through, whichever way it came: limits, reading, keeping, counting."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import ceil
from time import monotonic
from typing import Any

from microcosm.collect.bodies import Reason, Refused, SpanBatch, spans_of, unpacked
from microcosm.collect.folder import Folder


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
                said = f"more than {rate:,.0f} spans a second are not taken"
                raise Refused(Reason.TOO_FAST, said, max(1, ceil(-self._credit / rate)))

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

        def tell(fault: OSError | None) -> None:
            if kept.done():  # whoever asked has gone
                return
            if fault is None:
                kept.set_result(None)
            else:
                said = f"cannot be written: {fault.strerror or fault}; nothing of it is kept"
                kept.set_exception(Refused(Reason.NOT_WRITTEN, said, after=5))

        def told(fault: OSError | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(tell, fault)

        self.folder.keep(line, told)
        await kept


def exposition(intake: Intake) -> str:
    """The counts in the OpenMetrics text format."""
    counts, folder = intake.counts, intake.folder
    lines: list[str] = []

    def metric(name: str, kind: str, said: str, *values: tuple[str, int]) -> None:
        full = f"microcosm_collect_{name}"
        lines.extend((f"# TYPE {full} {kind}", f"# HELP {full} {said}"))
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
