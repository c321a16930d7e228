"""The chain of hashes through a journal: a record that was changed, moved or left out breaks it.

Each record carries H(hash of the record before it, number, kind, payload), H being BLAKE2b with 32 bytes.
The chain begins at a hash of what the journal is; a snapshot keeps the hash that it goes on from. The numbers
and lengths are written with fixed widths, so that no two different records are the same bytes.
"""

from __future__ import annotations

import struct
from hashlib import blake2b

SIZE = 32

_record = blake2b(digest_size=SIZE, person=b"journal record").copy
_numbers = struct.Struct(">QQ").pack


def genesis(application: str, identity: bytes) -> bytes:
    """The hash before the first record of a journal."""
    return blake2b(identity + application.encode(), digest_size=SIZE, person=b"journal genesis").digest()


def link(before: bytes, number: int, kind: bytes, payload: bytes) -> bytes:
    """The hash that a record carries; `before` is that of the record before it. Cost: the bytes, twice."""
    hashed = _record()
    hashed.update(b"%b%b%b%b" % (before, _numbers(number, len(kind)), kind, payload))
    return hashed.digest()


def seal(through: int, edition: int, chain: bytes, content: bytes) -> bytes:
    """The hash of a snapshot; `chain` is that of the last record that it stands for."""
    hashed = blake2b(chain, digest_size=SIZE, person=b"journal snapsho")
    hashed.update(through.to_bytes(8) + edition.to_bytes(8))
    hashed.update(content)
    return hashed.digest()
