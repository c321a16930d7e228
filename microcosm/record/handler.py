"""Records what a program logs already: each record of `logging` is an event, by an entry of a configuration.

    "handlers": {
        "causality": {"class": "microcosm.record.RecordHandler", "process": "alice", "to": "alice.jsonl"}
    }

Its message is the label; its level, its logger and what `extra` brings are attributes. What is sent and
received is told by the recorder, `handler.recorder`, or by what carries its headers.
"""

from __future__ import annotations

import logging
from typing import Any

from microcosm.errors import TextError
from microcosm.files import AnyPath
from microcosm.record.lines import log
from microcosm.record.recorder import Recorder

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class RecordHandler(logging.Handler):
    """A handler that records in a recorder, or in one of its own, made of `process`, `to` and `options`.

    One of its own is closed with it, as `logging` does at the end of a program. Raises `TextError`.
    """

    def __init__(
        self,
        process: str | None = None,
        to: AnyPath | Any | None = None,
        *,
        recorder: Recorder | None = None,
        level: int | str = logging.NOTSET,
        **options: Any,
    ) -> None:
        super().__init__(level)
        if (recorder is None) == (process is None):
            raise TextError("a RecordHandler has a process, or a recorder")
        self._own = recorder is None
        self.recorder = recorder if recorder is not None else Recorder(process or "", to, **options)

    def emit(self, record: logging.LogRecord) -> None:
        """Record what was logged; what the recorder itself has to say is not recorded."""
        if record.name == log.name:
            return
        try:
            attributes = {name: value for name, value in vars(record).items() if name not in _USUAL}
            attributes.setdefault("level", record.levelname)
            attributes.setdefault("logger", record.name)
            attributes.setdefault("time", round(record.created, 6))
            if record.exc_info and record.exc_info[1] is not None:
                attributes.setdefault("exception", repr(record.exc_info[1]))
            self.recorder.event(record.getMessage(), **attributes)
        except Exception:  # arguments that do not fit the message; `logging` says how such things are told
            self.handleError(record)

    def flush(self) -> None:
        """Write what waits to be written."""
        self.recorder.flush()

    def close(self) -> None:
        """Close its own recorder; one that it was given stays open."""
        if self._own:
            self.recorder.close()
        super().close()
