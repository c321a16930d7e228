"""Copies of one journal, put back or run at once: what is concluded is so, and nothing is lost."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from microcosm.givens.relation import Relation
from microcosm.replica.exchange import AGAIN
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.replica.test_rollback import copy_of

pytest.importorskip("cryptography")

NAMES = ("a", "b", "c")


class Copy:
    """A replica, and the events of its journal, those included from before it was copied."""

    def __init__(self, replica: Replica, events: tuple[str, ...] = ()) -> None:
        self.replica = replica
        self.events = events

    def copied(self) -> Copy:
        assert isinstance(self.replica.store, Memory)
        return Copy(Replica(copy_of(self.replica.store)), self.events)


class World:
    """Two copies of the journal of a, which are put back now and then, beside b and c; and what is so."""

    def __init__(self, signed: bool) -> None:
        replicas = [Replica(Memory(), name, members=NAMES) for name in NAMES]
        for each in replicas if signed else ():
            each.sign()
        self.copies = [*map(Copy, replicas)]
        self.copies.append(self.copies[0].copied())
        self.saved = self.copies[0].copied()
        self.order: set[tuple[str, str]] = set()
        self.names = 0
        self.wire: list[tuple[int, int, bytes]] = []
        """Messages under way: to whom, from whom, and what."""

    def local(self, copy: Copy) -> None:
        self.names += 1
        event = f"{copy.replica.name}{self.names}"
        self.order |= {(before, event) for before in copy.events}
        copy.events += (event,)
        copy.replica.local(event)

    def learn(self, copy: Copy) -> None:
        self.names += 1
        copy.replica.learn(f"x{self.names} < y{self.names}")

    def remove(self, copy: Copy, random: Random) -> None:
        given = [fact for fact in copy.replica.ledger.given() if fact.left.startswith("x")]
        if given:
            copy.replica.remove(random.choice(given))

    def meet(self, one: Copy, other: Copy) -> None:
        if one.replica.name != other.replica.name:
            level(one.replica, other.replica)

    def ask(self, random: Random) -> None:
        one, other = random.sample(range(len(self.copies)), 2)
        asking, asked = (self.copies[each].replica for each in (one, other))
        if asking.name != asked.name:
            self.wire += ((other, one, message) for message in asking.exchange.begin(asked.name))

    def deliver(self, random: Random) -> None:
        """Some of the messages arrive, in any order; one of them may be lost."""
        for _ in range(min(len(self.wire), random.randint(1, 6))):
            to, sender, message = self.wire.pop(random.randrange(len(self.wire)))
            if random.random() < 0.9:
                name = self.copies[sender].replica.name
                answers = self.copies[to].replica.exchange.receive(name, message)
                self.wire += ((sender, to, answer) for answer in answers)

    def step(self, random: Random, more: tuple[str, ...] = ()) -> None:
        copy = random.choice(self.copies)
        match random.choice(("local", "local", "learn", "remove", "meet", "meet", "save", "put back", *more)):
            case "ask":
                self.ask(random)
            case "deliver":
                self.deliver(random)
            case "local":
                self.local(copy)
            case "learn":
                self.learn(copy)
            case "remove":
                self.remove(copy, random)
            case "meet":
                self.meet(copy, random.choice(self.copies))
            case "save" if copy.replica.name == "a":
                self.saved = copy.copied()
            case "put back" if copy.replica.name == "a":
                self.copies[self.copies.index(copy)] = self.saved.copied()

    def settle(self) -> None:
        for _ in range(4):
            for one, other in combinations(self.copies, 2):
                self.meet(one, other)

    def check(self) -> None:
        """No copy concludes an order that is not so."""
        for copy in self.copies:
            for left, verdict, right in (
                (left, verdict, right) for left, right, verdict in copy.replica.table() if left[0] in "abc"
            ):
                if right[0] in "abc":
                    assert verdict is not Relation.CONCURRENT
                    assert verdict is not Relation.BEFORE or (left, right) in self.order, (left, right)
                    assert verdict is not Relation.AFTER or (right, left) in self.order, (left, right)


def test_copies_that_run_at_once_are_put_in_no_order(signed: bool) -> None:
    """What one copy has said again comes not after what the other has said in its place."""
    one, b = (Replica(Memory(), name, members=NAMES) for name in "ab")
    for each in (one, b) if signed else ():
        each.sign()
    assert isinstance(one.store, Memory)
    two = Replica(copy_of(one.store))
    one.learn("x < y"), one.local("first"), one.local("third")
    two.local("second")
    level(two, b)
    level(one, b)
    assert b.online("first", "third") is Relation.BEFORE
    assert b.online("first", "second") in (Relation.UNKNOWN, Relation.SILENT)
    assert b.digest() == one.digest()


@pytest.mark.parametrize("seed", range(60))
def test_no_order_is_concluded_that_is_not_so(signed: bool, seed: int) -> None:
    random = Random(seed)
    world = World(signed)
    for _ in range(random.randint(5, 40)):
        world.step(random)
    world.check()
    world.settle()
    world.check()


@pytest.fixture(params=[False, True], ids=["unsigned", "signed"])
def signed(request: pytest.FixtureRequest) -> bool:
    found: bool = request.param
    return found


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("more", [(), ("ask", "deliver", "deliver")], ids=["whole", "in parts"])
def test_what_happened_at_any_copy_comes_to_all(more: tuple[str, ...], seed: int) -> None:
    """Where all sign; but for what a copy that is gone has said, and another one otherwise."""
    random = Random(seed)
    world = World(signed=True)
    for _ in range(random.randint(5, 60)):
        world.step(random, more)
    world.check()
    world.settle()
    world.check()
    assert len({copy.replica.digest() for copy in world.copies}) == 1
    here = {event for copy in world.copies for event in copy.events}
    assert here <= world.copies[1].replica.ledger.places.keys()


@pytest.mark.parametrize("meets", [True, False], ids=["level", "messages"])
def test_what_was_gone_before_a_peer_was_put_back_is_asked_for_again(signed: bool, meets: bool) -> None:
    """The peer gives the numbers of what it held no more to what has happened since."""
    a, b = (Replica(Memory(), name, members=NAMES) for name in "ab")
    for each in (a, b) if signed else ():
        each.sign()
    assert isinstance(b.store, Memory)
    saved = copy_of(b.store)
    b.learn("x < y")
    [asked] = b.exchange.begin("a")
    [told] = a.exchange.receive("b", asked)
    b.remove("x < y")
    _, gone = b.exchange.receive("a", told)  # the removal is lost on the way
    a.exchange.receive("b", gone)
    b = Replica(saved)
    b.local("done")
    for _ in range(1 if meets else AGAIN + 1):
        if meets:
            level(a, b)
        else:
            waiting = [(b, a, message) for message in a.exchange.begin("b")]
            while waiting:
                to, sender, message = waiting.pop(0)
                waiting += [(sender, to, answer) for answer in to.exchange.receive(sender.name, message)]
    assert a.happened("done")
    assert a.digest() == b.digest()
