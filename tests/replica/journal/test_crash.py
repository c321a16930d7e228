"""A journal that dies at any moment: all that was acknowledged is there afterwards, and nothing by halves.

Three ways to die: killed at a random instant; killed at any step of a watched run, before it or half-way
through it; and a loss of power at any moment of such a run, which keeps what was synced and any sectors of
the rest.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pytest

from microcosm.errors import DamagedJournal
from microcosm.replica.journal import Journal, Mode
from microcosm.replica.journal.examine import fsck
from microcosm.replica.journal.files import DISK, Disk
from microcosm.replica.journal.writer import Writer
from microcosm.replica.store import Memory
from tests.replica.invariants import check
from tests.replica.journal.journals import APPLICATION, FAST, Content, content, files, journal, lay
from tests.replica.journal.tape import SECTOR, Step, Tape, WatchedDisk
from tests.thorough import draws

Note = Callable[[str], None]


@pytest.fixture(autouse=True)
def small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints, logs that are made large, and logs begun anew, within a few commits."""
    monkeypatch.setattr(Writer, "CHECKPOINT", 60_000)
    monkeypatch.setattr(Writer, "RESERVE", 30_000)


def acts(seed: int, count: int) -> Iterator[tuple[list[bytes], int | None]]:
    """What to do: the payloads of a transaction, or how many records back a snapshot reaches."""
    chosen = random.Random(seed)
    for n in range(count):
        if n % 7 == 6:
            yield [], chosen.randrange(3)
        else:
            sizes = [chosen.choice((0, 10, 1000, 9000)) for _ in range(chosen.randint(1, 3))]
            yield [chosen.randbytes(size) for size in sizes], None


def states(seed: int, count: int) -> list[Content]:
    """What the plain store holds before each act, and at the end."""
    model = Memory()
    found = [content(model)]
    for payloads, back in acts(seed, count):
        if back is None:
            model.commit([("note", payload) for payload in payloads])
        else:
            model.compact(model._last - back, f"snapshot {model._last - back}".encode())
        found.append(content(model))
    return found


def work(path: Path, disk: Disk, note: Note, seed: int, count: int, mode: Mode = "full") -> None:
    """Do all acts on a journal, which is closed and opened again half-way; `note` hears of each end."""
    opened = Journal.open(path, application=APPLICATION, create=True, mode=mode, disk=disk)
    note("open")
    for n, (payloads, back) in enumerate(acts(seed, count)):
        if back is None:
            opened.commit([("note", payload) for payload in payloads])
        else:
            opened.compact(opened.last - back, f"snapshot {opened.last - back}".encode())
        note("done")
        if n == count // 2:
            opened.close()
            opened = Journal.open(path, application=APPLICATION, mode=mode, disk=disk)
    opened.close()


def expect(path: Path, wanted: list[Content], done: int) -> None:
    """After `done` acts were acknowledged the journal has done as many, or the one that was under way too."""
    with journal(path) as opened:
        found = content(opened)
        assert found in wanted[done : done + 2]
        number = opened.commit([("note", b"goes on")])
        assert number == (found[1][-1].number if found[1] else found[0][0] if found[0] else 0) + 1
        check(opened)


def in_child(job: Callable[[Note], None]) -> tuple[int, int]:
    """Fork, run `job` with a pipe to note things on; the process and the end of the pipe to read."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            job(lambda text: (os.write(writing, text[:1].encode()), None)[1])
            os.write(writing, b"!")
        finally:
            os._exit(0)
    os.close(writing)
    return child, reading


def noted(reading: int) -> str:
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


def watched(seed: int, count: int, mode: Mode = "full") -> Tape:
    """The tape of a whole run."""
    tape = Tape()
    with TemporaryDirectory(dir=FAST) as folder:
        work(Path(folder) / "journal", WatchedDisk(tape), tape.mark, seed, count, mode)
    return tape


# -- killed ------------------------------------------------------------------------------------------------


def kill_at_steps(steps: list[tuple[int, bool]], seed: int, count: int) -> None:
    """Kill a run before each of these steps, or in the middle of what it writes."""
    wanted = states(seed, count)
    for step, half in steps:
        with TemporaryDirectory(dir=FAST) as folder:
            path = Path(folder) / "journal"

            def job(note: Note, path: Path = path, step: int = step, half: bool = half) -> None:
                work(path, WatchedDisk(Tape(killer(step, half))), note, seed, count)

            child, reading = in_child(job)
            heard = noted(reading)
            os.waitpid(child, 0)
            assert "!" not in heard
            expect(path, wanted, heard.count("d"))


def killer(step: int, half: bool = False) -> Callable[[Step, Callable[[Step], None]], None]:
    """What kills this process before a step, or half-way through what it writes."""
    left = step

    def fault(each: Step, do: Callable[[Step], None]) -> None:
        nonlocal left
        if not left:
            if half and each.what == "write":
                do(each._replace(content=first_half(each)))
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    return fault


def first_half(step: Step) -> bytes:
    """About half of what a step writes, up to the end of a sector."""
    end = (step.at + len(step.content) // 2) // SECTOR * SECTOR
    return step.content[: max(0, end - step.at)]


def test_killed_at_some_steps() -> None:
    total = sum(step.what != "mark" for step in watched(3, 16).steps)
    chosen = random.Random(4)
    kill_at_steps([(chosen.randrange(total), bool(n % 2)) for n in range(24)], 3, 16)


@pytest.mark.slow
def test_killed_at_every_step() -> None:
    total = sum(step.what != "mark" for step in watched(3, 16).steps)
    assert total > 200
    kill_at_steps([(step, half) for step in range(0, total, draws(8, 1)) for half in (False, True)], 3, 16)


def test_a_repair_that_is_killed_is_done_again(tmp_path: Path) -> None:
    """Whenever it dies, the records that were good are there for the next one."""
    path = tmp_path / "journal"
    with journal(path) as opened:
        for n in range(8):
            opened.commit([("note", bytes([65 + n]) * 100)])
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"F" * 100, b"F" * 99 + b"f"))
    damaged = files(path)
    tape = Tape()
    assert fsck(path, repair=True, disk=WatchedDisk(tape)).last == 5
    for step in random.Random(15).sample(range(len(tape.steps)), 12):
        lay(path, damaged)

        def job(note: Note, step: int = step) -> None:
            fsck(path, repair=True, disk=WatchedDisk(Tape(killer(step))))

        child, reading = in_child(job)
        assert noted(reading) == ""
        os.waitpid(child, 0)
        report = fsck(path, repair=True)
        assert (report.first, report.last) == (1, 5)
        with journal(path) as opened:
            assert len(list(opened.records())) == 5


def kill_at_random(times: int, seed: int) -> None:
    """Kill a run some instants after it noted some act. One journal is killed again and again."""
    chosen = random.Random(seed)
    for _ in range(times):
        with TemporaryDirectory(dir=FAST) as folder:
            path = Path(folder) / "journal"
            run, count = chosen.randrange(100), 40

            def job(note: Note, path: Path = path, run: int = run, count: int = count) -> None:
                work(path, DISK, note, run, count)

            child, reading = in_child(job)
            heard = os.read(reading, 1)  # it is open
            for _ in range(chosen.randrange(count)):
                heard += os.read(reading, 1)
            instant = perf_counter() + chosen.random() * 2e-3
            while perf_counter() < instant:
                pass
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            expect(path, states(run, count), (heard.decode() + noted(reading)).count("d"))


def test_killed_at_random_instants() -> None:
    kill_at_random(24, seed=5)


@pytest.mark.slow
def test_killed_at_many_random_instants() -> None:
    kill_at_random(draws(45, 540), seed=6)


# -- loss of power -----------------------------------------------------------------------------------------


def lose_power(tape: Tape, moments: int, seed: int, since: int = 0) -> Iterator[tuple[int, Content]]:
    """Lose power at random moments: each time, how many acts were acknowledged, and what is found."""
    chosen = random.Random(seed)
    for _ in range(moments):
        moment = chosen.randrange(since, len(tape.steps) + 1)
        done = [step.name for step in tape.steps[:moment] if step.what == "mark"]
        with TemporaryDirectory(dir=FAST) as folder:
            for name, each in tape.after_loss(moment, chosen).items():
                (Path(folder) / name).write_bytes(each)
            with journal(Path(folder) / "journal") as opened:
                yield done.count("done"), content(opened)
                opened.commit([("note", b"goes on")])
                check(opened)


@pytest.mark.parametrize(
    "moments", [pytest.param(40, id="some"), pytest.param(draws(150, 700), id="many", marks=pytest.mark.slow)]
)
def test_a_loss_of_power_takes_nothing_that_was_acknowledged(moments: int) -> None:
    wanted = states(7, 24)
    for done, found in lose_power(watched(7, 24), moments, seed=8):
        assert found in wanted[done : done + 2]


@pytest.mark.parametrize(
    "moments", [pytest.param(12, id="some"), pytest.param(draws(40, 200), id="many", marks=pytest.mark.slow)]
)
def test_killed_and_opened_again_before_the_loss_of_power(moments: int) -> None:
    """What an opening shows may not have been synced by the process that was killed; from then on it is."""
    wanted, first, chosen = states(7, 24), watched(7, 24), random.Random(14)
    for _ in range(moments):
        tape = Tape()
        tape.steps = first.steps[: chosen.randrange(len(first.steps))]
        done = [step.name for step in tape.steps if step.what == "mark"].count("done")
        with TemporaryDirectory(dir=FAST) as folder:
            for name, each in tape.after_kill().items():
                (Path(folder) / name).write_bytes(each)
            path, disk = Path(folder) / "journal", WatchedDisk(tape)
            opened = Journal.open(path, application=APPLICATION, create=True, disk=disk)
            again = [content(opened)]
            assert again[0] in wanted[done : done + 2]
            begun = len(tape.steps)
            for payload in (b"more", bytes(5000)):
                opened.commit([("note", payload)])
                tape.mark("done")
                again.append(content(opened))
            opened.close()
        for now_done, found in lose_power(tape, 4, seed=chosen.randrange(1 << 30), since=begun):
            assert found in again[now_done - done :]


@pytest.mark.parametrize(
    "moments", [pytest.param(40, id="some"), pytest.param(draws(70, 300), id="many", marks=pytest.mark.slow)]
)
def test_in_mode_normal_it_takes_the_end_and_leaves_nothing_by_halves(moments: int) -> None:
    wanted = states(9, 24)
    lost = 0
    for done, found in lose_power(watched(9, 24, "normal"), moments, seed=10):
        assert found in wanted[: done + 2]
        lost += found in wanted[:done]
    assert lost  # else this could not tell the modes apart


def test_in_mode_off_it_may_leave_damage_which_is_noticed() -> None:
    wanted = states(11, 24)
    tape, chosen = watched(11, 24, "off"), random.Random(12)
    damaged = 0
    for _ in range(40):
        try:
            for done, found in lose_power(tape, 1, chosen.randrange(1 << 30)):
                assert found in wanted[: done + 2]
        except DamagedJournal:
            damaged += 1
    assert damaged


@pytest.mark.parametrize("forgotten", ["journal", "journal-wal", "journal-head"])
def test_a_disk_that_forgets_to_sync_is_caught(forgotten: str) -> None:
    """The check itself: each of the syncs is needed, and leaving it out is seen."""
    tape, wanted = watched(7, 24), states(7, 24)
    tape.steps = [step for step in tape.steps if (step.what, step.name) != ("sync", forgotten)]

    def hold_to_it() -> None:
        for done, found in lose_power(tape, 200, seed=13):
            assert found in wanted[done : done + 2]

    with pytest.raises((AssertionError, DamagedJournal)):
        hold_to_it()


def test_all_is_said_of_a_tape() -> None:
    """A loss of power keeps what was synced, and may keep or drop each sector of what was not."""
    tape = Tape()
    for step in (
        Step("write", "a", 0, b"1" * 512),
        Step("sync", "a"),
        Step("write", "a", 256, b"2" * 512),
        Step("rename", "a", to="b"),
    ):
        tape.add(step)
    chosen = random.Random(1)
    seen = {tuple(tape.after_loss(4, chosen).items()) for _ in range(200)}
    one, two, both = b"1" * 256 + b"2" * 256, b"1" * 512 + b"2" * 256, b"1" * 256 + b"2" * 512
    assert seen == {((name, each),) for name in "ab" for each in (b"1" * 512, one, two, both)}
