"""A session as what stands behind a page: what it answers as JSON, and what the page shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from microcosm.cli import exits, output
from microcosm.cli.session.commands import COMMANDS
from microcosm.cli.session.opening import How, Opened
from microcosm.cli.session.session import Answer, Command, Session
from microcosm.errors import MicrocosmError
from microcosm.files import display_name
from microcosm.page.replicas import Replicas
from microcosm.page.write import contents, packed
from microcosm.questions.language import Questions
from microcosm.state.microcosm import Microcosm
from microcosm.text.sentences import Sentence

CHANGES = ("add", "suppose", "update", "remove", "forget", "internal", "undo", "redo", "save", "load")
"""The commands that a page that is read-only refuses."""

SUPPOSED = "suppose "


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

    def contents(self) -> dict[str, Any]:
        """What the page shows of the session as it is now. Raises `TooLarge`."""
        if self._packed is None or self._packed[0] != self.version:
            self._packed = self.version, self.pack(self.session.known, self.session)
        return self._packed[1]

    def pack(self, known: Microcosm, opened: Session | Opened) -> dict[str, Any]:
        """What a page shows of a microcosm; safe beside a session, as long as nobody else uses that one."""
        names = self._names or [*map(display_name, opened.logs or filter(None, [opened.path]))]
        head, columns = contents(
            known,
            report=opened.report,
            files=names,
            proofs="none",
            limited=False,
            other=self._both,
            questions=self._questions,
        )
        return packed(head, columns)

    def renew(self, opened: Opened, shown: dict[str, Any]) -> None:
        """Go on with what has been read anew, of which the page shows `shown`; what was supposed still is."""
        supposed = [step for step in self.session.story.since_saved() if step.startswith(SUPPOSED)]
        self.session.begin(opened)
        version = self.version
        lost = [step for step in reversed(supposed) if not self._still(step)]
        self.note = f"no longer supposed: {', '.join(lost)}" if lost else None
        if self.version == version:
            self._packed = version, shown

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
