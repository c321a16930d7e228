"""Whatever happens to a log, nothing is claimed that did not hold.

Every format, every damage that a log may suffer: what is extracted of a log that was cut, thinned,
shuffled, split, joined with another or doubled is part of what truly held, and never denies it.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.traces import damage
from tests.traces.damage import DAMAGES, Damage, false_claims, joined, of_one, of_two, read_pieces
from tests.traces.samples import SAMPLES

LINES_ARE_ORDER = {
    "concuerror", "crdt", "csight", "csight_2pc", "csight_channels", "etcd", "mpi",
}  # fmt: skip
"""Formats in which program order is that of the lines: shuffled they are another log."""

UNDETECTABLE: dict[str, set[Damage]] = {
    # Nothing in these but their lines: what is repeated or out of order is another program, rightly read.
    "mpi": {
        damage.split_backwards,
        damage.doubled,
        damage.doubled_as_files,
        damage.each_line_doubled,
        damage.thinned,
        damage.thinned_a_little,
        damage.head_cut,
    },
    "csight_2pc": {
        damage.split_backwards,
        damage.doubled,
        damage.doubled_as_files,
        damage.each_line_doubled,
    },
    "concuerror": {
        damage.split_in_order,
        damage.split_backwards,
        damage.split_by_process,
    },
    # Transactions are numbered by their place.
    "crdt": {
        damage.head_cut,
        damage.thinned,
        damage.thinned_a_little,
        damage.split_in_order,
        damage.split_backwards,
        damage.split_by_process,
        damage.each_line_doubled,
    },
}
"""What cannot be told from the log, and is assumed not to have happened (docs/traces.md)."""

WAITING = {"concuerror", "crdt", "csight_2pc", "csight_channels", "dag", "etcd", "mpi", "nezha", "zipkin"}
"""Formats whose readers are being mended."""


def cases() -> list[object]:
    found = []
    for name in sorted(SAMPLES):
        for done in DAMAGES:
            shuffles = done in (damage.shuffled, damage.shuffled_and_thinned)
            if done in UNDETECTABLE.get(name, ()) or (shuffles and name in LINES_ARE_ORDER):
                continue
            marks = [pytest.mark.xfail(strict=False)] if name in WAITING else []
            found.append(pytest.param(name, done, id=f"{name}-{done.__name__}", marks=marks))
    return found


@pytest.mark.parametrize(("name", "done"), cases())
def test_a_damaged_log_claims_nothing_false(name: str, done: Damage, tmp_path: Path) -> None:
    for seed in range(1, 9):
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
                if not separated and name in ("mpi", "csight_2pc"):
                    continue
                marks = [pytest.mark.xfail(strict=False)] if name in WAITING else []
                how = ("separated" if separated else "bare") + ("-files" if files else "")
                found.append(pytest.param(name, separated, files, id=f"{name}-{how}", marks=marks))
    return found


@pytest.mark.parametrize(("name", "separated", "files"), joints())
def test_two_executions_are_never_one(name: str, separated: bool, files: bool, tmp_path: Path) -> None:
    for seed in range(1, 9):
        one, other = SAMPLES[name](seed), SAMPLES[name](seed + 100)
        both, pieces = joined(one, other, separated, files)
        claims = read_pieces(both, pieces, tmp_path)
        assert [*false_claims(claims, both.past, of_two(one, other))] == []
