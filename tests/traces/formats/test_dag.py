"""Graphs of commits and edits: parents come first, and nobody orders the nodes of an author."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pytest

from microcosm.errors import TraceError
from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from tests.traces.logs import read_text, told

COMMITS = """\
commit\tparents\tauthor_time\tcommit_time\tauthor
d\tb c\t9\t9\tann
c\ta\t5\t12\tann
b\ta\t4\t4\tbob
a\t\t1\t6\tbob
"""
EDITS = {
    "kind": "concurrent",
    "endContent": '{"txns": [',
    "numAgents": 2,
    "txns": [
        {"parents": [], "agent": 0, "patches": [[0, 0, "}"]]},
        {"parents": [0], "agent": 1},
        {"parents": "0"},
        {"parents": [0, 1, 1]},
    ],
}


def test_commits_come_after_their_parents() -> None:
    events, report = read_text(COMMITS, "dag")
    assert [(event.id, event.after) for event in events] == [
        ("d", ("b", "c")),
        ("c", ("a",)),
        ("b", ("a",)),
        ("a", ()),
    ]
    assert events[0].attributes == {"author_time": "9", "commit_time": "9", "author": "ann"}
    assert told(report) == [("clock-inversion", 2), ("clock-inversion", 4)]
    found = extract(events)
    orders = {(fact.left, fact.right) for fact in found.givens.external.values()}
    assert orders == {("b", "d"), ("c", "d"), ("a", "c"), ("a", "b")}
    assert formats.detect(COMMITS, "x.tsv").NAME == "dag"


def test_hashes_alone_are_a_graph_too() -> None:
    text = f"{'c' * 40} {'a' * 40}\n{'a' * 40}\n"
    assert [(event.id[0], len(event.after)) for event in read_text(text, "dag")[0]] == [("c", 1), ("a", 0)]
    assert formats.detect(text, "x").NAME == "dag"


def test_transactions_name_their_parents_by_number(tmp_path: Path) -> None:
    text = json.dumps(EDITS)
    events, report = read_text(text, "dag")
    assert [(event.id, event.after) for event in events] == [("0", ()), ("1", ("0",)), ("3", ("0", "1"))]
    assert told(report) == [("bad-line", 1)]
    packed = tmp_path / "edits.json.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert list(formats.read([packed])) == events


def test_parents_that_are_not_there_are_reported() -> None:
    found = extract(read_text("commit\tparents\nb\ta\n", "dag")[0])
    assert found.reported == {"unknown-event": 1, "isolated-event": 1}


def test_columns_must_be_there() -> None:
    with pytest.raises(TraceError, match=r"<test>:1: the columns `commit` and `parents` are missing"):
        read_text("commit\tfather\nb\ta\n", "dag")
    _, report = read_text("commit\tparents\n\ta\nb\ta\tc\n", "dag")
    assert told(report) == [("bad-line", 2), ("bad-line", 3)]


def test_every_editing_history_has_its_own_numbers(tmp_path: Path) -> None:
    history = json.dumps({"endContent": "", "txns": [{"parents": []}, {"parents": [0]}]}) + "\n"
    one_file, first, second = tmp_path / "both", tmp_path / "first", tmp_path / "second"
    one_file.write_text(history * 2, encoding="utf-8")
    for path in (first, second):
        path.write_text(history, encoding="utf-8")
    for paths in ([one_file], [first, second]):
        events = list(formats.read(paths))
        assert [(event.id, event.trace, event.after) for event in events] == [
            ("0", None, ()),
            ("1", None, ("0",)),
            ("history 2/0", "history 2", ()),
            ("history 2/1", "history 2", ("history 2/0",)),
        ]
        found = extract(events)
        assert {(one.left, one.right) for one in found.givens.external.values()} == {
            ("0", "1"),
            ("history 2/0", "history 2/1"),
        }
        assert not found.reported


PARENTS = [[*range(0, at, 3)][-2:] for at in range(10)]


@pytest.mark.parametrize("between", [",\n", ", ", ",\n\n"])
def test_a_transaction_that_is_damaged_does_not_shift_the_parents_of_later_ones(between: str) -> None:
    """Cut short, without its head, without some signs, with one too many: nothing false follows."""
    past = [0] * len(PARENTS)
    texts = []
    for at, parents in enumerate(PARENTS):
        for parent in parents:
            past[at] |= past[parent] | 1 << parent
        value = {"parents": parents, "agent": f"writer {at}", "patches": [["}"]]}
        texts.append(json.dumps(value, indent=2 if between == ",\n\n" else None))
    random = Random(7)
    for _ in range(150):
        hurt = random.randrange(1, 9)
        text = texts[hurt]
        at = random.randrange(len(text))
        more = text[:at] + random.choice('[]{}",:x\\') + text[at:]
        for damaged in (text[:at], text[at:], text[:at] + text[at + 2 :], more, "," + text):
            records = between.join((*texts[:hurt], damaged, *texts[hurt + 1 :]))
            events, _ = read_text(f'{{"endContent":"","txns":[\n{records}]}}\n', "dag")
            known = {event.full_id: at for event in events for at in range(10) if _wrote(at, event)}
            for event in events:
                for name in event.after:
                    if known.get(event.full_id, hurt) != hurt and known.get(name, hurt) != hurt:
                        assert past[known[event.full_id]] >> known[name] & 1, (damaged, event)


def _wrote(at: int, event: TraceEvent) -> bool:
    return event.attributes.get("agent") == f"writer {at}"
