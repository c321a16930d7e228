"""An endpoint on a UDP socket, under asyncio: the only place of the network that knows sockets and clocks.

Packets that have come are taken in one go, then committed in one transaction, then answered: the more there
is to do, the more messages share a commit (group commit). Where the store is `slow` a commit is written in a
thread of its own. Meanwhile timers run, packets come and are taken, and what is durable already is sent
again; whatever follows from them is in the next commit, and leaves after it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from typing import Any

from microcosm.errors import ReplicaError
from microcosm.files import host_and_port
from microcosm.replica.network.durable import Durable
from microcosm.replica.network.endpoint import Address, Endpoint, Limits
from microcosm.replica.network.keys import Keyring
from microcosm.replica.network.process import MessageId
from microcosm.replica.network.write_ahead import Then, WriteBatch

BATCH = 16
"""At most so many packets are taken before the next commit."""

SOCKET_BYTES = 1 << 20


KNOWN_FOR, UNKNOWN_FOR = 60.0, 5.0
"""Seconds after which the address of a host is looked up again, and where none was found that answers."""

SocketAddress = tuple[Any, ...]
"""An address as a socket has it: host and port, and of IPv6 two numbers more, the second being the scope."""


def address_of(name: SocketAddress) -> Address:
    """Host and port, the host with its scope where there is one."""
    return f"{name[0]}%{name[3]}" if len(name) > 2 and name[3] else name[0], name[1]


def is_literal(host: str) -> bool:
    """Whether a host is an address, and no name that somebody would have to be asked for."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host.partition("%")[0])
            return True
    return False


class HostNames:
    """The addresses of hosts, looked up in threads: an answer may take half a minute. For a socket of IPv6
    those of IPv4 are mapped. Of several addresses the next one is tried each time that none answered.

    `found_one` is called in the loop's thread when one is known that was not.
    """

    def __init__(self, family: int, loop: asyncio.AbstractEventLoop, found_one: Callable[[], object]) -> None:
        self._family, self._loop, self._found_one = family, loop, found_one
        self._known: dict[Address, tuple[SocketAddress | None, float]] = {}
        self._looked_up: set[Address] = set()
        self._names: dict[Address, Address] = {}
        """The name of each address that was looked up."""
        self._heard: set[Address] = set()
        """Those from which something came since."""

    def found(self, address: Address, now: float) -> SocketAddress | None:
        """Where packets for an address go; None where it is not known, or not yet."""
        known = self._known.get(address)
        ours = (":" in address[0]) == (self._family == socket.AF_INET6)
        if known is None and ours and "%" not in address[0] and is_literal(address[0]):
            known = self._known[address] = (address, float("inf"))
        if (known is None or known[1] <= now) and address not in self._looked_up:
            with suppress(RuntimeError):  # there is no room for a thread: it is asked again
                threading.Thread(target=self._ask, args=(address,), daemon=True, name="host name").start()
                self._looked_up.add(address)
        return None if known is None else known[0]

    def named(self, source: SocketAddress) -> Address:
        """Where something came from, as it was given: by its name if it was one."""
        where = address_of(source)
        if where in self._names:
            self._heard.add(where)
        return self._names.get(where, where)

    def _ask(self, address: Address) -> None:
        found: list[SocketAddress] = []
        with suppress(OSError, UnicodeError):
            kind = self._family, socket.SOCK_DGRAM, 0, socket.AI_V4MAPPED | socket.AI_ALL
            found = [name for *_, name in socket.getaddrinfo(*address, *kind)]
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._resolved, address, found)

    def _resolved(self, address: Address, found: list[SocketAddress]) -> None:
        self._looked_up.discard(address)
        before = now = self._known.get(address, (None, 0.0))[0]
        heard = [each for each in found if address_of(each) in self._heard]
        if found and before not in heard:
            tried = found.index(before) + 1 if before in found else 0
            now = heard[0] if heard else found[tried % len(found)]
        until = KNOWN_FOR if heard or len(found) == 1 else UNKNOWN_FOR
        self._known[address] = (now, time.monotonic() + until)
        self._heard -= set(map(address_of, found))
        if now is not None and now != before:
            self._names[address_of(now)] = address
            self._found_one()


class Transport(AbstractContextManager["Transport"]):
    """Carries an endpoint; make one with `await Transport.open(…)`, inside a running loop.

    `send` returns once the message is in the endpoint; it is durable, and on its way, when the loop next
    turns. `fault` is what stopped it, if something did: a deliver function that raised, a store that failed.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        sock: socket.socket,
        after_flush: Callable[[], object] | None,
        before_flush: Callable[[], object] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.fault: BaseException | None = None
        self._socket = sock
        self._after_flush = after_flush
        self._before_flush = before_flush
        self._loop = asyncio.get_running_loop()
        self._names = HostNames(sock.family, self._loop, self._soon)
        self._thread = ThreadPoolExecutor(1, "journal")  # which begins with what it is first given
        self._writing: tuple[WriteBatch, Future[None]] | None = None
        self._apart = bool(getattr(endpoint.durable.store, "slow", False))
        self._timer: asyncio.TimerHandle | None = None
        self._flushing = False
        self._closed = False
        self._loop.add_reader(sock.fileno(), self._readable)
        self._soon()

    @classmethod
    async def open(
        cls,
        durable: Durable,
        ring: Keyring,
        address: Address = ("127.0.0.1", 0),
        *,
        limits: Limits | None = None,
        after_flush: Callable[[], object] | None = None,
        before_flush: Callable[[], object] | None = None,
    ) -> Transport:
        """Bind a UDP socket and begin. Raises `ReplicaError` where the address cannot be had.

        `after_flush` is called after every commit: what waits for something to be durable can go on; and when
        a fault has stopped it.
        `before_flush` is called before each; what it adds is committed along.
        """
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        where: SocketAddress = address
        if not is_literal(address[0]) or "%" in address[0]:
            with suppress(OSError, UnicodeError):  # then it is said below that there is no such address
                loop = asyncio.get_running_loop()
                [(family, *_, where), *_] = await loop.getaddrinfo(*address, type=socket.SOCK_DGRAM)
        sock = socket.socket(family, socket.SOCK_DGRAM)
        try:
            sock.setblocking(False)
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                sock.setsockopt(socket.SOL_SOCKET, option, SOCKET_BYTES)
            sock.bind(where)
        except (OSError, OverflowError, TypeError, UnicodeError) as error:  # the third: a name that is none
            sock.close()
            raise ReplicaError(f"cannot listen on {host_and_port(*address)}: {error}") from None
        endpoint = Endpoint(durable, ring, os.urandom, now=time.monotonic(), limits=limits)
        return cls(endpoint, sock, after_flush, before_flush)

    @property
    def address(self) -> Address:
        """Where it listens."""
        return address_of(self._socket.getsockname())

    def send(self, to: Iterable[str], payload: bytes) -> MessageId:
        """Send a message to members; its name. Raises `Busy` under back-pressure, never within a delivery."""
        self._usable()
        message = self.endpoint.durable.send(to, payload)
        self._soon()
        return message

    def add_member(self, name: str, address: Address) -> None:
        """A new member, or a new address of one; nothing is restarted."""
        self._usable()
        self.endpoint.add_member(name, address, time.monotonic())
        self._soon()

    def evict(self, name: str, heard: Collection[int] = ()) -> None:
        """Give a member up for good. `heard`: see `Durable.evict`."""
        self._usable()
        self.endpoint.evict(name, time.monotonic(), heard)
        self._soon()

    @property
    def busy(self) -> bool:
        """Whether a commit is being written, and what has come since is not part of it."""
        return self._writing is not None

    def metrics(self) -> dict[str, Any]:
        """A plain snapshot of what goes on: `Endpoint.status`."""
        return self.endpoint.status(time.monotonic())

    def flush(self) -> None:
        """Commit and send before this returns. What fails stops the transport, and is raised."""
        self._usable()
        self._flush(wait=True)
        if self.fault is not None:
            raise self.fault

    def flush_soon(self) -> None:
        """Commit and send when the loop next turns."""
        self._usable()
        self._soon()

    def when_durable(self, then: Then) -> None:
        """See `Durable.when_durable`: at once, or from the loop."""
        if self.fault is not None:
            then(self.fault)
        else:
            self.endpoint.durable.when_durable(then)

    def wait(self) -> None:
        """Return when nothing is being written; what has come since may not be durable."""
        if self.busy and not self._closed:
            try:
                for batch in self._finish(wait=True):
                    self._loop.call_soon(batch.settle, None)
            except BaseException as error:
                self._stop(error)

    def close(self) -> None:
        """Stop. What was committed goes on with the next `open`; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._socket.fileno())
        if self._timer is not None:
            self._timer.cancel()
        self._socket.close()
        self._thread.shutdown()
        with suppress(Exception):  # where it failed, that is the fault, or nobody knows of it
            for batch in self._finish(wait=True):
                batch.settle(None)
        self.endpoint.durable.give_up(self.fault or ReplicaError("the network is closed"))

    def __exit__(self, *_: object) -> None:
        self.close()

    def _usable(self) -> None:
        if self.fault is not None:
            raise ReplicaError(f"the network stopped: {self.fault}") from self.fault
        if self._closed:
            raise ReplicaError("the network is closed")

    def _soon(self) -> None:
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._flushing = False
        self._readable()  # first: what has come may make it needless to send something again

    def _readable(self) -> None:
        if not self._closed and self._receive():
            self._flush()

    def _receive(self) -> bool:
        """Take the packets that have come, not more than a batch of them; whether that went well."""
        endpoint, now, wall = self.endpoint, time.monotonic(), time.time()
        largest = endpoint.limits.mtu + 1
        try:
            for _ in range(BATCH):
                try:
                    packet, source = self._socket.recvfrom(largest)
                except (BlockingIOError, InterruptedError):
                    break
                except OSError:  # a destination that nobody listens at, reported late
                    continue
                endpoint.receive(packet, now, wall, self._names.named(source))
        except BaseException as error:
            self._stop(error)
            return False
        return True

    def _flush(self, wait: bool = False) -> None:
        """Commit what has happened, and send what may leave; with `wait` both are done on return."""
        endpoint = self.endpoint
        now = time.monotonic()
        settled: list[WriteBatch] = []
        try:
            settled += self._finish(wait)
            endpoint.poll(now)
            if self._before_flush is not None:
                self._before_flush()
            if not self.busy:
                settled += self._commit(now, wait)
            for address, packet in endpoint.leaving(now, time.time()):
                where = self._names.found(address, now)
                if where is None:
                    endpoint.drops["address unknown"] += 1
                    continue
                try:
                    self._socket.sendto(packet, where)
                except (BlockingIOError, InterruptedError):
                    endpoint.drops["socket full"] += 1
                except OSError:
                    endpoint.drops["not sent"] += 1
            for batch in settled:
                batch.settle(None)
            if self._after_flush is not None:
                self._after_flush()
        except BaseException as error:
            self._stop(error)
            return
        if not self._closed:  # by somebody who was told
            self._arm()

    def _commit(self, now: float, wait: bool) -> list[WriteBatch]:
        """Cut off what has happened, and write it or begin to; what is written."""
        endpoint = self.endpoint
        batch = endpoint.cut()
        if self._apart and batch.writes() and not wait:
            result = self._thread.submit(batch.write, endpoint.durable.store)
            self._writing = batch, result
            result.add_done_callback(self._written)
            return []
        batch.write(endpoint.durable.store)
        endpoint.settle(batch, now)
        return [batch]

    def _finish(self, wait: bool) -> list[WriteBatch]:
        """What has been written meanwhile, if it is; with `wait` it is on return."""
        if self._writing is None or not (wait or self._writing[1].done()):
            return []
        (batch, result), self._writing = self._writing, None
        result.result()
        self.endpoint.settle(batch, time.monotonic())
        return [batch]

    def _written(self, _: object) -> None:
        """In the thread: what was begun is written, or could not be."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._readable)

    def _arm(self) -> None:
        """Come back when there is something to do."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.busy and self.endpoint.durable.changing:
            return  # nothing can leave before that is written
        due = self.endpoint.next_time()
        if due != float("inf"):
            self._timer = self._loop.call_later(max(0.0, due - time.monotonic()), self._readable)

    def _stop(self, error: BaseException) -> None:
        """Nothing of the last transaction has happened; go on by opening it again."""
        self.fault = error
        self.close()
        if self._after_flush is not None:
            self._after_flush()
        if not isinstance(error, Exception):
            raise error
