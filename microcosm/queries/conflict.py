"""Which givens contradict one another: as few of them as it takes.

Minimal under inclusion: no world fits all that is returned, and one fits as soon as any of it is dropped.
The usual contradictions are shown by one chain of `<`: a cycle, or an order that a single given or two stamps
refute. They are found directly: a shortest chain and what it runs into are minimal as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeVar

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.order.bits import lowest
from microcosm.order.happens_before import Cycle
from microcosm.order.rows import Rows
from microcosm.text.mc_writer import write_mc
from microcosm.text.statement import Clocked, Stamped, spelled
from microcosm.worlds.constraints import StampOrder, constraints_of
from microcosm.worlds.possible import Possibilities
from microcosm.worlds.search import Stop

INTERNAL = "internal events"
"""The source of a correspondence that the internal chain gives."""


OneGiven = Correspondence | Stamped | Clocked
"""One given; a pair of the internal chain or of a token says so in its `source`."""


def statement(given: OneGiven) -> str:
    """A given as a microcosm file states it, without its source.

    Cost: linear in the given.

    >>> statement(Correspondence("log in", Relation.CONCURRENT, "upload", "message m7"))
    '"log in" || upload'
    """
    match given:
        case Stamped():
            return write_mc(Givens(stamps={given.event: given.stamp})).strip()
        case Clocked():
            return write_mc(Givens(clocks={given.event: given.clock})).strip()
    return spelled(given)


def named(given: OneGiven) -> tuple[str, ...]:
    """The events that a given names. Cost: constant."""
    return (given.left, given.right) if isinstance(given, Correspondence) else (given.event,)


@dataclass(frozen=True, slots=True)
class _Internal:
    """An event of the internal chain: that the others of it stand before or after this one."""

    event: str


@dataclass(frozen=True, slots=True)
class _Held:
    """An event under a token: that it is related to the others under it."""

    token: str
    event: str


GivenPart = OneGiven | _Internal | _Held


def conflict(givens: Givens, stop: Stop | None = None) -> list[OneGiven] | None:
    """A minimal set of givens that no world fits; None where one fits all.

    Raises `worlds.possible.Undecided` when `stop` says so. Cost: some 2·k·log n questions
    whether a world fits, for a conflict of k among n givens (Junker's QuickXplain).

    >>> givens = Givens(internal=["a", "b", "c", "d"], stamps={"d": 3, "b": 7, "x": 1})
    >>> [statement(given) for given in conflict(givens)]
    ['b < d', 'stamp b = 7', 'stamp d = 3']
    """

    def contradict(units: Sequence[GivenPart]) -> bool:
        return not _fits(units, stop)

    chain_found = refuted_chain(givens)
    if chain_found is not None:
        facts, stamped = chain_found
        return [*facts, *(Stamped(event, givens.stamps[event]) for event in stamped)]
    whole = _units(givens)
    if not contradict(whole):
        return None
    fewer = minimal(whole, contradict)
    chain = [unit.event for unit in fewer if isinstance(unit, _Internal)]
    pairs: list[OneGiven] = [Correspondence(a, Relation.BEFORE, b, INTERNAL) for a, b in pairwise(chain)]
    for token in givens.tokens:
        held = [unit.event for unit in fewer if isinstance(unit, _Held) and unit.token == token]
        pairs += [Correspondence(a, Relation.RELATED, b, f"token {token}") for a, b in combinations(held, 2)]
    pairs += [unit for unit in fewer if not isinstance(unit, _Internal | _Held)]
    return minimal(pairs, contradict)


Element = TypeVar("Element")


def minimal(members: Sequence[Element], contradict: Callable[[Sequence[Element]], bool]) -> list[Element]:
    """A minimal subset that still contradicts, in the same order; all of `members` must.

    Cost: some 2·k·log n questions whether members contradict, for k of n.

    >>> minimal(range(100), lambda some: {7, 60, 61} <= set(some))
    [7, 60, 61]
    """

    def needed(fixed: list[int], fresh: bool, rest: list[int]) -> list[int]:
        if fresh and contradict([members[at] for at in sorted(fixed)]):
            return []
        if len(rest) == 1:
            return rest
        middle = len(rest) // 2
        first, second = rest[:middle], rest[middle:]
        late = needed(fixed + first, bool(first), second)
        return needed(fixed + late, bool(late), first) + late

    return [members[at] for at in sorted(needed([], True, list(range(len(members)))))]


def _units(givens: Givens) -> list[GivenPart]:
    units: list[GivenPart] = [_Internal(event) for event in givens.internal]
    units += givens.external.values()
    units += [_Held(token, event) for token, group in givens.tokens.items() for event in group]
    units += givens.refuted.values()
    units += [Clocked(event, clock) for event, clock in givens.clocks.items()]
    units += [Stamped(event, stamp) for event, stamp in givens.stamps.items()]
    return units


def _fits(units: Iterable[GivenPart], stop: Stop | None) -> bool:
    givens = Givens()
    groups: dict[str, list[str]] = {}
    for unit in units:
        match unit:
            case Correspondence():  # which is not spelled in two ways here
                stated = givens.refuted if unit.relation is Relation.NOT_BEFORE else givens.external
                stated[unit.left, unit.relation.value or "", unit.right] = unit
            case _Internal():
                givens.internal.append(unit.event)
            case _Held():
                groups.setdefault(unit.token, []).append(unit.event)
            case Clocked():
                givens.set_clock(unit.event, unit.clock)
            case Stamped():
                givens.stamps[unit.event] = unit.stamp
    givens.tokens = {token: tuple(group) for token, group in groups.items()}
    position = givens.numbers()
    return Possibilities(constraints_of(givens, position, len(position)), stop=stop).realisable()


def refuted_chain(givens: Givens) -> tuple[list[Correspondence], list[str]] | None:
    """Correspondences, and events with their stamps, that contradict one another; None if none are found.

    Clocks, tokens and `<>` are not looked at. Cost: a search for each refuting given.

    >>> givens = Givens(internal=["a", "b", "c"], stamps={"a": 7, "c": 3})
    >>> found, stamped = refuted_chain(givens)
    >>> [str(fact) for fact in found], stamped
    (['a < c'], ['a', 'c'])
    """
    names = list(givens.named())
    at = {name: position for position, name in enumerate(names)}
    stated = {(at[f.left], at[f.right]): f for f in givens.external.values() if f.relation is Relation.BEFORE}
    rank = {at[event]: place for place, event in enumerate(givens.internal)}
    edges = [*stated, *((at[a], at[b]) for a, b in pairwise(givens.internal))]

    def links(path: list[int]) -> list[Correspondence]:
        """The givens along a path; a run along the internal chain is one."""
        found: list[Correspondence] = []
        for a, b in pairwise(path):
            internal = a in rank and b in rank and rank[b] == rank[a] + 1
            if internal and found and found[-1].source == INTERNAL and found[-1].right == names[a]:
                found[-1] = Correspondence(found[-1].left, Relation.BEFORE, names[b], INTERNAL)
            elif internal:
                found.append(Correspondence(names[a], Relation.BEFORE, names[b], INTERNAL))
            else:
                found.append(stated[a, b])
        return found

    try:
        rows = Rows(len(names), edges)
    except Cycle as cycle:
        return links([*cycle.path, cycle.path[0]]), []
    for fact in (*givens.external.values(), *givens.refuted.values()):
        if fact.relation in (Relation.CONCURRENT, Relation.NOT_BEFORE):
            for a, b in ((fact.left, fact.right), (fact.right, fact.left))[: 1 + fact.relation.symmetric]:
                if path := rows.chain(at[a], at[b]):
                    return [*links(path), fact], []
    stamps = StampOrder({at[event]: stamp for event, stamp in givens.stamps.items()})
    for y in stamps.of:
        if late := stamps.col(y) & rows.past(y):
            x = lowest(late)
            return links(rows.chain(x, y) or []), [names[x], names[y]]
    return None
