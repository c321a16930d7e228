"""The state of a stream of traces in Spark: for each trace its lanes, its letters and what it waits for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from microcosm.spark.io.events import EVENT, REPORTED, Row
from microcosm.spark.stream.kernel import Live
from microcosm.spark.stream.state import Lane, Letter, lane_from, letter_from

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


def follower(wait: float, keep: int) -> Follower:
    """What follows the traces of a stream; `wait` in seconds, `keep` as for `Live`."""
    return Follower(wait, keep)


class Follower(StatefulProcessor):
    """Takes the rows of a trace as they come, and gives up waiting when the time has come."""

    def __init__(self, wait: float, keep: int) -> None:
        self._wait = wait
        self._keep = keep

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._lanes = handle.getMapState("lanes", "process string", "lane binary")
        self._letters = handle.getMapState("letters", "message string", "letter binary")
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
        live, store = self._live(key[0])
        live.take(events)
        self._keep_state(live, store)
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        if live.stopped or live.doubtful:
            self._handle.registerTimer(arrived + int(self._wait * 1000) - 1)
        yield from map(_row, live.told)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        live, store = self._live(key[0])
        live.give_up()
        self._keep_state(live, store)
        yield from map(_row, live.told)

    def close(self) -> None:
        """Nothing is open."""

    def _live(self, trace: str | None) -> tuple[Live, _Store]:
        store = _Store(self._lanes, self._letters)
        live = Live(trace, store, self._keep)
        if self._waiting.exists():
            stopped, doubtful = json.loads(self._waiting.get()[0])
            live.stopped, live.doubtful = set(stopped), set(doubtful)
        return live, store

    def _keep_state(self, live: Live, store: _Store) -> None:
        store.write()
        self._waiting.update((json.dumps([sorted(live.stopped), sorted(live.doubtful)]),))


class _Store:
    """Lanes and letters that are read when they are asked for, and written together."""

    def __init__(self, lanes: Any, letters: Any) -> None:
        self._kept = (lanes, letters)
        self._lanes: dict[str, Lane] = {}
        self._letters: dict[str, Letter | None] = {}

    def lane(self, process: str) -> Lane:
        lane = self._lanes.get(process)
        if lane is None:
            kept = self._kept[0]
            known = kept.containsKey((process,))
            lane = self._lanes[process] = lane_from(kept.getValue((process,))[0]) if known else Lane()
        return lane

    def letter(self, message: str) -> Letter:
        letter = self._letters.get(message)
        if letter is None:
            kept = self._kept[1]
            known = message not in self._letters and kept.containsKey((message,))
            letter = letter_from(kept.getValue((message,))[0]) if known else Letter()
            self._letters[message] = letter
        return letter

    def drop(self, message: str) -> None:
        self._letters[message] = None

    def write(self) -> None:
        lanes, letters = self._kept
        for process, lane in self._lanes.items():
            lanes.updateValue((process,), (lane.pack(),))
        for message, letter in self._letters.items():
            if letter is not None:
                letters.updateValue((message,), (letter.pack(),))
            elif letters.containsKey((message,)):
                letters.removeKey((message,))


def _row(told: Row) -> Any:
    """A row that is told, with all columns."""
    from pyspark.sql import Row as SparkRow

    values = {name: told.get(name) for name in _NAMES}
    for name in _MAPS:
        entries = values[name]
        values[name] = None if entries is None else dict(entries)
    return SparkRow(**values)
