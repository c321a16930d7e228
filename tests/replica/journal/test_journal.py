"""The journal does what the plain store does, and survives being closed, killed, backed up and upgraded."""

from __future__ import annotations

import resource
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from microcosm.errors import JournalError
from microcosm.replica.journal import Journal, Reader
from microcosm.replica.journal import log as journal_log
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.examine import fsck
from microcosm.replica.journal.files import Disk, Flat
from microcosm.replica.journal.writer import Writer
from microcosm.replica.store import LogRecord, Memory
from tests.replica.invariants import check
from tests.replica.journal.journals import APPLICATION, FAST, content, journal, killed, left_open

RECORDS = st.lists(st.tuples(st.sampled_from(["a", "é", ""]), st.binary(max_size=40)), max_size=5)
MODES = st.sampled_from(["full", "normal", "off"])


class AgainstThePlainStore(RuleBasedStateMachine):
    """Whatever is done to both, the same is in both; a journal that is opened again has forgotten nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(dir=FAST)
        self.path = Path(self.folder.name) / "journal"
        self.model = Memory()
        self.journal = journal(self.path)
        self.reader = Reader(self.path, application=APPLICATION)

    def teardown(self) -> None:
        self.reader.close()
        self.journal.close()
        self.folder.cleanup()

    @rule(records=RECORDS)
    def commit(self, records: list[tuple[str, bytes]]) -> None:
        assert self.journal.commit(records) == self.model.commit(records)

    @rule(parts=st.lists(RECORDS, max_size=3))
    def group(self, parts: list[list[tuple[str, bytes]]]) -> None:
        with self.journal.group():
            assert [self.journal.commit(part) for part in parts] == [
                self.model.commit(part) for part in parts
            ]

    @rule(records=RECORDS)
    def group_that_fails(self, records: list[tuple[str, bytes]]) -> None:
        def block() -> None:
            with self.journal.group():
                self.journal.commit(records)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            block()

    @rule(back=st.integers(-1, 6), snapshot=st.binary(max_size=200))
    def compact(self, back: int, snapshot: bytes) -> None:
        through = self.journal.last - back
        try:
            self.model.compact(through, snapshot)
        except ValueError:
            with pytest.raises(ValueError, match="a snapshot through"):
                self.journal.compact(through, snapshot)
        else:
            self.journal.compact(through, snapshot)

    @rule(mode=MODES)
    def open_again(self, mode: str) -> None:
        self.journal.close()
        self.journal = journal(self.path, mode)  # type: ignore[arg-type]

    @rule()
    def backup(self) -> None:
        copy = self.path.with_name("copy")
        assert self.journal.backup(copy) == self.journal.last
        with journal(copy) as opened:
            assert content(opened) == content(self.model)
            assert opened.instance != self.journal.instance
            check(opened)
        for ending in ("", "-head", "-lock"):
            copy.with_name(copy.name + ending).unlink()

    @precondition(lambda self: self.journal.last)
    @rule(after=st.integers(0, 20))
    def read_from(self, after: int) -> None:
        assert list(self.journal.records(after)) == list(self.model.records(after))

    @invariant()
    def same(self) -> None:
        check(self.journal)
        assert content(self.journal) == content(self.model)
        assert (self.reader.snapshot(), list(self.reader.records())) == content(self.model)


TestAgainstThePlainStore = AgainstThePlainStore.TestCase
TestAgainstThePlainStore.settings = settings(max_examples=20, stateful_step_count=15)


def test_what_a_killed_process_committed_is_there(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    left_open(path, b"one", b"two")
    assert path.with_name("journal-wal").stat().st_size
    with journal(path) as opened:
        assert content(opened) == (None, [LogRecord(1, "note", b"one"), LogRecord(2, "note", b"two")])
        assert opened.commit([("note", b"three")]) == 3


@pytest.mark.parametrize("create", [False, True])
def test_what_is_no_journal_of_ours_is_left_alone(tmp_path: Path, create: bool) -> None:
    text, database, foreign = tmp_path / "text", tmp_path / "database", tmp_path / "foreign"
    text.write_text("a note, and longer than the sixteen bytes that SQLite looks at first")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE t (a)")
    Journal.open(foreign, application="other", create=True).close()
    for path, said in (
        (text, "is not a journal"),
        (database, "is not a journal"),
        (foreign, "is the journal of another application ('other', not 'test')"),
        (tmp_path, "is a directory"),
    ):
        before = path.read_bytes() if path.is_file() else b""
        uses = (
            lambda path: Journal.open(path, application=APPLICATION, create=create),
            lambda path: Reader(path, application=APPLICATION),
        )
        for use in uses:
            with pytest.raises(JournalError) as found:
                use(path)
            assert said in str(found.value)
            assert "\n" not in str(found.value)
        assert not path.is_file() or path.read_bytes() == before
    beside = {path.name for path in tmp_path.iterdir()} - {"text", "database"}
    assert all(name.startswith("foreign") for name in beside), "a lock beside what is no journal"


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no such journal"):
        Journal.open(tmp_path / "journal", application=APPLICATION)
    assert list(tmp_path.iterdir()) == []


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {journal_schema.version() + 1}")
    before = path.read_bytes()
    for open_it in (lambda: journal(path), lambda: Reader(path, application=APPLICATION)):
        with pytest.raises(
            JournalError, match=r"of version \d+; this program reads up to .*: use a newer one"
        ):
            open_it()
    assert path.read_bytes() == before


STEP = ("ALTER TABLE record ADD COLUMN colour TEXT", "CREATE TABLE colour (name TEXT)")


@pytest.mark.parametrize("crashed", [False, True])
def test_each_version_becomes_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crashed: bool
) -> None:
    path = tmp_path / "journal"
    if crashed:
        left_open(path, b"one", b"two")
    else:
        with journal(path) as opened:
            opened.commit([("note", b"one"), ("note", b"two")])
    old = journal_schema.version()
    monkeypatch.setattr(journal_schema, "STEPS", (*journal_schema.STEPS, STEP))
    with pytest.raises(JournalError, match="older version"):
        Reader(path, application=APPLICATION)
    with journal(path) as opened:
        assert [record.payload for record in opened.records()] == [b"one", b"two"]
        check(opened)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (old + 1,)
        assert connection.execute("SELECT count(*) FROM colour").fetchone() == (0,)


def test_an_upgrade_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"one")])
    with monkeypatch.context() as patch:
        patch.setattr(journal_schema, "STEPS", ((*STEP, "DELETE FROM record"),))
        with pytest.raises(JournalError, match="records 1 to 1, which were durable, are missing"):
            journal(path)
    with journal(path) as opened:
        assert [record.payload for record in opened.records()] == [b"one"]


def test_no_room_is_said_and_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"kept")])
        connection = opened._writer._connection
        [[pages]] = connection.execute("PRAGMA page_count").fetchall()
        connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(JournalError, match=r"database or disk is full; make room"):
            opened.commit([("note", bytes(100_000))])
        assert [record.payload for record in opened.records()] == [b"kept"]
        check(opened)
        assert opened.commit([("note", b"small")]) == 2
    with journal(path) as opened:
        assert [record.payload for record in opened.records()] == [b"kept", b"small"]


def test_a_disk_that_takes_no_more_stops_the_journal(tmp_path: Path) -> None:
    """The system refuses to let the log grow: an error of the disk to SQLite, not a full one."""
    path = tmp_path / "journal"
    said = tmp_path / "said"

    def work() -> None:
        opened = journal(path)
        size = path.with_name("journal-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 60_000, resource.RLIM_INFINITY))
        done = 0
        try:
            while True:
                done = opened.commit([("note", bytes(3000))])
        except JournalError as error:
            first = str(error)
        try:
            opened.commit([("note", b"")])
        except JournalError as error:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            said.write_text(f"{done}\n{first}\n{error}")

    killed(work)
    done, first, second = said.read_text().splitlines()
    assert int(done) > 3
    assert "cannot be written" in first
    assert "open it again" in second
    with journal(path) as opened:
        assert opened.last >= int(done)
        assert [record.number for record in opened.records()] == list(range(1, opened.last + 1))


@pytest.mark.parametrize("bad", [("note", "text"), (b"note", b""), ("note", bytearray(b"x"))])
def test_a_record_is_text_and_bytes(tmp_path: Path, bad: tuple[object, object]) -> None:
    with journal(tmp_path / "journal") as opened:
        with pytest.raises(TypeError):
            opened.commit([("note", b"good"), bad])  # type: ignore[list-item]
        assert opened.last == 0
        assert opened.commit([("note", b"good")]) == 1


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    opened = journal(tmp_path / "journal")
    opened.close()
    opened.close()
    for use in (lambda: opened.commit([]), opened.records, opened.snapshot, lambda: opened.compact(0, b"")):
        with pytest.raises(JournalError, match="is closed"):
            use()


def test_who_reads_slowly_does_not_keep_the_log_growing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that stopped in the middle holds no moment, so the log is reset again and again."""
    monkeypatch.setattr(Writer, "CHECKPOINT", 100_000)
    path = tmp_path / "journal"
    with journal(path) as opened, Reader(path, application=APPLICATION, max_age=0.0) as reader:
        opened.commit([("note", bytes(1000))] * 10)
        slow, mine = reader.records(), opened.records()
        assert next(slow).number == next(mine).number == 1
        for _ in range(100):
            opened.commit([("note", bytes(10_000))])
        assert path.with_name("journal-wal").stat().st_size < 500_000
        assert [record.number for record in slow] == [record.number for record in mine] == list(range(2, 11))


def test_the_log_is_made_large_once_and_has_no_damage(tmp_path: Path) -> None:
    """It stops growing after some commits; a copy of the files at that time is a journal like any other."""
    path = tmp_path / "journal"
    wal = path.with_name("journal-wal")
    sizes = []
    with journal(path) as opened:
        for n in range(60):
            opened.commit([("note", b"%d" % n)])
            sizes.append(wal.stat().st_size)
        assert sizes[0] < 100_000
        assert sizes[-1] == sizes[-30] > Writer.CHECKPOINT
        check(opened)
        for file in path.parent.iterdir():
            if not file.name.endswith(("lock", "shm")):
                shutil.copy(file, tmp_path / file.name.replace("journal", "copy"))
    assert fsck(tmp_path / "copy").faults == ()
    with journal(tmp_path / "copy") as opened:
        assert opened.last == 60
        opened.commit([("note", b"goes on")])
        check(opened)
    assert not wal.exists()


def test_without_room_the_log_grows_as_usual(tmp_path: Path) -> None:
    class Full(Disk):
        def flat(self, path: Path) -> Flat:
            found = super().flat(path)
            if path.name.endswith("-wal"):

                def write(offset: int, content: bytes) -> None:
                    Flat.write(found, offset, content[:100_000])
                    raise OSError(28, "No space left on device")

                found.write = write  # type: ignore[method-assign]
            return found

    path = tmp_path / "journal"
    with Journal.open(path, application=APPLICATION, create=True, disk=Full()) as opened:
        for n in range(60):
            opened.commit([("note", b"%d" % n)])
        assert path.with_name("journal-wal").stat().st_size < 1_500_000
        check(opened)
        assert opened.last == 60


def test_a_compaction_ends_the_reading_of_what_it_dropped(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened, Reader(path, application=APPLICATION, max_age=0.0) as reader:
        opened.commit([("note", b"")] * 5)
        records = reader.records()
        next(records)
        opened.compact(3, b"three")
        with pytest.raises(JournalError, match="was compacted while it was read; begin again"):
            next(records)
        assert [record.number for record in reader.records()] == [4, 5]


def test_a_reader_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"one")])

        def work() -> None:
            with Reader(path, application=None) as reader:
                (tmp_path / "said").write_text(f"{reader.last()} {next(reader.records()).payload!r}")

        killed(work)
        assert (tmp_path / "said").read_text() == "1 b'one'"
        opened.commit([("note", b"two")])
        check(opened)


def test_a_backup_replaces_nothing(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    with journal(tmp_path / "journal") as opened, pytest.raises(JournalError, match="exists already"):
        opened.backup(there)
    assert there.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "journal",
        "journal-head",
        "journal-lock",
        "there",
    ]


def test_a_payload_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert journal_log.LARGEST == 256 << 20
    monkeypatch.setattr(journal_log, "LARGEST", 100)
    with journal(tmp_path / "journal") as opened:
        with pytest.raises(JournalError, match="takes 100 bytes at most"):
            opened.commit([("note", bytes(100)), ("note", bytes(101))])
        assert opened.commit([("note", bytes(100))]) == 1
