"""The journal: an append-only log in a file, of which nothing that was acknowledged is ever lost."""

from __future__ import annotations

from microcosm.replica.journal.log import LARGEST, Journal, Mode, Reader

__all__ = ["LARGEST", "Journal", "Mode", "Reader"]
