"""A session: a microcosm that is opened, asked and changed line by line, whatever the lines come from.

It begins with a microcosm file as `online` reads it, or a log as `extract` does. A line in, an answer out.
Whatever is wrong with a line is an answer too, in one line that says what was expected; the session is then
as it was before.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import east_asian_width

from microcosm import files, tuning
from microcosm.cli import exits, output, reading
from microcosm.cli.output import Progress
from microcosm.cli.show.proofs import Style
from microcosm.errors import Contradiction, MicrocosmError, NotOneEvent, TextError
from microcosm.givens.givens import Givens
from microcosm.logic.derivation import proof_object
from microcosm.state.microcosm import Microcosm
from microcosm.state.timeline import Timeline
from microcosm.text.names import quote
from microcosm.text.sentences import ASK, Sentence, SentencePart, complete_command, read_sentence
from microcosm.text.statement import shown

if TYPE_CHECKING:
    from microcosm.logic.rulebook import RuleBook
    from microcosm.questions.language import Questions
    from microcosm.traces.report import Report


class How(NamedTuple):
    """How to read what is opened: the rules and the profile."""

    rules: RuleBook
    strict: bool = False
    edit: bool = False
    """Whether what comes out of a log may be changed."""


class Opened(NamedTuple):
    """A microcosm and where it came from: a file, as it was read, of that digest, or some `logs`.

    `report` says what was odd about these.
    """

    known: Microcosm
    path: str | None
    digest: str | None
    summary: str
    logs: tuple[str, ...] = ()
    report: Report | None = None


def opened(paths: Sequence[str], how: How) -> Opened:
    """Open a microcosm, or the files of one log; none is the empty microcosm.

    Raises as `reading.load` does.
    """
    if not paths:
        return Opened(reading.microcosm_of(Givens(), how.rules, strict=how.strict), None, None, "no file")
    source = reading.one_of(paths)
    if source.content is None:
        report = reading.report_of(how.strict)
        found = reading.extraction_of(source, report=report)
        known = reading.microcosm_of(found.givens, how.rules, strict=how.strict)
        name = output.printable(", ".join(map(files.display_name, source.paths)))
        return Opened(known, None, None, f"{name}: {found.summary()}", source.paths, report)
    givens = reading.given_in(source, strict=how.strict)
    known = reading.microcosm_of(givens, how.rules, strict=how.strict)
    parts = givens.refuted, givens.stamps, givens.clocks, givens.processes, givens.tokens
    many = givens.external_count + givens.message_count + bool(givens.internal) + sum(len(p) for p in parts)
    events, stated = output.counted(len(known), "event"), output.counted(many, "statement")
    summary = f"{output.printable(source.name)}: {events}, {stated}"
    path = source.paths[0] if os.path.isfile(source.paths[0]) else None
    return Opened(known, path, None if path is None else digest_of(source.content), summary)


def digest_of(content: bytes) -> str:
    """What tells one content of a file from another."""
    return sha256(content).hexdigest()


def digest_now(path: str) -> str | None:
    """The digest of a file as it is now; None where there is none that can be read."""
    try:
        return digest_of(Path(path).read_bytes())
    except OSError:
        return None


PROMPT = "> "

SAID_ELSEWHERE = {"exit": "quit", "bye": "quit", "h": "help", "?": "help"}
"""What other programs call some commands."""

MOST_NAMED = 5
"""So many candidates of an ambiguous name are shown."""


class Command(NamedTuple):
    """What can be said in a session."""

    form: str
    summary: str
    answer: Callable[[Session, Sentence], Answer]
    examples: tuple[str, ...] = ()


class Session:
    """What was opened, how it was changed since, and where it is kept."""

    def __init__(self, opened: Opened, how: How, commands: Mapping[str, Command]) -> None:
        self.how = how
        self.commands = commands
        """What can be said, by its name."""
        self.work = Progress("")
        """What is done of the answer at hand, for whoever tells people."""
        self.begin(opened)

    def begin(self, opened: Opened) -> None:
        """Begin anew with another microcosm."""
        self.story = Timeline(opened.known)
        self.path, self.digest, self.summary = opened.path, opened.digest, opened.summary
        self.logs, self.report = opened.logs, opened.report
        self.read_only = bool(opened.logs) and not self.how.edit
        self._named: tuple[int, list[str]] | None = None
        self.patterns: Questions | None = None

    def kept(self, path: str, digest: str | None) -> None:
        """Note that what is given now stands in a file, whose content has this digest."""
        self.story.saved()
        self.path, self.digest = path, digest
        self.read_only = False  # it is a file of its own now

    @property
    def is_saved(self) -> bool:
        """Whether nothing would be lost; suppositions about a log are not there to be kept."""
        return self.read_only or self.story.is_saved

    @property
    def known(self) -> Microcosm:
        """The microcosm as it is now."""
        return self.story.known

    def answer(self, line: str) -> Answer | None:
        """The answer to a line; None where there is nothing to answer."""
        try:
            line = self.meant(line)
            if (alone := line.strip()) not in self.commands and alone in self.known:
                end = len(line.rstrip()) + 2
                raise TextError(f"expected a relation, as in `{alone} < b?`", column=end, text=line)
            sentence = read_sentence(line, tuple(self.commands))
            return None if sentence is None else self.commands[sentence.command].answer(self, sentence)
        except (MicrocosmError, OSError) as error:
            return _refusal(error, line, self.story.givens)

    def meant(self, line: str) -> str:
        """A line as it would be said here, where it is said as in other programs: `exit`, `?`, `.help`, `:q`.

        What is an event, or begins a statement about one, stays as it is; so do columns.
        """
        word = (line.split(maxsplit=1) or [""])[0]
        if word in self.known or (word == "?" != line.strip()) or any(sign in line for sign in "<>|≺≻→∥≬≮"):
            return line
        force, plain = "!" * word.endswith("!"), word.lstrip(".:\\").rstrip("!")
        words = SAID_ELSEWHERE.get(plain, plain)
        if not words or words + force == word or not complete_command(words, tuple(self.commands)):
            return line
        return line.replace(word, (words + force).rjust(len(word)), 1)

    def asks(self, text: str) -> bool:
        """Whether a statement with a question mark is a question."""
        try:
            sentence = read_sentence(f"{text}?", tuple(self.commands))
        except TextError:
            return False
        return sentence is not None and sentence.command == ASK

    def recover(self) -> None:
        """After an interrupt, in whatever place it came."""
        self.story.recover()

    @contextmanager
    def surviving(self) -> Iterator[None]:
        """Whatever goes wrong inside, it is said and the session goes on; but for an output that is gone."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            self.recover()
            output.complain(exits.fault_line(error))

    # -- events ----------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Every event that is named, sorted. Cost: once after each change, n log n."""
        if self._named is None or self._named[0] != self.story.number:
            self._named = (self.story.number, sorted(self.story.givens.named()))
        return self._named[1]

    def beginning(self, text: str, at_most: int) -> list[str]:
        """The first events, in sorted order, whose names begin with `text`."""
        names = self.names()
        at = bisect_left(names, text)
        return [name for name in names[at : at + at_most] if name.startswith(text)]

    def event(self, part: SentencePart) -> str:
        """The event that is meant: the one of this name, or the only one whose name begins so.

        Or the one of a line, `FILE:LINE`, or the only one that `/regex/` is found in. A name that nothing
        begins with, or that is quoted, is taken as it is. Raises `TextError`, `NotOneEvent`.
        """
        if part.quoted or part.text in self.known:
            return part.text
        if (meant := self.known.event(part.text)) != part.text:
            return meant
        found = self.beginning(part.text, MOST_NAMED + 1)
        if part.text in found[:1] or not found:
            return part.text
        if len(found) == 1:
            return found[0]
        meant = " or ".join(map(quote, found[:MOST_NAMED]))
        more = " or …" if len(found) > MOST_NAMED else ""
        raise TextError(f"{shown(part.text)} is ambiguous: {meant}{more}", column=part.column)

    def known_event(self, part: SentencePart) -> str:
        """The event that is meant (see `event`), which must be one of the microcosm. Raises `TextError`."""
        event = self.event(part)
        if event in self.known or event in self.beginning(event, 1):
            return event
        message = f"expected an event of this microcosm, not {shown(event)}{self.near(event)}"
        raise TextError(message, column=part.column)

    def near(self, name: str) -> str:
        """`; did you mean …?` where some event's name is like `name`, and it is not one itself."""
        if name in self.beginning(name, 1) or len(self.names()) > tuning.NAMES_COMPARED:
            return ""
        found = self.known.nearest(name)
        return f"; did you mean {' or '.join(map(quote, found))}?" if found else ""


def _refusal(error: MicrocosmError | OSError, line: str, givens: Givens) -> Answer:
    match error:
        case TextError(file=None):
            outcome = exits.BAD_INPUT
            lines = [_at_fault(error, line)]
        case OSError():
            outcome = exits.BAD_INPUT
            lines = [f"error: {error.filename or 'output'}: {error.strerror or error}"]
        case TextError() | NotOneEvent():
            outcome = exits.BAD_INPUT
            lines = [f"error: {error}"]
        case _:
            outcome = exits.REFUTED
            lines = [f"error: {error}"]

    def styled() -> Iterator[str]:
        style = Style.of(sys.stdout)
        for part in "\n".join(lines).split("\n"):
            line = style.readable(output.plain(part, sys.stdout))
            yield from output.wrapped(line, sys.stdout, prose=True).split("\n")
        if isinstance(error, Contradiction):
            yield from exits.side_lines(error, sys.stdout, givens)

    def fields() -> Fields:
        sides = [proof_object(side) for side in getattr(error, "derivations", ())]
        message = error.message if isinstance(error, TextError) else str(error)
        file = error.file if isinstance(error, TextError) else getattr(error, "filename", None)
        column = {"column": error.column} if isinstance(error, TextError) and error.column else {}
        place = {**({"file": str(file)} if file else {}), **column}
        return {"error": message, **place, **({"derivations": sides} if sides else {})}

    return Answer(styled(), fields, outcome)


def _at_fault(error: TextError, line: str) -> str:
    """One line: the caret under the fault, as the line stands behind the prompt, and what was expected."""
    message = error.message + (f". {error.hint}" if error.hint else "")
    message = " ".join(message.split())
    if error.column is None:
        return f"error: {message}"
    before = line[: error.column - 1]
    plain = before.isprintable() and not any(east_asian_width(c) in "WF" for c in before)
    if not plain or len(before) > output.width(sys.stdout) // 2:
        return f"error: column {error.column}: {message}"
    return f"{' ' * (len(PROMPT) + len(before))}^ {message}"


Fields = Mapping[str, object]


class Answer(NamedTuple):
    """`lines` are made while they are read, and once; `fields` are made instead of them.

    `outcome` is the exit code that the answer alone would call for, where something went wrong.
    """

    lines: Iterable[str]
    fields: Callable[[], Fields]
    outcome: int = exits.HOLDS
    ends: bool = False
    """Whether the session is over."""


def reply(*lines: str, outcome: int = exits.HOLDS, ends: bool = False, **fields: object) -> Answer:
    """A short answer; its fields are `fields`, or `said` with its lines."""
    return Answer(map(output.printable, lines), lambda: fields or {"said": list(lines)}, outcome, ends)


def packed(names: Iterable[str], columns: int) -> Iterator[str]:
    """Names side by side, as many on a line as `columns` have room for, at least one.

    >>> list(packed(["a", "bb", "ccc"], 6))
    ['a, bb,', 'ccc']
    """
    line = ""
    for name in names:
        if line and len(line) + len(name) + 3 > columns:
            yield line + ","
            line = name
        else:
            line = f"{line}, {name}" if line else name
    if line:
        yield line
