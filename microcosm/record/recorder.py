"""Records what a process does: its events, the messages that it sends and those that it receives.

    causality = Recorder("alice", "alice.jsonl")
    causality.event("got lease", key="x")
    header = causality.send("write x=1", to="store")
    causality.receive(header, "write x=1")                # at the store

Nobody counts anything: the order within a process is that of its calls, and the header joins the two ends of
a message. `docs/guides/record.md` has the rest.
"""

from __future__ import annotations

import logging
import os
import sys
import weakref
from collections import deque
from collections.abc import Callable, Collection
from json import dumps
from json.encoder import encode_basestring_ascii as quoted
from time import time_ns
from typing import Any, NoReturn

from microcosm.errors import MicrocosmError, TextError
from microcosm.files import AnyPath
from microcosm.record.header import Names, header_of, read
from microcosm.record.lines import AppendedLines, as_text, encode, encoded, log, whole_characters
from microcosm.record.strands import Point, Strand, Strands, follow

_GOES_ON, _ENDS = "R", "N"
"""What the names of lives begin with: of those that may be resumed, and of all others."""


class Recorder:
    """Records the events of `process` in `to`: a path, to which lines are appended, or a stream.

    `flush` says when lines are written: `each` at once, so that a process that is killed has lost none;
    `interval` every fifth of a second; `exit` at the end. `resume`: the process goes on where its last life
    with `resume` in the file ended, where otherwise it is a new one, `alice#2`; that takes `to` to be a path,
    and one program at a time. Safe between threads. After a fork the child is a new process, after the fork.
    `tasks` and `clocks` together call concurrent what tasks hand to each other otherwise than by messages.

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
        self._forked: tuple[Point, ...] = ()
        """After which events of the parent a child begins."""
        self._end = weakref.finalize(self, _close, self._lines, weakref.ref(self))
        if hasattr(os, "register_at_fork"):
            _at_fork(self)
        if tasks:
            follow(self)

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
            attributes["to"] = [*to] if isinstance(to, Collection) and not isinstance(to, str) else to
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
        if self._lines.process != os.getpid():
            return None
        with self._lines.lock:
            strand = self._current()
            return strand.point() if strand is not None and strand.seq else None

    def after(self, point: Point, link: str) -> None:
        """Let the next event of who calls come after one of another thread or task; `link` says why."""
        with self._lines.lock:
            if (strand := self._current()) is not None:
                strand.come_after(point, link)

    def _current(self) -> Strand | None:
        """The chain of who calls; None where none has begun."""
        return self._strand if self._strands is None else self._strands.current()

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
        if self._end.detach() is not None:
            _close(self._lines)

    def __enter__(self) -> Recorder:
        """Close it at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Write what waits, and close."""
        self.close()

    # -- inside ----------------------------------------------------------------------------------------

    def _record(
        self, kind: str, message: str | None, label: str | None, attributes: dict[str, Any], clock: Any = None
    ) -> str:
        """Append an event to the chain of who calls; its name, or of a sending the header."""
        lines = self._lines
        encoded_attributes = encoded(attributes) if attributes else "{}"
        if "time" not in attributes:
            now = str(time_ns())  # text is cut faster than a float is written
            now = f"{now[:-9]}.{now[-9:-3]}" if len(now) > 9 and now[0] != "-" else "0"
            encoded_attributes = f'{{"time":{now}{"," if attributes else ""}{encoded_attributes[1:]}'
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
            if kind == "receive" and strand.clock is not None:
                strand.learn(clock)  # before it has a number: the handler of a signal may record the next one
            strand.seq = seq = strand.seq + 1
            text = f'{strand.before}{seq}{strand.life}{kind}"'
            if kind == "send":
                message = f"{strand.shown}:{seq}~{self._names.draw()}"
            if message is not None:
                text = f'{text},"message":"{message}"'
            if label is not None:
                text = f'{text},"label":{quoted(label) if type(label) is str else quoted(as_text(label))}'
            if strand.after:
                text += _after(strand)
            if strand.clock is not None:
                text += _clock(strand, seq)
            text = f'{text},"attributes":{encoded_attributes}}}\n'
            if "\\ud" in text:
                text = whole_characters(text)
            lines.append(text.encode("ascii"))
            if self._strands is not None:
                self._strands.recorded(strand)
            if self._feeding is not None:
                fed = str(message) if kind == "send" else f"{strand.process}:{seq}"
                self._feeding.happened(fed, message if kind == "receive" else None)
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
        strand = Strand(name, life, {} if self._clocks and not seq else None)
        strand.seq = seq
        strands = Strands(name, life, self._clocks) if self._tasks else None
        if self._strand is not None:  # the handler of a signal has recorded meanwhile
            return
        self._strand, self._strands = strand, strands
        if strands is not None:
            strand = strands.current()
        for each in self._forked:
            strand.come_after(each, "fork")
        if (pools := sys.modules.get("multiprocessing.process")) and pools.parent_process():
            from multiprocessing.util import Finalize  # these processes do not end as others do

            Finalize(None, _close, (lines, weakref.ref(self)), exitpriority=100)

    def _forget_clock(self) -> None:
        """What came from outside may have any past: what is known here is not known any more."""
        if not self._clocks:
            return
        with self._lines.lock:
            if (strand := self._current()) is None:
                self._clocks = False
            else:
                strand.learn(None)

    def _chains(self, ask: Callable[..., Any], *of: Any) -> Any:
        """For `strands`: ask the chains of the threads and tasks; None where none has begun."""
        if self._strands is None or self._lines.process != os.getpid():
            return None
        with self._lines.lock:
            return ask(self._strands, *of)

    def _before_fork(self) -> None:
        """Wait for whoever records, and write what a later life must not call by the same names again."""
        self._lines.lock.acquire()
        if self._resume:
            self._lines.flush(last=True)

    def _after_fork_in_child(self) -> None:
        strand = self._current()
        if strand is not None and not (self._resume and self._lines.waits):
            self._forked = strand.known()
        self._strand = self._strands = None
        self._resume, self._feeding = False, None
        self._names.forget()
        self._lines.after_fork()


def _after(strand: Strand) -> str:
    """The links of an event to those of other chains that it comes after."""
    after, strand.after = strand.after.values(), {}
    names, links = [f"{each.strand.named}:{each.seq}" for each in after], [each.link for each in after]
    return f',"after":{encode(names)},"links":{encode(links)}'


def _clock(strand: Strand, seq: int) -> str:
    """The vector time of an event; nothing where it is not known, for the handler of a signal has recorded
    another one meanwhile.
    """
    if (known := strand.clock) is None:
        return ""
    known[strand.named] = strand.seq
    text = encode(known)
    return f',"clock":{text}' if strand.seq == seq else ""


def _close(lines: AppendedLines, ends: Callable[[], object] | None = None) -> None:
    """What is done when a recorder is closed, when nobody holds it any more, and when the program ends.

    At the end somebody may hold it (`ends`), and what is still done then is written.
    """
    with lines.lock:
        lines.close(last=ends is None or ends() is None)
    lines.say()


def _at_fork(recorder: Recorder) -> None:
    """Tell a recorder of forks for as long as there is somebody who holds it."""
    held = weakref.ref(recorder)

    def call(does: Callable[[Recorder], object]) -> None:
        if (found := held()) is not None:
            does(found)

    def in_child(recorder: Recorder) -> None:
        recorder._after_fork_in_child()
        recorder._lines.lock.release()  # for which a thread may wait that the hook of another has started

    os.register_at_fork(
        before=lambda: call(Recorder._before_fork),
        after_in_parent=lambda: call(lambda each: each._lines.lock.release()),
        after_in_child=lambda: call(in_child),
    )


_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class RecordHandler(logging.Handler):
    """Records what a program logs already: each record of `logging` is an event. So a configuration says it:

        "handlers": {
            "causality": {"class": "microcosm.record.RecordHandler", "process": "alice", "to": "alice.jsonl"}
        }

    Its message is the label; its level, its logger and what `extra` brings are attributes. What is sent and
    received is told by the recorder, `handler.recorder`, or by what carries its headers. That is a recorder
    that it is given, or one of its own, made of `process`, `to` and `options`, which is closed with it, as
    `logging` does at the end of a program. Raises `TextError`.
    """

    def __init__(
        self,
        process: str | None = None,
        to: AnyPath | Any | None = None,
        *,
        recorder: Recorder | None = None,
        level: int | str = logging.NOTSET,
        **options: Any,
    ) -> None:
        super().__init__(level)
        if (recorder is None) == (process is None):
            raise TextError("a RecordHandler has a process, or a recorder")
        self._own = recorder is None
        self.recorder = recorder if recorder is not None else Recorder(process or "", to, **options)

    def emit(self, record: logging.LogRecord) -> None:
        """Record what was logged; what the recorder itself has to say is not recorded."""
        if record.name == log.name:
            return
        try:
            attributes = {name: value for name, value in vars(record).items() if name not in _USUAL}
            attributes.setdefault("level", record.levelname)
            attributes.setdefault("logger", record.name)
            attributes.setdefault("time", round(record.created, 6))
            if record.exc_info and record.exc_info[1] is not None:
                attributes.setdefault("exception", repr(record.exc_info[1]))
            self.recorder.event(record.getMessage(), **attributes)
        except Exception:  # arguments that do not fit the message; `logging` says how such things are told
            self.handleError(record)

    def flush(self) -> None:
        """Write what waits to be written."""
        self.recorder.flush()

    def close(self) -> None:
        """Close its own recorder; one that it was given stays open."""
        if self._own:
            self.recorder.close()
        super().close()


class Feeding:
    """Feeds a `Replica`, or a `ReplicaNode` in its event loop, with events in the order of their recording.

    They are local events of the replica, named as in the log, `alice:6`; a sending is called as its message
    is, `alice:6~pZ8_k3f9x2a`, for this name comes with the header to the replica of the receiver, and nobody
    can guess it. A reception comes after it. A node may be fed from any thread, a replica from one at a time.
    What the replica refuses is not raised: `refused` counts it.
    """

    def __init__(self, fed: Any, process: str) -> None:
        if process in ("c", "d"):
            raise TextError(
                f"a replica has names like `{process}:1` for messages: call the process otherwise"
            )
        self.refused = 0
        self._node = fed if hasattr(fed, "together") else None
        self._replica = fed if self._node is None else fed.replica
        self._waiting: deque[tuple[str, str | None]] = deque()
        self._loop: Any = None
        if self._node is not None:
            from asyncio import get_running_loop

            try:
                self._loop = get_running_loop()
            except RuntimeError:
                raise TextError("a recorder that feeds a node is made inside its event loop") from None

    def unused(self, process: str) -> str:
        """The name of a process that has no events in the replica: with a number, where it lived before."""
        used = {event.rpartition(":")[0] for event in self._replica.events}
        name, number = process, 1
        while name in used:
            number += 1
            name = f"{process}#{number}"
        return name

    def happened(self, event: str, after: str | None) -> None:
        """An event, and the sending that it comes after if it is a reception."""
        self._waiting.append((event, after))
        if self._loop is None or _runs(self._loop):
            self._feed()
        else:
            self._loop.call_soon_threadsafe(self._feed)

    def _feed(self) -> None:
        while self._waiting:
            event, after = self._waiting.popleft()
            try:
                if self._node is None:
                    self._learn(event, after)
                else:
                    with self._node.together():
                        self._learn(event, after)
            except (MicrocosmError, OSError):
                self.refused += 1

    def _learn(self, event: str, after: str | None) -> None:
        self._replica.local(event)
        if after is not None:
            self._replica.learn(f"{dumps(after)} < {dumps(event, ensure_ascii=False)}")


def _runs(loop: Any) -> bool:
    """Whether an event loop runs in this thread."""
    from asyncio import get_running_loop

    try:
        return get_running_loop() is loop
    except RuntimeError:
        return False
