"""Claim: no command takes longer than linear in a log, and the commands on one file cost about the same.

Logs of 16 processes that send to one another, as own lines, ShiViz text with vector times, OTLP spans, the
`.mc` of the own lines, and a folder with the file of a recorder for each process; of each size a process of
its own runs each command, and beside its time by the clock stands what it took of the processor, and the most
memory. The ratio is to `repl` up to its first answer of the same file. "Slope" is the exponent between the
two largest sizes: 1 is linear. `table` is read up to 100,000 pairs; of one request of 65,536 events, deep and
wide, the verdicts are counted. DuckDB and polars read the own lines and write the covering edges, those of
processes and of messages, as Parquet; they check nothing and say nothing of what is odd.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from math import log
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from benchmarks import reading
from benchmarks.measure import Line

NAME = "commands"
PROCESSES = 16
NAMES = 7
"""Of spans."""

REPL = "repl, to the first answer"
TABLE = "table, the first 100,000 pairs"
FIRST_PAIRS = 100_000

DUCKDB = """
import duckdb, sys
log, out = sys.argv[1:]
duckdb.sql(f'''
    copy (
        with events as (select process, seq, kind, message from read_json('{log}',
            format = 'newline_delimited',
            columns = {{process: 'VARCHAR', seq: 'BIGINT', kind: 'VARCHAR', message: 'VARCHAR'}}))
        select process, lag(seq) over (partition by process order by seq) as before,
            process as to_process, seq
        from events qualify before is not null
        union all
        select s.process, s.seq, r.process, r.seq from events s join events r using (message)
        where s.kind = 'send' and r.kind = 'receive'
    ) to '{out}' (format parquet)''')
"""
POLARS = """
import polars as pl, sys
log, out = sys.argv[1:]
kinds = {"process": pl.String, "seq": pl.Int64, "kind": pl.String, "message": pl.String}
events = pl.read_ndjson(log, schema=kinds)
own = events.sort("process", "seq").select(
    "process", before=pl.col("seq").shift(1).over("process"), to_process="process", seq="seq"
).drop_nulls()
sent, received = (events.filter(pl.col("kind") == kind) for kind in ("send", "receive"))
pairs = sent.join(received, on="message").select(
    "process", before="seq", to_process="process_right", seq="seq_right"
)
pl.concat([own, pairs]).write_parquet(out)
"""
PEERS = {"duckdb": DUCKDB, "polars": POLARS}


ENDINGS = {"own lines": "jsonl", "ShiViz": "log", "OTLP": "json", ".mc": "mc", "recorded": "files"}
"""The forms of a log, and the endings of their files; of what is recorded, of the folder."""

OWN, SHIVIZ, OTLP, MC, RECORDED = ENDINGS

REQUEST = 65_536
"""Events of one request."""

LIMIT = 100.0
"""So many seconds a command may take: one that would take longer is not run on the next larger log."""


class Run(NamedTuple):
    """What it took to run a program once: seconds of the clock and of the processor, the kernel's included,
    and megabytes at most; its exit code.
    """

    seconds: float
    processor: float
    megabytes: float
    code: int


def run(quick: bool = False) -> list[Line]:
    """Sizes a factor of a hundred apart, and then of ten, of events."""
    sizes = (1_000,) if quick else (1_000, 100_000, 1_000_000)
    lines: list[Line] = []
    spent: dict[tuple[str, str], list[float]] = {}
    with TemporaryDirectory() as folder:
        for size in sizes:
            files = logs(Path(folder), size)
            for form, path in files.items():
                runs = _all(form, path, size, 1 if quick or size > 10_000 else 3, spent)
                ours = next((first for first, *_ in runs.values()), 1.0)
                for subject, (seconds, processor, megabytes, count) in runs.items():
                    spent.setdefault((form, subject), []).append(seconds)
                    case = f"{form}, {size:,} events, {_bytes(path) / 1e6:.1f} MB"
                    slope = _slope(spent[form, subject], sizes)
                    told = f"{subject} ({processor:.1f} s of the processor, {megabytes:,.0f} MB{slope})"
                    lines.append(Line(NAME, case, told, seconds, seconds / ours, count))
        if not quick:
            path = _one_request(Path(folder))
            found = once([sys.executable, "-m", "microcosm", "table", str(path)], "")
            told = f"table, counted ({found.processor:.1f} s of the processor, {found.megabytes:,.0f} MB)"
            lines.append(Line(NAME, f"OTLP, one request of {REQUEST:,} events", told, found.seconds, 1.0, 1))
    return lines


def _bytes(path: Path) -> int:
    """The size of a file, or of those in a folder."""
    return sum(each.stat().st_size for each in (path.iterdir() if path.is_dir() else [path]))


def _one_request(folder: Path) -> Path:
    """A request in which each span is begun by one of the twenty before it."""
    chance, path = Random(1), folder / "request.json"
    with path.open("w", encoding="utf-8") as stream:
        for first in range(0, REQUEST // 2, 64):
            spans = [
                _span(0, at, max(0, at - chance.randrange(1, 21)) if at else None)
                for at in range(first, first + 64)
            ]
            stream.write(json.dumps({"resourceSpans": [_resource("s0", spans)]}) + "\n")
    return path


def _slope(seconds: list[float], sizes: Sequence[int]) -> str:
    """What is said of the exponent between the two largest sizes."""
    if len(seconds) < max(2, len(sizes)):
        return ""
    return f"; slope {log(seconds[-1] / seconds[-2]) / log(sizes[-1] / sizes[-2]):.2f}"


def _all(
    form: str, path: Path, size: int, rounds: int, spent: dict[tuple[str, str], list[float]]
) -> dict[str, tuple[float, float, float, int]]:
    """The median seconds, of the clock and of the processor, and the most megabytes of each command on a log,
    by turns, and how often it ran.
    """
    runs: dict[str, list[Run]] = {}
    for _ in range(rounds):
        for subject, (command, said) in commands(form, path, size).items():
            if spent.get((form, subject), [0.0])[-1] < LIMIT / 10:
                runs.setdefault(subject, []).append(once(command, said, stop=subject == TABLE))
    for subject, found in runs.items():
        assert all(each.code in (0, 1, 3) for each in found), (form, subject, found)
    return {
        subject: (
            median(each.seconds for each in found),
            median(each.processor for each in found),
            max(each.megabytes for each in found),
            len(found),
        )
        for subject, found in runs.items()
    }


def commands(form: str, path: Path, size: int) -> dict[str, tuple[list[str], str]]:
    """What is run on a log: the command, and what it is told on standard input."""
    asked = _asked(form, size)
    told = {
        REPL: (["repl", str(path)], '"{}" < "{}"?\n'.format(*asked)),
        "online": (["online", str(path), *asked], ""),
        "offline": (["offline", str(path), *asked], ""),
        "possible": (["possible", str(path), *asked], ""),
        TABLE: (["table", "--all", str(path)], ""),
        "check": (["check", str(path)], ""),
    }
    if form != MC:
        told["extract"] = (["extract", str(path), "-o", str(path.with_suffix(".out"))], "")
    if form in (OWN, SHIVIZ):  # spans are no messages
        told["order"] = (["order", str(path)], "")
    found = {
        subject: ([sys.executable, "-m", "microcosm", *command, "--warnings", "none"], said)
        for subject, (command, said) in told.items()
    }
    if form == OWN:
        out = str(path.with_suffix(".parquet"))
        for peer, program in PEERS.items():
            if find_spec(peer) is not None:
                found[f"covering edges, {peer}"] = ([sys.executable, "-c", program, str(path), out], "")
            else:
                print(f"without {peer}", file=sys.stderr)
    return found


def _asked(form: str, size: int) -> list[str]:
    """Two events from the middle of a log."""
    if form == OTLP:
        at = max(1, size // 4 // PROCESSES // NAMES)
        return [f"s0.call 0#{at}", f"s1.call 3#{at}"]
    return [f"p0:{size // 2 // PROCESSES}", f"p1:{size // 2 // PROCESSES - 1}"]


def once(command: list[str], said: str, *, stop: bool = False) -> Run:
    """Run a program to its end, or with `stop` to the first pairs that it prints."""
    began = perf_counter()
    output = subprocess.PIPE if stop else subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        process.stdin.write(said.encode())
        process.stdin.close()
        if process.stdout is not None:
            for _ in islice(process.stdout, FIRST_PAIRS):
                pass
            process.stdout.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = 0 if stop else os.waitstatus_to_exitcode(status)
    seconds = perf_counter() - began
    return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, process.returncode)


def logs(folder: Path, size: int) -> dict[str, Path]:
    """A log in each form, and the `.mc` of the first."""
    run = [*reading.steps(size, processes=PROCESSES)]
    written = {OWN: _own(run), SHIVIZ: reading.WRITTEN["shiviz"](run), OTLP: _otlp(run)}
    found = {form: folder / f"{size}.{ending}" for form, ending in ENDINGS.items()}
    for form, lines in written.items():
        with found[form].open("w", encoding="utf-8") as stream:
            stream.writelines(lines)
    found[RECORDED].mkdir()
    for process in range(PROCESSES):
        own = (step for step in run if step.process == process)
        (found[RECORDED] / f"p{process}.jsonl").write_text("".join(map(_recorded, own)), encoding="utf-8")
    command = [sys.executable, "-m", "microcosm", "extract", str(found[OWN]), "-o", str(found[MC]), "-q"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return found


def _own(run: list[reading.Step]) -> Iterator[str]:
    for step in run:
        own = {"process": f"p{step.process}", "seq": step.clock[step.process], "kind": step.kind}
        yield json.dumps({**own, "message": f"m{step.message}"}) + "\n"


def _recorded(step: reading.Step) -> str:
    """A line as a recorder writes it, which has a time of day and a text."""
    seq = step.clock[step.process]
    said = {"process": f"p{step.process}", "seq": seq, "life": f"life-{step.process:03}", "kind": step.kind}
    told = {"message": f"m{step.message}", "label": f"{step.kind} {seq % NAMES}"}
    times = {"attributes": {"time": 1.8e9 + seq / 1000}}
    return json.dumps({**said, **told, **times}, separators=(",", ":")) + "\n"


def _otlp(run: list[reading.Step]) -> Iterator[str]:
    """Requests of ten spans, two events each, as a collector writes them: a line for every five of them."""
    for first in range(0, len(run) // 2, 50):
        yield json.dumps({"resourceSpans": [_service(at) for at in range(first, first + 50, 10)]}) + "\n"


def _service(first: int) -> dict[str, object]:
    """A request: the first span is its root, each other one is called by an earlier one."""
    spans = [
        _span(first, at, first + (at - first) // 2 if at > first else None) for at in range(first, first + 10)
    ]
    return _resource(f"s{first // 10 % PROCESSES}", spans)


def _span(first: int, at: int, parent: int | None) -> dict[str, object]:
    """A span of the request that begins with the first one."""
    ids = {"traceId": f"{first + 1:032x}", "spanId": f"{at + 1:016x}"}
    above = {} if parent is None else {"parentSpanId": f"{parent + 1:016x}"}
    times = {
        "startTimeUnixNano": str(10**18 + at * 1000),
        "endTimeUnixNano": str(10**18 + (at + 30) * 1000),
    }
    return {**ids, **above, "name": f"call {at % NAMES}", **times}


def _resource(service: str, spans: list[dict[str, object]]) -> dict[str, object]:
    """The spans of a service."""
    name = {"key": "service.name", "value": {"stringValue": service}}
    return {"resource": {"attributes": [name]}, "scopeSpans": [{"spans": spans}]}
