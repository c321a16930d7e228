"""Claim: `microcosm collect` keeps 20,000 spans a second on one core, durably, and loses none.

A collector in a process of its own, bound to one core, is sent requests of 512 spans with eight attributes
each by several senders at once, as fast as it answers; afterwards the spans that its files hold are counted.
Seconds are those that its process computed, so that others on the machine matter little. Beside it: what
protobuf's own writer of JSON takes to turn the same requests into text, keeping nothing.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from benchmarks.measure import Line
from microcosm.collect.bodies import JSON, PROTOBUF, spans_of

NAME = "collecting spans"
ROOT = Path(__file__).parents[1]
BATCH, ATTRIBUTES, SENDERS = 512, 8, 4
TICK = os.sysconf("SC_CLK_TCK")


def run(quick: bool = False) -> list[Line]:
    """CPU seconds of the collector for all spans; each way to send them takes its turn."""
    requests, rounds = (10, 1) if quick else (400, 3)
    bodies = [*map(request, range(requests))]
    ways: dict[str, tuple[Sequence[bytes], dict[str, str]]] = {
        "microcosm, protobuf": (bodies, {"Content-Type": PROTOBUF}),
        "microcosm, protobuf and gzip": (
            [gzip.compress(body, 1) for body in bodies],
            {"Content-Type": PROTOBUF, "Content-Encoding": "gzip"},
        ),
        "microcosm, JSON": (
            [spans_of(body, PROTOBUF).line for body in bodies],
            {"Content-Type": JSON},
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in (*ways, "protobuf's json_format alone")}
    for _ in range(rounds):
        for name, (sent, headers) in ways.items():
            times[name].append(collected(sent, headers, name))
        times["protobuf's json_format alone"].append(converted(bodies))
    ours = median(times["microcosm, protobuf"])
    case = f"{requests * BATCH:,} spans"
    return [Line(NAME, case, name, median(t), median(t) / ours, len(t)) for name, t in times.items()]


def request(number: int) -> bytes:
    """A request as an SDK sends it: a service, a scope, and a batch of spans of one trace."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    made = ExportTraceServiceRequest()
    resource = made.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "shop"
    spans = resource.scope_spans.add().spans
    for at in range(BATCH):
        own = number * BATCH + at + 1
        span = spans.add(
            trace_id=(number + 1).to_bytes(16, "big"),
            span_id=own.to_bytes(8, "big"),
            parent_span_id=(own - 1).to_bytes(8, "big") if at else b"",
            name=f"GET /cart/{at % 7}",
            kind=2,
            start_time_unix_nano=10**18 + own,
            end_time_unix_nano=10**18 + own + 1000,
        )
        for key in range(ATTRIBUTES):
            span.attributes.add(key=f"http.attribute.{key}").value.string_value = f"value {own % 100}"
    return made.SerializeToString()


def collected(bodies: Sequence[bytes], headers: dict[str, str], name: str) -> float:
    """CPU seconds of a collector for these requests; raises where a span that was sent is not kept."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "microcosm", "collect", "--json", "--otlp", "0", "--out", folder]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(0))})
            port = int(json.loads(process.stdout.readline())["http"].rpartition(":")[2])
            before, start = _computed(process.pid), perf_counter()
            with ThreadPoolExecutor(SENDERS) as senders:
                each = [bodies[at::SENDERS] for at in range(SENDERS)]
                for sent in [senders.submit(_send, port, some, headers) for some in each]:
                    sent.result()
            went_by = perf_counter() - start
            seconds = _computed(process.pid) - before
            process.send_signal(signal.SIGTERM)
            counts = json.loads(process.communicate(timeout=60)[0].splitlines()[-1])
        finally:
            process.kill()
        total = len(bodies) * BATCH
        kept = sum(path.read_bytes().count(b'"spanId"') for path in Path(folder).iterdir())
        if counts["spans"] != total or kept != total:
            raise AssertionError(f"{total} spans were sent, {kept} are kept")
        print(
            f"{name}: {total / went_by:,.0f} spans a second, {total / seconds:,.0f} a second of its core, "
            f"{counts['commits']} commits",
            file=sys.stderr,
        )
    return seconds


def _send(port: int, bodies: Sequence[bytes], headers: dict[str, str]) -> None:
    connection = HTTPConnection("127.0.0.1", port)
    for body in bodies:
        connection.request("POST", "/v1/traces", body, headers)
        answer = connection.getresponse()
        if (answer.status, answer.read() in (b"", b"{}")) != (200, True):
            raise AssertionError(f"answered {answer.status}")
    connection.close()


def _computed(pid: int) -> float:
    """Seconds that a process has computed so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def converted(bodies: Sequence[bytes]) -> float:
    """CPU seconds of protobuf's own way from a request to JSON."""
    from google.protobuf.json_format import MessageToJson
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    some = bodies[:20]
    start = process_time()
    for body in some:
        MessageToJson(ExportTraceServiceRequest.FromString(body))
    return (process_time() - start) * len(bodies) / len(some)
