"""What is odd about logs, as rows; which of it is bad, that is no event; and how much of that a job bears."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import nsmallest
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from microcosm.errors import TextError
from microcosm.traces.report import Irregularity, Report

BAD = frozenset({"bad-clock", "bad-host", "bad-line", "long-line", "unreadable"})
"""The kinds of which there is no event: a line, row or file that could not be read."""

MANY = 100_000
"""So many bad lines of a piece have a row each; beyond it they are counted, lest they fill the memory."""


@dataclass(frozen=True, slots=True)
class MaxBad:
    """How many lines or rows may be bad, `share` being a part of all; read from a text by `max_bad`."""

    text: str
    count: int | None
    share: Fraction | None

    def refuse(self, reported: Mapping[str, int], events: int, first: str) -> None:
        """Raise `TextError` where more is bad than may be, given what was read and the `first` fault.

        A file that cannot be read, or not to its end, is one that is bad; as nobody knows how many rows it
        has, it is beyond each share but the whole.

        >>> max_bad("10%").refuse({"bad-line": 1, "seq-gap": 5}, 9, "a.jsonl:3: not JSON")
        """
        bad = bad_of(reported)
        if self.share is None:
            beyond = self.count is not None and bad > self.count
        else:
            unknown = bool(reported.get("unreadable")) and self.share < 1
            beyond = unknown or bad > self.share * (events + bad)
        if beyond:
            hint = "Nothing was committed. Mend the input, or let --max-bad be more."
            said = f"{bad:,} of {events + bad:,} lines or rows are bad, and --max-bad is {self.text}"
            raise TextError(f"{said}; first {first}", hint=hint)


def max_bad(text: str) -> MaxBad:
    """A number of lines or rows, `N`, or a part of all, `P%`. Raises `TextError`.

    >>> max_bad("5").count, max_bad("0.5%").share
    (5, Fraction(1, 200))
    """
    number = text.strip().removesuffix("%")
    try:
        if not number.isascii() or set(number) - set("0123456789."):
            raise ValueError
        if number == text.strip():
            return MaxBad(text, int(number), None)
        share = Fraction(number) / 100
        if share > 1:
            raise ValueError
    except ValueError:
        said = f"{text!r} is neither a number of lines, such as 100, nor a part of all, such as 0.5%"
        raise TextError(said, file="--max-bad") from None
    return MaxBad(text, None, share)


def bad_of(reported: Mapping[str, int]) -> int:
    """How many of the irregularities are bad, by their counts.

    >>> bad_of({"bad-line": 2, "duplicate-event": 7})
    2
    """
    return sum(count for kind, count in reported.items() if kind in BAD)


def noting(bad: list[Irregularity]) -> Report:
    """A report that also keeps what is bad one by one, up to `MANY`, in the list that is given."""

    def note(found: Irregularity) -> None:
        if found.kind in BAD and len(bad) < MANY:
            bad.append(found)

    return Report(each=note)


def report_rows(report: Report, whole: Iterable[Irregularity] = ()) -> Iterator[dict[str, Any]]:
    """The irregularities of a report: the first of each kind one by one and the rest counted.

    Those of `whole` are told one by one, and no others of their kinds.
    """
    whole = list(whole)
    one_by_one = {found.kind for found in whole}
    told = dict.fromkeys(report.counts, 0)
    for found in [*whole, *(each for each in report.findings if each.kind not in one_by_one)]:
        told[found.kind] += 1
        yield _irregular(found.kind, found.message, found.file, found.line, 1, found.lost)
    for kind, count in report.counts.items():
        if count > told[kind]:
            yield _irregular(kind, None, None, None, count - told[kind], 0)


def _irregular(
    kind: str, message: str | None, file: str | None, line: int | None, count: int, lost: int
) -> dict[str, Any]:
    return {"reported": kind, "fault": message, "file": file, "line": line, "count": count, "lost": lost}


_TOLD = 5
"""So many irregularities of a kind are told one by one."""

_COLUMNS = ["reported", "file", "line", "fault", "count", "lost"]


def told(folders: Iterable[Path]) -> tuple[dict[str, int], list[str], int]:
    """The irregularities in folders of Parquet: counts by kind, the first of each with places, events lost.

    Read here, a batch at a time: there is mostly little to read, and a job on Spark takes longer to begin.
    """
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
