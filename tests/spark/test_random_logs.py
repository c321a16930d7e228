"""Random logs with all that is odd about logs: a job finds of each what is found of it in this process.

Many traces make one log, as a job has a fixed cost; `HYPOTHESIS_PROFILE=thorough` tries 2,000 of them, and
200 alone in slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from microcosm.givens.relation import Relation
from microcosm.spark.extract import job
from microcosm.spark.extract.job import ExtractOptions
from microcosm.spark.io import inputs
from microcosm.traces import reading as formats
from microcosm.traces.event import MESSAGE_KINDS, Counted, TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.formats import parquet
from microcosm.traces.formats.jsonl import line_of
from microcosm.traces.report import Report
from tests.spark.conftest import table
from tests.spark.test_extract import in_process
from tests.thorough import draws
from tests.traces.runs import simulated

pytestmark = pytest.mark.spark

ODD = ("p0", "a/b7", "x:1", "tab\tbed", "größe", "two words", '"quoted"', "-", "p0/p0", "日本", "a'b", "1")
"""Names that separators, quotes and other scripts could spoil."""


def odd_log(
    random: Random, trace: str | None, others: Sequence[str] = (), steps: int = 40
) -> Iterator[TraceEvent]:
    """The events of a random run, of which the log has lost, doubled, moved and garbled some.

    They may come after `others`, events of other runs by their full names.
    """
    choices = [(random.randrange(4), random.randrange(10), random.randrange(6)) for _ in range(steps)]
    run = simulated(choices, every_event_ticks=random.random() < 0.7).events
    called = dict.fromkeys(event.process for event in run)
    names = dict(zip(called, random.sample(ODD, len(called)), strict=True))
    clocks, stamps, ids, links = (random.random() < chance for chance in (0.6, 0.3, 0.2, 0.2))
    damage = random.choice((0.0, 0.05, 0.3))
    found: list[TraceEvent] = []
    for event in run:
        clock = {names[p]: n for p, n in event.clock.items()} if clocks and event.clock is not None else None
        if clock and random.random() < damage:
            clock = wrong(random, clock)
        before = random.choice(found).id if links and found and random.random() < 0.3 else None
        if links and others and random.random() < 0.1:
            before = random.choice(others)
        found.append(
            TraceEvent(
                names[event.process],
                event.seq,
                event.kind,
                event.message,
                tuple(names[p] for p in event.to),
                clock,
                stamp=stamp(random, event.seq, damage) if stamps else None,
                attributes={"lock": random.choice("ab")} if random.random() < 0.5 else {},
                trace=trace,
                name=f"{trace}-e{random.randrange(3 * steps)}" if ids and random.random() < 0.3 else None,
                after=(before,) if before is not None else (),
            )
        )
    for event in found:
        if random.random() >= damage / 2:
            yield event
        if random.random() < damage / 2:
            yield random.choice(found)


def wrong(random: Random, clock: dict[str, int]) -> dict[str, int] | None:
    """Another clock than was recorded: none, empty, behind, ahead, or with a process that nobody has."""
    process = random.choice([*clock])
    return random.choice(
        (
            None,
            {},
            {**clock, process: clock[process] - 1},
            {**clock, process: clock[process] + 3},
            {name: count for name, count in clock.items() if name != process},
            {**clock, "nobody": 4},
        )
    )


def stamp(random: Random, seq: int, damage: float) -> Any:
    """A Lamport time or an interval, of a clock that may jump."""
    at = seq - 5 if random.random() < damage else seq
    return max(0, at) if random.random() < 0.5 else (float(at), at + random.choice((0.25, 3.0)))


def written(random: Random, folder: Path, events: Sequence[TraceEvent]) -> list[Path]:
    """A log in some files, of lines and of rows."""
    folder.mkdir()
    paths = []
    cuts = sorted(random.randrange(len(events) + 1) for _ in range(random.randrange(4)))
    for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(events)], strict=True)):
        part = events[start:stop]
        if part and random.random() < 0.3:
            paths.append(folder / f"{number}.parquet")
            with paths[-1].open("wb") as stream:
                parquet.write(part, stream)
        elif part:
            paths.append(folder / f"{number}.jsonl")
            paths[-1].write_text("".join(map(line_of, part)), encoding="utf-8")
    return paths


def same(spark: Any, paths: Sequence[Path], out: Path, asked: ExtractOptions) -> None:
    """The job finds what `covering` does of each trace, and `extract` of the links between them."""
    reading, whole = Report(), Report()
    events = list(formats.read(list(paths), report=reading))
    with patch.object(inputs, "HERE", (-1, 1 << 20)[len(events) % 2]):
        done = job.extract(spark, list(map(str, paths)), str(out), asked)
    several = any(event.trace is not None for event in events)
    edges, frontiers, counts = in_process(events, several, asked.token)
    of = {event.full_id: event.trace for event in events}
    ordered = {(edge["left"], edge["right"]) for edge in edges}
    edges += [
        {"trace": of[fact.right], "left": fact.left, "relation": "<", "right": fact.right, "source": "link"}
        for fact in extract(events, report=whole, with_clocks=False).givens.external.values()
        if fact.relation is Relation.BEFORE and (fact.left, fact.right) not in ordered
    ]
    counts = reading.counts + counts
    counts.update({kind: whole.counts[kind] - counts[kind] for kind in ("unknown-event", "link-cycle")})
    alone = Report()
    extract(events, token=asked.token, report=alone)
    counts["isolated-event"] = alone.counts["isolated-event"]
    assert table(out, "edges") == sorted(edges, key=repr)
    assert table(out, "frontiers") == frontiers
    assert done.summary["reported"] == dict(+counts)


@pytest.mark.parametrize("seed", range(draws(1, 50)))
def test_many_traces_in_a_log(spark: Any, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    last = [f"run{number}/{name}:{seq}" for number in range(40) for name in ODD for seq in range(9)]
    runs = [list(odd_log(random, f"run{number}", last)) for number in range(40)]
    ends = [run[-1] for run in runs]  # circles of links between executions, and what comes after them
    for number, run in enumerate(runs):
        after = tuple(random.choice(ends).full_id for _ in range(number % 3))
        run.append(TraceEvent("the end", 1, trace=f"run{number}", after=after))
    ends[:] = [run[-1] for run in runs]
    for run in runs:
        others = tuple(ends[random.randrange(40)].full_id for _ in range(random.randrange(3)))
        run[-1] = replace(run[-1], after=(*run[-1].after, *others))
    events = [event for run in runs for event in run]
    if seed % 2:  # rows of a trace need not stand together, nor in order
        events = random.sample(events, len(events))
    monkeypatch.setattr("microcosm.spark.io.inputs.LARGEST", random.choice((500, 20_000, 8 << 20)))
    monkeypatch.setattr("microcosm.spark.extract.routes.LARGEST", random.choice((1, 500, 2_000_000)))
    monkeypatch.setattr("microcosm.spark.extract.routes.TOGETHER", random.choice((300, 250_000)))
    asked = ExtractOptions(token="lock" if seed % 3 else None)
    same(spark, written(random, tmp_path / "log", events), tmp_path / "out", asked)


@pytest.mark.parametrize("seed", range(draws(6, 200)))
def test_one_trace_in_slices(spark: Any, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of any size, and packets where they are made and opened in this process."""
    random = Random(seed + 1000)
    monkeypatch.setattr("microcosm.spark.giant.chains.TOGETHER", random.choice((30, 500_000)))
    for name, few in (("ROWS", 3), ("HELD", 5), ("TASK", 7)):
        monkeypatch.setattr(f"microcosm.spark.io.packets.{name}", random.choice((few, 4096)))
    events = [replace(event, trace=None) for event in odd_log(random, None, (), 120)]
    names = [event.message for event in events if event.message] or ["m"]
    for number in range(random.randrange(4)):  # processes of one event, also of the other level
        message = random.choice((str, Counted))(random.choice((f"of {number}", random.choice(names))))
        events.append(TraceEvent(f"lonely {number}", 1, random.choice(MESSAGE_KINDS), message))
    slices = random.randrange(1, 5)
    same(spark, written(random, tmp_path / "log", events), tmp_path / "out", ExtractOptions(slices=slices))
