"""Calls of gRPC over loopback, in both directions, with the library itself."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm, Relation
from microcosm.record import Recorder
from microcosm.record.rpc import (
    aio_client_interceptors,
    aio_server_interceptors,
    client_interceptors,
    server_interceptors,
)
from tests.record.logs import lines, named, ordered

grpc = pytest.importorskip("grpc")

METHODS = ("one", "many", "sum", "echo")


def ask(channel: Any, method: str) -> Any:
    """What a method is called by."""
    shape = {"one": "unary_unary", "many": "unary_stream", "sum": "stream_unary", "echo": "stream_stream"}
    return getattr(channel, shape[method])(f"/test/{method}")


def handlers(recorder: Recorder, *, later: bool) -> Any:
    """Four methods, one of each shape, which record that they were asked."""

    def one(request: bytes, context: Any) -> bytes:
        context.set_trailing_metadata((("other", "kept"),))
        recorder.event("in one")
        return request

    def many(request: bytes, context: Any) -> Any:
        recorder.event("in many")
        yield from (request, request)

    def total(request: Any, context: Any) -> bytes:
        found = b"".join(request)
        recorder.event("in sum")
        return found

    def echo(request: Any, context: Any) -> Any:
        recorder.event("in echo")
        yield from request

    async def one_later(request: bytes, context: Any) -> bytes:
        return one(request, context)

    async def many_later(request: bytes, context: Any) -> Any:
        for each in many(request, context):
            yield each

    async def total_later(request: Any, context: Any) -> bytes:
        return total([each async for each in request], context)

    async def echo_later(request: Any, context: Any) -> Any:
        recorder.event("in echo")
        async for each in request:
            yield each

    made = {
        "one": grpc.unary_unary_rpc_method_handler(one_later if later else one),
        "many": grpc.unary_stream_rpc_method_handler(many_later if later else many),
        "sum": grpc.stream_unary_rpc_method_handler(total_later if later else total),
        "echo": grpc.stream_stream_rpc_method_handler(echo_later if later else echo),
    }
    return grpc.method_handlers_generic_handler("test", made)


def check(log: Path) -> None:
    """What was done in a call comes after what came before it, and before what came after it."""
    known = Microcosm.read(log)
    at = named(log)
    for method in METHODS:
        assert known.online(at[f"before {method}"], at[f"in {method}"]) is Relation.BEFORE
        assert known.online(at[f"in {method}"], at[f"after {method}"]) is Relation.BEFORE
        assert known.online(at[f"in {method}"], at[f"before {method}"]) is Relation.AFTER


def test_calls_and_answers_are_messages(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with Recorder("client", log) as client, Recorder("server", log) as server, ThreadPoolExecutor(2) as pool:
        running = grpc.server(pool, interceptors=server_interceptors(server))
        running.add_generic_rpc_handlers((handlers(server, later=False),))
        port = running.add_insecure_port("127.0.0.1:0")
        running.start()
        plain = grpc.insecure_channel(f"127.0.0.1:{port}")
        channel = grpc.intercept_channel(plain, *client_interceptors(client))
        for method in METHODS:
            client.event(f"before {method}")
            asked = iter((b"a", b"b")) if method in ("sum", "echo") else b"a"
            answer, call = None, None
            if method in ("one", "sum"):
                answer, call = ask(channel, method).with_call(asked)
            else:
                answer = b"".join(ask(channel, method)(asked))
            assert answer in (b"a", b"aa", b"ab")
            if method == "one":
                assert ("other", "kept") in [tuple(each) for each in call.trailing_metadata()]
            client.event(f"after {method}")
        plain.close()
        running.stop(None).wait()
    check(log)


def test_calls_of_asyncio_and_answers_are_messages(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"

    async def run(client: Recorder, server: Recorder) -> None:
        running = grpc.aio.server(interceptors=aio_server_interceptors(server))
        running.add_generic_rpc_handlers((handlers(server, later=True),))
        port = running.add_insecure_port("127.0.0.1:0")
        await running.start()
        address = f"127.0.0.1:{port}"
        async with grpc.aio.insecure_channel(
            address, interceptors=aio_client_interceptors(client)
        ) as channel:
            for method in METHODS:
                client.event(f"before {method}")
                asked = iter((b"a", b"b")) if method in ("sum", "echo") else b"a"
                call = ask(channel, method)(asked)
                if method in ("one", "sum"):
                    assert await call in (b"a", b"ab")
                else:
                    assert b"".join([each async for each in call]) in (b"aa", b"ab")
                client.event(f"after {method}")
        await running.stop(None)

    with Recorder("client", log) as client, Recorder("server", log) as server:
        asyncio.run(run(client, server))
    check(log)


def test_a_streamed_answer_that_fails_is_received_and_one_that_is_left_is_not(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"

    async def run(client: Recorder, server: Recorder) -> None:
        async def fails(request: bytes, context: Any) -> Any:
            yield request
            server.event(request.decode())
            await context.abort(grpc.StatusCode.ABORTED, "enough")

        running = grpc.aio.server(interceptors=aio_server_interceptors(server))
        handler = {"many": grpc.unary_stream_rpc_method_handler(fails)}
        running.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", handler),))
        port = running.add_insecure_port("127.0.0.1:0")
        await running.start()
        async with grpc.aio.insecure_channel(
            f"127.0.0.1:{port}", interceptors=aio_client_interceptors(client)
        ) as channel:
            call = ask(channel, "many")(b"failing")
            assert await call.read() == b"failing"
            with pytest.raises(grpc.aio.AioRpcError):
                await call.read()
            client.event("failed")
            left = ask(channel, "many")(b"left")
            assert await left.read() == b"left"
            left.cancel()
        await running.stop(None)

    with Recorder("client", log) as client, Recorder("server", log) as server:
        asyncio.run(run(client, server))
    ordered(log, "failing", "failed")
    assert sum(each["process"] == "client" and each["kind"] == "receive" for each in lines(log)) == 1
