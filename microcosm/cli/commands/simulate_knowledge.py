"""Knowledge per byte: pairs of application events that a replica can decide, against what messages carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from microcosm.givens.relation import Correspondence, Relation
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.disclosure import Disclosure
from microcosm.protocol.machine import Delivery
from microcosm.protocol.packets import Packet, encode
from microcosm.queries.possible import Worlds
from microcosm.simulation.events import CAUSAL_SEND, Event, carries_message
from microcosm.simulation.run import Constant, Network, NetworkLink, Run
from microcosm.simulation.simulate import Mixture
from microcosm.state.microcosm import Microcosm

PROCESSES, MESSAGES = 4, 40


@dataclass(frozen=True, slots=True)
class Known:
    """What the replicas of one protocol know after the same work, as shares of all pairs, on average.

    A pair is decided `online` by the verdict `<`, `>` or `||`, `offline` where one of them is left by
    propagation, `exactly` where all worlds that fit agree; of a `narrowed` one some world is ruled out.
    `metadata` is in integers, `octets` in bytes a message; `network` counts facts of the network world
    a message.
    """

    protocol: str
    metadata: float
    octets: float
    online: float
    offline: float
    exactly: float
    narrowed: float
    network: float


def knowledge(seed: int = 0) -> Iterator[Known]:
    """The protocols one after the other, by the same unicasts on a network of constant delays."""
    for name, protocol in PROTOCOLS.items():
        run = Run(
            protocol.make(PROCESSES),
            Network(NetworkLink(Constant(0.5))),
            Mixture(MESSAGES),
            seed=seed,
            tick=1.0 if protocol.machine.NEEDS_TICKS else None,
        )
        sizes: list[int] = []
        told = listening(run, sizes)
        run.go()
        events = 2 * MESSAGES
        pairs = len(told) * events * (events - 1) / 2
        counted = [_decided(disclosure.application) for disclosure in told]
        online, offline, exactly, narrowed = (sum(counts) / pairs for counts in zip(*counted, strict=True))
        yield Known(
            name,
            sum(run.metadata) / len(run.metadata),
            sum(sizes) / len(sizes),
            online,
            offline,
            exactly,
            narrowed,
            sum(len(disclosure.network) for disclosure in told) / MESSAGES,
        )


def _decided(facts: list[Correspondence]) -> tuple[int, int, int, int]:
    """How many pairs facts decide online, offline and exactly; and of how many they rule something out."""
    known = Microcosm()
    for fact in facts:
        known.add(fact)
    decided = (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)
    online = sum(verdict in decided for _, _, verdict in known.table())
    offline = sum(len(left) == 1 for _, _, left in known.offline_table())
    worlds = Worlds(known.givens).table()
    assert worlds is not None, "what was disclosed is true of a world"
    pairs, exact = worlds
    sizes = [len(left) for _, _, left in pairs]
    assert exact
    return online, offline, sizes.count(1), sizes.count(1) + sizes.count(2)


def listening(run: Run, sizes: list[int]) -> list[Disclosure]:
    """A disclosure for each machine of a run, told what the machine does; `sizes` are those of packets."""
    told = [Disclosure(machine, str(machine.me)) for machine in run.machines]
    sends = [0] * run.size

    def see(event: Event) -> None:
        if event.kind == CAUSAL_SEND:
            sends[event.process] += 1
            told[event.process].causally_sent(str(event.message), sends[event.process])

    run.observers.append(see)

    def take(i: int, j: int, packet: Packet) -> None:
        told[j].received(i, packet)
        if carries_message(packet):
            sizes.append(len(encode(packet)))

    run.on_packet = take
    for machine, disclosure in zip(run.machines, told, strict=True):
        machine.on_deliver = _first(disclosure, machine.on_deliver)
    return told


def _first(disclosure: Disclosure, then: Callable[[Delivery], None] | None) -> Callable[[Delivery], None]:
    """Tell of a delivery, then hand it on."""

    def deliver(delivery: Delivery) -> None:
        disclosure.delivered(delivery, str(delivery.payload))
        if then is not None:
            then(delivery)

    return deliver
