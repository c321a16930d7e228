"""Who is the author of a stream: an Ed25519 key for each replica, with which it signs heads of its streams.

A head is the number and the hash up to which a stream has come (`chain`). Signing costs some 40 µs, checking
three times as much: so heads are signed when somebody is told of them, and never each evolution.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import NamedTuple

import msgpack

SEED_BYTES = KEY_BYTES = 32
SIGNATURE_BYTES = 64


def can_sign() -> bool:
    """Whether `cryptography` is there, the extra `replica`."""
    return find_spec("cryptography") is not None


class Author(NamedTuple):
    """A replica that signs: its secret seed, and the public key that goes with it."""

    seed: bytes
    key: bytes

    def __repr__(self) -> str:
        return f"<Author {self.key.hex()[:16]}>"

    def signed(self, said: bytes) -> bytes:
        """The signature of some bytes. Cost: some 40 µs."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed).sign(said)


def author_of(seed: bytes | None = None) -> Author:
    """The author whose secret a seed is; a new one where none is given. Needs `can_sign`."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    seed = os.urandom(SEED_BYTES) if seed is None else seed
    return Author(seed, Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())


def is_signed(key: bytes, signature: bytes, said: bytes) -> bool:
    """Whether the holder of a key's secret has signed some bytes. Cost: some 120 µs."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, said)
    except (InvalidSignature, ValueError):
        return False
    return True


def head_bytes(replica: str, incarnation: int, number: int, hash_: bytes) -> bytes:
    """What is signed of a head."""
    written: bytes = msgpack.packb(["microcosm head 1", replica, incarnation, number, hash_])
    return written
