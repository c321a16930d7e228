"""Vector times of many plain traces at once: all go one reception further in each round. No Spark here."""

from __future__ import annotations

from typing import Any

import numpy as np

from microcosm.spark.extract.plain_events import PlainEvents


def vectors(events: PlainEvents, sending: Any, reception: Any) -> Any:
    """What every process knew of the others of its trace at its end, given the messages.

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
