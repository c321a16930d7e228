"""What replicas say to each other to find out what one of them lacks, as values and as bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgpack

from microcosm.errors import Malformed
from microcosm.replica.ledger.dots import FIRST, Dot, DotRun
from microcosm.replica.ledger.evolution import dot_of, read, run_of

VERSION = 1


@dataclass(frozen=True, slots=True)
class Range:
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
    """Evolutions, as bytes."""

    evolutions: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """I have seen these, and hold them no more: removed, superseded or forgotten."""

    runs: tuple[DotRun, ...]


Message = Compare | Same | Want | Supply | Gone

_CODES: tuple[type[Message], ...] = (Compare, Same, Want, Supply, Gone)


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    match message:
        case Compare(ranges):
            content: Any = [
                [list(r.low), r.high and list(r.high), r.seen if isinstance(r.seen, bytes) else list(r.seen)]
                for r in ranges
            ]
        case Same(fingerprint):
            content = fingerprint
        case Want(runs) | Gone(runs):
            content = [list(run) for run in runs]
        case Supply(evolutions):
            content = list(evolutions)
    written: bytes = msgpack.packb([VERSION, _CODES.index(type(message)), content])
    return written


def decode(content: bytes) -> Message:
    """The message that bytes stand for. Raises `Malformed`, and nothing else.

    >>> decode(encode(Want((DotRun("phone", 1, 3, 9),))))
    Want(runs=(DotRun(replica='phone', incarnation=1, first=3, end=9),))
    """
    match read(content):
        case (version, *_) if version != VERSION:
            raise Malformed(f"a message of version {version!r}; this program speaks version {VERSION}")
        case (_, 0, tuple(ranges)):
            return Compare(tuple(_range(each) for each in ranges))
        case (_, 1, bytes(fingerprint)):
            return Same(fingerprint)
        case (_, 2, tuple(runs)):
            return Want(tuple(run_of(run) for run in runs))
        case (_, 3, tuple(evolutions)) if all(isinstance(each, bytes) for each in evolutions):
            return Supply(evolutions)
        case (_, 4, tuple(runs)):
            return Gone(tuple(run_of(run) for run in runs))
    raise Malformed("no message: its parts are not those of any kind")


def _range(value: object) -> Range:
    match value:
        case (low, high, bytes(seen)):
            return Range(_bound(low), None if high is None else dot_of(high), seen)
        case (low, high, tuple(runs)):
            seen_runs = tuple(run_of(run) for run in runs)
            return Range(_bound(low), None if high is None else dot_of(high), seen_runs)
    raise Malformed("no range of dots")


def _bound(value: object) -> Dot:
    return FIRST if value == tuple(FIRST) else dot_of(value)
