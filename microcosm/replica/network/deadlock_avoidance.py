"""So that processes that are full of copies for each other do not refuse each other's messages for ever.

What a process may hold of its own messages is bounded (`Durable.most_copies`): its application is refused
first (`Busy`), then messages of others, which stay with their senders; acks and permits are always taken. But
two processes, each full of copies for the other, can only deliver something by holding more, where a delivery
sends as much as it takes away, or more. No scheme can keep both: buffers within fixed bounds, and an end to
waiting. (To keep what is too much on disk is no third way: a disk is a larger buffer.) What is kept is that
it goes on. A process that is full, and that for a while (`Limits.stall`) neither got an ack nor took a
message, takes the next message of some sender all the same, which that one may then forget. So everything is
delivered at last if deliveries do not cause each other without end, and if those whom a message waits for are
there or evicted; and a buffer grows beyond its bound by what one message, and whatever was held back for it
alone, causes in each such while, and no faster.
"""

from __future__ import annotations

from microcosm.replica.network.durable.durable import Durable


class DeadlockAvoidance:
    """Lets an endpoint that is full and stuck take one message more. `stall` is in seconds."""

    def __init__(self, durable: Durable, stall: float, now: float) -> None:
        self._durable, self._stall = durable, stall
        self._moved_at = now
        self._progress = 0

    def look(self, now: float) -> None:
        """Time has passed, and acks have been taken: before messages are."""
        durable = self._durable
        if durable.progress != self._progress or not durable.full:
            self._progress, self._moved_at = durable.progress, now
        elif now - self._moved_at >= self._stall:
            durable.spare = True
