"""Pairs of a long log, counted instead of looked at: by the prefix of each chain that an event knows of.

Where nothing but `<` is known, kept as labels, the pairs (a, b) with a before b are counted event by event: a
search among the indices of the a on each chain for how far b knows it. What is left is unordered. Intervals
are counted chain by chain: those of another chain that begin before one ends, and those that end before it
begins, are prefixes. Witnesses are looked for at the events whose count says that there are some. Needs
numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from microcosm.givens.relation import Relation
from microcosm.order.bits import bits
from microcosm.questions.evaluate import Evaluation, only
from microcosm.questions.language import Binder, Not, Parameter, Quantified, Reference, Related, Value
from microcosm.questions.questioned_log import FALSE, OPEN, TRUE, Candidates, Group, QuestionedLog, Scope

Array = Any
"""A numpy array."""

_Keyed = tuple[list[int], list[int]]
"""Candidates of the first and of the second variable whose shared parameters are equal."""

FROM = 1024
"""Of fewer candidates together rows are as fast. Benchmark: `questions`."""

SIDE_BY_SIDE = 1 << 14
"""Groups with so many pairs together are looked at pair by pair; of larger ones searches are quicker.
Benchmark: `questions`."""

TOGETHER = 1 << 16
"""The pasts of so many events are laid out at once."""


@dataclass
class Tally:
    """How many tuples have each value, and where to look for some of them."""

    counts: dict[int, int]
    flagged: dict[int, list[Scope]]
    """For a value what is chosen first in some tuples that have it."""


def tally(evaluation: Evaluation, formula: Quantified, shown: int) -> Tally | None:
    """The counts of a question about two events or two states, and some tuples; None where it is none of
    these.

    Cost: for n events on P chains n·P searches; for states on P chains P² of all their intervals.
    """
    log = evaluation.log
    if formula.some or formula.where is not None or len(formula.binders) != 2 or not formula.distinct:
        return None
    body, negated = (formula.body.part, True) if isinstance(formula.body, Not) else (formula.body, False)
    (first, one), (second, other) = formula.binders
    if not isinstance(body, Related) or (body.left, body.right) != (first, second) or body.same:
        return None
    mine, theirs = log.matching(one.name), log.matching(other.name)
    if len(mine) + len(theirs) < FROM or log.judged.arrays is None:
        return None
    told, leaving, entered = log.judged.told
    known = (
        [log.judged.places[event] in told for event in {*mine.events, *theirs.events}] if told else [False]
    )
    if (any(known) and not all(known)) or (leaving and entered):
        return None
    counter = _Counter(evaluation, formula, body.relation, negated, all(known) and bool(told), shown)
    if body.relation is None:
        return counter.states(mine) if one.name == other.name and formula.once else None
    keyed = _keyed(one, other, mine)
    alike = mine is theirs and formula.once
    return counter.events(keyed, keyed if alike else _keyed(other, one, theirs), alike)


def _keyed(
    one: Reference, other: Reference, candidates: Candidates
) -> dict[tuple[str, ...], list[int]] | None:
    """The candidates of a reference by the parameters that it shares with the other one, in order of name."""
    names = [a.name for a in one.arguments if isinstance(a, Parameter)]
    if len(set(names)) < len(names):
        return None
    shared = sorted({a.name for a in other.arguments if isinstance(a, Parameter)} & {*names})
    at = {a.name: place for place, a in enumerate(one.arguments) if isinstance(a, Parameter)}
    fixed = [(place, str(a.value)) for place, a in enumerate(one.arguments) if isinstance(a, Value)]
    places = [at[name] for name in shared]
    if not fixed:
        return candidates.keyed(tuple(places))
    found: dict[tuple[str, ...], list[int]] = {}
    for number, values in enumerate(candidates.values):
        if all(values[place] == value for place, value in fixed):
            found.setdefault(tuple([values[place] for place in places]), []).append(number)
    return found


def _up_to(np: Any, numbers: Array, size: int) -> Array:
    """For each number from 0 to `size` how many of some numbers are not above it."""
    return np.cumsum(np.bincount(numbers, minlength=size + 1))


class _Counter:
    def __init__(
        self,
        evaluation: Evaluation,
        formula: Quantified,
        relation: Relation | None,
        negated: bool,
        covered: bool,
        shown: int,
    ) -> None:
        import numpy as np

        self._np = np
        self._evaluation, self._formula = evaluation, formula
        self._covered, self._shown = covered, shown
        self._log: QuestionedLog = evaluation.log
        assert self._log.judged.arrays is not None
        self._arrays = self._log.judged.arrays
        apart = OPEN
        if covered:
            apart = TRUE if relation is Relation.CONCURRENT else FALSE
        before = TRUE if relation in (Relation.BEFORE, Relation.RELATED) else FALSE
        after = TRUE if relation in (Relation.AFTER, Relation.RELATED) else FALSE
        sign = -1 if negated else 1
        self._sign = sign
        self._value = {"before": sign * before, "after": sign * after, "apart": sign * apart}
        self._found = Tally({TRUE: 0, FALSE: 0, OPEN: 0}, {TRUE: [], FALSE: [], OPEN: []})

    # -- events --------------------------------------------------------------------------------------------

    def events(
        self,
        mine: dict[tuple[str, ...], list[int]] | None,
        theirs: dict[tuple[str, ...], list[int]] | None,
        same: bool,
    ) -> Tally | None:
        """Some groups at a time. None where a parameter stands twice in one pattern."""
        if mine is None or theirs is None:
            return None
        waiting: list[_Keyed] = []
        pairs = 0
        for key, ones in mine.items():
            others = theirs.get(key)
            if others:
                many = len(ones) * len(others)
                if waiting and pairs + many > SIDE_BY_SIDE:
                    self._groups(waiting, same)
                    waiting, pairs = [], 0
                waiting.append((ones, others))
                pairs += many
        if waiting:
            self._groups(waiting, same)
        return self._found

    def _groups(self, groups: list[_Keyed], once: bool) -> None:
        """Count the pairs within each of some groups, each two events `once` or in both directions."""
        counts, value = self._found.counts, self._value
        one, other = (self._log.matching(reference.name).events for _, reference in self._formula.binders)
        ones = [[one[number] for number in numbers] for numbers, _ in groups]
        others = ones if once else [[other[number] for number in numbers] for _, numbers in groups]
        before = self._known(ones, others)
        after = before if once else self._known(others, ones)
        for at, (a, b) in enumerate(zip(ones, others, strict=True)):
            pairs = len(a) * (len(a) - 1) // 2 if once else len(a) * len(b) - len({*a} & {*b})
            number = {"before": sum(before[at]), "after": 0 if once else sum(after[at])}
            number["apart"] = pairs - number["before"] - number["after"]
            for status, count in number.items():
                counts[value[status]] += count
                enough = len(self._found.flagged[value[status]]) >= self._shown
                if count and value[status] != TRUE and not enough:
                    self._show(status, groups[at], (a, b), (before[at], after[at]), once)

    def _show(
        self,
        status: str,
        group: _Keyed,
        events: tuple[list[int], list[int]],
        known: tuple[list[int], list[int]],
        once: bool,
    ) -> None:
        """Look for tuples of a status, of which a group has some, at the events that tell of them."""
        value, (ones, others), (a, b), (before, after) = self._value[status], group, events, known
        if status == "before":
            self._flag(1, [number for number, count in zip(others, before, strict=True) if count], value)
        elif status == "after":
            self._flag(0, [number for number, count in zip(ones, after, strict=True) if count], value)
        else:
            self._flag(1, self._lacking(others, a, b, before), value)
            if not once:
                self._flag(0, self._lacking(ones, b, a, after), value)

    def _known(self, ones: list[list[int]], others: list[list[int]]) -> list[list[int]]:
        """Of each group, for each of its `others` how many of its `ones` are before it.

        Of one group by a search a chain; of several, which are small, by a look at each pair.
        """
        np = self._np
        a, b = (self._positions(chain.from_iterable(side)) for side in (ones, others))
        if len(ones) == 1:
            return [self._searched(a, b).tolist()]
        mine, theirs = ([*map(len, side)] for side in (ones, others))
        many = np.repeat(mine, theirs)  # for each b so many pairs, with the a of its group in turn
        ends = np.cumsum(many)
        first = np.repeat(np.cumsum(mine) - mine, theirs) - (ends - many)
        holds = self._arrays.before(a[np.arange(ends[-1]) + np.repeat(first, many)], np.repeat(b, many))
        so_far = np.concatenate([[0], np.cumsum(holds)])
        found = iter((so_far[ends] - so_far[ends - many]).tolist())
        return [[*islice(found, count)] for count in theirs]

    def _searched(self, a: Array, b: Array) -> Array:
        """For each of the events b how many of the events a are before it."""
        np = self._np
        chain, index = self._arrays.at(a)
        order = np.lexsort((index, chain))
        chain, index = chain[order], index[order]
        parts = [(int(chain[part.start]), index[part]) for part in self._chains(chain)]
        found = np.zeros(len(b), dtype=np.int64)
        for at in range(0, len(b), TOGETHER):
            knows = np.ascontiguousarray(self._arrays.prefixes(b[at : at + TOGETHER]).T)
            for number, indices in parts:
                if number < self._arrays.chains:
                    found[at : at + TOGETHER] += np.searchsorted(indices, knows[number], "left")
        return found

    def _laid_out(self, events: Array) -> Array:
        """For each chain a row: how many of its events are before each of the events."""
        found = self._np.empty((self._arrays.chains + 1, len(events)), self._np.int32)
        for at in range(0, len(events), TOGETHER // 16):
            found[:, at : at + TOGETHER // 16] = self._arrays.prefixes(events[at : at + TOGETHER // 16]).T
        return found

    def _sizes(self, events: Array) -> Array:
        """How many events are before each."""
        rows = range(0, len(events), TOGETHER)
        return self._np.concatenate(
            [self._arrays.prefixes(events[at : at + TOGETHER]).sum(axis=1) for at in rows]
        )

    def _lacking(self, numbers: list[int], a: list[int], b: list[int], before: list[int]) -> list[int]:
        """Of the candidates at b some that are not after all of a that know no more than they do."""
        np = self._np
        sizes_a, sizes_b = (self._sizes(self._positions(side)) for side in (a, b))
        earlier = np.searchsorted(np.sort(sizes_a), sizes_b, "right") - np.isin(b, a)
        return [numbers[at] for at in np.flatnonzero(earlier > np.array(before)).tolist()]

    def _positions(self, events: Iterable[int]) -> Array:
        """The position of each event; of one of which nothing is given that of an outsider, on no chain."""
        places = self._log.judged.places
        return self._np.maximum(self._np.array([places[event] for event in events], dtype=self._np.int64), 0)

    def _flag(self, side: int, numbers: list[int], value: int) -> None:
        """Look at the tuples of some candidates until there are enough of a value to be shown."""
        formula, kept = self._formula, self._found.flagged[value]
        (first, one), (second, other) = formula.binders
        seen = {self._numbers(scope) for scope in kept}
        for number in numbers:
            if len(kept) >= self._shown:
                return
            name, reference = formula.binders[side]
            candidates = self._log.matching(reference.name)
            scope = Scope().with_choice(name, reference, candidates, number)
            last = (first, one) if side else (second, other)
            group = self._log.group(last[1], scope.parameters)
            among = self._others(candidates, number, group)
            true, false = self._evaluation.row(formula.body, scope, last, group, among)
            for at in bits(false if value == FALSE else among & ~(true | false)):
                pair = self._paired(scope, last, group, group.members[at])
                if len(kept) < self._shown and self._numbers(pair) not in seen:
                    seen.add(self._numbers(pair))
                    kept.append(pair)

    def _numbers(self, scope: Scope) -> tuple[int, ...]:
        return tuple(one.number for one in scope.variables.values())

    def _paired(self, scope: Scope, last: Binder, group: Group, member: int) -> Scope:
        """Both chosen, the first binder first; of a pair that is taken once the one that was read first."""
        (first, one), (second, other) = self._formula.binders
        whole = scope.with_choice(*last, group.candidates, member)
        a, b = whole.variables[first], whole.variables[second]
        if self._formula.once and a.number > b.number:
            a, b = b, a
        start = Scope().with_choice(first, one, a.candidates, a.number)
        return start.with_choice(second, other, b.candidates, b.number)

    def _others(self, candidates: Candidates, number: int, group: Group) -> int:
        if candidates.states is not None:
            return group.every & ~only(group, number)
        return group.every & ~group.frame.possible(candidates.events[number]).same

    # -- states --------------------------------------------------------------------------------------------

    def states(self, candidates: Candidates) -> Tally | None:
        """Pairs of intervals of one state. None where some may have been interrupted, or end out of order."""
        (_, one), (_, other) = self._formula.binders
        keyed = _keyed(one, other, candidates)
        if keyed is None or candidates.states is None or any(i.broken for i in candidates.states):
            return None
        for numbers in keyed.values():
            if not self._intervals(candidates, numbers):
                return None
        return self._found

    def _intervals(self, candidates: Candidates, numbers: list[int]) -> bool:
        np = self._np
        assert candidates.states is not None
        intervals = [candidates.states[number] for number in numbers]
        begin = self._positions(one.begin for one in intervals)
        until = self._positions(one.until for one in intervals)
        ended = np.array([one.end is not None for one in intervals], dtype=bool)
        chain, index = self._arrays.at(begin)
        order = np.lexsort((index, chain))
        begin, until, ended, chain, index = (x[order] for x in (begin, until, ended, chain, index))
        last_chain, last = self._arrays.at(until)
        if len(begin) and ((chain != last_chain).any() or (chain == self._arrays.chains).any()):
            return False
        parts = [*self._chains(chain)]
        if any((np.diff(last[part]) < 0).any() for part in parts):
            return False
        blocked, free = np.zeros(len(begin), np.int64), np.zeros(len(begin), np.int64)
        begins, untils = self._laid_out(begin), self._laid_out(until)
        index, last = index.astype(np.int32), last.astype(np.int32)
        for part in parts:  # an interval is at the start of itself; what has no end goes on beyond the last
            begins[chain[part.start], part] += 1
            untils[chain[part.start], part] = (last + ~ended)[part]
        for number, mine in enumerate(parts):
            c = chain[mine.start]
            for theirs in parts[: number + 1]:
                d = chain[theirs.start]
                ways = [(mine, theirs, c, d), (theirs, mine, d, c)][: 1 + (c != d)]
                for one, other, at, _ in ways:
                    # those that begin before an end; the others cannot be seen with it
                    short = np.searchsorted(begins[at, other], last[one], "right")[ended[one]]
                    size = other.stop - other.start
                    blocked[one][ended[one]] += size - short
                    blocked[other] += _up_to(np, short, size)[:-1]
                if self._covered:
                    continue
                started = [np.searchsorted(index[y], untils[e, x], "left") for x, y, _, e in ways]
                for way, (one, *_) in enumerate(ways):
                    # those that begin before my end is known, less those whose end is known by my start
                    done = _up_to(np, started[way - 1], one.stop - one.start)[:-1]
                    free[one] += np.maximum(0, started[way] - done)
        pairs = len(begin) * (len(begin) - 1) // 2
        if self._covered:
            free = len(begin) - blocked
        free -= 1  # itself
        counts, sign = self._found.counts, self._sign
        ordered, seen = int(blocked.sum()) // 2, int(free.sum()) // 2
        counts[-sign] += ordered
        counts[sign] += seen
        counts[OPEN] += pairs - ordered - seen
        for value, number in ((sign, free), (OPEN, len(begin) - 1 - blocked - free), (-sign, blocked)):
            if value != TRUE and len(self._found.flagged[value]) < self._shown:
                some = np.flatnonzero(number > 0).tolist()
                self._flag(0, [numbers[int(order[at])] for at in some], value)
        return True

    def _chains(self, chain: Array) -> Iterator[slice]:
        np = self._np
        starts = np.flatnonzero(np.r_[True, chain[1:] != chain[:-1]]).tolist() if len(chain) else []
        for start, end in zip(starts, [*starts[1:], len(chain)], strict=True):
            yield slice(start, end)
