"""Evolutions: what happens to what a replica knows, each with a dot, and as bytes.

Worlds of Events, section 5 and Definition 6.1, as calculus among several devices: an event is appended to the
chain of the replica where it happens; a correspondence is added, or put in the place of others (an update),
or taken away wherever it had been seen; and a replica says what it has forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgpack

from microcosm.errors import Malformed, NewerVersion
from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica.ledger.dots import LAST_INCARNATION, LAST_NUMBER, Dot, DotRun
from microcosm.text.statement import unfit

VERSION = 1
"""The first member of what is written."""

LARGEST = 1 << 16
"""An evolution has at most so many bytes."""

SIGNS = {relation.value: relation for relation in Relation if relation.value in ("<", "||", "<>", "!<")}
"""What a correspondence may state."""


@dataclass(frozen=True, slots=True)
class Append:
    """`event` happened at the replica of the dot, after all its events with smaller numbers."""

    dot: Dot
    event: str
    at: float | None = None
    """When, in seconds, by a clock that forgetting by age knows; nothing else looks at it."""


@dataclass(frozen=True, slots=True)
class Add:
    """A correspondence is given, in the place of what the dots in `replaces` added (an update; or nothing).

    `places` are the dots of the events of `fact`, left and right, where the replica knew them: whoever
    has forgotten one of these takes the fact no more.
    """

    dot: Dot
    fact: Correspondence
    replaces: tuple[Dot, ...] = ()
    places: tuple[Dot | None, Dot | None] = (None, None)
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """What the dots in `targets` added is given no more; what was added unseen meanwhile stays."""

    dot: Dot
    targets: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Forget:
    """The replica of the dot has forgotten the events of each run's stream, up to the run's end."""

    dot: Dot
    marks: tuple[DotRun, ...]


@dataclass(frozen=True, slots=True)
class NewerEvolution:
    """What a newer version of this program says: kept and handed on as it is; nothing follows from it."""

    dot: Dot
    content: bytes

    @property
    def version(self) -> int:
        """Of which version it is."""
        found: int = read(self.content)[0]
        return found


Evolution = Append | Add | Remove | Forget | NewerEvolution

_dot = tuple.__new__

_CODES: tuple[type[Evolution], ...] = (Append, Add, Remove, Forget)
"""The code of a kind is its place here: append only."""


RESERVED = ("c:", "d:")
"""How the names of events begin that only messages have."""


def named(evolution: Evolution) -> tuple[Dot, ...]:
    """The dots that an evolution names: its own, and those that it takes away."""
    match evolution:
        case Add(dot, _, replaces):
            return (dot, *replaces)
        case Remove(dot, targets):
            return (dot, *targets)
    return (evolution.dot,)


def reserved(event: str) -> bool:
    """Whether only a message can give an event its name: `c:M` its sending, `d:NAME:M` its delivery.

    >>> reserved("c:phone.1.7"), reserved("d:laptop:phone.1.7"), reserved("d"), reserved("dc:")
    (True, True, False, False)
    """
    return event.startswith(RESERVED)


def speaks_for_another(append: Append) -> bool:
    """Whether an event that has the name of a sending or a delivery is not one of its replica."""
    dot, event = append.dot, append.event
    return event != f"c:{dot}" and not event.startswith(f"d:{dot.replica}:")


def encode(evolution: Evolution) -> bytes:
    """The bytes of an evolution.

    >>> decode(encode(Append(Dot("phone", 1, 7), "unshare")))
    Append(dot=Dot(replica='phone', incarnation=1, number=7), event='unshare', at=None)
    """
    match evolution:
        case Append(dot, event, at):
            parts: list[Any] = [event, at]
        case Add(dot, fact, replaces, places, at):
            stated = [fact.left, fact.relation.value, fact.right, fact.source]
            parts = [stated, replaces, places, at]
        case Remove(dot, targets):
            parts = [targets]
        case Forget(dot, marks):
            parts = [marks]
        case NewerEvolution():
            return evolution.content
    written: bytes = msgpack.packb([VERSION, _CODES.index(type(evolution)), dot, *parts])
    return written


def decode(content: bytes) -> Evolution:
    """The evolution that bytes stand for, as far as it is read. Raises `Malformed`, and nothing else.

    Whatever its version, an evolution begins with version, kind and dot; `NewerVersion` where it does not.
    """
    if len(content) > LARGEST:
        raise Malformed(f"an evolution of {len(content)} bytes; at most {LARGEST} are read")
    parts = read(content)
    if type(parts) is tuple and parts and parts[0] != VERSION:
        newer = other_version("an evolution", parts[0], VERSION)
        if isinstance(newer, NewerVersion) and len(parts) > 2 and type(parts[1]) is int:
            return NewerEvolution(dot_of(parts[2]), content)
        raise newer
    match parts:
        case (_, 0, dot, str(event), at):
            return Append(dot_of(dot), _name(event), _time(at))
        case (_, 1, dot, fact, replaces, (left, right), at):
            places = (None if left is None else dot_of(left), None if right is None else dot_of(right))
            return Add(dot_of(dot), _fact(fact), _ungrouped(replaces), places, _time(at))
        case (_, 2, dot, targets):
            return Remove(dot_of(dot), _ungrouped(targets))
        case (_, 3, dot, tuple(marks)):
            return Forget(dot_of(dot), tuple(map(run_of, marks)))
    raise Malformed("no evolution: its parts are not those of any kind")


def other_version(what: str, found: object, ours: int) -> Malformed:
    """What to raise for a version that is not ours: `NewerVersion` where a later program may have made it."""
    later = type(found) is int and ours < found < 1 << 16
    message = f"{what} of version {found!r}; this program reads version {ours}"
    return NewerVersion(message) if later else Malformed(message)


def read(content: bytes) -> Any:
    """What MessagePack makes of bytes, arrays as tuples. Raises `Malformed`, and nothing else."""
    try:
        return msgpack.unpackb(content, use_list=False)
    except Exception as error:  # msgpack raises nine kinds, of three families, and RecursionError
        raise Malformed(f"cannot be read: {type(error).__name__}") from None


def dot_of(value: object) -> Dot:
    """A dot as MessagePack has it. Raises `Malformed`."""
    if type(value) is tuple and len(value) == 3:  # most of what is read are dots: no pattern, for speed
        replica, incarnation, number = value
        whole = type(replica) is str and type(incarnation) is int and type(number) is int
        if whole and 0 < number <= LAST_NUMBER and 0 < incarnation <= LAST_INCARNATION:
            _name(replica)
            return _dot(Dot, value)
    raise Malformed("no dot")


def run_of(value: object) -> DotRun:
    """A run of dots as MessagePack has it. Raises `Malformed`."""
    if type(value) is tuple and len(value) == 4:
        dot, end = dot_of(value[:3]), value[3]
        if type(end) is int and dot.number < end <= LAST_NUMBER + 1:
            return DotRun(*dot, end)
    raise Malformed("no run of dots")


def _fact(value: object) -> Correspondence:
    if type(value) is tuple and len(value) == 4:
        left, sign, right, source = value
        named = type(left) is str and type(right) is str and type(sign) is str and sign in SIGNS
        if named and left != right and (source is None or type(source) is str):
            return Correspondence(_name(left), SIGNS[sign], _name(right), source)
    raise Malformed("no correspondence")


def _name(name: str) -> str:
    if name and name.isascii():
        return name
    if unfit(name) is not None:
        raise Malformed("a name that no event can have")
    return name


def _time(value: object) -> float | None:
    if value is None or (type(value) in (int, float) and value == value):  # noqa: PLR0124 (not a number)
        return value  # type: ignore[return-value]
    raise Malformed("no time")


def _ungrouped(value: object) -> tuple[Dot, ...]:
    if not isinstance(value, tuple):
        raise Malformed("no dots")
    return tuple(dot_of(each) for each in value) if value else ()
