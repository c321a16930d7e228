"""Records what a process does: its events, the messages that it sends and those that it receives.

    causality = Recorder("alice", "alice.jsonl")
    causality.event("got lease", key="x")
    header = causality.send("write x=1", to="store")
    causality.receive(header, "write x=1")                # at the store

Nobody counts anything: the order within a process is that of its calls, and the header joins the two ends of
a message. `docs/guides/record.md` has the rest.
"""

from __future__ import annotations

import os
import re
import sys
import weakref
from collections.abc import Collection
from contextvars import Context
from json import JSONEncoder
from json.encoder import encode_basestring_ascii as quoted
from threading import Thread
from time import time_ns
from types import TracebackType
from typing import Any, NoReturn

from microcosm.errors import TextError
from microcosm.files import AnyPath
from microcosm.record.feeding import Feeding
from microcosm.record.header import Names, header_of, read
from microcosm.record.lines import AppendedLines
from microcosm.record.returns import follow_returns
from microcosm.record.strands import Clock, Point, Strand, Strands, follow


def _as_text(value: object) -> object:
    """What JSON has no form for: a set as its members, anything else as its text."""
    if isinstance(value, set | frozenset):
        return [str(each) for each in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "backslashreplace")
    return str(value)


_encode = JSONEncoder(default=_as_text, separators=(",", ":"), allow_nan=False).encode


def encoded(attributes: dict[str, Any]) -> str:
    """Attributes as JSON, whatever they are; never raises.

    >>> encoded({"key": "x", "at": {1}, "nan": float("nan")})
    '{"key":"x","at":["1"],"nan":"nan"}'
    """
    return "{" + ",".join([f"{quoted(name)}:{_told(value)}" for name, value in attributes.items()]) + "}"


def _told(value: object) -> str:
    if type(value) is str:
        return quoted(value)
    try:
        if type(value) is int:
            return int.__repr__(value)
        return _encode(value)
    except Exception:
        return quoted(_text(value))


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


_escapes = re.compile(r"\\ud[89ab]..\\ud[c-f]..|\\ud...|\\.")


def _whole(found: re.Match[str]) -> str:
    """An escape in JSON; of half a character, as names of files have them, what stands for none."""
    escape = found[0]
    return r"\ufffd" if escape.startswith(r"\ud") and len(escape) == 6 else escape


_GOES_ON, _ENDS = "R", "N"
"""What the names of lives begin with: of those that may be resumed, and of all others."""


class Recorder:
    """Records the events of `process` in `to`: a path, to which lines are appended, or a stream.

    `flush` says when lines are written: `each` at once, so that a process that is killed has lost none;
    `interval` every fifth of a second; `exit` at the end. `resume`: the process goes on where its last life
    with `resume` in the file ended, where otherwise it is a new one, `alice#2`; that takes `to` to be a path,
    and one program at a time. Safe between threads. After a fork the child is a new process, after the fork.

    No method raises because something cannot be recorded: `lost` counts events that could not be written,
    `foreign` headers that were none. Cost: an event takes about 2 µs, beside the write. Raises `TextError`
    where the file cannot be opened.
    """

    def __init__(
        self,
        process: str,
        to: AnyPath | Any | None = None,
        *,
        flush: str = "each",
        resume: bool = False,
        tasks: bool = False,
        clocks: bool = False,
        replica: Any = None,
    ) -> None:
        if not isinstance(process, str) or not process:
            raise TextError(f"a process has a name, which is text, not {process!r}")
        if resume and tasks:
            raise TextError("threads and tasks do not go on: a recorder has `resume` or `tasks`, not both")
        if replica is not None and tasks:
            raise TextError("a replica has one chain: a recorder has `replica` or `tasks`, not both")
        self._feeding = None if replica is None else Feeding(replica, process)
        self.foreign = 0
        """How many headers came that are of another kind or version."""
        self._called = process.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self._resume = resume
        self._lines = AppendedLines(to, flush)
        self._names = Names()
        self._tasks = tasks
        self._clocks = clocks
        self._strand: Strand | None = None
        self._strands: Strands | None = None
        self._forked: Point | None = None
        """After which event of the parent a child begins."""
        self._end = weakref.finalize(self, _close, self._lines)
        if hasattr(os, "register_at_fork"):
            _at_fork(self)
        if tasks:
            follow(self)
            follow_returns(self)

    # -- what happens ----------------------------------------------------------------------------------

    def event(self, label: str, /, **attributes: Any) -> str:
        """Something happened here; the name of the event, `alice:6`."""
        return self._record("internal", None, label, attributes)

    def send(self, label: str, /, to: str | Collection[str] | None = None, **attributes: Any) -> str:
        """A message is about to be sent; the header that has to go with it.

        `to`, whom it is sent to, is for people: it is kept as an attribute. Whoever receives the header has
        received the message, be it several.
        """
        if to is not None:
            attributes["to"] = to if isinstance(to, str) else [*to]
        return self._record("send", None, label, attributes)

    def receive(self, header: object, label: str | None = None, /, **attributes: Any) -> str:
        """A message came with this header; the name of the event.

        Without a header, or with one of another kind, it is an event like others: it orders nothing.
        """
        message, clock = read(header)
        if message is None:
            self.foreign += header is not None
            self._forget_clock()
            return self._record("internal", None, "received" if label is None else label, attributes)
        return self._record("receive", message, label, attributes, clock)

    def here(self) -> Point | None:
        """The last event of who calls, for `after`; None where there is none yet."""
        with self._lines.lock:
            strand = self._strand if self._strands is None else self._strands.current()
            return strand.point() if strand is not None and strand.seq else None

    def after(self, point: Point, link: str) -> None:
        """Let the next event of who calls come after one of another thread or task; `link` says why."""
        with self._lines.lock:
            strand = self._strand if self._strands is None else self._strands.current()
            if strand is not None:
                strand.come_after(point, link)

    # -- the recorder itself ---------------------------------------------------------------------------

    @property
    def process(self) -> str:
        """The name of the process in the log: with a number where it is not the first of this name."""
        return self._strand.process if self._strand else self._called

    @property
    def lost(self) -> int:
        """How many events could not be written, for good."""
        return self._lines.lost

    @property
    def refused(self) -> int:
        """How many events and orders the replica did not take."""
        return self._feeding.refused if self._feeding else 0

    def flush(self) -> None:
        """Write what waits to be written."""
        with self._lines.lock:
            self._lines.flush(last=True)
        self._lines.say()

    def __reduce__(self) -> NoReturn:
        """A recorder stays in its process. Raises `TextError`."""
        raise TextError(
            "a recorder cannot be sent to another process", hint="Make one there, of its own name."
        )

    def close(self) -> None:
        """Write what waits, and close the file; a stream stays open. What comes later is not recorded."""
        self._end()

    def __enter__(self) -> Recorder:
        """Close it at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Write what waits, and close."""
        self.close()

    # -- inside ----------------------------------------------------------------------------------------

    def _record(
        self, kind: str, message: str | None, label: str | None, attributes: dict[str, Any], clock: Any = None
    ) -> str:
        """Append an event to the chain of who calls; its name, or of a sending the header."""
        lines = self._lines
        said = encoded(attributes) if attributes else "{}"
        if "time" not in attributes:
            now = str(time_ns())  # text is cut faster than a float is written
            now = f"{now[:-9]}.{now[-9:-3]}" if len(now) > 9 and now[0] != "-" else "0"
            said = f'{{"time":{now}{"," if attributes else ""}{said[1:]}'
        with lines.lock:
            strand = self._strand
            if strand is None:
                alone = lines.lock_file()
                self._begin(alone)
                name = self._record(kind, message, label, attributes, clock)
                lines.flush()
                if not self._resume:  # a chain that goes on is nobody else's until this process ends
                    lines.unlock_file()
                return name
            if self._strands is not None:
                strand = self._strands.current()
            strand.seq = seq = strand.seq + 1
            text = f'{strand.before}{seq}{strand.life}{kind}"'
            if kind == "send":
                message = f"{strand.shown}:{seq}~{self._names.draw()}"
            if message is not None:
                text = f'{text},"message":"{message}"'
            if label is not None:
                text = f'{text},"label":{quoted(label) if type(label) is str else quoted(_text(label))}'
            if strand.after:
                text += _after(strand)
            if strand.clock is not None:
                text += _clock(strand, message if kind == "receive" else None, clock)
            text = f'{text},"attributes":{said}}}\n'
            if "\\ud" in text:
                text = _escapes.sub(_whole, text)
            lines.append(text.encode("ascii"))
            if self._strands is not None:
                self._strands.recorded(strand)
            if self._feeding is not None:
                self._feed(strand, kind, message)
            name = f"{strand.process}:{seq}" if kind != "send" else header_of(str(message), strand.clock)
        if lines.untold:
            lines.say()
        return name

    def _begin(self, alone: bool) -> None:
        """Begin the chain of this life, with a name that no other in this file has."""
        if self._resume and not alone:
            self._resume = False
            self._lines.untold.append(f"{self._lines.name} is in use: {self._called} does not go on in it")
        lines, name, seq = self._lines, self._called, 0
        life = (_GOES_ON if self._resume else _ENDS) + self._names.draw()[:7]
        lines.look_at_the_end()
        found = lines.lives(quoted(name)[:-1].encode("ascii"))
        last = max(found, default=0)
        resumed = [number for number, (_, each) in found.items() if each.startswith(_GOES_ON)]
        if self._resume and resumed:  # what its last life did not write is not known: a position is left out
            seq, life = found[max(resumed)]
            seq += 1
            name = name if max(resumed) == 1 else f"{name}#{max(resumed)}"
        elif last:
            name = f"{name}#{last + 1}"
        elif self._forked:
            name = f"{name}#{os.getpid()}"
        if self._feeding is not None:
            name = self._feeding.unused(name)
        self._strand = strand = Strand(name, life, {} if self._clocks and not seq else None)
        strand.seq = seq
        if self._tasks:
            self._strands = Strands(name, life, self._clocks)
            strand = self._strands.current()
        if self._forked:
            strand.come_after(self._forked, "fork")
            if pools := sys.modules.get("multiprocessing.util"):  # its processes do not end as others do
                pools.Finalize(None, self._end, exitpriority=100)

    def _feed(self, strand: Strand, kind: str, message: str | None) -> None:
        """Tell the replica of the last event."""
        if self._feeding is not None:
            name = message if kind == "send" and message else f"{strand.process}:{strand.seq}"
            self._feeding.happened(name, message if kind == "receive" else None)

    def _forget_clock(self) -> None:
        """What came from outside may have any past: what is known here is not known any more."""
        if not self._clocks:
            return
        with self._lines.lock:
            if self._strand is None:
                self._clocks = False
            else:
                (self._strand if self._strands is None else self._strands.current()).learn(None)

    def starting(self, thread: Thread) -> None:
        """For `strands`: the current chain starts a thread."""
        if self._strands is not None:
            with self._lines.lock:
                self._strands.starting(thread)

    def joined(self, owner: Any, by: Any = None) -> None:
        """For `strands`: a thread or task is over, and who calls (or `by`) has waited for it."""
        if self._strands is not None:
            with self._lines.lock:
                self._strands.joined(owner, by)

    def ended(self, owner: Any) -> tuple[Point, ...]:
        """For `returns`: what is before the end of a task."""
        if self._strands is None:
            return ()
        with self._lines.lock:
            return self._strands.ended(owner)

    def waited_for(self, point: Point, by: Any = None, context: Context | None = None) -> None:
        """For `returns`: who calls, or the task `by` of a context, has waited for an event of a thread."""
        if self._strands is not None:
            with self._lines.lock:
                self._strands.waited_for(point, by, context)

    def _before_fork(self) -> None:
        self._lines.lock.acquire()

    def _after_fork(self) -> None:
        self._lines.lock.release()

    def _after_fork_in_child(self) -> None:
        strand = self._strand if self._strands is None else self._strands.current()
        if strand is not None and strand.seq:
            self._forked = strand.point()
        self._strand = self._strands = None
        self._resume, self._feeding = False, None
        self._names.forget()
        self._lines.after_fork()


def _after(strand: Strand) -> str:
    """The links of an event to those of other chains that it comes after."""
    names, links = zip(*strand.after, strict=True)
    strand.after = []
    return f',"after":{_encode(names)},"links":{_encode(links)}'


def _clock(strand: Strand, received: str | None, clock: Clock | None) -> str:
    """The vector time of an event, after what came with a message; nothing where it is not known."""
    if received is not None:
        strand.learn(clock)
    if strand.clock is None:
        return ""
    strand.clock[strand.named] = strand.seq
    return f',"clock":{_encode(strand.clock)}'


def _close(lines: AppendedLines) -> None:
    """What is done when a recorder is closed, when nobody holds it any more, and when the program ends."""
    with lines.lock:
        lines.close()
    lines.say()


def _at_fork(recorder: Recorder) -> None:
    """Tell a recorder of forks for as long as there is somebody who holds it."""
    held = weakref.ref(recorder)

    def told(what: str) -> None:
        found = held()
        if found is not None:
            getattr(found, what)()

    os.register_at_fork(
        before=lambda: told("_before_fork"),
        after_in_parent=lambda: told("_after_fork"),
        after_in_child=lambda: told("_after_fork_in_child"),
    )
