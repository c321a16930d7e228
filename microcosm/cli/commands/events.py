"""`events`: which events there are, in the words of the log, and which of them say something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import chain
from os.path import exists
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.givens.event_table import EventRow
    from microcosm.state.microcosm import Microcosm

app = typer.Typer()


@app.command("events")
def events(
    asked: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE... [FIELD=VALUE]...",
            help=f"What to read: {options.WHAT} Then what the events have: process=alice, kind=send, "
            "http.status=500, ...",
        ),
    ],
    grep: Annotated[
        str | None,
        typer.Option("--grep", metavar="REGEX", help="Only events in whose name or label this is found."),
    ] = None,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
) -> int:
    """The events of a log or a microcosm, with their words, in natural order (p:2 before p:10).

    Each with its process, what it sends or receives, and where it was read. FIELD is one of name, process,
    seq, kind, message, label, trace, time, file and line, or an attribute of the log by its dotted name.
    --json: an object a line for each event. Exit 0, or 3 where no event is so.

    \b
    Examples:
      microcosm events photo-album.jsonl --grep upload
      microcosm events photo-album.jsonl process=phone kind=send --json
    """
    from microcosm.cli import reading
    from microcosm.queries.events import having, matching, rows_of

    files, wanted = _parted(asked)
    known = reading.load(files, rules, strict=strict)
    rows = [*rows_of(known)] if grep is None else matching(grep, known)
    found = [*having(rows, wanted)]
    if not found and wanted:
        _refuse_unknown(known, wanted)
    if json:
        for row in found:
            output.emit(fields(row))
    else:
        output.say_all(lines(found))
        output.note(f"{len(found):,} {'event' if len(found) == 1 else 'events'}")
    return exits.HOLDS if found else exits.UNDECIDED


def fields(row: EventRow) -> dict[str, object]:
    """An event as JSON fields; null where nothing is known."""
    return {
        **{name: value or None for name, value in row._asdict().items()},
        "attributes": dict(row.attributes),
    }


def lines(rows: Iterable[EventRow]) -> Iterator[str]:
    """Events for people, a line each: name, words, what is sent or received, where it was read."""
    from microcosm.text.names import quote, string

    for row in rows:
        words = [] if not row.label or row.label == row.name else [string(row.label)]
        message = [f"{row.kind} {quote(row.message)}"] if row.message else []
        said = "  ".join([quote(row.name), *words, *message])
        yield f"{said}   ({output.printable(row.place)})" if row.place else said


def _parted(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """The files on a command line, and the fields that are asked for. Raises `UsageError`."""
    files = [each for each in arguments if "=" not in each or exists(each)]
    pairs = [each.partition("=") for each in arguments if each not in files]
    if not files:
        raise exits.UsageError("missing FILE: say FILE, and then what the events have")
    return files, {name: value for name, _, value in pairs}


def _refuse_unknown(known: Microcosm, wanted: Mapping[str, str]) -> None:
    """Raise `UsageError` for a field that no event has."""
    from microcosm.givens.event_table import EventRow
    from microcosm.queries.events import member, rows_of

    rows = [*rows_of(known)]
    there = {*EventRow._fields, *chain.from_iterable(row.attributes for row in rows)} - {"attributes"}
    for name in wanted:
        if name not in there and not any(member(row, name) is not None for row in rows):
            near = get_close_matches(name, there, 3) or sorted(there)[:12]
            raise exits.UsageError(f"no event has a field {name!r}: {', '.join(near)}")
