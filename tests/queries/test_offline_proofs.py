"""Derivations of offline decisions: valid and true; no change of one makes it prove a falsehood."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.families import Family
from microcosm import Microcosm
from microcosm.givens.givens import Givens
from microcosm.kernel import check as kernel
from microcosm.logic.rulebook import read_rules
from microcosm.worlds.constraints import Constraints
from tests import posets
from tests.derivations import Node
from tests.families import planted
from tests.mutants import mutants
from tests.notation import mc
from tests.queries.test_offline import FIVE_CYCLE, OPEN_CHORD, proved
from tests.queries.test_possible import facts_of
from tests.strategies import simulated

MEANS = {**posets.ALLOWED, "!||": ("<", ">"), "!<>": ("||",)}

SMALL = {
    "Figure 4(a)": ("a<b a||c", "bc"),
    "Figure 4(b)": ("a<>b c<b c||a", "ab"),
    "No-Tr-R": ("b<c a||c", "ab"),
    "given refutations": ("a<>b b!<a b<c", "ac"),
    "both refuted": ("a!<b c<b a<>c", "bc"),
}


def true_of(givens: Givens, proof: Node) -> bool:
    """Whether every world that has the givens has what a proof concludes."""
    events, facts = facts_of(givens)
    said = proof["conclusion"]
    worlds = posets.fitting(len(events), facts)
    if said["relation"] == "contradiction":
        return not worlds
    a, b = events.index(said["left"]), events.index(said["right"])
    some = (world for at, world in enumerate(posets.posets(len(events))) if worlds >> at & 1)
    return all(posets.sign(world, a, b) in MEANS[said["relation"]] for world in some)


def proofs(text: str, pair: str, profile: str = "full") -> list[Node]:
    verdict = proved(Microcosm(mc(text)), *pair, profile=profile)
    return [proof.to_json() for proof in verdict.derivations.values() if proof is not None]


@pytest.mark.parametrize("profile", ["full", "paper"])
@pytest.mark.parametrize("name", SMALL)
def test_no_change_of_a_proof_proves_what_is_false(name: str, profile: str) -> None:
    """Each field of each node, changed: nearly every change is refused, and none proves what is false."""
    text, pair = SMALL[name]
    stride = 1 if profile == "full" else 17
    hold_to_the_worlds(text, pair, profile, stride)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_no_change_of_a_proof_by_contradiction_proves_what_is_false(name: str) -> None:
    hold_to_the_worlds(*SMALL[name], "paper", 5)


def hold_to_the_worlds(text: str, pair: str, profile: str, stride: int) -> None:
    """Of the first proof of a pair every so many changes are refused, or prove what is true."""
    givens = mc(text)
    for proof in proofs(text, pair, profile)[:1]:
        found = dict(mutants(givens, proof, stride))
        accepted = [what for what in found if kernel.check(givens, read_rules(), found[what]) is None]
        assert len(accepted) * 50 < len(found)
        assert all(true_of(givens, found[what]) for what in accepted)


@pytest.mark.slow
@pytest.mark.parametrize("text", [FIVE_CYCLE, OPEN_CHORD])
def test_no_change_of_a_nested_proof_proves_what_is_false(text: str) -> None:
    m = Microcosm(mc(text))
    derivation = m.contradiction() or m.offline("e", "b").derivations["<>"]
    assert derivation is not None
    proof, givens = derivation.to_json(), m.givens
    tried = 0
    for _, mutant in mutants(givens, proof, 101):
        tried += 1
        if kernel.check(givens, read_rules(), mutant) is None:
            assert true_of(givens, mutant)
    assert tried > 100


def test_an_assumption_moved_elsewhere_is_refused() -> None:
    """Every step of a nested proof by contradiction, its premises handed out as a proof of their own."""
    derivation = Microcosm(mc(OPEN_CHORD)).offline("e", "b").derivations["<>"]
    assert derivation is not None
    under, stack = 0, [derivation]
    while stack:
        step = stack.pop()
        stack.extend(step.premises)
        alone = step.to_json()
        if any(premise.rule == "assume" for premise in step.premises):
            under += 1
            assert "nothing above it assumes" in str(kernel.check(mc(OPEN_CHORD), read_rules(), alone))
        elif kernel.check(mc(OPEN_CHORD), read_rules(), alone) is None:
            assert true_of(mc(OPEN_CHORD), alone)
    assert under > 5


# many events


def agree(m: Microcosm, pairs: list[tuple[str, str]]) -> int:
    """Offline verdicts are what is possible, with valid proofs; how many pairs have something refuted."""
    refuted = 0
    for a, b in pairs:
        verdict = proved(m, a, b)
        assert verdict.possible == m.possible(a, b).relations, (a, b)
        refuted += bool(verdict.refuted)
    return refuted


def test_a_clocked_log_of_hundreds_of_events() -> None:
    rng = Random(7)
    names = [f"e{i}" for i in range(300)]
    _, clocks = simulated(names, rng, 6, 0.4)
    givens = Givens()
    givens.clocks.update(clocks)
    m = Microcosm(givens)
    events = list(m.events)
    assert len(events) > 200
    assert agree(m, [tuple(rng.sample(events, 2)) for _ in range(12)]) > 3  # type: ignore[misc]


def as_stated(known: Constraints) -> Givens:
    """The same knowledge as correspondences."""
    pairs = (list(stated) for stated in (known.before, known.concurrent, known.related))
    return Family("as stated", known.size, *pairs).givens()


def test_planted_knowledge_with_related_pairs() -> None:
    known, rng = planted(80, 3), Random(5)
    m = Microcosm(as_stated(known))
    events = list(m.events)
    assert len(events) > 48
    assert agree(m, [tuple(rng.sample(events, 2)) for _ in range(10)]) > 3  # type: ignore[misc]
