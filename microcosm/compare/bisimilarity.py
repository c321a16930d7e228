"""Bisimilarity: whether two microcosms will ever deduce differently (Worlds of Events, sections 5 and 6).

Forward, both are told the same, additions and updates: analogous microcosms stay analogous (Theorem 5.10),
and those that are not differ already. So forward bisimilarity is analogy. (Beyond the paper, a superseded
`<>` may stand in one of them only and be updated there; that changes no verdict.)

Backward, the same is removed from both. Then what is given counts, not what follows: backward bisimilarity is
equality of the givens (docs/theory/errata-worlds.md, 5 to 7). Analogous microcosms that are given different
things may come to differ when the same is removed from both (Definition 6.1): where one is given `a < b` and
the other infers it, removing what the inference rests on leaves `a < b` in the first only. The fewest
removals that do so are a minimum cut between a and b in the order of the other. No smaller set will do: if
after some removals the one knows `x < y` and the other does not, then some link of the chain from x to y in
the former does not follow in the latter, which is cut there. In a cut each external `<` is a link of strength
one. The internal chain and clocks cannot be removed; their links are as strong as it takes.

A microcosm is *irredundant* where nothing given follows from the rest (Theorems 6.3 to 6.6). On those with
the same internal events analogy and backward bisimilarity coincide: the transitive reduction of a strict
order is unique, and `||` and `<>` follow from nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import NoReturn

from microcosm.compare.digest import given_differences, sentence
from microcosm.compare.verdict_rows import analogous, first_difference, seeds_own
from microcosm.engine.engine import Engine
from microcosm.engine.lowering import online
from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rule import Judgement
from microcosm.state.microcosm import Microcosm


@dataclass(frozen=True, slots=True)
class OnlyGiven:
    """A statement that is given to one of two microcosms only: to the first (1) or the second (2)."""

    to: int
    statement: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Why two microcosms are not bisimilar.

    After `path`, the removal of these from each microcosm that is given them, `pair` has the two
    `verdicts`. The path is empty where they differ at once. Where no path leads to different verdicts,
    all three are None, and only `given` tells the two apart. Forward, `given` is None. Under other rules than
    the shipped ones there may be a shorter path, or one after all.
    """

    pair: tuple[str, str] | None
    verdicts: tuple[Relation, Relation] | None
    path: tuple[Correspondence, ...] | None
    given: OnlyGiven | None = None


@dataclass(frozen=True, slots=True)
class Bisimilarity:
    """The answer of `bisimilar`: whether it `holds`, and if not a `witness`. It has no truth value."""

    holds: bool
    witness: Difference | None = None

    def __bool__(self) -> NoReturn:
        raise TypeError("a Bisimilarity is neither true nor false; ask for its `holds`")


def bisimilar(one: Microcosm, other: Microcosm, backward: bool = False) -> Bisimilarity:
    """Whether two microcosms are bisimilar, forward (additions and updates) or backward (removals).

    The witness is a pair with its verdicts in the two microcosms after a shortest path of removals;
    forward the path is empty. Under other rules than the shipped ones forward decides analogy. Cost:
    `analogous`, and if backward `shortest_removals`.

    >>> one, other = Microcosm.parse("a < c < b"), Microcosm.parse("a < c < b \\n a < b")
    >>> bisimilar(one, other).holds
    True
    >>> witness = bisimilar(one, other, backward=True).witness
    >>> [str(gone) for gone in witness.path], witness.pair, witness.verdicts
    (['a < c'], ('a', 'b'), (Relation.UNKNOWN, Relation.BEFORE))
    """
    given = _only_given(one, other) if backward else None
    if backward and given is None:
        return Bisimilarity(True)
    pair = first_difference(one, other)
    if pair is not None:
        return Bisimilarity(False, Difference(pair, _verdicts(one, other, pair), (), given))
    if not backward:
        return Bisimilarity(True)
    return Bisimilarity(False, _after_removals(one, other, given))


def after(known: Microcosm, path: tuple[Correspondence, ...]) -> Microcosm:
    """A copy without those of `path` that are given."""
    left = Microcosm(known.givens, rules=known.rules)
    for fact in path:
        if fact.key() in known.givens.external:
            left.remove(fact)
    return left


def _after_removals(one: Microcosm, other: Microcosm, given: OnlyGiven | None) -> Difference:
    found = shortest_removals(one, other)
    if found is not None:
        path, pair = tuple(found[0]), found[1]
        verdicts = _verdicts(after(one, path), after(other, path), pair)
        if verdicts[0] is not verdicts[1]:
            return Difference(pair, verdicts, path, given)
    return Difference(None, None, None, given)


def _verdicts(one: Microcosm, other: Microcosm, pair: tuple[str, str]) -> tuple[Relation, Relation]:
    return one.online(*pair), other.online(*pair)


def _only_given(one: Microcosm, other: Microcosm) -> OnlyGiven | None:
    mine, theirs = given_differences(one.givens, other.givens)
    if mine:
        return OnlyGiven(1, sentence(mine[0], one.givens))
    return OnlyGiven(2, sentence(theirs[0], other.givens)) if theirs else None


EventPair = tuple[str, str]

Removals = tuple[list[Correspondence], EventPair]
"""What to remove from each that is given it, and a pair of which the verdicts then differ."""


def shortest_removals(one: Microcosm, other: Microcosm) -> Removals | None:
    """A smallest set of removals after which two analogous microcosms differ, under the shipped rules.

    None where removals cannot tell them apart: they are given the same, or differ in what follows from
    what cannot be removed, or in what decides no verdict. Cost: a cut for each thing that only one of them
    is given, until a single removal is found to do.

    >>> one, other = Microcosm.parse("a < c < b"), Microcosm.parse("a < c < b \\n a < b")
    >>> removed, pair = shortest_removals(one, other)
    >>> [str(fact) for fact in removed], pair
    (['a < c'], ('a', 'b'))
    """
    left, right = GivenOrder(one), GivenOrder(other)
    best: Removals | None = None
    limit = 1 + len(one.givens.external) + len(other.givens.external)
    ways = (_concurrent(left, right), _ordered(left, right), _ordered(right, left), _related(left, right))
    for way in chain.from_iterable(ways):
        removed = way.removals(limit)
        if removed is not None:
            best, limit = (removed, way.pair), len(removed)
        if limit == 1:
            break
    return best


@dataclass(frozen=True, slots=True)
class _Way:
    """Removing `first` and cutting the order of `pair` in one of `orders` (if any) tells two apart there."""

    pair: EventPair
    first: tuple[Correspondence, ...] = ()
    orders: tuple[GivenOrder, ...] = ()

    def removals(self, below: int) -> list[Correspondence] | None:
        """The removals, if there are fewer than `below`."""
        if not self.orders:
            return list(self.first) if len(self.first) < below else None
        a, b = self.pair
        best = None
        for order in self.orders:
            links = order.cut(a, b, below - len(self.first))
            if links is not None:
                best = [*(Correspondence(v, Relation.BEFORE, w) for v, w in links), *self.first]
                below = len(best)
        return best


def _ordered(has: GivenOrder, lacks: GivenOrder) -> Iterator[_Way]:
    """Links that stay in the one when they are cut in the other.

    Of two links in a row, one can be cut with no more removals than the link over both; this is left out.
    """
    pairs = [
        (fact.left, fact.right)
        for key, fact in has.givens.external.items()
        if fact.relation is Relation.BEFORE and key not in lacks.givens.external
    ]
    pairs += [(a, b) for a, b in has.fixed_links if not lacks.fixed(a, Relation.BEFORE, b)]
    after: dict[str, set[str]] = {}
    before: dict[str, set[str]] = {}
    for a, b in pairs:
        after.setdefault(a, set()).add(b)
        before.setdefault(b, set()).add(a)
    for a, b in sorted(set(pairs)):
        if after[a].isdisjoint(before[b]):
            yield _Way((a, b), orders=(lacks,))


def _concurrent(left: GivenOrder, right: GivenOrder) -> Iterator[_Way]:
    """`||` that can be removed from the one, and follows from clocks in the other."""
    for fact in _external(Relation.CONCURRENT, left, right):
        a, b = fact.left, fact.right
        if left.fixed(a, fact.relation, b) is not right.fixed(a, fact.relation, b):
            yield _Way((a, b), first=(fact,))


def _related(left: GivenOrder, right: GivenOrder) -> Iterator[_Way]:
    """`<>` given to one only, which shows once the pair is not ordered any more."""
    external = _external(Relation.RELATED, left, right)
    keys = {fact.key() for fact in external}
    facts = [*external, *(fact for fact in _under_tokens(left, right) if fact.key() not in keys)]
    for fact in facts:
        a, b, key = fact.left, fact.right, fact.key()
        fixed = [side.fixed(a, Relation.RELATED, b) for side in (left, right)]
        known = [now or key in side.givens.external for now, side in zip(fixed, (left, right), strict=True)]
        if fixed[0] is fixed[1] and known[0] is known[1]:
            continue
        first = () if known[0] is not known[1] else (fact,)
        if left.before(a, b):
            yield _Way((a, b), first, (left, right))
        elif left.before(b, a):
            yield _Way((b, a), first, (left, right))
        else:
            yield _Way((a, b), first)


def _external(relation: Relation, *sides: GivenOrder) -> list[Correspondence]:
    found = {key: f for side in sides for key, f in side.givens.external.items() if f.relation is relation}
    return [found[key] for key in sorted(found)]


def _under_tokens(left: GivenOrder, right: GivenOrder) -> Iterator[Correspondence]:
    """The pairs of every token that the two do not share."""
    groups = [{frozenset(group) for group in side.givens.tokens.values()} for side in (left, right)]
    for group in sorted(sorted(group) for group in groups[0] ^ groups[1]):
        for a, b in combinations(group, 2):
            yield Correspondence(a, Relation.RELATED, b)


class GivenOrder:
    """The links of the given order of a microcosm, which must not change meanwhile."""

    def __init__(self, known: Microcosm) -> None:
        self.givens = known.givens
        self._engine = known._engine
        given = known.givens
        self._fixed = Engine(
            known.rules, Givens(internal=given.internal, clocks=given.clocks, tokens=given.tokens)
        )
        names = self._fixed.universe.names
        cover = self._fixed.ground.given[Relation.BEFORE]
        self.fixed_links = [(names[a], names[b]) for a, b in cover]
        self._links: dict[str, dict[str, bool]] = {}  # to the events after one, and whether it can be removed
        for a, b in self.fixed_links:
            self._links.setdefault(a, {})[b] = False
        for fact in given.external.values():
            if fact.relation is Relation.BEFORE:
                removable = not self.fixed(fact.left, Relation.BEFORE, fact.right)
                self._links.setdefault(fact.left, {})[fact.right] = removable

    def fixed(self, a: str, relation: Relation, b: str) -> bool:
        """Whether `a R b` follows from what cannot be removed."""
        return self._fixed.holds(Judgement.INITIAL, a, relation, b)

    def before(self, a: str, b: str) -> bool:
        """Whether `a < b` follows."""
        return self._engine.holds(Judgement.INITIAL, a, Relation.BEFORE, b)

    def cut(self, a: str, b: str, below: int) -> list[EventPair] | None:
        """The fewest links, and of these the nearest to a, without which `a < b` does not follow.

        None where there are not fewer than `below`, or no removal does it. Cost: `below` searches among
        the events between a and b (Ford and Fulkerson: there are as many ways from a to b without a
        common link as links in the least cut).
        """
        if not self.before(a, b):
            return []
        if self.fixed(a, Relation.BEFORE, b):
            return None
        ways: Counter[EventPair] = Counter()
        for _ in range(below):
            parent = self._reach(a, b, ways)
            if b not in parent:
                return sorted(
                    (v, w)
                    for v in parent
                    for w in self._links.get(v, ())
                    if w not in parent and self._leads_to(w, b)
                )
            at = b
            while at != a:
                link = (parent[at], at)
                if at in self._links.get(parent[at], ()):
                    ways[link] += 1
                else:
                    ways[link[::-1]] -= 1
                at = parent[at]
        return None

    def _reach(self, a: str, b: str, ways: Counter[EventPair]) -> dict[str, str]:
        """The events that one more way from a may come to, depth first, and from where; it ends at b."""
        back: dict[str, list[str]] = {}
        for (v, w), used in ways.items():
            if used:
                back.setdefault(w, []).append(v)
        parent = {a: a}
        trail = [(a, self._onward(a, b, ways, back))]
        while trail and b not in parent:
            v, onward = trail[-1]
            following = next((w for w in onward if w not in parent), None)
            if following is None:
                trail.pop()
            else:
                parent[following] = v
                trail.append((following, self._onward(following, b, ways, back)))
        return parent

    def _onward(self, v: str, b: str, ways: Counter[EventPair], back: dict[str, list[str]]) -> Iterator[str]:
        """The next events: along links not used up, or back along one that another way could do without."""
        for w, removable in self._links.get(v, {}).items():
            if not (removable and ways[v, w]) and self._leads_to(w, b):
                yield w
        yield from back.get(v, ())

    def _leads_to(self, w: str, b: str) -> bool:
        return w == b or self.before(w, b)


def redundant(known: Microcosm) -> list[Correspondence]:
    """External correspondences that can all be removed without a change of any verdict, by name.

    These are what the rest judges as accurately, a superseded `<>` included. Under the shipped rules
    there is one such set that is greatest. Cost: two rows of the order for each external correspondence;
    under other rules a microcosm, and a comparison of all verdicts, for each.

    >>> [str(fact) for fact in redundant(Microcosm.parse("a < b < c \\n a < c \\n a <> c"))]
    ['a < c', 'a <> c']
    """
    facts = [fact for _, fact in sorted(known.givens.external.items())]
    return _by_intervals(known, facts) if seeds_own(known.rules) else _by_trial(known, facts)


def irredundant(known: Microcosm) -> Microcosm:
    """An analogous microcosm without redundant correspondences; unique under the shipped rules.

    Cost: as `redundant`.

    >>> print(irredundant(Microcosm.parse("a < b < c \\n a < c \\n a <> c")).to_text(), end="")
    a < b
    b < c
    """
    givens = known.givens.copy()
    for fact in redundant(known):
        del givens.external[fact.key()]
    return Microcosm(givens, strict=known.strict, rules=known.rules)


def _by_intervals(known: Microcosm, facts: list[Correspondence]) -> list[Correspondence]:
    """Where `<` is transitive: `a < b` is redundant if it is fixed, or an event lies between the two."""
    before = known._engine.memo.judged(online(Relation.BEFORE))
    order, find = GivenOrder(known), known._engine.universe.find

    def follows(fact: Correspondence) -> bool:
        if order.fixed(fact.left, fact.relation, fact.right):
            return True
        a, b = find(fact.left), find(fact.right)
        if fact.relation is Relation.BEFORE:
            return bool(before.row(a) & before.col(b))
        return fact.relation is Relation.RELATED and (before.holds(a, b) or before.holds(b, a))

    return [fact for fact in facts if follows(fact)]


def _by_trial(known: Microcosm, facts: list[Correspondence]) -> list[Correspondence]:
    """Under any rules: leave out one after the other, as long as no verdict changes."""
    givens, found = known.givens.copy(), []
    for fact in facts:
        del givens.external[fact.key()]
        try:
            same = analogous(known, Microcosm(givens, rules=known.rules))
        except Contradiction:  # less may contradict more, by rules that ask for absence
            same = False
        if same:
            found.append(fact)
        else:
            givens.add(fact)
    return found
