"""Bisimilarity as the greatest fixpoint that it is defined as, on graphs of whole evolutions.

States are sets of triples; what is defined and what is judged is the oracle's opinion alone. Nothing of the
package is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations

from tests import oracle
from tests.oracle import Triple

State = frozenset[Triple]
Label = tuple[str, Triple]
Steps = Mapping[Label, State]


def knows(state: State, a: str, b: str) -> bool:
    """Whether some relation of a and b is judged initially, in either direction."""
    return any({a, b} == {x, y} for x, _, y in oracle.initial(state))


def additions(state: State, events: str) -> dict[Label, State]:
    """Each M + (a R b) that is defined in the strict profile."""
    found = {}
    for a, b in combinations(events, 2):
        if not knows(state, a, b):
            for fact in ((a, "<", b), (b, "<", a), (a, "||", b), (a, "<>", b)):
                after = state | {fact}
                if oracle.refusal(after, strict=True) is None:
                    found["add", fact] = after
    return found


def updates(state: State) -> dict[Label, State]:
    """Each M[a <> b := a < b] that is defined in the strict profile."""
    found = {}
    for a, sign, b in state:
        if sign == "<>":
            for fact in ((a, "<", b), (b, "<", a)):
                after = state - {(a, sign, b)} | {fact}
                if oracle.refusal(after, strict=True) is None:
                    found["update", fact] = after
    return found


def removals(state: State) -> dict[Label, State]:
    """Each M' with M = M' + c."""
    found = {}
    for fact in state:
        if not knows(state - {fact}, fact[0], fact[2]):
            found["remove", fact] = state - {fact}
    return found


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
