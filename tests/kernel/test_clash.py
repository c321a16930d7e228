"""Contradictions: two judgements of one pair that exclude each other make a `Clash`; nothing else does."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from microcosm.errors import Contradiction
from microcosm.kernel import check as kernel
from microcosm.logic.rulebook import read_rules
from microcosm.state.evolve import clash_node
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_reader import read_givens

RULES = read_rules()

CONTRADICTIONS = [
    "a < b\nb < a",
    "a < b\nb < c\nc < d\nd < a",
    "internal x y z".replace(" y", " < y").replace(" z", " < z") + "\nz < x",
    "a < b\nb < c\na || c",
    "a < b\nb || a",
    "a <> b\nb || a",
    "clock a = p {p: 1}\nclock b = q {p: 1, q: 1}\nb < a",
    "clock a = p {p: 1}\nclock b = q {q: 1}\na < c\nc < b",
    "token t = a, b\na || b",
]


@pytest.mark.parametrize("text", CONTRADICTIONS)
def test_every_initial_contradiction_is_refused_with_a_clash_that_verifies(text: str) -> None:
    with pytest.raises(Contradiction) as raised:
        Microcosm.parse(text)
    node = clash_node(raised.value)
    assert node is not None
    proof = node.to_json()
    givens = read_givens(text)
    assert kernel.check(givens, RULES, proof) is None
    for key, value in product(("left", "right"), ("a", "b", "c", "x", "z")):
        changed = {**proof, "conclusion": {**proof["conclusion"], key: value}}
        pair = {proof["conclusion"]["left"], proof["conclusion"]["right"]}
        if {changed["conclusion"]["left"], changed["conclusion"]["right"]} != pair:
            assert kernel.check(givens, RULES, changed) is not None
    for changed in (
        {**proof, "premises": proof["premises"][:1]},
        {**proof, "premises": [proof["premises"][0]] * 2},
        {**proof, "rule": "In-OK"},
        {**proof, "conclusion": {**proof["conclusion"], "relation": "<"}},
        {**proof, "conclusion": {**proof["conclusion"], "judgement": "online"}},
    ):
        assert kernel.check(givens, RULES, changed) is not None


def test_a_superseded_relation_is_no_clash() -> None:
    microcosm = Microcosm.parse("a <> b\na < b")

    def given(relation: str) -> dict[str, Any]:
        said = {"judgement": "initial", "left": "a", "relation": relation, "right": "b"}
        return {"rule": "Init", "conclusion": said, "premises": []}

    said = {"judgement": "initial", "left": "a", "relation": "contradiction", "right": "b"}
    proof = {"rule": "Clash", "conclusion": said, "premises": [given("<"), given("<>")]}
    assert kernel.check(microcosm.givens, RULES, given("<")) is None
    assert kernel.check(microcosm.givens, RULES, proof) is not None
