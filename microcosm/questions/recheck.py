"""Whether an answer of `assert` is so: the questions are evaluated anew, and the kernel checks each
derivation.

Patterns are matched again, tuples counted again and witnesses looked up among those that there are, so that a
verdict, a count or a witness that was changed is found; a derivation has to conclude its atom. Of each kind
so many witnesses have to be proved as the answer says, and the first in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from microcosm.errors import MicrocosmError
from microcosm.givens.givens import Givens
from microcosm.kernel import check as kernel
from microcosm.logic.rulebook import RuleBook
from microcosm.questions.answers import VALUES, Answer, Said
from microcosm.questions.ask import Build, answers
from microcosm.questions.asked import FALSE
from microcosm.questions.language import Questions
from microcosm.questions.reader import read_questions

FIELDS = {"questions", "asked", "proved"}
"""What an answer of `assert` has,"""
MORE = {"schema", "warnings"}
"""and what it may have."""

_PLAIN = ("text", "line", "verdict", "exact", "vacuous", "counts", "notes")


def fault(stated: dict[str, Any], givens: Givens, book: RuleBook, build: Build) -> str | None:
    """What is wrong with an answer of `assert`; None where all of it is so. Cost: that of the answer."""
    if not FIELDS <= stated.keys() <= FIELDS | MORE:
        return "the answer's fields are not those of an answer to questions"
    asked, told, proved = stated["asked"], stated["questions"], stated["proved"]
    if type(proved) is not int or proved < 0:
        return "`proved` is not the number of witnesses that are proved"
    if (
        not isinstance(asked, list)
        or not isinstance(told, list)
        or not all(isinstance(q, dict) for q in told)
    ):
        return "the answer does not list its questions and their texts"
    shown = max((len(q["witnesses"]) for q in told if isinstance(q.get("witnesses"), list)), default=0)
    needed = max(1, proved)
    found: list[tuple[Answer, Givens]] = []
    patterns = Questions()  # what is asked on the command line may use those of the files
    for one in asked:
        match one:
            case {"file": str() | None as file, "text": str(text)}:
                pass
            case _:
                return "the answer does not have the text of its questions"
        try:
            read = read_questions(text, file, patterns if file is None else None)
            patterns.patterns.update(read.patterns)
            for exact in (False, True):
                searched = any(q.get("exact") is not False for q in told)
                if exact == searched:
                    engine = build(givens)
                    answered = answers(
                        givens,
                        engine,
                        read,
                        build,
                        exact=exact,
                        shown=max(shown, needed),
                        proved=needed,
                        settle=any(q.get("settle") for q in told),
                    )
                    found += [(answer, answered.asked.givens) for answer in answered]
        except MicrocosmError as error:
            return f"the questions cannot be answered: {error}"
    if len(found) != len(told):
        return f"the answer has {len(told)} questions, and {len(found)} are asked"
    for claim, (answer, known) in zip(told, found, strict=True):
        wrong = _unlike(claim, answer, needed) or _unproved(claim, answer, partial(kernel.check, known, book))
        if wrong is not None:
            return f"line {answer.question.place.line}: {wrong}"
    return None


def _unlike(claim: dict[str, Any], answer: Answer, needed: int) -> str | None:
    """Where an answer differs from what is found now; of each kind of witness it has `needed`, or all."""
    now = answer.to_json()
    if claim.keys() != now.keys():
        return "the fields are not those of an answer to a question"
    for name in _PLAIN:
        if claim[name] != now[name]:
            return f"`{name}` is {now[name]!r}, not {claim[name]!r}"
    if claim["settle"] != now["settle"]:
        return "what is said to settle it does not"
    if not isinstance(claim["witnesses"], list) or len(claim["witnesses"]) > len(now["witnesses"]):
        return "there are not so many witnesses"
    verdicts = [one.get("verdict") for one in claim["witnesses"] if isinstance(one, dict)]
    for verdict, many in Counter(one.verdict for one in answer.witnesses).items():
        if verdicts.count(verdict) < min(many, needed):
            return f"of the witnesses that are {verdict} some are left out: {min(many, needed)} are needed"
    return None


def _unproved(claim: dict[str, Any], answer: Answer, check: Callable[[object], str | None]) -> str | None:
    """Which witness is none, or which of its derivations the kernel does not accept."""
    by_words = {repr(_without_proofs(one.to_json())): one for one in answer.witnesses}
    for number, stated in enumerate(claim["witnesses"], 1):
        if not isinstance(stated, dict) or not isinstance(stated.get("derivations"), list):
            return f"witness {number} is no witness"
        witness = by_words.pop(repr(_without_proofs(stated)), None)
        if witness is None:
            return f"witness {number} is not one of this question, or is there twice"
        derivations = list(stated["derivations"])
        for atom in witness.atoms:
            if atom.derivation is None:
                continue
            if not derivations or not _concludes(derivations[0], atom):
                return f"witness {number}: no derivation concludes {atom}"
            wrong = check(derivations.pop(0))
            if wrong is not None:
                return f"witness {number}: {atom}: {wrong}"
        if derivations:
            return f"witness {number} has a derivation of something else"
    return None


def _without_proofs(stated: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted((name, value) for name, value in stated.items() if name != "derivations")


def _concludes(derivation: object, atom: Said) -> bool:
    said = derivation.get("conclusion") if isinstance(derivation, dict) else None
    sign = f"!{atom.relation}" if atom.value == VALUES[FALSE] else atom.relation
    left, right = atom.left, atom.right
    if sign in (">", "!>"):
        left, right, sign = right, left, sign.replace(">", "<")
    return said == {"judgement": "offline", "left": left, "relation": sign, "right": right}
