"""OTLP over HTTP: `POST /v1/traces`, and beside it `GET /metrics` and `GET /healthz`."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from microcosm.collect import refused
from microcosm.collect.bodies import media_of
from microcosm.collect.intake import Intake, exposition
from microcosm.collect.refused import JSON, PROTOBUF, Refused, taken

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
            if why.reason in (refused.TOO_MANY, refused.TOO_FAST):
                await _drop(request, intake)
            return _refusal(why, content_type)
        return _answer(taken(media, spans.rejected, spans.said), media)

    async def other(request: Request) -> Response:
        signal = request.path_params["signal"]
        ends = f"OTEL_{signal.upper()}_EXPORTER=none ends this"
        said = f"/v1/{signal} is not kept here, only /v1/traces is: {ends}"
        intake.counts.refused[refused.NO_SPANS.name] += 1
        return _refusal(Refused(refused.NO_SPANS, said), request.headers.get("content-type", ""))

    async def metrics(request: Request) -> Response:
        return Response(exposition(intake), media_type=OPENMETRICS)

    async def health(request: Request) -> Response:
        fault = intake.folder.fault
        if fault is None:
            return PlainTextResponse("ok\n")
        return PlainTextResponse(f"cannot be written: {fault.strerror or fault}\n", status_code=503)

    return Starlette(
        routes=[
            Route("/v1/traces", traces, methods=["POST"]),
            Route("/v1/{signal:str}", other, methods=["POST"]),
            Route("/metrics", metrics),
            Route("/healthz", health),
        ]
    )


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
        raise Refused(refused.CUT_OFF, "the sender went away before the end of the request") from None
    except TimeoutError:
        raise Refused(
            refused.TOO_SLOW, f"the request did not come within {intake.limits.patience:g} seconds"
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
    if why.reason in (refused.TOO_SLOW, refused.CUT_OFF):
        headers["connection"] = "close"
    return _answer(why.body(media), media, why.reason.status, headers)
