"""Many simulations of whole replicas, by hand:

    python -m tests.replica.seeds 100 --jobs 2

Each seed is one run of four replicas with 10,000 messages, in which processes are killed 20 times, the
network is parted 10 times, a fifth of the packets is lost and a tenth doubled, one device is evicted and
comes back as another incarnation, and one is evicted for good. Then it is judged: causal delivery, exactly
once, effects with their deliveries, the same digest everywhere, and what is known is what happened. A line
for each seed; exit 1 if anything is wrong. Journals are real ones, on a file system in memory where there
is one.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from microcosm.replica.network.endpoint import Limits
from tests.replica.judge import judged
from tests.replica.restored import Restoring

MEMORY = Path("/dev/shm")
RATE = 100
"""Messages a second of virtual time."""


class Run(NamedTuple):
    """What became of a seed."""

    seed: int
    sent: int
    kills: int
    packets: int
    restored: tuple[int, int, int]
    """How often a journal was put back, or cloned, and how often somebody was replaced for it."""
    seconds: float
    """Of the processor."""
    wrong: list[str]

    def __str__(self) -> str:
        said = f"seed {self.seed}: {self.sent} messages, {self.packets} packets, {self.kills} kills"
        if any(self.restored):
            said += ", {} put back, {} clones, {} replaced".format(*self.restored)
        return f"{said}, {self.seconds:.1f} s: {'; '.join(self.wrong[:3]) or 'all is well'}"


def run(
    seed: int,
    folder: Path,
    messages: int = 10_000,
    kills: int = 20,
    partitions: int = 10,
    restorations: int = 0,
) -> Run:
    """One seed. Cost: some milliseconds a message."""
    begun = process_time()
    seconds = messages / RATE
    world = Restoring(folder, "abcd", seed, loss=0.2, doubled=0.1, slow=0.02, limits=Limits(longest_wait=2.0))
    world.limit = messages
    for _ in range(messages * 6 // 10):
        name = world.random.choice("abcd")
        world.at(world.random.uniform(0, seconds), lambda name=name: world.act(name, world.say))  # type: ignore[misc]
    world.trouble(seconds, kills, partitions)
    world.restorations(0.9 * seconds, restorations, "ab")
    world.at(0.3 * seconds, lambda: world.evict("c", lambda: world.rejoin("c")))
    world.at(0.6 * seconds, lambda: world.evict("d", lambda: world.retire("d")))
    world.go(seconds)
    while world.sent < messages or world.kills < kills:  # some moments of a kill found nobody up
        if world.kills < kills and world.random.random() < 0.02:
            world.act(world.random.choice("abc"), world.arm)
        world.act(world.random.choice("abc"), world.say)
        world.go(world.now + 1 / RATE)
    world.calm()
    excused = {"c.1", "d.1", *world.excused}
    wrong = (
        world.mixed() + judged(world, excused, world.excused) if world.quiet() else ["it never comes to rest"]
    )
    world.close()
    if {"c", "d"} & {*world.nodes} != {"c"} or world.nodes["c"].incarnation != 2:
        wrong.append("evictions did not come to an end")
    restored = (world.put_backs, world.clones, len(world.excused))
    return Run(seed, world.sent, world.kills, world.packets, restored, process_time() - begun, wrong)


def apart(seed: int, messages: int, restorations: int) -> Run:
    """One seed, in a process of its own."""
    gc.disable()  # all that lives is used
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        return run(seed, Path(folder), messages, restorations=restorations)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("seeds", type=int, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--restorations", type=int, default=2, help="of each kind: put back, cloned")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args(arguments)
    numbers = range(asked.first, asked.first + asked.seeds)
    runs = []
    with ProcessPoolExecutor(asked.jobs, max_tasks_per_child=1) as pool:
        times = ([each] * asked.seeds for each in (asked.messages, asked.restorations))
        for done in pool.map(apart, numbers, *times):
            print(done, flush=True)
            runs.append(done)
    bad = [done.seed for done in runs if done.wrong]
    seconds = sum(done.seconds for done in runs)
    sent = sum(done.sent for done in runs)
    print(f"{len(runs)} seeds, {sent} messages, {seconds:.0f} s of a processor; wrong: {bad or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
