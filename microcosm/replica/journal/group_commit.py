"""Commits of several threads share a transaction and its syncs, without a thread of the journal's own.

The first of those who wait writes for all who came meanwhile, then wakes the next to do the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import perf_counter

Records = Sequence[tuple[str, bytes]]


class Commit:
    """Records that somebody wants to have committed, and what became of that."""

    __slots__ = ("done", "error", "leads", "number", "records", "wake")

    def __init__(self, records: Records) -> None:
        self.records = records
        self.done = False
        self.leads = False
        """Whether it is its turn to write, for all who wait."""
        self.number = 0
        self.error: BaseException | None = None
        self.wake = threading.Lock()
        """Held until it is done, or leads."""
        self.wake.acquire()


class GroupCommit:
    """Those who wait for a commit. `append` writes records in one transaction, and returns the number of the
    last record before them; it is called by who has the `turn`.
    """

    def __init__(self, turn: threading.RLock, append: Callable[[Records], int]) -> None:
        self._turn, self._append = turn, append
        self.queue = threading.Condition()
        """Who has it uses the four below; notified when as many wait as last time."""
        self.waiting: list[Commit] = []
        self._leading = False
        self._crowd = 1
        self._patience = 0.0

    def commit(self, records: Records) -> int:
        """Wait until records are written, or write them; the number of the last.

        Raises what `append` does.
        """
        mine = Commit(records)
        with self.queue:
            self.waiting.append(mine)
            if len(self.waiting) >= self._crowd:
                self.queue.notify_all()
            mine.leads, self._leading = not self._leading, True
        try:
            if not mine.leads:
                mine.wake.acquire()
            if not mine.done:
                self._write()
        finally:
            if not mine.done:  # interrupted
                self._withdraw(mine)
        if mine.error is not None:
            raise mine.error
        return mine.number

    def _write(self) -> None:
        """Write all that anybody waits for as one transaction; each learns its number, or all the error.

        Those who waited last time will be back in a moment, and are worth waiting for: not longer than a
        quarter of what a transaction takes. Then the next of those who wait is woken to do the same.
        """
        with self._turn:
            with self.queue:
                self.queue.wait_for(lambda: len(self.waiting) >= self._crowd, self._patience)
                batch, self.waiting = self.waiting, []
            began, number, error = perf_counter(), 0, None
            try:
                number = self._append([record for each in batch for record in each.records])
            except BaseException as stopped:
                error = stopped
        for each in batch:
            number += len(each.records)
            each.number, each.error, each.done = number, error, True
        with self.queue:
            self._crowd = len(batch) + len(self.waiting)
            self._patience = min(0.25 * (perf_counter() - began), 0.01)
            self._pass_on()
        for each in batch:
            each.wake.release()

    def _pass_on(self) -> None:
        """Let the next of those who wait lead. The caller has the queue."""
        self._leading = bool(self.waiting)
        for following in self.waiting[:1]:
            following.leads = True
            following.wake.release()

    def _withdraw(self, mine: Commit) -> None:
        """Wait no more."""
        with self.queue:
            if mine in self.waiting:
                self.waiting.remove(mine)
                if mine.leads:
                    self._pass_on()
