"""Derivations in JSON, so terse that a proof can be read: `ok("a < b", init("a < b"))`."""

from __future__ import annotations

from typing import Any

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Stamp
from microcosm.kernel.check import check
from microcosm.logic.rulebook import RuleBook, read_rules
from tests.notation import mc

Node = dict[str, Any]
TURNSTILES = {"|-0": "initial", "|-": "online", "||-": "offline"}


def step(rule: str, says: str, *premises: Any, **evidence: Any) -> Node:
    """A node: `step("Init", "|-0 a < b")`."""
    sign, left, relation, right = says.split()
    conclusion = {"judgement": TURNSTILES[sign], "left": left, "relation": relation, "right": right}
    return {"rule": rule, "conclusion": conclusion, "premises": list(premises), **evidence}


def init(says: str, **evidence: Any) -> Node:
    return step("Init", f"|-0 {says}", **evidence)


def ok(says: str, *premises: Any) -> Node:
    """An initial judgement, given if it has no other premises, approved."""
    return step("In-OK", f"|- {says}", *(premises or (init(says),)))


def off(says: str, *premises: Any) -> Node:
    """An online judgement that stands offline; given if it has no other premises."""
    return step("Off-OK", f"||- {says}", *(premises or (ok(says),)))


def refuted(says: str) -> Node:
    return step("Off-Init", f"||- {says}")


def assumed(says: str) -> Node:
    return step("assume", f"||- {says}")


def clash(pair: str, *premises: Any) -> Node:
    """The contradiction of two judgements of a pair: `clash("a b", one, other)`."""
    left, right = pair.split()
    return step("Clash", f"||- {left} contradiction {right}", *premises)


def absent(says: str) -> Node:
    return step("absent", says)


def not_in(event: str) -> Node:
    leaf = step("absent", f"|-0 {event} not-in -")
    leaf["conclusion"]["right"] = None
    return leaf


def add(left: str, relation: str, right: str) -> dict[str, Any]:
    return {"evolution": {"add": [left, relation, right]}}


def update(left: str, right: str) -> dict[str, Any]:
    return {"evolution": {"update": [left, "<", right]}}


def un_3(a: str, b: str) -> Node:
    return step("Un-3", f"|- {a} ? {b}", absent(f"|-0 {a} _ {b}"), absent(f"|-0 {a} in-both {b}"))


def fault(givens: Givens, proof: Any, rules: RuleBook | None = None) -> str:
    found = check(givens, rules or read_rules(), proof)
    assert found is not None
    return found


def stamped(**stamps: Stamp) -> Givens:
    """Lamport times, and physical intervals."""
    givens = Givens()
    givens.stamps.update(stamps)
    return givens


def clocked() -> Givens:
    """Two processes: a then c on p, b on q, which had seen a; b and c are concurrent."""
    givens = mc("x<>y")
    givens.clocks["a"] = Clock("p", {"p": 1})
    givens.clocks["b"] = Clock("q", {"p": 1, "q": 1})
    givens.clocks["c"] = Clock("p", {"p": 2}, ticked=False)
    givens.tokens["lock"] = ("a", "c", "x")
    givens.tokens["key"] = ("x", "a")
    return givens


A, B, C = ["p", {"p": 1}, True], ["q", {"p": 1, "q": 1}, True], ["p", {"p": 2}, False]
"""The clocks of `clocked()`, as a derivation shows them."""
