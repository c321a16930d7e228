"""The events around an event are those with the verdict, none more and none less, under changed rules too."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest
from hypothesis import given, reject, settings

from microcosm import Microcosm, Relation
from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.logic.rulebook import RuleBook
from tests.rulesets import ADDED, TEN, extended, without
from tests.strategies import microcosms

VERDICTS = [
    Relation.BEFORE,
    Relation.AFTER,
    Relation.CONCURRENT,
    Relation.RELATED,
    Relation.UNKNOWN,
    Relation.SILENT,
]


@given(microcosms())
def test_each_event_is_in_exactly_one_neighbourhood_of_another(givens: Givens) -> None:
    known = Microcosm(givens)
    for event in known.events:
        found = {relation: list(known.with_verdict(relation, event)) for relation in VERDICTS}
        assert sorted(chain.from_iterable(found.values())) == [
            other for other in known.events if other != event
        ]
        for relation, there in found.items():
            assert all(known.online(other, event) is relation for other in there)
        assert list(known.past(event)) == found[Relation.BEFORE]
        assert list(known.future(event)) == found[Relation.AFTER]


@given(microcosms())
def test_what_lies_between_is_after_the_one_and_before_the_other(givens: Givens) -> None:
    known = Microcosm(givens)
    for a in known.events:
        for b in known.events:
            if a != b:
                ordered = known.online(a, b) is Relation.BEFORE
                expected = {e for e in known.future(a) if e in set(known.past(b))} if ordered else set()
                assert set(known.between(a, b)) == expected


@pytest.mark.parametrize("rules", [*(without(name) for name in TEN), *(extended(name) for name in ADDED)])
@settings(max_examples=5)
@given(givens=microcosms(high=5))
def test_the_verdicts_are_those_of_whatever_rules_there_are(rules: RuleBook, givens: Givens) -> None:
    try:
        known = Microcosm(givens, rules=rules)
    except Contradiction:
        reject()  # what one of the added rules concludes may contradict the givens
    for event in known.events:
        for relation in VERDICTS:
            found = set(known.with_verdict(relation, event))
            assert found == {e for e in known.events if e != event and known.online(e, event) is relation}


@given(microcosms())
def test_pairs_are_those_of_the_table(givens: Givens) -> None:
    known = Microcosm(givens)
    for relation in VERDICTS:
        assert list(known.pairs(relation)) == [
            (a, b) for a, b, verdict in known.table() if verdict is relation
        ]
    assert known.table().counts() == Counter(verdict for _, _, verdict in known.table())
