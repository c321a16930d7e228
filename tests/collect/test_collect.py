"""The command, in a process of its own: what it answers, what it keeps, and what it says at its end."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import resource
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from microcosm.collect.intake import Folder, Intake, IntakeLimits
from microcosm.collect.serving import Listening, serve
from tests.collect.conftest import JSON, PROTOBUF, Collector, request, spans_in

Make = Callable[..., Collector]


def body(*numbers: int) -> bytes:
    return json.dumps(request(*numbers)).encode()


def test_the_sdk_sends_and_every_command_reads(collector: Make, capsys: pytest.CaptureFixture[str]) -> None:
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from microcosm.cli.app import main

    one = collector()
    url = f"{one.said['http']}/v1/traces"
    provider = TracerProvider(resource=Resource({"service.name": "shop"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url, compression=Compression.Gzip)))
    tracer = provider.get_tracer("test")
    for number in range(50):
        with (
            tracer.start_as_current_span("pay", attributes={"n": number, "at": [1.5, 2.5]}),
            tracer.start_as_current_span("debit") as span,
        ):
            span.add_event("done", {"ok": True})
    provider.shutdown()
    assert one.stop() == 0
    assert one.counts["spans"] == 100
    assert len(set(spans_in(one.out))) == 100
    capsys.readouterr()
    assert main(["online", str(one.out), "shop.pay#7", "shop.debit#7"]) == 0
    assert main(["extract", str(one.out), "--json"]) == 0
    assert '"events": 200' in capsys.readouterr().out


def test_grpc_and_http_are_one(collector: Make) -> None:
    grpc = pytest.importorskip("grpc")
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

    one = collector("--grpc", "0", "--max-body", "0.1")
    message = service.ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add().spans
    spans.add(trace_id=b"t" * 16, span_id=b"12345678", name="a")
    spans.add(name="without ids")
    with grpc.insecure_channel(one.said["grpc"].removeprefix("http://")) as channel:
        export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        answer = service.ExportTraceServiceResponse.FromString(
            export(message.SerializeToString(), compression=grpc.Compression.Gzip)
        )
        assert answer.partial_success.rejected_spans == 1
        codes = {}
        for name, wrong in (("broken", b"\x0a\xff\xff"), ("bomb", bytes(10**7))):
            with pytest.raises(grpc.RpcError) as caught:
                export(wrong, compression=grpc.Compression.Gzip)
            codes[name] = caught.value.code().name
    assert codes == {"broken": "INVALID_ARGUMENT", "bomb": "RESOURCE_EXHAUSTED"}
    assert one.post(body(5))[0] == 200
    assert one.stop() == 0
    assert (one.counts["spans"], one.counts["rejected spans"]) == (2, 1)
    assert spans_in(one.out) == [b"12345678".hex(), f"{5:016x}"]


def test_a_slash_at_the_end_of_the_address_is_nothing(collector: Make) -> None:
    """It was answered by 307, which not every exporter follows, and counted nowhere."""
    one = collector()
    assert one.post(body(1), path="/v1/traces/")[:2] == (200, b"{}")
    assert one.stop() == 0
    assert len(spans_in(one.out)) == 1


def test_who_never_ends_the_head_of_a_request_is_not_waited_for(tmp_path: Path) -> None:
    """Such a connection was held for ever, also where it sent a byte a minute; a thousand were all."""

    async def answered(reader: asyncio.StreamReader) -> bytes:
        found = b""
        with suppress(ConnectionError):
            while piece := await reader.read(10_000):
                found += piece
        return found

    async def sending(port: int, at_once: bytes, slowly: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(at_once)
        answer = asyncio.create_task(answered(reader))
        for byte in slowly:
            await asyncio.wait({answer}, timeout=0.1)
            if answer.done():
                break
            writer.write(bytes([byte]))
        async with asyncio.timeout(20):
            await answer
        writer.close()
        return answer.result()

    async def all_of_them() -> list[bytes]:
        begun: asyncio.Queue[Listening] = asyncio.Queue()
        intake = Intake(Folder(str(tmp_path)), IntakeLimits(patience=1.0))
        served = asyncio.create_task(serve(intake, "127.0.0.1", 0, None, begun.put_nowait))
        port = int((await begun.get()).http.rpartition(":")[2])
        head = b"POST /%s HTTP/1.1\r\nhost: here\r\ncontent-length: 1000\r\n\r\n"
        kept = sending(port, b"GET /healthz HTTP/1.1\r\nhost: here\r\n\r\nGET /healthz", b"")
        slow = [
            sending(port, first, b"x" * 100) for first in (b"", b"GET /", head % b"v1/traces", head % b"")
        ]
        answers = await asyncio.gather(kept, *slow)
        os.kill(os.getpid(), signal.SIGTERM)
        await served
        intake.folder.close()
        assert intake.counts.refused == {"too slow": 5, "not for spans": 1}
        return answers

    kept, *slow = asyncio.run(all_of_them())
    assert (kept[:12], kept[-3:]) == (b"HTTP/1.1 200", b"ok\n")
    assert [answer[:12] for answer in slow] == [b"", b"", b"HTTP/1.1 408", b"HTTP/1.1 404"]


def test_a_largest_request_is_one_that_can_be(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of gRPC it was a fault of this program, and so was each request that was packed."""
    from microcosm.cli.app import main

    assert main(["collect", "--grpc", "0", "--max-body", "2048", "--out", str(tmp_path / "spans")]) == 2
    assert "--max-body is a number of MB from 0.001 to 2,047" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_connections_for_which_there_is_no_file_are_counted_and_wait(collector: Make) -> None:
    """Of each second there were megabytes of traces of where."""
    one = collector()
    limits = resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE)
    used = len(os.listdir(f"/proc/{one.process.pid}/fd"))
    resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, (used + 2, limits[1]))
    connections = [socket.create_connection(("127.0.0.1", one.port)) for _ in range(20)]
    time.sleep(0.5)
    for connection in connections:
        connection.close()
    resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, limits)
    assert one.post(body(1))[0] == 200
    assert one.stop() == 0
    assert one.errors == ""
    assert [*one.counts["refused requests"]] == ["too many open files"]
    assert one.counts["refused requests"]["too many open files"] < 20


def test_what_is_wrong_is_answered_and_counted(collector: Make) -> None:
    one = collector("--max-body", "0.01")
    large = body(*range(1, 200))
    cases: list[tuple[int, str, tuple[Any, ...], dict[str, str]]] = [
        (400, "content type", (b"x", "text/plain"), {}),
        (400, "content encoding", (b"x",), {"Content_Encoding": "br"}),
        (400, "broken gzip", (b"x",), {"Content_Encoding": "gzip"}),
        (400, "broken gzip", (gzip.compress(body(1))[:-3],), {"Content_Encoding": "gzip"}),
        (400, "broken protobuf", (b"\x0a\x7fabc", PROTOBUF), {}),
        (400, "broken JSON", (b"{",), {}),
        (400, "nested too deep", (b'{"resourceSpans":' + b"[" * 1000 + b"]" * 1000 + b"}",), {}),
        (413, "too large", (large,), {}),
        (413, "too large", (gzip.compress(large),), {"Content_Encoding": "gzip"}),
        (404, "not for spans", (b"{}", JSON, "/v1/metrics"), {}),
        (404, "not for spans", (b"{}", JSON, "/v1/logs/"), {}),
        (404, "not for spans", (b"{}", JSON, "/"), {}),
        (404, "not for spans", (b"{}", JSON, "/v1/traces//"), {}),
        (404, "not for spans", (b"{}", JSON, "/healthz"), {}),
    ]
    for status, _, arguments, headers in cases:
        found, said, more = one.post(*arguments, **headers)
        assert found == status, arguments
        if arguments[1:2] == (PROTOBUF,):
            assert more["content-type"] == PROTOBUF
        else:
            assert more["content-type"] == JSON
            assert json.loads(said)["message"]
            hints = {
                "/v1/metrics": [b"OTEL_METRICS_EXPORTER=none"],
                "/v1/logs/": [b"OTEL_LOGS_EXPORTER=none"],
            }
            assert re.findall(rb"\w+_EXPORTER=none", said) == hints.get(*arguments[2:] or ("",), [])
    assert one.post(b"{}") == (200, b"{}", one.post(b"{}")[2])
    assert json.loads(one.post(b'{"resourceLogs": []}')[1])["partialSuccess"]["errorMessage"]
    with socket.create_connection(("127.0.0.1", one.port)) as cut:
        cut.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        cut.sendall(b"Content-Length: 5000\r\n\r\n{")
    with socket.create_connection(("127.0.0.1", one.port)) as strange:
        strange.sendall(b"\x16\x03\x01\x02\r\n\r\n")
        assert strange.recv(100).startswith(b"HTTP/1.1 400")
    status, metrics = one.get("/metrics")
    assert status == 200
    assert 'refused_requests_total{reason="broken gzip"} 2\n' in metrics
    assert metrics.endswith("# EOF\n")
    assert one.get("/healthz") == (200, "ok\n")
    assert (one.get("/v1/traces")[0], one.get("/v1/logs")[0]) == (405, 404)
    assert one.stop(signal.SIGINT) == 0
    expected: dict[str, int] = {"cut off": 1, "no HTTP": 1}
    for _, name, *_ in cases:
        expected[name] = expected.get(name, 0) + 1
    assert one.counts["refused requests"] == dict(sorted(expected.items()))
    assert not [*one.out.iterdir()], "nothing came that is kept"


def test_too_many_spans_a_second_are_put_off(collector: Make) -> None:
    one = collector("--rate", "5")
    assert one.post(body(*range(1, 21)))[0] == 200
    status, said, headers = one.post(body(50))
    assert (status, headers["retry-after"]) == (429, "3")
    assert "more than 5 spans a second" in json.loads(said)["message"]
    assert one.post(b" " * (8 << 20))[0] == 429, "it is heard, though nothing of the request was wanted"
    one.stop()
    assert one.counts["refused requests"] == {"rate": 2}


def test_too_many_at_once_are_put_off(collector: Make) -> None:
    one = collector("--at-once", "1")
    with socket.create_connection(("127.0.0.1", one.port)) as slow:
        slow.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        slow.sendall(b"Content-Length: 2\r\n\r\n{")
        for _ in range(1000):  # until the first is under way
            status, _, headers = one.post(body(1))
            if status == 503:
                break
        assert (status, headers["retry-after"]) == (503, "1")
        slow.sendall(b"}")
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
    assert one.post(body(2))[0] == 200


def test_a_disk_that_is_full_and_then_is_not(collector: Make) -> None:
    one = collector()
    assert one.post(body(1))[0] == 200
    size = sum(file.stat().st_size for file in one.out.iterdir())
    soft, hard = resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (size + 100, hard))
    status, said, headers = one.post(body(2, 3, 4))
    assert (status, headers["retry-after"]) == (503, "5")
    assert "nothing of it is kept" in json.loads(said)["message"]
    assert one.get("/healthz")[0] == 503
    assert "microcosm_collect_healthy 0\n" in one.get("/metrics")[1]
    assert one.post(body(*range(5, 20)))[0] == 503
    assert spans_in(one.out) == [f"{1:016x}"]
    assert b"".join(file.read_bytes() for file in one.out.iterdir()).count(b"\n") == 1
    resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
    assert one.post(body(2, 3, 4))[0] == 200
    assert one.get("/healthz")[0] == 200
    assert one.stop() == 0
    assert spans_in(one.out) == [f"{number:016x}" for number in (1, 2, 3, 4)]
    assert one.counts["refused requests"] == {"not written": 2}


def test_an_address_that_is_taken_and_a_folder_that_is_none(tmp_path: Path, collector: Make) -> None:
    from microcosm.cli.app import main

    one = collector()
    assert main(["collect", "--otlp", str(one.port), "--out", str(tmp_path / "other")]) == 4
    (tmp_path / "file").write_text("")
    assert main(["collect", "--otlp", "0", "--out", str(tmp_path / "file")]) == 4
    assert main(["collect", "--otlp", "0"]) == 2


def test_without_the_library_of_protobuf_json_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio
    import sys

    import httpx

    from microcosm.collect.intake import Folder, Intake
    from microcosm.collect.serving import application

    monkeypatch.setitem(sys.modules, "opentelemetry.proto.collector.trace.v1.trace_service_pb2", None)
    folder = Folder(str(tmp_path))

    async def ask() -> None:
        transport = httpx.ASGITransport(application(Intake(folder)))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            refused = await client.post("/v1/traces", content=b"", headers={"content-type": PROTOBUF})
            assert refused.status_code == 415
            assert b"pip install 'causal-microcosm[collect]'" in refused.content
            assert (await client.post("/v1/traces", json=request(1))).status_code == 200

    asyncio.run(ask())
    folder.close()
    assert spans_in(tmp_path) == [f"{1:016x}"]


def test_the_page_is_shown_once_something_came_and_ends_with_the_collector(
    collector: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from microcosm.cli.app import COMMANDS

    if "view" not in COMMANDS:
        pytest.skip("there is no page yet")
    monkeypatch.setenv("BROWSER", "true")  # the program of that name, which shows nothing
    one = collector("--view")
    assert one.post(body(1, 2))[0] == 200
    assert one.process.stderr is not None
    address = one.process.stderr.readline().strip()
    host, _, port = address.partition("/#")[0].removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))):
        pass
    assert one.stop() == 0
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)))


def test_a_request_that_does_not_come_to_its_end_is_given_up(tmp_path: Path) -> None:
    import asyncio

    from microcosm.collect.intake import Folder, Intake, IntakeLimits
    from microcosm.collect.serving import application

    folder = Folder(str(tmp_path))
    intake = Intake(folder, IntakeLimits(patience=0.01))
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if sent:
            raise AssertionError("more is asked for, though an answer is sent")
        try:
            await asyncio.sleep(60)
        finally:
            sent.append("given up")
        raise AssertionError("it waits for a minute")

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", JSON.encode())]
    scope = {"type": "http", "method": "POST", "path": "/v1/traces", "headers": headers, "query_string": b""}
    asyncio.run(application(intake)(scope, receive, send))
    folder.close()
    assert (sent[0], sent[1]["status"]) == ("given up", 408)
    assert intake.counts.refused == {"too slow": 1}
