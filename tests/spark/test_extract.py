"""What Spark extracts from traces is what the engine in this process extracts, row by row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from microcosm.cli.app import main
from microcosm.errors import TextError
from microcosm.spark.extract import job, routes
from microcosm.spark.extract.job import ExtractOptions
from microcosm.spark.io import inputs as pieces
from microcosm.spark.io.events import max_bad
from microcosm.spark.io.folders import SCHEMA
from microcosm.traces import reading as formats
from microcosm.traces.covering import covering
from microcosm.traces.event import Counted, TraceEvent
from microcosm.traces.execution import executions
from microcosm.traces.extract import extract
from microcosm.traces.formats import parquet
from microcosm.traces.formats.jsonl import line_of
from microcosm.traces.report import Report
from tests.spark.conftest import table
from tests.thorough import draws
from tests.traces.runs import shiviz_text, simulated
from tests.traces.test_restarts import NAMES

pytestmark = pytest.mark.spark


def traces(seed: int, count: int, steps: int) -> Iterator[TraceEvent]:
    """The events of some random runs, each with clocks, without, or with some."""
    random = Random(seed)
    for number in range(count):
        choices = [(random.randrange(4), random.randrange(10), random.randrange(6)) for _ in range(steps)]
        for event in simulated(choices, every_event_ticks=True).events:
            clock = event.clock if number % 3 == 0 or (number % 3 == 1 and random.random() < 0.5) else None
            yield TraceEvent(
                event.process,
                event.seq,
                event.kind,
                event.message,
                event.to,
                clock,
                stamp=(float(event.seq), event.seq + 1.5) if number % 5 == 0 else None,
                attributes={"lock": random.choice("ab")} if number % 2 else {},
                trace=f"run{number}",
            )


def in_process(
    events: list[TraceEvent], several: bool, token: str | None = None, chosen_kinds: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Counter[str]]:
    """The tables `edges` and `frontiers`, sorted, and the counts of irregularities."""
    edges, frontiers = [], []
    counts: Counter[str] = Counter()
    for trace in dict.fromkeys(event.trace for event in events):
        report = Report()
        own = [event for event in events if event.trace == trace]
        chosen = [(event.process, event.seq) for event in own if event.kind in chosen_kinds]
        found = covering(own, report, full_names=several, token=token, chosen=chosen)
        names = ("trace", "left", "relation", "right", "source")
        edges += [dict(zip(names, (trace, *edge), strict=True)) for edge in found.edges]
        frontiers += [
            {"trace": trace, "process": each.process, "last": each.last, "knows": list(each.knows.items())}
            for each in found.frontiers
        ]
        counts += report.counts
    return sorted(edges, key=repr), sorted(frontiers, key=repr), counts


def test_spark_is_the_engine_in_this_process_row_by_row(spark: Any, tmp_path: Path) -> None:
    events = list(traces(1, count=30, steps=40))
    shuffled = Random(2).sample(events, len(events))  # rows of a trace need not stand together
    log = tmp_path / "log.jsonl"
    log.write_text("".join(map(line_of, shuffled)), encoding="utf-8")
    out = tmp_path / "out"
    found = job.extract(
        spark, [str(log)], str(out), ExtractOptions(concurrent="kind <> 'internal'", token="lock")
    )
    read = list(formats.read([log]))
    edges, frontiers, counts = in_process(read, True, "lock", ("send", "receive"))
    assert {edge["relation"] for edge in edges} == {"<", "<>", "||"}
    assert table(out, "edges") == edges
    assert table(out, "frontiers") == frontiers
    assert found.summary == {
        "events": len(events),
        "edges": len(edges),
        "frontiers": len(frontiers),
        "reported": dict(counts),
        "whole": [],
    }
    ids = {row["id"]: row for row in table(out, "events")}
    assert ids.keys() == {event.full_id for event in events}
    assert all(ids[event.full_id]["line"] == event.line for event in read)


@pytest.mark.parametrize("seed", range(draws(2, 40)))
def test_no_two_events_of_a_log_have_one_name(spark: Any, tmp_path: Path, seed: int) -> None:
    """Neither where those of one trace look like those of another, nor where executions begin again."""
    random = Random(seed)
    names = [(trace, "p") for trace in NAMES] + [(None, "a/b/c"), ("a", "b/c"), ("a/b", "c"), ("a", "q")]
    lines = []
    for number in range(60):
        trace, process = random.choice(names)
        for seq in sorted(random.sample(range(1, 5), 2)):
            kind = random.choice(("internal", "send", "receive"))
            message = "m" if kind != "internal" else None
            event = TraceEvent(process, seq, kind, message, label=f"{trace}#{number}", trace=trace)
            lines.append(line_of(event))
    log, out = tmp_path / "log.jsonl", tmp_path / "out"
    log.write_text("".join(lines), encoding="utf-8")
    job.extract(spark, [str(log)], str(out))
    rows = table(out, "events")
    stated = {row["id"]: row["label"].partition("#")[0] for row in rows}
    executions = {row["id"]: row["trace"] for row in rows}
    assert len(stated) == len(rows)
    edges = table(out, "edges")
    assert edges
    for edge in edges:
        ends = edge["left"], edge["right"]
        assert len({stated[end] for end in ends}) == 1
        assert {executions[end] for end in ends} == {edge["trace"]}
    again = formats.read(sorted((out / "events").glob("*.parquet")))
    assert {event.full_id for event in again} == {*stated}


def test_executions_that_only_clocks_tell_apart_are_so_in_all_tables(spark: Any, tmp_path: Path) -> None:
    log, out = tmp_path / "run.log", tmp_path / "out"
    lines = [f'p {{"p": {own}}}\na {at}\n' for at, own in enumerate((1, 2, 1, 2))]
    log.write_text("".join(lines), encoding="utf-8")
    job.extract(spark, [str(log)], str(out))
    rows = table(out, "events")
    ends = {edge[end] for edge in table(out, "edges") for end in ("left", "right")}
    told = {event.full_id for run in executions(formats.read([log]), Report()) for event in run.events}
    assert ends == {row["id"] for row in rows} == told
    assert [row["trace"] for row in rows] == ["execution (2)", "execution (2)", None, None]


def test_the_edges_order_what_the_microcosm_of_the_trace_orders(spark: Any, tmp_path: Path) -> None:
    events = list(traces(3, count=1, steps=60))
    log = tmp_path / "run.log"
    log.write_text(shiviz_text(events), encoding="utf-8")
    job.extract(spark, [str(log)], str(tmp_path / "out"))
    given = extract(formats.read([log]), with_clocks=False).givens
    edges = {(row["left"], row["right"]) for row in table(tmp_path / "out", "edges")}
    assert edges == {(fact.left, fact.right) for fact in given.external.values()}


def test_a_large_file_is_read_in_pieces_and_lines_keep_their_numbers(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = list(traces(4, count=10, steps=30))
    lines = [line_of(event) for event in events]
    lines[100] = "half of a li\n"
    log = tmp_path / "log.jsonl"
    log.write_text("".join(lines), encoding="utf-8")
    monkeypatch.setattr("microcosm.spark.io.inputs.LARGEST", 1000)
    found = job.extract(spark, [str(log)], str(tmp_path / "out"))
    assert found.summary["events"] == len(events) - 1
    assert found.summary["reported"]["bad-line"] == 1
    assert any(fault.startswith(f"{log}:101: not JSON") for fault in found.faults)
    edges, _, _ = in_process(list(formats.read([log])), True)
    assert table(tmp_path / "out", "edges") == edges


def test_a_corrupt_file_among_good_ones_is_named_and_nothing_else_is_lost(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    good = {"p": TraceEvent("p", 1, "send", "m"), "q": TraceEvent("q", 1, "receive", "m")}
    for name in ("one", "two"):
        (folder / f"{name}.jsonl").write_text("".join(map(line_of, good.values())), encoding="utf-8")
    (folder / "bytes.jsonl").write_bytes(b'{"process": "p\xff"}\n')
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
    (folder / "rows.parquet").touch()
    schema = pa.schema(
        [("trace", pa.string()), ("process", pa.string()), ("seq", pa.int64()), ("kind", pa.string())]
    )
    rows = [{"trace": "three", "process": "p", "seq": n, "kind": "internal"} for n in (1, 2, 2, 0)]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "rows.parquet")
    found = job.extract(spark, [str(folder)], str(tmp_path / "out"), ExtractOptions(max_bad=max_bad("3")))
    assert found.summary["reported"] == {"bad-line": 1, "duplicate-event": 1, "unreadable": 2}
    assert {str(folder / name) in " ".join(found.faults) for name in ("bytes.jsonl", "broken.parquet")} == {
        True
    }
    assert [row["id"] for row in table(tmp_path / "out", "events")] == [
        f"{trace}/{at}"
        for trace, at in (
            ("one", "p:1"),
            ("one", "q:1"),
            ("three", "p:1"),
            ("three", "p:2"),
            ("two", "p:1"),
            ("two", "q:1"),
        )
    ]
    odd = table(tmp_path / "out", "reported")
    odd.sort(key=itemgetter("reported", "file"))
    assert [(row["reported"], Path(row["file"]).name, row["line"]) for row in odd] == [
        ("bad-line", "rows.parquet", 4),
        ("duplicate-event", "rows.parquet", 3),
        ("unreadable", "broken.parquet", None),
        ("unreadable", "bytes.jsonl", None),
    ]
    assert all(row["fault"] and row["count"] == 1 for row in odd)
    before = (tmp_path / "out" / "manifest.json").read_bytes()
    for limit in ("2", "99%"):
        with pytest.raises(TextError, match=f"3 of 10 .* --max-bad is {limit}"):
            job.extract(spark, [str(folder)], str(tmp_path / "out"), ExtractOptions(max_bad=max_bad(limit)))
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before
    with pytest.raises(TextError, match=r"\[(bad-line|duplicate-event|unreadable)\]"):
        job.extract(spark, [str(folder)], str(tmp_path / "out"), ExtractOptions(strict=True))


@pytest.mark.parametrize(("largest", "room"), [(1, 1 << 40), (2_000_000, 1)])
def test_of_events_of_one_name_in_several_traces_the_first_counts(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int, room: int
) -> None:
    monkeypatch.setattr(routes, "LARGEST", largest)
    monkeypatch.setattr(job, "worker_memory", lambda _: room)  # of one byte: traces are done in slices
    events = [
        TraceEvent("p", 1, trace="z", name="x"),
        TraceEvent("p", 2, trace="z", name="a/q:2"),
        TraceEvent("p", 1, trace="a", name="y"),
        TraceEvent("p", 2, trace="a", name="x"),
        TraceEvent("p", 3, trace="a", name="y'"),
        *(TraceEvent("q", at, trace="a") for at in (1, 2, 3)),
        *(TraceEvent("q", at, name="x" if at == 2 else None) for at in (1, 2, 3)),
    ]
    log, report = tmp_path / "log.jsonl", Report()
    log.write_text("".join(map(line_of, events)), encoding="utf-8")
    here = extract(formats.read([log]), report=report)
    found = job.extract(spark, [str(log)], str(tmp_path / "out"))
    assert found.summary["reported"] == report.counts == {"duplicate-event": 3, "seq-gap": 3}
    assert found.summary["events"] == len(events) - 3 == len(table(tmp_path / "out", "events"))
    assert {(edge["left"], edge["right"]) for edge in table(tmp_path / "out", "edges")} == {
        (fact.left, fact.right) for fact in here.givens.external.values()
    }
    twice = {(each.message, each.line) for each in report.findings if each.kind == "duplicate-event"}
    assert {
        (row["fault"], row["line"]) for row in table(tmp_path / "out", "reported") if row["lost"]
    } == twice


@pytest.mark.parametrize("alone", [True, False])
def test_a_trace_named_after_its_file_is_none_that_rows_state(
    spark: Any, tmp_path: Path, alone: bool
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    stated = [TraceEvent("p", 3, trace="a"), TraceEvent("q", 1, "receive", "m", trace="a")]
    unstated = [TraceEvent("p", 1, "send", "m"), TraceEvent("p", 2)]
    (logs / "a.jsonl").write_text("".join(map(line_of, unstated + stated * alone)), encoding="utf-8")
    (logs / "b.jsonl").write_text("".join(map(line_of, stated * (not alone))), encoding="utf-8")
    (logs / "c.jsonl").write_text(line_of(TraceEvent("p", 1)), encoding="utf-8")
    job.extract(spark, [str(logs)], str(tmp_path / "out"))
    found = {(row["trace"], row["process"], row["seq"]) for row in table(tmp_path / "out", "events")}
    own = str(logs / "a.jsonl")
    assert found == {(own, "p", 1), (own, "p", 2), ("a", "p", 3), ("a", "q", 1), ("c", "p", 1)}
    [edge] = table(tmp_path / "out", "edges")
    assert (edge["trace"], edge["left"], edge["right"]) == (own, f"{own}/p:1", f"{own}/p:2")


def test_a_folder_names_the_trace_that_rows_state_too(spark: Any, tmp_path: Path) -> None:
    (folder := tmp_path / "logs" / "trace=a").mkdir(parents=True)
    (folder / "x.jsonl").write_text(line_of(TraceEvent("p", 1)), encoding="utf-8")
    (folder / "y.jsonl").write_text(line_of(TraceEvent("p", 2, trace="a")), encoding="utf-8")
    (beside := tmp_path / "logs" / "a.jsonl").write_text(line_of(TraceEvent("p", 3)), encoding="utf-8")
    job.extract(spark, [str(tmp_path / "logs")], str(tmp_path / "out"))
    found = {(row["trace"], row["seq"]) for row in table(tmp_path / "out", "events")}
    assert found == {("a", 1), ("a", 2), (str(beside), 3)}


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_copies_of_logs_whose_names_were_counted_are_kept_apart(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """And not the parts of a table, where that is read again."""
    copies = [tmp_path / f"{name}.{ending}" for name in "abc"]
    events = [TraceEvent("p", at, name=Counted(f"c{at}")) for at in (1, 2)]
    for copy in copies:
        with copy.open("wb") as stream:
            if ending == "parquet":
                parquet.write(events, stream)
            else:
                stream.writelines(line_of(event).encode() for event in events)
    for size in ("LARGEST", "STAGED"):  # each file is for a task
        monkeypatch.setattr(pieces, size, 1)
    found = job.extract(spark, [*map(str, copies)], str(tmp_path / "out"))
    assert found.summary["reported"] == {}
    here = extract(formats.read(copies)).givens.external.values()
    edges = {(edge["left"], edge["right"]) for edge in table(tmp_path / "out", "edges")}
    assert edges == {(fact.left, fact.right) for fact in here}
    again = [*(tmp_path / "out" / "events").glob("*.parquet")]
    assert len(again) > 1
    here = extract(formats.read(again)).givens.external.values()
    assert edges == {(fact.left, fact.right) for fact in here}
    job.extract(spark, [str(tmp_path / "out")], str(tmp_path / "more"))
    assert edges == {(edge["left"], edge["right"]) for edge in table(tmp_path / "more", "edges")}


def test_what_is_told_once_is_so_however_rows_lie_in_pieces(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "LARGEST", 500)
    monkeypatch.setattr("microcosm.spark.io.reading._LINES", 100)
    logs = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for log in logs:
        lines = [
            f'{{"process": "{log.stem}", "seq": {at}, "kind": "internal", "{name}": 1}}'
            for at, name in enumerate(["lable", "mesage"] * 20, 1)
        ]
        log.write_text("\r\n\n".join(lines).replace("\r\n\n", "\r", 3), encoding="utf-8", newline="")
    report = Report()
    assert len([*formats.read(logs, report=report)]) == 80
    found = job.extract(spark, [*map(str, logs)], str(tmp_path / "out"))
    assert found.summary["reported"] == {"line-end": 2, "misnamed-field": 2} == report.counts
    told = {
        (row["reported"], row["fault"], row["file"], row["line"])
        for row in table(tmp_path / "out", "reported")
    }
    assert told == {(each.kind, each.message, each.file, each.line) for each in report.findings}


@pytest.mark.parametrize(("said", "largest"), [("label", 1), ("attributes", 2_000_000)])
def test_a_process_begins_again_where_it_says_something_else(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, largest: int
) -> None:
    monkeypatch.setattr(routes, "LARGEST", largest)  # gathered by Spark, or not
    first, again = ({"label": f"run {n}"} if said == "label" else {"attributes": {"run": n}} for n in (1, 2))
    events = [TraceEvent("p", 1, **first), TraceEvent("p", 2), TraceEvent("p", 2)]  # type: ignore[arg-type]
    events += [TraceEvent("p", 1, **again), TraceEvent("p", 2)]  # type: ignore[arg-type]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(map(line_of, events)), encoding="utf-8")
    found = job.extract(spark, [str(log)], str(tmp_path / "out"))
    assert found.summary["reported"] == {"duplicate-event": 1, "restart": 1}
    assert [row["right"] for row in table(tmp_path / "out", "edges")] == ["2/p:2", "p:2"]
    assert {row["id"] for row in table(tmp_path / "out", "events")} == {
        event.full_id for event in formats.read([log])
    }


def test_the_tables_can_be_read_again(spark: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(map(line_of, traces(5, count=6, steps=20))), encoding="utf-8")
    one, two = tmp_path / "one", tmp_path / "two"
    first = job.extract(spark, [str(log)], str(one))
    again = job.extract(spark, [str(one / "events")], str(two))
    assert first.summary == again.summary
    assert table(one, "edges") == table(two, "edges")
    for name in job.TABLES:
        part = next((one / name).glob("*.parquet"))
        assert SCHEMA in str(pq.read_schema(part).metadata)


def test_the_same_is_found_however_traces_are_gathered(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole in a file or in some that follow each other; by Spark the others, or all."""
    log = tmp_path / "log.jsonl"
    log.write_text("".join(map(line_of, traces(8, count=6, steps=30))), encoding="utf-8")
    whole = job.extract(spark, [str(log)], str(tmp_path / "whole"))
    assert {"found", "shuffled"} & whole.stages.keys() == {"found"}
    monkeypatch.setattr(pieces, "LARGEST", log.stat().st_size // 3)
    monkeypatch.setattr(routes, "TOGETHER", 1)
    near = job.extract(spark, [str(log)], str(tmp_path / "near"))
    assert {"found", "shuffled"} & near.stages.keys() == {"found"}
    monkeypatch.setattr(routes, "LARGEST", whole.summary["events"] // 2)
    some = job.extract(spark, [str(log)], str(tmp_path / "some"))
    assert some.stages.keys() > {"found", "shuffled"}
    monkeypatch.setattr(routes, "MOST", 0)
    none = job.extract(spark, [str(log)], str(tmp_path / "none"))
    assert {"found", "shuffled"} & none.stages.keys() == {"shuffled"}
    for name, found in (("near", near), ("some", some), ("none", none)):
        assert found.summary == whole.summary
        for each in job.TABLES:
            assert table(tmp_path / name, each) == table(tmp_path / "whole", each)


def test_a_job_killed_half_way_and_started_again_gives_the_same(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "out"
    log.write_text("".join(map(line_of, traces(6, count=5, steps=20))), encoding="utf-8")

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("microcosm.spark.extract.job._Job._events", killed)
        with pytest.raises(Killed):
            job.extract(spark, [str(log)], str(out))
    assert not (out / "edges").exists()
    with monkeypatch.context() as patch:
        patch.setattr("microcosm.spark.io.reading.read", killed)  # what was read is not read again
        found = job.extract(spark, [str(log)], str(out))
    whole = job.extract(spark, [str(log)], str(tmp_path / "whole"))
    assert found.summary == whole.summary
    for name in job.TABLES:
        assert table(out, name) == table(tmp_path / "whole", name)
    assert sorted(each.name for each in out.iterdir()) == sorted(["manifest.json", *job.TABLES])
    assert job.extract(spark, [str(log)], str(out)).stages == {}


def test_the_command(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "out"
    log.write_text("".join(map(line_of, traces(7, count=2, steps=10))), encoding="utf-8")
    command = ["spark", "extract", str(log), "--out", str(out)]
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said.keys() == {"schema", "events", "edges", "frontiers", "reported", "whole", "stages"}
    assert main([*command, "--concurrent", "nothing = 1"]) == 2
    assert "nothing" in capsys.readouterr().err
    assert main(["spark", "extract", "absent.jsonl", "--out", str(out)]) == 4
