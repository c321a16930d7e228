"""How much may be under way to a peer, and how long to wait for its acks.

The window grows by what is acknowledged, doubling at first, and is halved by a loss, at most once a round
trip (Jacobson, *Congestion avoidance and control*, 1988); waiting times follow RFC 6298. An ack comes after a
commit, so the round trip has the receiver's disk in it.
"""

from __future__ import annotations

PACKET = 1200
LEAST_WINDOW = 8.0 * PACKET
FIRST_WINDOW = 16.0 * PACKET


class Congestion:
    """The path to one peer. Sizes in bytes, times in seconds."""

    __slots__ = (
        "_cut",
        "_deviation",
        "_least",
        "_longest",
        "_threshold",
        "flying",
        "rtt",
        "silence",
        "window",
    )

    def __init__(self, least: float = 0.03, longest: float = 5.0) -> None:
        self.window = FIRST_WINDOW
        self.flying = 0
        """Under way, and neither acknowledged nor given up."""
        self.rtt: float | None = None
        self.silence = 0
        """Times that an ack was waited for in vain since the last one came."""
        self._least = least
        self._longest = longest
        self._threshold = float("inf")
        self._deviation = 0.0
        self._cut = float("-inf")

    @property
    def patience(self) -> float:
        """How long to wait for an ack before sending again."""
        if self.rtt is None:
            return max(self._least, 0.2)
        return min(self._longest, max(self._least, self.rtt + 4 * self._deviation))

    def wait(self, tries: int) -> float:
        """How long to wait for the ack of a message that was sent `tries` times.

        It is doubled each time as long as nothing comes back.
        """
        wait: float = self.patience * 2 ** min(tries - 1, self.silence + 1, 16)
        return min(self._longest, wait)

    def room(self, size: int) -> bool:
        """Whether so much more may be sent. One message always may."""
        return self.flying == 0 or self.flying + size <= self.window

    def acknowledged(self, size: int, took: float | None) -> None:
        """An ack for `size` bytes; `took` is its round trip, if only one sending can have been meant."""
        self.silence = 0
        if self.window < self._threshold:
            self.window += size
        else:
            self.window += PACKET * size / self.window
        if took is None:
            return
        if self.rtt is None:
            self.rtt, self._deviation = took, took / 2
        else:
            self._deviation += (abs(took - self.rtt) - self._deviation) / 4
            self.rtt += (took - self.rtt) / 8

    def lost(self, now: float) -> None:
        """Something was not acknowledged in time."""
        if now - self._cut > (self.rtt or self._least):
            self._cut = now
            self.silence += 1
            self.window = self._threshold = max(LEAST_WINDOW, self.window / 2)
