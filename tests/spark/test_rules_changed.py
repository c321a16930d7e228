"""What a task of Spark says of one microcosm under other rules; no session is needed to ask."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from microcosm import Microcosm
from microcosm.compare.verdict_rows import analogous
from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.logic.rulebook import read_rules
from tests.notation import mc
from tests.random_rules import random_givens, random_rules

pytest.importorskip("pyarrow")

from microcosm.spark.bisim import microcosms


def folder(tmp_path: Path, text: str) -> str:
    (tmp_path / "some.rules").write_text(text, encoding="utf-8")
    return str(tmp_path)


def without_transitivity() -> str:
    kept = (rule for rule in read_rules().rules if rule.name != "In-Tr")
    return "\n".join(rule.text for rule in kept)


@pytest.mark.parametrize("text", ["a<b b<c c<a", "a<b b<c a||c"])
def test_worlds_do_not_ask_for_rules(tmp_path: Path, text: str) -> None:
    """Without In-Tr neither is a contradiction at once; yet no world fits."""
    rules = folder(tmp_path, without_transitivity())
    digest, consistent = microcosms.judged(mc(text), rules)
    assert digest is not None
    assert not consistent


def test_rules_that_see_a_contradiction_make_no_world_unfit(tmp_path: Path) -> None:
    odd = without_transitivity() + "\nrule Odd:\n |-0 a < b\n ---\n |-0 a || b\n"
    assert microcosms.judged(mc("a<b"), folder(tmp_path, odd)) == (None, True)
    assert list(microcosms.offline(microcosms.document(mc("a<b")), folder(tmp_path, odd))) == []


@pytest.mark.parametrize("seed", range(10))
def test_digests_and_witnesses_under_random_rules(tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    book = random_rules(rng)
    rules = folder(tmp_path, "\n".join(rule.text for rule in book.rules))
    known: list[tuple[Givens, str]] = []
    for _ in range(4):
        givens = random_givens(rng, "abc")
        digest, _ = microcosms.judged(givens, rules)
        try:
            Microcosm(givens, rules=book)
        except Contradiction:
            assert digest is None
            continue
        assert digest is not None
        known.append((givens, digest))
    for one, of_one in known:
        for other, of_other in known:
            left, right = (Microcosm(each, rules=book) for each in (one, other))
            same = analogous(left, right)
            witness = microcosms.difference(microcosms.document(one), microcosms.document(other), rules)
            assert (witness is None) is same
            if left.events == right.events:
                assert (of_one == of_other) is same
            if witness is not None:
                a, b, *verdicts = witness
                assert [left.online(a, b).value, right.online(a, b).value] == verdicts
