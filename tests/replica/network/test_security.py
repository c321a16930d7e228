"""Packets that are not what they should be: nothing delivered, nothing answered, nothing kept, service goes
on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import KeyFileError
from microcosm.protocol.packets import Message
from microcosm.replica.network import arrivals as reasons
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.endpoint import Endpoint
from microcosm.replica.network.keys import Key, Keyring, new_ring, read_keys, write_keys
from microcosm.replica.network.process import LAST, MORE, PART_COST, Letter, Process
from microcosm.replica.network.sealing import HEADER, MOST_PACKETS, MOST_SECONDS, Sealer
from microcosm.replica.network.window import SIZE, ReplayWindow
from microcosm.replica.network.wire import Content, Greeting, packed, read_content, read_greeting
from microcosm.replica.store import Memory

SECRET, OTHER = b"the secret of the group, 32 byte", b"another secret, also of 32 bytes"
RING = Keyring([Key(1, SECRET)])


class Pair:
    """Endpoints a, b and c under one key; packets go where a test lets them go."""

    def __init__(
        self, rings: dict[str, Keyring] | None = None, names: str = "abc", wall: float = 0.0
    ) -> None:
        self.now, self.wall = 0.0, wall
        self.random = Random(1)
        self.letters: dict[str, list[Letter]] = {name: [] for name in names}
        self.stores = {name: Memory() for name in names}
        self.rings = rings or {}
        self.ends = {name: self.open(name, 1) for name in names}
        for name, end in self.ends.items():
            for other in names:
                if other != name:
                    end.add_member(other, (other, 1), 0.0)

    def open(self, name: str, incarnation: int, **options: object) -> Endpoint:
        durable = Durable.opened(self.stores[name], name, incarnation, self.letters[name].append)
        ring = self.rings.get(name, RING)
        return Endpoint(durable, ring, self.random.randbytes, now=self.now, **options)  # type: ignore[arg-type]

    def out(self, name: str) -> list[tuple[str, bytes]]:
        return [(to[0], packet) for to, packet in self.ends[name].flush(self.now, self.wall)]

    def into(self, name: str, packet: bytes) -> None:
        self.ends[name].receive(packet, self.now, self.wall)

    def settle(self, rounds: int = 12) -> None:
        """Let everything pass for a while."""
        for _ in range(rounds):
            self.now += 0.3
            for name, end in self.ends.items():
                end.poll(self.now)
                for to, packet in self.out(name):
                    if to in self.ends:
                        self.into(to, packet)

    def sealed(self, sender: str = "a", to: str = "b", payload: bytes = b"secret") -> bytes:
        """A packet with a message from one to another, caught on its way."""
        self.ends[sender].send([to], payload)
        [packet] = [packet for receiver, packet in self.out(sender) if receiver == to]
        return packet

    def refuses(self, name: str, packet: bytes) -> str:
        """That an endpoint takes no notice of a packet; the reason it counts."""
        end = self.ends[name]
        self.out(name)
        before, drops = end.durable.process.state(), end.drops.copy()
        letters, records = len(self.letters[name]), len([*self.stores[name].records()])
        self.into(name, packet)
        assert self.out(name) == []
        assert end.durable.process.state() == before
        assert (len(self.letters[name]), len([*self.stores[name].records()])) == (letters, records)
        [reason] = end.drops - drops
        return reason

    def goes_on(self, sender: str = "a", to: str = "b") -> None:
        """That messages still come through."""
        before = len(self.letters[to])
        self.ends[sender].send([to], b"still there")
        self.settle()
        assert [letter.payload for letter in self.letters[to][before:]][-1] == b"still there"


@pytest.fixture
def three() -> Pair:
    pair = Pair()
    pair.settle()
    pair.goes_on()
    return pair


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
    three.ends["a"] = three.open("a", 1)
    three.settle()
    assert three.refuses("b", old) == reasons.NO_SESSION
    assert three.refuses("b", greeting) == reasons.OLD_BOOT
    three.goes_on()


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
    assert three.refuses("b", greeting) == reasons.OLD_INCARNATION
    three.goes_on("c", "b")


def test_another_incarnation_is_not_let_in_before_the_old_one_is_evicted(three: Pair) -> None:
    three.stores["a"] = Memory()
    three.ends["a"] = three.open("a", 2)
    for name in "bc":
        three.ends["a"].add_member(name, (name, 1), three.now)
    three.ends["a"].send(["b"], b"I forgot everything")
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
        end.durable.receive(member, Message(mid, mid - 1, False, MORE + bytes(size)))
        end.flush(three.now, three.wall)
        received += end.durable.process.machine._delivered[member] == mid
    kept = end.durable.process.unfinished(member)
    assert 20_000 < kept < 20_000 + 300 + 2 * PART_COST
    assert end.status(three.now)["drops"][reasons.TOO_LARGE] == 1998 - received > 1000
    again = Process.restored(end.durable.process.state())
    again._check()
    assert again.unfinished(member) == kept
    three.goes_on("c", "b")
    last = end.durable.process.machine._delivered[member] + 1
    end.durable.receive(member, Message(last, last - 1, False, LAST + bytes(6) + b"at last"))
    assert three.letters["b"][-1].payload.endswith(b"at last")
    assert end.durable.process.unfinished(member) == 0
    end.durable.process._check()


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
    b.send(["a"], b"hello")
    content = read_content(packed(Content(tuple(acks), tuple(permits), tuple(copies))))
    peer = b._peers[1]
    if content is None:
        assert any(not 0 <= number < 2**63 for number in (*acks, *permits))
    assert b._read(peer, content, pair.now) in (None, reasons.MALFORMED)
    b.flush(pair.now, 0.0)
    b.durable.process._check()
    assert a.durable.process.boot == 1


def test_keys_rotate_while_messages_go_on() -> None:
    ring = Keyring([Key(1, SECRET)])
    pair = Pair(dict.fromkeys("ab", ring), names="ab", wall=1000.0)
    pair.settle()
    pair.goes_on()
    rotated = ring.rotated(OTHER, 1000.0, overlap=100.0)
    pair.ends["a"].use_keys(rotated)
    pair.goes_on("a", "b")
    pair.ends["b"].use_keys(rotated)
    pair.goes_on("b", "a")
    old = pair.sealed()
    pair.into("b", old)
    pair.wall = 1060.0
    pair.goes_on("a", "b")
    pair.goes_on("b", "a")
    assert pair.ends["b"]._peers[1].session.key_id == 2  # type: ignore[union-attr]
    pair.wall = 1101.0
    assert pair.refuses("b", old) == reasons.UNKNOWN_KEY
    pair.goes_on("a", "b")
    with pytest.raises(KeyFileError, match="under way"):
        rotated.rotated(SECRET, 1050.0)
    assert [key.id for key in rotated.rotated(SECRET, 1101.0).keys] == [2, 3]


def test_a_pairwise_key_replaces_that_of_the_group() -> None:
    """What a and b say to each other, c can neither read nor forge; it still talks with both."""
    private = Key(7, OTHER, between=("a", "b"))
    rings = {"a": Keyring([Key(1, SECRET), private]), "b": Keyring([Key(1, SECRET), private])}
    pair = Pair(rings)
    pair.settle()
    packet = pair.sealed("a", "b")
    assert int.from_bytes(packet[2:6], "big") == 7
    pair.into("b", packet)
    for sender, to in ("ac", "cb", "ba"):
        pair.goes_on(sender, to)
    forged = Sealer(RING, "a", 1, 1, pair.random.randbytes)
    used = forged.sending("b", 0.0, 0.0)
    from microcosm.replica.network.sealing import GREETING, Destination

    said = packed(Greeting((1,), 9, 9 << 32, 1, 1, 0, False))
    assert pair.refuses("b", forged.seal(used, 1, GREETING, Destination("b"), said)) == reasons.UNKNOWN_KEY


def test_no_nonce_is_used_twice_and_keys_are_replaced_in_time() -> None:
    sealer = Sealer(RING, "a", 1, 1, os.urandom)
    first = sealer.sending("b", 0.0, 0.0)
    assert sealer.sending("c", MOST_SECONDS - 1, 0.0) is first
    second = sealer.sending("c", MOST_SECONDS, 0.0)
    assert second.generation == first.generation + 1
    assert second.salt != first.salt
    second.counter = MOST_PACKETS
    assert sealer.sending("b", MOST_SECONDS, 0.0).salt != second.salt
    pair = Pair()
    seen = set()
    for _ in range(10):
        pair.now += 0.3
        for name in pair.ends:
            for peer in pair.ends[name]._peers.values():
                peer.greet_at = pair.now
            for to, packet in pair.out(name):
                nonce = packet[14:46]  # incarnation, salt, counter
                assert nonce not in seen
                seen.add(nonce)
                pair.into(to, packet)
        if pair.now > 1.5:
            pair.ends["a"] = pair.open("a", 1)
    assert len(seen) > 20


def test_a_day_goes_by(three: Pair) -> None:
    before = three.ends["a"]._peers[1].session
    three.now += MOST_SECONDS + 1
    three.goes_on("a", "b")
    three.goes_on("b", "a")
    assert three.ends["a"]._peers[1].session is not before


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
            0, highest + random.randrange(-2 * SIZE, 40) if random.random() < 0.99 else highest + 9000
        )
        expected = counter not in seen and counter > highest - SIZE
        assert window.fresh(counter) is expected
        if expected:
            seen.add(counter)
            highest = max(highest, counter)


def no(text: str, ring: Keyring) -> bool:
    return not any(key.secret.hex() in text or repr(key.secret)[2:-1] in text for key in ring.keys)


def test_keys_are_never_shown(three: Pair, tmp_path: Path) -> None:
    three.goes_on()
    shown: list[object] = [RING, RING.keys[0], three.ends["a"], three.ends["a"].status(three.now)]
    shown += [vars(three.ends["a"]), vars(three.ends["a"]._sealer), three.ends["a"]._sealer._sending]
    shown += three.stores["a"].records()
    assert all(no(repr(value), RING) and no(str(value), RING) for value in shown)
    assert all(SECRET not in record.payload for record in three.stores["a"].records())


def test_a_key_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    ring = Keyring([*new_ring().keys, Key(2, OTHER, 5.0, 6.0, ("a", "b"))])
    write_keys(file, ring)
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_keys(file).keys == ring.keys
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]
    file.chmod(0o640)
    with pytest.raises(KeyFileError, match="others can read") as raised:
        read_keys(file)
    assert no(str(raised.value), ring)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda text: text[:-9], "no key file"),
        (lambda text: text.replace('"schema"', '"scheme"'), "no key file"),
        (lambda text: text.replace('"secret": "', '"secret": "00'), "no key file"),
        (lambda text: text.replace('"id": 1', '"id": "1"'), "no key file"),
        (lambda text: "[" * 100_000, "no key file"),
        (lambda text: "\udcff", "no key file"),
    ],
)
def test_a_bad_key_file(spoil: Callable[[str], str], said: str, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    write_keys(file, new_ring())
    file.write_bytes(spoil(file.read_text()).encode(errors="surrogateescape"))
    with pytest.raises(KeyFileError, match=said) as raised:
        read_keys(file)
    assert raised.value.__cause__ is None
    with pytest.raises(KeyFileError, match="no such key file"):
        read_keys(tmp_path / "none")
    with pytest.raises(KeyFileError, match="cannot be written"):
        write_keys(tmp_path / "none" / "keys", new_ring())
