"""CSight's logs of channels: vector time, channel, `!` or `?`, message.

    # index 0: server (127.0.0.1:2020)
    # cs = client->server
    0,1 cs!syn
    1,1 cs?syn # inferred

Comments may name the processes of the entries of clocks and the ends of channels; otherwise the
process of an event is the entry that grew by one since its last event, and processes are numbers. They hold
in the files behind, too; where they come, or change, behind events, another execution begins.
A line `# run …`, of dashes or `=== … ===` begins another execution, as does an own entry that does not grow.
Messages are told apart by channel, content and order.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.csight import LineRun, numbered_clock
from microcosm.traces.messages import Contents
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.json_text import BadLine
from microcosm.traces.text.lines import Lines
from microcosm.traces.text.records import between_executions

_CHANNELS = "csight_channels"

_ON_CHANNEL = re.compile(r"\s*(\d+(?:,\d+)*)\s+([^\s!?]+)([!?])(\S+)\s*(?:#\s*(.*))?")
_INDEX = re.compile(r"#\s*index (\d+):\s*(\S+)")
_CHANNEL = re.compile(r"#\s*(\S+)\s*=\s*(\S+?)\s*->\s*(\S+)\s*")
_RUN = re.compile(r"#\s*(run \d+)\b")


def detects_channels(head: str, path: str) -> int:
    """2 where a line that is no comment has a clock and a channel with `!` or `?`."""
    lines = (line for line in head.split("\n") if line.strip() and not line.startswith("#"))
    return 2 * (_ON_CHANNEL.fullmatch(next(lines, "")) is not None)


def read_channels(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; lines that are neither events nor comments are reported as `bad-line`.

    Memory: two counts for each content on a channel.
    """
    names: dict[str, str] = options.shared(f"{_CHANNELS} names", dict)
    ends: dict[str, tuple[str, str]] = options.shared(f"{_CHANNELS} ends", dict)
    run = options.state.setdefault(_CHANNELS, LineRun())
    assert isinstance(run, LineRun)
    of_runs: defaultdict[str | None, Contents[tuple[str, str]]]
    of_runs = options.shared(f"{_CHANNELS} contents", lambda: defaultdict(Contents))
    last: dict[str, int] = {}
    for number, text in stream:
        if text.startswith("#"):
            if index := _INDEX.match(text):
                if run.seen and names.get(index[1]) != index[2]:
                    told = f"entry {index[1]} of clocks is now called {index[2]}: another execution begins"
                    report.add("restart", told, file=file, line=number)
                    run.begin(options)
                    last = {}
                names[index[1]] = index[2]
            elif channel := _CHANNEL.fullmatch(text):
                ends[channel[1]] = channel[2], channel[3]
            elif begun := _RUN.match(text):
                run.begin(options, begun[1])
                last = {}
            continue
        boundary = between_executions(number, text)
        if boundary is not None:
            run.begin(options, boundary.name)
            last = {}
        if boundary is not None or not text.strip():
            continue
        try:
            clock, channel_name, sends, content, note = _on_channel(text)
            named = {names.get(entry, entry): value for entry, value in clock.items()} if names else clock
            process = _acting(ends.get(channel_name), sends, names, clock, named, last)
        except BadLine as fault:
            report.add("bad-line", str(fault), file=file, line=number, lost=1, lines=1)
            continue
        label = f"{channel_name}{'!' if sends else '?'}{content}"
        said = label, *clock.values()
        if not run.take(process, named[process], said, options, report, ticks=True, file=file, line=number):
            continue
        last = clock
        key, contents = (channel_name, content), of_runs[run.trace]
        message = contents.sent(key) if sends else contents.received(key)
        if contents.ambiguous(key):
            told = f"{content} is sent more than once on {channel_name}, and received"
            report.add("ambiguous-content", told, file=file, line=number)
        taken = options.positions_of(run.trace, process)
        taken.add(taken.top + 1)
        yield TraceEvent(
            process,
            taken.top,
            "send" if sends else "receive",
            message,
            ends[channel_name][1:] if sends and channel_name in ends else (),
            named,
            label=label,
            attributes={"channel": channel_name, **({"note": note} if note else {})},
            trace=run.trace,
            file=file,
            line=number,
        )


def _on_channel(text: str) -> tuple[dict[str, int], str, bool, str, str]:
    """The clock, the channel, whether it sends, the content, and a comment. Raises `BadLine`."""
    found = _ON_CHANNEL.fullmatch(text)
    if found is None:
        raise BadLine("not an event: `1,0 channel!message` or `1,0 channel?message` is expected")
    return numbered_clock(found[1]), found[2], found[3] == "!", found[4], found[5] or ""


def _acting(
    ends: tuple[str, str] | None,
    sends: bool,
    names: dict[str, str],
    clock: dict[str, int],
    named: dict[str, int],
    last: dict[str, int],
) -> str:
    """The process of an event: an end of its channel, or else the one whose entry has grown."""
    process = None if ends is None else ends[0 if sends else 1]
    if process is not None and process in named:
        return process
    grown = [entry for entry, value in clock.items() if value > last.get(entry, 0)]
    if len(grown) != 1:  # another execution may begin, where no other has done anything
        grown = [entry for entry, value in clock.items() if value]
    if len(grown) != 1:
        raise BadLine("the comments do not name the ends of the channel, and the clock does not tell")
    return names.get(grown[0], grown[0])
