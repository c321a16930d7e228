"""Whether anything fits what is given, as it is said: in answers, beside them, and in warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from microcosm.cli import output
from microcosm.cli.options import stop_after

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.queries.conflict import Given
    from microcosm.state.microcosm import Microcosm
    from microcosm.worlds.search import Stop


FITS = "consistent: some world fits all that is given"
NO_WORLD = "inconsistent: no world fits all of this, and without any one of them some world does"
OUT_OF_ORDER = "inconsistent: the network is known to keep an ordering of messages that this contradicts"
INCOMPLETE = "inconsistent: the log is stated to be complete, which contradicts what it gives"


MOST_EVENTS = 20_000
"""Among more events, online answers do not wait for a search for deeper contradictions."""


LONGEST = 0.5
"""Seconds that such a search may take."""


def warn_if_inconsistent(known: Microcosm, file: str) -> None:
    """Warn where no world fits what is given, though online decision making does not see it."""
    given = known.givens
    stated = (fact.relation.value == "<>" for fact in given.external.values())
    if not (given.refuted or given.stamps or given.tokens or given.clocks or any(stated)):
        return
    from microcosm.worlds.possible import Undecided

    if len(given.clocks) > MOST_EVENTS or len(given.external) > MOST_EVENTS:
        return
    try:
        fits = known.worlds.one(stop_after(LONGEST)) is not None
    except Undecided:
        return
    if not fits:
        output.warn(f"no world fits all that {file} gives: `microcosm check` says why")


def say_inconsistent(file: str, givens: Givens, stop: Stop | None) -> list[str] | None:
    """Say on standard error that no world fits, and why; the conflict as statements, None if out of time."""
    from microcosm.queries.conflict import conflict
    from microcosm.worlds.possible import Undecided

    try:
        found = conflict(givens, stop)
    except Undecided:
        output.complain(f"error: {file}: inconsistent: no world fits all that is given")
        return None
    output.complain(f"error: {file}: {NO_WORLD if found else beyond(givens)}", *conflict_lines(found or ()))
    return statements(found)


def beyond(givens: Givens) -> str:
    """Why no world fits, where that is for what is stated of messages."""
    return OUT_OF_ORDER if givens.orderings else INCOMPLETE


def too_wide(givens: Givens, ignored: Sequence[str]) -> str:
    """That possibilities may be too many, for what was not taken into account, and why it was not."""
    from microcosm.order.order import lacking

    said = f"{' and '.join(ignored)}: not taken into account in full, so what is listed may be impossible"
    why = lacking(givens) if "complete" in ignored else None
    return said if why is None else f"{said} (the log is stated to be complete, but {output.printable(why)})"


def statements(conflict: Sequence[Given] | None) -> list[str] | None:
    """A conflict as statements of a microcosm file."""
    from microcosm.queries.conflict import statement

    return None if conflict is None else [statement(given) for given in conflict]


def conflict_lines(conflict: Sequence[Given]) -> list[str]:
    """A conflict for people: each given with where it comes from."""
    from microcosm.cli.show.provenance import given_from
    from microcosm.givens.relation import Correspondence
    from microcosm.queries.conflict import statement

    return [
        f"  {output.printable(statement(given))}"
        + (f"   ({given_from(given.source)})" if isinstance(given, Correspondence) else "")
        for given in conflict
    ]
