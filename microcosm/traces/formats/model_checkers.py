r"""What checkers of concurrent programs write: Concuerror of Erlang, and TLC of TLA+ with vector clocks.

Concuerror reports the steps of interleavings:

       5: P.3: 0 = P.1 ! 0
       9: Message (0) from P.3 reaches P.1
      26: P.1: receives message (0)

Each is an execution. A mailbox is a process of its own (`P.1 mailbox`), where messages and exit signals
arrive one after the other, whatever their owner is doing; a reception comes after the arrival, the first step
of a process after its spawning, and an exit signal after the exit of its sender or its call of `erlang:exit`.
What is sent to a name is sent to whoever was registered under it. Of messages of equal content a process
receives first what arrived first, as Erlang does. Steps are numbered: where numbers are missing, so may be
sendings and arrivals, and those behind are matched with nothing. What processes learn through shared tables
is not followed.

Specifications log JSON lines:

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
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from microcosm.traces.event import Counted, Spool, TraceEvent, as_clock
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import BadLine, Lines, any_object, json_object, json_text, why_bad
from microcosm.traces.text.records import between_executions, clock_of

CONCUERROR = "concuerror"

_BEGIN = re.compile(r"(?:Erroneous i|I)nterleaving #?(\d+):?\s*")
_STEP = re.compile(r"\s*(\d+): (.*)")
_OF = re.compile(r"([^\s:]+): (.*)")
_SENDS = re.compile(r"(?= = (\S+) ! )")
_OPTIONS = re.compile(r", \[[\w,]*\]\Z")
_REGISTERS = re.compile(r"true = erlang:register\((\S+), (\S+)\)")
_REACHES = re.compile(r"Message \((.*)\) from (\S+) reaches (\S+)")
_SIGNAL = re.compile(r"Exit signal ?(?:\((.*)\) )?from (\S+) reaches (\S+)")
_EXITS = re.compile(r"exits (?:normally|abnormally \((.*)\))")
_RECEIVES = re.compile(r"receives message \((.*)\)")
_SPAWNS = re.compile(r"(\S+) = erlang:spawn(?:_link|_monitor|_opt)?\(.*")
_STEPS = ("Event trace:", "Interleaving info:")


_Key = TypeVar("_Key")


def detects_concuerror(head: str, path: str) -> int:
    """2 where the report says whose it is."""
    return 2 * (re.search(r"^Concuerror ", head, re.MULTILINE) is not None)


@dataclass(slots=True)
class _Interleaving:
    """One execution: what is under way, and what the first step of a process comes after."""

    name: str
    step: int = 0
    whole: bool = True
    messages: int = 0
    steps: dict[str, int] = field(default_factory=dict)
    sent: dict[tuple[str, str, str], deque[tuple[str, str]]] = field(default_factory=dict)
    arrived: dict[tuple[str, str], deque[tuple[str, str]]] = field(default_factory=dict)
    spawned: dict[str, str] = field(default_factory=dict)
    registered: dict[str, str] = field(default_factory=dict)
    """Whose a name is."""
    signalled: dict[tuple[str, str], str] = field(default_factory=dict)
    """The first call of `erlang:exit` of a process for another."""
    exited: dict[str, str] = field(default_factory=dict)
    dying: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Who has just been reached by an exit signal that may end it, with its reason and the arrival."""
    trapping: set[str] = field(default_factory=set)

    def at(self, step: int) -> bool:
        """Go on to a step; whether none is missing before it."""
        follows = step == self.step + 1
        self.step = step
        self.whole &= follows
        return follows

    def event(self, text: str, file: str, line: int) -> TraceEvent | None:
        """The event that a step is, or None."""
        kind, message, label = "internal", None, text
        to: tuple[str, ...] = ()
        after: dict[str, str] = {}
        if reaches := _REACHES.fullmatch(text):
            content, sender, owner = reaches.groups()
            process = f"{owner} mailbox"
            arriving, sending = self._take(self.sent, (sender, owner, content))
            after.setdefault(sending, "sending")
            self._arrive(owner, content, arriving)
        elif signal := _SIGNAL.fullmatch(text):
            reason, sender, owner = signal.groups()
            process = f"{owner} mailbox"
            # Whichever of the two sent it: the first of them comes before it.
            after.setdefault(self.signalled.get((sender, owner), self.exited.get(sender, "")), "exit signal")
            if reason is not None:
                arrival = self._arrive(owner, f"{{'EXIT',{sender},{reason}}}", "")
                if reason != "normal":
                    self.dying.setdefault(owner, (reason, arrival))
        elif step := _OF.fullmatch(text):
            process, label = step.groups()
            if process not in self.steps:
                after.setdefault(self.spawned.get(process, ""), "spawn")
            own = f"{process}:{self.steps.get(process, 0) + 1}"
            dying = self.dying.pop(process, None)
            if (send := _sent(label)) is not None:
                whom, content = send
                owner = self.registered.get(whom.strip("{").split(",")[0], whom)
                kind, to = "send", (owner,)
                message = self._name()
                if self.whole:
                    self.sent.setdefault((process, owner, content), deque()).append((message, own))
            elif received := _RECEIVES.fullmatch(label):
                message, arrival = self._take(self.arrived, (process, received[1]))
                kind = "receive" if message else "internal"
                message = message or None
                after.setdefault(arrival, "arrival")
            elif registers := _REGISTERS.fullmatch(label):
                self.registered[registers[1]] = registers[2]
            elif spawn := _SPAWNS.fullmatch(label):
                self.spawned[spawn[1].strip("{}").split(",")[0]] = own
            elif (call := _called("exit", label)) is not None:
                if self.whole:
                    self.signalled.setdefault((process, call[0]), own)
            elif exit_ := _EXITS.fullmatch(label):
                if self.whole:
                    self.exited[process] = own
                if dying is not None and self.whole and process not in self.trapping:
                    reason, arrival = dying  # the signal came last, and nothing was done since
                    if exit_[1] == ("killed" if reason == "kill" else reason):
                        after.setdefault(arrival, "exit signal")
            elif "process_flag(trap_exit" in label:
                self.trapping.add(process)
        else:
            return None
        after.pop("", None)
        self.steps[process] = self.steps.get(process, 0) + 1
        return TraceEvent(
            process,
            self.steps[process],
            kind,
            message,
            to,
            label=label,
            trace=self.name,
            after=tuple(after),
            file=file,
            line=line,
            links=tuple(after.values()),
        )

    def _arrive(self, owner: str, content: str, message: str) -> str:
        """The event that is an arrival at a mailbox; it waits there to be received."""
        process = f"{owner} mailbox"
        arrival = f"{process}:{self.steps.get(process, 0) + 1}"
        if self.whole:
            self.arrived.setdefault((owner, content), deque()).append((message, arrival))
        return arrival

    def _take(self, waiting: dict[_Key, deque[tuple[str, str]]], key: _Key) -> tuple[str, str]:
        """The first of the messages that wait, and its event; a new message where there is none."""
        if waiting.get(key):
            return waiting[key].popleft()
        return self._name(), ""

    def _name(self) -> str:
        self.messages += 1
        return Counted(f"m{self.messages}")


def _sent(step: str) -> tuple[str, str] | None:
    """To whom a step sends, and what; None where it is no sending. Cost: linear.

    >>> _sent("{a, 1} = P.1 ! {a, 1}"), _sent("1 = erlang:send(P.1, 1, [nosuspend])")
    (('P.1', '{a, 1}'), ('P.1', '1'))
    """
    for found in _SENDS.finditer(step):
        at, behind = found.start(), found.end(1) + len(" ! ")
        if at == len(step) - behind and step.endswith(step[:at]):  # of one place only the lengths agree
            return found[1], step[:at]
    call = _called("send", step)
    return None if call is None else (call[0], _OPTIONS.sub("", call[1]))


def _called(function: str, step: str) -> tuple[str, str] | None:
    """The first argument, and all others, of the call of a function that a step is. Cost: linear."""
    at, begins = len(step), f" = erlang:{function}("
    while step.endswith(")") and (at := step.rfind(begins, 0, at)) >= 0:
        first = at + len(begins)
        blank = step.find(" ", first)
        if blank > first + 1 and step[blank - 1] == ",":
            return step[first : blank - 1], step[blank + 1 : -1]
    return None


def read_concuerror(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The steps of all interleavings; text among them that is none is reported as `bad-line`.

    Memory: the messages under way.
    """
    names = options.shared(CONCUERROR, Counter[str])
    run: _Interleaving | None = None
    begun = ""
    for number, text in stream:
        step = _STEP.fullmatch(text)
        if step is not None and stream.cut_off:  # the name at its end may be half of one
            report.add("bad-line", "half-written last line", file=file, line=number, lost=1, lines=1)
        elif begin := _BEGIN.fullmatch(text):
            begun, run = f"Interleaving {begin[1]}", None
        elif text.strip() in _STEPS:
            run = _begin(begun or "Interleaving 1", names)
        elif text.startswith(("####", "----")):
            run = None
        elif step is not None and (run is None or int(step[1]) <= run.step):
            run = _begin("Interleaving", names)  # where it begins is not in the file
            yield from _events(run, step, file, number, report)
        elif run is not None and text.strip():
            if step is None and text.startswith("    "):
                continue  # where the step is in the source
            yield from _events(run, step, file, number, report)


def _begin(name: str, names: Counter[str]) -> _Interleaving:
    """An interleaving; two of a name are told apart."""
    names[name] += 1
    return _Interleaving(name if names[name] == 1 else f"{name} ({names[name]})")


def _events(
    run: _Interleaving, step: re.Match[str] | None, file: str, line: int, report: Report
) -> Iterator[TraceEvent]:
    """The event of a line, if it is one; what is odd is reported."""
    if step is not None and not run.at(int(step[1])):
        report.add("seq-gap", f"{run.name}: steps before {step[1]} are missing", file=file, line=line)
    event = None if step is None else run.event(step[2], file, line)
    if event is None:
        run.whole &= step is None
        report.add("bad-line", "not a step", file=file, line=line, lost=1, lines=1)
    else:
        yield event


TLC = "tlc"

_KINDS = {">": "send", "<": "receive"}
_STATE = re.compile(r"State (\d{1,18}): <(\S+).*>")
_HOST = re.compile(r"/\\ Host = (\S+)\s*")
_CLOCK = re.compile(r"/\\ Clock = (.*)")


def detects_tlc(head: str, path: str) -> int:
    """2 where one of the first lines is an event, or a state has a host and a clock."""
    if re.search(r"^/\\ Host = .*\n/\\ Clock = ", head, re.MULTILINE):
        return 2
    return 2 * any_object(head, lambda record: _event(record, "", 0))


def read_tlc(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
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

    No event is given away before the last is read_tlc: a reception may stand before its sending, and where
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
    sent = options.shared(f"{TLC} lines", _Sent)
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
    run = options.shared(TLC, _Counterexample)
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
                message = "a state whose clock cannot be read_tlc" if clock is None else "a clock of no host"
                report.add(kind, message, file=file, line=number, lost=1)
                continue
            options.begun = options.begun or 1
            event = TraceEvent(
                host, 1, clock=clock, label=label, trace=run.trace, file=file, line=first, numbered=True
            )
            event.seq = options.positions[run.trace, host].append(event.own)
            yield event
            host = ""
