"""Traces that stand together are gathered by tasks: every event once, a trace whole, those apart told."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from microcosm.spark.extract import routes
from microcosm.spark.io import reading
from microcosm.spark.io.events import arrow_schema

EVENTS = arrow_schema(reading.EVENTS)
SIZES = arrow_schema(reading.SIZES)

TRACES = st.sampled_from(("a", "b", "c", None))


def stage(folder: Path, files: list[list[list[str | None]]]) -> tuple[Path, pa.Table]:
    """Files of pieces of events, whose traces are given, as `reading.read` has them written; their sizes."""
    events, sizes = folder / "events", folder / "sizes"
    for path in (events, sizes):
        path.mkdir(parents=True)
        for old in path.iterdir():
            old.unlink()
    number = 0
    for at, pieces in enumerate(files):
        rows, counts = [], []
        for piece in pieces:
            number += 1
            own: dict[str | None, list[int]] = {}
            for trace in piece:
                place = (number << 32) + len(rows)
                rows.append({"at": place, "trace": trace})
                own.setdefault(trace, []).append(place)
            counts += [
                {"trace": trace, "events": len(found), "first": found[0], "last": found[-1]}
                for trace, found in own.items()
            ]
        pq.write_table(pa.Table.from_pylist(rows, schema=EVENTS), events / f"{9 - at}.parquet")
        pq.write_table(pa.Table.from_pylist(counts, schema=SIZES), sizes / f"{at}.parquet")
    return events, reading.summed(pq.read_table(sizes, partitioning=None))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.lists(TRACES, max_size=5), max_size=3), min_size=1, max_size=5),
    st.integers(1, 8),
    st.integers(1, 12),
    st.sets(TRACES, max_size=2),
)
def test_each_trace_is_done_once_or_told_to_be_apart(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[list[list[str | None]]],
    together: int,
    most: int,
    sliced: set[str | None],
) -> None:
    folder = tmp_path_factory.mktemp("staged")
    events, sizes = stage(folder, files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "TOGETHER", together)
        where = routes.places(events, sizes, pa.array(sorted(sliced, key=str), pa.string()), most)
    assert where is not None
    runs, apart = where
    every = [row for path in events.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    done: list[str | None] = apart.to_pylist()
    for run in runs:
        batches = routes.rows_of(run, ["at", "trace"])
        found = [row for batch in batches for row in batch.to_pylist()]
        changes = [
            row["trace"] for at, row in enumerate(found) if not at or found[at - 1]["trace"] != row["trace"]
        ]
        for trace in changes:
            places = [row["at"] for row in found if row["trace"] == trace]
            assert places == sorted(row["at"] for row in every if row["trace"] == trace)
        done += changes
        looked_at = sum(pq.read_metadata(path).num_rows for path in [*run.own, *run.more])
        largest = max([0, *(sum(row["trace"] == trace for row in every) for trace in changes)])
        assert looked_at <= max(most, 2 * largest)
    assert sorted(done, key=str) == sorted({row["trace"] for row in every} - sliced, key=str)


def test_traces_that_go_on_in_the_next_file_are_done_by_who_has_their_beginning(tmp_path: Path) -> None:
    events, sizes = stage(tmp_path, [[["a", "x", "b"]], [["b", "y", "c"]], [["c", "d", "z"]]])
    nothing = pa.array([], pa.string())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "TOGETHER", 3)
        where = routes.places(events, sizes, nothing, 6)
        assert where is not None
        runs, apart = where
        assert not len(apart)
        assert [(len(run.own), len(run.more), run.without.to_pylist()) for run in runs] == [
            (1, 1, []),
            (1, 1, ["b"]),
            (1, 0, ["c"]),
        ]
        where = routes.places(events, sizes, nothing, 5)
        assert where is not None
        assert sorted(where[1].to_pylist()) == ["b", "c"]
        assert [(len(run.own), len(run.more)) for run in where[0]] == [(1, 0)] * 3


def test_where_there_is_too_much_it_is_not_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events, sizes = stage(tmp_path, [[["a", "a", "b", "b", "c"]]])
    nothing = pa.array([], pa.string())
    where = routes.places(events, sizes, nothing, 5)
    assert where is not None
    assert not len(where[1])
    where = routes.places(events, sizes, nothing, 1)
    assert where is not None
    assert not where[0]
    assert len(where[1]) == 3
    monkeypatch.setattr(routes, "MOST", 1)
    assert routes.places(events, sizes, nothing, 5) is None
