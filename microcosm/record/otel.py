"""Records a program that uses OpenTelemetry: its spans become events, its requests and answers messages.

    from microcosm.record import Recorder
    from microcosm.record.otel import record_spans
    record_spans(Recorder("shop", "shop.jsonl", tasks=True))   # before libraries are instrumented

or with no line at all, `MICROCOSM_RECORD=records opentelemetry-instrument python shop.py`.

The start and the end of a span, and what happens in it (`add_event`), are events of the thread or task that
did them, so that what one task awaited one after the other stays in that order; spans alone do not tell it.
What a program sends with a span's context carries the name of its sending as well, in a header of its own
beside `traceparent`, and so does the answer. Where an answer cannot carry it, or nobody looks at what it
carries, nothing is said of it.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from types import MethodType
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from opentelemetry import propagate, trace
from opentelemetry.context import Context, create_key, get_value, set_value
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import (
    CarrierT,
    Getter,
    Setter,
    TextMapPropagator,
    default_getter,
    default_setter,
)
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from microcosm.files import make_folder
from microcosm.record.header import KEY
from microcosm.record.recorder import Recorder
from microcosm.record.strands import Point

FOLDER = "MICROCOSM_RECORD"
"""The variable that says in which folder programs under `opentelemetry-instrument` are recorded."""
CAPTURE = "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_RESPONSE"
"""By this the clients of httpx and requests are told to keep a header of answers as an attribute of spans."""
ANSWERED = f"http.response.header.{KEY}"
"""That attribute."""

CHAINS = "MICROCOSM_CHAINS"
"""The variable that says what is a chain there: `task`, each thread and task, or `process`, all of it."""
REMEMBERED = 10_000
"""So many of the latest spans may be linked to."""

MOST = 16
"""Headers that a message may bring; more are no work of ours."""

T = TypeVar("T")
_ARRIVED = create_key("microcosm-arrived")
_URLS = ("url.full", "http.url", "url.path", "http.target")
_log = logging.getLogger("microcosm.record")


class _Recording:
    """The recorder of this process, once there is one: propagators are made without being told of it."""

    recorder: Recorder | None = None
    arrived: _Latest[_Arrived]
    """What came with the contexts of spans of others, to which spans here may link."""


class _Latest(Generic[T]):
    """Something of each of the latest spans, by the number of the span."""

    def __init__(self) -> None:
        self._known: dict[int, T] = {}
        self._lock = threading.Lock()

    def put(self, span: int, value: T) -> None:
        with self._lock:
            self._known[span] = value
            if len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]

    def get(self, span: int) -> T | None:
        return self._known.get(span)


class _Arrived:
    """Headers that came with a request; the first span that begins under them receives them."""

    def __init__(self, headers: list[str]) -> None:
        self.headers = headers

    def taken(self) -> list[str]:
        """The headers; nobody gets them again."""
        headers, self.headers = self.headers, []
        return headers


class CausalityPropagator(TextMapPropagator):
    """Carries the name of a sending in the header `causality`; it does nothing where nothing is recorded.

    Its entry point is `microcosm`: `OTEL_PROPAGATORS=tracecontext,baggage,microcosm`.
    """

    def inject(
        self, carrier: CarrierT, context: Context | None = None, setter: Setter[CarrierT] = default_setter
    ) -> None:
        """A message is about to be sent, with these headers."""
        recorder = _Recording.recorder
        if recorder is not None:
            setter.set(carrier, KEY, recorder.send(f"{_named(trace.get_current_span(context))} is sent"))

    def extract(
        self, carrier: CarrierT, context: Context | None = None, getter: Getter[CarrierT] = default_getter
    ) -> Context:
        """A message came with these headers; the first span in the context that is returned receives it."""
        headers = getter.get(carrier, KEY) if _Recording.recorder is not None else None
        context = Context() if context is None else context
        if not headers:
            return context
        arrived = _Arrived(_split(headers))
        _Recording.arrived.put(trace.get_current_span(context).get_span_context().span_id, arrived)
        return set_value(_ARRIVED, arrived, context)

    @property
    def fields(self) -> set[str]:
        """The headers that it sets."""
        return {KEY}


class AnswerPropagator:
    """Lets an answer carry the name of its sending; servers ask the global one for it."""

    def __init__(self, before: Any = None) -> None:
        self._before = before

    def inject(
        self, carrier: Any, context: Context | None = None, setter: Setter[Any] = default_setter
    ) -> None:
        """An answer is about to be sent, with these headers."""
        if self._before is not None:
            self._before.inject(carrier, context=context, setter=setter)
        recorder = _Recording.recorder
        of_asgi = carrier.get("type") if isinstance(carrier, Mapping) else None
        if recorder is not None and of_asgi in (None, "http.response.start", "websocket.accept"):
            setter.set(carrier, KEY, recorder.send(f"{_named(trace.get_current_span(context))} is answered"))


class CausalitySpans(SpanProcessor):
    """Records spans as events of whoever begins and ends them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._begun: _Latest[Point] = _Latest()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """A span begins here, after its parent and what it links to; messages that came are received."""
        label = _named(span)
        about = {**_identity(span), "kind": span.kind.name.lower(), **(span.attributes or {})}
        came = get_value(_ARRIVED, parent_context)
        headers = came.taken() if isinstance(came, _Arrived) else []
        above = [(span.parent, "parent")] if span.parent is not None else []
        for other, link in (*above, *((each.context, "span link") for each in span.links)):
            if (begun := self._begun.get(other.span_id)) is not None:
                self._recorder.after(begun, link)
            elif link != "parent" and (linked := _Recording.arrived.get(other.span_id)) is not None:
                headers += linked.taken()
        self._record(label, about, headers)
        if (here := self._recorder.here()) is not None:
            self._begun.put(span.get_span_context().span_id, here)
        self._watch(span)

    def on_end(self, span: ReadableSpan) -> None:
        """It ends here, and with it an answer is received, if one came and its header was kept."""
        about = _identity(span)
        if span.status.description or not span.status.is_ok:
            about["status"] = span.status.description or span.status.status_code.name
        answered = (span.attributes or {}).get(ANSWERED) if span.kind is trace.SpanKind.CLIENT else ()
        self._record(f"end of {_named(span)}", about, _split(answered))

    def shutdown(self) -> None:
        """The provider ends; the recorder may go on."""
        self._recorder.flush()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Write what waits to be written."""
        self._recorder.flush()
        return True

    def _record(self, label: str, about: dict[str, Any], headers: list[str]) -> None:
        for header in headers:
            self._recorder.receive(header, label, **about)
        if not headers:
            self._recorder.event(label, **about)

    def _watch(self, span: Span) -> None:
        """Record what is added to a span when and where that is done: `on_end` would tell neither."""
        add, recorder, about = span.add_event, self._recorder, _identity(span)

        def add_event(
            this: Span, name: str, attributes: Mapping[str, Any] | None = None, timestamp: int | None = None
        ) -> None:
            if this.is_recording():
                own = attributes if isinstance(attributes, Mapping) else {}
                recorder.event(name, **about | {str(key): value for key, value in own.items()})
            add(name, attributes, timestamp)

        span.add_event = MethodType(add_event, span)  # type: ignore[method-assign]


_Recording.arrived = _Latest()


def record_spans(recorder: Recorder, provider: TracerProvider | None = None) -> None:
    """Record all spans of a provider (None: the global one), and the messages that go with them.

    To be called once, before libraries are instrumented: then clients keep the header of answers. Messages
    are carried by the global propagators, to which this one's are added.
    """
    _Recording.recorder = recorder
    (provider or _provider()).add_span_processor(CausalitySpans(recorder))
    propagator = propagate.get_global_textmap()
    if KEY not in propagator.fields:
        propagate.set_global_textmap(CompositePropagator([propagator, CausalityPropagator()]))
    kept = [one for one in os.environ.get(CAPTURE, "").split(",") if one.strip()]
    if KEY not in kept:
        os.environ[CAPTURE] = ",".join([*kept, KEY])
    try:
        from opentelemetry.instrumentation import propagators
    except ImportError:
        return  # nobody would ask for it
    known: Any = propagators
    before = known.get_global_response_propagator()
    if not isinstance(before, AnswerPropagator):
        known.set_global_response_propagator(AnswerPropagator(before))


def start() -> None:
    """What `opentelemetry-instrument` calls before it instruments libraries; nothing unless a folder is said.

    A service is recorded in a file of its own there, called as the service is, which several processes share.
    Threads and tasks are chains of their own unless `MICROCOSM_CHAINS=process`.
    """
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    try:
        provider = _provider()
        service = str(provider.resource.attributes.get("service.name") or "unknown_service")
        if service.startswith("unknown_service"):
            service = os.path.basename(sys.argv[0]) or "python"
        make_folder(folder)
        file = os.path.join(folder, service.replace(os.sep, "_") + ".jsonl")
        record_spans(Recorder(service, file, tasks=os.environ.get(CHAINS) != "process"), provider)
    except Exception as error:  # a program is not to be kept from running because it cannot be recorded
        _log.warning("nothing is recorded in %s: %s", folder, error)


def _provider() -> TracerProvider:
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        raise TypeError("there is no TracerProvider of the SDK; set one up first")
    return provider


def _named(span: Any) -> str:
    """What a span is called: its name, and the path where that is but a method.

    >>> _named(trace.INVALID_SPAN)
    'a message'
    """
    name, attributes = getattr(span, "name", None), getattr(span, "attributes", None) or {}
    if not name:
        return "a message"
    if " " not in name and (url := next((attributes[key] for key in _URLS if key in attributes), None)):
        with suppress(ValueError):  # whoever asks may write into an address what is none
            return f"{name} {urlsplit(str(url)).path or '/'}"
    return str(name)


def _identity(span: ReadableSpan) -> dict[str, Any]:
    context = span.get_span_context()
    if context is None:
        return {}
    return {
        "trace_id": trace.format_trace_id(context.trace_id),
        "span_id": trace.format_span_id(context.span_id),
    }


def _split(headers: object) -> list[str]:
    """Headers as they are kept: a list of them, or several in one."""
    if isinstance(headers, str):
        headers = (headers,)
    if not isinstance(headers, Iterable):
        return []
    found = (one.strip() for each in headers for one in str(each).split(",", MOST)[:MOST])
    return [*islice(filter(None, found), MOST)]
