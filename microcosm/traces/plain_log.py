"""Logs of nothing but events and messages, in columns: the fast lane of `extract` for the own JSON lines.

Most lines of most logs say a process, a position, and what was sent or received. Where all do, each process
tells its events in order, every reception comes after its one sending, then the microcosm follows from a few
passes over columns, at a tenth of the price of an object for each event. Whatever else a log has or lacks is
for the careful reader: then there is no answer here. A property test keeps both of one mind.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import accumulate, chain, compress, count, repeat
from operator import add, eq, ge, not_

from microcosm.errors import TextError
from microcosm.relations.collection import without_collection
from microcosm.relations.givens import Givens, Message
from microcosm.relations.links import Links
from microcosm.traces import formats
from microcosm.traces.extraction import Extraction
from microcosm.traces.lines import open_lines
from microcosm.traces.report import Report

_TEXT = r'"([^"\\\x00-\x1f]+)"'
_events = re.compile(
    rf'^\{{"process": ?{_TEXT}, ?"seq": ?([1-9][0-9]{{0,17}}), ?"kind": ?'
    rf'(?:"internal"|"(send|receive)", ?"message": ?{_TEXT})\}}$',
    re.MULTILINE,
).findall


def plain_extraction(path: str | os.PathLike[str], report: Report) -> Extraction | None:
    """What `extract` gives for a file, or None where it is not plain; `report` is then untouched.

    Raises `TraceError` where a strict `report` does. Cost: linear.
    """
    if not os.path.isfile(path):  # what is no file can be read only once
        return None
    with without_collection():
        try:
            log = _read(path)
        except TextError:
            return None
        return None if log is None else log.extraction(report)


def _read(path: str | os.PathLike[str]) -> _Log | None:
    unseen = Report()
    log = _Log()
    with open_lines(path, unseen) as stream:
        if formats.detect(stream.head, stream.file) != "jsonl":
            return None
        log.file = stream.file
        for text in stream.texts():
            found = _events(text)
            if len(found) != text.count("\n") + (not text.endswith("\n")):
                return None
            log.extend(found)
    return log if not unseen.counts and log.settle() else None


_SEND, _RECEIVE = map(len, ("send", "receive"))
_IS_SEND, _IS_RECEIVE = (bytes(length == kind for length in range(256)) for kind in (_SEND, _RECEIVE))
"""A kind is kept as the length of its word; these tables say which are which."""


class _Log:
    """The columns of a log, an event of which is the number of its line, from 0."""

    def __init__(self) -> None:
        self.file = ""
        self._ids: list[str] = []
        self._process: list[str] = []
        self._kind = bytearray()
        """The length of `send` or `receive`, or 0."""
        self._message: list[str] = []
        self._threads: defaultdict[str, list[int]] = defaultdict(list)
        """The events of each process."""
        self._next: defaultdict[str, count[int]] = defaultdict(lambda: count(1))
        """What the next event of each process is to be numbered."""
        self._in_turn = True
        self._sending: dict[str, int] = {}
        """The event that sent a message."""
        self._origin: dict[int, int | None] = {}
        """The sending that a reception hears of."""

    def extend(self, found: Sequence[tuple[str, str, str, str]]) -> None:
        """Take in the events of some more lines."""
        first = len(self._ids)
        processes, seqs, words, messages = zip(*found, strict=True)
        once: dict[str, str] = {}
        self._process += map(once.setdefault, processes, processes)
        self._ids += map(":".join, zip(processes, seqs, strict=True))
        due = map(next, map(self._next.__getitem__, processes))
        self._in_turn = self._in_turn and all(map(eq, map(int, seqs), due))
        kinds = bytes(map(len, words))
        self._kind += kinds
        self._message += messages
        deque(map(list.append, map(self._threads.__getitem__, processes), count(first)), maxlen=0)
        are_sends, are_receipts = kinds.translate(_IS_SEND), kinds.translate(_IS_RECEIVE)
        self._sending.update(compress(zip(messages, count(first), strict=False), are_sends))
        origins = map(self._sending.get, compress(messages, are_receipts))
        self._origin.update(zip(compress(count(first), are_receipts), origins, strict=False))

    def settle(self) -> bool:
        """Whether nothing is odd but what is reported below; then the columns go process by process."""
        if not self._in_turn or len(self._sending) < self._kind.count(_SEND) or None in self._origin.values():
            return False
        events = [*chain.from_iterable(self._threads.values())]
        kinds = bytes(map(self._kind.__getitem__, events))
        self._told = [*compress(events, kinds)]
        self._sends = [*compress(events, kinds.translate(_IS_SEND))]
        self._receipts = receipts = [*compress(events, kinds.translate(_IS_RECEIVE))]
        self._origins = [origin for origin in map(self._origin.get, receipts) if origin is not None]
        self._heard = set(self._origins)
        process = self._process.__getitem__
        receivers = [*map(process, receipts)]
        many = len(receipts)
        if len(self._heard) < many and len({*zip(self._origins, receivers, strict=True)}) < many:
            return False
        late = any(map(ge, self._origins, receipts))
        return not (late or any(map(eq, map(process, self._origins), receivers)))

    def extraction(self, report: Report) -> Extraction:
        """The microcosm, as `extract` makes it of the same events."""
        for event in compress(self._sends, map(not_, map(self._heard.__contains__, self._sends))):
            said = f"{self._ids[event]}: the reception of {self._message[event]} is not in the log"
            report.add("unreceived-send", said, file=self.file, line=event + 1)
        givens = Givens()
        unlinked = self._unlinked()
        givens.link(links := self._links(unlinked))
        givens.messages = self._messages()
        isolated = [e for e in unlinked if not self._kind[e]]  # a message names its event
        for event in isolated:
            said = f"{self._ids[event]}: nothing relates it to another event"
            report.add("isolated-event", said, file=self.file, line=event + 1, fatal=False)
        return Extraction(
            givens=givens,
            events=len(self._ids),
            processes=len(self._threads),
            messages=len(self._sends),
            correspondences=len(links),
            isolated=len(isolated),
            outside=0,
            reported=dict(report.counts),
        )

    def _unlinked(self) -> list[int]:
        """The events without another of their process that sent nothing which was received."""
        alone = [thread[0] for thread in self._threads.values() if len(thread) == 1]
        return [e for e in alone if self._kind[e] != _RECEIVE and e not in self._heard]

    def _links(self, unlinked: list[int]) -> Links:
        """The order of each process, then the messages."""
        lefts, rights, sources = list[int](), list[int](), list[Sequence[str]]()
        for process, thread in self._threads.items():
            lefts += thread[:-1]
            rights += thread[1:]
            sources.append([f"process {process}"] * (len(thread) - 1))
        lefts += self._origins
        rights += self._receipts
        sources.append([*map(add, repeat("message "), map(self._message.__getitem__, self._receipts))])
        if not unlinked:
            return Links(self._ids, lefts, rights, sources)
        named = bytearray(b"\1") * len(self._ids)
        for event in unlinked:
            named[event] = 0
        place = [0, *accumulate(named)].__getitem__
        return Links([*compress(self._ids, named)], [*map(place, lefts)], [*map(place, rights)], sources)

    def _messages(self) -> list[Message]:
        """What was sent and received, process by process."""
        told = self._told
        kind = map({_SEND: "send", _RECEIVE: "receive"}.__getitem__, map(self._kind.__getitem__, told))
        ids = map(self._ids.__getitem__, told)
        message, process = map(self._message.__getitem__, told), map(self._process.__getitem__, told)
        rows = zip(kind, ids, message, process, repeat(()), strict=False)
        return [*map(tuple.__new__, repeat(Message), rows)]
