"""What was answered with 200 is there after a kill at any moment, and is read."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

import pytest

from microcosm.traces.reading import read
from microcosm.traces.report import Report
from tests.collect.conftest import Collector
from tests.collect.test_collect import body, spans_in

KILLS = int(os.environ.get("MICROCOSM_KILLS", "5"))
"""How often; by hand more of them."""
SENDERS = 4


@pytest.mark.slow
def test_nothing_that_was_answered_is_lost(collector: Callable[..., Collector], tmp_path: Path) -> None:
    chance = random.Random(os.environ.get("MICROCOSM_SEED", "22"))
    acknowledged: list[int] = []
    number = 0
    for life in range(KILLS):
        one = collector("--rotate-size", "0.01")
        stopped = threading.Event()

        def send(first: int, one: Collector = one, stopped: threading.Event = stopped) -> None:
            at = first
            while not stopped.is_set() and at < first + 10**6:
                try:
                    if one.post(body(at, at + 1))[0] == 200:
                        acknowledged.extend((at, at + 1))
                except (OSError, HTTPException):
                    return
                at += 2

        senders = [
            threading.Thread(target=send, args=(number + sender * 10**6 + 1,)) for sender in range(SENDERS)
        ]
        number += SENDERS * 10**6
        for sender in senders:
            sender.start()
        stopped.wait(chance.uniform(0.01, 0.5))
        one.process.send_signal(signal.SIGKILL)
        one.process.wait()
        stopped.set()
        for sender in senders:
            sender.join()
        one.stop()
        assert acknowledged or not life
    kept = spans_in(tmp_path / "spans")
    assert set(kept) >= {f"{each:016x}" for each in acknowledged}
    files = sorted(str(file) for file in (tmp_path / "spans").iterdir())
    report = Report()
    found = {event.attributes["span_id"] for event in read(files, report=report)}
    assert found >= set(kept)
    assert set(report.counts) <= {"bad-line"}
    assert report.counts["bad-line"] <= KILLS, "unfinished lines, of which nobody was told that they are kept"
