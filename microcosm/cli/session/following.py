"""A log that is read on while its page is shown: what is new of a plain log, any other one whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from hashlib import sha256
from threading import Event
from time import monotonic

from microcosm import files
from microcosm.cli import exits, options, output, reading
from microcosm.cli.session.opening import How, Opened, log_opened, opened
from microcosm.cli.session.page_session import SessionBehind
from microcosm.errors import MicrocosmError, TextError
from microcosm.page.server import EVERY
from microcosm.page.turns import Turns
from microcosm.traces.growing import GrowingLog, Growth
from microcosm.traces.report import Report
from microcosm.traces.text.lines import only_whole_lines, open_lines

SHARE = 1.0
"""After a reading, a log that grows is left alone for so many times as long as that took: for questions."""


def reread(paths: Sequence[str], how: How) -> Opened:
    """What the whole lines of a log say now, without a word about what is odd. Raises as `opened` does."""
    hushed = output.is_hushed()
    output.hush(True)
    try:
        with only_whole_lines():
            return opened(paths, how)
    finally:
        output.hush(hushed)


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

    def run(self, behind: SessionBehind, turns: Turns, ending: Event) -> None:
        """Read on wherever the log says something else, and hand over what it says now, until `ending`.

        Neither a file that was only touched nor a line that its writer has not ended says anything new.
        """
        while not ending.wait(EVERY):
            now = signature(self._paths)
            if now in (self._seen, ()):
                continue
            self._seen, begun = now, monotonic()
            try:
                self.look(behind, lambda work: turns.put(work).result())
            except (MicrocosmError, OSError) as error:
                behind.note = f"the log cannot be read on: {error}"
            except Exception as error:
                behind.note = exits.fault_line(error)
            ending.wait(SHARE * (monotonic() - begun))

    def look(self, behind: SessionBehind, in_turn: Callable[[Callable[[], object]], object]) -> None:
        """Read what there is, and hand it over in its turn. Raises as `opened` does, and `OSError`."""
        log, self._log = self._log, None
        growth = log.read_on() if log is not None else None
        if growth is not None:
            self._was = ()
            if not growth.links and growth.found.events == growth.first:
                self._log = log
                return
            if in_turn(partial(behind.grow, growth)):
                self._log = log
                return
        else:
            says = content(self._paths, whole_lines=bool(behind.session.logs))
            if says and says == self._was:
                return
            self._was = says
            begun = GrowingLog.begun(self._paths[0]) if self._may_grow(behind) else None
            log, growth = begun if begun is not None else (None, None)
        found = reread(self._paths, self._how) if growth is None else self._opened(growth, behind)
        shown, page = behind.pack(found.known, found, grows=growth is not None)
        in_turn(partial(behind.renew, found, shown, page))
        self._log = log

    def _may_grow(self, behind: SessionBehind) -> bool:
        """Whether it is one file of a log, of which nothing is asked but what it says."""
        logs = behind.session.logs
        alone = len(self._paths) == 1 and logs == (self._paths[0],) and os.path.isfile(logs[0])
        return alone and not self._how.strict and not options.of_logs()

    def _opened(self, growth: Growth, behind: SessionBehind) -> Opened:
        known = reading.microcosm_of(growth.found.givens, self._how.rules)
        return log_opened(known, behind.session.logs, growth.found, growth.report)
