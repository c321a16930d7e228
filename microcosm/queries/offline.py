"""Offline decision making: what cannot be and what must be of a pair (Worlds of Events, Definition 4.1)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf

from microcosm import tuning
from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.memo import Memo, View
from microcosm.engine.prove import Prover
from microcosm.engine.refutation import Refutation, clash_of
from microcosm.engine.strata import assumptions
from microcosm.errors import MicrocosmError, Stopped, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.givens.spelling import expect, shown
from microcosm.logic.derivation import Derivation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.order.bits import bits, lowest
from microcosm.queries.batch import concluding_concurrency
from microcosm.queries.conflict import OneGiven, conflict, named
from microcosm.queries.possible import PairsLeft, Possibility, Worlds, ignored
from microcosm.text.statement import readable
from microcosm.worlds.propagation import MEMBERS
from microcosm.worlds.search import Stop
from microcosm.worlds.world import MEANING

PROVED = (*MEMBERS, Relation.RELATED)
"""What can be proved of a pair, the most accurate first."""

REFUTED = {
    Relation.BEFORE: Relation.NOT_BEFORE,
    Relation.AFTER: Relation.NOT_AFTER,
    Relation.CONCURRENT: Relation.NOT_CONCURRENT,
    Relation.RELATED: Relation.NOT_RELATED,
}
"""What can be refuted of a pair, and as what."""

_RELATED = (Judgement.INITIAL, Relation.RELATED)

_TABLED = (Relation.NOT_BEFORE, Relation.NOT_CONCURRENT)
"""What refutes the members of a table."""


@dataclass(frozen=True)
class Offline:
    """The offline verdict on a pair.

    `possible` is what is left of `<`, `>` and `||`; `exact` says whether it is known that a world has
    each. `derivations` goes from `!<` and so on, and from the relation proved, to their proofs; None
    stands where a solver decided and a proof by cases would be too long (see `Worlds.certificate`).
    """

    relation: Relation | None
    refuted: tuple[Relation, ...]
    possible: tuple[Relation, ...]
    exact: bool
    derivations: dict[str, Derivation | None] = field(repr=False)

    def __str__(self) -> str:
        """What is proved and refuted, each with its tree, and what is left."""
        parts = [
            str(proof) if proof else f"{fact}: shown by a solver" for fact, proof in self.derivations.items()
        ]
        left = " or ".join(map(str, self.possible)) or "nothing"
        return "\n".join([*parts, f"left: {left}{'' if self.exact else ', at most'}"])

    def _repr_html_(self) -> str:
        return f"<pre>{'<br>'.join(map(readable, str(self).splitlines()))}</pre>"


PROFILES = ("full", "paper")
"""How the offline rules can be read."""


class Inconsistent(MicrocosmError):
    """No world has all that is given; `derivation` concludes the contradiction."""

    def __init__(self, derivation: Derivation) -> None:
        super().__init__("the microcosm is inconsistent: no world fits all that it is given")
        self.derivation = derivation


class Decisions:
    """Offline decisions about some givens, under the rules of an engine. Valid until the givens change.

    Cost of a verdict: what is possible of the pair, and refutations among few events; with `<>` exponential
    at worst.
    """

    def __init__(self, engine: Engine, givens: Givens, witness: Prover) -> None:
        self._engine, self._givens, self._witness = engine, givens, witness
        self._rules = engine.rules
        self._begun: list[Refutation] = []
        self._others: dict[str, Decisions] = {}

    def in_profile(self, profile: str) -> Decisions:
        """Decisions under the rules in a profile. Raises `Undefined`. Cost: once for each, an engine."""
        if profile not in PROFILES:
            raise Undefined(f"there is no profile {shown(profile)}: it is {' or '.join(PROFILES)}")
        rules = self._rules.in_profile(profile)
        if rules is self._rules:
            return self
        found = self._others.get(profile)
        if found is None:
            engine = Engine(rules, self._givens)
            found = self._others[profile] = Decisions(engine, self._givens, Prover(engine, self._givens))
        return found

    def verdict(self, a: str, b: str, depth: int | None = None, stop: Stop | None = None) -> Offline:
        """The verdict on two events; `depth` None: exactly. Raises `Inconsistent`.

        Where `stop` says so before the search is through, or an ordering of messages is known (of which
        the rules tell much, and worlds nothing), `exact` is false.
        """
        memo, x, y = self._engine.locate(a, b)
        depth = self._needed(depth)
        with memo.named(((a, x), (b, y))):
            worlds = Worlds(self._givens, self._engine).possible(a, b, stop)
            if not worlds.relations:
                _refuse(self.contradiction(stop))
            events = bits(memo.domain) if self._all else self._relevant(memo, x, y, worlds, stop)
            with self._search(memo, [*events, x, y], stop, tuning.ASSUMPTIONS) as search:
                through = True
                try:
                    if depth is None:
                        if self._givens.beyond_worlds:  # the rules say more than `possible` knows
                            _refuse(search.inconsistency())
                        search.settle(x, y)
                    else:
                        search.deepen(depth)
                except Stopped:
                    through = False
                _refuse(search.clash)
                by_worlds = not through and depth is None and worlds.decided and are_shipped(self._rules)
                found = _verdict(search, x, y, worlds.relations if by_worlds else ())
            tight = worlds.exact and set(found.possible) == set(worlds.relations)
            return replace(found, exact=tight)

    def narrowed(self, a: str, b: str, found: Possibility, stop: Stop | None = None) -> Possibility:
        """What worlds leave of a pair, less what the rules refute by an ordering of messages.

        Nothing where the rules contradict them all. Cost: as `verdict`.
        """
        if not found.ignored or not found.relations:
            return found
        try:
            left = self.verdict(a, b, None, stop).possible
        except Inconsistent:
            return Possibility(())
        relations = tuple(relation for relation in found.relations if relation in left)
        shown = {relation: world for relation, world in found.worlds.items() if relation in left}
        return replace(found, relations=relations, worlds=shown)

    def narrowed_table(
        self, found: tuple[PairsLeft, bool] | None, stop: Stop | None = None
    ) -> tuple[PairsLeft, bool] | None:
        """`narrowed` of every pair in `Worlds.table`, by propagation alone; None where it contradicts.

        Cost: as `table`.
        """
        if found is None or not ignored(self._givens):
            return found
        try:
            left = found[0].common(self.table(0, stop)).fitting()
        except Inconsistent:
            return None
        except Stopped:
            return found[0], False
        return None if left is None else (left, found[1])

    def contradiction(self, stop: Stop | None = None) -> Derivation | None:
        """A derivation of a contradiction, None where some world fits. Raises `Stopped`, `Undecided`.

        Cost: exponential in the `<>` at worst; under rules that are none of the shipped ones a saturation.
        """
        memo = self._engine.memo
        of = self._givens
        every = self._all or of.complete  # a conflict names no statement that the log is complete
        known = self._rules.in_profile(read_rules().profile).instances
        if not (every or {*known} <= {*read_rules().instances}):  # they may contradict what fits a world
            clash, every = self._saturated()
            if clash is not None:
                return clash
        events = bits(memo.domain) if every else self._positions(conflict(of, stop) or ())
        with self._search(memo, events, stop) as search:
            return search.inconsistency()

    def _saturated(self) -> tuple[Derivation | None, bool]:
        """By tables of all pairs: a contradiction without assumptions, and whether some `<>` is open."""
        memo, names = self._engine.memo, self._engine.universe.names
        judged = {relation: memo.judged((Judgement.OFFLINE, relation)) for relation in Relation}
        for relation, excluded in assumptions(self._rules).clashes.items():
            for (other, straight), a in itertools.product(excluded, bits(memo.domain)):
                against = judged[other].row(a) if straight else judged[other].col(a)
                if both := judged[relation].row(a) & against:
                    x, y = names[a], names[lowest(both)]
                    ends = (x, other, y) if straight else (y, other, x)
                    sides = ((x, relation, y), ends)
                    return clash_of(*(self._witness.known(Judgement.OFFLINE, *side) for side in sides)), False
        before, related = judged[Relation.BEFORE], judged[Relation.RELATED]
        opened = (related.row(a) & ~(before.row(a) | before.col(a)) for a in bits(memo.domain))
        return None, any(opened)

    def table(self, depth: int | None = 0, stop: Stop | None = None) -> PairsLeft:
        """What is left of `<`, `>` and `||` for every pair of named events, sorted, first before second.

        `depth` None: exactly. Raises `Inconsistent`, `Stopped`. Cost: at depth 0 under the shipped rules that
        of two closures; under others a fixpoint; with assumptions see `Refutation.deepen`.
        """
        depth = self._needed(depth)
        names = self._engine.universe.names
        memo = self._engine.memo
        few = memo.domain.bit_count() <= tuning.ALL_TAKE_PART
        if depth == 0 and not (few or self._givens.orderings) and are_shipped(self._rules):
            pairs = Worlds(self._givens).propagated()
            if pairs is None:
                _refuse(self.contradiction(stop))
            assert pairs is not None
            return pairs
        left = {relation: [memo.domain] * memo.domain.bit_length() for relation in _TABLED}
        with self._search(memo, bits(memo.domain), stop) as search:
            if depth is None:
                for x, y in itertools.combinations(bits(memo.domain), 2):
                    search.settle(x, y)
            else:
                search.deepen(depth)
            _refuse(search.clash)
            for relation, rows in left.items():
                for x, y in search.hypothesis.related(relation):
                    rows[x] &= ~(1 << y)
        return PairsLeft({names[at]: at for at in bits(memo.domain)}, *left.values())

    def _needed(self, depth: int | None) -> int | None:
        """A depth of assumptions that decides as much; None: exactly.

        Under the shipped rules one for each `<>` decides exactly, and none does more than propagation where
        there is no `<>` (theorem 14 of docs/theory/depth.md). Cost: a row for each event with a `<>`.
        """
        expect(int | None, "depth of assumptions, or None", depth)
        if depth is not None and depth < 0:
            raise Undefined(f"no assumptions nest {depth} deep: 0 is none, None as deep as it takes")
        if self._givens.beyond_worlds or not are_shipped(self._rules):
            return depth
        related = self._engine.memo.judged(_RELATED)
        split = sum(related.row(at).bit_count() for at in bits(related.support()[0])) // 2
        return 0 if not split else None if depth is None or depth >= split else depth

    @property
    def _all(self) -> bool:
        """Whether all events take part: there are few, or what is known of a log relates distant ones."""
        shipped = self._rules.rules == read_rules().rules
        few = tuning.ALL_TAKE_PART if shipped else tuning.ALL_TAKE_PART_CHANGED
        given, memo = self._givens, self._engine.memo
        if given.complete and (not shipped or any(memo.judged(_RELATED).support())):
            return True
        return bool(given.orderings) or memo.domain.bit_count() <= few

    @contextmanager
    def _search(
        self, memo: Memo, events: Iterable[int], stop: Stop | None, most: float = inf
    ) -> Iterator[Refutation]:
        """A search among some events. That of all is kept: most of its cost is what it begins with.

        Cost: a propagation; of all events, where it is kept, to take back what the last question added.
        """
        among = sorted(set(events))
        every = memo is self._engine.memo and among == [*bits(memo.domain)]
        if every and self._begun:
            search = self._begun.pop()  # other threads may ask meanwhile
            search.begin_again(stop, most)
        else:
            search = Refutation(self._rules, self._witness.steps, memo, among, stop, most)
        yield search
        if every and not self._begun and search.begun is not None and search.begun <= tuning.FACTS_KEPT:
            self._begun.append(search)

    def _relevant(self, memo: Memo, x: int, y: int, worlds: Possibility, stop: Stop | None) -> list[int]:
        """Events among which everything that can be refuted of a pair can be refuted.

        Happens-before is closed already, so that few events do: those of one refutation without `<>`,
        else those of as few givens as contradict what is impossible.
        """
        names = self._engine.universe.names
        related = memo.judged(_RELATED).support()
        found: list[int] = []
        if not related[0] | related[1]:
            for a, b, relation in ((x, y, Relation.BEFORE), (y, x, Relation.AFTER)):
                if not (worlds.exact and relation in worlds.relations):
                    found += self._refuting(memo, a, b)
            return found
        for relation in MEMBERS:
            if relation not in worlds.relations:
                assumed = self._givens.copy()
                assumed.add(Correspondence(names[x], relation, names[y]))
                found += self._positions(conflict(assumed, stop) or ())
        return found

    def _refuting(self, memo: Memo, x: int, y: int) -> list[int]:
        """Some u at or before x and v at or after y of which u !< v is known without a step."""
        before = memo.judged((Judgement.ONLINE, Relation.BEFORE))
        concurrent = memo.judged((Judgement.ONLINE, Relation.CONCURRENT))
        ground = self._engine.ground
        complete = [View(concluding_concurrency(memo.program), memo)] if self._givens.complete else []
        relations = (concurrent, ground.given[Relation.NOT_BEFORE], ground.stamps, *complete)
        later = before.row(y) | 1 << y
        if later >> x & 1:
            return []  # y < x refutes it
        for u in bits(before.col(x) | 1 << x):
            for relation in relations:
                if found := relation.row(u) & later:
                    return [u, lowest(found)]
        return []

    def _positions(self, givens: Iterable[OneGiven]) -> list[int]:
        position = self._engine.universe.position
        return [position[name] for given in givens for name in named(given) if name in position]


def propagated(givens: Givens, rules: RuleBook) -> set[tuple[str, Relation, str]] | None:
    """Each `a R b` that propagation concludes, by any rules; None where it contradicts itself.

    Cost: an engine and a fixpoint.
    """
    try:
        engine = Engine(rules, givens)
    except CyclicGivens:
        return None
    search = Refutation(rules, Prover(engine, givens).steps, engine.memo, list(bits(engine.memo.domain)))
    if search.hypothesis.clash is not None:
        return None
    names = engine.universe.names
    return {(names[a], relation, names[b]) for relation, a, b in search.hypothesis}


def are_shipped(rules: RuleBook) -> bool:
    """Whether the instances of the rules are those of the shipped ones, of which propagation is known.

    Cost: linear in the rules.
    """
    return rules.instances == read_rules().instances


def _refuse(contradiction: Derivation | None) -> None:
    if contradiction is not None:
        raise Inconsistent(contradiction)


def _verdict(search: Refutation, a: int, b: int, sure: tuple[Relation, ...]) -> Offline:
    """What the search has found; `sure`, if any: which relations of the pair are known to be possible."""

    def holds(relation: Relation) -> tuple[Relation, int, int] | None:
        turned = relation in (Relation.AFTER, Relation.NOT_AFTER)
        fact = (relation.converse, b, a) if turned else (relation, a, b)
        return fact if search.hypothesis.holds(*fact) else None

    def denied(relation: Relation) -> bool:
        return bool(sure) and {*sure}.isdisjoint(MEANING[relation])

    def known(relation: Relation) -> bool:
        return bool(sure) and {*sure} <= {*MEANING[relation]}

    derivations: dict[str, Derivation | None] = {}
    proved = next((relation for relation in PROVED if holds(relation) or known(relation)), None)
    refuted = tuple(relation for relation, as_ in REFUTED.items() if holds(as_) or denied(relation))
    for relation in (*([proved] if proved is not None else []), *(REFUTED[relation] for relation in refuted)):
        fact = holds(relation)
        derivations[str(relation)] = search.hypothesis.derivation(*fact) if fact else None
    possible = tuple(relation for relation in MEMBERS if relation not in refuted)
    return Offline(proved, refuted, possible, False, derivations)
