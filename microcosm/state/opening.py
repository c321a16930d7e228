"""What is in files: microcosms, logs of which microcosms are made, and derivations for the kernel to check.

Whether a file is a microcosm or a log is decided here and nowhere else. To have a derivation checked nothing
is deduced: the kernel shares no code with the search that finds proofs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from microcosm import files
from microcosm.errors import NotComplete, TextError
from microcosm.givens.givens import Gap, Givens
from microcosm.givens.spelling import SPELLINGS, expect
from microcosm.logic.derivation import Derivation
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.text.mc_reader import read_givens
from microcosm.text.names import KEYWORDS

if TYPE_CHECKING:
    from microcosm.traces.report import Extraction, Report

MICROCOSM_ENDING = ".mc"
LOG_ENDINGS = (".jsonl", ".ndjson", ".log", ".csv", ".parquet")

SURE = 32 << 10
"""What begins with so many characters of a log is not read whole to see whether it is a microcosm."""


class Source(NamedTuple):
    """What a microcosm is made of: the `content` of one microcosm file, or (None) the files of one log.

    `fault` is what keeps it from being read: it is raised when it is asked what is in it.
    """

    paths: tuple[str, ...]
    content: bytes | None = None
    fault: TextError | None = None

    @property
    def name(self) -> str:
        """Its files as they are called in messages."""
        return ", ".join(map(files.display_name, self.paths))

    def extraction(
        self, report: Report | None = None, *, complete: bool | Sequence[str] = False, **how: Any
    ) -> Extraction:
        """What comes out of the log, `how` being the options of `microcosm_of_logs`. Raises, costs as that.

        `complete` says that every event and every message of the log is in it, or those of some processes:
        `NotComplete` is raised where anything speaks against it. Cost: linear, plus sorting.
        """
        if self.fault is not None:
            raise self.fault
        return extracted(self.paths, report, complete=complete, **how)

    def givens(self, report: Report | None = None, **how: Any) -> Givens:
        """What is given. Raises `TextError`. Cost: linear, and for a log that of extraction."""
        if self.content is None:
            return self.extraction(report, **how).givens
        options = [
            name for name, value in how.items() if name != "with_clocks" and value not in (None, False)
        ]
        if options:
            hint = "A line `complete` in it says the same." if options[0] == "complete" else None
            raise TextError(f"is a microcosm, and {options[0]!r} is asked of logs", file=self.name, hint=hint)
        try:
            return read_givens(files.decode(self.content, self.name), self.name)
        except TextError as error:
            raise _unlike_a_log(error, self.paths[0], self.content) from None


def _unlike_a_log(error: TextError, path: str, content: bytes) -> TextError:
    """What is wrong with a file; of one named as logs are, or no statement from its first line: as a log.

    So it is of JSON that has no field of a microcosm.
    """
    if path == files.STDIN or path.endswith(MICROCOSM_ENDING):
        return error
    as_log = path.endswith(LOG_ENDINGS) or (error.line == 1 and not path.endswith(".json"))
    if not as_log and not _is_foreign(content):
        return error
    try:
        _log_head(path, refuse=True)
    except TextError as refusal:
        place = "" if error.line is None else f"line {error.line}: "
        refusal.message = f"{refusal.message}, and no microcosm ({place}{error.message})"
        return refusal
    return error


def _is_foreign(content: bytes) -> bool:
    """Whether a content is JSON that says nothing which only a microcosm says."""
    from microcosm.text.json_form import FIELDS

    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return content.lstrip().startswith(b"[")
    anywhere = {"name", "events", "messages"}
    return not isinstance(found, dict) or (bool(found) and found.keys().isdisjoint({*FIELDS} - anywhere))


def extracted(
    paths: Sequence[files.AnyPath],
    report: Report | None = None,
    *,
    complete: bool | Sequence[str] = False,
    **how: Any,
) -> Extraction:
    """What comes out of a log; see `Source.extraction`. Raises as that does. Cost: that of extraction."""
    from microcosm.traces.extract import microcosm_of_logs
    from microcosm.traces.report import Report

    report = Report() if report is None else report
    found = microcosm_of_logs(paths, report=report, **how)
    found.givens.gaps = tuple(_gaps(found, report))
    if complete:
        named = None if complete is True else (complete,) if isinstance(complete, str) else tuple(complete)
        _expect_processes(found, named or ())
        found.givens.state_complete(named)
        from microcosm.order.order import lacking

        if (lack := lacking(found.givens)) is not None:
            raise NotComplete((lack,))
    return found


def _expect_processes(found: Extraction, processes: Sequence[str]) -> None:
    """Raises `TextError` for a process that the log does not have. Cost: linear in the log."""
    from microcosm.traces.reading import nearest

    table = found.givens.events
    known = {*(table.processes if processes and table is not None else ())}
    for name in processes:
        if name not in known:
            raise TextError(f"no process {name!r} in the log", hint=nearest(name, known, "Processes"))


def _gaps(found: Extraction, report: Report) -> Iterator[Gap]:
    """What of a log speaks against its being complete. Cost: linear in the log where anything is odd."""
    from microcosm.traces.reading import LINES
    from microcosm.traces.report import OF_STREAMS, WITHOUT_MESSAGES

    given, odd = found.givens, report.holes
    yield from map(Gap, found.incomplete)
    if LINES in report.families and found.processes > 1 and not (found.messages or given.clocks):
        timed = any(isinstance(stamp, tuple) for stamp in given.stamps.values())
        if timed or given.external_count <= found.events - found.processes:  # links may be of times alone
            yield Gap(WITHOUT_MESSAGES)
    table = given.events
    if table is None:
        return
    known = {*table.processes}
    for name in sorted(known):
        if name.endswith("/stderr") and (container := name.removesuffix("/stderr")) in known:
            yield Gap(OF_STREAMS.format(container), container)
    if not odd:
        return
    places = {(each.file, each.line) for each in odd}
    rows = zip(table.files, table.lines, table.processes, strict=True)
    whose = {(file, line): process for file, line, process in rows if (file, line) in places}
    for each in odd:
        process = whose.get((each.file, each.line or 0))
        yield Gap(str(each), process, elsewhere=each.kind == "unmatched-receive")
    for kind in sorted({each.kind for each in odd}):
        if (more := report.counts[kind] - report.KEPT) > 0:
            yield Gap(f"and {more:,} more like these [{kind}]")


def read(*paths: files.AnyPath, report: Report | None = None, log: bool = False, **how: Any) -> Givens:
    """What files give: a microcosm (`.mc`, JSON), or a log of any format, packed or not, of several files.

    A path may be a folder, a pattern such as `logs/*.log`, or `-`, standard input. `how` are the options of
    `microcosm.traces.extract.microcosm_of_logs`; with `log` nothing is taken for a microcosm. Raises
    `TextError`. Cost: linear, and for a log that of extraction.
    """
    found = sources(paths, log=log or _is_described(how))
    try:
        if len(found) != 1 and not any(source.fault for source in found):
            message = "one microcosm or the files of one log can be read at a time; `merge` joins microcosms"
            raise TextError(message, file=", ".join(source.name for source in found))
        return next((source for source in found if source.fault), found[0]).givens(report, **how)
    finally:
        for path in (path for source in found for path in source.paths):
            files.aside.pop(path, None)  # who reads a pipe of that name again wants what comes then


def read_trace(*paths: files.AnyPath, **how: Any) -> Givens:
    """What a log gives; a microcosm is taken as it is. `how`, errors and cost are those of `read`."""
    log = _is_described(how) or all(source.content is None for source in sources(paths))
    return read(*paths, **how, log=log)


def write(givens: Givens, path: files.AnyPath) -> None:
    """Replace the content of a file, whole or not at all; JSON if its name ends in `.json`. Cost: linear."""
    if files.is_json_name(path):
        from microcosm.givens.exact import json_text
        from microcosm.text.json_form import givens_to_json

        text = json_text(givens_to_json(givens), indent=1) + "\n"
    else:
        from microcosm.text.mc_writer import write_mc

        text = write_mc(givens)
    files.write_text(path, text)


def _is_described(how: Mapping[str, Any]) -> bool:
    """Whether it is said how the lines are to be read: then they are those of a log."""
    return any(how.get(name) is not None for name in ("format", "pattern"))


def sources(paths: Sequence[files.AnyPath], *, log: bool = False) -> list[Source]:
    """What files are, in their order: each microcosm by itself, and all the logs among them as one.

    With `log` none is taken for a microcosm. What cannot be read is a source with a fault.

    Cost: linear in what has to be read of each to tell.
    """
    found: list[Source] = []
    place = None
    for path in _each_expanded(paths, found):
        try:
            content = None if log else _microcosm(path)
        except TextError as error:
            found.append(Source((path,), fault=error))
            continue
        if content is not None:
            found.append(Source((path,), content))
        elif place is None:
            place = len(found)
            found.append(Source((path,)))
        else:
            found[place] = Source((*found[place].paths, path))
    return found


def _each_expanded(paths: Sequence[files.AnyPath], found: list[Source]) -> Iterator[str]:
    for path in map(str, paths):
        try:
            yield from files.expanded([path])
        except TextError as error:
            found.append(Source((path,), fault=error))


def _microcosm(path: str) -> bytes | None:
    """The content of a microcosm file; None of a log. Raises `TextError` for what is neither."""
    files.put_aside(path)
    files.rewind(path)
    file = files.display_name(path)
    head = None if file.endswith(MICROCOSM_ENDING) else _log_head(path)
    if head is not None and (not _may_state(head) or (len(head) >= SURE and _is_no_microcosm(head))):
        return None  # it may be large, and need not be read for that
    content = files.read_bytes(path)
    files.rewind(path)
    if not content.strip() and path.endswith(LOG_ENDINGS):
        return None  # a log to which nothing is written yet
    if head is not None and content.strip():
        try:
            read_givens(files.decode(content, file), file)
        except TextError:
            return None
    return content


def _log_head(path: str, *, refuse: bool = False) -> str | None:
    """The beginning of what may be a log, by that beginning; None of what is none, or a `TextError`."""
    from microcosm.traces import reading as formats
    from microcosm.traces.report import Report
    from microcosm.traces.text.lines import open_lines

    try:
        with open_lines(path, Report()) as stream:
            formats.detect(stream.head, stream.file)
            return stream.head
    except TextError:  # no log, so whatever is wrong is wrong with a microcosm
        if refuse:
            raise
        return None
    finally:
        files.rewind(path)


def _may_state(head: str) -> bool:
    """Whether the first line that says something may be a statement, or JSON: else nothing is a microcosm.

    A statement has a relation in it, or begins with a keyword. Cost: that of a line, with no reader loaded.
    """
    lines = (line.lstrip() for line in head.lstrip("\ufeff").split("\n"))
    statement = next((line for line in lines if line and line[0] != "#"), "{")
    return statement.startswith(("{", "event", "process", *KEYWORDS)) or any(
        sign in statement for sign in SPELLINGS
    )


def _is_no_microcosm(head: str) -> bool:
    """Whether nothing that begins with some lines is a microcosm: they are none, or JSON that ends there."""
    lines = head[: head.rfind("\n") + 1]
    try:
        read_givens(lines[: lines.find("\n")] if lines.lstrip().startswith("{") else lines)
    except TextError as error:
        return not lines.lstrip().startswith("{") or error.message.startswith("unknown field")
    return False


@dataclass(frozen=True, slots=True)
class Verification:
    """What the kernel says of a derivation: whether it is `valid`, and if not the `fault`. No truth value."""

    valid: bool
    fault: str | None = None

    def __bool__(self) -> NoReturn:
        raise TypeError("a Verification is neither true nor false; ask whether it is `valid`")


class WithGivens(Protocol):
    """What has givens and rules, as a microcosm does."""

    @property
    def givens(self) -> Givens: ...
    @property
    def rules(self) -> RuleBook: ...


def verify(
    given: files.AnyPath | Givens | WithGivens,
    proof: Derivation | files.AnyPath | dict[str, Any],
    *,
    rules: RuleBook | None = None,
) -> Verification:
    """Have the kernel check a derivation against a microcosm, some givens, or a file; nothing is deduced.

    `proof` is a `Derivation`, its JSON form as a dictionary, or a JSON file of it. `rules` are those of the
    microcosm, else the shipped ones. Raises `TextError` for files that cannot be read. Cost: linear in the
    derivation, and a search for each absence.

    >>> from microcosm import Microcosm
    >>> album = Microcosm.parse("a < b < c")
    >>> verify(album, album.why("a", "c"))
    Verification(valid=True, fault=None)
    """
    from microcosm.kernel.check import check

    if isinstance(given, str | PathLike):
        given = read(given)
    if not isinstance(given, Givens):
        if not (hasattr(given, "rules") and hasattr(given, "givens")):
            expect(Givens, "microcosm, its givens, or a file", given)
        rules = given.rules if rules is None else rules
        given = given.givens
    expect(RuleBook | None, "rule book, such as `read_rules` reads from a folder", rules)
    stated: object = proof
    if isinstance(proof, Derivation):
        stated = proof.to_json()
    elif isinstance(proof, str | PathLike):
        from microcosm.text.json_form import TwiceError, decode_json

        try:
            stated = decode_json(files.read_text(proof), files.display_name(proof), deep=True)
        except TwiceError as twice:
            return Verification(False, twice.message)
    fault = check(given, rules if rules is not None else read_rules(), stated)
    return Verification(fault is None, fault)
