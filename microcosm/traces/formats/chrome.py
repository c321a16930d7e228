"""Trace events as Chrome, Perfetto and PyTorch's Kineto write them: `{"traceEvents": […]}`, or the array
alone, whose last bracket may be missing.

    {"name": "load", "cat": "io", "ph": "X", "ts": 12.5, "dur": 3, "pid": 1, "tid": 7, "args": {}}

A thread (`pid`, `tid`) is a process, whose events its clock puts in order: the start and the end of each
slice (`B` and `E`, `X`), and all that is recorded at one time. At equal times a slice ends before another
begins, and a flow arrives before the slice that it leads to; slices that begin together are nested, the
longer one first; `B` and `E` of one time stand in their order. Of what else is of one time nothing tells
which was first, for events may stand in any order: all but one are set aside, `7 (2)`, after what was before
that time and before what comes after it (`equal-time`).
A flow (`s`, `t`, `f` of one `cat`, `name` and `id`) is a message, and so are slices of one
`bind_id`, from the beginning of that with `flow_out` to those with `flow_in`: what it comes by and where it
ends come after its beginning, its end after all that it comes by. Where an id begins or ends more than once
nothing is matched (`ambiguous-content`). A kernel comes after the call of the runtime that has its
`correlation`. The clocks of two threads say nothing of each other, and threads of two files are two, whatever
their numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, groupby

from microcosm.traces.event import TraceEvent, writable
from microcosm.traces.formats.span import text_of
from microcosm.traces.options import LeftOut, Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_units import marks_in, units
from microcosm.traces.text.lines import Lines, json_text

_KEYS = frozenset(("traceEvents",))
_RUNTIME = ("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "runtime", "privateuse1_runtime")
_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "concurrent_kernel", "gpu_op")
_AGAIN = "the same event stands there already"
_END, _ARRIVES, _BEGINS, _AT = range(4)
"""What comes first at one time."""
_ALWAYS = 2**64
"""The length of a slice of which an end is not in the file."""

Flow = tuple[str, str, str, str]
Track = tuple[str, str, str]


@dataclass(slots=True)
class _Mark:
    """Something at one time of a track; `rank` is its place among those, in nanoseconds where it is a
    length.
    """

    time: int
    rank: tuple[int, int, int, int]
    track: Track
    phase: str
    label: str
    attributes: dict[str, object]
    line: int
    flow: Flow | None = None
    part: str = ""
    """Of a flow: `s` where it begins, `t` what it comes by, `f` where it ends."""
    correlation: int | None = None
    item: int = 0
    """What it is the beginning or the end of, or itself."""
    beside: int = 0
    """0, or the number of the chain to which it is set aside from its thread."""
    after: list[_Mark] = field(default_factory=list)
    """What of its thread comes before it, of the chains beside its own."""
    process: str = ""
    seq: int = 0


def detects(head: str, path: str) -> int:
    """2 where the text begins as JSON and has phases and times of trace events."""
    begins = head.lstrip()[:1] in ("[", "{")
    return 2 * (begins and '"ph"' in head and ('"ts"' in head or '"traceEvents"' in head) and '"pid"' in head)


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """No event before the last file is read; what is none is reported as `bad-line`. Memory: the events."""
    tracks = options.one(Tracks, report)
    for unit in units(stream, _KEYS, file, report, mark="tid", each=1, ends=False):
        if unit.value and ("ph" in unit.value or "tid" in unit.value or unit.place >= 0):
            fault = tracks.add(unit.value, file, unit.line)
            if fault is _AGAIN:
                report.add("duplicate-event", fault, file=file, line=unit.line, lost=1)
            elif fault:
                report.add("bad-line", fault, file=file, line=unit.line, lost=1)
        elif lost := marks_in(unit.value, "ph"):
            message = "trace events stand elsewhere than in `traceEvents`"
            report.add("bad-line", message, file=file, line=unit.line, lost=lost)
    yield from ()


Ends = dict[str, list[_Mark]]
"""The events of a flow, by their part of it."""


class Tracks:
    """What the threads of all files did, on its way to events."""

    def __init__(self, report: Report, options: Options) -> None:
        self._report = report
        self._left_out = options.one(LeftOut, report)
        self._tracks: dict[Track, tuple[list[_Mark], list[_Mark]]] = {}
        """What each thread did, and the ends among it that stand there already."""
        self._copied: defaultdict[Track, Counter[int]] = defaultdict(Counter)
        """How often what else a thread did stands there already."""
        self._names: dict[Track, str] = {}
        """The names of threads, and under an empty `tid` those of processes."""
        self._flows: defaultdict[Flow, Ends] = defaultdict(lambda: {part: [] for part in "stf"})
        self._calls: dict[tuple[str, int], list[_Mark]] = {}
        self._files: list[str] = []
        self._seen: set[int] = set()
        """The events, to know those that stand there again."""

    def add(self, record: dict[str, object], file: str, line: int) -> str | None:
        """Take in a trace event; why it is none, if it is none."""
        phase, name = record.get("ph"), text_of(record.get("name"))
        if type(phase) is not str or not phase:
            return "not a trace event: `ph` is expected"
        pid, tid = _number(record.get("pid")), _number(record.get("tid"))
        args = record.get("args")
        more: dict[str, object] = dict(args) if type(args) is dict else {}
        if phase == "M":
            if name in ("process_name", "thread_name") and type(more.get("name")) is str:
                self._names[file, pid, "" if name == "process_name" else tid] = text_of(more["name"])
            return None
        time = _nanoseconds(record.get("ts"))
        length = _nanoseconds(record.get("dur", 0)) if phase == "X" else 0
        if time is None or length is None or length < 0:
            return "not a trace event: `ts` (and of a slice `dur`) must be a number"
        if not all(map(writable, (pid, tid, name))):
            return "half of a surrogate pair is no text"
        if file not in self._files:
            self._files.append(file)
        track = file, pid, tid
        marks, again = self._tracks.setdefault(track, ([], []))
        digest = hash(json_text(record))
        if digest in self._seen:
            if phase != "E" or "bind_id" in record:
                self._copied[track][digest] += 1
                return _AGAIN
            marks = again
        self._seen.add(digest)
        if type(record.get("cat")) is str:
            more["cat"] = record["cat"]
        more["time"] = record["ts"]
        at = sum(map(len, self._tracks[track]))
        rank = _BEGINS if phase in "BX" else _END if phase == "E" else _ARRIVES if phase in "tf" else _AT
        mark = _Mark(time, (rank, -length, at, 0), track, phase, name, more, line, item=at)
        marks.append(mark)
        if phase in "stf":
            mark.flow, mark.part = (file, text_of(record.get("cat")), name, _flow_id(record, pid)), phase
        elif bound := _bound(record):
            mark.flow, mark.part = (file, "", "bind_id", _number(record["bind_id"])), bound
        if mark.flow is not None:
            self._flows[mark.flow][mark.part].append(mark)
        if phase == "X":
            end = (_END, length, -at, 1) if length else (_BEGINS, 0, at, 1)
            times = {"cat": more["cat"]} if "cat" in more else {}
            marks.append(_Mark(time + length, end, track, "E", name, times, line, item=at))
            if type(more.get("correlation")) is int and type(record.get("cat")) is str:
                mark.correlation = int(str(more["correlation"]))
                if str(more["cat"]).lower() in _RUNTIME:
                    self._calls.setdefault((file, mark.correlation), []).append(mark)
        return None

    def rest(self) -> Iterator[TraceEvent]:
        """The events of all files, track by track."""
        for track, (marks, again) in self._tracks.items():
            self._report_ends(marks, again, 1 + max(self._copied[track].values(), default=0))
            _pair(marks)
            marks.sort(key=lambda mark: (mark.time, mark.rank))
            name = self._called(track)
            if aside := _set_aside(marks):
                detail = f"{name}: of what is of one time nothing tells which was first"
                self._report.add("equal-time", detail, file=track[0], line=aside.line)
            for mark in marks:
                called = f"{name} ({mark.beside + 1})" if mark.beside else name
                own = track, mark.beside
                mark.process, mark.seq = self._left_out.place(called, None, track[0], mark.line, own)
        messages: dict[Flow, str | None] = {}
        taken: set[str | None] = {None}
        for flow, ends in self._flows.items():
            message = self._message(flow, ends)
            while message is not None and message in taken:  # where a file has what was made for another
                message += " (2)"
            messages[flow] = message
            taken.add(message)
        for marks, _ in self._tracks.values():
            for mark in marks:
                message = messages[mark.flow] if mark.flow is not None else None
                kind = "internal" if message is None else "send" if mark.part == "s" else "receive"
                yield TraceEvent(
                    mark.process,
                    mark.seq,
                    kind,
                    message,
                    label=f"end of {mark.label}" if mark.phase == "E" else mark.label,
                    attributes=mark.attributes,
                    after=self._before(mark, message is not None or mark.correlation is not None),
                    file=mark.track[0],
                    line=mark.line,
                    numbered=True,
                )

    def _report_ends(self, marks: list[_Mark], again: list[_Mark], copies: int) -> None:
        """Take ends that stand there already for those of slices without one; the others are told again.

        Of a thread that stands there in several `copies`, so do its ends.
        """
        counts = Counter(mark.phase for mark in marks if not mark.rank[3])
        alike = [(mark.time, mark.label, json_text(mark.attributes)) for mark in again]
        left = {end: (1 + many) // copies - 1 for end, many in Counter(alike).items()}
        for end, mark in zip(alike, again, strict=True):
            if counts["B"] > counts["E"] and left[end] > 0:
                counts["E"] += 1
                left[end] -= 1
                marks.append(mark)
            else:
                self._report.add("duplicate-event", _AGAIN, file=mark.track[0], line=mark.line, lost=1)

    def _called(self, track: Track) -> str:
        """The process that a thread is: its names, and its numbers, which tell those of one name apart.

        A name does not depend on what else the log holds, but for what names it.
        """
        file, pid, tid = track
        program, thread = self._names.get((file, pid, ""), ""), self._names.get(track, "")
        return f"{f'{program}[{pid}]' if program else pid}/{f'{thread}[{tid}]' if thread else tid}"

    def _message(self, flow: Flow, ends: Ends) -> str | None:
        """The name of the message that a flow is; None where that is not plain or nobody else hears of it."""
        file, cat, name, identity = flow
        begins = ends["s"]
        if len(begins) > 1 or len(ends["f"]) > 1:
            first = (begins if len(begins) > 1 else ends["f"])[1]
            detail = f"the flow {name} {identity} begins or ends more than once: nothing is matched"
            self._report.add("ambiguous-content", detail, file=file, line=first.line)
            return None
        arrivals = [*ends["t"], *ends["f"]]
        if begins and any(mark.track == begins[0].track for mark in arrivals):
            arrivals = [mark for mark in arrivals if mark.track != begins[0].track]
            if not arrivals:
                return None  # within a thread its clock says all
        for mark in arrivals:
            if begins and mark.time < begins[0].time:
                detail = f"the flow {name} {identity} arrives before it begins, by its time"
                self._report.add("clock-inversion", detail, file=file, line=mark.line)
        known = ":".join(dict.fromkeys(filter(None, (cat, name)))) or "flow"
        where = "" if file == self._files[0] else f" ({self._left_out.called(file)})"
        return f"{known}:{identity}{where}"

    def _before(self, mark: _Mark, linked: bool) -> tuple[str, ...]:
        """The events that a mark is stated to come after, besides the beginning of its flow; `linked` says
        whether others may be among them than those of its thread.
        """
        before: list[_Mark] = []
        if linked and mark.part == "f" and mark.flow is not None:
            before += self._flows[mark.flow]["t"]
        if mark.correlation is not None and str(mark.attributes["cat"]).lower() in _DEVICE:
            calls = self._calls.get((mark.track[0], mark.correlation), ())
            before += calls if len(calls) == 1 else ()
        before = [*mark.after, *(one for one in before if one.track != mark.track)]
        return tuple(f"{one.process}:{one.seq}" for one in before)


def _pair(marks: list[_Mark]) -> None:
    """Rank `B` and `E` of a track by the lengths of their slices, as `X`; an end is called as its beginning.

    At one time they stay as they stand: an end behind a beginning is not that of a slice which ends first.
    """
    ordered = sorted(
        (mark for mark in marks if mark.phase in "BE" and not mark.rank[3]),
        key=lambda one: (one.time, one.rank[2]),
    )
    lengths = dict.fromkeys(map(id, ordered), _ALWAYS)
    open_: list[_Mark] = []
    for mark in ordered:
        if mark.phase == "B":
            open_.append(mark)
        elif open_:
            begun = open_.pop()
            lengths[id(begun)] = lengths[id(mark)] = mark.time - begun.time
            mark.label = mark.label or begun.label
    now: int | None = None
    least: int | None = None
    for mark in ordered:
        length, at = lengths[id(mark)], mark.rank[2]
        if mark.time != now:
            now, least = mark.time, None
        if mark.phase == "B":
            least = -length if least is None else max(least, -length)
        elif least is not None:
            least = 0
        mark.rank = (_END, length, at, 0) if least is None else (_BEGINS, least, at, 0)


def _set_aside(marks: list[_Mark]) -> _Mark | None:
    """Put what is of one time, ordered by nothing but its place, on chains beside that of the thread; the
    first of that, if there is any. Cost: linear, and quadratic in what is of one time.
    """
    first, chain_of = None, dict[int, int]()
    main: _Mark | None = None
    waiting: list[_Mark] = []  # set aside since the last one of the thread
    for _, group in groupby(marks, lambda mark: (mark.time, mark.rank[:2])):
        alike = list(group)
        stands = [mark.phase in "BE" and not mark.rank[3] for mark in alike]
        items = {mark.item for mark, put in zip(alike, stands, strict=True) if not put}
        taken = {chain_of[item] for item in items if item in chain_of} | ({0} if any(stands) else set())
        for item in sorted(items - chain_of.keys()):
            chain_of[item] = next(number for number in count() if number not in taken)
            taken.add(chain_of[item])
        before, aside = main, []
        for mark, put in zip(alike, stands, strict=True):
            mark.beside = 0 if put else chain_of[mark.item]
            if mark.beside:
                aside.append(mark)
                mark.after = [] if before is None else [before]
                first = first or mark
            else:
                mark.after, waiting, main = waiting, [], mark
        waiting += aside
    return first


def _number(value: object) -> str:
    """A `pid` or `tid` as text."""
    return value if type(value) is str else "" if value is None else json_text(value)


def _bound(record: dict[str, object]) -> str:
    """The part of a flow that an event with a `bind_id` is, as its `flow_in` and `flow_out` say; or none."""
    comes, goes = record.get("flow_in") is True, record.get("flow_out") is True
    if record.get("bind_id") is None:
        return ""
    return "t" if comes and goes else "s" if goes else "f" if comes else ""


def _flow_id(record: dict[str, object], pid: str) -> str:
    """The id of a flow; a local one holds within its `pid`."""
    scoped = record.get("id2")
    if type(scoped) is dict:
        if "local" in scoped:
            return f"{pid}/{_number(scoped['local'])}"
        return _number(scoped.get("global"))
    return _number(record.get("id", record.get("bind_id")))


def _nanoseconds(value: object) -> int | None:
    """A time in microseconds as whole nanoseconds, in which sums are exact."""
    if (type(value) is int or type(value) is float) and abs(value) < 2**53:
        return round(value * 1000)
    if type(value) is str:
        try:
            return _nanoseconds(float(value))
        except ValueError:
            return None
    return None
