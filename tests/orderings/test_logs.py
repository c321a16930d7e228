"""A log asked in two ways: what `order` says of it, and what its microcosm says under that ordering.

Logs have messages with several receivers, copies that are lost or received again, and messages that a process
receives from itself; receivers are recorded or not.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Microcosm, Relation
from microcosm.cli.commands.order_input import communication, plain_communication
from microcosm.givens.columns import Message
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence
from microcosm.orderings.verdicts import classify
from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.report import Report
from tests.orderings.test_enumeration import drawn
from tests.thorough import draws
from tests.traces.logs import read_text
from tests.traces.test_columns import ORIGINS, Step, log, steps
from tests.traces.test_columns import written as file_of


def written(rng: Random) -> str:
    """A random execution as JSON lines, with receptions that do not count."""
    chains, order = drawn(rng, rng.randint(2, 4), rng.randint(1, 4), 3)
    peers, lines = range(len(chains)), list[dict[str, object]]()
    count = [0] * len(chains)
    happened: list[tuple[str, int, int]] = []
    listed = rng.random() < 0.6

    def tell(kind: str, m: int, p: int) -> None:
        count[p] += 1
        line: dict[str, object] = {"process": f"p{p}", "seq": count[p], "kind": kind, "message": f"m{m}"}
        if kind == "send" and listed:
            reached = {q for k, n, q in order if (k, n) == ("r", m)}
            lost = {q for q in peers if q != p and rng.random() < 0.2}
            line["to"] = sorted(f"p{q}" for q in reached | lost | ({p} if rng.random() < 0.2 else set()))
            line["to"] = line["to"] or ["nobody"]
        lines.append(line)
        happened.append((kind, m, p))

    for kind, m, p in order:
        tell("send" if kind == "s" else "receive", m, p)
        if kind == "s" and rng.random() < 0.15:
            tell("receive", m, p)
        if happened and rng.random() < 0.2:
            again, n, q = rng.choice(happened)
            if again == "receive":
                tell(again, n, q)
    return "".join(json.dumps(line) + "\n" for line in lines)


def causal(events: list[TraceEvent]) -> set[tuple[str, str]]:
    """Happened before: the order of each process, and each sending before whatever receives it."""
    before = {
        (a.id, b.id)
        for a in events
        for b in events
        if (a.process == b.process and a.seq < b.seq)
        or ((a.kind, b.kind, a.message) == ("send", "receive", b.message))
    }
    for k in events:
        before |= {(a, b) for a, x in before if x == k.id for y, b in before if y == k.id}
    return before


def stated(events: list[TraceEvent]) -> Microcosm:
    """As somebody would write it down: every event a statement, those that do not count too."""
    found = Givens()
    for process in {event.process for event in events}:
        for a, b in pairwise([event.id for event in events if event.process == process]):
            found.add(Correspondence(a, Relation.BEFORE, b))
    for a in events:
        for b in events:
            if (a.kind, b.kind, a.message) == ("send", "receive", b.message) and a.process != b.process:
                found.add(Correspondence(a.id, Relation.BEFORE, b.id))
        kind = "send" if a.kind == "send" else "receive"
        found.messages.append(Message(kind, a.id, str(a.message), a.process, tuple(a.to)))
    return Microcosm(found)


def false_of(known: Microcosm, before: set[tuple[str, str]]) -> list[str]:
    """The pairs of which the truth is excluded."""
    found = []
    for a, b, left in known.offline_table():
        true = Relation.BEFORE if (a, b) in before else Relation.AFTER
        if (true if (a, b) in before or (b, a) in before else Relation.CONCURRENT) not in left:
            found.append(f"{a} {b}")
    return found


def compared(seed: int) -> int:
    """How many pairs a known ordering decides, of a log that keeps it; every one rightly."""
    events, report = read_text(written(Random(seed)))
    computation, order = communication(events, "<test>", "application", report)
    assert order is not None
    before, decided = causal(events), 0
    extracted = Microcosm(extract(events).givens)
    for extraction in (extracted, stated(events)):
        statements = ["complete"]
        for ordering, verdict in classify(computation, order).items():
            statements += [ordering.value] if verdict.execution else []
            statements += [f"{ordering.value} interior"] if verdict.interior else []
        for statement in statements:
            givens = extraction.givens.copy()
            if statement == "complete":
                givens.complete = True
            else:
                givens.orderings.append(statement)
            known = Microcosm(givens)
            assert known.contradiction() is None, (seed, statement)
            assert false_of(known, before) == [], (seed, statement)
            decided += sum(len(left) == 1 for *_, left in known.offline_table())
    return decided


def test_what_a_log_keeps_contradicts_nothing_in_its_microcosm() -> None:
    assert sum(map(compared, range(40))) > 500


@pytest.mark.slow
def test_what_hundreds_of_logs_keep_contradicts_nothing_in_their_microcosms() -> None:
    for seed in range(40, 40 + draws(25, 300)):
        compared(seed)


def both_ways(path: Path) -> bool:
    """Whether a log can be read in columns; then it says the same as event by event."""
    quick, careful = Report(), Report()
    found = plain_communication(str(path), quick)
    if found is not None:
        assert found == communication(formats.read([path], report=careful), str(path), "application", careful)
        assert quick.findings == careful.findings
        assert quick.counts == careful.counts
    else:
        assert not quick.counts
    return found is not None


@given(steps, st.integers(1, 4), st.sets(st.integers(0, 30)), st.lists(ORIGINS, max_size=30))
def test_a_plain_log_says_the_same_in_columns(
    happened: list[Step], processes: int, lost: set[int], origins: list[tuple[str, int] | None]
) -> None:
    lines = log(happened, processes)
    for at, line in enumerate(lines):
        if line["kind"] == "internal" and at in lost:
            line.update(kind="send", message=f"lost{at}")
    for line, origin in zip(lines, origins, strict=False):
        if origin is not None:
            line["origin"] = origin
    with TemporaryDirectory() as folder:
        assert both_ways(file_of(Path(folder), lines)) == any("message" in line for line in lines)


def test_any_log_says_the_same_in_columns_or_is_read_event_by_event(tmp_path: Path) -> None:
    path, plain = tmp_path / "log.jsonl", 0
    for seed in range(200):
        path.write_text(written(Random(seed)), "utf-8")
        plain += both_ways(path)
    assert 10 < plain < 190
