"""An observer of a simulation, who sees all chains: what is wrong when all is quiet?"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from microcosm.givens.relation import Relation
from microcosm.logic.rule import Judgement
from microcosm.replica.ledger.dots import Stream
from microcosm.replica.replica import Replica
from tests.replica.network.causal import History, faults
from tests.replica.simulated_node import has_effect

if TYPE_CHECKING:
    from tests.replica.simulated import World


def judged(world: World, excused: Collection[str] = (), replaced: Collection[str] = ()) -> list[str]:
    """What is wrong when all is quiet. `excused`: incarnations (name.number) that were evicted; those of
    them that were `replaced` had forgotten something, and may have said what they did in another order.
    """
    first, *others = (node.replica for node in world.nodes.values())
    digest = first.digest()
    wrong = [
        f"{other.name} knows other things than {first.name}" for other in others if other.digest() != digest
    ]
    chains = first.chains()
    for node in world.nodes.values():
        mine = node.replica.chains()
        wrong += [
            f"{node.name} and {first.name} differ on {stream}"
            for stream in mine
            if mine[stream] != chains[stream]
        ]
    for node in world.retired:
        node.files.open()
        replica = Replica(node.files)
        own, known = replica.chains()[replica.stream], chains.get(replica.stream, [])
        if [event for event in own if event in set(known)] != known:
            wrong.append(f"{first.name} knows what never happened at {node.name}")
        chains[replica.stream] = own
    order = {stream: at for at, stream in enumerate(world.epochs)}
    chains = {stream: chains[stream] for stream in sorted(chains, key=order.__getitem__)}
    world.known(chains)
    sent = {event[2:] for events in chains.values() for event in events if event.startswith("c:")}
    got = {event for events in chains.values() for event in events if event.startswith("d:")}
    gone = {f"{node.name}.{node.incarnation}" for node in world.retired}
    by = {
        event: world.epochs[stream] for stream, events in chains.items() for event in events if event in got
    }

    def bound(receiver: str, message: str) -> str | None:
        """The process that a name came to mean, which was not met when the message was sent."""
        if "." in receiver:
            return receiver
        event = f"d:{receiver}:{message}"
        if event in by:
            return by[event] if by[event] in world.got[event] else min(world.got[event])
        return None if any(each.startswith(f"{receiver}.") for each in excused) else f"{receiver}.1"

    processes: dict[str, list[tuple[str, str]]] = {}
    devices = {(name, 0): merged(world, name, chains) for name, _ in chains}
    for stream, events in chains.items():
        process = world.epochs[stream]
        steps = processes.setdefault(process, [])
        for at, event in enumerate(events):
            kind, _, rest = event.partition(":")
            if kind == "c":
                to = {bound(each, rest) for each in world.receivers(rest)} - {None}
                for other in {bound(each, rest) for receivers in world.to[rest] for each in receivers}:
                    if process in excused or other in excused:
                        to.add(other)  # of another copy of a journal, and nobody can have noticed
                steps.append(("sent", f"{rest} {' '.join(map(str, sorted(to, key=str)))}" if to else rest))
            elif kind == "d":
                message = rest.partition(":")[2]
                if message not in sent and sender_of(world, message) in excused:
                    continue  # of a journal that was put back before anybody knew of its sending
                if message not in sent and process in gone and world.elsewhere(f"c:{message}"):
                    continue  # of a copy that ran beside, and nobody who is left has heard of it
                if process not in world.got.get(event, (process,)):
                    continue  # it happened to one who was replaced, and is said again
                steps.append(("delivered", message))
                effect = f"effect at {stream[0]} of {message}"
                if process not in excused and has_effect(message) != (events[at + 1 : at + 2] == [effect]):
                    wrong.append(f"{effect} is not where it should be")

    histories = [History(*each) for each in processes.items()]
    told = happened_before(first.chains())
    found = [
        fault
        for fault in faults(histories, excused)
        if not said_again(world, fault, replaced) and not sent_by_another_copy(world, fault, told)
    ]
    return wrong + found + misjudged(first, devices, Random(digest))


def merged(world: World, device: str, chains: Mapping[Stream, Sequence[str]]) -> list[str]:
    """The events of a device in their order: that of its chains, and between these that of time."""
    found = []
    waiting = [deque(events) for stream, events in chains.items() if stream[0] == device and events]
    while waiting:
        first = min(waiting, key=lambda events: world.moment(events[0], device))
        found.append(first.popleft())
        waiting = [events for events in waiting if events]
    return found


def said_again(world: World, fault: str, replaced: Collection[str]) -> bool:
    """Whether a fault is of the order of deliveries that a replica has said again, after others."""
    words = fault.split(" ")
    if words[5:6] != ["before"]:
        return False
    name = words[4].partition(".")[0]
    return words[4] in replaced or any(f"d:{name}:{each}" in world.again for each in (words[0], words[-1]))


def sent_by_another_copy(world: World, fault: str, told: Mapping[str, tuple[Stream, Clock]]) -> bool:
    """Whether a fault is that a message came before one of which its sender knew in another copy only.

    Of a process that was replaced, what happened in copies beside one another is known as one line.
    """
    words = fault.split(" ")
    if words[5:6] != ["before"]:
        return False
    message, other = words[0], words[-1]
    own = world.line_to(f"c:{message}")
    name = message.rsplit(".", 2)[0]
    return bool(own) and not any(
        event in (f"c:{other}", f"d:{name}:{other}")
        or (event in told and f"c:{other}" in told and is_before(told, f"c:{other}", event))
        for event in own
    )


def sender_of(world: World, message: str) -> str:
    """The process that sent a message."""
    name, incarnation, _ = message.rsplit(".", 2)
    return world.epochs[name, int(incarnation)]


def misjudged(replica: Replica, chains: Mapping[Stream, Sequence[str]], random: Random) -> list[str]:
    """What a replica gets wrong of what happened before what; some hundred pairs of events are asked.

    It may not know all that happened at a device that is gone for good.
    """
    true, told = happened_before(chains), happened_before(replica.chains())
    events = [event for event in replica.events if event in told]
    found = [f"{event} is in a circle" for event in told if event not in true][:1]
    events = [event for event in events if event in true]
    for _ in range(300):
        a, b = random.sample(events, 2)
        for left, right in ((a, b), (b, a)):
            said = replica.known.holds(Judgement.INITIAL, left, Relation.BEFORE, right)
            if said and not is_before(true, left, right):
                found.append(f"{left} < {right} is said, and not so")
            if not said and is_before(told, left, right):
                found.append(f"{left} < {right} is so, and not known")
    return found


Clock = dict[Stream, int]


def happened_before(chains: Mapping[Stream, Sequence[str]]) -> dict[str, tuple[Stream, Clock]]:
    """The process and vector time of each event, from the chains and the names of deliveries alone."""
    clocks: dict[str, tuple[Stream, Clock]] = {}
    events_of_all = {event for events in chains.values() for event in events}
    at = dict.fromkeys(chains, 0)
    before = -1
    while before < sum(at.values()):  # to the end, or as far as nothing is in a circle
        before = sum(at.values())
        for stream, events in chains.items():
            while at[stream] < len(events):
                event = events[at[stream]]
                clock = dict(clocks[events[at[stream] - 1]][1]) if at[stream] else {}
                if event.startswith("d:"):
                    sending = f"c:{event.split(':', 2)[2]}"
                    if sending in events_of_all and sending not in clocks:
                        break
                    for other, number in clocks[sending][1].items() if sending in clocks else ():
                        clock[other] = max(clock.get(other, 0), number)
                at[stream] += 1
                clock[stream] = at[stream]
                clocks[event] = (stream, clock)
    return clocks


def is_before(clocks: Mapping[str, tuple[Stream, Clock]], a: str, b: str) -> bool:
    stream, clock = clocks[a]
    return clocks[b][1].get(stream, 0) >= clock[stream]
