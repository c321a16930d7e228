"""A copy of a log in the own format says what the log says: as JSON lines, as Parquet, as rows of Spark.

Readers number events and name messages where a log does not. What follows from a number that was made up is
less than from one that was recorded, and a name that was made up means nothing elsewhere; a copy must tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO, StringIO
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from microcosm.spark.io import events as rows
from microcosm.state.microcosm import Microcosm
from microcosm.traces import reading as formats
from microcosm.traces.covering import covering
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.formats import jsonl, parquet
from microcosm.traces.report import Report
from tests.traces.damage import DAMAGES, Damage, joined
from tests.traces.samples import SAMPLES, Sample


def written(sample: Sample, files: list[list[int | str]], folder: Path) -> list[Path]:
    """The files of a damaged sample."""
    paths = []
    for number, pieces in enumerate(files):
        path = folder / f"{number}.log"
        texts = [sample.records[piece] if isinstance(piece, int) else piece for piece in pieces]
        path.write_bytes(sample.binary("".join((sample.header, *texts, sample.footer))))
        paths.append(path)
    return paths


def copies(events: list[TraceEvent], folder: Path) -> Iterator[tuple[list[TraceEvent], Report]]:
    """The events as they are read from copies, and what was odd about these."""
    text, columns = StringIO(), BytesIO()
    jsonl.write(events, text)
    parquet.write(events, columns)
    (folder / "copy.jsonl").write_text(text.getvalue(), encoding="utf-8")
    (folder / "copy.parquet").write_bytes(columns.getvalue())
    for name in ("copy.jsonl", "copy.parquet"):
        report = Report()
        yield [*formats.read([folder / name], report=report)], report
    table = pa.Table.from_pylist([*map(rows.row_of, events)], schema=rows.arrow_schema(rows.EVENT))
    yield [*rows.events_in(table)], Report()


def said(events: list[TraceEvent], report: Report) -> tuple[object, ...]:
    """What is found of events: the microcosm, its covering edges, and what is odd beside the lines."""
    found = extract(events, report=report)
    other = Report()
    edges = covering(events, other)
    links = [(link.left, link.right, link.last) for link in edges.foreign]
    counts = (found.events, found.processes, found.messages, found.isolated)
    return found.givens, edges.edges, edges.frontiers, links, counts, report.counts


def check(events: list[TraceEvent], folder: Path) -> None:
    made_up = {event.full_id: event.counted for event in events}
    wanted = said(events, Report())
    for copy, report in copies(events, folder):
        assert {event.full_id: event.counted for event in copy} == made_up
        assert said(copy, report) == wanted


SEEDS = pytest.mark.parametrize(
    "seeds",
    [range(1, 2), pytest.param(range(2, 15), marks=pytest.mark.thorough)],
    ids=["few", "many"],
)


@SEEDS
@pytest.mark.parametrize("done", DAMAGES, ids=lambda done: done.__name__)
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_copy_of_a_damaged_log_says_what_the_log_says(
    name: str, done: Damage, seeds: range, tmp_path: Path
) -> None:
    for seed in seeds:
        sample = SAMPLES[name](seed)
        paths = written(sample, done(sample, Random(seed)), tmp_path)
        check([*formats.read(paths, format=sample.format, pattern=sample.pattern)], tmp_path)


@SEEDS
@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_copy_of_two_executions_says_what_they_say(
    name: str, separated: bool, seeds: range, tmp_path: Path
) -> None:
    for seed in seeds:
        one, other = SAMPLES[name](seed), SAMPLES[name](seed + 100)
        if separated and one.separator is None:
            continue
        both, pieces = joined(one, other, separated, files=False)
        paths = written(both, pieces, tmp_path)
        check([*formats.read(paths, format=both.format, pattern=both.pattern)], tmp_path)


def test_numbers_that_json_does_not_have_are_texts_wherever_they_are_written(tmp_path: Path) -> None:
    """Some tools write them; a copy, and a microcosm, are read again whole."""
    log = tmp_path / "spans.json"
    span = '{"traceId": "t", "id": "a", "timestamp": 1, "duration": 1, "tags": {"n": NaN, "m": 1e999}}\n'
    log.write_text(span, encoding="utf-8")
    copy = tmp_path / "copy.jsonl"
    with copy.open("w", encoding="utf-8") as stream:
        jsonl.write(formats.read([log]), stream)
    for ending in ("mc", "json"):
        Microcosm.read(log).write(tmp_path / f"written.{ending}")
    with (tmp_path / "copy.parquet").open("wb") as table_of:
        parquet.write(formats.read([log]), table_of)
    assert '"m": "Infinity"' in rows.row_of(next(formats.read([log])))["attributes"]
    for whole in (copy, tmp_path / "copy.parquet", tmp_path / "written.mc", tmp_path / "written.json"):
        table = Microcosm.read(whole).givens.events
        assert table is not None
        first, end = table
        assert (first.attributes["n"], first.attributes["m"]) == ("NaN", "Infinity"), whole
        assert end.name == "span#1/end"
