"""Every derivation that a test produces goes through the kernel: ask here, and it does."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

from microcosm.givens.relation import Relation
from microcosm.kernel import check as kernel
from microcosm.logic.derivation import Conclusion, Derivation
from microcosm.logic.rule import Judgement
from microcosm.state.microcosm import Microcosm
from tests.oracle import Table


def proved(m: Microcosm, a: str, b: str) -> Derivation | None:
    """`m.why(a, b)`, which must be a valid proof of `m.online(a, b)`, or None for silence."""
    verdict, why = m.online(a, b), m.why(a, b)
    if verdict is Relation.SILENT:
        assert why is None
        return None
    assert why is not None
    left, relation, right = (b, Relation.BEFORE, a) if verdict is Relation.AFTER else (a, verdict, b)
    assert why.conclusion == Conclusion(Judgement.ONLINE, left, str(relation.value), right)
    assert kernel.check(m.givens, m.rules, why.to_json()) is None
    return why


def answers(m: Microcosm, events: Iterable[str]) -> Table:
    """The verdicts of `m` on every ordered pair of `events`, as signs: what the oracle also gives."""
    return {(a, b): m.online(a, b).value for a, b in permutations(sorted(set(events)), 2)}


def steps(derivation: Derivation) -> list[Derivation]:
    """Every step of a derivation, shared ones once."""
    seen: dict[int, Derivation] = {}
    stack = [derivation]
    while stack:
        step = stack.pop()
        if id(step) not in seen:
            seen[id(step)] = step
            stack.extend(step.premises)
    return list(seen.values())
