"""Journals that are lost and restored from backups as the page says, in a simulation; what is lost is named.

    python -m tests.replica.operated 300

Devices send messages, learn and remove, on a network that loses packets. Now and then a backup is made, and
now and then a device loses its journal: it begins anew from a backup, and an operator replaces it at each of
the others, sooner or later; by then some have heard of it from others. What must be true at the end is worked
out from what the applications were told alone, and from which evolutions, or which word of removals, anybody
still has: which facts hold, and that each message was delivered, or its sender is told which was not; but for
one to several that only some of them are known to have got, where all had acknowledged it.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from microcosm.replica.ledger.dots import Dot, Dots
from microcosm.replica.network.members import gone, lost, taken, undelivered
from tests.replica.simulated import World
from tests.replica.simulated_node import Files, Node, copied

NAMES = "abc"


class Operated(World):
    """A world with an operator, and accounts of what was done in it."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, NAMES, seed, loss=0.1, doubled=0.05, delay=(0.001, 0.05))
        self.backups: dict[str, tuple[Path, int]] = {}
        self.copies = self.restores = 0
        self.adds: dict[Dot, str] = {}
        self.removes: dict[Dot, tuple[Dot, ...]] = {}
        self.accepted: list[tuple[str, str]] = []
        """Messages and a receiver of each."""
        self.named: set[tuple[str, str]] = set()
        """Those that somebody was told of as not delivered."""
        self.waiting: set[tuple[str, str]] = set()
        """At whom the operator is to replace whom."""
        self.at(1.0, self.look)

    def learn(self, node: Node) -> None:
        fact = f"x{len(self.adds)} < y{len(self.adds)}"
        for dot in node.replica.learn(fact):
            self.adds[dot] = fact

    def remove(self, node: Node) -> None:
        given = sorted(node.replica.ledger.facts)
        some = [key for key in given if key[0].startswith("x")]
        if some:
            key = self.random.choice(some)
            targets = tuple(node.replica.ledger.facts[key])
            for dot in node.replica.remove(f"{key[0]} < {key[2]}"):
                self.removes[dot] = targets

    def letter(self, node: Node) -> None:
        known = [member.name for member in node.endpoint.durable.process.members]
        if known:
            to = self.random.sample(known, 1 if self.random.random() < 0.8 else len(known))
            message = node.replica.send(to, b"letter")
            self.accepted += [(message, name) for name in to]

    def backup(self, node: Node) -> None:
        assert isinstance(node.files, Files)
        self.copies += 1
        path = node.files.folder / f"backup-{self.copies}"
        copied(node.files._path(), path)
        self.backups[node.name] = (path, node.incarnation)

    def restore(self, name: str) -> None:
        """The journal is lost. `replica restore`, and then, sooner or later, `replace` at each other one."""
        node = self.nodes[name]
        if name not in self.backups or self.waiting or not node.up:
            return
        self.restores += 1
        self.waiting = {(other, name) for other in NAMES if other != name}
        assert isinstance(node.files, Files)
        self.kill(node, self.random.uniform(0.1, 2.0))
        node.files.put_back(self.backups[name][0])
        node.incarnation += 1
        self.backups.pop(name)
        for other, _ in [*self.waiting]:
            self.at(self.random.uniform(0.0, 6.0), lambda other=other: self.replace(other, name))  # type: ignore[misc]

    def replace(self, at: str, name: str) -> None:
        """As `ReplicaNode.replace` does; and the application reads what it answers."""

        def do(node: Node) -> None:
            if (at, name) not in self.waiting:
                return
            durable = node.endpoint.durable
            where = self.nodes[name].address
            member = durable.process.membership.named.get(name)
            if member is not None and member.remembered != self.nodes[name].incarnation:
                node.endpoint.evict(name, self.now)
            self.named |= {(message, name) for message in taken(node.replica, durable, name)}
            node.replica.settle_divergences(name, mine=False)
            node.endpoint.add_member(name, where, self.now)
            self.waiting.discard((at, name))

        self.act(at, do)
        if (at, name) in self.waiting:
            self.at(0.2, lambda: self.replace(at, name))

    def look(self) -> None:
        """The operator sees who has heard that another one was evicted, and lets that in."""

        def do(node: Node) -> None:
            for name in gone(node.replica, node.endpoint.durable.process):
                self.waiting.add((node.name, name))
                self.replace(node.name, name)

        for name in NAMES:
            self.act(name, do)
        self.at(1.0, self.look)

    def quiet(self) -> bool:
        nodes = self.nodes.values()
        if self.waiting or not all(
            node.up and node.endpoint.durable.process.machine.idle() for node in nodes
        ):
            return False
        return len({node.replica.digest() for node in nodes}) == 1

    def judge(self) -> list[str]:
        """What is wrong."""
        found = []
        replicas = {name: node.replica for name, node in self.nodes.items()}
        if len({replica.digest() for replica in replicas.values()}) > 1:
            found.append("they do not know the same")
        seen = Dots(run for replica in replicas.values() for run in replica.seen())
        removed = {target for targets in self.removes.values() for target in targets}
        struck = {dot for replica in replicas.values() for dot in replica.ledger.struck.dots()}
        found += [f"{dot} was never removed, and is struck" for dot in struck - removed]
        gone = {target for dot, targets in self.removes.items() if dot in seen for target in targets} | struck
        given = {fact for dot, fact in self.adds.items() if dot in seen and dot not in gone}
        for name, replica in replicas.items():
            held = {f"{a} < {b}" for a, _, b in replica.ledger.facts if a.startswith("x")}
            found += [f"{name} has {fact}, which was removed" for fact in held - given]
            found += [f"{name} lacks {fact}" for fact in given - held]
        told = {
            name: {*undelivered(replica, self.nodes[name].endpoint.durable.process)}
            for name, replica in replicas.items()
        }
        for replica in replicas.values():
            self.named |= {(each, to) for to, messages in lost(replica).items() for each in messages}
        for message, to in self.accepted:
            sender = message.partition(".")[0]
            if replicas["a"].happened(f"d:{to}:{message}") or (message, to) in self.named:
                continue
            several = any(replicas["a"].happened(f"d:{other}:{message}") for other in NAMES)
            if message not in told[sender] and replicas["a"].happened(f"c:{message}") and not several:
                found.append(f"nobody was told that {message} did not reach {to}")
        return found


def story(seed: int, folder: Path, seconds: float = 20.0) -> Operated:
    """A story and its end; `judge` says what is wrong with it."""
    world = Operated(folder, seed)
    random = Random(seed)
    for action, times in ((world.learn, 20), (world.remove, 12), (world.letter, 60), (world.backup, 4)):
        for _ in range(times):
            name = random.choice(NAMES)
            moment = random.uniform(0.0, seconds)
            world.at(moment, lambda name=name, action=action: world.act(name, action))  # type: ignore[misc]
    for _ in range(2):
        world.at(random.uniform(0.2, 0.9) * seconds, lambda: world.restore(random.choice(NAMES)))
    world.partitions(2, seconds, seconds / 8, NAMES)
    world.go(seconds)
    world.calm()
    return world


def main(count: int) -> None:
    restores = accepted = named = 0
    for seed in range(count):
        with TemporaryDirectory(dir="/dev/shm") as folder, closing(story(seed, Path(folder))) as world:
            wrong = world.judge() if world.quiet() else ["it never comes to rest", *world.judge()]
        restores, accepted = restores + world.restores, accepted + len(world.accepted)
        named += len(world.named)
        if wrong:
            print(seed, wrong[:4], len(wrong))
    print(f"{count} stories, {restores} restorations, {accepted} messages to a receiver, {named} named")


if __name__ == "__main__":
    main(int(sys.argv[1]))
