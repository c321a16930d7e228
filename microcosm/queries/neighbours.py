"""The events around one event, or between two: what a microcosm can tell of each.

Events come in the order in which the givens name them, which for a log is that of the log. Cost, where
nothing else is said: some rows of bits, and the size of the answer; a row is n/64 words.
"""

from __future__ import annotations

from collections.abc import Iterator

from microcosm.engine.engine import Engine
from microcosm.engine.lowering import online
from microcosm.engine.memo import Memo
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.givens.spelling import read_relation
from microcosm.order.bits import bits, from_positions, lowest
from microcosm.order.order import Closure

CERTAIN = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED)
"""The verdicts that say something of a pair."""


class Neighbours:
    """The events around those of an engine; made when first asked, valid until the givens change.

    Every event that is asked about must be named. Cost, where nothing else is said: some rows of bits, and
    the size of the answer; for `?` and silence a question for each event of which nothing is known.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.text.mc_reader import read_givens
    >>> album = read_givens('unshare < upload < view \\n upload || "log in"')
    >>> around = Neighbours(Engine(read_rules(), album), album)
    >>> list(around.with_verdict(Relation.BEFORE, "view"))
    ['unshare', 'upload']
    >>> list(around.with_verdict("silent", "log in"))
    ['unshare', 'view']
    >>> list(around.between("unshare", "view")), around.frontier("unshare", "log in")
    (['upload'], ([], []))
    """

    def __init__(self, engine: Engine, givens: Givens) -> None:
        self._engine, self._givens = engine, givens
        self._rank: dict[str, int] | None = None

    def with_verdict(self, relation: Relation | str | None, event: str, concurrent: int = 0) -> Iterator[str]:
        """The events b with the verdict `b R event`. Raises `Undefined` for what is no relation.

        Those of the row `concurrent`, undecided online, count as concurrent. For `?` and silence the other
        events of which nothing is known are asked about one by one.
        """
        relation = read_relation(relation)
        engine = self._engine
        memo, _, at = engine.locate(event, event)
        if relation not in (Relation.UNKNOWN, Relation.SILENT):
            more = concurrent if relation is Relation.CONCURRENT else 0
            return self.named(_column(memo, relation, at) | more)
        undecided = self.undecided(event) & ~concurrent
        unknown = memo.judged(online(Relation.UNKNOWN))
        wanted = relation is Relation.UNKNOWN
        position = engine.universe.position
        return (b for b in self.named(undecided) if unknown.holds(position[b], at) is wanted)

    def undecided(self, event: str) -> int:
        """The row of the events of which nothing certain is known beside one: `?` or silence."""
        memo, _, at = self._engine.locate(event, event)
        row = self._engine.universe.named & ~(1 << at)
        for certain in CERTAIN:
            row &= ~_column(memo, certain, at)
        return row

    def between(self, first: str, last: str) -> Iterator[str]:
        """The events after `first` and before `last`; there are none where `first` is not before `last`."""
        memo, x, y = self._engine.locate(first, last)
        before = memo.judged(online(Relation.BEFORE))
        if x == y or not before.holds(x, y):
            return iter(())
        return self.named(before.row(x) & before.col(y))

    def frontier(self, a: str, b: str) -> tuple[list[str], list[str]]:
        """What encloses two events: the last events before both, and the first events after both.

        Last are those that no other event before both comes after; first those that none comes before. Cost:
        two rows for each event of the answer; under rules that make no order of `<`, a row for each event
        before both or after both.
        """
        engine = self._engine
        memo, x, y = engine.locate(a, b)
        before = memo.judged(online(Relation.BEFORE))
        earlier, later = before.col(x) & before.col(y), before.row(x) & before.row(y)
        if isinstance(before, Closure):
            last, first = _last(before, earlier), _first(before, later)
        else:
            size = len(engine.universe)
            last = from_positions([at for at in bits(earlier) if not before.row(at) & earlier], size)
            first = from_positions([at for at in bits(later) if not before.col(at) & later], size)
        return list(self.named(last)), list(self.named(first))

    def named(self, row: int) -> Iterator[str]:
        """The events of a row of bits, in the order in which the givens name them."""
        if self._rank is None:
            self._rank = {name: rank for rank, name in enumerate(self._givens.named())}
        names = self._engine.universe.names
        return iter(sorted([names[at] for at in bits(row)], key=self._rank.__getitem__))


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


def _last(before: Closure, rest: int) -> int:
    """The events of a row after which none of the others comes."""
    last = 0
    while rest:
        at = rest.bit_length() - 1
        while later := before.row(at) & rest:
            at = later.bit_length() - 1
        last |= 1 << at
        rest &= ~(before.col(at) | 1 << at)
    return last


def _first(before: Closure, rest: int) -> int:
    """The events of a row before which none of the others comes."""
    first = 0
    while rest:
        at = lowest(rest)
        while earlier := before.col(at) & rest:
            at = lowest(earlier)
        first |= 1 << at
        rest &= ~(before.row(at) | 1 << at)
    return first
