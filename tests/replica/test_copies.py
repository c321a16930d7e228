"""Copies of one journal, put back or run at once: what is concluded is so, and nothing is lost."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from microcosm.compare.bisimilarity import bisimilar
from microcosm.givens.relation import Relation
from microcosm.replica.exchange import AGAIN
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from microcosm.state.microcosm import Microcosm
from tests.replica.test_rollback import copy_of

pytest.importorskip("cryptography")

NAMES = ("a", "b", "c")


class Copy:
    """A replica, and what happened and was learnt at its journal, also before that was copied."""

    def __init__(self, replica: Replica, events: tuple[str, ...] = (), facts: tuple[str, ...] = ()) -> None:
        self.replica = replica
        self.events = events
        self.facts = facts

    def copied(self) -> Copy:
        assert isinstance(self.replica.store, Memory)
        return Copy(Replica(copy_of(self.replica.store)), self.events, self.facts)


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
        self.told: set[str] = set()
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
        fact = f"x{self.names} < y{self.names}"
        copy.facts += (fact,)
        copy.replica.learn(fact)

    def remove(self, copy: Copy, random: Random) -> None:
        given = [fact for fact in copy.replica.ledger.given() if fact.left.startswith("x")]
        if given:
            copy.replica.remove(random.choice(given))

    def meet(self, one: Copy, other: Copy) -> None:
        if one.replica.name != other.replica.name:
            level(one.replica, other.replica)
            for each in (one, other):
                if each.replica.name != "a":
                    self.told.update(each.replica.ledger.places)

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

    def step(self, random: Random, more: tuple[str, ...] = ("remove",)) -> None:
        copy = random.choice(self.copies)
        match random.choice(("local", "local", "learn", "meet", "meet", "save", "put back", *more)):
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
@pytest.mark.parametrize(
    ("signed", "more"),
    [
        (False, ()),
        (True, ()),
        (True, ("ask", "deliver", "deliver")),
        (True, ("remove",)),
        (True, ("remove", "ask", "deliver", "deliver")),
    ],
    ids=["unsigned", "signed", "in parts", "with removals", "in parts with removals"],
)
def test_what_happened_at_any_copy_comes_to_all(signed: bool, more: tuple[str, ...], seed: int) -> None:
    """Where all sign, not what only a copy that is gone has said, and another one otherwise.

    Where nobody does, as long as nothing is removed: what is held no more cannot be compared.
    """
    random = Random(seed)
    world = World(signed)
    for _ in range(random.randint(5, 60)):
        world.step(random, more)
    if "deliver" not in more:  # else something may still lack what shows that it is of another copy
        world.check()
    world.settle()
    world.check()
    assert len({copy.replica.digest() for copy in world.copies}) == 1
    here = {event for copy in world.copies for event in copy.events}
    one = world.copies[1].replica
    assert here | (set() if signed else world.told) <= one.ledger.places.keys()
    learnt = {fact for copy in world.copies for fact in copy.facts}
    assert "remove" in more or learnt <= {str(fact) for fact in one.ledger.given()}
    assert not one.conflicts


def test_what_two_were_told_under_one_dot_is_found_out() -> None:
    """Of one that does not sign: a member has what its journal says, and another what that said before."""
    a, b, c = (Replica(Memory(), name, members=NAMES) for name in NAMES)
    assert isinstance(a.store, Memory)
    saved = copy_of(a.store)
    a.local("a1")
    level(a, c)
    a = Replica(saved)
    a.local("a2")
    level(a, b)
    a.local("a3")
    level(b, c)
    assert all(each.divergences[-1]["unlike"][0] == "a" for each in (b, c))
    for _ in range(2):
        for one, other in ((a, b), (a, c), (b, c)):
            level(one, other)
    assert len({each.digest() for each in (a, b, c)}) == 1
    assert b.events == ["a1", "a2", "a3"]
    assert b.online("a2", "a3") is Relation.BEFORE
    assert b.online("a1", "a3") in (Relation.UNKNOWN, Relation.SILENT)
    assert all(each.divergences for each in (a, b, c))


def test_what_was_removed_under_the_dot_of_an_event_is_found_out() -> None:
    a, b = (Replica(Memory(), name, members=NAMES) for name in "ab")
    assert isinstance(b.store, Memory)
    saved = copy_of(b.store)
    b.local("told")
    level(a, b)
    b = Replica(saved)
    b.learn("x < y"), b.remove("x < y")
    level(a, b)
    assert a.digest() == b.digest()
    assert b.happened("told")
    assert a.divergences
    assert b.divergences


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


@pytest.mark.parametrize("renewed", [False, True])
def test_an_event_that_nothing_relates_to_another_is_in_what_is_written(renewed: bool) -> None:
    a, b = (Replica(Memory(), name, members=NAMES) for name in "ab")
    a.local("first")
    b.local("b1"), b.local("b2")
    level(a, b)
    if renewed:
        a.renew()
    for each in (a, b):
        written = each.snapshot()
        assert {"first", "b1", "b2"} == {*written} == {*Microcosm.parse(written.to_text())}
        assert bisimilar(written, each.known).holds
    assert b.snapshot().givens.processes == {"a": ("first",)}
    assert bisimilar(a.snapshot(), b.snapshot()).holds
    a.renew(1)
    a.local("second")
    level(a, b)
    assert set(b.snapshot().givens.processes.values()) == {("first",), ("second",)}
    assert b.snapshot().givens.processes["a.1"] == ("second",)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_has_every_event_and_decides_no_more(signed: bool, seed: int) -> None:
    random = Random(seed)
    world = World(signed)
    for _ in range(random.randint(5, 40)):
        world.step(random)
    for copy in world.copies:
        replica = copy.replica
        written, known = replica.snapshot(), replica.known
        assert {*replica.ledger.places} - {*replica.twice} <= {*written}
        for left, right in combinations(replica.events, 2):
            assert written.online(left, right) is known.online(left, right)
            assert written.offline(left, right) == known.offline(left, right)
            assert {*written.possible(left, right).worlds} == {*known.possible(left, right).worlds}
