"""Streams as chains of hashes, evolution by evolution, and the signed heads that vouch for them.

The hash of number n is that of the hash of n - 1 and of the content of evolution n, and a *head* is a number,
its hash, and the signature of the stream's author. Whoever holds a head and the contents (or only the hashes
of the contents) from some number up to it can prove each of them to anybody: a `Segment`. A third party
relays it as it is. Two segments of one stream that differ where both speak (`fork`) prove that their author
has said two things.

Segments end at multiples of `BLOCK` at the latest, so that to prove one evolution takes at most so many
hashes; those of which nothing is held any more are dropped, but for the newest.

Each replica has an Ed25519 key to sign heads with. Signing costs some 40 µs, checking three times as much: so
heads are signed when somebody is told of them, and never each evolution.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import msgpack

from microcosm.errors import Malformed
from microcosm.replica.ledger.dots import Dot, Stream
from microcosm.replica.ledger.evolution import dot_of, read

SEED_BYTES = KEY_BYTES = 32
SIGNATURE_BYTES = 64


def can_sign() -> bool:
    """Whether `cryptography` is there, the extra `replica`."""
    return find_spec("cryptography") is not None


class Author(NamedTuple):
    """A replica that signs: its secret seed, and the public key that goes with it."""

    seed: bytes
    key: bytes

    def __repr__(self) -> str:
        return f"<Author {self.key.hex()[:16]}>"

    def signed(self, content: bytes) -> bytes:
        """The signature of some bytes. Cost: some 40 µs."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(content)


def author_of(seed: bytes | None = None) -> Author:
    """The author whose secret a seed is; a new one where none is given. Needs `can_sign`."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    seed = os.urandom(SEED_BYTES) if seed is None else seed
    return Author(seed, Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())


def is_signed(key: bytes, signature: bytes, content: bytes) -> bool:
    """Whether the holder of a key's secret has signed some bytes. Cost: some 120 µs."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def head_bytes(replica: str, incarnation: int, number: int, hash_: bytes) -> bytes:
    """What is signed of a head."""
    written: bytes = msgpack.packb(["microcosm head 1", replica, incarnation, number, hash_])
    return written


HASH_BYTES = 24
"""So that no author finds two contents of one hash: that would take some 2⁹⁶ tries."""

BLOCK = 64
"""So many numbers are in a block, and no segment is of two blocks."""

NOBODY = bytes(KEY_BYTES)
UNSIGNED = bytes(SIGNATURE_BYTES)


def leaf(content: bytes) -> bytes:
    """The hash of an evolution's bytes."""
    return blake2b(content, digest_size=HASH_BYTES, person=b"microcosm leaf").digest()


def origin(stream: Stream) -> bytes:
    """The hash before the first evolution of a stream."""
    packed = msgpack.packb(list(stream))
    return blake2b(packed, digest_size=HASH_BYTES, person=b"microcosm chain").digest()


def chained(before: bytes, leaves: bytes | bytearray) -> bytes:
    """The hash after some evolutions, whose hashes stand one behind the other. Cost: their number."""
    for at in range(0, len(leaves), HASH_BYTES):
        before = blake2b(before + leaves[at : at + HASH_BYTES], digest_size=HASH_BYTES).digest()
    return before


def block_of(number: int) -> int:
    """Which block a number is in."""
    return (number - 1) // BLOCK


class Segment:
    """The numbers `first` to `last` of a stream: the hash before them, theirs, and a signed head at `last`.

    One without numbers (`last` is `first` - 1) is the head alone. `signature` is `UNSIGNED` in a replica's
    own stream, which it signs wherever somebody asks.
    """

    __slots__ = ("before", "end", "first", "key", "leaves", "signature", "stream")

    def __init__(
        self,
        stream: Stream,
        first: int,
        before: bytes,
        leaves: bytes | bytearray,
        key: bytes = NOBODY,
        signature: bytes = UNSIGNED,
    ) -> None:
        self.stream, self.first, self.before = stream, first, before
        self.leaves = bytearray(leaves)
        self.key, self.signature = key, signature
        self.end = chained(before, leaves)
        """The hash at `last`."""

    @property
    def last(self) -> int:
        """The number of its head."""
        return self.first + len(self.leaves) // HASH_BYTES - 1

    def leaf(self, number: int) -> bytes:
        """The hash of the content of a number of it."""
        at = (number - self.first) * HASH_BYTES
        return bytes(self.leaves[at : at + HASH_BYTES])

    def head(self, number: int) -> bytes:
        """The hash at a number, from `first` - 1 to `last`. Cost: up to `BLOCK` hashes."""
        if number == self.last:
            return self.end
        return chained(self.before, self.leaves[: (number - self.first + 1) * HASH_BYTES])

    def part(self, first: int, last: int, sign: Callable[[bytes], bytes], key: bytes) -> Segment:
        """What proves the numbers from `first` on; up to `last` where it is one's own, and signed now."""
        if self.signature != UNSIGNED:
            key, signature, last = self.key, self.signature, self.last
        else:
            signature = sign(head_bytes(*self.stream, last, self.head(last)))
        leaves = self.leaves[(first - self.first) * HASH_BYTES : (last - self.first + 1) * HASH_BYTES]
        return Segment(self.stream, first, self.head(first - 1), leaves, key, signature)

    def is_signed(self) -> bool:
        """Whether its head was signed with its key."""
        return is_signed(self.key, self.signature, head_bytes(*self.stream, self.last, self.end))

    def written(self, contents: Mapping[int, bytes] | None = None) -> list[Any]:
        """It as plain values, with the contents of some numbers in the place of their hashes."""
        contents = contents or {}
        items: list[object] = [
            contents[n] if n in contents else [self.leaf(n)] for n in range(self.first, self.last + 1)
        ]
        return [*self.stream, self.first, self.before, items, self.key, self.signature]


def read_segment(value: object) -> tuple[Segment, dict[int, bytes]]:
    """A segment and the contents that came with it, from what `written` gave. Raises `Malformed`.

    Nothing is known of its signature.
    """
    match value:
        case (replica, incarnation, int(first), bytes(before), tuple(items), bytes(key), bytes(signature)):
            pass
        case _:
            raise Malformed("no part of a stream")
    stream = dot_of((replica, incarnation, max(1, first))).stream
    leaves = bytearray()
    contents = {}
    for number, item in enumerate(items, first):
        match item:
            case bytes(content):
                contents[number] = content
                leaves += leaf(content)
            case (bytes(hash_),) if len(hash_) == HASH_BYTES:
                leaves += hash_
            case _:
                raise Malformed("no part of a stream: neither a content nor a hash")
    sizes = (len(before), len(key), len(signature)) == (HASH_BYTES, KEY_BYTES, SIGNATURE_BYTES)
    if not sizes or type(first) is not int or not first > 0 or len(items) > BLOCK:
        raise Malformed("no part of a stream")
    if items and block_of(first) != block_of(first + len(items) - 1):
        raise Malformed("no part of a stream: it is of two blocks")
    dot_of((replica, incarnation, first + max(0, len(items) - 1)))
    if first == 1 and before != origin(stream):
        raise Malformed("no part of a stream: it does not begin as one")
    return Segment(stream, first, before, leaves, key, signature), contents


def fork(one: Segment, other: Segment) -> int | None:
    """From which number on two segments of a stream are of two chains; None where nothing says that they are.

    The first number at which they differ, or where that is not known one that comes after it: what is before
    that differs too, and will be compared. Cost: the hashes of both.
    """
    if one.stream != other.stream:
        return None
    meet = max(one.first, other.first) - 1
    end = min(one.last, other.last)
    if meet > end:
        return None
    if one.head(meet) != other.head(meet):
        return meet + 1
    return next((n for n in range(meet + 1, end + 1) if one.leaf(n) != other.leaf(n)), None)


def joined(one: Segment, other: Segment) -> Segment | None:
    """What two segments of a chain are together, the head being the later one; None if they do not touch."""
    if one.first > other.first:
        one, other = other, one
    if other.first - 1 > one.last or block_of(one.first) != block_of(max(other.first, other.last)):
        return None
    later = other if other.last > one.last else one
    if later is one:
        return one
    leaves = one.leaves[: (other.first - one.first) * HASH_BYTES] + other.leaves
    return Segment(one.stream, one.first, one.before, leaves, later.key, later.signature)


class Chains:
    """The segments of all streams that are known, signed by whom they ought to be."""

    def __init__(self) -> None:
        self._blocks: dict[Stream, dict[int, list[Segment]]] = {}
        self._newest: dict[Stream, Segment] = {}
        self._connected: dict[Stream, int] = {}

    def connected(self, stream: Stream) -> int:
        """Up to which number the segments of a stream follow one another from its beginning.

        Cost: those since it was asked last.
        """
        number = self._connected.get(stream, 0)
        before = self.of(Dot(*stream, number)) if number else None
        while (after := self.of(Dot(*stream, number + 1))) is not None:
            if before is not None and before is not after and fork(before, after) is not None:
                break
            before, number = after, after.last
        self._connected[stream] = number
        return number

    def connect(self, stream: Stream, number: int) -> None:
        """What is not known of a stream up to a number is of the same chain, as somebody has said."""
        self._connected[stream] = max(number, self.connected(stream))

    def begin(self, stream: Stream, key: bytes) -> None:
        """A stream of one's own, of which nothing may be said yet."""
        if stream not in self._newest:
            self.add(Segment(stream, 1, origin(stream), b"", key))

    def append(self, dot: Dot, content: bytes, key: bytes) -> None:
        """The next evolution of a stream of one's own. Constant time."""
        newest = self._newest.get(dot.stream)
        number = 1 if newest is None else newest.last + 1
        while number < dot.number:  # what was not kept
            newest = self._next(dot.stream, newest, leaf(b""), key)
            number += 1
        if number == dot.number:
            self._next(dot.stream, newest, leaf(content), key)

    def _next(self, stream: Stream, newest: Segment | None, hash_: bytes, key: bytes) -> Segment:
        if newest is None or newest.last % BLOCK == 0 or newest.signature != UNSIGNED:
            first, before = (1, origin(stream)) if newest is None else (newest.last + 1, newest.end)
            newest = Segment(stream, first, before, b"", key)
            self._blocks.setdefault(stream, {}).setdefault(block_of(first), []).append(newest)
            self._newest[stream] = newest
        newest.leaves += hash_
        newest.end = chained(newest.end, hash_)
        return newest

    def add(self, segment: Segment) -> None:
        """Keep a segment that contradicts none, joined with those that it touches."""
        here = self._blocks.setdefault(segment.stream, {}).setdefault(block_of(segment.first), [])
        for other in list(here):
            if fork(segment, other) is None and (both := joined(segment, other)) is not None:
                here.remove(other)
                segment = both
        here.append(segment)
        newest = self._newest.get(segment.stream)
        if newest is None or newest.last <= segment.last:
            self._newest[segment.stream] = segment

    def beside(self, segment: Segment) -> Iterator[Segment]:
        """The segments that could contradict one."""
        blocks = self._blocks.get(segment.stream, {})
        first, last = block_of(segment.first), block_of(max(1, segment.last))
        for block in range(min(first, last) - 1, first + 2):
            yield from blocks.get(block, ())

    def of(self, dot: Dot) -> Segment | None:
        """The segment that a dot is in. Constant time."""
        for segment in self._blocks.get(dot.stream, {}).get(block_of(dot.number), ()):
            if segment.first <= dot.number <= segment.last:
                return segment
        return None

    def vouches(self, dot: Dot, content: bytes) -> bool | None:
        """Whether a dot has this content; None where nothing is known of it."""
        segment = self.of(dot)
        return None if segment is None else segment.leaf(dot.number) == leaf(content)

    def newest(self) -> list[Segment]:
        """The last segment of each stream, in the order of streams."""
        return [self._newest[stream] for stream in sorted(self._newest)]

    def ends(self) -> Iterator[Segment]:
        """The last segment of each stream, in the order of streams, and before it any that none follows.

        These say what all others are, if nothing is between them that is not known. Cost: the streams, and
        the segments of those in which something is.
        """
        for stream, newest in sorted(self._newest.items()):
            known = self.connected(stream)
            if known + 1 < newest.first:
                parts = [part for parts in self._blocks[stream].values() for part in parts]
                parts.sort(key=lambda part: part.first)
                yield from (a for a, b in pairwise(parts) if known <= a.last < b.first - 1)
            yield newest

    def all(self) -> Iterator[Segment]:
        """All segments."""
        for blocks in self._blocks.values():
            for segments in blocks.values():
                yield from segments

    def cut(self, stream: Stream, first: int) -> None:
        """Forget the segments of a stream of one's own from a number on: they are of another copy's."""
        for each in self._begun_anew(stream, min(self.connected(stream), first - 1)):
            if each.last < first or each.signature != UNSIGNED:
                self.add(each)
            elif each.first < first:
                leaves = each.leaves[: (first - each.first) * HASH_BYTES]
                self.add(Segment(stream, each.first, each.before, leaves, each.key))

    def drop(self, streams: Iterable[Stream]) -> None:
        """Forget all of some streams."""
        for stream in streams:
            self._blocks.pop(stream, None)
            self._newest.pop(stream, None)
            self._connected.pop(stream, None)

    def trim(self, stream: Stream) -> int:
        """Forget the segments of a stream that do not follow one another; where the others end."""
        number = self.connected(stream)
        for each in self._begun_anew(stream, number):
            if each.first <= number + 1 and each.last <= number:
                self.add(each)
        return number

    def _begun_anew(self, stream: Stream, number: int) -> list[Segment]:
        """The segments of a stream, which are forgotten: it is connected up to a number."""
        segments = [each for of_block in self._blocks.get(stream, {}).values() for each in of_block]
        self.drop([stream])
        self._connected[stream] = number
        return segments

    def gaps(self) -> list[tuple[Stream, int]]:
        """Up to which number each stream is `connected`, for a snapshot."""
        return [(stream, self.connected(stream)) for stream in sorted({*self._blocks, *self._connected})]

    def compact(self, needed: Iterable[Dot]) -> None:
        """Drop the blocks in which no dot is needed any more, but for the newest of each stream.

        Needed is what is held, and the last dot before a cut: its head is compared with those of others.
        """
        kept = {(dot.stream, block_of(dot.number)) for dot in needed}
        for stream, blocks in self._blocks.items():
            self.connected(stream)
            newest = max(blocks, default=0)
            for block in [each for each in blocks if each < newest - 1 and (stream, each) not in kept]:
                del blocks[block]


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
