"""The lines that `replica serve` reads and writes: one JSON object each."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from microcosm.cli import exits, output
from microcosm.cli.replica.lines import LONGEST, Outlet, Untold, endpoint_of, lines, text_of, verdict_of
from microcosm.cli.replica.warnings import Warnings
from microcosm.errors import (
    DamagedJournal,
    JournalError,
    LockedJournal,
    LostJournal,
    MicrocosmError,
    ReplicaError,
)
from microcosm.files import write_text
from microcosm.givens.relation import Relation
from microcosm.replica.admission import Quota
from microcosm.replica.journal import Journal
from microcosm.replica.journal.reader import ReadOnlyStore
from microcosm.replica.ledger.forgetting import Forgetting
from microcosm.replica.network.keys import read_keys
from microcosm.replica.network.shared import ReplicaStore
from microcosm.replica.network.status import exposition
from microcosm.replica.node import ReplicaNode
from microcosm.replica.replica import Replica

Asked = dict[str, Any]

AHEAD = 64
"""So many lines are read before what they ask for is durable, and their answers are written."""

MOST_UNTOLD = 1024
"""While so many deliveries wait for somebody to read of them, no more messages are taken."""

LEAVE = 2.0
"""Seconds that the end waits for somebody to read what was told."""


class Serving:
    """A node, its commands and what it tells.

    Where the journal cannot be written any more (a full disk) it goes on with what can be read, answers every
    change with an error, and opens the journal again as soon as that is possible.
    """

    def __init__(self, path: str, keys: str, metrics: str | None, stay: bool) -> None:
        self._path, self._keys, self._metrics, self._stay = path, keys, metrics, stay
        self._node: ReplicaNode | None = None
        self._replica: Replica
        """That of the node, or while there is none what can be read of it."""
        self._outlet: Outlet
        self._address = ("", 0)
        self._why = ""
        """What keeps it from writing, if something does."""
        self._metrics_fault: str | None = None
        self._fault: BaseException | None = None
        self._warnings = Warnings(self._tell)
        self._whens: dict[tuple[str, str], None] = {}
        """Pairs that somebody waits for."""
        self._stop = asyncio.Event()
        self._ending = False
        """Whether lines are no longer done."""
        self._told = Untold(lambda line: self._tell(line, self._told.written))
        self._ahead = threading.Semaphore(AHEAD)
        self._reading: dict[str, Callable[[Asked], Asked]] = {
            "query": self._query,
            "events": lambda asked: {"events": self._replica.events},
            "digest": self._digest,
            "status": self._status,
            "stop": lambda asked: _nothing(self._end),
        }
        self._changing: dict[str, Callable[[ReplicaNode, Asked], Asked]] = {
            "local": lambda node, asked: {"dot": str(node.replica.local(text_of(asked["event"])))},
            "send": self._send,
            "learn": lambda node, asked: _dots(node.replica.learn(text_of(asked["given"]))),
            "remove": lambda node, asked: _dots(node.replica.remove(text_of(asked["given"]))),
            "when": self._when,
            "member": self._member,
            "evict": self._evict,
            "replace": self._replace,
            "keys": lambda node, asked: _nothing(self._read_keys),
            "compact": lambda node, asked: _nothing(node.replica.compact),
        }

    async def run(
        self,
        name: str | None,
        address: tuple[str, int],
        members: dict[str, tuple[str, int]],
        every: float,
        forgetting: Forgetting,
        quota: Quota | None = None,
    ) -> int:
        """Serve until told to stop; the exit code. Raises what stopped it otherwise."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._unforeseen)
        open_node = partial(
            ReplicaNode.open,
            interval=every,
            forgetting=forgetting,
            quota=quota,
            on_deliver=self._delivered,
            with_commit=self._told.note,
        )
        node = await open_node(self._path, name, keys=read_keys(self._keys), address=address, members=members)
        self._use(node)
        known = len(node.replica.divergences)
        self._outlet = Outlet(loop, self._stop.set)
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._stop.set)
            loop.add_signal_handler(signal.SIGHUP, self._hung_up)
            self._say_serving(node)
            for line in self._told.left(node.replica):
                self._tell(line)
            threading.Thread(target=self._read, args=(loop,), daemon=True).start()
            while True:
                await self._until_stopped(node, every)
                if not _passes(node.fault) or self._stop.is_set():
                    break
                found = await self._read_only(node, open_node, every)
                if found is None:
                    return exits.BAD_INPUT
                node = found
            await self._leave(node)
            return exits.REFUTED if len(self._replica.divergences) > known else exits.HOLDS
        finally:
            node.close()

    def _use(self, node: ReplicaNode) -> None:
        self._node, self._replica, self._why = node, node.replica, ""

    def _say_serving(self, node: ReplicaNode) -> None:
        host, port = self._address = node.address
        incarnation = node.replica.stream[1]
        self._tell({"event": "serving", "name": node.replica.name, "incarnation": incarnation} | {
            "address": f"{host}:{port}"
        })  # fmt: skip

    async def _leave(self, node: ReplicaNode) -> None:
        """An end in order; raises the fault where it is none."""
        if self._outlet.failed is not None:
            raise self._outlet.failed
        fault = self._fault or node.fault
        if fault is not None:
            await self._outlet.drained(LEAVE)
            raise fault
        if node.metrics()["evicted"]:
            raise ReplicaError(
                f"{node.replica.name!r} was evicted by the others; `replica renew` starts afresh"
            )
        await node.durable()
        if await self._outlet.drained(LEAVE) and not len(self._told):
            self._told.all_told(node.replica)

    async def _until_stopped(self, node: ReplicaNode, every: float) -> None:
        ended = {asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(node.stopped())}
        while True:
            self._keep_metrics()
            self._warnings.look(node)
            node.pause(len(self._told) >= MOST_UNTOLD)
            done, _ = await asyncio.wait(ended, timeout=every, return_when=asyncio.FIRST_COMPLETED)
            if done:
                break
        for each in ended:
            each.cancel()
        self._warnings.look(node)
        self._keep_metrics()

    async def _read_only(self, node: ReplicaNode, open_node: Any, every: float) -> ReplicaNode | None:
        """Answer what can be read until the journal can be written again; None when told to stop before."""
        self._node, self._why = None, str(node.fault)
        store = node.replica.store.store if isinstance(node.replica.store, ReplicaStore) else None
        try:
            # all of it is read now, by a reader that there is: on a full disk another one may have no room
            self._replica = Replica(ReadOnlyStore(store.reader if isinstance(store, Journal) else self._path))
            node.close()
            output.warn(f"read-only: {self._why}")
            self._tell({"event": "health", "health": "read-only", "why": self._why})
            while not self._stop.is_set():
                self._keep_metrics()
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(1.0, every)):
                        await self._stop.wait()
                        return None
                try:
                    fresh: ReplicaNode = await open_node(
                        self._path, keys=read_keys(self._keys), address=self._address
                    )
                except (MicrocosmError, OSError) as error:
                    self._why = str(error)
                    continue
                self._use(fresh)
                for left, right in [*self._whens]:
                    self._wait_for(fresh, left, right)
                self._tell({"event": "health", "health": fresh.health})
                self._say_serving(fresh)
                return fresh
        finally:
            node.close()
        return None

    def _unforeseen(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Something raised in a callback that nobody waits for: it is the fault of all this, and the end."""
        self._fault = self._fault or context.get("exception") or RuntimeError(context["message"])
        self._stop.set()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread, for standard input may be a file or a terminal."""
        with suppress(RuntimeError):  # the loop is closed
            try:
                for line in lines():
                    self._ahead.acquire()
                    loop.call_soon_threadsafe(self._do, line)
            except (OSError, ValueError) as error:
                loop.call_soon_threadsafe(output.warn, f"standard input cannot be read any more: {error}")
            if not self._stay:
                loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        """Stop, once everything so far is answered."""
        self._ending = True
        if self._node is None:
            self._stop.set()
        else:
            self._node.when_durable(lambda error: self._stop.set())

    def _do(self, line: str | None) -> None:
        """Do what a line says. It is answered once that is durable, after the lines before it."""
        answer: Asked = {}
        if line is None:
            answer = {"error": f"a line of more than {LONGEST:,} bytes was passed over"}
        elif line.strip() and not self._ending:
            answer = self._done(line)

        def then(error: BaseException | None) -> None:
            if not answer:
                self._ahead.release()
            elif error is None:
                self._tell(answer, self._ahead.release)
            else:
                self._tell({"re": answer.get("re"), "error": f"not done: {error}"}, self._ahead.release)

        if self._node is None:
            then(None)
        else:
            self._node.when_durable(then)

    def _done(self, line: str) -> Asked:
        """Do what a line says; the answer, whatever becomes of it."""
        asked: Any = None
        try:
            asked = json.loads(line)
            do = asked.get("do") if isinstance(asked, dict) else None
            if not isinstance(do, str) or do not in {**self._reading, **self._changing}:
                raise ReplicaError(f"`do` is one of {', '.join({**self._reading, **self._changing})}")
            if do in self._reading:
                answer = self._reading[do](asked)
            elif self._node is None:
                raise ReplicaError(f"read-only, so nothing was done: {self._why}")
            else:
                with self._node.together():
                    answer = self._changing[do](self._node, asked)
        except json.JSONDecodeError as error:
            expected = 'a line is an object such as {"do": "local", "event": "upload"}'
            answer = {"error": f"not JSON: {error.msg} at column {error.colno}; {expected}"}
        except (MicrocosmError, exits.UsageError) as error:
            answer = {"error": str(error)}
        except KeyError as error:
            answer = {
                "error": f"not understood: {error.args[0]!r} is missing" if error.args else "not understood"
            }
        except Exception as error:
            answer = {"error": f"not understood: {error or type(error).__name__}"}
        return {"re": asked.get("id") if isinstance(asked, dict) else None, **answer}

    def _tell(self, fields: Asked, written: Callable[[], object] | None = None) -> None:
        self._outlet.put(output.json_line(fields), written)

    # -- what may be asked -----------------------------------------------------------------------------

    def _send(self, node: ReplicaNode, asked: Asked) -> Asked:
        to = asked["to"]
        if not isinstance(to, str) and not (isinstance(to, list) and all(isinstance(n, str) for n in to)):
            raise TypeError("`to` is a name, or a list of names")
        if "payload64" in asked:
            content = base64.b64decode(text_of(asked["payload64"]), validate=True)
        else:
            content = text_of(asked["payload"]).encode()
        return {"message": node.replica.send(to if isinstance(to, str) else tuple(to), content)}

    def _query(self, asked: Asked) -> Asked:
        left, right = text_of(asked["left"]), text_of(asked["right"])
        if asked.get("offline"):
            return {"refuted": sorted(str(each) for each in self._replica.offline(left, right).refuted)}
        return {"verdict": verdict_of(self._replica.online(left, right))}

    def _when(self, node: ReplicaNode, asked: Asked) -> Asked:
        self._wait_for(node, text_of(asked["left"]), text_of(asked["right"]))
        return {}

    def _wait_for(self, node: ReplicaNode, left: str, right: str) -> None:
        def tell(left: str, right: str, verdict: Relation) -> None:
            self._whens.pop((left, right), None)
            line = {"event": "decided", "left": left, "right": right, "verdict": verdict_of(verdict)}
            node.when_durable(lambda error: None if error else self._tell(line))

        node.replica.when_decided(left, right, tell)
        if node.replica.subscriptions.waiting:
            self._whens[left, right] = None

    def _digest(self, asked: Asked) -> Asked:
        return {"digest": self._replica.digest(), "seen": len(self._replica.seen())}

    def _status(self, asked: Asked) -> Asked:
        node = self._node
        if node is None:
            counts = {f"replica {key}": value for key, value in self._replica.counts().items()}
            return {"health": "read-only", "fault": self._why, **counts}
        found = node.metrics()
        commits = found.pop("commits")
        waiting = [each._asdict() for each in node.blocked()]
        if self._metrics_fault is not None and found["health"] == "ok":
            found |= {"health": "degraded", "fault": self._metrics_fault}
        return {**found, "commits": commits.count, "commit seconds": commits.seconds, "waiting": waiting}

    def _member(self, node: ReplicaNode, asked: Asked) -> Asked:
        node.add_member(text_of(asked["name"]), endpoint_of(text_of(asked["address"])))
        return {"members": node.members}

    def _evict(self, node: ReplicaNode, asked: Asked) -> Asked:
        lost = node.evict(text_of(asked["name"]))
        return {"members": node.members, "lost": lost}

    def _replace(self, node: ReplicaNode, asked: Asked) -> Asked:
        name = text_of(asked["name"])
        where = endpoint_of(text_of(asked["address"])) if "address" in asked else node.where(name)
        lost = node.evict(name)
        node.add_member(name, where)
        return {"members": node.members, "lost": lost}

    def _read_keys(self) -> None:
        if self._node is not None:
            self._node.use_keys(read_keys(self._keys))

    # -- what happens ------------------------------------------------------------------------------------

    def _hung_up(self) -> None:
        try:
            self._read_keys()
        except MicrocosmError as error:
            output.warn(f"the keys stay as they were: {error}")

    def _delivered(self, sender: str, message: str, payload: bytes) -> None:
        """Told at least once; the event in the journal is there exactly once."""
        try:
            said: Asked = {"payload": payload.decode()}
        except UnicodeDecodeError:
            said = {"payload64": base64.b64encode(payload).decode()}
        self._told.add({"event": "delivered", "from": sender, "message": message, **said})
        assert self._node is not None
        self._node.when_durable(self._told.durable)
        if len(self._told) >= MOST_UNTOLD:
            self._node.pause(True)

    def _keep_metrics(self) -> None:
        node = self._node
        if self._metrics is None or (node is not None and node.fault is not None):
            return
        try:
            write_text(
                Path(self._metrics), exposition(self._replica, None if node is None else node.metrics())
            )
            self._metrics_fault = None
        except (OSError, MicrocosmError) as error:
            self._metrics_fault = f"metrics cannot be written: {error}"
            self._warnings.once(("metrics",), self._metrics_fault)


def _passes(fault: BaseException | None) -> bool:
    """Whether a fault is of a disk that may be well again, so that what can be read goes on being read."""
    if isinstance(fault, DamagedJournal | LockedJournal | LostJournal):
        return False
    return isinstance(fault, JournalError | OSError)


def _dots(dots: list[Any]) -> Asked:
    return {"dots": [str(dot) for dot in dots]}


def _nothing(what: Callable[[], None]) -> Asked:
    what()
    return {}
