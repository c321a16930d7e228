"""OTLP over gRPC, where grpcio is installed: the one method that spans come by."""

from __future__ import annotations

from typing import Any

from microcosm.collect.bodies import has_protobuf
from microcosm.collect.intake import Intake
from microcosm.collect.refused import PROTOBUF, Refused, taken
from microcosm.errors import MicrocosmError, MissingLibrary

SERVICE, METHOD = "opentelemetry.proto.collector.trace.v1.TraceService", "Export"


async def started(intake: Intake, host: str, port: int) -> tuple[Any, int]:
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
