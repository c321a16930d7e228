"""`table`: the verdicts on all pairs of events, written as they are found."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option, Typer

from microcosm.cli import exits, options, output, reading
from microcosm.cli.show import offline as show
from microcosm.cli.show import tables
from microcosm.cli.show.proofs import Style
from microcosm.cli.show.verdict import by_complete, words_of
from microcosm.errors import Stopped
from microcosm.givens.relation import Relation
from microcosm.queries.batch import Beside, ConcludedOffline
from microcosm.queries.possible import PairsLeft
from microcosm.tuning import kept
from microcosm.worlds.propagation import MEMBERS

if TYPE_CHECKING:
    from microcosm.cli.output import Fields
    from microcosm.cli.show.tables import Verdict
    from microcosm.queries.batch import Shown, VerdictTable
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
    depth: Annotated[str, Option(metavar="N|exact", help="For offline: how deep assumptions nest.")] = "0",
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
    nests = options.natural("--depth", depth, {"exact": None})
    if limit is not None and (mode == "online" or (mode == "offline" and nests == 0)):
        raise exits.UsageError(
            "--limit is for --mode possible, and offline with --depth: the others need no search"
        )
    if nests != 0 and mode != "offline":
        raise exits.UsageError("--depth is for --mode offline")
    codes, book = [exits.HOLDS], reading.rulebook()
    sources = reading.sources(files)
    for number, source in enumerate(sources):
        file = source.name
        try:
            with kept():
                known = reading.microcosm_of(reading.given_in(source, strict=strict), book, strict=strict)
        except exits.EXPECTED as error:
            codes.append(exits.failure(error, "microcosm table"))
            continue
        if len(sources) > 1 and not output.for_machines():
            output.say(*([""] if number else []), f"{output.printable(file)}:")
        if mode == "possible":
            codes.append(_possible(file, known, every, options.stop_after(limit)))
        elif mode == "offline":
            codes.append(_offline(file, known, every, nests, options.stop_after(limit)))
        else:
            show.warn_if_inconsistent(known, source.paths)
            more = _concluded(known) if output.for_machines() else {}
            pairs = online_table(known)
            _give(file, pairs, more, _lines(known, pairs) if every else overview(known, pairs), every)
    return exits.worst(codes)


def _give(file: str, pairs: Beside, more: Fields, lines: Iterable[Any], every: bool) -> None:
    """A table: as JSON, with what is to come last, or its lines; those of `every` pair row by row."""
    if output.for_machines():
        tables.stream_pairs(file, pairs.names, pairs.rows(), more)
    elif every:
        with output.writing(len(pairs.names)) as progress:
            for row in lines:
                output.say_all(row, progress.did)
    else:
        output.say_all(lines)


def online_table(known: Microcosm) -> Beside:
    """The online verdicts; of a log that is said to be complete, with what is concluded offline from that."""
    events = known.events
    return _beside(known, known.concluded.table(events) if known.givens.complete else known.table(), events)


def _named(known: Microcosm) -> list[str]:
    """Every event, sorted, and those of which nothing but the log's own words are known."""
    said = known.givens.events
    return known.events if said is None else sorted({*known.events, *said.names})


def _beside(known: Microcosm, pairs: VerdictTable | PairsLeft, events: list[str]) -> Beside:
    """A table with the events of the log that nothing relates to another: what is said of strangers.

    Where rules of one's own relate them they are left out: whoever wants to know asks for the pair.
    """
    others = [*set(_named(known)).difference(events)]
    open: Any = MEMBERS
    if not isinstance(pairs, PairsLeft) and others:
        open = known.online(others[0], events[0] if events else f"not {others[0]}")
        if open not in (Relation.UNKNOWN, Relation.SILENT):
            others = []
    return Beside(pairs, events, others, open)


def _concluded(known: Microcosm) -> Fields:
    """How many `||` were concluded offline, where the log is said to be complete."""
    if not known.givens.complete:
        return {}
    concurrent = known.concluded.table(known.events).counts()[ConcludedOffline.APART]
    return {"concluded_offline": concurrent} if concurrent else {}


EVERY_PAIR = "--all prints every pair"


def overview(known: Microcosm, pairs: Beside, more: str = EVERY_PAIR) -> Iterator[str]:
    """Of few events the online verdict of each two, of many how many have which, and how to have `more`."""
    signs, apart = _signs(), ConcludedOffline.APART
    silent = signs[Relation.SILENT]
    found: Counter[Shown] = Counter(pairs.counts())
    legend = [f"{silent} is silence: no rule says anything about the pair."] if found[Relation.SILENT] else []
    legend += [f"* {by_complete(known)}"] if found[apart] else []
    rows = [
        ("<", "one happens before the other", found[Relation.BEFORE] + found[Relation.AFTER]),
        ("||", "concurrent", found[Relation.CONCURRENT]),
        *([(str(apart), f"concurrent: {by_complete(known)}", found[apart])] if found[apart] else []),
        ("<>", "causally related, direction not known", found[Relation.RELATED]),
        ("?", "unknown", found[Relation.UNKNOWN]),
        (silent, "silent: no rule says anything", found[Relation.SILENT]),
    ]

    def both_ways(shown: Shown) -> tuple[str, str]:
        turned = shown if isinstance(shown, ConcludedOffline) else shown.converse
        return signs[shown], signs[turned]

    return _overview(known, pairs, both_ways, legend, ("verdict", ""), rows, more)


def _overview(
    known: Microcosm,
    pairs: Beside,
    both_ways: Callable[[Any], tuple[str, str]],
    legend: Iterable[str],
    heads: Sequence[str],
    counts: Sequence[tuple[Any, ...]],
    more: str = EVERY_PAIR,
) -> Iterator[str]:
    """Of few events the signs of each pair, read both ways, and their legend; of many, a table of counts."""
    events = pairs.names
    if len(events) < 2:
        yield f"{output.counted(len(events), 'event')}, no pair"
    elif len(events) <= tables.MOST_IN_A_MATRIX:
        cell = {}
        for a, b, verdict in pairs:
            cell[a, b], cell[b, a] = both_ways(verdict)
        yield from (*tables.matrix_lines(events, cell, words_of(known)), *legend)
    else:
        drawn = tables.new_table(*heads, numbers=("pairs",))
        for *words, count in counts:
            drawn.add_row(*words, f"{count:,}")
        total = sum(row[-1] for row in counts)
        yield from (f"{len(events):,} events, {output.counted(total, 'pair')}; {more}", "")
        yield from tables.lines_of(drawn)


def _signs() -> dict[Shown, str]:
    """What stands between two events of which each is shown."""
    silent = Style.of(sys.stdout).signs.silent
    return {r: silent if r is Relation.SILENT else str(r) for r in (*Relation, *ConcludedOffline)}


def _lines(known: Microcosm, pairs: Beside) -> Iterator[Iterator[str]]:
    words = words_of(known)
    names = {event: words(event) for event in pairs.names}
    signs = {shown: f" {sign} " for shown, sign in _signs().items()}
    for a, others, verdicts in pairs.rows():
        named = map(names.__getitem__, others)
        yield map("".join, zip(repeat(names[a]), map(signs.__getitem__, verdicts), named))


def _possible(file: str, known: Microcosm, every: bool, stop: Stop | None) -> int:
    """Answer for one file; the exit code: 0, 1 where no world fits it, 3 where `stop` came first."""
    found = known.possible_table(stop)
    if found is None:
        conflict = show.say_inconsistent(file, known.givens, stop)
        if output.for_machines():
            tables.stream_pairs(file, _named(known), (), {"exact": True, "conflict": conflict})
        return exits.REFUTED
    pairs, decided = found
    ignored = known.worlds.ignored
    fields: Fields = {"ignored": list(ignored)} if ignored else {}
    _left(file, known, pairs, every, {"exact": decided and not ignored, **fields})
    if not decided:
        output.warn("some of these were not decided in time, and may be impossible")
    if ignored:
        output.warn(show.too_wide(known.givens, ignored))
    return exits.HOLDS if decided else exits.UNDECIDED


def _offline(file: str, known: Microcosm, every: bool, depth: int | None, stop: Stop | None) -> int:
    """What the offline rules leave of each pair at a depth; the exit code: 0, 1 where they contradict
    themselves, 3 where `stop` came first and propagation alone tells what is left.
    """
    from microcosm.queries.offline import Inconsistent

    decided = True
    try:
        try:
            pairs = known.offline_table(depth=depth, stop=stop)
        except Stopped:
            pairs, decided = known.offline_table(), False
    except Inconsistent as problem:
        if output.for_machines():
            tables.stream_pairs(file, _named(known), (), show.inconsistent_fields(problem))
        else:
            output.say_all(show.inconsistent_lines(known, problem))
        return exits.REFUTED
    show.warn_if_inconsistent(known, (file,))
    _left(file, known, pairs, every, {} if decided else {"exact": False})
    if not decided:
        output.warn("time is over: what is left of each pair was found without assumptions")
    return exits.HOLDS if decided else exits.UNDECIDED


def _left(file: str, known: Microcosm, left: PairsLeft, every: bool, more: Fields) -> None:
    pairs = _beside(known, left, left.names)
    counts = pairs.counts().most_common()
    words = words_of(known)
    names = {event: words(event) for event in pairs.names} if every else {}
    signs: dict[Verdict, str] = {left: f": {' '.join(map(str, left)) or 'nothing'}" for left, _ in counts}
    lines = tables.pair_texts(pairs.rows(), "{}, ", names, signs.__getitem__)
    legend = ["<> is one of < and >, !< one of > and ||, !> one of < and ||; a dot is any of the three."]
    rows = [(" or ".join(map(str, left)) or "nothing", count) for left, count in counts]

    def both_ways(left: tuple[Relation, ...]) -> tuple[str, str]:
        return show.joined(left), show.joined(tuple(r for r in MEMBERS if r.converse in left))

    shown = lines if every else _overview(known, pairs, both_ways, legend, ("possible",), rows)
    _give(file, pairs, more, shown, every)
