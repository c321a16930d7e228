"""What machines do in an exploration, worked out once for each machine and input and then looked up.

A process is in far fewer states than all processes together, so most steps of an exploration repeat what
a machine has done before. Machines and packets are kept as bytes, each with a number.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import NamedTuple

from microcosm.protocol.hybrid.sliding import IndexableSlidingMap, SlidingArray, SlidingMap
from microcosm.protocol.machine import Delivery, Machine, Send
from microcosm.protocol.packets import Packet


class Reaction(NamedTuple):
    """What a machine becomes, delivers and sends.

    With each message that it delivers the receivers of the one with which the application answers it.
    """

    machine: int
    delivered: tuple[tuple[int, tuple[int, ...]], ...]
    packets: tuple[tuple[int, int], ...]
    """Receivers and numbers of packets."""


class Machines:
    """All machines and packets that were met. Cost of an input: a look-up, or one step of the machine.

    Every step checks the invariants of the machine: `AssertionError` where one is broken.
    """

    def __init__(self, machines: Iterable[Machine]) -> None:
        self._bytes: list[bytes] = []
        self._numbers: dict[bytes, int] = {}
        self._reactions: dict[tuple[object, ...], Reaction] = {}
        self._settled: dict[tuple[object, ...], bool] = {}
        self.start = tuple(self._number(_packed(machine)) for machine in machines)

    def send(self, i: int, machine: int, to: tuple[int, ...], message: int) -> Reaction:
        """Process i causally sends a message."""
        key = (i, machine, to, message)
        return self._reactions.get(key) or self._react(
            key, machine, lambda found: found.causal_send(to, message)
        )

    def receive(
        self, j: int, machine: int, sender: int, packet: int, answer: tuple[int, ...], message: int
    ) -> Reaction:
        """Process j takes a packet; with `answer` its application answers the first delivery by `message`."""
        key = (j, machine, sender, packet, answer, message if answer else -1)
        return self._reactions.get(key) or self._react(
            key,
            machine,
            lambda found: found.receive(sender, pickle.loads(self._bytes[packet])),
            answer,
            message,
        )

    def tick(self, i: int, machine: int) -> Reaction:
        """Process i ticks."""
        key = (i, machine)
        return self._reactions.get(key) or self._react(key, machine, lambda found: found.tick())

    def settles(
        self, machine: int, sender: int, packet: int, silent: bool, reorder: bool, once: bool
    ) -> bool:
        """Whether it makes no difference when a machine takes a packet (`Machine.settles`)."""
        key = (machine, sender, packet, silent, reorder, once)
        found = self._settled.get(key)
        if found is None:
            one: Machine = pickle.loads(self._bytes[machine])
            content: Packet = pickle.loads(self._bytes[packet])
            found = self._settled[key] = one.settles(sender, content, silent, reorder, once)
        return found

    def _react(
        self,
        key: tuple[object, ...],
        machine: int,
        act: Callable[[Machine], object],
        answer: tuple[int, ...] = (),
        message: int = -1,
    ) -> Reaction:
        found: Machine = pickle.loads(self._bytes[machine])
        delivered: list[tuple[int, tuple[int, ...]]] = []

        def deliver(delivery: Delivery) -> None:
            answered = () if delivered else answer
            delivered.append((delivery.payload, answered))
            if answered:
                found.causal_send(answered, message)

        found.on_deliver = deliver
        act(found)
        found._check()
        packets = tuple(
            (output.to, self._number(pickle.dumps(output.packet, 5)))
            for output in found.take()
            if isinstance(output, Send)
        )
        reaction = Reaction(self._number(_packed(found)), tuple(delivered), packets)
        self._reactions[key] = reaction
        return reaction

    def _number(self, content: bytes) -> int:
        number = self._numbers.get(content)
        if number is None:
            number = self._numbers[content] = len(self._bytes)
            self._bytes.append(content)
        return number


def _packed(machine: Machine) -> bytes:
    """A machine as bytes, without what does not matter for what it does next.

    The order of the keys of its maps and the forgotten places of its sliding structures do not.
    """
    machine.on_deliver = None
    machine.operations = 0
    machine.refused.clear()
    for name in (name for kind in type(machine).__mro__ for name in getattr(kind, "__slots__", ())):
        value = getattr(machine, name, None)
        if type(value) is dict and len(value) > 1:
            setattr(machine, name, {key: value[key] for key in sorted(value)})
        elif isinstance(value, SlidingArray | SlidingMap | IndexableSlidingMap):
            value.compact()
    return pickle.dumps(machine, 5)
