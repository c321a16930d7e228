"""Givens to the canonical text of a microcosm file, which reads back to equal givens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, repeat
from string import ascii_letters, digits

from microcosm.givens.clock import Clock, Stamp
from microcosm.givens.clock_columns import ClockColumns
from microcosm.givens.columns import Message, MessageColumns, OrderColumns
from microcosm.givens.event_table import Repeated
from microcosm.givens.exact import written
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence
from microcosm.text.event_line import line_of_event
from microcosm.text.names import KEYWORDS, quote, string
from microcosm.text.statement import PLAIN, is_default, might_be_place

_ROWS = 2048
"""So many links, or messages, are put together at a time; 65,536 take a quarter longer."""

_plain_lines = re.compile(rf"(?:{PLAIN}\n)*+{PLAIN}").fullmatch
_PLAIN_ASCII = (ascii_letters + digits + "_.:@/-").encode()
"""Of what plain names of ASCII are made (`PLAIN`)."""


def write_mc(givens: Givens, sources: bool = True, events: bool | None = None) -> str:
    r"""The whole file; see `mc_texts`.

    >>> write_mc(Givens(name="phone", internal=["e1", "log in"]))
    'name phone\ninternal e1 < "log in"\n'
    """
    return "".join(mc_texts(givens, sources, events))


def iter_mc(givens: Givens, sources: bool = True, events: bool | None = None) -> Iterator[str]:
    """The lines of the file, each with its line end; see `mc_texts`."""
    for text in mc_texts(givens, sources, events):
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
    if givens.links is not None:
        quoted = all_quoted(givens.links.names, names.__getitem__ if shown else quote)
        yield from _links(givens.links, quoted, sources)
    for given in (givens.external, givens.refuted) if givens.links is None else (givens.refuted,):
        for fact in given.values():
            yield _fact(fact, names, sources)
    for event, stamp in givens.stamps.items():
        yield f"stamp {names[event]} = {_stamp(stamp)}\n"
    if isinstance(givens.clocks, ClockColumns):
        yield from _clocks(givens.clocks, names)
    else:
        yield from (
            f"clock {names[event]} = {_clock(clock, names)}\n" for event, clock in givens.clocks.items()
        )
    if givens.told is not None:
        same = givens.links is not None and givens.links.names is givens.told.event
        yield from _told(givens.told, quoted if same else None, names)
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
        yield from (line_of_event(row, names) for row in table)


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
            together = "".join(texts)
            as_they_are = together.isprintable() and '"' not in together and "\\" not in together
            if as_they_are and len(texts) == len(some) and not might_be_place(together):
                yield [f' from "{text}"\n' for text in texts]
            else:
                yield [f"{_origin(source)}\n" for source in some]


def _told(told: MessageColumns, quoted: Sequence[str] | None, names: Quoted) -> Iterator[str]:
    """The lines of messages, as of the same messages one by one; memory: some of them.

    `quoted` are the names of all events of the columns, where they have been looked at already.
    """
    rows = told.rows()
    while some := [*islice(rows, _ROWS)]:
        if quoted is None:
            events = all_quoted([*map(told.event.__getitem__, some)])
        else:
            events = [*map(quoted.__getitem__, some)]
        kinds = map(told.kind.__getitem__, some)
        messages = all_quoted([*map(told.message.__getitem__, some)])
        whose = map(names.__getitem__, map(told.process.__getitem__, some))
        columns = zip(kinds, events, messages, whose, strict=True)
        yield "".join(
            [f"{kind} {event} = {message} {process}\n" for kind, event, message, process in columns]
        )


def _stamp(stamp: Stamp) -> str:
    return f"[{written(stamp[0])}, {written(stamp[1])}]" if isinstance(stamp, tuple) else str(stamp)


def _clocks(clocks: ClockColumns, names: Quoted) -> Iterator[str]:
    """The lines of clocks, as of the same clocks one by one."""
    events = all_quoted(clocks.names)
    forms: dict[tuple[int, ...], str] = {}
    whose = [names[process] for process in clocks.processes]
    for at in clocks.places():
        shape = clocks.shapes[at]
        form = forms.get(shape)
        if form is None:
            form = forms[shape] = ", ".join(f"{whose[process].replace('%', '%%')}: %d" for process in shape)
        yield f"clock {events[at]} = {whose[clocks.owners[at]]} {{{form % clocks.recorded(at)}}}\n"


def _clock(clock: Clock, names: Quoted) -> str:
    entries = ", ".join(f"{names[process]}: {count}" for process, count in clock.entries.items())
    execution = "" if clock.execution is None else f" in {names[clock.execution]}"
    return f"{names[clock.process]} {{{entries}}}{'' if clock.ticked else ' unticked'}{execution}"


def _message(message: Message, names: Quoted) -> str:
    text = f"{message.kind} {names[message.event]} = {names[message.message]} {names[message.process]}"
    if message.receivers:
        text += f" -> {', '.join(map(names.__getitem__, message.receivers))}"
    return text + "\n"


def all_quoted(names: Sequence[str], quoting: Callable[[str], str] = quote) -> Sequence[str]:
    """`quote` of each name, or what does the same; a quarter of its price where all are plain.

    >>> all_quoted(["a", "log in"]), all_quoted(["a", "b"])
    (['a', '"log in"'], ['a', 'b'])
    """
    if KEYWORDS.isdisjoint(names):
        parts = [names[at : at + 1000] for at in range(0, len(names), 1000)]
        if all(_plain_parts("\n".join(part), len(part)) for part in parts):
            return names
    return [*map(quoting, names)]


def _plain_parts(text: str, many: int) -> bool:
    """Whether so many names, one a line, are all plain; at a fifth of the price where they are ASCII."""
    if text.isascii():
        lines = f"\n{text}\n"
        in_turn = lines.encode().translate(None, _PLAIN_ASCII) == b"\n" * (many + 1)
        return in_turn and not any(odd in lines for odd in ("\n\n", "\n-", "-\n"))
    return text.count("\n") == many - 1 and _plain_lines(text) is not None


class Quoted(dict[str, str]):
    """Names as written, each quoted once."""

    def __missing__(self, name: str) -> str:
        written = self[name] = quote(name)
        return written
