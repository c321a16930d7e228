"""The secrets that a group, or a pair, of replicas share, and the packets that are sealed with them.

A ring holds group keys, known to all members, and pairwise keys, known to two. Between two members their
pairwise key is used if there is one. In a rotation two keys overlap: the new one is accepted at once, sent
with from its `starts` on, and the old one is accepted until its `ends`, so that the new file can be brought
to all members in between.

A secret leaves this module only in key files, which nobody but their owner may read: nothing prints it.

A packet can be opened by its destination only, and nobody else could have sealed it (but see
docs/reference/security.md). For each key and boot a sender draws a random salt of 128 bits and derives a key
of its own,

    HKDF-SHA256(shared secret, salt, info = key id, sender, incarnation)        for ChaCha20-Poly1305,

with which it seals packet after packet, the nonce being a counter: it is never used twice, since a restart
draws another salt. After 2⁴⁸ packets or 24 hours it draws one anyway. The associated data are the header
(version, kind, key id, sender, its incarnation, salt, counter) and the two names, and the destination's
incarnation and boot: a packet opens for nobody else, and for no earlier or later life of its destination.
"""

from __future__ import annotations

import json
import os
import stat
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from microcosm.errors import KeyFileError, ReplicaError, installing

SECRET_BYTES = 32
SCHEMA = "microcosm-keys/1"
OVERLAP = 7 * 24 * 3600.0
"""By default both keys of a rotation are accepted for so many seconds."""

LATEST = 253402300799.0
"""When the year 9999 ends: no key starts or ends later."""

LONGEST_NAME = 200
"""In bytes of UTF-8."""


@dataclass(frozen=True, slots=True)
class Key:
    """A shared secret. Times are seconds since 1970; `between` names the two members of a pairwise key."""

    id: int
    secret: bytes = field(repr=False)
    starts: float = 0.0
    ends: float | None = None
    between: tuple[str, str] | None = None

    def accepted(self, wall: float) -> bool:
        """Whether packets sealed with it still count."""
        return self.ends is None or wall < self.ends


class Keyring:
    """The keys of a replica.

    >>> ring = Keyring([Key(1, b"1" * 32, ends=100.0), Key(2, b"2" * 32, starts=50.0)])
    >>> [ring.sending("a", "b", wall).id for wall in (0.0, 60.0)], ring.accepting(1, "a", "b", 100.0)
    ([1, 2], None)
    >>> ring
    <Keyring 1, 2>
    """

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys = tuple(keys)
        if len({key.id for key in self.keys}) != len(self.keys):
            raise KeyFileError("two keys have the same id")

    def __repr__(self) -> str:
        return f"<Keyring {', '.join(str(key.id) for key in self.keys)}>"

    def sending(self, me: str, peer: str, wall: float) -> Key:
        """What to seal with now: the newest key that has started. Raises `KeyFileError` if there is none."""
        good = [key for key in self._for(me, peer) if key.starts <= wall and key.accepted(wall)]
        pairwise = [key for key in good if key.between is not None]
        if not good:
            raise KeyFileError(f"no key for {peer!r} is in force; `replica key rotate` makes one")
        return max(pairwise or good, key=lambda key: key.id)

    def accepting(self, key_id: int, me: str, peer: str, wall: float) -> Key | None:
        """The key of a packet between two members, if it counts: their pairwise one, if there is one."""
        possible = self._for(me, peer)
        pairwise = [key for key in possible if key.between is not None and key.accepted(wall)]
        good = (key for key in pairwise or possible if key.id == key_id and key.accepted(wall))
        return next(good, None)

    def rotated(self, secret: bytes, wall: float, overlap: float = OVERLAP) -> Keyring:
        """A ring with a new group key, which is sent with after half of the overlap; the old one ends after
        it.

        Keys that have ended are left out. Raises `KeyFileError` in the midst of another rotation.
        """
        kept = [key for key in self.keys if key.accepted(wall)]
        group = [key for key in kept if key.between is None]
        if any(key.ends is not None for key in group):
            raise KeyFileError("a rotation is under way; wait until the old key has ended")
        fresh = Key(max((key.id for key in self.keys), default=0) + 1, secret, wall + overlap / 2)
        ending = [replace(key, ends=wall + overlap) if key.between is None else key for key in kept]
        return Keyring([*ending, fresh])

    def _for(self, me: str, peer: str) -> list[Key]:
        return [key for key in self.keys if key.between is None or set(key.between) == {me, peer}]


def check_name(name: str) -> str:
    """The name, if a replica can be called so. Raises `ReplicaError`."""
    if not name or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
        raise ReplicaError(f"{name!r} is no name for a replica: 1 to {LONGEST_NAME} bytes, printable")
    return name


def read_keys(path: str | os.PathLike[str]) -> Keyring:
    """The ring in a file. Raises `KeyFileError`: missing, malformed, or open to others."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise KeyFileError(f"{name}: is no file; keys are read again, so they stand in one")
            if status.st_mode & 0o077:
                advice = f"`chmod 600 {quote(name)}`, and rotate the key"
                raise KeyFileError(f"{name}: others can read this key file; {advice}")
            content = stream.read()
    except FileNotFoundError:
        raise KeyFileError(f"{name}: no such key file; `replica key new` makes one") from None
    except OSError as error:
        raise KeyFileError(f"{name}: cannot be read: {error.strerror}") from None
    try:
        parsed = json.loads(content)
        if parsed["schema"] != SCHEMA:
            raise ValueError
        return Keyring(map(_key, parsed["keys"]))
    except (ReplicaError, AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError):
        # without what it said: no secrets
        raise KeyFileError(f"{name}: is no key file of this program") from None


def write_keys(path: str | os.PathLike[str], ring: Keyring) -> None:
    """Write a ring, readable by its owner only, whole or not at all. Raises `KeyFileError`."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.new")
    keys = [{**asdict(key), "secret": key.secret.hex()} for key in ring.keys]
    text = json.dumps({"schema": SCHEMA, "keys": keys}, indent=1) + "\n"
    try:
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, target)
    except OSError as error:
        raise KeyFileError(f"{target}: cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):  # what is left of it, by Ctrl-C too, is a secret
            beside.unlink()


def new_ring() -> Keyring:
    """A ring with one group key."""
    return Keyring([Key(1, os.urandom(SECRET_BYTES))])


def _key(entry: Any) -> Key:
    secret, between, ends = bytes.fromhex(entry["secret"]), entry["between"], entry["ends"]
    if type(entry["id"]) is not int or not 0 < entry["id"] < 2**32 or len(secret) != SECRET_BYTES:
        raise ValueError
    if between is not None:
        first, second = between
        between = check_name(first), check_name(second)
    starts, ends = float(entry["starts"]), None if ends is None else float(ends)
    if not (0 <= starts <= LATEST and (ends is None or 0 <= ends <= LATEST)):
        raise ValueError
    return Key(entry["id"], secret, starts, ends, between)


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

    def use(self, ring: Keyring) -> set[int]:
        """Seal with the keys of another ring from now on; the ids of those that stay.

        What was derived of these is kept.
        """
        before = {key.id: key.secret for key in self.ring.keys}
        kept = {key.id for key in ring.keys if before.get(key.id) == key.secret}
        self._sending = {id_: used for id_, used in self._sending.items() if id_ in kept}
        self.ring = ring
        return kept

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

    __slots__ = ("_bits", "highest")

    def __init__(self) -> None:
        self.highest = -1
        """The greatest counter so far."""
        self._bits = 0

    def fresh(self, counter: int) -> bool:
        """Whether a counter has not been seen; from now on it has. Cost: 4,096 bits."""
        ahead = counter - self.highest
        if ahead > 0:
            self._bits = ((self._bits << ahead) | 1) & ((1 << WINDOW) - 1) if ahead < WINDOW else 1
            self.highest = counter
            return True
        if -ahead >= WINDOW or self._bits >> -ahead & 1:
            return False
        self._bits |= 1 << -ahead
        return True
