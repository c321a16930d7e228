"""`table`: the verdicts on all pairs of events, written as they are found."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option, Typer

from microcosm.cli import exits, options, output, reading
from microcosm.cli.show.offline import (
    inconsistent_fields,
    inconsistent_lines,
    joined,
    say_inconsistent,
    too_wide,
    warn_if_inconsistent,
)
from microcosm.cli.show.proofs import Style
from microcosm.cli.show.tables import (
    MOST_IN_A_MATRIX,
    lines_of,
    matrix_lines,
    new_table,
    pair_texts,
    stream_pairs,
)
from microcosm.cli.show.verdict import by_complete, words_of
from microcosm.givens.relation import Relation
from microcosm.queries.concluded import ConcludedOffline
from microcosm.tuning import kept
from microcosm.worlds.propagation import MEMBERS

if TYPE_CHECKING:
    from microcosm.cli.output import Fields
    from microcosm.cli.show.tables import Rows, Verdict
    from microcosm.queries.batch import VerdictTable
    from microcosm.queries.concluded import Shown, ShownTable
    from microcosm.queries.possible import PairsLeft
    from microcosm.state.microcosm import Microcosm
    from microcosm.worlds.search import Stop


app = Typer()


MODES = ("online", "offline", "possible")


@app.command("table")
def table(
    files: options.Files,
    mode: Annotated[
        str, Option(metavar="online|offline|possible", help="Verdicts, or what may be.")
    ] = "online",
    every: Annotated[bool, Option("--all", help="Every pair, on a line of its own.")] = False,
    depth: Annotated[int, Option(metavar="N", min=0, help="For offline: how deep assumptions nest.")] = 0,
    limit: options.Limit = None,
    strict: options.Strict = False,
) -> int:
    """The verdicts on all pairs of events.

    Up to 20 events are shown as a matrix, more are counted; --all prints every pair. With --mode
    possible, what is shown of a pair is which of <, > and || some world gives it; with --mode offline,
    which of them the offline rules leave (by default without assumptions).

    \b
    Examples:
      microcosm table album.mc
      microcosm table --mode possible album.mc
    """
    if mode not in MODES:
        raise exits.UsageError(f"there is no mode {mode!r}: it is {', '.join(MODES[:-1])} or {MODES[-1]}")
    if limit is not None and mode != "possible":
        raise exits.UsageError("--limit is for --mode possible: the others need no search")
    if depth and mode != "offline":
        raise exits.UsageError("--depth is for --mode offline")
    code, book = exits.HOLDS, reading.rulebook()
    sources = reading.sources(files)
    for number, source in enumerate(sources):
        file = source.name
        try:
            with kept():
                known = reading.microcosm_of(reading.given_in(source, strict=strict), book, strict=strict)
        except exits.EXPECTED as error:
            code = exits.failure(error, "microcosm table")
            continue
        if len(sources) > 1 and not output.for_machines():
            output.say(*([""] if number else []), f"{output.printable(file)}:")
        if mode == "possible":
            code = max(code, _possible(file, known, every, options.stop_after(limit)))
        elif mode == "offline":
            code = max(code, _offline(file, known, every, depth))
        else:
            warn_if_inconsistent(known, source.paths)
            more = _concluded(known) if output.for_machines() else {}
            _give(file, known, _table(known).rows(), more, _lines(known) if every else overview(known), every)
    return code


def _give(file: str, known: Microcosm, rows: Rows, more: Fields, lines: Iterable[Any], every: bool) -> None:
    """A table: as JSON, with what is to come last, or its lines; those of `every` pair row by row."""
    if output.for_machines():
        stream_pairs(file, known.events, rows, more)
    elif every:
        with output.writing(len(known.events)) as progress:
            for row in lines:
                output.say_all(row, progress.did)
    else:
        output.say_all(lines)


def _table(known: Microcosm) -> VerdictTable | ShownTable:
    """The online verdicts; of a log that is said to be complete, with what is concluded offline from that."""
    return known.concluded.table(known.events) if known.givens.complete else known.table()


def _concluded(known: Microcosm) -> Fields:
    """How many `||` were concluded offline, where the log is said to be complete."""
    if not known.givens.complete:
        return {}
    concurrent = known.concluded.table(known.events).counts()[ConcludedOffline.APART]
    return {"concluded_offline": concurrent} if concurrent else {}


EVERY_PAIR = "--all prints every pair"


def overview(known: Microcosm, more: str = EVERY_PAIR) -> Iterator[str]:
    """Of few events the online verdict of each two, of many how many have which, and how to have `more`."""
    return _by_number(known.events, _online_matrix(known), _online_counts(known, more))


def _by_number(events: list[str], few: Iterator[str], many: Iterator[str]) -> Iterator[str]:
    """What is shown of a table of `few` events, or of `many`."""
    if len(events) < 2:
        return iter([f"{output.counted(len(events), 'event')}, no pair"])
    return few if len(events) <= MOST_IN_A_MATRIX else many


class _Words(dict[str, str]):
    """How each event is shown, found when it is asked for: the first pairs of many do not wait for all."""

    def __init__(self, of: Callable[[str], str]) -> None:
        super().__init__()
        self._of = of

    def __missing__(self, event: str) -> str:
        words = self[event] = self._of(event)
        return words


def _lines(known: Microcosm) -> Iterator[Iterator[str]]:
    """Of each event its pairs with those after it, a line each."""
    silent = Style.of(sys.stdout).signs.silent
    names = _Words(words_of(known))
    signs: dict[Shown, str] = {
        r: f" {silent if r is Relation.SILENT else r} " for r in (*Relation, *ConcludedOffline)
    }
    for a, others, verdicts in _table(known).rows():
        named = map(names.__getitem__, others)
        yield map("".join, zip(repeat(names[a]), map(signs.__getitem__, verdicts), named))


def _online_matrix(known: Microcosm) -> Iterator[str]:
    silent = Style.of(sys.stdout).signs.silent
    cell = {}
    for a, b, verdict in _table(known):
        converse = verdict if isinstance(verdict, ConcludedOffline) else verdict.converse
        cell[a, b] = silent if verdict is Relation.SILENT else str(verdict)
        cell[b, a] = silent if verdict is Relation.SILENT else str(converse)
    yield from matrix_lines(known.events, cell, words_of(known))
    if silent in cell.values():
        yield f"{silent} is silence: no rule says anything about the pair."
    if str(ConcludedOffline.APART) in cell.values():
        yield f"* {by_complete(known)}"


def _online_counts(known: Microcosm, more: str) -> Iterator[str]:
    found: Counter[Shown] = Counter(_table(known).counts())
    ordered = found[Relation.BEFORE] + found[Relation.AFTER]
    silent = Style.of(sys.stdout).signs.silent
    drawn = new_table("verdict", "")
    drawn.add_column("pairs", justify="right")
    for sign, words, count in (
        ("<", "one happens before the other", ordered),
        ("||", "concurrent", found[Relation.CONCURRENT]),
        (str(ConcludedOffline.APART), f"concurrent: {by_complete(known)}", found[ConcludedOffline.APART]),
        ("<>", "causally related, direction not known", found[Relation.RELATED]),
        ("?", "unknown", found[Relation.UNKNOWN]),
        (silent, "silent: no rule says anything", found[Relation.SILENT]),
    ):
        if count or sign != str(ConcludedOffline.APART):
            drawn.add_row(sign, words, f"{count:,}")
    yield from (f"{len(known.events):,} events, {output.counted(found.total(), 'pair')}; {more}", "")
    yield from lines_of(drawn)


NOT_DECIDED = "some of these were not decided in time, and may be impossible"


def _possible(file: str, known: Microcosm, every: bool, stop: Stop | None) -> int:
    """Answer for one file; the exit code: 0, 1 where no world fits it, 3 where `stop` came first."""
    events = known.events
    found = known.possible_table(stop)
    if found is None:
        conflict = say_inconsistent(file, known.givens, stop)
        if output.for_machines():
            stream_pairs(file, events, (), {"exact": True, "conflict": conflict})
        return exits.REFUTED
    pairs, decided = found
    ignored = known.worlds.ignored
    fields: Fields = {"ignored": list(ignored)} if ignored else {}
    _left(file, known, pairs, every, {"exact": decided and not ignored, **fields})
    if not decided:
        output.warn(NOT_DECIDED)
    if ignored:
        output.warn(too_wide(known.givens, ignored))
    return exits.HOLDS if decided else exits.UNDECIDED


def _offline(file: str, known: Microcosm, every: bool, depth: int) -> int:
    """What the offline rules leave of each pair at a depth; exit code 1 where they contradict themselves."""
    from microcosm.queries.offline import Inconsistent

    try:
        pairs = known.offline_table(depth=depth)
    except Inconsistent as problem:
        if output.for_machines():
            stream_pairs(file, known.events, (), inconsistent_fields(problem))
        else:
            output.say_all(inconsistent_lines(known, problem))
        return exits.REFUTED
    warn_if_inconsistent(known, (file,))
    _left(file, known, pairs, every, {})
    return exits.HOLDS


def _left(file: str, known: Microcosm, pairs: PairsLeft, every: bool, more: Fields) -> None:
    """Answer with what is left of each pair, and as JSON with `more`."""
    overview = _by_number(known.events, _left_matrix(known, pairs), _left_counts(known, pairs))
    _give(file, known, pairs.rows(), more, _left_lines(known, pairs) if every else overview, every)


def _left_lines(known: Microcosm, pairs: PairsLeft) -> Iterator[Iterator[str]]:
    sign: dict[Verdict, str] = {left: f": {' '.join(map(str, left)) or 'nothing'}" for left in pairs.counts()}
    yield from pair_texts(pairs.rows(), "{}, ", _Words(words_of(known)), sign)


def _left_matrix(known: Microcosm, pairs: PairsLeft) -> Iterator[str]:
    cell = {}
    for a, b, left in pairs:
        cell[a, b] = joined(left)
        cell[b, a] = joined(tuple(r for r in MEMBERS if r.converse in left))
    yield from matrix_lines(known.events, cell, words_of(known))
    yield "<> is one of < and >, !< one of > and ||, !> one of < and ||; a dot is any of the three."


def _left_counts(known: Microcosm, pairs: PairsLeft) -> Iterator[str]:
    found, drawn = pairs.counts(), new_table("possible")
    drawn.add_column("pairs", justify="right")
    for left, count in found.most_common():
        drawn.add_row(" or ".join(map(str, left)) or "nothing", f"{count:,}")
    yield from (f"{len(known.events):,} events, {output.counted(found.total(), 'pair')}; {EVERY_PAIR}", "")
    yield from lines_of(drawn)
