"""Whole nodes are killed with SIGKILL, and some of them go on from older copies of their journals.

    python -m tests.replica.killed_back 1000

As `tests.replica.killed`, but at some kills files are put back as they were at an earlier one. Once a node
says that it diverged, an operator does what the page says: `replica renew` there, `member replace` at the
other; and that again, where a node went back to before it and says of the other that it is not let in; and
who went back to before he had a key has his new one stated, with `member add --author`. What is judged at
the end: both know the same, no dot names two things, no chain is of two copies, and nothing is missing that
was acknowledged to an application, but for what came after such a copy.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from microcosm.replica.journal import Reader
from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Append, decode
from microcosm.replica.replica import Replica
from tests.replica.killed import GENERATION, NAMES, PATIENCE, Pair

QUIET = 20
"""Lines in which each says the same: a second, in which they ask each other some ten times."""

OTHER = dict(zip(NAMES, reversed(NAMES), strict=True))


class Back(Pair):
    """Two nodes, and an operator who copies files, puts them back, and does what is said."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.copies: dict[str, tuple[int, int]] = {}
        """The life after which, and the length of the diary at which, the files of a node were copied."""
        self.lost: dict[str, set[int]] = {name: set() for name in NAMES}
        """Lives that a copy knows nothing of."""
        self.excused: set[str] = set()
        self.put_back = self.renewed = self.forgot = self.keys = 0
        self.read = dict.fromkeys(NAMES, 0)

    def rest(self) -> bool:
        """As of a pair, for a while; and nobody says that he diverged any more."""
        (self.folder / "quiet").touch()
        end = time.monotonic() + PATIENCE
        while True:
            self.operate()
            if self.agree(QUIET):
                return True
            if time.monotonic() > end:
                said = [(name, self.replica("status", f"{name}.journal", "--json")) for name in NAMES]
                raise AssertionError(self.lives, self.lost, self.renewed, said)
            time.sleep(0.2)

    def wait(self, name: str, most: float = 5.0) -> None:
        """Let it live until it has sent something, or for so many seconds."""
        end = time.monotonic() + most
        while time.monotonic() < end:
            said = self.diary(name)
            if any(line.startswith("sent") for line in said[len(said) - 1 - said[::-1].index("starting") :]):
                return
            time.sleep(0.05)

    def files(self, name: str) -> list[Path]:
        return [self.folder / f"{name}.journal{end}" for end in ("", "-wal", "-head")]

    def copy(self, name: str) -> None:
        for file in self.files(name):
            Path(f"{file}.kept").unlink(missing_ok=True)  # of an earlier copy, which was not put back
            if file.exists():
                shutil.copyfile(file, f"{file}.kept")
        self.copies[name] = self.lives[name], len(self.diary(name))

    def go_back(self, name: str) -> None:
        life, said = self.copies.pop(name)
        for file in self.files(name):
            file.unlink(missing_ok=True)
            if Path(f"{file}.kept").exists():
                Path(f"{file}.kept").rename(file)
        self.lost[name] |= {*range(life + 1, self.lives[name] + 1)}
        self.excused |= set(self.diary(name)[said:])
        self.put_back += 1

    def operate(self) -> None:
        """See who has said that he diverged, or lets the other not in; do what the page says."""
        fresh = {name: self.diary(name)[self.read[name] :] for name in NAMES}
        told = [line.split() for lines in fresh.values() for line in lines]
        strangers = {(words[1], words[2]) for words in told if words[0] == "stranger"}
        others = {words[1] for words in told if words[0] == "author"}
        if not strangers and not others and ["diverged"] not in told:
            return
        for name in [*self.running]:
            self.kill(name)
        renew = {each for name in NAMES for each in self._to_renew(name)}
        for name in others:
            self._state_key(name)
        for name, number in strangers:
            if name not in renew and number == self._incarnation(name):
                self.replica("member", "replace", f"{OTHER[name]}.journal", name, "--incarnation", number)
                self.forgot += 1
        for name in renew:
            number = str(json.loads(self.replica("renew", f"{name}.journal", "--json"))["incarnation"])
            other = f"{OTHER[name]}.journal"
            self.replica("member", "replace", other, name, "--incarnation", number)
            self.copies.pop(name, None)
            self.renewed += 1
        for name in NAMES:
            self.read[name] = len(self.diary(name))
            self.start(name)

    def _state_key(self, name: str) -> None:
        """It went back to before it had its key, and has another one: each is told of the other's."""
        other, where = OTHER[name], f"127.0.0.1:{self.ports[name]}"
        mine, theirs = (
            json.loads(self.replica("authors", f"{each}.journal", "--json"))["authors"][name]
            for each in (name, other)
        )
        self.replica("member", "add", f"{other}.journal", name, where, "--author", mine[0])
        for key in {*theirs} - {*mine}:
            self.replica("renew", f"{name}.journal", "--author", key)
        number = self._incarnation(name)
        self.replica("member", "replace", f"{other}.journal", name, "--incarnation", number)
        self.keys += 1

    def _incarnation(self, name: str) -> str:
        return str(json.loads(self.replica("status", f"{name}.journal", "--json"))["incarnation"])

    def _to_renew(self, name: str) -> set[str]:
        """Whom a node says to be renewed: itself, or the other."""
        with closing(Reader(self.folder / f"{name}.journal")) as store:
            said = Replica(store).divergences
        return {name if each.get("mine") or "dot" in each else each["member"] for each in said}

    def replica(self, *words: str) -> str:
        """A command of `microcosm replica`."""
        ran = subprocess.run(
            [sys.executable, "-m", "microcosm", "replica", *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode in (0, 1), ran.stderr
        return ran.stdout

    def judge(self) -> list[str]:
        found, events, digests, meant = [], set(), set(), dict[Dot, object]()
        for name in NAMES:
            with closing(Reader(self.folder / f"{name}.journal")) as store:
                replica = Replica(store)
                digests.add(replica.digest())
                events |= {*replica.events}
                doubted = map(decode, replica._disputed())  # what it will say again
                events |= {each.event for each in doubted if isinstance(each, Append)}
                for dot, evolution in replica.ledger.held.items():
                    if meant.setdefault(dot, evolution) != evolution:
                        found.append(f"{dot} is {evolution} at {name}, and {meant[dot]} elsewhere")
                for (author, _), chain in replica.chains().items():
                    lives = [int(each.split(".")[1]) for each in chain if LOCAL.fullmatch(each)]
                    for one, other in pairwise(lives):
                        if one in self.lost[author] and other not in self.lost[author]:
                            found.append(f"{name}: lives {one} and {other} of {author} are one chain")
        if len(digests) > 1:
            found.append("they do not know the same")
        for name in NAMES:
            told = {line for line in self.diary(name) if line.startswith("local ")} - self.excused
            found += [f"{name} lost {line[6:]}" for line in told if line[6:] not in events]
        return found


LOCAL = re.compile(r"[ab]\.\d+\.\d+")


def run(kills: int, seed: int) -> Counter[str]:
    """Kill one or the other at random instants; what came of it, in numbers."""
    random, counts = Random(seed), Counter[str]()
    while counts["kills"] < kills:
        with TemporaryDirectory() as folder:
            pair = Back(Path(folder))
            try:
                for name in NAMES:
                    pair.start(name)
                for _ in range(min(GENERATION, kills - counts["kills"])):
                    time.sleep(random.uniform(0.0, 0.8))
                    pair.operate()
                    name = random.choice(NAMES)
                    if random.random() < 0.7:
                        pair.wait(name)
                    pair.kill(name)
                    if name not in pair.copies and random.random() < 0.4:
                        pair.copy(name)
                    elif name in pair.copies and random.random() < 0.4:
                        pair.go_back(name)
                    pair.start(name)
                    counts["kills"] += 1
                pair.rest()
            finally:
                pair.close()
            wrong = pair.judge()
            assert wrong == [], (wrong[:10], pair.lives, pair.lost, pair.put_back, pair.renewed)
            counts += Counter(
                put_back=pair.put_back, renewed=pair.renewed, forgot=pair.forgot, keys=pair.keys
            )
            for name in NAMES:
                counts["acknowledged"] += sum(line.startswith("local") for line in pair.diary(name))
            print(dict(counts), file=sys.stderr)
    return counts


if __name__ == "__main__":
    print(dict(run(int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 1)))
