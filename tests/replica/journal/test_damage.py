"""What was acknowledged is there, or the journal says that it is damaged: never anything else."""

from __future__ import annotations

import random
import resource
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from microcosm.errors import DamagedJournal, JournalError, LockedJournal
from microcosm.replica.journal import Journal, Reader
from microcosm.replica.journal import examine as journal_wal
from microcosm.replica.journal import schema as journal_schema
from microcosm.replica.journal.examine import fsck
from microcosm.replica.store import LogRecord
from tests.replica.invariants import check
from tests.replica.journal.journals import APPLICATION, FAST, content, files, journal, killed, lay, left_open

PAYLOADS = tuple(bytes([65 + n]) * (700 * n) for n in range(1, 9))


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A journal of eight transactions that are all in the log only."""
    path = tmp_path / "journal"
    left_open(path, *PAYLOADS)
    return path


def damaged(path: Path) -> str:
    """What is said of a journal that must not open; it is left as it was, and a copy is kept."""
    before = files(path)
    with pytest.raises(DamagedJournal) as found:
        journal(path)
    assert files(path) == before
    assert found.value.copy is not None
    assert files(Path(found.value.copy) / path.name) == before
    assert "\n" not in str(found.value)
    return str(found.value)


def flip(path: Path, at: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def test_a_lost_log_is_noticed(left: Path) -> None:
    beside(left, "-wal").unlink()
    assert "records 1 to 8, which were durable, are missing" in damaged(left)
    with pytest.raises(DamagedJournal, match="records 1 to 8"):
        Reader(left, application=APPLICATION)


def test_a_lost_database_is_noticed(left: Path) -> None:
    left.unlink()
    for create in (False, True):
        with pytest.raises(JournalError, match=r"no such journal|is gone, but what lies beside it is there"):
            Journal.open(left, application=APPLICATION, create=create)
    assert not left.exists()


def test_a_lost_head_is_noticed(left: Path) -> None:
    beside(left, "-head").unlink()
    assert "the head file is missing" in damaged(left)


def test_a_head_of_zeros_is_noticed(left: Path) -> None:
    """As some file systems leave a file whose content had not been written when the power went."""
    head = beside(left, "-head")
    head.write_bytes(bytes(head.stat().st_size))
    assert "a slot of the head file is missing" in damaged(left)
    with pytest.raises(DamagedJournal, match="a slot of the head file is missing"):
        Reader(left, application=APPLICATION)
    assert fsck(left, repair=True).last == 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE snapshot SET through = NULL", "the snapshot does not check"),
        ("UPDATE snapshot SET chain = 1", "the snapshot does not check"),
        ("UPDATE about SET value = NULL WHERE name = 'application'", "the table `about` has no form"),
        ("UPDATE about SET value = 'x' WHERE name = 'identity'", "the table `about` has no form"),
        ("UPDATE about SET value = x'ff' WHERE name = 'application'", "the table `about` has no form"),
        ("DELETE FROM about", "the table `about` has no form"),
    ],
)
def test_rows_that_say_something_else_are_noticed(tmp_path: Path, change: str, said: str) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"1")])
        opened.compact(1, b"one")
    with closing(sqlite3.connect(path)) as connection, connection:  # what damages pages heeds no schema
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '')")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    assert said in damaged(path)
    with pytest.raises(DamagedJournal, match=said):
        Reader(path, application=APPLICATION)


def test_an_old_head_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"1")])
    old = files(path)["-head"]
    with journal(path) as opened:
        opened.commit([("note", b"2")])
        opened.commit([("note", b"3")])
    beside(path, "-head").write_bytes(old)
    assert "more than a transaction behind, at record 1 of 3" in damaged(path)


def test_an_old_database_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"1")])
    old = path.read_bytes()
    with journal(path) as opened:
        opened.commit([("note", b"2")])
    path.write_bytes(old)
    assert "records 2 to 2, which were durable, are missing" in damaged(path)


def test_a_lost_snapshot_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "journal"

    def work() -> None:
        opened = journal(path)
        opened.commit([("note", b"1")])
        opened.compact(1, b"one")
        opened._writer.checkpoint("TRUNCATE")
        shutil.copy(path, path.with_name("old"))
        opened.compact(1, b"uno")

    killed(work)
    beside(path, "-wal").unlink()
    shutil.move(path.with_name("old"), path)
    assert "the snapshot through record 1, which was durable, is missing" in damaged(path)


@pytest.mark.parametrize("version", [0, 1])
def test_an_older_version_than_it_was_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    path = tmp_path / "journal"
    with monkeypatch.context() as patch:
        patch.setattr(journal_schema, "STEPS", (("CREATE TABLE more (a)",),))
        journal(path).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(JournalError, match=r"of no version that|are of version 1, and were of 2"):
            journal(path)


def test_through_a_link_it_is_the_same_journal(left: Path) -> None:
    link = left.with_name("link")
    link.symlink_to(left)
    beside(left, "-wal").write_bytes(beside(left, "-wal").read_bytes()[:-1])
    assert "records 8 to 8, which were durable, are missing" in damaged(left)
    with pytest.raises(DamagedJournal, match="records 8 to 8"):
        journal(link)


def test_an_empty_database_keeps_its_log(left: Path) -> None:
    """SQLite deletes the log beside an empty database, also where it only reads."""
    left.write_bytes(b"")
    before = files(left)
    for look in (journal, fsck, lambda path: fsck(path, repair=True), Reader):
        with pytest.raises(DamagedJournal, match="it is empty; restore a backup"):
            look(left)
        assert files(left) == before
    beside(left, "-head").unlink()
    with pytest.raises(JournalError, match="is not a journal"):
        Reader(left)
    assert files(left) == {"-wal": before["-wal"]}


def test_a_journal_that_does_not_say_so_any_more_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal(path).close()
    flip(path, 70)
    assert "it does not say any more that it is a journal" in damaged(path)
    with pytest.raises(DamagedJournal, match="does not say any more"):
        Reader(path, application=APPLICATION)


def test_where_there_is_no_room_to_look_nothing_is_damaged(tmp_path: Path) -> None:
    """SQLite writes even to read; what it says then was taken for damage, of which nothing could be saved."""
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"1")])
    before = files(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9000, limits[1]))
    try:
        for look in (journal, fsck, lambda path: fsck(path, repair=True), Reader):
            with pytest.raises(
                JournalError, match=r"cannot be read now: disk I/O error; .* has room"
            ) as found:
                look(path)
            assert not isinstance(found.value, DamagedJournal)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files(path) == before
    assert not list(tmp_path.glob("*damaged*"))
    assert fsck(path).last == 1


def test_no_room_for_a_copy_of_what_is_damaged_leaves_none_by_half(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"1" * 9000)])
    beside(path, "-head").unlink()
    flip(path, path.read_bytes().index(b"1" * 99))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(
        sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    ) as connection:  # what SQLite writes is there
        connection.execute("SELECT * FROM about").fetchall()
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, limits[1]))
        try:
            with pytest.raises(DamagedJournal) as found:
                journal(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert found.value.copy is None
    assert not list(tmp_path.glob("*damaged*"))


def test_a_backup_says_what_is_damaged_and_what_has_no_room(tmp_path: Path) -> None:
    path, copy = tmp_path / "journal", tmp_path / "copy"
    with journal(path) as opened:
        opened.commit([("note", b"1" * 9000)])
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, limits[1]))
        try:
            with pytest.raises(JournalError, match="copy: cannot be written"):
                opened.backup(copy)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    flip(path, path.read_bytes().index(b"1" * 99))
    said = r"journal: damaged: the chain breaks at record 1;.*fsck"
    with Reader(path, application=APPLICATION) as reader, pytest.raises(DamagedJournal, match=said):
        journal_wal.backup(reader, copy)
    assert not list(tmp_path.glob("*copy*"))


def test_two_backups_to_one_place_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head file of the one and the database of the other: both had said that it was there.

    And what begins a journal at that place lost it: a backup that failed took it away with its own.
    """
    copy, build = tmp_path / "copy", journal_wal.build
    with journal(tmp_path / "journal") as opened:
        opened.commit([("note", b"1")])

        def meanwhile(*arguments: Any) -> Any:
            monkeypatch.setattr(journal_wal, "build", build)
            with pytest.raises(LockedJournal, match="copy: locked by process"):
                opened.backup(copy)
            with pytest.raises(LockedJournal, match="copy: locked by process"):
                journal(copy)
            return build(*arguments)

        monkeypatch.setattr(journal_wal, "build", meanwhile)
        assert opened.backup(copy) == 1
        with pytest.raises(JournalError, match="exists already"):
            opened.backup(copy)
    assert [each.name for each in sorted(tmp_path.glob("*copy*"))] == ["copy", "copy-head"]
    assert fsck(copy).faults == ()


def test_a_lock_that_was_taken_away_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup takes its own away: who had opened it by then, and who makes a new one, would both have it."""
    path = tmp_path / "journal"
    journal(path).close()
    taken = iter([True])

    def flock(*_: Any) -> None:
        if next(taken, False):
            beside(path, "-lock").unlink()

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(LockedJournal):
        journal(path)
    journal(path).close()


def test_an_interrupted_backup_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when Ctrl-C comes while the folder is synced: its files have their names already."""
    with journal(tmp_path / "journal") as opened:
        opened.commit([("note", b"1")])
        for left in range(2):
            syncs = iter([None] * left)

            def synced(*_: Any, syncs: Any = syncs) -> None:
                if next(syncs, 0) == 0:
                    raise KeyboardInterrupt

            with monkeypatch.context() as patched:
                patched.setattr("microcosm.replica.journal.files.Disk.sync_folder", synced)
                with pytest.raises(KeyboardInterrupt):
                    opened.backup(tmp_path / "copy")
            assert not [*tmp_path.glob("*copy*")]


def test_a_column_more_is_nothing_to_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"1")])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE record ADD COLUMN seen")
        connection.execute("ALTER TABLE snapshot ADD COLUMN seen")
    with journal(path) as opened:
        opened.commit([("note", b"2")])
        opened.compact(1, b"one")
        assert content(opened) == ((1, b"one"), [LogRecord(2, "note", b"2")])


def test_the_head_of_a_copy_is_another(tmp_path: Path) -> None:
    path, copy = tmp_path / "journal", tmp_path / "copy"
    with journal(path) as opened:
        opened.commit([("note", b"1")])
        opened.backup(copy)
    shutil.copy(beside(copy, "-head"), beside(path, "-head"))
    assert "the head file is that of another copy" in damaged(path)


@pytest.mark.parametrize("frames", [0, 1, 3])
def test_a_last_transaction_that_was_cut_short_is_none(left: Path, frames: int) -> None:
    """Bytes of one more transaction after the last: a part of a frame, or whole ones that do not check."""
    log = beside(left, "-wal")
    whole = log.read_bytes()
    page = 4096 + 24
    more = bytearray(whole[32 : 32 + frames * page])
    for at in range(0, len(more), page):
        more[at + 4 : at + 8] = bytes(4)  # no commit mark
        more[at + 200] ^= 1
    log.write_bytes(whole + more + whole[32:99])
    assert journal_wal.scan(log).after == frames
    report = fsck(left)
    assert (report.faults, report.dropped, report.last) == ((), frames, 8)
    with journal(left) as opened:
        assert [record.payload for record in opened.records()] == list(PAYLOADS)


def test_a_bad_frame_in_the_middle_is_damage(left: Path) -> None:
    log = beside(left, "-wal")
    whole = journal_wal.scan(log)
    assert whole.header == "good"
    assert (whole.after, whole.marks, whole.faults) == (0, 0, ())
    flip(log, 32 + 24 + 4096 + 24 + 1000)
    said = damaged(left)
    assert "frame 2 of the write-ahead log or one soon after does not check" in said
    assert "and 7 transactions follow it" in said


def test_a_bad_frame_in_the_last_transaction_is_damage(left: Path) -> None:
    """Torn it could be; that it had been acknowledged is what the head knows."""
    log = beside(left, "-wal")
    flip(log, log.stat().st_size - 1)
    assert journal_wal.scan(log).faults == ()
    assert "records 8 to 8, which were durable, are missing" in damaged(left)


def test_the_scan_sees_what_sqlite_sees(left: Path) -> None:
    """Cut anywhere, SQLite finds as many transactions as our own eyes."""
    log, whole = beside(left, "-wal"), beside(left, "-wal").read_bytes()
    commits = [0]
    for end in range(32 + 4120, len(whole) + 1, 4120):
        if journal_wal.scan_bytes(whole[:end]).committed == (end - 32) // 4120:
            commits.append((end - 32) // 4120)
    assert len(commits) == 9  # none, and after each of the eight
    beside(left, "-head").unlink()
    for cut in random.Random(5).sample(range(33, len(whole)), 12):
        log.write_bytes(whole[:cut])
        beside(left, "-shm").unlink(missing_ok=True)
        seen = journal_wal.scan_bytes(whole[:cut])
        assert fsck(left).last == commits.index(seen.committed)


def outcome(path: Path) -> str:
    """`same` where all that was acknowledged is there, `refused` where it is said that something is wrong."""
    try:
        with journal(path) as opened:
            found = [(record.kind, record.payload) for record in opened.records()]
            snapshot = opened.snapshot()
    except JournalError:
        return "refused"
    assert found == [("note", payload) for payload in PAYLOADS[2:]]
    assert snapshot == (2, b"A and B" * 200)
    return "same"


def flips(count: int, seed: int) -> dict[str, int]:
    """Flip one bit, `count` times, each in one of the files; how many flips in each file were refused."""
    chosen = random.Random(seed)
    refused = dict.fromkeys(("", "-wal", "-head"), 0)
    with TemporaryDirectory(dir=FAST) as folder:
        path = Path(folder) / "journal"

        def work() -> None:
            opened = journal(path)
            for payload in PAYLOADS[:5]:
                opened.commit([("note", payload)])
            opened.compact(2, b"A and B" * 200)
            opened._writer.checkpoint("TRUNCATE")
            for payload in PAYLOADS[5:]:
                opened.commit([("note", payload)])

        killed(work)
        whole = files(path)
        assert outcome(path) == "same"
        for turn in range(count):
            ending = tuple(refused)[turn % 3]
            torn = dict(whole)
            at = chosen.randrange(len(torn[ending]))
            if ending == "-head" and chosen.random() < 0.8:
                at = at // 4096 * 4096 + at % 160  # most of the file is empty
            content = bytearray(torn[ending])
            content[at] ^= 1 << chosen.randrange(8)
            lay(path, {**torn, ending: bytes(content)})
            refused[ending] += outcome(path) == "refused"
    return refused


def test_a_flipped_bit_is_refused_or_changes_nothing() -> None:
    """In the log and the head every bit counts; in the database those of empty space do not."""
    refused = flips(90, seed=1)
    assert refused["-head"] == refused["-wal"] == 30
    assert refused[""] > 5


@pytest.mark.thorough
def test_flipped_bits_many_more() -> None:
    refused = flips(600, seed=2)
    assert refused["-head"] == refused["-wal"] == 200


@pytest.mark.parametrize("mode", ["normal", "off"])
def test_in_the_weaker_modes_a_torn_log_is_normal(tmp_path: Path, mode: str) -> None:
    """Nothing after the last checkpoint was promised to outlast a loss of power."""
    path = tmp_path / "journal"
    left_open(path, *PAYLOADS, mode=mode)  # type: ignore[arg-type]
    flip(beside(path, "-wal"), 32 + 24 + 5 * 4120)
    with journal(path) as opened:
        found = [record.payload for record in opened.records()]
        assert found == list(PAYLOADS[: len(found)])
        assert 0 < len(found) < 8


def test_fsck_cuts_where_the_chain_breaks(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        for payload in PAYLOADS:
            opened.commit([("note", payload)])
        opened.compact(2, b"two")
        instance = opened.instance
    whole = path.read_bytes()
    flip(path, whole.index(PAYLOADS[5][:1000]) + 500)
    before = files(path)
    report = fsck(path)
    assert (report.first, report.last, report.snapshot, report.lost) == (3, 5, 2, 8)
    assert report.faults == ("the chain breaks at record 6",)
    assert not report.repaired
    assert files(path) == before
    mended = fsck(path, repair=True)
    assert mended.repaired
    assert files(Path(str(mended.copy)) / path.name) == before
    assert fsck(path).faults == ()
    with journal(path) as opened:
        assert content(opened)[0] == (2, b"two")
        assert [record.payload for record in opened.records()] == list(PAYLOADS[2:5])
        assert opened.instance != instance
        assert opened.commit([("note", b"new")]) == 6
        check(opened)


@pytest.mark.parametrize("compacted", [False, True], ids=["records", "a snapshot"])
def test_what_fsck_repairs_is_a_journal_again(tmp_path: Path, compacted: bool) -> None:
    """A byte here and there in the database: the first records are left, and all that is said fits."""
    path = tmp_path / "journal"
    with journal(path) as opened:
        for n in range(60):
            opened.commit([("note", b"%d" % n * 50)])
        if compacted:
            opened.compact(60, b"sixty" * 900)
    whole = files(path)
    repaired, hopeless = 0, list[str]()
    for at in range(0, path.stat().st_size, 512 if compacted else 250):
        lay(path, whole)
        flip(path, at + 5, 3)
        try:
            journal(path).close()
        except DamagedJournal:
            pass
        except JournalError:
            continue  # it does not look like a journal any more
        else:
            continue  # a byte that nobody reads
        try:
            report = fsck(path, repair=True)
        except DamagedJournal as error:
            hopeless.append(str(error))
            continue
        repaired += 1
        assert fsck(path).faults == ()
        with journal(path) as opened:
            found = [record.payload for record in opened.records()]
            assert found == [b"%d" % n * 50 for n in range(len(found))]
            assert opened.last == report.last == (60 if compacted else len(found))
    assert repaired > (3 if compacted else 12)
    assert all("restore a backup" in said for said in hopeless)


def test_fsck_leaves_what_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"1")])
        opened.compact(1, b"A snapshot" * 100)
    flip(path, path.read_bytes().index(b"A snapshot") + 8)
    before = files(path)
    with pytest.raises(DamagedJournal, match=r"the snapshot does not check.*restore a backup"):
        fsck(path, repair=True)
    assert files(path) == before


def test_fsck_waits_for_nobody(tmp_path: Path) -> None:
    with journal(tmp_path / "journal"), pytest.raises(LockedJournal):
        fsck(tmp_path / "journal")


@pytest.mark.parametrize("body", ["DELETE FROM record WHERE number < new.number", "SELECT 1"])
def test_a_trigger_is_none_of_ours(tmp_path: Path, body: str) -> None:
    """It would change what is written after it was acknowledged; a repair leaves it out."""
    path = tmp_path / "journal"
    with journal(path) as opened:
        opened.commit([("note", b"1")])
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute(f"CREATE TRIGGER odd AFTER INSERT ON record BEGIN {body}; END")
    with pytest.raises(DamagedJournal, match="the trigger 'odd'"):
        journal(path)
    assert fsck(path, repair=True).repaired
    assert fsck(path).faults == ()
    with journal(path) as opened:
        opened.commit([("note", b"2")])
        assert [record.payload for record in opened.records()] == [b"1", b"2"]
