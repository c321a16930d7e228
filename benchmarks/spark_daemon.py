"""Spark's daemon of Python workers, but that it waits for those that end, so that their seconds are counted.

That of pyspark ignores the end of its children: then the kernel forgets what they computed, where else it
adds it to what their parent's children did. Spark starts this one as `spark.python.daemon.module` says.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from pyspark import daemon


def _reap(number: int, frame: object) -> None:
    """Wait for all children that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _signal(number: int, handler: Any) -> Any:
    """`signal.signal`, with `_reap` where the end of children was to be ignored."""
    ignored = number == signal.SIGCHLD and handler == signal.SIG_IGN
    return signal.signal(number, _reap if ignored else handler)


if __name__ == "__main__":
    daemon.signal = SimpleNamespace(**{**vars(signal), "signal": _signal})  # type: ignore[attr-defined]
    daemon.manager()
