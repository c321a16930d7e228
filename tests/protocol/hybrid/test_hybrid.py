"""The protocols of Hybrid Buffering step by step: its claims, and each correction of its algorithms."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from microcosm.errors import ProtocolError
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.hybrid.common import Hybrid
from microcosm.protocol.hybrid.multicast import HybridMulticast, HybridMulticastSPS
from microcosm.protocol.hybrid.unicast import HybridBasic, HybridSPS
from microcosm.protocol.machine import DUPLICATE, OUT_OF_WINDOW, STRANGER, UNSOUND, Delivery, Machine, Send
from microcosm.protocol.packets import Ack, HybridMessage, Packet, Permit

ALL = [HybridBasic, HybridSPS, HybridMulticast, HybridMulticastSPS]
OPTIMAL = [HybridSPS, HybridMulticastSPS]
MULTICAST = [HybridMulticast, HybridMulticastSPS]
every = pytest.mark.parametrize("kind", ALL)


def sent(machine: Machine) -> list[tuple[int, Packet]]:
    return [(output.to, output.packet) for output in machine.take() if isinstance(output, Send)]


def delivered(machine: Machine) -> list[object]:
    return [output.payload for output in machine.take() if isinstance(output, Delivery)]


@every
def test_e1_ids_start_at_one(kind: type[Hybrid]) -> None:
    """From 0 the first message would look like a duplicate, since absent entries of the maps are 0."""
    a, b = kind(1), kind(2)
    assert [a.causal_send([2], payload) for payload in "xy"] == [1, 2]
    packets = sent(a)
    assert [(packet.mid, packet.pid) for _, packet in packets] == [(1, 0), (2, 1)]  # type: ignore[union-attr]
    for _, packet in reversed(packets):
        b.receive(1, packet)
    assert delivered(b) == ["x", "y"]


@every
def test_e2_a_duplicate_is_acknowledged_again(kind: type[Hybrid]) -> None:
    b = kind(2)
    for mid in (1, 2, 1, 2):
        b.receive(1, HybridMessage(mid, mid - 1, False, "x"))
    assert sent(b) == [(1, Ack(1)), (1, Ack(2)), (1, Ack(1)), (1, Ack(2))]
    assert b.refused == {DUPLICATE: 2}


@every
def test_e3_two_messages_to_one_receiver_leave_nothing_waiting(kind: type[Hybrid]) -> None:
    machines = {1: kind(1), 2: kind(2), 3: kind(3)}
    machines[1].causal_send([2], "x")
    machines[1].causal_send([2], "y")
    pump(machines)
    machines[2].causal_send([3], "z")
    pump(machines)
    assert all(machine.idle() for machine in machines.values())


def pump(machines: dict[int, Machine]) -> list[tuple[int, int, Packet]]:
    """Let everything arrive, oldest first; what was on the wire."""
    wire = []
    while moved := [(i, to, packet) for i, m in machines.items() for to, packet in sent(m)]:
        wire += moved
        for i, to, packet in moved:
            machines[to].receive(i, packet)
    return wire


@pytest.mark.parametrize("backlog", [10, 100, 1000])
@pytest.mark.parametrize("kind", OPTIMAL)
def test_e4_operations_do_not_depend_on_the_backlog(kind: type[Hybrid], backlog: int) -> None:
    """Clamping m2 instead of maintaining it costs 13, 103, 1003 operations at these backlogs."""
    a = kind(1)
    a.receive(2, HybridMessage(1, 0, True, "x"))  # its permit is missing, so nothing to others than 2 leaves
    for _ in range(backlog):
        a.causal_send([3], "y")
    a.take()
    before = a.operations
    for mid in range(2, 12):
        a.receive(2, HybridMessage(mid, mid - 1, True, "x"))
        a.receive(2, Permit(mid))
        a.causal_send([3], "z")
    assert (a.operations - before) / 10 <= 12
    assert not [packet for _, packet in sent(a) if isinstance(packet, HybridMessage)]


@pytest.mark.parametrize("kind", OPTIMAL)
def test_e5_a_permit_is_sent_once(kind: type[Hybrid]) -> None:
    a = kind(1)
    a.causal_send([2], "x")
    a.causal_send([3], "y")
    assert [packet.permit for _, packet in sent(a)] == [False, True]  # type: ignore[union-attr]
    a.receive(2, Ack(1))
    assert sent(a) == [(3, Permit(2))]


@every
def test_a_permit_goes_out_once(kind: type[Hybrid]) -> None:
    """Lines 64 to 70 of Algorithm 1 belong inside the test that the ack is for the oldest message."""
    a = kind(1)
    for receiver in (2, 3, 4):
        a.causal_send([receiver], "x")
    a.receive(2, Ack(1))
    a.receive(4, Ack(3))
    a.receive(4, Ack(3))
    a.receive(3, Ack(2))
    permits = [packet for _, packet in sent(a) if isinstance(packet, Permit)]
    assert permits == [Permit(2), Permit(3)]


@every
def test_e6_a_message_to_oneself_is_delivered_at_once(kind: type[Hybrid]) -> None:
    a = kind(1)
    a.receive(2, HybridMessage(1, 0, True, "x"))
    a.take()
    assert a.causal_send([1], "mine") == 0
    assert a.take() == [Delivery(1, "mine", None)]


@every
def test_messages_to_oneself_do_not_recurse(kind: type[Hybrid]) -> None:
    a, left = kind(1), count(5000, -1)
    a.on_deliver = lambda delivery: None if next(left) == 0 else a.causal_send([1], "again") and None
    a.causal_send([1], "first")
    assert len(delivered(a)) == 5001


@every
def test_e7_a_permit_may_overtake_its_message(kind: type[Hybrid]) -> None:
    b = kind(2)
    b.receive(1, Permit(2))
    b.receive(1, HybridMessage(2, 0, True, "x"))
    b.causal_send([3], "y")
    assert {type(packet) for _, packet in sent(b)} == {Ack, HybridMessage}
    assert not b.unsent


@every
def test_e8_an_empty_payload_is_a_payload(kind: type[Hybrid]) -> None:
    a = kind(1)
    a.causal_send([2], None)
    a.causal_send([3], "y")
    [first, _] = sent(a)
    a.receive(3, Ack(2))
    assert sent(a) == []
    a.tick()
    assert sent(a) == [first]


@pytest.mark.parametrize("kind", MULTICAST)
def test_e10_each_copy_names_its_own_predecessor(kind: type[Hybrid]) -> None:
    a = kind(1)
    a.causal_send([2], "x")
    a.causal_send([2, 3], "y")
    assert [(to, packet.mid, packet.pid) for to, packet in sent(a)] == [(2, 1, 0), (2, 2, 1), (3, 2, 0)]  # type: ignore[union-attr]


@every
def test_e11_nobody_is_no_receiver(kind: type[Hybrid]) -> None:
    a = kind(1, known=range(5))
    for to in ([], [7], [-1], ["2"], [True]):
        with pytest.raises(ProtocolError):
            a.causal_send(to, "x")  # type: ignore[arg-type]
    assert a.causal_send([2], "x") == 1


@every
def test_e12_only_an_addressee_acknowledges(kind: type[Hybrid]) -> None:
    a = kind(1)
    a.causal_send([2], "x")
    a.receive(3, Ack(1))
    assert a.refused == {STRANGER: 1}
    assert not a.idle()
    a.receive(2, Ack(1))
    assert a.idle()


@pytest.mark.parametrize("kind", OPTIMAL)
def test_e12_what_was_not_sent_is_not_acknowledged(kind: type[Hybrid]) -> None:
    a = kind(1)
    a.receive(2, HybridMessage(1, 0, True, "x"))
    a.causal_send([3], "y")
    a.receive(3, Ack(1))
    assert a.refused == {STRANGER: 1}
    assert a.unsent == 1


@every
def test_e13_absurd_numbers_are_refused(kind: type[Hybrid]) -> None:
    a = kind(1, window=100)
    for packet in (Ack(5), Permit(101), Permit(2**63 - 1)):
        a.receive(2, packet)
    assert a.refused == {OUT_OF_WINDOW: 3}
    for packet in (
        HybridMessage(3, 3, False),
        HybridMessage(0, 0, False),
        HybridMessage(2**63, 0, False),
        Ack(0),
    ):
        a.receive(2, packet)
    assert a.refused == {OUT_OF_WINDOW: 3, UNSOUND: 4}
    a.receive(2, HybridMessage(1, 0, True, "x"))
    a.causal_send([3], "y")
    assert a.unsent == 1  # the permit for message 1 has not come


@every
def test_a_predecessor_older_than_the_last_delivery_is_refused(kind: type[Hybrid]) -> None:
    """It will never be the last one delivered again: held, it would stay for ever (E13)."""
    b = kind(2)
    for mid in (1, 2):
        b.receive(1, HybridMessage(mid, mid - 1, False, "x"))
    before = b.integers()
    b.receive(1, HybridMessage(5, 1, False, "absurd"))
    assert b.refused == {UNSOUND: 1}
    assert b.integers() == before
    b.receive(1, HybridMessage(3, 2, False, "next"))  # the predecessor is the last one delivered: sound
    assert b.refused == {UNSOUND: 1}
    assert delivered(b) == ["x", "x", "next"]


@every
def test_e14_the_receive_buffer_is_bounded(kind: type[Hybrid]) -> None:
    b = kind(2, window=10)
    for mid in range(2, 40):
        b.receive(1, HybridMessage(mid, mid - 1, False, mid))
    assert b.refused == {OUT_OF_WINDOW: 28}
    b.receive(1, HybridMessage(1, 0, False, 1))
    assert delivered(b) == list(range(1, 12))
    b._check()


@pytest.mark.parametrize(
    ("name", "permits"), [("hybrid-sps", 0), ("hybrid-multicast-sps", 0), ("hybrid-basic", 99)]
)
def test_permits_of_a_pipeline_to_one_receiver(name: str, permits: int) -> None:
    """SPS exempts messages to the receiver itself: 100 in a row need no permit at all."""
    kind = PROTOCOLS[name].machine
    machines: dict[int, Machine] = {1: kind(1), 2: kind(2)}  # type: ignore[call-arg]
    for number in range(100):
        machines[1].causal_send([2], number)
    wire = pump(machines)
    assert sum(isinstance(packet, Permit) for _, _, packet in wire) == permits
    assert machines[1].idle()
    assert machines[2].idle()


@pytest.mark.parametrize("kind", ALL)
def test_a_lost_permit_is_asked_for(kind: type[Hybrid]) -> None:
    a, b = kind(1), kind(2)
    a.causal_send([3], "x")
    a.causal_send([2], "y")
    [_, (_, flagged)] = sent(a)
    b.receive(1, flagged)
    a.receive(3, Ack(1))
    a.receive(2, Ack(2))
    sent(a)  # the permit is lost
    b.take()
    b.tick()
    [(to, asked)] = sent(b)
    a.receive(2, asked)
    assert (to, sent(a)) == (1, [(2, Permit(2))])


@pytest.mark.parametrize("kind", OPTIMAL)
def test_a_lost_permit_comes_again_though_earlier_messages_are_missing(kind: type[Hybrid]) -> None:
    """What section 5.6 leaves out "to avoid cluttering": under loss, too, a due permit is sent at once."""
    a = kind(1)
    a.causal_send([3], "w")
    a.causal_send([2], "x")
    a.causal_send([2], "y")
    sent(a)
    a.receive(2, Ack(3))
    a.receive(3, Ack(1))
    assert (2, Permit(3)) in sent(a)  # lost; message 2 to the same receiver is still unacknowledged
    a.receive(2, Ack(3))
    assert sent(a) == [(2, Permit(3))]


def test_permits_are_idempotent() -> None:
    for kind in ALL:
        b = kind(2)
        b.receive(1, HybridMessage(2, 0, True, "x"))
        b.causal_send([3], "y")
        for _ in range(3):
            b.receive(1, Permit(2))
        assert {type(packet) for _, packet in sent(b)} == {Ack, HybridMessage}


@pytest.mark.parametrize("kind", ALL)
def test_a_reaction_from_within_a_delivery_waits_for_the_permit(kind: type[Hybrid]) -> None:
    b = kind(2)
    b.on_deliver = lambda delivery: b.causal_send([3], "reaction") and None
    b.receive(1, HybridMessage(2, 0, True, "x"))
    assert b.unsent == 1


def test_csps_waits_for_what_sps_does_not() -> None:
    """Section 5.6: back to the sender of the flagged message SPS needs no permit."""
    for kind, held in ((HybridBasic, 1), (HybridSPS, 0), (HybridMulticast, 1), (HybridMulticastSPS, 0)):
        b = kind(2)
        b.receive(1, HybridMessage(2, 0, True, "x"))
        b.causal_send([1], "back")
        assert b.unsent == held


@pytest.mark.parametrize("kind", OPTIMAL)
def test_two_askers_hold_up_each_other(kind: type[Hybrid]) -> None:
    """Permits of 2 and of 3 are missing: neither gets anything, though SPS exempts each from its own permit.

    The exemption is for the first asker only, and ends at the first permit of another (p2). Five messages,
    two of them far ones that make the others flagged: no smaller scope shows what looks beyond p2.
    """
    b = kind(1)
    b.receive(2, HybridMessage(2, 0, True, "after something to 4"))
    b.receive(3, HybridMessage(2, 0, True, "after something to 5"))
    b.take()
    b.causal_send([2], "to the first asker")
    assert b.unsent == 1
    b.causal_send([3], "to the second")
    assert b.unsent == 2
    b._check()
    b.receive(3, Permit(2))  # now all that is missing is of 2
    assert [to for to, _ in sent(b)] == [2]
    b._check()
    b.receive(2, Permit(2))
    assert [to for to, _ in sent(b)] == [3]


@pytest.mark.parametrize("kind", OPTIMAL)
def test_the_first_permit_lets_go_up_to_the_next_missing_one_and_no_further(kind: type[Hybrid]) -> None:
    """Of three permits missing, of 2, 3 and 4, the first comes: what waits for two still waits."""
    b = kind(1)
    for sender in (2, 3, 4):
        b.receive(sender, HybridMessage(2, 0, True, "x"))
        b.causal_send([5], sender)
    b.causal_send([3], "back")
    b.take()
    b.receive(2, Permit(2))
    assert [packet.payload for _, packet in sent(b)] == [2]  # type: ignore[union-attr]
    assert b.unsent == 3
    b._check()
    b.receive(4, Permit(2))  # "back" waits for nothing but its own receiver's
    assert [packet.payload for _, packet in sent(b)] == ["back"]  # type: ignore[union-attr]
    b._check()
    b.receive(3, Permit(2))
    assert [packet.payload for _, packet in sent(b)] == [3, 4]  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", MULTICAST)
def test_section_5_7_a_single_missing_ack_holds_up_the_others_only(kind: type[Hybrid]) -> None:
    """The optimisation that is named there: the permit goes to the process whose ack alone is missing."""
    a = kind(1)
    a.causal_send([2, 3, 4], "x")
    a.take()
    a.receive(2, Ack(1))
    assert sent(a) == []
    a.receive(3, Ack(1))
    assert sent(a) == [(4, Permit(1))]
    a.receive(3, Ack(1))  # repeated: nothing new
    assert sent(a) == []
    a.receive(4, Ack(1))
    assert sorted(sent(a)) == [(2, Permit(1)), (3, Permit(1))]
    assert a.idle()


@pytest.mark.parametrize("kind", MULTICAST)
def test_section_5_7_a_single_missing_ack_is_not_enough_while_an_earlier_message_is_missing(
    kind: type[Hybrid],
) -> None:
    a = kind(1)
    a.causal_send([5], "far")
    a.causal_send([2, 3], "x")
    a.take()
    a.receive(2, Ack(2))
    assert sent(a) == []
    a.receive(5, Ack(1))
    assert sent(a) == [(3, Permit(2))]


@pytest.mark.parametrize("seed", range(5))
def test_with_one_receiver_each_algorithm_3_is_algorithm_1(seed: int) -> None:
    """Packet for packet, on the same network."""
    random, wires = Random(seed), [[], []]  # type: ignore[var-annotated]
    groups = [[kind(me) for me in range(4)] for kind in (HybridBasic, HybridMulticast)]
    for step in range(400):
        i, j = random.sample(range(4), 2)
        at = random.random()
        for machines, wire in zip(groups, wires, strict=True):
            if step < 200 and at < 0.4:
                machines[i].causal_send([j], step)
            elif wire:
                sender, receiver, packet = wire.pop(int(at * len(wire)))
                machines[receiver].receive(sender, packet)
            for machine in machines:
                wire += [(machine.me, to, packet) for to, packet in sent(machine)]
        assert wires[0] == wires[1]


def test_section_5_7_a_multicast_is_not_a_sequence_of_unicasts() -> None:
    """m to 2 and 3 as two messages: what 2 sends to 3 after its copy is delivered before the other one."""
    machines: dict[int, Machine] = {me: HybridBasic(me) for me in (1, 2, 3)}
    machines[1].causal_send([2], "m")
    machines[1].causal_send([3], "m")
    [(_, first), (_, second)] = sent(machines[1])
    machines[2].receive(1, first)
    machines[2].causal_send([3], "after m")
    [after] = [packet for to, packet in sent(machines[2]) if to == 3]
    machines[3].receive(2, after)
    machines[3].receive(1, second)
    assert delivered(machines[3]) == ["after m", "m"]


@pytest.mark.parametrize("kind", MULTICAST)
def test_a_multicast_waits_for_its_own_copies(kind: type[Hybrid]) -> None:
    """Section 5.7: who acts on a multicast message must not overtake its other copies."""
    a = kind(1)
    a.causal_send([2, 3], "x")
    packets = sent(a)
    assert [packet.permit for _, packet in packets] == [True, True]  # type: ignore[union-attr]
    a.receive(2, Ack(1))
    early = sent(a)
    a.receive(3, Ack(1))
    assert {to for to, packet in early + sent(a) if packet == Permit(1)} == {2, 3}
    assert (2, Permit(1)) not in early
