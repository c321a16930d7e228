"""The sizes and times of an endpoint, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds.

    `mtu`: the largest packet, UDP payload. `largest`: the largest message. `most_copies`: how many copies may
    wait for acks before `send` is refused; `under_way`: how many of them may be on the wire to one member at
    a time. `tick`: duplicates of a packet are answered once in such a time. `least_wait`, `longest_wait`:
    between two tries. `stall`: who is full and gets no acks for so long takes a message all the same
    (`DeadlockAvoidance`).
    """

    mtu: int = 1200
    largest: int = 1 << 20
    most_copies: int = 4096
    under_way: int = 1024
    tick: float = 0.02
    least_wait: float = 0.1
    longest_wait: float = 5.0
    stall: float = 1.0

    def __post_init__(self) -> None:
        if not 512 <= self.mtu <= 65507:
            raise ValueError(f"packets of {self.mtu} bytes; 512 to 65,507 are possible")
