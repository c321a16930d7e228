"""HTTP, at both ends, over the hooks of each library: a request and its answer are messages.

A client sends the request and receives the answer:

    httpx.Client(event_hooks=httpx_hooks(causality))
    httpx.AsyncClient(event_hooks=httpx_hooks(causality, asynchronous=True))
    aiohttp.ClientSession(trace_configs=[aiohttp_trace(causality)])
    session.mount("http://", adapter := requests_adapter(causality)); session.mount("https://", adapter)

A server receives the request that comes, and sends its answer:

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
    import aiohttp
    import httpx
    from aiohttp import web


def httpx_hooks(recorder: Recorder, *, asynchronous: bool = False) -> dict[str, list[Any]]:
    """The `event_hooks` of a client of httpx; with `asynchronous` of an `AsyncClient`."""

    def requested(request: httpx.Request) -> None:
        request.headers[KEY] = recorder.send(f"{request.method} {request.url.path}", to=request.url.host)

    def answered(response: httpx.Response) -> None:
        request = response.request
        label = f"{response.status_code} to {request.method} {request.url.path}"
        recorder.receive(response.headers.get(KEY), label)

    def hook(does: Callable[[Any], None]) -> Any:
        async def later(about: Any) -> None:
            does(about)

        return later if asynchronous else does

    return {"request": [hook(requested)], "response": [hook(answered)]}


def aiohttp_trace(recorder: Recorder) -> aiohttp.TraceConfig:
    """One of the `trace_configs` of an `aiohttp.ClientSession`."""
    from aiohttp import TraceConfig

    async def requested(session: Any, context: Any, about: aiohttp.TraceRequestStartParams) -> None:
        about.headers[KEY] = recorder.send(f"{about.method} {about.url.path}", to=about.url.host or None)

    async def answered(session: Any, context: Any, about: aiohttp.TraceRequestEndParams) -> None:
        label = f"{about.response.status} to {about.method} {about.url.path}"
        recorder.receive(about.response.headers.get(KEY), label)

    found = TraceConfig()
    found.on_request_start.append(requested)
    found.on_request_end.append(answered)
    return found


def requests_adapter(recorder: Recorder, **options: Any) -> Any:
    """An `HTTPAdapter` of requests, to be mounted in a session; `options` are those of the adapter."""
    from urllib.parse import urlsplit

    from requests.adapters import HTTPAdapter

    class Adapter(HTTPAdapter):
        def send(self, request: Any, *arguments: Any, **more: Any) -> Any:
            where = urlsplit(request.url)
            what = f"{request.method} {where.path or '/'}"
            request.headers[KEY] = recorder.send(what, to=where.hostname)
            response = super().send(request, *arguments, **more)
            recorder.receive(response.headers.get(KEY), f"{response.status_code} to {what}")
            return response

    return Adapter(**options)


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
                own = (KEY.encode(), header.encode("ascii"))
                message = {**message, "headers": [*message.get("headers", ()), own]}
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
