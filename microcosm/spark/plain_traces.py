"""Many plain traces at once, column by column: what `microcosm.traces.covering` finds of each.

Plain is a trace in which only processes and messages order, whose positions count from 1 without a hole, and
whose messages are each sent by one event and received by the processes that they were meant for, or not at
all. Then names are numbers, and the vectors of all processes of all traces of a batch go one reception
further with each round of array operations. Every other trace is told to be such, and left to the code for
one trace. No Spark here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from microcosm.spark import events as rows
from microcosm.traces.event import SENDS

if TYPE_CHECKING:
    import pyarrow as pa

EDGES = "trace string, left string, relation string, right string, source string"
FRONTIERS = "trace string, process string, last string, knows map<string,long>"
ODD = f"trace string, file string, line long, {rows.REPORTED}"

WIDEST = 64
"""Processes of a plain trace, at most: each vector has room for those of the widest one."""

OTHERS = ("name", "clock", "lamport", "earliest", "after")
"""Columns that order too, or name events; of a plain trace they are null."""

_KINDS = {kind: number for number, kind in enumerate((*SENDS, *SENDS.values()))}
_HALF = len(SENDS)


@dataclass(frozen=True, slots=True)
class Plain:
    """Batches of `EDGES`, `FRONTIERS` and `ODD`, and where each trace begins and ends that is not plain."""

    edges: pa.RecordBatch
    frontiers: pa.RecordBatch
    odd: pa.RecordBatch
    others: list[tuple[int, int]]


def plain(table: pa.Table, several: bool) -> Plain:
    """What is found of the traces in a table, the events of each of which stand together.

    Columns: `trace process seq kind message to file line`, of which `to` may be missing, `chosen` and those
    of `OTHERS`. `several` puts the trace before names. Cost: some sorting of the events, and a few array
    operations for each step of the longest chain of messages.
    """
    return _Traces(table, several).found()


def bounds(table: pa.Table) -> Any:
    """Where traces begin in a table, and at last its length."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not table.num_rows:
        return np.zeros(1, dtype=np.int64)
    trace = pc.fill_null(_array(table.column("trace")), "\0none")
    changes = pc.not_equal(trace[1:], trace[:-1]) if len(trace) > 1 else pa.array([], pa.bool_())
    ends = np.flatnonzero(changes.to_numpy(zero_copy_only=False)) + 1
    return np.concatenate(([0], ends, [table.num_rows]))


class _Traces:
    """Events in the order of their processes: `at` are their rows, `own` numbers processes of all traces."""

    def __init__(self, table: pa.Table, several: bool) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self._several = several
        self._bounds = bounds(table)
        count = table.num_rows
        traces = len(self._bounds) - 1
        of = np.repeat(np.arange(traces), np.diff(self._bounds))
        fit = np.ones(traces, dtype=bool)
        for name in OTHERS:
            if name in table.column_names:
                used = pc.is_valid(_array(table.column(name))).to_numpy(zero_copy_only=False)
                fit[of[used]] = False
        if "chosen" in table.column_names:
            fit[of[_array(table.column("chosen")).to_numpy(zero_copy_only=False)]] = False
        words = _array(table.column("process")).dictionary_encode()
        width = max(1, len(words.dictionary))
        keys = of * width + words.indices.to_numpy()
        seq = _array(table.column("seq")).to_numpy()
        at = np.lexsort((seq, keys))
        keys, seq = keys[at], seq[at]
        begins = np.concatenate(([True], keys[1:] != keys[:-1])) if count else np.zeros(0, dtype=bool)
        own = np.cumsum(begins) - 1
        first = np.flatnonzero(begins)
        self._size = np.diff(np.append(first, count))
        fit[of[at][seq != np.arange(count) - first[own] + 1]] = False
        self._trace = (keys // width)[first]
        """The trace of each process."""
        lowest = np.searchsorted(self._trace, np.arange(traces))
        self._place = np.arange(len(first)) - lowest[self._trace]
        fit[np.bincount(self._trace, minlength=traces) > WIDEST] = False
        self._own, self._seq, self._first, self._fit = own, seq, first, fit
        self._table = table.take(pa.array(at))
        name = _array(self._table.column("process")).take(pa.array(first))
        trace = _array(self._table.column("trace")).take(pa.array(first))
        self._process, self._of = name, trace
        self._full = self._with_trace(trace, name)
        number = pc.cast(pa.array(seq), pa.string())
        self._short = pc.binary_join_element_wise(name.take(pa.array(own)), number, ":")
        self._id = self._short
        if self._full is not name:
            self._id = pc.binary_join_element_wise(self._full.take(pa.array(own)), number, ":")

    def _with_trace(self, trace: pa.Array, name: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        if not self._several or trace.null_count == len(trace):
            return name
        return pc.coalesce(pc.binary_join_element_wise(trace, name, "/"), name)

    def found(self) -> Plain:
        sending, reception = self._messages()
        vectors = self._vectors(sending, reception)
        chosen = self._fit[self._trace]
        odd = self._odd()
        others = [
            (int(self._bounds[at]), int(self._bounds[at + 1])) for at in np.flatnonzero(~self._fit).tolist()
        ]
        kept = self._fits(reception) & (self._is_first(reception) | (reception != sending + 1))
        edges = self._edges(sending[kept], reception[kept])
        return Plain(edges, self._frontiers(vectors, np.flatnonzero(chosen)), odd, others)

    def _fits(self, events: Any) -> Any:
        fits: Any = self._fit[self._trace[self._own[events]]]
        return fits

    def _is_first(self, events: Any) -> Any:
        return self._seq[events] == 1

    def _messages(self) -> tuple[Any, Any]:
        """The pairs of sending and reception; traces with others than these are not plain."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kinds = pc.fill_null(pc.index_in(_array(self._table.column("kind")), pa.array(_KINDS)), -1)
        kind = kinds.to_numpy(zero_copy_only=False)
        named = _array(self._table.column("message"))
        has = pc.is_valid(named).to_numpy(zero_copy_only=False)
        self._meets = (kind >= 0) & has
        self._refuse(np.flatnonzero((kind >= 0) & ~has))
        ends = np.flatnonzero(self._meets)
        words = named.take(pa.array(ends)).dictionary_encode()
        width = max(1, len(words.dictionary))
        kind = kind[ends]
        level = kind % _HALF
        whole = self._trace[self._own[ends]] * width + words.indices.to_numpy()
        key = whole * _HALF + level
        order = np.lexsort((kind, key))  # a sending first
        ends, kind, key, whole = ends[order], kind[order], key[order], whole[order]
        starts = np.flatnonzero(np.concatenate((key[:1] >= 0, key[1:] != key[:-1])))
        group = np.cumsum(np.concatenate((key[:1] >= 0, key[1:] != key[:-1]))) - 1
        sends = np.bincount(group[kind < _HALF], minlength=len(starts))
        counts = np.diff(np.append(starts, len(ends)))
        self._refuse(ends[starts[sends > 1]])
        alone = sends == 0
        # A reception without a sending may answer one of the other level.
        both = np.zeros(len(starts), dtype=bool)
        same = whole[starts][1:] == whole[starts][:-1]
        both[1:] |= same
        both[:-1] |= same
        self._refuse(ends[starts[alone & both]])
        sending = np.repeat(ends[starts], counts)[kind >= _HALF]
        reception = ends[kind >= _HALF]
        matched = ~alone[group[kind >= _HALF]]
        self._unmatched = reception[~matched]
        self._unreceived = ends[starts[(counts == 1) & ~alone]]
        sending, reception = sending[matched], reception[matched]
        self._check_receivers(sending, reception)
        return sending, reception

    def _check_receivers(self, sending: Any, reception: Any) -> None:
        """No process receives a message twice, or before it sends it, or one that was not sent to it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        key = sending * (len(self._first) + 1) + self._own[reception]
        order = np.argsort(key, kind="stable")
        self._refuse(reception[order][1:][key[order][1:] == key[order][:-1]])
        same = self._own[sending] == self._own[reception]
        self._refuse(reception[same & (reception < sending)])
        if "to" not in self._table.column_names:
            return
        to = _array(self._table.column("to"))
        many = pc.fill_null(pc.list_value_length(to), 0).to_numpy(zero_copy_only=False)
        if not many.any():
            return
        meant = np.flatnonzero(many * self._meets)
        lists = to.take(pa.array(meant))
        whose = meant[pc.list_parent_indices(lists).to_numpy()]
        named = pc.list_flatten(lists)
        told = many[sending] > 0
        answered = np.zeros(len(many), dtype=bool)
        answered[sending] = True
        there, at = sending[told], self._own[reception[told]]
        words = pa.concat_arrays([named, self._process.take(pa.array(at))]).dictionary_encode()
        width = max(1, len(words.dictionary))
        codes = words.indices.to_numpy(zero_copy_only=False)
        self._refuse(whose[np.isnan(codes)[: len(whose)]] if words.null_count else whose[:0])
        codes = np.nan_to_num(codes).astype(np.int64)
        one = whose * width + codes[: len(whose)]
        other = there * width + codes[len(whose) :]
        self._refuse(whose[~np.isin(one, other) & answered[whose]])
        self._refuse(there[~np.isin(other, one)])

    def _refuse(self, events: Any) -> None:
        self._fit[self._trace[self._own[events]]] = False

    def _vectors(self, sending: Any, reception: Any) -> Any:
        """What every process knew of the others at its end; traces with cycles are not plain."""
        kept = self._fits(reception) & (self._own[sending] != self._own[reception])
        order = np.argsort(reception[kept], kind="stable")  # by process, and in its order
        sending, reception = sending[kept][order], reception[kept][order]
        processes = len(self._first)
        plain = self._fit[self._trace]
        width = int(self._place[plain].max(initial=0)) + 1
        count = len(reception)
        starts = np.searchsorted(reception, self._first)
        ends = np.append(starts[1:], count)
        needs = np.searchsorted(reception, sending, "right") - 1
        source = self._own[sending]
        needs[needs < starts[source]] = count  # nothing was received before
        place, sent = self._place[source], self._seq[sending]
        vectors = np.zeros((count + 1, width), dtype=np.int64)
        known = np.zeros((processes, width), dtype=np.int64)
        done = np.zeros(count + 1, dtype=bool)
        done[count] = True
        cursor = starts.copy()
        active = np.flatnonzero(starts < ends)
        while len(active):
            next_ = cursor[active]
            ready = done[needs[next_]]
            if not ready.any():
                self._fit[self._trace[active]] = False
                break
            going, now = active[ready], next_[ready]
            found = np.maximum(known[going], vectors[needs[now]])
            lines = np.arange(len(now))
            found[lines, place[now]] = np.maximum(found[lines, place[now]], sent[now])
            vectors[now] = known[going] = found
            done[now] = True
            cursor[going] += 1
            active = active[cursor[active] < ends[active]]
        known[np.flatnonzero(plain), self._place[plain]] = self._size[plain]
        return known

    def _edges(self, sending: Any, reception: Any) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        later = np.ones(len(self._own), dtype=bool)
        later[self._first] = False
        later &= self._fits(slice(None))
        after = np.flatnonzero(later)
        by_process = pc.binary_join_element_wise("process", self._full, " ")
        message = _array(self._table.column("message")).take(pa.array(reception))
        trace = _array(self._table.column("trace"))
        by_message = pc.binary_join_element_wise(
            "message", self._with_trace(trace.take(pa.array(reception)), message), " "
        )
        left = self._id.take(pa.array(np.concatenate((after - 1, sending))))
        right = np.concatenate((after, reception))
        source = pa.concat_arrays([by_process.take(pa.array(self._own[after])), by_message])
        columns = [trace.take(pa.array(right)), left, pa.repeat(pa.scalar("<"), len(right))]
        columns += [self._id.take(pa.array(right)), source]
        return pa.RecordBatch.from_arrays(columns, schema=rows.arrow_schema(EDGES))

    def _frontiers(self, known: Any, chosen: Any) -> pa.RecordBatch:
        import pyarrow as pa

        last = (self._first + self._size - 1)[chosen]
        base = chosen - self._place[chosen]
        # Processes of a trace stand in the order in which they were met: `knows` is sorted by name.
        rank = self._by_name()
        line, place = np.nonzero(known[chosen])
        other = base[line] + place
        order = np.lexsort((rank[other], line))
        line, place, other = line[order], place[order], other[order]
        offsets = np.searchsorted(line, np.arange(len(chosen) + 1)).astype(np.int32)
        seqs = pa.array(known[chosen[line], place]) if len(line) else pa.array([], pa.int64())
        knows = pa.MapArray.from_arrays(pa.array(offsets), self._process.take(pa.array(other)), seqs)
        chosen_ = pa.array(chosen)
        columns = [self._of.take(chosen_), self._process.take(chosen_), self._id.take(pa.array(last)), knows]
        return pa.RecordBatch.from_arrays(columns, schema=rows.arrow_schema(FRONTIERS))

    def _by_name(self) -> Any:
        """The rank of each process by its name."""
        import pyarrow.compute as pc

        rank = np.empty(len(self._process), dtype=np.int64)
        rank[pc.sort_indices(self._process).to_numpy()] = np.arange(len(rank))
        return rank

    def _odd(self) -> pa.RecordBatch:
        """Messages of which an end is missing, and events that nothing relates to another."""
        import pyarrow as pa
        import pyarrow.compute as pc

        lonely = self._first[(self._size == 1) & ~self._meets[self._first]]
        batches = []
        for kind, events in (
            ("unreceived-send", self._unreceived),
            ("unmatched-receive", self._unmatched),
            ("isolated-event", lonely),
        ):
            at = pa.array(events[self._fits(events)])
            name = self._id.take(at)
            if kind == "isolated-event":
                said = pc.binary_join_element_wise(name, "nothing relates it to another event", ": ")
            else:
                message = _array(self._table.column("message")).take(at)
                what = "reception" if kind == "unreceived-send" else "sending"
                whose = pc.binary_join_element_wise(f"the {what} of", message, " ")
                if kind == "unreceived-send" and "to" in self._table.column_names:
                    to = pc.binary_join(_array(self._table.column("to")).take(at), ", ")
                    whose = pc.coalesce(pc.binary_join_element_wise(whose, to, " by "), whose)
                told = pc.binary_join_element_wise(whose, "is not in the log", " ")
                short = self._short.take(at)
                said = pc.binary_join_element_wise(short, told, ": ")
            count = len(at)
            columns = [_array(self._table.column(each)).take(at) for each in ("trace", "file", "line")]
            columns += [pa.repeat(pa.scalar(kind), count), said]
            columns += [pa.repeat(pa.scalar(1), count), pa.repeat(pa.scalar(0), count)]
            batches.append(pa.RecordBatch.from_arrays(columns, schema=rows.arrow_schema(ODD)))
        return pa.concat_batches(batches)


def _array(column: Any) -> Any:
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def whole_traces(batches: Iterator[pa.RecordBatch], events: int) -> Iterator[pa.Table]:
    """Tables of whole traces with at least so many events, but for the last; traces stand together."""
    import pyarrow as pa

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
