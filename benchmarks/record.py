"""Claim: an event is recorded in at most 3 microseconds beside the write, a header has at most 40 bytes.

Ten thousand events, and ten thousand messages between two of 64 processes (a sending, its header, a
reception), written to a file or nowhere. Beside it: a line of `logging`, a span of the OpenTelemetry SDK that
nobody exports, and a vector clock kept by hand, which goes with each message and whose line is written, as
GoVector does. Each seconds are those of all events; `docs/guides/record.md` names the command.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Line, paired
from microcosm.record import Recorder

NAME = "recording"
PROCESSES = 64


def run(quick: bool = False) -> list[Line]:
    """Seconds for all events and for all messages; that a header is short is checked on the way."""
    count, rounds = (100, 1) if quick else (10_000, 15)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = compare("events", count, rounds, events(folder, count))
        return lines + compare("messages", count, rounds, messages(folder, count))


def compare(what: str, count: int, rounds: int, subjects: dict[str, Callable[[], object]]) -> list[Line]:
    return paired(NAME, f"{count:,} {what}", subjects, rounds=rounds)[0]


def events(folder: Path, count: int) -> dict[str, Callable[[], object]]:
    """Ways to tell that something happened, with one attribute."""
    kept, nowhere = Recorder("alice", folder / "alice.jsonl"), Recorder("alice", os.devnull)
    line = b'{"process":"alice","seq":1,"life":"yJ64AxdJ","kind":"internal","label":"got lease",'
    line += b'"attributes":{"time":1795386535.944077,"key":"x"}}\n'
    bare = os.open(folder / "bare", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    log = logger(folder / "logging")
    clocks = ByHand(folder / "clocks")

    def each(do: Callable[[], object]) -> Callable[[], object]:
        def all_of_them() -> None:
            for _ in range(count):
                do()

        return all_of_them

    return {
        "recorder": each(lambda: kept.event("got lease", key="x")),
        "recorder, to a file that keeps nothing": each(lambda: nowhere.event("got lease", key="x")),
        "the write alone": each(lambda: os.write(bare, line)),
        "logging": each(lambda: log.info("got lease %s", "x")),
        f"vector clock by hand, {PROCESSES} processes": each(lambda: clocks.event("got lease")),
        **({} if (span := spans()) is None else {"OpenTelemetry SDK, no exporter": each(span)}),
    }


def messages(folder: Path, count: int) -> dict[str, Callable[[], object]]:
    """Ways to tell of a message at both ends, with what goes with it."""
    sender, receiver = Recorder("alice", folder / "a.jsonl"), Recorder("bob", folder / "b.jsonl")
    one, other = ByHand(folder / "one"), ByHand(folder / "other")

    def recorded() -> None:
        for _ in range(count):
            header = sender.send("write")
            assert len(header) <= 40
            receiver.receive(header, "write")

    def by_hand() -> int:
        for _ in range(count):
            header = one.send("write")
            other.receive(header, "write")
        return len(header)

    return {"recorder": recorded, f"vector clock by hand, {PROCESSES} processes": by_hand}


class ByHand:
    """A process that keeps a vector clock of all 64, writes it with each event, and sends it along."""

    def __init__(self, file: Path) -> None:
        self.file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.clock = {f"process {at}": 1_000 + at for at in range(PROCESSES)}

    def event(self, label: str) -> str:
        self.clock["process 0"] += 1
        clock = json.dumps(self.clock)
        os.write(self.file, f"process 0 {clock}\n{label}\n".encode())
        return clock

    def send(self, label: str) -> str:
        return self.event(label)

    def receive(self, header: str, label: str) -> None:
        for process, count in json.loads(header).items():
            self.clock[process] = max(self.clock[process], count)
        self.event(label)


def logger(file: Path) -> logging.Logger:
    handler = logging.FileHandler(file)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    found = logging.getLogger("benchmarks.record")
    found.handlers, found.propagate = [handler], False
    found.setLevel(logging.INFO)
    return found


def spans() -> Callable[[], object] | None:
    """What begins and ends a span of the SDK; None where it is not installed."""
    try:
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError:
        return None
    tracer = TracerProvider().get_tracer("alice")

    def span() -> None:
        with tracer.start_as_current_span("got lease", attributes={"key": "x"}):
            pass

    return span
