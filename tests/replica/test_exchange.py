"""Exchange against a plain model: replicas are sets of dots, and an exchange is their union."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from microcosm.compare.bisimilarity import bisimilar
from microcosm.errors import Contradiction, Undefined, WrongReplica
from microcosm.replica.admission import EarlyParts
from microcosm.replica.exchange import AntiEntropy, ExchangeMessage, Heads, Supply
from microcosm.replica.ledger.dots import Dot, DotRun, Dots
from microcosm.replica.ledger.evolution import Append, Evolution
from microcosm.replica.ledger.ledger import Ledger
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.replica.invariants import check
from tests.replica.nodes import is_given

NAMES = ("a", "b", "c")


@dataclass
class Plain:
    """What a replica should have: dots seen; what each live one gives."""

    seen: set[Dot] = field(default_factory=set)
    given: dict[Dot, tuple[str, str, str]] = field(default_factory=dict)
    removed: set[Dot] = field(default_factory=set)

    def union(self, other: Plain) -> Plain:
        removed = self.removed | other.removed
        given = {dot: key for dot, key in (self.given | other.given).items() if dot not in removed}
        return Plain(self.seen | other.seen, given, removed)


class Exchanging(RuleBasedStateMachine):
    """Three replicas that evolve, exchange pairwise, and restart, with and without a snapshot."""

    def __init__(self) -> None:
        super().__init__()
        self.stores = {name: Memory() for name in NAMES}
        self.replicas = {
            name: Replica(self.stores[name], name, incarnation=1, members=NAMES) for name in NAMES
        }
        self.plain = {name: Plain() for name in NAMES}
        self.named = 0

    @rule(name=st.sampled_from(NAMES))
    def local(self, name: str) -> None:
        self.named += 1
        self.plain[name].seen.add(self.replicas[name].local(f"e{self.named}"))

    @rule(
        name=st.sampled_from(NAMES),
        pair=st.lists(st.sampled_from("uvwxyz"), min_size=2, max_size=2, unique=True),
        sign=st.sampled_from(("<", "||", "<>", "!<")),
    )
    def learn(self, name: str, pair: list[str], sign: str) -> None:
        try:
            dots = self.replicas[name].learn(f"{pair[0]} {sign} {pair[1]}")
        except Contradiction:
            return
        for dot in dots:
            left, right = pair if sign in ("<", "!<") else sorted(pair)
            self.plain[name].seen.add(dot)
            self.plain[name].given[dot] = (left, sign, right)

    @precondition(lambda self: any(plain.given for plain in self.plain.values()))
    @rule(name=st.sampled_from(NAMES), data=st.data())
    def remove(self, name: str, data: st.DataObject) -> None:
        plain = self.plain[name]
        if not plain.given:
            return
        key = data.draw(st.sampled_from(sorted(set(plain.given.values()))))
        (dot,) = self.replicas[name].remove(f"{key[0]} {key[1]} {key[2]}")
        plain.seen.add(dot)
        gone = {each for each, other in plain.given.items() if other == key}
        plain.removed |= gone
        plain.given = {each: other for each, other in plain.given.items() if each not in gone}

    @rule(one=st.sampled_from(NAMES), other=st.sampled_from(NAMES))
    def exchange(self, one: str, other: str) -> None:
        if one == other:
            return
        level(self.replicas[one], self.replicas[other])
        both = self.plain[one].union(self.plain[other])
        self.plain[one], self.plain[other] = both, Plain(set(both.seen), dict(both.given), set(both.removed))
        mine, theirs = self.replicas[one], self.replicas[other]
        assert mine.digest() == theirs.digest()
        assert bisimilar(mine.snapshot(), theirs.snapshot()).holds

    @rule(name=st.sampled_from(NAMES), compact=st.booleans())
    def restart(self, name: str, compact: bool) -> None:
        digest = self.replicas[name].digest()
        if compact:
            self.replicas[name].compact()
        self.replicas[name] = Replica(self.stores[name])
        assert self.replicas[name].digest() == digest

    @invariant()
    def as_the_model(self) -> None:
        for name, replica in self.replicas.items():
            plain = self.plain[name]
            check(replica.ledger)
            assert set(replica.seen().dots()) == plain.seen
            given = {dot: key for key, dots in replica.ledger.facts.items() for dot in dots}
            assert given == plain.given
            replica.known._check()


TestExchanging = Exchanging.TestCase
TestExchanging.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)


class Counting:
    """A side that holds appended events only."""

    def __init__(self, dots: Iterable[Dot]) -> None:
        self.early = EarlyParts()
        self.evolutions: dict[Dot, Evolution] = {dot: Append(dot, f"e{dot.number}") for dot in dots}
        self._seen = Dots(DotRun(*dot, dot.number + 1) for dot in self.evolutions)
        self.taken = 0
        self.ledger = Ledger()

    def seen(self) -> Dots:
        return self._seen

    def held_of(self, dots: Dots) -> list[Evolution]:
        return [self.evolutions[dot] for dot in sorted(self.evolutions) if dot in dots]

    def take(self, some: Iterable[Evolution]) -> int:
        for one in some:
            self.taken += self._seen.add(one.dot)
            self.evolutions[one.dot] = one
        return 0

    stream = ("nobody", 1)
    signs = False
    proved = seen

    def unlinked(self) -> list[tuple[DotRun, DotRun]]:
        return []

    def heads(self) -> bytes:
        return b""

    def newest_heads(self, *, answer: bool) -> Iterator[Heads]:
        raise AssertionError

    def compare_heads(self, peer: str, told: Heads) -> Iterator[ExchangeMessage]:
        raise AssertionError

    def supplies(self, found: Iterable[Evolution], largest: int) -> Iterator[Supply]:
        raise AssertionError

    def accept(self, peer: str, supply: Supply) -> Iterator[ExchangeMessage]:
        raise AssertionError

    def strike(self, runs: Iterable[DotRun]) -> None:
        raise AssertionError

    def unknown_own(self, evolution: Evolution) -> list[Dot]:
        return []

    def diverged(self, peer: str, dot: Dot) -> bool:
        raise AssertionError

    def level_with(self, peer: str) -> None:
        pass


def transfer(one: Counting, other: Counting, rounds: int = 20, *, largest: int = 1 << 16) -> tuple[int, int]:
    """Exchange until level; the bytes and the size of the largest message."""
    ends = {"one": AntiEntropy(one, largest=largest), "other": AntiEntropy(other, largest=largest)}
    total = longest = 0
    for _ in range(rounds):
        waiting = [("other", "one", message) for message in ends["one"].begin("other")]
        while waiting:
            to, sender, message = waiting.pop(0)
            total += len(message)
            longest = max(longest, len(message))
            waiting += [(sender, to, answer) for answer in ends[to].receive(sender, message)]
        if one.evolutions == other.evolutions:
            return total, longest
    raise AssertionError("not level")


@pytest.mark.parametrize("streams", [1, 30, 1000])
@pytest.mark.parametrize("missing", [1, 10, 100])
def test_bytes_are_proportional_to_the_difference(streams: int, missing: int) -> None:
    """Some 20,000 dots in many streams, with holes; what is sent grows with what is missing."""
    random = Random(streams + missing)
    dots = [Dot(f"r{n % streams}", 1, n // streams + 1) for n in range(20_000)]
    lost = set(random.sample(dots, missing))
    one, other = Counting(dots), Counting(dot for dot in dots if dot not in lost)
    total, _ = transfer(one, other)
    assert other.taken == missing
    assert one.taken == 0
    depth = 5  # of comparisons of eight parts each, and a range of 16 runs at the end
    assert total <= missing * (depth * 8 * 70 + 16 * 20 + 40)
    assert transfer(one, other)[0] < 200


def test_messages_keep_to_their_size() -> None:
    dots = [Dot(f"r{n % 50}", 1, n // 50 + 1) for n in range(5000)]
    one, other = Counting(dots[::2]), Counting(dots[1::3])
    _, longest = transfer(one, other, 400, largest=1200)
    assert longest < 1400


def test_another_replica_of_this_name_is_noticed() -> None:
    one, other, third = (Replica(Memory(), name, incarnation=1) for name in ("a", "a", "b"))
    one.local("x")
    level(one, third)
    with pytest.raises(WrongReplica, match="another one has the name a"):
        other.take(one.held_of(one.seen()))
    level(third, other)
    assert other.divergences == [{"member": "b", "dot": ["a", 1, 1], "last": 0}]
    assert other.stream[0] == "a"
    assert other.stream != one.stream
    assert other.known_as == 1
    other.local("y")
    level(third, other)
    assert third.events == ["x", "y"]


class Copied(Memory):
    """A store that can tell which copy it is."""

    instance = b"first"


def test_a_copy_of_a_store_begins_a_new_incarnation() -> None:
    store = Copied()
    one = Replica(store, "a", incarnation=1)
    one.local("x")
    assert Replica(store).stream == ("a", 1)
    store.instance = b"second"
    again = Replica(store)
    assert again.stream != ("a", 1)
    again.local("y")
    assert again.known.givens.internal == ["y"]
    assert Replica(store).stream == again.stream
    with pytest.raises(Undefined):
        again.note("instance", b"third")


def test_the_store_of_another_is_refused() -> None:
    store = Memory()
    Replica(store, "a")
    with pytest.raises(WrongReplica, match="of the replica a, not of b"):
        Replica(store, "b")
    with pytest.raises(WrongReplica, match="give it a name"):
        Replica(Memory())


def test_removals_go_when_all_have_them() -> None:
    one, other, third = (Replica(Memory(), name, incarnation=1, members=NAMES) for name in NAMES)
    one.learn("x <> y")
    level(one, other)
    other.update("x < y")
    other.learn("p < q")
    other.remove("p < q")
    level(one, other)
    assert one.counts()["removals"] == other.counts()["removals"] == 2
    level(one, third)
    assert (one.counts()["removals"], other.counts()["removals"]) == (0, 2)
    level(other, third)
    level(third, one)
    assert [replica.counts()["removals"] for replica in (one, other, third)] == [0, 0, 0]
    assert [replica.counts()["held"] for replica in (one, other, third)] == [1, 1, 1]
    newcomer = Replica(Memory(), "d")
    level(newcomer, one)
    assert newcomer.digest() == one.digest() == third.digest()


def test_what_was_added_unseen_survives_a_removal() -> None:
    one, other = (Replica(Memory(), name, incarnation=1) for name in "ab")
    one.learn("x < y")
    level(one, other)
    one.remove("x < y")
    with pytest.raises(Undefined):
        one.remove("x < y")
    other.remove("x < y")
    other.learn("x < y")
    level(one, other)
    assert is_given(one, "x < y")
    assert one.digest() == other.digest()


def test_without_stated_members_a_removal_is_remembered_for_ever() -> None:
    stores = [Memory(), Memory()]
    one, other = (Replica(store, name, incarnation=1) for store, name in zip(stores, "ab", strict=True))
    one.learn("x < y")
    level(one, other)
    other.remove("x < y")
    for _ in range(3):
        level(one, other)
        for replica in (one, other):
            replica.compact()
    assert [Replica(store).counts()["removals"] for store in stores] == [1, 1]
