"""Bisimilarity as the greatest fixpoint that it is defined as, on graphs of whole evolutions.

States are sets of triples; what is defined and what is judged is the oracle's opinion alone. Nothing of the
package is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import combinations

from tests import oracle
from tests.enumeration import enumerated
from tests.oracle import Triple

State = frozenset[Triple]
Label = tuple[str, Triple]
Steps = Mapping[Label, State]


@cache
def known(state: State) -> set[frozenset[str]]:
    """The pairs of which some relation is judged initially, in either direction."""
    return {frozenset((a, b)) for a, _, b in oracle.initial(state)}


@cache
def fits(state: State) -> bool:
    """Whether a microcosm is accepted in the strict profile."""
    return oracle.refusal(state, strict=True) is None


@cache
def additions(state: State, events: str) -> dict[Label, State]:
    """Each M + (a R b) that is defined in the strict profile."""
    found, pairs = {}, known(state)
    for a, b in combinations(events, 2):
        if frozenset((a, b)) not in pairs:
            for fact in ((a, "<", b), (b, "<", a), (a, "||", b), (a, "<>", b)):
                after = state | {fact}
                if fits(after):
                    found["add", fact] = after
    return found


def updates(state: State) -> dict[Label, State]:
    """Each M[a <> b := a < b] that is defined in the strict profile."""
    found = {}
    for a, sign, b in state:
        if sign == "<>":
            for fact in ((a, "<", b), (b, "<", a)):
                after = state - {(a, sign, b)} | {fact}
                if fits(after):
                    found["update", fact] = after
    return found


def removals(state: State) -> dict[Label, State]:
    """Each M' with M = M' + c."""
    found = {}
    for fact in state:
        if frozenset((fact[0], fact[2])) not in known(state - {fact}):
            found["remove", fact] = state - {fact}
    return found


@cache
def forward_classes(events: str, *, updating: bool) -> dict[State, int]:
    """The forward class of every well-formed microcosm of some events, by additions, or by updates too."""
    return classes(
        map(frozenset, enumerated(events)),
        lambda state: additions(state, events) | (updates(state) if updating else {}),
    )


def classes(states: Iterable[State], steps: Callable[[State], Steps]) -> dict[State, int]:
    """The class of each state under the greatest bisimulation; a step of each label leads to one state."""
    graph = {state: steps(state) for state in states}
    block = dict.fromkeys(graph, 0)
    while True:
        signature = {
            state: (block[state], frozenset((label, block[after]) for label, after in made.items()))
            for state, made in graph.items()
        }
        number = {found: at for at, found in enumerate(dict.fromkeys(signature.values()))}
        refined = {state: number[signature[state]] for state in graph}
        if len(number) == len(set(block.values())):
            return refined
        block = refined
