"""Messages that are given up with a member: those that it had not acknowledged, and where it was.

Who evicts a member may be told at once, but eviction spreads: others hear of it, and let go as well. So it is
noted, in the commit that lets it go, and stays so until somebody has asked for it. The same is done for a
replica that begins another incarnation, whose messages that were under way nobody sends any more.
"""

from __future__ import annotations

import json
from typing import Any

from microcosm.replica.network.durable import Durable
from microcosm.replica.network.process import Process
from microcosm.replica.network.status import blocked
from microcosm.replica.replica import Replica

NOTE = "let go"

MOST = 10_000
"""So many messages to a member are named at most, the newest."""


class LettingGo:
    """Notes what a process lets go; to be a `Durable`'s `letting_go`."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    def __call__(self, durable: Durable, process: Process, name: str) -> None:
        """A member is given up, or as `process` the incarnation before this one. Cost: the buffers."""
        messages = sorted({each.message for each in blocked(process) if each.to == name})
        if not messages and process is not durable.process:
            return
        found = _noted(self._replica)
        member = process.membership.of(name)
        before = found.get(name, {}).get("messages", [])
        found[name] = {"address": [member.host, member.port], "messages": [*before, *messages][-MOST:]}
        _write(self._replica, durable, found)


def lost(replica: Replica) -> dict[str, list[str]]:
    """By the member: messages to it that were let go, and that it is not known to have got."""
    found = {
        name: [each for each in about["messages"] if not replica.happened(f"d:{name}:{each}")]
        for name, about in _noted(replica).items()
    }
    return {name: messages for name, messages in found.items() if messages}


def taken(replica: Replica, durable: Durable, name: str) -> list[str]:
    """What `lost` has for a member, which somebody is told now; forgotten with the next flush."""
    messages = lost(replica).get(name, [])
    found = _noted(replica)
    if found.pop(name, None) is not None:
        _write(replica, durable, found)
    return messages


def gone(replica: Replica, process: Process) -> dict[str, tuple[str, int]]:
    """Members that others have evicted, and where they were: they may come back as another incarnation."""
    named = process.membership.named
    return {
        name: (about["address"][0], about["address"][1])
        for name, about in _noted(replica).items()
        if name not in named
    }


def undelivered(replica: Replica, process: Process) -> list[str]:
    """The messages of this replica, in any incarnation, which nobody is known to have got, and which are not
    under way. Cost: the events."""
    mark, under_way = f":{replica.name}.", {each.message for each in blocked(process)}
    events = [event for event in replica.events if event.startswith(("c:", "d:"))]
    delivered = {event[event.rindex(mark) + 1 :] for event in events if event[0] == "d" and mark in event}
    sent = (event[2:] for event in events if event[0] == "c" and event[1:].startswith(mark))
    return [each for each in sent if each not in delivered and each not in under_way]


def _noted(replica: Replica) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(replica.noted(NOTE) or b"{}")
    return found


def _write(replica: Replica, durable: Durable, found: dict[str, Any]) -> None:
    content = json.dumps(found).encode()
    durable.include(NOTE, content)
    replica.recorded(NOTE, content)
