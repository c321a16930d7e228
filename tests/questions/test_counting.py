"""Counting by prefixes of chains gives what going through the tuples gives; so do labels, and rows without
them.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from microcosm import Microcosm, tuning
from microcosm.questions import counting

QUESTIONS = r"""
event write(k) where label ~ "write (?<k>\w+)"
event read(k) where label ~ "read (?<k>\w+)"
event told(k) where label ~ "(?<k>\w)$" and kind != "internal"
state holding(k) from label ~ "take (?<k>\w+)" until label ~ "drop"
never write(k) || write(k)
never write(k) < write(k)
never write(k) <> write(k)
never write(k) || read(k)
never write(k) < read(m)
never write("a") > read(k)
never read(k) <> write("b")
every write(k) <> write(k)
never told(k) || told(k)
never told(k) || told(m)
never holding(k) while holding(k)
never holding(k) while holding(m)
"""


def written(path: Path, rng: Random, events: int, processes: int, closed: bool) -> None:
    """A log in which every message is received, if it is to be `closed`; some processes have one event."""
    seq = [0] * processes
    inbox: list[list[str]] = [[] for _ in range(processes)]
    lines, sent = [], 0
    while len(lines) < events or (closed and any(inbox)):
        at = rng.randrange(processes)
        seq[at] += 1
        event: dict[str, object] = {"process": f"p{at}", "seq": seq[at], "kind": "internal"}
        chance = rng.random()
        if inbox[at] and (chance < 0.3 or len(lines) >= events):
            event |= {"kind": "receive", "message": inbox[at].pop(rng.randrange(len(inbox[at])))}
        elif chance < 0.5 and len(lines) < events:
            sent += 1
            to = (at + rng.randrange(1, processes)) % processes
            inbox[to].append(f"m{sent}")
            event |= {"kind": "send", "message": f"m{sent}", "to": [f"p{to}"]}
        word = rng.choice(["write a", "write b", "read a", "read b", "take a", "take b", "drop", "think"])
        lines.append(event | {"label": word})
    for word in ("write a", "read a", "write a"):
        lines.append({"process": f"alone{len(lines)}", "seq": 1, "kind": "internal", "label": word})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("complete", [False, True])
def test_counts_are_those_of_the_tuples(
    seed: int, complete: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    written(tmp_path / "log.jsonl", rng, 120, rng.choice([2, 3, 5]), complete)
    log = Microcosm.from_trace(tmp_path / "log.jsonl")
    text = QUESTIONS + ("complete" if complete else "")
    rows = log.assert_(text)  # noqa: PT009
    monkeypatch.setattr(tuning, "LABELLED_FROM", 1)
    monkeypatch.setattr(counting, "SIDE_BY_SIDE", (0, 700, 1 << 14)[seed % 3])
    monkeypatch.setattr(tuning, "EVENTS_A_CHAIN", 1)
    by_labels = log.assert_(text)  # noqa: PT009
    monkeypatch.setattr(counting, "FROM", 0)
    counted = log.assert_(text)  # noqa: PT009
    some = 0
    for one, two, three in zip(rows, by_labels, counted, strict=True):
        assert two.to_json() == one.to_json() or two.counts == one.counts
        assert three.counts == one.counts, one.question.text
        assert three.verdict == one.verdict
        for value in ("false", "open"):
            shown = [w for w in three.witnesses if w.verdict == value]
            assert len(shown) == min(5, one.counts[value])
            some += len(shown)
            assert len({str(w) for w in shown}) == len(shown)
            events = [*(w.events.values() for w in shown)]
            for witness in shown:
                for atom in witness.atoms:
                    if atom.derivation is not None:
                        assert atom.derivation.conclusion.judgement.value == "offline"
            del events
    assert some > 10


def test_counting_is_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pairs of the last test are counted at all, not gone through."""
    written(tmp_path / "log.jsonl", Random(1), 100, 3, False)
    log = Microcosm.from_trace(tmp_path / "log.jsonl")
    monkeypatch.setattr(tuning, "LABELLED_FROM", 1)
    monkeypatch.setattr(tuning, "EVENTS_A_CHAIN", 1)
    monkeypatch.setattr(counting, "FROM", 0)
    tallies = []
    real = counting.tally
    monkeypatch.setattr(
        "microcosm.questions.answers.tally", lambda *a: tallies.append(real(*a)) or tallies[-1]
    )
    log.assert_(QUESTIONS)  # noqa: PT009
    assert sum(one is not None for one in tallies) == 12
