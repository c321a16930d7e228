"""A collector in a process of its own, and what to send it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROTOBUF, JSON = "application/x-protobuf", "application/json"


class Collector:
    """`microcosm collect --json` on a port of its own; what it says at its end is in `counts`."""

    def __init__(self, out: Path, *options: str) -> None:
        self.out = out
        command = [sys.executable, "-m", "microcosm", "collect", "--json", "--otlp", "0", "--out", str(out)]
        self.process = subprocess.Popen(
            [*command, *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr and self.process.stderr.read()
        self.said = json.loads(line)
        self.port = int(self.said["http"].rpartition(":")[2])
        self.counts: dict[str, Any] = {}

    def post(
        self, body: bytes, media: str = JSON, path: str = "/v1/traces", **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        """The status, body and headers of the answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("POST", path, body, {"Content-Type": media, **named})
            answer = connection.getresponse()
            return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
        finally:
            connection.close()

    def get(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End it; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        out, self.errors = self.process.communicate(timeout=30)
        if out.strip():
            self.counts = json.loads(out.splitlines()[-1])
        return self.process.returncode


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Callable[..., Collector]]:
    """Makes collectors, and ends those that go on."""
    made: list[Collector] = []

    def make(*options: str, out: Path | None = None) -> Collector:
        made.append(Collector(out or tmp_path / "spans", *options))
        return made[-1]

    yield make
    for one in made:
        one.process.kill()
        one.process.communicate()


def spans_in(folder: Path) -> list[str]:
    """The ids of the spans in the whole lines of a folder's files, by a reading that is not ours."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    found += [span["spanId"] for span in scope["spans"]]
    return found


def request(*numbers: int, trace: int = 1) -> dict[str, Any]:
    """A request in JSON with a span for each number."""
    spans = [
        {
            "traceId": f"{trace:032x}",
            "spanId": f"{number:016x}",
            "name": f"work {number}",
            "kind": 1,
            "startTimeUnixNano": str(10**18 + number),
            "endTimeUnixNano": str(10**18 + number + 1),
        }
        for number in numbers
    ]
    attributes = [{"key": "service.name", "value": {"stringValue": "shop"}}]
    return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": spans}]}]}
