"""Text logs with vector times at every event, as programs write them, and with what may be odd about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

Clock = dict[str, int]
Step = tuple[int, int, int]
NAMES = ["p", "q", "r 2", "a:b", "5%d", "é{", 'q"', "x,y", "=="]
"""Names of processes. With a space or a quote in it one is none that the columns can have."""


@dataclass
class Event:
    """One event as it is written: its process, its clock with the entries in order, what it is called."""

    process: str
    clock: Clock
    label: str


@dataclass(frozen=True)
class Style:
    """How a program writes its clocks: the order of entries, zeros, what is between, which line is first.

    After a header there are as many blank lines as it says.
    """

    text_first: bool
    zeros: bool
    reverse: int
    between: tuple[str, str]
    header: int
    blanks: str
    end: str

    def text(self, events: list[Event]) -> str:
        """A log of these events."""
        lines = [line for event in events for line in self._lines(event)]
        patterns = (
            r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)",
            r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})",
        )
        head = [patterns[self.text_first], *[""] * self.header] if self.header else []
        return "\n".join([*head, *lines]) + self.end

    def _lines(self, event: Event) -> list[str]:
        time = json.dumps(self._ordered(event), separators=self.between, ensure_ascii=False)
        lines = [event.label, f"{event.process} {time}{self.blanks}"]
        return lines if self.text_first else lines[::-1]

    def _ordered(self, event: Event) -> Clock:
        """Sorted one way or the other, or with the own entry first; now and then another way."""
        names = sorted(event.clock)
        turned = self.reverse == 1 or (self.reverse == 3 and event.clock[event.process] % 3 == 0)
        if self.reverse == 2:
            names.sort(key=lambda name: name != event.process)
        entries = {name: event.clock[name] for name in (names[::-1] if turned else names)}
        return entries if self.zeros else {name: count for name, count in entries.items() if count}


STYLES = st.builds(
    Style,
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
    st.sampled_from([(", ", ": "), (",", ":"), (", ", ":")]),
    st.integers(0, 2),
    st.sampled_from(["", " ", "  "]),
    st.sampled_from(["\n", "", "\n\n"]),
)
LABELS = st.sampled_from(["send m", "", "a log line", "=== run ===", "# a comment", "{}", "blanks  ", "p {x"])
STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3), st.integers(0, 9)), min_size=1, max_size=24)


def run(steps: list[Step], names: list[str]) -> list[Event]:
    """Of a step (p, q, n) p is the process; if q is none below 0 it hears of an event of process q.

    Where n is 9 of one of two more, as what merges several clocks at once does.
    """
    counts = {name: [dict.fromkeys(names, 0)] for name in names}
    events: list[Event] = []
    for p, q, n in steps:
        own = names[p % len(names)]
        clock = {**counts[own][-1]}
        for heard in [q, q + 1] if n == 9 else [q]:
            other = counts[names[heard % len(names)]]
            if q >= 0:
                clock = {name: max(count, other[-1 - n % len(other)][name]) for name, count in clock.items()}
        clock[own] += 1
        counts[own].append(clock)
        events.append(Event(own, clock, "an event"))
    return events


def mixed(events: list[Event], turns: list[int]) -> list[Event]:
    """The same events, each process in its order, as lines that are written late mix them."""
    left: dict[str, list[Event]] = {}
    for event in events:
        left.setdefault(event.process, []).append(event)
    found: list[Event] = []
    for turn in [*turns, *[0] * len(events)]:
        waiting = [process for process in left if left[process]]
        if waiting:
            found.append(left[waiting[turn % len(waiting)]].pop(0))
    return found


Fault = Callable[[list[Event], int], None]


def _less(events: list[Event], at: int) -> None:
    events[at].clock = {name: max(0, count - 1) for name, count in events[at].clock.items()}


def _more(events: list[Event], at: int) -> None:
    events[at].clock = {name: count + 1 for name, count in events[at].clock.items()}


def _forgets(events: list[Event], at: int) -> None:
    name = [*events[at].clock][at % len(events[at].clock)]
    events[at].clock = {**events[at].clock, name: 0}


def _names_nobody(events: list[Event], at: int) -> None:
    events[at].clock = {**events[at].clock, "nobody": at % 2}


def _far_ahead(events: list[Event], at: int) -> None:
    events[at].clock = {**events[at].clock, events[at - 1].process: 10**18 + at}


def _again(events: list[Event], at: int) -> None:
    events.insert(at, events[at])


def _lost(events: list[Event], at: int) -> None:
    del events[at]


def _swapped(events: list[Event], at: int) -> None:
    events[at], events[at - 1] = events[at - 1], events[at]


def _begins_again(events: list[Event], at: int) -> None:
    events += [Event(event.process, event.clock, event.label) for event in events[:at]]


def _of_another(events: list[Event], at: int) -> None:
    events[at].process = events[at - 1].process


FAULTS: list[Fault] = [
    _less, _more, _forgets, _names_nobody, _far_ahead, _again, _lost, _swapped, _begins_again, _of_another,
]  # fmt: skip
