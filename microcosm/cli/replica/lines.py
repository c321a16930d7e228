"""Lines in and out of `replica serve`: standard input, a Unix socket, what was delivered and is to be told.

A line that is written before the commit tells of what a crash may undo, and a line that is written after it
is lost if the crash comes between. So the lines of the deliveries of a commit are part of it, as a note of
the replica; whoever serves the replica after a crash finds them there, and tells them, possibly again. After
an orderly end there is nothing left to tell.

A service that has no standard input is spoken to over a socket, by any number of clients up to `MOST`: each
has the answers to its own lines, and all have what is told of the replica (lines with an `event`), from when
they came. Standard output stays the one that counts: a delivery that a client did not read is not told it
again.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import json
import os
import select
import socket
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from math import isfinite
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from microcosm.cli import output
from microcosm.errors import ReplicaError
from microcosm.givens.relation import Relation
from microcosm.replica.replica import Replica

LONGEST = 8 << 20
"""Bytes of a line at most: the largest message as text, whatever characters it has, fits in."""

PIECE = 1 << 16

AHEAD = 64
"""So many lines of one source are read before what they ask for is durable, and their answers are written."""

LEAVE = 2.0
"""Seconds that the end waits for somebody to read what was told."""


def lines() -> Iterator[str | None]:
    """Each line without its end; None for one of more than `LONGEST` bytes, which is passed over.

    Standard input is not read by its own buffer, which a thread that waits would keep locked at the end.
    """
    if sys.stdin is None:  # closed: there are none
        return
    try:
        source = sys.stdin.fileno()
    except OSError:  # none of the system's: it is all there already
        for line in sys.stdin:
            yield line.rstrip("\n") if len(line) <= LONGEST else None
        return
    splitter = Splitter()
    while piece := os.read(source, PIECE):
        yield from splitter.feed(piece)
    yield splitter.rest()


def read_aside(
    loop: asyncio.AbstractEventLoop,
    room: threading.Semaphore,
    do: Callable[[str | None], object],
    ended: Callable[[], object],
    warn: Callable[[str], object],
) -> None:
    """Have each line done in the loop's thread; read in another one, for it may be a file or a terminal.

    `room` is taken for each line, and given back by who answers it.
    """
    with suppress(RuntimeError):  # the loop is closed
        try:
            for line in lines():
                room.acquire()
                loop.call_soon_threadsafe(do, line)
        except (OSError, ValueError) as error:
            loop.call_soon_threadsafe(warn, f"standard input cannot be read any more: {error}")
        loop.call_soon_threadsafe(ended)


class Splitter:
    """Makes lines of what comes in pieces: each without its end, None for one of more than `LONGEST` bytes.

    Bytes that are no UTF-8 are halves of surrogate pairs in them, which no text may have.

    >>> splitter = Splitter()
    >>> [*splitter.feed(b"one"), *splitter.feed(b" two!"), *splitter.feed(bytes([10]) + b"three")]
    ['one two!']
    >>> splitter.rest()
    'three'
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[str | None]:
        """The lines that end in the next piece."""
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._add(end)
            yield self.rest()
        self._add(rest)

    def rest(self) -> str | None:
        """The line that was begun."""
        parts, size = self._parts, self._size
        self._parts, self._size = [], 0
        return b"".join(parts).decode(errors="surrogateescape") if size <= LONGEST else None

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= LONGEST:
            self._parts.append(part)
        else:
            self._parts.clear()


KIND = "lines to tell"
"""Of the note."""

Line = dict[str, Any]

MOST_PENDING, MOST_BYTES = 1024, 16 << 20
"""While so many deliveries, or payloads of so many bytes, wait for somebody to read of them, no more messages
are taken: each commit writes them down again."""


class PendingLines:
    """The lines that are not told yet: `send` is given one, and `written` called once it is written."""

    def __init__(self, send: Callable[[Line], None]) -> None:
        self._send = send
        self._waiting: deque[Line] = deque()
        self._telling: deque[Line] = deque()
        self._doubtful: list[Line] = []
        """Those of a commit that failed, which may have happened all the same."""
        self._bytes = 0
        """Of the payloads of those that wait, or are being told."""
        self._added = False
        """Whether something was added that is in no note."""

    @property
    def waits(self) -> bool:
        """Whether there are any."""
        return bool(self._waiting or self._telling)

    @property
    def full(self) -> bool:
        """Whether there are too many, or too much in them."""
        return len(self._waiting) + len(self._telling) >= MOST_PENDING or self._bytes >= MOST_BYTES

    def add(self, line: Line) -> None:
        """A line of something that is not durable yet."""
        self._waiting.append(line)
        self._bytes += _size(line)
        self._added = True

    def note(self) -> tuple[str, bytes] | None:
        """What the next commit is to keep, if something was added since the last."""
        if not self._added:
            return None
        self._added = False
        return KIND, json.dumps([*self._telling, *self._waiting]).encode()

    def durable(self, error: BaseException | None) -> None:
        """What the oldest line says is durable; or it could not be written down."""
        line = self._waiting.popleft()
        if error is None:
            self._tell(line)
        else:
            self._bytes -= _size(line)
            self._doubtful.append(line)

    def tell_again(self, replica: Replica) -> None:
        """The journal was opened again: tell what is in it though its commit seemed to fail."""
        doubtful, self._doubtful = self._doubtful, []
        for line in self.left(replica):
            if line in doubtful:
                self._bytes += _size(line)
                self._tell(line)

    def written(self) -> None:
        """The oldest line that was told has been written."""
        self._bytes -= _size(self._telling.popleft())

    def _tell(self, line: Line) -> None:
        self._telling.append(line)
        self._send(line)

    @staticmethod
    def left(replica: Replica) -> Iterator[Line]:
        """The lines that were durable when the replica was last served, and perhaps never told."""
        yield from json.loads(replica.noted(KIND) or b"[]")

    @staticmethod
    def all_written(replica: Replica) -> None:
        """An orderly end."""
        if replica.noted(KIND):
            replica.note(KIND, b"")


def _size(line: Line) -> int:
    return len(line.get("payload") or line.get("payload64") or "")


class Outlet:
    """Standard output, written in a thread: nobody here waits for who reads it, or does not.

    `broken` is called in the loop's thread when nobody will ever read it again.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, broken: Callable[[], object]) -> None:
        self._loop, self._broken = loop, broken
        self._lines: SimpleQueue[tuple[bytes, Callable[[], object] | None]] = SimpleQueue()
        self._open = 0
        self._drained = asyncio.Event()
        self._drained.set()
        self.failed: OSError | None = None
        try:
            self._sink: int | None = sys.stdout.fileno()
        except OSError:  # none of the system's: it takes whatever comes
            self._sink = None
        else:
            threading.Thread(target=self._write, args=(self._sink,), daemon=True, name="lines").start()

    def put(self, line: str, written: Callable[[], object] | None = None) -> None:
        """Write a line; `written` is called in the loop's thread when it is, or when nobody reads."""
        text = f"{line}\n"
        if self._sink is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            if written is not None:
                written()
            return
        self._open += 1
        self._drained.clear()
        self._lines.put((text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"), written))

    async def drained(self, patience: float) -> bool:
        """Wait until all is written, but not longer than that; whether it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._drained.wait()
        return self._open == 0

    def _write(self, sink: int) -> None:
        with suppress(RuntimeError):  # the loop is closed
            while True:
                content, written = self._lines.get()
                try:
                    while self.failed is None and content:
                        try:
                            content = content[os.write(sink, content) :]
                        except BlockingIOError:
                            select.select([], [sink], [])
                except OSError as error:
                    self.failed = error
                    self._loop.call_soon_threadsafe(self._broken)
                self._loop.call_soon_threadsafe(self._done, written)

    def _done(self, written: Callable[[], object] | None) -> None:
        self._open -= 1
        if written is not None:
            written()
        if not self._open:
            self._drained.set()


def verdict_of(relation: Relation) -> str | None:
    """How a line says a verdict: silence is null."""
    return None if relation is Relation.SILENT else relation.value


Kind = TypeVar("Kind", str, int, bool)
UNLIKE = {str: "no text", int: "no whole number", bool: "neither true nor false"}


def field(value: object, kind: type[Kind]) -> Kind:
    """A field that is of a kind. Raises `TypeError`."""
    if type(value) is not kind:
        raise TypeError(f"{json.dumps(value)} is {UNLIKE[kind]}")
    return value


def finite(text: str) -> float:
    """A number of a line: JSON has no others, and an `id` is written again. Raises `ValueError`."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number


def letter_of(line: Line) -> tuple[str | tuple[str, ...], bytes]:
    """To whom, and what, `send` is to send. Raises `TypeError`, `KeyError`, `ValueError`."""
    to = line["to"]
    if not isinstance(to, str) and not (isinstance(to, list) and all(isinstance(n, str) for n in to)):
        raise TypeError("`to` is a name, or a list of names")
    if "payload64" in line:
        content = base64.b64decode(field(line["payload64"], str), validate=True)
    else:
        content = field(line["payload"], str).encode()
    return to if isinstance(to, str) else tuple(to), content


def payload_fields(payload: bytes) -> Line:
    """How a line says what came: as text where it is one."""
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload64": base64.b64encode(payload).decode()}


MOST = 64
"""Clients at a time."""

UNREAD = 8 << 20
"""Bytes that may wait for a client to read them when another line comes; who leaves more is cut off."""

Done = Callable[[dict[str, Any]], object]
"""Takes the answer, or what is empty where there is none."""


class ControlSocket:
    """A socket whose clients have lines done by `do`, in the loop's thread."""

    def __init__(self, path: str, do: Callable[[str | None, Done], object]) -> None:
        self._path, self._do = path, do
        self._server: asyncio.Server | None = None
        self._node: tuple[int, int] = (0, 0)
        self._clients: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = {}

    async def open(self) -> None:
        """Listen. Only who runs this, and root, may connect. Raises `ReplicaError`."""
        listening = listen(self._path)
        found = os.stat(self._path)
        self._node = found.st_dev, found.st_ino
        self._server = await asyncio.start_unix_server(self._serve, sock=listening)

    def close(self) -> None:
        """Hear nobody any more, and take the socket away unless it is another's by now."""
        if self._server is None:
            return
        self._server.close()
        for writer, task in self._clients.items():
            writer.close()
            if task is not None:
                task.cancel()
        with suppress(OSError):
            found = os.stat(self._path)
            if (found.st_dev, found.st_ino) == self._node:
                os.unlink(self._path)

    def broadcast(self, line: str) -> None:
        """A line for every client."""
        for writer in [*self._clients]:
            self._put(writer, line)

    def _put(self, writer: asyncio.StreamWriter, line: str) -> None:
        if writer.transport.get_write_buffer_size() > UNREAD:
            writer.transport.abort()
        elif not writer.is_closing():
            writer.write(f"{line}\n".encode())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= MOST:
            self._put(writer, output.json_line({"error": f"{MOST} clients are here already"}))
            writer.close()
            return
        self._clients[writer] = asyncio.current_task()
        room = asyncio.Semaphore(AHEAD)
        splitter = Splitter()

        def answered(answer: dict[str, Any]) -> None:
            room.release()
            if answer:
                self._put(writer, output.json_line(answer))

        async def do(line: str | None) -> None:
            await room.acquire()
            self._do(line, answered)

        try:
            while piece := await reader.read(PIECE):
                for line in splitter.feed(piece):
                    await do(line)
            await do(splitter.rest())
            for _ in range(AHEAD):  # all of its lines are answered
                await room.acquire()
            await writer.drain()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            del self._clients[writer]
            writer.close()


def listen(path: str) -> socket.socket:
    """A socket that listens at a path, mode 0600. One that nobody answers is replaced. Raises `ReplicaError`.

    Two that start at a time take turns, by a lock on the folder.
    """
    import fcntl  # there is none where there is no Unix socket

    with closing(socket.socket(socket.AF_UNIX)) as made:
        try:
            folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)
                _make_way(path)
                mask = os.umask(0o177)
                try:
                    made.bind(path)
                finally:
                    os.umask(mask)
                made.listen()
            finally:
                os.close(folder)
        except OSError as error:
            why = error.strerror or str(error)
            raise ReplicaError(
                f"{path}: no socket can be made there: {why}; choose another --socket"
            ) from None
        return socket.socket(fileno=made.detach())


def _make_way(path: str) -> None:
    """Remove a socket that nobody listens at. Raises `ReplicaError` where somebody does, or it is none."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ReplicaError(f"{path} is there already and is no socket; choose another --socket")
    except FileNotFoundError:
        return
    with closing(socket.socket(socket.AF_UNIX)) as asking:
        asking.settimeout(1.0)
        try:
            asking.connect(path)
        except OSError as error:
            if error.errno != errno.ECONNREFUSED:
                raise ReplicaError(f"{path}: somebody may listen there: {error}") from None
            os.unlink(path)
            return
    raise ReplicaError(f"{path}: another process listens there; choose another --socket")
