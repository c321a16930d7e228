"""A session that answers a served page, also of a log that is read on while the page is shown.

It answers as JSON, and says what the page shows of it; of a plain log what is new is read, any other whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from threading import Event
from time import monotonic
from typing import Any

from microcosm import files
from microcosm.cli import exits, options, output, reading
from microcosm.cli.session.commands import COMMANDS, SUPPOSED
from microcosm.cli.session.session import Answer, How, Opened, Session, log_opened, opened
from microcosm.errors import MicrocosmError, TextError
from microcosm.files import display_name
from microcosm.page.growing import GrowingPage, Parts, Unsteady, pieces
from microcosm.page.knowledge import Replicas
from microcosm.page.server import EVERY, Turns
from microcosm.page.write import described, modelled, packed
from microcosm.questions.language import Questions
from microcosm.state.microcosm import Microcosm
from microcosm.text.sentences import Sentence
from microcosm.traces.growing import GrowingLog, Growth
from microcosm.traces.report import Report
from microcosm.traces.text.lines import only_whole_lines, open_lines

CHANGES = ("add", "suppose", "update", "remove", "forget", "internal", "undo", "redo", "save", "load")
"""The commands that a page that is read-only refuses."""

VERSIONS = 8
"""Of so many versions of a page that grows it is known how the last one differs from them."""


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
            commands |= {name: replace(commands[name], answer=_refused) for name in CHANGES}
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
        if growing is None or self.version not in self._parts or not growth.steady:
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


Content = tuple[tuple[str, bytes], ...]


def content(paths: Sequence[str], whole_lines: bool = True) -> Content:
    """Digests of what a reading of the files would believe: of a log, as far as its lines end.

    Nothing where that is not known: what is no file can be read only once. Cost: linear in the bytes, a
    hundredth of a reading.
    """
    found = []
    try:
        with only_whole_lines() if whole_lines else nullcontext():
            for path in files.expanded(paths):
                if not os.path.isfile(path):
                    return ()
                digest = sha256()
                with open_lines(path, Report()) as lines:
                    binary = lines.binary()
                    while block := binary.read(1 << 20):
                        digest.update(block)
                found.append((path, digest.digest()))
    except (OSError, TextError):
        return ()
    return tuple(found)


class Following:
    """The files of a log, as they were read last."""

    def __init__(self, paths: Sequence[str], how: How) -> None:
        self._paths, self._how = paths, how
        self._seen, self._was = signature(paths), content(paths)
        self._log: GrowingLog | None = None
        """The log, if it can be read on."""

    def run(self, backend: SessionBackend, turns: Turns, ending: Event) -> None:
        """Read on wherever the log says something else, and hand over what it says now, until `ending`.

        Neither a file that was only touched nor a line that its writer has not ended says anything new.
        """
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
        log, self._log = self._log, None
        growth = log.read_on() if log is not None else None
        if growth is not None:
            self._was = ()
            if not growth.links and growth.found.events == growth.first:
                self._log = log
                return
            if in_turn(partial(backend.grow, growth)):
                self._log = log
                return
        else:
            says = content(self._paths, whole_lines=bool(backend.session.logs))
            if says and says == self._was:
                return
            self._was = says
            begun = GrowingLog.begun(self._paths[0]) if self._may_grow(backend) else None
            log, growth = begun if begun is not None else (None, None)
        found = reread(self._paths, self._how) if growth is None else self._opened(growth)
        shown, page = backend.pack(found.known, found, grows=growth is not None)
        in_turn(partial(backend.renew, found, shown, page))
        self._log = log

    def _may_grow(self, backend: SessionBackend) -> bool:
        """Whether it is one file of a log, of which nothing is asked but what it says."""
        logs = backend.session.logs
        alone = len(self._paths) == 1 and logs == (self._paths[0],) and os.path.isfile(logs[0])
        return alone and not self._how.strict and not options.of_logs()

    def _opened(self, growth: Growth) -> Opened:
        known = reading.microcosm_of(growth.found.givens, self._how.rules)
        return log_opened(known, (self._paths[0],), growth.found, growth.report)
