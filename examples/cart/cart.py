"""A lost update between two front ends and a store, under OpenTelemetry: two items are put, one is left.

    python examples/cart/cart.py records                     # two seconds; writes records/web.jsonl, ...
    microcosm assert records examples/cart/cart.ask          # the two writes that did not know of each other
    python examples/cart/cart.py records-apart --apart       # the same, one item after the other: all is well

Ann puts tea into her cart in the browser and milk on her phone. Each front end (`web`, `phone`) reads the
cart from the store, adds the item, and writes the cart back: starlette on uvicorn, httpx, OpenTelemetry's own
instrumentation of both. Both read before either writes, so that the second write undoes the first, and every
request is answered with 200. What is asked of the programs is two lines, in `recorded`.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import uvicorn
from opentelemetry import trace
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from microcosm.record import Recorder
from microcosm.record.otel import record_spans

SERVICES = ("store", "web", "phone")


def recorded(name: str, folder: str) -> None:
    """The usual set-up of OpenTelemetry, and two lines."""
    trace.set_tracer_provider(TracerProvider())
    recorder = Recorder(name, f"{folder}/{name}.jsonl")
    record_spans(recorder)
    HTTPXClientInstrumentor().instrument()


def store(readers: int) -> Starlette:
    """Keeps carts. A cart that it does not have yet it looks for on its slow disk, for `readers` at once."""
    carts: dict[str, list[str]] = {}
    looked = asyncio.Barrier(readers)

    async def read(request: Request) -> JSONResponse:
        whose = request.path_params["whose"]
        if whose not in carts:
            await looked.wait()
        return JSONResponse(carts.get(whose, []))

    async def write(request: Request) -> JSONResponse:
        carts[request.path_params["whose"]] = await request.json()
        return JSONResponse({})

    path = "/carts/{whose}"
    return Starlette(routes=[Route(path, read), Route(path, write, methods=["PUT"])])


def front(where: str) -> Starlette:
    """Adds an item to a cart: reads it, and writes it back with the item."""

    async def add(request: Request) -> JSONResponse:
        cart = f"{where}/carts/{request.path_params['whose']}"
        async with httpx.AsyncClient(timeout=30) as client:
            items = (await client.get(cart)).json()
            await client.put(cart, json=[*items, request.path_params["item"]])
        return JSONResponse({})

    return Starlette(routes=[Route("/carts/{whose}/{item}", add, methods=["POST"])])


def serve(name: str, folder: str, descriptor: int, where: str, readers: int) -> None:
    """One of the three, on a socket that listens already, until it is terminated."""
    recorded(name, folder)
    app = store(readers) if name == "store" else front(where)
    config = uvicorn.Config(OpenTelemetryMiddleware(app), fd=descriptor, log_level="warning", lifespan="off")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


async def ann(where: dict[str, str], apart: bool) -> list[str]:
    """Puts two items, both at once or one after the other; what is in the cart then."""
    async with httpx.AsyncClient(timeout=30) as client:
        puts = [client.post(f"{where['web']}/carts/ann/tea"), client.post(f"{where['phone']}/carts/ann/milk")]
        if apart:
            for put in puts:
                (await put).raise_for_status()
        else:
            for answer in await asyncio.gather(*puts):
                answer.raise_for_status()
        items: list[str] = (await client.get(f"{where['store']}/carts/ann")).json()
        return items


def main() -> None:
    parser = argparse.ArgumentParser(description="A lost update under OpenTelemetry.")
    parser.add_argument("folder", help="where the records go; it is made")
    parser.add_argument("--apart", action="store_true", help="put one item after the other")
    parser.add_argument("--serve", nargs=3, metavar=("NAME", "DESCRIPTOR", "STORE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    readers = 1 if asked.apart else 2
    if asked.serve:
        name, descriptor, where = asked.serve
        serve(name, asked.folder, int(descriptor), where, readers)
        return
    Path(asked.folder).mkdir(parents=True, exist_ok=True)
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in SERVICES}
    where = {name: f"http://127.0.0.1:{one.getsockname()[1]}" for name, one in sockets.items()}
    running = []
    for name, one in sockets.items():
        descriptor = one.fileno()
        command = [sys.executable, __file__, asked.folder, *(["--apart"] if asked.apart else [])]
        command += ["--serve", name, str(descriptor), where["store"]]
        running.append(subprocess.Popen(command, pass_fds=[descriptor]))
    try:
        recorded("ann", asked.folder)
        items = asyncio.run(ann(where, asked.apart))
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()
        for one in sockets.values():
            one.close()
    print(f"Ann put tea and milk; her cart holds {' and '.join(items)}.")


if __name__ == "__main__":
    main()
