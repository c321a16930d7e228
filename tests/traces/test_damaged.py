"""Whatever happens to a log, nothing is claimed that did not hold.

Every format, every damage that a log may suffer: what is extracted of a log that was cut, thinned,
shuffled, split, joined with another or doubled is part of what truly held, and never denies it.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from random import Random

import pytest

from tests.thorough import draws
from tests.traces import damage
from tests.traces.damage import (
    DAMAGES,
    Damage,
    claimed_order,
    false_claims,
    joined,
    of_one,
    of_two,
    read_pieces,
)
from tests.traces.logs import REAL
from tests.traces.samples import SAMPLES, Sample

PLAIN = {
    "columns", "cri", "dated", "docker", "journald", "klog", "logfmt", "logging", "loguru", "plain",
    "structlog", "syslog", "syslog_new",
}  # fmt: skip
"""Plain logs: nothing but the order of lines, and times that order nothing."""

JOINED = PLAIN | {"jepsen_log", "porcupine", "chrome"}
"""What one file says of two executions cannot be told apart."""

LINES_ARE_ORDER = PLAIN | {
    "bare_lines", "concuerror", "crdt", "csight", "csight_2pc", "csight_bare", "csight_channels", "etcd",
    "jepsen", "jepsen_log", "mpi",
}  # fmt: skip
"""Formats in which program order is that of the lines: shuffled they are another log."""

UNDETECTABLE: dict[str, set[Damage]] = {
    # Nothing in these but their lines: what is repeated is another program, rightly read.
    "mpi": {damage.doubled, damage.each_line_doubled},
    "bare_lines": {damage.doubled, damage.each_line_doubled},
    "jepsen_log": {damage.doubled, damage.each_line_doubled},
    # Who acted is told by the lines before: a part of one line or two may be refused whole.
    "csight_bare": {damage.split_in_order, damage.split_backwards},
    # Transactions are numbered by their places in an array: one fewer or more shifts all behind it.
    "crdt": {
        damage.head_cut,
        damage.thinned,
        damage.thinned_a_little,
        damage.split_in_order,
        damage.split_backwards,
        damage.each_line_doubled,
    },
    **{name: {damage.each_line_doubled} for name in PLAIN},
}
"""What cannot be told from the log, and is assumed not to have happened (docs/reference/traces.md)."""


def cases() -> list[object]:
    found = []
    for name in sorted(SAMPLES):
        for done in DAMAGES:
            shuffles = done in (damage.shuffled, damage.shuffled_and_thinned)
            if done in UNDETECTABLE.get(name, ()) or (shuffles and name in LINES_ARE_ORDER):
                continue
            found.append(pytest.param(name, done, id=f"{name}-{done.__name__}"))
    return found


SEEDS = pytest.mark.parametrize(
    "seeds",
    [range(1, 2), pytest.param(range(2, 2 + draws(3, 38)), marks=pytest.mark.slow)],
    ids=["few", "many"],
)


@SEEDS
@pytest.mark.parametrize(("name", "done"), cases())
def test_a_damaged_log_claims_nothing_false(name: str, done: Damage, seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        sample = SAMPLES[name](seed)
        claims = read_pieces(sample, done(sample, Random(seed)), tmp_path)
        assert [*false_claims(claims, sample.past, of_one(sample))] == []


def joints() -> list[object]:
    found = []
    for name in sorted(SAMPLES):
        separator = SAMPLES[name](1).separator
        for separated in (False, True):
            for files in (False, True):
                if separated and (separator is None or not separator):
                    continue
                if not separated and (name in ("mpi", "csight_2pc") or (name in JOINED and not files)):
                    continue
                how = ("separated" if separated else "bare") + ("-files" if files else "")
                found.append(pytest.param(name, separated, files, id=f"{name}-{how}"))
    return found


@SEEDS
@pytest.mark.parametrize(("name", "separated", "files"), joints())
def test_two_executions_are_never_one(
    name: str, separated: bool, files: bool, seeds: range, tmp_path: Path
) -> None:
    for seed in seeds:
        one, other = SAMPLES[name](seed), SAMPLES[name](seed + 100)
        both, pieces = joined(one, other, separated, files)
        claims = read_pieces(both, pieces, tmp_path)
        assert [*false_claims(claims, both.past, of_two(one, other))] == []


def real_logs() -> list[object]:
    found = []
    for path in sorted(REAL.glob("*/*")) if REAL.is_dir() else ():
        name = REAL_FORMATS.get(path.parent.name)
        if name is not None:
            marks = [pytest.mark.slow] if path.stat().st_size > 30_000 else []
            found.append(pytest.param(name, path, id=path.name, marks=marks))
    return found


REAL_FORMATS = {
    "akka": "akka",
    "csight_2pc": "csight_2pc",
    "csight_channels": "csight_channels",
    "csight_peterson": "csight",
    "erlang_concuerror": "concuerror",
    "etcd_raft": "etcd",
    "git_dag": "dag",
    "jaeger_json": "jaeger",
    "mpi_tit": "mpi",
    "nezha_csv": "nezha",
    "shiviz": "shiviz",
    "tla_ndjson": "tlc",
    "tla_shiviz": "tlc_states",
    "tsviz": "shiviz",
    "zipkin_v2": "zipkin",
}
"""The folders of real logs and the samples that they are like."""


def divided(name: str, text: str) -> tuple[str, list[str]]:
    """The header of a log and its records."""
    if name == "tlc_states":
        head, *states = re.split(r"^(?=State \d+:)", text, flags=re.MULTILINE)
        return head, [state if state.endswith("\n") else f"{state}\n" for state in states]
    if name == "zipkin":
        return "", [json.dumps(span) + "\n" for span in json.loads(text)]
    if name == "jaeger":
        records, traces = [], json.loads(text)["data"]
        for trace in traces if type(traces) is list else [traces]:
            records += [json.dumps({"data": [{**trace, "spans": [span]}]}) + "\n" for span in trace["spans"]]
        return "", records
    lines = [f"{line}\n" for line in text.splitlines()]
    if name == "shiviz":
        record = re.compile(r"\S+ \{.*\}\s*")
        pattern = [lines.pop(0)] if "(?<" in lines[0] else []
        delimiter = [lines.pop(0)] if pattern and not record.fullmatch(lines[0]) and lines[0].strip() else []
        blank = [lines.pop(0) for _ in range(next(at for at, line in enumerate(lines) if line.strip()))]
        clock_first = record.fullmatch(lines[0]) is not None
        records = []
        whole = True
        for line in lines:
            clocked = record.fullmatch(line) is not None
            if whole or (clock_first and clocked):
                records.append(line)
            else:
                records[-1] += line
            whole = clocked and not clock_first
        return "".join([*pattern, *delimiter, *blank]), records
    count = {"dag": int("parents" in lines[0]), "nezha": 1, "tlc": 1}.get(name, 0)
    if name == "csight_channels":
        count = next(at for at, line in enumerate(lines) if line.startswith("####"))
    return "".join(lines[:count]), lines[count:]


@pytest.mark.parametrize(("name", "path"), real_logs())
def test_a_damaged_real_log_claims_nothing_that_the_whole_does_not(
    name: str, path: Path, tmp_path: Path
) -> None:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    header, records = divided(name, text)
    made = SAMPLES[name](1)
    each = made.each
    sample = Sample(made.format, records, [0] * each * len(records), ["x"] * len(records), header, each=each)
    undamaged = read_pieces(sample, [[*range(len(records))]], tmp_path)
    past = claimed_order(undamaged)
    sample.past = past + [0] * (len(sample.past) - len(past))
    for done in DAMAGES:
        shuffles = done in (damage.shuffled, damage.shuffled_and_thinned)
        if done in UNDETECTABLE.get(name, ()) or (shuffles and name in LINES_ARE_ORDER):
            continue
        if done is damage.split_by_process or (shuffles and text.count("\n===") > 0):
            continue  # who wrote a line is for the reader to say; a line between executions has its place
        for seed in range(draws(1, 2)):
            claims = read_pieces(sample, done(sample, Random(seed)), tmp_path)
            assert [*false_claims(claims, sample.past, of_one(sample))][:3] == [], done.__name__
