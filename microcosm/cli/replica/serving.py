"""The lines that `replica serve` reads and writes: one JSON object each."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from microcosm.cli import exits, output
from microcosm.cli.options import endpoint_of
from microcosm.cli.replica import lines
from microcosm.cli.replica.lines import ControlSocket, Outlet, field
from microcosm.cli.replica.monitor import Interfaces, Log, Monitor, Warnings, passes
from microcosm.errors import MicrocosmError, ReplicaError
from microcosm.files import host_and_port
from microcosm.givens.relation import Relation
from microcosm.replica.admission import Quota
from microcosm.replica.journal import Journal, Reader
from microcosm.replica.ledger.forgetting import Forgetting
from microcosm.replica.network.keys import read_keys
from microcosm.replica.node import ReplicaNode
from microcosm.replica.replica import Replica
from microcosm.replica.store import ReplicaStore

Fields = dict[str, Any]

LONGEST_ID = 1000
"""Characters of an `id` at most, so that it is not nested too deeply to be written again."""


class Serving:
    """A node, its commands and what it tells.

    Where the journal cannot be written any more (a full disk) it goes on with what can be read, answers every
    change with an error, and opens the journal again as soon as that is possible.
    """

    def __init__(self, path: str, keys: str, stay: bool, interfaces: Interfaces) -> None:
        self._path, self._keys, self._stay, self._interfaces = path, keys, stay, interfaces
        self._log = Log(interfaces.log == "json")
        self._node: ReplicaNode | None = None
        self._replica: Replica
        """That of the node, or while there is none what can be read of it."""
        self._outlet: Outlet
        self._address, self._http = ("", 0), ""
        self._why = ""
        """What keeps it from writing, if something does."""
        self._fault: BaseException | None = None
        self._warnings = Warnings(self._print, self._log)
        self._monitor = Monitor(path, interfaces.metrics, lambda: (self._replica, self._standing()))
        self._control: ControlSocket | None = None
        self._whens: dict[tuple[str, str], None] = {}
        """Pairs that somebody waits for."""
        self._stop = asyncio.Event()
        self._ending = False
        """Whether lines are no longer done."""
        self._pending = lines.PendingLines(lambda line: self._print(line, self._written))
        self._ahead = threading.Semaphore(lines.AHEAD)
        self._reading: dict[str, Callable[[Fields], Fields]] = {
            "query": self._query,
            "events": lambda asked: {"events": self._replica.events},
            "digest": lambda asked: {"digest": self._replica.digest(), "seen": self._replica.seen().count},
            "status": self._status,
            "stop": lambda asked: _nothing(self._end),
        }
        self._changing: dict[str, Callable[[ReplicaNode, Fields], Fields]] = {
            "local": lambda node, asked: {"dot": str(node.replica.local(field(asked["event"], str)))},
            "send": lambda node, asked: {"message": node.replica.send(*lines.letter_of(asked))},
            "learn": lambda node, asked: _dots(node.replica.learn(field(asked["given"], str))),
            "remove": lambda node, asked: _dots(node.replica.remove(field(asked["given"], str))),
            "when": self._when,
            "member": self._member,
            "evict": self._evict,
            "replace": self._replace,
            "lost": lambda node, asked: {"lost": node.lost(), "undelivered": node.undelivered()},
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
        early = asyncio.Event()
        loop.add_signal_handler(signal.SIGHUP, early.set)  # until here it ends the process
        open_node = partial(
            ReplicaNode.open,
            interval=every,
            forgetting=forgetting,
            quota=quota,
            on_deliver=self._delivered,
            with_commit=self._pending.note,
        )
        node = await open_node(self._path, name, keys=read_keys(self._keys), address=address, members=members)
        self._use(node)
        known = node.replica.divergences
        self._outlet = Outlet(loop, self._stop.set)
        try:
            if self._interfaces.http is not None:
                self._http = host_and_port(*await self._monitor.open(self._interfaces.http))
            if self._interfaces.socket is not None:
                self._control = ControlSocket(self._interfaces.socket, self._do)
                await self._control.open()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._stop.set)
            loop.add_signal_handler(signal.SIGHUP, self._hung_up)
            if early.is_set():
                self._hung_up()
            self._say_serving(node)
            for line in self._pending.left(node.replica):
                self._print(line)
            ended = (lambda: None) if self._stay else self._end
            reading = (loop, self._ahead, lambda line: self._do(line, self._answer), ended, self._log.warn)
            threading.Thread(target=lines.read_aside, args=reading, daemon=True).start()
            while True:
                await self._until_stopped(node, every)
                if not passes(node.fault) or self._stop.is_set():
                    break
                found = await self._read_only(node, open_node, every)
                if found is None:
                    return exits.BAD_INPUT
                node = found
            await self._leave(node)
            return exits.holding(all(each in known for each in self._replica.divergences))
        finally:
            self._monitor.close()
            if self._control is not None:
                self._control.close()
            node.close()

    def _use(self, node: ReplicaNode) -> None:
        self._node, self._replica, self._why = node, node.replica, ""

    def _say_serving(self, node: ReplicaNode) -> None:
        self._address = node.address
        incarnation = node.replica.stream[1]
        fields = {"event": "serving", "name": node.replica.name, "incarnation": incarnation}
        fields["address"] = host_and_port(*node.address)
        self._print({**fields, **({"http": self._http} if self._http else {})})

    async def _leave(self, node: ReplicaNode) -> None:
        """An end in order; raises the fault where it is none."""
        if self._outlet.failed is not None:
            raise self._outlet.failed
        fault = self._fault or node.fault
        if fault is not None:
            await self._outlet.drained(lines.LEAVE)
            raise fault
        if node.metrics()["evicted"]:
            raise ReplicaError(
                f"{node.replica.name!r} was evicted by the others; `replica renew` starts afresh"
            )
        await node.durable()
        if await self._outlet.drained(lines.LEAVE) and not self._pending.waits:
            self._pending.all_written(node.replica)

    async def _until_stopped(self, node: ReplicaNode, every: float) -> None:
        ended = {asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(node.stopped())}
        while True:
            self._keep_metrics()
            self._warnings.look(node)
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
            self._replica = Replica(store.reader if isinstance(store, Journal) else Reader(self._path))
            node.close()
            self._log.warn(f"read-only: {self._why}")
            self._print({"event": "health", "health": "read-only", "why": self._why})
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
                self._pending.tell_again(fresh.replica)
                for left, right in [*self._whens]:
                    self._wait_for(fresh, left, right)
                self._print({"event": "health", "health": fresh.health})
                self._say_serving(fresh)
                return fresh
        finally:
            node.close()
        return None

    def _unforeseen(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Something raised in a callback that nobody waits for: it is the fault of all this, and the end.

        But for a connection for which there is no file: asyncio tries again.
        """
        if "socket" in context:
            self._warnings.once(("accept",), f"connections wait: {context['exception']}")
            return
        self._fault = self._fault or context.get("exception") or RuntimeError(context["message"])
        self._stop.set()

    def _end(self) -> None:
        """Stop, once everything so far is answered."""
        self._ending = True
        if self._node is None:
            self._stop.set()
        else:
            self._node.when_durable(lambda error: self._stop.set())

    def _answer(self, answer: Fields) -> None:
        """On standard output."""
        if answer:
            self._outlet.put(output.json_line(answer), self._ahead.release)
        else:
            self._ahead.release()

    def _do(self, line: str | None, answered: Callable[[Fields], object]) -> None:
        """Do what a line says. It is answered once that is durable, after the lines before it."""
        answer: Fields = {}
        if line is None:
            answer = {"error": f"a line of more than {lines.LONGEST:,} bytes was passed over"}
        elif line.strip() and not self._ending:
            answer = self._done(line)

        def then(error: BaseException | None) -> None:
            if answer and error is not None:
                answered({"re": answer.get("re"), "error": f"not done: {error}"})
            else:
                answered(answer)

        if self._node is None:
            then(None)
        else:
            self._node.when_durable(then)

    def _done(self, line: str) -> Fields:
        """Do what a line says; the answer, whatever becomes of it."""
        asked: object = None
        try:
            request = json.loads(line, parse_constant=lines.finite, parse_float=lines.finite)
            if isinstance(request, dict):
                if len(json.dumps(request.get("id"))) > LONGEST_ID:
                    raise ReplicaError(f"an `id` has at most {LONGEST_ID:,} characters")
                asked = request.get("id")
            line.encode()
            do = request.get("do") if isinstance(request, dict) else None
            if not isinstance(do, str) or do not in {**self._reading, **self._changing}:
                raise ReplicaError(f"`do` is one of {', '.join({**self._reading, **self._changing})}")
            if do in self._reading:
                answer = self._reading[do](request)
            elif self._node is None:
                raise ReplicaError(f"read-only, so nothing was done: {self._why}")
            else:
                with self._node.together():
                    answer = self._changing[do](self._node, request)
        except json.JSONDecodeError as error:
            expected = 'a line is an object such as {"do": "local", "event": "upload"}'
            answer = {"error": f"not JSON: {error.msg} at column {error.colno}; {expected}"}
        except UnicodeEncodeError:
            answer = {"error": "not understood: bytes that are no UTF-8, or half of a surrogate pair"}
        except (MicrocosmError, exits.UsageError) as error:
            answer = {"error": str(error)}
        except KeyError as error:
            answer = {
                "error": f"not understood: {error.args[0]!r} is missing" if error.args else "not understood"
            }
        except Exception as error:
            answer = {"error": f"not understood: {error or type(error).__name__}"}
        return {"re": asked, **answer}

    def _print(self, fields: Fields, written: Callable[[], object] | None = None) -> None:
        line = output.json_line(fields)
        self._outlet.put(line, written)
        if self._control is not None:
            self._control.broadcast(line)

    # -- what may be asked -----------------------------------------------------------------------------

    def _query(self, request: Fields) -> Fields:
        left, right = field(request["left"], str), field(request["right"], str)
        if field(request.get("offline", False), bool):
            return {"refuted": sorted(str(each) for each in self._replica.offline(left, right).refuted)}
        return {"verdict": lines.verdict_of(self._replica.online(left, right))}

    def _when(self, node: ReplicaNode, request: Fields) -> Fields:
        self._wait_for(node, field(request["left"], str), field(request["right"], str))
        return {}

    def _wait_for(self, node: ReplicaNode, left: str, right: str) -> None:
        def tell(left: str, right: str, verdict: Relation) -> None:
            def durable(error: BaseException | None) -> None:
                if error is None:
                    self._whens.pop((left, right), None)
                    self._print(line)

            line = {"event": "decided", "left": left, "right": right, "verdict": lines.verdict_of(verdict)}
            node.when_durable(durable)

        self._whens[left, right] = None
        try:
            node.replica.when_decided(left, right, tell)
        except MicrocosmError:
            del self._whens[left, right]
            raise

    def _status(self, request: Fields) -> Fields:
        found = self._standing()
        if self._node is None:
            return found
        commits = found.pop("commits")
        waiting = [each._asdict() for each in self._node.blocked()]
        return {**found, "commits": commits.count, "commit seconds": commits.seconds, "waiting": waiting}

    def _standing(self) -> Fields:
        """How it is: `ReplicaNode.metrics`, or what can be said without a node."""
        if self._node is None:
            counts = {f"replica {key}": value for key, value in self._replica.counts().items()}
            return {"health": "read-only", "fault": self._why, **counts}
        found = self._node.metrics()
        if self._monitor.fault is not None and found["health"] == "ok":
            found |= {"health": "degraded", "fault": self._monitor.fault}
        return found

    def _member(self, node: ReplicaNode, request: Fields) -> Fields:
        node.add_member(field(request["name"], str), endpoint_of(field(request["address"], str)))
        return {"members": node.members}

    def _evict(self, node: ReplicaNode, request: Fields) -> Fields:
        lost = node.evict(field(request["name"], str))
        return {"members": node.members, "lost": lost}

    def _replace(self, node: ReplicaNode, request: Fields) -> Fields:
        where = endpoint_of(field(request["address"], str)) if "address" in request else None
        known = request.get("incarnation")
        known = None if known is None else field(known, int)
        lost = node.replace(field(request["name"], str), where, known)
        return {"members": node.members, "lost": lost}

    def _read_keys(self) -> None:
        if self._node is not None:
            self._node.use_keys(read_keys(self._keys))

    # -- what happens ------------------------------------------------------------------------------------

    def _hung_up(self) -> None:
        try:
            self._read_keys()
        except MicrocosmError as error:
            self._log.warn(f"the keys stay as they were: {error}")

    def _delivered(self, sender: str, message: str, payload: bytes) -> None:
        """Told at least once; the event in the journal is there exactly once."""
        self._pending.add(
            {"event": "delivered", "from": sender, "message": message, **lines.payload_fields(payload)}
        )
        assert self._node is not None
        self._node.when_durable(self._pending.durable)
        if self._pending.full:
            self._node.pause(True)

    def _written(self) -> None:
        """The oldest delivery that was told has been written."""
        self._pending.written()
        if self._node is not None:
            self._node.pause(self._pending.full)

    def _keep_metrics(self) -> None:
        if self._node is None or self._node.fault is None:
            self._monitor.keep()
            if self._monitor.fault is not None:
                self._warnings.once(("metrics",), self._monitor.fault)


def _dots(dots: list[Any]) -> Fields:
    return {"dots": [str(dot) for dot in dots]}


def _nothing(what: Callable[[], None]) -> Fields:
    what()
    return {}
