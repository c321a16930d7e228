"""Which of the correspondences that replicas give each other cannot stand together, and are set aside.

What is set aside is a function of the set of correspondences and chains, not of how they arrived:

1. The chains stand: a process saw its own events in order, and by Definition 2.3 of Worlds of Events only
   external correspondences come and go. (An event in two chains stands in neither.)
2. The correspondences are taken in the order of their keys. One that contradicts what stands is set aside
   together with the fewest of those that stand that it contradicts with the chains: a minimal contradictory
   set, whole. Among several of one size a fixed number that belongs to each correspondence decides.

So what stands is consistent, each set is minimal, and no two share a member. Each holds at least one
falsehood: there are never more sets than falsehoods, however many ways there are to contradict one. (To set
aside every member of every minimal set would cost, for one false order from the last event to the first,
whatever lies between them.)

A contradiction is what the initial judgements exclude: a cycle, `||` or `!<` on a pair that `<` orders so,
`<>` beside `||`. What only offline reasoning sees stays, and `contradiction` of the microcosm reports it. So
it is under rules whose initial judgements are the givens, `<` closed (`engine.lowering.closes_givens`); what
contradicts under others, `set_aside` asks of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import combinations, pairwise
from typing import NamedTuple

from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.derivation import Derivation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.order.happens_before import components
from microcosm.queries.conflict import minimal
from microcosm.state.microcosm import Microcosm

Known = Callable[[list[Correspondence]], Givens]
"""The givens of a replica with some correspondences: its chains come with them."""

Facts = list[Correspondence]


def set_aside(facts: Iterable[Correspondence], known: Known, rules: RuleBook) -> list[Conflict]:
    """The minimal contradictory sets, each in the order of keys. None where the chains alone contradict.

    Cost: where anything contradicts, some log n microcosms for each member of each set.
    """

    def contradict(some: Sequence[Correspondence]) -> bool:
        return sides(known(list(some)), rules) is not None

    def conflict(standing: Facts, fact: Correspondence) -> Conflict:
        members = minimal([*standing, fact], contradict)
        left = [other for other in standing if other not in members]
        if fact not in members or not contradict(members) or contradict(left):
            members = [fact]
        key = Correspondence.key
        return Conflict(tuple(sorted(members, key=key)), tuple(_orders(members, known, rules)), rules)

    return [] if contradict([]) else _in_order(_by_key(facts), contradict, conflict)


def _by_key(facts: Iterable[Correspondence]) -> Facts:
    """Correspondences in normal form, once each, in the order of their keys."""
    return [fact for _, fact in sorted({fact.key(): fact.normal() for fact in facts}.items())]


def _in_order(
    rest: Facts, contradict: Callable[[Facts], bool], conflict: Callable[[Facts, Correspondence], Conflict]
) -> list[Conflict]:
    """What is set aside of correspondences that are taken in their order.

    `conflict` finds, of those that stand and one that contradicts them, what is set aside together.
    """
    chosen: Facts = []
    found: list[Conflict] = []
    while rest and contradict([*chosen, *rest]):
        low, high = 0, len(rest) - 1  # the first that contradicts those before it is in rest[low:high + 1]
        while low < high:
            middle = (low + high) // 2
            if contradict([*chosen, *rest[: middle + 1]]):
                high = middle
            else:
                low = middle + 1
        standing = [*chosen, *rest[:low]]
        found.append(conflict(standing, rest[low]))
        chosen = [fact for fact in standing if fact not in found[-1].facts]
        rest = rest[low + 1 :]
    return found


def sides(givens: Givens, rules: RuleBook) -> tuple[Derivation, ...] | None:
    """The derivations of what contradicts in some givens; None where nothing does."""
    try:
        known = Microcosm(givens, rules=rules)
    except Contradiction as problem:
        return problem.derivations
    for fact in givens.refuted.values():
        order = known.derive(Judgement.INITIAL, fact.left, Relation.BEFORE, fact.right)
        if order is not None:
            alone = Microcosm(_together([fact]), rules=rules)
            refutation = alone.offline(fact.left, fact.right, depth=0).derivations.get("!<")
            return (order,) if refutation is None else (refutation, order)
    return None


def _orders(members: list[Correspondence], known: Known, rules: RuleBook) -> list[Correspondence]:
    """As few orders of chains as contradict with the members; all of them where fewer say nothing."""
    chains = known([])
    pairs = combinations(chains.internal, 2)
    orders = [Correspondence(a, Relation.BEFORE, b, "order of a process") for a, b in pairs]
    orders += chains.external.values()

    def contradict(some: Sequence[Correspondence]) -> bool:
        return sides(_together([*some, *members]), rules) is not None

    if not orders or not contradict(orders) or contradict([]):
        return []
    return minimal(orders, contradict)


def _together(facts: Iterable[Correspondence]) -> Givens:
    givens = Givens()
    for fact in facts:
        givens.add(fact)
    return givens


Decided = dict[tuple[object, ...], list["Conflict"]]
"""What is set aside of each group of correspondences, by the group and the chains that it touches."""

ONE = 1 << 96
"""The length of a correspondence on a path, beside which the numbers that decide ties are nothing."""


@dataclass(frozen=True)
class Conflict:
    """A minimal set of correspondences that contradict one another, given the orders of some chains."""

    facts: tuple[Correspondence, ...]
    """Set aside, in the order of their keys."""
    orders: tuple[Correspondence, ...] = ()
    """What the chains say that it takes besides; it stands."""
    rules: RuleBook | None = field(default=None, compare=False, repr=False)
    """Those under which it is a contradiction, where they are not the shipped ones."""

    def derivations(self) -> tuple[Derivation, ...]:
        """Both sides: what is judged because of some of the facts, and what the others say against it."""
        found = sides(_together([*self.orders, *self.facts]), self.rules or read_rules())
        assert found is not None, f"{self} is no contradiction"
        return found

    def __str__(self) -> str:
        return ", ".join(str(fact) for fact in self.facts)


def quarantine(
    chains: Iterable[Sequence[str]], facts: Iterable[Correspondence], before: Decided | None = None
) -> list[Conflict]:
    """What is set aside of some correspondences, in the order of the last member of each set by key.

    `before` is what was found of each group the last time, and becomes what is found now: groups in which
    nothing has changed are not looked at again. Cost: linear; beside that, for each set of a group that has
    changed, some log n passes over the group.

    >>> found = quarantine([["a", "b"]], [Correspondence("b", Relation.BEFORE, "a")])
    >>> [(str(conflict), [str(order) for order in conflict.orders]) for conflict in found]
    [('b < a', ['a < b'])]
    """
    lists = [list(chain) for chain in chains]
    groups = OrderGraph(lists, _by_key(facts)).groups()
    places: dict[str, list[tuple[int, int]]] = {}
    for fact in (fact for group in groups for fact in group):
        places[fact.left] = places[fact.right] = []
    for chain, events in enumerate(lists):
        for at, event in enumerate(events):
            if event in places:
                places[event] = [*places[event], (chain, at)]
    found: Decided = {}
    for group in groups:
        touched = _touched(lists, places, group)
        key = (tuple((fact, fact.source) for fact in group), tuple(map(tuple, touched)))
        known = None if before is None else before.get(key)
        found[key] = _of_group(touched, group) if known is None else known
    if before is not None:
        before.clear()
        before.update(found)
    conflicts = [conflict for some in found.values() for conflict in some]
    return sorted(conflicts, key=lambda conflict: conflict.facts[-1].key())


def _of_group(chains: list[list[str]], group: Facts) -> list[Conflict]:
    """What is set aside of a group of correspondences, with the chains of the events that they name."""
    return _in_order(
        group,
        lambda some: not OrderGraph(chains, some).consistent(),
        lambda standing, fact: _conflict(OrderGraph(chains, standing), fact),
    )


def _touched(
    chains: list[list[str]], standing: dict[str, list[tuple[int, int]]], facts: Iterable[Correspondence]
) -> list[list[str]]:
    """The chains without events that no fact names."""
    found: dict[int, set[int]] = {}
    for fact in facts:
        for event in (fact.left, fact.right):
            for chain, at in standing[event]:
                found.setdefault(chain, set()).add(at)
    return [
        [chains[chain][at] for at in sorted(found[chain])] for chain in sorted(found) if len(found[chain]) > 1
    ]


def _conflict(graph: OrderGraph, fact: Correspondence) -> Conflict:
    """The fewest of the facts of a consistent graph that a fact contradicts, with it."""
    found: list[tuple[int, list[Edge], list[Correspondence]]] = []
    a, b = fact.left, fact.right
    pair = {fact.left, fact.right}
    if fact.relation is Relation.BEFORE:
        ahead, behind = _Paths(graph.after, b), _Paths(graph.before, a)
        if a in ahead.length:
            found.append((ahead.length[a], ahead.to(a), []))
        for other, left, right in graph.unordered():
            if left in behind.length and right in ahead.length:
                length = behind.length[left] + ahead.length[right] + _length(other)
                found.append((length, [*behind.to(left), *ahead.to(right)], [other]))
    elif fact.relation is not Relation.RELATED:
        for left, right in excluded(fact):
            ahead = _Paths(graph.after, left)
            if right in ahead.length:
                found.append((ahead.length[right], ahead.to(right), []))
    opposite = {Relation.RELATED: Relation.CONCURRENT, Relation.CONCURRENT: Relation.RELATED}
    for other in graph.facts:
        if opposite.get(fact.relation) is other.relation and {other.left, other.right} == pair:
            found.append((_length(other), [], [other]))
    _, edges, others = min(found, key=lambda each: each[0])
    facts = {f.key(): f for f in (fact, *others, *(edge.fact for edge in edges if edge.fact is not None))}
    orders = tuple(
        Correspondence(edge.left, Relation.BEFORE, edge.right, "order of a process") for edge in _jumps(edges)
    )
    return Conflict(tuple(facts[key] for key in sorted(facts)), orders)


class _Paths:
    """The shortest path from one event to each that it reaches: correspondences count, chains do not."""

    def __init__(self, edges: dict[str, list[Edge]], start: str) -> None:
        self.length = {start: 0}
        self._last: dict[str, tuple[str, Edge]] = {}
        waiting, done = [(0, start)], set[str]()
        while waiting:
            length, event = heappop(waiting)
            if event in done:
                continue
            done.add(event)
            for edge in edges.get(event, ()):
                there = edge.right if edge.left == event else edge.left
                longer = length + (_length(edge.fact) if edge.fact is not None else 0)
                if there not in self.length or longer < self.length[there]:
                    self.length[there] = longer
                    self._last[there] = (event, edge)
                    heappush(waiting, (longer, there))

    def to(self, event: str) -> list[Edge]:
        """The edges of the path."""
        found = []
        while event in self._last:
            event, edge = self._last[event]
            found.append(edge)
        return found


def _jumps(edges: Iterable[Edge]) -> list[Edge]:
    """The runs along chains, each as one edge."""
    after = {edge.left: edge.right for edge in edges if edge.fact is None}
    found = []
    for start in sorted(set(after) - set(after.values())):
        end = start
        while end in after:
            end = after[end]
        found.append(Edge(start, end, None))
    return found


def excluded(fact: Correspondence) -> list[tuple[str, str]]:
    """The orders that a `||` or `!<` excludes; none for another."""
    if fact.relation not in (Relation.CONCURRENT, Relation.NOT_BEFORE):
        return []
    pairs = [(fact.left, fact.right)]
    return pairs if fact.relation is Relation.NOT_BEFORE else [*pairs, (fact.right, fact.left)]


def _length(fact: Correspondence) -> int:
    encoded = "\0".join(fact.key()).encode()
    return ONE + int.from_bytes(blake2b(encoded, digest_size=8).digest(), "big")


AT_ONCE = 1024
"""So many pairs are followed through the graph at a time, a bit each."""


class Edge(NamedTuple):
    """`left < right`, by a correspondence, or by a chain (None)."""

    left: str
    right: str
    fact: Correspondence | None


class OrderGraph:
    """The orders of chains and of correspondences in normal form (`<`, `||`, `<>`, `!<`), maybe cyclic."""

    def __init__(self, chains: Iterable[Sequence[str]], facts: Sequence[Correspondence]) -> None:
        self.facts = facts
        edges = [Edge(left, right, None) for chain in chains for left, right in pairwise(chain)]
        edges += [Edge(f.left, f.right, f) for f in facts if f.relation is Relation.BEFORE]
        self.after: dict[str, list[Edge]] = {}
        self.before: dict[str, list[Edge]] = {}
        for edge in edges:
            self.after.setdefault(edge.left, []).append(edge)
            self.before.setdefault(edge.right, []).append(edge)
            self.after.setdefault(edge.right, [])

    def unordered(self) -> Iterator[tuple[Correspondence, str, str]]:
        """Each (fact, a, b) such that the fact excludes a < b, for `||` and `!<`."""
        return ((fact, left, right) for fact in self.facts for left, right in excluded(fact))

    def consistent(self) -> bool:
        """Whether nothing contradicts. Cost: linear, and a pass for each `AT_ONCE` excluded orders."""
        component = self._components()
        if len(set(component.values())) < len(component):
            return False
        return not self._both() and not any(True for _ in self._violated(component))

    def groups(self) -> list[list[Correspondence]]:
        """The correspondences that may be in a minimal contradictory set, those that may be in one together.

        Each such set is within one group, so that what is set aside of a group depends on nothing else. In a
        group they are in the order in which they stand. A `<` is in one where it lies on a cycle of chains
        and correspondences, or on a path that some `||` or `!<` excludes. Cost: as `consistent`, and the
        excluded paths that each `<` lies on.
        """
        component = self._components()
        same: dict[object, object] = {}

        def root(each: object) -> object:
            while (up := same.setdefault(each, each)) != each:
                same[each] = each = same.setdefault(up, up)
            return each

        for fact in self.facts:
            if fact.relation is Relation.BEFORE and component[fact.left] == component[fact.right]:
                same[root(fact.key())] = root(component[fact.left])
        for key in self._both():
            same[root(key)] = root((key[0], key[2]))
        for batch, (some, bad, ahead, behind) in enumerate(self._violated(component)):
            for bit, (fact, _, _) in enumerate(some):
                if bad >> bit & 1:
                    same[root(fact.key())] = root((batch, bit))
            for edges in self.after.values():
                for edge in edges:
                    lies = ahead[component[edge.left]] & behind[component[edge.right]] & bad
                    if lies:
                        on = edge.fact.key() if edge.fact is not None else (edge.left, edge.right)
                        while lies:
                            bit = (lies & -lies).bit_length() - 1
                            same[root((batch, bit))] = root(on)
                            lies &= lies - 1
        found: dict[object, list[Correspondence]] = {}
        for fact in self.facts:
            if fact.key() in same:
                found.setdefault(root(fact.key()), []).append(fact)
        return list(found.values())

    def _both(self) -> set[tuple[str, str, str]]:
        """The `||` and `<>` of the same pairs."""
        pairs: dict[frozenset[str], set[str]] = {}
        for fact in self.facts:
            if fact.relation in (Relation.CONCURRENT, Relation.RELATED):
                pairs.setdefault(frozenset((fact.left, fact.right)), set()).add(str(fact.relation))
        return {
            (min(pair), sign, max(pair)) for pair, signs in pairs.items() if len(signs) > 1 for sign in signs
        }

    def _violated(
        self, component: dict[str, int]
    ) -> Iterator[tuple[list[tuple[Correspondence, str, str]], int, list[int], list[int]]]:
        """Excluded orders, the bits of those that there are, and those that components can lie on."""
        unordered = [each for each in self.unordered() if each[1] in component and each[2] in component]
        count = max(component.values(), default=-1) + 1
        nexts: list[set[int]] = [set() for _ in range(count)]
        for edges in self.after.values():
            for edge in edges:
                nexts[component[edge.left]].add(component[edge.right])
        for begin in range(0, len(unordered), AT_ONCE):
            some = unordered[begin : begin + AT_ONCE]
            ahead, behind = [0] * count, [0] * count
            for bit, (_, left, right) in enumerate(some):
                ahead[component[left]] |= 1 << bit
                behind[component[right]] |= 1 << bit
            for at in reversed(range(count)):  # components are numbered from the last in the order
                for there in nexts[at]:
                    ahead[there] |= ahead[at]
            for at in range(count):
                for there in nexts[at]:
                    behind[at] |= behind[there]
            bad = 0
            for bit, (_, _, right) in enumerate(some):
                bad |= (ahead[component[right]] >> bit & 1) << bit
            if bad:
                yield some, bad, ahead, behind

    def _components(self) -> dict[str, int]:
        """The strongly connected component of each event; along an edge numbers fall or stay."""
        found = components(self.after, lambda event: (edge.right for edge in self.after[event]))
        return {event: at for at, component in enumerate(found) for event in component}
