"""What is kept of a replica that is given up: one chain from its beginning, the same at all others."""

from __future__ import annotations

import msgpack
import pytest

from microcosm.givens.relation import Relation
from microcosm.replica.exchange import decode, encode
from microcosm.replica.ledger.dots import Dot, DotRun, Dots
from microcosm.replica.ledger.evolution import Append
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.members import Stating
from microcosm.replica.network.process import Fence, Process
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.replica.test_authors import again, clone, signing

pytest.importorskip("cryptography")


def given_up(replica: Replica, *names: str) -> Replica:
    """An incarnation of each of some names is given up at a replica."""
    replica.recorded("give up", msgpack.packb(names))
    store = replica.store
    assert isinstance(store, Memory)
    store.commit([("give up", msgpack.packb(names))])
    return again(replica)


@pytest.mark.parametrize("met", [True, False])
def test_what_only_a_message_told_goes_with_its_author(met: bool) -> None:
    """Whether or not a key of the author was ever heard of: else two would know different things for ever."""
    a, b, gone = map(signing, ("a", "b", "gone"))
    if met:
        level(gone, b)
    sent = Append(Dot("gone", 1, 1), "c:gone.1.1")
    b.delivered("gone", "gone.1.1", b"", sent=sent)
    assert b.online("c:gone.1.1", "d:b:gone.1.1") is Relation.BEFORE
    level(a, b)
    assert not a.happened("c:gone.1.1")
    given_up(b, "gone")
    given_up(a, "gone")
    assert not b.happened("c:gone.1.1")
    assert b.online("c:gone.1.1", "d:b:gone.1.1") is Relation.BEFORE
    level(a, b)
    assert a.digest() == b.digest()
    assert b.seen() == a.seen()


def told(replica: Replica, to: Replica, first: int, end: int) -> None:
    """Some numbers of a replica's come to another."""
    run = Dots([DotRun(*replica.stream, first, end)])
    for supply in replica.supplies(replica.held_of(run), 1 << 16, run):
        list(to.accept(replica.name, decode(encode(supply))))  # type: ignore[arg-type]


def test_who_waits_for_what_nobody_has_comes_to_an_end_with_the_others() -> None:
    one, b, c = map(signing, ("a", "b", "c"))
    for n in range(10):
        one.local(f"one {n}")
    given_up(c, "a")
    told(one, c, 6, 8)
    level(b, c)
    assert b.digest() == c.digest()


@pytest.mark.parametrize("from_b", [True, False])
def test_parts_of_two_copies_that_nothing_links_are_not_one_chain(from_b: bool) -> None:
    """Neither overlaps the other, so there is no proof; with the author what does not follow goes."""
    b, c = map(signing, "bc")
    one = signing("a")
    for n in range(3):
        one.local(f"same {n}")
    other = clone(one)
    for n in range(10):
        one.local(f"one {n}")
        other.local(f"other {n}")
    told(one, b, 1, 4)
    told(one, b, 6, 8)
    told(other, b, 10, 12)
    assert b.proofs == []
    if from_b:
        level(b, c)
    for each in (b, c):
        given_up(each, "a")
    assert b.chains() == {("a", 1): ["same 0", "same 1", "same 2"]}
    level(b, c)
    assert b.digest() == c.digest()
    told(other, b, 10, 14)
    assert b.chains()[("a", 1)][3:] == []
    told(other, b, 4, 10)
    told(other, b, 10, 14)
    assert b.chains()[("a", 1)][3:] == [f"other {n}" for n in range(10)]
    told(one, c, 4, 7)
    level(b, c)
    level(b, c)
    assert [found.number for found in b.proofs] == [4]
    assert b.digest() == c.digest()
    again(b)


@pytest.mark.parametrize("late", [True, False])
def test_what_was_removed_in_between_breaks_no_chain(late: bool) -> None:
    """Hashes of it come along, and of whole blocks of it the word of who holds them no more."""
    a, b = map(signing, "ab")
    a.local("first")
    for n in range(150):
        a.learn(f"x{n} < y{n}")
    a.local("in between")
    for n in range(150):
        a.remove(f"x{n} < y{n}")
    a.local("last")
    level(a, b)
    for replica in (a, b):
        assert replica.name == "a" or replica._state.chains.connected(a.stream) == a.seen().last(a.stream)
    b.compact()
    b = clone(b)
    c = signing("c")
    if not late:
        given_up(c, "a")
    level(b, c)
    level(b, c)
    assert c.digest() == b.digest()
    given_up(c, "a")
    assert c.digest() == b.digest()
    assert c.chains()[("a", 1)] == ["first", "in between", "last"]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_fence_gives_up_also_where_another_takes_the_name_in_the_same_moment(at_once: bool) -> None:
    b = signing("b")
    b.delivered("a", "a.7.1", b"", sent=Append(Dot("a", 7, 1), "c:a.7.1"))
    durable = Durable.opened(Memory(), "b", 1, lambda _: None, recorded=b.recorded)
    durable.member("a", "a", 1)
    durable.bind(1, 1)
    stating = Stating(b, durable)
    stating.follow()
    assert b.happened("c:a.7.1")
    durable.evict("a")
    if not at_once:
        stating.follow()
        assert not b.happened("c:a.7.1")
    durable.member("a", "a", 1)
    stating.follow()
    assert not b.happened("c:a.7.1")
    assert [kind for kind, _ in durable.cut().records if kind == "give up"] == ["give up"]
    b.delivered("a", "a.8.1", b"", sent=Append(Dot("a", 8, 1), "c:a.8.1"))
    stating.follow()
    assert b.happened("c:a.8.1")


@pytest.mark.parametrize("how", ["evicted", "met"])
def test_who_was_renewed_gives_up_an_incarnation_that_it_has_not_met_since(how: str) -> None:
    """It is renewed, and before it meets the member again that one is replaced as well."""
    b = signing("b")
    b.delivered("a", "a.7.1", b"", sent=Append(Dot("a", 7, 1), "c:a.7.1"))
    durable = Durable.opened(Memory(), "b", 1, lambda _: None, recorded=b.recorded)
    durable.member("a", "a", 1)
    durable.bind(1, 7)
    durable.met(1, 1, b"life")
    durable = durable.renewed(2)
    stating = Stating(b, durable)
    stating.follow()
    assert b.happened("c:a.7.1")
    if how == "evicted":
        durable.evict("a")
        durable.member("a", "a", 1)
    else:
        durable.bind(1, 8)
    stating.follow()
    assert not b.happened("c:a.7.1")
    assert [*durable.process.membership.named] == ["a"]
    assert [*durable.process.membership.fences] == [Fence("a", 7)]
    assert durable.process.state() == Process.restored(durable.process.state()).state()


def test_who_was_renewed_may_meet_whom_it_had_met() -> None:
    durable = Durable.opened(Memory(), "b", 1, lambda _: None)
    durable.member("a", "a", 1)
    durable.bind(1, 7)
    durable.met(1, 1, b"life")
    durable = durable.renewed(2)
    known = durable.process.memory_of(1, 7)
    assert (known.boot, known.life) == (1, b"life")
    assert durable.process.memory_of(1, 8).boot == 0
    durable.bind(1, 7)
    assert durable.process.memory_of(1, 7) == known
    assert not durable.process.membership.fences


def test_who_is_renewed_keeps_of_its_own_what_is_one_chain() -> None:
    """Another copy said something in its name, of which a part came back to it."""
    a, b = map(signing, "ab")
    a.local("first")
    level(a, b)
    other = clone(a)
    for n in range(9):
        other.local(f"other {n}")
    a.renew(2)
    a.local("second")
    told(other, b, 6, 9)
    level(a, b)
    assert a.chains()[("a", 1)] == ["first", "other 4", "other 5", "other 6"]
    for each in (a, b):
        given_up(each, "a")
    level(a, b)
    assert a.chains() == b.chains() == {("a", 1): ["first"], ("a", 2): ["second"]}
    assert a.digest() == b.digest()


def test_what_another_copy_said_is_not_said_again_as_ones_own() -> None:
    a, b, c = map(signing, "abc")
    a.local("first")
    level(a, b)
    other = clone(a)
    a.local("own")
    other.local("other 0")
    third = clone(other)
    other.local("other 1")
    third.local("third 1")
    level(other, b)
    level(a, b)
    assert a.online("first", "own") is Relation.BEFORE
    assert a.chains()[("a", 1)] == ["first", "other 0", "other 1"]
    level(third, c)
    for _ in range(2):
        level(b, c)
        level(a, b)
    assert [found.number for found in a.proofs] == [3]
    assert a.digest() == b.digest() == c.digest()
    assert a.chains()[("a", 1)] == ["first", "other 0"]
    assert [a.happened(event) for event in ("own", "other 1", "third 1")] == [True, False, False]
    assert a.online("other 0", "own") not in (Relation.BEFORE, Relation.AFTER)
    again(a)
