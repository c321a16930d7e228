"""The laws of the kernel one by one: faults in words, evidence, evolution, lemmas, rules of other making."""

from __future__ import annotations

from typing import Any

import pytest

from microcosm.givens.columns import Message
from microcosm.givens.givens import Givens
from microcosm.kernel.check import check
from microcosm.logic.rulebook import parse_rules, read_rules
from tests.derivations import A, B, C, Node, absent, add, clocked, fault, init, not_in, ok, step, un_3, update
from tests.notation import mc

# faults in words


@pytest.mark.parametrize(
    ("givens", "proof", "words"),
    [
        ("a<b", init("b < a"), "root: Init rests on no such given: b < a"),
        ("a<b", step("In-OK", "|- a < b"), "root: In-OK needs 1 premise, not 0"),
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
        ("a<b", absent("|-0 a _ z"), "root: a leaf alone proves nothing"),
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
        ("a<b", step("assume", "||- a < b"), "root: a leaf alone proves nothing"),
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


def test_a_denial_proves_nothing_and_a_proof_denies_nothing() -> None:
    """`⊬₀ b < a` is so, and is no `⊢₀ b < a`."""
    assert check(mc("a<b"), read_rules(), step("In-OK", "|- b < a", absent("|-0 b < a"))) is not None
    rules = parse_rules(GIVEN + "rule Not:\n a in M\n |/-0 a < b\n ------\n |- a ? b")
    assert check(mc("a<b"), rules, step("Not", "|- b ? a", absent("|-0 b < a"))) is None
    assert check(mc("a<b"), rules, step("Not", "|- a ? b", init("a < b"))) is not None


# evolution


def test_what_is_strengthened_is_what_was_added() -> None:
    """a < c is there with either link and not without it, but neither link is a < c."""
    for link in (("a", "<", "b"), ("b", "<", "c")):
        other = step("Strng", "|- a < c", absent("|-0 a _ c"), **add(*link))
        assert fault(mc("a<b b<c"), other) == "root: Strng does not conclude `⊢ a < c` by this evolution"
        itself = step("Strng", f"|- {' '.join(link)}", absent(f"|-0 {link[0]} _ {link[2]}"), **add(*link))
        assert check(mc("a<b b<c"), read_rules(), itself) is None


CARRIED = parse_rules(
    "rule Init:\n given a R b\n ---\n |-0 a R b\n"
    "rule Keep:\n |-0 a R b\n ---- + c S d\n |-0 a R b\n"
    "rule Keep-Up:\n |-0 a R b\n ---- c <> d := c < d\n |-0 a R b\n"
    "rule With:\n |-0 a R b\n |-0 c S d\n ---\n |-0 a R b\n"
    "rule Both:\n |-0 a R b\n |-0 a R b\n ---\n |- a R b\n"
)
"""Rules by which one proof can speak of several microcosms."""


def test_every_evolution_starts_where_it_stands() -> None:
    def kept(node: Node, *new: str) -> Node:
        return step("Keep", "|-0 a < b", node, **add(*new))

    with_c = step("With", "|-0 a < b", init("a < b"), init("c < d"))
    c, e = ("c", "<", "d"), ("e", "<", "f")
    givens = mc("a<b c<d e<f")
    for one, two, valid in (
        (kept(kept(init("a < b"), *e), *c), kept(with_c, *e), True),
        (kept(with_c, *e), kept(kept(with_c, *e), *c), False),
    ):
        assert (check(givens, CARRIED, step("Both", "|- a < b", one, two)) is None) is valid
        assert (check(givens, CARRIED, step("Both", "|- a < b", two, one)) is None) is valid


def test_an_addition_is_no_update() -> None:
    added = step("Keep", "|-0 a < b", init("a < b"), **add("c", "<", "d"))
    with_c = step("With", "|-0 a < b", init("a < b"), init("c <> d"))
    updated = step("Keep-Up", "|-0 a < b", with_c, **update("c", "d"))
    for one, two in ((added, updated), (updated, added)):
        assert check(mc("a<b c<d"), CARRIED, step("Both", "|- a < b", one, two)) is None
    assert check(mc("a<b c<d"), CARRIED, step("Keep", "|-0 a < b", with_c, **add("c", "<", "d"))) is not None


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
    shared = init("a < b")
    for new, valid in ((("c", "<", "d"), True), (("a", "<", "b"), False)):
        kept = step("Keep", "|-0 a < b", shared, **add(*new))
        assert (check(mc("a<b c<d"), CARRIED, step("Both", "|- a < b", shared, kept)) is None) is valid
        kept = step("Keep", "|-0 a < b", {"ref": 0}, **add(*new))
        both = step("Both", "|- a < b", {"ref": 0}, kept)
        assert (check(mc("a<b c<d"), CARRIED, {**both, "lemmas": [shared]}) is None) is valid


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


@pytest.mark.parametrize(
    "body",
    [
        *("|-0 a < e, |-0 b < e", "|-0 a _ e, |-0 b < e", "|-0 a _ e, |- b _ e"),
        *("|-0 a _ e", "|-0 a _ b", "|-0 a _ b, |-0 b _ e", "|-0 b _ e, |-0 a _ b", "|-0 a _ e, |-0 e _ e"),
    ],
)
def test_only_two_wildcards_of_one_judgement_are_in_both(body: str) -> None:
    text = f"rule No:\n a not in M\n |-0 b < c\n no e in M with {body}\n ------\n ||- a || b"
    proof = step("No", "||- z || b", not_in("z"), init("b < d"), absent("||- z none b"))
    assert check(mc("a<c b<d"), parse_rules(GIVEN + text), proof) is None
    proof["premises"][-1] = absent("|-0 z in-both b")
    assert check(mc("a<c b<d"), parse_rules(GIVEN + text), proof) is not None


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


def test_a_given_beside_a_premise_is_not_all_that_the_step_rests_on() -> None:
    rules = parse_rules(GIVEN + "rule One:\n given a < b\n |-0 b || c\n given c < d\n ------\n |-0 a || c")
    one = parse_rules(GIVEN + "rule One:\n given a < b\n |-0 b || c\n ------\n |-0 a || c")
    shown = init("b || c", clocks={"b": B, "c": C})
    assert check(clocked(), one, step("One", "|-0 a || c", shown)) is None
    assert check(clocked(), rules, step("One", "|-0 a || c", shown)) is not None
    member = parse_rules(GIVEN + "rule In:\n given a < b\n c in M\n ------\n |-0 a || c")
    assert check(mc("a<b c<d"), member, step("In", "|-0 a || c")) is None
    assert check(mc("a<b"), member, step("In", "|-0 a || c")) is not None


def test_rules_that_deny_what_they_conclude_are_not_followed_for_ever() -> None:
    rules = parse_rules("rule Liar:\n a in M\n b in M\n |/- a ? b\n ------\n |- a ? b")
    assert "not stratified" in fault(mc("a<b"), step("Liar", "|- a ? b", absent("|- a ? b")), rules)
