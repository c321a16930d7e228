"""What the commands read: microcosm files, logs, and statements and events from the command line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from glob import iglob
from os.path import exists
from typing import TYPE_CHECKING, Any

from microcosm import files
from microcosm.cli import exits, options, output
from microcosm.cli.exits import InconsistentGivens, UsageError
from microcosm.errors import Contradiction, TextError
from microcosm.givens.relation import Correspondence, Relation
from microcosm.givens.spelling import SPELLINGS
from microcosm.logic.rulebook import read_rules
from microcosm.state import opening
from microcosm.text.names import NAME, quote
from microcosm.text.statement import STRING, unquote
from microcosm.tuning import kept

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens
    from microcosm.logic.rulebook import RuleBook
    from microcosm.questions.language import Questions
    from microcosm.state.microcosm import Microcosm
    from microcosm.state.opening import Source
    from microcosm.traces.event import TraceEvent
    from microcosm.traces.report import Extraction, Irregularity, Report


VERDICTS = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED, Relation.UNKNOWN)
"""What online decision making can conclude, and so what can be asked of it."""

UNASKED = ("isolated-event",)
"""Kinds of irregularity that matter where a log is extracted, and not where some events are asked about."""

_SIGN = r"!?(?:<>|\|\||<|>)|[?≺≻→∥≬≮]"
_EVENT = rf"({STRING}|/(?:[^/\\]|\\.)+/(?=\s|[<>|?!≺≻→∥≬≮]|\Z)|{NAME})"
_QUESTION = rf"\s*{_EVENT}\s*({_SIGN})\s*{_EVENT}\s*"


def rulebook() -> RuleBook:
    """The rules of `--rules`, or the shipped ones."""
    return read_rules(options.rules())


def sources(paths: Sequence[str]) -> list[Source]:
    """What the command line names: microcosms, each by itself, and the logs among them as one.

    Raises `UsageError` for a format that there is not; what cannot be read says so when it is.
    """
    standard_input_once(paths)
    how = options.of_logs()
    known_format(how.get("format"))
    return opening.sources(paths, log="format" in how or "pattern" in how)


def spare(read: Iterable[files.AnyPath], out: str | None) -> None:
    """Raise `UsageError` where what is written would take the place of what is read."""
    if out not in (None, files.STDIN) and any(len(files.distinct([path, out])) == 1 for path in read):
        raise UsageError(f"{out} is what is read, and would be lost: name another file to write")


def givens_of(paths: Sequence[str], *, strict: bool = False) -> Givens:
    """What one microcosm gives, or one log of some files, before anything is concluded from it.

    Raises `UsageError` where there are several, and as `sources` does.
    """
    return given_in(one_of(paths), strict=strict)


def one_of(paths: Sequence[str]) -> Source:
    """The one microcosm, or the one log, of some files. Raises `UsageError`, `TextError`."""
    found = sources(paths)
    for source in found:
        if source.fault is not None:
            raise source.fault
    if len(found) > 1:
        for source in found:  # what is neither microcosm nor log says so itself
            if source.content is not None and not source.paths[0].endswith((".mc", ".json")):
                source.givens()
        several = " and ".join(source.name for source in found)
        raise UsageError(f"{several}: this asks one microcosm, or the files of one log; `merge` joins them")
    return found[0]


def given_in(source: Source, *, strict: bool = False, report: Report | None = None) -> Givens:
    """What a source gives; what is odd about a log is told, or an error where that is to be `strict`.

    A `report` of `report_of`, with `UNASKED`, is for who wants to look into it afterwards.
    """
    if source.content is not None:  # no log, of which nothing odd is to be told
        with output.progress(f"reading {source.name}"):
            return source.givens(**options.of_logs())
    report = report_of(strict, UNASKED) if report is None else report
    return extraction_of(source, report=report, untold=UNASKED).givens


def may_be_complete(known: Microcosm) -> bool:
    """Whether a log was read that is not said to be complete, nothing in it says that it is not, and the
    rules would conclude something from that.
    """
    given = known.givens
    messages = given.message_columns is not None or bool(given.messages)
    if given.gaps is None or given.complete or given.gaps or not messages:
        return False
    from microcosm.engine.lowering import compile_rules
    from microcosm.queries.batch import concluding_concurrency

    return bool(concluding_concurrency(compile_rules(known.rules)))


def is_without_messages(known: Microcosm) -> bool:
    """Whether a log of several processes was read of which nothing orders what two of them do."""
    given, table = known.givens, known.givens.events
    if given.gaps is None or table is None or given.message_count or given.clocks or given.tokens:
        return False
    processes = len({*zip(table.traces, table.processes, strict=True)})
    return processes > 1 and given.external_count <= len(table) - processes


def extraction_of(
    source: Source, *, with_clocks: bool = True, report: Report, untold: Collection[str] = ()
) -> Extraction:
    """What comes out of a log; what is odd about it is told by a `report` of `report_of`.

    Of a microcosm what it gives; raises `InconsistentGivens` where that contradicts itself.
    """
    if source.content is not None:
        from microcosm.state.as_log import extraction_of

        givens = given_in(source)
        microcosm_of(givens, rulebook())
        return extraction_of(givens)
    with output.reading(source.paths, report):
        found = source.extraction(report, with_clocks=with_clocks, **options.of_logs())
    told_rest(report, untold)
    return found


def questions_in(path: str) -> Questions:
    """The questions of a file. Raises `TextError`."""
    from microcosm.questions.reader import read_questions

    return read_questions(files.read_text(path), files.display_name(path))


def microcosm_of(givens: Givens, rules: RuleBook, *, strict: bool = False) -> Microcosm:
    """The microcosm of `givens`; raises `InconsistentGivens` where they contradict each other."""
    from microcosm.state.microcosm import Microcosm  # `verify` of a derivation needs none

    try:
        return Microcosm(givens, strict=strict, rules=rules)
    except Contradiction as error:
        raise InconsistentGivens(error, givens) from error


def load(paths: Sequence[str], *, strict: bool = False) -> Microcosm:
    """The microcosm of one file, or of the files of one log.

    Raises `TextError`, `InconsistentGivens`, and `Undefined` where `strict` refuses it.
    """
    book = rulebook()
    with kept():
        return microcosm_of(givens_of(paths, strict=strict), book, strict=strict)


@contextmanager
def said_in(option: str) -> Iterator[None]:
    """What is wrong with a text that the command line has in an option, or as SOUGHT, is said to be there."""
    try:
        yield
    except TextError as error:
        error.file = error.file or option
        raise


def split(arguments: Sequence[str], *words: str) -> tuple[list[str], list[str]]:
    """The files on a command line, and what is asked of them, which stands last. Raises `UsageError`."""
    if len(arguments) <= len(words):
        wanted = ("FILE", *words)
        raise UsageError(f"missing {' and '.join(wanted[len(arguments) :])}: say {' '.join(wanted)}")
    paths, last = list(arguments[: -len(words)]), list(arguments[-len(words) :])
    for path in paths[1:]:
        if not _is_file(path):
            what = f"{output.printable(' '.join(last))} would be what is asked, behind some FILE"
            raise UsageError(f"there is no file {path!r}: {what}")
    return paths, last


def pair_asked(arguments: Sequence[str]) -> tuple[list[str], tuple[str, str]]:
    """The files on a command line, and the two events asked about: `A B`, or as one word `'A < B'`.

    Raises `UsageError`, also where both are one event.
    """
    if asks_in_one_word(arguments):
        paths, (stated,) = split(arguments, "'A < B'")
        correspondence = question(stated)
        return paths, (correspondence.left, correspondence.right)
    paths, (left, right) = split(arguments, "A", "B")
    distinct(left, right)
    return paths, (left, right)


def pair_in(
    arguments: Sequence[str], *, strict: bool, must_exist: bool
) -> tuple[Microcosm, list[str], tuple[str, str]]:
    """What some files give, these files, and the two events asked about. Raises as `load` and `pair_of`."""
    paths, pair = pair_asked(arguments)
    known = load(paths, strict=strict)
    return known, paths, pair_of(known, *pair, must_exist=must_exist)


def relation_asked(arguments: Sequence[str]) -> tuple[list[str], Correspondence]:
    """The files on a command line, and a relation of two events: `'A < B'`, or `A B` for A before B."""
    if len(arguments) > 2 and not asks_in_one_word(arguments) and not _is_file(arguments[-2]):
        paths, (left, right) = split(arguments, "A", "B")
        distinct(left, right)
        return paths, Correspondence(left, Relation.BEFORE, right)
    paths, (stated,) = split(arguments, "'A < B'")
    return paths, question(stated)


def asks_in_one_word(arguments: Sequence[str]) -> bool:
    """Whether the last of some arguments is `A < B`, behind files."""
    alone = len(arguments) == 2  # the first is a file, then, whether it is there or not
    named = alone or (len(arguments) > 2 and _is_file(arguments[-2]))
    return named and re.fullmatch(_QUESTION, arguments[-1]) is not None


def _is_file(argument: str) -> bool:
    return argument == files.STDIN or exists(argument) or any(iglob(argument, recursive=True))


def pair_of(known: Microcosm, left: str, right: str, *, must_exist: bool = False) -> tuple[str, str]:
    """The two events meant, by name, `FILE:LINE` or `/regex/`.

    Raises `NotOneEvent`, `UsageError`, and `UnknownEvent` where they `must_exist` and one does not.
    """
    left, right = known.event(left), known.event(right)
    distinct(left, right)
    if must_exist:
        known.require(left, right)
    return left, right


def standard_input_once(names: Sequence[str]) -> None:
    """Refuse to read standard input twice."""
    if sum(name == files.STDIN for name in names) > 1:
        raise UsageError("standard input (-) can be read only once")


def distinct(left: str, right: str) -> None:
    """Refuse a question about an event and itself, or about one without a name."""
    if not (left and right):
        raise UsageError("an event has a name, and '' is none; name two")
    if left == right:
        raise UsageError(f"both events are {quote(left)}: no event stands in a relation to itself; name two")


def question(text: str) -> Correspondence:
    """`A < B` as it is asked on the command line; `?` may be asked too, names are quoted as in files."""
    found = re.fullmatch(_QUESTION, text)
    if found is None:
        raise UsageError(f"cannot read {text!r}: write two events and a relation, such as 'a < b'")
    left, sign, right = found.groups()
    relation = SPELLINGS[sign]
    if relation not in VERDICTS:
        raise UsageError(f"{sign} is no verdict of a microcosm; ask for one of < > || <> ?")
    correspondence = Correspondence(_name(left), relation, _name(right))
    distinct(correspondence.left, correspondence.right)
    return correspondence


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


def events_of(traces: Sequence[str], report: Report, **how: Any) -> Iterator[TraceEvent]:
    """The events of some logs, and of microcosms told as logs; microcosms last.

    Raises `UsageError` for an unknown format, `TextError` as readers do.
    """
    from microcosm.state import as_log
    from microcosm.traces import reading as formats

    known_format(how.get("format"))
    described = how.get("format") is not None or how.get("pattern") is not None
    for source in sorted(opening.sources(traces, log=described), key=lambda each: each.content is not None):
        if source.content is None and source.fault is None:
            yield from formats.read(source.paths, report=report, **how)
            continue
        rows = as_log.log_of(source.givens(), source.name, report)
        yield from rows if how.get("trace") is None else formats.picked(rows, str(how["trace"]), report)[0]


def known_format(format: str | None) -> None:
    """Refuse a format that there is not. Raises `UsageError`."""
    if format is None:
        return
    from microcosm.traces import reading as formats

    if format not in formats.names():
        hint = formats.nearest(format, formats.names(), "Formats")
        raise exits.UsageError(f"no trace format {format!r}. {hint}")


def report_of(strict: bool, untold: Collection[str] = ()) -> Report:
    """A report that tells the first irregularities of each kind as they are found, but for some kinds."""
    from microcosm.traces.report import Report

    most = options.most_warnings()

    def tell(found: Irregularity) -> None:
        if report.counts[found.kind] <= most and found.kind not in untold:
            output.warn(str(found))

    report = Report(strict, each=tell)
    return report


def told_rest(report: Report, untold: Collection[str] = ()) -> None:
    """How many irregularities of each kind were not told one by one."""
    most = options.most_warnings()
    for kind, count in report.counts.items():
        if count > most > 0 and kind not in untold:
            output.warn(f"{count - most:,.0f} more of [{kind}] (--warnings all lists them)")
