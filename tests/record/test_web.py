"""Requests and answers over loopback, with the libraries themselves, in both directions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from microcosm.record import Recorder
from microcosm.record.http import (
    RecordedASGI,
    RecordedWSGI,
    aiohttp_trace,
    httpx_hooks,
    record_aiohttp,
    requests_adapter,
)
from tests.record.logs import lines, ordered


@contextmanager
def asgi(recorder: Recorder) -> Iterator[str]:
    """A server of Starlette on uvicorn; its address."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def answer(request: Any) -> Any:
        recorder.event("inside")
        return PlainTextResponse("fine", headers={"x-other": "kept"})

    app = RecordedASGI(Starlette(routes=[Route("/x", answer)]), recorder)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="on"))
    running = threading.Thread(target=server.run)
    running.start()
    while not server.started:
        threading.Event().wait(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        running.join()


@contextmanager
def wsgi(recorder: Recorder) -> Iterator[str]:
    """A server of the standard library; its address."""

    class Quiet(WSGIRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        recorder.event("inside")
        start("200 OK", [("X-Other", "kept")])
        return [b"fine"]

    server = make_server("127.0.0.1", 0, RecordedWSGI(answer, recorder), handler_class=Quiet)
    running = threading.Thread(target=server.serve_forever, args=(0.01,))
    running.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        running.join()


def by_httpx(address: str, recorder: Recorder) -> None:
    import httpx

    with httpx.Client(event_hooks=httpx_hooks(recorder)) as client:
        assert client.get(f"{address}/x").headers["x-other"] == "kept"


def by_async_httpx(address: str, recorder: Recorder) -> None:
    import httpx

    async def run() -> None:
        hooks = httpx_hooks(recorder, asynchronous=True)
        async with httpx.AsyncClient(event_hooks=hooks) as client:
            assert (await client.get(f"{address}/x")).text == "fine"

    asyncio.run(run())


def by_requests(address: str, recorder: Recorder) -> None:
    import requests

    with requests.Session() as session:
        session.mount("http://", requests_adapter(recorder))
        assert session.get(f"{address}/x").headers["X-Other"] == "kept"


def by_aiohttp(address: str, recorder: Recorder) -> None:
    import aiohttp

    async def run() -> None:
        session = aiohttp.ClientSession(trace_configs=[aiohttp_trace(recorder)])
        async with session, session.get(f"{address}/x") as response:
            assert await response.text() == "fine"

    asyncio.run(run())


@pytest.mark.parametrize("client", [by_httpx, by_async_httpx, by_requests, by_aiohttp])
@pytest.mark.parametrize("server", [asgi, wsgi])
def test_a_request_and_its_answer_are_messages(server: Any, client: Any, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with Recorder("client", log) as asking, Recorder("server", log) as answering, server(answering) as at:
        asking.event("before")
        client(at, asking)
        asking.event("after")
    ordered(log, "before", "inside", "after")
    kinds = [(each["process"], each["kind"]) for each in lines(log)]
    assert kinds == [
        ("client", "internal"),
        ("client", "send"),
        ("server", "receive"),
        ("server", "internal"),
        ("server", "send"),
        ("client", "receive"),
        ("client", "internal"),
    ]


def test_a_server_of_aiohttp_is_recorded(tmp_path: Path) -> None:
    from aiohttp import ClientSession, web
    from aiohttp.test_utils import TestServer

    log = tmp_path / "run.jsonl"

    async def run(asking: Recorder, answering: Recorder) -> None:
        async def answer(request: web.Request) -> web.Response:
            answering.event("inside")
            raise web.HTTPNotFound

        app = web.Application()
        app.router.add_get("/x", answer)
        record_aiohttp(app, answering)
        async with TestServer(app) as server, ClientSession(trace_configs=[aiohttp_trace(asking)]) as session:
            asking.event("before")
            async with session.get(server.make_url("/x")) as response:
                assert response.status == 404
            asking.event("after")

    with Recorder("client", log) as asking, Recorder("server", log) as answering:
        asyncio.run(run(asking, answering))
    ordered(log, "before", "inside", "after")


def test_a_client_without_a_recorder_is_answered_and_orders_nothing(tmp_path: Path) -> None:
    import httpx

    log = tmp_path / "run.jsonl"
    with Recorder("server", log) as answering, asgi(answering) as address:
        assert httpx.get(f"{address}/x", headers={"causality": "00-4bf92f-01"}).text == "fine"
        assert httpx.get(f"{address}/x").text == "fine"
        assert answering.foreign == 1
    assert [each["kind"] for each in lines(log)] == ["internal", "internal", "send"] * 2
