"""Clients of HTTP: a request is sent, its answer is received, each over the hooks of the library.

httpx.Client(event_hooks=httpx_hooks(causality))
httpx.AsyncClient(event_hooks=httpx_hooks(causality, asynchronous=True))
aiohttp.ClientSession(trace_configs=[aiohttp_trace(causality)])
adapter = requests_adapter(causality); session.mount("http://", adapter); session.mount("https://", adapter)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microcosm.record.header import KEY
from microcosm.record.recorder import Recorder

if TYPE_CHECKING:
    import aiohttp
    import httpx


def httpx_hooks(recorder: Recorder, *, asynchronous: bool = False) -> dict[str, list[Any]]:
    """The `event_hooks` of a client of httpx; with `asynchronous` of an `AsyncClient`."""

    def requested(request: httpx.Request) -> None:
        request.headers[KEY] = recorder.send(f"{request.method} {request.url.path}", to=request.url.host)

    def answered(response: httpx.Response) -> None:
        request = response.request
        said = f"{response.status_code} to {request.method} {request.url.path}"
        recorder.receive(response.headers.get(KEY), said)

    async def requested_later(request: httpx.Request) -> None:
        requested(request)

    async def answered_later(response: httpx.Response) -> None:
        answered(response)

    if asynchronous:
        return {"request": [requested_later], "response": [answered_later]}
    return {"request": [requested], "response": [answered]}


def aiohttp_trace(recorder: Recorder) -> aiohttp.TraceConfig:
    """One of the `trace_configs` of an `aiohttp.ClientSession`."""
    from aiohttp import TraceConfig

    async def requested(session: Any, context: Any, about: aiohttp.TraceRequestStartParams) -> None:
        about.headers[KEY] = recorder.send(f"{about.method} {about.url.path}", to=about.url.host or None)

    async def answered(session: Any, context: Any, about: aiohttp.TraceRequestEndParams) -> None:
        said = f"{about.response.status} to {about.method} {about.url.path}"
        recorder.receive(about.response.headers.get(KEY), said)

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
