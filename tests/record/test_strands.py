"""Threads and tasks as processes of their own: who started whom, who waited for whom, who reads results."""

from __future__ import annotations

import _thread
import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, copy_context
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm, Relation
from microcosm.record import Recorder, strands
from tests.record.logs import lines, named


def verdicts(log: Path, *pairs: str) -> dict[str, str | None]:
    """Of each pair of labels, "a b", what is known: `<`, `>`, or None."""
    known, at = Microcosm.read(log), named(log)
    present = set(known.events)
    found = {}
    for pair in pairs:
        left, right = (at[each] for each in pair.split())
        verdict = known.online(left, right) if {left, right} <= present else None
        found[pair] = verdict.value if verdict in (Relation.BEFORE, Relation.AFTER) else None
    return found


def run(log: Path, work: Any) -> None:
    """Run a coroutine function with a recorder made inside the loop."""

    async def begin() -> None:
        with Recorder("p", log, tasks=True) as recorder:
            await work(recorder)

    asyncio.run(begin())


def await_unseen(thread: threading.Thread) -> None:
    """Return when a thread is over, without `join`, which would say that what follows is after it."""
    while thread.is_alive():
        time.sleep(0.001)


async def say(recorder: Recorder, label: str, wait: float = 0) -> str:
    """What a task does."""
    await asyncio.sleep(wait)
    recorder.event(label)
    return label


def test_tasks_that_are_awaited_come_after_what_started_them_and_before_what_follows(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        recorder.event("a")
        one, two = asyncio.create_task(say(recorder, "b")), asyncio.create_task(say(recorder, "c"))
        recorder.event("d")
        await one
        recorder.event("e")
        await two
        recorder.event("f")

    run(tmp_path / "log.jsonl", work)
    found = verdicts(tmp_path / "log.jsonl", "a b", "a c", "b c", "d b", "b e", "c e", "c f", "b f")
    orders = {
        "a b": "<",
        "a c": "<",
        "b c": None,
        "d b": None,
        "b e": "<",
        "c e": None,
        "c f": "<",
        "b f": "<",
    }
    assert found == orders
    assert {each["process"] for each in lines(tmp_path / "log.jsonl")} == {"p/begin", "p/say", "p/say#2"}


def test_a_gathering_and_what_is_over_or_whose_outcome_is_read_are_waited_for(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        async def failing() -> None:
            fails(recorder)

        alone = asyncio.create_task(say(recorder, "alone"))
        assert await asyncio.gather(say(recorder, "a"), say(recorder, "b", 0.01)) == ["a", "b"]
        recorder.event("gathered")
        done, _ = await asyncio.wait([asyncio.create_task(say(recorder, "c"))])
        recorder.event("waited")
        assert [each.result() for each in done] == ["c"]
        failed = asyncio.create_task(failing())
        while not failed.done():
            await asyncio.sleep(0)
        recorder.event("slept")
        assert failed.exception() is not None
        recorder.event("looked")
        assert alone.done()

    run(tmp_path / "log.jsonl", work)
    pairs = ("a gathered", "b gathered", "a b", "c waited", "failing slept", "failing looked", "alone looked")
    found = verdicts(tmp_path / "log.jsonl", *pairs)
    assert [*found.values()] == ["<", "<", None, "<", None, "<", None]


def test_what_is_shielded_is_waited_for_unless_its_shield_is_cancelled(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        await asyncio.shield(asyncio.create_task(say(recorder, "a")))
        recorder.event("shielded")
        both = asyncio.gather(say(recorder, "b"), say(recorder, "c", 0.01))
        await asyncio.wait_for(asyncio.shield(asyncio.shield(both)), 5)
        recorder.event("gathered")
        over = asyncio.create_task(say(recorder, "over"))
        await over
        assert await asyncio.shield(over) == "over"
        slow = asyncio.create_task(say(recorder, "slow", 0.05))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(slow), 0.01)
        recorder.event("given up")
        while not slow.done():
            await asyncio.sleep(0.01)
        recorder.event("slept")
        with pytest.raises(RuntimeError):
            await asyncio.shield(asyncio.create_task(faulty(recorder)))
        recorder.event("caught")

    async def faulty(recorder: Recorder) -> None:
        await say(recorder, "fault")
        raise RuntimeError

    run(tmp_path / "log.jsonl", work)
    pairs = ("a shielded", "b gathered", "c gathered", "slow slept", "fault caught")
    assert [*verdicts(tmp_path / "log.jsonl", *pairs).values()] == ["<", "<", "<", None, "<"]


def test_who_is_too_late_with_a_result_is_not_before_who_reads_it(tmp_path: Path) -> None:
    """Of two threads that answer one future the first is heard, also where the other tries, in any way."""

    def answer(future: Future[int], label: str) -> None:
        recorder.event(label)
        with suppress(InvalidStateError):
            future.set_result(1)
        with suppress(InvalidStateError):
            future.set_exception(ValueError())

    with Recorder("p", tmp_path / "log.jsonl", tasks=True) as recorder:
        future: Future[int] = Future()
        for label in ("first", "late"):
            thread = threading.Thread(target=answer, args=(future, label))
            thread.start()
            await_unseen(thread)
        assert future.exception() is None
        recorder.event("read")
    assert verdicts(tmp_path / "log.jsonl", "first read", "late read") == {
        "first read": "<",
        "late read": None,
    }


@pytest.mark.parametrize("ends", ["answered", "cancelled"])
def test_of_two_threads_that_answer_at_once_neither_is_before_who_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """The late one has seen that there is no answer yet when the other gives it, or who waits gives up."""
    seen, go_on, points = threading.Event(), threading.Event(), strands._points

    def held() -> Any:
        found = points()
        if threading.current_thread() is late:
            seen.set()
            assert go_on.wait(10)
        return found

    def answer() -> None:
        recorder.event("late")
        with suppress(InvalidStateError):
            future.set_result(2)

    with Recorder("p", tmp_path / "log.jsonl", tasks=True) as recorder:
        monkeypatch.setattr(strands, "_points", held)
        future: Future[int] = Future()
        late = threading.Thread(target=answer)
        late.start()
        assert seen.wait(10)
        if ends == "cancelled":
            assert future.cancel()
        else:
            future.set_result(1)
        go_on.set()
        await_unseen(late)
        with suppress(CancelledError):
            assert future.result() == 1
        recorder.event("read")
    assert verdicts(tmp_path / "log.jsonl", "late read") == {"late read": None}


def test_what_follows_a_group_comes_after_what_its_tasks_did(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        alone = asyncio.create_task(say(recorder, "alone"))
        async with asyncio.TaskGroup() as group:
            group.create_task(say(recorder, "a"))
            group.create_task(nested(recorder))
            await asyncio.sleep(0.01)
            recorder.event("within")
        recorder.event("after")
        with pytest.raises(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(fails(recorder))
        recorder.event("caught")
        assert alone.done()

    async def nested(recorder: Recorder) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(say(recorder, "b"))

    async def fails(recorder: Recorder) -> None:
        recorder.event("failing")
        raise ValueError("boom")

    run(tmp_path / "log.jsonl", work)
    after = ("a after", "b after", "after failing", "failing caught")
    apart = ("a within", "b within", "a b", "alone after")
    found = verdicts(tmp_path / "log.jsonl", *after, *apart)
    assert found == {**dict.fromkeys(after, "<"), **dict.fromkeys(apart)}


def test_tasks_and_threads_without_events_hand_on_what_was_before_them(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        made: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()

        async def first() -> None:
            recorder.event("a")
            await made.put(asyncio.create_task(asyncio.sleep(0)))
            recorder.event("b")

        beside = asyncio.create_task(first())
        await (await made.get())
        recorder.event("c")
        await beside

    run(tmp_path / "log.jsonl", work)
    assert [*verdicts(tmp_path / "log.jsonl", "a c", "b c").values()] == ["<", None]


def test_what_a_thread_of_the_loop_is_given_comes_after_its_giving(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        recorder.event("a")
        await asyncio.to_thread(recorder.event, "b")
        recorder.event("c")

    run(tmp_path / "log.jsonl", work)
    assert verdicts(tmp_path / "log.jsonl", "a b") == {"a b": "<"}


def test_what_comes_after_the_loop_comes_after_its_tasks(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with Recorder("p", log, tasks=True) as recorder:
        recorder.event("a")
        asyncio.run(_(recorder, "b"))
        recorder.event("c")
        asyncio.run(_(recorder, "d"))
    assert verdicts(log, "a b", "b c", "c d") == {"a b": "<", "b c": "<", "c d": "<"}


def _(recorder: Recorder, label: str) -> Coroutine[Any, Any, str]:
    return say(recorder, label)


def test_threads_start_after_their_start_and_end_before_their_join(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    gone = threading.Event()
    with Recorder("p", log, tasks=True) as recorder:
        recorder.event("a")
        one = threading.Thread(target=recorder.event, args=("b",), name="w")
        two = threading.Thread(target=lambda: (recorder.event("c"), gone.set()), name="w")
        for each in (one, two):
            each.start()
        one.join()
        gone.wait()
        recorder.event("d")
        two.join(0)
        two.join()
        recorder.event("e")
    pairs = ("a b", "a c", "b c", "b d", "c d", "c e")
    assert [*verdicts(log, *pairs).values()] == ["<", "<", None, "<", None, "<"]
    assert {each["process"] for each in lines(log)} == {"p", "p/w", "p/w#2"}


@pytest.mark.parametrize("names", sorted({*permutations(["t", "t", "t#2", "t#2", "t#2#1"])}), ids="|".join)
def test_no_two_threads_have_one_chain_whatever_they_are_called(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    with Recorder("p", tmp_path / "log.jsonl", tasks=True) as recorder:
        for name in names:
            thread = threading.Thread(target=recorder.event, args=("x",), name=name)
            thread.start()
            thread.join()
    assert len({each["process"] for each in lines(tmp_path / "log.jsonl")}) == len(names)


def test_messages_between_tasks_are_matched_and_those_of_one_task_are_in_order(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        queue: asyncio.Queue[str] = asyncio.Queue()

        async def taker() -> None:
            recorder.receive(await queue.get(), "got")

        waiting = asyncio.create_task(taker())
        recorder.event("a")
        await queue.put(recorder.send("put"))
        recorder.event("b")
        await waiting
        recorder.event("c")

    run(tmp_path / "log.jsonl", work)
    found = verdicts(tmp_path / "log.jsonl", "a got", "put got", "b got", "got c", "a b")
    assert [*found.values()] == ["<", "<", None, "<", "<"]


@pytest.mark.parametrize("clocks", [True, False])
def test_a_child_of_a_fork_from_a_task_is_after_the_task(clocks: bool, tmp_path: Path) -> None:
    import os

    log = tmp_path / "log.jsonl"
    with Recorder("p", log, tasks=True, clocks=clocks) as recorder:
        recorder.event("a")
        child = os.fork()
        if not child:
            recorder.event("b")
            os._exit(0)
        os.waitpid(child, 0)
        recorder.event("c")
    found = verdicts(log, "a b", "b c", "a c")
    assert found == {"a b": "<", "b c": None, "a c": "<"}


def test_a_child_of_a_fork_from_a_thread_without_events_is_after_what_started_it(tmp_path: Path) -> None:
    import os

    def fork() -> None:
        child = os.fork()
        if not child:
            recorder.event("b")
            os._exit(0)
        os.waitpid(child, 0)

    with Recorder("p", tmp_path / "log.jsonl", tasks=True) as recorder:
        recorder.event("a")
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
    assert verdicts(tmp_path / "log.jsonl", "a b") == {"a b": "<"}


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


def test_a_thread_that_gets_the_number_of_another_was_not_waited_for(tmp_path: Path) -> None:
    over = [threading.Event(), threading.Event()]

    def first() -> None:
        asyncio.run(say(own, "a"))
        over[0].set()

    def second() -> None:
        own.event("b")
        over[1].set()

    with Recorder("p", tmp_path / "log.jsonl", tasks=True) as own:
        own.event("begin")
        for work, done in zip((first, second), over, strict=True):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            done.wait()
            while thread.is_alive():  # its number is free then; nobody joins it
                pass
    assert verdicts(tmp_path / "log.jsonl", "begin a", "begin b", "a b") == {
        "begin a": "<",
        "begin b": "<",
        "a b": None,
    }


def test_threads_that_threading_did_not_start_are_not_one(tmp_path: Path) -> None:
    with Recorder("p", tmp_path / "log.jsonl", tasks=True) as own:
        own.event("begin")
        for label in "ab":
            done = _thread.allocate_lock()
            done.acquire()
            _thread.start_new_thread(lambda label=label, done=done: (own.event(label), done.release()), ())
            done.acquire()
            time.sleep(0.01)  # its number is free then
    at = named(tmp_path / "log.jsonl")
    assert at["a"].rpartition(":")[0] != at["b"].rpartition(":")[0]


def test_one_task_or_thread_after_another_is_a_link_each(tmp_path: Path) -> None:
    """Not one for all that went before it: their log would grow with their square."""

    async def tasks() -> None:
        for at in range(20):
            await asyncio.create_task(say(own, f"task{at}"))

    with Recorder("p", tmp_path / "log.jsonl", tasks=True) as own:
        own.event("begin")
        asyncio.run(tasks())
        own.event("between")
        for at in range(20):
            thread = threading.Thread(target=own.event, args=(f"thread{at}",))
            thread.start()
            thread.join()
        own.event("end")
    links = {line["label"]: len(line.get("after", ())) for line in lines(tmp_path / "log.jsonl")}
    assert max(links.values()) <= 3
    pairs = [f"{what}{at} {what}{at + 1}" for what in ("task", "thread") for at in range(1, 19)]
    pairs += ["begin task0", "task19 between", "between thread0", "thread19 end"]
    assert verdicts(tmp_path / "log.jsonl", *pairs) == dict.fromkeys(pairs, "<")


def test_whoever_waits_for_a_gathering_waited_for_what_failed_and_was_cancelled(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        async def fails(label: str) -> None:
            recorder.event(label)
            raise ValueError("boom")

        async def sleeps() -> None:
            recorder.event("sleeping")
            await asyncio.sleep(9)

        made = [asyncio.create_task(each) for each in (fails("failing"), sleeps(), say(recorder, "a"))]

        async def other() -> None:
            await asyncio.sleep(0.01)
            made[1].cancel()
            inner = asyncio.gather(*made[:2], return_exceptions=True)
            await asyncio.wait_for(asyncio.gather(inner, made[2]), 5)
            recorder.event("gathered")

        over = asyncio.Event()

        async def waits() -> None:
            await over.wait()
            recorder.event("apart")

        apart = asyncio.create_task(waits())
        await asyncio.create_task(other())
        with pytest.raises(ValueError, match="boom"):
            await asyncio.gather(fails("fault"), apart)
        recorder.event("caught")
        over.set()
        await apart

    run(tmp_path / "log.jsonl", work)
    before = ("failing gathered", "sleeping gathered", "a gathered", "gathered caught", "fault caught")
    assert verdicts(tmp_path / "log.jsonl", *before) == dict.fromkeys(before, "<")
    assert verdicts(tmp_path / "log.jsonl", "apart caught") == {"apart caught": None}


def test_tasks_of_one_context_tell_each_other_nothing(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        async def both(name: str) -> None:
            recorder.event(f"{name}1")
            await asyncio.sleep(0)
            recorder.event(f"{name}2")

        recorder.event("begin")
        context, loop = copy_context(), asyncio.get_running_loop()
        recorder.event("go")
        tasks = [loop.create_task(both(name), context=context) for name in "ab"]
        bare = loop.create_task(both("c"), context=Context())
        await asyncio.gather(*tasks, bare)
        recorder.event("end")

    run(tmp_path / "log.jsonl", work)
    before = ("go a1", "go b1", "go c1", "a2 end", "b2 end", "c2 end")
    apart = ("a1 b1", "a1 b2", "b1 a2", "c1 a2")
    found = verdicts(tmp_path / "log.jsonl", *before, *apart)
    assert found == {**dict.fromkeys(before, "<"), **dict.fromkeys(apart)}


def test_what_is_waited_for_hides_nothing_that_was_there_before(tmp_path: Path) -> None:
    """Of a task without events all that is known is who made it, which did more since."""

    async def work(recorder: Recorder) -> None:
        recorder.event("a")
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0))
            recorder.event("b")
        await asyncio.create_task(say(recorder, "c"))
        await asyncio.to_thread(recorder.event, "d")

    run(tmp_path / "log.jsonl", work)
    assert verdicts(tmp_path / "log.jsonl", "b c", "b d") == {"b c": "<", "b d": "<"}


def test_a_thread_that_is_joined_had_its_loop(recorder: Recorder, tmp_path: Path) -> None:
    thread = threading.Thread(target=lambda: asyncio.run(say(recorder, "a")))
    recorder.event("begin")
    thread.start()
    thread.join()
    recorder.event("b")
    assert verdicts(tmp_path / "log.jsonl", "a b") == {"a b": "<"}


def test_a_thread_that_is_none_of_threading_s_own_has_a_chain(tmp_path: Path, monkeypatch: Any) -> None:
    """As gevent and eventlet have them, where they have replaced what `threading` has."""

    class Green:
        def __init__(self, name: str) -> None:
            self.name = name

    log, greens = tmp_path / "log.jsonl", [Green("one"), Green("two")]
    with Recorder("p", log, tasks=True) as recorder:
        for green in (*greens, *greens):
            monkeypatch.setattr(threading, "current_thread", lambda green=green: green)
            recorder.event(f"in {green.name}")
    assert [each["process"] for each in lines(log)] == ["p/one", "p/two", "p/one", "p/two"]
