"""How processes talk when protocols are compared: pipelines, fan-outs, requests with replies, services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from microcosm.simulation.run import Run

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
