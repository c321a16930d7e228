"""`verify`: the kernel checks a derivation, or an answer of online, offline, check, possible, assert."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm.cli import exits, options, output, progress
from microcosm.errors import MicrocosmError

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.rulebook import RuleBook
    from microcosm.worlds.search import Stop


app = typer.Typer()


@app.command("verify")
def verify(
    asked: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE... PROOF",
            help=f"What to read: {options.WHAT} Then a derivation, or a whole answer of online, offline, "
            "check, possible or assert.",
        ),
    ],
    limit: options.Limit = None,
    json: options.Json = False,
    rules: options.Rules = None,
) -> int:
    """Check a proof with the kernel, or a whole answer of online, offline, check, possible or assert.

    The kernel is small, shares no code with the search that finds proofs, and checks every step against
    the microcosm and the rules. What an answer says beside its derivations is worked out anew: with a
    field that is not so, or that no such answer has, it is not valid. Answers of table, bisim and why-not
    have nothing to verify. Exit 0 if it is valid, 1 if not, 3 if --limit came before that was known; what
    is no JSON at all is bad input (4).

    \b
    Example:
      microcosm online album.mc unshare view --json > proof.json
      microcosm verify album.mc proof.json
    """
    from microcosm import files
    from microcosm.cli import reading
    from microcosm.cli.commands import proof_input
    from microcosm.kernel.consistent import surely_consistent

    reading.standard_input_once(asked)
    paths, (proof,) = reading.split(asked, "PROOF")
    givens, book = reading.givens_of(paths), reading.rulebook(rules)
    if rules is not None:
        _require_strata(book)
    fault: str | None
    try:
        stated = proof_input.parse(files.read_text(proof), files.display_name(proof))
    except proof_input.TwiceError as twice:
        fault = str(twice)
    else:
        if not _concludes_contradiction(stated) and not surely_consistent(givens, book):
            reading.microcosm_of(givens, book)  # of givens that exclude each other nothing else is said
        limited = Limited(options.stop_after(limit))
        with progress.told("verifying", units="steps") as steps:
            fault = limited.decided(lambda: fault_of(stated, givens, book, steps.stopping(limited)))
        if limited.reached and fault is not None:
            if json:
                output.emit({"valid": None, "fault": None})
            else:
                output.say("undecided: --limit came before all of the answer was worked out anew")
            return exits.UNDECIDED
    if json:
        output.emit({"valid": fault is None, "fault": fault})
    elif fault is None:
        output.say("valid: the kernel accepts every step")
    else:
        output.say(f"not valid: {fault}")
    return exits.HOLDS if fault is None else exits.REFUTED


def _require_strata(book: RuleBook) -> None:
    """Raise `RuleError` for rules that cannot be ordered: they are bad input, whatever is to be verified."""
    from microcosm.engine.lowering import compile_rules

    compile_rules(book)


def _concludes_contradiction(stated: object) -> bool:
    """Whether a derivation or an answer says that the givens contradict each other."""
    found = stated.get("derivation", stated) if isinstance(stated, dict) else None
    said = found.get("conclusion") if isinstance(found, dict) else None
    return isinstance(said, dict) and said.get("relation") == "contradiction"


class Limited:
    """A condition to stop, which remembers whether it was reached."""

    def __init__(self, stop: Stop | None) -> None:
        self._stop = stop
        self.reached = False

    def __call__(self) -> bool:
        self.reached = self.reached or (self._stop is not None and self._stop())
        return self.reached

    def decided(self, fault: Callable[[], str | None]) -> str | None:
        """What `fault` finds; some text where it had to stop before."""
        try:
            return fault()
        except MicrocosmError as error:
            from microcosm.engine.refutation import Stopped
            from microcosm.worlds.possible import Undecided

            if not isinstance(error, Stopped | Undecided):
                raise
            return "not decided in time"


def fault_of(stated: object, givens: Givens, book: RuleBook, stop: Stop | None = None) -> str | None:
    """What is wrong with a derivation or an answer; None where every step and every field holds."""
    if isinstance(stated, dict) and "questions" in stated:
        from functools import partial

        from microcosm.questions.ask import answer_fault
        from microcosm.state.evolve import built

        return answer_fault(stated, givens, book, partial(built, rules=book, strict=False))
    from microcosm.cli.commands.proof_input import claimed
    from microcosm.kernel import check as kernel

    claims = claimed(stated)
    fault = claims.fault
    for derivation in claims.derivations if fault is None else ():
        fault = fault or kernel.check(givens, book, derivation)
    if fault is None and isinstance(stated, dict) and claims.kind != "derivation":
        from microcosm.cli.commands import rederived

        fault = rederived.fault(claims.kind, stated, givens, book, stop)
    return fault
