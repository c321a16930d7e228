"""A member that says what no replica of this program says: nobody ends of it, and it is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack

import msgpack
import pytest

from microcosm.errors import Malformed, Undefined
from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica.exchange import Compare, Gone, Range, Removed, Supply, Want, decode, encode
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.dots import FARTHEST, FIRST, LAST_NUMBER, Dot, DotRun
from microcosm.replica.ledger.evolution import Add, Append, Evolution, Forget, Remove
from microcosm.replica.network.gossip import Suspects
from microcosm.replica.node import ReplicaNode, serve
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.replica.nodes import OPTIONS, is_given, meet, ran
from tests.replica.nodes import level as levelled

HUGE = 2**64 - 1
FACT = Correspondence("x", Relation.BEFORE, "y")


def written(*some: Evolution) -> bytes:
    """A message that supplies evolutions, whatever they are."""
    return encode(Supply(tuple(evolutions.encode(one) for one in some)))


def runs(code: int, *some: DotRun) -> bytes:
    return msgpack.packb([2, code, [list(run) for run in some]])  # type: ignore[no-any-return]


INVENTED = {
    "append near 2^64": written(Append(Dot("evil", 1, HUGE), "x")),
    "append of a far number": written(Append(Dot("evil", 1, LAST_NUMBER), "x")),
    "incarnation near 2^64": written(Append(Dot("evil", HUGE, 1), "x")),
    "add near 2^64": written(Add(Dot("evil", 1, HUGE), FACT)),
    "removal of what is near 2^64": written(Remove(Dot("evil", 1, 1), (Dot("a", 1, HUGE),))),
    "removal of a far number": written(Remove(Dot("evil", 1, 1), (Dot("b", 1, FARTHEST + 1),))),
    "update of a far number": written(Add(Dot("evil", 1, 1), FACT, (Dot("b", 1, LAST_NUMBER),))),
    "a mark near 2^64": written(Forget(Dot("evil", 1, 1), (DotRun("a", 1, 1, HUGE),))),
    "a sending of another": written(Append(Dot("evil", 1, 1), "c:b.1.1")),
    "a delivery of another": written(Append(Dot("evil", 1, 1), "d:a:b.1.1")),
    "want of 2^63": runs(2, DotRun("evil", 1, 1, 1 << 63)),
    "gone of 2^63": runs(4, DotRun("evil", 1, 1, 1 << 63)),
    "compare of 2^63": msgpack.packb([2, 0, [[["", 0, 0], None, [["evil", 1, 1, 1 << 63]]], b"", b""]]),
    "no message": b"nothing",
}


@pytest.mark.parametrize("signs", [False, True])
def test_a_run_of_all_numbers_costs_no_room(signs: bool) -> None:
    """Who tells of 2⁴⁸ dots in one run, to be compared, wanted, gone or removed, is answered as others."""
    one = Replica(Memory(), "a", incarnation=1)
    if signs:
        one.sign(bytes(32))
    one.learn("x < y")
    everything = DotRun("evil", 1, 1, LAST_NUMBER + 1)
    told = (Range(FIRST, None, (everything,)),)
    [want, *_] = map(decode, one.exchange.receive("evil", encode(Compare(told))))
    assert want == Want((everything,))
    for message in (Removed(told), Want((everything,)), Gone((everything,))):
        assert one.exchange.receive("evil", encode(message)) == []
    assert is_given(one, "x < y")
    assert not one.exchange.blamed


@pytest.mark.parametrize("what", INVENTED)
def test_what_is_invented_is_blamed_and_not_kept(what: str) -> None:
    store = Memory()
    one = Replica(store, "a", incarnation=1)
    one.local("e")
    before = one.digest(), list(one.seen())
    assert one.exchange.receive("evil", INVENTED[what]) == []
    assert [name for name, _ in one.exchange.blamed] == ["evil"]
    assert (one.digest(), list(one.seen())) == before
    assert Replica(store).digest() == one.digest()
    other = Replica(Memory(), "b")
    level(one, other)
    assert other.digest() == one.digest()


def test_what_is_good_beside_what_is_invented_is_taken() -> None:
    one = Replica(Memory(), "a", incarnation=1)
    good = Append(Dot("evil", 1, 1), "good")
    one.exchange.receive("evil", written(Append(Dot("evil", 1, 2), "d:a:x"), good))
    assert one.events == ["good"]


def test_the_greatest_numbers_can_be_written() -> None:
    one, other = Replica(Memory(), "a", incarnation=1), Replica(Memory(), "b", incarnation=1)
    for each in (one, other):
        each.ledger.seen.add(Dot("evil", 1, LAST_NUMBER - 1))  # it came there step by step
    one.exchange.receive("evil", written(Append(Dot("evil", 1, LAST_NUMBER), "x")))
    assert one.seen().last(("evil", 1)) == LAST_NUMBER
    level(one, other)
    assert other.seen() == one.seen()
    with pytest.raises(Malformed):
        evolutions.decode(evolutions.encode(Append(Dot("evil", 1, LAST_NUMBER + 1), "x")))


def test_asking_for_everything_is_answered_with_what_there_is() -> None:
    one = Replica(Memory(), "a", incarnation=1)
    one.local("e")
    answers = one.exchange.receive("evil", encode(Want((DotRun("a", 1, 1, LAST_NUMBER + 1),))))
    assert len(answers) == 1


def test_an_invented_dot_of_a_replica_that_a_third_one_took_does_not_end_it() -> None:
    """It goes on under another incarnation, and says so; all three know the same."""
    store = Memory()
    one, third = Replica(store, "a", incarnation=1), Replica(Memory(), "b", incarnation=1)
    one.local("mine")
    level(one, third)
    third.exchange.receive("evil", written(Append(Dot("a", 1, 2), "invented")))
    assert not third.exchange.blamed
    level(one, third)
    assert one.stream != ("a", 1)
    assert one.divergences == [{"member": "b", "dot": ["a", 1, 2], "last": 1}]
    one.local("after")
    level(third, one)
    assert one.digest() == third.digest()
    assert one.known.online("mine", "after") is third.known.online("mine", "after")
    again = Replica(store)
    assert again.stream == one.stream
    assert again.divergences == one.divergences
    level(again, third)
    assert again.digest() == third.digest()


def test_who_goes_on_inventing_is_named_and_the_rest_goes_on() -> None:
    one = Replica(Memory(), "a", incarnation=1)
    for _ in range(40):
        name, incarnation = one.stream
        invented = Append(Dot(name, incarnation, 5), "invented")
        one.exchange.receive("evil", written(invented, Append(Dot("b", 1, 1), "good")))
    assert [name for name, _ in one.exchange.doubted] == ["evil"] * 24
    assert "good" in one.events
    one.local("mine")


def test_the_names_of_messages_are_reserved() -> None:
    one = Replica(Memory(), "a", incarnation=1)
    for name in ("c:a.1.1", "d:a:b.1.1", "c:", "d:x"):
        with pytest.raises(Undefined, match="are those of messages"):
            one.local(name)
    one.learn("c:b.1.1 < x")  # what is said of a message may be said
    one.local("cd:x")
    assert one.chains() == {("a", 1): ["cd:x"]}


async def said(liar: ReplicaNode, to: str, messages: Iterable[bytes]) -> None:
    """A member says something to another, sealed as it ought to be."""
    for message in messages:
        liar._carrier._say(to, message)
        liar.transport.flush()
        await asyncio.sleep(0.01)


def test_a_node_survives_a_member_that_says_such_things_and_names_it() -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            a, b, evil = [
                await stack.enter_async_context(serve(Memory(), name, **OPTIONS))
                for name in ("a", "b", "evil")
            ]
            meet(a, b)
            meet(a, evil)
            evil.replica.local("first")
            await a.until(lambda replica: "first" in replica.events)
            assert (a.health, a.suspects) == ("ok", {})
            for what in INVENTED.values():
                a._carrier.suspects.found.clear()
                await said(evil, "a", [what])
                while "evil" not in a.suspects:
                    await said(evil, "a", [what])
            assert (a.health, list(a.suspects)) == ("suspects", ["evil"])
            assert a.metrics()["suspects"] == a.suspects
            for n in range(20):
                a.replica.local(f"a{n}")
                b.replica.local(f"b{n}")
            await levelled(a, b)
            assert a.fault is None

    ran(scene())


def test_whatever_a_message_raises_is_the_fault_of_who_said_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            a, b = [await stack.enter_async_context(serve(Memory(), name, **OPTIONS)) for name in "ab"]
            meet(a, b)
            await levelled(a, b)

            def failing(self: Replica, some: Iterable[Evolution]) -> int:
                with self.transaction():
                    self._happen("half", None, admitted=False)
                    raise OverflowError("too large")

            with monkeypatch.context() as patched:
                patched.setattr(Replica, "take", failing)
                b.replica.local("x")
                while "b" not in a.suspects:
                    await a.changed()
            assert a.suspects == {"b": "OverflowError: too large"}
            assert (a.fault, "half" in a.replica.events) == (None, False)
            a.replica.local("y")
            await b.until(lambda replica: "y" in replica.events)
            a._carrier.suspects.found.clear()
            await levelled(a, b)

    ran(scene())


def test_a_background_task_that_fails_is_the_fault_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        async with serve(Memory(), "a", **OPTIONS) as a:

            def failing(members: list[str], now: float) -> None:
                raise ZeroDivisionError("in the background")

            a.add_member("b", ("127.0.0.1", 9))
            monkeypatch.setattr(a._carrier.gossip, "poll", failing)
            await a.stopped()
            assert isinstance(a.fault, ZeroDivisionError)
            assert (a.health, a.metrics()["fault"]) == ("stopped", "in the background")

    ran(scene())


def test_who_is_told_a_verdict_and_fails_is_not_the_fault_of_who_brought_it() -> None:
    async def scene() -> None:
        async with serve(Memory(), "a", **OPTIONS) as a, serve(Memory(), "b", **OPTIONS) as b:

            def failing(*_: object) -> None:
                raise ZeroDivisionError("of the application")

            a.replica.when_decided("x", "y", failing)
            meet(a, b)
            b.replica.learn("x < y")
            await a.stopped()
            assert isinstance(a.fault, ZeroDivisionError)
            assert a.suspects == {}

    ran(scene())


def test_gone_is_bounded() -> None:
    one = Replica(Memory(), "a", incarnation=1)
    assert one.exchange.receive("evil", encode(Gone((DotRun("evil", 1, 1, LAST_NUMBER + 1),)))) == []
    assert one.exchange.begin("evil")
    assert one.exchange.receive("evil", encode(Supply(()))) == []


def test_who_says_such_things_again_is_not_heeded_for_twice_as_long() -> None:
    suspects, now, waits = Suspects(), 0.0, []
    for _ in range(13):
        suspects.blame("evil", "lies", now)
        waits.append(suspects.found["evil"].until - now)
        assert not suspects.heeds("evil", now)
        assert suspects.heeds("other", now)
        now = suspects.found["evil"].until
        assert suspects.heeds("evil", now)
    assert waits == [2.0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600]
