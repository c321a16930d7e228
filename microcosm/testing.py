"""For pytest: assertions about logs. Loaded as a plugin by its entry point; it does nothing unless it is
used.

    from microcosm.testing import assert_that

    def test_no_race(tmp_path):
        run_the_program(tmp_path / "run.jsonl")
        assert_that(tmp_path / "run.jsonl", 'event w(k) where label ~ "write (?<k>.)"; never w(k) || w(k)')

What is violated, open or vacuous fails the test, with witnesses in the words of the log and a proof.

The fixture `causality` records what a test does itself, and asks about it when the test has passed:

    @pytest.mark.causality('event w(k) where label ~ "write (?<k>.)"; never w(k) || w(k)')
    def test_two_writers(causality):
        bob = causality.process("bob")
        bob.receive(causality.send("write x"), "write x")
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from microcosm.errors import MicrocosmError, TextError

if TYPE_CHECKING:
    from microcosm.questions.answers import Answer
    from microcosm.record import Recorder
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
    try:
        known, read = opened(log), cast(Any, questions)
        if isinstance(questions, PathLike) or (isinstance(questions, str) and questions.endswith(ENDING)):
            from microcosm import files
            from microcosm.questions.reader import read_questions

            read = read_questions(files.read_text(questions), files.display_name(questions))
        answers = known.assert_(read, exact=exact, settle=True)  # noqa: PT009
    except MicrocosmError as error:
        raise error.with_traceback(None) from None  # the frames of this package say nothing about the test
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
    for witness in answer.witnesses:
        lines.append(f"  {witness.verdict}: {witness.described(known.givens.events)}")
        for atom in witness.atoms:
            lines.append(f"    {atom}")
            if atom.derivation is not None:
                lines += [f"      {line}" for line in str(atom.derivation).splitlines()]
    if answer.settle:
        lines += ["  what would settle it:", *(f"    {seen}" for seen in answer.settle)]
    return lines


@pytest.fixture(name="assert_that")
def _assert_that() -> Callable[..., list[Answer]]:
    """The function of this name, as a fixture."""
    return assert_that


# -- what a test records itself -----------------------------------------------------------------------------

MARK = """causality(*questions, exact=False, open_too=False, vacuous=False): what is asked, after the test, \
about what the fixture `causality` recorded; texts, or files *.ask named from the file of the test"""


class Causality:
    """The events of a test: `event`, `send` and `receive` are those of the recorder of the process `test`.

    Every `*.jsonl` in `folder` is part of the log, so that other programs may record there, too.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.read = False
        """Whether the test asked for the log itself."""
        self._recorders: dict[str, Recorder] = {}
        own = self.process("test")
        self.event, self.send, self.receive = own.event, own.send, own.receive

    def process(self, name: str) -> Recorder:
        """The recorder of one more process; of one that was named before, the same."""
        from microcosm.record import Recorder

        if name not in self._recorders:
            path = self.folder / f"{len(self._recorders):03}.jsonl"
            self._recorders[name] = Recorder(name, path)
        return self._recorders[name]

    def log(self) -> Microcosm:
        """All that was recorded so far. Raises `TextError` where that is nothing. Cost: that of reading."""
        __tracebackhide__ = True
        self.read = True
        for recorder in self._recorders.values():
            recorder.flush()
        written = [path for path in sorted(self.folder.glob("*.jsonl")) if path.stat().st_size]
        if not written:
            raise TextError("the test recorded no event")
        return opened(written)

    def close(self) -> None:
        """Close all recorders."""
        for recorder in self._recorders.values():
            recorder.close()


@pytest.fixture(name="causality")
def _causality(tmp_path: Path) -> Iterator[Causality]:
    """Records what the test does. When it has passed, questions are asked about that: those of the marks
    `causality`, or of the file of the test's name that ends in `.ask`.
    """
    recorded = Causality(tmp_path / "causality")
    yield recorded
    recorded.close()


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", MARK)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Ask about what a test recorded, as its last step, so that what does not hold is its failure."""
    __tracebackhide__ = True
    result = yield
    recorded = getattr(item, "funcargs", {}).get("causality")
    if isinstance(recorded, Causality):
        _ask(item, recorded)
    return result


def _ask(item: pytest.Item, recorded: Causality) -> None:
    __tracebackhide__ = True
    marked = [(text, mark.kwargs) for mark in item.iter_markers("causality") for text in mark.args]
    beside = item.path.with_suffix(ENDING)
    if not marked and beside.is_file():
        marked = [(beside, {})]
    if not marked and not recorded.read:
        raise QuestionFailed(
            f"nothing is asked about what the test recorded: write questions into {beside.name} beside it, "
            "mark it with pytest.mark.causality(QUESTIONS), or take causality.log()",
            [],
        )
    log = recorded.log() if marked else None
    for questions, options in marked:
        named = isinstance(questions, str) and questions.endswith(ENDING)
        assert log is not None
        assert_that(log, item.path.parent / questions if named else questions, **options)
