"""Claim: a log of a million events is read, labelled and asked, at a time per event that does not grow.

Logs of 8 and of 64 processes, a message to every third event. Each size runs in a process of its own, so
that its peak memory is its own. Times are per event and per question; the ratio is to the smallest log.
"Slope" is the exponent of the whole time between the smallest and the largest size: 1 is constant time per
event. Pairs to ask about are drawn at random; what labels, numpy, single questions and bulk ones say of them
is compared.

Beside them stands how far that is from what the machine can do, ratios to ours: the same labels by a loop
that numba compiles, which can do nothing else, from the same pairs and from arrays that are there already;
and a question to labels or to rows beside the expression written out where it is asked, and a call of
nothing.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from math import log
from random import Random
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from benchmarks import compiled
from benchmarks.families import Pairs, trace
from benchmarks.measure import Line
from microcosm import Microcosm, Relation
from microcosm.givens.clock_columns import COMPONENT, FIELD
from microcosm.givens.givens import Givens
from microcosm.order.chain_cover import LabelArrays
from microcosm.order.labels import Labels
from microcosm.order.rows import Rows
from microcosm.queries.batch import VERDICTS
from microcosm.text.mc_reader import read_givens
from microcosm.tuning import ROWS_UP_TO

NAME = "labels"

SINGLE = 100_000
"""So many questions are asked one by one of each subject, ten times as many at once; `--quick`: 1 of 100."""

AN_EVENT = ("reading", "a microcosm of what was read", "labels from pairs of numbers")
A_QUESTION = (
    "a question to labels",
    "a question to labels by numpy",
    "a question online",
    "a question online, in bulk",
)
"""What is measured by the event, and by the question."""

WAYS_TO_LABEL = {
    "labels once more": "microcosm",
    "labels by numba from the same pairs": "numba loop, from the same pairs",
    "labels by numba from arrays": "numba loop, from arrays",
}
WAYS_TO_ASK = {
    "a question to labels": "microcosm, labels",
    "the same written out": "labels, the expression written out",
    "a question to rows": "microcosm, rows",
    "a bit of a row": "rows, the expression written out",
    "a call of nothing": "a call of nothing",
}
"""What stands beside ours, and how the table calls it."""

ROUNDS = 3
"""How often that is measured, by turns."""


def run(quick: bool = False) -> list[Line]:
    """Each size by itself, the smallest first."""
    sizes = (2_000, 21_000) if quick else (10_000, 100_000, 1_000_000)
    lines = []
    if compiled.missing():
        print(f"{NAME}: numba not installed, and left out", file=sys.stderr)
    for processes in (8, 64):
        found = {size: alone(size, processes, SINGLE // 100 if quick else SINGLE) for size in sizes}
        peaks = ", ".join(f"{found[size].pop('peak'):,.0f} MB" for size in sizes)
        for what in (*AN_EVENT, *A_QUESTION):
            first = found[sizes[0]][what]
            for size in sizes:
                at = found[size][what]
                notes = [f"peaks {peaks}"] if what == "reading" else []
                if what in AN_EVENT:
                    notes.append(f"slope {1 + log(found[sizes[-1]][what] / first, sizes[-1] / sizes[0]):.2f}")
                case = f"trace{processes}: {what}" + (f" ({'; '.join(notes)})" if notes else "")
                lines.append(Line(NAME, case, f"{size:,} events", at, at / first, 1))
        for size in sizes:
            for what, ways in (("an event of", WAYS_TO_LABEL), ("a question about", WAYS_TO_ASK)):
                beside = {way: found[size][key] for key, way in ways.items() if key in found[size]}
                ours = next(iter(beside.values()))
                for way, at in beside.items():
                    lines.append(Line(NAME, f"trace{processes}: {what} {size:,}", way, at, at / ours, ROUNDS))
    return lines


def alone(size: int, processes: int, questions: int) -> dict[str, float]:
    """`measure` in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.labels", *map(str, (size, processes, questions))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def measure(size: int, processes: int, questions: int) -> dict[str, float]:
    """Seconds an event or a question, by what they were spent on; and the peak in megabytes."""
    edges = trace(size, processes).before
    text = "".join(f"e{a} < e{b}\n" for a, b in edges)
    found: dict[str, float] = {}

    def timed(what: str, run: Callable[[], Any], count: int) -> Any:
        gc.collect()
        start = process_time()
        answer = run()
        found[what] = (process_time() - start) / count
        return answer

    givens = timed("reading", lambda: read_givens(text), size)
    known = timed("a microcosm of what was read", lambda: _with_order(givens), size)
    labels = timed("labels from pairs of numbers", lambda: Labels(size, edges), size)
    rng = Random(2)
    asked = [(rng.randrange(size), rng.randrange(size)) for _ in range(10 * questions)]
    asked = [(a, b) for a, b in asked if a != b]
    few = asked[:questions]
    single = _asked(found, labels, few)
    rows = Rows(size, edges) if size <= ROWS_UP_TO else None
    if rows is not None:
        assert single == _asked(found, rows, few)
    gc.collect()
    arrays, pairs = LabelArrays(labels.cover), np.array(asked)
    many = timed("a question to labels by numpy", lambda: arrays.before(pairs[:, 0], pairs[:, 1]), len(asked))
    names = [(f"e{a}", f"e{b}") for a, b in few]
    online = timed("a question online", lambda: [known.online(a, b) for a, b in names], len(few))
    place = {name: at for at, name in enumerate(known.events)}
    places = np.array([(place.get(f"e{a}", 0), place.get(f"e{b}", 1)) for a, b in few])
    known.online_many(places[:1])
    bulk = timed("a question online, in bulk", lambda: known.online_many(places), len(few))
    assert single == many[: len(few)].tolist() == [verdict is Relation.BEFORE for verdict in online]
    assert [VERDICTS[code] for code in bulk] == online
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _beside(found, labels, edges)
    return found


def _with_order(givens: Givens) -> Microcosm:
    """A microcosm and its order, which is not made before it is needed."""
    known = Microcosm(givens)
    assert isinstance(known._engine.order, Labels) is (known._engine.order.size > ROWS_UP_TO)
    return known


def _beside(found: dict[str, float], labels: Labels, edges: Pairs) -> None:
    """What the labels of these pairs and the same by the compiled loop take, by turns."""
    size = labels.size
    loop = None if compiled.missing() else compiled.compiled()
    if loop is not None:
        loop(2, *compiled.arrays([(0, 1)]))
    spent: dict[str, list[float]] = {what: [] for what in WAYS_TO_LABEL}
    for _ in range(ROUNDS):
        gc.collect()
        start = process_time()
        Labels(size, edges)
        built = process_time()
        spent["labels once more"].append(built - start)
        if loop is not None:
            arrays = compiled.arrays(edges)
            there = process_time()
            others = loop(size, *arrays)
            done = process_time()
            spent["labels by numba from the same pairs"].append(done - built)
            spent["labels by numba from arrays"].append(done - there)
    if loop is not None:
        rng = Random(3)
        for a, b in [(rng.randrange(size), rng.randrange(size)) for _ in range(1_000)]:
            assert labels.before(a, b) is compiled.before(others, a, b)
    found |= {what: median(times) / size for what, times in spent.items() if times}


def _asked(found: dict[str, float], of: Labels | Rows, pairs: Pairs) -> list[bool]:
    """What is before what; and what it takes to ask, and to do the same without asking anyone."""
    before = of.before
    if isinstance(of, Labels):
        chain, index, vector = of.cover.chain, of.cover.index, of.cover.vector
        ways: dict[str, Callable[[], list[Any]]] = {
            "a question to labels": lambda: [before(a, b) for a, b in pairs],
            "the same written out": lambda: [
                index[a] < (index[b] if chain[a] == chain[b] else vector[b] >> chain[a] * FIELD & COMPONENT)
                for a, b in pairs
            ],
            "a call of nothing": lambda: [_nothing(a, b) for a, b in pairs],
        }
    else:
        rows = [of.past(b) for b in range(of.size)]
        ways = {
            "a question to rows": lambda: [before(a, b) for a, b in pairs],
            "a bit of a row": lambda: [rows[b] >> a & 1 for a, b in pairs],
        }
    spent: dict[str, list[float]] = {what: [] for what in ways}
    answers: dict[str, list[Any]] = {}
    for _ in range(ROUNDS):
        for what, way in ways.items():
            gc.collect()
            start = process_time()
            answers[what] = way()
            spent[what].append(process_time() - start)
    found |= {what: median(times) / len(pairs) for what, times in spent.items()}
    mine, written_out, *_ = answers.values()
    assert mine == [bool(answer) for answer in written_out]
    return mine


def _nothing(a: int, b: int) -> bool:
    return True


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
