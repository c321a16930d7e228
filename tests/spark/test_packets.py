"""Lists that are null, empty or neither come to a kernel as they are, whatever they travel in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.spark.io.packets import map_in_arrow, unlisted

KINDS = {"to": pa.list_(pa.string()), "clock": pa.map_(pa.string(), pa.int64())}
TEXTS = st.one_of(st.none(), st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=3))
CLOCKS = st.one_of(st.none(), st.lists(st.tuples(st.text(max_size=2), st.integers(0, 9)), max_size=2))


@given(st.lists(st.tuples(TEXTS, CLOCKS), max_size=9), st.integers(0, 9))
def test_what_travels_in_lists_comes_out_of_them(rows: list[tuple[Any, Any]], begin: int) -> None:
    columns = [[row[at] for row in rows] for at in (0, 1)]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, KINDS.values(), strict=True)]
    packed = [
        pa.array([[] if each is None else [each] for each in column], pa.list_(kind))
        for column, kind in zip(columns, KINDS.values(), strict=True)
    ]
    batch = pa.RecordBatch.from_arrays(packed, names=[*KINDS]).slice(begin)
    expected = pa.RecordBatch.from_arrays(arrays, names=[*KINDS]).slice(begin)
    assert unlisted(batch, frozenset(KINDS)).to_pydict() == expected.to_pydict()


@pytest.mark.spark
def test_a_kernel_sees_lists_as_they_are(spark: Any) -> None:
    rows = [(1, None, None), (2, ["x", None], {"p": 1}), (3, [], {}), (4, None, None)]
    columns = "number long, to array<string>, clock map<string,long>"

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at, row in enumerate(batch.to_pylist()):
                assert row["number"] in (1, 4) or row["to"] is not None, at
            yield batch

    table = spark.createDataFrame(rows, columns)
    made = map_in_arrow(table, same, columns).orderBy("number").collect()
    assert [tuple(row) for row in made] == rows
