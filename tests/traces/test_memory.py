"""What an event costs in memory does not depend on how many there are."""

from __future__ import annotations

import gc
import tracemalloc
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from microcosm.traces import reading
from microcosm.traces.extract import microcosm_of_logs
from tests.thorough import draws
from tests.traces.samples import SAMPLES

FEW, TIMES = 400, 4
FORMATS = ("jsonl", "shiviz", "csight", "etcd", "logfmt", "plain", "dag")
OWN = {
    "plain": '{{"process": "p{p}", "seq": {seq}, "kind": "internal"}}\n',
    "labels": '{{"process": "p{p}", "seq": {seq}, "kind": "internal", "label": "step {at}"}}\n',
    "attributes": '{{"process": "p{p}", "seq": {seq}, "kind": "internal", "attributes": {{"at": {at}}}}}\n',
}


def peak(do: Callable[[], object]) -> int:
    """The most bytes that were in use at once; what is loaded once, must have been."""
    gc.collect()
    tracemalloc.start()
    try:
        do()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def own(path: Path, kind: str, events: int) -> Path:
    lines = [OWN[kind].format(p=at % 8, seq=at // 8 + 1, at=at) for at in range(events)]
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.mark.parametrize("kind", sorted(OWN))
def test_an_event_of_the_own_format_costs_the_same_in_a_larger_log(kind: str, tmp_path: Path) -> None:
    few, many = (own(tmp_path / f"{n}.jsonl", kind, n) for n in (FEW * TIMES, FEW * TIMES * TIMES))
    microcosm_of_logs([few])
    small, large = (peak(partial(microcosm_of_logs, [path])) for path in (few, many))
    assert large < 1.15 * TIMES * small


@pytest.mark.parametrize("name", FORMATS[:: draws(3, 1)])
def test_an_event_of_another_format_costs_the_same_in_a_larger_log(name: str, tmp_path: Path) -> None:
    def log(size: int) -> Path:
        sample = SAMPLES[name](1, size)
        path = tmp_path / f"{size}.log"
        path.write_bytes(sample.binary(sample.header + "".join(sample.records) + sample.footer))
        return path

    sample = SAMPLES[name](1, 1)
    form, pattern = (None, sample.pattern) if sample.pattern is not None else (sample.format, None)

    def read(path: Path) -> None:
        deque(reading.read([path], form, pattern), maxlen=0)

    def made(path: Path) -> None:
        microcosm_of_logs([path], format=form, pattern=pattern)

    few, many = log(FEW), log(FEW * TIMES)
    for do in (read, made):
        do(few)
        small, large = (peak(partial(do, path)) for path in (few, many))
        assert large < 1.15 * TIMES * small
