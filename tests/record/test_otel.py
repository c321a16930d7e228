"""Spans of the real SDK, over the real instrumentation of ASGI and httpx, as events and messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import default_setter
from opentelemetry.sdk.trace import TracerProvider

from microcosm import Microcosm
from microcosm.record import Recorder, otel
from microcosm.record.header import KEY

ROOT = Path(__file__).parents[2]


@pytest.fixture
def set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Recorder, TracerProvider]]:
    """A recorder of a provider of its own; what is global is put back."""
    monkeypatch.setenv(otel.CAPTURE, "content-type")
    before = propagate.get_global_textmap()
    monkeypatch.setattr(otel._Recording, "recorder", None)
    provider = TracerProvider(shutdown_on_exit=False)
    with Recorder("shop", tmp_path / "shop.jsonl") as recorder:
        otel.record_spans(recorder, provider)
        yield recorder, provider
    propagate.set_global_textmap(before)
    set_answers(None)


def set_answers(propagator: Any) -> None:
    propagators = pytest.importorskip("opentelemetry.instrumentation.propagators")
    propagators.set_global_response_propagator(propagator)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_spans_and_what_happens_in_them_are_events_in_their_order(
    set_up: tuple[Recorder, TracerProvider], tmp_path: Path
) -> None:
    tracer = set_up[1].get_tracer("test")
    with tracer.start_as_current_span("outer", attributes={"key": "x"}) as outer:
        with tracer.start_as_current_span("inner"):
            outer.add_event("seen", {"at": 1})
        with pytest.raises(ValueError, match="boom"), tracer.start_as_current_span("broken"):
            raise ValueError("boom")
    outer.add_event("too late")
    found = lines(tmp_path / "shop.jsonl")
    assert [line["label"] for line in found] == [
        *("outer", "inner", "seen", "end of inner", "broken", "exception", "end of broken", "end of outer"),
    ]
    assert found[0]["attributes"]["key"] == "x"
    assert found[2]["attributes"]["at"] == 1
    assert found[2]["attributes"]["span_id"] == found[0]["attributes"]["span_id"]
    assert "boom" in found[6]["attributes"]["status"]
    assert {event.name for event in outer.events} == {"seen"}


def test_what_is_odd_in_a_span_is_no_fault_of_the_program(
    set_up: tuple[Recorder, TracerProvider], tmp_path: Path
) -> None:
    """A path that is no address was answered by 500 where spans were recorded, and keys of events raised."""
    tracer = set_up[1].get_tracer("test")
    keys: Any = {1: "x"}
    for name, value in (("http.target", "//["), ("url.path", "/a"), ("http.url", "http://\uff03\u2100/")):
        with tracer.start_as_current_span("GET", attributes={name: value}) as span:
            span.add_event("seen", keys)
    found = [line for line in lines(tmp_path / "shop.jsonl") if not line["label"].startswith("end")]
    assert [line["label"] for line in found] == ["GET", "seen", "GET /a", "seen", "GET", "seen"]
    assert found[1]["attributes"]["1"] == "x"


def test_a_header_is_received_by_the_first_span_under_it_and_once(
    set_up: tuple[Recorder, TracerProvider], tmp_path: Path
) -> None:
    recorder, provider = set_up
    tracer = provider.get_tracer("test")
    carrier: dict[str, str] = {}
    with Recorder("client", tmp_path / "client.jsonl") as client:
        carrier[KEY] = client.send("request")
    context = propagate.extract(carrier)
    with tracer.start_as_current_span("serve", context=context), tracer.start_as_current_span("inner"):
        pass
    with tracer.start_as_current_span("again", context=context):
        pass
    kinds = [(line["label"], line["kind"]) for line in lines(tmp_path / "shop.jsonl")]
    assert kinds[:2] == [("serve", "receive"), ("inner", "internal")]
    assert ("again", "internal") in kinds
    assert recorder.foreign == 0
    known = Microcosm.read(tmp_path)
    assert str(known.online("client:1", "shop:1")) == "<"


def test_a_message_that_brings_a_thousand_headers_is_a_few_events(
    set_up: tuple[Recorder, TracerProvider], tmp_path: Path
) -> None:
    tracer = set_up[1].get_tracer("test")
    with tracer.start_as_current_span("serve", context=propagate.extract({KEY: "x," * 1000})):
        pass
    assert len(lines(tmp_path / "shop.jsonl")) == otel.MOST + 1


@pytest.mark.parametrize(
    "header", ["", "x", "1~", "00-4bf92f3577b34da6-01", "1~ann:1~" + "A" * 10, "\u2028" * 99]
)
def test_foreign_headers_order_nothing(
    set_up: tuple[Recorder, TracerProvider], tmp_path: Path, header: str
) -> None:
    tracer = set_up[1].get_tracer("test")
    with tracer.start_as_current_span("serve", context=propagate.extract({KEY: header})):
        pass
    assert {line["kind"] for line in lines(tmp_path / "shop.jsonl")} == {"internal"}


def test_requests_and_answers_carry_headers_beside_what_others_carry(
    set_up: tuple[Recorder, TracerProvider], tmp_path: Path
) -> None:
    class Other:
        def inject(self, carrier: Any, context: Context | None = None, setter: Any = default_setter) -> None:
            setter.set(carrier, "other", "kept")

    tracer = set_up[1].get_tracer("test")
    request: dict[str, str] = {}
    with tracer.start_as_current_span("GET", attributes={"url.full": "http://x/a?b"}):
        propagate.inject(request)
        answer: dict[str, str] = {}
        otel.AnswerPropagator(Other()).inject(answer)
        body = {"type": "http.response.body"}
        otel.AnswerPropagator().inject(body)
    assert request.keys() == {"traceparent", KEY}
    assert answer.keys() == {"other", KEY}
    assert body == {"type": "http.response.body"}
    labels = [line["label"] for line in lines(tmp_path / "shop.jsonl")]
    assert labels == ["GET /a", "GET /a is sent", "GET /a is answered", "end of GET /a"]
    assert len(request[KEY]) <= 40
    assert os.environ[otel.CAPTURE] == f"content-type,{KEY}"


def test_an_answer_is_received_at_the_end_of_a_client_and_of_nobody_else(
    set_up: tuple[Recorder, TracerProvider], tmp_path: Path
) -> None:
    tracer = set_up[1].get_tracer("test")
    with Recorder("store", tmp_path / "store.jsonl") as store:
        headers = [store.send("one"), store.send("two")]
    for kind in (trace.SpanKind.CLIENT, trace.SpanKind.SERVER):
        with tracer.start_as_current_span("ask", kind=kind) as span:
            span.set_attribute(otel.ANSWERED, [", ".join(headers)])
    found = [(line["label"], line["kind"]) for line in lines(tmp_path / "shop.jsonl")]
    assert found == [
        *(("ask", "internal"), ("end of ask", "receive"), ("end of ask", "receive")),
        *(("ask", "internal"), ("end of ask", "internal")),
    ]


def test_without_a_recorder_nothing_is_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel._Recording, "recorder", None)
    monkeypatch.delenv(otel.FOLDER, raising=False)
    otel.start()
    carrier: dict[str, str] = {}
    otel.CausalityPropagator().inject(carrier)
    otel.AnswerPropagator().inject(carrier)
    assert carrier == {}
    assert otel.CausalityPropagator().extract({KEY: "1~a:1~" + "A" * 11}) == {}


def test_a_parent_and_links_in_other_threads_are_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otel._Recording, "recorder", None)
    provider = TracerProvider(shutdown_on_exit=False)
    with Recorder("shop", tmp_path / "shop.jsonl", tasks=True) as recorder:
        provider.add_span_processor(otel.CausalitySpans(recorder))
        tracer = provider.get_tracer("test")
        ready, over = threading.Event(), threading.Event()
        spans: list[Any] = []

        def apart() -> None:
            ready.wait()
            with tracer.start_as_current_span("child", context=trace.set_span_in_context(spans[0])):
                pass
            with tracer.start_as_current_span("linked", links=[trace.Link(spans[1].get_span_context())]):
                pass
            over.set()

        other = threading.Thread(target=apart)
        other.start()  # before anything happens: its start says nothing
        spans += [tracer.start_span("parent"), tracer.start_span("other")]
        ready.set()
        over.wait()
        other.join()
    labels = {line["label"]: f"{line['process']}:{line['seq']}" for line in lines(tmp_path / "shop.jsonl")}
    known = Microcosm.read(tmp_path / "shop.jsonl")

    def said(first: str, second: str) -> str:
        return str(known.online(labels[first], labels[second]))

    assert [said("parent", "child"), said("other", "linked")] == ["<", "<"]
    assert said("other", "child") != "<", "of this nobody knows"


def test_what_came_with_a_span_that_is_linked_to_is_received(
    set_up: tuple[Recorder, TracerProvider], tmp_path: Path
) -> None:
    tracer = set_up[1].get_tracer("test")
    links = []
    with Recorder("producer", tmp_path / "producer.jsonl") as producer:
        for number in (1, 2):
            parent = f"00-{7:032x}-{number:016x}-01"
            carrier = {"traceparent": parent, KEY: producer.send(f"put {number}")}
            links.append(trace.Link(trace.get_current_span(propagate.extract(carrier)).get_span_context()))
    with tracer.start_as_current_span("batch", links=links):
        pass
    assert [line["kind"] for line in lines(tmp_path / "shop.jsonl")] == ["receive", "receive", "internal"]
    known = Microcosm.read(tmp_path)
    assert str(known.online("producer:2", "shop:2")) == "<"


PROGRAM = """
import asyncio, contextlib, threading, aiohttp, httpx, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def hello(request):
    return JSONResponse({"hello": request.path_params["name"]})

async def main():
    import socket
    listener = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=[Route("/hello/{name}", hello)])
    from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
    server = uvicorn.Server(uvicorn.Config(OpenTelemetryMiddleware(app), log_level="error", lifespan="off"))
    server.capture_signals = contextlib.nullcontext
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    async with CLIENT as client:
        for name in ("ann", "bob"):
            answer = await client.get(f"http://127.0.0.1:{listener.getsockname()[1]}/hello/{name}")
            assert "causality" in answer.headers, answer.headers
    server.should_exit = True
    await serving

asyncio.run(main())
"""


def installed(folder: Path) -> Path:
    """A folder for PYTHONPATH by which the entry points of this checkout are those of a distribution."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    named = [group for group in points if group.startswith("opentelemetry_")]
    assert len(named) == 2
    about = folder / "recorded_here-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: recorded-here\nVersion: 1\n")
    (about / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points[group].items())
            for group in named
        )
    )
    return folder


@pytest.mark.parametrize(
    ("library", "client"),
    [
        ("httpx", "httpx.AsyncClient()"),
        pytest.param("aiohttp_client", "aiohttp.ClientSession()", marks=pytest.mark.slow),
    ],
)
def test_two_variables_record_a_program_that_knows_nothing_of_it(
    library: str, client: str, tmp_path: Path
) -> None:
    pytest.importorskip(f"opentelemetry.instrumentation.{library}")
    (tmp_path / "program.py").write_text(PROGRAM.replace("CLIENT", client))
    variables = {"OTEL_SERVICE_NAME": "shop", "MICROCOSM_RECORD": str(tmp_path / "records")}
    quiet = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
    quiet["OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"] = "starlette"  # the program says its middleware itself
    path = os.pathsep.join((str(installed(tmp_path / "installed")), str(ROOT)))
    ran = subprocess.run(
        [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, **variables, **quiet, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "causality" not in ran.stderr, ran.stderr
    found = lines(tmp_path / "records" / "shop.jsonl")
    sent = {line["message"] for line in found if line["kind"] == "send"}
    assert len(sent) == 4, "two requests, two answers"
    assert sent == {line["message"] for line in found if line["kind"] == "receive"}
