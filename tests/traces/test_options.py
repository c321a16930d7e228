"""Records put aside: whatever they hold, they come back as they were."""

from __future__ import annotations

import marshal

import pytest

from microcosm.traces.event import Spool


def nested(depth: int) -> list[object]:
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


def depth_of(value: list[object]) -> int:
    depth = 0
    while value:
        [value] = value  # type: ignore[assignment]
        depth += 1
    return depth


def test_a_record_may_be_nested_deeper_than_marshal_writes() -> None:
    deep = nested(5_000)
    with pytest.raises(ValueError, match="deeply nested"):
        marshal.dumps(deep)
    spool = Spool()
    for at in range(1_000):
        spool.add((at, deep if at == 300 else [at]))
    for _ in range(2):
        found = list(spool)
        assert [record[0] for record in found] == list(range(1_000))
        assert depth_of(found[300][1]) == 5_000
    assert [record[0] for record in spool.read(500, 520)] == list(range(500, 520))
    assert [record[1] for record in spool.read(700, 703)] == [[700], [701], [702]]
