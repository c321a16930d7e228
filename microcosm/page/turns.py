"""Work for one thread: a piece at a time, in the order in which it was asked for, each for so long at most.

The thread is the main one, where an interrupt (Ctrl-C) ends whatever is computed, wherever it is. A piece that takes
too long is ended by an alarm in the same way: by an exception that comes from outside. So what can be left behind by
the one can be left behind by the other and by nothing else, and whoever hands in work says how to recover from it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")

LIMIT = 10.0
"""Seconds for one question."""


class TookTooLong(KeyboardInterrupt):
    """A piece of work was ended, as an interrupt ends it: it took longer than the limit."""


class Turns:
    """Pieces of work, done by `run`, in whatever thread they are put. A `limit` of 0 is none."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit = limit
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any], Callable[[], None] | None] | None]
        self._waiting = SimpleQueue()
        self._armed = False

    def put(self, work: Callable[[], Result], recover: Callable[[], None] | None = None) -> Future[Result]:
        """Have some work done in its turn; with `recover` it has the limit, and that is called where it is ended.

        What waits for it may give up: work that has not begun is then not done.
        """
        promise: Future[Result] = Future()
        self._waiting.put((promise, work, recover))
        return promise

    def close(self) -> None:
        """Have `run` return when what was put so far is done."""
        self._waiting.put(None)

    def run(self) -> None:
        """Do what is put, until `close`. Raises `KeyboardInterrupt` where the interrupt is none of its own."""
        with self._alarm():
            while (turn := self._waiting.get()) is not None:
                promise, work, recover = turn
                if not promise.set_running_or_notify_cancel():
                    continue
                try:
                    promise.set_result(self._limited(work) if recover is not None else work())
                except TookTooLong as late:
                    if recover is not None:
                        recover()
                    promise.set_exception(late)
                except Exception as error:
                    promise.set_exception(error)

    def _limited(self, work: Callable[[], Result]) -> Result:
        """The result of some work. Raises `TookTooLong`."""
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
        """While inside, the alarm raises `TookTooLong` in what has the limit. Raises `ValueError` elsewhere."""

        def ring(number: int, frame: object) -> None:
            if self._armed:
                raise TookTooLong

        if not hasattr(signal, "setitimer"):  # there is no alarm on this system, and so no limit
            yield
            return
        before = signal.signal(signal.SIGALRM, ring)
        try:
            yield
        finally:
            signal.signal(signal.SIGALRM, before)
