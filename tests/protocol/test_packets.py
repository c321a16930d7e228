"""Packets as bytes, and whatever else may arrive: refused, counted, and never an exception."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm.protocol import packets
from microcosm.protocol.catalogue import PROTOCOLS
from microcosm.protocol.machine import NOT_A_PACKET, UNKNOWN_PROCESS, Send
from microcosm.protocol.packets import SHAPES, VERSION, decode, encode

IDS = st.one_of(st.integers(0, 5), st.integers(-3, 2**65))
ANY = st.one_of(
    IDS,
    st.booleans(),
    st.none(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.floats(),
    st.lists(IDS, max_size=4).map(tuple),
    st.lists(st.lists(IDS, min_size=3, max_size=3).map(tuple), min_size=3, max_size=3).map(tuple),
    st.lists(st.tuples(IDS, IDS, st.lists(IDS, max_size=3).map(tuple)), max_size=3).map(tuple),
)

PACKETS = st.sampled_from(SHAPES).flatmap(
    lambda shape: st.tuples(*(ANY for _ in fields(shape))).map(lambda values: shape(*values))
)

SOUND: list[packets.Packet] = [
    packets.HybridMessage(3, 1, True, "hello"),
    packets.Ack(1),
    packets.Permit(2**63 - 1),
    packets.Serial(4, None),
    packets.Secret(1, False, b"\x00"),
    packets.YouCanTell(),
    packets.MatrixStamped(((0, 1), (2, 3)), (1,), 5),
    packets.Vectored(((0, 1),), (0, 1), [1, 2]),
    packets.Logged(3, (1, 2), ((0, 2, (1,)), (1, 1, ())), {"a": 1}),
    packets.LamportClocked(9, 1),
    packets.Routed(0, (3, 1), "x"),
    packets.TreeChange(3, 1, 1),
    packets.Welcome(((0, 0), (1, 0))),
    packets.Dependent(3, 1, True, "x", ((0, 2, 1), (1, 2, 7))),
    packets.Marker(0, 1),
    packets.Posted(4, 2, "x"),
    packets.Migration(0, 4, 2, "state"),
]


@pytest.mark.parametrize("packet", SOUND, ids=lambda packet: type(packet).__name__)
def test_bytes_and_back(packet: packets.Packet) -> None:
    assert packet.sound()
    found = decode(encode(packet))
    assert found == packet or isinstance(getattr(packet, "payload", None), list)
    for cut in range(len(encode(packet))):
        assert decode(encode(packet)[:cut]) is None
    assert decode(encode(packet) + b"\x00") is None


def test_every_shape_is_tried() -> None:
    assert [type(packet) for packet in SOUND] == list(SHAPES)


def test_another_version_is_no_packet() -> None:
    written = bytearray(encode(packets.Ack(7)))
    assert written[1] == VERSION
    written[1] += 1
    assert decode(bytes(written)) is None


def test_sizes() -> None:
    """A hybrid message carries three integers, in a handful of bytes, however many processes there are."""
    assert packets.HybridMessage(10**6, 10**6 - 1, True).integers == 3
    assert len(encode(packets.HybridMessage(10**6, 10**6 - 1, True))) == 15
    assert packets.MatrixStamped(((0,) * 100,) * 100, (1,)).integers == 10_000


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    decode(content)


@pytest.mark.parametrize("name", PROTOCOLS)
@given(garbage=st.lists(st.tuples(st.one_of(st.integers(-1, 4), ANY), st.one_of(PACKETS, ANY)), max_size=20))
@settings(max_examples=settings().max_examples // 2)
def test_receive_never_raises(name: str, garbage: list[tuple[Any, Any]]) -> None:
    machine = PROTOCOLS[name].make(3)[0]
    machine.causal_send([1], "a")
    machine.causal_send([2], "b")
    for sender, packet in garbage:
        before = machine.refused.total()
        machine.receive(sender, packet)
        if type(packet) not in machine.HANDLERS and type(packet) is not bytes:
            assert machine.refused.total() == before + 1
        machine._check()
        for output in machine.take():
            if isinstance(output, Send):
                assert output.packet.sound()
                assert encode(output.packet) if not isinstance(output.packet, packets.HybridMessage) else True
        machine.tick()
        machine.take()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_refusals_are_counted(name: str) -> None:
    machine = PROTOCOLS[name].make(3)[0]
    for packet in (b"", b"garbage", None, "Ack", 7):
        machine.receive(1, packet)
    assert machine.refused == {NOT_A_PACKET: 5}
    [shape] = {type(p) for p in SOUND} & set(list(machine.HANDLERS)[:1])
    machine.receive(99, next(packet for packet in SOUND if type(packet) is shape))
    machine.receive(0, next(packet for packet in SOUND if type(packet) is shape))
    assert machine.refused[UNKNOWN_PROCESS] == 2
