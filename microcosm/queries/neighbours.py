"""The events around one event, or between two: what a microcosm can tell of each.

Events come in the order in which the givens name them, which for a log is that of the log. Cost, where
nothing else is said: some rows of bits, and the size of the answer; a row is n/64 words.
"""

from __future__ import annotations

from collections.abc import Iterator

from microcosm.engine.lowering import online
from microcosm.engine.memo import Memo
from microcosm.engine.views import Closure
from microcosm.givens.relation import Relation, read_relation
from microcosm.logic.judgement import Judgement
from microcosm.order.bits import bits, from_positions
from microcosm.state.microcosm import Microcosm


def with_verdict(known: Microcosm, relation: Relation | str | None, event: str) -> Iterator[str]:
    """The events b with the verdict `b R event`.

    For `?` and silence the events of which nothing is known are asked about one by one. Raises `UnknownEvent`
    where nothing names the event, as does all that follows.

    >>> album = Microcosm.parse('unshare < upload < view \\n upload || "log in"')
    >>> list(with_verdict(album, Relation.BEFORE, "view"))
    ['unshare', 'upload']
    >>> list(with_verdict(album, Relation.SILENT, "log in"))
    ['unshare', 'view']
    """
    known.require(event)
    relation = read_relation(relation)
    engine = known._engine
    memo, _, at = engine.locate(event, event)
    if relation in (Relation.UNKNOWN, Relation.SILENT):
        undecided = engine.universe.named & ~(1 << at)
        for certain in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED):
            undecided &= ~_column(memo, certain, at)
        unknown = memo.judged(online(Relation.UNKNOWN))
        wanted = relation is Relation.UNKNOWN
        return (
            b
            for b in known._bulk.stated(undecided)
            if unknown.holds(engine.universe.position[b], at) is wanted
        )
    return known._bulk.stated(_column(memo, relation, at))


def _column(memo: Memo, relation: Relation, at: int) -> int:
    """The row of all b with the verdict `b R at`, the more accurate ones taken out."""
    before = memo.judged(online(Relation.BEFORE))
    if relation is Relation.BEFORE:
        return before.col(at)
    if relation is Relation.AFTER:
        return before.row(at) & ~before.col(at)
    column = memo.judged(online(relation)).col(at)
    if column:
        column &= ~(before.col(at) | before.row(at))
    if relation is Relation.RELATED and column:
        column &= ~memo.judged(online(Relation.CONCURRENT)).col(at)
    return column


def past(known: Microcosm, event: str) -> Iterator[str]:
    """The causal past of an event, without itself."""
    return with_verdict(known, Relation.BEFORE, event)


def future(known: Microcosm, event: str) -> Iterator[str]:
    """The causal future of an event, without itself."""
    return with_verdict(known, Relation.AFTER, event)


def concurrent(known: Microcosm, event: str) -> Iterator[str]:
    """The events known to be concurrent with an event."""
    return with_verdict(known, Relation.CONCURRENT, event)


def between(known: Microcosm, first: str, last: str) -> Iterator[str]:
    """The events after `first` and before `last`; there are none where `first` is not before `last`.

    >>> list(between(Microcosm.parse("a < b < d \\n a < c"), "a", "d"))
    ['b']
    """
    known.require(first, last)
    if first == last or not known.holds(Judgement.ONLINE, first, Relation.BEFORE, last):
        return iter(())
    memo, x, y = known._engine.locate(first, last)
    before = memo.judged(online(Relation.BEFORE))
    return known._bulk.stated(before.row(x) & before.col(y))


def frontier(known: Microcosm, a: str, b: str) -> tuple[list[str], list[str]]:
    """What encloses two events: the last events before both, and the first events after both.

    Last are those that no other event before both comes after; first those that none comes before. Cost: two
    rows for each event of the answer; under rules that make no order of `<`, a row for each event before both
    or after both.

    >>> frontier(Microcosm.parse("a < b < d < e \\n a < c < d"), "b", "c")
    (['a'], ['d'])
    """
    known.require(a, b)
    engine = known._engine
    memo, x, y = engine.locate(a, b)
    before = memo.judged(online(Relation.BEFORE))
    last, first = 0, 0
    if not isinstance(before, Closure):
        earlier, later = before.col(x) & before.col(y), before.row(x) & before.row(y)
        last = from_positions(
            [at for at in bits(earlier) if not before.row(at) & earlier], len(engine.universe)
        )
        first = from_positions([at for at in bits(later) if not before.col(at) & later], len(engine.universe))
        return list(known._bulk.stated(last)), list(known._bulk.stated(first))
    rest = before.col(x) & before.col(y)
    while rest:
        at = rest.bit_length() - 1
        while later := before.row(at) & rest:
            at = later.bit_length() - 1
        last |= 1 << at
        rest &= ~(before.col(at) | 1 << at)
    rest = before.row(x) & before.row(y)
    while rest:
        at = next(bits(rest & -rest))
        while earlier := before.col(at) & rest:
            at = next(bits(earlier & -earlier))
        first |= 1 << at
        rest &= ~(before.row(at) | 1 << at)
    return list(known._bulk.stated(last)), list(known._bulk.stated(first))


def pairs(known: Microcosm, relation: Relation | str | None) -> Iterator[tuple[str, str]]:
    """Every pair of events with a verdict, the first before the second in sorted order."""
    relation = read_relation(relation)
    return ((a, b) for a, b, verdict in known.table() if verdict is relation)
