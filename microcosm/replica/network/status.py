"""How an endpoint stands, as plain values, for people and for metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from microcosm.replica.network.durable.durable import Durable
from microcosm.replica.network.link.peer import Peer


def standing(durable: Durable, peers: Iterable[Peer], now: float) -> dict[str, Any]:
    """What is under way, and for each member what is waited for. Ages are in seconds."""
    process = durable.process
    return {
        "name": process.name,
        "incarnation": process.incarnation,
        "boot": process.boot,
        "evicted": process.evicted,
        "send buffer": process.machine.unacked,
        "held back": process.machine.unsent,
        "refused for space": durable.refused_for_space,
        "fences": [tuple(fence) for fence in process.membership.fences],
        "refused": dict(process.machine.refused),
        "members": {peer.member.name: _of_peer(durable, peer, now) for peer in peers},
    }


def _of_peer(durable: Durable, peer: Peer, now: float) -> dict[str, Any]:
    number = peer.member.number
    return {
        "address": peer.address,
        "incarnation": peer.member.incarnation,
        "met": peer.session is not None and peer.met,
        "stranger": peer.stranger,
        "silent for": None if peer.heard_at is None else now - peer.heard_at,
        "unacknowledged": peer.unacked,
        "held out of order": durable.process.machine.holds(number),
        "missing permits": {mid: now - since for mid, since in peer.missing()},
        "unconfirmed fences": [tuple(fence) for fence in durable.process.membership.unconfirmed(number)],
        "retransmissions": peer.retransmissions,
        "suppressed answers": peer.suppressed,
        "window": int(peer.congestion.window),
        "round trip": peer.congestion.rtt,
    }
