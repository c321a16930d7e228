"""Reports of Concuerror: the steps of interleavings of an Erlang program.

       5: P.3: 0 = P.1 ! 0
       9: Message (0) from P.3 reaches P.1
      26: P.1: receives message (0)

Each interleaving is an execution. A mailbox is a process of its own (`P.1 mailbox`), where messages
arrive one after the other, whatever their owner is doing; a reception comes after the arrival, and
the first step of a process after its spawning. Of messages of equal content a process receives first
what arrived first, as Erlang does. What processes learn through shared tables is not followed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from microcosm.traces.event import Counted, TraceEvent
from microcosm.traces.lines import Lines
from microcosm.traces.options import Options
from microcosm.traces.report import Report

NAME = "concuerror"

_BEGIN = re.compile(r"(?:Erroneous i|I)nterleaving #?(\d+):?\s*")
_STEP = re.compile(r"\s*(\d+): (.*)")
_OF = re.compile(r"([^\s:]+): (.*)")
_SEND = re.compile(r"(?P<said>.*) = (\S+) ! (?P=said)")
_REACHES = re.compile(r"Message \((.*)\) from (\S+) reaches (\S+)")
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
    messages: int = 0
    steps: dict[str, int] = field(default_factory=dict)
    sent: dict[tuple[str, str, str], deque[tuple[str, str]]] = field(default_factory=dict)
    arrived: dict[tuple[str, str], deque[tuple[str, str]]] = field(default_factory=dict)
    spawned: dict[str, str] = field(default_factory=dict)

    def event(self, text: str, file: str, line: int) -> TraceEvent | None:
        """The event that a step is, or None."""
        kind, message, label = "internal", None, text
        to: tuple[str, ...] = ()
        after: tuple[str, ...] = ()
        if reaches := _REACHES.fullmatch(text):
            content, sender, owner = reaches.groups()
            process = f"{owner} mailbox"
            message, sending = self._take(self.sent, (sender, owner, content))
            after = (sending,) if sending else ()
            arrival = f"{process}:{self.steps.get(process, 0) + 1}"
            self.arrived.setdefault((owner, content), deque()).append((message, arrival))
            message = None
        elif step := _OF.fullmatch(text):
            process, label = step.groups()
            if process not in self.steps and process in self.spawned:
                after = (self.spawned[process],)
            own = f"{process}:{self.steps.get(process, 0) + 1}"
            if send := _SEND.fullmatch(label):
                kind, to = "send", (send[2],)
                self.messages += 1
                message = Counted(f"m{self.messages}")
                self.sent.setdefault((process, send[2], send[1]), deque()).append((message, own))
            elif received := _RECEIVES.fullmatch(label):
                kind = "receive"
                message, arrival = self._take(self.arrived, (process, received[1]))
                after = (*after, *((arrival,) if arrival else ()))
            elif spawn := _SPAWNS.fullmatch(label):
                self.spawned[spawn[1].strip("{},")] = own
        else:
            return None
        self.steps[process] = self.steps.get(process, 0) + 1
        return TraceEvent(
            process,
            self.steps[process],
            kind,
            message,
            to,
            label=label,
            trace=self.name,
            after=after,
            file=file,
            line=line,
        )

    def _take(self, waiting: dict[_Key, deque[tuple[str, str]]], key: _Key) -> tuple[str, str]:
        """The first of the messages that wait, and its event; a new message where there is none."""
        if waiting.get(key):
            return waiting[key].popleft()
        self.messages += 1
        return Counted(f"m{self.messages}"), ""


def read(stream: Lines, file: str, report: Report, options: Options) -> Iterator[TraceEvent]:
    """The steps of all interleavings; text among them that is none is reported as `bad-line`.

    Memory: the messages under way.
    """
    run: _Interleaving | None = None
    begun = ""
    for number, text in stream:
        if begin := _BEGIN.fullmatch(text):
            begun, run = f"Interleaving {begin[1]}", None
        elif text.strip() in _STEPS:
            run = _Interleaving(begun or "Interleaving 1")
        elif text.startswith(("####", "----")):
            run = None
        elif run is not None and text.strip():
            step = _STEP.fullmatch(text)
            if step is None and text.startswith("    "):
                continue  # where the step is in the source
            event = run.event(step[2], file, number) if step is not None else None
            if event is None:
                report.add("bad-line", "not a step", file=file, line=number, lost=1, lines=1)
            else:
                yield event
