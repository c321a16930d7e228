"""`possible`: what may be, exactly, each possibility with a world that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    pass

app = typer.Typer()


@app.command("possible")
def possible(
    file: options.File,
    left: options.First,
    right: options.Second,
    limit: options.Limit = None,
    json: options.Json = False,
    rules: options.Rules = None,
    strict: options.Strict = False,
    must_exist: options.MustExist = False,
) -> int:
    """Which of <, > and || can be true of two events, and a world for each.

    The answer is exact: what is not listed is true in no world that fits the file, and what is listed is
    true in one. (Where the file states an ordering of messages, or a log to be complete that leaves out what
    such a log says, what is listed may be impossible all the same; the answer says so.) Exit 0; 1 if no
    world fits the file, with the givens that contradict one another; 3 if --limit came first.

    \b
    Example:
      microcosm possible album.mc notify like
    """
    from microcosm.cli import reading
    from microcosm.cli.show.consistency import say_inconsistent, too_wide
    from microcosm.cli.show.possible import possible_fields, possible_lines
    from microcosm.cli.show.verdict import note_unknown_events, unknown_events

    reading.distinct(left, right)
    known = reading.load(file, rules, strict=strict)
    stop = options.stop_after(limit)
    found = known.possible(left, right, stop, must_exist=must_exist)
    note_unknown_events(known, left, right)
    told = {**possible_fields(left, right, found), **unknown_events(known, left, right)}
    if found.ignored:
        output.warn(too_wide(known.givens, found.ignored))
    if not found.relations:
        told["conflict"] = say_inconsistent(file, known.givens, stop)
    if json:
        output.emit(told)
    elif found.relations:
        output.say(*possible_lines(left, right, found))
    if not found.relations:
        return exits.REFUTED
    return exits.HOLDS if found.decided else exits.UNDECIDED
