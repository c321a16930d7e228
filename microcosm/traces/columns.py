"""Logs of nothing but events and messages, in columns: the fast lane of `extract` for the own JSON lines.

Most lines of most logs say a process, a position, what was sent or received, and perhaps what the event is
called, attributes without lists or objects in them, and of which execution it is. Where all do, in however
many files, each process tells its events in order, and every reception has its one sending, the microcosm
follows from a few passes over columns, at a tenth of the price of an object for each event. Whatever else a
log has or lacks is for the careful reader: then there is no answer here. Property tests keep both of one
mind.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, partial
from heapq import heappop, heappush
from itertools import accumulate, chain, compress, count, filterfalse, pairwise, repeat
from operator import eq, itemgetter, lt, methodcaller, ne
from typing import Literal, TypeAlias, overload

from microcosm.givens.columns import MessageColumns, OrderColumns
from microcosm.givens.event_table import NOTHING, EventTable, Mapped, Repeated, in_turn
from microcosm.givens.givens import Givens
from microcosm.traces.event import in_trace, writable
from microcosm.traces.report import OF_SEVERAL, Extraction, Report
from microcosm.traces.text.lines import Lines

_INNER = r'[^"\\\x00-\x1f]++'
_TEXT = rf'"({_INNER})"'
_SEQ = r', ?"seq": ?([1-9][0-9]{0,17})'
_KIND = rf', ?"kind": ?(?:"internal"|"(send|receive)", ?"message": ?{_TEXT})'
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,30}+)?+(?:[eE][-+]?[0-9]{1,3}+)?+"
_MEMBER = rf"{_STRING}: ?(?:{_STRING}|{_NUMBER}|true|false|null)"
_CALLED = rf'(?:, ?"label": ?({_STRING}))?'
_ATTRIBUTES = rf'(?:, ?"attributes": ?(\{{(?:{_MEMBER}(?:, ?{_MEMBER})*+)?+\}}))?'
_ORIGIN = rf'(?:, ?"origin": ?\[{_TEXT}, ?([1-9][0-9]{{0,17}})\])?'
_LIFE = r'(?:, ?"life": ?"([A-Za-z0-9_-]{8})")?'
"""Of a process, where a recorder wrote the line."""
_ALL = _LIFE + _KIND + _CALLED + _ATTRIBUTES + _ORIGIN
_NAMED_FIRST = '{"trace":'
_PROCESS = rf'"process": ?{_TEXT}'
_BOTH = rf'"trace": ?"({_INNER}", ?"process": ?"{_INNER})"'
"""An execution and a process in one piece, which is taken apart once for all lines of a block that say it."""
_FORMS = {
    '{"process":': (_PROCESS + _SEQ + _KIND, rf'{_PROCESS}{_SEQ}{_ALL}(?:, ?"trace": ?{_TEXT})?'),
    _NAMED_FIRST: (_BOTH + _SEQ + _KIND, _BOTH + _SEQ + _ALL),
}
"""How a log begins, and what its lines may say: first the least, which takes less time, then all.
Of which execution an event is stands last, or first as the own writer puts it. Where the first line says
otherwise a log is not plain: no more of it is read."""


@cache
def _line_of(form: str) -> re.Pattern[str]:
    """A line of a form, with its end; made when asked for, for most logs are of one form."""
    return re.compile(rf"\{{{form}\}}(?:\n|\Z)")


Opening: TypeAlias = Callable[[Report], AbstractContextManager[Lines]]
"""How the lines of a log are had; what is odd about them goes to the report."""


def read_columns(
    openings: Iterable[Opening], in_order: bool = False, several: bool = False
) -> LogColumns | None:
    """The columns of a log, of `several` executions where it proves to have them.

    None if it is not plain, and if some reception stands before its sending where that must be `in_order`.
    """
    unseen, log = Report(), None
    for opening in openings:
        with opening(unseen) as stream:
            begins = stream.head[: stream.head.find(":") + 1]
            if begins in _FORMS:
                if _line_of(_FORMS[begins][-1]).match(stream.head) is None:
                    return None
            elif stream.head or stream.file.endswith(".parquet"):
                return None
            log = LogColumns(several) if log is None else log
            log.open(stream.file, begins)
            ended = False  # by a blank line, which counts if anything follows
            for text in stream.texts():
                if ended or not text or not log.take(text):
                    again = len(log.traces) > 1 and not several
                    return read_columns(openings, in_order, several=True) if again else None
                ended = text.endswith("\n")
                if in_order and log.late:
                    return None
    return log if log is not None and not unseen.counts and log.settle() else None


Events: TypeAlias = "array[int]"
_no_events = partial(array, "q")

_SEND, _RECEIVE = map(len, ("send", "receive"))
_WORDS: dict[int, Literal["send", "receive", ""]] = {0: "", _SEND: "send", _RECEIVE: "receive"}
_KINDS = {0: "internal", _SEND: "send", _RECEIVE: "receive"}
_IS_SEND, _IS_RECEIVE = (bytes(length == kind for length in range(256)) for kind in (_SEND, _RECEIVE))
"""A kind is kept as the length of its word; these tables say which are which."""


_LIFE_AT, _LABEL, _MORE = 2, 4, 5
"""Columns are processes, positions, `send` or `receive`, messages, quoted labels, and the files and lines of
origin; each entry empty where there is none, and the last three left out where no line says more. Behind the
positions lives come, and behind the labels attributes as JSON, where lines may have them; these are taken
out first."""

_ASSUMED = '"assumed"'
"""An attribute that says something of the whole log."""


_UNREAD = -1
"""Stands for a sending that was not read yet."""


def _are_texts(values: Iterable[str]) -> bool:
    """Whether each value is one that can be written, though there are escapes in it."""
    try:
        return all(
            writable(json.dumps(json.loads(value), ensure_ascii=False)) for value in values if "\\" in value
        )
    except ValueError:
        return False


def _label_of(quoted: str) -> str | None:
    if "\\" in quoted:
        return str(json.loads(quoted))
    return quoted[1:-1] if quoted else None


def _seq_of(name: str) -> int:
    return int(name.rpartition(":")[2])


def _or_none(message: str) -> str | None:
    return message or None


@dataclass(eq=False, repr=False)
class _Attributes(Sequence[Mapping[str, object]]):
    """The attributes of events, each an object in JSON or nothing, which is read when it is asked for.

    Those that were last asked for together are at hand. Cost: of some together, a third of one by one.
    """

    texts: Sequence[str]
    _last: tuple[range, list[Mapping[str, object]]] = (range(0), [])

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Mapping[str, object]]:
        for at in range(0, len(self), 1000):
            yield from self[at : at + 1000]

    @overload
    def __getitem__(self, at: int) -> Mapping[str, object]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Mapping[str, object]]: ...
    def __getitem__(self, at: int | slice) -> Mapping[str, object] | Sequence[Mapping[str, object]]:
        if not isinstance(at, slice):
            return json.loads(self.texts[at] or "{}") or NOTHING
        where, read = self._last
        if where != range(len(self))[at]:
            together = ",".join([each or "{}" for each in self.texts[at]])
            where, read = range(len(self))[at], [each or NOTHING for each in json.loads(f"[{together}]")]
            self._last = where, read
        return read


class LogColumns:
    """The columns of a log, an event of which is the number of its line, from 0.

    In a log of several executions the names of processes, events and messages begin with that of theirs.
    """

    def __init__(self, several: bool) -> None:
        self.late = False
        """Whether some reception was read before its sending."""
        self.traces: dict[str, None] = {}
        """The executions in order of appearance; one that has no name is empty."""
        self._several = several
        self._opened: list[str] = []
        """The names of its files."""
        self._first_of: list[int] = []
        """The number of events before each file."""
        self._begins = ""
        """How the lines of the file at hand begin."""
        self._form = 0
        """Of the forms of such lines the first that all so far had."""
        self._lives: dict[str, str] = {}
        """The one life of each process that has one."""
        self._ids: list[str] = []
        """What each event is called. Made when all is read, and process by process, as they are asked for
        then: names that lie together are read in half the time."""
        self._process: list[str] = []
        self._names: dict[tuple[str, str], str] = {}
        """The full name of each process by its execution and name, one string everywhere."""
        self._kind = bytearray()
        """The length of `send` or `receive`, or 0."""
        self._message: list[str] = []
        self._labels: list[str] = []
        """What each event is called, as it is quoted, or nothing; empty where no event is called anything."""
        self._attributes: list[str] = []
        """What else is said of each event, in JSON; of no event after the last of which anything is."""
        self._files: list[str] = []
        self._lines: list[str] = []
        """Where each event was read first, if this is a copy; empty where none says so."""
        self._threads: defaultdict[str, Events] = defaultdict(_no_events)
        """The events of each process."""
        self._numbers: list[str] = []
        """The numbers from 1 on, as far as some process has events."""
        self._due: defaultdict[str, Iterator[str]] = defaultdict(lambda: iter(self._numbers))
        """What the next events of each process are to be numbered."""
        self._sending: dict[str, int] = {}
        """The event that sent a message."""
        self._receipts: defaultdict[str, Events] = defaultdict(_no_events)
        """The receptions of each process."""
        self._origins: defaultdict[str, Events] = defaultdict(_no_events)
        """The sendings that these hear of."""
        self._to_itself = False
        """Whether some process received what it sent itself."""

    def __len__(self) -> int:
        return len(self._process)

    def open(self, file: str, begins: str) -> None:
        """What is taken from now on are the lines of that file, and so they begin."""
        self._opened.append(file)
        self._first_of.append(len(self._process))
        self._begins = begins

    def take(self, text: str) -> bool:
        """Take in some whole lines; whether all are plain, and nothing is odd about their events."""
        forms = _FORMS[self._begins]
        while self._form < len(forms):
            line = _line_of(forms[self._form])
            pieces: list[str | None] = line.split(text)
            stride = line.groups + 1
            if not any(pieces[::stride]):  # what is between lines of that form
                break
            self._form += 1
        else:
            return False
        columns: list[Sequence[str]] = [
            [piece or "" for piece in pieces[at::stride]] for at in range(1, stride)
        ]
        is_fullest = self._form == len(forms) - 1
        lives = columns.pop(_LIFE_AT) if is_fullest else ()
        owners: Sequence[Hashable] = columns[0]
        both: dict[Hashable, tuple[str, str]]
        if self._begins == _NAMED_FIRST:  # `trace", "process": "process`, for neither has a quote in it
            both = {quoted: itemgetter(0, -1)(quoted.split('"')) for quoted in dict.fromkeys(columns[0])}
        elif len(columns) > _LABEL:
            owners = pairs = [*zip(columns.pop(), columns[0], strict=True)]
            both = {pair: pair for pair in dict.fromkeys(pairs)}
        else:
            both = {process: ("", process) for process in dict.fromkeys(columns[0])}
        self.traces.update((trace, None) for trace, _ in both.values())
        if not self._several and len(self.traces) > 1:
            return False
        if self._several and ("" in self.traces or any("/" in trace for trace, _ in both.values())):
            return False  # one without a name beside others; or names may begin with that of another
        more = columns.pop(_MORE) if is_fullest else ()
        if "\\" in text and not all(map(_are_texts, (*columns[_LABEL : _LABEL + 1], more))):
            return False
        if any(lives):
            lived = ((both[quoted][1], life) for quoted, life in {*zip(owners, lives, strict=True)} if life)
            if any(self._lives.setdefault(process, life) != life for process, life in lived):
                return False
        if any(more):
            if _ASSUMED in text:
                return False
            self._attributes += repeat("", len(self._process) - len(self._attributes))
            self._attributes += more
        full = self._names.setdefault
        names = {
            quoted: full(pair, in_trace(*pair) if self._several else pair[1]) for quoted, pair in both.items()
        }
        columns[0] = [*map(names.__getitem__, owners)]
        if self._several:
            before = {quoted: trace for quoted, (trace, _) in both.items()}
            sent = zip(map(before.__getitem__, owners), columns[3], strict=True)
            columns[3] = [f"{trace}/{message}" if message else "" for trace, message in sent]  # `in_trace`
        return self._extend(columns)

    def _extend(self, columns: Sequence[Sequence[str]]) -> bool:
        """Take in the events of some more lines, by their full names; whether nothing is odd about them."""
        processes, seqs, words, messages, *others = columns
        before = len(self._process)
        events = [*range(before, before + len(processes))]
        for column, values in zip((self._labels, self._files, self._lines), others, strict=bool(others)):
            if column or any(values):
                column.extend(repeat("", before - len(column)))
                column.extend(values)
        self._process += processes
        kinds = bytes(map(len, words))
        self._kind += kinds
        self._message += messages
        deque(map(array.append, map(self._threads.__getitem__, processes), events), maxlen=0)
        longest = max(map(len, map(self._threads.__getitem__, {*processes})))
        self._numbers += map(str, range(len(self._numbers) + 1, longest + 1))
        are_sends, are_receipts = kinds.translate(_IS_SEND), kinds.translate(_IS_RECEIVE)
        self._sending.update(zip(compress(messages, are_sends), compress(events, are_sends), strict=True))
        receivers, receipts = [*compress(processes, are_receipts)], [*compress(events, are_receipts)]
        origins = [*map(self._sending.get, compress(messages, are_receipts), repeat(_UNREAD))]
        deque(map(array.append, map(self._receipts.__getitem__, receivers), receipts), maxlen=0)
        deque(map(array.append, map(self._origins.__getitem__, receivers), origins), maxlen=0)
        in_turn = all(map(eq, seqs, map(next, map(self._due.__getitem__, processes))))
        self.late |= _UNREAD in origins or not all(map(lt, origins, receipts))
        return in_turn

    def settle(self) -> bool:
        """Whether each message was sent once, and no process received one twice; all is read."""
        self._trace = {process: trace for (trace, _), process in self._names.items()}
        runs: dict[str, list[str]] = {trace: [] for trace in self.traces}
        for process in self._threads:
            runs[self._trace[process]].append(process)
        self._runs = [*runs.values()]
        ordered = {process: self._threads[process] for run in self._runs for process in run}
        self._threads = defaultdict(_no_events, ordered)
        if len(self._sending) < self._kind.count(_SEND) or (self.late and not self._resolve()):
            return False
        owner = self._process.__getitem__
        self._to_itself = any(process in map(owner, heard) for process, heard in self._origins.items())
        self._ids = [""] * len(self._process)
        for process, thread in self._threads.items():
            names = map(f"{process}:".__add__, self._numbers)
            deque(map(self._ids.__setitem__, thread, names), maxlen=0)
        self._heard = set(chain.from_iterable(self._origins.values()))
        many = self._kind.count(_RECEIVE)
        return len(self._heard) == many or sum(map(len, map(set, self._origins.values()))) == many

    def _resolve(self) -> bool:
        """Find the sendings that were read late; whether all were, and each could come before its reception.

        Cost: linear in the events.
        """
        for process, receipts in self._receipts.items():
            if _UNREAD in self._origins[process]:
                heard = map(self._message.__getitem__, receipts)
                self._origins[process] = origins = array("q", map(self._sending.get, heard, repeat(_UNREAD)))
                if _UNREAD in origins:
                    return False
        return self._can_be_in_turn()

    def _can_be_in_turn(self) -> bool:
        """Whether an order has each process in that of its lines, and every reception after its sending.

        Each process goes on to the first reception of which the sending is still to come. Cost: a step for
        each reception, and for one that has to wait the logarithm of how many do.
        """
        end, owner = len(self), self._process
        reached = dict.fromkeys(self._threads, end)
        """Up to where the events of each process are done: all of one that receives nothing."""
        reached.update(dict.fromkeys(self._receipts, 0))
        ahead = {p: zip(found, self._origins[p], strict=True) for p, found in self._receipts.items()}
        waiting: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        """Who waits for which events of a process: a heap."""
        ready = [*self._receipts]
        while ready:
            process = ready.pop()
            for receipt, origin in ahead[process]:
                reached[process] = receipt
                sender = owner[origin]
                if reached[sender] <= origin:
                    heappush(waiting[sender], (origin, process))
                    break
            else:
                reached[process] = end
            others = waiting[process]
            while others and others[0][0] < reached[process]:
                ready.append(heappop(others)[1])
        return min(reached.values()) == end

    def extraction(self, report: Report) -> Extraction:
        """The microcosm, as `extract` makes it of the same events."""
        sends = compress(count(), self._kind.translate(_IS_SEND))
        rank = {process: at for at, process in enumerate(self._threads)}
        for event in sorted(
            filterfalse(self._heard.__contains__, sends), key=lambda e: rank[self._process[e]]
        ):
            name, message = (self._within(event, column) for column in (self._ids, self._message))
            detail = f"{name}: the reception of {message} is not in the log"
            file, line = self._place(event)
            report.add("unreceived-send", detail, file=file, line=line)
        givens = Givens()
        unlinked = self.unlinked()
        givens.set_order_columns(links := self._links(unlinked))
        if any(self._kind):
            words = [*map(_WORDS.__getitem__, self._kind)]
            order = array("q", chain.from_iterable(self._threads.values()))
            own = [event for event in unlinked if self._kind[event]]
            givens.set_message_columns(
                MessageColumns(order, words, self._ids, self._message, self._process, own)
            )
        isolated = [e for e in unlinked if not self._kind[e]]  # a message names its event
        for event in isolated:
            detail = f"{self._ids[event]}: nothing relates it to another event"
            file, line = self._place(event)
            report.add("isolated-event", detail, file=file, line=line, fatal=False)
        givens.events = self._table()
        return Extraction(
            givens=givens,
            events=len(self._ids),
            processes=len(self._threads),
            messages=len(self._sending),
            correspondences=len(links),
            isolated=len(isolated),
            reported=dict(report.counts),
            incomplete=(OF_SEVERAL.format(len(self.traces)),) if self._several else (),
        )

    def _within(self, event: int, names: Sequence[str]) -> str:
        """The name of an event, or of its message, in its execution."""
        return names[event][len(self._trace[self._process[event]]) + 1 :] if self._several else names[event]

    def unlinked(self) -> list[int]:
        """The events without another of their process that sent nothing which was received."""
        alone = [thread[0] for thread in self._threads.values() if len(thread) == 1]
        return [e for e in alone if self._kind[e] != _RECEIVE and e not in self._heard]

    def _links(self, unlinked: list[int]) -> OrderColumns:
        """The order of each process, then the messages; execution by execution."""
        lefts, rights, sources = _no_events(), _no_events(), list[Sequence[str]]()
        for run in self._runs:
            for process in run:
                thread = self._threads[process]
                lefts += thread[:-1]
                rights += thread[1:]
                sources.append(Repeated(f"process {process}", len(thread) - 1))
            ordered = len(rights)
            for process in run:
                origins, receipts = self._origins[process], self._receipts[process]
                if self._to_itself:
                    origins, receipts = self._from_others(process, origins, receipts)
                lefts += origins
                rights += receipts
            messages = Mapped(rights[ordered:], self._message.__getitem__)
            sources.append(Mapped(messages, "message ".__add__))
        if not unlinked:
            return OrderColumns(self._ids, lefts, rights, sources, self._process)
        named = bytearray(b"\1") * len(self._ids)
        for event in unlinked:
            named[event] = 0
        place = [0, *accumulate(named)].__getitem__
        names, processes = [*compress(self._ids, named)], [*compress(self._process, named)]
        return OrderColumns(
            names, array("q", map(place, lefts)), array("q", map(place, rights)), sources, processes
        )

    def _from_others(self, process: str, origins: Events, receipts: Events) -> tuple[Events, Events]:
        """The links into events of a process, but for those from its own events just before them."""
        thread = self._threads[process]
        before = (thread[bisect_left(thread, at) - 1] for at in receipts)
        differs = [*map(ne, origins, before)]
        return array("q", compress(origins, differs)), array("q", compress(receipts, differs))

    def _place(self, event: int) -> tuple[str, int]:
        """The file and line of an event."""
        if self._files and self._files[event]:
            return self._files[event], int(self._lines[event])
        at = bisect_right(self._first_of, event) - 1
        return self._opened[at], event - self._first_of[at] + 1

    def _table(self) -> EventTable:
        """What the log says of each event: nothing is made for it that is not there already."""
        many = len(self._ids)
        holds = [end - first for first, end in pairwise((*self._first_of, many))]
        files: Sequence[str] = in_turn(map(Repeated, self._opened, holds))
        lines: Sequence[int] = in_turn(range(1, each + 1) for each in holds)
        if self._files:
            places = [*map(self._place, range(many))]
            files, lines = [file for file, _ in places], [line for _, line in places]
        of = next(iter(self.traces), "") or None
        traces: Sequence[str | None] = Repeated(of, many)
        if self._several:
            traces = Mapped(self._process, self._trace.__getitem__)
        attributes: Sequence[Mapping[str, object]] = Repeated(NOTHING, many)
        if self._attributes:
            attributes = _Attributes([*self._attributes, *repeat("", many - len(self._attributes))])
        table = EventTable(
            self._ids,
            self._process,
            Mapped(self._ids, _seq_of),
            Mapped(self._kind, _KINDS.__getitem__),
            Mapped(self._message, _or_none),
            labels=Mapped(self._labels, _label_of) if self._labels else Repeated(None, many),
            traces=traces,
            attributes=attributes,
            times=Mapped(attributes, methodcaller("get", "time"))
            if self._attributes
            else Repeated(None, many),
            files=files,
            lines=lines,
        )
        return table.by_place(dict.fromkeys(files)) if self._files else table
