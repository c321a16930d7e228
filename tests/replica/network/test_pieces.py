"""Messages of exchanges in pieces."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from microcosm.replica.network.pieces import HEAD, MOST_PIECES, MOST_UNFINISHED, Assembly, pieces


@given(
    st.lists(st.binary(max_size=300), min_size=1, max_size=5),
    st.integers(HEAD.size + 1, 120),
    st.randoms(use_true_random=False),
)
def test_in_any_order_and_repeated(messages: list[bytes], size: int, random: Random) -> None:
    some = [message for message in messages if len(message) <= MOST_PIECES * (size - HEAD.size)]
    waiting = [piece for message in some for piece in pieces(message, size)]
    assert all(len(piece) <= size for piece in waiting)
    random.shuffle(waiting)
    waiting += random.sample(waiting, len(waiting) // 3)
    assembly = Assembly()
    found = [message for piece in waiting if (message := assembly.add(piece)) is not None]
    assert set(found) == set(some)
    assert assembly.malformed == 0


def test_what_was_lost_is_made_good_when_it_is_sent_again() -> None:
    message = bytes(range(200))
    assembly = Assembly()
    first = list(pieces(message, 60))
    assert [assembly.add(piece) for piece in first[:-1]] == [None] * (len(first) - 1)
    assert assembly.add(list(pieces(message, 60))[-1]) == message


@given(st.binary(max_size=100))
def test_what_is_no_piece_completes_nothing_but_itself(content: bytes) -> None:
    found = Assembly().add(content)
    assert found is None or found == content[HEAD.size :]


def test_a_forged_part_is_no_message_and_what_is_unfinished_is_bounded() -> None:
    assembly = Assembly()
    one, two = pieces(bytes(60), 60)
    assembly.add(one)
    assert assembly.add(two[:-1] + b"x") is None
    assert assembly.malformed == 1
    for n in range(1000):
        assembly.add(next(pieces(bytes([n % 256, n // 256]) * 40, 60)))
    assert len(assembly._unfinished) <= MOST_UNFINISHED
    assert list(pieces(bytes(MOST_PIECES * 40 + 1), 40 + HEAD.size)) == []
