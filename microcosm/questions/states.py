"""States at once: whether intervals can be seen at once, in some run or in each; n of them by elimination.

A run adds the events of a world one by one, each after what is before it; a consistent cut is what some run
has added at some time. n intervals can be seen at once iff none ends at or before the start of another: the
least cut that has all the starts has none of the ends then. They are seen at once in each run iff each start
is before each end of another. Of which neither can be so are left out by elimination (Garg and Waldecker,
weak and strong conjunctive predicates); docs/reference/questions.md, propositions 2 to 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from microcosm.errors import Undefined
from microcosm.givens.relation import Relation
from microcosm.questions.asked import FALSE, OPEN, TRUE, AskedLog, Scope
from microcosm.questions.language import And, Quantified, Related
from microcosm.questions.patterns import Interval, Values

if TYPE_CHECKING:
    from microcosm.givens.event_table import EventTable

COMBINATIONS = 100_000
"""So many choices of processes for the states of one `possibly` or `definitely` are looked at."""

# -- two intervals -------------------------------------------------------------------------------------------


def overlap(asked: AskedLog, one: Interval, other: Interval) -> int:
    """Whether two intervals can be seen at once."""
    blocked = max(ends_before(asked, one, other), ends_before(asked, other, one))
    return OPEN if blocked == FALSE and (one.broken or other.broken) else -blocked


def in_each_run(asked: AskedLog, one: Interval, other: Interval) -> int:
    """Whether two intervals are seen at once in each run."""
    found = min(begins_before_end(asked, one, other), begins_before_end(asked, other, one))
    return OPEN if found == TRUE and (one.broken or other.broken) else found


def ends_before(asked: AskedLog, one: Interval, other: Interval) -> int:
    """Whether an interval ends at or before the start of another."""
    possible = asked.judged.frame((other.begin,)).possible(one.until)
    if one.end is not None:
        true, false = possible.decided(Relation.BEFORE, 1)
        return TRUE if true or possible.same else FALSE if false else OPEN
    return FALSE if asked.complete or not possible.before else OPEN


def begins_before_end(asked: AskedLog, one: Interval, other: Interval) -> int:
    """Whether an interval begins before another ends, whenever that is; what never ends, ends last."""
    possible = asked.judged.frame((other.until,)).possible(one.begin)
    true, false = possible.decided(Relation.BEFORE, 1)
    if other.end is not None:
        return TRUE if true else FALSE if false else OPEN
    return TRUE if asked.complete or true or possible.same else OPEN


# -- any number of states ------------------------------------------------------------------------------------


def at_once(asked: AskedLog, formula: Quantified, scope: Scope) -> tuple[int, list[Interval]] | None:
    """Whether there are intervals, one for each variable, each two of which can be seen at once; and those.

    None where a formula does not ask that of three states or more, or of two that are seen at once in each
    run. By elimination, for each choice of parameters and processes. Cost: O(k²·m) for each of these choices.
    """
    surely = _asks(formula)
    if surely is None or len(formula.binders) < 3 - surely:
        return None
    left, certain = COMBINATIONS, True

    def blocks(value: int) -> Callable[[Interval, Interval], bool]:
        """Whether an interval is done with because of another, if what is open is false, or is true."""
        if surely:
            return lambda a, b: begins_before_end(asked, b, a) <= value
        return lambda a, b: ends_before(asked, a, b) >= -value

    for chains in _combinations(asked, formula, 0, scope, []):
        left -= 1
        if not left:
            word = "definitely" if surely else "possibly"
            raise Undefined(f"more than {COMBINATIONS:,} choices of processes for one `{word}`: name some")
        whole = [[one for one in chain if not one.broken] for chain in chains]
        shown = remaining([_joined(chain) for chain in whole] if surely else whole, blocks(OPEN))
        if shown is not None:
            return TRUE, shown
        every = [_joined(chain) for chain in chains] if surely else chains
        certain = certain and remaining(every, blocks(FALSE)) is None
    return (FALSE if certain and asked.complete else OPEN), []


def _asks(formula: Quantified) -> bool | None:
    """Whether a formula asks for states at once in each run, or (False) in some; None: for something else."""
    names = [name for name, _ in formula.binders]
    if not formula.some or len(names) < 2 or formula.where is not None or not isinstance(formula.body, And):
        return None
    parts = formula.body.parts
    related = [
        part for part in parts if isinstance(part, Related) and part.relation is None and not part.same
    ]
    atoms = {(part.left, part.right) for part in related}
    if len(atoms) != len(parts) or atoms != {(a, b) for i, a in enumerate(names) for b in names[i + 1 :]}:
        return None
    return related[0].surely


def remaining(
    chains: Sequence[Sequence[Interval]], blocks: Callable[[Interval, Interval], bool]
) -> list[Interval] | None:
    """One interval of each chain, none of which another one `blocks`; None where there are no such.

    `blocks(one, other)` says that one ends before the other begins, or that the other does not begin before
    one ends. With an interval it has to be so of all that begin later on the other's chain, and with an end,
    of all earlier ends. So an interval that is blocked by the first one left of another chain is done with.
    Cost: O(k²·m) questions for m intervals on each of k chains.
    """
    at = [0] * len(chains)
    if not all(chains):
        return None
    fresh = list(range(len(chains)))
    while fresh:
        i = fresh.pop()
        for j in range(len(chains)):
            while i != j and blocks(chains[i][at[i]], chains[j][at[j]]):
                at[i] += 1
                if at[i] == len(chains[i]):
                    return None
                if i not in fresh:
                    fresh.append(i)
            if i != j and blocks(chains[j][at[j]], chains[i][at[i]]) and j not in fresh:
                fresh.append(j)
    return [chain[k] for chain, k in zip(chains, at, strict=True)]


def _joined(chain: Sequence[Interval]) -> list[Interval]:
    """A chain with those that follow without a moment between them, by an event that ends one and begins
    another, as one.
    """
    found: list[Interval] = []
    for one in chain:
        if found and found[-1].end == one.begin:
            found[-1] = replace(one, begin=found[-1].begin)
        else:
            found.append(one)
    return found


def _combinations(
    asked: AskedLog, formula: Quantified, depth: int, scope: Scope, chains: list[list[Interval]]
) -> Iterator[list[list[Interval]]]:
    if depth == len(formula.binders):
        yield chains
        return
    name, reference = formula.binders[depth]
    group = asked.group(reference, scope.parameters)
    states = group.candidates.states
    assert states is not None
    numbers = {id(states[member]): member for member in group.members}
    for chain in on_chains([states[member] for member in sorted(group.members)], asked.table):
        chosen = scope.with_choice(name, reference, group.candidates, numbers[id(chain[0])])
        yield from _combinations(asked, formula, depth + 1, chosen, [*chains, chain])


def on_chains(found: Sequence[Interval], table: EventTable) -> Iterator[list[Interval]]:
    """Intervals of the same process and parameters together, the earliest first."""
    chains: dict[tuple[str, Values], list[Interval]] = {}
    for one in found:
        chains.setdefault((table.processes[one.begin], one.values), []).append(one)
    yield from chains.values()
