"""Chains of events: that of a process, or one for each thread and asyncio task of it.

Where threads and tasks are chains of their own, what is known of their order is that one was started by
another, after some event of it, and that one waited for the end of another. That is told by `Thread.start`
and `Thread.join`, by tasks that know who made and who awaits them, by what `asyncio.gather` and
`asyncio.shield` return, and by `asyncio.wait`. Callbacks, what `asyncio.to_thread` runs, and tasks of another
make know it by a context variable. Tasks that do not take part in it: several may share a context.

What a thread of a pool did is before what comes of it where its result is read. A pool (`ThreadPoolExecutor`,
`asyncio.to_thread`, `run_in_executor`) makes a future done in the thread that worked, and there its last
event is kept with the future: who reads the result comes after it. A task reads it through a future of its
own, which is made done by `call_soon_threadsafe`; so are those of anyio's threads, in which Starlette runs
what is not `async`. There it is told which tasks wait for that very future. Of a task that waits in another
way nothing is said. What the tasks of an `asyncio.TaskGroup` did is before what follows its block: where each
of them ends, its last event is kept with the group, as it is with futures.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from contextlib import suppress
from contextvars import Context, ContextVar
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from microcosm.record.header import shown

if TYPE_CHECKING:
    import asyncio

Clock = dict[str, int]


class Point(NamedTuple):
    """An event of a chain, as another chain comes after it."""

    strand: Strand
    seq: int
    clock: Clock | None
    """What was known there, where clocks are recorded."""
    link: str = "start"
    """Why one comes after it."""


class Strand:
    """One chain of events: a process, or a thread or task of it. `life` is that of the whole program."""

    def __init__(self, process: str, life: str, clock: Clock | None = None) -> None:
        self.process = process
        self.seq = 0
        self.clock = clock
        """Of each chain, how many of its events are known here; None where that is not recorded."""
        self.before = f'{{"process":{quoted(process)},"seq":'
        self.life = f',"life":"{life}","kind":"'
        self.named = f"{process}~{life}"
        """Its name beside other lives."""
        self.shown = shown(process)
        self.after: dict[Strand, Point] = {}
        """What the next event comes after besides the last one."""
        self.heard: WeakKeyDictionary[Strand, tuple[int, int]] = WeakKeyDictionary()
        """Of other chains, which of their events it came after last, and after which one of its own."""

    def point(self) -> Point:
        """Its last event."""
        return Point(self, self.seq, None if self.clock is None else dict(self.clock))

    def known(self) -> tuple[Point, ...]:
        """What its next event comes after."""
        return (*self.after.values(), *([self.point()] if self.seq else ()))

    def come_after(self, point: Point, link: str) -> None:
        """Let the next event come after one of another chain, if that is not known already."""
        strand = point.strand
        if strand is self or point.seq <= self.heard.get(strand, _NEVER)[0]:
            return
        self.heard[strand] = point.seq, self.seq
        add(self.after, point._replace(link=link))
        self.learn(point.clock)

    def learn(self, clock: Clock | None) -> None:
        """Know what is known there; where that is not recorded it is no more known what is known here."""
        known = self.clock
        if known is None or clock is None:
            self.clock = None
            return
        for name, count in clock.items():
            if count > known.get(name, 0):
                known[name] = count


NOBODY: dict[Strand, Point] = {}
_NEVER = 0, 0


def add(points: dict[Strand, Point], point: Point) -> None:
    """Add an event to those that are known of other chains; it stands for those that are before it.

    These are of its own chain, or known to it by its last event: not only from what it waited for since.
    """
    strand, heard = point.strand, point.strand.heard
    if points and point.seq == strand.seq:
        for each in [*(points if len(points) < len(heard) else heard)]:
            seq, at = heard.get(each, _NEVER)
            if at < strand.seq and each in points and points[each].seq <= seq:
                del points[each]
    if strand not in points or points[strand].seq < point.seq:
        points[strand] = point


class _ForeignThread:
    """A thread that `threading` did not start."""

    def __init__(self, name: str) -> None:
        self.name = name


class Strands:
    """The chains of the threads and tasks of a process. Not for several threads at a time.

    The main thread's is called as the process is, others by what the thread or task is called.
    """

    def __init__(self, process: str, life: str, clocks: bool) -> None:
        self._process = process
        self._life = life
        self._clocks = clocks
        self._of: WeakKeyDictionary[Any, Strand] = WeakKeyDictionary()
        self._started: WeakKeyDictionary[Any, tuple[Point, ...]] = WeakKeyDictionary()
        self._ran: WeakKeyDictionary[Any, list[Strand]] = WeakKeyDictionary()
        """By thread, the chains of the tasks that it ran since it last came after them: of the first, which
        makes others, and of the last `LATEST`."""
        self._called: dict[str, int] = {}
        self._points: ContextVar[dict[Strand, Point]] = ContextVar("microcosm.record", default=NOBODY)
        """The last event of who made the context, and those that it has waited for since, by their chains."""
        self._foreign = threading.local()

    def _thread(self) -> Any:
        """The thread that runs. One that `threading` did not start is told by what only it has: until Python
        3.12 the next one of its number is the same for `threading`.
        """
        thread = threading.current_thread()
        if not isinstance(thread, threading._DummyThread):
            return thread
        return vars(self._foreign).setdefault("thread", _ForeignThread(thread.name))

    def current(self) -> Strand:
        """The chain of who calls, which comes after all that is known to be over for it."""
        task, looping = _current_task()
        strand = self.of(task or self._thread())
        for point in self._context(task).values():
            strand.come_after(point, "start")
        if not looping and self._ran:
            for ran in self._ran.pop(self._thread(), ()):
                if ran.seq:
                    strand.come_after(ran.point(), "join")
        return strand

    def of(self, owner: Any) -> Strand:
        """The chain of a thread or task, which begins where it has none."""
        strand = self._of.get(owner)
        if strand is None:
            name = self._name(owner)
            strand = self._of[owner] = Strand(name, self._life, {} if self._clocks else None)
            its = self._thread() if _is_task(owner) else owner
            known = owner if owner in self._started or self._points.get() else its
            for started in self._started.get(known, ()):
                strand.come_after(started, "start")
            if its is not owner:
                ran = self._ran.setdefault(its, [])
                ran.append(strand)
                del ran[1:-LATEST]
                follow_tasks(owner.get_loop())
        return strand

    def recorded(self, strand: Strand) -> None:
        """Let whoever is started from now on be after the last event of this chain."""
        self._points.set({strand: strand.point()})

    def _context(self, task: Any) -> dict[Strand, Point]:
        """What the context tells of who calls, be it a task; nothing of one whose start is known."""
        return NOBODY if task is not None and task in self._started else self._points.get()

    def starting(self, owner: Any) -> None:
        """The current chain starts a thread or task."""
        task, looping = _current_task()
        here = task or self._thread()
        callback = looping and task is None
        self._started[owner] = (*self._context(task).values(), *(() if callback else self.ended(here)))

    def joined(self, owner: Any) -> None:
        """A thread or task is over, and who calls has waited for it, and for the tasks that a thread ran."""
        ran = [each.point() for each in self._ran.get(owner, ()) if each.seq]
        for point in (*self.ended(owner), *ran):
            self.waited_for(point)

    def ended(self, owner: Any) -> tuple[Point, ...]:
        """What is before the end of a thread or task: its last event, and what it waited for since; of one
        that had none, what it was started after."""
        strand = self._of.get(owner)
        return self._started.get(owner, ()) if strand is None else strand.known()

    def waited_for(self, point: Point, by: Any = None, context: Context | None = None) -> None:
        """Who calls, or the task `by` of a context, has waited for an event; whom it starts then knows it."""
        here = _current_task()[0] or self._thread()
        self.of(by or here).come_after(point, "join")
        if by is None or by is here:
            self._note(point)
        elif context is not None:
            with suppress(RuntimeError):  # it is that of who calls
                context.run(self._note, point)

    def _note(self, point: Point) -> None:
        """Let whoever is started from now on be after an event, too."""
        points = {**self._points.get()}
        add(points, point)
        self._points.set(points)

    def _name(self, owner: Any) -> str:
        if owner is threading.main_thread():
            return self._process
        called = str(owner.get_name()) if _is_task(owner) else owner.name
        if _is_task(owner) and (called.startswith("Task-") or called == "None"):  # as 3.13.0 names them
            called = getattr(owner.get_coro(), "__name__", None) or called
        name = f"{self._process}/{called}"
        self._called[name] = count = self._called.get(name, 0) + 1
        numbered = count > 1 or name.rpartition("#")[2].isdigit()  # as the second one of another name is
        return f"{name}#{count}" if numbered else name


_followers: WeakSet[Any] = WeakSet()
"""Who wants to know of starts and ends: recorders, which have `Strands` once they have an event."""


def follow(follower: Any) -> None:
    """Tell a recorder from now on of the starts and ends of threads and tasks, and of results.

    That is of all pools, and in all event loops that are asyncio's own.
    """
    if not hasattr(threading.Thread.start, "followed"):
        _follow_threads()
        _follow_futures()
        _follow_loops()
        _follow_groups()
    _followers.add(follower)
    task, looping = _current_task()
    if looping and task is not None:
        follow_tasks(task.get_loop())


def _follow_threads() -> None:
    start, join = threading.Thread.start, threading.Thread.join

    def started(thread: threading.Thread) -> None:
        for each in [*_followers]:
            each._chains(Strands.starting, thread)
        start(thread)

    def joined(thread: threading.Thread, timeout: float | None = None) -> None:
        join(thread, timeout)
        if not thread.is_alive():
            for each in [*_followers]:
                each._chains(Strands.joined, thread)

    started.followed = True  # type: ignore[attr-defined]
    threading.Thread.start = started  # type: ignore[assignment, method-assign]
    threading.Thread.join = joined  # type: ignore[assignment, method-assign]


def follow_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Let the tasks that a loop makes from now on know who awaits them, unless they are made specially."""
    if loop.get_task_factory() is None:
        made = _kind_of_task()
        loop.set_task_factory(lambda loop, work, **more: made(work, loop=loop, **more))


def _kind_of_task() -> Any:
    global _task  # noqa: PLW0603 (made when asyncio is there)
    if _task is None:
        from asyncio import Task

        class FollowedTask(Task):  # type: ignore[type-arg]
            """A task that knows who made and who awaits it, or reads its result."""

            def __init__(self, *arguments: Any, **more: Any) -> None:
                for each in [*_followers]:
                    each._chains(Strands.starting, self)
                super().__init__(*arguments, **more)

        _follow_waits(FollowedTask, Task)
        _task = FollowedTask
    return _task


_task: Any = None


def _follow_waits(kind: Any, made: Any) -> None:
    """Let futures of a kind, made of another, tell who awaits them, or reads what became of them."""
    wait = made.__await__

    def awaited(future: Any) -> Any:
        try:
            return (yield from wait(future))
        finally:
            _waited(future)

    def reading(outcome: Any) -> Any:
        def read(future: Any) -> Any:
            _waited(future)
            return outcome(future)

        return read

    kind.__await__, kind.result, kind.exception = awaited, reading(made.result), reading(made.exception)


def _waited(future: Any) -> None:
    """Who calls, unless it is a callback, has waited for a future and what it gathers, if they are over."""
    task, looping = _current_task()
    waited = [] if looping and task is None else [future]
    for each in waited:
        if each.done():
            waited += getattr(each, "_children", ())
            for follower in [*_followers]:
                follower._chains(Strands.joined, each)


def _current_task() -> tuple[Any, bool]:
    """The task that runs, if one does, and whether an event loop runs in this thread."""
    loaded = sys.modules.get("asyncio.events")
    if loaded is None or loaded._get_running_loop() is None:
        return None, False
    return sys.modules["asyncio"].current_task(), True


def _is_task(owner: Any) -> bool:
    """Whether this is no thread, also where those are none of `threading`'s own, as in gevent."""
    return hasattr(owner, "get_coro")


_KEPT = "microcosm_points"
"""Under this name a future has the last event of each thread that would answer it; a group, of its tasks."""
LATEST = 10_000
"""Of so many events of its tasks a group knows: those that ended last."""


def _points() -> list[tuple[Any, Point]]:
    """The last event of who calls."""
    found = ((each, each.here()) for each in [*_followers])
    return [(each, point) for each, point in found if point is not None]


def _before_answer(future: Any) -> list[tuple[Any, Point]]:
    """The last event of who answered a future; of two threads that do so at once either may have."""
    points = getattr(future, _KEPT, {})
    return next(iter(points.values())) if len(points) == 1 and not future.cancelled() else []


def _follow_futures() -> None:
    from concurrent.futures import Future

    def making(done: Any) -> Any:
        def made(future: Any, outcome: Any) -> None:
            if not future.done():  # else that is refused
                future.__dict__.setdefault(_KEPT, {})[threading.get_ident()] = _points()
            done(future, outcome)

        return made

    def reading(outcome: Any) -> Any:
        def read(future: Any, timeout: float | None = None) -> Any:
            try:
                return outcome(future, timeout)
            finally:
                for each, point in _before_answer(future) if future.done() else ():
                    each._chains(Strands.waited_for, point)

        return read

    kind: Any = Future
    kind.set_result, kind.set_exception = making(kind.set_result), making(kind.set_exception)
    kind.result, kind.exception = reading(kind.result), reading(kind.exception)


def _follow_loops() -> None:
    from asyncio import BaseEventLoop, Future, ensure_future, shield

    class ShieldedFuture(Future):  # type: ignore[type-arg]
        """What `asyncio.shield` returns: who awaits it, uncancelled, has waited for what it shields."""

        shielded: Any

        @property
        def _children(self) -> tuple[Any, ...]:
            return () if self.cancelled() else (self.shielded,)

    _follow_waits(ShieldedFuture, Future)

    def shielded(work: Any) -> Any:
        inner = ensure_future(work)
        loop = inner.get_loop()
        if not isinstance(loop, BaseEventLoop):
            return shield(inner)
        vars(loop)["create_future"] = lambda: ShieldedFuture(loop=loop)
        try:
            outer: Any = shield(inner)
        finally:
            del vars(loop)["create_future"]
        if outer is not inner:
            outer.shielded = inner
        return outer

    sys.modules["asyncio"].shield = sys.modules["asyncio.tasks"].shield = shielded  # type: ignore[attr-defined]
    gathering = getattr(sys.modules["asyncio.tasks"], "_GatheringFuture", None)  # a private name
    if gathering is not None:
        _follow_waits(gathering, Future)
    if (wait := getattr(sys.modules["asyncio.tasks"], "_wait", None)) is not None:  # private, too

        async def waited(*arguments: Any) -> Any:
            done, pending = await wait(*arguments)
            for each in done:
                _waited(each)
            return done, pending

        sys.modules["asyncio.tasks"]._wait = waited  # type: ignore[attr-defined]
    hand_over = BaseEventLoop.call_soon_threadsafe

    def call_soon_threadsafe(loop: BaseEventLoop, callback: Any, *arguments: Any, context: Any = None) -> Any:
        futures = [each for each in arguments if hasattr(each, "_asyncio_future_blocking")]
        points = _points() if futures else []
        for each in arguments:
            points += _before_answer(each)
        if not futures or not points:
            return hand_over(loop, callback, *arguments, context=context)

        def returned(*arguments: Any) -> None:
            waiting = [(future, _tasks(future)) for future in futures]
            callback(*arguments)
            for future, tasks in waiting:
                for task, its in tasks if future.done() else ():
                    for each, point in points:
                        each._chains(Strands.waited_for, point, task, its)

        return hand_over(loop, returned, *arguments, context=context)

    BaseEventLoop.call_soon_threadsafe = call_soon_threadsafe  # type: ignore[method-assign, assignment]


def _follow_groups() -> None:
    from asyncio import TaskGroup

    create, leave = TaskGroup.create_task, TaskGroup.__aexit__

    def created(group: Any, *arguments: Any, **more: Any) -> Any:
        task = create(group, *arguments, **more)
        kept = group.__dict__.setdefault(_KEPT, deque(maxlen=LATEST))

        def over(task: Any) -> None:
            for each in [*_followers]:
                kept.extend((each, point) for point in each._chains(Strands.ended, task) or ())

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
                each._chains(Strands.waited_for, point)

    followed: Any = TaskGroup
    followed.create_task, followed.__aexit__ = created, left


def _tasks(future: Any) -> list[tuple[Any, Context]]:
    """The tasks that a future wakes once it is done, each with its context."""
    calls = getattr(future, "_callbacks", None) or ()
    owners = [(getattr(call, "__self__", None), context) for call, context in calls]
    return [(owner, context) for owner, context in owners if getattr(owner, "_fut_waiter", None) is future]
