"""Packets that only their destination can open, and that nobody else could have sealed (but see
docs/reference/security.md).

For each key and boot a sender draws a random salt of 128 bits and derives a key of its own,

    HKDF-SHA256(shared secret, salt, info = key id, sender, incarnation)        for ChaCha20-Poly1305,

with which it seals packet after packet, the nonce being a counter: it is never used twice, since a restart
draws another salt. After 2⁴⁸ packets or 24 hours it draws one anyway. The associated data are the header
(version, kind, key id, sender, its incarnation, salt, counter) and the two names, and the destination's
incarnation and boot: a packet opens for nobody else, and for no earlier or later life of its destination.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.util import find_spec
from typing import Any, NamedTuple

from microcosm.errors import ReplicaError, installing
from microcosm.replica.network.keys import Key, Keyring

GREETING, CONTENT, EXCHANGE = 0, 1, 2
HEADER = struct.Struct(">BBI8sQ16sQ")
TAG_BYTES = 16
OVERHEAD = HEADER.size + TAG_BYTES

SALT_BYTES = 16
MOST_PACKETS = 1 << 48
MOST_SECONDS = 24 * 3600.0


class Header(NamedTuple):
    """What stands before the ciphertext, in clear. `sender` is a digest of the name."""

    version: int
    kind: int
    key_id: int
    sender: bytes
    incarnation: int
    salt: bytes
    counter: int


class Destination(NamedTuple):
    """For whom a packet is; incarnation and boot are 0 in a greeting, which looks for them."""

    name: str
    incarnation: int = 0
    boot: int = 0


def tag(name: str) -> bytes:
    """Eight bytes that stand for a name in headers."""
    return blake2b(name.encode(), digest_size=8, person=b"microcosm").digest()


def require_ciphers() -> None:
    """Raise `ReplicaError` unless packets can be sealed: before anything is opened."""
    if find_spec("cryptography") is None:
        raise ReplicaError(f"packets are sealed by `cryptography`; `{installing('replica')}`")


def header_of(packet: bytes) -> Header | None:
    """The header of what may be a packet; None if it is too short for one."""
    return Header(*HEADER.unpack_from(packet)) if len(packet) >= OVERHEAD else None


def associated(header: bytes, sender: str, to: Destination) -> bytes:
    """All that a packet vouches for besides its content."""
    names = b"".join(len(name).to_bytes(2, "big") + name for name in (sender.encode(), to.name.encode()))
    return header + names + struct.pack(">QQ", to.incarnation, to.boot)


def derived(key: Key, sender: str, incarnation: int, salt: bytes) -> Any:
    """The cipher of one sender under one salt. Cost: some 20 µs."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    info = b"microcosm packets 1" + struct.pack(">IQ", key.id, incarnation) + sender.encode()
    return ChaCha20Poly1305(HKDF(SHA256(), 32, salt, info).derive(key.secret))


def unsealed(cipher: Any, header: Header, packet: bytes, sender: str, to: Destination) -> bytes | None:
    """The content of a packet, or None if it is not genuine."""
    from cryptography.exceptions import InvalidTag

    plain = associated(packet[: HEADER.size], sender, to)
    try:
        opened: bytes = cipher.decrypt(_nonce(header.counter), packet[HEADER.size :], plain)
    except InvalidTag:
        return None
    return opened


def _nonce(counter: int) -> bytes:
    return counter.to_bytes(12, "big")


@dataclass(slots=True)
class Sending:
    """A derived key in use. `generation` grows with each, over all boots."""

    key_id: int
    salt: bytes
    generation: int
    born: float
    cipher: Any = field(repr=False)
    counter: int = 0


class Sealer:
    """Seals what one boot of a replica sends. `wall` is the time of day, `now` a clock that never jumps.

    Raises `ReplicaError` where the extra `replica` is not installed.
    """

    def __init__(
        self, ring: Keyring, name: str, incarnation: int, boot: int, entropy: Callable[[int], bytes]
    ) -> None:
        require_ciphers()
        self.ring = ring
        self.name = name
        self.incarnation = incarnation
        self.boot = boot
        self._entropy = entropy
        self._tag = tag(name)
        self._sending: dict[int, Sending] = {}
        self._generation = boot << 32

    def use(self, ring: Keyring) -> None:
        """Seal with the keys of another ring from now on; what was derived of a key that stays is kept."""
        before = {key.id: key.secret for key in self.ring.keys}
        kept = {key.id for key in ring.keys if before.get(key.id) == key.secret}
        self._sending = {id_: used for id_, used in self._sending.items() if id_ in kept}
        self.ring = ring

    def sending(self, peer: str, now: float, wall: float) -> Sending:
        """The derived key to seal with for a peer; a new one where it is time for it.

        Raises `KeyFileError` where no shared key is in force.
        """
        key = self.ring.sending(self.name, peer, wall)
        used = self._sending.get(key.id)
        if used is None or used.counter >= MOST_PACKETS or now - used.born >= MOST_SECONDS:
            self._generation += 1
            salt = self._entropy(SALT_BYTES)
            cipher = derived(key, self.name, self.incarnation, salt)
            used = self._sending[key.id] = Sending(key.id, salt, self._generation, now, cipher)
        return used

    def seal(self, used: Sending, version: int, kind: int, to: Destination, content: bytes) -> bytes:
        """A packet. Its counter is used up, whatever becomes of it."""
        used.counter += 1
        header = HEADER.pack(version, kind, used.key_id, self._tag, self.incarnation, used.salt, used.counter)
        plain = associated(header, self.name, to)
        sealed: bytes = used.cipher.encrypt(_nonce(used.counter), content, plain)
        return header + sealed


WINDOW = 4096
"""So many counters of a sender are remembered as seen or not."""


class ReplayWindow:
    """The counters seen of the last 4,096; whatever is older counts as seen.

    Ask and mark only after a packet proved genuine: a forged counter must not move the window.

    >>> window = ReplayWindow()
    >>> [window.fresh(n) for n in (1, 3, 2, 3, 5000, 4, 905, 905)]
    [True, True, True, False, True, False, True, False]
    """

    __slots__ = ("_bits", "_highest")

    def __init__(self) -> None:
        self._highest = -1
        self._bits = 0

    @property
    def highest(self) -> int:
        """The greatest counter so far."""
        return self._highest

    def fresh(self, counter: int) -> bool:
        """Whether a counter has not been seen; from now on it has. Cost: 4,096 bits."""
        ahead = counter - self._highest
        if ahead > 0:
            self._bits = ((self._bits << ahead) | 1) & ((1 << WINDOW) - 1) if ahead < WINDOW else 1
            self._highest = counter
            return True
        if -ahead >= WINDOW or self._bits >> -ahead & 1:
            return False
        self._bits |= 1 << -ahead
        return True
