"""Claim: a log of a million events is read, labelled and asked, at a time per event that does not grow.

Logs of 8 and of 64 processes, a message to every third event. Each size runs in a process of its own, so
that its peak memory is its own. Times are per event and per question; the ratio is to the smallest log.
"Slope" is the exponent of the whole time between the smallest and the largest size: 1 is constant time per
event. Pairs to ask about are drawn at random; what labels, numpy, single questions and bulk ones say of them
is compared.
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
from time import process_time
from typing import Any

import numpy as np

from benchmarks.families import trace
from benchmarks.measure import Line
from microcosm import Microcosm, Relation
from microcosm.engine.program import initial
from microcosm.logic.document import read_givens
from microcosm.relations.label_arrays import LabelArrays
from microcosm.relations.labels import Labels
from microcosm.relations.shape import ROWS_UP_TO
from microcosm.state.bulk import VERDICTS

NAME = "labels"

SINGLE = 100_000
"""So many questions are asked one by one of each subject, ten times as many at once; `--quick`: 1 of 100."""

AN_EVENT = ("reading", "a microcosm of what was read", "labels from pairs of numbers")
"""What is measured by the event; the rest by the question."""


def run(quick: bool = False) -> list[Line]:
    """Each size by itself, the smallest first."""
    sizes = (2_000, 21_000) if quick else (10_000, 100_000, 1_000_000)
    lines = []
    for processes in (8, 64):
        found = {size: alone(size, processes, SINGLE // 100 if quick else SINGLE) for size in sizes}
        peaks = ", ".join(f"{found[size].pop('peak'):,.0f} MB" for size in sizes)
        for what in found[sizes[0]]:
            first = found[sizes[0]][what]
            for size in sizes:
                at = found[size][what]
                notes = [f"peaks {peaks}"] if what == "reading" else []
                if what in AN_EVENT:
                    notes.append(f"slope {1 + log(found[sizes[-1]][what] / first, sizes[-1] / sizes[0]):.2f}")
                case = f"trace{processes}: {what}" + (f" ({'; '.join(notes)})" if notes else "")
                lines.append(Line(NAME, case, f"{size:,} events", at, at / first, 1))
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
    known = timed("a microcosm of what was read", lambda: Microcosm(givens), size)
    labels = timed("labels from pairs of numbers", lambda: Labels(size, edges), size)
    rng = Random(2)
    asked = [(rng.randrange(size), rng.randrange(size)) for _ in range(10 * questions)]
    asked = [(a, b) for a, b in asked if a != b]
    few = asked[:questions]
    single = timed("a question to labels", lambda: [labels.before(a, b) for a, b in few], len(few))
    gc.collect()
    arrays, pairs = LabelArrays(labels), np.array(asked)
    many = timed("a question to labels by numpy", lambda: arrays.before(pairs[:, 0], pairs[:, 1]), len(asked))
    names = [(f"e{a}", f"e{b}") for a, b in few]
    online = timed("a question online", lambda: [known.online(a, b) for a, b in names], len(few))
    place = {name: at for at, name in enumerate(known.events)}
    places = np.array([(place.get(f"e{a}", 0), place.get(f"e{b}", 1)) for a, b in few])
    known.online_many(places[:1])
    bulk = timed("a question online, in bulk", lambda: known.online_many(places), len(few))
    assert single == many[: len(few)].tolist() == [verdict is Relation.BEFORE for verdict in online]
    assert [VERDICTS[code] for code in bulk] == online
    assert isinstance(known._engine.order(initial(Relation.BEFORE)), Labels) is (size > ROWS_UP_TO)
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
