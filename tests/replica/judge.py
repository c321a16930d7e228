"""An observer of a simulation, who sees all chains: what is wrong when all is quiet?"""

from __future__ import annotations

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


def judged(world: World, excused: Collection[str] = ()) -> list[str]:
    """What is wrong when all is quiet. `excused`: incarnations (name.number) that were evicted."""
    first, *others = (node.replica for node in world.nodes.values())
    digest = first.digest()
    wrong = [
        f"{other.name} knows other things than {first.name}" for other in others if other.digest() != digest
    ]
    chains = first.chains()
    for node in world.nodes.values():
        own = node.replica.chains()
        wrong += [
            f"{node.name} and {first.name} differ on {stream}"
            for stream in own
            if own[stream] != chains[stream]
        ]
    for node in world.retired:
        node.files.open()
        replica = Replica(node.files)
        own, known = replica.chains()[replica.stream], chains.get(replica.stream, [])
        if [event for event in own if event in set(known)] != known:
            wrong.append(f"{first.name} knows what never happened at {node.name}")
        chains[replica.stream] = own
    histories = []
    for (name, incarnation), events in chains.items():
        steps = []
        for at, event in enumerate(events):
            kind, _, rest = event.partition(":")
            if kind == "c":
                steps.append(("sent", f"{rest} {' '.join(world.to[rest])}"))
            elif kind == "d":
                message = rest.partition(":")[2]
                steps.append(("delivered", message))
                effect = f"effect at {name} of {message}"
                if has_effect(message) != (events[at + 1 : at + 2] == [effect]):
                    wrong.append(f"{effect} is not where it should be")
        histories.append(History(f"{name}.{incarnation}", steps))
    return wrong + faults(histories, excused) + misjudged(first, chains, Random(digest))


def misjudged(replica: Replica, chains: Mapping[Stream, Sequence[str]], random: Random) -> list[str]:
    """What a replica gets wrong of what happened before what; some hundred pairs of events are asked.

    It may not know all that happened at a device that is gone for good.
    """
    true, told = happened_before(chains), happened_before(replica.chains())
    events = [event for event in replica.events if event in told]
    found = []
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
    while any(at[stream] < len(chains[stream]) for stream in chains):
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
