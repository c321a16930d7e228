"""What is known of pairs, as far as a page carries it: verdicts, what may be, and proofs.

Happens-before is not here: chains and edges tell it all. Of few events the file has the verdict of each two.
Of many it has, where nothing but `<` is given, the last pairs that are *apart*: no event is related to both.
From these every `?` follows. For a ? b there is such a pair at or after a and b (rules Un-2 and Un-3), and
what is at or before the one is `?` to what is at or before the other: were the two related, one of them would
be related to both of the pair. Where the file has neither, the page says that it does not know.

Of two microcosms (`Replicas`) it has who names which event, who is given which pair, and what is news to
whom. The picture is that of all that both are given. Where that contradicts itself it is that of the first,
beside which the events of the second stand; what the two disagree about is told either way. What each of the
two knows by itself is in a table of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from microcosm.compare.difference import Comparison, difference
from microcosm.compare.verdict_rows import seeds_own
from microcosm.engine.engine import Engine
from microcosm.engine.lowering import initial
from microcosm.engine.prove import Prover
from microcosm.errors import Contradiction, MicrocosmError, Undefined
from microcosm.givens.event_table import EventRow, EventTableBuilder
from microcosm.givens.facts import GivenFacts
from microcosm.givens.kinds import union
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import proof_object
from microcosm.logic.rule import Judgement
from microcosm.order.bits import bits
from microcosm.page.columns import TIMED, PageModel
from microcosm.page.packing import Column, as_json, naturals, nibbles, small
from microcosm.queries.offline import Decisions, Inconsistent
from microcosm.state.microcosm import Microcosm
from microcosm.worlds.propagation import MEMBERS

TABLED = 2_000
"""Of so many events the file has all verdicts."""

LEFT = 200
"""Of so many what the offline rules leave of each pair."""

PROVED = 60
"""Of so many the proof of every verdict, unless others are asked for."""

APART = 20_000_000
"""So many comparisons at most are made to find the pairs that are apart."""

APART_CHAINS = 1_024
"""Where more chains are connected they are not looked for."""

BESIDE = 2_000_000
"""So many pairs at most are listed that clocks alone show to be concurrent."""

DIGIT = {
    Relation.SILENT: "0",
    Relation.BEFORE: "1",
    Relation.AFTER: "2",
    Relation.CONCURRENT: "3",
    Relation.RELATED: "4",
    Relation.UNKNOWN: "5",
}
"""Verdicts as the columns `table` has them."""


def verdict_table(engine: Engine, names: Sequence[str], column: str = "table") -> Column:
    """The verdict of each pair of events, the first before the second; under other rules in either direction.

    Cost: one saturation, and some 50 nanoseconds a pair; under other rules a question a pair.
    """
    size = len(names)
    if not seeds_own(engine.rules):
        pairs = ((a, b) for a in names for b in names)
        digits = ["0" if a == b else DIGIT[engine.verdict(a, b)] for a, b in pairs]
        return nibbles(column, "".join(digits))
    inside = [at for at, name in enumerate(names) if engine.mentions(name)]
    rows = engine.verdict_rows([names[at] for at in inside])
    if len(inside) == size:
        return nibbles(column, "".join(map(DIGIT.__getitem__, chain.from_iterable(rows))))
    grid = [["5"] * size for _ in range(size)]  # of which nothing is known is `?` to all others
    for number, row in enumerate(rows):
        own = grid[inside[number]]
        for at, relation in zip(inside[number + 1 :], row, strict=True):
            own[at] = DIGIT[relation]
    return nibbles(column, _above(grid))


def _above(grid: Sequence[Sequence[str]]) -> str:
    """The digits of each pair, the first event before the second, row by row."""
    return "".join(["".join(row[at + 1 :]) for at, row in enumerate(grid)])


class TooLarge(MicrocosmError):
    """There are more events than a page can show, or it would take more bytes."""


class Knowledge:
    """What is known of the pairs of a model. Cost: none to make."""

    def __init__(self, model: PageModel) -> None:
        self.model = model
        self.prover = Prover(model.engine, model.givens)
        self.decisions = Decisions(model.engine, model.givens, self.prover)

    @property
    def tabled(self) -> bool:
        """Whether the file has the verdict of every pair."""
        return len(self.model) <= TABLED

    def columns(self) -> Iterator[Column]:
        """`table`, or `apart` and `beside`, as far as they can be had. Cost: see each."""
        if self.tabled:
            yield verdict_table(self.model.engine, self.model.names)
        elif self.model.shortcuts:
            pairs = self.without_relative()
            if pairs is not None:
                yield naturals("apart", chain.from_iterable(pairs))
            beside = self.beside()
            if beside:
                yield naturals("beside", beside)

    # -- `?` among many events -----------------------------------------------------------------------------

    def without_relative(self) -> list[tuple[int, int]] | None:
        """Pairs without a common relative, from which all `?` within connected events follow.

        None where more than `<` is given, and where to find them takes long. Two events have no common
        relative iff no chain has events before both, and none has events after both: so much as a set of
        chains an event. Cost: linear for these sets, and a comparison for each two places on chains where
        neither set is whole.
        """
        model = self.model
        if not self._orders_alone:
            return None
        bit, whole = self._connected()
        if max(whole, default=0).bit_length() > APART_CHAINS:
            return None
        before = self._touched(model.causal, bit, back=True)
        after = self._touched(reversed(model.causal), bit, back=False)
        places: dict[int, list[tuple[int, int, int]]] = {}
        for number, mask in enumerate(whole):
            first, end = model.offset[number], model.offset[number + 1]
            for at in range(first, end):
                last = at + 1 == end or before[at + 1] != before[at] or after[at + 1] != after[at]
                if last and before[at] != mask != after[at]:
                    places.setdefault(bit[number][0], []).append((at, before[at], after[at]))
        if sum(len(one) ** 2 for one in places.values()) > 2 * APART:
            return None
        found = []
        for listed in places.values():
            for i, (a, past, future) in enumerate(listed):
                for b, other_past, other_future in listed[i + 1 :]:
                    if not past & other_past and not future & other_future:
                        found.append((a, b))
        return self._last(found)

    @property
    def _orders_alone(self) -> bool:
        """Whether nothing but `<` is given that a verdict rests on."""
        givens = self.model.givens
        return not (givens.clocks or givens.tokens) and givens.orders_alone

    def _touched(self, order: Iterable[int], bit: Sequence[tuple[int, int]], *, back: bool) -> list[int]:
        """Of each event the chains with events at or before it, or at or after it, as bits of its group."""
        model = self.model
        ends: dict[int, list[int]] = {}
        for b, a, _ in model.edges:
            ends.setdefault(b if back else a, []).append(a if back else b)
        chain, offset, found = model.chain, model.offset, [0] * len(model)
        for at in order:
            number = chain[at]
            beside = at - 1 if back else at + 1
            inside = offset[number] <= beside < offset[number + 1]
            known = found[beside] if inside else bit[number][1]
            for other in ends.get(at, ()):
                if found[other] & ~known:
                    known |= found[other]
            found[at] = known
        return found

    def _connected(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Of each chain the group that edges make of chains and its bit there; and all bits there are."""
        model = self.model
        group = list(range(len(model.layout.chains)))

        def root(number: int) -> int:
            while group[number] != number:
                group[number] = number = group[group[number]]
            return number

        for a, b in {(model.chain[a], model.chain[b]) for b, a, _ in model.edges}:
            group[root(a)] = root(b)
        roots = [*map(root, range(len(group)))]
        many = Counter[int]()
        bits: list[tuple[int, int]] = []
        for one in roots:
            bits.append((one, 1 << many[one]))
            many[one] += 1
        return bits, [(1 << many[one]) - 1 for one in roots]

    def _last(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Of pairs on the same two chains those that no other one is at or after in both."""
        by_chains: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for a, b in pairs:
            by_chains.setdefault((self.model.chain[a], self.model.chain[b]), []).append((a, b))
        found = []
        for listed in by_chains.values():
            most = -1
            for a, b in sorted(listed, reverse=True):
                if b > most:
                    found.append((a, b))
                    most = b
        return sorted(found)

    # -- `||` by clocks that do not tell all ---------------------------------------------------------------

    def beside(self) -> list[int] | None:
        """Of each event whose clock does not tell all: itself, a count, then runs of events beside it.

        A run is its first event and its length. None where there are too many: see `unsaid`.
        """
        model = self.model
        judged = model.engine.memo.judged(initial(Relation.CONCURRENT))
        position, names = model.engine.universe.position, model.engine.universe.names
        found: list[int] = []
        left = BESIDE
        for at in (at for at, kind in enumerate(model.kinds) if kind & TIMED):
            row = judged.row(position[model.names[at]])
            left -= row.bit_count() + 64
            if left < 0:
                return None
            others = sorted(model.number[names[other]] for other in bits(row))
            runs: list[int] = []
            for before, other in pairwise([-2, *others]):
                if other == before + 1:
                    runs[-1] += 1
                else:
                    runs += (other, 1)
            found += (at, len(runs) // 2, *runs)
        return found

    def unsaid(self, columns: Sequence[Column]) -> list[str]:
        """What an event may be to another where the page says that it does not know."""
        names = {column.name for column in columns}
        if "table" in names or "apart" in names:
            return []
        listed = "beside" in names or not any(kind & TIMED for kind in self.model.kinds)
        return ["?", "silent"] if self.model.shortcuts and listed else ["||", "<>", "?", "silent"]

    # -- what may be, and why ------------------------------------------------------------------------------

    def left(self) -> Column | None:
        """Of each pair what the offline rules leave of `<`, `>`, `||`; None where they contradict themselves.

        Of each digit the bits are those of `MEMBERS`, the lowest first.
        Cost: that of `Microcosm.offline_table` at depth 0.
        """
        model = self.model
        size = len(model)
        grid = [["7"] * size for _ in range(size)]
        try:
            found = self.decisions.table().fitting()
            for a, b, left in found or ():
                x, y = model.number[a], model.number[b]
                relations = left if x < y else tuple(relation.converse for relation in left)
                digit = sum(1 << bit for bit, one in enumerate(MEMBERS) if one in relations)
                grid[min(x, y)][max(x, y)] = str(digit)
        except Inconsistent:
            return None
        return None if found is None else nibbles("left", _above(grid))

    def shown_first(self, pairs: Iterable[tuple[int, int]]) -> list[list[object]]:
        """For each pair its numbers, its verdict and what the offline rules leave of it, or None."""
        found: list[list[object]] = []
        for a, b in pairs:
            one, other = self.model.names[a], self.model.names[b]
            verdict = self.model.engine.verdict(one, other)
            left = None
            if len(self.model) <= TABLED:
                try:
                    left = [str(one) for one in self.decisions.verdict(one, other, 0).possible]
                except Inconsistent:
                    left = []
            found.append([a, b, str(verdict), left])
        return found

    def proofs(self, pairs: Iterable[tuple[int, int]]) -> Column:
        """The derivation of the verdict of each pair, by its numbers; none of a silent one.

        Cost: a proof for each.
        """
        found: dict[str, Any] = {}
        for a, b in pairs:
            one, other = self.model.names[a], self.model.names[b]
            verdict = self.model.engine.verdict(one, other)
            if verdict is not Relation.SILENT:
                proof = self.prover.derive(Judgement.ONLINE, one, verdict, other)
                if proof is not None:
                    found[f"{a},{b}"] = proof_object(proof)
        return as_json("proofs", found)


CONFLICTS_PROVED = 20
"""Of so many conflicts both proofs are in the page."""


@dataclass(frozen=True)
class Replicas:
    """Two microcosms, and the one that has what both are `given`, or what the first is."""

    one: Microcosm
    other: Microcosm
    given: Microcosm
    joined: bool
    """Whether that has what both are given."""

    def described(self, names: tuple[str, str]) -> dict[str, Any]:
        """The member `other` of a head: what is news to whom, the best first, and conflicts with proofs.

        Cost: as `difference`, and of some conflicts two proofs.
        """
        found = difference(self.one, self.other)
        described = {"names": [*names], "joined": self.joined}
        return {**described, **found.to_json(), "conflicts": [*self._conflicts(found)]}

    def columns(self, model: PageModel) -> Iterator[Column]:
        """Of each event and of each pair who has it, 1 for the first, 2 for the second; and both tables.

        `who` is of events, `by` of edges, `link` of each event and the one before it on its chain.
        """
        facts = GivenFacts(self.one.givens), GivenFacts(self.other.givens)

        def by(a: int, b: int) -> int:
            pair = model.names[a], Relation.BEFORE, model.names[b]
            return sum(bit for bit, known in zip((1, 2), facts, strict=True) if any(known.evidence(*pair)))

        ones, others = _named(self.one), _named(self.other)
        yield small("who", bytes((name in ones) + 2 * (name in others) for name in model.names))
        yield small("by", bytes(by(a, b) for b, a, _ in model.edges))
        first = set(model.offset)
        yield small("link", bytes(0 if b in first else by(b - 1, b) for b in range(len(model))))
        yield verdict_table(self.one._engine, model.names, "table.1")
        yield verdict_table(self.other._engine, model.names, "table.2")

    def _conflicts(self, found: Comparison) -> Iterator[dict[str, Any]]:
        for number, each in enumerate(found.conflicts):
            conflict = each.to_json()
            if number < CONFLICTS_PROVED:
                proofs = (known.why(each.left, each.right) for known in (self.one, self.other))
                conflict["derivations"] = [proof and proof_object(proof) for proof in proofs]
            yield conflict


def replicas(one: Microcosm, other: Microcosm) -> Replicas:
    """Two microcosms beside each other. Raises `TooLarge`. Cost: linear, and the order of what is given."""
    named = _named(one) | _named(other)
    if len(named) > TABLED:
        raise TooLarge(f"two microcosms of {len(named):,} events are more than a page shows ({TABLED:,})")
    try:
        return Replicas(one, other, Microcosm(union(one.givens, other.givens), rules=one.rules), True)
    except (Contradiction, Undefined):
        beside = EventTableBuilder()
        for event in other:  # which the first need not know: then nothing relates them
            beside.add((other.events_table and other.events_table.row(event)) or EventRow(event))
        givens = one.givens.copy()
        givens.events = beside.table() if givens.events is None else givens.events.joined(beside.table())
        return Replicas(one, other, Microcosm(givens, rules=one.rules), False)


def _named(known: Microcosm) -> set[str]:
    """The events of a microcosm, and those of its log."""
    return {*known, *(() if known.events_table is None else known.events_table.names)}
