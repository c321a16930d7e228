"""`microcosm replica serve` as processes of their own, spoken to by JSON lines."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class Served:
    """One replica, served by a process that may be killed and started again on the same journal and port."""

    def __init__(
        self,
        folder: Path,
        name: str,
        members: dict[str, str],
        host: str = "127.0.0.1",
        inside: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
    ) -> None:
        """`inside` is the command that runs the rest of the line where the replica is to live."""
        self.folder, self.name, self.members = folder, name, members
        self.told: list[dict[str, Any]] = []
        """Everything that it has said of itself, over all its lives."""
        self._inside, self._options = inside, options
        self._listen = f"{host}:0"
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._asked = 0
        self._process: Process
        self._reading: asyncio.Task[None]
        self._news = asyncio.Event()

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self._listen.rpartition(":")
        return host, int(port)

    async def start(self) -> Served:
        """Start it, and return when it is there."""
        members = [f"--member={name}={where}" for name, where in self.members.items()]
        with (self.folder / f"{self.name}.errors").open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *(*self._inside, sys.executable, "-m", "microcosm", "replica", "serve"),
                f"{self.name}.journal",
                *("--keys", "keys", "--name", self.name, "--listen", self._listen, "--every", "0.2"),
                *(*members, *self._options),
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                limit=1 << 24,
            )
        before = self._serving()
        self._reading = asyncio.create_task(self._read())
        await self.until(lambda: self._serving() > before)
        self._listen = next(each for each in reversed(self.told) if each["event"] == "serving")["address"]
        return self

    def _serving(self) -> int:
        return sum(each["event"] == "serving" for each in self.told)

    async def ask(self, do: str, **what: Any) -> dict[str, Any]:
        """What it answers."""
        self._asked += 1
        answer = self._answers[self._asked] = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, "id": self._asked, **what}).encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            return await answer

    async def until(self, holds: Any) -> None:
        """Return when something holds of what it told."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def kill(self) -> None:
        """`kill -9`."""
        self._process.kill()
        await self.ended()

    async def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self._process.send_signal(number)
        return await self.ended()

    async def ended(self) -> int:
        async with asyncio.timeout(PATIENCE):
            code = await self._process.wait()
            await self._reading
        return code

    def said_on_standard_error(self) -> str:
        return (self.folder / f"{self.name}.errors").read_text()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            try:
                found = json.loads(line)
            except ValueError:  # it was killed in the midst of a line
                continue
            answer = self._answers.pop(found["re"], None) if found.get("re") else None
            if answer is not None and not answer.done():
                answer.set_result(found)
            elif "event" in found:
                self.told.append(found)
                self._news.set()
