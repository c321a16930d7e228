"""Claim: a year of events under a window of 10,000 keeps disk and memory flat.

One replica in a journal of its own, in a process of its own: 400,000 events, committed by the hundred; for
each hundred there are ten events of another device, the last of them before the first of the hundred. A
million take ten minutes: `python -m benchmarks.year 1000000 10000`. The other device fills its window in the
first quarter, so what is kept doubles until then, and with it what it costs to forget; then all is flat.
*Median* is the time of the clock for that quarter, syncs included; *ratio* is the size of the journal's
files, or the greatest memory of the process so far, to that after a quarter of the events.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from benchmarks.measure import Line
from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Append
from microcosm.replica.ledger.forgetting import Forgetting
from microcosm.replica.replica import Replica

NAME = "year"
ROOT = Path(__file__).parents[1]
TOGETHER, OTHERS = 100, 10


class Look(NamedTuple):
    """How things are after so many events, and the seconds since the look before."""

    events: int
    seconds: float
    disk: int
    memory: int


def run(quick: bool = False) -> list[Line]:
    """Four looks, a quarter of the events apart."""
    count, window = (8_000, 400) if quick else (400_000, 10_000)
    command = [sys.executable, "-m", "benchmarks.year", str(count), str(window)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    looks = [Look(*json.loads(line)) for line in done.stdout.splitlines()]
    first = looks[0]
    lines = []
    for what in ("disk", "memory"):
        for look in looks:
            size = getattr(look, what)
            subject = f"after {look.events:,} events: {size / 1e6:,.1f} MB"
            case = f"{count:,} events, a window of {window:,}, {what}"
            lines.append(Line(NAME, case, subject, look.seconds, size / getattr(first, what), 1))
    return lines


def year(count: int, window: int) -> Iterator[Look]:
    """Let it go by."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    with TemporaryDirectory() as folder:
        replica = Replica(f"{folder}/journal", "phone", forgetting=Forgetting(window=window))
        begun = perf_counter()
        for first in range(0, count, TOGETHER):
            with replica.transaction():
                for n in range(first, first + TOGETHER):
                    replica.local(f"e{n}")
                at = first // TOGETHER * OTHERS + 1
                replica.take(Append(Dot("laptop", 1, n), f"l{n}") for n in range(at, at + OTHERS))
                replica.learn(f"l{at + OTHERS - 1} < e{first}")
            done = first + TOGETHER
            if done % (count // 4) == 0:
                disk = sum(path.stat().st_size for path in Path(folder).iterdir())
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
                now = perf_counter()
                yield Look(done, now - begun, disk, memory)
                begun = now
        replica.close()


if __name__ == "__main__":
    for look in year(int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(look), flush=True)
