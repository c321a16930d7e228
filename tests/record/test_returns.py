"""Results of pools: who reads them comes after what the thread did, and nothing more is said."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from microcosm.record import Recorder
from tests.record.test_strands import verdicts


@pytest.fixture
def recorder(tmp_path: Path) -> Any:
    with Recorder("p", tmp_path / "log.jsonl", tasks=True) as made:
        yield made


def test_who_reads_a_result_comes_after_it(recorder: Recorder, tmp_path: Path) -> None:
    go = threading.Event()

    def late() -> None:
        go.wait()
        recorder.event("late")

    with ThreadPoolExecutor(2) as pool:
        assert pool.submit(recorder.event, "a").result()
        other = pool.submit(late)
        recorder.event("b")
        go.set()
        while not other.done():
            pass
        recorder.event("c")
        other.result()
        recorder.event("d")
    found = verdicts(tmp_path / "log.jsonl", "a b", "late c", "late d")
    assert found == {"a b": "<", "late c": None, "late d": "<"}


def fails(recorder: Recorder) -> None:
    recorder.event("failing")
    raise ValueError("boom")


def test_one_await_after_another_is_in_order_though_each_is_done_by_a_thread(
    recorder: Recorder, tmp_path: Path
) -> None:
    began = threading.Barrier(2)

    def first() -> None:
        began.wait()
        recorder.event("a")

    def apart() -> None:
        began.wait()
        recorder.event("apart")

    async def work() -> None:
        beside = asyncio.create_task(asyncio.to_thread(apart))
        await asyncio.to_thread(first)
        await asyncio.to_thread(recorder.event, "b")
        with pytest.raises(ValueError, match="boom"):
            await asyncio.to_thread(fails, recorder)
        recorder.event("c")
        await asyncio.gather(asyncio.to_thread(recorder.event, "d"), asyncio.to_thread(recorder.event, "e"))
        await asyncio.create_task(asyncio.to_thread(recorder.event, "f"))
        await asyncio.to_thread(recorder.event, "g")
        await beside

    asyncio.run(work())
    pairs = ("a b", "b failing", "failing c", "c d", "d f", "e f", "f g", "apart b", "apart c")
    found = verdicts(tmp_path / "log.jsonl", *pairs)
    told = {pair: found[pair] for pair in pairs if not pair.startswith("apart")}
    assert told == dict.fromkeys(told, "<")


def test_threads_of_anyio_hand_over_their_results(recorder: Recorder, tmp_path: Path) -> None:
    anyio = pytest.importorskip("anyio")

    async def work() -> None:
        for label in ("a", "b"):
            await anyio.to_thread.run_sync(recorder.event, label)
        recorder.event("c")

    asyncio.run(work())
    assert verdicts(tmp_path / "log.jsonl", "a b", "b c") == {"a b": "<", "b c": "<"}


def test_a_result_that_nobody_waits_for_orders_nothing(recorder: Recorder, tmp_path: Path) -> None:
    over = threading.Event()

    def apart() -> None:
        recorder.event("apart")
        over.set()

    async def work() -> None:
        recorder.event("before")
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(None, apart)
        while not over.is_set():
            await asyncio.sleep(0.001)
        recorder.event("after")
        await future

    asyncio.run(work())
    assert verdicts(tmp_path / "log.jsonl", "apart after") == {"apart after": None}


@pytest.mark.parametrize("ask", [lambda future: future.result(0), lambda future: future.exception(0)])
def test_a_result_that_is_not_there_yet_orders_nothing(
    recorder: Recorder, tmp_path: Path, ask: Callable[[Any], Any]
) -> None:
    go = threading.Event()

    def late() -> None:
        recorder.event("begun")
        began.set()
        go.wait()

    began = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(late)
        began.wait()
        with pytest.raises(TimeoutError):
            ask(future)
        recorder.event("after")
        go.set()
    assert verdicts(tmp_path / "log.jsonl", "begun after") == {"begun after": None}
