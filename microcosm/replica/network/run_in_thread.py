"""Work that waits for a disk, done in a thread while the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Answer = TypeVar("Answer")


async def aside(work: Callable[[], Answer], undo: Callable[[Answer], object]) -> Answer:
    """What `work` returns. If this is cancelled meanwhile, it ends all the same, and is undone."""
    going = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(going)
    except asyncio.CancelledError:
        while not going.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([going])
        if going.exception() is None:
            undo(going.result())
        raise
