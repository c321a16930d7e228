"""Real logs, where a collection of them is at hand: exact events, exact orders, exact concurrency."""

from __future__ import annotations

import csv
import json
from bisect import bisect_left
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations

import pytest

from microcosm import Microcosm
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Relation, between
from microcosm.traces import reading as formats
from microcosm.traces.extract import extract
from microcosm.traces.report import Extraction, Report
from tests.traces.logs import REAL, told

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="no collection of real logs beside the checkout")

TLC = r"State \d+: <(?<event>\S+).*>\n/\\ Host = (?<host>.*)\n/\\ Clock = (?<clock>.*)"
FOLDERS = ("shiviz", "tsviz", "akka", "tla_shiviz")


def manifest() -> list[tuple[str, str | None, dict[str, int]]]:
    """Log, execution and what is known of it."""
    if not REAL.is_dir():
        return []
    with (REAL / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["file"].split("/")[0] in FOLDERS]
    return [
        (row["file"], f"Execution #{number}" if len(counts) > 1 else None, count)
        for row in rows
        for counts in (json.loads(row["counts"]),)
        for number, count in enumerate(counts, 1)
    ]


LOGS = manifest()


@cache
def extracted(log: str, execution: str | None, with_clocks: bool = True) -> tuple[Extraction, Report]:
    report = Report()
    pattern = TLC if log.startswith("tla") else None
    events = formats.read([REAL / log], pattern=pattern, report=report, trace=execution)
    return extract(events, with_clocks=with_clocks, report=report), report


def ordered_and_concurrent(givens: Givens) -> tuple[int, int]:
    """How many pairs the clocks order, and how many they show to be concurrent.

    Counted by columns: along a process the entries of its clocks grow.
    """
    chains: dict[str, list[Clock]] = defaultdict(list)
    for clock in givens.clocks.values():
        assert clock.ticked
        chains[clock.process].append(clock)
    ordered = sum(len(chain) * (len(chain) - 1) // 2 for chain in chains.values())
    concurrent = 0
    for p, q in combinations(chains, 2):
        owns = [clock.own for clock in chains[q]]
        seen = [clock.entries.get(p, 0) for clock in chains[q]]
        for clock in chains[p]:
            known = bisect_left(owns, clock.entries.get(q, 0) + 1)
            unaware = bisect_left(seen, clock.own)
            ordered += known + len(owns) - unaware
            concurrent += unaware - known
    return ordered, concurrent


@pytest.mark.parametrize(("log", "execution", "known"), LOGS)
def test_every_event_is_read_and_every_pair_is_as_the_clocks_say(
    log: str, execution: str | None, known: dict[str, int]
) -> None:
    found, _ = extracted(log, execution)
    assert (found.events, found.processes) == (known["events"], known["procs"])
    assert len(found.givens.clocks) == found.events
    assert ordered_and_concurrent(found.givens) == (known["hb_pairs"], known["conc_pairs"])
    assert not {"bad-clock", "no-text", "clock-gap", "seq-gap", "isolated-event"} & found.reported.keys()


@pytest.mark.parametrize(("log", "execution", "known"), LOGS)
def test_what_receptions_disclose_gives_the_same_order(
    log: str, execution: str | None, known: dict[str, int]
) -> None:
    found, _ = extracted(log, execution, with_clocks=False)
    assert not found.givens.clocks
    before: dict[str, list[str]] = defaultdict(list)
    waiting: dict[str, int] = dict.fromkeys(found.givens.named(), 0)
    for fact in found.givens.external.values():
        before[fact.left].append(fact.right)
        waiting[fact.right] += 1
    order = [event for event, count in waiting.items() if not count]
    bit = {event: 1 << at for at, event in enumerate(waiting)}
    past = dict.fromkeys(waiting, 0)
    for event in order:
        for later in before[event]:
            past[later] |= past[event] | bit[event]
            waiting[later] -= 1
            if not waiting[later]:
                order.append(later)
    assert len(order) == len(waiting)
    assert sum(row.bit_count() for row in past.values()) == known["hb_pairs"]


def test_the_pairs_of_chord_one_by_one() -> None:
    """The same count as above, by the rule itself."""
    log, execution, known = next(row for row in LOGS if row[0].endswith("chord.log"))
    clocks = list(extracted(log, execution)[0].givens.clocks.values())
    ordered = concurrent = 0
    for a, b in combinations(clocks, 2):
        said = Relation.BEFORE if a.process == b.process else between(a, b)
        ordered += said is Relation.BEFORE or said is Relation.AFTER
        concurrent += said is Relation.CONCURRENT
    assert (ordered, concurrent) == (known["hb_pairs"], known["conc_pairs"])
    assert len(clocks) * (len(clocks) - 1) // 2 == ordered + concurrent


def test_what_is_odd_about_these_logs_is_told() -> None:
    told_of = {log: told(extracted(log, execution)[1]) for log, execution, _ in LOGS}
    assert {log.split("/")[1]: places for log, places in told_of.items() if places and "tla" not in log} == {
        "chord.log": [("line-order", 1829), ("line-order", 2051)],
        "voldemort-simple-threadnames.log": [("unparsed-text", 1001)],
        "reliable-broadcast.log": [("unparsed-text", 8)],
    }


def test_a_counterexample_of_the_model_checker_is_read_without_a_pattern() -> None:
    log, execution, known = next(row for row in LOGS if row[0].startswith("tla"))
    events = list(formats.read([REAL / log]))
    assert len(events) == known["events"]
    plain, _ = extracted(log, execution)
    assert extract(events).givens.clocks == plain.givens.clocks


def test_a_log_that_needs_a_pattern_says_so() -> None:
    with pytest.raises(Exception, match="no record in the whole text\nDescribe a record with --pattern"):
        list(formats.read(sorted((REAL / "tla_shiviz").glob("*.log")), format="shiviz"))


@pytest.mark.parametrize("number", [3, 4])
def test_a_complete_log_whose_local_events_do_not_tick_tells_every_concurrent_pair(number: int) -> None:
    """Where events share a value of a clock, only what these may have told is open."""
    log = REAL / f"csight_peterson/peterson_trace-n5-1-s{number}.txt"
    with (REAL / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        known = next(
            json.loads(row["counts"])
            for row in csv.DictReader(file, delimiter="\t")
            if log.match(row["file"])
        )
    trace = Microcosm.from_trace(log, complete=True)
    judged = Counter(trace.offline(a, b).possible for a, b in combinations(sorted(trace), 2))
    assert judged.pop((Relation.CONCURRENT,)) == known["conc_pairs"]
    order = judged.pop((Relation.BEFORE,)) + judged.pop((Relation.AFTER,))
    assert known["hb_pairs"] - 20 < order < known["hb_pairs"]
    assert {frozenset(left) for left in judged} <= {
        frozenset({one, Relation.CONCURRENT}) for one in (Relation.BEFORE, Relation.AFTER)
    }
