"""Where a given came from is shown by the leaves of proofs, and nothing rests on it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from microcosm import Microcosm, verify
from microcosm.kernel.check import check

TEXT = """a < b from "message m"
b < c
internal c < d
token db:7 = d, e
clock e = p {p: 1}
clock f = q {p: 1, q: 1}
event b process q "heard" at q.log:7
event d process r at r.log:9
event e process s at s.log:2
"""


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for premise in node["premises"]:
        yield from nodes(premise)


def proof(a: str, b: str) -> tuple[Microcosm, dict[str, Any]]:
    known = Microcosm.parse(TEXT, "album.mc")
    found = known.why(a, b)
    assert found is not None
    return known, found.to_json()


def test_each_leaf_says_where_it_is_given() -> None:
    known, found = proof("a", "d")
    said = [node["source"] for node in nodes(found) if node["rule"] == "Init"]
    assert said == [
        {"file": "q.log", "line": 7, "text": "message m"},
        {"file": "album.mc", "line": 2, "text": "album.mc:2"},
        {"file": "r.log", "line": 9, "text": "internal events"},
    ]
    assert verify(known, found).valid
    _, related = proof("d", "e")
    (leaf,) = (node for node in nodes(related) if node["rule"] == "Init")
    assert (leaf["token"], leaf["source"]) == ("db:7", {"file": "s.log", "line": 2, "text": "token db:7"})
    _, timed = proof("e", "f")
    (leaf,) = (node for node in nodes(timed) if node["rule"] == "Init")
    assert leaf["source"] == {"file": "s.log", "line": 2, "text": "clocks"}


@pytest.mark.parametrize(
    "source", [{}, {"file": "other.log", "line": -1, "text": None}, {"line": "x", "more": []}]
)
def test_nothing_rests_on_a_source(source: dict[str, Any]) -> None:
    known, found = proof("a", "d")
    changed = deepcopy(found)
    for node in nodes(changed):
        if "source" in node:
            node["source"] = source
    assert check(known.givens, known.rules, changed) is None
    for node in nodes(changed):
        node.pop("source", None)
    assert check(known.givens, known.rules, changed) is None


@pytest.mark.parametrize("source", ["q.log:7", None, 3, []])
def test_a_source_is_an_object(source: object) -> None:
    known, found = proof("a", "d")
    next(node for node in nodes(found) if node["rule"] == "Init")["source"] = source
    assert "`source`" in str(check(known.givens, known.rules, found))


def test_only_leaves_have_sources() -> None:
    known, found = proof("a", "d")
    next(node for node in nodes(found) if node["premises"])["source"] = {}
    assert "`source`" in str(check(known.givens, known.rules, found))
