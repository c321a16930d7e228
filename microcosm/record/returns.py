"""What a thread of a pool did is before what comes of it where its result is read.

A pool (`ThreadPoolExecutor`, `asyncio.to_thread`, `run_in_executor`) makes a future done in the thread that
worked, and there its last event is kept with the future: who reads the result comes after it. A task reads it
through a future of its own, which is made done by `call_soon_threadsafe`; so are those of anyio's threads, in
which Starlette runs what is not `async`. There it is told which tasks wait for that very future. Of a task
that waits in another way nothing is said.

What the tasks of an `asyncio.TaskGroup` did is before what follows its block: where each of them ends, its
last event is kept with the group, as it is with futures.
"""

from __future__ import annotations

from collections import deque
from contextvars import Context
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from microcosm.record.recorder import Recorder
    from microcosm.record.strands import Point

_KEPT = "microcosm_points"
"""Under this name a future has the last event of who made it done, and a group those of its tasks."""
LATEST = 10_000
"""Of so many events of its tasks a group knows: those that ended last."""

_followers: WeakSet[Recorder] = WeakSet()


def follow_returns(recorder: Recorder) -> None:
    """Tell a recorder of results from now on: of all pools, and in all event loops that are asyncio's own."""
    if not _followers:
        _follow_futures()
        _follow_loops()
        _follow_groups()
    _followers.add(recorder)


def _points() -> list[tuple[Recorder, Point]]:
    """The last event of who calls."""
    found = ((each, each.here()) for each in [*_followers])
    return [(each, point) for each, point in found if point is not None]


def _follow_futures() -> None:
    from concurrent.futures import Future

    set_result, set_exception, result = Future.set_result, Future.set_exception, Future.result
    if hasattr(result, "followed"):
        return

    def resulted(future: Any, value: Any) -> None:
        future.microcosm_points = _points()
        set_result(future, value)

    def failed(future: Any, fault: Any) -> None:
        future.microcosm_points = _points()
        set_exception(future, fault)

    def read(future: Any, timeout: float | None = None) -> Any:
        try:
            return result(future, timeout)
        finally:
            for each, point in getattr(future, _KEPT, ()) if future.done() else ():
                each.waited_for(point)

    read.followed = True  # type: ignore[attr-defined]
    followed: Any = Future
    followed.set_result, followed.set_exception, followed.result = resulted, failed, read


def _follow_loops() -> None:
    from asyncio import BaseEventLoop

    hand_over = BaseEventLoop.call_soon_threadsafe
    if hasattr(hand_over, "followed"):
        return

    def call_soon_threadsafe(loop: BaseEventLoop, callback: Any, *arguments: Any, context: Any = None) -> Any:
        futures = [each for each in arguments if hasattr(each, "_asyncio_future_blocking")]
        points = _points() if futures else []
        for each in arguments:
            points += getattr(each, _KEPT, ())
        if not futures or not points:
            return hand_over(loop, callback, *arguments, context=context)

        def returned(*arguments: Any) -> None:
            waiting = [(future, _tasks(future)) for future in futures]
            callback(*arguments)
            for future, tasks in waiting:
                for task, its in tasks if future.done() else ():
                    for each, point in points:
                        each.waited_for(point, task, its)

        return hand_over(loop, returned, *arguments, context=context)

    call_soon_threadsafe.followed = True  # type: ignore[attr-defined]
    BaseEventLoop.call_soon_threadsafe = call_soon_threadsafe  # type: ignore[method-assign, assignment]


def _follow_groups() -> None:
    from asyncio import TaskGroup

    create, leave = TaskGroup.create_task, TaskGroup.__aexit__
    if hasattr(create, "followed"):
        return

    def created(group: Any, *arguments: Any, **more: Any) -> Any:
        task = create(group, *arguments, **more)
        kept = group.__dict__.setdefault(_KEPT, deque(maxlen=LATEST))

        def over(task: Any) -> None:
            kept.extend((each, point) for each in [*_followers] for point in each.ended(task))

        if task.done():  # where tasks are eager
            over(task)
        else:
            task.add_done_callback(over)
        return task

    async def left(group: Any, *fault: Any) -> Any:
        try:
            return await leave(group, *fault)
        finally:
            for each, point in group.__dict__.pop(_KEPT, ()):
                each.waited_for(point)

    created.followed = True  # type: ignore[attr-defined]
    followed: Any = TaskGroup
    followed.create_task, followed.__aexit__ = created, left


def _tasks(future: Any) -> list[tuple[Any, Context]]:
    """The tasks that a future wakes once it is done, each with its context."""
    calls = getattr(future, "_callbacks", None) or ()
    owners = [(getattr(call, "__self__", None), context) for call, context in calls]
    return [(owner, context) for owner, context in owners if getattr(owner, "_fut_waiter", None) is future]
