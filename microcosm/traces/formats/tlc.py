r"""What TLA+ specifications with vector clocks log: JSON lines, and counterexamples of the model checker.

    {"event": ">", "node": 0, "pkt": {"snd": 0, "rcv": 1, "msg": {…}, "vc": {"0": 2, "1": 0}}}

Here `>` sends and `<` receives; lines may stand in any order. A message has no id: what a process has
received is the latest sending of that content that its clock has seen. A line with the parameters of a run
(an object without `event`) begins another execution. A counterexample has states:

    State 4: <SendMsg line 118, col 3 to line 128, col 32 of module EWD998ChanID>
    /\ Host = n3
    /\ Clock = "{\"n1\":0,\"n2\":0,\"n3\":1}"

Another one begins with a line `=== … ===`, or where the numbers of states begin again.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from microcosm.traces.event import Spool, TraceEvent, as_clock
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import BadLine, Lines, any_object, json_object, json_text, why_bad
from microcosm.traces.text.records import between_executions, clock_of

NAME = "tlc"

_KINDS = {">": "send", "<": "receive"}
_STATE = re.compile(r"State (\d{1,18}): <(\S+).*>")
_HOST = re.compile(r"/\\ Host = (\S+)\s*")
_CLOCK = re.compile(r"/\\ Clock = (.*)")


def detects(head: str, path: str) -> int:
    """2 where one of the first lines is an event, or a state has a host and a clock."""
    if re.search(r"^/\\ Host = .*\n/\\ Clock = ", head, re.MULTILINE):
        return 2
    return 2 * any_object(head, lambda record: _event(record, "", 0))


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The events of a file; what is none is reported.

    Memory: the positions at which each content was sent; events wait on disk.
    """
    if stream.head.lstrip().startswith("{"):
        yield from _json_lines(stream, file, report, options)
    else:
        yield from _states(stream, file, report, options)


@dataclass(slots=True)
class _Sent:
    """The execution at hand, which may go on in another file: its events, and what processes have sent.

    No event is given away before the last is read: a reception may stand before its sending, and where
    executions follow one another without a line between them the order of the log tells them apart.
    """

    trace: str | None = None
    at: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """The own clock values of sendings, by sender and content."""
    events: Spool = field(default_factory=Spool)

    def add(self, event: TraceEvent, sender: str, content: str) -> None:
        """Put the next event aside, and what it sends or receives."""
        if event.kind == "send":
            insort(self.at.setdefault((event.process, content), []), event.own)
        fields = event.process, event.seq, event.kind, event.to, event.clock, event.label, event.attributes
        self.events.add((*fields, event.file, event.line, sender, content))

    def begin(self, trace: str | None) -> Iterator[TraceEvent]:
        """What follows is an execution of its own: the events of the one at hand."""
        yield from self.rest()
        self.trace, self.at, self.events = trace, {}, Spool()

    def rest(self) -> Iterator[TraceEvent]:
        """The events of the execution at hand, in the order of the log."""
        for process, seq, kind, to, clock, label, more, file, line, sender, content in self.events:
            event = TraceEvent(process, seq, kind, None, to, clock, label=label, attributes=more, file=file)
            event.line, event.trace, event.numbered = line, self.trace, True
            if kind == "send":
                event.message = f"{process}:{event.own}"
            elif kind == "receive":
                event.message = f"{sender}:{self.latest(sender, content, _seen(event, sender))}"
            yield event

    def latest(self, sender: str, content: str, seen: int) -> int:
        """The own clock value of the latest such sending up to a value; that value where there is none."""
        sent = self.at.get((sender, content), [])
        at = bisect_right(sent, seen)
        return sent[at - 1] if at else seen


def _json_lines(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    sent = options.shared(f"{NAME} lines", _Sent)
    begun = False
    for number, text in stream.filled():
        boundary = between_executions(number, text)
        if boundary is not None:
            yield from sent.begin(options.begin(boundary.name))
            begun = False
            continue
        try:
            record = json_object(text)
            if not {"event", "node", "pkt"} & record.keys():  # the parameters of a run
                yield from sent.begin(options.begin() if begun else sent.trace)
                begun = False
                continue
            event, sender, content = _event(record, file, number)
        except BadLine as fault:
            report.add("bad-line", why_bad(fault, stream.cut_off), file=file, line=number, lost=1, lines=1)
            continue
        begun = True
        options.begun = options.begun or 1
        event.seq = options.positions[sent.trace, event.process].append(event.own)
        sent.add(event, sender, content)


def _seen(event: TraceEvent, sender: str) -> int:
    """What a reception has seen of the sender before it."""
    value = (event.clock or {}).get(sender, 0)
    return value - 1 if sender == event.process else value


def _event(record: dict[str, object], file: str, line: int) -> tuple[TraceEvent, str, str]:
    """An event, the sender of its message, and the content of that with its receiver. Raises `BadLine`."""
    what, node, packet = record.get("event"), record.get("node"), record.get("pkt")
    if type(what) is not str or type(node) not in (int, str) or node == "" or type(packet) is not dict:
        raise BadLine("not an event: `event`, `node` and `pkt` are expected")
    clock = as_clock(packet.get("vc"))
    if clock is None or str(node) not in clock:
        raise BadLine("`vc` must be a vector time with an entry for `node`")
    kind = _KINDS.get(what, "internal")
    content = json_text([packet.get("rcv"), packet.get("msg")])
    if kind != "internal" and (packet.get("snd") in (None, "") or packet.get("rcv") in (None, "")):
        raise BadLine("a message without `snd` and `rcv`")
    more = {key: value for key, value in record.items() if key not in ("event", "node", "pkt")}
    if "msg" in packet:
        more["msg"] = packet["msg"]
    to = (str(packet["rcv"]),) if kind == "send" else ()
    event = TraceEvent(
        str(node), 1, kind, None, to, clock, label=what, attributes=more, file=file, line=line, numbered=True
    )
    return event, str(packet.get("snd")), content


@dataclass(slots=True)
class _Counterexample:
    """The counterexample at hand, which may go on in another file: its name, and its last state."""

    trace: str | None = None
    state: int = 0


def _states(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    label = host = ""
    first = 0
    run = options.shared(NAME, _Counterexample)
    for number, text in stream:
        boundary = between_executions(number, text)
        state, named = _STATE.match(text), _HOST.match(text)
        if boundary is not None:
            run.trace, run.state, host = options.begin(boundary.name), 0, ""
        elif state is not None:
            label, host, first = state[2], "", number
            if int(state[1]) <= run.state:
                run.trace = options.begin()
            run.state = int(state[1])
        elif named is not None:
            host = named[1]
        elif found := _CLOCK.match(text):
            clock = clock_of(found[1])
            if clock is None or not host or host not in clock:
                kind = "bad-clock" if clock is None else "bad-host"
                message = "a state whose clock cannot be read" if clock is None else "a clock of no host"
                report.add(kind, message, file=file, line=number, lost=1)
                continue
            options.begun = options.begun or 1
            event = TraceEvent(
                host, 1, clock=clock, label=label, trace=run.trace, file=file, line=first, numbered=True
            )
            event.seq = options.positions[run.trace, host].append(event.own)
            yield event
            host = ""
