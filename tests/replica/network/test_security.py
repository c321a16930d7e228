"""Packets that are not what they should be: nothing delivered, nothing answered, nothing kept, service goes
on.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgpack import packb

from microcosm.errors import ReplicaError
from microcosm.protocol.packets import HybridMessage
from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Append, speaks_for_another
from microcosm.replica.network import handshake as reasons
from microcosm.replica.network.keys import HEADER, WINDOW, Key, Keyring, ReplayWindow
from microcosm.replica.network.peer import NEVER
from microcosm.replica.network.process import LAST, MORE, PART_COST, Fence, Process
from microcosm.replica.network.wire import Content, Greeting, read_content, read_greeting
from microcosm.replica.store import Memory
from tests.replica.invariants import check
from tests.replica.network.pair import OTHER, SECRET, Pair


def test_a_redirected_packet(three: Pair) -> None:
    packet = three.sealed("a", "b")
    assert three.refuses("c", packet) == reasons.NOT_GENUINE
    assert three.refuses("a", packet) == reasons.UNKNOWN_SENDER
    three.into("b", packet)
    assert three.letters["b"][-1].payload == b"secret"


def test_a_replayed_packet(three: Pair) -> None:
    packet = three.sealed()
    three.into("b", packet)
    assert three.refuses("b", packet) == reasons.REPLAYED
    greeting = greet(three)
    three.into("b", greeting)
    assert three.refuses("b", greeting) == reasons.REPLAYED
    three.goes_on()


def greet(three: Pair) -> bytes:
    """A greeting of a to b, caught on its way."""
    three.ends["a"].use_keys(Keyring([Key(1, SECRET)]))
    for peer in three.ends["a"]._peers.values():
        peer.greet_at = three.now
    [packet] = [packet for to, packet in three.out("a") if to == "b"]
    return packet


def test_a_recording_is_of_no_use_after_a_restart(three: Pair) -> None:
    old, greeting = three.sealed(), greet(three)
    three.ends["b"] = three.open("b", 1)
    assert three.refuses("b", old) == reasons.NO_SESSION
    three.into("b", greeting)  # genuine, but names another boot: answered, and not believed
    assert three.ends["b"]._peers[1].session is None
    three.settle()
    assert three.refuses("b", old) in (reasons.NOT_GENUINE, reasons.REPLAYED)
    assert three.ends["b"]._peers[1].unreadable == 0  # its key is the right one
    three.ends["a"] = three.open("a", 1)
    three.settle()
    assert three.refuses("b", old) == reasons.NO_SESSION
    # It may be of a copy that has started less often, and is told what is remembered; once in a tick.
    assert three.refuses("b", greeting, answers=1) == reasons.OLD_BOOT
    assert three.refuses("b", greeting) == reasons.OLD_BOOT
    three.goes_on()
    assert not any(end.diverged() for end in three.ends.values())


def test_every_flipped_bit_and_every_truncation(three: Pair) -> None:
    packet = three.sealed()
    for at in range(len(packet) * 8):
        flipped = bytearray(packet)
        flipped[at // 8] ^= 1 << at % 8
        assert three.refuses("b", bytes(flipped)) != reasons.REPLAYED
    for length in range(len(packet)):
        assert three.refuses("b", packet[:length]) in (reasons.TOO_SHORT, reasons.NOT_GENUINE)
    assert three.refuses("b", packet + b"x") == reasons.NOT_GENUINE
    assert three.refuses("b", packet + bytes(2000)) == reasons.OVERSIZED
    three.into("b", packet)
    assert three.letters["b"][-1].payload == b"secret"


def test_a_wrong_key() -> None:
    strange = Pair({"a": Keyring([Key(1, OTHER)]), "c": Keyring([Key(2, SECRET)])})
    for _ in range(8):
        strange.now += 0.3
        for name in "ac":
            strange.ends[name].poll(strange.now)
            for to, packet in strange.out(name):
                if to == "b":
                    expected = reasons.NOT_GENUINE if name == "a" else reasons.UNKNOWN_KEY
                    assert strange.refuses("b", packet) == expected
    assert strange.letters == {"a": [], "b": [], "c": []}


def test_an_old_incarnation(three: Pair) -> None:
    packet, greeting = three.sealed(), greet(three)
    three.ends["b"].evict("a", three.now)
    assert three.refuses("b", packet) == reasons.UNKNOWN_SENDER
    three.ends["b"].add_member("a", ("a", 1), three.now)
    assert three.refuses("b", packet) == reasons.NO_SESSION
    assert three.refuses("b", greeting, answers=2) == reasons.OLD_INCARNATION  # it is told of the fence
    assert three.refuses("b", greeting) == reasons.OLD_INCARNATION  # not twice in a tick
    three.goes_on("c", "b")


def test_another_incarnation_is_not_let_in_before_the_old_one_is_evicted(three: Pair) -> None:
    three.stores["a"] = Memory()
    three.ends["a"] = three.open("a", 2)
    for name in "bc":
        three.ends["a"].add_member(name, (name, 1), three.now)
    three.ends["a"].durable.send(["b"], b"I forgot everything")
    three.settle()
    end = three.ends["b"]
    assert end.drops[reasons.OTHER_INCARNATION] > 0
    assert end.status(three.now)["members"]["a"]["stranger"] == 2
    assert all(letter.payload != b"I forgot everything" for letter in three.letters["b"])
    end.evict("a", three.now)
    three.settle()
    for name in "bc":
        three.ends[name].add_member("a", ("a", 1), three.now)
    three.settle()
    assert three.letters["b"][-1].payload == b"I forgot everything"
    assert three.letters["b"][-1].id == ("a", 2, 1)


def test_who_is_evicted_is_told_once_that_is_durable(three: Pair) -> None:
    three.ends["b"].evict("a", three.now)
    assert three.ends["b"].leaving(three.now, three.wall) == []
    told = [packet for to, packet in three.out("b") if to == "a"]
    assert not three.ends["a"].durable.process.evicted
    for packet in told:
        three.into("a", packet)
    assert three.ends["a"].durable.process.evicted
    assert (three.out("a"), three.ends["a"].next_time()) == ([], NEVER)
    three.goes_on("b", "c")


@pytest.mark.parametrize("restarted", ["", "a", "b", "ab"])
def test_who_was_away_when_it_was_evicted_is_told_when_it_greets(three: Pair, restarted: str) -> None:
    """It heard nothing of it, and took those who went on without it for silent."""
    three.ends["b"].evict("a", three.now)
    three.out("b")  # what tells it is lost, and what comes of it
    for name in restarted:
        three.ends[name] = three.open(name, 1)
    three.now += 10
    for peer in three.ends["a"]._peers.values():  # as it does where nobody answers
        peer.greet_at = three.now
    for _ in range(3):
        for name in "ab":
            for to, packet in three.out(name):
                if {to, name} == {*"ab"} or (name == "b" and not to):
                    three.into("ab"[name == "a"], packet)
        three.now += 1
    assert three.ends["a"].durable.process.evicted
    assert not three.ends["b"].durable.process.evicted
    assert three.ends["b"].durable.process.membership.fences.keys() == {Fence("a", 1)}
    three.goes_on("b", "c")


def test_two_members_have_no_names_that_look_alike() -> None:
    """They differed by how their accents are written (NFC, NFD), and could not be told apart."""
    pair = Pair(names="aé")
    for at in "aé":
        with pytest.raises(ReplicaError, match="other characters"):
            pair.ends[at].add_member("e\N{COMBINING ACUTE ACCENT}", ("host", 2), 0.0)
    pair.ends["a"].add_member("é", ("host", 2), 0.0)
    pair.ends["a"].add_member("e", ("host", 2), 0.0)


def test_no_member_can_deliver_in_the_name_of_another() -> None:
    """`d:a:b:phone.1.7` is what `a:b` delivered, and what `a` might say it had: of a message of `b:phone`."""
    assert not speaks_for_another(Append(Dot("a", 1, 1), "d:a:b:phone.1.7"))
    pair = Pair(names="ac")
    pair.ends["c"].add_member("b:c", ("host", 2), 0.0)
    for at, name in (("a", "a:b"), ("c", "a:b"), ("c", "b:c:d"), ("c", "b")):
        with pytest.raises(ReplicaError, match="up to a colon"):
            pair.ends[at].add_member(name, ("host", 2), 0.0)


def test_a_flood_of_garbage(three: Pair) -> None:
    """20,000 packets, of which many look right at first: nothing is kept of any."""
    packet, random = three.sealed(), Random(2)
    end = three.ends["b"]
    before = end.durable.process.state()
    sizes = [len(peer._copies) for peer in end._peers.values()]
    for k in range(20_000):
        kind = k % 4
        if kind == 0:
            bad = random.randbytes(random.randrange(200))
        elif kind == 1:
            bad = packet[: HEADER.size] + random.randbytes(60)
        elif kind == 2:
            bad = packet[:14] + random.randbytes(90)
        else:
            bad = bytes([1, 0]) + packet[2:22] + random.randbytes(100)
        three.into("b", bad)
    assert three.out("b") == []
    assert end.durable.process.state() == before
    assert sizes == [len(peer._copies) for peer in end._peers.values()]
    assert sum(end.drops.values()) >= 20_000
    assert len(end.drops) < 15
    three.into("b", packet)
    assert three.letters["b"][-1].payload == b"secret"
    three.goes_on()


@pytest.mark.parametrize("size", [0, 300])
def test_a_message_without_end_of_a_member(three: Pair, size: int) -> None:
    """A member that sends part after part of one message: what is kept is bounded, and others go on."""
    end, received = three.ends["b"], 0
    end.durable.largest = 10_000
    member = end.durable.process.membership.named["a"].number
    for mid in range(2, 2000):
        end.durable.receive(member, HybridMessage(mid, mid - 1, False, MORE + bytes(size)))
        end.flush(three.now, three.wall)
        received += end.durable.process.machine._delivered[member] == mid
    kept = end.durable.process.unfinished(member)
    assert 20_000 < kept < 20_000 + 300 + 2 * PART_COST
    assert end.status(three.now)["drops"][reasons.TOO_LARGE] == 1998 - received > 1000
    again = Process.restored(end.durable.process.state())
    check(again)
    assert again.unfinished(member) == kept
    three.goes_on("c", "b")
    last = end.durable.process.machine._delivered[member] + 1
    end.durable.receive(member, HybridMessage(last, last - 1, False, LAST + bytes(6) + b"at last"))
    assert three.letters["b"][-1].payload.endswith(b"at last")
    assert end.durable.process.unfinished(member) == 0
    check(end.durable.process)


@given(st.binary(max_size=1300))
def test_any_bytes(content: bytes) -> None:
    pair = Pair(names="ab")
    assert pair.refuses("b", content)


@given(st.binary(max_size=200))
def test_any_content_under_the_right_key(content: bytes) -> None:
    """A member that is out of its mind: nothing raises, what makes no sense is refused."""
    assert read_content(content) is None or isinstance(read_content(content), Content)
    assert read_greeting(content) is None or isinstance(read_greeting(content), Greeting)


numbers = st.one_of(st.integers(0, 5), st.integers(-1, 2**64 - 1))


@given(
    st.lists(numbers, max_size=4),
    st.lists(numbers, max_size=4),
    st.lists(st.tuples(numbers, numbers, st.booleans(), st.binary(max_size=8)), max_size=4),
)
def test_any_numbers_of_a_member(
    acks: list[int], permits: list[int], copies: list[tuple[int, int, bool, bytes]]
) -> None:
    pair = Pair(names="ab")
    pair.settle(6)
    a, b = pair.ends["a"], pair.ends["b"]
    b.durable.send(["a"], b"hello")
    content = read_content(packb(Content(tuple(acks), tuple(permits), tuple(copies))))
    peer = b._peers[1]
    if content is None:
        assert any(not 0 <= number < 2**63 for number in (*acks, *permits))
    assert b._read(peer, content, pair.now) in (None, reasons.MALFORMED)
    b.flush(pair.now, 0.0)
    check(b.durable.process)
    assert a.durable.process.boot == 1


def test_a_fence_that_would_fit_into_no_packet_is_not_kept(three: Pair) -> None:
    """It would have to be confirmed by all others before anything is sent to them again."""
    three.settle(6)
    a, b = three.ends["a"], three.ends["b"]
    peer = b._peers[b.durable.process.membership.named["a"].number]
    for name, kept in (("x" * 200, True), ("x" * 1100, False), ("ä" * 101, False)):
        content = read_content(packb(Content(fences=(Fence(name, 7),))))
        assert b._read(peer, content, three.now) == (None if kept else reasons.MALFORMED)
        three.settle(30)
        assert a.durable.process.membership.fences.keys() == b.durable.process.membership.fences.keys()
        three.goes_on("b", "c")


def test_versions_are_negotiated(three: Pair) -> None:
    three.ends["a"] = three.open("a", 1, versions=(1, 2))
    three.ends["b"] = three.open("b", 1, versions=(1, 2, 3))
    three.settle()
    packet = three.sealed()
    assert packet[0] == 2
    three.into("b", packet)
    assert three.sealed("c", "b")[0] == 1
    three.ends["c"] = three.open("c", 1, versions=(9,))
    three.settle()
    assert three.ends["b"].drops[reasons.VERSION] > 0
    assert three.ends["b"]._peers[2].session.version == 1  # type: ignore[union-attr]


def test_at_most_one_answer_to_a_duplicate_in_a_tick(three: Pair) -> None:
    """The same message sealed again and again, as by a member gone mad: one ack a tick."""
    three.into("b", three.sealed())
    a = three.ends["a"]
    peer = a._peers[1]
    answers = 0
    for _ in range(50):
        peer.reset()
        [packet] = [packet for to, packet in three.out("a") if to == "b"]
        three.into("b", packet)
        answers += len(three.out("b"))
    assert answers == 1
    three.settle()


def test_the_window_of_counters() -> None:
    window, seen, random = ReplayWindow(), set(), Random(3)
    highest = -1
    for _ in range(20_000):
        counter = max(
            0, highest + random.randrange(-2 * WINDOW, 40) if random.random() < 0.99 else highest + 9000
        )
        expected = counter not in seen and counter > highest - WINDOW
        assert window.fresh(counter) is expected
        if expected:
            seen.add(counter)
            highest = max(highest, counter)
