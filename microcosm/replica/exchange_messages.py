"""What replicas say to each other to find out what one of them lacks, as values and as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import msgpack

from microcosm.errors import Malformed
from microcosm.replica.ledger.dots import FIRST, Dot, DotRun
from microcosm.replica.ledger.evolution import dot_of, other_version, read, run_of

VERSIONS = (2,)
"""The versions of messages that this program reads and writes, oldest first; a greeting tells members."""


class Range(NamedTuple):
    """What a replica has seen from the dot `low` up to, not including, `high` (None: all that follow).

    A fingerprint of it, or the runs themselves.
    """

    low: Dot
    high: Dot | None
    seen: bytes | tuple[DotRun, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Some ranges: compare them with your own."""

    ranges: tuple[Range, ...]
    removed: bytes = b""
    """The fingerprint of all dots that I know to be removed, where the ranges are all that I have seen."""
    heads: bytes = b""
    """What stands for the newest heads of all streams that I know, likewise; empty if I sign nothing."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Some ranges of the dots that I know to be removed: compare them with your own, and tell me in turn."""

    ranges: tuple[Range, ...]
    answer: bool = True


@dataclass(frozen=True, slots=True)
class Same:
    """All that I have seen has this fingerprint, as yours has."""

    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class Want:
    """I lack these; you have seen them."""

    runs: tuple[DotRun, ...]


@dataclass(frozen=True, slots=True)
class Supply:
    """Evolutions, as bytes; and parts of streams, as `Segment.written` has them, with evolutions in them.

    `struck` are dots among them that are known to be removed, `linked` others, of which I have no hashes any
    more: what I tell that follows them is of one chain with what goes before them.
    """

    evolutions: tuple[bytes, ...]
    signed: tuple[Any, ...] = ()
    struck: tuple[DotRun, ...] = ()
    linked: tuple[DotRun, ...] = ()


@dataclass(frozen=True, slots=True)
class Heads:
    """The newest heads of streams, as segments without numbers, and proofs that authors said two things."""

    heads: tuple[Any, ...]
    proofs: tuple[bytes, ...]
    answer: bool = True


@dataclass(frozen=True, slots=True)
class Gone:
    """I have seen these, and hold them no more: removed, superseded or forgotten."""

    runs: tuple[DotRun, ...]


ExchangeMessage = Compare | Same | Want | Supply | Gone | Removed | Heads

_CODES: tuple[type[ExchangeMessage], ...] = (Compare, Same, Want, Supply, Gone, Removed, Heads)


def encode(message: ExchangeMessage, version: int = VERSIONS[-1]) -> bytes:
    """The bytes of a message, in a version that the receiver reads."""
    content: Any = [getattr(message, each.name) for each in fields(message)]
    if len(content) == 1:
        [content] = content
    elif isinstance(message, Supply) and not message.linked:
        content.pop()
    written: bytes = msgpack.packb([version, _CODES.index(type(message)), content])
    return written


def decode(content: bytes) -> ExchangeMessage:
    """The message that bytes stand for. Raises `Malformed`, and nothing else.

    >>> decode(encode(Want((DotRun("phone", 1, 3, 9),))))
    Want(runs=(DotRun(replica='phone', incarnation=1, first=3, end=9),))
    """
    match read(content):
        case (version, *_) if version not in VERSIONS:
            raise other_version("a message", version, VERSIONS[-1])
        case (_, 0, (tuple(ranges), bytes(removed), bytes(heads))):
            return Compare(tuple(map(_range, ranges)), removed, heads)
        case (_, 5, (tuple(ranges), bool(answer))):
            return Removed(tuple(map(_range, ranges)), answer)
        case (_, 1, bytes(fingerprint)):
            return Same(fingerprint)
        case (_, 2, tuple(runs)):
            return Want(tuple(map(run_of, runs)))
        case (_, 3, (tuple(evolutions), tuple(signed), tuple(struck), *linked)) if _all_bytes(
            evolutions
        ) and [*map(type, linked)] in ([], [tuple]):
            return Supply(evolutions, signed, *(tuple(map(run_of, some)) for some in (struck, *linked)))
        case (_, 6, (tuple(heads), tuple(proofs), bool(answer))) if _all_bytes(proofs):
            return Heads(heads, proofs, answer)
        case (_, 4, tuple(runs)):
            return Gone(tuple(map(run_of, runs)))
    raise Malformed("no message: its parts are not those of any kind")


def _all_bytes(values: tuple[object, ...]) -> bool:
    return all(isinstance(each, bytes) for each in values)


def _range(value: object) -> Range:
    match value:
        case (low, high, bytes() | tuple() as seen):
            begin = FIRST if low == FIRST else dot_of(low)
            dots = seen if isinstance(seen, bytes) else tuple(map(run_of, seen))
            return Range(begin, None if high is None else dot_of(high), dots)
    raise Malformed("no range of dots")


def told_of(signed: Iterable[Any]) -> Iterator[tuple[Dot, bytes]]:
    """The evolutions in parts of streams, each with its dot, whatever they are worth."""
    for part in signed:
        match part:
            case (str(name), int(incarnation), int(first), _, tuple(items), _, _):
                for number, item in enumerate(items, first):
                    if isinstance(item, bytes):
                        yield Dot(name, incarnation, number), item
