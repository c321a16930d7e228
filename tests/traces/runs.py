"""Random message-passing runs whose happens-before is known, and the logs that they would leave."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field

from hypothesis import strategies as st

from microcosm.traces.event import TraceEvent

PROCESSES = ("p", "q", "r", "s")


@dataclass
class Run:
    """Events in the order in which they happened; `past[i]` are the events before event i, as bits."""

    events: list[TraceEvent] = field(default_factory=list)
    past: list[int] = field(default_factory=list)

    def before(self, a: int, b: int) -> bool:
        return bool(self.past[b] >> a & 1)

    def relation(self, a: int, b: int) -> str:
        return "<" if self.before(a, b) else ">" if self.before(b, a) else "||"


def simulated(steps: list[tuple[int, int, int]], every_event_ticks: bool) -> Run:
    """Each step is a process, what it does (0-2 internal, 3-6 send, 7-9 receive) and which message.

    Where not every event ticks, only sending ones do, and receptions merge clocks.
    """
    run = Run()
    last: dict[str, int] = {}
    seqs: dict[str, int] = {}
    clocks: dict[str, dict[str, int]] = {process: {} for process in PROCESSES}
    flying: list[tuple[str, str, int]] = []
    for at, (who, what, which) in enumerate(steps):
        process = PROCESSES[who]
        clock, past = clocks[process], 0
        kind = "internal"
        message: str | None = None
        to: tuple[str, ...] = ()
        if process in last:
            past = run.past[last[process]] | 1 << last[process]
        waiting = [item for item in flying if item[1] == process]
        if what >= 7 and waiting:
            item = waiting[which % len(waiting)]
            flying.remove(item)
            kind, message, sending = "receive", item[0], item[2]
            past |= run.past[sending] | 1 << sending
            for name, count in (run.events[sending].clock or {}).items():
                clock[name] = max(clock.get(name, 0), count)
        elif what >= 3:
            kind, message = "send", f"m{at}"
            others = [name for name in PROCESSES if name != process]
            to = tuple(others[: 1 + which % 3] if which % 2 else others[which % 3 :][:1])
            flying += [(message, name, at) for name in to]
        if every_event_ticks or kind == "send":
            clock[process] = clock.get(process, 0) + 1
        seqs[process] = seqs.get(process, 0) + 1
        last[process] = at
        run.events.append(
            TraceEvent(process, seqs[process], kind, message, to, dict(clock), label=f"step {at}")
        )
        run.past.append(past)
    return run


STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=24)

RUNS = st.builds(simulated, STEPS, st.booleans())
TICKING_RUNS = st.builds(simulated, STEPS, st.just(True))


def kept_of(run: Run, dropped: Collection[int]) -> list[int]:
    """The events of a run that are left when some are dropped."""
    return [at for at in range(len(run.events)) if at not in dropped]


DROPPED = st.sets(st.integers(0, 23), max_size=10)


def shiviz_text(events: list[TraceEvent], clock_first: bool = False) -> str:
    """The events as a ShiViz log, in one order of lines or the other."""
    records = [(event.label or "", f"{event.process} {json.dumps(event.clock)}") for event in events]
    return "".join(f"{b}\n{a}\n" if clock_first else f"{a}\n{b}\n" for a, b in records)
