"""What processes send: a mixture by default, and the patterns by which protocols are compared.

A workload makes exactly as many causal sends as it was told, and nothing random but by the run's source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from microcosm.simulation.run import Run


@dataclass
class Mixture:
    """`messages` sends in all, about `in_flight` under way at a time, half of them reactions to a delivery.

    A reaction goes back to the sender (ping-pong), on to a third process (hand-over), or to several. `most`
    bounds the receivers of a message; `spacing` is the mean time before a send that is no reaction.
    """

    messages: int
    most: int = 1
    in_flight: int = 10
    spacing: float = 0.25

    def __post_init__(self) -> None:
        self._left = self.messages
        self._seen = 0
        """Messages below this number have been answered, by a reaction or by another send."""
        self._answered: set[int] = set()

    def start(self, run: Run) -> None:
        for _ in range(min(self.in_flight, self.messages)):
            self._later(run)

    def delivered(self, run: Run, process: int, sender: int, message: int) -> None:
        if message in self._answered or message < self._seen:
            return
        self._answered.add(message)
        while self._seen in self._answered:
            self._answered.discard(self._seen)
            self._seen += 1
        if self._left <= 0:
            return
        if run.random.random() < 0.5:
            self._left -= 1
            run.causal_send(process, self._receivers(run, process, sender))
        else:
            self._later(run)

    def _later(self, run: Run) -> None:
        """A send of some process, soon."""
        if self._left <= 0:
            return
        self._left -= 1
        process = run.random.randrange(run.size)
        run.at(
            2 * self.spacing * run.random.random(),
            lambda: _ignore(run.causal_send(process, self._receivers(run, process, None))),
        )

    def _receivers(self, run: Run, process: int, sender: int | None) -> tuple[int, ...]:
        random = run.random
        count = 1 if self.most == 1 or random.random() < 0.5 else random.randint(2, self.most)
        back = sender is not None and sender != process and random.random() < 0.3
        chosen = [sender] if back and sender is not None else []
        while len(chosen) < min(count, run.size - 1):
            other = random.randrange(run.size - 1)
            other += other >= process
            if other not in chosen:
                chosen.append(other)
        return tuple(sorted(chosen))


def _ignore(_: int) -> None:
    """A send whose number nobody needs."""


@dataclass
class Script:
    """Sends at given times: (time, process, receivers). Nobody reacts."""

    sends: Sequence[tuple[float, int, tuple[int, ...]]]

    def start(self, run: Run) -> None:
        for time, process, to in self.sends:
            run.at(time, lambda process=process, to=to: _ignore(run.causal_send(process, to)))  # type: ignore[misc]

    def delivered(self, run: Run, process: int, sender: int, message: int) -> None:
        pass
