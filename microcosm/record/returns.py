"""What a thread did for a task is before what the task does once it has the result.

A thread of a pool (`asyncio.to_thread`, `run_in_executor`, anyio's, in which Starlette runs what is not
`async`) hands its result over by `call_soon_threadsafe`, with the future that the task awaits. That is where
it is told: the last event of the thread at that moment, and the tasks that wait for that very future. Of a
task that waits in another way nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from microcosm.record.recorder import Recorder

_followers: WeakSet[Recorder] = WeakSet()


def follow_returns(recorder: Recorder) -> None:
    """Tell a recorder of results from now on, in all event loops that are asyncio's own."""
    from asyncio import BaseEventLoop

    _followers.add(recorder)
    hand_over = BaseEventLoop.call_soon_threadsafe
    if hasattr(hand_over, "followed"):
        return

    def call_soon_threadsafe(loop: BaseEventLoop, callback: Any, *arguments: Any, context: Any = None) -> Any:
        futures = [each for each in arguments if hasattr(each, "_asyncio_future_blocking")]
        points = [(each, each.here()) for each in [*_followers]] if futures else []
        if not any(point for _, point in points):
            return hand_over(loop, callback, *arguments, context=context)

        def returned(*arguments: Any) -> None:
            waiting = [(future, _tasks(future)) for future in futures]
            callback(*arguments)
            for future, tasks in waiting:
                for task in tasks if future.done() else ():
                    for each, point in points:
                        if point is not None:
                            each.after(point, "join", by=task)

        return hand_over(loop, returned, *arguments, context=context)

    call_soon_threadsafe.followed = True  # type: ignore[attr-defined]
    BaseEventLoop.call_soon_threadsafe = call_soon_threadsafe  # type: ignore[method-assign, assignment]


def _tasks(future: Any) -> list[Any]:
    """The tasks that go on once a future is done: of what it calls then, those that wake a task."""
    from asyncio import Task

    owners = (getattr(call, "__self__", None) for call, _ in getattr(future, "_callbacks", None) or ())
    return [owner for owner in owners if isinstance(owner, Task) and owner._fut_waiter is future]  # type: ignore[attr-defined]
