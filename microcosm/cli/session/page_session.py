"""A session as what stands behind a page: what it answers as JSON, and what the page shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from microcosm.cli import exits, output
from microcosm.cli.session.commands import COMMANDS
from microcosm.cli.session.opening import How, Opened, log_opened
from microcosm.cli.session.session import Answer, Command, Session
from microcosm.errors import MicrocosmError
from microcosm.files import display_name
from microcosm.page.growing import GrowingPage, Parts, Unsteady, pieces
from microcosm.page.replicas import Replicas
from microcosm.page.write import described, modelled, packed
from microcosm.questions.language import Questions
from microcosm.state.microcosm import Microcosm
from microcosm.text.sentences import Sentence
from microcosm.traces.growing import Growth

CHANGES = ("add", "suppose", "update", "remove", "forget", "internal", "undo", "redo", "save", "load")
"""The commands that a page that is read-only refuses."""

SUPPOSED = "suppose "

VERSIONS = 8
"""Of so many versions of a page that grows it is known how the last one differs from them."""


class SessionBehind:
    """A session of which a page asks; see `microcosm.page.server.Behind`.

    With `both` it is about what two microcosms know together, and the page shows who knows what of them,
    which are called `names`. `questions` are answered in the page.
    """

    def __init__(
        self,
        opened: Opened,
        how: How,
        *,
        read_only: bool = False,
        both: Replicas | None = None,
        names: Sequence[str] = (),
        questions: Sequence[Questions] = (),
    ) -> None:
        commands = {**COMMANDS}
        if read_only:
            commands |= {name: _refusing(commands[name]) for name in CHANGES}
        self.session = Session(opened, how, commands)
        self.note: str | None = None
        """What the page is to say of how it goes on with the log, if it should."""
        self._story = self.session.story
        self._both, self._names, self._questions = both, names, questions
        self._begun = 0
        self._packed: tuple[int, dict[str, Any]] | None = None
        self._growing: GrowingPage | None = None
        """The page of a log that is read on, as it can be kept up, if it can."""
        self._parts: dict[int, Parts] = {}
        """Its columns in its last versions."""

    @property
    def version(self) -> int:
        """Another number wherever what the page shows is another."""
        if self.session.story is not self._story:
            self._story = self.session.story
            self._begun += 1
        return (self._begun << 32) + self._story.number

    def answer(self, line: str) -> dict[str, Any]:
        """What `repl --json` answers to the line; of an unforeseen fault that there is one."""
        head = {"schema": output.SCHEMA, "line": line}
        try:
            answer = self.session.answer(line)
            if answer is None:
                return head
            if answer.ends:
                return {**head, "error": "this session ends where it was begun, with Ctrl-C"}
            return {**head, **answer.fields()}
        except Exception as error:
            self.recover()
            return {**head, "error": exits.fault_line(error)}

    def recover(self) -> None:
        """After an interrupt: what it left half made is made anew, so that no question pays for it."""
        self.session.recover()
        _ = self.session.known

    def contents(self, since: str = "") -> dict[str, Any]:
        """What the page shows of the session as it is now, or how it differs from the version `since`.

        Raises `TooLarge`.
        """
        growing, version = self._growing, self.version
        if growing is None or version not in self._parts:
            if self._packed is None or self._packed[0] != version:
                self._packed = version, self.pack(self.session.known, self.session)[0]
        elif since.isdecimal() and int(since) in self._parts:
            head, columns = growing.contents()
            head["columns"] = described(columns)
            return {"head": head, "pieces": pieces(self._parts[int(since)], growing.parts)}
        elif self._packed is None or self._packed[0] != version:
            self._packed = version, packed(*growing.contents())
        return self._packed[1]

    def pack(
        self, known: Microcosm, opened: Session | Opened, *, grows: bool = False
    ) -> tuple[dict[str, Any], GrowingPage | None]:
        """What a page shows of a microcosm; safe beside a session, as long as nobody else uses that one.

        And the same as it can be kept up where the log `grows`.
        """
        names = self._names or [*map(display_name, opened.logs or filter(None, [opened.path]))]
        model, head, columns = modelled(
            known,
            report=opened.report,
            files=names,
            proofs="none",
            limited=False,
            other=self._both,
            questions=self._questions,
        )
        growing = None
        if grows and not self._questions:
            with suppress(Unsteady):
                growing = GrowingPage(model, head, columns)
        return packed(head, columns), growing

    def grow(self, growth: Growth) -> bool:
        """Go on with what a plain log says more; False where all of it has to be shown anew.

        Cost: linear in what is new; and a copy of the columns of the log.
        """
        session, growing = self.session, self._growing
        if growing is None or session.story.number or not growth.steady:
            return False
        self._growing = None
        try:
            growing.grow(growth)
            session.known._extend(growth.found.givens, growth.facts())
        except Unsteady:
            return False
        except BaseException:
            self.recover()
            raise
        session.begin(log_opened(session.known, session.logs, growth.found, growth.report))
        self.note = None
        self._keep(growing)
        return True

    def _keep(self, growing: GrowingPage) -> None:
        """Remember a page as it is now, for whoever has its columns."""
        self._growing = growing
        self._parts[self.version] = growing.parts
        while len(self._parts) > VERSIONS:
            del self._parts[next(iter(self._parts))]

    def renew(self, opened: Opened, shown: dict[str, Any], growing: GrowingPage | None = None) -> None:
        """Go on with what has been read anew, of which the page shows `shown`; what was supposed still is."""
        supposed = [step for step in self.session.story.since_saved() if step.startswith(SUPPOSED)]
        self.session.begin(opened)
        version = self.version
        lost = [step for step in reversed(supposed) if not self._still(step)]
        self.note = f"no longer supposed: {', '.join(lost)}" if lost else None
        self._parts.clear()
        self._growing = None
        if self.version == version:
            self._packed = version, shown
            if growing is not None:
                self._keep(growing)

    def _still(self, step: str) -> bool:
        """Suppose again what was supposed; whether that can be."""
        try:
            answer = self.session.answer(step)
        except MicrocosmError:
            return False
        return answer is not None and answer.outcome == exits.HOLDS


def _refusing(command: Command) -> Command:
    def refused(session: Session, sentence: Sentence) -> Answer:
        error = "not changed: the page was opened with --read-only"
        return Answer([error], lambda: {"error": error}, exits.REFUTED)

    return Command(command.form, command.told, refused, command.examples)
