"""What is possible of two events as it is answered: in words, as JSON fields, with a world for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from microcosm.givens.relation import Relation
    from microcosm.queries.possible import Possibility, WitnessWorld


MOST_DRAWN = 30
"""A world of more events is not drawn for people; `--json` has it."""


def possible_fields(left: str, right: str, found: Possibility) -> dict[str, object]:
    """What is possible of two events, as JSON fields."""
    return {
        "pair": [left, right],
        "possible": [relation.value for relation in found.relations],
        "worlds": {relation.value: [w.order, w.before] for relation, w in found.worlds.items()},
        "exact": found.exact,
        **({"ignored": list(found.ignored)} if found.ignored else {}),
    }


def possible_lines(left: str, right: str, found: Possibility) -> Iterator[str]:
    """What is possible of two events, for people, with a world for each possibility."""
    from microcosm.cli.show.explain import statement
    from microcosm.worlds.propagation import MEMBERS

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


def _world(world: WitnessWorld) -> list[str]:
    """The covering pairs of a world, and the order of its events."""
    from microcosm.cli.show.explain import statement
    from microcosm.text.names import quote

    if len(world.order) > MOST_DRAWN:
        return [f"  (a world of {len(world.order):,} events; --json has it)"]
    ordered = {event for pair in world.before for event in pair}
    drawn = [f"  {statement(a, '<', b)}" for a, b in world.before]
    alone = [quote(event) for event in world.order if event not in ordered]
    if alone:
        drawn.append(f"  {', '.join(alone)} concurrent with every other event")
    return drawn


SIGNS = {"<": "<", ">": ">", "||": "||", "<>": "<>", ">||": "!<", "<||": "!>", "<>||": "."}
"""What may be, and its sign; anything is a dot."""


def joined(relations: tuple[Relation, ...]) -> str:
    """What may be as one sign: `<>` for `<` and `>`, `!<` for `>` and `||`, `.` for anything.

    >>> from microcosm.givens.relation import Relation
    >>> joined((Relation.AFTER, Relation.CONCURRENT)), joined((Relation.BEFORE,))
    ('!<', '<')
    """
    return SIGNS["".join(str(relation) for relation in relations)]
