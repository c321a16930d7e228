"""Restarts, fences and evictions at small scope: every interleaving."""

from __future__ import annotations

import pytest

from tests.replica.network.explore import Script, explored

A, B, C = range(3)


@pytest.mark.parametrize(
    ("messages", "restarts", "evict", "states"),
    [(2, 1, False, 4_000), (2, 0, True, 8_000), (1, 2, True, 2_000)],
)
def test_anybody_to_anybody(messages: int, restarts: int, evict: bool, states: int) -> None:
    fault, seen = explored(messages, restarts, evict)
    assert fault is None
    assert seen > states


SCRIPTS = {
    "the permit of the evicted is missed": ((A, B), (A, C), (C, B)),
    "an ack of the evicted is missed": ((C, A), (C, B), (B, A)),
    "the evicted passes something on": ((B, A), (B, C), (A, C)),
    "the evicted hears of two": ((B, A), (C, A), (B, C)),
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_three_messages_in_a_row(script: Script) -> None:
    """Evicted at any moment between: what is let go of is never missed by what is sent afterwards."""
    fault, seen = explored(script, 0, True)
    assert fault is None
    assert seen > 1_000
