"""What reference/traces.md says of the orderings of real logs is what `microcosm order` says of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from microcosm.cli.app import main
from microcosm.traces import reading as formats
from tests.traces.logs import REAL

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="no collection of real logs beside the checkout")

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "traces.md"

ROWS: dict[str, dict[str, int]] = {
    "etcd_raft/*": {"etcd-raft, 3,312 lines": 1},
    "csight_peterson/*": {"Peterson's leader election, run 1 of 5": 1, "the same, runs 2 to 5": 4},
    "csight_2pc/*": {"two-phase commit, 5 transactions": 1},
    "tla_ndjson/*": {"TLA+, an unstable network": 1},
    "mpi_tit/*": {"MPI, a barrier": 1, "MPI, two other logs": 2},
    "erlang_concuerror/preemption*": {"Concuerror, preemption: all 4 interleavings": 4},
    "erlang_concuerror/receive_deps*": {
        "Concuerror, receive dependencies: 6 of 36": 6,
        "the same: the other 30": 30,
    },
    "erlang_concuerror/system*": {"Concuerror, delayed delivery: 2 of 4": 2, "the same: the other 2": 2},
}
"""Of the logs of a name the rows of the table that tell of them, and of how many executions each does."""


def table() -> dict[str, tuple[str, ...]]:
    """The cells of each row of the page."""
    text = PAGE.read_text(encoding="utf-8").partition("## What orderings real logs keep")[2]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    return {name.strip(): tuple(cell.strip() for cell in cells) for name, *cells in rows}


def classified(log: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, ...]]:
    """The cells that the command finds for each execution of a log."""
    executions = dict.fromkeys(event.trace for event in formats.read([log]))
    found = []
    for execution in executions:
        chosen = [] if len(executions) == 1 or execution is None else ["--trace", execution]
        assert main(["order", str(log), *chosen, "--json"]) == 0
        orderings = json.loads(capsys.readouterr().out)["orderings"]
        said = [[told[of] for of in ("execution", "closure", "interior")] for told in orderings.values()]
        found.append(tuple("".join("–" if each is None else "✗✓"[each] for each in cell) for cell in said))
    return found


def test_every_row_of_the_page_is_told_of() -> None:
    assert list(table()) == [row for rows in ROWS.values() for row in rows]


@pytest.mark.parametrize("logs", ROWS)
def test_the_orderings_that_a_log_keeps_are_those_of_the_page(
    logs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = table()
    expected = Counter({page[row]: count for row, count in ROWS[logs].items()})
    assert Counter(cells for log in sorted(REAL.glob(logs)) for cells in classified(log, capsys)) == expected
