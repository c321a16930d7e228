"""Runs the ways in, HTTP and gRPC, until somebody says stop; gRPC is here, where grpcio is installed."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn

from microcosm.collect.bodies import has_protobuf
from microcosm.collect.intake import Intake
from microcosm.collect.over_http import application
from microcosm.collect.refused import PROTOBUF, Refused, taken
from microcosm.errors import MicrocosmError, MissingLibrary

GRACE = 10
"""Seconds for requests that are under way at the end."""
CONNECTIONS = 1000
"""At most so many are held open; more are answered 503 by the server itself."""


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
            )
        )
        remote = None
        if grpc is not None:
            remote, bound = await _grpc_server(intake, host, grpc)
        loop = asyncio.get_running_loop()
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
        return taken(PROTOBUF, spans.rejected, spans.said)

    server = grpc.aio.server(
        options=(("grpc.max_receive_message_length", intake.limits.body), ("grpc.so_reuseport", 0)),
        maximum_concurrent_rpcs=intake.limits.at_once,
    )
    handler = grpc.unary_unary_rpc_method_handler(export)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
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
    """A server that leaves signals to whoever runs it."""

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
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
