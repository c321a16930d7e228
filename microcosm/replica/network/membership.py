"""Who a replica exchanges messages with, and whom it has given up.

A member is a name with an address. Whoever answers there first is bound to the name, by its
*incarnation*: the number of one unbroken memory. A replica that lost its memory is somebody else, and has to
say so with another incarnation; it is not let in before the old one is *fenced*: refused for good.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from microcosm.errors import ReplicaError

LONGEST_NAME = 200
"""In bytes of UTF-8."""


class Fence(NamedTuple):
    """An incarnation of a name of which nothing is ever accepted again."""

    name: str
    incarnation: int


@dataclass(slots=True)
class Member:
    """One peer, by the number that the protocol knows it by; never used for another."""

    number: int
    name: str
    host: str
    port: int
    incarnation: int | None = None
    """None until the first contact."""
    confirmed: set[Fence] = field(default_factory=set)
    """The fences that it is known to keep, durably."""
    boot: int = 0
    """Its newest start that is known, and the hash that it told of it."""
    life: bytes = b""
    starts_of: int | None = None
    """The incarnation that these are of, where this replica was renewed and has not met it since."""

    @property
    def remembered(self) -> int | None:
        """The incarnation that what is remembered of it is of; None if none was ever met."""
        return self.starts_of if self.incarnation is None else self.incarnation


class Membership:
    """Members by number and by name, and the fences. Every change comes from `Process`, which logs it."""

    def __init__(self) -> None:
        self.members: dict[int, Member] = {}
        self.named: dict[str, Member] = {}
        self.fences: dict[Fence, None] = {}
        """In the order in which they were learned."""
        self.next = 1

    def __contains__(self, number: object) -> bool:
        return number in self.members

    def add(self, name: str, host: str, port: int) -> Member:
        """A new member, or another address for one that is there."""
        member = self.named.get(name)
        if member is None:
            member = Member(self.next, name, host, port)
            self.next += 1
            self.members[member.number] = self.named[name] = member
        else:
            member.host, member.port = host, port
        return member

    def drop(self, number: int) -> None:
        """The number is nobody's any more."""
        del self.named[self.members.pop(number).name]

    def of(self, name: str) -> Member:
        """The member of a name. Raises `ReplicaError` where there is none."""
        try:
            return self.named[name]
        except KeyError:
            raise ReplicaError(f"{name!r} is no member; `replica member add` makes it one") from None

    def talks(self, number: int) -> bool:
        """Whether messages may go to a member: it keeps every fence that is kept here."""
        member = self.members.get(number)
        return member is not None and len(member.confirmed) == len(self.fences)

    def unconfirmed(self, number: int) -> list[Fence]:
        """The fences that a member is not known to keep, in the order in which they were learned here."""
        confirmed = self.members[number].confirmed
        return [fence for fence in self.fences if fence not in confirmed]

    def _check(self) -> None:
        assert {m.number: m.name for m in self.members.values()} == {
            m.number: n for n, m in self.named.items()
        }
        assert all(number < self.next for number in self.members)
        for member in self.members.values():
            assert member.confirmed <= self.fences.keys()
            assert member.incarnation is None or Fence(member.name, member.incarnation) not in self.fences


def check_name(name: str) -> str:
    """The name, if a replica can be called so. Raises `ReplicaError`."""
    if not name or len(name.encode()) > LONGEST_NAME or not name.isprintable():
        raise ReplicaError(f"{name!r} is no name for a replica: 1 to {LONGEST_NAME} bytes, printable")
    return name
