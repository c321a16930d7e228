"""Claim: a hybrid protocol takes 150,000 steps a second and more, in plain Python, on one core.

A step is one input of a machine: a causal send, or a packet taken off the wire. The machines of ten processes
send each other messages over a queue; nothing is simulated besides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from benchmarks.measure import Line, paired
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.machine import Send
from microcosm.protocol.packets import Packet

NAME = "protocol steps"

SUBJECTS = ("hybrid-basic", "hybrid-sps", "hybrid-multicast", "hybrid-multicast-sps", "mf", "rst", "ks")
PROCESSES = 10


def run(quick: bool = False) -> list[Line]:
    """As many steps of each protocol; the ratio is to Algorithm 1."""
    steps = 3_000 if quick else 60_000
    subjects = {name: working(name, steps) for name in SUBJECTS}
    lines, _ = paired(NAME, f"{steps:,} steps", subjects, rounds=1 if quick else 7)
    return lines


def working(name: str, steps: int) -> Callable[[], object]:
    def work() -> object:
        machines = PROTOCOLS[name].make(PROCESSES)
        wire: deque[tuple[int, int, Packet]] = deque()
        done = sent = 0
        while done < steps:
            if len(wire) < 20:
                i = sent % PROCESSES
                sent += 1
                machines[i].causal_send(((i + 1 + sent % (PROCESSES - 1)) % PROCESSES,), sent)
            else:
                a, i, packet = wire.popleft()
                machines[i].receive(a, packet)
            done += 1
            for output in machines[i].take():
                if type(output) is Send:
                    wire.append((i, output.to, output.packet))
        return None

    return work
