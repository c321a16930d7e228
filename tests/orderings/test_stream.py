"""An execution watched as it happens: the same violations as of the whole log, in bounded memory."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from microcosm.cli.commands.order_input import communication
from microcosm.orderings.ordering import Ordering, Unfit, Watch
from microcosm.orderings.verdicts import classify
from tests.orderings.test_logs import written
from tests.traces.logs import read_text


def test_what_is_watched_is_what_the_whole_log_says() -> None:
    """Of messages with several receivers, repeated receptions and messages to oneself."""
    multicasts = 0
    for seed in range(300):
        events, report = read_text(written(Random(seed)))
        computation, order = communication(events, "<test>", "application", report)
        watch, unfit = Watch(100), Counter[str]()
        for event in events:
            try:
                if event.kind == "send":
                    watch.send(event.process, str(event.message), event.to)
                else:
                    watch.receive(event.process, str(event.message))
            except Unfit as fault:
                unfit[fault.kind] += 1
        verdicts = classify(computation, order)
        assert watch.violated.keys() == {one for one in Ordering if not verdicts[one].execution}, seed
        assert watch.received == sum(map(len, computation.receptions)), seed
        multicasts += computation.multicast
        kinds = ("self-send", "duplicate-receive", "unmatched-receive", "wrong-receiver")
        assert sum(unfit.values()) == sum(report.counts.get(kind, 0) for kind in kinds), seed
    assert multicasts > 50


def test_a_multicast_is_in_transit_until_the_last_receiver_has_it() -> None:
    watch = Watch(1)
    for message in "abc":
        watch.send("p", message, ["q", "p", "r", "q"])
        watch.receive("q", message)
        with pytest.raises(Unfit) as again:
            watch.receive("q", message)
        assert again.value.kind == "duplicate-receive"
        watch.receive("r", message)
        with pytest.raises(Unfit) as late:
            watch.receive("r", message)
        assert late.value.kind == "unmatched-receive"
    assert (watch.sent, watch.received, watch.forgotten, watch.violated) == (3, 6, 0, {})
    watch.send("p", "d", ["q", "r"])
    watch.receive("r", "d")
    with pytest.raises(Unfit) as stray:
        watch.receive("s", "d")
    assert stray.value.kind == "wrong-receiver"
    watch.send("p", "e")
    assert watch.forgotten == 1


def test_each_reception_of_a_multicast_counts() -> None:
    """By whom it was sent, who has it and in which order: the late copy breaks what the early one kept."""
    watch = Watch(10)
    watch.send("p", "a", ["q", "r"])
    assert watch.receive("r", "a") == []
    watch.send("r", "b", ["q"])
    assert watch.receive("q", "b") == []
    late = {Ordering.RSC, Ordering.FIFO_N_N, Ordering.FIFO_N_1, Ordering.CAUSAL}
    assert set(watch.receive("q", "a")) == late
    assert {watch.violated[one] for one in late} == {("a", "b")}
