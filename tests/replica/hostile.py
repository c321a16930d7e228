"""A hostile member: it has the keys of the group, and one of its own, and says whatever it likes.

    python -m tests.replica.hostile 3600 --seed 1 --runs 60

Three honest replicas and one that lies live for so many seconds of simulated time on a network that loses
and doubles packets. What the liar seals is genuine, and changed at random before: packets of every kind,
greetings, messages, acks, permits, fences, pieces of exchanges; messages of exchanges, their segments signed
anew; its evolutions. It has several faces, copies of its journal that go on by themselves, and tells each
member what another one says. Then it is seen to that no honest replica ended, that its journal can be read
again and says the same, that all know the same, that nothing is lost that an honest one said or was sent, and
that the liar is named. Prints what came of it; exit 1 if anything is wrong. An hour of simulated time takes
about a minute: these 60 runs, each with the next seed, are an hour of the fuzzer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgpack

from microcosm.errors import MicrocosmError
from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica.exchange import Supply, encode
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.chain import UNSIGNED, Author, Segment, leaf
from microcosm.replica.ledger.dots import Dot, DotRun
from microcosm.replica.ledger.evolution import Add, Append, Forget, Remove
from microcosm.replica.network.endpoint import Limits
from microcosm.replica.network.keys import CONTENT, EXCHANGE, Destination, Sending
from microcosm.replica.network.wire import HEAD, fragments
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory
from tests.replica.invariants import check
from tests.replica.simulated import World
from tests.replica.simulated_node import Node

HONEST, EVIL = "abc", "e"

NUMBERS = (0, 1, 2, 63, 64, 65, 2**16, 2**31, 2**32 + 1, 2**48, 2**48 + 1, 2**63 - 1, 2**63, 2**64 - 1, -1)


def changed(value: Any, random: Random, others: Sequence[Any] = ()) -> Any:
    """A plain value with something of it changed: numbers, texts, bytes, members of lists, kinds."""
    if isinstance(value, list | tuple) and value and random.random() < 0.85:
        items = list(value)
        at = random.randrange(len(items))
        match random.randrange(10):
            case 0:
                del items[at]
            case 1:
                items.insert(at, items[random.randrange(len(items))])
            case 2:
                items[at] = random.choice([*others, None, b"", "", [], {}, 1.5, float("nan"), True])
            case 3:
                random.shuffle(items)
            case _:
                items[at] = changed(items[at], random, others)
        return items
    match random.randrange(6), value:
        case 0, _:
            return random.choice([None, b"", "", [], [[]], {}, -1, 2**64 - 1, 1.5, "x" * 300, b"x" * 30])
        case _, bool():
            return not value
        case 1, int():
            return random.choice(NUMBERS)
        case _, int():
            return value + random.choice((-1, 1, 2, 64))
        case 1 | 2, str():
            return random.choice(["a", "b", EVIL, "c:a.1.1", "d:a:b.1.1", "", "\x1b[31m", "x\ny", "é" * 90])
        case _, str():
            return value + "'"
        case _, bytes() if value:
            at = random.randrange(len(value))
            cut = random.choice(
                (value[:at], value + b"x", value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :])
            )
            return inside(value, random) if random.random() < 0.5 else cut
    return value


def inside(content: bytes, random: Random) -> bytes:
    """Bytes that may be MessagePack, with something changed in what they say."""
    try:
        value = msgpack.unpackb(content, use_list=False)
        written: bytes = msgpack.packb(changed(value, random))
    except (ValueError, TypeError, OverflowError, msgpack.exceptions.UnpackException, RecursionError):
        return content[: random.randrange(len(content) + 1)]
    return written


def invented(random: Random, name: str, number: int) -> bytes:
    """The content of some evolution that the liar says is its own, or another's."""
    dot = Dot(name, random.choice((1, 1, 1, 2, 7)), number)
    others = [
        Dot(random.choice("abce"), 1, random.choice((1, 2, number, number + 9, 10**6))) for _ in range(3)
    ]
    pair = random.sample(
        ["x", "y", "z", "a0", "b0", "c0", f"{random.choice('abc')}{random.randrange(30)}"], 2
    )
    match random.randrange(6):
        case 0:
            made: Any = Append(
                dot, random.choice([f"e{number}", "a0", "same", f"c:{dot}", f"d:{name}:a.1.1", "d:a:b.1.1"])
            )
        case 1 | 2:
            signs = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.NOT_BEFORE)
            fact = Correspondence(pair[0], random.choice(signs), pair[1])
            made = Add(dot, fact, tuple(others[: random.randrange(3)]))
        case 3:
            made = Remove(dot, tuple(others))
        case 4:
            made = Forget(dot, ())
        case _:
            made = Append(dot, f"e{random.randrange(50)}", random.choice((None, 1.0, float("inf"), -1.0)))
    content = evolutions.encode(made)
    return content if random.random() < 0.8 else inside(content, random)


def signed_anew(
    author: Author, stream: tuple[str, int], first: int, before: bytes, contents: list[bytes]
) -> list[Any]:
    """A segment of any contents, with a signature that holds."""
    bare = Segment(stream, first, before, b"".join(map(leaf, contents)), author.key, UNSIGNED)
    whole = bare.part(first, bare.last, author.signed, author.key)
    return whole.written(dict(enumerate(contents, first)))


def lies(random: Random, liar: Replica, others: Sequence[bytes] = ()) -> bytes:
    """A message of an exchange that no honest replica would send; what the liar signs, it has signed."""
    author = liar._state.author
    assert author is not None
    if others and random.random() < 0.5:
        return inside(random.choice(others), random)
    name = EVIL if random.random() < 0.8 else random.choice(HONEST)
    stream = (name, random.choice((liar.stream[1], 1, random.randrange(1, 40))))
    known = [each for each in liar._state.chains.all() if each.stream == stream]
    if known and random.random() < 0.7:
        base = random.choice(known)
        number = random.randint(base.first, base.last + 1)
        if number <= base.last or base.last % 64:
            contents = [invented(random, name, number + n) for n in range(random.randint(1, 3))]
            contents = contents[: 64 - (number - 1) % 64]
            part = signed_anew(author, stream, number, base.head(number - 1), contents)
            return encode(Supply((), (part,) if random.random() < 0.8 else (changed(part, random),)))
    number = random.choice((1, 1, 65, 129, 2**40 + 1))
    contents = [invented(random, name, number + n) for n in range(random.randint(1, 5))]
    part = signed_anew(author, stream, number, random.randbytes(24), contents)
    loose = tuple(contents) if random.random() < 0.2 else ()
    linked = (DotRun(*stream, 1, number),) if number > 1 and random.random() < 0.5 else ()
    return encode(Supply(loose, (part,), (), linked))


def corrupt(node: Node, rate: float = 0.3) -> None:
    """From now on a node changes what it seals."""
    sealer, random = node.endpoint._sealer, node.world.random
    seal = sealer.seal

    def lying(used: Sending, version: int, kind: int, to: Destination, content: bytes) -> bytes:
        if random.random() < rate:
            if kind == EXCHANGE:
                pieces = list(fragments(inside(content[HEAD.size :], random), 1100))
                other = (
                    random.choice(pieces) if pieces and random.random() < 0.8 else changed(content, random)
                )
                content = other if isinstance(other, bytes) else b""
            else:
                content = inside(content, random)
            kind = kind if random.random() < 0.95 else random.choice((CONTENT, EXCHANGE, 7))
        return seal(used, version, kind, to, content[:1100])

    sealer.seal = lying  # type: ignore[method-assign]


class HostileWorld(World):
    """Honest nodes, and one that is not."""

    def __init__(self, folder: Path, seed: int, **options: Any) -> None:
        super().__init__(folder, HONEST + EVIL, seed, reactions=0.0, **options)
        self.faces: list[Replica] = []
        self.told = 0
        self.heeded = True
        """Whether the liar is listened to at once again, so that it gets to say more."""
        self.raised: list[str] = []
        """What exchanges raised at honest ones: it is caught, as the fault of who spoke; should be none."""
        corrupt(self.nodes[EVIL])
        for name in HONEST:
            self.watch(self.nodes[name])

    def watch(self, node: Node) -> None:
        """Note what a node raises for what it is told."""
        receive = node.replica.exchange.receive

        def watched(peer: str, content: bytes) -> list[bytes]:
            try:
                return receive(peer, content)
            except Exception as error:
                self.raised.append(f"{node.name} raised {type(error).__name__}: {error}")
                raise

        node.replica.exchange.receive = watched  # type: ignore[method-assign]

    def lie(self, node: Node) -> None:
        """The liar says something to somebody, as one of its faces."""
        random = self.random
        face = random.choice([node.replica, *self.faces])
        if random.random() < 0.1 and len(self.faces) < 4:
            store = Memory()
            store.commit([("note", b"")])
            store.compact(1, face.content())
            self.faces.append(Replica(store))
        if face is not node.replica and random.random() < 0.5:
            with suppress(MicrocosmError):
                face.local(f"e{random.randrange(10**6)}")
        to = random.choice(HONEST)
        held = [encode(each) for each in face.supplies(face.held_of(face.seen()), 900)][-3:]
        message = random.choice(held) if held and random.random() < 0.3 else lies(random, face, held)
        self.told += 1
        if to in self.nodes and self.heeded:
            suspects = self.nodes[to].carrier.suspects.found
            if EVIL in suspects:
                suspects[EVIL] = suspects[EVIL]._replace(until=0.0)
        node.carrier._say(to, message)


def run(
    seed: int, folder: Path, seconds: float, rate: float = 1.0, heeded: bool = True, shown: bool = False
) -> list[str]:
    """So many seconds of simulated time, with so many lies a second; what is wrong then."""
    world = HostileWorld(folder, seed, loss=0.1, doubled=0.05, slow=0.01, limits=Limits(longest_wait=2.0))
    with closing(world):
        return played(world, seconds, rate, heeded, shown)


def played(world: HostileWorld, seconds: float, rate: float, heeded: bool, shown: bool) -> list[str]:
    """What is wrong once it is over."""
    world.heeded = heeded
    random = world.random
    said: dict[str, list[str]] = {name: [] for name in HONEST}
    sent: list[tuple[str, str]] = []

    def lead(name: str) -> Callable[[Node], None]:
        def happen(node: Node) -> None:
            event = f"{name}{len(said[name])}"
            said[name].append(event)
            node.replica.local(event)
            if random.random() < 0.3:
                to = random.choice(HONEST.replace(name, ""))
                sent.append((node.replica.send(to, b"look"), to))

        return happen

    at = 0.0
    while at < seconds:
        at += random.expovariate(rate)
        world.at(at, lambda: world.act(EVIL, world.lie))
    for name in HONEST:
        for n in range(int(min(seconds / 2, 60))):
            world.at(n * seconds / min(seconds / 2, 60), lambda name=name: world.act(name, lead(name)))  # type: ignore[misc]
    world.go(seconds)
    honest = {name: world.nodes[name] for name in HONEST}
    evil = world.nodes.pop(EVIL)
    evil.up = False
    for node in honest.values():
        world.act(node.name, lambda node: node.endpoint.evict(EVIL, world.now))
        node.carrier.suspects.found = {k: v for k, v in node.carrier.suspects.found.items() if k == EVIL}
    for _ in range(120):
        world.go(world.now + 5)
        if len({node.replica.digest() for node in honest.values()}) == 1 and all(
            node.endpoint.durable.process.machine.idle() for node in honest.values()
        ):
            break
    if shown:
        for name, node in honest.items():
            found = node.carrier.suspects.found.get(EVIL)
            print(f"{name}: {found}; {node.replica.ledger.closed}; {node.replica.counts()}")
    return [*wrong(honest, said, sent), *world.raised[:3], *([] if world.told else ["no lie was told"])]


def wrong(honest: dict[str, Node], said: dict[str, list[str]], sent: list[tuple[str, str]]) -> list[str]:
    """What is wrong with the honest ones at the end."""
    found = []
    if len({node.replica.digest() for node in honest.values()}) != 1:
        found.append("they do not know the same")
    for name, node in honest.items():
        replica = node.replica
        lost = [event for events in said.values() for event in events if not replica.happened(event)]
        if set(lost) - set(replica.twice):
            found.append(f"{name} lacks {lost[:3]}")
        got = {event for event in replica.events if event.startswith(f"d:{name}:")}
        if missing := [message for message, to in sent if to == name and f"d:{name}:{message}" not in got]:
            found.append(f"{name} was not given {missing[:3]}")
        named = EVIL in node.carrier.suspects.found or any(d["member"] == EVIL for d in replica.divergences)
        if not named:
            found.append(f"{name} does not name the liar")
        if any(other in node.carrier.suspects.found for other in HONEST):
            found.append(f"{name} names an honest one: {node.carrier.suspects.found}")
        digest = replica.digest()
        node.files.kill()
        node.start()
        if node.replica.digest() != digest:
            found.append(f"{name} is another one when it is read again")
        check(node.replica.ledger)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("seconds", type=float, help="of simulated time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1, help="each with the next seed")
    parser.add_argument("--rate", type=float, default=1.0, help="lies a second")
    asked = parser.parse_args(arguments)
    memory = Path("/dev/shm")
    bad = 0
    for seed in range(asked.seed, asked.seed + asked.runs):
        with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
            found = run(seed, Path(folder), asked.seconds, asked.rate, shown=True)
        bad += bool(found)
        print(f"seed {seed}, {asked.seconds:g} s: {'; '.join(found) or 'all is well'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
