"""gRPC: calls and their answers are messages, by its interceptors; an answer has its header in the trailers.

    channel = grpc.intercept_channel(grpc.insecure_channel(address), *client_interceptors(causality))
    server = grpc.server(executor, interceptors=server_interceptors(causality))

    channel = grpc.aio.insecure_channel(address, interceptors=aio_client_interceptors(causality))
    server = grpc.aio.server(interceptors=aio_server_interceptors(causality))

Of a stream the call and its end are recorded, not what goes through it: whoever reads a streamed answer to
its end has received it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from microcosm.record.header import KEY, extract
from microcosm.record.recorder import Recorder

SHAPES = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


def client_interceptors(recorder: Recorder) -> list[Any]:
    """What records the calls of a channel."""
    import grpc

    def intercept(continuation: Any, details: Any, request: Any) -> Any:
        call = continuation(_with_header(recorder, details), request)
        if call.done():
            _answered(recorder, details.method, call.trailing_metadata())
        else:
            call.add_done_callback(lambda done: _answered(recorder, details.method, done.trailing_metadata()))
        return call

    def begin(continuation: Any, details: Any, request: Any) -> Any:
        call = continuation(_with_header(recorder, details), request)
        return _Read(call, lambda: _answered(recorder, details.method, call.trailing_metadata()))

    kinds = [getattr(grpc, f"{_camel(shape)}ClientInterceptor") for shape in SHAPES]
    methods = {
        f"intercept_{shape}": _method(begin if shape.endswith("stream") else intercept) for shape in SHAPES
    }
    return [type("RecordedCalls", tuple(kinds), methods)()]


def server_interceptors(recorder: Recorder) -> list[Any]:
    """What records the calls that a server answers."""
    import grpc

    class RecordedAnswers(grpc.ServerInterceptor):  # type: ignore[misc]
        def intercept_service(self, continuation: Any, details: Any) -> Any:
            return _wrapped(continuation(details), lambda inner, streams: around(details, inner, streams))

    def around(details: Any, inner: Any, streams: bool) -> Callable[[Any, Any], Any]:
        def answer(request: Any, context: Any) -> Any:
            with _recorded(recorder, details, lambda: _answer(recorder, details.method, context)):
                return inner(request, context)

        def answers(request: Any, context: Any) -> Any:
            with _recorded(recorder, details, lambda: _answer(recorder, details.method, context)):
                yield from inner(request, context)

        return answers if streams else answer

    return [RecordedAnswers()]


def aio_client_interceptors(recorder: Recorder) -> list[Any]:
    """What records the calls of a channel of `grpc.aio`: one for each shape of a call."""
    import grpc.aio

    async def intercept(continuation: Any, details: Any, request: Any) -> Any:
        call = await continuation(_with_header(recorder, details), request)
        _answered(recorder, details.method, await call.trailing_metadata())
        return call

    async def begin(continuation: Any, details: Any, request: Any) -> Any:
        call = await continuation(_with_header(recorder, details), request)

        async def read() -> Any:
            try:
                async for each in call:
                    yield each
            except grpc.aio.AioRpcError as fault:
                _answered(recorder, details.method, fault.trailing_metadata())
                raise
            _answered(recorder, details.method, await call.trailing_metadata())

        return read()

    def made(shape: str) -> Any:
        base = getattr(grpc.aio, f"{_camel(shape)}ClientInterceptor")
        does = begin if shape.endswith("stream") else intercept
        return type("RecordedCalls", (base,), {f"intercept_{shape}": _method(does)})()

    return [made(shape) for shape in SHAPES]


def aio_server_interceptors(recorder: Recorder) -> list[Any]:
    """What records the calls that a server of `grpc.aio` answers."""
    import grpc.aio

    class RecordedAnswers(grpc.aio.ServerInterceptor):  # type: ignore[misc]
        async def intercept_service(self, continuation: Any, details: Any) -> Any:
            handler = await continuation(details)
            return _wrapped(handler, lambda inner, streams: around(details, inner, streams))

    def around(details: Any, inner: Any, streams: bool) -> Callable[[Any, Any], Any]:
        async def answer(request: Any, context: Any) -> Any:
            telling = _Context(context, recorder, details.method)
            with _recorded(recorder, details, telling.answer):
                return await inner(request, telling)

        async def answers(request: Any, context: Any) -> Any:
            telling = _Context(context, recorder, details.method)
            with _recorded(recorder, details, telling.answer):
                async for each in inner(request, telling):
                    yield each

        return answers if streams else answer

    return [RecordedAnswers()]


@contextmanager
def _recorded(recorder: Recorder, details: Any, answer: Callable[[], None]) -> Iterator[None]:
    """A call is received, and answered at the end, however it ends."""
    recorder.receive(extract(details.invocation_metadata), details.method)
    try:
        yield
    finally:
        answer()


def _with_header(recorder: Recorder, details: Any) -> Any:
    """The details of a call with a header among its metadata."""
    metadata = [*(details.metadata or ()), (KEY, recorder.send(_called(details.method)))]
    if hasattr(details, "_replace"):
        import grpc.aio

        return details._replace(metadata=grpc.aio.Metadata(*metadata))
    return _Details(details, metadata)


class _Details:
    """The details of a call, but for its metadata."""

    def __init__(self, details: Any, metadata: list[tuple[str, str | bytes]]) -> None:
        self._details = details
        self.metadata = metadata

    def __getattr__(self, name: str) -> Any:
        return getattr(self._details, name, None)


class _Context:
    """The context of a call at a server of `grpc.aio`, which sends what aborts it at once."""

    def __init__(self, context: Any, recorder: Recorder, method: str) -> None:
        self._context = context
        self._recorder = recorder
        self._method = method
        self._aborted = False

    async def abort(self, code: Any, details: str = "", trailing_metadata: Any = ()) -> None:
        """Send the answer as one that failed."""
        self._aborted = True
        self._context.set_trailing_metadata(tuple(trailing_metadata))
        _answer(self._recorder, self._method, self._context)
        await self._context.abort(code, details, self._context.trailing_metadata())

    def answer(self) -> None:
        """The call is over: send the answer, if that is not done yet."""
        if not self._aborted:
            _answer(self._recorder, self._method, self._context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


class _Read:
    """A call whose answer is a stream, but that its end is told to who reads it."""

    def __init__(self, call: Any, ended: Callable[[], None]) -> None:
        self._call = call
        self._ended: Callable[[], None] | None = ended

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._call)
        except BaseException:
            if self._call.done() and self._ended is not None:
                ended, self._ended = self._ended, None
                ended()
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)


def _answered(recorder: Recorder, method: Any, trailers: Iterable[Any] | None) -> None:
    recorder.receive(extract([*(trailers or ())]), f"answer to {_called(method)}")


def _answer(recorder: Recorder, method: str, context: Any) -> None:
    """Send the answer: its header goes with what else there is in the trailers."""
    header = recorder.send(f"answer to {method}")
    others = context.trailing_metadata() if hasattr(context, "trailing_metadata") else ()
    context.set_trailing_metadata((*(others or ()), (KEY, header)))


def _wrapped(handler: Any, around: Callable[[Any, bool], Any]) -> Any:
    """A handler of a method, with something around what it does; None where there is no such method."""
    import grpc

    if handler is None:
        return None
    shape = SHAPES[2 * handler.request_streaming + handler.response_streaming]
    inner = around(getattr(handler, shape), handler.response_streaming)
    make = getattr(grpc, f"{shape}_rpc_method_handler")
    return make(inner, handler.request_deserializer, handler.response_serializer)


def _called(method: str | bytes) -> str:
    return method.decode() if isinstance(method, bytes) else method


def _camel(shape: str) -> str:
    return "".join(word.title() for word in shape.split("_"))


def _method(function: Any) -> Any:
    """A function as a method that has no use for its object."""
    return lambda self, *arguments: function(*arguments)
