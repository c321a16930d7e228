"""Offline decisions: exact against every world, depth by depth; the claims of the paper by name."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations, count, permutations
from random import Random

import pytest
from hypothesis import given, settings

from microcosm import Microcosm, Relation, Undefined
from microcosm.givens.givens import Givens
from microcosm.kernel import check as kernel
from microcosm.logic.derivation import Derivation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.queries.offline import Inconsistent, Offline
from tests import oracle, posets
from tests.enumeration import Facts, as_givens, enumerated, inside, up_to_renaming
from tests.naive import Fact, Naive
from tests.notation import mc
from tests.posets import Pair
from tests.queries.test_possible import facts_of
from tests.rulesets import blocks, ten
from tests.strategies import microcosms, rngs

STRIDE = 97
PROFILES = ("full", "paper")
LEMMA_4_4 = "a<b a||c"
FIVE_CYCLE = "a<>b b<>c c<>d d<>e e<>a a||c b||d c||e d||a e||b"
"""No order of its `<>` is transitive, so no world fits; each of its triples is innocent."""
OPEN_CHORD = "a<>b b<>c c<>d d<>e e<>a a||c b||d c||e d||a"
"""The same without one chord: e and b are related, or it would be the cycle above."""

NEARLY_FIVE = [
    " ".join(
        f"{a}{sign}{b}"
        for (a, b), sign in zip(("ab", "bc", "cd", "de", "ea", "ac", "bd"), signs, strict=True)
    )
    for signs in (
        ("<>", "<>", "<>", "<", "<>", "||", "||"),
        ("<>", "<>", "||", "<>", "<>", "||", "<>"),
        ("<>", "<>", "<>", "||", "||", "||", "<"),
    )
]
"""Microcosms of five events with two to five open `<>`."""

Left = dict[tuple[str, str], set[str]]


def wanted(givens: Givens) -> Left | None:
    """For each pair of events what some world gives it; None where no world fits."""
    events, facts = facts_of(givens)
    if not posets.fitting(len(events), facts):
        return None
    possible: dict[Pair, set[str]] = posets.possible(len(events), facts)
    return {(events[i], events[k]): signs for (i, k), signs in possible.items()}


def found(m: Microcosm, depth: int | None, profile: str = "full") -> Left | None:
    """For each pair of events what is left of it at a depth; None where the rules contradict themselves."""
    clash: list[Derivation] = []
    try:
        table = m.offline_table(depth=depth, profile=profile)
        return {(a, b): {str(relation) for relation in left} for a, b, left in table}
    except Inconsistent as problem:
        clash.append(problem.derivation)
    assert kernel.check(m.givens, m.rules, clash[0].to_json()) is None
    return None


def proved(m: Microcosm, a: str, b: str, depth: int | None = None, profile: str = "full") -> Offline:
    """The verdict on a pair; each of its derivations must be valid, and of what it says."""
    verdict = m.offline(a, b, depth=depth, profile=profile)
    for sign, proof in verdict.derivations.items():
        assert proof is not None
        assert kernel.check(m.givens, m.rules, proof.to_json()) is None
        said = proof.conclusion
        forward = (said.left, said.relation, said.right) == (a, sign, b)
        assert forward or (said.left, said.relation, said.right) == (b, sign.replace(">", "<"), a)
    assert verdict.derivations.keys() == {
        *([str(verdict.relation)] if verdict.relation is not None else []),
        *(f"!{refuted}" for refuted in verdict.refuted),
    }
    return verdict


def decided_exactly(givens: Givens) -> None:
    """Every pair, asked one by one, has what all worlds together give it."""
    m, want = Microcosm(givens), wanted(givens)
    for a, b in permutations(m.events, 2):
        if want is None:
            with pytest.raises(Inconsistent) as raised:
                m.offline(a, b)
            assert kernel.check(m.givens, m.rules, raised.value.derivation.to_json()) is None
            continue
        verdict = proved(m, a, b)
        signs = want[a, b] if (a, b) in want else {{"<": ">", ">": "<"}.get(s, s) for s in want[b, a]}
        assert {str(relation) for relation in verdict.possible} == signs
        assert verdict.exact
        one = {"<": "<", ">": ">", "||": "||", "<>": "<>"}.get("".join(sorted(signs)))
        assert (None if verdict.relation is None else str(verdict.relation)) == one
        assert (Relation.RELATED in verdict.refuted) is (signs == {"||"})


# every small microcosm


def test_all_microcosms_of_3_events() -> None:
    for facts in enumerated("abc", superseding=True):
        decided_exactly(as_givens(facts))


@pytest.mark.parametrize("start", range(3))
def test_some_of_4_events(start: int) -> None:
    for facts in enumerated("abcd", superseding=True)[start * 31 :: STRIDE * 4]:
        decided_exactly(as_givens(facts))


def test_all_of_4_events() -> None:
    """Up to four events propagation is exact, `<>` or not, and so nothing is left for an assumption."""
    for at, facts in enumerate(up_to_renaming("abcd", superseding=True)):
        givens = as_givens(facts)
        want = wanted(givens)
        assert found(Microcosm(givens), 0) == want, facts
        if at % 9 == 0:
            assert found(Microcosm(givens), 1) == want, facts


@pytest.mark.parametrize("text", [*NEARLY_FIVE, "a<>b b<>c c<>d d<>e a||c b||d c||e"])
def test_as_deep_as_related_pairs_are_open_is_enough(text: str) -> None:
    """Theorem 14 of docs/theory/depth.md: a contradiction one level earlier, all else at that level."""
    m = Microcosm(mc(text))
    nothing = found(m, 0)
    assert nothing is not None
    open_pairs = sum(1 for pair in nothing if nothing[pair] == {"<", ">"})
    assert 1 <= open_pairs <= 5
    want = wanted(m.givens)
    depth = min(open_pairs - (want is None), 2)  # what is found at depth 2 is found at any greater one
    assert found(m, depth) == found(m, 100_000) == found(m, None) == want
    if want is not None:
        for pair in want:
            assert proved(m, *pair, depth=100_000).possible == proved(m, *pair).possible


def test_no_depth_is_without_end() -> None:
    """As many assumptions as may be nested, of as many events as all take part, with most pairs open."""
    m = Microcosm.parse("\n".join(f"a{at} <> b{at} \n b{at} <> a{at + 1}" for at in range(8)))
    assert proved(m, "a0", "a8", depth=100_000).possible == (
        Relation.BEFORE,
        Relation.AFTER,
        Relation.CONCURRENT,
    )


def test_under_own_rules_a_contradiction_may_be_among_any_events() -> None:
    """Also where worlds see none, and there are more events than all of which take part in a search."""
    own = "rule Own:\n    ||- a || b\n    ------------\n    ||- a < b\n"
    rules = parse_rules(ten() + "\n" + "\n".join(blocks("offline.rules").values()) + own)
    text = " < ".join(f"e{at}" for at in range(300))
    assert Microcosm.parse(text, rules=rules).contradiction() is None
    for more in ("x || y", "x <> y \n y || z"):
        m = Microcosm.parse(f"{text} \n {more}", rules=rules)
        proof = m.contradiction()
        assert proof is not None
        assert kernel.check(m.givens, rules, proof.to_json()) is None


def test_without_related_pairs_propagation_is_exact() -> None:
    """Fact 1: where nothing is given as `<>`, no assumption is ever needed."""
    sample = [f for f in (*enumerated("abc"), *enumerated("abcd")[:: STRIDE // 4]) if "<>" not in str(f)]
    assert len(sample) > 60
    for facts in sample:
        givens = as_givens(facts)
        assert found(Microcosm(givens), 0) == wanted(givens), facts


@given(microcosms(6, 6))
@settings(max_examples=10)
def test_random_ones_of_6_events(givens: Givens) -> None:
    """Held to `possible`, which reads no rules and is itself held to the enumeration."""
    m = Microcosm(givens)
    left = found(m, 2)
    assert left is not None
    for pair, signs in left.items():
        assert signs == {str(relation) for relation in m.possible(*pair).relations}


@given(microcosms(2, 5))
@settings(max_examples=25)
def test_random_ones(givens: Givens) -> None:
    m, want = Microcosm(givens), wanted(givens)
    assert found(m, 2) == want
    left = found(m, 0)
    assert want is not None, "they are microcosms of a world"
    assert left is not None
    assert all(want[pair] <= left[pair] for pair in want), "what is refuted without assumptions is refuted"
    for a, b in list(combinations(m.events, 2))[:4]:
        assert {str(relation) for relation in proved(m, a, b).possible} == want[a, b]


@pytest.mark.parametrize(
    ("text", "pair", "left"),
    [
        ("a!<b b!<a", "ab", {"||"}),
        ("a<b c!<b", "ac", {"<", "||"}),
        ("a<>b b!<a", "ab", {"<"}),
        ("a<b a!<c", "bc", {">", "||"}),
        ("a<>b b<>c a||c", "bc", {"<", ">"}),
    ],
)
def test_refutations_that_are_given(text: str, pair: str, left: set[str]) -> None:
    decided_exactly(mc(text))
    assert {str(relation) for relation in proved(Microcosm(mc(text)), *pair).possible} == left


def test_stamps() -> None:
    """Lamport times and physical intervals rule out, and prove nothing of themselves."""
    m = Microcosm.parse("stamp a = 3\nstamp b = 3\nstamp c = [1, 2]\nstamp d = [4, 5]\na <> e\ne < b\n")
    decided_exactly(m.givens)
    assert proved(m, "a", "b").relation is Relation.CONCURRENT
    assert proved(m, "d", "c").refuted == (Relation.BEFORE,)
    assert proved(m, "a", "e").relation is Relation.AFTER, "a < e would bring a < b"


# how deep assumptions nest


def test_one_level_sees_the_5_cycle_and_propagation_does_not() -> None:
    m = Microcosm(mc(FIVE_CYCLE))
    assert wanted(m.givens) is None
    left = found(m, 0)
    assert left is not None
    assert left["a", "b"] == {"<", ">"}
    assert found(m, 1) is None
    contradiction = m.contradiction()
    assert contradiction is not None
    assert kernel.check(m.givens, m.rules, contradiction.to_json()) is None


@pytest.mark.parametrize(
    "text",
    [
        OPEN_CHORD,
        "a||b a||c a<>d a<>e b<>c b<>d b||e c<>e d||e",
        "a||b a<>c a<>d a||e b||c b<>d b<>e c<>e d||e",
    ],
)
def test_one_level_is_not_enough_and_two_are(text: str) -> None:
    m = Microcosm(mc(text))
    want = wanted(m.givens)
    assert want is not None
    depths = [found(m, depth) for depth in range(3)]
    assert depths[0] == depths[1] != depths[2] == want
    [pair] = [pair for pair in want if depths[1] and depths[1][pair] != want[pair]]
    assert want[pair] == {"<", ">"}
    assert proved(m, *pair, depth=1).relation is None
    assert not proved(m, *pair, depth=1).exact
    assert proved(m, *pair, depth=2).relation is Relation.RELATED
    assert proved(m, *pair).derivations["<>"] is not None


# the rules, read by others


def judged(m: Microcosm, naive: Naive) -> Iterator[tuple[str, Relation, str, bool]]:
    for a, b in permutations(m.events, 2):
        for relation in Relation:
            if relation not in (Relation.UNKNOWN, Relation.SILENT):
                yield a, relation, b, naive.holds(Fact(Judgement.OFFLINE, a, relation, b))


@pytest.mark.parametrize("profile", PROFILES)
def test_naive_evaluation_tables_and_propagation_agree(profile: str) -> None:
    """Without assumptions there are three ways to what the rules say; and none of them shares code."""
    rules = read_rules().in_profile(profile)
    sample = [mc(text) for text in (FIVE_CYCLE, "a<b a!<c c<>b", "a!<b b!<a b<c", "a<>b c<b a||c")]
    sample += [as_givens(facts) for facts in (*enumerated("abc")[::5], *enumerated("abcd")[:: STRIDE * 5])]
    for givens in sample:
        m, naive = Microcosm(givens, rules=rules), Naive(rules, givens)
        left = found(m, 0, profile)
        for a, relation, b, holds in judged(m, naive):
            assert m.holds(Judgement.OFFLINE, a, relation, b) is holds, (givens, a, relation, b)
            if left is not None and relation in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT):
                pair, sign = (a, b), str(relation)
                if pair in left:
                    refuted = naive.holds(Fact(Judgement.OFFLINE, a, Relation(f"!{sign}"), b))
                    assert (sign in left[pair]) is not refuted


OFFLINE_RULES = [r.name for r in read_rules().rules if (r.file or "").endswith("offline.rules")]

NEEDED = {
    "Off-OK": "a<b",
    "Off-Init": "a!<b",
    "Stamp": "stamp a = 1\nstamp b = 1",
    "Off-Tr": "a<>b c<b c||a b<>d a<d d||c",
    "Ref-<": "a<b",
    "Ref-||": "a||b",
    "Ref-<>": "a<>b",
    "NCo-CR": OPEN_CHORD,
    "Canc-<": "a<>b b!<a",
    "Canc-||": "a!<b b!<a",
    "No-Tr-L": "a<b a!<c",
    "No-Tr-R": "a<b c!<b",
    "Cntrd": OPEN_CHORD,
    "Up-Cntrd": OPEN_CHORD,
}


def without(*names: str) -> RuleBook:
    return RuleBook(tuple(rule for rule in read_rules().rules if rule.name not in names))


def known(text: str, rules: RuleBook, depth: int | None) -> dict[tuple[str, str], object]:
    m = Microcosm.parse(text, rules=rules) if "stamp" in text else Microcosm(mc(text), rules=rules)
    verdicts = {}
    for a, b in permutations(m.events, 2):
        found = m.offline(a, b, depth=depth)
        verdicts[a, b] = (found.relation, found.refuted)
    return verdicts


@pytest.mark.parametrize("name", [n for n in OFFLINE_RULES if n not in ("Off-Tr", "Up-Cntrd", "NCo-CR")])
def test_no_rule_is_idle(name: str) -> None:
    depth = 2 if name == "Cntrd" else 0
    others = () if name != "Cntrd" else ("Up-Cntrd",)
    text = NEEDED[name]
    assert known(text, without(name, *others), depth) != known(text, without(*others), depth)


def test_a_renamed_rule_shows_in_proofs() -> None:
    from microcosm.files import shipped
    from microcosm.logic.rulebook import parse_rules

    names = ("initial", "online", "offline")
    text = "\n".join((shipped("rules") / f"{name}.rules").read_text(encoding="utf-8") for name in names)
    rules = parse_rules(text.replace("rule Canc-<:", "rule Left-Over:"))
    proof = proved(Microcosm(mc("a<>b b!<a"), rules=rules), "a", "b").derivations["<"]
    assert proof is not None
    assert proof.rule == "Left-Over"


# the paper's claims


def fitting(events: str) -> list[Facts]:
    some = enumerated(events) if events == "abc" else enumerated(events)[:: STRIDE * 2]
    return [facts for facts in some if wanted(as_givens(facts)) is not None]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("events", ["abc", "abcd"])
def test_lemma_4_2_what_is_judged_online_is_not_refuted_offline(events: str, profile: str) -> None:
    for facts in fitting(events):
        m = Microcosm(as_givens(facts))
        for a, b in combinations(m.events, 2):
            assert m.online(a, b) not in proved(m, a, b, profile=profile).refuted, facts


@pytest.mark.parametrize("profile", PROFILES)
def test_lemma_4_3_what_is_proved_of_a_pair_agrees(profile: str) -> None:
    """Two relations proved of one pair are equal, or `<>` beside `<`."""
    rules = read_rules().in_profile(profile)
    signs = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED)
    for facts in (*fitting("abc"), *fitting("abcd")):
        naive = Naive(rules, as_givens(facts))
        for a, b in permutations(inside(facts), 2):
            said = {r for r in signs if naive.holds(Fact(Judgement.OFFLINE, a, r, b))}
            assert len(said) < 2 or len(said - {Relation.RELATED}) == 1, facts
            assert not (Relation.CONCURRENT in said and len(said) > 1), facts


@pytest.mark.parametrize("profile", PROFILES)
def test_lemma_4_4_and_figure_4a(profile: str) -> None:
    """a < b and a || c leave b and c silent online; offline, b < c is refuted."""
    m = Microcosm(mc(LEMMA_4_4))
    assert m.online("b", "c") is Relation.SILENT
    verdict = proved(m, "b", "c", profile=profile)
    assert (verdict.relation, verdict.refuted) == (None, (Relation.BEFORE,))


@pytest.mark.parametrize("profile", PROFILES)
def test_figure_4b(profile: str) -> None:
    """Of a <> b only a < b is left: with c < b, b < a would give c < a, and c || a."""
    m = Microcosm(mc("a<>b c<b c||a"))
    assert m.online("a", "b") is Relation.RELATED
    if profile == "full":
        assert proved(m, "a", "b").relation is Relation.BEFORE


@pytest.mark.parametrize(
    ("profile", "rules"),
    [
        ("full", ["No-Tr-L", "Off-OK", "Ref-||", "In-OK", "Off-OK", "Init", "In-OK", "Init"]),
        ("paper", ["Cntrd", "absent", "Clash"]),
    ],
)
def test_figure_6(profile: str, rules: list[str]) -> None:
    """The derivation of Lemma 4.4: by contradiction in the paper, in one step with rule No-Tr-L."""
    proof = proved(Microcosm(mc(LEMMA_4_4)), "b", "c", profile=profile).derivations["!<"]
    assert proof is not None
    order = [proof]
    for step in order:
        order.extend(step.premises)
    assert [step.rule for step in order][: len(rules)] == rules
    if profile == "paper":
        assert {"assume", "Off-Tr", "Off-OK"} <= {step.rule for step in order}


@pytest.mark.slow
def test_the_guard_of_the_seed_loses_864_refutations() -> None:
    """Fact 3: so many pairs answer `?` online though one relation of the three is impossible."""
    lost = []
    for facts in enumerated("abcd"):
        want = wanted(as_givens(facts))
        if want is not None:
            online = oracle.tabulate("abcd", facts, inside(facts))
            lost += [(facts, pair) for pair in want if online[pair] == "?" and len(want[pair]) < 3]
    assert len(lost) == 864
    for facts, (a, b) in lost[::40]:
        m = Microcosm(as_givens(facts))
        assert m.offline(a, b, profile="paper").refuted == ()
        assert m.offline(a, b).refuted != ()


def test_the_guard_of_the_seed_loses_a_refutation() -> None:
    facts = next(
        facts
        for facts in enumerated("abcd")
        if (want := wanted(as_givens(facts)))
        and any(
            oracle.tabulate("abcd", facts, inside(facts))[pair] == "?" and len(want[pair]) < 3
            for pair in want
        )
    )
    want, m = wanted(as_givens(facts)), Microcosm(as_givens(facts))
    assert want is not None
    a, b = next(p for p in want if m.online(*p) is Relation.UNKNOWN and len(want[p]) < 3)
    assert proved(m, a, b, profile="paper").refuted == ()
    assert proved(m, a, b).refuted != ()


def test_there_is_no_other_profile() -> None:
    known = Microcosm.parse("a < b")
    for asked in (partial(known.offline, "a", "b"), known.offline_table, known.contradiction):
        with pytest.raises(Undefined, match="there is no profile 'Paper': it is full or paper"):
            asked(profile="Paper")


@pytest.mark.parametrize("facts", ["a <> b <> c <> d \n a || d", "a <> b <> c \n c || d \n ordering causal"])
def test_who_is_stopped_at_any_time_concludes_nothing_from_what_was_assumed(facts: str) -> None:
    known = Microcosm.parse(facts)
    for a, b in permutations(known.events, 2):
        exact = set(known.offline(a, b).possible)
        for asked in range(16):
            for of in known, Microcosm.parse(facts):
                turns = count()
                stopped = of.offline(a, b, stop=lambda turns=turns, last=asked: next(turns) >= last)
                assert exact <= set(stopped.possible), (a, b, asked)
                for proof in stopped.derivations.values():
                    assert kernel.check(known.givens, known.rules, proof.to_json()) is None


@pytest.mark.parametrize("profile", ["full", "paper"])
@given(givens=microcosms(3, 6), random=rngs())
@settings(max_examples=40)
def test_what_was_asked_before_changes_no_answer_and_no_proof(
    profile: str, givens: Givens, random: Random
) -> None:
    known = Microcosm(givens)
    pairs = list(permutations([*known.events, "elsewhere", "nowhere"], 2))
    for asked in range(24):
        pair, depth = random.choice(pairs), random.choice([None, 0, 1])
        turns = count()
        known.offline(*pair, profile=profile, stop=lambda turns=turns, last=asked: next(turns) >= last)
        found = known.offline(*pair, depth=depth, profile=profile)
        assert str(found) == str(Microcosm(givens).offline(*pair, depth=depth, profile=profile))


def test_several_threads_may_ask_at_once() -> None:
    known = Microcosm.parse("a <> b <> c <> d <> e \n a || e \n b || e \n f < a \n c || f")
    pairs = list(permutations(known.events, 2))
    alone = {pair: str(Microcosm(known.givens).offline(*pair)) for pair in pairs}
    with ThreadPoolExecutor(4) as threads:
        for _ in range(3):
            found = threads.map(lambda pair: str(known.offline(*pair)), pairs)
            assert dict(zip(pairs, found, strict=True)) == alone
