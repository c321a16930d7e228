"""How a served replica is, for those who watch it: warnings, a file of metrics, and answers to HTTP.

`GET /metrics` is the OpenMetrics text. `GET /healthz` is 200 as long as this process answers at all, and
`GET /readyz` only where changes are taken and nobody says that this journal is not the newest; both say
`health` and `fault` as JSON. What answers is a few lines over asyncio: no library is needed. What somebody
ought to look at is said once each, to people or as lines.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from microcosm import errors
from microcosm.cli import output
from microcosm.errors import MicrocosmError, ReplicaError
from microcosm.files import host_and_port, write_text
from microcosm.replica.network.status import READY, exposition
from microcosm.replica.node import ReplicaNode
from microcosm.replica.replica import Replica

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

LARGEST = 8 << 10
"""Bytes of a request at most."""

PATIENCE = 5.0
"""Seconds within which a request comes, and its answer is taken."""

MOST = 32
"""Connections at a time; whoever comes then is answered 503."""

SHARE = 20
"""A digest is made again when so many times as long as it took has gone by, not sooner."""

Look = Callable[[], tuple[Replica, dict[str, Any]]]
"""The replica, or what can be read of it, and `ReplicaNode.metrics`: `health` and `fault` at least."""


class Interfaces(NamedTuple):
    """What a served replica has besides standard input and output; each is None unless asked for."""

    socket: str | None = None
    http: tuple[str, int] | None = None
    metrics: str | None = None
    log: str = "text"


class Monitor:
    """Tells how the replica of the journal at `journal` is; `look` says so at any moment."""

    def __init__(self, journal: str, file: str | None, look: Look) -> None:
        self._journal, self._file, self._look = journal, file, look
        self._server: asyncio.Server | None = None
        self._open = 0
        self._digest = ""
        self._digested: tuple[object, ...] = ()
        self._digest_due = 0.0
        self.fault: str | None = None
        """Why the file cannot be written, if it cannot."""

    async def open(self, address: tuple[str, int]) -> tuple[str, int]:
        """Answer there from now on; where that is. Raises `ReplicaError` where that cannot be."""
        try:
            self._server = await asyncio.start_server(self._answer, *address, limit=LARGEST)
        except (OSError, UnicodeError) as error:
            where = host_and_port(*address)
            why = getattr(error, "strerror", None) or error
            raise ReplicaError(f"cannot listen at {where} for HTTP: {why}; choose another --http") from None
        host, port, *_ = self._server.sockets[0].getsockname()
        return host, port

    def close(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.close()

    def keep(self) -> None:
        """Write the file, if there is one; `fault` says why that failed."""
        if self._file is None:
            return
        try:
            write_text(Path(self._file), self.text())
            self.fault = None
        except (OSError, MicrocosmError) as error:
            self.fault = f"metrics cannot be written: {error}"

    def text(self) -> str:
        """The OpenMetrics text. Cost: what is held, and at times a digest of it."""
        replica, found = self._look()
        counts = (id(replica), *replica.counts().values())
        if counts != self._digested and time.monotonic() >= self._digest_due:
            began = time.monotonic()
            self._digest, self._digested = replica.digest(), counts
            ended = time.monotonic()
            self._digest_due = ended + SHARE * (ended - began)
        size = 0
        for beside in ("", "-wal", "-head"):
            with suppress(OSError):
                size += Path(self._journal + beside).stat().st_size
        return exposition(replica, {**found, "digest": self._digest, "journal bytes": size})

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            async with asyncio.timeout(PATIENCE):
                status, media, content = 503, "text/plain", "too many connections\n"
                if self._open <= MOST:
                    status, media, content = self._found(await reader.readuntil(b"\r\n\r\n"))
                writer.write(_written(status, media, content))
                await writer.drain()
        except (OSError, asyncio.LimitOverrunError):
            with suppress(OSError):
                writer.write(_written(400, "text/plain", f"a request has {LARGEST} bytes at most\n"))
        except (EOFError, TimeoutError):
            pass
        finally:
            self._open -= 1
            writer.close()

    def _found(self, request: bytes) -> tuple[int, str, str]:
        """Status, media type and content for a request."""
        method, _, rest = request.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        if path not in ("/metrics", "/healthz", "/readyz"):
            return 404, "text/plain", "there are /metrics, /healthz and /readyz\n"
        if method != "GET":
            return 405, "text/plain", "only GET is answered\n"
        if path == "/metrics":
            return 200, OPENMETRICS, self.text()
        found = self._look()[1]
        state = {"health": found["health"], "fault": found["fault"]}
        ready = path == "/healthz" or found["health"] in READY
        return 200 if ready else 503, "application/json", json.dumps(state) + "\n"


def _written(status: int, media: str, content: str) -> bytes:
    body = content.encode()
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {media}\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode("latin-1") + body


def passes(fault: BaseException | None) -> bool:
    """Whether a fault is of a disk that may be well again, so that what can be read goes on being read."""
    if isinstance(fault, errors.DamagedJournal | errors.LockedJournal | errors.LostJournal):
        return False
    return isinstance(fault, errors.JournalError | OSError)


class Log:
    """Standard error: for people, or a JSON object a line with `time`, `level` and `message`."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json

    def warn(self, text: str) -> None:
        """What somebody ought to look at."""
        if self._json:
            self.put("warning", text)
        else:
            output.warn(output.printable(text))

    @staticmethod
    def put(level: str, text: str) -> None:
        """A line of JSON."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "level": level, "message": text})
        with suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)


class Warnings:
    """Warnings about a node, each given once; `send` writes one as a line of JSON."""

    def __init__(self, send: Callable[[dict[str, Any]], None], log: Log) -> None:
        self._send, self._log = send, log
        self._jumps = 0
        self._warned: set[tuple[object, ...]] = set()

    def look(self, node: ReplicaNode) -> None:
        """Say what somebody ought to look at, once."""
        if node.jumps != self._jumps:
            self._jumps = node.jumps
            self._log.warn(
                "the time of day jumped; only keys begin and end by it: check the clock, nothing is lost"
            )
        self._warned -= {("gone", name) for name in node.members}  # let in again, and maybe evicted again
        for what, text, line in _warnings(node):
            if self.once(what, text) and line:
                self._send(line)

    def once(self, what: tuple[object, ...], text: str) -> bool:
        """Warn of something, unless that was done; whether it was not."""
        key = tuple(map(str, what))
        if key in self._warned:
            return False
        self._warned.add(key)
        self._log.warn(text)
        return True


def _warnings(node: ReplicaNode) -> Iterator[tuple[tuple[object, ...], str, dict[str, Any]]]:
    """All there is to say of a node: what tells it from others, for people, and as a line (or none)."""
    for name, stranger in node.strangers():
        text = (
            f"another replica answers to the name {name} (incarnation {stranger}) and is not let in:"
            f" if it takes the place of the old one, `replica member replace`, or evict {name} and add it"
            " again; if not, give it another name"
        )
        line = {"event": "stranger", "member": name, "incarnation": stranger}
        yield ("stranger", name, stranger), text, line
    for name, count in node.unreadable().items():
        text = (
            f"{count} packets in the name of {name} cannot be opened: it has another key file, calls this"
            " one otherwise, or somebody else uses its name; `replica key` tells how keys are shared"
        )
        yield ("unreadable", name), text, {}
    for name, (old, new) in node.moved().items():
        text = (
            f"{name} speaks from {host_and_port(*new)} and not from {host_and_port(*old)};"
            " it is answered there too"
        )
        yield ("moved", name, new), text, {}
    for name, why in node.suspects.items():
        text = f"{name} says what no replica of this program says: {why}; evict it, and change the keys"
        yield ("suspect", name), text, {"event": "suspect", "member": name, "why": why}
    for name, what in (node.replica.quotas.over if node.replica.quotas else {}).items():
        yield ("over", name), f"{name} says {what}: what is too much waits; `--quota` bounds it", {}
    for name, what in node.replica.exchange.newer.items():
        text = f"{name} has {what}: what it says so counts for nothing here; a newer program will read it"
        yield ("newer", name), text, {}
    for name in node.gone():
        text = f"{name} was evicted by another member; `replica member replace` lets it in again"
        yield ("gone", name), text, {"event": "evicted", "member": name}
    for name, messages in node.lost().items():
        text = f"{len(messages):,} messages to {name} were not acknowledged, and are not sent any more"
        line = {"event": "lost", "member": name, "messages": messages}
        yield ("lost", name, *messages), f"{text}: the line `lost` names them", line
    for found in node.divergences():
        yield ("diverged", *found.values()), found["why"], {"event": "diverged", **found}
