"""Several threads, and processes, at one journal: they share transactions, or are told that they may not."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from microcosm.errors import JournalError, LockedJournal
from microcosm.replica.journal import writer as journal_writer
from microcosm.replica.store import Records
from tests.replica.invariants import check
from tests.replica.journal.journals import FAST, journal, killed


def test_threads_share_transactions(tmp_path: Path) -> None:
    with journal(tmp_path / "journal") as opened:
        go = threading.Barrier(9)
        numbers: list[int] = []

        def work() -> None:
            go.wait()
            numbers.append(opened.commit([("note", b"a"), ("note", b"b")]))

        threads = [threading.Thread(target=work) for _ in range(8)]
        with opened.group():  # who has begun a group keeps the others waiting together
            for thread in threads:
                thread.start()
            go.wait()
            while len(opened._commits.waiting) < 8:
                os.sched_yield()
            assert opened.commit([("note", b"first")]) == 1
        for thread in threads:
            thread.join()
        assert sorted(numbers) == list(range(3, 19, 2))
        assert opened._writer.transactions == 2
        check(opened)


def test_many_threads_many_times() -> None:
    """Nobody is left waiting, every number is given once, and each finds its record under its number."""
    given: dict[int, bytes] = {}
    with TemporaryDirectory(dir=FAST) as folder, journal(Path(folder) / "journal") as opened:

        def work(name: int) -> None:
            for n in range(30):
                payload = bytes([name, n])
                if n % 10 == name:
                    with opened.group():
                        number = opened.commit([("note", payload)])
                elif n % 10 == 9:
                    opened.commit([])
                    opened.compact(0, payload)
                    continue
                else:
                    number = opened.commit([("note", payload)])
                given[number] = payload

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {record.number: record.payload for record in opened.records()} == given
        assert sorted(given) == list(range(1, 8 * 27 + 1))
        check(opened)


def test_a_group_that_fails_takes_no_other_thread_along(tmp_path: Path) -> None:
    with journal(tmp_path / "journal") as opened:
        other = threading.Thread(target=lambda: opened.commit([("other", b"")]))

        def block() -> None:
            with opened.group():
                opened.commit([("mine", b"")])
                other.start()
                while not opened._commits.waiting:
                    os.sched_yield()
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            block()
        other.join()
        assert [record.kind for record in opened.records()] == ["other"]


def test_what_fails_fails_for_all_who_waited(tmp_path: Path) -> None:
    with journal(tmp_path / "journal") as opened:
        opened._writer._connection.execute("PRAGMA max_page_count = 20")
        said: list[str] = []

        def work(size: int) -> None:
            try:
                said.append(f"number {opened.commit([('note', bytes(size))])}")
            except JournalError as error:
                said.append(error.message)

        threads = [threading.Thread(target=work, args=(size,)) for size in (10, 200_000, 20)]
        with opened.group():
            for thread in threads:
                thread.start()
            while len(opened._commits.waiting) < 3:
                os.sched_yield()
        for thread in threads:
            thread.join()
        assert said == ["cannot be written: database or disk is full"] * 3
        assert list(opened.records()) == []


def test_an_interrupt_leaves_the_next_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether while it waits for others or while it waits to be woken: nobody waits for who is gone."""
    with journal(tmp_path / "journal") as opened:

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        for number, (part, name) in enumerate(
            ((opened._commits.queue, "wait_for"), (opened._writer, "append")), 1
        ):
            with monkeypatch.context() as patch:
                patch.setattr(part, name, interrupted)
                with pytest.raises(KeyboardInterrupt):
                    opened.commit([("note", b"withdrawn")])
            assert opened.commit([("note", b"kept")]) == number
        assert [record.payload for record in opened.records()] == [b"kept", b"kept"]


def test_one_writes_and_others_say_so(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path), pytest.raises(LockedJournal, match=rf"locked by process {os.getpid()}"):
        journal(path)
    journal(path).close()


def test_a_fork_may_not_write(tmp_path: Path) -> None:
    with journal(tmp_path / "journal") as opened:

        def work() -> None:
            with pytest.raises(JournalError, match="before a fork"):
                opened.commit([("note", b"")])
            (tmp_path / "said").touch()

        killed(work)
        assert (tmp_path / "said").exists()
        opened.commit([("note", b"")])


def test_who_leaves_while_it_is_written_for_breaks_no_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others who share its transaction are woken all the same."""
    with journal(tmp_path / "journal") as opened:
        written = threading.Event()
        said: dict[int, str] = {}

        class Left:
            """In place of a lock: whoever waits for it is interrupted while the transaction is written."""

            def __init__(self) -> None:
                self.acquired = 0

            def acquire(self) -> None:
                self.acquired += 1
                if self.acquired > 1:
                    written.wait()
                    raise KeyboardInterrupt

            def release(self) -> None:
                pass

        class Leaving(journal_writer.Commit):
            def __init__(self, records: Records) -> None:
                super().__init__(records)
                if records[0][1] in (b"2", b"5"):
                    self.wake = Left()  # type: ignore[assignment]
                    self.wake.acquire()

        append = opened._writer.append

        def appended(records: Records) -> None:
            if records:
                written.set()
                while not set(said) >= {2, 5}:
                    os.sched_yield()
            append(records)

        def work(name: int) -> None:
            try:
                said[name] = str(opened.commit([("note", str(name).encode())]))
            except KeyboardInterrupt:
                said[name] = "left"

        monkeypatch.setattr(journal_writer, "Commit", Leaving)
        threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in range(7)]
        with opened.group():
            monkeypatch.setattr(opened._writer, "append", appended)
            for at, thread in enumerate(threads, 1):
                thread.start()
                while len(opened._commits.waiting) < at:
                    os.sched_yield()
        for thread in threads:
            thread.join(10)
        assert {name: what for name, what in said.items() if what == "left"} == {2: "left", 5: "left"}
        assert len(said) == 7
        assert len(list(opened.records())) == 7
