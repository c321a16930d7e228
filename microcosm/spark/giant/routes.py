"""Which traces are large enough to be done in slices, and which of them can be."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from microcosm.spark.io import reading, staging
from microcosm.spark.io.naming import id_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LARGE = 200_000
"""A trace of so many events is done in slices."""

SLICED = {"name", "clock", "lamport"}
"""Columns that order, or name, of which a trace in slices may make use; of Lamport times if all have one."""

DOUBTFUL = {"clock", "message", "counted"}
"""Where a trace has all of these, all of it must be known before it is known which events ticked."""

_log = logging.getLogger(staging.LOGGER)


@dataclass(slots=True)
class Routes:
    """How many traces there are, those that are done in slices, and large ones that go whole to a worker."""

    traces: int
    sliced: dict[str | None, frozenset[str]] = field(default_factory=dict)
    """Of each the columns that order beside processes and messages."""
    whole: list[str] = field(default_factory=list)
    _events: dict[str | None, int] = field(default_factory=dict)

    def give_up(self, trace: str | None, reasons: Sequence[str]) -> None:
        """Let a trace go whole to one worker, and say why."""
        self.sliced.pop(trace, None)
        self.whole = sorted([*self.whole, trace or ""])
        named = "the trace" if trace is None else f"trace {trace}"
        events = f"{self._events[trace]:,}"
        _log.info("%s: %s events go whole to one worker, because of: %s", named, events, ", ".join(reasons))

    @property
    def all_sliced(self) -> bool:
        """Whether there are traces, and no other than these."""
        return 0 < self.traces == len(self.sliced)


def routed(events: DataFrame, sizes: DataFrame, slices: int | None) -> Routes:
    """In slices are done large traces, and one that is alone where `slices` are asked for.

    Not where more orders than processes, messages, clocks and Lamport times of all events, and not where two
    events have one name: which of them counts depends on all others.
    """
    from pyspark.sql import functions as F

    counted = sizes.groupBy("trace").agg(*(F.sum(name).alias(name) for name in ("events", *reading.COUNTED)))
    traces, largest = counted.agg(F.count("*"), F.max("events")).collect()[0]
    found = Routes(traces)
    alone = slices is not None and traces <= 1
    if not traces or (largest < LARGE and not alone):
        return found
    for row in counted.where(f"events >= {0 if alone else LARGE}").orderBy("trace").collect():
        used = frozenset(name for name in reading.COUNTED if row[name])
        found._events[row.trace] = row.events
        why = [name for name in reading.ORDERING if name in used - SLICED]
        if 0 < row["lamport"] < row.events:
            why.append("lamport")
        if used >= DOUBTFUL:
            why.append("positions that the log does not have")
        if not why and row["name"] and _share_names(events, row.trace, traces > 1):
            why.append("names of several events")
        if why:
            found.give_up(row.trace, why)
        else:
            found.sliced[row.trace] = used
    return found


def _share_names(events: DataFrame, trace: str | None, several: bool) -> bool:
    """Whether two events of a trace, not merely two rows of one, have the same name."""
    from pyspark.sql import functions as F

    own = events.where(F.col("trace").eqNullSafe(F.lit(trace)))
    named = own.select(id_of(several).alias("id"), "process", "seq").distinct()
    return bool(named.groupBy("id").count().where("count > 1").limit(1).collect())
