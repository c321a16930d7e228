"""Messages matched in rows sorted by message, in batches of any size, against a single pass."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from microcosm.spark.giant.matching import ENDS, matched
from microcosm.spark.io.events import arrow_schema
from microcosm.traces.causality import exchange
from microcosm.traces.event import TraceEvent
from microcosm.traces.execution import executions
from microcosm.traces.report import Report

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
    for row in (row for batch in matched(iter(batches), numbers) for row in batch.to_pylist()):
        if row["reported"] is not None:
            counts[row["reported"]] += row["count"]
            continue
        found.add((row["left"], row["right"], row["message"], row["near"]))
        names = sorted(seqs)
        assert row["left"] == f"{names[row['sender']]}:{row['sent']}"
        assert row["right"] == f"{names[row['receiver']]}:{row['received']}"
    assert found == expected
    assert counts == report.counts
