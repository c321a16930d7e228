"""`verify`: the kernel checks a derivation, or an answer of online, offline, check, possible, assert."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Typer

from microcosm import files
from microcosm.cli import exits, options, output, reading
from microcosm.errors import Stopped
from microcosm.kernel import check as kernel
from microcosm.kernel.consistent import surely_consistent
from microcosm.text.json_form import TwiceError, decode_json

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.rulebook import RuleBook
    from microcosm.worlds.search import Stop

app = Typer()


@app.command("verify")
def verify(
    asked: Annotated[
        list[str],
        Argument(
            metavar="FILE... PROOF",
            help=f"What to read: {options.WHAT} Then a derivation, or a whole answer of online, offline, "
            "check, possible or assert.",
        ),
    ],
    limit: options.Limit = None,
) -> int:
    """Check a proof with the kernel, or a whole answer of online, offline, check, possible or assert.

    The kernel is small, shares no code with the search that finds proofs, and checks every step against
    the microcosm and the rules. What an answer says beside its derivations is worked out anew: with a
    field that is not so, or that no such answer has, it is not valid. Answers of table, bisim, diff and
    why-not have nothing to verify. Exit 0 if it is valid, 1 if not, 3 if --limit came before that was
    known; what is no JSON at all is bad input (4).

    \b
    Example:
      microcosm online album.mc unshare view --json > proof.json
      microcosm verify album.mc proof.json
    """
    reading.standard_input_once(asked)
    paths, (proof,) = reading.split(asked, "PROOF")
    givens, book = reading.givens_of(paths), reading.rulebook()
    if options.rules() is not None:
        from microcosm.engine.lowering import compile_rules

        compile_rules(book)  # those that cannot be ordered are bad input, whatever is to be verified
    fault: str | None
    try:
        stated = decode_json(files.read_text(proof), files.display_name(proof), deep=True)
    except TwiceError as twice:
        fault = twice.message
    else:
        if not _concludes_contradiction(stated) and not surely_consistent(givens, book):
            reading.microcosm_of(givens, book)  # of givens that exclude each other nothing else is said
        limited = Limited(options.stop_after(limit))
        with output.progress("verifying", units="steps") as steps:
            try:
                fault = fault_of(stated, givens, book, steps.stopping(limited))
            except Stopped:
                fault = "not decided in time"
        if limited.reached and fault is not None:
            message = "undecided: --limit came before all of the answer was worked out anew"
            return output.answer({"valid": None, "fault": None}, message, exits.UNDECIDED)
    message = "valid: the kernel accepts every step" if fault is None else f"not valid: {fault}"
    return output.answer({"valid": fault is None, "fault": fault}, message, exits.holding(fault is None))


def _concludes_contradiction(stated: object) -> bool:
    """Whether a derivation or an answer says that the givens contradict each other."""
    found = stated.get("derivation", stated) if isinstance(stated, dict) else None
    conclusion = found.get("conclusion") if isinstance(found, dict) else None
    return isinstance(conclusion, dict) and conclusion.get("relation") == "contradiction"


class Limited:
    """A condition to stop, which remembers whether it was reached."""

    def __init__(self, stop: Stop | None) -> None:
        self._stop = stop
        self.reached = False

    def __call__(self) -> bool:
        self.reached = self.reached or (self._stop is not None and self._stop())
        return self.reached


ANSWERS = {"derivation", "derivations", "worlds", "pairs", "bisimilar", "holds"}
"""Fields that answers have and derivations have not."""


def fault_of(stated: object, givens: Givens, book: RuleBook, stop: Stop | None = None) -> str | None:
    """What is wrong with a derivation or an answer; None where every step and every field holds.

    For a derivation by itself nothing is loaded but the kernel and what it stands on.
    """
    if isinstance(stated, dict) and "questions" in stated:
        from microcosm.questions.ask import answer_fault
        from microcosm.state.evolve import built

        return answer_fault(stated, givens, book, partial(built, rules=book, strict=False))
    if isinstance(stated, dict) and "rule" not in stated and ANSWERS & stated.keys():
        from microcosm.cli.commands import claims

        return claims.fault(stated, givens, book, stop)

    return kernel.check(givens, book, stated)
