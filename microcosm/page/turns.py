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
from math import inf
from queue import SimpleQueue
from threading import Lock, current_thread, main_thread
from time import monotonic
from typing import Any, TypeVar

from microcosm.errors import MicrocosmError, Undefined

Result = TypeVar("Result")

LIMIT = 10.0
"""Seconds for one question."""


class TookTooLong(MicrocosmError):
    """A piece of work was ended: it took longer than the limit."""


class NobodyWaits(MicrocosmError):
    """A piece of work was ended: whoever asked for it is gone."""


class _Alarm(KeyboardInterrupt):
    """What ends it, from outside, as an interrupt does."""


class Turns:
    """Pieces of work, done by `run`, in whatever thread they are put. A `limit` of 0 is none."""

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit = limit
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any], Callable[[], None] | None] | None]
        self._waiting = SimpleQueue()
        self._running: Future[Any] | None = None
        """The answer at hand, as long as it may be ended."""
        self._dropped: Future[Any] | None = None
        self._ends = 0.0
        self._listening, self._heard = Lock(), False
        """Whether an alarm is heard: only what `run` does is ended."""
        self.over = False
        """Whether nothing more will be done, so that nobody need wait."""

    def put(self, work: Callable[[], Result], recover: Callable[[], None] | None = None) -> Future[Result]:
        """Have some work done in its turn; with `recover`, called where it is ended, it has the limit."""
        promise: Future[Result] = Future()
        self._waiting.put((promise, work, recover))
        return promise

    def drop(self, promise: Future[Any]) -> None:
        """Do some work no further, for nobody waits for it: it is not begun, or ended if it has `recover`."""
        if not promise.cancel():
            with self._listening:
                self._dropped = promise
                if self._heard and self._running is promise:
                    signal.pthread_kill(main_thread().ident or 0, signal.SIGALRM)

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
                promise.set_result(self._limited(work, promise) if recover is not None else work())
            except _Alarm:
                if recover is not None:
                    recover()
                late = TookTooLong(f"took too long: more than {self.limit:g} seconds")
                promise.set_exception(NobodyWaits() if self._dropped is promise else late)
            except Exception as error:
                promise.set_exception(error)

    def _limited(self, work: Callable[[], Result], promise: Future[Any]) -> Result:
        """The result of some work. Raises `_Alarm`."""
        if not self._heard:
            return work()
        try:
            self._ends = monotonic() + self.limit if self.limit else inf
            self._running = promise
            signal.setitimer(signal.ITIMER_REAL, self.limit)
            return work()
        finally:
            self._running = None  # from here on the alarm does nothing, should it come
            signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def _alarm(self) -> Iterator[None]:
        """While inside, the alarm ends what has the limit. Raises `Undefined` but in the main thread."""

        def ring(number: int, frame: object) -> None:
            running = self._running
            if running is not None and (running is self._dropped or monotonic() >= self._ends):
                raise _Alarm

        if current_thread() is not main_thread():
            raise Undefined(
                "questions of a page are answered in the main thread, where they can be interrupted"
            )
        if not hasattr(signal, "setitimer"):  # there is no alarm on this system, and so no limit
            yield
            return
        before = signal.signal(signal.SIGALRM, ring)
        self._heard = True
        try:
            yield
        finally:
            with self._listening:
                self._heard = False
            signal.signal(signal.SIGALRM, before)
