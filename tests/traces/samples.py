"""Small realistic logs of every format, with the order that truly held: for tests that damage them.

A log is made of records, each of which leaves a fixed number of events. What is known of it is which
events came before which, whatever names a reader gives to them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from microcosm.traces.event import TraceEvent
from microcosm.traces.formats.jsonl import event_stated, line_of


@dataclass
class Sample:
    """A log. `header` stands before the records and is never damaged; `separator` between two executions.

    `past[i]` are the events before event i, as bits; record r has the events `each * r` and those after
    it. `process[r]` is who wrote record r. `shuffles`: the format allows records in any order, within a
    process (`order`) or at all. `binary` makes what is written of the text.
    """

    format: str
    records: list[str]
    past: list[int]
    process: list[str]
    header: str = ""
    footer: str = ""
    each: int = 1
    shuffles: bool = False
    separator: str | None = None
    binary: Callable[[str], bytes] = str.encode
    pattern: str | None = None


@dataclass
class _Step:
    process: int
    kind: str
    clock: list[int]
    past: int
    message: int = -1
    peer: int = 0
    content: str = ""


@dataclass
class _World:
    """Processes that send to one another; `fifo`: nothing overtakes on a channel of equal contents."""

    steps: list[_Step] = field(default_factory=list)

    @staticmethod
    def run(
        seed: int,
        size: int = 60,
        processes: int = 4,
        ticks: Iterable[str] = ("send", "receive", "internal"),
        internal: bool = True,
        contents: int = 1000,
    ) -> _World:
        random = Random(seed)
        world = _World()
        clocks = [[0] * processes for _ in range(processes)]
        pasts = [0] * processes
        flying: list[int] = []
        ticking = set(ticks)
        while len(world.steps) < size:
            at, who = len(world.steps), random.randrange(processes)
            mine = [m for m in flying if world.steps[m].peer == who]
            what = random.choice(("send", "receive", "receive", "internal" if internal else "send"))
            if what == "receive" and not mine:
                continue
            step = _Step(who, what, [], pasts[who])
            if what == "send":
                step.message, step.peer = at, random.choice([p for p in range(processes) if p != who])
                step.content = f"c{random.randrange(contents)}"
                flying.append(at)
            elif what == "receive":
                step.message = mine[0]
                sent = world.steps[step.message]
                flying.remove(step.message)
                step.peer, step.content = sent.process, sent.content
                step.past |= sent.past | 1 << step.message
                clocks[who] = [*map(max, clocks[who], sent.clock)]
            if what in ticking:
                clocks[who][who] += 1
            step.clock = [*clocks[who]]
            pasts[who] = step.past | 1 << at
            world.steps.append(step)
        return world

    @property
    def past(self) -> list[int]:
        return [step.past for step in self.steps]

    @property
    def process(self) -> list[str]:
        return [str(step.process) for step in self.steps]

    def sample(self, format: str, record: Callable[[int, _Step], str], **more: object) -> Sample:
        records = [record(at, step) for at, step in enumerate(self.steps)]
        return Sample(format, records, self.past, self.process, **more)  # type: ignore[arg-type]


def _named(clock: list[int]) -> dict[str, int]:
    return {f"p{at}": value for at, value in enumerate(clock) if value}


def jsonl(seed: int, size: int = 60) -> Sample:
    return _own("jsonl", seed, size, clocks=bool(seed % 2))


def parquet(seed: int, size: int = 60) -> Sample:
    from io import BytesIO

    from microcosm.traces.formats import parquet as columns

    def encoded(text: str) -> bytes:
        out = BytesIO()
        columns.write((event_stated(json.loads(line), "", 0) for line in text.splitlines()), out)
        return out.getvalue()

    sample = _own("parquet", seed, size, clocks=bool(seed % 2))
    sample.binary = encoded
    return sample


def bare_lines(seed: int, size: int = 60) -> Sample:
    """The own format with nothing said that may be left out."""

    def record(at: int, step: _Step) -> str:
        said: dict[str, object] = {
            "process": f"p{step.process}",
            "trace": f"run {seed}",
            "label": f"step {at}",
        }
        if step.kind != "internal":
            said["message"] = f"m{step.message}"
        if step.kind == "send":
            said["to"] = [f"p{step.peer}"]
        return json.dumps(said) + "\n"

    return _World.run(seed, size).sample("jsonl", record, separator="")


def _own(format: str, seed: int, size: int, clocks: bool) -> Sample:
    counts: dict[int, int] = {}

    def record(at: int, step: _Step) -> str:
        counts[step.process] = counts.get(step.process, 0) + 1
        event = TraceEvent(
            f"p{step.process}",
            counts[step.process],
            step.kind,
            f"m{step.message}" if step.kind != "internal" else None,
            (f"p{step.peer}",) if step.kind == "send" else (),
            _named(step.clock) if clocks else None,
            label=f"step {at}",
            trace=f"run {seed}",
        )
        return line_of(event)

    ticks = ("send", "receive", "internal") if seed % 3 else ("send",)
    return _World.run(seed, size, ticks=ticks).sample(format, record, shuffles=True, separator="")


def shiviz(seed: int, size: int = 60) -> Sample:
    def record(at: int, step: _Step) -> str:
        return f"step {seed}.{at}\np{step.process} {json.dumps(_named(step.clock))}\n"

    return _World.run(seed, size).sample("shiviz", record, shuffles=True, separator=f"=== run {seed} ===\n")


def akka(seed: int, size: int = 60) -> Sample:
    def record(at: int, step: _Step) -> str:
        return f"[INFO] [app/p{step.process}] {json.dumps(_named(step.clock))} step {seed}.{at}\n"

    sample = _World.run(seed, size).sample("shiviz", record, shuffles=True, separator=f"=== run {seed} ===\n")
    return sample


def csight(seed: int, size: int = 60) -> Sample:
    def record(at: int, step: _Step) -> str:
        clock = ",".join(map(str, step.clock))
        if step.kind == "internal":
            return f"{step.process} {clock} relay {at}\n"
        word = "send" if step.kind == "send" else "recv"
        return f"{step.process} {clock} {word} 1 {step.peer} {step.message}\n"

    world = _World.run(seed, size, ticks=("send", "receive") if seed % 2 else ("send", "receive", "internal"))
    return world.sample("csight", record, separator="--\n")


def csight_channels(seed: int, size: int = 60) -> Sample:
    def record(at: int, step: _Step) -> str:
        sends = step.kind == "send"
        ends = (step.process, step.peer) if sends else (step.peer, step.process)
        clock = ",".join(map(str, step.clock))
        return f"{clock} c{ends[0]}{ends[1]}{'!' if sends else '?'}{step.content}\n"

    ends = "".join(f"# c{a}{b} = p{a}->p{b}\n" for a in range(3) for b in range(3) if a != b)
    header = "".join(f"# index {p}: p{p}\n" for p in range(3)) + ends
    world = _World.run(seed, size, processes=3, internal=False, contents=4)
    return world.sample("csight_channels", record, header=header, separator="--\n")


def tlc(seed: int, size: int = 60) -> Sample:
    def record(at: int, step: _Step) -> str:
        packet: dict[str, object] = {"vc": {str(p): value for p, value in enumerate(step.clock)}}
        if step.kind != "internal":
            ends = (step.process, step.peer) if step.kind == "send" else (step.peer, step.process)
            packet.update(snd=ends[0], rcv=ends[1], msg={"type": step.content})
        what = {"send": ">", "receive": "<", "internal": "d"}[step.kind]
        return json.dumps({"event": what, "node": step.process, "pkt": packet}) + "\n"

    return _World.run(seed, size, contents=4).sample("tlc", record, shuffles=True)


def tlc_states(seed: int, size: int = 60) -> Sample:
    def record(at: int, step: _Step) -> str:
        clock = json.dumps(json.dumps({f"n{p}": value for p, value in enumerate(step.clock)}))
        state = f"State {at + 2}: <{step.kind.title()}{seed} line {at}, col 3 of module M>"
        return f"{state}\n/\\ Host = n{step.process}\n/\\ Clock = {clock}\n/\\ x = {at}\n\n"

    return _World.run(seed, size).sample(
        "tlc", record, header="TLC2 Version 2.16\n", shuffles=True, separator=f"=== run {seed} ===\n"
    )


def etcd(seed: int, size: int = 60) -> Sample:
    random = Random(seed)
    at = [0.0]

    def record(index: int, step: _Step) -> str:
        at[0] += random.random()
        name = {"send": "SendAppendEntriesRequest", "receive": "ReceiveAppendEntriesRequest"}.get(step.kind)
        event: dict[str, object] = {"name": name or "Commit", "nid": str(step.process)}
        if step.kind != "internal":
            ends = (step.process, step.peer) if step.kind == "send" else (step.peer, step.process)
            event["msg"] = {
                "type": "MsgApp",
                "from": str(ends[0]),
                "to": str(ends[1]),
                "term": 1,
                "index": step.content,
            }
        return json.dumps({"tag": "trace", "ts": at[0], "event": event}) + "\n"

    return _World.run(seed, size, contents=8).sample("etcd", record)


def mpi(seed: int, size: int = 60) -> Sample:
    """Ranks that compute, exchange, and meet at a barrier now and then."""
    random = Random(seed)
    ranks = 3
    records: list[str] = []
    past: list[int] = []
    process: list[str] = []
    last = [0] * ranks
    met: list[int] | None = None

    def add(rank: int, text: str, more: int = 0) -> int:
        at = len(records)
        records.append(f"{rank} {text}\n")
        process.append(str(rank))
        past.append(last[rank] | more)
        last[rank] = past[at] | 1 << at
        return at

    for _ in range(size // 15):
        for _ in range(random.randrange(2, 6)):
            a, b = random.sample(range(ranks), 2)
            tag = random.randrange(2)
            sending = add(a, f"isend {b} {tag} 1e6")
            add(random.randrange(ranks), f"compute {random.randrange(9)}e6")
            add(b, f"recv {a} {tag} 1e6", past[sending] | 1 << sending)
        met = [add(rank, "barrier") for rank in range(ranks)]
        everything = 0
        for at in met:
            everything |= past[at] | 1 << at
        for rank in range(ranks):
            last[rank] |= everything
    for rank in range(ranks):
        add(rank, "finalize")
    return Sample("mpi", records, past, process)


def csight_2pc(seed: int, size: int = 60) -> Sample:
    """A manager and replicas: a line is a sending and, at once, its reception."""
    random = Random(seed)
    records: list[str] = []
    past: list[int] = []
    process: list[str] = []
    last: dict[str, int] = {}

    def say(sender: str, receiver: str, what: str, transaction: int) -> None:
        records.append(f"{sender}, {receiver}, {what}, {transaction}\n")
        process.append(sender)
        at = len(past)
        past.append(last.get(sender, 0))
        last[sender] = past[at] | 1 << at
        past.append(last.get(receiver, 0) | last[sender])
        last[receiver] = past[at + 1] | 1 << at + 1

    replicas = ("0", "1", "2")
    for transaction in range(size // 15):
        for what in ("tx_prepare", "vote", "tx_commit", "ack"):
            for replica in random.sample(replicas, 3):
                ends = ("TM", replica) if what.startswith("tx") else (replica, "TM")
                say(*ends, what, transaction)
    return Sample("csight_2pc", records, past, process, each=2)


def dag(seed: int, size: int = 60) -> Sample:
    random = Random(seed)
    records, past = [], []
    count = size // 2
    names = [f"{seed}{at:07x}" for at in range(count)]
    for at in range(count):
        parents = random.sample(range(max(0, at - 5), at), min(at, random.choice((1, 1, 1, 2))))
        records.append(f"{names[at]}\t{' '.join(names[p] for p in parents)}\n")
        past.append(0)
        for parent in parents:
            past[at] |= past[parent] | 1 << parent
    process = ["x"] * count
    return Sample("dag", records, past, process, header="commit\tparents\n", shuffles=True, separator="")


def crdt(seed: int, size: int = 60) -> Sample:
    """An editing history; its transactions are numbered by place."""
    sample = dag(seed, size)
    numbers = {line.split("\t")[0]: at for at, line in enumerate(sample.records)}
    records = []
    for line in sample.records:
        parents = [numbers[name] for name in line.strip().split("\t")[1:] for name in name.split()]
        records.append(json.dumps({"parents": parents, "agent": 0}) + ",\n")
    return Sample(
        "dag",
        records,
        sample.past,
        sample.process,
        header='{"kind":"concurrent","endContent":"","txns":[\n',
        footer="null]}\n",
        separator="",
    )


@dataclass
class _Span:
    trace: str
    id: str
    parent: str
    service: str
    kind: str
    start: int
    end: int
    shared: bool = False


def _spans(seed: int, size: int, shared: bool = False) -> tuple[list[_Span], list[int]]:
    """Trees of spans, each the child of another; with `shared` calls have two halves."""
    random = Random(seed)
    spans: list[_Span] = []
    past: list[int] = []
    starts: dict[str, int] = {}
    for trace in range(size // 20):
        first = len(spans)
        for at in range(12):
            above = random.randrange(first, len(spans)) if at else -1
            start = 10 * len(spans) + 1000
            service = f"s{random.randrange(3)}"
            parent = spans[above].id if at else ""
            if shared and at and random.random() < 0.5 and spans[above].kind != "SERVER":
                # the server's half of a call that was begun by the span above
                above_span = spans[above]
                if not any(s.shared and s.id == above_span.id for s in spans):
                    kind, service = "SERVER", f"{above_span.service}x"
                    span = _Span(
                        f"t{seed}.{trace}",
                        above_span.id,
                        above_span.parent,
                        service,
                        kind,
                        start,
                        start + 5,
                        True,
                    )
                    spans.append(span)
                    before = starts[f"{above}"]
                    past += [before | 1 << 2 * above, 0]
                    past[-1] = past[-2] | 1 << len(past) - 2
                    starts[f"{len(spans) - 1}"] = past[-2]
                    continue
            while shared and at and spans[above].kind == "SERVER":
                above = random.randrange(first, len(spans))
                parent = spans[above].id
            spans.append(
                _Span(
                    f"t{seed}.{trace}", f"{seed}{len(spans):04x}", parent, service, "CLIENT", start, start + 5
                )
            )
            before = starts[f"{above}"] | 1 << 2 * above if at else 0
            past += [before, 0]
            past[-1] = past[-2] | 1 << len(past) - 2
            starts[f"{len(spans) - 1}"] = before
    return spans, past


def zipkin(seed: int, size: int = 60) -> Sample:
    spans, past = _spans(seed, size, shared=True)
    records = []
    for span in spans:
        record = {
            "traceId": span.trace,
            "id": span.id,
            "kind": span.kind,
            "timestamp": span.start,
            "duration": span.end - span.start,
            "localEndpoint": {"serviceName": span.service},
        }
        if span.parent:
            record["parentId"] = span.parent
        if span.shared:
            record["shared"] = True
        records.append(json.dumps(record) + "\n")
    return _of_spans("zipkin", records, past, spans)


def jaeger(seed: int, size: int = 60) -> Sample:
    spans, past = _spans(seed, size)
    records = []
    for span in spans:
        references = [{"refType": "CHILD_OF", "traceID": span.trace, "spanID": span.parent}]
        one = {
            "traceID": span.trace,
            "spanID": span.id,
            "operationName": "op",
            "references": references if span.parent else [],
            "startTime": span.start,
            "duration": span.end - span.start,
            "processID": "p1",
        }
        document = {"traceID": span.trace, "spans": [one], "processes": {"p1": {"serviceName": span.service}}}
        records.append(json.dumps({"data": [document]}) + "\n")
    return _of_spans("jaeger", records, past, spans)


def otlp(seed: int, size: int = 60) -> Sample:
    spans, past = _spans(seed, size)
    records = []
    for span in spans:
        one = {
            "traceId": span.trace,
            "spanId": span.id,
            "parentSpanId": span.parent,
            "name": "op",
            "startTimeUnixNano": str(span.start),
            "endTimeUnixNano": str(span.end),
        }
        service = {"key": "service.name", "value": {"stringValue": span.service}}
        scoped = {"resource": {"attributes": [service]}, "scopeSpans": [{"spans": [one]}]}
        records.append(json.dumps({"resourceSpans": [scoped]}) + "\n")
    return _of_spans("otlp", records, past, spans)


def nezha(seed: int, size: int = 60) -> Sample:
    spans, past = _spans(seed, size)
    records = [
        f"{s.trace},{s.id},{s.parent or 'root'},{s.service},op,{s.start},{s.end},{s.end - s.start}\n"
        for s in spans
    ]
    sample = _of_spans("nezha", records, past, spans)
    sample.header = (
        "TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration\n"
    )
    return sample


def _of_spans(format: str, records: list[str], past: list[int], spans: list[_Span]) -> Sample:
    process = [span.service for span in spans]
    return Sample(format, records, past, process, each=2, shuffles=True, separator="")


def concuerror(seed: int, size: int = 60) -> Sample:
    """One interleaving: sendings, arrivals in mailboxes, receptions by content."""
    random = Random(seed)
    names = ("P", "P.1", "P.2")
    records: list[str] = []
    past: list[int] = []
    process: list[str] = []
    last: dict[str, int] = {}
    flying: list[tuple[str, str, str, int]] = []
    boxes: dict[str, list[tuple[str, int]]] = {name: [] for name in names}

    def add(who: str, text: str, more: int = 0) -> int:
        at = len(records)
        records.append(f"{at + 1:4}: {text}\n")
        process.append(who)
        past.append(last.get(who, 0) | more)
        last[who] = past[at] | 1 << at
        return at

    while len(records) < size:
        what = random.random()
        if what < 0.4 or (not flying and not any(boxes.values())):
            a, b = random.sample(names, 2)
            content = f"{{m,{random.randrange(5)}}}"
            flying.append((a, b, content, add(a, f"{a}: {content} = {b} ! {content}")))
        elif what < 0.7 and flying:
            a, b, content, sending = flying.pop(0)
            arrival = add(
                f"{b} mailbox", f"Message ({content}) from {a} reaches {b}", past[sending] | 1 << sending
            )
            boxes[b].append((content, arrival))
        else:
            owner = random.choice(names)
            if boxes[owner]:
                content, arrival = boxes[owner].pop(0)
                add(owner, f"{owner}: receives message ({content})", past[arrival] | 1 << arrival)
    header = (
        "Concuerror started with options:\n####\n" + f"Interleaving {seed}:\n" + "-" * 20 + "\nEvent trace:\n"
    )
    return Sample("concuerror", records, past, process, header=header)


def _clock(at: int) -> str:
    """A time of day, the later the further on."""
    return f"12:{at // 60:02}:{at % 60:02}.{at % 7}25"


def _when(at: int) -> str:
    return f"2024-05-01T{_clock(at)}Z"


MESSAGES = r"(?:(?<kind>send|recv) (?<message>\S+)(?: -> (?<to>\S+))? )?(?<event>.*)"


def plain(seed: int, size: int = 60) -> Sample:
    """Lines that a pattern describes, in which words say what is sent and received."""

    def record(at: int, step: _Step) -> str:
        said = {"send": f"send m{step.message} -> p{step.peer} ", "receive": f"recv m{step.message} "}
        return f"{_clock(at)} [p{step.process}] {said.get(step.kind, '')}step {seed}.{at}\n"

    pattern = r"(?<time>\S+) \[(?<host>\w+)\] " + MESSAGES
    return _World.run(seed, size).sample("plain", record, separator=f"=== run {seed} ===\n", pattern=pattern)


def logfmt(seed: int, size: int = 60) -> Sample:
    def record(at: int, step: _Step) -> str:
        said = {
            "send": f" message=m{step.message} to=p{step.peer}",
            "receive": f" message=m{step.message} kind=receive",
        }
        line = f'time={_when(at)} level=info msg="step {seed}.{at}" host=p{step.process}'
        return f"{line}{said.get(step.kind, '')}\n"

    return _World.run(seed, size).sample("logfmt", record, separator=f"=== run {seed} ===\n")


def columns(seed: int, size: int = 60) -> Sample:
    """Comma-separated values; half of the logs have positions."""
    counts: dict[int, int] = {}

    def record(at: int, step: _Step) -> str:
        counts[step.process] = counts.get(step.process, 0) + 1
        seq = counts[step.process] if seed % 2 else ""
        ends = (f"m{step.message}", f"p{step.peer}" if step.kind == "send" else "")
        said = ",".join(ends if step.kind != "internal" else ("", ""))
        return f'{_when(at)},p{step.process},"step {seed}, {at}",{step.kind},{said},{seq}\n'

    return _World.run(seed, size).sample(
        "csv", record, header="Time,Process,Label,Kind,Message,To,Seq\n", separator=f"=== run {seed} ===\n"
    )


def _lines(format: str, seed: int, size: int, processes: int, record: Callable[[int, int], str]) -> Sample:
    """Lines of some processes that tell of no message."""
    random = Random(seed)
    past: list[int] = []
    last = [0] * processes
    wrote = [random.randrange(processes) for _ in range(size // 2)]
    for at, who in enumerate(wrote):
        past.append(last[who])
        last[who] |= 1 << at
    records = [record(at, who) + "\n" for at, who in enumerate(wrote)]
    separator = f"=== run {seed} ===\n"
    return Sample(format, records, past, [*map(str, wrote)], separator=separator)


def structlog(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        return json.dumps(
            {"event": f"step {seed}.{at}", "level": "info", "timestamp": _when(at), "service": f"s{who}"}
        )

    return _lines("structlog", seed, size, 3, record)


def loguru(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        inner: dict[str, object] = {"message": f"step {seed}.{at}", "level": {"name": "INFO", "no": 20}}
        inner.update(time={"timestamp": 1e9 + at}, process={"id": 100 + who, "name": "MainProcess"}, extra={})
        return json.dumps({"text": "", "record": inner})

    return _lines("loguru", seed, size, 2, record)


def logging(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        return json.dumps(
            {"levelname": "INFO", "message": f"step {seed}.{at}", "asctime": _when(at), "hostname": f"h{who}"}
        )

    return _lines("logging", seed, size, 3, record)


def journald(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        entry = {"__CURSOR": f"i={at}", "__REALTIME_TIMESTAMP": str(10**15 + at), "_HOSTNAME": "web"}
        entry |= {
            "SYSLOG_IDENTIFIER": "sshd",
            "_PID": str(who + 1),
            "PRIORITY": "6",
            "MESSAGE": f"step {seed}.{at}",
        }
        return json.dumps(entry)

    return _lines("journald", seed, size, 3, record)


def docker(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        stream = ("stdout", "stderr")[who]
        return json.dumps({"log": f"step {seed}.{at}\n", "stream": stream, "time": _when(at)})

    return _lines("docker", seed, size, 2, record)


def cri(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        return f"{_when(at)} {('stdout', 'stderr')[who]} F step {seed}.{at}"

    return _lines("cri", seed, size, 2, record)


def klog(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        return f"I0501 {_clock(at)}000 {who + 1:7} leader.go:92] step {seed}.{at}"

    return _lines("klog", seed, size, 3, record)


def dated(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        return f"2024-05-01 {_clock(at)[:8]} [worker-{who + 1}] INFO app.Main - step {seed}.{at}"

    return _lines("dated", seed, size, 3, record)


def syslog(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        return f"May  1 {_clock(at)[:8]} web app[{who + 1}]: step {seed}.{at}"

    return _lines("syslog", seed, size, 3, record)


def syslog_new(seed: int, size: int = 60) -> Sample:
    def record(at: int, who: int) -> str:
        return f'<165>1 {_when(at)} web app {who + 1} ID47 [a@1 b="c"] step {seed}.{at}'

    return _lines("syslog", seed, size, 3, record)


def csight_bare(seed: int, size: int = 60) -> Sample:
    """CSight's lines without processes: every event ticks."""

    def record(at: int, step: _Step) -> str:
        word = {"send": f"send {step.message}", "receive": f"recv {step.message}"}.get(
            step.kind, f"relay {at}"
        )
        return f"{','.join(map(str, step.clock))} {word}\n"

    return _World.run(seed, size).sample("csight", record, separator="--\n")


def chrome(seed: int, size: int = 60) -> Sample:
    """Instants of threads, and flows between them."""

    def record(at: int, step: _Step) -> str:
        phase = {"send": "s", "receive": "f"}.get(step.kind, "i")
        said: dict[str, object] = {
            "name": "call",
            "ph": phase,
            "ts": 100 * seed + at,
            "pid": 1,
            "tid": step.process,
        }
        if step.kind != "internal":
            said.update(cat="rpc", id=f"{seed}.{step.message}", bp="e")
        return json.dumps(said) + ",\n"

    header, footer = '{"displayTimeUnit": "ns", "traceEvents": [\n', "{}]}\n"
    return _World.run(seed, size).sample("chrome", record, header=header, footer=footer, shuffles=True)


def console(seed: int, size: int = 60) -> Sample:
    """Spans as OpenTelemetry prints them, some over several lines."""
    spans, past = _spans(seed, size)
    records = []
    for at, span in enumerate(spans):
        context = {"trace_id": f"0x{span.trace}", "span_id": f"0x{span.id}", "trace_state": "[]"}
        one = {
            "name": "op",
            "context": context,
            "kind": "SpanKind.CLIENT",
            "parent_id": f"0x{span.parent}" if span.parent else None,
            "start_time": f"2024-05-01T12:{span.start // 60:02}:{span.start % 60:02}.000000Z",
            "end_time": f"2024-05-01T12:{span.end // 60:02}:{span.end % 60:02}.000000Z",
            "links": [],
            "resource": {"attributes": {"service.name": span.service}},
        }
        records.append(json.dumps(one, indent=4 if at % 2 else None) + "\n")
    return _of_spans("console", records, past, spans)


def jepsen(seed: int, size: int = 60) -> Sample:
    """Clients that do one thing after the other; each line that begins one is an event."""
    random = Random(seed)
    records: list[str] = []
    past: list[int] = []
    process: list[str] = []
    last = [0] * 3
    open_: dict[int, str] = {}
    while len(records) < size:
        who = random.randrange(3)
        at, ends = len(records), who in open_
        what = open_.pop(who) if ends else random.choice(("read", "write"))
        if not ends:
            open_[who] = what
        kind = ":ok" if ends else ":invoke"
        records.append(
            f"{{:process {who}, :type {kind}, :f :{what}, :value {at}, :time {at}00000000, :index {at}}}\n"
        )
        process.append(str(who))
        past.append(last[who])
        last[who] |= 1 << at
    return Sample("jepsen", records, past, process, separator="")


def jepsen_log(seed: int, size: int = 60) -> Sample:
    sample = jepsen(seed, size)
    for at, line in enumerate(sample.records):
        words = line.strip("{}\n").replace(",", "").split()
        sample.records[at] = f"INFO  jepsen.util - {words[1]}\t{words[3]}\t{words[5]}\t{words[7]}\n"
    return sample


def porcupine(seed: int, size: int = 60) -> Sample:
    """Operations, of which those of a client follow one another."""
    random = Random(seed)
    records, past, process = [], [], []
    last = [0] * 3
    for at in range(size // 2):
        who = random.randrange(3)
        call = 1000 * at
        one = {
            "ClientId": who,
            "Input": {"Op": 0},
            "Call": call,
            "Output": {"Value": at},
            "Return": call + 900,
        }
        records.append(json.dumps(one) + "\n")
        past.append(last[who])
        last[who] |= 1 << at
        process.append(str(who))
    return Sample("porcupine", records, past, process, shuffles=True)


SAMPLES: dict[str, Callable[..., Sample]] = {
    "akka": akka,
    "bare_lines": bare_lines,
    "chrome": chrome,
    "columns": columns,
    "concuerror": concuerror,
    "crdt": crdt,
    "console": console,
    "cri": cri,
    "csight": csight,
    "csight_bare": csight_bare,
    "csight_2pc": csight_2pc,
    "csight_channels": csight_channels,
    "dag": dag,
    "dated": dated,
    "docker": docker,
    "etcd": etcd,
    "jaeger": jaeger,
    "jepsen": jepsen,
    "jepsen_log": jepsen_log,
    "journald": journald,
    "jsonl": jsonl,
    "klog": klog,
    "logfmt": logfmt,
    "logging": logging,
    "loguru": loguru,
    "mpi": mpi,
    "nezha": nezha,
    "otlp": otlp,
    "parquet": parquet,
    "plain": plain,
    "porcupine": porcupine,
    "shiviz": shiviz,
    "structlog": structlog,
    "syslog": syslog,
    "syslog_new": syslog_new,
    "tlc": tlc,
    "tlc_states": tlc_states,
    "zipkin": zipkin,
}
