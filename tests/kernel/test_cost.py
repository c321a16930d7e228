"""What the kernel costs: steps, counted; each node once in a microcosm, whatever is assumed above it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from microcosm.givens.givens import Givens
from microcosm.kernel import check as kernel
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from tests.derivations import Node, add, assumed, clash, off, ok, refuted, step
from tests.mutants import nodes
from tests.notation import mc

TWICE = parse_rules(
    "rule Twice:\n ||- a !< b\n ||- c !< b\n ---\n ||- a !< b\n"
    "rule Both:\n |- a < b\n |- c < b\n ---\n |- a < b\n"
)
RULES = RuleBook((*read_rules().rules, *TWICE.rules))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the rules of all steps that are checked, in order."""
    found: list[str] = []
    check_step = kernel._Proof._step

    def count(self: Any, visit: Any, *others: Any) -> Any:
        found.append(visit.node["rule"])
        return check_step(self, visit, *others)

    monkeypatch.setattr(kernel._Proof, "_step", count)
    return found


def nested(depth: int) -> tuple[Givens, Node]:
    """p !< q0, q1, … in turn, each lemma under two assumptions that differ from those of all others.

    Written out, or checked for each set of assumptions anew, the proof has 2 to the power of `depth` steps.
    """
    givens = mc("p<r p!<q0 " + " ".join(f"q{k + 1}<q{k}" for k in range(depth)))
    lemmas: list[Node] = [refuted("p !< q0")]

    def behind(event: str, k: int, known: Node) -> Node:
        """That `event` is not before q_k, or it would be before q_(k-1), which `known` refutes."""
        far = step("Off-Tr", f"||- {event} < q{k - 1}", assumed(f"{event} < q{k}"), off(f"q{k} < q{k - 1}"))
        contradiction = clash(f"{event} q{k - 1}", far, known)
        return step("Cntrd", f"||- {event} !< q{k}", contradiction, assumes=[event, "<", f"q{k}"])

    for k in range(1, depth + 1):
        last: Node = {"ref": k - 1}
        later = step("No-Tr-L", f"||- r !< q{k - 1}", off("p < r"), last)
        lemmas.append(step("Twice", f"||- p !< q{k}", behind("p", k, last), behind("r", k, later)))
    return givens, {**lemmas.pop(), "lemmas": lemmas}


def evolved(depth: int) -> tuple[Givens, Node]:
    """a < c, carried over additions: each lemma in two microcosms that differ from those of all others."""
    givens = mc("a<c b<c " + " ".join(f"x{k}<y{k} z{k}<y{k}" for k in range(1, depth + 1)))
    lemmas = [ok("a < c"), ok("b < c")]
    for k in range(1, depth + 1):
        for event, other in ("ab", "ba"):
            places = {"a": 2 * k - 2, "b": 2 * k - 1}
            one = step("Weak", f"|- {event} < c", {"ref": places[event]}, **add(f"x{k}", "<", f"y{k}"))
            two = step("Weak", f"|- {other} < c", {"ref": places[other]}, **add(f"z{k}", "<", f"y{k}"))
            lemmas.append(step("Both", f"|- {event} < c", one, two))
    return givens, {**lemmas[-1], "lemmas": lemmas[:-1]}


def size(proof: Node) -> int:
    """How many steps are written, references and assumptions left out."""
    return sum(1 for node, _ in nodes(proof) if "ref" not in node and node["rule"] != "assume")


@pytest.mark.parametrize("depth", [1, 2, 5, 40])
def test_a_lemma_is_checked_once_whatever_is_assumed_above_it(depth: int, counted: list[str]) -> None:
    givens, proof = nested(depth)
    assert kernel.check(givens, RULES, proof) is None
    assert len(counted) == size(proof)


def test_a_lemma_that_needs_an_assumption_needs_it_everywhere(counted: list[str]) -> None:
    """The same at depth: the innermost lemma assumes what only one of the two above it does."""
    givens, proof = nested(30)
    lemmas = list(proof["lemmas"])
    far = step("Off-Tr", "||- p < q2", assumed("p < q3"), off("q3 < q2"))
    lemmas[1] = step("Cntrd", "||- p !< q1", clash("p q0", far, refuted("p !< q0")), assumes=["p", "<", "q1"])
    fault = kernel.check(givens, RULES, {**proof, "lemmas": lemmas})
    assert fault is not None
    assert len(counted) <= size(proof) + 5


def test_a_chain_of_references_is_followed_once() -> None:
    """A lemma may be a reference to another; twenty thousand cost no more than that."""
    lemmas: list[Any] = [off("a < b"), *({"ref": k} for k in range(20_000))]
    tall = {"ref": 20_000}
    both = RuleBook((*RULES.rules, *parse_rules("rule Same:\n ||- a < b\n ---\n ||- a < b").rules))
    proof = step("Same", "||- a < b", tall)
    for _ in range(400):
        lemmas.append({**step("Same", "||- a < b", tall)})
    assert kernel.check(mc("a<b"), both, {**proof, "lemmas": lemmas}) is None


@pytest.mark.parametrize("depth", [1, 6])
def test_a_lemma_may_stand_in_several_microcosms(depth: int) -> None:
    givens, proof = evolved(depth)
    assert kernel.check(givens, RULES, proof) is None


def test_too_many_earlier_microcosms_are_a_fault_that_says_so(counted: list[str]) -> None:
    givens, proof = evolved(30)
    assert len(json.dumps(proof)) < 40_000
    fault = kernel.check(givens, RULES, proof)
    assert fault is not None
    assert "more than 1,000 earlier microcosms, a limit: nothing was decided" in fault
    assert len(counted) < 10_000


def test_too_many_steps_in_them_are_a_fault_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "STEPS", 20)
    givens, proof = evolved(5)
    fault = kernel.check(givens, RULES, proof)
    assert fault is not None
    assert "more than 20 steps in earlier microcosms, a limit: nothing was decided" in fault
