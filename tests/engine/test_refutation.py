"""Hypotheses and refutations: what is assumed is undone without a trace, and a stop is heard."""

from __future__ import annotations

import pytest

from microcosm import Microcosm, verify
from microcosm.engine.engine import Engine
from microcosm.engine.prove import Prover
from microcosm.engine.refutation import Refutation
from microcosm.engine.strata import assumptions
from microcosm.errors import RuleError, Stopped
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.order.bits import bits
from microcosm.queries.offline import Inconsistent
from microcosm.worlds.search import Stop
from tests.notation import mc
from tests.queries.test_offline import FIVE_CYCLE, OPEN_CHORD
from tests.rulesets import blocks, ten

SIGNS = [relation for relation in Relation if relation not in (Relation.UNKNOWN, Relation.SILENT)]

Facts = set[tuple[Relation, int, int]]


def search(givens: Givens, rules: RuleBook | None = None, stop: Stop | None = None) -> Refutation:
    rules = rules or read_rules()
    engine = Engine(rules, givens)
    return Refutation(rules, Prover(engine, givens).steps, engine.memo, [*bits(engine.memo.domain)], stop)


def facts(found: Refutation) -> Facts:
    return {(relation, a, b) for relation in SIGNS for a, b in found.hypothesis.related(relation)}


@pytest.mark.parametrize("text", [FIVE_CYCLE, OPEN_CHORD, "a<>b c<b c||a", "a!<b b!<a b<>c"])
def test_what_is_assumed_is_undone_without_a_trace(text: str) -> None:
    found = search(mc(text))
    hypothesis, before = found.hypothesis, facts(found)
    for relation in (Relation.BEFORE, Relation.CONCURRENT):
        for a in hypothesis.events:
            for b in hypothesis.events:
                if a != b:
                    mark = hypothesis.mark()
                    hypothesis.assume(relation, a, b)
                    assert hypothesis.holds(relation, a, b)
                    assert before <= facts(found)
                    hypothesis.undo(mark)
                    assert facts(found) == before
                    assert hypothesis.clash is None


def test_depth_after_depth_refutes_no_less_and_then_no_more() -> None:
    counts = []
    for depth in range(3):
        found = search(mc(OPEN_CHORD))
        found.deepen(depth)
        counts.append(facts(found))
        found.deepen(depth)
        assert facts(found) == counts[-1]
    assert counts[0] == counts[1] < counts[2]


def test_a_contradiction_of_the_microcosm_is_found_by_splitting() -> None:
    found = search(mc(FIVE_CYCLE))
    assert found.clash is None
    assert found.inconsistency() is not None
    assert search(mc(OPEN_CHORD)).inconsistency() is None


def test_what_contradicts_itself_still_does_after_it_was_asked() -> None:
    found = search(mc("a<c c<b a||d d||b c<>d"))
    assert found.clash is not None
    assert found.inconsistency() == found.clash
    found.settle(*found.hypothesis.events[:2])
    assert found.clash is not None


def test_a_refutation_that_contradicts_what_is_known_is_not_forgotten() -> None:
    """Of a symmetric relation the other direction is tried no more, nor is anything else."""
    odd = "rule Odd:\n    ||- a !|| b\n    ------------\n    ||- a < b\n    ||- b < a\n"
    kept = [blocks("offline.rules")[name] for name in ("Off-OK", "Cntrd")]
    known = Microcosm.parse("a <> b", rules=parse_rules("\n".join([ten(), *kept, odd])))
    with pytest.raises(Inconsistent) as found:
        known.offline_table(depth=1)
    assert verify(known, found.value.derivation).valid
    with pytest.raises(Inconsistent):
        known.offline("a", "b")


def test_told_to_stop_it_stops() -> None:
    asked = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) > 3

    with pytest.raises(Stopped):
        search(mc(OPEN_CHORD), stop=stop).deepen(1)
    assert len(asked) == 4


@pytest.mark.parametrize("ends", [0, 1, 2, 5, 9])
def test_whoever_is_stopped_between_two_assumptions_has_nothing_false_and_can_go_on(ends: int) -> None:
    """Where there is nothing to assume, it was not asked at all, and `--limit` never came."""
    chain = " ".join(f"e{at}<e{at + 1}" for at in range(40))
    whole = search(mc(f"{chain} e5||x"))
    whole.deepen(0)
    left = iter([*[False] * ends, True])
    found = search(mc(f"{chain} e5||x"), stop=lambda: next(left, ends == 0))
    assert facts(found) < facts(whole)
    if ends == 0:
        for go_on in (found.inconsistency, lambda: found.settle(0, 2), lambda: found.deepen(0)):
            with pytest.raises(Stopped):
                go_on()
    else:
        assert found.inconsistency() is None
        assert facts(found) == facts(whole)


def test_what_may_be_assumed_is_read_off_the_rules() -> None:
    full, paper = (assumptions(read_rules().in_profile(p)) for p in ("full", "paper"))
    assert {rule.assumed for rule in full.rules} == {Relation.BEFORE, Relation.CONCURRENT}
    assert full.clashes == paper.clashes
    assert any(rule.guard.pairs for rule in paper.rules)
    assert {str(other) for other, straight in full.clashes[Relation.BEFORE] if straight} == {
        "||",
        "!<",
        "!<>",
    }


def test_what_stands_before_an_assumption_may_not_use_it() -> None:
    """Such a rule is refused; the kernel would not accept its steps either."""
    text = (
        "rule Late:\n ||- c S d where S in <, !<\n ||- c T d where T in <, !< and S incompatible T\n"
        " assume a < b\n ---\n ||- a !< b"
    )
    with pytest.raises(RuleError, match="Late does not assume one thing"):
        assumptions(parse_rules(text))


def test_splitting_never_recurses() -> None:
    """An ordering of messages makes every event take part; each `<>` is split on top of those before it."""
    stated = [f"a{at} <> b{at}" for at in range(1_100)]
    assert Microcosm.parse("\n".join(["ordering causal", *stated])).contradiction() is None


def test_assumptions_nest_as_deep_as_is_asked() -> None:
    left = iter(range(1_500))
    kept = [blocks("offline.rules")[name] for name in ("Off-OK", "Cntrd")]
    givens = mc(" ".join(f"a{at}<>b{at}" for at in range(40)))
    found = search(givens, parse_rules("\n".join([ten(), *kept])), stop=lambda: next(left, None) is None)
    before = facts(found)
    with pytest.raises(Stopped):
        found.deepen(1_000_000)
    assert facts(found) == before
    assert found.clash is None


GUARDS = {"absent": "|/-0 a _ e", "judged": "|- f < e\n    |/-0 f _ b", "member": "e in M\n    |-0 b < e"}


@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
def test_what_stands_before_an_assumption_may_speak_of_other_events(guard: str) -> None:
    text = f"""rule Cntrd:
    {guard}
    assume a R b                  where R in <, >, ||
    ||- c S d                     where S in <, >, ||, <>, !<, !>, !||, !<>
    ||- c T d                     where T in <, >, ||, <>, !<, !>, !||, !<> and S incompatible T
    ------------
    ||- a !R b
"""
    kept = ("Off-OK", "Off-Init", "Off-Tr")
    rules = parse_rules(ten() + "\n".join(blocks("offline.rules")[name] for name in kept) + text)
    known = Microcosm.parse("b < c \n a !< c \n d < e", rules=rules)
    proof = known.offline("a", "b").derivations["!<"]
    assert proof.rule == "Cntrd"
    assert verify(known, proof).valid


def test_two_judgements_that_are_to_be_incompatible_need_no_assumption() -> None:
    text = """rule Odd:
    ||- a S b                     where S in <, ||
    ||- a T b                     where T in <, ||, !< and S incompatible T
    ------------
    ||- b !< a
"""
    rules = parse_rules(
        ten() + "\n".join(blocks("offline.rules")[name] for name in ("Off-OK", "Off-Init")) + text
    )
    known = Microcosm.parse("a < b \n a !< b", rules=rules)
    proof = known.derive("offline", "b", "!<", "a")
    assert proof is not None
    assert proof.rule == "Odd"
    assert verify(known, proof).valid


def test_an_event_of_the_conclusion_may_stand_within_a_negation_alone() -> None:
    text = "rule Last:\n    ||- b _ e\n    no g in M with |-0 a < g\n    ------------\n    ||- a !|| b\n"
    kept = ("Off-OK", "Off-Init", "Off-Tr", "Ref-<")
    rules = parse_rules(ten() + "\n".join(blocks("offline.rules")[name] for name in kept) + text)
    known = Microcosm.parse("a < b \n c || d", rules=rules)
    assert known.offline("b", "a").possible == (Relation.AFTER,)
    proof = known.offline("c", "b").derivations["!||"]
    assert verify(known, proof).valid
