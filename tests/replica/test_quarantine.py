"""What is set aside: against the definition by enumeration, and whatever the order of arrival."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import combinations, islice, pairwise, permutations, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.compare.digest import analogy_digest
from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel.check import check
from microcosm.logic.rulebook import read_rules
from microcosm.replica.conflicts import Conflict, Decided, quarantine
from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Add, Append, Evolution
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from microcosm.state.microcosm import Microcosm

Fact = tuple[str, str, str]
SIGNS = {"<": Relation.BEFORE, "||": Relation.CONCURRENT, "<>": Relation.RELATED, "!<": Relation.NOT_BEFORE}


def stated(fact: Fact) -> Correspondence:
    return Correspondence(fact[0], SIGNS[fact[1]], fact[2])


def all_facts(events: str) -> list[Fact]:
    directed = [(a, sign, b) for a, b in permutations(events, 2) for sign in ("<", "!<")]
    return sorted([*directed, *((a, sign, b) for a, b in combinations(events, 2) for sign in ("||", "<>"))])


def consistent(chains: Iterable[Sequence[str]], facts: Iterable[Fact]) -> bool:
    """The definition, by a closure of pairs."""
    facts = list(facts)
    before = {(a, b) for chain in chains for a, b in pairwise(chain)}
    before |= {(a, b) for a, sign, b in facts if sign == "<"}
    size = -1
    while len(before) > size:
        size = len(before)
        before |= {(a, d) for a, b in before for c, d in before if b == c}
    pairs = {sign: {(a, b) for a, s, b in facts if s == sign} for sign in SIGNS}
    return not (
        any(a == b for a, b in before)
        or any((a, b) in before or (b, a) in before for a, b in pairs["||"])
        or pairs["!<"] & before
        or pairs["||"] & pairs["<>"]
    )


def check_against_the_definition(
    chains: Sequence[Sequence[str]], facts: Iterable[Fact], found: list[Conflict]
) -> None:
    """Each set is the smallest that the next fact contradicts with what stands; nothing else goes."""
    standing: list[Fact] = []
    left = [{fact.key() for fact in conflict.facts} for conflict in found]
    for fact in sorted(facts):
        if consistent(chains, [*standing, fact]):
            standing.append(fact)
            continue
        members = left.pop(0)
        smallest = next(
            size
            for size in range(len(standing) + 1)
            if any(not consistent(chains, [*some, fact]) for some in combinations(standing, size))
        )
        assert fact in members
        assert members <= {*standing, fact}
        assert len(members) == smallest + 1
        assert not consistent(chains, members)
        standing = [each for each in standing if each not in members]
    assert not left


CHAINS: list[list[str]] = [[], ["ab"], ["abc"], ["ab", "cd"]]


@pytest.mark.parametrize("chains", CHAINS, ids=str)
def test_all_small_sets(chains: list[str]) -> None:
    """Every set of three facts about three events, in every order of statement."""
    for facts in combinations(all_facts("abc"), 3):
        found = quarantine(chains, map(stated, facts))
        check_against_the_definition(chains, facts, found)
        for other in permutations(facts):
            assert quarantine(chains, map(stated, other)) == found


@given(
    st.sampled_from(CHAINS),
    st.lists(st.sampled_from(all_facts("abcde")), unique=True, max_size=9),
    st.randoms(use_true_random=False),
)
def test_overlapping_contradictions(chains: list[str], facts: list[Fact], random: Random) -> None:
    found = quarantine(chains, map(stated, facts))
    check_against_the_definition(chains, facts, found)
    random.shuffle(facts)
    assert quarantine(chains, map(stated, facts)) == found


@given(st.sampled_from(CHAINS), st.lists(st.sampled_from(all_facts("abcd")), unique=True, max_size=7))
def test_both_sides_are_derived(chains: list[str], facts: list[Fact]) -> None:
    for conflict in quarantine(chains, map(stated, facts)):
        sides = conflict.derivations()
        one, other = ({side.conclusion.left, side.conclusion.right} for side in sides)
        assert one == other
        givens = Givens()
        for fact in (*conflict.facts, *conflict.orders):
            givens.add(fact)
        for side in sides:
            assert check(givens, read_rules(), side.to_json()) is None


def test_one_falsehood_costs_one_set() -> None:
    """A false order from the last event to the first goes alone, whatever lies between them."""
    chains = [[f"p{n}" for n in range(300)], [f"q{n}" for n in range(300)]]
    messages = [Correspondence(f"p{n}", Relation.BEFORE, f"q{n}") for n in range(300)]
    messages += [Correspondence(f"q{n}", Relation.BEFORE, f"p{n + 1}") for n in range(299)]
    false = Correspondence("q299", Relation.BEFORE, "p0")
    assert [conflict.facts for conflict in quarantine([], [*messages, false])]
    found = quarantine(chains, [*messages, false])
    assert len(found) == 1
    assert len(found[0].facts) == 2
    assert false in found[0].facts


EVOLUTIONS: list[list[Evolution]] = [
    [
        Append(Dot("p", 1, 1), "a"),
        Append(Dot("p", 1, 2), "b"),
        Add(Dot("q", 1, 1), stated(("b", "<", "a"))),
        Add(Dot("r", 1, 1), stated(("b", "<", "c"))),
        Add(Dot("r", 1, 2), stated(("c", "<", "a"))),
        Add(Dot("q", 1, 2), stated(("a", "||", "c"))),
    ],
    [
        Add(Dot(name, 1, 1), stated(fact))
        for name, fact in zip(
            "pqrstu",
            [
                ("a", "<", "b"),
                ("b", "<", "a"),
                ("b", "<", "c"),
                ("c", "<", "a"),
                ("a", "||", "b"),
                ("b", "!<", "c"),
            ],
            strict=True,
        )
    ],
    [
        Append(Dot("p", 1, 1), "a"),
        Append(Dot("p", 1, 2), "b"),
        Append(Dot("q", 1, 1), "b"),
        Append(Dot("q", 1, 2), "a"),
        Append(Dot("q", 1, 3), "c"),
        Add(Dot("r", 1, 1), stated(("c", "<>", "a"))),
    ],
]


@pytest.mark.parametrize("some", EVOLUTIONS, ids=("chain", "facts", "twice"))
@pytest.mark.parametrize("step", [17, pytest.param(3, marks=pytest.mark.slow)], ids=("some", "many"))
def test_any_order_of_arrival_at_a_replica(some: list[Evolution], step: int) -> None:
    """Of all 720 orders; asked after the third, so that changes are made in place too."""
    digests = set()
    for order in islice(permutations(some), 0, None, step):
        replica = Replica(Memory(), "here", incarnation=1)
        replica.take(order[:3])
        replica.online("a", "b")
        replica.take(order[3:5])
        replica.online("a", "b")
        replica.take(order[5:])
        replica.known._check()
        digests.add((replica.digest(), str(list(replica.table())), str(replica.twice)))
    assert len(digests) == 1


def test_what_stands_is_a_microcosm() -> None:
    """Nothing that quarantine leaves is refused by `Microcosm`, and `Microcosm` refuses nothing else."""
    for facts in combinations(all_facts("abc"), 3):
        aside = {fact.key() for conflict in quarantine([], map(stated, facts)) for fact in conflict.facts}
        Microcosm.parse("\n".join(" ".join(fact) for fact in facts if fact not in aside))


def test_every_pair_of_two_chains() -> None:
    """With chains of two processes, all pairs of orders between them."""
    cross = [(a, "<", b) for a, b in product("abc", "xyz")] + [(b, "<", a) for a, b in product("abc", "xyz")]
    for facts in combinations(cross, 2):
        check_against_the_definition(["abc", "xyz"], facts, quarantine(["abc", "xyz"], map(stated, facts)))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_set_aside_is_the_same_as_built_anew(seed: int) -> None:
    """While something is set aside, changes are made in place where nothing comes after them."""
    random = Random(seed)
    store = Memory()
    one = Replica(store, "one", incarnation=1)
    one.take(
        Add(Dot(name, 1, 1), Correspondence(left, Relation.BEFORE, right))
        for name, left, right in (("x", "u", "v"), ("y", "v", "u"))
    )
    places = random.sample(range(2, 400), 60)
    built, kept = one._view.microcosm, 0
    for n in range(60):
        name = random.choice("xy")
        dot = Dot(name, 1, n + 2 if n % 3 else 100 + places[n])
        some = random.sample(one.events, 2)
        match random.randrange(6):
            case 0 | 1:
                one.local(f"e{n}")
            case 2:
                with suppress(Contradiction):
                    one.learn(f"{some[0]} < new{n}")
            case 3:
                one.delivered(name, str(dot), b"", sent=Append(dot, f"c:{dot}"))
            case 4:
                one.take(
                    [
                        Append(dot, f"{name}{n}"),
                        Add(dot._replace(number=900 + n), stated((some[0], "<", f"{name}{n}"))),
                    ]
                )
            case 5:
                with suppress(Contradiction):
                    one.learn(f"{some[0]} {random.choice(('<', '||', '!<'))} {some[1]}")
        kept += one._view.microcosm is built
        built = one._view.microcosm
        again = Replica(store)
        assert [c.facts for c in one.conflicts] == [c.facts for c in again.conflicts]
        assert analogy_digest(one.known) == analogy_digest(again.known)
    assert len(one.conflicts) >= 1
    assert kept > 15


def test_an_event_that_two_claim_stands_in_no_chain() -> None:
    """What was given of it stays; its neighbours in both chains stay in order; it is named."""
    one, other = (Replica(Memory(), name, incarnation=1) for name in "ab")
    for name, replica in (("a", one), ("b", other)):
        for event in (f"{name}1", "both", f"{name}2"):
            replica.local(event)
    one.learn("x < both")
    level(one, other)
    for replica in (one, other):
        assert replica.twice == ["both"]
        assert replica.chains() == {("a", 1): ["a1", "a2"], ("b", 1): ["b1", "b2"]}
        assert replica.online("a1", "a2") is Relation.BEFORE
        assert replica.online("a1", "both") is Relation.UNKNOWN
        assert replica.online("x", "both") is Relation.BEFORE
    assert one.digest() == other.digest()


def test_what_is_set_aside_is_spelt_as_it_is_given_now() -> None:
    """Also where the same correspondence was set aside before, as somebody else had spelt it."""
    before: Decided = {}
    order, spelt, again = stated(("u", "<", "v")), stated(("v", "||", "u")), stated(("u", "||", "v"))
    assert quarantine([], [order, spelt], before)[0].facts == (order, spelt)
    found = quarantine([], [order, again], before)
    assert found == quarantine([], [order, again])
    assert found[0].facts == (order, again)
