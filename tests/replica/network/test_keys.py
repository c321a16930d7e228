"""Keys: rotated, of pairs, replaced in time, never shown; and the files that they are in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from msgpack import packb

from microcosm.errors import KeyFileError
from microcosm.replica.network import handshake as reasons
from microcosm.replica.network.keys import (
    MOST_PACKETS,
    MOST_SECONDS,
    Key,
    Keyring,
    Sealer,
    new_ring,
    read_keys,
    write_keys,
)
from microcosm.replica.network.wire import Greeting
from tests.replica.network.pair import OTHER, RING, SECRET, Pair


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


def test_another_secret_under_the_number_of_a_key_ends_what_was_agreed_under_it() -> None:
    pair = Pair(names="ab")
    pair.settle()
    pair.goes_on()
    old = pair.sealed()
    pair.ends["b"].use_keys(Keyring([Key(1, OTHER)]))
    pair.into("b", old)
    assert pair.letters["b"][-1].payload != b"secret"
    assert pair.ends["b"].drops[reasons.NO_SESSION] == 1
    pair.ends["a"].use_keys(Keyring([Key(1, OTHER)]))
    pair.settle()
    assert pair.letters["b"][-1].payload == b"secret"
    pair.goes_on("b", "a")


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
    from microcosm.replica.network.keys import GREETING, Destination

    said = packb(Greeting((1,), 9, 9 << 32, 1, 1, 0, False))
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
    file = file.rename(tmp_path / "our keys")
    file.chmod(0o640)
    with pytest.raises(KeyFileError, match=r"others can read.* `chmod 600 '.*our keys'`") as raised:
        read_keys(file)
    assert no(str(raised.value), ring)
    with pytest.raises(KeyFileError, match="/dev/null: is no file"):  # it said: `chmod 600 /dev/null`
        read_keys("/dev/null")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda text: text[:-9], "no key file"),
        (lambda text: text.replace('"schema"', '"scheme"'), "no key file"),
        (lambda text: text.replace('"secret": "', '"secret": "00'), "no key file"),
        (lambda text: text.replace('"id": 1', '"id": "1"'), "no key file"),
        (lambda text: text.replace('"starts": 0.0', '"starts": 1' + "0" * 400), "no key file"),
        (lambda text: text.replace('"starts": 0.0', '"starts": 1e18'), "no key file"),
        (lambda text: text.replace('"ends": null', '"ends": NaN'), "no key file"),
        (lambda text: text.replace('"between": null', '"between": [1, 2]'), "no key file"),
        (lambda text: text.replace('"between": null', '"between": ["", "b"]'), "no key file"),
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


def test_an_interrupted_key_file_leaves_no_secret_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_keys(tmp_path / "keys", new_ring())
    assert not [*tmp_path.iterdir()]
