"""Claim: a log of any format is read in time that grows no faster than the log.

Logs of eight processes that send to one another, written in each format; what is measured is reading them
into a microcosm. "Slope" is the exponent between the smaller and the larger log: 1 is linear.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import log
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.measure import Line, paired
from microcosm.traces import reading as formats
from microcosm.traces.extract import extract

NAME = "reading"
PROCESSES = 8


class Step(NamedTuple):
    """One event: of which process, with whom, its message, what is sent, and its vector time."""

    process: int
    kind: str
    peer: int
    message: int
    clock: tuple[int, ...]


def run(quick: bool = False) -> list[Line]:
    """Sizes a factor of four apart, of events."""
    sizes = (250, 1_000) if quick else (25_000, 100_000)
    lines = []
    with TemporaryDirectory() as folder:
        for name, written in WRITTEN.items():
            seconds = []
            for size in sizes:
                path = Path(folder) / name
                path.write_text("".join(written([*steps(size)])), encoding="utf-8")
                subjects = {"read, and the microcosm": lambda p=path, f=name: read(p, f)}
                case = f"{name}, {size:,} events, {path.stat().st_size / 1e6:.1f} MB"
                found, _ = paired(NAME, case, subjects, rounds=1 if quick else 3)
                lines += found
                seconds.append(found[0].seconds)
            slope = log(seconds[1] / seconds[0]) / log(sizes[1] / sizes[0])
            lines[-1] = replace(lines[-1], case=f"{lines[-1].case} (slope {slope:.2f})")
    return lines


def read(path: Path, format: str) -> int:
    """How many events the microcosm of a log is about."""
    return extract(formats.read([path], format=format.split(maxsplit=1)[0])).events


def steps(size: int, seed: int = 1, processes: int = PROCESSES) -> Iterator[Step]:
    """A run of `size` events; some ten messages are on their way."""
    random = Random(seed)
    clocks = [[0] * processes for _ in range(processes)]
    flying: deque[Step] = deque()
    for at in range(size):
        if len(flying) > 10 or (flying and random.random() < 0.5):
            sent = flying.popleft()
            process = sent.peer
            clocks[process] = [*map(max, clocks[process], sent.clock)]
            step = Step(process, "receive", sent.process, sent.message, ())
        else:
            process, peer = random.sample(range(processes), 2)
            step = Step(process, "send", peer, at, ())
        clocks[process][process] += 1
        step = step._replace(clock=tuple(clocks[process]))
        if step.kind == "send":
            flying.append(step)
        yield step


def _jsonl(run: list[Step]) -> Iterator[str]:
    seqs = [0] * PROCESSES
    for step in run:
        seqs[step.process] += 1
        record = {"process": f"p{step.process}", "seq": seqs[step.process], "kind": step.kind}
        yield json.dumps({**record, "message": f"m{step.message}", "clock": _named(step.clock)}) + "\n"


def _shiviz(run: list[Step]) -> Iterator[str]:
    for step in run:
        yield f"{step.kind} {step.message}\np{step.process} {json.dumps(_named(step.clock))}\n"


def _csight(run: list[Step]) -> Iterator[str]:
    for step in run:
        word = "send" if step.kind == "send" else "recv"
        yield f"{step.process} {_counts(step)} {word} 1 {step.peer} {step.message}\n"


def _channels(run: list[Step]) -> Iterator[str]:
    for a in range(PROCESSES):
        yield f"# index {a}: p{a}\n"
        yield from (f"# c{a}{b} = p{a}->p{b}\n" for b in range(PROCESSES) if a != b)
    for step in run:
        a, b = _ends(step)
        yield f"{_counts(step)} c{a}{b}{'!' if step.kind == 'send' else '?'}m{step.message % 9}\n"


def _tlc(run: list[Step]) -> Iterator[str]:
    for step in run:
        a, b = _ends(step)
        packet = {"snd": a, "rcv": b, "msg": {"type": "pl"}}
        packet["vc"] = {str(process): count for process, count in enumerate(step.clock)}
        sign = ">" if step.kind == "send" else "<"
        yield json.dumps({"event": sign, "node": step.process, "pkt": packet}) + "\n"


def _states(run: list[Step]) -> Iterator[str]:
    for at, step in enumerate(run, 2):
        clock = json.dumps(json.dumps(_named(step.clock)))
        yield f"State {at}: <Step line 1>\n/\\ Host = p{step.process}\n/\\ Clock = {clock}\n\n"


def _etcd(run: list[Step]) -> Iterator[str]:
    for at, step in enumerate(run):
        a, b = _ends(step)
        message = {"type": "MsgApp", "from": str(a), "to": str(b), "term": 1, "index": step.message % 99}
        name = "SendAppendEntriesRequest" if step.kind == "send" else "ReceiveAppendEntriesRequest"
        event = {"name": name, "nid": str(step.process), "msg": message}
        yield json.dumps({"tag": "trace", "ts": float(at), "event": event}) + "\n"


def _mpi(run: list[Step]) -> Iterator[str]:
    for at, step in enumerate(run):
        yield f"{step.process} {'isend' if step.kind == 'send' else 'recv'} {step.peer} 0 1e6\n"
        if at % 100 == 99:
            yield from (f"{rank} barrier\n" for rank in range(PROCESSES))


def _2pc(run: list[Step]) -> Iterator[str]:
    for at in range(len(run) // 2):
        yield f"TM, {at % PROCESSES}, tx_prepare, {at // PROCESSES}\n"


def _dag(run: list[Step]) -> Iterator[str]:
    yield "commit\tparents\n"
    for at in range(len(run)):
        yield f"{at:08x}\t{f'{at - 1:08x}' if at else ''}{f' {at // 2:08x}' if at > 9 else ''}\n"


def _spans(run: list[Step]) -> Iterator[tuple[str, str, str | None, int]]:
    """The trace, the id, the parent and the start of a span for every two events."""
    for at in range(len(run) // 2):
        parent = None if at % 20 == 0 else f"{at - at % 20 + (at % 20) // 2:08x}"
        yield f"t{at // 20}", f"{at:08x}", parent, 1000 + at


def _nezha(run: list[Step]) -> Iterator[str]:
    yield "TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration\n"
    for trace, span, parent, start in _spans(run):
        yield f"{trace},{span},{parent or 'root'},pod,op,{start},{start + 5},5\n"


def _zipkin(run: list[Step]) -> Iterator[str]:
    spans = [
        {"traceId": trace, "id": span, "parentId": parent, "timestamp": start, "duration": 5}
        for trace, span, parent, start in _spans(run)
    ]
    yield json.dumps(spans)


def _jaeger(run: list[Step]) -> Iterator[str]:
    spans = [
        {"traceID": trace, "spanID": span, "parentSpanID": parent, "startTime": start, "duration": 5}
        for trace, span, parent, start in _spans(run)
    ]
    yield json.dumps({"data": [{"traceID": "t", "spans": spans, "processes": {}}]})


def _otlp(run: list[Step]) -> Iterator[str]:
    spans = [
        {"traceId": trace, "spanId": span, "parentSpanId": parent, "startTimeUnixNano": str(start)}
        for trace, span, parent, start in _spans(run)
    ]
    yield json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def _concuerror(run: list[Step]) -> Iterator[str]:
    yield "Concuerror started with options:\nInterleaving 1:\nEvent trace:\n"
    for at, step in enumerate(run, 1):
        a, b = _ends(step)
        if step.kind == "send":
            yield f"{at:4}: P.{a}: {step.message} = P.{b} ! {step.message}\n"
        else:
            yield f"{at:4}: Message ({step.message}) from P.{a} reaches P.{b}\n"


def _named(clock: tuple[int, ...]) -> dict[str, int]:
    return {f"p{process}": count for process, count in enumerate(clock)}


def _counts(step: Step) -> str:
    return ",".join(map(str, step.clock))


def _ends(step: Step) -> tuple[int, int]:
    """Who sends and who receives."""
    return (step.process, step.peer) if step.kind == "send" else (step.peer, step.process)


WRITTEN: dict[str, Callable[[list[Step]], Iterator[str]]] = {
    "concuerror": _concuerror,
    "csight": _csight,
    "csight_2pc": _2pc,
    "csight_channels": _channels,
    "dag": _dag,
    "etcd": _etcd,
    "jaeger": _jaeger,
    "jsonl": _jsonl,
    "mpi": _mpi,
    "nezha": _nezha,
    "otlp": _otlp,
    "shiviz": _shiviz,
    "tlc": _tlc,
    "tlc backwards": lambda run: reversed([*_tlc(run)]),
    "tlc states": _states,
    "zipkin": _zipkin,
}
