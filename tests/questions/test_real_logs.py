"""Questions that say something true about real systems, and what comes out; skipped where the logs are
not.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from microcosm import Microcosm
from microcosm.questions.reader import read_questions
from microcosm.state.opening import verify
from tests.traces.logs import REAL

ASKED = Path(__file__).parent / "real"

SAID = {
    "peterson": ("csight_peterson/peterson_trace-n5-1-s1.txt", ["holds", "holds", "holds", "holds"]),
    "2pc": ("csight_2pc/2pc_3nodes_5tx.log", ["holds", "holds", "holds", "open"]),
    "raft": ("etcd_raft/example_l1_3312.ndjson", ["holds", "holds", "holds", "holds"]),
    "lock": ("tsviz/tsviz_fslock_24t_4sp.log", ["holds", "holds"]),
    "broadcast": ("akka/reliable-broadcast.log", ["holds", "holds", "holds", "violated"]),
    "facebook": ("shiviz/facebook.log", ["violated", "holds"]),
    "ewd998": ("tla_shiviz/ewd998_exec78.log", ["holds", "violated"]),
    "chord": ("shiviz/chord.log", ["holds", "holds"]),
    "tcp": ("csight_channels/po_tcp_log.txt", ["holds", "holds", "holds"]),
    "mpi": ("mpi_tit/actions_barrier.txt", ["holds", "open"]),
}


@pytest.mark.parametrize("name", SAID)
def test_what_comes_out(name: str) -> None:
    file, verdicts = SAID[name]
    if not (REAL / file).exists():
        pytest.skip("the real logs are not here")
    log = Microcosm.read(REAL / file)
    answers = log.assert_(read_questions((ASKED / f"{name}.ask").read_text(), f"{name}.ask"))  # noqa: PT009
    told = [(answer.verdict, answer.counts, answer.question.text) for answer in answers]
    assert [verdict for verdict, *_ in told] == verdicts, told
    assert not any(answer.vacuous for answer in answers)
    for answer in answers:
        for witness in answer.witnesses[:1]:
            for atom in witness.atoms:
                if atom.derivation is not None:
                    assert verify(log, atom.derivation).valid


def test_two_values_by_hand() -> None:
    """The counts on two logs, by vector clocks compared by hand."""
    file = REAL / "tsviz/tsviz_fslock_24t_4sp.log"
    if not file.exists():
        pytest.skip("the real logs are not here")
    log = Microcosm.read(file)
    clocks, table = log.givens.clocks, log.givens.events
    assert table is not None
    taken = [row.name for row in table if row.label and "Exiting 0x18e45b8__wt_fs_lock" in row.label]

    def before(a: str, b: str) -> bool:
        one, other = clocks[a].entries, clocks[b].entries
        return one != other and all(other.get(p, 0) >= n for p, n in one.items())

    pairs = [(a, b) for i, a in enumerate(taken) for b in taken[i + 1 :]]
    by_hand = Counter("true" if before(a, b) or before(b, a) else "false" for a, b in pairs)
    (answer,) = log.assert_('event taken where label ~ "Exiting 0x18e45b8__wt_fs_lock"; never taken || taken')  # noqa: PT009
    assert {key: count for key, count in answer.counts.items() if count} == dict(by_hand)
