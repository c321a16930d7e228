"""What people read: every transcript in `tests/golden`, replayed and compared line by line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.transcript import replay

GOLDEN = Path(__file__).parents[1] / "golden"
TRANSCRIPTS = sorted(GOLDEN.glob("*.txt"))


@pytest.mark.parametrize("file", TRANSCRIPTS, ids=lambda file: file.stem)
def test_the_command_line_says_what_it_said(
    file: Path, tmp_path: Path, run: Callable[..., object], golden: Callable[[str, str], None]
) -> None:
    golden(file.name, replay(file.read_text(encoding="utf-8"), tmp_path, run))


def test_there_are_transcripts() -> None:
    assert len(TRANSCRIPTS) >= 10
