"""The kernel accepts what the rules prove and nothing else: hand-made proofs, and what becomes of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.logic.kernel import check
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.relations.clock import Clock
from microcosm.relations.correspondence import Correspondence
from microcosm.relations.givens import Givens, Message
from microcosm.relations.relation import Relation
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


def un_3(a: str, b: str) -> Node:
    return step("Un-3", f"|- {a} ? {b}", absent(f"|-0 {a} _ {b}"), absent(f"|-0 {a} in-both {b}"))


ALL_BEFORE = {"lemmas": [init("a < b"), init("b < c"), step("In-Tr", "|-0 a < c", {"ref": 0}, {"ref": 1})]}

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
}
"""Proofs of every shipped rule, each in a microcosm where neighbouring facts hold as well."""


def test_every_shipped_rule_is_proved() -> None:
    used: set[str] = set()
    for _, proof in VALID.values():
        used.update(node["rule"] for node, _ in nodes(proof) if "rule" in node)
    assert {rule.name for rule in read_rules().rules} <= used


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
    assert check(givens, others, proof) == f"root: there is no rule {proof['rule']}"


# mutants


def nodes(value: Any, path: str = "root") -> Iterator[tuple[Node, str]]:
    """The nodes of a small proof, with their paths."""
    yield value, path
    for list_ in ("premises", "lemmas"):
        for k, below in enumerate(value.get(list_, ())):
            yield from nodes(below, f"{path}.{list_}[{k}]")


WRONG: list[Any] = [None, True, 0, "", "zz", [], {}, {"a": 1}]
NAMES = [*(rule.name for rule in read_rules().rules), "absent", "assume", "Clash", "Cntrd"]
RELATIONS = ["<", ">", "||", "<>", "?", "!<", "!>", "!||", "!<>"]
DENIED = ["_", "in-both", "not-in", "none", "contradiction"]


def edits(node: Node, events: list[str], root: bool) -> Iterator[tuple[str, Node]]:
    """Every node that differs from this one in one place, with a description."""
    for key in node:
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


def mutants(givens: Givens, proof: Node) -> Iterator[tuple[str, Node]]:
    """Every proof that differs from this one in one place, with a description."""
    events = sorted({*givens.named(), "zz"})
    for at, (node, path) in enumerate(nodes(proof)):
        for what, mutant in edits(node, events, root=at == 0):
            whole = copy.deepcopy(proof)
            old, _ = list(nodes(whole))[at]
            fresh = copy.deepcopy(mutant)
            old.clear()
            old.update(fresh)
            if json.dumps(whole) != json.dumps(proof):
                yield f"{path}: {what}", whole


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
}
"""The mutants that are proofs as well, each for its own reason."""


@pytest.mark.parametrize("name", VALID)
def test_mutants_are_refused(name: str) -> None:
    givens, proof = VALID[name]
    found = dict(mutants(givens, proof))
    assert len(found) > 100
    valid = {what for what in found if check(givens, read_rules(), found[what]) is None}
    assert valid == STILL_VALID.get(name, set())


# faults in words


def fault(givens: Givens, proof: Any, rules: RuleBook | None = None) -> str:
    found = check(givens, rules or read_rules(), proof)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("givens", "proof", "words"),
    [
        ("a<b", init("b < a"), "root: Init rests on no such given: b < a"),
        ("a<b", step("In-OK", "|- a < b"), "root: In-OK has 1 premises, not 0"),
        ("a<b", [], "root: a node is an object with `rule`, `conclusion` and `premises`"),
        ("a<b", {}, "root: the node lacks conclusion, premises, rule"),
        ("a<b", {**init("a < b"), "b": 1, "a\n": 2}, 'root: the node has unknown keys: "a\\n", b'),
        (
            "a<b b<c",
            ok("a < c", step("In-Tr", "|-0 a < c", init("a < b"), init("b || c"))),
            "premises[0]: In-Tr does not conclude `⊢₀ a < c` from `⊢₀ a < b`, `⊢₀ b || c`",
        ),
        (
            "a<b c<d",
            step("Un-3", "|- a ? c", absent("|-0 a _ c"), absent("|-0 b in-both c")),
            "root: Un-3 does not conclude `⊢ a ? c` from `⊬₀ a _ c`, `no event related to both b and c`",
        ),
        ("a<b b<c", un_3("a", "c"), "premises[0]: `⊬₀ a _ c` is not so"),
        ("a<b b||c", un_3("a", "c"), "premises[1]: `no event related to both a and c` is not so"),
        ("a<b", step("Un-4", "|- a ? z", not_in("a")), "premises[0]: `a not in M` is not so"),
        ("a<b", absent("|-0 a _ z"), "root: a negative premise alone proves nothing"),
        (
            "a<>b | a b",
            ok("a <> b"),
            "root: In-OK does not conclude `⊢ a <> b` here: a premise without a node does not hold",
        ),
        (
            "a<b b<c",
            step("In-Tr", "|-0 a < c", init("a < y"), init("y < c")),
            "premises[0]: y is named neither by the microcosm nor by what is proved",
        ),
        (
            "a<b b<c",
            step("In-Tr", "|-0 a < b", init("a < b"), step("Init", "|-0 b < b")),
            "premises[1]: b is related to itself",
        ),
        (
            "a<b c<d",
            step("Weak", "|- a < b", ok("a < b"), **add("a", "<", "b")),
            "premises[0].premises[0]: Init rests on no such given: a < b",
        ),
        (
            "a<b c<d",
            step("Weak", "|- a < b", ok("a < b"), **add("a", "<", "d")),
            "root: what is new in `evolution` is no external given",
        ),
        ("a<b", step("Weak", "|- a < b", ok("a < b")), "root: Weak needs an `evolution`"),
        ("a<b", {**ok("a < b"), **add("a", "<", "b")}, "root: In-OK has no `evolution`"),
        ("a<b", step("assume", "||- a < b"), "root: assumptions are not checked by this kernel"),
    ],
)
def test_the_fault_is_said_in_words(givens: str, proof: Any, words: str) -> None:
    assert fault(mc(givens), proof) == words


def test_evidence_is_shown_where_nothing_plainer_gives_the_fact() -> None:
    givens = clocked()
    assert fault(givens, init("a < b")) == "root: Init does not show the clocks that it rests on"
    assert fault(givens, init("a <> x")) == "root: Init does not show the token that it rests on"
    assert check(givens, read_rules(), init("a <> x", token="key")) is None
    assert fault(givens, init("c <> x", token="key")) == "root: Init rests on no such given: c <> x"
    shown = init("a < b", clocks={"a": A, "b": B})
    givens.add(mc("a<b").external["a", "<", "b"])
    assert check(givens, read_rules(), init("a < b")) is None
    assert check(givens, read_rules(), shown) is None
    assert check(mc("a<b"), read_rules(), shown) is not None
    words = fault(givens, {**ok("a < b"), "token": "lock"})
    assert words.endswith("a premise without a node does not hold, or not as shown")


def test_clocks_of_a_proof_are_those_recorded_not_others_that_say_the_same() -> None:
    shown = init("a < b", clocks={"a": A, "b": ["q", {"p": 2, "q": 1}, True]})
    assert fault(clocked(), shown) == "root: Init rests on no such given: a < b"


# evolution


def test_what_is_carried_over_must_still_be_most_accurate() -> None:
    carried = step("Weak", "|- a <> b", ok("a <> b"), **add("c", "<", "b"))
    assert check(mc("a<>b d<c c<b"), read_rules(), carried) is None
    assert fault(mc("a<>b a<c c<b"), carried).startswith("root: Weak does not conclude `⊢ a <> b` here")


def test_premises_hold_before_the_evolution_and_conditions_after() -> None:
    rules = parse_rules(
        "rule Init:\n given a R b\n ---\n |-0 a R b\n"
        "rule New:\n a not in M\n b in M\n ---- + a R b\n |- a R b\n"
        "rule Old:\n b in M\n ---- + a R b\n |- a R b\n"
    )
    proof = step("New", "|- a < b", not_in("a"), **add("a", "<", "b"))
    assert check(mc("a<b b<c"), rules, proof) is None
    assert fault(mc("a<b"), proof, rules).startswith("root: New does not conclude")
    assert check(mc("a<b b<c"), rules, step("Old", "|- a < b", **add("a", "<", "b"))) is None
    assert check(mc("a<b a<c"), rules, step("Old", "|- a < b", **add("a", "<", "b"))) is not None


def test_a_node_is_checked_in_each_microcosm_that_it_stands_in() -> None:
    rules = parse_rules(
        "rule Init:\n given a R b\n ---\n |-0 a R b\n"
        "rule Keep:\n |-0 a R b\n ---- + c S d\n |-0 a R b\n"
        "rule Both:\n |-0 a R b\n |-0 a R b\n ---\n |- a R b\n"
    )
    shared = init("a < b")
    for new, valid in ((("c", "<", "d"), True), (("a", "<", "b"), False)):
        kept = step("Keep", "|-0 a < b", shared, **add(*new))
        assert (check(mc("a<b c<d"), rules, step("Both", "|- a < b", shared, kept)) is None) is valid
        kept = step("Keep", "|-0 a < b", {"ref": 0}, **add(*new))
        both = step("Both", "|- a < b", {"ref": 0}, kept)
        assert (check(mc("a<b c<d"), rules, {**both, "lemmas": [shared]}) is None) is valid


def test_events_that_only_the_evolution_names_are_events_before_it() -> None:
    strengthened = step("Strng", "|- a < b", absent("|-0 a _ b"), **add("a", "<", "b"))
    carried = step("Weak", "|- a < b", strengthened, **add("c", "<", "d"))
    assert check(mc("a<b c<d"), read_rules(), carried) is None


# lemmas


@pytest.mark.parametrize(
    ("lemmas", "words"),
    [
        (None, "root: `lemmas` is a list"),
        ([], "premises[0]: the reference is to no lemma before it"),
        ([{"ref": 0}], "lemmas[0]: the reference is to no lemma before it"),
        ([{"ref": 1}, init("a < b")], "lemmas[0]: the reference is to no lemma before it"),
        ([init("b < c")], "root: In-OK does not conclude `⊢ a < b` from `⊢₀ b < c`"),
        ([init("a < b"), init("c < a")], "lemmas[1]: Init rests on no such given: c < a"),
        ([init("a < b"), 7], "lemmas[1]: a node is an object with `rule`, `conclusion` and `premises`"),
        ([init("a < b"), {**ok("a < b"), "lemmas": []}], "lemmas[1]: the node has unknown keys: lemmas"),
    ],
)
def test_faults_of_lemmas(lemmas: Any, words: str) -> None:
    assert fault(mc("a<b b<c"), {**ok("a < b", {"ref": 0}), "lemmas": lemmas}) == words


def test_a_lemma_may_be_a_leaf_or_a_reference() -> None:
    proof = step("Un-3", "|- a ? c", {"ref": 1}, {"ref": 2})
    lemmas = [absent("|-0 a _ c"), {"ref": 0}, absent("|-0 a in-both c")]
    assert check(mc("a<b c<d"), read_rules(), {**proof, "lemmas": lemmas}) is None
    assert fault(mc("a<b b<c"), {**proof, "lemmas": lemmas}) == "lemmas[0]: `⊬₀ a _ c` is not so"


def test_no_node_rests_on_itself() -> None:
    first = step("Un-Sym", "|- a ? b")
    second = step("Un-Sym", "|- b ? a", first)
    first["premises"].append(second)
    assert fault(mc("a<b"), first) == "premises[0].premises[0]: the node rests on itself"
    inner = step("Un-Sym", "|- a ? b", {"ref": 0})
    lemmas = [step("Un-Sym", "|- b ? a", inner), inner]
    assert fault(mc("a<b"), {**step("Un-Sym", "|- b ? a", {"ref": 1}), "lemmas": lemmas}) is not None


# other rules

GIVEN = "rule Init:\n given a R b\n ------\n |-0 a R b\n"


def test_three_premises_one_of_them_negative() -> None:
    rules = parse_rules(GIVEN + "rule Far:\n |-0 a < e\n |/-0 a < f\n |-0 e || f\n ------\n |- a ? f")
    proof = step("Far", "|- a ? f", init("a < e"), absent("|-0 a < f"), init("e || f"))
    assert check(mc("a<e e||f f<a"), rules, proof) is None
    assert fault(mc("a<e e||f a<f"), proof, rules) == "premises[1]: `⊬₀ a < f` is not so"
    for wrong in ("|-0 a _ f", "|-0 f < a", "|- a < f", "|-0 a || f"):
        leaf = absent(wrong)
        assert check(mc("a<e e||f f<a"), rules, step("Far", "|- a ? f", init("a < e"), leaf, init("e || f")))


def test_any_relation_in_either_direction() -> None:
    rules = parse_rules(GIVEN + "rule Some:\n |-0 a _ b\n |-0 b _ c\n ------\n |- a ? c")
    for one, two in (("a < b", "b || c"), ("b <> a", "b || c"), ("a < b", "c < b"), ("b <> a", "c < b")):
        givens = mc("a<b b<>a b||c c<b")
        assert (check(givens, rules, step("Some", "|- a ? c", init(one), init(two)))) is None
        assert check(givens, rules, step("Some", "|- a ? c", init(two), init(one))) is not None


def test_recursion_and_events_in_no_node() -> None:
    rules = parse_rules(GIVEN + "rule Walk:\n |-0 a || b\n given b < e\n given e < c\n ------\n |-0 a || c")
    walk = step("Walk", "|-0 a || g", step("Walk", "|-0 a || e", init("a || b")))
    assert check(mc("a||b b<c<e<f<g"), rules, walk) is None
    assert fault(mc("a||b b<c<e<f h<g"), walk, rules).startswith("root: Walk does not conclude")


def test_base_predicates() -> None:
    rules = parse_rules(
        "rule Msg:\n matches(a, b)\n ------\n |-0 a < b\n"
        "rule Sent:\n |-0 a < b\n send(a)\n not send(b)\n same_process(b, c)\n receive(c)\n ------\n |- a < b"
    )
    givens = Givens(
        messages=[
            Message("send", "e", "m", "p", ("q",)),
            Message("receive", "f", "m", "q"),
            Message("receive", "g", "n", "q"),
        ]
    )
    assert check(givens, rules, step("Msg", "|-0 e < f")) is None
    assert check(givens, rules, step("Sent", "|- e < f", step("Msg", "|-0 e < f"))) is None
    assert check(givens, rules, step("Msg", "|-0 f < e")) is not None
    assert check(givens, rules, step("Msg", "|-0 e < g")) is not None
    givens.messages[2] = Message("receive", "g", "n", "p")
    assert check(givens, rules, step("Sent", "|- e < f", step("Msg", "|-0 e < f"))) is not None
    unknown = parse_rules("rule Msg:\n sends(a, b)\n ------\n |-0 a < b")
    assert "`sends` is no base predicate" in fault(givens, step("Msg", "|-0 e < f"), unknown)


def test_no_event_with_anything_else_than_two_relations() -> None:
    rules = parse_rules(GIVEN + "rule First:\n |-0 a < b\n no e in M with |-0 e < a\n ------\n |- a < b")
    first = step("First", "|- a < b", init("a < b"), absent("|- a none b"))
    assert check(mc("a<b b<c"), rules, first) is None
    assert fault(mc("a<b b<a"), first, rules).startswith("root: First does not conclude `⊢ a < b` here")
    for wrong in ("|-0 a none b", "|- b none a", "|- a in-both b"):
        other = step("First", "|- a < b", init("a < b"), absent(wrong))
        assert check(mc("a<b b<c"), rules, other) is not None


def test_in_both_is_said_in_the_order_of_the_rule_however_the_rule_turns_it() -> None:
    text = "rule Un:\n a in M\n b in M\n no e in M with |-0 e _ b, |-0 a _ e\n ------\n |- a ? b"
    rules = parse_rules(GIVEN + text)
    assert check(mc("a<c b<d"), rules, step("Un", "|- a ? b", absent("|-0 b in-both a"))) is None
    assert check(mc("a<c b<d"), rules, step("Un", "|- a ? b", absent("|-0 a in-both b"))) is not None
    assert check(mc("a<c b<c"), rules, step("Un", "|- a ? b", absent("|-0 b in-both a"))) is not None


def test_beside_other_premises_a_given_may_be_shown_but_not_wrongly() -> None:
    rules = parse_rules(GIVEN + "rule Two:\n given a < b\n given b || c\n ------\n |-0 a || c")
    givens = clocked()
    for fact in mc("c||d b||e a||e").external.values():
        givens.add(fact)
    assert check(givens, rules, step("Two", "|-0 a || d")) is None
    assert check(givens, rules, step("Two", "|-0 a || d", clocks={"a": A, "c": C})) is None
    words = fault(givens, step("Two", "|-0 a || d", clocks={"a": A, "b": B}), rules)
    assert words.endswith("here: a premise without a node does not hold, or not as shown")
    assert check(givens, rules, step("Two", "|-0 a || d", token="lock")) is not None
    assert check(givens, rules, step("Two", "|-0 a || e", clocks={"a": A, "b": B})) is None


def test_rules_that_assume_are_not_checked() -> None:
    rules = parse_rules("rule Cntrd:\n assume a < b\n ||- a || b\n ------\n ||- a !< b")
    said = step("Cntrd", "||- a !< b", init("a || b"))
    assert fault(mc("a||b"), said, rules) == "root: Cntrd assumes something, which this kernel does not check"
    rules = RuleBook((*rules.rules, *parse_rules("rule Not:\n ||/- a _ b\n ------\n |- a ? b").rules))
    denied = step("Not", "|- a ? b", absent("||- a _ b"))
    assert fault(mc("a||b"), denied, rules).startswith("the rules do not say")


def test_rules_that_deny_what_they_conclude_are_not_followed_for_ever() -> None:
    rules = parse_rules("rule Liar:\n a in M\n b in M\n |/- a ? b\n ------\n |- a ? b")
    assert "not stratified" in fault(mc("a<b"), step("Liar", "|- a ? b", absent("|- a ? b")), rules)


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

LONG = 100_000


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
