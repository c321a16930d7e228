"""Nothing that was told to be kept is lost, and nothing half-written stays, whatever the disk does."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.collect.intake import Folder
from microcosm.errors import TextError


class Disk:
    """Stands in for `os` in the folder: fails where `faults` says so, having written a part."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        self.synced: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, descriptor: int, content: bytes | memoryview) -> int:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "write":
            os.write(descriptor, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(descriptor, content[: max(1, len(content) // 2)] if fault == "short" else content)

    def fsync(self, descriptor: int) -> None:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "sync":
            raise OSError(errno.EIO, "Input/output error")
        os.fsync(descriptor)

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        fault = self.faults.pop(0) if flags & os.O_CREAT and self.faults else ""
        if fault == "open":
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.open(path, flags, mode)


def kept(folder: Folder, lines: list[bytes]) -> list[bytes]:
    """Those of some lines that were told to be kept, each waited for before the next."""
    said = []
    for line in lines:
        told: list[OSError | None] = []
        done = threading.Event()

        def tell(fault: OSError | None, told: Any = told, done: Any = done) -> None:
            told.append(fault)
            done.set()

        folder.keep(line, tell)
        assert done.wait(10)
        said += [line] if told == [None] else []
    return said


def lines_in(path: Path) -> list[bytes]:
    return [line for file in sorted(path.iterdir()) for line in file.read_bytes().splitlines(keepends=True)]


FAULTS = st.lists(st.sampled_from(["", "write", "short", "sync", "open"]), max_size=20)


@given(FAULTS, st.integers(1, 60))
def test_what_is_told_to_be_kept_is_there_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, faults: list[str], largest: int
) -> None:
    path = tmp_path_factory.mktemp("folder")
    lines = [b"%d %s\n" % (number, b"x" * (number * 7 % 20)) for number in range(12)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("microcosm.collect.intake.os", Disk(faults))
        folder = Folder(str(path), largest=largest)
        said = kept(folder, lines)
        folder.close()
    assert lines_in(path) == said
    assert len([*path.iterdir()]) == folder.files
    assert all(file.stat().st_size for file in path.iterdir())


def test_all_that_wait_are_synced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, syncs = threading.Event(), []

    class Slow(Disk):
        def fsync(self, descriptor: int) -> None:
            syncs.append(descriptor)
            gate.wait(10)

    monkeypatch.setattr("microcosm.collect.intake.os", Slow([]))
    folder = Folder(str(tmp_path))
    for number in range(100):
        folder.keep(b"%d\n" % number, lambda fault: None)
    gate.set()
    folder.close()
    assert lines_in(tmp_path) == [b"%d\n" % number for number in range(100)]
    assert folder.commits <= 3, "one that was alone, and the rest"


def test_files_end_by_size_and_age_and_are_never_gone_on_with(tmp_path: Path) -> None:
    for oldest, largest in ((10.0, 8), (0.0, 1000)):
        folder = Folder(str(tmp_path), largest=largest, oldest=oldest)
        kept(folder, [b"1234567\n"] * 3)
        folder.close()
        assert folder.files == 3
    assert [file.name for file in sorted(tmp_path.iterdir())] == [f"spans-{n:06}.jsonl" for n in range(1, 7)]


def test_a_file_that_somebody_deleted_is_not_gone_on_with(tmp_path: Path) -> None:
    """All that came until it was full was told to be kept, and was nowhere."""
    folder = Folder(str(tmp_path))
    assert kept(folder, [b"1\n"]) == [b"1\n"]
    (tmp_path / "spans-000001.jsonl").unlink()
    assert kept(folder, [b"2\n", b"3\n"]) == [b"2\n", b"3\n"]
    folder.close()
    assert (tmp_path / "spans-000002.jsonl").read_bytes() == b"2\n3\n"


def test_two_in_one_folder_do_not_meet(tmp_path: Path) -> None:
    folders = [Folder(str(tmp_path), largest=20) for _ in range(3)]
    said: list[bytes] = []

    def fill(folder: Folder, number: int) -> None:
        said.extend(kept(folder, [b"%d %d\n" % (number, at) for at in range(30)]))

    threads = [threading.Thread(target=fill, args=(folder, number)) for number, folder in enumerate(folders)]
    each: list[Callable[[], None]] = [thread.start for thread in threads]
    for step in (*each, *(thread.join for thread in threads), *(folder.close for folder in folders)):
        step()
    assert sorted(lines_in(tmp_path)) == sorted(said)
    assert len(said) == 90


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TextError, match="cannot be made"):
        Folder(str(tmp_path / "file"))
