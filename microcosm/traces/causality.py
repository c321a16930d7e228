"""What the events of an execution say about causality, before anybody writes it down in some form.

What came before what is a graph of few edges, never all pairs. An edge leads from an event to the next of
its process, from a sending to its reception, and from what a clock has newly seen to the event of that
clock. Messages and stamps that contradict the clocks or the order of processes are reported and not
believed.

Which sending a reception answers is told by the name of the message. It may go to several processes, in one
event or by a copy each, and be sent again. Of a process that sends it again the first time counts: that,
surely, came before every reception.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise, repeat

from microcosm.givens.exact import Number
from microcosm.givens.relation import Clock, Relation, Stamp, between
from microcosm.order.happens_before import causal_order, components
from microcosm.traces.clocks import Clocks
from microcosm.traces.event import OTHER_LEVEL, SENDS, Counted, TraceEvent
from microcosm.traces.execution import Execution
from microcosm.traces.report import Report


def by_clocks(first: Clock | None, second: Clock | None) -> Relation | None:
    """What clocks say of two events of different processes; None where they do not tell, or one has none."""
    if first is None or second is None or first.process == second.process:
        return None
    return between(first, second)


def token_in(attributes: Mapping[str, object], token: str) -> str | None:
    """The value of an attribute, as a text; None where it is absent, empty or false.

    >>> token_in({"lock": "a", "n": 0}, "n"), token_in({"no": ""}, "no"), token_in({"no": False}, "no")
    ('0', None, None)
    """
    value = attributes.get(token)
    if value is None or value is False or value in ("", [], {}):
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Causality:
    """What one execution says, with whatever is odd about it reported: all that a sink needs.

    `names` are those of its events, with the execution in front where there are `several`, and `messages`
    those of the messages that they send or receive, by event; `times` the clocks that are believed and
    `covers` whom they have newly seen (`Clocks`), `exchange` its messages, `before` the graph of what came
    before what. `stamps` are those that are believed; of `several` executions none, for a stamp does not say
    of which it is, and nothing tells how the clocks of two stand to each other.

    Cost: that of `Clocks`, `exchange` and `Before`.
    """

    def __init__(self, run: Execution, several: bool, report: Report) -> None:
        self.run = run
        self.report = report
        self.trace = run.trace if several else None
        """What stands before the names of processes, messages and tokens; None for nothing."""
        self.full = str if self.trace is None else f"{self.trace}/".__add__  # as `in_trace`
        """The name of a process, message or token among all executions, of its name in this one."""
        self.names = [entry.full_id if several else entry.id for entry in run.events]
        rows = ((event, entry.message) for event, entry in enumerate(run.events))
        self.messages = {event: self.full(message) for event, message in rows if message is not None}
        clocked = any(entry.clock is not None for entry in run.events)
        clocks = Clocks(run, report) if clocked else None
        self.times: dict[int, Clock] = clocks.times if clocks else {}
        self.covers: dict[int, list[int]] = clocks.covers if clocks else {}
        self.exchange = exchange(run, report)
        self.before = Before(run, self.exchange, report, clocks)
        self.stamps = {} if several else self.before.stamps
        if several and self.before.stamps:
            detail = "one of several executions; its stamps are left out, choose it to have them"
            self.odd("stamp-of-several", min(self.before.stamps), detail, fatal=False)

    def edges(self, stated: bool = False) -> Iterator[tuple[int, int, str]]:
        """What came before what, and what says so: processes, messages, clocks, links.

        Where clocks are `stated` as well, without what follows of them.
        """
        times = self.times if stated else {}
        for process, chains in self.run.chains.items():
            source = f"process {self.full(process)}"
            for a, b in chain.from_iterable(map(pairwise, chains)):
                if a not in times or b not in times:
                    yield a, b, source
        for sending, reception in self.before.pairs:
            yield sending, reception, f"message {self.messages[reception]}"
        for event, sources in () if stated else self.covers.items():
            source = f"vector time of {self.names[event]}"
            yield from ((seen, event, source) for seen in sources)
        for a, b in self.before.links:
            yield a, b, self.run.link(a, b)

    def by_clocks(self, a: int, b: int) -> Relation | None:
        """What clocks say of two events of different processes."""
        return by_clocks(self.times.get(a), self.times.get(b))

    def holders(self, token: str) -> dict[str, list[int]]:
        """The events that have an attribute, by its value, in an order that extends causality."""
        groups: dict[str, list[int]] = {}
        for event in self.before.order:  # a right group is a chain in this order
            value = token_in(self.run.events[event].attributes, token)
            if value is not None:
                groups.setdefault(self.full(value), []).append(event)
        return groups

    def clash(self, token: str, holders: Iterable[int]) -> bool:
        """Whether clocks show two holders of a token to be concurrent; that is reported.

        `holders` are in causal order. Cost: for each the processes of those before it, and a logarithm.
        """
        before: dict[str, list[int]] = {}
        for b in filter(self.times.__contains__, holders):
            clock = self.times[b]
            for process, line in before.items():
                seen = bisect_right(line, clock.entries.get(process, 0), key=lambda a: self.times[a].own)
                for a in line[seen : seen + 1]:  # of those that b has not seen the one that has seen least
                    if self.by_clocks(a, b) is Relation.CONCURRENT:
                        detail = f"token {token}: {self.names[a]} and {self.names[b]} are concurrent"
                        self.odd("token-concurrent", b, detail)
                        return True
            before.setdefault(clock.process, []).append(b)
        return False

    def foreign(self) -> list[tuple[int, str, str, bool]]:
        """Links to events outside: who comes after, after whom, what the link is called, and whether nothing
        comes after the event.
        """
        if not self.run.foreign:
            return []
        leading = {*self.run.previous, *chain.from_iterable(self.before.sources.values())}
        return [(event, name, link, event not in leading) for event, name, link in self.run.foreign]

    def isolated(self, events: Iterable[int]) -> int:
        """Report events that nothing relates to another; how many there are."""
        alone = list(events)
        for event in alone:
            detail = f"{self.names[event]}: nothing relates it to another event"
            self.odd("isolated-event", event, detail, fatal=False)
        return len(alone)

    def odd(self, kind: str, event: int, message: str, fatal: bool = True) -> None:
        """Report an irregularity at the place of an event. Raises as `Report.add` does."""
        entry = self.run.events[event]
        self.report.add(kind, message, file=entry.file, line=entry.line, fatal=fatal)


class Before:
    """The graph of an execution, acyclic: `sources[i]` lead to event i besides the one before it.

    `pairs` are the messages that are believed, `links` the other orders that the log states, `stamps`
    the stamps that are believed. `order` lists the events so that every edge leads onwards.
    """

    def __init__(
        self, execution: Execution, found: Exchange, report: Report, clocks: Clocks | None = None
    ) -> None:
        self._execution = execution
        self._report = report
        self.pairs = found.pairs
        self.links = [(before, event) for event, sources in execution.links.items() for before in sources]
        if clocks is not None:
            self.pairs = [pair for pair in self.pairs if not self._against_clock(clocks, *pair, "message")]
            self.links = [pair for pair in self.links if not self._against_clock(clocks, *pair, "link")]
        covers = clocks.covers if clocks else {}
        previous = execution.previous
        later = [event for event, before in enumerate(previous) if before >= 0]
        while True:
            self.sources = {event: list(seen) for event, seen in covers.items()}
            for before, after in chain(self.pairs, self.links):
                self.sources.setdefault(after, []).append(before)
            starts = chain(*self.sources.values(), map(previous.__getitem__, later))
            ends = chain(*(repeat(event, len(found)) for event, found in self.sources.items()), later)
            self.order = causal_order(len(previous), starts, ends)
            if len(self.order) < len(previous):
                self._break_cycles()
            elif clocks is None or not self._unseen(clocks.times):
                break
        stamped = any(entry.stamp is not None for entry in execution.events)
        self.stamps = self._stamps() if stamped else {}

    def into(self, event: int) -> Iterable[int]:
        """The events that lead to this one by an edge."""
        before = self._execution.previous[event]
        return (*(() if before < 0 else (before,)), *self.sources.get(event, ()))

    def past(self, events: Iterable[int]) -> set[int]:
        """These events and all that came before them. Cost: linear in the edges among them."""
        found = set(events)
        waiting = list(found)
        while waiting:
            for event in self.into(waiting.pop()):
                if event not in found:
                    found.add(event)
                    waiting.append(event)
        return found

    def _against_clock(self, clocks: Clocks, before: int, after: int, what: str) -> bool:
        sent, heard = clocks.times.get(before), clocks.times.get(after)
        if sent is None or heard is None or sent.process == heard.process:  # its order tells, below
            return False
        if not (sent.missed_by(heard) or heard.reached_by(sent)):
            return False
        s, r = self._execution.events[before], self._execution.events[after]
        why = f"the sending of {r.message}" if what == "message" else "which it is said to come after"
        _add(self._report, f"{what}-against-clock", r, f"its clock has not seen {s.id}, {why}")
        return True

    def _unseen(self, times: Mapping[int, Clock]) -> bool:
        """Whether messages or links led, by way of events without clocks, from a clock to one that has not
        seen it; all of the way are given up. Cost: linear in the edges, times the processes without clocks.
        """
        events, previous = self._execution.events, self._execution.previous
        if len(times) == len(events) or not (self.pairs or self.links):
            return False
        odd: set[tuple[int, int]] = set()
        known: dict[int, _Clocked] = {}
        for event in self.order:
            found: _Clocked = {}
            for source in self.into(event):
                past: _Clocked = {events[source].process: (source, None)}
                past = known.get(source, past)
                if source != previous[event]:
                    past = {of: (clocked, (source, event, way)) for of, (clocked, way) in past.items()}
                if not found:
                    found = past
                    continue
                found = {**found}
                for of, (clocked, way) in past.items():
                    if of not in found or times[clocked].own > times[found[of][0]].own:
                        found[of] = clocked, way
            if event not in times:
                known[event] = found
                continue
            for clocked, way in found.values():
                while way is not None and times[clocked].missed_by(times[event]):
                    before, after, way = way  # noqa: PLW2901
                    odd.add((before, after))
        links = {*self.links}
        odd &= {*self.pairs, *links}
        for before, after in sorted(odd):
            one, other = events[before], events[after]
            what = "link" if (before, after) in links else "message"
            detail = f"a clock after it has not seen a clock before {one.id}"
            _add(self._report, f"{what}-against-clock", other, detail)
        self.pairs = [pair for pair in self.pairs if pair not in odd]
        self.links = [pair for pair in self.links if pair not in odd]
        return bool(odd)

    def _break_cycles(self) -> None:
        """Give up the messages and links that lie on cycles: they contradict the order of processes."""
        found = components(range(len(self._execution.events)), self.into)
        part = {event: component[0] for component in found for event in component}
        kept = []
        for sending, reception in self.pairs:
            if part[sending] == part[reception]:
                s, r = self._execution.events[sending], self._execution.events[reception]
                _add(self._report, "message-cycle", r, f"receives {r.message} before {s.id} sends it")
            else:
                kept.append((sending, reception))
        self.pairs = kept
        for before, after in self.links:
            if part[before] == part[after]:
                one, other = self._execution.events[before], self._execution.events[after]
                _add(self._report, "link-cycle", other, f"is after {one.id} and before it")
        self.links = [(a, b) for a, b in self.links if part[a] != part[b]]

    def _stamps(self) -> dict[int, Stamp]:
        """The stamps that are later than those of all that came before. Cost: linear in the edges."""
        entries = self._execution.events
        lamport = [-1] * len(entries)
        earliest: list[Number | float] = [float("-inf")] * len(entries)
        kept: dict[int, Stamp] = {}
        for event in self.order:
            for source in self.into(event):
                lamport[event] = max(lamport[event], lamport[source])
                earliest[event] = max(earliest[event], earliest[source])
            stamp = entries[event].stamp
            if stamp is None:
                continue
            late = stamp <= lamport[event] if isinstance(stamp, int) else stamp[1] < earliest[event]
            if late:
                detail = "its stamp is no later than that of an event before it"
                _add(self._report, "stamp-inversion", entries[event], detail)
                continue
            kept[event] = stamp
            if isinstance(stamp, int):
                lamport[event] = stamp
            else:
                earliest[event] = max(earliest[event], stamp[0])
        return kept


@dataclass(slots=True)
class Exchange:
    """The messages of an execution: `pairs` of a sending event and its reception.

    `sent` and `received` are the events that send or receive for the first time, matched or not. The messages
    of the givens are those of `message_events`: of the application, where it has a level of its own, and
    without those that were named by counting and have their other end in another log, under another name.
    """

    pairs: list[tuple[int, int]] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    message_events: list[int] = field(default_factory=list)


_Way = tuple[int, int, "_Way | None"] | None
"""The messages and links of a way, the last one first."""
_Clocked = dict[str, tuple[int, _Way]]
"""By process the last event with a clock, and by which way it came to be known."""
Ends = list[tuple[int, TraceEvent, str]]
"""The events of one kind, each with its message."""
Copies = dict[tuple[str, str | None], dict[str, int]]
"""By message and receiver (None: not recorded), each sender's first sending."""


def exchange(execution: Execution, report: Report) -> Exchange:
    """Match receptions with sendings; report what is repeated and what remains alone. Cost: linear.

    A `receive` answers a `send` and a `deliver` a `causal_send`, or the other where the log has no
    such sending of that message.
    """
    found = Exchange()
    ends: defaultdict[str, Ends] = defaultdict(list)
    for event, entry in enumerate(execution.events):  # each process in program order
        if entry.kind != "internal" and entry.message is not None:
            ends[entry.kind].append((event, entry, entry.message))
        elif entry.kind != "internal":
            _add(report, "no-message", entry, f"a {entry.kind} that does not name its message")
    copies: dict[str, Copies] = {kind: {} for kind in SENDS}
    for event, entry, message in chain.from_iterable(map(ends.__getitem__, SENDS)):
        known_copies = copies[entry.kind]
        firsts = [known_copies.setdefault((message, receiver), {}) for receiver in entry.to or (None,)]
        if all(entry.process in senders for senders in firsts):
            _add(report, "repeated-send", entry, f"{entry.process} sends {message} again")
            continue
        for senders in firsts:
            senders.setdefault(entry.process, event)
        found.sent.append(event)
    known = {kind: {message for message, _ in copies[kind]} for kind in SENDS}
    heard: set[tuple[str, str | None]] = set()
    for sending, receiving in SENDS.items():
        met: set[tuple[str, str]] = set()
        for event, entry, message in ends[receiving]:
            if (message, entry.process) in met:
                _add(report, "duplicate-receive", entry, f"{entry.process} receives {message} again")
                continue
            met.add((message, entry.process))
            heard.update(((message, entry.process), (message, None)))
            found.received.append(event)
            level = sending if message in known[sending] else OTHER_LEVEL[sending]
            open_ = copies[level].get((message, None), {})
            senders = {**open_, **copies[level].get((message, entry.process), {})}
            for process in senders.keys() & open_.keys():
                senders[process] = min(senders[process], open_[process])
            if len(senders) == 1:
                found.pairs.append((min(senders.values()), event))
            elif senders:
                among = ", ".join(sorted(senders))
                _add(report, "ambiguous-message", entry, f"{message} was sent by {among}")
            elif message in known[level]:
                _add(report, "wrong-receiver", entry, f"{message} was not sent to {entry.process}")
            else:
                _add(report, "unmatched-receive", entry, f"the sending of {message} is not in the log")
    for event in found.sent:
        entry = execution.events[event]
        missing = [to for to in entry.to or (None,) if (entry.message, to) not in heard]
        if missing:
            by = "" if missing == [None] else f" by {', '.join(str(name) for name in missing)}"
            message = f"the reception of {entry.message}{by} is not in the log"
            _add(report, "unreceived-send", entry, message)
    answered = {event for pair in found.pairs for event in pair}
    application = bool(ends["causal_send"] or ends["deliver"])
    for event in sorted((*found.sent, *found.received)):
        entry = execution.events[event]
        alone = isinstance(entry.message, Counted) and event not in answered
        if not alone and (entry.kind in ("causal_send", "deliver")) is application:
            found.message_events.append(event)
    return found


def _add(report: Report, kind: str, entry: TraceEvent, message: str) -> None:
    report.add(kind, f"{entry.id}: {message}", file=entry.file, line=entry.line)
