"""Lines that are appended to a file or a stream, each whole, and what happens where they cannot be.

A line that is written is one call of the system that appends, so that several programs can share a file. A
disk that is full, or a stream that is closed, never raises into the program: what could not be written waits,
up to a limit, what is beyond that is counted as lost, and both are said once in the log `microcosm.record`.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from _thread import start_new_thread
from contextlib import suppress
from json import JSONEncoder
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from microcosm.errors import TextError
from microcosm.files import AnyPath

POLICIES = ("each", "interval", "exit")
"""When lines are written: each at once, all every now and then, or all at the end."""

INTERVAL = 0.2
"""Seconds between two writes under the policy `interval`."""

BATCH = 1 << 16
"""So many bytes are written at once, whatever the policy,"""
LIMIT = 1 << 20
"""and so many are kept where they cannot be written. More are lost."""
AGAIN = 0.1
"""Seconds until it is tried again."""

TAIL = 1 << 26
"""So many bytes of a file are searched for earlier lives."""

PATIENCE = 0.5
"""Seconds that one waits for another that begins in the same file."""

log = logging.getLogger("microcosm.record")


class AppendedLines:
    """Appends lines to `to`: a path, a stream of text or bytes, or None to append them nowhere.

    `lock` is taken by who uses it, and by who forks, for that while: in a child hooks of others, and threads
    that they start, may run before it is the `process` (`after_fork`). `lost` counts lines that could not be
    written. Raises `TextError` where a file cannot be opened, and nothing afterwards.
    """

    def __init__(self, to: AnyPath | Any | None, policy: str = "each") -> None:
        if policy not in POLICIES:
            raise TextError(f"no such policy of flushing: {policy}", hint=f"One of {', '.join(POLICIES)}.")
        self.lock, self.process = threading.RLock(), os.getpid()
        self.lost = 0
        self.untold: list[str] = []
        """What there is to be said of it (`say`)."""
        self.path: str | None = None
        self._earlier = os.devnull
        """Where earlier lives may stand: the file, if it is one that has an end."""
        self._policy = policy
        self._at_once = policy == "each" and to is not None
        self._stream: Any = None
        self._text = False
        self._file = -1
        self._waiting: list[bytes] = []
        self._size = 0
        self._torn = False
        self._failing = False
        self._not_before = 0.0
        self._closed = threading.Event()
        self._has_writer = False
        if isinstance(to, str | os.PathLike):
            self.path = os.path.abspath(to)
            try:
                self._file = _opened(self.path)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise TextError(f"cannot be written: {reason}", file=self.path) from None
            if os.path.isfile(self.path):
                self._earlier = self.path
        elif to is not None:
            if not hasattr(to, "write"):
                raise TextError(f"a recorder writes to a path or a stream, not to {type(to).__name__}")
            self._stream = to
            self._text = hasattr(to, "encoding") or hasattr(to, "newlines")

    # -- writing ---------------------------------------------------------------------------------------

    def append(self, line: bytes) -> None:
        """A line with its end, to be written as the policy says; never raises."""
        if self._at_once and not self._waiting:
            self._put(line, [line])
            return
        if self._file < 0 and self._stream is None:
            self.lost += self._closed.is_set()
            return
        if self._size and self._size + len(line) > LIMIT:
            self.flush()
            if self._size:
                self.lost += 1
                return
        self._waiting.append(line)
        self._size += len(line)
        if self._policy == "each" or (self._size >= BATCH and self._policy == "interval"):
            self.flush()
        elif not self._has_writer and self._policy == "interval":
            with suppress(RuntimeError):  # there is no room for a thread, or the interpreter ends
                start_new_thread(self._keep_writing, ())  # a `Thread` would be followed as the program's are
                self._has_writer = True

    def flush(self, *, last: bool = False) -> None:
        """Write what waits, if it can be written; with `last` try it though it has just failed."""
        if not self._waiting or (self._failing and not last and time.monotonic() < self._not_before):
            return
        lines, self._waiting, self._size = self._waiting, [], 0
        self._put(b"".join(lines), lines)

    def _put(self, content: bytes, lines: list[bytes]) -> None:
        """Write lines, of which `content` is made; what is left of them waits."""
        if self._torn:
            content = b"\n" + content
        try:
            written = os.write(self._file, content) if self._file >= 0 else self._write(content)
        except OSError if self._file >= 0 else Exception as error:  # noqa: B030 (a stream may raise anything)
            self._torn = self._torn or self._file < 0  # it does not say how much it took
            self._left(lines, 0, error)
            return
        if written == len(content):
            self._torn = self._failing = False
        else:
            self._left(lines, written - self._torn)

    def _left(self, lines: list[bytes], written: int, fault: Exception | None = None) -> None:
        """Of lines only so many bytes could be written: the rest waits, from where a line was torn.

        Of that line nothing counts: it is no JSON without its last byte. Where nothing but the end of a line
        is missing it is written before the next.
        """
        self._torn = written > 0 or self._torn
        at = 0
        while at < len(lines) and written >= len(lines[at]) - 1:
            written -= len(lines[at])
            at += 1
        self._waiting[:0] = lines[at:]
        self._size = sum(map(len, self._waiting))
        self._not_before = time.monotonic() + AGAIN
        if not self._failing:
            self._failing = True
            self.untold.append(
                f"{self.name} cannot be written: {fault or 'no room'}; events wait, and may be lost"
            )

    def close(self, *, last: bool = True) -> None:
        """Write what waits, for the last time; a second call does nothing. Not `last`: what comes after it
        is written at once.
        """
        if self._closed.is_set():
            return
        self._closed.set()
        self.flush(last=True)
        self.lost += len(self._waiting)
        self._waiting, self._size = [], 0
        if self._file >= 0:
            with suppress(OSError):
                if self._earlier == self.path and not os.fstat(self._file).st_nlink:
                    self.untold.append(f"{self.name} was deleted: what was recorded there is gone")
                if last:
                    os.close(self._file)
        if last:
            self._file, self._stream = -1, None  # the number may be another file's now
        self._policy, self._at_once = "each", self._file >= 0 or self._stream is not None
        if self.lost:
            self.untold.append(f"{self.lost} events are not in {self.name}: it could not be written")

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.path or "the stream"

    @property
    def waits(self) -> bool:
        """Whether something is not written yet."""
        return bool(self._waiting)

    @property
    def closed(self) -> bool:
        """Whether it is closed: nothing is written any more."""
        return self._closed.is_set()

    def after_fork(self) -> None:
        """In a child: what waits is the parent's to write, and no thread of the parent's is there."""
        self.process = os.getpid()
        self._waiting, self._size, self._has_writer = [], 0, False
        self.lost = 0
        if self._file >= 0:
            with suppress(OSError):
                mine = _opened(str(self.path))
                os.close(self._file)
                self._file = mine

    def _write(self, content: bytes) -> int:
        """Write to a stream; how many bytes it took: all, or it raises."""
        self._stream.write(content.decode("ascii") if self._text else content)
        self._stream.flush()
        return len(content)

    def _keep_writing(self) -> None:
        while not self._closed.wait(INTERVAL):
            with self.lock:
                self.flush()
            self.say()

    def say(self) -> None:
        """Say what could not be written, if that was not said. Without the lock: a handler may want it."""
        warnings, self.untold = self.untold, []
        for text in warnings:
            log.warning("%s", text)

    # -- what stands there already -----------------------------------------------------------------------

    def look_at_the_end(self) -> None:
        """Where the last line of the file has no end, because its writer was killed, begin on a new one.

        Of a write of another that is under way a part may be seen: an empty one of ours waits until it is
        done, and then the file is longer.
        """
        with suppress(OSError), open(self._earlier, "rb", buffering=0) as stream:
            seen = 0
            while (size := stream.seek(0, os.SEEK_END)) != seen:
                stream.seek(-1, os.SEEK_END)
                self._torn = stream.read(1) != b"\n"
                if not self._torn:
                    break
                seen = size
                os.write(self._file, b"")

    def lock_file(self) -> bool:
        """Keep others from beginning in this file; False where they do not let one, or nothing can.

        It is not waited for longer than `PATIENCE`: that names are told apart by numbers is for people.
        """
        try:
            from fcntl import LOCK_EX, LOCK_NB, flock
        except ImportError:
            return False
        until = time.monotonic() + PATIENCE
        while self._file >= 0:
            try:
                flock(self._file, LOCK_EX | LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > until:
                    break
                time.sleep(0.005)
            except OSError:  # a file system that has no locks
                break
        return False

    def unlock_file(self) -> None:
        """Let others begin."""
        if self._file >= 0:
            with suppress(ImportError, OSError):
                from fcntl import LOCK_UN, flock

                flock(self._file, LOCK_UN)

    def lives(self, process: bytes) -> dict[int, tuple[int, str]]:
        """The lives of a process in the file: by number, the last position and the name of each.

        `process` is its name as JSON without the last quotation mark. Cost: linear in the file, of which no
        more than the last `TAIL` bytes are read: two lives of one number still have different names.
        """
        lines = re.compile(
            rb'\{"process": ?' + re.escape(process) + rb'(?:#(\d{1,9}))?(?:/[^"]*)?"'
            rb'(?:,"seq":(\d{1,18}),"life":"([\w-]{8})")?'
        )
        found: dict[int, tuple[int, str]] = {}
        with suppress(OSError), open(self._earlier, "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - TAIL))
            for line in stream:
                if match := lines.match(line):
                    number, at, name = int(match[1] or 1), int(match[2] or 0), (match[3] or b"").decode()
                    found[number] = max(at, found.get(number, (0,))[0]), name
        return found


def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)


def _without_form(value: object) -> object:
    """What JSON has no form for: a set as its members, anything else as its text."""
    if isinstance(value, set | frozenset):
        return [str(each) for each in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "backslashreplace")
    return str(value)


encode = JSONEncoder(default=_without_form, separators=(",", ":"), allow_nan=False).encode


def encoded(attributes: dict[str, Any]) -> str:
    """Attributes as JSON, whatever they are; never raises.

    >>> encoded({"key": "x", "at": {1}, "nan": float("nan")})
    '{"key":"x","at":["1"],"nan":"nan"}'
    """
    return "{" + ",".join([f"{quoted(name)}:{_value(value)}" for name, value in attributes.items()]) + "}"


def _value(value: object) -> str:
    if type(value) is str:
        return quoted(value)
    try:
        if type(value) is int:
            return int.__repr__(value)
        return encode(value)
    except Exception:
        return quoted(as_text(value))


def as_text(value: object) -> str:
    """A value as text, whatever it is; never raises."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


_escapes = re.compile(r"\\ud[89ab]..\\ud[c-f]..|\\ud...|\\.")


def whole_characters(text: str) -> str:
    """JSON without halves of characters, as names of files have them: with what stands for none."""
    return _escapes.sub(lambda one: r"\ufffd" if len(one[0]) == 6 else one[0], text)
