"""Traces of any format, from files to events; and which of several files are one log.

A format is told by the beginning of a file, or found by name. It is an entry of
the table here (`builtin`), or an entry point of the group `microcosm.traces`, that has `NAME`,
`detects` and `read` (see `Format`).

Several files are one log, whichever their order where the format tells it. What a format must know of
the files before, and the events that must wait until all are read, are kept in `Options.state`.

Files that have an event of the same process and position are separate runs (`parts_of_logs`). Others are
parts of one log where a message was sent in one and received in the other, where a process goes on from one
to the other, or where both name the same execution. Nothing else joins them: not even that their processes
differ.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from microcosm.errors import TextError, TraceError
from microcosm.files import display_name, distinct
from microcosm.order.happens_before import components
from microcosm.traces.event import SENDS, TraceEvent
from microcosm.traces.formats import jsonl
from microcosm.traces.options import LeftOut, Options, Place, Positions, Waiting
from microcosm.traces.report import Report
from microcosm.traces.text.lines import Lines, open_lines

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

CERTAIN = 2
"""What `detects` says of a file that bears the mark of its format."""

GROUP = "microcosm.traces"
"""The entry points of other distributions that bring formats."""


class Format(NamedTuple):
    """What a format has; one of another distribution may be a module that has it."""

    NAME: str
    detects: Callable[[str, str], int]
    """How surely a file has this format, by its beginning and path: 0 no, 1 it may, 2 it bears its mark."""
    read: Callable[[Lines, str, Report, Options], Iterator[TraceEvent]]
    """The events of a stream in the order of the file, which is named; what is no event goes to the report.
    Those that depend on what other files of the log say are left to what waits there (`Waiting`).
    """
    family: str = ""
    """Of which formats: a process of one family that another has, too, is another one (`_Families`)."""


EVENTS, LINES, SPANS = "events", "lines", "spans"
"""The formats of this package that state positions; those whose lines have none, which tell themselves whose
a process is of which two files have lines (`LeftOut`); and those that call what each span does a process."""


OWN = Format(jsonl.NAME, jsonl.detects, jsonl.read, EVENTS)


@cache
def builtin() -> dict[str, Format]:
    """The table of formats, by name: a new one is one entry. Loaded where a log is not in the own format.

    Of those that are equally sure of a log the first is taken.
    """
    from microcosm.traces.formats import (
        chrome,
        csight,
        dag,
        etcd,
        histories,
        json_logs,
        model_checkers,
        mpi,
        parquet,
        plain_log,
        shiviz,
        text_logs,
        tracing,
    )
    from microcosm.traces.text.json_units import of_json

    found = (
        Format("concuerror", model_checkers.detects_concuerror, model_checkers.read_concuerror),
        Format("chrome", chrome.detects, chrome.read, LINES),
        Format(
            "console", of_json("context", "trace_id", "span_id", "parent_id"), tracing.read_console, SPANS
        ),
        Format("csight", csight.detects, csight.read),
        Format("csight_2pc", csight.detects_two_phase, csight.read_two_phase),
        Format("csight_channels", csight.detects_channels, csight.read_channels),
        Format("dag", dag.detects, dag.read),
        Format("etcd", etcd.detects, etcd.read),
        Format("jaeger", tracing.detects_jaeger, tracing.read_jaeger, SPANS),
        Format("jepsen", histories.detects, histories.read, LINES),
        Format("zipkin", of_json("traceId", "id", in_object=1), tracing.read_zipkin, SPANS),
        OWN,
        Format("mpi", mpi.detects, mpi.read),
        Format("nezha", tracing.detects_nezha, tracing.read_nezha, SPANS),
        Format("otlp", tracing.detects_otlp, tracing.read_otlp, SPANS),
        Format("parquet", parquet.detects, parquet.read, EVENTS),
        Format("porcupine", of_json("Call", "Return"), histories.read_porcupine, LINES),
        Format("shiviz", shiviz.detects, shiviz.read),
        Format("tlc", model_checkers.detects_tlc, model_checkers.read_tlc),
        # Plain logs come behind all others, which know more of what they read.
        *(
            Format(name.__name__, json_logs.detects(marks), partial(json_logs.read, name), LINES)
            for name, marks in (
                (json_logs.journald, json_logs.is_journald),
                (json_logs.docker, json_logs.is_docker),
                (json_logs.loguru, json_logs.is_loguru),
                (json_logs.structlog, json_logs.is_structlog),
                (json_logs.logging, json_logs.is_logging),
            )
        ),
        Format("compose", *text_logs.compose, LINES),
        Format("cri", *text_logs.cri, LINES),
        Format("klog", *text_logs.klog, LINES),
        Format("syslog", *text_logs.syslog, LINES),
        Format("logfmt", *text_logs.logfmt, LINES),
        Format("dated", text_logs.detects_dated, text_logs.read_dated, LINES),
        Format("csv", text_logs.detects_csv, text_logs.read_csv, LINES),
        Format(plain_log.PATTERN, lambda head, path: 0, plain_log.read_pattern, LINES),
    )
    return {form.NAME: form for form in found}


def names() -> list[str]:
    """The names of all formats, sorted."""
    return sorted({*builtin(), *_plugins()})


def format_of(name: str) -> Format:
    """The format `name`. Raises `TextError` when there is none, or when it cannot be loaded."""
    if name == jsonl.NAME:
        return OWN
    if name in builtin():
        return builtin()[name]
    plugin = _plugins().get(name)
    if plugin is None:
        raise TextError(f"no trace format {name!r}", hint=nearest(name, names(), "Formats"))
    try:
        return plugin.load()  # type: ignore[no-any-return]
    except Exception as error:  # whatever the code of others raises
        raise TextError(f"the trace format {name!r} cannot be loaded: {error}") from error


def detect(head: str, path: str) -> Format:
    """The format of a file that begins with `head`: JSON lines where it bears their mark.

    Otherwise it is the surest one, formats of this package before those of others.

    Raises `TraceError` when no format claims it. An empty file is an empty trace of the own format, but
    for what its name says to be Parquet: of that nothing is left.
    """
    if not head.strip() and path.endswith(".parquet"):
        return builtin()["parquet"]
    if not head.strip() or jsonl.detects(head, path) == CERTAIN:
        return OWN  # most logs are; the others need not be loaded
    found = [(form.detects(head, path), form) for form in builtin().values()]
    sure = any(claim == CERTAIN for claim, _ in found)  # then nobody else's is surer, or need be found
    for _, plugin in () if sure else sorted(_plugins().items()):
        try:
            form = plugin.load()
            found.append((form.detects(head, path), form))
        except Exception:  # a broken plugin must not stand in the way; `--format` tells why
            continue
    surest, form = max(found, key=lambda one: one[0])
    if surest > 0:
        return form
    which = f"Say which it is with --format ({', '.join(names())}), or describe its records with --pattern."
    raise TraceError("is in no trace format known here", file=path, hint=f"{which}\n{might_be(head)}")


def read(
    paths: Iterable[str | os.PathLike[str]],
    format: str | None = None,
    pattern: str | None = None,
    report: Report | None = None,
    trace: str | None = None,
    delimiter: str | None = None,
    whole: bool = True,
) -> Iterator[TraceEvent]:
    """The events of one trace that may be spread over several files, file by file as they stand.

    `format` is told from each file where it is not given (a `pattern` means ShiViz text, or a plain log
    where it has no clock). `delimiter` is a regular expression for the lines between executions, which may
    name them by a group `trace`. `trace` picks one execution of several: by its name, or "1" for one that
    has none. Irregularities go to `report`. Without `whole` these are some files of a log, and names do not
    depend on what the others hold. Raises `TextError` for what cannot be read at all, and for a file of
    which nothing can. Memory: what the format must keep, never the file; and the events of an execution that
    is picked.
    """
    report, options = Report() if report is None else report, Options(pattern, delimiter, whole)
    if trace is not None:
        events = read(paths, format, pattern, report, None, delimiter, whole)
        chosen, others = picked(events, trace, report)
        if not chosen:
            raise TextError(f"no execution {trace!r} in the trace", hint=nearest(trace, others, "Executions"))
        yield from chosen
        return
    if format is None and pattern is not None:
        format = "shiviz" if "<clock>" in pattern else "plain"
    stated = None if format is None else format_of(format)
    empty: dict[str, str] = {}
    files = [*paths]
    families = _Families(report, options) if len(files) > 1 else None
    for path in distinct(files) if len(files) > 1 else files:
        before = sum(map(report.counts.__getitem__, _UNREAD))
        with open_lines(path, report) as stream:
            form = stated or detect(stream.head, stream.file)
            report.families.add(getattr(form, "family", ""))
            events = form.read(stream, stream.file, report, options)
            if families is not None:
                events = families.first(events, families.begin(stream.file, form))
            event = None
            for event in events:
                yield event
            if event is None and sum(map(report.counts.__getitem__, _UNREAD)) > before:
                empty[stream.file] = form.NAME
    waiting = (kept.rest() for kept in options.state.values() if isinstance(kept, Waiting))
    for event in chain.from_iterable(waiting) if families is None else families.rest():
        empty.pop(event.file, None)
        yield event
    for file, name in empty.items():
        hint = f"It was read as {name}; --format names another one ({', '.join(names())})."
        raise TextError("has no event: nothing in it could be read", file=file, hint=hint)


class _Families:
    """Whose each process of a log in several files is, where these are of several families of formats.

    Nothing orders what a process does in a log of one family and what it does in one of another. So that of
    the first file keeps its processes. One that another family has, too, is another one of that name there,
    in whatever is said of it: its clock and those that have seen it, what is sent to it and comes after it.
    Memory: each process, and all events of other families than the first.
    """

    def __init__(self, report: Report, options: Options) -> None:
        self._left_out = options.one(LeftOut, report)
        self._options = options
        self._homes = options.homes
        self._family = options.families
        self._others: dict[str, Events] = {}
        self._positions: dict[str, defaultdict[Place, Positions]] = {}
        """Those taken, by family."""
        self._waiting: dict[object, str] = {}
        """The family of what each format keeps over its files."""

    def begin(self, file: str, form: Format) -> str:
        """A file is to be read; its family."""
        self.end()
        family = self._family[file] = getattr(form, "family", "") or form.NAME
        self._options.positions = self._positions.setdefault(family, defaultdict(Positions))
        return family

    def end(self) -> None:
        """The last of the files that were begun is read."""
        for family in [*self._family.values()][-1:]:
            for kept in self._options.state:
                self._waiting.setdefault(kept, family)

    def first(self, events: Iterable[TraceEvent], family: str) -> Iterator[TraceEvent]:
        """The events of the first family; those of another are put aside."""
        first = next(iter(self._family.values()))
        for event in events:
            if family == first:
                self._homes.setdefault((event.trace, event.process), event.file)
                yield event
            else:
                self._others.setdefault(family, []).append(event)

    def rest(self) -> Iterator[TraceEvent]:
        """What waited, and the events of other families after all of the first."""
        self.end()
        for name, family in self._waiting.items():
            kept, self._options.positions = self._options.state[name], self._positions[family]
            if isinstance(kept, Waiting):
                for event in kept.rest():  # a copy says of another file, which is not read here
                    yield from self.first((event,), self._family.get(event.file, family))
        for events in self._others.values():
            apart: dict[Place, str] = {}
            for event in events:
                place = event.trace, event.process
                if place in self._homes and place not in apart:
                    apart[place] = self._left_out.elsewhere(event.process, event.file, event.line)
            if apart:
                events = [*_renamed(events, apart)]  # noqa: PLW2901
            self._homes.update(((event.trace, event.process), event.file) for event in events)
            yield from events


def _renamed(events: Sequence[TraceEvent], apart: Mapping[Place, str]) -> Iterator[TraceEvent]:
    """Events with other names for some of their processes, in whatever they say."""
    renamed = [
        replace(event, process=apart.get((event.trace, event.process), event.process)) for event in events
    ]
    pairs = [*zip(events, renamed, strict=True)]
    ids = {old.full_id: new.full_id for old, new in pairs} | {old.id: new.id for old, new in pairs}
    for event in renamed:

        def called(process: str, trace: str | None = event.trace) -> str:
            return apart.get((trace, process), process)

        clock = event.clock and {called(process): count for process, count in event.clock.items()}
        after = tuple(ids.get(name, name) for name in event.after)
        yield replace(event, clock=clock, to=tuple(map(called, event.to)), after=after)


_UNREAD = ("bad-line", "bad-clock", "bad-host", "bad-archive", "long-line", "unparsed-text")
"""The irregularities of which each is a part of a file that could not be read."""


def picked(
    events: Iterable[TraceEvent], trace: str, report: Report
) -> tuple[list[TraceEvent], dict[str, str | None]]:
    """The events of one execution, and by which names there are others.

    Also of one that no line separates from others, but clocks that begin again. Memory: its events, and those
    of executions of its name.
    """
    from microcosm.traces.execution import UNNAMED, names_of, told_apart

    found: dict[str | None, list[TraceEvent]] = {}
    for event in events:
        kept = found.setdefault(event.trace, [])
        if trace.startswith((UNNAMED, "execution") if event.trace is None else event.trace):
            kept.append(event)
    runs: dict[str | None, list[TraceEvent]] = {name: [] for name in found}
    for listed in found.values():
        runs.update((run[0].trace, run) for run in told_apart(listed, report, found) if run)
    names = names_of(runs)
    return (runs[names[trace]] if trace in names else []), names


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """What to say beside "there is no such name": the names like it, or some of those that there are."""
    every = sorted(known)
    begun = [one for one in every if one.startswith(name)] if len(name) > 2 else []
    close = begun[:3] or get_close_matches(name, every, n=3, cutoff=0.5)
    if close:
        return "Did you mean " + " or ".join(map(repr, close)) + "?"
    if not every:
        return f"{what}: none."
    return f"{what}: {', '.join(every[:10])}{', …' if len(every) > 10 else '.'}"


@cache
def _plugins() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {found.name: found for found in entry_points(group=GROUP)}


Events = list[TraceEvent]


def parts_of_logs(
    files: Sequence[str], alone: Sequence[Events], together: Callable[[Sequence[str]], Iterable[TraceEvent]]
) -> list[list[int]]:
    """The files, by number, that are one log each, in the order of their first files.

    `alone[i]` are the events of file i read by itself; `together` reads some files as one log, for the names
    that a reader gives to messages hold within one reading. Cost: a reading of what may belong together.
    """
    number = {display_name(file): at for at, file in enumerate(files)}
    beside: list[list[int]] = [[] for _ in files]
    for run in _runs(alone):
        if len(run) > 1:
            for one, other in _links(together([files[at] for at in run])):
                beside[number[one]].append(number[other])
                beside[number[other]].append(number[one])
    return sorted(map(sorted, components(range(len(files)), beside.__getitem__)))


def _runs(alone: Sequence[Events]) -> list[list[int]]:
    """The files in runs without an event that is in two of a run, each file in the first that has room."""
    runs: list[tuple[list[int], set[tuple[str | None, str, int]]]] = []
    for at, events in enumerate(alone):
        own = {(event.trace, event.process, event.seq) for event in events}
        for files, taken in runs:
            if taken.isdisjoint(own):
                files.append(at)
                taken.update(own)
                break
        else:
            runs.append(([at], own))
    return [files for files, _ in runs]


def _links(events: Iterable[TraceEvent]) -> set[tuple[str, str]]:
    """Pairs of files that are parts of one log."""
    links: set[tuple[str, str]] = set()
    places: dict[tuple[str | None, str], str] = {}
    executions: dict[str, str] = {}
    senders: dict[tuple[str | None, str, str], set[str]] = {}
    receivers: list[tuple[tuple[str | None, str, str], str]] = []
    for event in events:
        before = places.setdefault((event.trace, event.process), event.file)
        links.add((before, event.file))
        if event.trace is not None:
            links.add((executions.setdefault(event.trace, event.file), event.file))
        if event.message is None:
            continue
        if event.kind in SENDS:
            key = event.trace, SENDS[event.kind], event.message
            senders.setdefault(key, set()).add(event.file)
        elif event.kind != "internal":
            receivers.append(((event.trace, event.kind, event.message), event.file))
    received = {(key, file) for key, file in receivers}
    for key, file in received:
        sent = senders.get(key, {file})
        if file in sent:
            continue
        if len(sent) > 1:  # a file that has both ends has a message of its own, which is called the same
            sent = {one for one in sent if (key, one) not in received} or sent
        links.update((one, file) for one in sent)
    return {(one, other) for one, other in links if one != other}


def might_be(head: str) -> str:
    """What a text in no known format may be, in a few words, and what to do with it."""
    from microcosm.traces.text.records import guessed

    start = head.lstrip("\ufeff \t\r\n")
    if "\0" in head[:1000] or head[:1000].count("\ufffd") > 20:
        return "It looks like binary data."
    if re.match(r"[\[(\s]*\{\s*:[a-z]", start):
        return "It looks like EDN; a history has each operation in one line, with `:process` and `:type`."
    if re.match(r"\{|\[\s*[\[{\"]", start):
        return _of_json(start)
    if start.startswith("<"):
        return "It looks like XML, which is read by nothing here."
    return f"If it is a plain log, --pattern '{guessed(head)}' reads its first line."


def _of_json(start: str) -> str:
    begins, first = re.match(r"\[\s*", start), None
    with suppress(ValueError, RecursionError):
        first, _ = json.JSONDecoder().raw_decode(start, begins.end() if begins else 0)
    if not isinstance(first, dict):
        return "It looks like JSON; docs/reference/log-format.md says what a log of one's own is."
    if (place := _listed([first] if begins else first)) is not None:
        return (
            "Its records stand in a list; a log has one a line, in the order in which each process wrote "
            "them. A query may answer in another order; "
            f"where it does not, `jq -c '{place}'` makes a log of it."
        )
    fields, wrong = ", ".join(map(str, list(first)[:8])), jsonl.why_no_event(first)
    return (
        f"It looks like JSON lines with the fields {fields[:200]}; as an event of the own format "
        f"(docs/reference/log-format.md): {wrong}"
    )


def _listed(value: object, place: str = "") -> str | None:
    """Where in a value of JSON a list has records that are lines of a log, as jq says it."""
    from microcosm.traces.formats.json_logs import is_logging, is_structlog

    if isinstance(value, list) and value:
        return _listed(value[0], (place or ".") + "[]")
    if not isinstance(value, dict):
        return None
    if place.endswith(("]", "._source")) and (
        is_structlog(value) or is_logging(value) or jsonl.why_no_event(value) == "nothing is wrong"
    ):
        return place
    found = (_listed(inner, f"{place}.{name}") for name, inner in value.items())
    return next(filter(None, found), None)
