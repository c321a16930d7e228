"""Givens to the canonical text of a microcosm file, which reads back to equal givens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, repeat

from microcosm.givens.clock_columns import ClockColumns
from microcosm.givens.columns import Message, MessageColumns, OrderColumns
from microcosm.givens.event_table import Repeated
from microcosm.givens.exact import written
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence
from microcosm.text.event_line import lines_of_events
from microcosm.text.names import quote, string
from microcosm.text.statement import Quoted, all_quoted, as_they_are, is_default, might_be_place

_ROWS = 2048
"""So many links, or messages, are put together at a time; 65,536 take a quarter longer."""


def write_mc(givens: Givens, sources: bool = True, events: bool | None = None) -> str:
    r"""The whole file; see `mc_texts`.

    >>> write_mc(Givens(name="phone", internal=["e1", "log in"]))
    'name phone\ninternal e1 < "log in"\n'
    """
    return "".join(mc_texts(givens, sources, events))


def iter_mc(givens: Givens, events: bool | None = None) -> Iterator[str]:
    """The lines of the file, each with its line end; see `mc_texts`."""
    for text in mc_texts(givens, events=events):
        yield from map("{}\n".format, text[:-1].split("\n"))


def mc_texts(givens: Givens, sources: bool = True, events: bool | None = None) -> Iterator[str]:
    """The text of the file, some whole lines at a time, in the order in which things were given.

    Sources that somebody stated are written (unless `sources` is false); mere places are not, since
    the new file gives new ones. A token without events says nothing and is left out. What a log says of its
    events is written if `events`, and unless that is said where it has words for any of them.
    """
    names, table = Quoted(), givens.events
    shown = table is not None and (table.has_words if events is None else events)
    if givens.name is not None:
        yield f"name {quote(givens.name)}\n"
    if givens.internal:
        yield f"internal {' < '.join(map(names.__getitem__, givens.internal))}\n"
    quoted: Sequence[str] = ()
    if givens.order_columns is not None:
        quoted = all_quoted(givens.order_columns.names)
        yield from _links(givens.order_columns, quoted, sources)
    for given in (givens.external, givens.refuted) if givens.order_columns is None else (givens.refuted,):
        for fact in given.values():
            yield _fact(fact, names, sources)
    for event, stamp in givens.stamps.items():
        told = f"[{written(stamp[0])}, {written(stamp[1])}]" if isinstance(stamp, tuple) else str(stamp)
        yield f"stamp {names[event]} = {told}\n"
    if isinstance(givens.clocks, ClockColumns):
        yield from _clocks(givens.clocks, names)
    else:
        yield from (
            f"clock {names[event]} = {_clock(clock, names)}\n" for event, clock in givens.clocks.items()
        )
    if givens.message_columns is not None:
        same = givens.order_columns is not None and givens.order_columns.names is givens.message_columns.event
        yield from _messages(givens.message_columns, quoted if same else None, names)
    else:
        for message in givens.messages:
            yield _message(message, names)
    for process, owned in givens.processes.items():
        if owned:
            yield f"process {names[process]} = {', '.join(map(names.__getitem__, owned))}\n"
    for ordering in givens.orderings:
        yield f"ordering {ordering}\n"
    if givens.complete:
        named = givens.complete if isinstance(givens.complete, tuple) else ()
        yield f"complete {', '.join(map(names.__getitem__, named))}".rstrip() + "\n"
    for token, group in givens.tokens.items():
        if group:
            yield f"token {names[token]} = {', '.join(map(names.__getitem__, group))}\n"
    if table is not None and shown:
        same = givens.order_columns is not None and givens.order_columns.names is table.names
        yield from lines_of_events(table, names, _ROWS, quoted if same else None)


def _fact(fact: Correspondence, names: Quoted, sources: bool) -> str:
    origin = _origin(fact.source) if sources else ""
    return f"{names[fact.left]} {fact.relation.value} {names[fact.right]}{origin}\n"


def _origin(source: str | None) -> str:
    return "" if source is None or is_default(source) else f" from {string(source)}"


def _links(links: OrderColumns, quoted: Sequence[str], sources: bool) -> Iterator[str]:
    """The lines of links, as of the same facts one by one; memory: some of them. `quoted` are their names."""
    name = quoted.__getitem__
    ends = chain.from_iterable(_ends(links.sources)) if sources else repeat("\n")
    for at in range(0, len(links), _ROWS):
        lefts, rights = (map(name, column[at : at + _ROWS]) for column in (links.lefts, links.rights))
        yield "".join(chain.from_iterable(zip(lefts, repeat(" < "), rights, ends, strict=False)))


def _ends(sources: Iterable[Sequence[str | None]]) -> Iterator[Iterable[str]]:
    """How the line of each source ends; at a third of the price where all stand for themselves."""
    for is_one, pieces in groupby(sources, lambda piece: isinstance(piece, Repeated)):
        if is_one:
            yield from (repeat(f"{_origin(piece[0])}\n", len(piece)) for piece in pieces if piece)
            continue
        stated = chain.from_iterable(pieces)
        while some := [*islice(stated, _ROWS)]:
            texts = [source for source in some if source is not None]
            if len(texts) == len(some) and as_they_are(texts) and not might_be_place("".join(texts)):
                yield [f' from "{text}"\n' for text in texts]
            else:
                yield [f"{_origin(source)}\n" for source in some]


def _messages(messages: MessageColumns, quoted: Sequence[str] | None, names: Quoted) -> Iterator[str]:
    """The lines of messages, as of the same messages one by one; memory: some of them.

    `quoted` are the names of all events of the columns, where they have been looked at already.
    """
    rows = messages.rows()
    while some := [*islice(rows, _ROWS)]:
        if quoted is None:
            events = all_quoted([*map(messages.event.__getitem__, some)])
        else:
            events = [*map(quoted.__getitem__, some)]
        kinds = map(messages.kind.__getitem__, some)
        ids = all_quoted([*map(messages.message.__getitem__, some)])
        processes = map(names.__getitem__, map(messages.process.__getitem__, some))
        columns = zip(kinds, events, ids, processes, strict=True)
        yield "".join(
            [f"{kind} {event} = {message} {process}\n" for kind, event, message, process in columns]
        )


def _clocks(clocks: ClockColumns, names: Quoted) -> Iterator[str]:
    """The lines of clocks, as of the same clocks one by one; memory: those of some events of a process.

    All but the own component is written once for the events that have seen the same.
    """
    events = all_quoted(clocks.names)
    whose = [names[process] for process in clocks.processes]
    entries = [f"{name.replace('%', '%%')}: %d" for name in whose]
    shapes: dict[tuple[int, ...], tuple[int, str, str]] = {}
    for owner, thread in clocks.threads.items():
        shapes.clear()
        begins, begun, ends = f" = {whose[owner]} {{", "", ""
        seen: tuple[int, tuple[int, ...]] | None = None
        for first in range(0, len(thread), _ROWS):
            lines: list[str] = []
            for at in thread[first : first + _ROWS]:
                if seen is None or clocks.vectors[at] != seen[0] or clocks.shapes[at] != seen[1]:
                    seen = _, shape = clocks.vectors[at], clocks.shapes[at]
                    if shape not in shapes:
                        own = shape.index(owner)
                        form = [*map(entries.__getitem__, shape)]
                        before = "".join(map("{}, ".format, form[:own]))
                        after = "".join(map(", {}".format, form[own + 1 :]))
                        shapes[shape] = own, f"{before}{entries[owner][:-2]}", after
                    own, before, after = shapes[shape]
                    counts = clocks.recorded(at)
                    begun, ends = f"{begins}{before % counts[:own]}", f"{after % counts[own + 1 :]}}}\n"
                lines.append(f"clock {events[at]}{begun}{clocks.counts[at]}{ends}")
            yield "".join(lines)


def _clock(clock: Clock, names: Quoted) -> str:
    entries = ", ".join(f"{names[process]}: {count}" for process, count in clock.entries.items())
    execution = "" if clock.execution is None else f" in {names[clock.execution]}"
    return f"{names[clock.process]} {{{entries}}}{'' if clock.ticked else ' unticked'}{execution}"


def _message(message: Message, names: Quoted) -> str:
    text = f"{message.kind} {names[message.event]} = {names[message.message]} {names[message.process]}"
    if message.receivers:
        text += f" -> {', '.join(map(names.__getitem__, message.receivers))}"
    return text + "\n"
