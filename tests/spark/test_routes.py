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


def stage(folder: Path, files: list[list[list[str | None]]]) -> tuple[Path, Path]:
    """Files of pieces of events, whose traces are given, as `reading.read` has them written."""
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
            counts += [{"trace": trace, "first": found[0], "last": found[-1]} for trace, found in own.items()]
        pq.write_table(pa.Table.from_pylist(rows, schema=EVENTS), events / f"{9 - at}.parquet")
        pq.write_table(pa.Table.from_pylist(counts, schema=SIZES), sizes / f"{at}.parquet")
    return events, sizes


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.lists(TRACES, max_size=5), max_size=3), min_size=1, max_size=4), st.integers(1, 8)
)
def test_each_trace_is_whole_in_a_file_or_told_to_be_apart(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[list[str | None]]], together: int
) -> None:
    folder = tmp_path_factory.mktemp("staged")
    events, sizes = stage(folder, files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "TOGETHER", together)
        where = routes.places(events, sizes)
    assert where is not None
    present = [{trace for piece in pieces for trace in piece} for pieces in files]
    traces = set().union(*present)
    apart = {trace for trace in traces if sum(trace in some for some in present) > 1}
    assert set(where.apart.to_pylist()) == apart
    assert where.all_apart == (traces == apart)
    assert sorted(Path(piece.path) for some in where.files for piece in some) == sorted(
        path for path in events.glob("*.parquet") if pq.read_metadata(path).num_rows
    )
    for piece in (piece for some in where.files for piece in some):
        table = pa.Table.from_batches(
            routes.in_order([piece], ["at", "trace"], where.apart),
            pa.schema([EVENTS.field("at"), EVENTS.field("trace")]),
        )
        found = table.to_pylist()
        all_of_it = pq.read_table(piece.path, columns=["at", "trace"]).to_pylist()
        assert sorted(row["at"] for row in found) == [
            row["at"] for row in all_of_it if row["trace"] not in apart
        ]
        changes = [
            row["trace"] for at, row in enumerate(found) if not at or found[at - 1]["trace"] != row["trace"]
        ]
        assert len(changes) == len(set(changes))
        for trace in changes:
            places = [row["at"] for row in found if row["trace"] == trace]
            assert places == sorted(places)


def test_where_there_is_too_much_it_is_not_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events, sizes = stage(tmp_path, [[["a", "b"]]])
    where = routes.places(events, sizes)
    assert where is not None
    assert not where.all_apart
    monkeypatch.setattr(routes, "LARGEST", 1)
    where = routes.places(events, sizes)
    assert where is not None
    assert where.all_apart
    monkeypatch.setattr(routes, "MOST", 1)
    assert routes.places(events, sizes) is None
