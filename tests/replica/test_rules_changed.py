"""A replica with edited rules answers as a microcosm of what stands, and all replicas set aside alike."""

from __future__ import annotations

from itertools import combinations, permutations
from pathlib import Path
from random import Random

import pytest

from microcosm.compare.digest import analogy_digest
from microcosm.errors import Contradiction, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel.check import check
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Add, Append, Evolution
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory
from tests.engine.test_changed_rules import VARIANTS, contradictory
from tests.naive import Naive
from tests.random_rules import random_rules
from tests.rulesets import ten, without
from tests.thorough import draws

RELATIONS = (Relation.BEFORE, Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.NOT_BEFORE)


def told(rng: Random) -> list[Evolution]:
    """What two processes and an observer say: it may well contradict itself."""
    said: list[Evolution] = [Append(Dot("p", 1, at + 1), event) for at, event in enumerate("abc")]
    said += [Append(Dot("q", 1, at + 1), event) for at, event in enumerate("xy")]
    pairs = list(permutations("abcxye", 2))
    for at, (a, b) in enumerate(rng.sample(pairs, rng.randint(2, 8))):
        said.append(Add(Dot("z", 1, at + 1), Correspondence(a, rng.choice(RELATIONS), b).normal()))
    return said


def replicas(rules: RuleBook, said: list[Evolution], rng: Random) -> list[Replica]:
    found = []
    for name in ("p", "q", "o"):
        replica = Replica(Memory(), name, incarnation=1, rules=rules)
        others = []
        for evolution in said:
            if evolution.dot.replica != name:
                others.append(evolution)
            elif isinstance(evolution, Append):
                replica.local(evolution.event)
        replica.take(rng.sample(others, len(others)))
        found.append(replica)
    return found


def agreed(rules: RuleBook, rng: Random) -> None:
    found = replicas(rules, told(rng), rng)
    try:
        tables = [{(a, b): r.online(a, b) for a, b in permutations(r.events, 2)} for r in found]
    except Contradiction:  # which rules may see in the chains alone
        assert contradictory(Naive(rules, chains()))
        return
    assert tables[0] == tables[1] == tables[2]
    assert len({r.digest() for r in found}) == 1
    for replica in found:
        naive = Naive(rules, replica.known.givens)
        named = set(naive.events)  # what is set aside may name others
        assert all(v is naive.verdict(*pair) for pair, v in tables[0].items() if named.issuperset(pair))
        for conflict in replica.conflicts:
            together = Givens()
            for fact in (*conflict.orders, *conflict.facts):
                together.add(fact)
            for side in conflict.derivations():
                assert check(together, rules, side.to_json()) is None


def chains() -> Givens:
    givens = Givens()
    for a, b in (*combinations("abc", 2), ("x", "y")):
        givens.add(Correspondence(a, Relation.BEFORE, b))
    return givens


@pytest.mark.parametrize("variant", VARIANTS)
def test_replicas_agree_under_the_variants(variant: str) -> None:
    rng = Random(variant)
    for _ in range(3):
        agreed(VARIANTS[variant](), rng)


@pytest.mark.parametrize("seed", range(20))
def test_replicas_agree_under_random_rules(seed: int) -> None:
    rng = Random(seed)
    agreed(random_rules(rng), rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 20 + draws(15, 280)))
def test_replicas_agree_under_many_random_rules(seed: int) -> None:
    rng = Random(seed)
    rules = random_rules(rng)
    for _ in range(3):
        agreed(rules, rng)


def test_what_contradicts_is_asked_of_the_rules_in_force() -> None:
    """A cycle of three is none without transitivity: nothing is set aside, and every question is answered."""
    [replica, *_] = replicas(without("In-Tr"), [], Random(0))
    replica.learn("a < b")
    replica.learn("b < c")
    replica.learn("c < a")
    assert replica.conflicts == []
    assert replica.online("a", "b") is replica.online("c", "a") is Relation.BEFORE
    with pytest.raises(Contradiction):
        replica.learn("b < a")


def test_a_journalled_replica_forgets_under_edited_rules(tmp_path: Path) -> None:
    for name, rules, told in (
        ("none", without("In-Tr"), Relation.UNKNOWN),
        ("all", read_rules(), Relation.BEFORE),
    ):
        replica = Replica(tmp_path / name, "p", incarnation=1, rules=rules)
        replica.learn("a < b")
        replica.learn("b < c")
        replica.forget("b")
        replica.close()
        again = Replica(tmp_path / name, "p", rules=rules)
        assert again.online("a", "c") is told
        assert len(again.known.givens.external) == (told is Relation.BEFORE)
        again.close()


def test_what_cannot_be_forgotten_stays() -> None:
    """What a rule says of two events by way of a third one, and no given could say."""
    rules = parse_rules(ten() + "rule Seen:\n |-0 a || e\n |-0 e || b\n ---\n |-0 a ? b\n")
    replica = Replica(Memory(), "p", incarnation=1, rules=rules)
    replica.learn("a || e")
    replica.learn("e || b")
    before = analogy_digest(replica.known)
    with pytest.raises(Undefined, match="under these rules e cannot be forgotten"):
        replica.forget("e")
    assert analogy_digest(replica.known) == before
