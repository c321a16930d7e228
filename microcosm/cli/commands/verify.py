"""`verify`: the kernel checks a derivation, or an answer of online, offline, check, possible, assert."""

from __future__ import annotations

import json as json_text
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, NoReturn

from typer import Argument, Typer

from microcosm import files
from microcosm.cli import exits, options, output, reading
from microcosm.errors import MicrocosmError, Stopped, TextError
from microcosm.kernel import check as kernel
from microcosm.kernel.consistent import surely_consistent

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
        stated = parse(files.read_text(proof), files.display_name(proof))
    except TwiceError as twice:
        fault = str(twice)
    else:
        if not _concludes_contradiction(stated) and not surely_consistent(givens, book):
            reading.microcosm_of(givens, book)  # of givens that exclude each other nothing else is said
        limited = Limited(options.stop_after(limit))
        with output.progress("verifying", units="steps") as steps:
            fault = limited.decided(lambda: fault_of(stated, givens, book, steps.stopping(limited)))
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

    def decided(self, fault: Callable[[], str | None]) -> str | None:
        """What `fault` finds; some text where it had to stop before."""
        try:
            return fault()
        except Stopped:
            return "not decided in time"


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


LONGEST_INTEGER = 300
"""An integer of more digits than any count has is read as a float."""


class TwiceError(MicrocosmError, ValueError):
    """A key that stands twice in one object: well-formed JSON that says two things."""


def parse(text: str, file: str) -> object:
    """The value of a JSON text. Raises `TextError` where it is none, `TwiceError` for a duplicate key."""
    try:
        return json_text.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, strict=True
        )
    except json_text.JSONDecodeError as error:
        _refuse(text, error.pos, error.msg, file)
    except _NoJSON as error:
        _refuse(text, max(text.find(str(error)), 0), f"{error} is no JSON value", file)
    except RecursionError:
        return deep(text, file)


def _refuse(text: str, at: int, message: str, file: str) -> NoReturn:
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    raise TextError(
        f"is no JSON: {message}",
        file=file,
        line=text.count("\n", 0, at) + 1,
        column=at - begin + 1,
        text=text[begin : end if end >= 0 else None],
    )


class _NoJSON(MicrocosmError):
    pass


def _constant(word: str) -> NoReturn:
    raise _NoJSON(word)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_INTEGER else float(digits)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise TwiceError(f"the key {json_text.dumps(key)} stands twice in one object")
            seen.add(key)
    return found


_PART = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}]|-Infinity|[^]["{}-]++|.', re.DOTALL)
"""A string, a bracket, or what stands between."""

_HOLE = "-Infinity"
"""What stands in the place of an array or object that was read already: nothing that a text may have."""


def deep(text: str, file: str) -> object:
    """The value of a text that is nested deeper than the library reads: from inside to outside.

    Raises as `parse`. Cost: linear.
    """
    opened = [_Opened(0)]
    for found in _PART.finditer(text):
        part = found[0]
        if part == _HOLE:
            _refuse(text, found.start(), f"{part} is no JSON value", file)
        if part in "[{":
            opened.append(_Opened(found.start()))
        opened[-1].parts.append(part)
        if part in "]}":
            if len(opened) == 1:
                break
            inner = opened.pop()
            opened[-1].members.append(inner.value(text, file))
            opened[-1].parts.append(_HOLE)
    return opened[-1].value(text, file)


@dataclass
class _Opened:
    """An array or object that is open, or the text around all of them: what was read of it, and in it."""

    begins: int
    parts: list[str] = field(default_factory=list)
    members: list[object] = field(default_factory=list)

    def value(self, text: str, file: str) -> object:
        """Its value, each of its members standing where there is a hole. Raises as `parse`."""
        members = iter(self.members)

        def constant(word: str) -> object:
            return next(members) if word == _HOLE else _constant(word)

        try:
            return json_text.loads(
                "".join(self.parts), object_pairs_hook=_object, parse_constant=constant, parse_int=_integer
            )
        except json_text.JSONDecodeError as error:
            _refuse(text, self.begins, error.msg, file)
        except _NoJSON as error:
            _refuse(text, text.find(str(error), self.begins), f"{error} is no JSON value", file)
