"""Reports of Concuerror: the steps of interleavings of an Erlang program.

       5: P.3: 0 = P.1 ! 0
       9: Message (0) from P.3 reaches P.1
      26: P.1: receives message (0)

Each interleaving is an execution. A mailbox is a process of its own (`P.1 mailbox`), where messages
and exit signals arrive one after the other, whatever their owner is doing; a reception comes after the
arrival, the first step of a process after its spawning, and an exit signal after the exit of its sender
or its call of `erlang:exit`. What is sent to a name is sent to whoever was registered under it. Of messages
of equal content a process receives first what arrived first, as Erlang does. Steps are numbered: where
numbers are missing, so may be sendings and arrivals, and those behind are matched with nothing. What
processes learn through shared tables is not followed.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from microcosm.traces.event import Counted, TraceEvent
from microcosm.traces.options import Options
from microcosm.traces.report import Report
from microcosm.traces.text.lines import Lines

NAME = "concuerror"

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


def detects(head: str, path: str) -> int:
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


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The steps of all interleavings; text among them that is none is reported as `bad-line`.

    Memory: the messages under way.
    """
    names = options.shared(NAME, Counter[str])
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
