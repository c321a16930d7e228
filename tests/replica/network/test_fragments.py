"""Messages of exchanges in fragments."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from microcosm.replica.network.wire import HEAD, MOST_FRAGMENTS, MOST_UNFINISHED, Assembly, fragments
from tests.replica.invariants import check


@given(
    st.lists(st.binary(max_size=300), min_size=1, max_size=5),
    st.integers(HEAD.size + 1, 120),
    st.randoms(use_true_random=False),
)
def test_in_any_order_and_repeated(messages: list[bytes], size: int, random: Random) -> None:
    some = [message for message in messages if len(message) <= MOST_FRAGMENTS * (size - HEAD.size)]
    waiting = [fragment for message in some for fragment in fragments(message, size)]
    assert all(len(fragment) <= size for fragment in waiting)
    random.shuffle(waiting)
    waiting += random.sample(waiting, len(waiting) // 3)
    assembly = Assembly()
    found = [message for fragment in waiting if (message := assembly.add("a", fragment)) is not None]
    assert set(found) == set(some)
    assert assembly.malformed == 0


def test_what_was_lost_is_made_good_when_it_is_sent_again() -> None:
    message = bytes(range(200))
    assembly = Assembly()
    first = list(fragments(message, 60))
    assert [assembly.add("a", fragment) for fragment in first[:-1]] == [None] * (len(first) - 1)
    assert assembly.add("a", list(fragments(message, 60))[-1]) == message


@given(st.binary(max_size=100))
def test_what_is_no_piece_completes_nothing_but_itself(content: bytes) -> None:
    found = Assembly().add("a", content)
    assert found is None or found == content[HEAD.size :]


def test_a_forged_part_is_no_message_and_what_is_unfinished_is_bounded() -> None:
    assembly = Assembly()
    one, two = fragments(bytes(60), 60)
    assembly.add("a", one)
    assert assembly.add("a", two[:-1] + b"x") is None
    assert assembly.malformed == 1
    for n in range(1000):
        assembly.add("a", next(fragments(bytes([n % 256, n // 256]) * 40, 60)))
    assert len(assembly._unfinished) <= MOST_UNFINISHED
    assert list(fragments(bytes(MOST_FRAGMENTS * 40 + 1), 40 + HEAD.size)) == []


def test_all_peers_together_are_bounded() -> None:
    """A member may say the first fragment of whatever it likes; what others began is dropped in its turn."""
    assembly = Assembly(most_bytes=20_000)
    for n in range(500):
        for at, fragment in enumerate(fragments(n.to_bytes(2, "big") * 1000, 400)):
            if at % 3 != n % 3:
                assembly.add(f"peer {n % 40}", fragment)
                check(assembly)
    assert assembly.dropped > 400
    begun = {peer for peer, _ in assembly._unfinished}
    assert 1 < len(begun) < 40
    message = bytes(range(250)) * 4
    assert [assembly.add("late", fragment) for fragment in fragments(message, 400)][-1] == message
    check(assembly)


def test_the_same_message_of_two_peers_is_two() -> None:
    one, two = fragments(b"x" * 70, 60)
    assembly = Assembly()
    assert assembly.add("a", one) is None
    assert assembly.add("b", two) is None
    assert assembly.add("b", one) == b"x" * 70
    check(assembly)
