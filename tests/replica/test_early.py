"""Of an author who was given up, what comes before what it follows waits, as if it were on its way."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.replica.admission import EarlyParts
from microcosm.replica.exchange import Supply, Want, decode, encode
from microcosm.replica.ledger.chain import Segment
from microcosm.replica.ledger.dots import Dot, DotRun, Dots
from microcosm.replica.replica import Replica, level
from tests.replica.test_authors import again, signing
from tests.replica.test_given_up import given_up
from tests.thorough import draws

pytest.importorskip("cryptography")

LARGEST = 1200


def history(count: int) -> tuple[Replica, list[bytes]]:
    """A replica of which so much is known, and the messages that tell all of it."""
    a = signing("a")
    for n in range(count):
        a.local(f"event {n}")
    return a, [encode(each) for each in a.supplies(a.held_of(a.seen()), LARGEST, a.seen())]


def heard(replica: Replica, message: bytes) -> None:
    replica.exchange.receive("b", message)


@settings(max_examples=draws(8, 200))
@given(st.randoms(use_true_random=False))
def test_whatever_the_order_all_is_taken_once_it_is_there(random: Random) -> None:
    a, told = history(400)
    assert len(told) > 4
    c = given_up(signing("c"), "a")
    order = told + random.sample(told, 3)
    random.shuffle(order)
    for message in order:
        heard(c, message)
    assert c.chains() == a.chains()
    assert not c.early.dots
    assert c.early._bytes == 0
    again(c)


def test_what_waits_is_not_asked_for_and_a_lost_part_is() -> None:
    a, told = history(400)
    c = given_up(signing("c"), "a")
    for message in (*told[:2], *told[3:]):
        heard(c, message)
    known = c.seen().last(a.stream)
    lost = decode(told[2])
    assert isinstance(lost, Supply)
    numbers = sum(len(part[4]) for part in lost.signed)
    [compare] = c.exchange.begin("b", plainly=True)
    supplied = [each for each in map(decode, a.exchange.receive("c", compare)) if isinstance(each, Supply)]
    assert sum(len(part[4]) for each in supplied for part in each.signed) == numbers
    for each in supplied:
        heard(c, encode(each))
    assert known < c.seen().last(a.stream)
    assert c.chains() == a.chains()


@pytest.mark.parametrize("numbers", [(4,), (4, 5), (1,), (2, 4, 70)])
def test_what_is_held_no_more_is_linked_although_the_link_was_lost(numbers: tuple[int, ...]) -> None:
    """That nobody holds it any more came, and the part did not that had its hashes."""
    a, b = signing("a"), signing("b")
    for n in range(1, 101):
        if n in numbers:
            a.learn(f"x{n} < y{n}")
        else:
            a.local(f"event {n}")
    level(a, b)
    for n in numbers:
        a.remove(f"x{n} < y{n}")
    level(a, b)
    c = given_up(signing("c"), "a")
    lost = 0
    for message in b.exchange.receive("c", c.exchange.begin("b", plainly=True)[0]):
        if isinstance(decode(message), Supply):
            lost += 1
        else:
            heard(c, message)
    assert lost
    for _ in range(4):
        for message in b.exchange.receive("c", c.exchange.begin("b", plainly=True)[0]):
            heard(c, message)
    assert c.chains() == a.chains()
    assert c.digest() == b.digest()
    assert not c.early.dots


def test_what_follows_nothing_is_asked_for_again_after_a_while() -> None:
    a, told = history(400)
    c = given_up(signing("c"), "a")
    for message in told[1:]:
        heard(c, message)
    assert len(c.chains().get(a.stream, [])) == 0
    waiting = c.early.dots.count
    assert waiting > 200
    for _ in range(EarlyParts.ROUNDS):
        assert c.early.dots.count == waiting
        c.exchange.begin("b")
    assert not c.early.dots
    [compare] = a.exchange.begin("c", plainly=True)
    [wanted] = map(decode, c.exchange.receive("b", compare))
    assert isinstance(wanted, Want)
    assert wanted.runs == tuple(a.seen())


def test_so_much_waits_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EarlyParts, "BYTES", 100)
    early = EarlyParts()
    for first in range(1, 20):
        part = Segment(("a", 1), first, b"", b"")
        early.keep("b", part, {first: bytes(30)}, Dots())
        early.keep("b", part, {first: bytes(30)}, Dots())
    assert early.dots == Dots([DotRun("a", 1, 1, 4)])
    [one, *others] = early.of(("a", 1))
    early.drop(one.segment)
    assert early.dots == Dots([DotRun("a", 1, 2, 4)])
    early.keep("b", Segment(("a", 1), 9, b"", b""), {9: bytes(30)}, Dots())
    assert Dot("a", 1, 9) in early.dots
    for each in (*others, *early.of(("a", 1))):
        early.drop(each.segment)
    assert (early.of(("a", 1)), early._bytes, early.dots) == ([], 0, Dots())
