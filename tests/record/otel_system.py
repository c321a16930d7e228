"""Services under OpenTelemetry that call each other at random, and the true order of what they do.

    python otel_system.py FOLDER SEED [--threads] [--kill POINTS]

Each task keeps a vector clock of its own, which goes with requests and answers in their bodies and with tasks
and threads by hand: nothing of it comes from what is tested. At each point a line of the clock is written to
FOLDER/truth, and a span begins under the same name. What is recorded goes to FOLDER/records. With --threads
some steps are done by threads of a pool; with --kill a service is killed once it has done so many points.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any

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

SERVICES = ("a", "b", "c")
ROOTS, DEPTH, STEPS, POOL = 5, 2, 3, 3

Clock = dict[str, int]


class System:
    """One of the processes: it does points, and calls others."""

    def __init__(self, name: str, folder: Path, where: dict[str, str], seed: int) -> None:
        self.name = name
        self.where = where
        self.chance = random.Random(f"{name} {seed}")
        self.numbers = count(1)
        self.lock = threading.Lock()
        self.threads = threading.local()
        self.truth = os.open(folder / "truth" / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        trace.set_tracer_provider(TracerProvider())
        record_spans(Recorder(name, folder / "records" / f"{name}.jsonl", tasks=True))
        HTTPXClientInstrumentor().instrument()
        self.tracer = trace.get_tracer("test")
        self.pool = ThreadPoolExecutor(POOL)
        began = threading.Barrier(POOL)
        for _ in range(POOL):  # threads are there before anything happens: nothing that happened starts one
            self.pool.submit(began.wait)
        self.client = httpx.AsyncClient(timeout=30)

    def chain(self, clock: Clock) -> Chain:
        with self.lock:
            return Chain(self, f"{self.name}{next(self.numbers)}", dict(clock))

    async def work(self, chain: Chain, depth: int) -> None:
        """A few steps of a task, which calls others as deep as it may."""
        steps = [
            "point",
            *(["call", "both"] if depth else []),
            *(["thread"] if "--threads" in sys.argv else []),
        ]
        for _ in range(self.chance.randint(1, STEPS)):
            match self.chance.choice(steps):
                case "point":
                    chain.point()
                case "call":
                    await self.call(chain, depth - 1)
                case "both":
                    parts = [self.chain(chain.clock) for _ in range(2)]
                    await asyncio.gather(*(self.call(part, depth - 1) for part in parts))
                    for part in parts:
                        chain.learn(part.clock)
                case "thread":
                    work = copy_context().run, self.in_thread, dict(chain.clock)
                    chain.learn(await asyncio.get_running_loop().run_in_executor(self.pool, *work))

    def in_thread(self, clock: Clock) -> Clock:
        """A point in a thread of a pool, which is one chain, whoever has it do something."""
        if not hasattr(self.threads, "chain"):
            self.threads.chain = self.chain({})
        chain: Chain = self.threads.chain
        chain.learn(clock)
        chain.point()
        return dict(chain.clock)

    async def call(self, chain: Chain, depth: int) -> None:
        """A request to a service, and its answer."""
        chain.point()
        where = self.where[self.chance.choice(SERVICES)]
        answer = await self.client.post(where, json={"clock": chain.clock, "depth": depth})
        chain.learn(answer.json()["clock"])
        chain.point()

    async def answer(self, request: Request) -> JSONResponse:
        asked = await request.json()
        chain = self.chain(asked["clock"])
        chain.point()
        await self.work(chain, asked["depth"])
        return JSONResponse({"clock": chain.clock})

    async def root(self) -> None:
        chain = self.chain({})
        for _ in range(2):
            await self.call(chain, DEPTH)


class Chain:
    """What one task or thread does, and what it knows."""

    def __init__(self, system: System, name: str, clock: Clock) -> None:
        self.system = system
        self.name = name
        self.clock = clock

    def learn(self, clock: Clock) -> None:
        for name, known in clock.items():
            self.clock[name] = max(known, self.clock.get(name, 0))

    def point(self) -> None:
        self.clock[self.name] = self.clock.get(self.name, 0) + 1
        label = f"{self.name}.{self.clock[self.name]}"
        os.write(self.system.truth, json.dumps([label, self.name, self.clock]).encode() + b"\n")
        with self.system.tracer.start_as_current_span(label):
            pass


def main() -> None:
    folder, seed = Path(sys.argv[1]), int(sys.argv[2])
    if "--serve" in sys.argv:
        name, descriptor, where = sys.argv[-3], int(sys.argv[-2]), json.loads(sys.argv[-1])
        system = System(name, folder, where, seed)
        app = OpenTelemetryMiddleware(Starlette(routes=[Route("/", system.answer, methods=["POST"])]))
        config = uvicorn.Config(app, log_level="error", lifespan="off")
        uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])
        return
    for name in ("truth", "records"):
        (folder / name).mkdir()
    sockets = {name: socket.create_server(("127.0.0.1", 0), backlog=100) for name in SERVICES}
    at = {name: f"http://127.0.0.1:{one.getsockname()[1]}/" for name, one in sockets.items()}
    running: list[subprocess.Popen[bytes]] = []
    for name, one in sockets.items():
        command = [sys.executable, __file__, *sys.argv[1:], "--serve", name, str(one.fileno())]
        running.append(subprocess.Popen([*command, json.dumps(at)], pass_fds=[one.fileno()]))
        one.close()  # who is killed refuses
    if "--kill" in sys.argv:
        points = int(sys.argv[sys.argv.index("--kill") + 1])
        victim = seed % len(running)
        told = folder / "truth" / SERVICES[victim]
        threading.Thread(target=kill, args=(running[victim], told, points), daemon=True).start()
    try:
        asyncio.run(drive(System("driver", folder, at, seed)))
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def kill(process: subprocess.Popen[bytes], told: Path, points: int) -> None:
    """Kill a process once it has told of so many points."""
    while not told.exists() or told.read_bytes().count(b"\n") < points:
        sleep(0.002)
    process.kill()


async def drive(system: System) -> None:
    """Several tasks at once; what a service that was killed did not answer is left."""
    done: list[Any] = await asyncio.gather(*(system.root() for _ in range(ROOTS)), return_exceptions=True)
    if "--kill" not in sys.argv and any(done):
        raise next(filter(None, done))


if __name__ == "__main__":
    main()
