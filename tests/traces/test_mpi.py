"""Time-independent traces of MPI: channels are first in first out, a wait receives, barriers order."""

from __future__ import annotations

from pathlib import Path

from microcosm.traces import formats
from microcosm.traces.correspondences import extract
from tests.traces.logs import read_text, told

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
    assert formats.detect(PROGRAM, "x") == "mpi"


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
