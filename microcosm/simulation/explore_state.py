"""The states of an exploration, what an observer knows in each, and what machines do, worked out once.

A process is in far fewer states than all processes together, so most steps of an exploration repeat what
a machine has done before. Machines and packets are kept as bytes, each with a number.

Machines and packets are numbers here, and messages are named by their senders, so that
steps of different processes lead to the same state whichever comes first.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from marshal import dumps
from typing import Any, NamedTuple

from microcosm.errors import MicrocosmError
from microcosm.protocol.catalogue import Protocol
from microcosm.protocol.hybrid.common import SlidingArray, SlidingMap
from microcosm.protocol.machine import Delivery, Machine, Send


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
        return self._react(key, machine, lambda found: found.causal_send(to, message))

    def receive(
        self, j: int, machine: int, sender: int, packet: int, answer: tuple[int, ...], message: int
    ) -> Reaction:
        """Process j takes a packet; with `answer` its application answers the first delivery by `message`."""
        key = (j, machine, sender, packet, answer, message if answer else -1)
        return self._react(
            key, machine, lambda found: found.receive(sender, self._read(packet)), answer, message
        )

    def tick(self, i: int, machine: int) -> Reaction:
        """Process i ticks."""
        return self._react((i, machine), machine, lambda found: found.tick())

    def settles(
        self, machine: int, sender: int, packet: int, silent: bool, reorder: bool, once: bool
    ) -> bool:
        """Whether it makes no difference when a machine takes a packet (`Machine.settles`)."""
        key = (machine, sender, packet, silent, reorder, once)
        found = self._settled.get(key)
        if found is None:
            settles = self._read(machine).settles
            found = self._settled[key] = settles(sender, self._read(packet), silent, reorder, once)
        return found

    def _react(
        self,
        key: tuple[object, ...],
        machine: int,
        act: Callable[[Machine], object],
        answer: tuple[int, ...] = (),
        message: int = -1,
    ) -> Reaction:
        """What a machine does with an input, which is the key of it: looked up, or worked out."""
        if (known := self._reactions.get(key)) is not None:
            return known
        found: Machine = self._read(machine)
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

    def _read(self, number: int) -> Any:
        """The machine or packet of a number, its own copy of it."""
        return pickle.loads(self._bytes[number])

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
        elif isinstance(value, SlidingArray | SlidingMap):
            value.compact()
    return pickle.dumps(machine, 5)


Programs = tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class ExploreScope:
    """How much to explore. `answers`: processes may also send from within a delivery."""

    processes: int = 3
    messages: int = 3
    reorder: bool = True
    losses: int = 0
    doubles: int = 0
    answers: bool = False
    multicasts: int | None = None
    """At most so many messages have several receivers; None: any number."""
    programs: Programs | None = None
    """A workload: the receivers of what each process sends, in this order, at any times; None: anything."""
    reduced: bool = False
    """With a workload: a packet that settles (`Machine.settles`) is taken at once, and at no other time."""
    most: int = 2_000_000
    """Give up after so many states."""


class ExploreStep(NamedTuple):
    """What happens next: `send`, `receive`, `lose`, `double` or `tick`."""

    kind: str
    process: int
    peer: int = -1
    at: int = 0
    to: tuple[int, ...] = ()


class ExploreState(NamedTuple):
    """Machines and packets by their numbers, and what an omniscient observer knows.

    The k-th message of process p (from 0) is the bit `p * messages + k` of every set.
    """

    machines: tuple[int, ...]
    transit: tuple[tuple[int, ...], ...]
    """By link, oldest first; sorted where the network reorders."""
    sent: tuple[int, ...]
    """How many messages each process has sent."""
    past: tuple[int, ...]
    """For each process the messages of its causal past."""
    before: tuple[int, ...]
    """For each message the messages before it."""
    missing: tuple[int, ...]
    """For each process the messages that it has yet to deliver."""
    losses: int
    doubles: int
    ticks: int
    multicasts: int
    """So many more messages may have several receivers."""

    def digest(self) -> bytes:
        """What stands for this state among those that were met: 128 bits, so no two of them are the same."""
        return blake2b(dumps(tuple(self), 2), digest_size=16).digest()


class ExploreFault(MicrocosmError):
    """A step went wrong; how, with `{}` for each of some messages."""

    def __init__(self, how: str, *messages: int) -> None:
        super().__init__(how)
        self.how = how
        self.messages = messages


TAKEN_PART = 1 << 60
"""Stands in the past of a process that has taken part, even when nothing else is left to know of it."""


class Setup:
    """What all states of an exploration share: the scope, the links, the machines; how a step is taken."""

    def __init__(self, protocol: Protocol, scope: ExploreScope, machines: Machines | None = None) -> None:
        n = scope.processes
        self.scope = scope
        self.links = [(i, j) for i in range(n) for j in range(n) if i != j]
        self.link = {link: at for at, link in enumerate(self.links)}
        self.machines = machines or Machines(protocol.make(n))
        self._monitors = protocol.monitors(n)
        self._size = n

    def start(self) -> ExploreState:
        """Nothing has been sent."""
        n, scope = self._size, self.scope
        zero, none = (0,) * n, (0,) * (n * scope.messages)
        links = ((),) * len(self.links)
        several = scope.messages if scope.multicasts is None else scope.multicasts
        return ExploreState(
            self.machines.start, links, zero, zero, none, zero, scope.losses, scope.doubles, 0, several
        )

    def after(self, state: ExploreState, step: ExploreStep) -> ExploreState:
        """The state after a step. Raises `ExploreFault`, or `AssertionError` where an invariant breaks."""
        if step.kind == "send":
            i = step.process
            message = i * self.scope.messages + state.sent[i]
            reaction = self.machines.send(i, state.machines[i], step.to, message)
            return self._reacted(self._asked(state, i, step.to), i, reaction)
        if step.kind == "receive":
            j = step.process
            link = self.link[step.peer, j]
            packets = state.transit[link]
            left = packets[: step.at] + packets[step.at + 1 :]
            transit = [*state.transit[:link], left, *state.transit[link + 1 :]]
            answer = j * self.scope.messages + state.sent[j]
            reaction = self.machines.receive(
                j, state.machines[j], step.peer, packets[step.at], step.to, answer
            )
            return self._reacted(state, j, reaction, transit)
        if step.kind == "tick":
            state = state._replace(ticks=state.ticks + 1)
            for i in range(self._size):
                state = self._reacted(state, i, self.machines.tick(i, state.machines[i]))
            return state
        return self._tampered(state, step)

    def _asked(self, state: ExploreState, i: int, to: tuple[int, ...]) -> ExploreState:
        """Process i causally sends its next message."""
        message = i * self.scope.messages + state.sent[i]
        past, before, sent, missing = (
            list(part) for part in (state.past, state.before, state.sent, state.missing)
        )
        before[message] = past[i]
        past[i] |= 1 << message | TAKEN_PART
        sent[i] += 1
        for j in to:
            missing[j] |= 1 << message
        return state._replace(
            sent=tuple(sent),
            past=tuple(past),
            before=tuple(before),
            missing=tuple(missing),
            multicasts=state.multicasts - (len(to) > 1 and self.scope.multicasts is not None),
        )

    def _reacted(
        self, state: ExploreState, j: int, reaction: Reaction, lists: list[tuple[int, ...]] | None = None
    ) -> ExploreState:
        """A machine has changed, has delivered, and has packets for the network, in which are `lists`."""
        for message, answered in reaction.delivered:
            state = self._delivered(state, j, message)
            if answered:
                state = self._asked(state, j, answered)
        if reaction.delivered:
            state = self._forgotten(state)
        lists = list(state.transit) if lists is None else lists
        for to, packet in reaction.packets:
            at = self.link.get((j, to))
            if at is None:
                raise ExploreFault("a packet to nobody")
            lists[at] = (*lists[at], packet)
            if self.scope.reorder and len(lists[at]) > 1:
                lists[at] = tuple(sorted(lists[at]))
        machines = (*state.machines[:j], reaction.machine, *state.machines[j + 1 :])
        return ExploreState(machines, tuple(lists), *state[2:])

    def _delivered(self, state: ExploreState, j: int, message: int) -> ExploreState:
        missing, before = state.missing[j], state.before[message]
        if not missing >> message & 1:
            raise ExploreFault("message {} is delivered twice, or to the wrong process", message)
        missing &= ~(1 << message)
        late = missing & before
        if late and j in self._monitors:
            raise ExploreFault("message {} is delivered before message {}", message, late.bit_length() - 1)
        past = state.past[j] | before | 1 << message | TAKEN_PART
        return state._replace(
            past=(*state.past[:j], past, *state.past[j + 1 :]),
            missing=(*state.missing[:j], missing, *state.missing[j + 1 :]),
        )

    def _forgotten(self, state: ExploreState) -> ExploreState:
        """Of what is delivered everywhere it does not matter who knows of it."""
        under_way = 0
        for missing in state.missing:
            under_way |= missing
        keep = under_way | TAKEN_PART
        return state._replace(
            past=tuple([past & keep for past in state.past]),
            before=tuple(
                [before & under_way if under_way >> m & 1 else 0 for m, before in enumerate(state.before)]
            ),
        )

    def _tampered(self, state: ExploreState, step: ExploreStep) -> ExploreState:
        link = self.link[step.process, step.peer]
        packets = state.transit[link]
        losses, doubles = state.losses, state.doubles
        if step.kind == "lose":
            packets = packets[: step.at] + packets[step.at + 1 :]
            losses -= 1
        else:
            packets = (*packets, packets[step.at])
            doubles -= 1
            if self.scope.reorder:
                packets = tuple(sorted(packets))
        transit = (*state.transit[:link], packets, *state.transit[link + 1 :])
        return state._replace(transit=transit, losses=losses, doubles=doubles)
