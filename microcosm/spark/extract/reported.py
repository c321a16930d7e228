"""What is odd about traces, summed up; and links from one execution to another, which are odd or edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_TOLD = 5
"""So many irregularities of a kind are told one by one."""

_COLUMNS = ["reported", "file", "line", "fault", "count", "lost"]


def told(folders: Iterable[Path]) -> tuple[dict[str, int], list[str], int]:
    """The irregularities in folders of Parquet: counts by kind, the first of each with places, events lost.

    Read here, a batch at a time: there is mostly little to read, and a job on Spark takes longer to begin.
    """
    import pyarrow.parquet as pq

    counts: Counter[str] = Counter()
    first: dict[str, list[tuple[Any, ...]]] = {}
    lost = 0
    for folder in folders:
        for path in sorted(folder.rglob("*.parquet")):
            with pq.ParquetFile(path) as table:
                for batch in table.iter_batches(columns=_COLUMNS):
                    _count(batch, counts, first)
                    lost += sum(filter(None, batch.column("lost").to_pylist()))
    faults = [
        f"{file if line is None else f'{file}:{line}'}: {fault} [{kind}]"
        for kind, some in sorted(first.items())
        for _, file, line, fault in some
    ]
    return dict(counts), faults, lost + counts["unreadable"]


def _count(batch: pa.RecordBatch, counts: Counter[str], first: dict[str, list[tuple[Any, ...]]]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.Table.from_batches([batch])
    for row in table.group_by("reported").aggregate([("count", "sum")]).to_pylist():
        kind = row["reported"]
        counts[kind] += row["count_sum"]
        some = table.filter(
            pc.and_(pc.equal(table.column("reported"), kind), pc.is_valid(table.column("fault")))
        )
        places = zip(*(some.column(name).to_pylist() for name in ("file", "line", "fault")), strict=True)
        found = [
            ((file or "", -1 if line is None else line, fault), file, line, fault)
            for file, line, fault in places
        ]
        first[kind] = nsmallest(_TOLD, [*first.get(kind, ()), *found], key=itemgetter(0))
