"""What the log lacks: gaps, completeness, vacuity; and the cut that shows states at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm
from microcosm.errors import TextError

STATES = 'state busy from label = "begin" until label = "end"; event any; '


def log_of(path: Path, *events: tuple[str, int, str] | tuple[str, int, str, dict[str, Any]]) -> Microcosm:
    lines = [
        {"process": process, "seq": seq, "label": label, **(more[0] if more else {})}
        for process, seq, label, *more in events
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Microcosm.from_trace(path)


def met(path: Path, seq: int) -> Microcosm:
    """Two processes that are busy and tell each other; q counts its events so that one may be missing."""
    return log_of(
        path,
        ("p", 1, "begin", {"kind": "send", "message": "m"}),
        ("q", 1, "begin", {"kind": "send", "message": "n"}),
        ("p", 2, "told", {"kind": "receive", "message": "n"}),
        ("q", seq, "told", {"kind": "receive", "message": "m"}),
        ("p", 3, "end"),
        ("q", seq + 1, "end"),
    )


def asked(log: Microcosm, text: str) -> Any:
    (answer,) = log.assert_(STATES + text)  # noqa: PT009
    return answer


def test_a_gap_within_an_interval_leaves_open_what_it_may_have_interrupted(tmp_path: Path) -> None:
    assert asked(met(tmp_path / "whole.jsonl", 2), "never busy while busy").verdict == "violated"
    assert asked(met(tmp_path / "whole.jsonl", 2), "possibly busy and busy").verdict == "holds"
    assert asked(met(tmp_path / "gap.jsonl", 3), "never busy while busy").verdict == "open"
    open_too = asked(met(tmp_path / "gap.jsonl", 3), "possibly busy and busy")
    # two intervals of one process are at once with themselves: only p's is whole
    assert all(witness.cut is None for witness in open_too.witnesses if witness.verdict == "open")


def test_the_cut_is_consistent_and_sees_both(tmp_path: Path) -> None:
    log = met(tmp_path / "log.jsonl", 2)
    text = 'possibly busy("p") and busy("q")'.replace("busy(", "on(")
    (answer,) = log.assert_(  # noqa: PT009
        f'state on(who) on who from label = "begin" until label = "end"; {text}'
    )
    assert answer.verdict == "holds"
    (witness,) = answer.witnesses
    assert witness.cut == {"p": "p:1", "q": "q:1"}
    inside = {event for last in witness.cut.values() for event in (last, *log.past(last))}
    for begin, end in witness.intervals.values():
        assert begin in inside
        assert end not in inside
    assert all(before in inside for event in inside for before in log.past(event))


def test_what_is_ordered_holds_even_over_a_gap(tmp_path: Path) -> None:
    log = log_of(
        tmp_path / "log.jsonl",
        ("p", 1, "begin"),
        ("p", 4, "end", {"kind": "send", "message": "m"}),
        ("q", 1, "begin", {"kind": "receive", "message": "m"}),
        ("q", 2, "end"),
    )
    assert asked(log, "never busy while busy").verdict == "holds"


def test_existence_is_false_only_of_a_complete_log(tmp_path: Path) -> None:
    events: list[tuple[str, int, str, dict[str, Any]]] = [
        ("p", 1, "use", {"kind": "send", "message": "m"}),
        ("q", 1, "grant", {"kind": "receive", "message": "m"}),
    ]
    log = log_of(tmp_path / "log.jsonl", *events)
    text = 'event use where label = "use"; event grant where label = "grant"; every use after some grant'
    (answer,) = log.assert_(text)  # noqa: PT009
    assert answer.verdict == "open"
    assert "not stated to be complete" in answer.notes[0]
    (answer,) = log.assert_(text + "; complete")  # noqa: PT009
    assert answer.verdict == "violated"
    gap: tuple[tuple[str, int, str, dict[str, Any]], str]
    for gap in ((("p", 5, "later", {}), "3 of p"), (("r", 4, "first", {}), "3 of r")):
        lost = log_of(tmp_path / "lost.jsonl", *events, gap[0])
        (answer,) = lost.assert_(text)  # noqa: PT009
        assert gap[1] in answer.notes[0]
        with pytest.raises(TextError, match="not complete: events are missing"):
            lost.assert_(text + "; complete")  # noqa: PT009


def test_vacuous_is_what_matches_nothing(tmp_path: Path) -> None:
    log = met(tmp_path / "log.jsonl", 2)
    answer = asked(log, 'event none where label = "none"; never none || any')
    assert (answer.verdict, answer.vacuous) == ("holds", True)
    assert "none matches 0" in answer.notes[0]
    one = asked(log, "event first where name = 'p:1'; never first || first")
    assert (one.verdict, one.vacuous) == ("holds", False)


def test_events_of_one_process_in_no_known_order_are_refused() -> None:
    from microcosm.givens.event_table import EventRow, EventTableBuilder
    from microcosm.givens.givens import Givens

    builder = EventTableBuilder()
    for name, label in (("a", "begin"), ("b", "end")):
        builder.add(EventRow(name, "p", label=label))
    givens = Givens()
    givens.events = builder.table()
    with pytest.raises(TextError, match="not known to be in one order: a and b"):
        Microcosm(givens).assert_(STATES + "never busy while busy")  # noqa: PT009
