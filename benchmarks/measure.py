"""Paired measuring: all subjects of a case take turns, so that a busy moment hits them alike."""

from __future__ import annotations

import gc
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time

WARMED = 0.02
"""Seconds, below which the caches that others left decide how long something takes."""


@dataclass(frozen=True)
class Line:
    """One line of the table: the median time of a subject in a case, and how many times ours that is."""

    benchmark: str
    case: str
    subject: str
    seconds: float
    ratio: float
    runs: int

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def paired(
    benchmark: str,
    case: str,
    subjects: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    patience: float = 3.0,
    processes: bool = False,
) -> tuple[list[Line], dict[str, object]]:
    """Median seconds of each subject over `rounds`, and what each returned last.

    Seconds are those that this process computed, so that others on the machine matter little; where the
    subjects are `processes` of their own, they are those that went by. The first of `subjects` is ours. A
    subject that has used up `patience` seconds sits out the later rounds, so that one slow peer does not
    decide how often the others are measured. Each round has an order of its own. Who comes after a large one
    finds its data in no cache, half as slow again where it takes a millisecond: so a subject that took less
    than `WARMED` seconds the last time runs once more right before, which does not count.
    """
    times: dict[str, list[float]] = {name: [] for name in subjects}
    answers: dict[str, object] = {}
    clock = perf_counter if processes else process_time
    for number in range(rounds):
        for name, run in Random(number).sample([*subjects.items()], len(subjects)):
            if sum(times[name]) < patience:
                answers.pop(name, None)
                if times[name] and times[name][-1] < WARMED and not processes:
                    run()
                gc.collect()
                start = clock()
                answers[name] = run()
                times[name].append(clock() - start)
    ours = median(times[next(iter(subjects))])
    middle = {name: median(spent) for name, spent in times.items()}
    lines = [Line(benchmark, case, name, at, at / ours, len(times[name])) for name, at in middle.items()]
    return lines, answers


def machine() -> dict[str, str]:
    """What was measured, and on what."""
    return {
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("networkx", "numpy")},
    }


def _processor() -> str:
    try:
        lines: Iterable[str] = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = ()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "unknown")
