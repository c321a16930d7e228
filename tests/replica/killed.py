"""Whole nodes are killed with SIGKILL, again and again, and started again; then it is seen what is left.

    python -m tests.replica.killed --kills 1000          at random instants
    python -m tests.replica.killed --points 1            at every fault point of an instrumented run

Two nodes talk over loopback while one of them is killed. After some kills they are let come to rest, and
their journals are judged against their diaries: nothing that was acknowledged is lost, nothing is done by
half, every message was delivered once, in causal order, its effects are there once, and both know the same.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from microcosm.replica.journal import Reader
from microcosm.replica.replica import Replica
from tests.replica.doomed import fork
from tests.replica.network.causal import History, faults

NAMES = ("a", "b")
PATIENCE = 120.0
SETTLED = 4
"""Lines in which each says the same: a fifth of a second. The first may be older than the other's."""
GENERATION = 40
"""After so many kills the nodes are let come to rest, judged, and replaced by new ones."""


class Pair:
    """Two nodes in a folder, which live and die."""

    def __init__(self, folder: Path, *, most: int | None = None) -> None:
        self.folder, self.most = folder, most
        self.ports = dict(zip(NAMES, free_ports(), strict=True))
        self.lives = Counter[str]()
        self.running: dict[str, int] = {}

    def start(self, name: str, fault: int | None = None) -> None:
        self.lives[name] += 1
        with (self.folder / f"{name}.diary").open("a") as diary:
            diary.write("starting\n")  # what it said before is of another life
        others = {other: ("127.0.0.1", self.ports[other]) for other in NAMES if other != name}
        self.running[name] = fork(
            *(self.folder, name, self.lives[name], self.ports[name], others), fault=fault, most=self.most
        )

    def kill(self, name: str) -> None:
        os.kill(self.running[name], signal.SIGKILL)
        self.reap(name)

    def reap(self, name: str) -> None:
        """Wait for its end, which must have been a kill."""
        _, status = os.waitpid(self.running.pop(name), 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, self.errors(name)

    def ended(self, name: str) -> bool:
        found, status = os.waitpid(self.running[name], os.WNOHANG)
        if found:
            del self.running[name]
            assert os.WIFSIGNALED(status), self.errors(name)
        return bool(found)

    def errors(self, name: str) -> str:
        return (self.folder / f"{name}.errors").read_text()

    def diary(self, name: str) -> list[str]:
        path = self.folder / f"{name}.diary"
        return path.read_text().splitlines() if path.exists() else []

    def agree(self, times: int) -> bool:
        """Whether each said so many times, last and in this life, that it is idle, and knew the same."""
        lines = [line.split(" ") for name in NAMES for line in self.diary(name)[-times:]]
        return all(words[0] == "idle" and words[2] == lines[0][2] for words in lines)

    def rest(self) -> bool:
        """Nothing new is made; wait until nothing is under way, and both know the same; False if one ended.

        What one said last may be older than what has come to it since: each must say it some times more.
        """
        (self.folder / "quiet").touch()
        end = time.monotonic() + PATIENCE
        while not self.agree(SETTLED):
            if any(map(self.ended, NAMES)):
                return False
            assert time.monotonic() < end, [self.diary(name)[-1] for name in NAMES]
            time.sleep(0.05)
        return True

    def close(self) -> None:
        for name in [*self.running]:
            self.kill(name)

    def judge(self) -> list[str]:
        """What is wrong."""
        found: list[str] = []
        histories, digests, answers = [], set(), Counter[str]()
        told: dict[str, str] = {}
        chains = {}
        for name in NAMES:
            told |= {line.split(" ")[1]: line.split(" ")[2] for line in self.diary(name) if "sent" in line}
            with closing(Reader(self.folder / f"{name}.journal")) as store:
                replica = Replica(store)
                chains[name] = replica.chains().get(replica.stream, [])
                digests.add(replica.digest())
                count = int(replica.noted("count") or b"0")
                known = {(fact.left, fact.right) for fact in replica.known.givens.external.values()}
            delivered = [event.split(":")[2] for event in chains[name] if event.startswith("d:")]
            effects = Counter(event[7:] for event in chains[name] if event.startswith("effect "))
            if effects != Counter(delivered) or count != len(delivered):
                found.append(f"{name}: {len(delivered)} deliveries, {sum(effects.values())}/{count} effects")
            found += [
                f"{name} has not learnt of {message}"
                for message in delivered
                if (f"c:{message}", f"seen {message}") not in known
            ]
            acknowledged = {line[6:] for line in self.diary(name) if line.startswith("local ")}
            found += [f"{name} lost {event}" for event in acknowledged - {*chains[name]}]
        other = dict(zip(NAMES, reversed(NAMES), strict=True))
        for name in NAMES:
            steps = []
            for event in chains[name]:
                kind, _, rest = event.partition(":")
                if kind == "c":
                    steps.append(("sent", f"{rest} {other[name]}"))
                    answers[rest] += 1
                elif kind == "d":
                    steps.append(("delivered", rest.partition(":")[2]))
            histories.append(History(f"{name}.1", steps))
        found += [f"{message} was acknowledged, and is lost" for message in told if message not in answers]
        if len(digests) > 1:
            found.append("they do not know the same")
        return found + faults(histories)


def free_ports() -> list[int]:
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in NAMES]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def at_random(kills: int, seed: int) -> Counter[str]:
    """Kill one or the other at random instants of its life; what came of it, in numbers."""
    random, counts = Random(seed), Counter[str]()
    while counts["kills"] < kills:
        with TemporaryDirectory() as folder:
            pair = Pair(Path(folder))
            try:
                for name in NAMES:
                    pair.start(name)
                for _ in range(min(GENERATION, kills - counts["kills"])):
                    time.sleep(random.uniform(0.0, 0.4))
                    name = random.choice(NAMES)
                    pair.kill(name)
                    pair.start(name)
                    counts["kills"] += 1
                assert pair.rest(), [*map(pair.errors, NAMES)]
            finally:
                pair.close()
            conclude(pair, counts)
            print(
                f"{counts['kills']} kills, {counts['acknowledged']} evolutions acknowledged", file=sys.stderr
            )
    return counts


def at_points(step: int, first: int = 1) -> Counter[str]:
    """Kill one at each `step`-th fault point of its first life, from `first` on."""
    counts, fault = Counter[str](), first
    while True:
        with TemporaryDirectory() as folder:
            pair = Pair(Path(folder), most=8)
            try:
                pair.start("a")
                pair.start("b", fault)
                end = time.monotonic() + PATIENCE
                while not (dead := pair.ended("b")):
                    if pair.agree(1):
                        break  # all is done, and there was no such point
                    assert time.monotonic() < end, pair.errors("b")
                    time.sleep(0.01)
                dead = dead or not pair.rest()
                if dead:
                    counts["kills"] += 1
                    pair.start("b")
                    assert pair.rest(), [*map(pair.errors, NAMES)]
            finally:
                pair.close()
            conclude(pair, counts)
        print(f"fault point {fault}, {counts['kills']} kills", file=sys.stderr)
        if not dead:
            return counts
        fault += step


def conclude(pair: Pair, counts: Counter[str]) -> None:
    wrong = pair.judge()
    assert wrong == [], wrong[:10]
    for name in NAMES:
        counts["acknowledged"] += sum(line.startswith(("local", "sent")) for line in pair.diary(name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--points", type=int, default=0)
    given = parser.parse_args()
    if given.kills:
        print(dict(at_random(given.kills, given.seed)))
    if given.points:
        print(dict(at_points(given.points)))
