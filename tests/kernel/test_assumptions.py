"""Laws 7 and 8 of the kernel: what is assumed holds above the premises of its step, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from microcosm.kernel.check import check
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from tests.derivations import Node, absent, add, assumed, clash, fault, init, off, refuted, step, update
from tests.notation import mc

GIVENS = mc("b<c a!<c d<e")
"""From it `a !< b` follows, since a < b would bring a < c."""


def behind(*premises: Node) -> Node:
    """a < c, from the assumption that a < b."""
    return step("Off-Tr", "||- a < c", *(premises or (assumed("a < b"), off("b < c"))))


def not_before(*premises: Node, says: str = "a !< b", assumes: Any = ("a", "<", "b")) -> Node:
    """That a is not before b; `premises` in the place of the contradiction."""
    contradiction = clash("a c", behind(), refuted("a !< c"))
    return step("Cntrd", f"||- {says}", *(premises or (contradiction,)), assumes=list(assumes))


def valid(proof: Node, text: str = "b<c a!<c d<e", rules: RuleBook | None = None) -> bool:
    return check(mc(text), rules or read_rules(), proof) is None


def test_an_assumption_that_leads_to_a_contradiction_is_refuted() -> None:
    assert valid(not_before())
    leaf = {"judgement": "offline", "left": "a", "relation": "<", "right": "b"}
    assert valid({**not_before(), "assumes": leaf}), "the conclusion of the leaf says the same"
    turned = not_before(clash("a c", refuted("a !< c"), behind()))
    assert valid(turned), "the two sides of a contradiction are not in an order"
    assert valid({**not_before(), "assumes": ["b", ">", "a"]}), "`>` is the converse reading of `<`"


@pytest.mark.parametrize(
    "proof",
    [
        behind(),
        step("Ref-<", "||- b !< a", assumed("a < b")),
        clash("a c", behind(), refuted("a !< c")),
        step("Off-Tr", "||- a < c", off("a < b", assumed("a < b")), off("b < c")),
        step("Off-OK", "||- a < b", assumed("a < b")),
        {**step("Ref-<", "||- b !< a", {"ref": 0}), "lemmas": [assumed("a < b")]},
    ],
)
def test_nothing_is_assumed_outside_a_rule_that_assumes(proof: Node) -> None:
    assert not valid(proof)


@pytest.mark.parametrize("leaf", ["b < a", "a || b", "a < c", "b < c", "a !< b", "a <> b"])
def test_only_what_is_named_is_assumed(leaf: str) -> None:
    wrong = not_before(clash("a c", behind(step("assume", f"||- {leaf}"), off("b < c")), refuted("a !< c")))
    assert not valid(wrong)
    free = not_before(clash("a c", step("assume", "||- a < c"), refuted("a !< c")))
    assert fault(GIVENS, free) == "premises[0].premises[0]: nothing above it assumes `⊩ a < c`"


@pytest.mark.parametrize(
    "assumes",
    [
        ["b", "<", "a"], ["a", ">", "b"], ["a", "||", "b"], ["a", "<>", "b"], ["a", "!<", "b"],
        ["a", "?", "b"],
        ["a", "<", "c"], ["a", "contradiction", "b"], ["a", "<"], ["a", "<", "b", "c"], [], {}, None, "a < b",
        7, [["a", "<", "b"]], {"judgement": "online", "left": "a", "relation": "<", "right": "b"},
        {"judgement": "offline", "left": "a", "relation": "<", "right": "b", "more": 1},
        {"judgement": "offline", "left": "a", "relation": "||", "right": "b"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_assumed_is_what_the_rule_assumes(assumes: Any) -> None:
    assert not valid({**not_before(), "assumes": assumes})


def test_what_is_assumed_must_be_said() -> None:
    silent = not_before()
    del silent["assumes"]
    assert not valid(silent)
    assert not valid({**off("b < c"), "assumes": ["b", "<", "c"]})
    assert not valid({**init("b < c"), "assumes": ["b", "<", "c"]})
    for key, value in (
        ("assumes", ["a", "<", "b"]),
        ("token", "t"),
        ("clocks", {}),
        *add("b", "<", "c").items(),
    ):
        shown = {**clash("a c", behind(), refuted("a !< c")), key: value}
        assert fault(GIVENS, not_before(shown)).endswith("Clash shows no evidence and assumes nothing")


def test_another_assumption_is_none_of_its_own() -> None:
    """The inner step may use what the outer one assumes, and not the other way round."""
    inner = step(
        "Cntrd",
        "||- b !< a",
        clash("a b", assumed("a < b"), step("Ref-<", "||- a !< b", assumed("b < a"))),
        assumes=["b", "<", "a"],
    )
    assert not valid(inner, "b<c"), "a < b is assumed by nobody"
    outer = clash("b c", off("c || b"), step("Off-Tr", "||- b < c", assumed("b < a"), assumed("a < c")))
    within = step("Cntrd", "||- a !< c", outer, assumes=["a", "<", "c"])
    joined = clash("a c", within, step("Off-Tr", "||- a < c", assumed("b < a"), assumed("a < c")))
    assert not valid(step("Cntrd", "||- b !< a", joined, assumes=["b", "<", "a"]), "c||b a||c")


def test_assumptions_nest() -> None:
    """Were a < b, then b < d could not be, and neither could what follows from its absence."""
    text = "a<>d d<>b c||d a!<d d!<b"
    inner = step(
        "Cntrd",
        "||- d !< a",
        clash("d b", step("Off-Tr", "||- d < b", assumed("d < a"), assumed("a < b")), refuted("d !< b")),
        assumes=["d", "<", "a"],
    )
    forward = step("Canc-<", "||- a < d", off("a <> d"), inner)
    proof = not_before(clash("a d", forward, refuted("a !< d")))
    assert valid(proof, text)
    assert not valid(inner, text), "the outer assumption is gone with its step"
    assert valid({**not_before(clash("a d", {"ref": 0}, refuted("a !< d"))), "lemmas": [forward]}, text)
    both = step("Canc-||", "||- a || b", {"ref": 0}, refuted("b !< a"))
    assert not valid({**both, "lemmas": [proof, forward]}, text + " b!<a"), (
        "nor does a lemma of its own keep it"
    )


def test_a_lemma_stands_under_the_assumptions_of_whoever_refers_to_it() -> None:
    lemma = behind()
    proof = not_before(clash("a c", {"ref": 0}, refuted("a !< c")))
    assert valid({**proof, "lemmas": [lemma]})
    outside = step("Canc-<", "||- b < a", step("NCo-CR", "||- b <> a", {"ref": 1}), proof)
    lemmas = [lemma, step("Ref-<", "||- b !|| a", assumed("a < b"))]
    found = check(mc("b<c a!<c"), read_rules(), {**outside, "lemmas": lemmas})
    assert found == "lemmas[1].premises[0]: nothing above it assumes `⊩ a < b`"
    two = step(
        "Cntrd",
        "||- b !< a",
        clash("a c", {"ref": 0}, refuted("a !< c")),
        assumes=["b", "<", "a"],
    )
    under = step("Canc-||", "||- a || b", proof, two)
    assert not valid({**under, "lemmas": [lemma]}), "one lemma under two assumptions, of which it needs one"
    assert not valid({**not_before(), "lemmas": [lemma]}), "a lemma that nobody refers to assumes nothing"


def test_an_evolution_leaves_assumptions_behind() -> None:
    """Premises of a carried judgement are of an earlier microcosm, of which nothing was assumed."""
    rules = parse_rules(
        "rule Keep:\n ||- a < b\n ---- + c R d\n ||- a < b\n"
        "rule Keep-Up:\n ||- a < b\n ---- c <> d := c < d\n ||- a < b"
    )
    rules = RuleBook((*read_rules().rules, *rules.rules))
    for name, change in (("Keep", add("d", "<", "e")), ("Keep-Up", update("d", "e"))):
        assert valid(step(name, "||- b < c", off("b < c"), **change), rules=rules)
        kept = step(name, "||- a < b", assumed("a < b"), **change)
        proof = not_before(clash("a c", behind(kept, off("b < c")), refuted("a !< c")))
        assert "nothing above it assumes" in fault(GIVENS, proof, rules)


def test_a_denial_is_of_the_microcosm_and_not_of_what_is_assumed() -> None:
    """The guard of the paper: nothing is judged of the pair, whatever is assumed of it or of others."""
    contradiction = clash("a c", behind(), refuted("a !< c"))
    guarded = not_before(absent("|- a _ b"), contradiction)
    assert not valid(guarded), "a ? b is judged, since nothing connects the two"
    assert valid(guarded, "b<c a!<c x<a x<b")
    assert not valid(not_before(contradiction, absent("|- a _ b")), "b<c a!<c x<a x<b")
    absurd = "rule Odd:\n assume a < b\n |/- a < b\n ||- c S d\n"
    absurd += " ||- c T d where S in <, !< and T in <, !< and S incompatible T\n ---\n ||- a !< b"
    odd = RuleBook((*read_rules().rules, *parse_rules(absurd).rules))
    proof = {**not_before(absent("|- a < b"), contradiction), "rule": "Odd"}
    assert valid(proof, rules=odd)


def test_nobody_asks_for_the_absence_of_what_is_refuted_by_assumption() -> None:
    rules = RuleBook((*read_rules().rules, *parse_rules("rule Not:\n ||/- a !< b\n ------\n |- a ? b").rules))
    denied = step("Not", "|- a ? b", absent("||- a !< b"))
    assert fault(mc("a||b"), denied, rules).startswith("the rules do not say")


GUARDED = """
rule Init:
    given a R b
    ---
    |-0 a R b
rule Offer:
    |-0 a < b
    ---
    ||- a < b
rule Loose:
    ||- a <> b
    assume a < b
    |-0 a || c
    ---
    ||- a !< b
rule Related:
    ||- a < b
    ---
    ||- a <> b
"""


def test_what_a_rule_has_before_its_assumption_does_not_rest_on_it() -> None:
    rules = parse_rules(GUARDED)

    def loose(ground: Node) -> Node:
        related = step("Related", "||- a <> b", ground)
        return step("Loose", "||- a !< b", related, init("a || c"), assumes=["a", "<", "b"])

    assert check(mc("a<b a||c"), rules, loose(step("Offer", "||- a < b", init("a < b")))) is None
    assert fault(mc("a||c b||c"), loose(assumed("a < b")), rules).endswith(
        "nothing above it assumes `⊩ a < b`"
    )


@pytest.mark.parametrize(
    "premises",
    [
        (),
        (refuted("a !< c"),),
        (behind(), off("b < c")),
        (behind(), refuted("a !< c"), refuted("a !< c")),
        (behind(), step("Ref-<", "||- a !|| c", behind())),
        (behind(), step("NCo-CR", "||- a <> c", step("Ref-<", "||- a !|| c", behind()))),
        (behind(), behind()),
        (refuted("a !< c"), refuted("a !< c")),
    ],
    ids=len,
)
def test_a_contradiction_is_two_judgements_of_one_pair_that_exclude_each_other(
    premises: tuple[Node, ...],
) -> None:
    assert not valid(not_before(clash("a c", *premises)))
    for pair in ("a b", "c b", "b c"):
        assert not valid(not_before(clash(pair, behind(), refuted("a !< c"))))


def test_a_contradiction_is_no_premise_of_another_rule_and_nothing_else_stands_for_it() -> None:
    contradiction = clash("a c", behind(), refuted("a !< c"))
    assert not valid(not_before(behind(), refuted("a !< c"))), "the two premises stand as one, their clash"
    assert not valid(not_before(contradiction, contradiction))
    assert not valid(not_before(behind()))
    for rule in ("Off-Tr", "Ref-<", "NCo-CR", "Cntrd"):
        wrong = {**contradiction, "rule": rule}
        assert not valid(not_before(wrong))
    assert not valid(step("Off-OK", "||- a < c", clash("a c", off("a < c"), refuted("a !< c"))), "a<c a!<c")


def test_the_two_sides_are_those_that_the_rule_asks_for() -> None:
    """A rule that knows only contradictions of `<` and `||` takes no other."""
    text = (
        "rule Only:\n assume a < b\n ||- c S d where S in <\n ||- c T d where T in || and S incompatible T\n"
        " ---\n ||- a !< b"
    )
    rules = RuleBook((*read_rules().rules, *parse_rules(text).rules))
    known = "b<c a||c a!<c"

    def only(*sides: Node) -> Node:
        return {**not_before(clash("a c", *sides)), "rule": "Only"}

    assert valid(only(behind(), off("a || c")), known, rules)
    turned = off("c || a", step("In-OK", "|- c || a", step("Co-Sym", "|-0 c || a", init("a || c"))))
    assert valid(only(turned, behind()), known, rules)
    assert not valid(only(behind(), refuted("a !< c")), known, rules)
    assert valid(not_before(clash("a c", behind(), refuted("a !< c"))), known, rules)


def test_a_contradiction_of_many_premises_is_refused_at_once() -> None:
    """Each of them may be read from either end: no step tries all ways to read sixty."""
    many = [step("Init", "||- a || c")] * 60
    assert "does not conclude" in str(fault(GIVENS, not_before(clash("a c", *many))))
