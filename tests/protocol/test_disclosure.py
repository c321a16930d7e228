"""No disclosed fact is ever false: each is compared with its own world, which an observer knows whole."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import pytest

from microcosm.givens.relation import Relation
from microcosm.protocol.catalogue import PROTOCOLS, Protocol
from microcosm.protocol.disclosure import Disclosure
from microcosm.protocol.machine import Delivery, Send
from microcosm.protocol.packets import Ack, HybridMessage, LamportClocked, Packet, Permit, Secret, Serial
from tests.protocol.random_net import RandomNet


class Watched(RandomNet):
    """Keeps the events of both worlds, with what they follow directly: the oracle."""

    def __init__(self, protocol: Protocol, size: int, seed: int, **options: object) -> None:
        super().__init__(protocol, size, seed, **options)  # type: ignore[arg-type]
        self.disclosures = [Disclosure(machine, str(machine.me)) for machine in self.machines]
        self.past: list[frozenset[object]] = [frozenset() for _ in range(size)]  # type: ignore[assignment]
        """The network past of each process."""
        self.application: list[frozenset[object]] = [frozenset() for _ in range(size)]
        self.of: dict[str, dict[object, frozenset[object]]] = {"application": {}, "network": {}}
        """The causal past of each event, in either world."""
        self.wire: dict[int, frozenset[object]] = {}
        self.sent: dict[int, frozenset[object]] = {}
        self.number: dict[int, tuple[int, int]] = {}
        """The number of each message at its sender."""
        self.deliveries: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.counts = [0] * size
        self.asked: dict[int, int] = {}

    def happens(self, i: int, event: object, *, application: bool = False) -> None:
        self.of["network"].setdefault(event, self.past[i])
        self.past[i] |= {event}
        if application:
            self.of["application"][event] = self.application[i]
            self.application[i] |= {event}

    def send(self, i: int, to: list[int] | None = None) -> int:
        message = len(self.asked)
        if to is None:
            others = [j for j in range(self.size) if j != i]
            to = self.random.sample(others, self.random.choice((1, 1, 2)) if self.multicast else 1)
        self.asked[message] = i
        self.counts[i] += 1
        self.number[message] = (i, self.counts[i])
        self.disclosures[i].causally_sent(f"m{message}", self.counts[i])
        self.happens(i, f"c:m{message}", application=True)
        self.sent[message] = self.application[i]
        for j in to:
            self.missing[j] |= 1 << message
        self.machines[i].causal_send(to, message)
        self.collect()
        return message

    def delivered(self, j: int, delivery: Delivery) -> None:
        self.collect()
        message = delivery.payload
        self.missing[j] &= ~(1 << message)
        self.disclosures[j].delivered(delivery, f"m{message}")
        self.application[j] |= self.sent[message]
        self.happens(j, f"d:{j}:m{message}", application=True)
        self.deliveries[self.number[message]].append(j)
        if self.left and self.random.random() < 0.5:
            self.left -= 1
            self.send(j)

    def collect(self) -> None:
        for i, machine in enumerate(self.machines):
            for output in machine.take():
                if not isinstance(output, Send):
                    continue
                packet = output.packet
                if isinstance(packet, HybridMessage | Serial | Secret):
                    self.happens(i, f"s:{i}.{packet.mid}:{output.to}")
                if self.random.random() >= self.loss:
                    for _ in range(2 if self.random.random() < self.duplicate else 1):
                        self.transit.append((i, output.to, packet))
                        self.wire[len(self.transit) - 1] = self.past[i]
        # The wire is keyed by position: keep it beside the packets instead.

    def step(self) -> None:
        at = self.random.randrange(len(self.transit))
        if self.fifo:
            link = self.transit[at][:2]
            at = next(k for k, packet in enumerate(self.transit) if packet[:2] == link)
        i, j, packet = self.transit[at]
        past = self.wire[at]
        del self.transit[at]
        pasts = [self.wire[k] for k in range(len(self.transit) + 1) if k != at]
        self.wire = dict(enumerate(pasts))
        self.past[j] |= past
        self.disclosures[j].received(i, packet)
        self.note(i, j, packet)
        self.machines[j].receive(i, packet)
        self.collect()

    def note(self, i: int, j: int, packet: Packet) -> None:
        if isinstance(packet, Ack):
            self.happens(j, f"a:{j}:{packet.mid}:{i}")
        elif isinstance(packet, Permit):
            self.happens(j, f"g:{j}:{i}.{packet.mid}")

    def means(self, event: str, process: int) -> list[object]:
        """The events of the run that a name stands for, at a process that uses it."""
        kind, rest = event.split(":", 1)
        if kind == "d" and "." in rest:
            *receiver, message = rest.split(":")
            k, n = map(int, message.split("."))
            name = next(f"m{m}" for m, number in self.number.items() if number == (k, n))
            who = [int(receiver[0])] if receiver else [q for q in self.deliveries[k, n] if q != process]
            return [f"d:{q}:{name}" for q in who]
        return [event]


def holds(net: Watched, world: str, left: str, relation: Relation, right: str, process: int) -> bool:
    past = net.of[world]
    for a, b in product(net.means(left, process), net.means(right, process)):
        before, after = a in past[b], b in past[a]
        if not {
            Relation.BEFORE: before,
            Relation.CONCURRENT: not before and not after,
            Relation.NOT_BEFORE: not before,
        }[relation]:
            return False
    return True


@pytest.mark.parametrize("name", PROTOCOLS)
def test_no_disclosed_fact_is_false(name: str) -> None:
    protocol = PROTOCOLS[name]
    tolerated = protocol.machine.TOLERATES
    told = {"application": 0, "network": 0}
    beyond = 0
    for seed in range(24):
        faults = {"loss": 0.2, "duplicate": 0.2} if "loss" in tolerated and seed % 2 else {}
        net = Watched(protocol, 4, seed, messages=25, fifo="reorder" not in tolerated, **faults)
        net.run(ticks=bool(faults) or protocol.machine.NEEDS_TICKS)
        for process, disclosure in enumerate(net.disclosures):
            for world in ("application", "network"):
                for fact in getattr(disclosure, world):
                    told[world] += 1
                    assert holds(net, world, fact.left, fact.relation, fact.right, process), (
                        world,
                        str(fact),
                    )
            beyond += sum(
                event not in net.application[process]
                for fact in disclosure.network
                for event in net.means(fact.left, process)
                if fact.left.startswith("d:") and "." in fact.left
            )
    assert told["application"] > 200
    if name.startswith("hybrid"):
        assert beyond > 20  # deliveries that only the network world knows of


@pytest.mark.parametrize(
    ("name", "relation"),
    [
        ("rst", Relation.CONCURRENT),
        ("monitor", Relation.CONCURRENT),
        ("newtop", Relation.NOT_BEFORE),
        ("ks", Relation.BEFORE),
        ("hybrid-dependencies", Relation.BEFORE),
    ],
)
def test_what_only_some_metadata_can_say(name: str, relation: Relation) -> None:
    net = Watched(PROTOCOLS[name], 4, 1, messages=30, fifo=True)
    net.run(ticks=PROTOCOLS[name].machine.NEEDS_TICKS)
    said = {fact.relation for disclosure in net.disclosures for fact in disclosure.application}
    assert relation in said
    sources = {fact.source for d in net.disclosures for fact in d.application if fact.relation is relation}
    assert sources & {"vector times", "Lamport clocks", "log of the message", "dependency"}


def test_a_message_tells_of_both_worlds() -> None:
    """An unflagged second message to p2 proves the delivery of the first, which went to p3."""
    machine = PROTOCOLS["hybrid-basic"].make(3)[1]
    disclosure = Disclosure(machine, "p2")
    machine.on_deliver = lambda delivery: disclosure.delivered(delivery, str(delivery.payload))
    packet = HybridMessage(2, 0, False, "news")
    disclosure.received(0, packet)
    machine.receive(0, packet)
    assert [str(fact) for fact in disclosure.application] == ["c:news < d:p2:news"]
    assert [str(fact) for fact in disclosure.network] == ["d:0.1 < s:0.2:1"]


@pytest.mark.parametrize("name", ["hybrid-multicast", "hybrid-multicast-sps"])
def test_a_permit_proves_the_other_copies_of_its_multicast(name: str) -> None:
    """Message 1 goes to p2 and p3: its permit tells p2 that p3 has it too, and so does an unflagged one."""
    machine = PROTOCOLS[name].make(3)[1]
    disclosure = Disclosure(machine, "p2")
    machine.on_deliver = lambda delivery: disclosure.delivered(delivery, str(delivery.payload))
    for packet in (HybridMessage(1, 0, True, "a"), Permit(1), HybridMessage(2, 1, False, "b")):
        disclosure.received(0, packet)
        machine.receive(0, packet)
    facts = [str(fact) for fact in disclosure.network if "." in fact.left]
    assert facts == ["d:0.1 < g:p2:0.1", "d:0.2 < s:0.2:1"]


def test_a_permit_of_a_unicast_proves_nothing_of_its_own_message() -> None:
    """Where a message has one receiver there are no other copies."""
    machine = PROTOCOLS["hybrid-basic"].make(3)[1]
    disclosure = Disclosure(machine, "p2")
    machine.on_deliver = lambda delivery: disclosure.delivered(delivery, str(delivery.payload))
    for packet in (HybridMessage(2, 0, True, "a"), Permit(2)):
        disclosure.received(0, packet)
        machine.receive(0, packet)
    assert [str(fact) for fact in disclosure.network if "." in fact.left] == ["d:0.1 < g:p2:0.2"]


def test_equal_lamport_clocks_refute_as_smaller_ones_do() -> None:
    """Newtop: p1 and p2 send with clock 1 each, so neither before the other; the receiver is told one way."""
    machine = PROTOCOLS["newtop"].make(3)[2]
    disclosure = Disclosure(machine, "p3")
    machine.on_deliver = lambda delivery: disclosure.delivered(delivery, str(delivery.payload))
    arrivals = (
        (0, LamportClocked(1, 0, "a")),
        (1, LamportClocked(1, 0, "b")),
        (0, LamportClocked(2, 0, "c")),
        (1, LamportClocked(3, 1)),
    )
    for sender, packet in arrivals:
        disclosure.received(sender, packet)
        machine.receive(sender, packet)
    machine.tick()
    refuted = [str(fact) for fact in disclosure.application if fact.relation is Relation.NOT_BEFORE]
    assert refuted == ["c:b !< c:a", "c:c !< c:a", "c:c !< c:b"]
