"""Derivations as JSON: plain where they can be, with lemmas where a reader would be overwhelmed."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from microcosm.givens.relation import Relation
from microcosm.kernel.check import check
from microcosm.logic.derivation import DEEPEST, Derivation, proof_object, step
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import read_rules
from microcosm.text.mc_reader import read_givens

INITIAL, BEFORE = Judgement.INITIAL, Relation.BEFORE


def leaf() -> Derivation:
    return step("Init", INITIAL, "a", BEFORE, "b")


def twice(node: Derivation) -> Derivation:
    return step("Twice", INITIAL, "a", BEFORE, "b", node, node)


def tower(height: int) -> Derivation:
    node = leaf()
    for _ in range(height):
        node = step("Again", INITIAL, "a", BEFORE, "b", node)
    return node


def heights(proof: dict[str, Any]) -> list[int]:
    """The height of every lemma and of the proof itself; a reference is 1 high."""

    def height(node: dict[str, Any]) -> int:
        return 1 + max((height(p) for p in node.get("premises", ())), default=0)

    return [*map(height, proof.get("lemmas", ())), height({**proof})]


def unfolded(proof: dict[str, Any]) -> int:
    """The number of steps, references followed; every reference is to an earlier lemma."""
    sizes: list[int] = []

    def size(node: dict[str, Any]) -> int:
        return sizes[node["ref"]] if "ref" in node else 1 + sum(size(p) for p in node["premises"])

    for lemma in proof.get("lemmas", ()):
        sizes.append(size(lemma))
    return size(proof)


def test_a_tree_is_written_as_it_is() -> None:
    node = twice(tower(20))
    assert proof_object(node) == node.to_json()


@pytest.mark.parametrize("height", [DEEPEST - 1, DEEPEST, DEEPEST + 1, 3 * DEEPEST, 5000])
def test_a_tall_proof_is_cut_into_lemmas_and_keeps_every_step(height: int) -> None:
    proof = json.loads(json.dumps(proof_object(tower(height))))
    assert max(heights(proof)) <= DEEPEST + 1
    assert unfolded(proof) == height + 1
    assert ("lemmas" in proof) == (height + 1 > DEEPEST)


def test_sharing_is_kept() -> None:
    node = leaf()
    for _ in range(60):
        node = twice(node)
    proof = json.loads(json.dumps(proof_object(node)))
    assert len(proof["lemmas"]) == 59
    assert unfolded(proof) == 2**61 - 1


def test_the_kernel_accepts_a_proof_with_lemmas() -> None:
    """A chain nested to one side is as deep as it is long."""
    names = [f"e{k}" for k in range(500)]
    givens = read_givens(" < ".join(names))
    node = step("Init", INITIAL, "e0", BEFORE, "e1")
    for before, name in pairwise(names[1:]):
        link = step("Init", INITIAL, before, BEFORE, name)
        node = step("In-Tr", INITIAL, "e0", BEFORE, name, node, link)
    proof = json.loads(json.dumps(proof_object(node)))
    assert len(proof["lemmas"]) >= 4
    assert check(givens, read_rules(), proof) is None
    proof["lemmas"][1]["conclusion"]["right"] = "e0"
    assert check(givens, read_rules(), proof) is not None
