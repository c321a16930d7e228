"""What can go wrong with a replica, beside what goes wrong with a microcosm."""

from __future__ import annotations

from microcosm.errors import MicrocosmError


class Malformed(MicrocosmError):
    """Bytes that are no evolution, message or snapshot of a version that this program reads."""


class WrongReplica(MicrocosmError):
    """A store that belongs to another replica, or another replica that uses this one's name."""
