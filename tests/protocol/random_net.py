"""A network that picks any packet next, and an observer that knows all: the oracle of the protocol tests.

It shares nothing with `microcosm.simulation`: causal pasts are bit sets of messages, compared at every
delivery.
"""

from __future__ import annotations

from random import Random

from microcosm.protocol.catalogue import Protocol
from microcosm.protocol.machine import Delivery, Machine, Send
from microcosm.protocol.packets import Packet


class RandomNet:
    """Runs machines under random sends, half of them reactions, and fails at the first violation."""

    def __init__(
        self,
        protocol: Protocol,
        size: int,
        seed: int,
        *,
        messages: int = 40,
        loss: float = 0.0,
        duplicate: float = 0.0,
        fifo: bool = False,
        to_oneself: bool = False,
        machines: list[Machine] | None = None,
        checked: bool = True,
    ) -> None:
        self.machines = protocol.make(size) if machines is None else machines
        self.random = Random(seed)
        self.size = size
        self.loss, self.duplicate, self.fifo = loss, duplicate, fifo
        self.left = messages
        self.multicast = protocol.machine.MULTICAST
        self.monitors = protocol.monitors(size)
        self.to_oneself = to_oneself
        self.checked = checked
        self.transit: list[tuple[int, int, Packet]] = []
        self.past = [0] * size
        self.before: list[int] = []
        self.missing = [0] * size
        self.packets: list[Packet] = []
        """Everything that was given to the network."""
        for machine in self.machines:
            machine.on_deliver = lambda delivery, j=machine.me: self.delivered(j, delivery)

    def send(self, i: int, to: list[int] | None = None) -> int:
        message = len(self.before)
        if to is None:
            others = [j for j in range(self.size) if j != i or self.to_oneself]
            to = self.random.sample(others, self.random.choice((1, 1, 2, 3)) if self.multicast else 1)
        self.before.append(self.past[i])
        self.past[i] |= 1 << message
        for j in to:
            self.missing[j] |= 1 << message
        self.machines[i].causal_send(to, message)
        self.collect()
        return message

    def delivered(self, j: int, delivery: Delivery) -> None:
        message = delivery.payload
        assert self.missing[j] >> message & 1, "delivered twice, or to the wrong process"
        self.missing[j] &= ~(1 << message)
        if j in self.monitors:
            assert not self.missing[j] & self.before[message], "out of causal order"
        self.past[j] |= self.before[message] | 1 << message
        if self.left and self.random.random() < 0.5:
            self.left -= 1
            self.send(j)

    def collect(self) -> None:
        """Take what the machines give to the network."""
        for i, machine in enumerate(self.machines):
            for output in machine.take():
                if not isinstance(output, Send):
                    continue
                self.packets.append(output.packet)
                if self.random.random() < self.loss:
                    continue
                for _ in range(2 if self.random.random() < self.duplicate else 1):
                    self.transit.append((i, output.to, output.packet))

    def step(self) -> None:
        """Let any packet arrive; on FIFO links the oldest of its link."""
        at = self.random.randrange(len(self.transit))
        if self.fifo:
            link = self.transit[at][:2]
            at = next(k for k, packet in enumerate(self.transit) if packet[:2] == link)
        i, j, packet = self.transit.pop(at)
        self.machines[j].receive(i, packet)
        self.collect()
        if self.checked:
            self.machines[j]._check()

    def run(self, *, ticks: bool) -> RandomNet:
        """To the end; `ticks` come when nothing is on the way, and only then."""
        for _ in range(100_000):
            if self.left and self.random.random() < 0.3:
                self.left -= 1
                self.send(self.random.randrange(self.size))
            elif self.transit:
                self.step()
            elif not self.left:
                if all(machine.idle() for machine in self.machines):
                    break
                assert ticks, "something waits for ever"
                for machine in self.machines:
                    machine.tick()
                self.collect()
        assert not any(self.missing), "something was never delivered"
        return self
