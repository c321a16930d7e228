"""Derivations as JSON that common readers can read, however tall they are and however much they share.

Plain trees come out as they are. Where a step is used many times, or the tree is deeper than common readers
allow, steps move into the list `lemmas` and `{"ref": k}` stands in their place; a lemma refers only to lemmas
before it.
"""

from __future__ import annotations

from typing import Any

from microcosm.logic.derivation import Derivation

DEEPEST = 100
"""No branch of the JSON has more steps than this."""

SLACK = 1000
"""A tree of at most so many steps is written out even where it could share some."""


def proof_object(derivation: Derivation) -> dict[str, Any]:
    """The JSON form of `derivation`, with `lemmas` where needed. Cost: linear in its distinct steps."""
    order = from_the_leaves(derivation)
    height: dict[int, int] = {}
    size: dict[int, int] = {}
    for node in order:
        height[id(node)] = 1 + max((height[id(p)] for p in node.premises), default=0)
        size[id(node)] = 1 + sum(size[id(p)] for p in node.premises)
    if height[id(derivation)] <= DEEPEST and size[id(derivation)] <= 2 * len(order) + SLACK:
        return derivation.to_json()
    return _with_lemmas(derivation, order)


def _with_lemmas(derivation: Derivation, order: list[Derivation]) -> dict[str, Any]:
    uses: dict[int, int] = {}
    for node in order:
        for premise in node.premises:
            uses[id(premise)] = uses.get(id(premise), 0) + 1
    written: dict[int, dict[str, Any]] = {}
    height: dict[int, int] = {}
    lemmas: list[dict[str, Any]] = []
    for node in order:
        tall = 1 + max((height[id(p)] for p in node.premises), default=0)
        step = _step(node, [written[id(p)] for p in node.premises])
        shared = uses.get(id(node), 0) > 1 and bool(node.premises)
        if node is not derivation and (shared or tall >= DEEPEST):
            lemmas.append(step)
            step, tall = {"ref": len(lemmas) - 1}, 1
        written[id(node)], height[id(node)] = step, tall
    return {**written[id(derivation)], "lemmas": lemmas}


def _step(node: Derivation, premises: list[dict[str, Any]]) -> dict[str, Any]:
    said = node.conclusion
    conclusion = {
        "judgement": said.judgement.value,
        "left": said.left,
        "relation": said.relation,
        "right": said.right,
    }
    return {"rule": node.rule, "conclusion": conclusion, "premises": premises, **node.evidence}


def from_the_leaves(derivation: Derivation) -> list[Derivation]:
    """Every distinct step once, each after its premises. Cost: linear in the distinct steps."""
    order: list[Derivation] = []
    seen: set[int] = set()
    waiting = [(derivation, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.append((node, True))
            waiting += [(premise, False) for premise in reversed(node.premises)]
    return order
