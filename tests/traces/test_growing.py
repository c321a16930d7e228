"""A plain log that is read on says what it says when it is read whole; what is not plain is not read on."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.traces.extract import microcosm_of_logs
from microcosm.traces.growing import GrowingLog
from microcosm.traces.report import Report
from tests.page.talking import written

SENT = '{"process": "p", "seq": 1, "kind": "send", "message": "m"}\n'
HEARD = '{"process": "q", "seq": 1, "kind": "receive", "message": "m"}\n'
THEN = '{"process": "q", "seq": 2, "kind": "internal"}\n'


@given(
    st.integers(1, 5),
    st.integers(0, 99),
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.booleans(),
    st.integers(0, 60),
)
def test_a_log_cut_anywhere_is_read_on_as_it_is_read_whole(
    tmp_path_factory: pytest.TempPathFactory,
    processes: int,
    seed: int,
    cuts: list[int],
    several: bool,
    plain: int,
) -> None:
    """Also within a line; and the links to new events are those that the whole has besides the old ones."""
    path = tmp_path_factory.mktemp("log") / "run.jsonl"
    lines = [*written(60, processes, seed)]
    lines[plain:] = [line.replace("}\n", ', "attributes": {"x": 1, "time": 2}}\n') for line in lines[plain:]]
    if several:
        other = (line.replace("{", '{"trace": "b", ', 1) for line in lines)
        both = zip((line.replace("{", '{"trace": "a", ', 1) for line in lines), other, strict=True)
        lines = [*chain.from_iterable(both)]
    text = "".join(lines).encode()
    first = text.find(b"\n") + 1
    whole_lines = [text[: max(first, cut * len(text) // 60)] for cut in (0, *sorted(cuts))]
    log, known = None, set[tuple[str, str, str]]()
    for said in whole_lines:
        path.write_bytes(said) if log is None else _append(path, said)
        growth = log.read_on() if log is not None else None
        if growth is None:
            assert log is None or several, "another execution is nothing that goes on"
            log, growth = GrowingLog.begun(str(path)) or pytest.fail("not plain")
            known = set()
        report = Report()
        path.with_name("whole.jsonl").write_bytes(said[: said.rindex(b"\n") + 1])
        expected = microcosm_of_logs([path.with_name("whole.jsonl")], report=report)
        assert growth.found.givens == expected.givens
        assert list(growth.found.givens.external) == list(expected.givens.external)
        assert [row[:-2] for row in growth.found.givens.events] == [
            r[:-2] for r in expected.givens.events or ()
        ]
        assert growth.found.summary() == expected.summary()
        assert growth.found.incomplete == expected.incomplete
        assert [(f.kind, f.message, f.line) for f in growth.report.findings] == [
            (f.kind, f.message, f.line) for f in report.findings
        ]
        facts = {(fact.left, fact.right, fact.source or "") for fact in expected.givens.external.values()}
        new = [(fact.left, fact.right, fact.source or "") for fact in growth.facts()]
        assert len(new) == len({*new})
        assert {*new} == facts - known
        known = facts


def _append(path: Path, said: bytes) -> None:
    with path.open("ab") as file:
        file.write(said[file.tell() :])


def _begun(path: Path, text: str) -> GrowingLog:
    path.write_text(text, encoding="utf-8")
    begun = GrowingLog.begun(str(path))
    assert begun is not None
    return begun[0]


@pytest.mark.parametrize(
    "more",
    [
        "no event\n",
        "\n",
        THEN.replace("2", "4"),  # a hole
        THEN.replace("internal", "receive").replace("}", ', "message": "n"}'),  # nobody sent it
        HEARD,  # once more
        THEN.replace("}", ', "clock": {"q": 2}}'),
        THEN.replace("}", ', "trace": "another"}'),
        THEN.replace("\n", "\r\n"),
        "\x1f\x8b\n",
        THEN.replace("internal", "int\0ernal"),
    ],
)
def test_what_is_odd_is_not_read_on(tmp_path: Path, more: str) -> None:
    path = tmp_path / "run.jsonl"
    log = _begun(path, SENT + HEARD)
    _append(path, (SENT + HEARD + more).encode())
    assert log.read_on() is None


def test_another_file_or_another_beginning_is_not_read_on(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    log = _begun(path, SENT + HEARD)
    assert log.read_on() is not None
    path.write_text(SENT.replace('"m"', '"n"') + HEARD.replace('"m"', '"n"') + THEN, encoding="utf-8")
    assert log.read_on() is None  # the same file, of the same size and more, and other words
    log = _begun(path, SENT + HEARD)
    os.truncate(path, len(SENT))
    assert log.read_on() is None
    log = _begun(path, SENT + HEARD)
    path.rename(tmp_path / "old")
    with pytest.raises(FileNotFoundError):
        log.read_on()
    path.write_text(SENT + HEARD + THEN, encoding="utf-8")
    assert log.read_on() is None  # another file, though it begins alike


@pytest.mark.parametrize("text", ["", "\n", "[]\n", "\ufeff" + SENT, SENT + HEARD.replace("m", "n")])
def test_what_is_no_plain_log_is_not_begun(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.jsonl").write_text(text, encoding="utf-8")
    assert GrowingLog.begun(str(tmp_path / "run.jsonl")) is None
