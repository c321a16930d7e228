"""Every way to change one thing in a derivation in JSON: what a kernel must not be taken in by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from microcosm.givens.givens import Givens
from microcosm.logic.rulebook import read_rules
from tests.derivations import TURNSTILES, Node, absent

Place = tuple[tuple[str, int], ...]
"""Where a node stands: in which list of its parent, as which one, from the root down."""


def nodes(value: Any, place: Place = ()) -> Iterator[tuple[Node, Place]]:
    """The nodes of a small proof, with their places."""
    yield value, place
    for list_ in ("premises", "lemmas"):
        for k, below in enumerate(value.get(list_, ())):
            yield from nodes(below, (*place, (list_, k)))


def replaced(proof: Node, place: Place, node: Node) -> Node:
    """The proof with another node in a place; what lies beside the way there is shared."""
    if not place:
        return node
    (list_, k), *rest = place
    below = list(proof[list_])
    below[k] = replaced(below[k], tuple(rest), node)
    return {**proof, list_: below}


WRONG: list[Any] = [None, True, "", [], {"a": 1}]
NAMES = [*(rule.name for rule in read_rules().rules), "absent", "assume", "Clash"]
RELATIONS = ["<", ">", "||", "<>", "?", "!<", "!>", "!||", "!<>"]
DENIED = ["_", "in-both", "not-in", "none", "contradiction"]


def edits(node: Node, events: list[str], root: bool) -> Iterator[tuple[str, Node]]:
    """Every node that differs from this one in one place, with a description.

    The `source` of a leaf is a note for people, which the kernel looks past: it is left as it is.
    """
    for key in (key for key in node if key != "source"):
        yield f"-{key}", {k: v for k, v in node.items() if k != key}
        yield from ((f"{key}={wrong!r}", {**node, key: wrong}) for wrong in WRONG)
    for key in ("clocks", "token", "evolution", "assumes", "extra", "ref", *(() if root else ("lemmas",))):
        if key not in node:
            values = ({"add": ["a", "<", "b"]}, {"update": ["a", "<", "b"]}, "lock", [], 0)
            yield from ((f"+{key}={value!r}", {**node, key: value}) for value in values)
    if "conclusion" not in node:
        return
    yield from ((f"rule={name}", {**node, "rule": name}) for name in NAMES)
    said = node["conclusion"]
    for key in said:
        choices = {"judgement": TURNSTILES.values(), "relation": RELATIONS + DENIED}.get(key, events)
        for value in [*WRONG, *choices]:
            yield f"{key}={value!r}", {**node, "conclusion": {**said, key: value}}
        yield f"-{key}", {**node, "conclusion": {k: v for k, v in said.items() if k != key}}
    yield "+key", {**node, "conclusion": {**said, "key": "a"}}
    yield "swapped", {**node, "conclusion": {**said, "left": said["right"], "right": said["left"]}}
    for list_ in ("premises", "lemmas"):
        old = node.get(list_, [])
        for k, below in enumerate(old):
            yield f"{list_} without {k}", {**node, list_: old[:k] + old[k + 1 :]}
            yield f"{list_} with {k} twice", {**node, list_: [*old, below]}
            for wrong in [*WRONG, {"ref": 0}, {"ref": 7}, {"ref": True}, {"ref": -1}, {"ref": "0"}]:
                yield f"{list_}[{k}]={wrong!r}", {**node, list_: [*old[:k], wrong, *old[k + 1 :]]}
        for i, j in combinations(range(len(old)), 2):
            turned = list(old)
            turned[i], turned[j] = old[j], old[i]
            yield f"{list_} {i} and {j} swapped", {**node, list_: turned}
    yield "one more leaf", {**node, "premises": [*node["premises"], absent("|-0 a _ zz")]}
    for kind, change in node.get("evolution", {}).items():
        for other in {"add", "update"} - {kind}:
            yield f"{other} for {kind}", {**node, "evolution": {other: change}}
        yield "both", {**node, "evolution": {"add": change, "update": change}}
        for k, choices in enumerate((events, RELATIONS, events)):
            for value in [*WRONG, *choices]:
                new = [*change[:k], value, *change[k + 1 :]]
                yield f"{kind}[{k}]={value!r}", {**node, "evolution": {kind: new}}
        yield f"{kind} turned", {**node, "evolution": {kind: change[::-1]}}
        yield f"{kind} shorter", {**node, "evolution": {kind: change[:-1]}}
    for event, clock in node.get("clocks", {}).items():
        process, entries, ticked = clock
        wrongs: list[Any] = [[process, entries, wrong] for wrong in (not ticked, 1, None)]
        wrongs += [[process, e, ticked] for e in ({}, {"p": True}, {**entries, "r": 0}, {**entries, "p": 3})]
        for wrong in [*WRONG, *wrongs, [process, entries], ["r", entries, ticked]]:
            yield f"clock {event}={wrong!r}", {**node, "clocks": {**node["clocks"], event: wrong}}
        yield f"no clock {event}", {**node, "clocks": {e: c for e, c in node["clocks"].items() if e != event}}
        yield f"another clock beside {event}", {**node, "clocks": {**node["clocks"], "z": clock}}
    if "token" in node:
        yield "another token", {**node, "token": "key"}
    if "assumes" in node:
        old = node["assumes"]
        for k, choices in enumerate((events, RELATIONS, events)):
            for value in [*WRONG, *choices]:
                yield f"assumes[{k}]={value!r}", {**node, "assumes": [*old[:k], value, *old[k + 1 :]]}
        yield "assumes turned", {**node, "assumes": old[::-1]}
        yield "assumes shorter", {**node, "assumes": old[:-1]}
        yield "assumes longer", {**node, "assumes": [*old, "a"]}


def mutants(givens: Givens, proof: Node, stride: int = 1) -> Iterator[tuple[str, Node]]:
    """Every proof that differs from this one in one place, with a description; or one of so many."""
    events = sorted({*givens.named(), "zz"})
    unchanged = json.dumps(proof)
    number = 0
    for node, place in nodes(proof):
        path = "".join(["root", *(f".{list_}[{k}]" for list_, k in place)])
        for what, mutant in edits(node, events, root=not place):
            number += 1
            if number % stride:
                continue
            whole = replaced(proof, place, mutant)
            if json.dumps(whole) != unchanged:
                yield f"{path}: {what}", whole
