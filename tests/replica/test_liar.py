"""A member that has all keys and lies, fuzzed: see `hostile`. Longer by `python -m tests.replica.hostile`."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from microcosm.errors import Malformed
from microcosm.replica.exchange import decode, encode
from microcosm.replica.network.wire import read_content, read_greeting
from tests.replica.hostile import inside, lies, run
from tests.replica.test_authors import again, exchanged, signing
from tests.thorough import draws

pytest.importorskip("cryptography")


@pytest.mark.parametrize("seed", range(draws(1, 40)))
def test_among_three_honest_ones_it_is_named_and_they_converge(seed: int, tmp_path: Path) -> None:
    assert run(seed, tmp_path, 20.0, rate=8.0) == []


@pytest.mark.slow
def test_a_liar_who_is_not_heeded_for_longer_and_longer(tmp_path: Path) -> None:
    assert run(1, tmp_path, draws(60.0, 3600.0), heeded=False) == []


@pytest.mark.parametrize("seed", range(draws(2, 60)))
def test_no_message_of_an_exchange_raises_and_whatever_is_kept_can_be_read(seed: int) -> None:
    """Without a network: messages of a liar and changed ones of honest replicas, told by anybody."""
    random = Random(seed)
    a, b, liar = signing("a"), signing("b"), signing("e")
    for n in range(70):
        a.local(f"a{n}")
        b.local(f"b{n}")
    liar.local("e0")
    exchanged(a, b)
    heard = [message for each in (a, b, liar) for message in each.exchange.begin("?")]
    heard += [encode(each) for r in (a, b, liar) for each in r.supplies(r.held_of(r.seen()), 900)]
    for _ in range(150):
        message = lies(random, liar, heard) if random.random() < 0.7 else inside(random.choice(heard), random)
        peer = random.choice(("e", "e", "b"))
        heard += a.exchange.receive(peer, message)[:1]
        if random.random() < 0.1:
            exchanged(liar, b)
    again(a)
    for _ in range(4):
        exchanged(a, b)
    assert a.digest() == b.digest()
    assert all(a.happened(f"b{n}") or f"b{n}" in a.twice for n in range(70))
    assert a.exchange.blamed


def test_bytes_of_all_kinds_are_read_or_refused() -> None:
    random = Random(1)
    a = signing("a")
    for n in range(5):
        a.local(f"a{n}")
    heard = [*a.exchange.begin("b"), *(encode(each) for each in a.supplies(a.held_of(a.seen()), 900))]
    for _ in range(2000):
        content = inside(random.choice(heard), random)
        for _ in range(random.randrange(3)):
            content = inside(content, random)
        read_greeting(content), read_content(content)
        try:
            encode(decode(content))
        except Malformed:
            continue
