"""The fast lane of `extract` says what the careful reader says, or nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from microcosm.errors import TraceError
from microcosm.record import Recorder
from microcosm.traces import reading as formats
from microcosm.traces.columns import LogColumns
from microcosm.traces.extract import extract, microcosm_of_logs, plain_extraction
from microcosm.traces.report import Extraction, Report

Step = tuple[int, int]


def careful(paths: Sequence[Path], report: Report) -> Extraction:
    return extract(formats.read(paths, report=report), report=report)


def log(steps: list[Step], processes: int) -> list[dict[str, object]]:
    """Events of a sound log: of a step (p, q), q >= 0 says that p receives from q what q sent last."""
    lines: list[dict[str, object]] = []
    seq, last = [0] * processes, dict[int, dict[str, object]]()
    for p, q in steps:
        seq[p % processes] += 1
        line: dict[str, object] = {
            "process": f"p{p % processes}",
            "seq": seq[p % processes],
            "kind": "internal",
        }
        sender = last.pop(q % processes, None) if q >= 0 and q % processes != p % processes else None
        if sender is not None:
            sender.update(kind="send", message=f"m{len(lines)}")
            line.update(kind="receive", message=f"m{len(lines)}")
        else:
            last[p % processes] = line
        lines.append(line)
    return lines


def written(
    folder: Path, lines: list[dict[str, object]], end: str = "\n", separators: tuple[str, str] = (", ", ": ")
) -> Path:
    path = folder / "log.jsonl"
    path.write_text("\n".join(json.dumps(line, separators=separators) for line in lines) + end, "utf-8")
    return path


steps = st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 3)), min_size=1, max_size=30)


ORIGINS = st.none() | st.tuples(st.sampled_from(["a.log", "b.log"]), st.integers(1, 99))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LABELS = st.none() | TEXTS
SCALARS = (
    TEXTS
    | st.booleans()
    | st.none()
    | st.integers(-(10**17), 10**17)
    | st.floats(allow_nan=False, allow_infinity=False)
)
ATTRIBUTES = st.none() | st.dictionaries(st.sampled_from(["time", "x", ""]) | TEXTS, SCALARS, max_size=3)


@given(
    steps,
    st.integers(1, 4),
    st.sampled_from(["\n", ""]),
    st.integers(0, 3),
    st.lists(LABELS, max_size=30),
    st.lists(ATTRIBUTES, max_size=30),
    st.lists(ORIGINS, max_size=30, unique_by=lambda each: each or object()),
    st.sampled_from([(", ", ": "), (",", ":")]),
)
def test_sound_logs_take_the_lane_and_come_out_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[Step],
    processes: int,
    end: str,
    unreceived: int,
    labels: list[str | None],
    attributes: list[dict[str, object] | None],
    origins: list[tuple[str, int] | None],
    separators: tuple[str, str],
) -> None:
    lines = log(steps, processes)
    for at, line in enumerate(lines):
        if at < unreceived and line["kind"] == "internal":
            line.update(kind="send", message=f"lost {at}")
    for line, label in zip(lines, labels, strict=False):
        if label is not None:
            line["label"] = label  # the last members, as the own writer puts them
    for line, more in zip(lines, attributes, strict=False):
        if more is not None:
            line["attributes"] = more
    for line, origin in zip(lines, origins, strict=False):
        if origin is not None:
            line["origin"] = origin
    assert_same(written(tmp_path_factory.mktemp("log"), lines, end, separators))


def assert_same(*paths: Path) -> None:
    """The lane answers, and says what the careful reader says."""
    mine, theirs = Report(), Report()
    found, expected = plain_extraction(paths, mine), careful(paths, theirs)
    assert found is not None
    assert found == expected
    assert found.givens.events == expected.givens.events
    assert list(found.givens.external.items()) == list(expected.givens.external.items())
    assert [f.source for f in found.givens.external.values()] == [
        f.source for f in expected.givens.external.values()
    ]
    assert mine.findings == theirs.findings


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 5)), min_size=1, max_size=30))
@example([(0, -1), (0, -1), (0, 0), (0, 0)])  # of the event before the last, and of that just before
def test_what_a_process_sends_to_itself_takes_the_lane(
    tmp_path_factory: pytest.TempPathFactory, events: list[Step]
) -> None:
    lines: list[dict[str, object]] = []
    seq, on_the_way = [0] * 3, list[str]()
    for process, which in events:
        seq[process] += 1
        receives = which >= 0 and bool(on_the_way)
        message = on_the_way.pop(which % len(on_the_way)) if receives else f"m{len(lines)}"
        if not receives:
            on_the_way.append(message)
        said: dict[str, object] = {"kind": "receive" if receives else "send", "message": message}
        lines.append({"process": f"p{process}", "seq": seq[process], **said})
    assert_same(written(tmp_path_factory.mktemp("log"), lines))


LIVES = ["Zy_-0aB9", "AAAAAAAA", "12345678", "--------"]


def dealt(
    random: Random, traces: list[str], runs: list[list[Step]], files: int, lives: list[str]
) -> list[list[dict[str, object]]]:
    """The lines of a log in files: each process tells its events in their order, and no more is sure of it.

    What a process is called says which life it has; each file says the execution first or last.
    """
    left = [
        ((trace, process), [line for line in lines if line["process"] == process])
        for trace, run in zip(traces, runs, strict=False)
        for lines in [log(run, 4)]
        for process in {line["process"]: None for line in lines}
    ]
    found: list[list[dict[str, object]]] = [[] for _ in range(files)]
    first, reached = [random.random() < 0.5 for _ in range(files)], dict.fromkeys(range(len(left)), 0)
    while waiting := [at for at, (_, lines) in enumerate(left) if lines]:
        at = random.choice(waiting)
        (trace, process), lines = left[at]
        reached[at] = file = random.randint(reached[at], files - 1)
        line, named = lines.pop(0), {"trace": trace} if trace else {}
        life = lives[int(str(process)[1:])] if lives and random.random() < 0.7 else ""
        told = {"process": process, "seq": line.pop("seq"), **({"life": life} if life else {}), **line}
        if random.random() < 0.3:
            told["label"] = random.choice(["x", "", "\u00e9 \\"])
        if random.random() < 0.3:
            told["attributes"] = {"time": random.random(), "to": "store"}
        found[file].append({**named, **told} if first[file] else {**told, **named})
    return found


@given(
    st.randoms(use_true_random=False),
    st.lists(st.sampled_from(["t", "u", "t 2"]), max_size=3, unique=True),
    st.lists(steps, min_size=3, max_size=3),
    st.integers(1, 4),
    st.sampled_from([[], LIVES]),
)
def test_logs_in_files_in_any_order_take_the_lane_and_come_out_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    random: Random,
    traces: list[str],
    runs: list[list[Step]],
    files: int,
    lives: list[str],
) -> None:
    paths = []
    for lines in dealt(random, traces or [""], runs, files, lives):
        paths.append(written(tmp_path_factory.mktemp("log"), lines, "\n" if lines else ""))
    assert_same(*paths)


@pytest.mark.parametrize(
    "lines",
    [
        ["p 1 receive a", "p 2 send a"],
        ["p 1 receive a", "p 2 send b", "q 1 receive b", "q 2 send a"],
        ["p 2 send a", "q 1 receive a", "p 1 internal"],
        ["q 1 receive a", "p 1 send b"],
        ["q 1 receive a", "p 1 send a", "r 1 send a"],
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_files_that_contradict_themselves_are_for_the_careful_reader(
    tmp_path: Path, lines: list[str], apart: bool
) -> None:
    told: list[dict[str, object]] = []
    for line in lines:
        process, seq, kind, *message = line.split()
        told.append(
            {
                "process": process,
                "seq": int(seq),
                "kind": kind,
                **({"message": message[0]} if message else {}),
            }
        )
    paths = []
    for at, part in enumerate([[line] for line in told] if apart else [told]):
        (tmp_path / str(at)).mkdir()
        paths.append(written(tmp_path / str(at), part))
    assert plain_extraction(paths, Report()) is None
    assert microcosm_of_logs(paths) == careful(paths, Report())


def test_a_second_life_of_a_process_is_for_the_careful_reader(tmp_path: Path) -> None:
    line = {"process": "p", "seq": 1, "life": LIVES[0], "kind": "internal"}
    paths = []
    for name, life in zip("ab", LIVES, strict=False):
        (tmp_path / name).mkdir()
        paths.append(written(tmp_path / name, [{**line, "seq": len(paths) + 1, "life": life}]))
    assert plain_extraction(paths, Report()) is None
    assert_same(paths[0])
    (tmp_path / "c").mkdir()
    assert_same(paths[0], written(tmp_path / "c", [{**line, "seq": 2}]))


@pytest.mark.parametrize("options", [{}, {"flush": "exit"}, {"clocks": True}])
def test_what_recorders_write_takes_the_lane(tmp_path: Path, options: dict[str, Any]) -> None:
    names = ["alice", "store"]
    paths = [tmp_path / f"{name}.jsonl" for name in names]
    alice, store = (Recorder(name, str(path), **options) for name, path in zip(names, paths, strict=True))
    alice.event("got lease", key="x")
    store.receive(alice.send("write x=1", to="store"), "x = 1")
    alice.receive(store.send("done"))
    alice.close()
    store.close()
    if options.get("clocks"):
        assert plain_extraction(paths, Report()) is None
    else:
        assert_same(*paths)
        assert_same(*reversed(paths))


def test_a_log_that_must_be_in_order_is_plain_only_where_it_is(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"process": "q", "seq": 1, "kind": "receive", "message": "m"},
        {"process": "p", "seq": 1, "kind": "send", "message": "m"},
    ]
    path = written(tmp_path, lines)
    assert_same(path)
    assert plain_extraction([path], Report(), in_order=True) is None
    assert plain_extraction([written(tmp_path, lines[::-1])], Report(), in_order=True) is not None


@pytest.mark.parametrize("text", [b"", b"\xef\xbb\xbf", b"\n"])
def test_a_file_of_nothing_beside_others(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "none.jsonl").write_bytes(text)
    some = written(tmp_path, log([(0, -1), (1, 0)], 2))
    for paths in ([tmp_path / "none.jsonl", some], [some, tmp_path / "none.jsonl"]):
        assert microcosm_of_logs(paths) == careful(paths, Report())


@given(
    steps, st.lists(st.integers(0, 30), max_size=3), st.sampled_from(["", "\n", "\n\n"]), st.integers(1, 9)
)
@example([(0, -1), (0, -1)], [1], "", 9)  # the last line, which does not end, after a blank one
def test_blank_lines_count_wherever_a_block_ends(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], blank: list[int], end: str, size: int
) -> None:
    told = [json.dumps(line) for line in log(steps, 2)]
    for at in blank:
        told.insert(at % len(told), "")
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_text("\n".join(told) + end, "utf-8")
    mine, theirs = Report(), Report()
    expected = careful([path], theirs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("microcosm.traces.text.lines._BLOCK", 40 * size)
        found = plain_extraction([path], mine)
    if found is not None:
        assert (found.givens.events, mine.findings) == (expected.givens.events, theirs.findings)


@pytest.mark.parametrize("more", [{"label": "x"}, {"attributes": {"x": 1}}, {"origin": ["a.log", 3]}])
@pytest.mark.parametrize("turned", [False, True])
def test_a_file_that_says_more_beside_one_that_says_less(
    tmp_path_factory: pytest.TempPathFactory, more: dict[str, object], turned: bool
) -> None:
    lines = [[{**line, **each}] for line, each in zip(log([(0, -1), (1, 0)], 2), [more, {}], strict=True)]
    assert_same(*(written(tmp_path_factory.mktemp("log"), part) for part in lines[:: -1 if turned else 1]))


RUNS = st.lists(st.tuples(st.sampled_from(["t", "u", "u 2", ""]), steps), min_size=1, max_size=4)


@given(RUNS, st.lists(st.integers(0, 3), max_size=40), st.booleans(), st.integers(0, 2))
@example([("t", [(0, -1), (1, 0)]), ("u", [(0, -1), (1, 0)])], [0, 1, 1, 0], True, 1)
@example([("", [(0, -1)]), ("u", [(0, -1)])], [], False, 0)  # what has no name stands beside what has one
def test_executions_take_the_lane_and_come_out_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    runs: list[tuple[str, list[Step]]],
    turns: list[int],
    first: bool,
    unreceived: int,
) -> None:
    left = {trace: log(steps, 3) for trace, steps in runs}
    for listed in left.values():
        for line in listed[:unreceived]:
            if line["kind"] == "internal":
                line.update(kind="send", message=f"lost {line['process']} {line['seq']}")
    lines: list[dict[str, object]] = []
    for turn in [*turns, *range(len(left))] * 40:
        trace = [*left][turn % len(left)]
        if left[trace]:
            line, named = left[trace].pop(0), {"trace": trace} if trace else {}
            lines.append({**named, **line} if first else {**line, **named})
    path = written(tmp_path_factory.mktemp("log"), lines)
    if len({*left}) > 1 and "" in left:
        assert plain_extraction([path], Report()) is None
    else:
        assert_same(path)


def test_a_second_execution_far_into_a_log_is_one_of_several(tmp_path: Path) -> None:
    lines = [{**line, "trace": f"t{at // 9_000}"} for at, line in enumerate(log([(0, -1)] * 9_000, 1) * 2)]
    assert_same(written(tmp_path, lines))


def test_executions_whose_names_may_run_together_are_left_alone() -> None:
    """Event 1 of `b/p` in `a` and of `p` in `a/b` would have one name; each piece has but one of the two."""
    columns = LogColumns(several=True)
    columns.open("log.jsonl", '{"trace":')
    line = '{"trace": "%s", "process": "%s", "seq": 1, "kind": "internal"}\n'
    assert not (columns.take(line % ("a/b", "p")) and columns.take(line % ("a", "b/p")))
    assert columns.take(line % ("a", "b/p"))


ODD: list[dict[str, object]] = [
    {"seq": 9},
    {"process": ""},
    {"message": "m1", "kind": "send"},
    {"message": "m1", "kind": "receive"},
    {"message": "m1", "kind": "internal"},
    {"kind": "send"},
    {"kind": "deliver", "message": "m1"},
    {"clock": {"p0": 1}},
    {"label": "odd"},
    {"label": "\ud800"},
    {"label": None},
    {"attributes": {}},
    {"attributes": {"x": 1}},
    {"attributes": {"x": "\ud800"}},
    {"attributes": {"assumed": True}},
    {"attributes": {"assumed": False}},
    {"attributes": {"x": [1]}},
    {"attributes": {"x": {"y": 1}}},
    {"attributes": {"x": 10**30}},
    {"attributes": {"x": 1e300}},
    {"attributes": {"x": float("nan")}},
    {"attributes": []},
    {"attributes": None},
    {"origin": ["a.log", 3]},
    {"origin": ["a.log", 0]},
    {"origin": "a.log"},
    {"label": 3},
    {"process": 'p"0'},
    {"seq": 1},
    {"trace": "t"},
    {"trace": "t/u"},
    {"trace": ""},
    {"trace": None},
]


@given(steps, st.integers(1, 4), st.lists(st.tuples(st.integers(0, 29), st.sampled_from(ODD)), max_size=3))
@example([(0, -1), (1, -1)], 2, [(0, {"message": "m1", "kind": "receive"}), (1, ODD[2])])  # received before
@example([(0, -1), (0, -1)], 1, [(0, ODD[2]), (1, ODD[3])])  # of one's own
@example([(0, -1), (1, -1), (2, -1)], 3, [(0, ODD[2]), (1, ODD[3]), (2, ODD[3])])  # received by two
def test_what_is_odd_is_told_as_the_careful_reader_tells_it(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[Step],
    processes: int,
    odd: list[tuple[int, dict[str, object]]],
) -> None:
    lines = log(steps, processes)
    for at, change in odd:
        lines[at % len(lines)].update(change)
    path = written(tmp_path_factory.mktemp("log"), lines)
    mine, theirs = Report(), Report()
    found = plain_extraction([path], mine)
    if found is None:
        assert not mine.counts
        return
    assert found == careful([path], theirs)
    assert mine.findings == theirs.findings


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('{"x": 1, "x": 2}', {"x": 2}),
        ('{"x":-0.5e3,"y" :1}', None),
        ('{"x": 01}', None),
        ('{"x": 1,}', None),
        ('{"x": "\\q"}', None),
        ('{"x": "\\ud83d\\ude00"}', {"x": "\U0001f600"}),
        ('{"time": 12.0, "x": true}', {"time": 12.0, "x": True}),
        ('{"x": "a \\"assumed\\" b"}', {"x": 'a "assumed" b'}),
    ],
)
def test_attributes_are_what_json_says(
    tmp_path: Path, attributes: str, expected: dict[str, object] | None
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f'{{"process": "p", "seq": 1, "kind": "internal", "attributes": {attributes}}}\n')
    found = plain_extraction([path], Report())
    assert (found is None) == (expected is None)
    if found is not None:
        assert_same(path)
        assert found.givens.events is not None
        assert [*found.givens.events.attributes] == [expected]


@pytest.mark.parametrize("text", ["\n", "no log\n", '{"process": "p", "seq": 1, "kind": "internal"} x\n'])
def test_what_is_no_such_log_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    assert plain_extraction([path], Report()) is None
    assert plain_extraction([tmp_path / "none.jsonl"], Report()) is None
    path.write_text("")
    assert plain_extraction([path], Report()) == careful([path], Report())


def test_a_strict_report_refuses_the_first_thing_that_is_odd(tmp_path: Path) -> None:
    path = written(tmp_path, [{"process": "p", "seq": 1, "kind": "send", "message": "m"}])
    with pytest.raises(TraceError) as fault:
        plain_extraction([path], Report(strict=True))
    with pytest.raises(TraceError) as expected:
        careful([path], Report(strict=True))
    assert str(fault.value) == str(expected.value)


MORE: st.SearchStrategy[dict[str, object]] = st.sampled_from(
    [{}, {"label": "a label"}, {"attributes": {"x": 1}}, {"label": "a label", "attributes": {"time": 2.5}}]
)


@given(steps, st.integers(1, 4), st.lists(MORE, max_size=30), st.data())
def test_lines_are_taken_in_pieces_as_at_once(
    steps: list[Step], processes: int, more: list[dict[str, object]], data: st.DataObject
) -> None:
    """Also where a piece is of lines that say nothing but what was sent, and the next one is not."""
    lines = log(steps, processes)
    for line, each in zip(lines, more, strict=False):
        line.update(each)
    texts = [json.dumps(line) + "\n" for line in lines]
    cuts = sorted({0, *data.draw(st.lists(st.integers(1, len(texts) - 1) if len(texts) > 1 else st.just(0)))})
    pieces = ["".join(texts[at:end]) for at, end in zip(cuts, [*cuts[1:], len(texts)], strict=True)]
    extracted = []
    for told in (pieces, ["".join(texts)]):
        columns = LogColumns(several=False)
        columns.open("log.jsonl", '{"process":')
        assert all(map(columns.take, told))
        assert columns.settle()
        extracted.append(columns.extraction(Report()))
    in_pieces, at_once = extracted
    assert in_pieces.givens == at_once.givens
    assert in_pieces.givens.events == at_once.givens.events
