"""What the commands read: microcosm files, logs, and statements and events from the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from microcosm import files
from microcosm.cli import exits, output
from microcosm.cli.exits import InconsistentGivens, UsageError
from microcosm.errors import Contradiction
from microcosm.givens.relation import SPELLINGS, Correspondence, Relation
from microcosm.text.names import NAME, STRING, quote, unquote

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.rulebook import RuleBook
    from microcosm.state.microcosm import Microcosm
    from microcosm.traces.event import TraceEvent
    from microcosm.traces.report import Irregularity, Report


VERDICTS = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED, Relation.UNKNOWN)
"""What online decision making can conclude, and so what can be asked of it."""

_SIGN = r"!?(?:<>|\|\||<|>)|[?≺≻→∥≬≮]"
_QUESTION = re.compile(rf"\s*({STRING}|{NAME})\s*({_SIGN})\s*({STRING}|{NAME})\s*")


def rulebook(directory: str | None) -> RuleBook:
    """The rules of `--rules`, or the shipped ones."""
    from microcosm.logic.rulebook import read_rules

    return read_rules(directory)


def givens_of(file: str) -> Givens:
    """What a file gives, before anything is concluded from it."""
    from microcosm.text.mc_reader import read_givens

    return read_givens(files.read_text(file), files.display_name(file))


def microcosm_of(givens: Givens, rules: RuleBook, *, strict: bool = False) -> Microcosm:
    """The microcosm of `givens`; raises `InconsistentGivens` where they contradict each other."""
    from microcosm.state.microcosm import Microcosm

    try:
        return Microcosm(givens, strict=strict, rules=rules)
    except Contradiction as error:
        raise InconsistentGivens(error, givens) from error


def load(file: str, rules: str | None, *, strict: bool = False) -> Microcosm:
    """The microcosm of a file.

    Raises `TextError`, `InconsistentGivens`, and `Undefined` where `strict` refuses it.
    """
    return microcosm_of(givens_of(file), rulebook(rules), strict=strict)


def standard_input_once(names: Sequence[str]) -> None:
    """Refuse to read standard input twice."""
    if sum(name == files.STDIN for name in names) > 1:
        raise UsageError("standard input (-) can be read only once")


def distinct(left: str, right: str) -> None:
    """Refuse a question about an event and itself."""
    if left == right:
        raise UsageError(f"both events are {quote(left)}: no event stands in a relation to itself; name two")


def question(text: str) -> Correspondence:
    """`A < B` as it is asked on the command line; `?` may be asked too, names are quoted as in files."""
    found = _QUESTION.fullmatch(text)
    if found is None:
        raise UsageError(f"cannot read {text!r}: write two events and a relation, such as 'a < b'")
    left, sign, right = found.groups()
    relation = SPELLINGS[sign]
    if relation not in VERDICTS:
        raise UsageError(f"{sign} is no verdict of a microcosm; ask for one of < > || <> ?")
    asked = Correspondence(_name(left), relation, _name(right))
    distinct(asked.left, asked.right)
    return asked


def change(text: str) -> tuple[Correspondence, bool]:
    """An addition `a < b`, or an update `a <> b := a < b` as rule files write it (True)."""
    before, update, after = text.partition(":=")
    if not update:
        return question(text), False
    old, new = question(before), question(after)
    if old.relation is not Relation.RELATED or {old.left, old.right} != {new.left, new.right}:
        raise UsageError(f"cannot read {text!r}: an update is written 'a <> b := a < b'")
    return new, True


def _name(token: str) -> str:
    if not token.startswith('"'):
        return token
    try:
        return unquote(token)
    except ValueError:
        raise UsageError(f"cannot read the name {token}: a bad escape") from None


SAID = 5
"""So many irregularities of a kind are told one by one; the rest are counted."""

Format = Annotated[
    str | None, typer.Option("--format", metavar="F", help="The format, where the log does not tell.")
]
Pattern = Annotated[
    str | None,
    typer.Option("--pattern", metavar="REGEX", help="Records of a text log: groups event, host and clock."),
]
Execution = Annotated[
    str | None, typer.Option("--trace", metavar="NAME", help="One execution of several in the log.")
]
StrictLog = Annotated[bool, typer.Option("--strict", help="An irregularity of the log is an error.")]


def events_of(
    traces: list[str], format: str | None, pattern: str | None, report: Report, trace: str | None
) -> Iterator[TraceEvent]:
    """The events of some logs. Raises `UsageError` for an unknown format, `TextError` as readers do."""
    from microcosm.traces import reading as formats

    known_format(format)
    return formats.read(traces, format=format, pattern=pattern, report=report, trace=trace)


def known_format(format: str | None) -> None:
    """Refuse a format that there is not. Raises `UsageError`."""
    from microcosm.traces import reading as formats

    if format is not None and format not in formats.names():
        hint = formats.nearest(format, formats.names(), "Formats")
        raise exits.UsageError(f"no trace format {format!r}. {hint}")


def report_of(strict: bool) -> Report:
    """A report that tells the first irregularities of each kind as they are found."""
    from microcosm.traces.report import Report

    def tell(found: Irregularity) -> None:
        if report.counts[found.kind] <= SAID:
            output.warn(str(found))

    report = Report(strict, each=tell)
    return report


def told_rest(report: Report) -> None:
    """How many irregularities of each kind were not told one by one."""
    for kind, count in report.counts.items():
        if count > SAID:
            output.warn(f"{count - SAID:,} more of [{kind}]")
