"""What a session begins with: a microcosm file as `online` reads it, or a log as `extract` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from microcosm import files
from microcosm.cli import reading
from microcosm.state.opening import givens_in

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.rulebook import RuleBook
    from microcosm.state.microcosm import Microcosm


@dataclass(frozen=True, slots=True)
class How:
    """How to read what is opened: the rules, the profile, and the options of `extract` for a log."""

    rules: RuleBook
    strict: bool = False
    format: str | None = None
    pattern: str | None = None
    process: str | None = None
    trace: str | None = None
    edit: bool = False
    """Whether what comes out of a log may be changed."""

    @property
    def of_a_log(self) -> bool:
        """Whether an option is given that only logs have."""
        return any((self.format, self.pattern, self.process, self.trace))


@dataclass(frozen=True, slots=True)
class Opened:
    """A microcosm and where it came from: a file, as it was read, of that digest, or some `logs`."""

    known: Microcosm
    path: str | None
    digest: str | None
    told: str
    logs: tuple[str, ...] = ()


def opened(paths: Sequence[str], how: How) -> Opened:
    """Open a file or a log, of one file or of several; none is the empty microcosm.

    Standard input is a log. Raises as `reading.load` and `extract` do.
    """
    if not paths:
        return Opened(reading.microcosm_of(_nothing(), how.rules, strict=how.strict), None, None, "no file")
    path = paths[0]
    if not how.of_a_log and len(paths) == 1 and path != files.STDIN:
        content = files.read_bytes(path)
        givens = givens_in(content, path)
        if givens is not None:
            known = reading.microcosm_of(givens, how.rules, strict=how.strict)
            told = f"{path}: {_counted(len(known), 'event')}, {_counted(_stated(givens), 'statement')}"
            return Opened(known, path, digest_of(content), told)
        del content
    return _log(list(paths), how)


def digest_of(content: bytes) -> str:
    """What tells one content of a file from another."""
    return sha256(content).hexdigest()


def digest_now(path: str) -> str | None:
    """The digest of a file as it is now; None where there is none that can be read."""
    try:
        return digest_of(Path(path).read_bytes())
    except OSError:
        return None


def _log(paths: list[str], how: How) -> Opened:
    from microcosm.traces.extract import microcosm_of_logs

    reading.known_format(how.format)
    report = reading.report_of(strict=False)
    found = microcosm_of_logs(
        paths, format=how.format, pattern=how.pattern, process=how.process, trace=how.trace, report=report
    )
    reading.told_rest(report)
    known = reading.microcosm_of(found.givens, how.rules, strict=how.strict)
    told = f"{', '.join(map(files.display_name, paths))}: {found.summary()}"
    return Opened(known, None, None, told, tuple(paths))


def _nothing() -> Givens:
    from microcosm.givens.givens import Givens

    return Givens()


def _stated(givens: Givens) -> int:
    """How many statements there are, the internal chain counting as one."""
    parts = (givens.refuted, givens.stamps, givens.clocks, givens.messages, givens.tokens)
    return givens.externals + sum(len(part) for part in parts) + bool(givens.internal)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
