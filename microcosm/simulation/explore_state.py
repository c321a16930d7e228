"""The states of an exploration, and how a step changes one.

Machines are kept as bytes: copying and comparing them costs little, and only those that a step touches are
unpacked.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import NamedTuple

from microcosm.protocol.catalogue import Protocol
from microcosm.protocol.machine import Delivery, Machine, Send


@dataclass(frozen=True, slots=True)
class Scope:
    """How much to explore. `answers`: processes may also send from within a delivery."""

    processes: int = 3
    messages: int = 3
    reorder: bool = True
    losses: int = 0
    doubles: int = 0
    answers: bool = False
    most: int = 2_000_000
    """Give up after so many states."""


class Step(NamedTuple):
    """What happens next: `send`, `receive`, `lose`, `double` or `tick`."""

    kind: str
    process: int
    peer: int = -1
    at: int = 0
    to: tuple[int, ...] = ()


class State(NamedTuple):
    """Machines as bytes, packets as bytes by link, and what an omniscient observer knows."""

    machines: tuple[bytes, ...]
    transit: tuple[tuple[bytes, ...], ...]
    past: tuple[int, ...]
    """For each process the messages of its causal past, as bits."""
    before: tuple[int, ...]
    """For each message the messages before it."""
    missing: tuple[int, ...]
    """For each process the messages that it has yet to deliver."""
    losses: int
    doubles: int
    ticks: int


class Fault(Exception):
    """A step went wrong; what and how."""


class Setup:
    """What all states of an exploration share: the protocol, the scope, the links between processes."""

    def __init__(self, protocol: Protocol, scope: Scope) -> None:
        self.protocol = protocol
        self.scope = scope
        self.links = [(i, j) for i in range(scope.processes) for j in range(scope.processes) if i != j]
        self.link = {link: at for at, link in enumerate(self.links)}


def packed(machine: Machine) -> bytes:
    """A machine as bytes, without what does not matter for what it does next."""
    machine.on_deliver = None
    machine.operations = 0
    machine.refused.clear()
    return pickle.dumps(machine, 5)


class Working:
    """A state that is being changed: only the machines that a step touches are unpacked."""

    def __init__(self, setup: Setup, state: State) -> None:
        self._setup = setup
        self._old = state
        self._machines: dict[int, Machine] = {}
        self._transit = [list(packets) for packets in state.transit]
        self._past = list(state.past)
        self._before = list(state.before)
        self._missing = list(state.missing)
        self._losses = state.losses
        self._doubles = state.doubles
        self._ticks = state.ticks
        self._answer: tuple[int, ...] = ()

    def machine(self, i: int) -> Machine:
        if i not in self._machines:
            machine: Machine = pickle.loads(self._old.machines[i])
            machine.on_deliver = lambda delivery: self._delivered(i, delivery)
            self._machines[i] = machine
        return self._machines[i]

    def send(self, i: int, to: tuple[int, ...]) -> None:
        message = len(self._before)
        self._before.append(self._past[i])
        self._past[i] |= 1 << message
        for j in to:
            self._missing[j] |= 1 << message
        self.machine(i).causal_send(to, message)

    def receive(self, i: int, j: int, at: int, answer: tuple[int, ...]) -> None:
        packet = pickle.loads(self._transit[self._setup.link[i, j]].pop(at))
        self._answer = answer
        self.machine(j).receive(i, packet)

    def tick(self) -> None:
        self._ticks += 1
        for i in range(len(self._old.machines)):
            self.machine(i).tick()

    def tamper(self, step: Step) -> None:
        packets = self._transit[self._setup.link[step.process, step.peer]]
        if step.kind == "lose":
            del packets[step.at]
            self._losses -= 1
        else:
            packets.append(packets[step.at])
            self._doubles -= 1

    def state(self) -> State:
        machines = list(self._old.machines)
        for i, machine in self._machines.items():
            machine._check()
            for output in machine.take():
                if isinstance(output, Send):
                    at = self._setup.link.get((i, output.to))
                    if at is None:
                        raise Fault("a packet to nobody")
                    self._transit[at].append(pickle.dumps(output.packet, 5))
            machines[i] = packed(machine)
        if self._setup.scope.reorder:
            for packets in self._transit:
                packets.sort()
        under_way = 0
        for missing in self._missing:
            under_way |= missing
        return State(
            tuple(machines),
            tuple(map(tuple, self._transit)),
            # Of what is delivered everywhere it does not matter who knows of it; the number is kept for
            # `_touched`, which a process that has taken part must not lose.
            tuple(past & under_way | (1 << 60 if past else 0) for past in self._past),
            tuple(
                before & under_way if under_way >> message & 1 else 0
                for message, before in enumerate(self._before)
            ),
            tuple(self._missing),
            self._losses,
            self._doubles,
            self._ticks,
        )

    def _delivered(self, j: int, delivery: Delivery) -> None:
        message = delivery.payload
        if not self._missing[j] >> message & 1:
            raise Fault(f"message {message + 1} is delivered twice, or to the wrong process")
        self._missing[j] &= ~(1 << message)
        late = self._missing[j] & self._before[message]
        if late and j in self._setup.protocol.monitors(self._setup.scope.processes):
            raise Fault(f"message {message + 1} is delivered before message {late.bit_length()}")
        self._past[j] |= self._before[message] | 1 << message
        if self._answer and len(self._before) < self._setup.scope.messages:
            answer, self._answer = self._answer, ()
            self.send(j, answer)
