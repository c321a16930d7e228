"""`possible`: what may be, exactly, each possibility with a world that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.givens.relation import Relation
    from microcosm.queries.possible import Possibility, Witness

app = typer.Typer()

MOST_EVENTS = 30
"""A world of more events is not drawn for people; `--json` has it."""


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
    from microcosm.cli.commands.ask import check
    from microcosm.cli.commands.ask.online import note_unknown_events, unknown_events

    reading.distinct(left, right)
    known = reading.load(file, rules, strict=strict)
    stop = check.stop_after(limit)
    found = known.possible(left, right, stop, must_exist=must_exist)
    note_unknown_events(known, left, right)
    told = {**fields(left, right, found), **unknown_events(known, left, right)}
    if found.ignored:
        output.warn(check.too_wide(known.givens, found.ignored))
    if not found.relations:
        told["conflict"] = check.say_inconsistent(file, known.givens, stop)
    if json:
        output.emit(told)
    elif found.relations:
        output.say(*lines(left, right, found))
    if not found.relations:
        return exits.REFUTED
    return exits.HOLDS if found.decided else exits.UNDECIDED


def fields(left: str, right: str, found: Possibility) -> dict[str, object]:
    """What is possible of two events, as JSON fields."""
    return {
        "pair": [left, right],
        "possible": [relation.value for relation in found.relations],
        "worlds": {relation.value: [w.order, w.before] for relation, w in found.worlds.items()},
        "exact": found.exact,
        **({"ignored": list(found.ignored)} if found.ignored else {}),
    }


def lines(left: str, right: str, found: Possibility) -> Iterator[str]:
    """What is possible of two events, for people, with a world for each possibility."""
    from microcosm.cli.show.explain import statement
    from microcosm.worlds.possible_table import MEMBERS

    shown = " or ".join(statement(left, str(relation), right) for relation in found.relations)
    ruled_out = [str(relation) for relation in MEMBERS if relation not in found.relations]
    note = f"{' and '.join(ruled_out)} ruled out" if ruled_out else "nothing is ruled out"
    if found.ignored:
        note += f", {' and '.join(found.ignored)} not being taken into account in full"
    yield f"{shown}   ({note})"
    for relation in found.relations:
        said = statement(left, str(relation), right)
        yield ""
        if relation in found.worlds:
            yield f"{said}, for example, where"
            yield from _world(found.worlds[relation])
        else:
            yield f"{said} was neither found possible nor ruled out in time"


def _world(world: Witness) -> list[str]:
    """The covering pairs of a world, and the order of its events."""
    from microcosm.cli.show.explain import statement
    from microcosm.text.names import quote

    if len(world.order) > MOST_EVENTS:
        return [f"  (a world of {len(world.order):,} events; --json has it)"]
    ordered = {event for pair in world.before for event in pair}
    lines = [f"  {statement(a, '<', b)}" for a, b in world.before]
    alone = [quote(event) for event in world.order if event not in ordered]
    if alone:
        lines.append(f"  {', '.join(alone)} concurrent with every other event")
    return lines


def joined(relations: tuple[Relation, ...]) -> str:
    """What may be as one sign: `<>` for `<` and `>`, `!<` for `>` and `||`, `.` for anything.

    >>> from microcosm.givens.relation import Relation
    >>> joined((Relation.AFTER, Relation.CONCURRENT)), joined((Relation.BEFORE,))
    ('!<', '<')
    """
    return SIGNS["".join(str(relation) for relation in relations)]


SIGNS = {"<": "<", ">": ">", "||": "||", "<>": "<>", ">||": "!<", "<||": "!>", "<>||": "."}
"""What may be, and its sign; anything is a dot."""
