"""The messages of many plain traces at once: which event sends what another receives, and who learns of what.

No Spark here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from microcosm.spark.extract.plain_events import PlainEvents
from microcosm.traces.event import MESSAGE_KINDS, SENDS

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
    import pyarrow as pa
    import pyarrow.compute as pc

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
    import pyarrow as pa
    import pyarrow.compute as pc

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
