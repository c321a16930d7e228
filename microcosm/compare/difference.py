"""What each of two microcosms knows that the other does not, most informative first.

Of all the pairs on which one knows more only a basis is told: where it orders thousands of pairs that the
other does not, the few links from which these orders follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

from microcosm.compare.verdict_rows import KNOWN, VerdictRows, compared, cover, judge_givens_alike, seeds_own
from microcosm.files import AnyPath
from microcosm.givens.relation import Correspondence, Relation
from microcosm.order.bits import bits, transposed
from microcosm.state.microcosm import Microcosm
from microcosm.text.names import quote


@dataclass(frozen=True, slots=True)
class News:
    """A fact that one microcosm knows and the other does not.

    `instead` is what the other knows of the pair, `<>` or nothing; `decides` the number of pairs of which
    the other would know more, were it told this fact alone: 0 where it has to refuse it, as what would follow
    contradicts what it knows of other events.
    """

    fact: Correspondence
    instead: Relation | None
    decides: int

    def to_json(self) -> dict[str, object]:
        """Its fields."""
        instead = None if self.instead is None else self.instead.value
        fact = [self.fact.left, str(self.fact.relation), self.fact.right]
        return {"fact": fact, "instead": instead, "decides": self.decides}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair on which the two verdicts cannot both be true: these are no microcosms of one world."""

    left: str
    right: str
    verdicts: tuple[Relation, Relation]

    def to_json(self) -> dict[str, object]:
        """Its fields."""
        return {"pair": [self.left, self.right], "verdicts": [verdict.value for verdict in self.verdicts]}


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the knowledge of two microcosms differs; `news[0]` is what the first could tell the second."""

    news: tuple[list[News], list[News]]
    more: tuple[int, int]
    """On how many pairs the first knows more than the second, and the second more than the first."""
    conflicts: list[Disagreement]

    @property
    def same(self) -> bool:
        """Whether they know the same."""
        return not (any(self.more) or self.conflicts)

    def to_json(self) -> dict[str, list[object]]:
        """The fields of the answer of `diff`."""
        news = [[item.to_json() for item in items] for items in self.news]
        return {"news": [*news], "more": [*self.more], "conflicts": [c.to_json() for c in self.conflicts]}

    def __str__(self) -> str:
        if self.same:
            return "both know the same"
        parts = [
            f"only the {whose} knows: {quote(fact.left)} {fact.relation} {quote(fact.right)}"
            for whose, facts in zip(("first", "second"), self.news, strict=True)
            for fact in (news.fact for news in facts)
        ]
        parts += [
            f"they contradict each other: {quote(c.left)} {one} {quote(c.right)}, and {other}"
            for c in self.conflicts
            for one, other in (c.verdicts,)
        ]
        return "\n".join(parts)


def difference(one: Microcosm, other: Microcosm) -> Comparison:
    """What each of two microcosms knows that the other does not; `?` and silence are no knowledge.

    News are ordered by what they decide, then by name; conflicts by name. Told all of its news, each would
    know whatever the other does, but for what they conflict about. A conflict is of one pair: where the two
    contradict each other over several only, the last of the news is refused (`Microcosm.merge` tells).
    Cost: that of `analogous`; for each link of the news as many row operations as there are events before
    it; for each conflict a step.

    >>> phone = Microcosm.parse("a < b < c < d")
    >>> laptop = Microcosm.parse("a < b \\n c < d \\n d || e")
    >>> found = difference(phone, laptop)
    >>> [(str(news.fact), news.decides) for news in found.news[0]], found.more
    ([('b < c', 4)], (4, 1))
    """
    if judge_givens_alike(one, other):
        return Comparison(([], []), (0, 0), [])
    seeds = seeds_own(one.rules) and seeds_own(other.rules)
    left, right = (_Side(table, symmetric=seeds) for table in compared(one, other))
    news = (
        sorted(_news(left, right, seeds), key=_importance),
        sorted(_news(right, left, seeds), key=_importance),
    )
    return Comparison(news, (_more(left, right), _more(right, left)), list(_conflicts(left, right)))


def diff(one: Microcosm | AnyPath, other: Microcosm | AnyPath) -> Comparison:
    """`difference` of two microcosms or files. Raises as `Microcosm.read` does. Cost: as `difference`."""
    left, right = (known if isinstance(known, Microcosm) else Microcosm.read(known) for known in (one, other))
    return difference(left, right)


class _Side:
    """The verdicts of one of the two: for each event the sets of those before it, after it, and so on.

    `||` and `<>` say the same of a pair in either direction, also where the rules judge but one of the two.
    """

    def __init__(self, table: VerdictRows, symmetric: bool) -> None:
        self.names = table.names
        self.past, self.concurrent, self.related = (table.rows[relation] for relation in KNOWN)
        self.future = transposed(self.past, len(table.names))
        if not symmetric:
            ordered = list(map(or_, self.past, self.future))
            self.concurrent = _either_way(self.concurrent, ordered)
            self.related = _either_way(self.related, list(map(or_, ordered, self.concurrent)))

    def known(self, k: int) -> int:
        return self.past[k] | self.future[k] | self.concurrent[k] | self.related[k]

    def verdict(self, i: int, k: int) -> Relation:
        """What is known of event i and event k."""
        if self.past[k] >> i & 1:
            return Relation.BEFORE
        if self.future[k] >> i & 1:
            return Relation.AFTER
        return Relation.CONCURRENT if self.concurrent[k] >> i & 1 else Relation.RELATED

    def clear(self, k: int) -> int:
        """The events whose relation to event k is known accurately."""
        return self.past[k] | self.future[k] | self.concurrent[k]


def _either_way(rows: list[int], but: list[int]) -> list[int]:
    """The pairs of a relation in both directions, without those of which more is known."""
    turned = transposed(rows, len(rows))
    return [(row | other) & ~more for row, other, more in zip(rows, turned, but, strict=True)]


def _news(has: _Side, lacks: _Side, transitive: bool) -> Iterator[News]:
    """What one side could tell the other; under rules that make `<` transitive, only what does not follow."""
    names = has.names
    links = _links(has, lacks) if transitive else has.past
    for k, b in enumerate(names):
        for i in bits(links[k] & ~lacks.clear(k)):
            vague = Relation.RELATED if lacks.related[k] >> i & 1 else None
            decides = _decided(lacks, i, k) if transitive else 1
            yield News(Correspondence(names[i], Relation.BEFORE, b), vague, decides)
        for relation, rows in ((Relation.CONCURRENT, has.concurrent), (Relation.RELATED, has.related)):
            for i in bits(rows[k] & ~lacks.known(k) & (1 << k) - 1):
                yield News(Correspondence(names[i], relation, b), None, 1)


def _links(has: _Side, lacks: _Side) -> list[int]:
    """Of each past the events from which the rest follows, without the use of orders in conflict."""
    clean = [
        past & ~(after | beside)
        for past, after, beside in zip(has.past, lacks.future, lacks.concurrent, strict=True)
    ]
    if clean == has.past:
        return cover(has.past)
    between = (reduce(or_, (clean[at] for at in bits(row)), 0) for row in clean)
    return [row & ~through for row, through in zip(clean, between, strict=True)]


def _decided(lacks: _Side, i: int, k: int) -> int:
    """How many pairs an order of event i before event k would order that are not yet; 0: it is refused."""
    later, earlier = lacks.future[k] | 1 << k, (i, *bits(lacks.past[i]))
    if any(later & lacks.concurrent[x] for x in earlier):
        return 0
    return sum((later & ~lacks.future[x]).bit_count() for x in earlier)


def _more(has: _Side, lacks: _Side) -> int:
    found = 0
    for k in range(len(has.names)):
        ordered, vague = has.past[k] | has.future[k], has.concurrent[k] | has.related[k]
        found += (ordered & ~lacks.clear(k) | vague & ~lacks.known(k)).bit_count()
    return found // 2


def _conflicts(left: _Side, right: _Side) -> Iterator[Disagreement]:
    for k, a in enumerate(left.names):
        row = left.past[k] & (right.future[k] | right.concurrent[k])
        row |= left.future[k] & (right.past[k] | right.concurrent[k])
        row |= left.concurrent[k] & (right.known(k) & ~right.concurrent[k])
        row |= left.related[k] & right.concurrent[k]
        for i in bits(row >> k << k):
            verdicts = left.verdict(k, i), right.verdict(k, i)
            if verdicts[0] is not verdicts[1]:  # which rules may give beside their contrary
                yield Disagreement(a, left.names[i], verdicts)


def _importance(news: News) -> tuple[int, str, str]:
    return (-news.decides, news.fact.left, news.fact.right)
