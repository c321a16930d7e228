"""Every mutant of `mutants.py` is noticed by the tests that it names (slow: each runs them in a copy)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faulty import Change, FaultyCopy
from tests.protocol.mutants import MUTANTS, Mutant
from tests.thorough import draws

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_made(mutant: Mutant) -> None:
    """What a mutant replaces stands in its files, once."""
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in files(mutant))
    assert [text.count(old) for old, _ in mutant.changes] == [1] * len(mutant.changes)


def files(mutant: Mutant) -> list[str]:
    """Those of the mutant, from the root: of the package, or models, which stand beside their tests."""
    folders = ("microcosm/protocol", "tests/protocol")
    return [
        next(f"{at}/{file}" for at in folders if (ROOT / at / file).exists()) for file in mutant.file.split()
    ]


def changes(mutant: Mutant) -> list[Change]:
    """What the mutant changes, each in the one of its files that has that text."""
    names = files(mutant)
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    return [(next(n for n in names if old in texts[n]), old, new) for old, new in mutant.changes]


def within_protocol(names: str) -> str:
    return " ".join(f"tests/protocol/{name}" for name in names.split())


@pytest.mark.slow
def test_without_a_fault_they_pass(faulty: FaultyCopy) -> None:
    assert faulty.tested(within_protocol("hybrid/test_hybrid.py test_delivery.py"))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS[:: draws(6, 1)], ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant: Mutant, faulty: FaultyCopy) -> None:
    assert not faulty.tested(within_protocol(mutant.tests), changes(mutant))
