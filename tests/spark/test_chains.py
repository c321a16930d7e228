"""Events of a giant trace put in the order of their processes, in packets of any size: against a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from microcosm.spark.giant.chains import CHAINS, ENDS, LASTS, by_process, in_order, matched
from microcosm.spark.io import packets
from microcosm.spark.io.events import arrow_names, arrow_schema
from microcosm.spark.io.packets import spread
from microcosm.traces.causality import exchange
from microcosm.traces.event import TraceEvent
from microcosm.traces.execution import executions
from microcosm.traces.report import Report

COLUMNS = (
    "trace string, name string, process string, seq long, kind string, message string, label string, "
    "file string, line long, at long"
)
NAMES = ("p", "q", "größe", "a/b7", "日本", "", "p0")
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(NAMES[:5]),
        st.integers(1, 9),
        st.sampled_from(("send", "internal", "deliver")),
        st.sampled_from((None, None, "named")),
        st.sampled_from((None, "said", "said otherwise")),
        st.sampled_from(("t", "t", "t", None)),
    ),
    max_size=40,
)
Row = dict[str, Any]


def expected(events: list[Row], several: bool) -> tuple[list[Row], dict[str, list[Any]]]:
    """The rows of `chains`, and the ends, by one loop over the events in their order."""
    rows, ends = [], {}
    holders: dict[str, list[Row]] = {}
    first: dict[str, int] = {}
    for event in sorted(events, key=lambda event: (event["process"], event["seq"], event["at"])):
        process = event["process"]
        before = holders.setdefault(process, [])
        last = before[-1] if before else None
        twice = last is not None and last["seq"] == event["seq"]
        prefix = f"{event['trace']}/" if several and event["trace"] is not None else ""
        row = {
            **{name: event[name] for name in ("process", "seq", "kind", "message", "file", "line", "at")},
            "id": event["name"] or f"{prefix}{process}:{event['seq']}",
            "to": None,
            "counted": None,
            "twice": twice,
            "before": last and last["seq"],
            "prior": last and last["id"],
        }
        rows.append(row)
        end = ends.setdefault(process, [0, "", 0, 0, 0])
        said = [event[name] for name in ("kind", "message", "name", "label")]
        if twice:
            assert last is not None
            kind = 0 if last["at"] == first[process] else 1  # elsewhere that alone makes no other event
            end[3] += last["said"][kind:] != said[kind:]
        else:
            before.append({**row, "said": said})
            end[:3] = row["seq"], row["id"], end[2] + 1
            end[4] += event["kind"] == "deliver"
        first[process] = min(first.get(process, event["at"]), event["at"])
    return rows, ends


def in_tasks(batches: list[pa.RecordBatch], parts: int) -> Iterator[list[pa.RecordBatch]]:
    """The packets of each part, in the order in which Spark gives them to its task."""
    made = [packet for batch in batches for packet in by_process(iter([batch]), "t", parts)]
    rows = [row for batch in made for row in batch.to_pylist()]
    for part in range(parts):
        mine = sorted(
            (row for row in rows if row["part"] == part),
            key=lambda row: (row["text"].encode(), row["number"]),
        )
        yield [pa.RecordBatch.from_pylist([row], schema=packets._SCHEMA) for row in mine]


@given(EVENTS, st.integers(1, 4), st.integers(1, 5), st.integers(1, 12), st.booleans())
def test_what_is_in_order_does_not_depend_on_packets(
    events: list[Any], parts: int, rows: int, size: int, several: bool
) -> None:
    made = [
        {
            **{"process": process, "seq": seq, "kind": kind, "name": name, "label": label, "trace": trace},
            **{"message": None if kind == "internal" else f"m{at}", "file": "log", "line": at + 1, "at": at},
        }
        for at, (process, seq, kind, name, label, trace) in enumerate(events)
    ]
    schema = arrow_schema(COLUMNS)
    batches = [
        pa.RecordBatch.from_pylist(made[at : at + size], schema=schema) for at in range(0, len(made), size)
    ]
    found: list[Row] = []
    ends: dict[str, list[Any]] = {}
    with patch.object(packets, "ROWS", rows), patch.object(packets, "HELD", rows):
        for task in in_tasks(batches, parts):
            for table, batch in in_order(iter(task), several):
                if table == "chains":
                    assert batch.schema.names == arrow_names(CHAINS)
                    found += batch.to_pylist()
                    continue
                assert batch.schema == arrow_schema(LASTS)
                for process, seq, name, *counts in (row.values() for row in batch.to_pylist()):
                    end = ends.setdefault(process, [0, "", 0, 0, 0])
                    sums = map(sum, zip(end[2:], counts, strict=True))
                    end[:] = [*max(end[:2], [seq, name]), *sums]
    mine = [row for row in made if row["trace"] == "t"]
    rows_, ends_ = expected(mine, several)
    assert sorted(found, key=lambda row: (row["process"], row["seq"], row["at"])) == rows_
    assert ends == ends_


@given(st.lists(st.text(max_size=5)), st.integers(1, 9), st.integers(0, 3))
def test_texts_are_spread_alike_wherever_they_stand(texts: list[str], parts: int, skipped: int) -> None:
    column = pa.array(texts, pa.string())
    found = spread(column, parts).tolist()
    assert all(0 <= part < parts for part in found)
    assert spread(column.slice(skipped), parts).tolist() == found[skipped:]
    assert [spread(pa.array([text]), parts).tolist() for text in texts] == [[part] for part in found]


def test_texts_are_spread_evenly() -> None:
    for texts in ([f"m{number}" for number in range(8000)], [f"p{number:05}" for number in range(8000)]):
        counts = [0] * 8
        for part in spread(pa.array(texts), 8).tolist():
            counts[part] += 1
        assert max(counts) < 1300


ENDS_OF_MESSAGES = st.lists(
    st.tuples(
        st.sampled_from("pqr"),
        st.sampled_from(("send", "receive", "receive", "causal_send", "deliver")),
        st.sampled_from(("a", "b", "c", "d", "e", "f", "ü", "long name")),
        st.sets(st.sampled_from("pqr"), max_size=2),
    ),
    max_size=30,
)


@given(ENDS_OF_MESSAGES, st.integers(1, 9), st.integers(0, 2**32), st.booleans())
def test_what_is_matched_does_not_depend_on_batches(
    ends: list[tuple[str, str, str, set[str]]], size: int, seed: int, apart: bool
) -> None:
    """`apart`: most messages have one sending and one reception, as they have in a log without faults."""
    events: list[TraceEvent] = []
    seqs: Counter[str] = Counter()
    for at, (process, kind, name, to) in enumerate(ends):
        seqs[process] += 1
        sends = kind.endswith("send")
        message = f"{name}{at // 2}" if apart else name
        receivers = tuple(sorted(to)) if sends else ()
        events.append(TraceEvent(process, seqs[process], kind, message, receivers))
    report = Report()
    expected = set()
    for run in executions(events, Report()):
        for s, r in exchange(run, report).pairs:
            sending, reception = run.events[s], run.events[r]
            near = sending.process == reception.process and reception.seq == sending.seq + 1
            expected.add((sending.id, reception.id, reception.message, near))
    rows = [
        {
            "message": event.message,
            "process": event.process,
            "seq": event.seq,
            "before": event.seq - 1 if event.seq > 1 else None,
            "kind": event.kind,
            "to": list(event.to) or None,
            "id": event.id,
            "counted": None,
            "file": "log",
            "line": at,
        }
        for at, event in enumerate(events)
    ]
    Random(seed).shuffle(rows)
    rows.sort(key=lambda row: str(row["message"]).encode())
    schema = arrow_schema(ENDS)
    batches = [
        pa.RecordBatch.from_pylist(rows[at : at + size], schema=schema) for at in range(0, len(rows), size)
    ]
    numbers = {process: number for number, process in enumerate(sorted(seqs))}
    found, counts = set(), Counter[str]()
    for row in (row for batch in matched(iter(batches), numbers, {}) for row in batch.to_pylist()):
        if row["reported"] is not None:
            counts[row["reported"]] += row["count"]
            continue
        found.add((row["left"], row["right"], row["message"], row["near"]))
        names = sorted(seqs)
        assert row["left"] == f"{names[row['sender']]}:{row['sent']}"
        assert row["right"] == f"{names[row['receiver']]}:{row['received']}"
    assert found == expected
    assert counts == report.counts
