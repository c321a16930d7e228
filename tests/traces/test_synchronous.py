"""Clocks that are stated to agree: what was over before another began came before it, nothing else."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from microcosm import Microcosm, Relation
from microcosm.errors import TextError
from microcosm.givens.relation import Stamp
from microcosm.traces.clocks import over_before

HISTORY = """\
{:process 0, :type :invoke, :f :write, :value 1, :time 10, :index 0}
{:process 0, :type :ok, :f :write, :value 1, :time 20, :index 1}
{:process 1, :type :invoke, :f :read, :value nil, :time 15, :index 2}
{:process 2, :type :invoke, :f :read, :value nil, :time 30, :index 3}
{:process 1, :type :ok, :f :read, :value 0, :time 40, :index 4}
{:process 2, :type :ok, :f :read, :value 1, :time 50, :index 5}
{:process 3, :type :invoke, :f :write, :value 7, :time 60, :index 6}
{:process 3, :type :info, :f :write, :value 7, :time 70, :index 7}
"""


@pytest.mark.parametrize("seed", range(30))
def test_the_pairs_generate_all_that_was_over_before(seed: int) -> None:
    rng = Random(seed)
    stamps: dict[int, Stamp] = {}
    for event in range(rng.randint(0, 14)):
        begins = rng.randint(0, 20)
        stamps[event] = rng.choice([(begins, begins + rng.randint(0, 8)), (begins, Decimal("30.5")), begins])
    epsilon = rng.choice([0, 0, 2, Decimal("1.5")])
    intervals = {event: stamp for event, stamp in stamps.items() if isinstance(stamp, tuple)}
    expected = {(a, b) for a, b in permutations(intervals, 2) if intervals[a][1] + epsilon < intervals[b][0]}
    found = {*over_before(stamps, epsilon)}
    assert found <= expected
    closed = set(found)
    while more := {(a, d) for a, b in closed for c, d in closed if b == c} - closed:
        closed |= more
    assert closed == expected


def test_a_history_is_ordered_only_where_that_is_stated(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(HISTORY)
    plain, stated = Microcosm.from_trace(path), Microcosm.from_trace(path, synchronous=0)
    assert plain.online("0:1", "2:1") is Relation.UNKNOWN
    assert stated.online("0:1", "2:1") is Relation.BEFORE
    assert stated.online("2:1", "3:1") is Relation.BEFORE
    assert stated.online("0:1", "1:1") not in (Relation.BEFORE, Relation.AFTER)
    assert "synchronous clocks, as stated" in stated.to_text()
    within = Microcosm.from_trace(path, synchronous=12)
    assert within.online("0:1", "2:1") is Relation.UNKNOWN
    assert within.online("0:1", "3:1") is Relation.BEFORE
    assert "synchronous clocks within 12, as stated" in within.to_text()


def test_it_is_refused_of_a_log_that_has_no_intervals(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"process": "p", "label": "a"}\n{"process": "p", "label": "b"}\n')
    with pytest.raises(TextError, match="no event of the log has an interval"):
        Microcosm.from_trace(path, synchronous=0)
