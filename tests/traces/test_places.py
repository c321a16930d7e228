"""Each event that comes out of a log leads back to its file and line, and what stands there speaks of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from microcosm.errors import TraceError
from microcosm.givens.event_table import EventRow
from microcosm.traces.extract import microcosm_of_logs
from tests.traces.logs import REAL
from tests.traces.samples import SAMPLES

EXAMPLES = Path(__file__).parents[2] / "examples"
WINDOW = 12
"""A record may begin in the line, and have its words in one of the next ones."""
LARGEST = 4_000_000


def words_of(row: EventRow) -> list[str]:
    """What a log must say of an event where it stands: its label, or else who did it, or anything of it."""
    said = [row.label or "", row.process.rpartition("/")[2], row.name.rpartition("/")[2], row.message or ""]
    said += [str(value) for value in row.attributes.values()]
    return [max(re.findall(r"\w+", text), key=len, default="") for text in said]


def speaks_of(text: str, row: EventRow) -> bool:
    words = words_of(row)
    if row.label is not None and words[0] and words[0] in text:
        return True
    return any(word and word in text for word in words[1:])


def held(path: Path, **how: str) -> int:
    """Of every event the place speaks of it; how many events there are."""
    events = microcosm_of_logs([path], **how).givens.events  # type: ignore[arg-type]
    assert events is not None
    lines = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for row in events:
        assert row.file == str(path), row
        assert 1 <= row.line <= len(lines), row
        text = "\n".join(lines[row.line - 1 : row.line - 1 + WINDOW])
        assert speaks_of(text, row), (row, text[:300])
        assert events.row(row.name) == row
    assert len({*events.names}) == len(events)
    return len(events)


ENDINGS = {"jsonl": ".jsonl", "mpi": ".txt"}


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"parquet"}))
def test_every_event_of_a_sample_leads_back(name: str, tmp_path: Path) -> None:
    """Of every format but the one that has no lines."""
    sample = SAMPLES[name](1)
    path = tmp_path / f"log{ENDINGS.get(sample.format, '.log')}"
    path.write_bytes(sample.binary(sample.header + "".join(sample.records) + sample.footer))
    how = {"format": sample.format} if sample.pattern is None else {"pattern": sample.pattern}
    assert held(path, **how)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("**/*.jsonl")), ids=lambda path: path.name)
def test_every_event_of_an_example_leads_back(path: Path) -> None:
    assert held(path)


REAL_LOGS = (
    sorted(path for path in REAL.glob("*/*") if path.stat().st_size < LARGEST) if REAL.is_dir() else []
)


@pytest.mark.skipif(not REAL_LOGS, reason="no collection of real logs beside the checkout")
@pytest.mark.parametrize("path", REAL_LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_event_of_a_real_log_leads_back(path: Path) -> None:
    try:
        assert held(path)
    except TraceError:
        pytest.skip("is read with a pattern only")
