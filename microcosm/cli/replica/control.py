"""The JSON lines of `replica serve` over a Unix socket, for a service that has no standard input.

Any number of clients up to `MOST`: each has the answers to its own lines, and all have what is told of the
replica (lines with an `event`), from when they came. Standard output stays the one that counts: a delivery
that a client did not read is not told it again.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from microcosm.cli import output
from microcosm.cli.replica.lines import AHEAD, PIECE, Splitter
from microcosm.errors import ReplicaError

MOST = 64
"""Clients at a time."""

UNREAD = 1 << 20
"""Bytes that may wait for a client to read them; who leaves more is cut off."""

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

    def tell(self, line: str) -> None:
        """A line for every client."""
        for writer in [*self._clients]:
            self._put(writer, line)

    def _put(self, writer: asyncio.StreamWriter, line: str) -> None:
        if writer.is_closing():
            return
        writer.write(f"{line}\n".encode())
        if writer.transport.get_write_buffer_size() > UNREAD:
            writer.transport.abort()

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
