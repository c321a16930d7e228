"""The fast lane of `extract` for text logs with clocks says what the careful reader says, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from microcosm import Microcosm, tuning
from microcosm.errors import TextError
from microcosm.givens.clock_columns import ClockColumns
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.order.clock_order import ClockRows, clock_rows
from microcosm.order.labels import Labels
from microcosm.queries.possible import Worlds, shown_by
from microcosm.text.mc_reader import read_givens
from microcosm.text.mc_writer import write_mc
from microcosm.traces import reading as formats
from microcosm.traces.clocked_columns import ClockedLog, read_clocked
from microcosm.traces.extract import extract, microcosm_of_logs
from microcosm.traces.report import Extraction, Report
from microcosm.traces.text.lines import open_lines
from tests.traces.clocked_logs import FAULTS, LABELS, NAMES, STEPS, STYLES, Step, Style, mixed, run


def outcome(read: Callable[[Report], Extraction]) -> object:
    """What comes of a reading, with what is told of it; or why nothing does."""
    report = Report()
    try:
        return read(report), report.findings
    except TextError as fault:
        return str(fault)


PLAIN = Style(True, True, 0, (", ", ": "), 0, "", "\n")
TURNS = st.lists(st.integers(0, 3), max_size=24)


def careful(paths: Sequence[Path], report: Report) -> Extraction:
    return extract(formats.read(paths, report=report), report=report)


def in_columns(*paths: Path) -> ClockedLog | None:
    try:
        return read_clocked([partial(open_lines, path) for path in paths])
    except TextError:  # in no format known here
        return None


def written(folder: pytest.TempPathFactory, text: str) -> Path:
    path = folder.mktemp("log") / "a.log"
    path.write_text(text, "utf-8")
    return path


def columns_of(folder: pytest.TempPathFactory, steps: list[Step], processes: int) -> ClockColumns:
    path = written(folder, PLAIN.text(run(steps, ["p", "q", "r", "s"][:processes])))
    clocks = microcosm_of_logs([path]).givens.clocks
    assert isinstance(clocks, ClockColumns)
    return clocks


def assert_same(log: ClockedLog, *paths: Path) -> None:
    """The lane says what the careful reader says, in its order."""
    mine, theirs = Report(), Report()
    found, expected = log.extraction(mine), careful(paths, theirs)
    assert found == expected
    assert expected == found
    assert found.givens.events == expected.givens.events
    told, recorded = found.givens.clocks, expected.givens.clocks
    assert isinstance(told, ClockColumns)
    assert [(name, [*clock.entries.items()]) for name, clock in told.items()] == [
        (name, [*clock.entries.items()]) for name, clock in recorded.items()
    ]
    owners = map(told.processes.__getitem__, told.owners)
    assert [*owners] == [recorded[name].process for name in told.names]
    assert found.givens.listed() == expected.givens.listed() == [*found.givens.numbers()]
    assert write_mc(found.givens) == write_mc(expected.givens)
    assert mine.findings == theirs.findings


@given(
    STEPS,
    st.lists(st.sampled_from(["p", "q", "a:b", "5%d", "-"]), min_size=1, max_size=4, unique=True),
    TURNS,
    STYLES,
)
@example([(0, -1, 0), (1, 0, 0)], ["p", "q"], [1, 0], PLAIN)  # what it heard of comes later
@example([(0, -1, 0), (1, -1, 0), (2, 0, 9)], ["p", "q", "r"], [], PLAIN)  # two merged at once
def test_right_logs_take_the_lane_and_come_out_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[Step],
    names: list[str],
    turns: list[int],
    style: Style,
) -> None:
    path = written(tmp_path_factory, style.text(mixed(run(steps, names), turns)))
    log = in_columns(path)
    if style.end == "\n\n" and not style.header and log is None:
        assert not style.text_first  # a blank line may be the text of a record
        return
    assert log is not None
    assert_same(log, path)


@given(STEPS, TURNS, st.lists(STYLES, min_size=4, max_size=4), st.permutations(range(4)))
def test_a_file_for_each_process_takes_the_lane_and_comes_out_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[Step],
    turns: list[int],
    styles: list[Style],
    order: list[int],
) -> None:
    """As GoVector writes them; processes that are in two files are for the careful reader."""
    events = mixed(run(steps, ["p", "q", "r", "s", "t"]), turns)
    parts = [[each for each in events if "pqrst".index(each.process) % 4 == at] for at in range(4)]
    paths = [
        written(tmp_path_factory, style.text(part)) for style, part in zip(styles, parts, strict=True) if part
    ]
    paths = [paths[at] for at in order if at < len(paths)]
    log = in_columns(*paths)
    if log is not None:
        assert_same(log, *paths)
    else:
        assert any(style.end == "\n\n" and not style.header for style in styles)
        assert outcome(lambda report: microcosm_of_logs(paths, report=report)) == outcome(
            partial(careful, paths)
        )
    assert in_columns(*paths, paths[0]) is None
    again = [*paths, paths[0]]
    assert outcome(lambda report: microcosm_of_logs(again, report=report)) == outcome(partial(careful, again))


@given(
    STEPS,
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True),
    TURNS,
    STYLES,
    st.lists(LABELS, max_size=24),
    st.lists(st.tuples(st.integers(0, 23), st.sampled_from(FAULTS)), max_size=2),
)
@example([(0, 0, 0)], ["p"], [], Style(True, False, 0, (", ", ": "), 1, "", ""), [""], [])  # blank lines
def test_what_is_odd_is_told_as_the_careful_reader_tells_it(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[Step],
    names: list[str],
    turns: list[int],
    style: Style,
    labels: list[str],
    faults: list[tuple[int, object]],
) -> None:
    events = mixed(run(steps, names), turns)
    for each, label in zip(events, labels, strict=False):
        each.label = label
    for at, fault in faults:
        if events:
            fault(events, at % len(events))  # type: ignore[operator]
    path = written(tmp_path_factory, style.text(events))
    log = in_columns(path)
    event("in columns" if log else "with care")
    if log is not None:
        assert_same(log, path)
    else:
        assert outcome(lambda report: microcosm_of_logs([path], report=report)) == outcome(
            partial(careful, [path])
        )


ODD = [
    'x\np {"p": 01}\n',
    'x\np {"p": 1, "p": 1}\n',
    'x\np {"p": ١}\n',
    'x\np {"p": 1.0}\n',
    'x\np {"p": 1,}\n',
    "x\np {1}\n",
    'x\np {"q": 1}\n',
    'x\np {"p": 1} {"p": 1}\n',
    'x\np {"p": 1}\ny\np {"p": 2, "q": 1}\n',
    'x\np {"p": 1}\ny\np {"p": 02}\n',
    f'x\np {{"p": 1}}\ny\np {{"p": {"1" * 5000}}}\n',
    'x\np {"p": 1}\ny\np {"p": 1}\n',
    'x\np {"p": 1}\ny\np {"p": 2\\u0020}\n',
    'x\nq {"p": 1, "q": 1}\ny\np {"p": 1, "q": 1}\n',
    'x\np {"p": 1}\n=== next ===\ny\np {"p": 1}\n',
    'p {"p": 1}\nx\np {"p": 2}\n',
    r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})" + "\n\n",
    'x\np {"p": 1}}\n',
    'x\np {"p": true}\n',
    'x\np {"p": -1}\n',
    'x\np {"p": 1, "q": []}\n',
    'x\np {"p": 1, "q": 3000000000}\n',
    'x\np "p": 1}\n',
    'x\np {"p": 1\n',
    'x\np {"p": 1}, {"p": 1}\ny\nq {"q": 1\n',
    'x\np {"p": 1, "q\ny\nq {": 1, "q": 1}\n',
    'x\np {"p": 1, "a}, {b": 1}\n',
    'x\n:p {":p": 1}\n',
    'x\n:5, {":5,": 1}\ny\n:5, {"a":5,":5,":2}\n',
    "",
    "x\n",
]


@pytest.mark.parametrize("text", ODD)
def test_what_is_not_plain_is_left_alone(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    assert in_columns(written(tmp_path_factory, text)) is None


def test_a_log_of_very_many_processes_is_left_alone(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path_factory, PLAIN.text(run([(0, -1, 0), (1, 0, 0)], ["p", "q"])))
    assert in_columns(path) is not None
    monkeypatch.setattr("microcosm.traces.clocked_columns.CLOCKED_PROCESSES", 1)
    assert in_columns(path) is None


@given(STEPS, TURNS, st.integers(1, 9))
def test_records_are_taken_in_pieces_as_at_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], turns: list[int], size: int
) -> None:
    """Also where a piece ends within a record."""
    text = PLAIN.text(mixed(run(steps, ["p", "q", "r"]), turns))
    path = written(tmp_path_factory, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("microcosm.traces.text.lines._BLOCK", 24 * size)
        log = in_columns(path)
    assert log is not None
    assert_same(log, path)


@given(STEPS, st.integers(1, 4), st.integers(0, 3))
def test_columns_are_relations_as_the_same_clocks_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], processes: int, first: int
) -> None:
    clocks = columns_of(tmp_path_factory, steps, processes)
    names = [clocks.names[at] for at in clocks.along()]
    position = {name: at for at, name in enumerate(names, first)}
    mine, theirs = clock_rows(clocks, position), ClockRows(dict(clocks), position)
    size = first + len(names)
    assert sorted(mine.cover()) == sorted(theirs.cover())
    assert mine.support() == theirs.support()
    labels = mine.labels(size)
    for a in range(size):
        assert mine.of(a) == theirs.of(a)
        for row in ("past", "future", "unseen", "missed", "concurrent"):
            assert getattr(mine, row)(a) == getattr(theirs, row)(a)
        for b in range(size):
            assert mine.relation(a, b) == theirs.relation(a, b)
            assert mine.misses(a, b) == theirs.misses(a, b)
            assert mine.covered(a, b) == theirs.covered(a, b)
    if len(clocks.threads) == len(clocks.processes):
        assert labels is not None
        order = Labels(size, labels)
        fresh = Labels(size, theirs.cover())
        assert [order.past(b) for b in range(size)] == [fresh.past(b) for b in range(size)]
        assert {b: sorted(a) for b, a in labels.crossing.items()} == {
            b: sorted(
                a for a, to in theirs.cover() if to == b and _other(clocks, names, a - first, b - first)
            )
            for b in labels.crossing
        }
        order._check()


def _other(clocks: ClockColumns, names: list[str], a: int, b: int) -> bool:
    return clocks[names[a]].process != clocks[names[b]].process


@given(
    STEPS,
    st.integers(1, 4),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.booleans()), max_size=4),
    st.randoms(use_true_random=False),
)
def test_a_microcosm_of_columns_answers_as_one_of_the_same_clocks(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[Step],
    processes: int,
    in_labels: bool,
    changes: list[tuple[int, int, bool]],
    rng: Random,
) -> None:
    """The first pair, all of them, also when more is given, and taken away again."""
    clocks = columns_of(tmp_path_factory, steps, processes)
    names = [*clocks, "outside"]
    apart = read_givens("")
    apart.clocks = dict(clocks)
    columns = read_givens("")
    columns.clocks = clocks
    with pytest.MonkeyPatch.context() as patch:
        if in_labels:
            patch.setattr(tuning, "ROWS_UP_TO", 0)
            patch.setattr(tuning, "EVENTS_A_CHAIN", 0)
        mine, theirs = Microcosm(columns), Microcosm(apart)
        assert mine.givens == theirs.givens
        pairs = [*permutations(names, 2)]
        rng.shuffle(pairs)
        for a, b in pairs[: rng.choice([0, 1, len(pairs)])]:
            assert mine.online(a, b) == theirs.online(a, b)
            assert str(mine.why(a, b)) == str(theirs.why(a, b))
        for a, b, adds in changes:
            left, right = names[a % len(names)], names[b % len(names)]
            if left == right:
                continue
            fact = Correspondence(left, Relation.BEFORE, right)
            answers = []
            for known in (mine, theirs):
                try:
                    answers.append((known.add(fact) if adds else known.remove(fact)) is None)
                except Exception as fault:
                    answers.append((type(fault), str(fault)))
            assert answers[0] == answers[1]
        for a, b in permutations(names, 2):
            assert mine.online(a, b) == theirs.online(a, b)
            assert str(mine.why(a, b)) == str(theirs.why(a, b))


ENTRIES = st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=7)


@given(ENTRIES)
def test_only_right_clocks_are_kept_in_columns(entries: list[tuple[int, ...]]) -> None:
    """Each counts its event, and covers those of all events that it has seen; and then nothing is changed."""
    clocks, sizes = dict[str, Clock](), [0, 0, 0]
    for number, whole in sorted((at % 3, whole) for at, whole in enumerate(entries)):
        sizes[number] += 1
        seen = dict(zip("pqr", (*whole[:number], sizes[number], *whole[number + 1 :]), strict=True))
        clocks[f"{'pqr'[number]}:{sizes[number]}"] = Clock(
            "pqr"[number], {p: n for p, n in seen.items() if n}
        )
    right = all(
        f"{process}:{count}" in clocks
        and (
            f"{process}:{count}" == event
            or clocks[f"{process}:{count}"].entries.get(clock.process, 0) < clock.own
        )
        and all(clock.entries.get(p, 0) >= n for p, n in clocks[f"{process}:{count}"].entries.items())
        for event, clock in clocks.items()
        for process, most in clock.entries.items()
        for count in range(1, most + 1)
    )
    found = ClockColumns.of(clocks)
    assert (found is not None) is right
    assert found is None or [*found.items()] == [*clocks.items()]


@given(STEPS, st.integers(1, 4))
def test_right_clocks_are_one_world(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], processes: int
) -> None:
    clocks = columns_of(tmp_path_factory, steps, processes)
    columns, apart = read_givens(""), read_givens("")
    columns.clocks, apart.clocks = clocks, dict(clocks)
    assert columns.rightly_clocked
    assert not apart.rightly_clocked
    known = Microcosm(columns)
    line = known._engine.universe.position
    assert shown_by(columns, partial(map, line.__getitem__))
    ordered = any(known.online(a, b) is Relation.BEFORE for a, b in permutations(clocks, 2))
    assert shown_by(columns, lambda names: [-line[name] for name in names]) is not ordered
    mine, theirs = known.worlds, Worlds(apart)
    for a, b in permutations([*clocks, "outside"], 2):
        found, expected = mine.possible(a, b), theirs.possible(a, b)
        assert found.relations == expected.relations
        assert found.exact == expected.exact


@given(STEPS)
def test_clocks_can_be_added_to_columns(tmp_path_factory: pytest.TempPathFactory, steps: list[Step]) -> None:
    clocks = columns_of(tmp_path_factory, steps, 2)
    givens = read_givens("")
    givens.clocks = clocks
    other = givens.copy()
    assert other.clocks is clocks
    name, clock = next(iter(clocks.items()))
    other.set_clock("another", clock)
    assert other.clocks == {**clocks, "another": clock}
    assert "another" not in clocks
    assert name in clocks
    assert "p:0" not in clocks
    assert "p:01" not in clocks
    with pytest.raises(KeyError):
        clocks["nobody:1"]
