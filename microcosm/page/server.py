"""The page with a session behind it, on this machine only: who may ask, what, and how much at once.

The page itself is served to whoever asks, and is empty: what the log says is behind the token, as is all
else. The token stands in the fragment of the address, which no browser sends anywhere; the page takes it from
there, and says it with each request.

What is asked is done by one thread (`Turns`), a piece at a time, in the order in which it was asked for, each
for so long at most. That thread is the main one, where an interrupt (Ctrl-C) ends whatever is computed,
wherever it is. What takes too long is ended by an alarm in the same way, by an exception that comes from
outside: what the one may leave half made, the other may, and whoever hands in work says how to recover from
it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from hmac import compare_digest
from math import inf
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from time import monotonic
from typing import Any, Protocol, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from microcosm.errors import MicrocosmError, Undefined
from microcosm.givens.exact import json_text
from microcosm.page.write import shell

Result = TypeVar("Result")

MOST_BYTES = 64 << 10
"""A request may have so many bytes."""

EVERY = 0.25
"""Seconds between two looks whether something is new to be told."""

HOSTS = ("127.0.0.1", "localhost")

CONNECTIONS = 64
"""At most so many are held open; more are answered 503 by the server itself."""


class Backend(Protocol):
    """What answers a served page: a session, handed in by whoever has one."""

    @property
    def version(self) -> int:
        """Another number wherever what the page shows is another."""

    def answer(self, line: str) -> dict[str, Any]:
        """What is answered to a line, as JSON; never raises but when it is interrupted."""

    def recover(self) -> None:
        """Forget what an interrupt may have left half made."""

    @property
    def note(self) -> str | None:
        """What the page is to say of how it goes on, if it should."""

    def contents(self) -> dict[str, Any]:
        """What the page shows: its `head` and its `columns`.

        Raises `MicrocosmError` where it shows nothing.
        """


def application(backend: Backend, turns: Turns, token: str) -> Starlette:
    """The four paths. What is asked is done in its turn by whoever runs `turns`.

    Cost: nothing but what is asked for.
    """
    page, policy = shell()
    headers = {
        "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    paths = _Endpoints(backend, turns, page)
    routes = [
        Route("/", paths.root),
        Route("/line", paths.line, methods=["POST"]),
        Route("/columns", paths.columns),
        Route("/events", paths.events),
    ]
    return Starlette(routes=routes, middleware=[Middleware(_Guard, token=token, headers=headers)])


class _Endpoints:
    def __init__(self, backend: Backend, turns: Turns, page: str) -> None:
        self._backend, self._turns, self._page = backend, turns, page
        self._changes = 0
        """How many lines have changed what the page shows; a line that undoes one brings its version back."""

    async def root(self, _: Request) -> Response:
        """The page, which is empty."""
        return HTMLResponse(self._page)

    async def line(self, request: Request) -> Response:
        """The answer to a line of a session, with the version of the page where it is another now."""
        body = await _body(request)
        if isinstance(body, Response):
            return body
        sentence = body.get("line") if isinstance(body, dict) else None
        if not isinstance(sentence, str) or "\n" in sentence or "\r" in sentence:
            return _refused(400, 'the body is {"line": "..."}: one line of a session')
        backend = self._backend

        def answered() -> dict[str, Any]:
            before = backend.version
            try:
                answer = backend.answer(sentence)
            finally:
                self._changes += backend.version != before
            return {**answer, "version": backend.version} if backend.version != before else answer

        try:
            return _json(await asyncio.wrap_future(self._turns.put(answered, backend.recover)))
        except TookTooLong as late:
            return _json({"schema": "microcosm/1", "line": sentence, "error": str(late)})

    async def columns(self, request: Request) -> Response:
        """What the page shows, where it is of another version than that which somebody has."""
        if request.query_params.get("since") == str(self._backend.version):
            return Response(status_code=204)

        def packed() -> bytes:
            shown = {"version": self._backend.version, **self._backend.contents()}
            return json.dumps(shown, ensure_ascii=True).encode()

        try:
            found = await asyncio.wrap_future(self._turns.put(packed))
            return Response(found, media_type="application/json")
        except MicrocosmError as error:
            return _refused(409, str(error))

    async def events(self, _: Request) -> Response:
        """Which version the page is of, after each change, for as long as somebody listens."""
        return StreamingResponse(self._versions(), media_type="text/event-stream")

    async def _versions(self) -> AsyncIterator[str]:
        last, still = (0, ""), 0
        while not self._turns.over:
            now = self._changes, json.dumps({"version": self._backend.version, "note": self._backend.note})
            if now != last:
                last, still = now, 0
                yield f"data: {now[1]}\n\n"
            elif (still := still + 1) * EVERY > 15:
                still = 0
                yield ": still there\n\n"
            await asyncio.sleep(EVERY)


class _Guard:
    """Lets nobody by who is not of this page: another host, another origin, no token."""

    def __init__(self, app: ASGIApp, token: str, headers: dict[str, str]) -> None:
        self._app, self._token = app, f"Bearer {token}".encode()
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = self._refused(scope)

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        await (self._app if refused is None else refused)(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        if len(hosts) != 1 or hosts[0].decode("latin-1").rpartition(":")[0] not in HOSTS:
            return _refused(421, "this server is 127.0.0.1 and localhost, and no other host")
        if any(origin != b"http://" + hosts[0] for origin in origins):
            return _refused(403, "another page may not ask here")
        tokens = headers.get(b"authorization", [])
        if scope["path"] != "/" and not (len(tokens) == 1 and compare_digest(tokens[0], self._token)):
            return _refused(
                401, "open the address that `view` printed: its token is missing here, or is another"
            )
        return None


async def _body(request: Request) -> Any:
    """The JSON of a request, or why it is refused."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return _refused(413, f"more than {MOST_BYTES:,} bytes")
        return json.loads(body)
    except (ClientDisconnect, ValueError, RecursionError):
        return _refused(400, "the body is no JSON")


def _refused(status: int, why: str) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return PlainTextResponse(f"{why}\n", status, headers)


def _json(value: dict[str, Any]) -> Response:
    return Response(json_text(value, ensure_ascii=True), media_type="application/json")


def listening(port: int) -> socket.socket:
    """A socket on 127.0.0.1. Raises `MicrocosmError` where the port cannot be had."""
    # Said to be of TCP, or else asyncio would let each answer wait for an acknowledgement (TCP_NODELAY).
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(CONNECTIONS)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise MicrocosmError(f"cannot listen on 127.0.0.1 port {port}: {reason}") from None
    return listener


@contextmanager
def served(backend: Backend, turns: Turns, port: int = 0) -> Iterator[str]:
    """Serve in a thread of its own while inside; the address, with a new token. A port of 0 is any free one.

    Whoever is inside runs `turns`. Raises `MicrocosmError` where the port cannot be had.
    """
    token = secrets.token_hex(16)
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # whoever goes away in the middle is no news
    listener = listening(port)
    server = uvicorn.Server(
        uvicorn.Config(
            application(backend, turns, token),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            limit_concurrency=CONNECTIONS,
        )
    )
    thread = Thread(target=server.run, args=([listener],), daemon=True, name="view")
    with listener:
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/#token={token}"
        finally:
            turns.over = server.should_exit = True  # streams end, and then the server
            thread.join(4 * EVERY)
            server.force_exit = True
            thread.join(1)


LIMIT = 10.0
"""Seconds for one question."""


class TookTooLong(MicrocosmError):
    """A piece of work was ended: it took longer than the limit."""


class _Alarm(KeyboardInterrupt):
    """What ends it, from outside, as an interrupt does."""


class Turns:
    """Pieces of work, done by `run`, in whatever thread they are put. A `limit` of 0 is none."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit = limit
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any], Callable[[], None] | None] | None]
        self._waiting = SimpleQueue()
        self._ends = inf
        """When the work at hand is to be ended, if it is."""
        self._heard = False
        """Whether an alarm is heard: only what `run` does is ended."""
        self.over = False
        """Whether nothing more will be done, so that nobody need wait."""

    def put(self, work: Callable[[], Result], recover: Callable[[], None] | None = None) -> Future[Result]:
        """Have some work done in its turn; with `recover`, called where it is ended, it has the limit."""
        promise: Future[Result] = Future()
        self._waiting.put((promise, work, recover))
        return promise

    def close(self) -> None:
        """Have `run` return when what was put so far is done."""
        self._waiting.put(None)

    def run(self) -> None:
        """Do what is put, until `close`, in the main thread.

        Raises `KeyboardInterrupt` where somebody else interrupts it, and `Undefined` in another thread.
        """
        with self._alarm():
            self.work()

    def work(self) -> None:
        """Do what is put, until `close`, in any thread; nothing of it may have a limit."""
        while (turn := self._waiting.get()) is not None:
            promise, work, recover = turn
            if not promise.set_running_or_notify_cancel():
                continue
            try:
                promise.set_result(self._limited(work) if recover is not None else work())
            except _Alarm:
                if recover is not None:
                    recover()
                promise.set_exception(TookTooLong(f"took too long: more than {self.limit:g} seconds"))
            except Exception as error:
                promise.set_exception(error)

    def _limited(self, work: Callable[[], Result]) -> Result:
        """The result of some work. Raises `_Alarm`."""
        if not (self._heard and self.limit):
            return work()
        try:
            self._ends = monotonic() + self.limit
            signal.setitimer(signal.ITIMER_REAL, self.limit)
            return work()
        finally:
            self._ends = inf  # from here on the alarm does nothing, should it come
            signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def _alarm(self) -> Iterator[None]:
        """While inside, the alarm ends what has the limit. Raises `Undefined` but in the main thread."""

        def ring(number: int, frame: object) -> None:
            if isinstance(sys.exception(), KeyboardInterrupt):
                return  # an interrupt is on its way, whose place no alarm may take
            if monotonic() >= self._ends:
                raise _Alarm

        if current_thread() is not main_thread():
            raise Undefined(
                "questions of a page are answered in the main thread, where they can be interrupted"
            )
        if not hasattr(signal, "setitimer"):  # there is no alarm on this system, and so no limit
            yield
            return
        before = signal.signal(signal.SIGALRM, ring)
        self._heard = True
        try:
            yield
        finally:
            self._heard = False
            signal.signal(signal.SIGALRM, before)
