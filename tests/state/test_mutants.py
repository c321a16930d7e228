"""Every mutant of `mutants.py` is noticed by the test that it names (slow: each runs it on a copy)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faulty import FaultyCopy
from tests.state.mutants import MUTANTS, Mutant
from tests.thorough import draws

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_made(mutant: Mutant) -> None:
    """What a mutant replaces stands in its file, once."""
    assert (ROOT / "microcosm" / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1


@pytest.mark.slow
def test_without_a_fault_they_pass(faulty: FaultyCopy) -> None:
    assert faulty.tested(
        " ".join(dict.fromkeys(mutant.tests for mutant in MUTANTS[:: draws(len(MUTANTS), 1)]))
    )


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS[:: draws(6, 1)], ids=lambda mutant: mutant.name)
def test_a_mutant_is_noticed(mutant: Mutant, faulty: FaultyCopy) -> None:
    assert not faulty.tested(mutant.tests, [(f"microcosm/{mutant.file}", mutant.old, mutant.new)])
