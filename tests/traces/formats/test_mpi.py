"""Time-independent traces of MPI: channels are first in first out, a wait receives, barriers order."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from microcosm.traces import reading as formats
from microcosm.traces.extract import extract
from tests.traces.logs import closed, read_text, told

PROGRAM = """\
# two ranks
0 init
1 init
1 irecv 0 5 1e6
1 irecv 0 5 1e6
1 compute 1e9
1 wait 0 1 5
1 waitall 2
0 isend 1 5 1e6
0 send 1 5 1e6
0 wait 0 1 5
"""


def orders(text: str) -> set[tuple[str, str]]:
    facts = extract(read_text(text, "mpi")[0]).givens.external.values()
    return {(fact.left, fact.right) for fact in facts if fact.left[0] != fact.right[0]}


def test_it_is_the_wait_that_receives() -> None:
    events, report = read_text(PROGRAM, "mpi")
    assert not report.counts
    assert not extract(events).reported
    assert orders(PROGRAM) == {("0:2", "1:5"), ("0:3", "1:6")}
    assert [event.to for event in events if event.kind == "send"] == [("1",), ("1",)]
    assert formats.detect(PROGRAM, "x").NAME == "mpi"


def test_a_wait_for_several_comes_after_all_their_sendings() -> None:
    text = "1 irecv 0 1 9\n1 irecv 2 1 9\n1 waitall 2\n0 send 1 1 9\n2 send 1 1 9\n"
    assert orders(text) == {("0:1", "1:3"), ("2:1", "1:3")}
    holed = text.replace("2 send", "2 isend").replace("0 send 1", "0 send 2")
    _, report = read_text(holed, "mpi")
    assert told(report) == [("unmatched-receive", 3), ("log-hole", 4)]
    assert orders(holed) == set()


def test_what_follows_a_barrier_comes_after_all_who_reached_it() -> None:
    text = "".join(f"{rank} barrier\n{rank} compute 1\n" for rank in "012")
    assert orders(text) == {(f"{a}:1", f"{b}:2") for a in "012" for b in "012" if a != b}


def test_a_root_gives_to_all_or_takes_from_all() -> None:
    text = "".join(f"{rank} bcast 9 1\n{rank} compute 1\n" for rank in "012")
    assert orders(text) == {("1:1", "0:2"), ("1:1", "2:2")}
    text = text.replace("bcast 9 1", "reduce 9 9 1")
    assert orders(text) == {("0:1", "1:2"), ("2:1", "1:2")}


@pytest.mark.parametrize("operation", ["gatherV 9 3 3 3 1 0 0", "scatterv 3 3 3 9 1 0 0"])
def test_what_has_its_root_behind_a_list_orders_nothing(operation: str) -> None:
    text = "".join(f"{rank} barrier\n{rank} {operation}\n{rank} barrier\n" for rank in "012")
    assert formats.detect(text, "x").NAME == "mpi"
    events, report = read_text(text, "mpi")
    assert len(events) == 9
    assert not report.counts
    barrier = "".join(f"{rank} barrier\n{rank} compute 1\n{rank} barrier\n" for rank in "012")
    assert orders(text) == orders(barrier)


def test_ranks_that_disagree_are_reported() -> None:
    text = "0 barrier\n0 compute 1\n1 allreduce 1 1\n1 compute 1\n"
    events, report = read_text(text, "mpi")
    assert told(report) == [("collective-mismatch", 3)]
    assert len(events) == 4
    assert orders(text) == set()


def test_lines_that_are_no_events_are_reported() -> None:
    _, report = read_text("0 init\n0 dance 3\n0 send\nnothing\n", "mpi")
    assert told(report) == [("bad-line", 2), ("bad-line", 3), ("bad-line", 4)]


def test_ranks_may_have_a_file_each(tmp_path: Path) -> None:
    for rank, text in enumerate(("0 init\n0 send 1 0 9\n", "1 init\n1 recv 0 0 9\n")):
        (tmp_path / str(rank)).write_text(text, encoding="utf-8")
    events = list(formats.read([tmp_path / "0", tmp_path / "1"]))
    assert [event.message for event in events if event.message] == ["0->1 tag 0 #1"] * 2


def test_a_rank_that_lacks_a_collective_operation_orders_nothing_by_them() -> None:
    text = "0 compute 1\n0 barrier\n0 compute 2\n1 barrier\n1 compute 3\n1 barrier\n1 compute 4\n"
    events, report = read_text(text, "mpi")
    assert (orders(text), len(events)) == (set(), 7)
    assert told(report) == [("collective-mismatch", 1)]
    _, report = read_text(text.replace("0 compute 1", "0 dance"), "mpi")
    assert told(report) == [("bad-line", 1), ("collective-mismatch", 2)]


def test_a_sending_that_is_missing_moves_no_message() -> None:
    text = "0 send 1 0 9\n0 send 1 0 9\n1 recv 0 0 9\n1 recv 0 0 9\n"
    assert orders(text) == {("0:1", "1:1"), ("0:2", "1:2")}
    holed = text.removeprefix("0 send 1 0 9\n")
    assert orders(holed) == set()
    assert told(read_text(holed, "mpi")[1]) == [("log-hole", 1)]


@pytest.mark.parametrize("taken", ["recv -1 0 9", "recv 0 -1 9", "irecv -555 0 9"])
def test_what_takes_any_message_shows_no_hole(taken: str) -> None:
    """It may receive what comes; the k-th reception that names its source still comes after k sendings."""
    text = f"0 init\n0 send 1 0 9\n0 send 1 0 9\n0 finalize\n1 init\n1 {taken}\n1 recv 0 0 9\n1 finalize\n"
    _, report = read_text(text, "mpi")
    assert not report.counts
    assert orders(text) == {("0:2", "1:3")}


def test_a_wait_for_fewer_than_all_does_not_say_for_which() -> None:
    text = "1 irecv 0 1 9\n1 irecv 2 1 9\n1 waitall 1\n1 waitall 1\n0 send 1 1 9\n2 send 1 1 9\n"
    assert orders(text) == {("0:1", "1:4"), ("2:1", "1:4")}
    mixed = "1 irecv 0 1 9\n1 isend 0 1 9\n1 waitall 2\n0 send 1 1 9\n0 recv 1 1 9\n"
    assert orders(mixed) == {("0:1", "1:3"), ("1:2", "0:2")}


def test_a_test_may_have_been_what_received() -> None:
    text = "1 irecv 0 1 9\n1 test 0 1 1\n1 irecv 0 1 9\n1 wait 0 1 1\n0 send 1 1 9\n0 send 1 1 9\n"
    events, _ = read_text(text, "mpi")
    assert [event.kind for event in events[:4]] == ["internal"] * 4
    assert orders(text) == {("0:1", "1:4")}


def test_ranks_in_files_say_what_one_file_says(tmp_path: Path) -> None:
    program = generated(1)
    whole = orders(program)
    ranks = {rank: [line for line in program.splitlines(keepends=True) if line[0] == rank] for rank in "0123"}
    for rank, lines in ranks.items():
        (tmp_path / rank).write_text("".join(lines), encoding="utf-8")
    for names in ("0123", "3201"):
        facts = extract(formats.read([tmp_path / name for name in names])).givens.external.values()
        assert {(one.left, one.right) for one in facts if one.left[0] != one.right[0]} == whole


def test_a_rank_that_begins_again_is_in_another_run() -> None:
    text = "0 init\n0 send 1 0 9\n0 finalize\n1 init\n1 recv 0 0 9\n1 finalize\n"
    events, report = read_text(text * 2, "mpi")
    assert {event.trace for event in events} == {"run 1", "run 2"}
    assert not report.counts
    found = {
        (one.left, one.right) for one in extract(events).givens.external.values() if "message" in one.source
    }
    assert found == {(f"run {run}/0:2", f"run {run}/1:2") for run in (1, 2)}


def generated(seed: int, rounds: int = 40) -> str:
    """A program of four ranks that ends well."""
    random = Random(seed)
    ranks = {rank: [f"{rank} init"] for rank in range(4)}
    for _ in range(rounds):
        a, b, c = random.sample(sorted(ranks), 3)
        what = random.random()
        if what < 0.2:
            operation = random.choice(["barrier", "allreduce 1 1", "bcast 9 0", "reduce 9 9 1"])
            for rank, lines in ranks.items():
                lines.append(f"{rank} {operation}")
        elif what < 0.7:
            ranks[a] += [f"{a} send {b} 1 9"] * 2
            ranks[b] += [f"{b} recv {a} 1 9"] * 2
        else:
            ranks[a] += [f"{a} send {b} 7 9"]
            ranks[c] += [f"{c} isend {b} 7 9", f"{c} wait {c} {b} 7"]
            waits = [f"{b} waitall 2"] if what < 0.85 else [f"{b} wait {c} {b} 7", f"{b} wait {a} {b} 7"]
            ranks[b] += [f"{b} irecv {a} 7 9", f"{b} irecv {c} 7 9", *waits]
    return "".join(f"{line}\n" for rank, lines in ranks.items() for line in (*lines, f"{rank} finalize"))


def past(lines: list[tuple[int, str]]) -> dict[int, int]:
    """What is claimed to come before each line, as bits."""
    events, _ = read_text("".join(text for _, text in lines), "mpi")
    place = {event.id: lines[event.line - 1][0] for event in events}
    sources: dict[int, set[int]] = {one: set() for one in place.values()}
    for one in extract(events).givens.external.values():
        sources[place[one.right]].add(place[one.left])
    return closed(sources)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 60), marks=pytest.mark.slow)])
def test_a_program_without_some_lines_claims_no_more(seeds: range) -> None:
    for seed in seeds:
        random = Random(seed)
        lines = list(enumerate(generated(seed).splitlines(keepends=True)))
        whole = past(lines)
        at = random.randrange(len(lines))
        for left in (
            lines[:at] + lines[at + 1 :],
            lines[at:],
            lines[:at],
            [line for line in lines if random.random() > 0.05],
            [line for line in lines if random.random() > 0.3],
        ):
            assert all(not seen & ~whole[one] for one, seen in past(left).items())
