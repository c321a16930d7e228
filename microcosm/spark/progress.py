"""How far a job has come: told to the logger `microcosm.spark`, which the command line shows."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

LOGGER = "microcosm.spark"

LONG = 1.0
"""Seconds of a stage that is worth a line."""
EVERY = 10.0
"""Seconds between the lines of a stage that goes on."""

_log = logging.getLogger(LOGGER)


@contextmanager
def stage(name: str, folder: Path, every: float = EVERY, long: float = LONG) -> Iterator[None]:
    """Tell how far a stage is that writes Parquet to a folder, and at its end how many rows it wrote."""
    begin = time.monotonic()
    ended = Event()

    def tell() -> None:
        while not ended.wait(every):
            seconds = time.monotonic() - begin
            _log.info("%s: %.0f s, %s written", name, seconds, _size(written(folder)))

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
    seconds = time.monotonic() - begin
    if seconds >= long:
        _log.info("%s: %s rows, %.1f s", name, f"{rows(folder):,}", seconds)


def written(folder: Path) -> int:
    """The bytes of the Parquet files in a folder, those included that are being written.

    While tasks write, it has another name: its own and more after a dot (`microcosm.spark.io.sink`).
    """
    found = 0
    for place in (folder, *folder.parent.glob(f"{folder.name}.*")):
        with suppress(OSError):
            for path in place.rglob("*.parquet"):
                with suppress(OSError):
                    found += path.stat().st_size
    return found


def rows(folder: Path) -> int:
    """The rows of the Parquet files in a folder. Cost: the end of each file is read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = 0
    for path in folder.rglob("*.parquet"):
        with suppress(OSError, pa.ArrowException):
            found += pq.read_metadata(path).num_rows
    return found


def _size(count: int) -> str:
    """A number of bytes for people.

    >>> _size(900), _size(2_500_000)
    ('900 B', '2.5 MB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
