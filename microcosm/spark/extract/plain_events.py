"""Many plain traces as numbers: their events, who sends what another receives, and who learns of what.

A trace that turns out not to be plain (`microcosm.spark.extract.trace_kernel`) is refused and left to others.
No Spark here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microcosm.spark.io.events import in_traces
from microcosm.traces.event import MESSAGE_KINDS, SENDS

WIDEST = 64
"""Processes of a plain trace, at most: each vector has room for those of the widest one."""

OTHERS = ("name", "clock", "lamport", "earliest", "after")
"""Columns that order too, or name events; of a plain trace they are null."""


class PlainEvents:
    """Events in the order of their processes, of all traces: `own` numbers the process of each.

    By event: `own`, `seq` and `id`. By process: `first` event and `size`, `trace`
    (its number), `place` among the processes of the trace, name (`process`), `of` (the trace's name) and
    `full`, both names. By trace: `fit`, whether it is plain as far as is known, and `bounds`.
    """

    def __init__(self, table: pa.Table, several: bool) -> None:
        self._several = several
        self.bounds = ends = bounds(table)
        count = table.num_rows
        traces = len(ends) - 1
        of = np.repeat(np.arange(traces), np.diff(ends))
        fit = np.ones(traces, dtype=bool)
        for name in OTHERS:
            if name in table.column_names:
                used = pc.is_valid(one_array(table.column(name))).to_numpy(zero_copy_only=False)
                fit[of[used]] = False
        if "chosen" in table.column_names:
            fit[of[one_array(table.column("chosen")).to_numpy(zero_copy_only=False)]] = False
        words = one_array(table.column("process")).dictionary_encode()
        width = max(1, len(words.dictionary))
        keys = of * width + words.indices.to_numpy()
        seq = one_array(table.column("seq")).to_numpy()
        at = np.lexsort((seq, keys))
        keys, seq = keys[at], seq[at]
        begins = np.concatenate(([True], keys[1:] != keys[:-1])) if count else np.zeros(0, dtype=bool)
        own = np.cumsum(begins) - 1
        first = np.flatnonzero(begins)
        self.size = np.diff(np.append(first, count))
        fit[of[at][seq != np.arange(count) - first[own] + 1]] = False
        self.trace = (keys // width)[first]
        lowest = np.searchsorted(self.trace, np.arange(traces))
        self.place = np.arange(len(first)) - lowest[self.trace]
        fit[np.bincount(self.trace, minlength=traces) > WIDEST] = False
        self.own, self.seq, self.first, self.fit = own, seq, first, fit
        self._table, self._at = table, at
        self.process, self.of = self.column("process", first), self.column("trace", first)
        self.full = self.with_trace(self.of, self.process)
        self.id = self.named(self.full, slice(None))

    def column(self, name: str, events: Any) -> pa.Array:
        """What a column has of some events."""
        return one_array(self._table.column(name)).take(pa.array(self._at[events]))

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self._table.column_names

    def named(self, process: pa.Array, events: Any) -> pa.Array:
        """The names of some events, given those of processes."""
        number = pc.cast(pa.array(self.seq[events]), pa.string())
        return pc.binary_join_element_wise(process.take(pa.array(self.own[events])), number, ":")

    def with_trace(self, trace: pa.Array, name: pa.Array) -> pa.Array:
        """Names with those of their traces in front, where there are several traces."""
        return in_traces(trace, name) if self._several and trace.null_count < len(trace) else name

    def fits(self, events: Any) -> Any:
        """Which of some events are of plain traces."""
        fits: Any = self.fit[self.trace[self.own[events]]]
        return fits

    def refuse(self, events: Any) -> None:
        """The traces of these events are not plain."""
        self.fit[self.trace[self.own[events]]] = False


def whole_traces(batches: Iterator[pa.RecordBatch], events: int) -> Iterator[pa.Table]:
    """Tables of whole traces with at least so many events, but for the last; traces stand together."""
    kept: list[pa.RecordBatch] = []
    count, enough = 0, events
    for batch in batches:
        kept.append(batch)
        count += batch.num_rows
        if count < enough:
            continue
        table = pa.Table.from_batches(kept)
        last = int(bounds(table)[-2])
        if last:
            yield table.slice(0, last)
            kept, count, enough = table.slice(last).to_batches(), table.num_rows - last, events
        else:  # one long trace: the next look is when it has doubled
            enough = 2 * count
    if count:
        yield pa.Table.from_batches(kept)


def bounds(table: pa.Table) -> Any:
    """Where traces begin in a table, and at last its length."""
    if not table.num_rows:
        return np.zeros(1, dtype=np.int64)
    trace = pc.fill_null(one_array(table.column("trace")), "\0none")
    changes = pc.not_equal(trace[1:], trace[:-1]) if len(trace) > 1 else pa.array([], pa.bool_())
    ends = np.flatnonzero(changes.to_numpy(zero_copy_only=False)) + 1
    return np.concatenate(([0], ends, [table.num_rows]))


def one_array(column: Any) -> Any:
    """A column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


_HALF = len(SENDS)


@dataclass(frozen=True, slots=True)
class Messages:
    """Pairs of `sending` and `reception`, as numbers of events; sendings that are `unreceived` and receptions
    that are `unmatched`. `meets` says of each event whether it is an end of a message."""

    sending: Any
    reception: Any
    meets: Any
    unreceived: Any
    unmatched: Any


def messages(events: PlainEvents) -> Messages:
    """The messages of all traces; traces with others than such are refused.

    Each is sent by one event and received by the processes that it was meant for, or not at all.
    Cost: some sorting of the ends of messages.
    """
    kinds = pc.fill_null(pc.index_in(events.column("kind", slice(None)), pa.array(MESSAGE_KINDS)), -1)
    kind = kinds.to_numpy(zero_copy_only=False)
    named = events.column("message", slice(None))
    has = pc.is_valid(named).to_numpy(zero_copy_only=False)
    meets = (kind >= 0) & has
    events.refuse(np.flatnonzero((kind >= 0) & ~has))
    ends = np.flatnonzero(meets)
    words = named.take(pa.array(ends)).dictionary_encode()
    width = max(1, len(words.dictionary))
    kind = kind[ends]
    level = kind % _HALF
    whole = events.trace[events.own[ends]] * width + words.indices.to_numpy()
    key = whole * _HALF + level
    order = np.lexsort((kind, key))  # a sending first
    ends, kind, key, whole = ends[order], kind[order], key[order], whole[order]
    starts = np.flatnonzero(np.concatenate((key[:1] >= 0, key[1:] != key[:-1])))
    group = np.cumsum(np.concatenate((key[:1] >= 0, key[1:] != key[:-1]))) - 1
    sends = np.bincount(group[kind < _HALF], minlength=len(starts))
    counts = np.diff(np.append(starts, len(ends)))
    events.refuse(ends[starts[sends > 1]])
    alone = sends == 0
    # A reception without a sending may answer one of the other level.
    both = np.zeros(len(starts), dtype=bool)
    same = whole[starts][1:] == whole[starts][:-1]
    both[1:] |= same
    both[:-1] |= same
    events.refuse(ends[starts[alone & both]])
    sending = np.repeat(ends[starts], counts)[kind >= _HALF]
    reception = ends[kind >= _HALF]
    matched = ~alone[group[kind >= _HALF]]
    found = Messages(
        sending[matched],
        reception[matched],
        meets,
        ends[starts[(counts == 1) & ~alone]],
        reception[~matched],
    )
    _check_receivers(events, found)
    return found


def _check_receivers(events: PlainEvents, found: Messages) -> None:
    """No process receives a message twice, or before it sends it, or one that was not sent to it."""
    sending, reception = found.sending, found.reception
    key = sending * (len(events.first) + 1) + events.own[reception]
    order = np.argsort(key, kind="stable")
    events.refuse(reception[order][1:][key[order][1:] == key[order][:-1]])
    same = events.own[sending] == events.own[reception]
    events.refuse(reception[same & (reception < sending)])
    if not events.has("to"):
        return
    to = events.column("to", slice(None))
    many = pc.fill_null(pc.list_value_length(to), 0).to_numpy(zero_copy_only=False)
    if not many.any():
        return
    meant = np.flatnonzero(many * found.meets)
    lists = to.take(pa.array(meant))
    whose = meant[pc.list_parent_indices(lists).to_numpy()]
    named = pc.list_flatten(lists)
    told = many[sending] > 0
    answered = np.zeros(len(many), dtype=bool)
    answered[sending] = True
    there, at = sending[told], events.own[reception[told]]
    words = pa.concat_arrays([named, events.process.take(pa.array(at))]).dictionary_encode()
    width = max(1, len(words.dictionary))
    codes = words.indices.to_numpy(zero_copy_only=False)
    events.refuse(whose[np.isnan(codes)[: len(whose)]] if words.null_count else whose[:0])
    codes = np.nan_to_num(codes).astype(np.int64)
    one = whose * width + codes[: len(whose)]
    other = there * width + codes[len(whose) :]
    events.refuse(whose[~np.isin(one, other) & answered[whose]])
    events.refuse(there[~np.isin(other, one)])


def vectors(events: PlainEvents, sending: Any, reception: Any) -> Any:
    """What every process knew of the others of its trace at its end, given the messages.

    All traces go one reception further in each round.

    A row for each process: the highest position known of each process of its trace, by its `place`.
    Traces with messages on a cycle are refused. Cost: a few array operations for each step of the longest
    chain of messages.
    """
    kept = events.fits(reception) & (events.own[sending] != events.own[reception])
    order = np.argsort(reception[kept], kind="stable")  # by process, and in its order
    sending, reception = sending[kept][order], reception[kept][order]
    processes = len(events.first)
    plain = events.fit[events.trace]
    width = int(events.place[plain].max(initial=0)) + 1
    count = len(reception)
    starts = np.searchsorted(reception, events.first)
    ends = np.append(starts[1:], count)
    needs = np.searchsorted(reception, sending, "right") - 1
    source = events.own[sending]
    needs[needs < starts[source]] = count  # nothing was received before
    place, sent = events.place[source], events.seq[sending]
    received = np.zeros((count + 1, width), dtype=np.int64)
    known = np.zeros((processes, width), dtype=np.int64)
    done = np.zeros(count + 1, dtype=bool)
    done[count] = True
    cursor = starts.copy()
    active = np.flatnonzero(starts < ends)
    while len(active):
        next_ = cursor[active]
        ready = done[needs[next_]]
        if not ready.any():
            events.fit[events.trace[active]] = False
            break
        going, now = active[ready], next_[ready]
        found = np.maximum(known[going], received[needs[now]])
        lines = np.arange(len(now))
        found[lines, place[now]] = np.maximum(found[lines, place[now]], sent[now])
        received[now] = known[going] = found
        done[now] = True
        cursor[going] += 1
        active = active[cursor[active] < ends[active]]
    known[np.flatnonzero(plain), events.place[plain]] = events.size[plain]
    return known
