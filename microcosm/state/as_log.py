"""A microcosm as a log, for what reads logs: its events, the process of each, and what each comes after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from microcosm.errors import TextError
from microcosm.givens.columns import Message
from microcosm.givens.event_table import EventRow
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Relation, Stamp
from microcosm.order.happens_before import Cycle, cycle_or_order, edge_sets
from microcosm.order.order import given_edges, happens_before
from microcosm.text.names import quote
from microcosm.traces.event import LARGEST, TraceEvent, in_trace
from microcosm.traces.report import Extraction, Report


def log_of(givens: Givens, file: str, report: Report) -> Iterator[TraceEvent]:
    """The events of a microcosm as those of a log, each behind what is given to come before it.

    Whose an event is and where it stands there is what its `event` line says. Without one it belongs to the
    process of its message, where the given order places it among that process's events; else to nobody, and
    is a process by itself, named as it is, with `'` behind where something else speaks of a process so named.
    A `<` that neither process nor message tells is a link. What a log cannot say (`||`, `<>`, refutations,
    tokens, orderings, clocks of which some did not tick) is reported as `left-out`.

    Raises `TextError` where the given order does not place a message's event in its process, or another way
    than the `event` lines, where an event has several messages or a number no log holds, and for a cycle.
    Cost: linear, and for the order of processes that of the order.
    """
    position = givens.numbers()
    for name in () if givens.events is None else givens.events.names:
        position.setdefault(name, len(position))
    edges = given_edges(givens, position)
    try:
        ordered = cycle_or_order(len(position), *edge_sets(len(position), edges))
    except Cycle:
        raise TextError("is no log: its events come after one another in a circle", file=file) from None
    names = [*position]
    messages = _messages(givens, file)
    rows = _placed(givens, position, ordered, edges, messages, file)
    sources = {(f.left, f.right): f.source for f in givens.external.values()}
    sendings = Counter(message.message for message in messages.values() if message.kind == "send")
    after: dict[str, list[str]] = {}
    for left, right in sorted(set(edges)):
        one, other = rows[names[left]], rows[names[right]]
        if one.process == other.process and one.seq >= other.seq:
            pair = f"{quote(one.name)} is given before {quote(other.name)}"
            fault = f"{pair}, and their `event` lines say otherwise"
            raise TextError(fault, file=file)
        sent, received = messages.get(one.name), messages.get(other.name)
        carried = (
            sent is not None
            and received is not None
            and (sent.kind, received.kind, received.message) == ("send", "receive", sent.message)
            and sendings[sent.message] == 1
            and (not sent.receivers or received.process in sent.receivers)
        )
        if one.process != other.process and not carried:
            after.setdefault(other.name, []).append(one.name)
    clocks = givens.clocks
    if not all(clock.ticked and clock.execution is None for clock in clocks.values()):
        clocks = {}  # of a log each event with a clock ticked; what they order, links say
    _report_left_out(givens, len(givens.clocks) - len(clocks), file, report)
    for at in ordered:
        row = rows[names[at]]
        message, clock, stamp = messages.get(row.name), clocks.get(row.name), givens.stamps.get(row.name)
        yield _event(row, message, clock, stamp, after.get(row.name, []), rows, sources, file)


def extraction_of(givens: Givens) -> Extraction:
    """A microcosm as if it had been extracted, with its counts. Cost: linear."""
    table = givens.events
    processes = {
        *givens.processes,
        *(m.process for m in givens.messages),
        *(table.processes if table else ()),
    }
    return Extraction(
        givens=givens,
        events=len({*givens.named(), *(table.names if table else ())}),
        processes=len(processes),
        messages=len({m.message for m in givens.messages}),
        correspondences=givens.external_count + max(0, len(givens.internal) - 1),
        isolated=0,
        outside=0,
        reported={},
    )


def _messages(givens: Givens, file: str) -> dict[str, Message]:
    found: dict[str, Message] = {}
    for message in givens.messages:
        if found.setdefault(message.event, message) is not message:
            fault = f"{quote(message.event)} has several messages, and an event of a log has one at most"
            raise TextError(fault, file=file)
    return found


def _placed(
    givens: Givens,
    position: Mapping[str, int],
    ordered: list[int],
    edges: list[tuple[int, int]],
    messages: Mapping[str, Message],
    file: str,
) -> dict[str, EventRow]:
    """What is known of each event, with its process and its place there, in the order of `position`."""
    owner = {event: process for process, events in givens.processes.items() for event in events}
    owner |= {event: clock.process for event, clock in givens.clocks.items()}
    owner |= {event: message.process for event, message in messages.items()}
    taken = {*owner.values(), *(() if givens.events is None else givens.events.processes)}
    taken.update(*(message.receivers for message in messages.values()))
    taken.update(*(clock.entries for clock in givens.clocks.values()))
    rank = dict(zip(ordered, range(len(ordered)), strict=True))
    rows: dict[str, EventRow] = {}
    loose: dict[str, list[str]] = {}
    ordered_chains: set[str] = set()
    for name in position:
        row = (givens.events and givens.events.row(name)) or EventRow(name)
        process = row.process or owner.get(name, "")
        if process and row.seq:
            ordered_chains.add(process)
        elif process:
            loose.setdefault(process, []).append(name)
        else:
            process = name
            while process in taken:
                process += "'"
            taken.add(process)
        rows[name] = row if row.process and row.seq else row._replace(process=process, seq=1)
    order = None
    for process, events in loose.items():
        events.sort(key=lambda name: rank[position[name]])
        order = order or happens_before(len(position), edges)
        unordered = next(
            (p for p in pairwise(events) if not order.before(position[p[0]], position[p[1]])), None
        )
        if unordered is not None or process in ordered_chains:
            between = " and ".join(map(quote, unordered or events[:1]))
            fault = f"nothing says where in process {quote(process)} {between} stand"
            raise TextError(fault, file=file, hint="Lines `event NAME process P seq N` say so.")
        rows.update((name, rows[name]._replace(seq=at)) for at, name in enumerate(events, 1))
    return rows


def _event(
    row: EventRow,
    message: Message | None,
    clock: Clock | None,
    stamp: Stamp | None,
    after: list[str],
    rows: Mapping[str, EventRow],
    sources: Mapping[tuple[str, str], str | None],
    file: str,
) -> TraceEvent:
    trace = row.trace

    def bare(name: str) -> str:
        return name if trace is None else name.removeprefix(f"{trace}/")

    process, name = bare(row.process), row.message if row.message is not None else message and message.message
    numbers = [row.seq or 0, *(clock.entries.values() if clock else ())]
    numbers += stamp if type(stamp) is tuple else [stamp or 0]
    if max(map(abs, numbers)) > LARGEST:
        fault = f"{quote(row.name)} has a number that no log holds: they go to {LARGEST:,}"
        raise TextError(fault, file=file)
    kind = row.kind or ("internal" if message is None else message.kind)
    own = in_trace(trace, f"{process}:{row.seq}") == row.name
    return TraceEvent(
        process,
        row.seq,
        kind,
        None if name is None else bare(name),
        tuple(map(bare, message.receivers)) if message else (),
        {bare(name): count for name, count in clock.entries.items()} if clock else None,
        stamp,
        row.label,
        row.attributes,
        trace,
        None if own else row.name,
        tuple(bare(each) if rows[each].trace == trace else each for each in after),
        row.file or file,
        row.line,
        links=tuple(sources.get((each, row.name)) or "given" for each in after),
    )


def _report_left_out(givens: Givens, clocks: int, file: str, report: Report) -> None:
    others = [fact for fact in givens.external.values() if fact.relation is not Relation.BEFORE]
    counts = {
        "correspondences other than <": len(others) + len(givens.refuted),
        "clocks of which some did not tick, or of several executions": clocks,
        "tokens": len(givens.tokens),
        "orderings": len(givens.orderings),
        "`complete`": int(bool(givens.complete)),
    }
    found = [f"{what} ({count:,})" if what[0] != "`" else what for what, count in counts.items() if count]
    if found:
        report.add("left-out", f"a log cannot say what this says: {', '.join(found)}", file=file)
