"""The lease over HTTP: a server gives it, another one stores what is written, two clients ask and write.

    python examples/lease/lease.py spans otel                # all four, under opentelemetry-instrument

The same bug as over TCP (`lease.py`). Nothing here knows that it is recorded, or of OpenTelemetry: starlette
on uvicorn and httpx are instrumented as they are.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys

import httpx
import uvicorn
from lease import LEASE, PAUSE
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route


def lock() -> Starlette:
    """Gives the lease to who asks, once that of who asked before has run out."""
    last: asyncio.Task[None] | None = None

    async def ask(request: Request) -> PlainTextResponse:
        nonlocal last
        before, last = last, asyncio.create_task(run_out(last))
        if before is not None:
            await before
        return PlainTextResponse("the lease is yours")

    async def run_out(before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        await asyncio.sleep(LEASE)

    return Starlette(routes=[Route("/lease/{whose}", ask, methods=["POST"])])


def store() -> Starlette:
    """Keeps the last value that anybody writes."""
    values: dict[str, str] = {}

    async def write(request: Request) -> PlainTextResponse:
        key, value = request.path_params["key"], (await request.body()).decode()
        values[key] = value
        return PlainTextResponse(f"stored {key}={value}")

    return Starlette(routes=[Route("/values/{key}", write, methods=["PUT"])])


async def client(name: str, where: dict[str, str]) -> None:
    """Asks for the lease, and writes when it has it; Bob asks after Alice, who sleeps through its end."""
    async with httpx.AsyncClient(timeout=30) as web:
        await asyncio.sleep(LEASE / 2 if name == "bob" else 0)
        (await web.post(f"{where['lock']}/lease/{name}")).raise_for_status()
        await asyncio.sleep(PAUSE if name == "alice" else 0)
        (await web.put(f"{where['store']}/values/x", content=name)).raise_for_status()


def serve(app: Starlette, descriptor: int) -> None:
    """Answer, on a socket that listens already, until one is terminated."""
    config = uvicorn.Config(app, log_level="warning", lifespan="off")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    name, where, *descriptor = sys.argv[1:]
    if descriptor:
        serve({"lock": lock, "store": store}[name](), int(descriptor[0]))
    else:
        asyncio.run(client(name, json.loads(where)))
