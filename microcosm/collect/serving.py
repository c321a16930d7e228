"""Takes requests until somebody says stop: OTLP over HTTP, and over gRPC where grpcio is installed.

HTTP answers `POST /v1/traces`, and beside it `GET /metrics` and `GET /healthz`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from microcosm.collect.bodies import JSON, PROTOBUF, Reason, Refused, has_protobuf, media_of, taken
from microcosm.collect.intake import Intake, exposition
from microcosm.errors import MicrocosmError, MissingLibrary
from microcosm.files import host_and_port

GRACE = 10
"""Seconds for requests that are under way at the end."""
CONNECTIONS = 1000
"""Where so many are open, requests are answered 503 by the server itself."""


SERVICE, METHOD = "opentelemetry.proto.collector.trace.v1.TraceService", "Export"
"""By what spans come over gRPC."""


class Listening(NamedTuple):
    """Where requests are taken."""

    http: str
    grpc: str | None


async def serve(
    intake: Intake, host: str, http: int, grpc: int | None, begun: Callable[[Listening], None]
) -> None:
    """Take requests until SIGINT or SIGTERM; those that are under way then are answered.

    A port of 0 is any; `begun` is told which. Raises `MicrocosmError` where an address cannot be listened on.
    """
    log = logging.getLogger("uvicorn.error")
    log.handlers, log.propagate = [_Counting(intake)], False
    with _listening(host, http) as listener:
        bound = None
        server = _Server(
            uvicorn.Config(
                application(intake),
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                limit_concurrency=CONNECTIONS,
                timeout_graceful_shutdown=GRACE,
            ),
            intake,
        )
        remote = None
        if grpc is not None:
            remote, bound = await _grpc_server(intake, host, grpc)
        loop = asyncio.get_running_loop()
        second = 0

        def unforeseen(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            nonlocal second
            if "socket" in context:  # no file for a connection, told some 1000 times
                before, second = second, int(loop.time())
                intake.counts.refused["too many open files"] += second != before
            elif not server.should_exit:  # when asyncio may try once more to have it, of no socket
                loop.default_exception_handler(context)

        loop.set_exception_handler(unforeseen)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, server.stop)
        try:
            begun(
                Listening(_url(host, listener.getsockname()[1]), None if bound is None else _url(host, bound))
            )
            await server.serve(sockets=[listener])
        finally:
            if remote is not None:
                await remote.stop(GRACE)
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


async def _grpc_server(intake: Intake, host: str, port: int) -> tuple[Any, int]:
    """A server that has begun to take requests (`await server.stop(grace)` ends it), and its port.

    Raises `MissingLibrary` where grpcio or opentelemetry-proto is not installed, `MicrocosmError` where the
    address is taken.
    """
    try:
        import grpc
    except ImportError:
        raise MicrocosmError("requests over gRPC need grpcio: pip install grpcio") from None
    if not has_protobuf():
        raise MissingLibrary("requests over gRPC", ("opentelemetry-proto",), "collect")
    codes = {code.value[0]: code for code in grpc.StatusCode}

    async def export(body: bytes, context: Any) -> bytes:
        try:
            with intake.admitted():
                spans = await intake.take(body, PROTOBUF)
        except Refused as why:
            await context.abort(codes[why.reason.code], str(why))
            raise
        return taken(PROTOBUF, spans.rejected, spans.warning)

    server = grpc.aio.server(
        options=(("grpc.max_receive_message_length", intake.limits.body), ("grpc.so_reuseport", 0)),
        maximum_concurrent_rpcs=intake.limits.at_once,
    )
    handler = grpc.unary_unary_rpc_method_handler(export)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
    where = host_and_port(host, port)
    try:
        bound = server.add_insecure_port(where)
    except RuntimeError:
        raise MicrocosmError(f"cannot listen on {where}: another program may") from None
    await server.start()
    return server, bound


class _Counting(logging.Handler):
    """Counts what the server itself refuses, and what fails unforeseen, where it would write of it."""

    def __init__(self, intake: Intake) -> None:
        super().__init__(logging.WARNING)
        self._counts = intake.counts.refused

    def emit(self, record: logging.LogRecord) -> None:
        self._counts["fault of this program" if record.exc_info else "no HTTP"] += 1


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it, and waits for the head of a request as for a body."""

    def __init__(self, config: uvicorn.Config, intake: Intake) -> None:
        super().__init__(config)
        self._intake = intake
        self._waiting: dict[tuple[Any, Any], float] = {}
        """Connections on which no request is under way, each with the last one, and since when."""

    async def on_tick(self, counter: int) -> bool:
        now, before = monotonic(), self._waiting
        last = [(each, getattr(each, "cycle", each)) for each in self.server_state.connections]
        waiting = [each for each in last if each[1] is None or getattr(each[1], "response_complete", False)]
        self._waiting = {each: before.get(each, now) for each in waiting}
        for (connection, _), since in self._waiting.items():
            if now - since > self._intake.limits.patience and not connection.transport.is_closing():
                self._intake.counts.refused[Reason.TOO_SLOW.called] += 1
                connection.transport.close()
        return await super().on_tick(counter)

    def stop(self) -> None:
        """Stop in order; told a second time, at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, number)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(CONNECTIONS)  # from now on nobody is turned away
        except OSError:
            listener.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MicrocosmError(f"cannot listen on {host} port {port}: {reason}") from None
    return listener


def _url(host: str, port: int) -> str:
    return f"http://{host_and_port(host, port)}"


OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def application(intake: Intake) -> Starlette:
    """What answers requests."""

    async def traces(request: Request) -> Response:
        content_type = request.headers.get("content-type", "")
        try:
            with intake.admitted():
                body = await _body(request, intake)
                media = media_of(content_type)
                spans = await intake.take(body, media, request.headers.get("content-encoding", ""))
        except Refused as why:
            if why.reason in (Reason.TOO_MANY, Reason.TOO_FAST):
                await _drop(request, intake)
            return _refusal(why, content_type)
        return _answer(taken(media, spans.rejected, spans.warning), media)

    async def other(request: Request, why: Exception) -> Response:
        if request.method != "POST" and isinstance(why, HTTPException):
            return PlainTextResponse(why.detail, why.status_code, why.headers)
        path = request.url.path
        message = f"{path} is not kept here, only /v1/traces is"
        signal = path.strip("/").removeprefix("v1/")
        if signal in ("logs", "metrics"):
            message += f": OTEL_{signal.upper()}_EXPORTER=none ends this"
        intake.counts.refused[Reason.NO_SPANS.called] += 1
        return _refusal(Refused(Reason.NO_SPANS, message), request.headers.get("content-type", ""))

    async def metrics(request: Request) -> Response:
        return Response(exposition(intake), media_type=OPENMETRICS)

    async def health(request: Request) -> Response:
        fault = intake.folder.fault
        if fault is None:
            return PlainTextResponse("ok\n")
        return PlainTextResponse(f"cannot be written: {fault.strerror or fault}\n", status_code=503)

    found = Starlette(
        routes=[
            *(Route(f"/v1/traces{end}", traces, methods=["POST"]) for end in ("", "/")),
            Route("/metrics", metrics),
            Route("/healthz", health),
        ],
        exception_handlers={404: other, 405: other},
    )
    found.router.redirect_slashes = False  # not every exporter follows
    return found


async def _body(request: Request, intake: Intake) -> bytes:
    """The whole body; of one that is too large the rest is read and dropped, that its sender may hear of it.

    Raises `Refused` where it is too large, cut off, or too slow.
    """
    pieces, size, largest = [], 0, intake.limits.body
    try:
        async with asyncio.timeout(intake.limits.patience):
            async for piece in request.stream():
                size += len(piece)
                if size <= largest:
                    pieces.append(piece)
                else:
                    pieces.clear()
    except ClientDisconnect:
        raise Refused(Reason.CUT_OFF, "the sender went away before the end of the request") from None
    except TimeoutError:
        raise Refused(
            Reason.TOO_SLOW, f"the request did not come within {intake.limits.patience:g} seconds"
        ) from None
    if size > largest:
        intake.counts.received += size
        raise intake.too_large()
    return b"".join(pieces)


async def _drop(request: Request, intake: Intake) -> None:
    """Read a body that nobody wants: its sender hears no answer before it is sent."""
    with suppress(ClientDisconnect, TimeoutError):
        async with asyncio.timeout(intake.limits.patience):
            async for _ in request.stream():
                pass


def _answer(content: bytes, media: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(content, status, {"content-type": media, **(headers or {})})


def _refusal(why: Refused, content_type: str) -> Response:
    """In the form of the request, where that is one of the two."""
    media = PROTOBUF if content_type.strip().lower().startswith(PROTOBUF) else JSON
    headers = {} if why.after is None else {"retry-after": str(why.after)}
    if why.reason in (Reason.TOO_SLOW, Reason.CUT_OFF):
        headers["connection"] = "close"
    return _answer(why.body(media), media, why.reason.status, headers)
