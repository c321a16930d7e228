"""`table` in the modes `possible` and `offline`: for every pair, which of `<`, `>` and `||` is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from microcosm.cli import exits, output

if TYPE_CHECKING:
    from microcosm.givens.relation import Relation
    from microcosm.queries.possible import Left
    from microcosm.state.microcosm import Microcosm
    from microcosm.worlds.search import Stop

UNDECIDED = "some of these were not decided in time, and may be impossible"


def show(file: str, known: Microcosm, every: bool, json: bool, stop: Stop | None) -> int:
    """Answer for one file; the exit code: 0, 1 where no world fits it, 3 where `stop` came first."""
    from microcosm.cli.commands.ask.check import say_inconsistent, too_wide
    from microcosm.cli.commands.ask.table import stream

    events = known.events
    found = known.possible_table(stop)
    if found is None:
        conflict = say_inconsistent(file, known.givens, stop)
        if json:
            stream(file, events, (), {"exact": True, "conflict": conflict})
        return exits.REFUTED
    pairs, decided = found
    ignored = known.worlds.ignored
    fields: dict[str, object] = {"exact": decided and not ignored}
    if ignored:
        fields["ignored"] = list(ignored)
    _show(file, events, pairs, every, fields if json else None)
    if not decided:
        output.warn(UNDECIDED)
    if ignored:
        output.warn(too_wide(known.givens, ignored))
    return exits.HOLDS if decided else exits.UNDECIDED


def show_offline(file: str, known: Microcosm, every: bool, json: bool, depth: int) -> int:
    """What the offline rules leave of each pair at a depth; exit code 1 where they contradict themselves."""
    from microcosm.cli.commands.ask.offline import INCONSISTENT
    from microcosm.cli.commands.ask.online import show_proof
    from microcosm.cli.commands.ask.table import stream
    from microcosm.cli.show.lemmas import proof_object
    from microcosm.queries.offline import Inconsistent

    try:
        pairs = known.offline_table(depth=depth)
    except Inconsistent as problem:
        if json:
            stream(
                file, known.events, (), {"consistent": False, "derivation": proof_object(problem.derivation)}
            )
        else:
            output.say(f"inconsistent: {INCONSISTENT}", "")
            show_proof(known, problem.derivation)
        return exits.REFUTED
    _show(file, known.events, pairs, every, {} if json else None)
    return exits.HOLDS


def _show(
    file: str, events: list[str], pairs: Iterable[Left], every: bool, fields: dict[str, object] | None
) -> None:
    """The table; `fields`: as JSON, with these at its end."""
    from microcosm.cli.commands.ask.table import MOST_EVENTS, stream

    if fields is not None:
        stream(file, events, pairs, fields)
    elif every:
        from microcosm.text.names import quote

        name = {event: quote(event) for event in events}
        output.say_all(f"{name[a]}, {name[b]}: {' '.join(map(str, left))}" for a, b, left in pairs)
    elif len(events) < 2:
        output.say(f"{len(events)} events, no pair")
    elif len(events) <= MOST_EVENTS:
        _matrix(events, list(pairs))
    else:
        _counts(len(events), Counter(left for _, _, left in pairs))


def _matrix(events: list[str], pairs: list[Left]) -> None:
    from microcosm.cli.commands.ask.possible import joined
    from microcosm.cli.commands.ask.table import draw_matrix
    from microcosm.worlds.possible_table import MEMBERS

    cell = {}
    for a, b, left in pairs:
        cell[a, b] = joined(left)
        cell[b, a] = joined(tuple(r for r in MEMBERS if r.converse in left))
    draw_matrix(events, cell)
    output.say("<> is one of < and >, !< one of > and ||, !> one of < and ||; a dot is any of the three.")


def _counts(events: int, found: Counter[tuple[Relation, ...]]) -> None:
    from microcosm.cli.commands.ask.table import draw, new_table

    drawn = new_table("possible")
    drawn.add_column("pairs", justify="right")
    for left, count in found.most_common():
        drawn.add_row(" or ".join(map(str, left)), f"{count:,}")
    output.say(f"{events:,} events, {found.total():,} pairs; --all prints every pair", "")
    draw(drawn)
