"""Who waits for a commit: the first of them writes for all who came meanwhile, then wakes the next.

So the commits of several threads share a transaction and its syncs, without a thread of the journal's own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence


class Waiting:
    """Records that somebody wants to have committed, and what became of that."""

    __slots__ = ("done", "error", "leads", "number", "records", "wake")

    def __init__(self, records: Sequence[tuple[str, bytes]]) -> None:
        self.records = records
        self.done = False
        self.leads = False
        """Whether it is its turn to write, for all who wait."""
        self.number = 0
        self.error: BaseException | None = None
        self.wake = threading.Lock()
        """Held until it is done, or leads."""
        self.wake.acquire()
