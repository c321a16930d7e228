"""What stands in a log that was recorded, and what is read from it."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from microcosm import Microcosm, Relation


def lines(path: Path) -> list[dict[str, Any]]:
    """The events of a log, as they stand there."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def named(path: Path) -> dict[str, str]:
    """By their labels, what the events are called."""
    return {str(each.get("label")): f"{each['process']}:{each['seq']}" for each in lines(path)}


def ordered(path: Path, *labels: str) -> None:
    """Assert that each of some events is read to be before the next."""
    known, at = Microcosm.read(path), named(path)
    for before, after in pairwise(labels):
        assert known.online(at[before], at[after]) is Relation.BEFORE, (before, after)
