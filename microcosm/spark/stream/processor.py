"""The state of a stream of traces in Spark: what is remembered of the processes and messages of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from microcosm.spark.io.events import EVENT, REPORTED, Row
from microcosm.spark.stream.kernel import StreamKernel
from microcosm.spark.stream.state import MessageState, ProcessState, message_state_from, process_state_from

if TYPE_CHECKING or find_spec("pyspark") is not None:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
else:  # the rest of the package goes without
    StatefulProcessor = object

TOLD = (
    f"{EVENT}, id string, left string, relation string, right string, source string, last string, "
    f"knows map<string,long>, {REPORTED}"
)
"""The columns of what is told: an event, an edge, a frontier or an irregularity."""

_NAMES = [column.split(" ")[0] for column in TOLD.split(", ")]
_MAPS = ("clock", "knows")


def processor(wait: float, keep: int) -> Processor:
    """What follows the traces of a stream; `wait` in seconds, `keep` as for `StreamKernel`."""
    return Processor(wait, keep)


class Processor(StatefulProcessor):
    """Takes the rows of a trace as they come, and gives up waiting when the time has come."""

    def __init__(self, wait: float, keep: int) -> None:
        self._wait = wait
        self._keep = keep

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._processes = handle.getMapState("lanes", "process string", "lane binary")
        self._messages = handle.getMapState("letters", "message string", "letter binary")
        self._waiting = handle.getValueState("waiting", "waiting string")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        arrived = 0
        events = []
        for given in rows:
            row = given.asDict(True)
            arrived = max(arrived, int(row.pop("arrived").timestamp() * 1000))
            if row["reported"] is not None:
                yield _row(row)
            else:
                events.append(row)
        if not events:
            return
        kernel, store = self._kernel(key[0])
        kernel.take(events)
        self._keep_state(kernel, store)
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        if kernel.stopped or kernel.doubtful:
            self._handle.registerTimer(arrived + int(self._wait * 1000) - 1)
        yield from map(_row, kernel.told)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        kernel, store = self._kernel(key[0])
        kernel.give_up()
        self._keep_state(kernel, store)
        yield from map(_row, kernel.told)

    def close(self) -> None:
        """Nothing is open."""

    def _kernel(self, trace: str | None) -> tuple[StreamKernel, _KeptState]:
        store = _KeptState(self._processes, self._messages)
        kernel = StreamKernel(trace, store, self._keep)
        if self._waiting.exists():
            stopped, doubtful = json.loads(self._waiting.get()[0])
            kernel.stopped, kernel.doubtful = set(stopped), set(doubtful)
        return kernel, store

    def _keep_state(self, kernel: StreamKernel, store: _KeptState) -> None:
        store.write()
        self._waiting.update((json.dumps([sorted(kernel.stopped), sorted(kernel.doubtful)]),))


class _KeptState:
    """States that are read when they are asked for, and written together."""

    def __init__(self, processes: Any, messages: Any) -> None:
        self._kept = (processes, messages)
        self._processes: dict[str, ProcessState] = {}
        self._messages: dict[str, MessageState | None] = {}

    def process(self, process: str) -> ProcessState:
        own = self._processes.get(process)
        if own is None:
            kept = self._kept[0]
            known = kept.containsKey((process,))
            own = self._processes[process] = (
                process_state_from(kept.getValue((process,))[0]) if known else ProcessState()
            )
        return own

    def message(self, message: str) -> MessageState:
        ends = self._messages.get(message)
        if ends is None:
            kept = self._kept[1]
            known = message not in self._messages and kept.containsKey((message,))
            ends = message_state_from(kept.getValue((message,))[0]) if known else MessageState()
            self._messages[message] = ends
        return ends

    def drop(self, message: str) -> None:
        self._messages[message] = None

    def write(self) -> None:
        processes, messages = self._kept
        for process, own in self._processes.items():
            processes.updateValue((process,), (own.pack(),))
        for message, ends in self._messages.items():
            if ends is not None:
                messages.updateValue((message,), (ends.pack(),))
            elif messages.containsKey((message,)):
                messages.removeKey((message,))


def _row(told: Row) -> Any:
    """A row that is told, with all columns."""
    from pyspark.sql import Row as SparkRow

    values = {name: told.get(name) for name in _NAMES}
    for name in _MAPS:
        entries = values[name]
        values[name] = None if entries is None else dict(entries)
    return SparkRow(**values)
