"""Packets off the wire: from whom, for whom, genuine, and for the first time; or why not.

A packet that is not genuine leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from microcosm.replica.network.link.peer import Peer
from microcosm.replica.network.link.sealing import (
    CONTENT,
    EXCHANGE,
    GREETING,
    Destination,
    Header,
    Sealer,
    derived,
    header_of,
    unsealed,
)

TOO_SHORT = "too short"
OVERSIZED = "oversized"
VERSION = "version"
UNKNOWN_SENDER = "unknown sender"
UNKNOWN_KEY = "unknown key"
NO_SESSION = "no session"
NOT_GENUINE = "not genuine"
REPLAYED = "replayed"
OLD_INCARNATION = "old incarnation"
OTHER_INCARNATION = "another incarnation"
OLD_BOOT = "old boot"
MALFORMED = "malformed"
NO_KEY = "no key in force"
TOO_LARGE = "part of a message that is too large"


class Arrival(NamedTuple):
    """A genuine packet that has not been seen before; `cipher` is what opened it."""

    peer: Peer
    header: Header
    content: bytes
    cipher: Any


def opened(
    packet: bytes, peers: Mapping[bytes, Peer], me: Sealer, versions: tuple[int, ...], mtu: int, wall: float
) -> Arrival | str:
    """What a packet is, or why no notice is taken of it. Cost: the bytes; another key takes some 20 µs."""
    header = header_of(packet)
    if header is None:
        return TOO_SHORT
    if len(packet) > mtu:
        return OVERSIZED
    peer = peers.get(header.sender)
    if peer is None:
        return UNKNOWN_SENDER
    key = me.ring.accepting(header.key_id, me.name, peer.member.name, wall)
    if key is None:
        return UNKNOWN_KEY
    session = peer.session
    current = session is not None and (header.salt, header.key_id) == (session.salt, session.key_id)
    if header.kind in (CONTENT, EXCHANGE):
        if session is None or not current or header.incarnation != peer.member.incarnation:
            return NO_SESSION
        if header.version != session.version:
            return VERSION
        to = Destination(me.name, me.incarnation, me.boot)
    elif header.kind == GREETING:
        if header.version != versions[0]:
            return VERSION
        to = Destination(me.name)
    else:
        return MALFORMED
    if session is not None and current:
        cipher = session.cipher
    else:
        cipher = derived(key, peer.member.name, header.incarnation, header.salt)
    content = unsealed(cipher, header, packet, peer.member.name, to)
    if content is None:
        return NOT_GENUINE
    if session is not None and current and not session.window.fresh(header.counter):
        return REPLAYED
    return Arrival(peer, header, content, cipher)
