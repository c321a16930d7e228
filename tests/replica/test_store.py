"""The store in memory; what it does is what the journal is held to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from microcosm.replica.journal import Reader
from microcosm.replica.replica import Replica
from microcosm.replica.store import LogRecord, Memory, Store


def test_records_are_numbered_in_the_order_of_commits() -> None:
    store: Store = Memory()
    assert store.commit([]) == 0
    assert store.commit([("a", b"1"), ("b", b"")]) == 2
    before = store.records()
    assert store.commit([("a", b"3")]) == 3
    assert list(before) == [LogRecord(1, "a", b"1"), LogRecord(2, "b", b"")]
    assert list(store.records(after=2)) == [LogRecord(3, "a", b"3")]


def test_a_snapshot_replaces_what_it_covers() -> None:
    store: Store = Memory()
    store.commit([("a", b"1"), ("a", b"2"), ("a", b"3")])
    assert store.snapshot() is None
    store.compact(2, b"twice")
    store.compact(2, b"again")
    assert store.snapshot() == (2, b"again")
    assert list(store.records()) == [LogRecord(3, "a", b"3")]
    assert store.commit([("a", b"4")]) == 4


@pytest.mark.parametrize("through", [1, 4])
def test_a_snapshot_reaches_neither_back_nor_ahead(through: int) -> None:
    store: Store = Memory()
    store.commit([("a", b"1"), ("a", b"2"), ("a", b"3")])
    store.compact(2, b"two")
    with pytest.raises(ValueError, match=r"records 3 to 3"):
        store.compact(through, b"")
    assert store.snapshot() == (2, b"two")


@pytest.mark.parametrize("before", [True, False])
def test_what_is_compacted_while_it_is_read_is_read_from_its_snapshot(tmp_path: Path, before: bool) -> None:
    file = tmp_path / "a.journal"
    with closing(Replica(file, "a")) as a, closing(Reader(file)) as reader:
        a.learn("x < y")
        a.compact()
        for number in range(40):  # more than are read at once
            a.learn(f"x{number} < {'y' * 60_000}")

        class Meanwhile:
            """Its snapshot is read, and then much happens: before its records are, or in their midst."""

            def snapshot(self) -> tuple[int, bytes] | None:
                found = reader.snapshot()
                if before:
                    self.happens()
                return found

            def records(self, after: int) -> Iterator[LogRecord]:
                for record in reader.records(after):
                    yield record
                    self.happens()

            def happens(self) -> None:
                if "last" not in a.events:
                    a.remove("x < y")
                    a.compact()
                    a.local("last")

        seen = Replica(cast("Store", Meanwhile()))
        assert seen.events == a.events
        assert seen.digest() == a.digest()
