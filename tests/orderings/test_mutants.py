"""Every mutant of `mutants.py` is noticed by the tests that it names (slow: each runs them on a copy)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faulty import FaultyCopy
from tests.orderings.mutants import MUTANTS, Mutant
from tests.thorough import draws

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_made(mutant: Mutant) -> None:
    """What a mutant replaces stands in its file, once."""
    for file, old, _ in mutant.changes:
        assert (ROOT / file).read_text(encoding="utf-8").count(old) == 1, (file, old)


JUDGE = "tests.orderings.judge"


@pytest.mark.slow
def test_without_a_fault_they_pass(faulty: FaultyCopy) -> None:
    assert faulty.passes(
        JUDGE, dict.fromkeys(name for mutant in MUTANTS[:: draws(6, 1)] for name in mutant.noticed_by)
    )


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS[:: draws(6, 1)], ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant: Mutant, faulty: FaultyCopy) -> None:
    assert not faulty.passes(JUDGE, mutant.noticed_by, mutant.changes)
