"""The lines that `replica serve` reads and writes: one JSON object each."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from microcosm.cli import exits, output
from microcosm.cli.replica.lines import LONGEST, Untold, lines
from microcosm.errors import MicrocosmError, ReplicaError
from microcosm.files import write_text
from microcosm.givens.relation import Relation
from microcosm.replica.ledger.ledger import Forgetting
from microcosm.replica.network.keys import read_keys
from microcosm.replica.network.status import exposition
from microcosm.replica.node import ReplicaNode

Asked = dict[str, Any]

AHEAD = 64
"""So many lines are read before what they ask for is durable."""


class Serving:
    """A node, its commands and what it tells."""

    def __init__(self, path: str, keys: str, metrics: str | None, stay: bool) -> None:
        self._path, self._keys, self._metrics, self._stay = path, keys, metrics, stay
        self._node: ReplicaNode
        self._jumps = 0
        self._strangers: set[tuple[str, int]] = set()
        """Other incarnations of members that were warned of."""
        self._stop = asyncio.Event()
        self._ending = False
        """Whether lines are no longer done."""
        self._told = Untold(self._tell)
        self._ahead = threading.Semaphore(AHEAD)
        self._commands: dict[str, Callable[[Asked], Asked]] = {
            "local": self._local,
            "send": self._send,
            "learn": self._learn,
            "remove": self._remove,
            "query": self._query,
            "when": self._when,
            "events": lambda asked: {"events": self._node.replica.events},
            "digest": self._digest,
            "status": self._status,
            "member": self._member,
            "evict": self._evict,
            "keys": lambda asked: _nothing(self._read_keys),
            "compact": lambda asked: _nothing(self._node.replica.compact),
            "stop": lambda asked: _nothing(self._end),
        }

    async def run(
        self,
        name: str | None,
        address: tuple[str, int],
        members: dict[str, tuple[str, int]],
        every: float,
        forgetting: Forgetting,
    ) -> None:
        """Serve until told to stop. Raises what stopped it otherwise."""
        keys = read_keys(self._keys)
        self._node = node = await ReplicaNode.open(
            *(self._path, name),
            keys=keys,
            address=address,
            members=members,
            interval=every,
            forgetting=forgetting,
            on_deliver=self._delivered,
            with_commit=self._told.note,
        )
        loop = asyncio.get_running_loop()
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._stop.set)
            loop.add_signal_handler(signal.SIGHUP, self._hung_up)
            host, port = node.address
            replica = node.replica
            self._tell({"event": "serving", "name": replica.name, "incarnation": replica.stream[1]} | {
                "address": f"{host}:{port}"
            })  # fmt: skip
            for line in self._told.left(replica):
                self._tell(line)
            threading.Thread(target=self._read, args=(loop,), daemon=True).start()
            await self._until_stopped(every)
            if node.fault is not None:
                raise node.fault
            if self._status({})["evicted"]:
                raise ReplicaError(
                    f"{replica.name!r} was evicted by the others; `replica renew` starts afresh"
                )
            await node.durable()
            self._told.all_told(replica)
        finally:
            node.close()

    async def _until_stopped(self, every: float) -> None:
        ended = {asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(self._node.stopped())}
        while True:
            self._keep_metrics()
            if self._node.jumps != self._jumps:
                self._jumps = self._node.jumps
                output.warn(
                    "the time of day jumped; only keys begin and end by it: check the clock, nothing is lost"
                )
            self._warn_of_strangers()
            done, _ = await asyncio.wait(ended, timeout=every, return_when=asyncio.FIRST_COMPLETED)
            if done:
                break
        for each in ended:
            each.cancel()
        self._keep_metrics()

    def _warn_of_strangers(self) -> None:
        for name, stranger in self._node.strangers():
            if (name, stranger) not in self._strangers:
                self._strangers.add((name, stranger))
                output.warn(
                    f"another replica answers to the name {name} (incarnation {stranger}) and is not let in:"
                    f" if it takes the place of the old one, evict {name} and add it again;"
                    " if not, give it another name"
                )

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread, for standard input may be a file or a terminal."""
        with suppress(RuntimeError, ValueError):  # the loop, or the input, is closed
            for line in lines():
                self._ahead.acquire()
                loop.call_soon_threadsafe(self._do, line)
            if not self._stay:
                loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        """Stop, once everything so far is answered."""
        self._ending = True
        self._node.when_durable(lambda error: self._stop.set())

    def _do(self, line: str | None) -> None:
        """Do what a line says. It is answered once that is durable, after the lines before it."""
        answer: Asked = {}
        if line is None:
            answer = {"error": f"a line of more than {LONGEST:,} bytes was passed over"}
        elif line.strip() and not self._ending:
            answer = self._done(line)

        def then(error: BaseException | None) -> None:
            self._ahead.release()
            if answer and error is None:
                self._tell(answer)

        self._node.when_durable(then)

    def _done(self, line: str) -> Asked:
        """Do what a line says; the answer."""
        asked: Any = None
        try:
            asked = json.loads(line)
            if not isinstance(asked, dict) or asked.get("do") not in self._commands:
                raise ReplicaError(f"`do` is one of {', '.join(self._commands)}")
            with self._node.together():
                answer = self._commands[asked["do"]](asked)
        except MicrocosmError as error:
            answer = {"error": str(error)}
        except json.JSONDecodeError as error:
            expected = 'a line is an object such as {"do": "local", "event": "upload"}'
            answer = {"error": f"not JSON: {error.msg} at column {error.colno}; {expected}"}
        except (KeyError, ValueError, TypeError, RecursionError) as error:
            missing = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            answer = {"error": f"not understood: {missing}"}
        return {"re": asked.get("id") if isinstance(asked, dict) else None, **answer}

    def _tell(self, fields: Asked) -> None:
        output.emit(fields)
        output.finish()

    # -- what may be asked -----------------------------------------------------------------------------

    def _local(self, asked: Asked) -> Asked:
        return {"dot": str(self._node.replica.local(_text(asked["event"])))}

    def _send(self, asked: Asked) -> Asked:
        content = base64.b64decode(asked["payload64"]) if "payload64" in asked else asked["payload"].encode()
        to = asked["to"]
        return {"message": self._node.replica.send(to if isinstance(to, str) else tuple(to), content)}

    def _learn(self, asked: Asked) -> Asked:
        return {"dots": [str(dot) for dot in self._node.replica.learn(_text(asked["given"]))]}

    def _remove(self, asked: Asked) -> Asked:
        return {"dots": [str(dot) for dot in self._node.replica.remove(_text(asked["given"]))]}

    def _query(self, asked: Asked) -> Asked:
        left, right = _text(asked["left"]), _text(asked["right"])
        replica = self._node.replica
        if asked.get("offline"):
            return {"refuted": sorted(str(each) for each in replica.offline(left, right).refuted)}
        return {"verdict": _verdict(replica.online(left, right))}

    def _when(self, asked: Asked) -> Asked:
        def tell(left: str, right: str, verdict: Relation) -> None:
            line = {"event": "decided", "left": left, "right": right, "verdict": _verdict(verdict)}
            self._node.when_durable(lambda error: None if error else self._tell(line))

        self._node.replica.when_decided(_text(asked["left"]), _text(asked["right"]), tell)
        return {}

    def _digest(self, asked: Asked) -> Asked:
        replica = self._node.replica
        return {"digest": replica.digest(), "seen": len(replica.seen())}

    def _status(self, asked: Asked) -> Asked:
        found = self._node.metrics()
        commits = found.pop("commits")
        waiting = [each._asdict() for each in self._node.blocked()]
        return {**found, "commits": commits.count, "commit seconds": commits.seconds, "waiting": waiting}

    def _member(self, asked: Asked) -> Asked:
        self._node.add_member(_text(asked["name"]), endpoint_of(_text(asked["address"])))
        return {"members": self._node.members}

    def _evict(self, asked: Asked) -> Asked:
        self._node.evict(_text(asked["name"]))
        return {"members": self._node.members}

    def _read_keys(self) -> None:
        self._node.use_keys(read_keys(self._keys))

    # -- what happens ------------------------------------------------------------------------------------

    def _hung_up(self) -> None:
        try:
            self._read_keys()
        except MicrocosmError as error:
            output.warn(f"the keys stay as they were: {error}")

    def _delivered(self, sender: str, message: str, payload: bytes) -> None:
        """Untold at least once; the event in the journal is there exactly once."""
        try:
            said: Asked = {"payload": payload.decode()}
        except UnicodeDecodeError:
            said = {"payload64": base64.b64encode(payload).decode()}
        self._told.add({"event": "delivered", "from": sender, "message": message, **said})
        self._node.when_durable(self._told.durable)

    def _keep_metrics(self) -> None:
        if self._metrics is not None and self._node.fault is None:
            write_text(Path(self._metrics), exposition(self._node.replica, self._node.metrics()))


def _nothing(what: Callable[[], None]) -> Asked:
    what()
    return {}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _verdict(relation: Relation) -> str | None:
    return None if relation is Relation.SILENT else relation.value


def endpoint_of(address: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, `[::1]:PORT` with an address of IPv6. Raises `UsageError`."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise exits.UsageError(f"{address!r} is no HOST:PORT, such as 192.0.2.7:7001")
    return host, int(port)
