"""Scenarios: a few steps of a few processes, written as text, with what happens under each step.

    hybrid-basic, 3 processes

    p1 sends a to p2
    p1 sends b to p3
    ----
    p1 causally sends a to p2
    p1 -> p2: a (id 1 after 0)
    p1 causally sends b to p3
    p1 -> p3: b (id 2 after 0, permit follows)

The protocol `tree` may be told its topology, as in `tree, 4 processes, p2,p3,p3,p3`
(`protocol.tree_static`),
and `hybrid-dependencies` its budget, as in `hybrid-dependencies, 3 processes, budget 2`.

Steps, one a line (a blank line ends the output; a line that begins with `#` is a comment):

    p1 sends a to p2, p3            a causal send of message a
    p2 answers a with b to p1       later: as soon as p2 delivers a, from within the delivery
    p2 receives from p1             takes the oldest packet on the way from p1; `#2`: the second
    p2 receives from p1, answering b to p3     and whatever it delivers by that, it answers
    lose p1 -> p2                   that packet is lost; `#2`: the second
    double p1 -> p2                 it arrives twice
    p1 ticks                        p1 repeats what may be lost
    settle                          everything on the way arrives, oldest first, until nothing is
    check                           what is wrong so far, missing deliveries included
"""

from __future__ import annotations

import re
from collections.abc import Callable

from microcosm.errors import MicrocosmError, ProtocolError, TextError
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.machine import Delivery, Send
from microcosm.protocol.packets import (
    Ack,
    Dependent,
    HybridMessage,
    LamportClocked,
    Logged,
    Packet,
    Permit,
    Secret,
)
from microcosm.simulation.run import CAUSAL_SEND, DELIVER, CausalCheck, Event, carries_message, process_name
from microcosm.simulation.simulate import SimulationSetting, chosen

HEAD = re.compile(
    r"(?P<protocol>[a-z-]+), (?P<size>\d+) processes(?:, (?:budget (?P<budget>\d+)|(?P<topology>\S.*)))?"
)
PROCESS = r"p(\d+)"
NUMBER = r"(?: #(\d+))?"
RULE = "----"
MOST = 100_000
"""A scenario that takes more packets to settle never does."""


class Scenario:
    """The processes of a scenario and what is on the way between them."""

    def __init__(
        self, protocol: str, size: int, topology: str | None = None, budget: int | None = None
    ) -> None:
        kind = chosen(protocol, SimulationSetting(processes=size, topology=topology, budget=budget))
        self.machines = kind.make(size)
        self.transit: dict[tuple[int, int], list[Packet]] = {}
        self.lines: list[str] = []
        self._names: list[str] = []
        self._answers: dict[tuple[int, str], list[tuple[str, tuple[int, ...]]]] = {}
        self._next_answer: tuple[str, tuple[int, ...]] | None = None
        self._check = CausalCheck(kind.monitors(size))
        for machine in self.machines:
            machine.on_deliver = self._delivering(machine.me)
        self._steps: list[tuple[re.Pattern[str], Callable[[re.Match[str]], None]]] = [
            (re.compile(pattern), step)
            for pattern, step in (
                (rf"{PROCESS} sends (\S+) to (.+)", lambda m: self.send(self._p(m[1]), m[2], self._ps(m[3]))),
                (
                    rf"{PROCESS} answers (\S+) with (\S+) to (.+)",
                    lambda m: self.answer(self._p(m[1]), m[2], m[3], self._ps(m[4])),
                ),
                (
                    rf"{PROCESS} receives from {PROCESS}{NUMBER}(?:, answering (\S+) to (.+))?",
                    lambda m: self.receive(
                        self._p(m[2]), self._p(m[1]), int(m[3] or 1), m[4] and (m[4], self._ps(m[5]))
                    ),
                ),
                (
                    rf"(lose|double) {PROCESS} -> {PROCESS}{NUMBER}",
                    lambda m: getattr(self, m[1])(self._p(m[2]), self._p(m[3]), int(m[4] or 1)),
                ),
                (rf"{PROCESS} ticks", lambda m: self.tick(self._p(m[1]))),
                ("settle", lambda m: self.settle()),
                ("check", lambda m: self.check()),
            )
        ]

    def do(self, line: str) -> None:
        """One step as it is written. Raises `ProtocolError` or `ValueError` where it cannot be done."""
        for pattern, step in self._steps:
            found = pattern.fullmatch(line)
            if found:
                step(found)
                return
        raise ValueError("no step of a scenario")

    def send(self, process: int, name: str, to: tuple[int, ...]) -> None:
        """A causal send."""
        if name in self._names:
            raise ValueError(f"there is a message {name} already")
        number = len(self._names)
        self._names.append(name)
        self._flush(process)
        receivers = ", ".join(map(process_name, to))
        self.lines.append(f"{process_name(process)} causally sends {name} to {receivers}")
        self._check.see(Event(0.0, process, CAUSAL_SEND, number, to))
        self.machines[process].causal_send(to, number)
        self._flush(process)

    def answer(self, process: int, name: str, answer: str, to: tuple[int, ...]) -> None:
        """From now on, the delivery of a message at a process makes it send another."""
        self._answers.setdefault((process, name), []).append((answer, to))

    def receive(
        self, sender: int, receiver: int, number: int = 1, answer: tuple[str, tuple[int, ...]] | None = None
    ) -> None:
        """Take a packet off the wire; the first delivery that it causes may be answered."""
        self._next_answer = answer
        packet = self._on_the_way(sender, receiver, number).pop(number - 1)
        machine = self.machines[receiver]
        name = process_name(receiver)
        self.lines.append(f"{name} takes {self.described(packet)} from {process_name(sender)}")
        refused = machine.refused.copy()
        machine.receive(sender, packet)
        self.lines += [f"{name} refuses it: {reason}" for reason in machine.refused - refused]
        self._flush(receiver)

    def lose(self, sender: int, receiver: int, number: int = 1) -> None:
        """Lose a packet on the way."""
        packet = self._on_the_way(sender, receiver, number).pop(number - 1)
        self.lines.append(f"lost: {self.described(packet)}")

    def double(self, sender: int, receiver: int, number: int = 1) -> None:
        """Let a packet on the way arrive twice."""
        packets = self._on_the_way(sender, receiver, number)
        packets.append(packets[number - 1])
        self.lines.append(f"doubled: {self.described(packets[-1])}")

    def tick(self, process: int) -> None:
        """Let a process repeat what may have been lost."""
        self.machines[process].tick()
        self._flush(process)

    def settle(self) -> None:
        """Let everything arrive, the oldest packet of each link in turn."""
        for _ in range(MOST):
            waiting = [key for key, packets in self.transit.items() if packets]
            if not waiting:
                return
            for sender, receiver in sorted(waiting):
                self.receive(sender, receiver)
        raise ValueError("this never settles")

    def check(self) -> None:
        """Say what is wrong so far."""
        violations = self._check.finish()
        for violation in violations:
            before = "" if violation.before is None else f", before {self._names[violation.before]}"
            subject = f"{self._names[violation.message]} at {process_name(violation.process)}"
            self.lines.append(f"{violation.kind}: {subject}{before}")
        if not violations:
            self.lines.append("nothing is wrong")

    def described(self, packet: Packet) -> str:
        """A packet in a few words."""
        match packet:
            case Ack(mid):
                return f"ack {mid}"
            case Permit(mid):
                return f"permit {mid}"
            case Dependent(mid, pid, _, payload, needs):
                named = [f"{process_name(s)}'s {n} to {process_name(d)}" for s, d, n in needs or ()]
                follows = (
                    ", permit follows" if needs is None else f", needs {'; '.join(named)}" if needs else ""
                )
                return f"{self._name(payload)} (id {mid} after {pid}{follows})"
            case HybridMessage(mid, pid, permit, payload):
                follows = ", permit follows" if permit else ""
                return f"{self._name(payload)} (id {mid} after {pid}{follows})"
            case Secret(_, eager, payload):
                return f"{self._name(payload)} ({'a secret' if eager else 'no secret'})"
            case Logged(clock, _, log, payload):
                return f"{self._name(payload)} (clock {clock}, log of {len(log)})"
            case LamportClocked(clock, null, payload):
                return f"null (clock {clock})" if null else f"{self._name(payload)} (clock {clock})"
            case _:
                return self._name(packet.payload) if carries_message(packet) else "you can tell"  # type: ignore[attr-defined]

    def _name(self, payload: object) -> str:
        return self._names[payload] if isinstance(payload, int) else "?"

    def _on_the_way(self, sender: int, receiver: int, number: int) -> list[Packet]:
        """The packets of a link, of which there are so many."""
        packets = self.transit.get((sender, receiver), [])
        if not 0 < number <= len(packets):
            raise ValueError(f"{len(packets)} packets are on that way")
        return packets

    def _flush(self, process: int) -> None:
        for output in self.machines[process].take():
            if isinstance(output, Send):
                self.transit.setdefault((process, output.to), []).append(output.packet)
                way = f"{process_name(process)} -> {process_name(output.to)}"
                self.lines.append(f"{way}: {self.described(output.packet)}")

    def _delivering(self, process: int) -> Callable[[Delivery], None]:
        def delivering(delivery: Delivery) -> None:
            self._flush(process)
            name = self._name(delivery.payload)
            self.lines.append(f"{process_name(process)} delivers {name}")
            self._check.see(Event(0.0, process, DELIVER, delivery.payload, (), delivery.sender))
            answers = self._answers.pop((process, name), [])
            if self._next_answer is not None:
                answers.append(self._next_answer)
                self._next_answer = None
            for answer, to in answers:
                self.send(process, answer, to)

        return delivering

    def _p(self, number: str) -> int:
        if not 0 < int(number) <= len(self.machines):
            raise ValueError(f"there is no process p{number}")
        return int(number) - 1

    def _ps(self, text: str) -> tuple[int, ...]:
        parts = [re.fullmatch(PROCESS, part.strip()) for part in text.split(",")]
        return tuple(self._p(part[1]) for part in parts if part) if all(parts) else ()


def replay(text: str, file: str | None = None) -> str:
    """The scenario with what happens now under each block of steps. Raises `TextError` for what is none."""
    lines = iter(enumerate(text.splitlines(), 1))
    written: list[str] = []
    scenario = None
    block: list[tuple[int, str]] = []
    for number, line in lines:
        stripped = line.strip()
        if scenario is None and stripped and not stripped.startswith("#"):
            scenario = _started(stripped, number, file)
        elif stripped == RULE and scenario is not None:
            written += [line, *_performed(scenario, block, file)]
            block = []
            for _, old in lines:  # the output of the last time, up to a blank line
                if not old.strip():
                    break
            written.append("")
            continue
        elif stripped and not stripped.startswith("#"):
            block.append((number, stripped))
        written.append(line)
    if block and scenario is not None:
        written += [RULE, *_performed(scenario, block, file)]
    return "\n".join(written).rstrip("\n") + "\n"


def _started(line: str, number: int, file: str | None) -> Scenario:
    found = HEAD.fullmatch(line)
    if found is None or found["protocol"] not in PROTOCOLS:
        hint = f"A scenario begins with e.g. `hybrid-sps, 3 processes`; protocols: {', '.join(PROTOCOLS)}."
        raise TextError("no beginning of a scenario", file=file, line=number, column=1, text=line, hint=hint)
    budget = None if found["budget"] is None else int(found["budget"])
    try:
        return Scenario(found["protocol"], int(found["size"]), found["topology"], budget)
    except ProtocolError as error:
        raise TextError(str(error), file=file, line=number, column=1, text=line) from None


def _performed(scenario: Scenario, block: list[tuple[int, str]], file: str | None) -> list[str]:
    scenario.lines = []
    for number, line in block:
        try:
            scenario.do(line)
        except (ValueError, MicrocosmError) as error:
            raise TextError(str(error), file=file, line=number, column=1, text=line) from None
    return scenario.lines
