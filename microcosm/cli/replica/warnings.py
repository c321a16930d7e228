"""What somebody ought to look at while a replica is served: said once each, to people or as lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from microcosm.cli import output
from microcosm.replica.node import ReplicaNode


class Log:
    """Standard error: for people, or a JSON object a line with `time`, `level` and `message`."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json

    def warn(self, text: str) -> None:
        """What somebody ought to look at."""
        if self._json:
            self.put("warning", text)
        else:
            output.warn(output.printable(text))

    @staticmethod
    def put(level: str, text: str) -> None:
        """A line of JSON."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "level": level, "message": text})
        with suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)


class Warnings:
    """What was said already; `tell` writes a line of JSON."""

    def __init__(self, tell: Callable[[dict[str, Any]], None], log: Log) -> None:
        self._tell, self._log = tell, log
        self._jumps = 0
        self._warned: set[tuple[object, ...]] = set()

    def look(self, node: ReplicaNode) -> None:
        """Say what somebody ought to look at, once."""
        if node.jumps != self._jumps:
            self._jumps = node.jumps
            self._log.warn(
                "the time of day jumped; only keys begin and end by it: check the clock, nothing is lost"
            )
        for name, stranger in node.strangers():
            said = (
                f"another replica answers to the name {name} (incarnation {stranger}) and is not let in:"
                f" if it takes the place of the old one, `replica member replace`, or evict {name} and add it"
                " again; if not, give it another name"
            )
            if self.once(("stranger", name, stranger), said):
                self._tell({"event": "stranger", "member": name, "incarnation": stranger})
        for name, count in node.unreadable().items():
            self.once(
                ("unreadable", name),
                f"{count} packets in the name of {name} cannot be opened: it has another key file, or"
                " somebody else uses its name; `replica key` tells how keys are shared",
            )
        for name, (old, new) in node.moved().items():
            self.once(
                ("moved", name, new),
                f"{name} speaks from {new[0]}:{new[1]} and not from {old[0]}:{old[1]}; "
                "it is answered there too",
            )
        for name, why in node.suspects.items():
            said = f"{name} says what no replica of this program says: {why}; evict it, and change the keys"
            if self.once(("suspect", name), said):
                self._tell({"event": "suspect", "member": name, "why": why})
        for name, what in (node.replica.quotas.over if node.replica.quotas else {}).items():
            self.once(("over", name), f"{name} says {what}: what is too much waits; `--quota` bounds it")
        for name, what in node.replica.exchange.newer.items():
            self.once(
                ("newer", name),
                f"{name} has {what}: what it says so counts for nothing here; a newer program will read it",
            )
        for name in node.gone():
            said = f"{name} was evicted by another member; `replica member replace` lets it in again"
            if self.once(("gone", name), said):
                self._tell({"event": "evicted", "member": name})
        for name, messages in node.lost().items():
            said = f"{len(messages):,} messages to {name} were not acknowledged, and are not sent any more"
            if self.once(("lost", name, *messages), f"{said}: the line `lost` names them"):
                self._tell({"event": "lost", "member": name, "messages": messages})
        for found in node.divergences():
            if self.once(("diverged", *found.values()), found["why"]):
                self._tell({"event": "diverged", **found})

    def once(self, what: tuple[object, ...], text: str) -> bool:
        """Warn of something, unless that was done; whether it was not."""
        key = tuple(map(str, what))
        if key in self._warned:
            return False
        self._warned.add(key)
        self._log.warn(text)
        return True
