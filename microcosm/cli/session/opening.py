"""What a session begins with: a microcosm file as `online` reads it, or a log as `extract` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from microcosm import files
from microcosm.cli import output, reading

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.rulebook import RuleBook
    from microcosm.state.microcosm import Microcosm
    from microcosm.state.opening import Source
    from microcosm.traces.report import Extraction, Report


@dataclass(frozen=True, slots=True)
class How:
    """How to read what is opened: the rules and the profile."""

    rules: RuleBook
    strict: bool = False
    edit: bool = False
    """Whether what comes out of a log may be changed."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A microcosm and where it came from: a file, as it was read, of that digest, or some `logs`.

    `report` says what was odd about these.
    """

    known: Microcosm
    path: str | None
    digest: str | None
    told: str
    logs: tuple[str, ...] = ()
    report: Report | None = None


def opened(paths: Sequence[str], how: How) -> Opened:
    """Open a microcosm, or the files of one log; none is the empty microcosm.

    Raises as `reading.load` does.
    """
    if not paths:
        return Opened(reading.microcosm_of(_nothing(), how.rules, strict=how.strict), None, None, "no file")
    source = reading.one_of(paths)
    if source.content is None:
        return _log(source, how)
    givens = reading.given_in(source, strict=how.strict)
    known = reading.microcosm_of(givens, how.rules, strict=how.strict)
    events, stated = output.counted(len(known), "event"), output.counted(_stated(givens), "statement")
    told = f"{source.name}: {events}, {stated}"
    path = None if files.STDIN in source.paths else source.paths[0]
    return Opened(known, path, None if path is None else digest_of(source.content), told)


def digest_of(content: bytes) -> str:
    """What tells one content of a file from another."""
    return sha256(content).hexdigest()


def digest_now(path: str) -> str | None:
    """The digest of a file as it is now; None where there is none that can be read."""
    try:
        return digest_of(Path(path).read_bytes())
    except OSError:
        return None


def _log(source: Source, how: How) -> Opened:
    report = reading.report_of(how.strict)
    found = reading.extraction_of(source.paths, strict=how.strict, report=report)
    known = reading.microcosm_of(found.givens, how.rules, strict=how.strict)
    return log_opened(known, source.paths, found, report)


def log_opened(known: Microcosm, paths: tuple[str, ...], found: Extraction, report: Report) -> Opened:
    """The microcosm of a log, opened, with what was found there."""
    reading.note_gaps(found, report)
    name = ", ".join(map(files.display_name, paths))
    return Opened(known, None, None, f"{name}: {found.summary()}", paths, report)


def _nothing() -> Givens:
    from microcosm.givens.givens import Givens

    return Givens()


def _stated(givens: Givens) -> int:
    """How many statements there are, the internal chain counting as one."""
    parts = givens.refuted, givens.stamps, givens.clocks, givens.processes, givens.tokens
    return givens.externals + givens.exchanged + sum(len(part) for part in parts) + bool(givens.internal)
