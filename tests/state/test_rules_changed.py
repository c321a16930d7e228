"""Every public question under edited rules is answered by its definition, over the naive judgements.

What is quick because of what the paper's rules say of happens-before must not be taken for granted where the
rules in force do not say it: then the answer is that of the definition, or the question is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise, permutations
from random import Random

import pytest

from microcosm import Microcosm
from microcosm.compare.bisimilarity import after, bisimilar, irredundant
from microcosm.compare.difference import difference
from microcosm.compare.digest import analogy_digest, analogy_digest_of
from microcosm.compare.verdict_rows import analogous, seeds_own
from microcosm.engine.lowering import closes_givens
from microcosm.errors import Contradiction, MicrocosmError, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel import check as kernel
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.queries.drawing import drawing_of
from microcosm.queries.offline import are_shipped, propagated
from tests.engine.test_changed_rules import VARIANTS
from tests.naive import Naive
from tests.proofs import proved
from tests.random_rules import random_givens, random_rules
from tests.rulesets import blocks, edited, ten, without
from tests.thorough import draws

Pairs = set[tuple[str, str]]
Answers = dict[tuple[str, str], Relation]


def questions(rules: RuleBook, givens: Givens, rng: Random) -> None:
    """Ask everything of one microcosm; nothing if it contradicts itself."""
    try:
        m = Microcosm(givens, rules=rules)
    except Contradiction:
        return
    naive = Naive(rules, givens)
    told = verdicts(naive)
    around(m, naive, told)
    many(m, told)
    orders(m, facts(naive, Judgement.INITIAL))
    proofs(m, rng)
    drawn(m)
    evolved(m, naive, rng)
    compared(m, told, rng)


def verdicts(naive: Naive) -> Answers:
    return {(a, b): naive.verdict(a, b) for a, b in permutations(naive.events, 2)}


def facts(naive: Naive, judgement: Judgement) -> Pairs:
    """Where `<` is judged."""
    return {
        (f.left, f.right) for f in naive.facts if (f.judgement, f.relation) == (judgement, Relation.BEFORE)
    }


def around(m: Microcosm, naive: Naive, told: Answers) -> None:
    before = facts(naive, Judgement.ONLINE)
    sides: dict[Relation, Callable[[str], object]] = {
        Relation.BEFORE: m.past,
        Relation.AFTER: m.future,
        Relation.CONCURRENT: m.concurrent,
        Relation.UNKNOWN: m.unknown,
        Relation.SILENT: m.silent,
    }
    for event in naive.events:
        for relation, asked in sides.items():
            assert set(asked(event)) == {b for b in naive.events if b != event and told[b, event] is relation}  # type: ignore[call-overload]
    for a, b in permutations(naive.events, 2):
        inside = {e for e in naive.events if {(a, e), (e, b)} <= before and (a, b) in before}
        assert set(m.between(a, b)) == inside
        earlier = {e for e in naive.events if {(e, a), (e, b)} <= before}
        later = {e for e in naive.events if {(a, e), (b, e)} <= before}
        last, first = m.frontier(a, b)
        assert set(last) == {e for e in earlier if not any((e, other) in before for other in earlier)}
        assert set(first) == {e for e in later if not any((other, e) in before for other in later)}


def many(m: Microcosm, told: Answers) -> None:
    assert {(a, b): verdict for a, b, verdict in m.table()} == {p: v for p, v in told.items() if p[0] < p[1]}
    assert dict(zip(told, m.online_many(told), strict=True)) == told


def orders(m: Microcosm, before: Pairs) -> None:
    """A Hasse diagram says all of the order and nothing twice; a chain goes on by the order."""
    closed = {(a, d) for a, b in before for c, d in before if b == c} <= before
    try:
        links, chain = set(m.hasse().edges), m.longest_chain()
    except Undefined:
        assert not closes_givens(m.rules)
        return
    assert closed
    assert links == {
        (a, b) for a, b in before if not any((a, e) in before and (e, b) in before for e in m.events)
    }
    assert set(pairwise(chain)) <= before
    assert len(chain) == max((height(event, before) for event in m.events if before), default=0)


def height(event: str, before: Pairs) -> int:
    return 1 + max((height(b, before) for a, b in before if a == event), default=0)


def proofs(m: Microcosm, rng: Random) -> None:
    for a, b in permutations(m.events, 2):
        proved(m, a, b)
        for relation in (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.UNKNOWN):
            assert m.why_not(a, relation, b).holds is m.holds(Judgement.ONLINE, a, relation, b)
    for change in m.givens.external.values():
        for a, b in list(permutations(m.events, 2))[:6]:
            why = m.explain_evolution(a, b, change)
            assert why is None or kernel.check(m.givens, m.rules, why.to_json()) is None


def drawn(m: Microcosm) -> None:
    assert m._repr_svg_().startswith("<svg")
    assert "<svg" in m._repr_html_()


def evolved(m: Microcosm, naive: Naive, rng: Random) -> None:
    """Forgetting keeps each initial judgement about the others and adds none, or is refused."""
    event = rng.choice(naive.events)
    others = [e for e in naive.events if e != event]
    left = m.copy()
    try:
        left.forget(event)
    except Undefined:
        assert left.to_text() == m.to_text()
        assert not closes_givens(m.rules) or not are_shipped(m.rules)
        return
    was, now = (among(others, given, m.rules) for given in (m.givens, left.givens))
    assert was == now, event


def among(events: list[str], givens: Givens, rules: RuleBook) -> set[object]:
    """The initial judgements about some events, asked pair by pair: they need not be named."""
    found: set[object] = set()
    for a, b in combinations(events, 2):
        judged = Naive(rules, givens, (a, b)).facts
        found |= {f for f in judged if f.judgement is Judgement.INITIAL and {f.left, f.right} == {a, b}}
    return found


def compared(m: Microcosm, told: Answers, rng: Random) -> None:
    """With a microcosm that is given one thing less."""
    given = list(m.givens.external.values())
    if not given:
        return
    less = m.givens.copy()
    del less.external[rng.choice(given).key()]
    try:
        other = Microcosm(less, rules=m.rules)
    except Contradiction:
        return
    events = sorted({*m.events, *other.events})
    same = all(m.online(a, b) is other.online(a, b) for a, b in permutations(events, 2))
    assert analogous(m, other) is bisimilar(m, other).holds is same
    found = difference(m, other)
    pairs = combinations(events, 2)
    assert found.same is all(knowledge(m, *pair) is knowledge(other, *pair) for pair in pairs)
    if m.events == other.events:
        digests = [analogy_digest(each) for each in (m, other)]
        assert (digests[0] == digests[1]) is same
        assert analogy_digest_of(less, m.rules) == digests[1]
    witness = bisimilar(m, other, backward=True).witness
    assert witness is not None
    fewest = parted(m, other) if same else 0
    if seeds_own(m.rules) or not same:
        assert (None if witness.path is None else len(witness.path)) == fewest
    elif witness.path is not None:
        assert fewest is not None
        assert len(witness.path) >= fewest
    if witness.path is not None and witness.pair is not None:
        left = [after(each, witness.path) for each in (m, other)]
        assert tuple(each.online(*witness.pair) for each in left) == witness.verdicts
        assert left[0].online(*witness.pair) is not left[1].online(*witness.pair)
    assert analogous(m, irredundant(m))
    together = other.copy()
    together.merge(m)
    assert {pair: together.online(*pair) for pair in told} == told


def parted(m: Microcosm, other: Microcosm) -> int | None:
    """After how few removals the two differ, by trying all of them."""
    facts = sorted({*m.givens.external, *other.givens.external})
    for size in range(1, len(facts) + 1):
        for keys in combinations(facts, size):
            left = [each.givens.copy() for each in (m, other)]
            for givens in left:
                for key in keys:
                    givens.external.pop(key, None)
            try:
                one, another = (Microcosm(givens, rules=m.rules) for givens in left)
            except Contradiction:
                continue
            events = {*one.events, *another.events}
            if any(one.online(a, b) is not another.online(a, b) for a, b in permutations(events, 2)):
                return size
    return None


def knowledge(m: Microcosm, a: str, b: str) -> Relation | None:
    """What is known of a pair, in whichever direction it is judged."""
    said = {m.online(a, b), m.online(b, a).converse}
    return next((relation for relation in KNOWN if relation in said), None)


KNOWN = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED)


@pytest.mark.parametrize("variant", ["shipped", *VARIANTS])
def test_every_question_under_the_variants(variant: str) -> None:
    rng = Random(variant)
    rules = read_rules() if variant == "shipped" else VARIANTS[variant]()
    for size in (3, 4):
        questions(rules, random_givens(rng, "abcd"[:size]), rng)


@pytest.mark.parametrize("seed", range(20))
def test_every_question_under_random_rules(seed: int) -> None:
    rng = Random(seed)
    questions(random_rules(rng, offline=seed % 4 == 0), random_givens(rng), rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 20 + draws(15, 380)))
def test_every_question_under_many_random_rules(seed: int) -> None:
    rng = Random(seed)
    rules = random_rules(rng, offline=seed % 4 == 0)
    for _ in range(3):
        questions(rules, random_givens(rng), rng)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["shipped", *VARIANTS])
def test_every_question_of_many_microcosms_under_the_variants(variant: str) -> None:
    rng = Random(variant)
    rules = read_rules() if variant == "shipped" else VARIANTS[variant]()
    for _ in range(draws(6, 30)):
        questions(rules, random_givens(rng, "abcde"[: rng.randint(3, 5)]), rng)


# without In-Tr, as the README has it


@pytest.mark.parametrize("seed", range(20))
def test_what_contradicts_is_refused_whether_or_not_anything_was_asked(seed: int) -> None:
    """Also where rules make an order of more, or of less, than the `<` that is given."""
    rng = Random(seed)
    back = "rule Back:\n    given b !< a\n    ------------\n    |-0 a < b\n"
    guarded = edited("given a R b", "given a R b\n    a in M", rule="Init")
    rules = guarded if seed % 2 else parse_rules(ten() + back)
    m = Microcosm(rules=rules)
    for _ in range(12):
        a, b = rng.sample("abcd", 2)
        changed, appended = m.givens.copy(), rng.random() < 0.2 and a not in m.givens.internal
        fact = Correspondence(a, rng.choice((Relation.BEFORE, Relation.BEFORE, Relation.NOT_BEFORE)), b)
        change: Callable[[], None] = partial(m.append, a) if appended else partial(m.add, fact)
        changed.internal.append(a) if appended else changed.add(fact)
        try:
            fresh = Microcosm(changed, rules=rules)
        except Contradiction:
            with pytest.raises(Contradiction):
                change()
            continue
        change()
        assert m == fresh
    assert [*m.table()] == [*m.copy().table()]


def test_forgetting_invents_no_order() -> None:
    m = Microcosm.parse("a < b < c \n b < d", rules=without("In-Tr"))
    m.forget("b")
    assert list(m.givens.external) == []
    assert m.online("a", "c") is not Relation.BEFORE


OPEN = "rule Open:\n    |- a ? b\n    ------------\n    ||- a <> b\n"


def test_forgetting_concludes_nothing_from_what_is_unknown_then() -> None:
    rules = parse_rules("\n".join([ten(), *blocks("offline.rules").values(), OPEN]))
    m = Microcosm.parse("a || c \n a < d \n b < d", rules=rules)
    assert m.offline("c", "d").relation is None
    with pytest.raises(Undefined, match="would follow"):
        m.forget("a")


@pytest.mark.parametrize("seed", range(40))
def test_forgetting_keeps_what_follows_of_refutations_too(seed: int) -> None:
    """Where the rules make an order of what is refuted, or let none be given; or nothing is forgotten."""
    rng = Random(seed)
    offline = blocks("offline.rules")
    back = "rule Back:\n    given b !< a\n    ------------\n    |-0 a < b\n"
    more = [text for name, text in offline.items() if seed % 2 or name != "Off-Init"]
    own = [*([back] if seed % 2 else []), *([OPEN] if seed % 3 == 0 else [])]
    rules = parse_rules("\n".join([ten(), *more, *own]))
    try:
        m = Microcosm(random_givens(rng), rules=rules)
        was = facts(Naive(rules, m.givens), Judgement.INITIAL)
        before = propagated(m.givens, rules)
        event = rng.choice(m.events)
        m.forget(event)
    except (Contradiction, Undefined):
        return
    assert facts(Naive(rules, m.givens), Judgement.INITIAL) == {pair for pair in was if event not in pair}
    if before is not None:
        after = propagated(m.givens, rules)
        assert after is not None
        assert after <= before
        refuted = {fact for fact in before - after if fact[1] is Relation.NOT_BEFORE}
        assert {fact for fact in refuted if event not in fact} == set()


@pytest.mark.parametrize("asked", [Microcosm.hasse, Microcosm.longest_chain])
def test_what_needs_an_order_says_that_there_is_none(asked: Callable[[Microcosm], object]) -> None:
    m = Microcosm.parse("a < b < c \n a < c", rules=without("In-Tr"))
    with pytest.raises(MicrocosmError, match="under these rules happens-before is not transitive"):
        asked(m)


def test_a_frontier_ends_where_an_order_runs_in_a_cycle() -> None:
    before = [f"{a} < {b}" for a in "abc" for b in "xy"]
    m = Microcosm.parse("\n".join([*before, "a < b < c < a"]), rules=without("In-Tr"))
    assert m.frontier("x", "y") == ([], [])
    assert m._repr_svg_().startswith("<svg")


def test_drawings_leave_out_no_pair_that_nothing_implies() -> None:
    m = Microcosm.parse("a < b < c \n a < c", rules=without("In-Tr"))
    assert set(drawing_of(m.givens, m.rules).links) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert set(drawing_of(m.givens, read_rules()).links) == {("a", "b"), ("b", "c")}


def test_why_not_ends_where_judgements_rest_on_each_other() -> None:
    rules = parse_rules(ten() + "rule Back:\n |- a < e\n |- e < b\n ---\n |-0 a < b\n")
    m = Microcosm.parse("a < b \n b || c", rules=rules)
    assert not m.why_not("a", Relation.BEFORE, "c").holds
