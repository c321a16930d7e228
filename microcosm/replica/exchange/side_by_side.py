"""Two replicas in one process exchange until they are level."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from microcosm.errors import WrongReplica
from microcosm.replica.exchange.messages import Same, decode
from microcosm.replica.questions import Replica

PATIENCE = 1000
"""So many rounds that bring nothing new are enough; each tells dozens of messages of what is gone."""


@dataclass(slots=True)
class Traffic:
    """What an exchange took: messages, their bytes, and the evolutions that were new to each side."""

    messages: int = 0
    bytes: int = 0
    new: tuple[int, int] = (0, 0)


def level(one: Replica, other: Replica) -> Traffic:
    """Exchange until neither has anything that the other lacks. Cost: what they differ in.

    >>> from microcosm.replica.store import Memory
    >>> phone, laptop = (Replica(Memory(), name, incarnation=1) for name in ("phone", "laptop"))
    >>> _ = phone.learn("unshare < upload"), laptop.learn("upload < view")
    >>> level(phone, laptop).new, laptop.online("unshare", "view")
    ((1, 1), Relation.BEFORE)
    """
    traffic = Traffic()
    before = len(one.seen()), len(other.seen())
    same = False
    idle = 0
    while not same:
        told = len(one.seen()) + len(other.seen())
        waiting = deque((other, one, message) for message in one.exchange.begin(other.name))
        while waiting:
            to, sender, message = waiting.popleft()
            traffic.messages += 1
            traffic.bytes += len(message)
            same = isinstance(decode(message), Same)
            waiting += ((sender, to, answer) for answer in to.exchange.receive(sender.name, message))
        idle = idle + 1 if len(one.seen()) + len(other.seen()) == told else 0
        if idle > PATIENCE:
            raise WrongReplica(f"{one.name} and {other.name} do not come to an end; is one a copy?")
    traffic.new = len(one.seen()) - before[0], len(other.seen()) - before[1]
    return traffic
