"""The kernel accepts what the rules prove and nothing else: hand-made proofs, and what becomes of them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel.check import check
from microcosm.kernel.node import shown
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from tests.derivations import (
    A,
    B,
    C,
    Node,
    absent,
    add,
    assumed,
    clash,
    clocked,
    fault,
    init,
    not_in,
    off,
    ok,
    refuted,
    stamped,
    step,
    un_3,
    update,
)
from tests.mutants import mutants, nodes
from tests.notation import mc

ALL_BEFORE = {"lemmas": [init("a < b"), init("b < c"), step("In-Tr", "|-0 a < c", {"ref": 0}, {"ref": 1})]}


def nested() -> Node:
    """Not a || b: under it b < a cannot be, so that of a <> b only a < b is left."""
    within = step(
        "Cntrd",
        "||- b !< a",
        clash("a b", assumed("a || b"), step("Ref-<", "||- b !|| a", assumed("b < a"))),
        assumes=["b", "<", "a"],
    )
    forward = step("Canc-<", "||- a < b", {"ref": 0}, within)
    split = clash("a b", forward, assumed("a || b"))
    return step("Cntrd", "||- a !|| b", split, assumes=["a", "||", "b"], lemmas=[off("a <> b")])


VALID: dict[str, tuple[Givens, Node]] = {
    "Init": (mc("a<b b<c"), init("a < b")),
    "Init, a chain": (mc("a<z | a b c"), init("a < c")),
    "Init, symmetric": (mc("a||b b<>c"), init("b <> c")),
    "Init, one process": (clocked(), init("a < c", clocks={"a": A, "c": C})),
    "Init, two processes": (clocked(), init("a < b", clocks={"a": A, "b": B})),
    "Init, concurrent": (clocked(), init("c || b", clocks={"b": B, "c": C})),
    "Init, token": (clocked(), init("c <> x", token="lock")),
    "In-Tr": (mc("a<b c<d | b c"), step("In-Tr", "|-0 a < c", init("a < b"), init("b < c"))),
    "In-Tr, nested": (
        mc("a<b b<c c<d"),
        step("In-Tr", "|-0 a < d", init("a < b"), step("In-Tr", "|-0 b < d", init("b < c"), init("c < d"))),
    ),
    "Co-Sym": (mc("a||b b<c"), step("Co-Sym", "|-0 b || a", init("a || b"))),
    "CR-Sym": (mc("a<>b b<c"), step("CR-Sym", "|-0 b <> a", init("a <> b"))),
    "In-OK, <": (mc("a<b a<>b b<c"), ok("a < b")),
    "In-OK, <>": (mc("a<>b b<c"), ok("b <> a", step("CR-Sym", "|-0 b <> a", init("a <> b")))),
    "Un-Sym": (mc("a<b c<d"), step("Un-Sym", "|- c ? a", un_3("a", "c"))),
    "Un-1, ||": (mc("a||e e||b"), step("Un-1", "|- a ? b", absent("|-0 a _ b"), ok("a || e"), ok("e || b"))),
    "Un-1, <>": (mc("a<>e e<>b"), step("Un-1", "|- a ? b", absent("|-0 a _ b"), ok("a <> e"), ok("e <> b"))),
    "Un-2": (
        mc("a<e c||d"),
        step("Un-2", "|- a ? d", absent("|-0 a _ d"), ok("a < e"), un_3("e", "d")),
    ),
    "Un-3": (mc("a<b c<d"), un_3("a", "d")),
    "Un-4, left": (mc("a<b"), step("Un-4", "|- z ? a", not_in("z"))),
    "Un-4, right": (mc("a<b c!<z"), step("Un-4", "|- a ? z", not_in("z"))),
    "Strng": (mc("a<b c||d"), step("Strng", "|- c || d", absent("|-0 c _ d"), **add("c", "||", "d"))),
    "Weak": (mc("a<b c<d"), step("Weak", "|- a < b", ok("a < b"), **add("c", "<", "d"))),
    "Weak, twice": (
        mc("a<>b c<d e||f"),
        step(
            "Weak",
            "|- a <> b",
            step("Weak", "|- a <> b", ok("a <> b"), **add("e", "||", "f")),
            **add("c", "<", "d"),
        ),
    ),
    "Up-S": (mc("a<b b<c"), step("Up-S", "|- a < b", ok("a <> b"), **update("a", "b"))),
    "Up-W": (mc("a<b c||d"), step("Up-W", "|- c || d", ok("c || d"), **update("a", "b"))),
    "Up-W over Up-S": (
        mc("a<b c<d"),
        step(
            "Up-W",
            "|- a < b",
            step("Up-S", "|- a < b", ok("a <> b"), **update("a", "b")),
            **update("c", "d"),
        ),
    ),
    "lemmas": (
        mc("a<b b<c"),
        {**ok("a < c", {"ref": 2}), **ALL_BEFORE},
    ),
    "Off-OK": (mc("a<b b||c"), off("a < b")),
    "Off-Init": (mc("a!<b b<c"), step("Off-Init", "||- a !< b")),
    "Stamp": (stamped(a=3, b=2, c=(1.0, 2.0)), step("Stamp", "||- a !< b")),
    "Off-Tr": (mc("a<b b<c c||d"), step("Off-Tr", "||- a < c", off("a < b"), off("b < c"))),
    "Ref-<": (mc("a<b b<c"), step("Ref-<", "||- a !|| b", off("a < b"))),
    "Ref-||": (mc("a||b b<c"), step("Ref-||", "||- b !<> a", off("a || b"))),
    "Ref-<>": (mc("a<>b b<c"), step("Ref-<>", "||- b !|| a", off("a <> b"))),
    "NCo-CR": (mc("a<b b<c"), step("NCo-CR", "||- a <> b", step("Ref-<", "||- a !|| b", off("a < b")))),
    "Canc-<": (
        mc("a<>b b!<a a<c"),
        step("Canc-<", "||- a < b", off("a <> b"), step("Off-Init", "||- b !< a")),
    ),
    "Canc-||": (
        mc("a!<b b!<a a<c"),
        step("Canc-||", "||- a || b", step("Off-Init", "||- a !< b"), step("Off-Init", "||- b !< a")),
    ),
    "No-Tr-L": (
        mc("a<b a!<c c<d"),
        step("No-Tr-L", "||- b !< c", off("a < b"), step("Off-Init", "||- a !< c")),
    ),
    "No-Tr-R": (
        mc("a<b c!<b c<d"),
        step("No-Tr-R", "||- c !< a", off("a < b"), step("Off-Init", "||- c !< b")),
    ),
    "Cntrd": (
        mc("b<c a!<c"),
        step(
            "Cntrd",
            "||- a !< b",
            clash("a c", step("Off-Tr", "||- a < c", assumed("a < b"), off("b < c")), refuted("a !< c")),
            assumes=["a", "<", "b"],
        ),
    ),
    "Cntrd, guarded": (
        mc("b<c a!<c x<a x<b"),
        step(
            "Cntrd",
            "||- a !< b",
            absent("|- a _ b"),
            clash("a c", step("Off-Tr", "||- a < c", assumed("a < b"), off("b < c")), refuted("a !< c")),
            assumes=["a", "<", "b"],
        ),
    ),
    "Cntrd, nested": (mc("a<>b c<b a||c"), nested()),
    "Up-Cntrd": (
        mc("a<>b b<c a!<c"),
        step(
            "Up-Cntrd",
            "||- a !< b",
            clash("a c", step("Off-Tr", "||- a < c", assumed("a < b"), off("b < c")), refuted("a !< c")),
            assumes=["a", "<", "b"],
        ),
    ),
}
"""Proofs of every shipped rule, each in a microcosm where neighbouring facts hold as well."""


def test_every_shipped_rule_is_proved() -> None:
    used: set[str] = set()
    for _, proof in VALID.values():
        used.update(node["rule"] for node, _ in nodes(proof) if "rule" in node)
    shipped = read_rules().rules
    elsewhere = {r.name for r in shipped if (r.file or "").endswith("orderings.rules")}
    assert len(elsewhere) == 15, "proved in tests/orderings/test_rules.py"
    assert {rule.name for rule in shipped} <= used | elsewhere


@pytest.mark.parametrize("name", VALID)
def test_valid(name: str) -> None:
    givens, proof = VALID[name]
    assert check(givens, read_rules(), proof) is None
    assert check(givens, read_rules(), json.loads(json.dumps(proof))) is None


@pytest.mark.parametrize("name", VALID)
def test_nothing_is_proved_from_nothing_or_without_its_rule(name: str) -> None:
    givens, proof = VALID[name]
    if proof["rule"] != "Un-4":
        assert check(Givens(), read_rules(), proof) is not None
    others = RuleBook(tuple(rule for rule in read_rules().rules if rule.name != proof["rule"]))
    assert check(givens, others, proof) == f"root: there is no rule {shown(proof['rule'])}"


# mutants

INNER = "root.premises[0].premises[0].premises[1]"
"""Where the inner refutation of `nested` stands."""

STILL_VALID = {
    # Other pairs of the same chain.
    "Init, a chain": {"root: left='b'", "root: right='b'", "root: right='z'"},
    # Clocks and tokens give symmetric relations both ways; a is under the lock as well.
    "Init, concurrent": {"root: swapped"},
    "Init, token": {"root: swapped", "root: left='a'", "root: right='a'"},
    # Whatever is asked about an event outside M.
    "Un-4, left": {"root: swapped", "root: right='b'", "root: right='zz'"},
    "Un-4, right": {"root: swapped", "root: left='b'", "root: left='c'", "root: left='zz'"},
    # The same external given, read from the other side.
    "Strng": set[str](),
    "Weak, twice": {"root.premises[0]: add turned"},
    # A lemma more, to which nothing refers.
    "lemmas": {f"root: lemmas with {k} twice" for k in range(3)},
    # The rule says so of a symmetric refutation; and all that concurrence rules out.
    "Ref-<": {"root: swapped"},
    "Ref-||": {"root: swapped", "root: relation='!<'"},
    "Ref-<>": {"root: swapped"},
    # The sides of a contradiction stand in no order.
    "Cntrd": {"root.premises[0]: premises 0 and 1 swapped"},
    # The full profile needs no guard, which denies any relation in either direction.
    "Cntrd, guarded": {
        "root: premises without 0",
        "root.premises[0]: swapped",
        "root.premises[1]: premises 0 and 1 swapped",
    },
    "Up-Cntrd": {"root.premises[0]: premises 0 and 1 swapped", "root: rule=Cntrd"},
    # Nor do those of two; symmetric ones may be turned; a <> b, given, excludes a || b of itself.
    "Cntrd, nested": {
        "root: lemmas with 0 twice",
        *(
            f"root.premises[0]: {change}"
            for change in ("premises 0 and 1 swapped", "swapped", "premises[0]={'ref': 0}")
        ),
        *(
            f"{INNER}.premises[0]: {change}"
            for change in ("premises 0 and 1 swapped", "swapped", "premises[1]={'ref': 0}")
        ),
        f"{INNER}.premises[0].premises[1]: swapped",
        f"{INNER}: rule=Up-Cntrd",
    },
}
"""The mutants that are proofs as well, each for its own reason."""


@pytest.mark.parametrize("name", VALID)
def test_mutants_are_refused(name: str) -> None:
    givens, proof = VALID[name]
    found = dict(mutants(givens, proof))
    assert len(found) > 100
    valid = {what for what in found if check(givens, read_rules(), found[what]) is None}
    assert valid == STILL_VALID.get(name, set())


# any JSON

WORDS = [
    *("rule", "conclusion", "premises", "lemmas", "ref", "judgement", "left", "relation", "right"),
    *("clocks", "token", "evolution", "assumes", "add", "update", "x"),
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.text(max_size=3)
    | st.sampled_from(["a", "b", "Init", "absent", "initial", "online", "<", "||", "_", "not-in", "\ud800"]),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.sampled_from(WORDS), below, max_size=6),
    max_leaves=25,
)  # fmt: skip


@given(json_values)
@settings(max_examples=150, deadline=None)
def test_any_json_has_an_answer(value: Any) -> None:
    found = check(mc("a<b"), read_rules(), value)
    assert found is not None
    found.encode("utf-8")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_json_anywhere_in_a_proof_has_an_answer(data: st.DataObject) -> None:
    givens, proof = VALID[data.draw(st.sampled_from(sorted(VALID)))]
    proof = copy.deepcopy(proof)
    places: list[tuple[Any, Any]] = []
    waiting: list[Any] = [proof]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            keys = list(value) if isinstance(value, dict) else range(len(value))
            places += [(value, key) for key in keys]
            waiting += [value[key] for key in keys]
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(json_values)
    assert isinstance(check(givens, read_rules(), proof), str | None)


# size

LONG = 20_000


def chain(length: int) -> tuple[Givens, Node]:
    """A chain of links, and the balanced proof that its ends are in order."""
    givens = Givens()
    for i in range(length):
        givens.add(Correspondence(f"e{i}", Relation.BEFORE, f"e{i + 1}"))
    level = [(i, i + 1, init(f"e{i} < e{i + 1}")) for i in range(length)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        odd = level[len(level) & ~1 :]
        joined = [(i, k, step("In-Tr", f"|-0 e{i} < e{k}", one, two)) for (i, _, one), (_, k, two) in pairs]
        level = joined + odd
    return givens, level[0][2]


def test_a_long_chain() -> None:
    givens, proof = chain(LONG)
    assert check(givens, read_rules(), proof) is None
    # Absence in the same microcosm costs a search of the graph, not the closure.
    givens.add(Correspondence("y", Relation.CONCURRENT, "z"))
    assert check(givens, read_rules(), un_3("z", "e0")) is None
    assert fault(givens, un_3("e0", f"e{LONG}")).startswith("premises[0]: `⊬₀ e0 _")


def test_a_deep_proof_and_its_path() -> None:
    length = 5_000
    givens, _ = chain(length)
    deep = innermost = init("e0 < e1")
    for i in range(1, length):
        deep = step("In-Tr", f"|-0 e0 < e{i + 1}", deep, init(f"e{i} < e{i + 1}"))
    assert check(givens, read_rules(), deep) is None
    innermost["token"] = "t"
    words = fault(givens, deep)
    assert len(words) < 1000
    assert words.endswith("Init rests on no such given: e0 < e1")
    del innermost["token"]
    innermost["conclusion"]["relation"] = "||"
    assert "In-Tr does not conclude `⊢₀ e0 < e2` from `⊢₀ e0 || e1`" in fault(givens, deep)


def test_shared_nodes_are_checked_once() -> None:
    # In a cycle each fact follows from the others, again and again: 2 to the power of 200 nodes as a tree.
    before = init("a < b")
    for _ in range(200):
        back = step("In-Tr", "|-0 c < b", init("c < a"), before)
        before = step("In-Tr", "|-0 a < b", step("In-Tr", "|-0 a < c", before, init("b < c")), back)
    assert check(mc("a<b<c<a"), read_rules(), before) is None


def test_a_given_about_other_events_than_the_conclusion_is_searched() -> None:
    rules = parse_rules("rule X:\n given b <> e or |-0 a || e\n ---\n |-0 b <> a")
    givens = Givens()
    givens.add(Correspondence("q", Relation.RELATED, "r"))
    said = {"judgement": "initial", "left": "q", "relation": "<>", "right": "r"}
    assert check(givens, rules, {"rule": "X", "conclusion": said, "premises": []}) is None
    said = {**said, "left": "r", "right": "q"}
    assert check(givens, rules, {"rule": "X", "conclusion": said, "premises": []}) is not None
