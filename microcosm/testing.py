"""For pytest: assertions about logs. Loaded as a plugin by its entry point; it does nothing unless it is
used.

    from microcosm.testing import assert_that

    def test_no_race(tmp_path):
        run_the_program(tmp_path / "run.jsonl")
        assert_that(tmp_path / "run.jsonl", 'event w(k) where label ~ "write (?<k>.)"; never w(k) || w(k)')

What is violated, open or vacuous fails the test, with witnesses in the words of the log and a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING

import pytest

from microcosm.errors import MicrocosmError

if TYPE_CHECKING:
    from microcosm.questions.answers import Answer
    from microcosm.state.microcosm import Microcosm

    Log = str | PathLike[str] | Microcosm | Iterable[str | PathLike[str]]

ENDING = ".ask"
"""How the name of a file of questions ends."""


class QuestionFailed(MicrocosmError, AssertionError):
    """Some question does not hold; `answers` are those to the questions that fail."""

    def __init__(self, message: str, answers: list[Answer]) -> None:
        super().__init__(message)
        self.answers = answers


def assert_that(
    log: Log,
    questions: str | PathLike[str],
    *,
    exact: bool = False,
    open_too: bool = False,
    vacuous: bool = False,
) -> list[Answer]:
    """The answers to questions about a log, all of which hold; raises `QuestionFailed` if one does not.

    `log` is a microcosm, a file of any kind, or the files of one log; `questions` their text, or a file
    `*.ask`. `exact` searches worlds for what stays open. With `open_too` an open question is no failure,
    with `vacuous` one whose patterns match nothing. Raises `TextError` as the readers do.
    """
    __tracebackhide__ = True
    from microcosm.questions.reader import read_questions

    known = opened(log)
    if isinstance(questions, PathLike) or questions.endswith(ENDING):
        from microcosm import files

        read = read_questions(files.read_text(questions), files.display_name(questions))
    else:
        read = read_questions(questions)
    answers = known.assert_(read, exact=exact, settle=True)  # noqa: PT009
    failed = [
        answer
        for answer in answers
        if answer.verdict == "violated"
        or (answer.verdict == "open" and not open_too)
        or (answer.vacuous and not vacuous)
    ]
    if failed:
        raise QuestionFailed("\n".join(line for one in failed for line in report(known, one)), failed)
    return list(answers)


def opened(log: Log) -> Microcosm:
    """The microcosm of a log: itself, or what its file or files give. Raises `TextError`, `Contradiction`."""
    from microcosm.state.microcosm import Microcosm

    if isinstance(log, Microcosm):
        return log
    if isinstance(log, str | PathLike):
        return Microcosm.read(fspath(log))
    return Microcosm.read(*[fspath(path) for path in log])


def report(known: Microcosm, answer: Answer) -> list[str]:
    """An answer that fails, with its witnesses in the words of the log, and a proof of the first."""
    lines = [str(answer), *(f"  {note}" for note in answer.notes)]
    table = known.givens.events

    def words(event: str) -> str:
        row = None if table is None else table.row(event)
        label = f' "{row.label}"' if row is not None and row.label else ""
        return event + label + (f" ({row.place})" if row is not None and row.place else "")

    for witness in answer.witnesses:
        events = [f"{name} = {words(event)}" for name, event in witness.events.items()]
        events += [
            f"{name} from {words(a)} {f'until {words(b)}' if b else 'on'}"
            for name, (a, b) in witness.intervals.items()
        ]
        given = "".join(f"; {name}: {value}" for name, value in witness.parameters.items())
        lines.append(f"  {witness.verdict}: {', '.join(events)}{given}")
        for said in witness.atoms:
            lines.append(f"    {said}")
            if said.derivation is not None:
                lines += [f"      {line}" for line in str(said.derivation).splitlines()]
    if answer.settle:
        lines += ["  what would settle it:", *(f"    {seen}" for seen in answer.settle)]
    return lines


@pytest.fixture(name="assert_that")
def _assert_that() -> Callable[..., list[Answer]]:
    """The function of this name, as a fixture."""
    return assert_that
