"""Servers: a request that comes is received, its answer is sent, in what the header of each says.

app = RecordedASGI(app, causality)          # Starlette, FastAPI, Django, Quart
app = RecordedWSGI(app, causality)          # Flask, Django, Bottle
record_aiohttp(app, causality)              # a server of aiohttp
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any

from microcosm.record.header import KEY, extract
from microcosm.record.recorder import Recorder

if TYPE_CHECKING:
    from aiohttp import web

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
ASGIApp = Callable[[Message, Receive, Send], Awaitable[None]]
WSGIApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class RecordedASGI:
    """An ASGI application whose requests and answers are recorded; of a WebSocket the handshake is."""

    def __init__(self, app: ASGIApp, recorder: Recorder) -> None:
        self.app = app
        self.recorder = recorder

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        what = f"{scope.get('method', 'WEBSOCKET')} {scope['path']}"
        self.recorder.receive(extract(scope["headers"]), what)

        async def send_recorded(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.accept"):
                header = self.recorder.send(f"{message.get('status', 101)} to {what}")
                message = {
                    **message,
                    "headers": [*message.get("headers", ()), (KEY.encode(), header.encode("ascii"))],
                }
            await send(message)

        await self.app(scope, receive, send_recorded)


class RecordedWSGI:
    """A WSGI application whose requests and answers are recorded."""

    def __init__(self, app: WSGIApp, recorder: Recorder) -> None:
        self.app = app
        self.recorder = recorder

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        what = f"{environ.get('REQUEST_METHOD', '')} {environ.get('PATH_INFO', '')}"
        self.recorder.receive(environ.get(f"HTTP_{KEY.upper()}"), what)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            header = self.recorder.send(f"{status[:3]} to {what}")
            return start_response(status, [*headers, (KEY, header)], *more)

        return self.app(environ, start)


def record_aiohttp(app: web.Application, recorder: Recorder) -> None:
    """Record the requests of an application of `aiohttp.web` and its answers; called before it runs."""
    from aiohttp import web

    @web.middleware
    async def received(request: web.Request, handler: Any) -> web.StreamResponse:
        recorder.receive(request.headers.get(KEY), f"{request.method} {request.path}")
        answer: web.StreamResponse = await handler(request)
        return answer

    async def answering(request: web.Request, response: web.StreamResponse) -> None:
        response.headers[KEY] = recorder.send(f"{response.status} to {request.method} {request.path}")

    app.middlewares.insert(0, received)
    app.on_response_prepare.append(answering)
