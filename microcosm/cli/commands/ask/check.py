"""`check`: whether all that is given can be true together, and if not, which givens contradict each other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.derivation import Derivation
    from microcosm.logic.rulebook import RuleBook
    from microcosm.queries.conflict import Given
    from microcosm.state.microcosm import Microcosm
    from microcosm.worlds.search import Stop

app = typer.Typer()

FITS = "consistent: some world fits all that is given"
NO_WORLD = "inconsistent: no world fits all of this, and without any one of them some world does"
OUT_OF_ORDER = "inconsistent: the network is known to keep an ordering of messages that this contradicts"
INCOMPLETE = "inconsistent: the log is stated to be complete, which contradicts what it gives"
UNDECIDED = "undecided: the search was stopped before it was known whether any world fits"


@app.command("check")
def check(
    files: options.Files, limit: options.Limit = None, json: options.Json = False, rules: options.Rules = None
) -> int:
    """Whether all that is given can be true together.

    Finds every contradiction, also those that only a search by cases sees, and names as few givens as
    contradict one another. Exit 0 if some world fits each file, 1 if not.

    \b
    Example:
      microcosm check phone.mc laptop.mc
    """
    from microcosm.cli import reading

    reading.standard_input_once(files)
    book = reading.rulebook(rules)
    codes = [_check(file, json, book, stop_after(limit)) for file in files]
    worst = (exits.USAGE, exits.BAD_INPUT, exits.REFUTED, exits.UNDECIDED, exits.HOLDS)
    return next(code for code in worst if code in codes)


def _check(file: str, json: bool, book: RuleBook, stop: Stop | None) -> int:
    from microcosm.cli import reading
    from microcosm.cli.commands.ask.online import show_proof
    from microcosm.cli.show.lemmas import proof_object
    from microcosm.queries.conflict import conflict
    from microcosm.queries.possible import Worlds
    from microcosm.worlds.possible import Undecided

    try:
        givens = reading.givens_of(file)
        shown: exits.Inconsistent | None = None
        try:
            reading.microcosm_of(givens, book)
        except exits.Inconsistent as error:
            shown = error
        fits = shown is None and Worlds(givens).one(stop) is not None
        found = None if fits else conflict(givens, stop)
        proof = None if fits and not givens.beyond_worlds else _proof(givens, book, shown, stop)
        consistent = fits and proof is None  # of orderings and complete logs worlds know nothing
    except Undecided:
        if json:
            output.emit({"consistent": None, "derivation": None, "conflict": None})
        else:
            output.say(f"{file}: {UNDECIDED}")
        return exits.UNDECIDED
    except exits.EXPECTED as error:
        return exits.failure(error, "microcosm check")
    if json:
        derivation = None if proof is None else proof_object(proof)
        output.emit({"consistent": consistent, "derivation": derivation, "conflict": statements(found)})
    elif shown is not None:
        output.say(f"{file}: {shown}")
        exits.show_sides(shown, sys.stdout, givens)
    else:
        output.say(f"{file}: {FITS if consistent else NO_WORLD if found else beyond(givens)}")
        output.say(*conflict_lines(found or ()))
        if proof is not None:
            output.say("")
            show_proof(reading.microcosm_of(givens, book), proof)
    return exits.HOLDS if consistent else exits.REFUTED


def _proof(
    givens: Givens, book: RuleBook, shown: exits.Inconsistent | None, stop: Stop | None
) -> Derivation | None:
    """A derivation of the contradiction by the rules; None where they do not see it, or not in time."""
    from microcosm.engine.offline.refutation import Stopped
    from microcosm.state.contradiction import clash_node
    from microcosm.state.microcosm import Microcosm

    if shown is not None:
        return clash_node(shown)
    try:
        return Microcosm(givens, rules=book).contradiction(stop=stop)
    except Stopped:
        return None


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


def stop_after(seconds: float | None) -> Stop | None:
    """For `--limit`: whether so many seconds have gone by since now."""
    if seconds is None:
        return None
    from time import monotonic

    end = monotonic() + seconds
    return lambda: monotonic() >= end


def beyond(givens: Givens) -> str:
    """Why no world fits, where that is for what is stated of messages."""
    return OUT_OF_ORDER if givens.orderings else INCOMPLETE


def too_wide(givens: Givens, ignored: Sequence[str]) -> str:
    """That possibilities may be too many, for what was not taken into account, and why it was not."""
    from microcosm.order.whole import lacking

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
    from microcosm.givens.correspondence import Correspondence
    from microcosm.queries.conflict import statement

    return [
        f"  {output.printable(statement(given))}"
        + (f"   ({given_from(given.source)})" if isinstance(given, Correspondence) else "")
        for given in conflict
    ]


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
