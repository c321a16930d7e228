"""Key files: secrets that a group, or a pair, of replicas share; who may read them, and for how long they
count.

A ring holds group keys, known to all members, and pairwise keys, known to two. Between two members their
pairwise key is used if there is one. In a rotation two keys overlap: the new one is accepted at once, sent
with from its `starts` on, and the old one is accepted until its `ends`, so that the new file can be brought
to all members in between.

A secret leaves this module only as the key material of `sealing`: nothing prints it.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from microcosm.errors import KeyFileError
from microcosm.replica.network.membership import check_name

SECRET_BYTES = 32
SCHEMA = "microcosm-keys/1"
OVERLAP = 7 * 24 * 3600.0
"""By default both keys of a rotation are accepted for so many seconds."""


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


def read_keys(path: str | os.PathLike[str]) -> Keyring:
    """The ring in a file. Raises `KeyFileError`: missing, malformed, or open to others."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
                raise KeyFileError(
                    f"{name}: others can read this key file; `chmod 600 {name}`, and rotate the key"
                )
            content = stream.read()
    except FileNotFoundError:
        raise KeyFileError(f"{name}: no such key file; `replica key new` makes one") from None
    except OSError as error:
        raise KeyFileError(f"{name}: cannot be read: {error.strerror}") from None
    try:
        return _ring(json.loads(content))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise KeyFileError(
            f"{name}: is no key file of this program"
        ) from None  # without what it said: no secrets


def write_keys(path: str | os.PathLike[str], ring: Keyring) -> None:
    """Write a ring, readable by its owner only, whole or not at all. Raises `KeyFileError`."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.new")
    text = json.dumps({"schema": SCHEMA, "keys": [_written(key) for key in ring.keys]}, indent=1) + "\n"
    try:
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise KeyFileError(f"{target}: cannot be written: {error.strerror}") from None


def new_ring(entropy: Callable[[int], bytes] = os.urandom) -> Keyring:
    """A ring with one group key."""
    return Keyring([Key(1, entropy(SECRET_BYTES))])


def _written(key: Key) -> dict[str, Any]:
    between = None if key.between is None else list(key.between)
    return {
        "id": key.id,
        "secret": key.secret.hex(),
        "starts": key.starts,
        "ends": key.ends,
        "between": between,
    }


def _ring(parsed: Any) -> Keyring:
    if parsed["schema"] != SCHEMA:
        raise ValueError
    return Keyring([_key(entry) for entry in parsed["keys"]])


def _key(entry: Any) -> Key:
    secret, between, ends = bytes.fromhex(entry["secret"]), entry["between"], entry["ends"]
    if type(entry["id"]) is not int or not 0 < entry["id"] < 2**32 or len(secret) != SECRET_BYTES:
        raise ValueError
    if between is not None:
        first, second = between
        between = check_name(first), check_name(second)
    return Key(entry["id"], secret, float(entry["starts"]), None if ends is None else float(ends), between)
