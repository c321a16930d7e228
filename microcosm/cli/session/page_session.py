"""A session that answers a served page, also of a log that is read on while the page is shown.

It answers as JSON, and says what the page shows of it. A log that says more is read anew, and shown anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from time import monotonic
from typing import Any

from microcosm import files
from microcosm.cli import exits, output
from microcosm.cli.session.commands import COMMANDS, SUPPOSED
from microcosm.cli.session.session import Answer, How, Opened, Session, opened
from microcosm.errors import MicrocosmError, TextError
from microcosm.files import display_name
from microcosm.page.knowledge import Replicas
from microcosm.page.server import EVERY, Turns
from microcosm.page.write import contents, packed
from microcosm.questions.language import Questions
from microcosm.state.microcosm import Microcosm
from microcosm.text.sentences import Sentence
from microcosm.traces.text.lines import only_whole_lines

CHANGES = ("add", "suppose", "update", "remove", "forget", "internal", "undo", "redo", "save", "load")
"""The commands that a page that is read-only refuses."""


class SessionBackend:
    """A session of which a page asks; see `microcosm.page.server.Backend`.

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
            commands |= {name: commands[name]._replace(answer=_refused) for name in CHANGES}
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
        return packed(
            *contents(
                known,
                report=opened.report,
                files=self._names or [*map(display_name, opened.logs or filter(None, [opened.path]))],
                proofs="none",
                limited=False,
                other=self._both,
                questions=self._questions,
            )
        )

    def renew(self, opened: Opened, shown: dict[str, Any]) -> None:
        """Go on with what has been read anew, of which the page shows `shown`; what was changed still is."""
        session = self.session
        steps, where = [*session.story.since_saved()], (session.logs, session.path)
        begun = session.logs == opened.logs and (session.logs or session.path == opened.path)
        session.begin(opened)
        version = self.version
        lost = [step for step in reversed(steps) if not (begun and self._still(step))]
        given = "supposed" if all(step.startswith(SUPPOSED) for step in lost) else "given"
        notes = [f"no longer {given}: {', '.join(lost)}"] if lost else []
        if where != (opened.logs, opened.path):
            notes.append(
                f"what is followed is shown again, in the place of {where[1] or ', '.join(where[0])}"
            )
        self.note = "; ".join(notes) or None
        if self.version == version:
            self._packed = version, shown

    def _still(self, step: str) -> bool:
        """Suppose again what was supposed; whether that can be."""
        try:
            answer = self.session.answer(step)
        except MicrocosmError:
            return False
        return answer is not None and answer.outcome == exits.HOLDS


def _refused(session: Session, sentence: Sentence) -> Answer:
    error = "not changed: the page was opened with --read-only"
    return Answer([error], lambda: {"error": error}, exits.REFUTED)


SHARE = 1.0
"""After a reading, a log that grows is left alone for so many times as long as that took: for questions."""


def reread(paths: Sequence[str], how: How) -> Opened:
    """What the whole lines of a log say now, without a word about what is odd. Raises as `opened` does."""
    hushed, output.wanted["quiet"] = output.is_hushed(), True
    try:
        with only_whole_lines():
            return opened(paths, how)
    finally:
        output.wanted["quiet"] = hushed


Signature = tuple[tuple[str, int, int, int], ...]


def signature(paths: Sequence[str]) -> Signature:
    """What the files of a log look like from outside: another value wherever there may be more in them.

    Nothing where one is not there: another one is being put in its place.
    """
    found = []
    try:
        for path in files.expanded(paths):
            stat = os.stat(path)
            found.append((path, stat.st_ino, stat.st_size, stat.st_mtime_ns))
    except (OSError, TextError):
        return ()
    return tuple(found)


class Following:
    """The files of a log, as they were read last."""

    def __init__(self, paths: Sequence[str], how: How) -> None:
        self._paths, self._how, self._seen = paths, how, signature(paths)

    def run(self, backend: SessionBackend, turns: Turns, ending: Event) -> None:
        """Read the log wherever it looks otherwise, and hand over what it says now, until `ending`."""
        while not ending.wait(EVERY):
            now = signature(self._paths)
            if now in (self._seen, ()):
                continue
            self._seen, begun = now, monotonic()
            try:
                self.look(backend, lambda work: turns.put(work).result())
            except (MicrocosmError, OSError) as error:
                backend.note = f"the log cannot be read on: {error}"
            except Exception as error:
                backend.note = exits.fault_line(error)
            ending.wait(SHARE * (monotonic() - begun))

    def look(self, backend: SessionBackend, in_turn: Callable[[Callable[[], object]], object]) -> None:
        """Read what there is, and hand it over in its turn. Raises as `opened` does, and `OSError`."""
        found = reread(self._paths, self._how)
        in_turn(partial(backend.renew, found, backend.pack(found.known, found)))
