"""Which counters of a sender have been seen: a sliding window, so that no packet counts twice."""

from __future__ import annotations

SIZE = 4096


class ReplayWindow:
    """The counters seen of the last 4,096; whatever is older counts as seen.

    Ask and mark only after a packet proved genuine: a forged counter must not move the window.

    >>> window = ReplayWindow()
    >>> [window.fresh(n) for n in (1, 3, 2, 3, 5000, 4, 905, 905)]
    [True, True, True, False, True, False, True, False]
    """

    __slots__ = ("_bits", "_highest")

    def __init__(self) -> None:
        self._highest = -1
        self._bits = 0

    def fresh(self, counter: int) -> bool:
        """Whether a counter has not been seen; from now on it has. Cost: 4,096 bits."""
        ahead = counter - self._highest
        if ahead > 0:
            self._bits = ((self._bits << ahead) | 1) & ((1 << SIZE) - 1) if ahead < SIZE else 1
            self._highest = counter
            return True
        if -ahead >= SIZE or self._bits >> -ahead & 1:
            return False
        self._bits |= 1 << -ahead
        return True
