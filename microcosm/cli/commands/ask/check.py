"""`check`: whether all that is given can be true together, and if not, which givens contradict each other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from microcosm.cli import exits, options, output

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.derivation import Derivation
    from microcosm.logic.rulebook import RuleBook
    from microcosm.worlds.search import Stop

app = typer.Typer()

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
    codes = [_check(file, json, book, options.stop_after(limit)) for file in files]
    worst = (exits.USAGE, exits.BAD_INPUT, exits.REFUTED, exits.UNDECIDED, exits.HOLDS)
    return next(code for code in worst if code in codes)


def _check(file: str, json: bool, book: RuleBook, stop: Stop | None) -> int:
    from microcosm.cli import reading
    from microcosm.cli.show.consistency import FITS, NO_WORLD, beyond, conflict_lines, statements
    from microcosm.cli.show.lemmas import proof_object
    from microcosm.cli.show.verdict import show_proof
    from microcosm.queries.conflict import conflict
    from microcosm.queries.possible import Worlds
    from microcosm.worlds.possible import Undecided

    try:
        givens = reading.givens_of(file)
        shown: exits.InconsistentGivens | None = None
        try:
            reading.microcosm_of(givens, book)
        except exits.InconsistentGivens as error:
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
    givens: Givens, book: RuleBook, shown: exits.InconsistentGivens | None, stop: Stop | None
) -> Derivation | None:
    """A derivation of the contradiction by the rules; None where they do not see it, or not in time."""
    from microcosm.engine.refutation import Stopped
    from microcosm.state.contradiction import clash_node
    from microcosm.state.microcosm import Microcosm

    if shown is not None:
        return clash_node(shown)
    try:
        return Microcosm(givens, rules=book).contradiction(stop=stop)
    except Stopped:
        return None
