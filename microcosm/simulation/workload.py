"""What processes send: a mixture by default, and the patterns by which protocols are compared.

A workload makes exactly as many causal sends as it was told, and nothing random but by the run's source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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
        delay = 2 * self.spacing * run.random.random()
        run.at(delay, lambda: _send(run, process, self._receivers(run, process, None)))

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


def _send(run: Run, process: int, to: tuple[int, ...]) -> None:
    """A send whose number nobody needs."""
    run.causal_send(process, to)


@dataclass
class Script:
    """Sends at given times: (time, process, receivers). Nobody reacts."""

    sends: Sequence[tuple[float, int, tuple[int, ...]]]

    def start(self, run: Run) -> None:
        for time, process, to in self.sends:
            run.at(time, partial(_send, run, process, to))

    def delivered(self, run: Run, process: int, sender: int, message: int) -> None:
        pass


@dataclass
class Stream:
    """Process 0 sends `messages` to process 1, one every `spacing`: does the protocol pipeline?"""

    messages: int
    spacing: float = 0.01

    def start(self, run: Run) -> None:
        for number in range(self.messages):
            run.at(number * self.spacing, partial(_send, run, 0, (1,)))

    def delivered(self, run: Run, process: int, sender: int, message: int) -> None:
        pass


Route = Callable[[int, int, int], Sequence[int]]
"""From a process, the one it got the job from and the stage of the job to the processes that get it next."""


@dataclass
class Service:
    """Messages that travel through processes: each delivery of a job makes its next sends.

    `route(process, sender, stage)` names the processes that get the job next, none at its end; `sources`
    start `jobs` jobs each, one every `spacing`. Pipelines, fan-outs, requests with replies and graphs of
    services differ by their route only.
    """

    route: Route
    sources: Sequence[int]
    jobs: int
    spacing: float = 0.1

    def __post_init__(self) -> None:
        self._stage: dict[int, int] = {}

    def start(self, run: Run) -> None:
        for job in range(self.jobs):
            for source in self.sources:
                start = (job + run.random.random()) * self.spacing
                run.at(start, partial(self._pass, run, source, source, 0))

    def delivered(self, run: Run, process: int, sender: int, message: int) -> None:
        self._pass(run, process, sender, self._stage[message])

    def _pass(self, run: Run, process: int, sender: int, stage: int) -> None:
        for receiver in self.route(process, sender, stage):
            self._stage[run.sent] = stage + 1  # before it is sent: a delivery may follow at once
            run.causal_send(process, (receiver,))


def patterns(size: int, jobs: int) -> dict[str, Service]:
    """The five patterns of the evaluation, for `size` processes, with about `jobs` jobs in all."""

    def of(route: Route, sources: Sequence[int]) -> Service:
        return Service(route, sources, max(1, jobs // len(sources)))

    quarter = max(1, size // 4)
    clients = range(max(1, size // 2), size)
    sources = {
        "pipeline": [0],
        "fan-out": [0],
        "request-reply": list(clients)[:jobs],
        "services": list(range(quarter))[:jobs],
        "all-to-all": list(range(size))[:jobs],
    }
    depth = min(size - 1, 20)
    routes: dict[str, Route] = {
        "pipeline": lambda process, _, stage: (process + 1,) if stage < depth else (),
        "fan-out": lambda _, __, stage: tuple(range(1, min(size, 21))) if stage == 0 else (),
        "request-reply": lambda process, sender, stage: (
            (process % (size // 2),) if stage == 0 else (sender,) if stage == 1 else ()
        ),
        "services": lambda process, _, stage: (
            tuple({quarter * (stage + 1) + (process * k + stage) % quarter: None for k in (1, 3)})
            if stage < 3
            else ()
        ),
        "all-to-all": lambda process, _, stage: (
            tuple((process + step) % size for step in (1, 2 + size // 3)) if stage == 0 and size > 3 else ()
        ),
    }
    return {name: of(route, sources[name]) for name, route in routes.items()}
