"""What each of two microcosms knows that the other does not, most informative first.

Of all the pairs on which one knows more only a basis is told: where it orders thousands of pairs that the
other does not, the few links from which these orders follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from operator import or_

from microcosm.compare.verdict_rows import (
    KNOWN,
    VerdictRows,
    Verdicts,
    compared,
    given_apart,
    seeds_own,
    whole_table,
)
from microcosm.files import AnyPath
from microcosm.givens.relation import Correspondence, Relation
from microcosm.order.bits import bits, transposed
from microcosm.state.microcosm import Microcosm
from microcosm.text.names import quote
from microcosm.text.statement import spelled


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
            f"only the {whose} knows: {spelled(fact)}"
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
    Cost: a row of each relation for each event that may know something else; for each link of the news as
    many row operations as there are events before it, or after it if these are fewer; for each conflict a
    step.

    >>> phone = Microcosm.parse("a < b < c < d")
    >>> laptop = Microcosm.parse("a < b \\n c < d \\n d || e")
    >>> found = difference(phone, laptop)
    >>> [(str(news.fact), news.decides) for news in found.news[0]], found.more
    ([('b < c', 4)], (4, 1))
    """
    apart = given_apart(one, other)
    if apart is not None and not apart:
        return Comparison(([], []), (0, 0), [])
    seeds = seeds_own(one.rules) and seeds_own(other.rules)
    if seeds:
        left, right, events = compared(one, other, apart)
    else:
        names = sorted({*one.events, *other.events})
        left, right = (_of_table(whole_table(known, names)) for known in (one, other))
        events = [*range(len(names))]
    more, conflicts = _judge(left, right, events)
    ends = None if apart is None or conflicts else {*chain.from_iterable(apart)}
    if ends is not None:  # a link that no other implies is given, so only these can have news
        events = [k for k in events if left.names[k] in ends]
    news = (
        sorted(_news(left, right, events, seeds, not conflicts), key=_importance),
        sorted(_news(right, left, events, seeds, not conflicts), key=_importance),
    )
    return Comparison(news, more, conflicts)


def diff(one: Microcosm | AnyPath, other: Microcosm | AnyPath) -> Comparison:
    """`difference` of two microcosms or files. Raises as `Microcosm.read` does. Cost: as `difference`."""
    left, right = (known if isinstance(known, Microcosm) else Microcosm.read(known) for known in (one, other))
    return difference(left, right)


def _of_table(table: VerdictRows) -> Verdicts:
    """The verdicts of a table, `||` and `<>` in either direction, also where the rules judge but one."""
    past, concurrent, related = (table.rows[relation] for relation in KNOWN)
    future = transposed(past, len(past))
    ordered = list(map(or_, past, future))
    concurrent = _either_way(concurrent, ordered)
    related = _either_way(related, list(map(or_, ordered, concurrent)))
    return Verdicts(table.names, *(rows.__getitem__ for rows in (past, future, concurrent, related)))


def _either_way(rows: list[int], but: list[int]) -> list[int]:
    """The pairs of a relation in both directions, without those of which more is known."""
    turned = transposed(rows, len(rows))
    return [(row | other) & ~more for row, other, more in zip(rows, turned, but, strict=True)]


def _news(
    has: Verdicts, lacks: Verdicts, events: Iterable[int], transitive: bool, agreed: bool
) -> Iterator[News]:
    """What one side could tell the other of some events; under rules that make `<` transitive, only what does
    not follow. `agreed`: the two are in no conflict.
    """
    names = has.names
    for k in events:
        b, clear = names[k], lacks.clear(k)
        vague = lacks.related(k)
        links = has.past(k) & ~clear
        if transitive and links:
            links &= _links(has, lacks, k, links, agreed)
        for i in bits(links):
            instead = Relation.RELATED if vague >> i & 1 else None
            decides = _decided(lacks, i, k) if transitive else 1
            yield News(Correspondence(names[i], Relation.BEFORE, b), instead, decides)
        for relation, row in ((Relation.CONCURRENT, has.concurrent(k)), (Relation.RELATED, has.related(k))):
            for a in sorted(names[i] for i in bits(row & ~(clear | vague))):
                if a < b:
                    yield News(Correspondence(a, relation, b), None, 1)


def _links(has: Verdicts, lacks: Verdicts, k: int, wanted: int, agreed: bool) -> int:
    """Which of some events before event k are before no other of them, by orders not in conflict."""
    clean = has.past(k) if agreed else _clean(has, lacks, k)
    rest = clean
    wanted &= clean
    while rest and wanted:
        at = rest.bit_length() - 1
        past = has.past(at) if agreed else _clean(has, lacks, at)
        wanted &= ~past
        rest &= ~(past | 1 << at) if agreed else ~(1 << at)
    return wanted


def _clean(has: Verdicts, lacks: Verdicts, k: int) -> int:
    return has.past(k) & ~(lacks.future(k) | lacks.concurrent(k))


def _decided(lacks: Verdicts, i: int, k: int) -> int:
    """How many pairs an order of event i before event k would order that are not yet; 0: it is refused."""
    earlier, later = lacks.past(i) | 1 << i, lacks.future(k) | 1 << k
    sides = (earlier, later, lacks.future), (later, earlier, lacks.past)
    few, many, known = sides[earlier.bit_count() > later.bit_count()]
    found = 0
    for x in bits(few):
        if many & lacks.concurrent(x):
            return 0
        found += (many & ~known(x)).bit_count()
    return found


def _judge(
    left: Verdicts, right: Verdicts, events: Iterable[int]
) -> tuple[tuple[int, int], list[Disagreement]]:
    """On how many pairs of some events one of the two knows more, and where they contradict each other."""
    names, more, conflicts = left.names, [0, 0], []
    for k in events:
        sides = [[row(k) for row in side[1:]] for side in (left, right)]
        if sides[0] == sides[1]:
            continue
        (past, future, beside, related), (its_past, its_future, its_beside, its_related) = sides
        ordered, its_ordered = past | future, its_past | its_future
        clear, its_clear = ordered | beside, its_ordered | its_beside
        known, its_known = clear | related, its_clear | its_related
        more[0] += (ordered & ~its_clear | known & ~its_known).bit_count()
        more[1] += (its_ordered & ~clear | its_known & ~known).bit_count()
        against = past & (its_future | its_beside) | future & (its_past | its_beside)
        against |= beside & its_known & ~its_beside | related & its_beside
        for i in sorted(bits(against), key=names.__getitem__):
            if names[k] < names[i]:
                verdicts = _verdict(left, k, i), _verdict(right, k, i)
                if verdicts[0] is not verdicts[1]:  # which rules may give beside their contrary
                    conflicts.append(Disagreement(names[k], names[i], verdicts))
    return (more[0] // 2, more[1] // 2), conflicts


def _verdict(side: Verdicts, k: int, i: int) -> Relation:
    """What is known of event k and event i, which is something."""
    if side.future(k) >> i & 1:
        return Relation.BEFORE
    if side.past(k) >> i & 1:
        return Relation.AFTER
    return Relation.CONCURRENT if side.concurrent(k) >> i & 1 else Relation.RELATED


def _importance(news: News) -> tuple[int, str, str]:
    return (-news.decides, news.fact.left, news.fact.right)
