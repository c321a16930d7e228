"""The proof that an author has said two things: two signed heads of one stream that are of two chains.

Nobody but the holder of the author's secret can make one, and anybody can check it, with nothing but its
bytes: a journal that runs twice, or was put back, is found out so, and a member that lies.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgpack

from microcosm.errors import Malformed
from microcosm.replica.ledger.chain import Segment, fork, read_segment
from microcosm.replica.ledger.dots import Stream
from microcosm.replica.ledger.evolution import read

SCHEMA = "microcosm-fork/1"

NUMBER = 1
"""Of the bytes of a proof."""


class ForkProof(NamedTuple):
    """Two segments of one stream, signed with one key, that cannot be of one chain."""

    one: Segment
    other: Segment

    @property
    def stream(self) -> Stream:
        """Whose stream it is."""
        return self.one.stream

    @property
    def number(self) -> int:
        """From which number on the stream is two (`chain.fork`)."""
        found = fork(self.one, self.other)
        assert found is not None
        return found

    def holds(self) -> bool:
        """Whether it proves something: both heads are signed with one key, and they fork. Cost: 0.3 ms."""
        one, other = self
        if one.key != other.key or fork(one, other) is None:
            return False
        return one.is_signed() and other.is_signed()

    def written(self) -> bytes:
        """The bytes of it, the same whichever of the two was met first."""
        both = sorted((self.one.written(), self.other.written()), key=msgpack.packb)
        written: bytes = msgpack.packb([NUMBER, *both])
        return written

    def exported(self) -> str:
        """It as JSON, for somebody else to check."""
        replica, incarnation = self.stream
        fields = {"schema": SCHEMA, "replica": replica, "incarnation": incarnation, "number": self.number}
        return json.dumps({**fields, "key": self.one.key.hex(), "proof": self.written().hex()}, indent=1)


def read_proof(content: bytes) -> ForkProof:
    """The proof that bytes are. Raises `Malformed`; whether it proves anything, `holds` says."""
    match read(content):
        case (1, one, other):
            return ForkProof(read_segment(one)[0], read_segment(other)[0])
    raise Malformed("no proof of two chains that this program can read")


def imported(text: str) -> ForkProof:
    """The proof in a JSON text, as `exported` wrote it. Raises `Malformed`."""
    try:
        fields: Any = json.loads(text)
        if fields["schema"] != SCHEMA:
            raise Malformed(f"no proof: its schema is not {SCHEMA}")
        return read_proof(bytes.fromhex(fields["proof"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Malformed("no proof of two chains: not the JSON that `replica proof` writes") from None
