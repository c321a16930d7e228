"""Work for one thread: a piece at a time, in the order in which it was asked for, each for so long at most.

The thread is the main one, where an interrupt (Ctrl-C) ends whatever is computed, wherever it is. What takes
too long is ended by an alarm in the same way, by an exception that comes from outside: what the one may leave
half made, the other may, and whoever hands in work says how to recover from it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from threading import current_thread, main_thread
from typing import Any, TypeVar

from microcosm.errors import MicrocosmError, Undefined

Result = TypeVar("Result")

LIMIT = 10.0
"""Seconds for one question."""


class TookTooLong(MicrocosmError):
    """A piece of work was ended: it took longer than the limit."""


class _Alarm(KeyboardInterrupt):
    """What ends it, from outside, as an interrupt does."""


class Turns:
    """Pieces of work, done by `run`, in whatever thread they are put. A `limit` of 0 is none."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit = limit
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any], Callable[[], None] | None] | None]
        self._waiting = SimpleQueue()
        self._armed = False
        self.over = False
        """Whether nothing more will be done, so that nobody need wait."""

    def put(self, work: Callable[[], Result], recover: Callable[[], None] | None = None) -> Future[Result]:
        """Have some work done in its turn. With `recover` it has the limit; ended by that, it is called.

        What waits for it may give up: work that has not begun is then not done.
        """
        promise: Future[Result] = Future()
        self._waiting.put((promise, work, recover))
        return promise

    def close(self) -> None:
        """Have `run` return when what was put so far is done."""
        self._waiting.put(None)

    def run(self) -> None:
        """Do what is put, until `close`, in the main thread.

        Raises `KeyboardInterrupt` where somebody else interrupts it, and `Undefined` in another thread.
        """
        with self._alarm():
            self.work()

    def work(self) -> None:
        """The same in any thread, of work that has no limit."""
        while (turn := self._waiting.get()) is not None:
            promise, work, recover = turn
            if not promise.set_running_or_notify_cancel():
                continue
            try:
                promise.set_result(self._limited(work) if recover is not None else work())
            except _Alarm:
                if recover is not None:
                    recover()
                promise.set_exception(TookTooLong(f"took too long: more than {self.limit:g} seconds"))
            except Exception as error:
                promise.set_exception(error)

    def _limited(self, work: Callable[[], Result]) -> Result:
        """The result of some work. Raises `_Alarm`."""
        if not self.limit or not hasattr(signal, "setitimer"):
            return work()
        try:
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, self.limit)
            return work()
        finally:
            self._armed = False  # from here on the alarm does nothing, should it come
            signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def _alarm(self) -> Iterator[None]:
        """While inside, the alarm ends what has the limit. Raises `Undefined` but in the main thread."""

        def ring(number: int, frame: object) -> None:
            if self._armed:
                raise _Alarm

        if current_thread() is not main_thread():
            raise Undefined(
                "questions of a page are answered in the main thread, where they can be interrupted"
            )
        if not hasattr(signal, "setitimer"):  # there is no alarm on this system, and so no limit
            yield
            return
        before = signal.signal(signal.SIGALRM, ring)
        try:
            yield
        finally:
            signal.signal(signal.SIGALRM, before)
