"""Every kind of irregularity: a log that has it, where it is reported, and what becomes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from microcosm.errors import TraceError
from microcosm.traces.extract import Extraction, extract
from microcosm.traces.report import Irregularity, Report
from tests.traces.logs import read_text, told


def line(process: str, seq: int, kind: str = "internal", message: str | None = None, **more: object) -> str:
    record = {"process": process, "seq": seq, "kind": kind, "message": message, **more}
    return json.dumps({name: value for name, value in record.items() if value is not None})


S, R = line("p", 1, "send", "m"), line("q", 1, "receive", "m")

CASES: dict[str, list[tuple[list[str], list[tuple[str, int]], str]]] = {
    "bad-line": [([S, R, "{"], [("bad-line", 3)], "p:1<q:1")],
    "duplicate-event": [
        ([S, R, R], [("duplicate-event", 3)], "p:1<q:1"),
        ([line("p", 1, id="x"), line("p", 1, id="x"), line("p", 2)], [("duplicate-event", 2)], "x<p:2"),
        ([line("p", 1, id="x"), line("p", 2), line("q", 1, id="x")], [("duplicate-event", 3)], "x<p:2"),
        ([line("p", 1), line("p", 2), line("q", 1, id="p:1")], [("duplicate-event", 3)], "p:1<p:2"),
    ],
    "seq-against-clock": [
        (
            [line("p", 1, clock={"p": 2}), line("p", 2, clock={"p": 1}), line("p", 3), line("p", 4)],
            [("seq-against-clock", 2)],
            "p:3<p:4",
        )
    ],
    "seq-gap": [
        ([line("p", 1), line("p", 4)], [("seq-gap", 2)], "p:1<p:4"),
        ([line("p", 3), line("p", 4)], [("seq-gap", 1)], "p:3<p:4"),
        ([line("p", 1, clock={"p": 1}), line("p", 3, clock={"p": 2})], [("seq-gap", 2)], ""),
    ],
    "clock-gap": [
        ([line("p", 1, clock={"p": 1}), line("p", 3, clock={"p": 3})], [("clock-gap", 2)], ""),
        ([line("p", 1, clock={"p": 2}), line("p", 2, clock={"p": 3})], [("clock-gap", 1)], ""),
    ],
    "own-missing": [([line("p", 1, clock={"q": 1})], [("own-missing", 1)], "")],
    "clock-not-monotone": [
        (
            [line("p", seq, clock={"p": seq, "q": q}) for seq, q in ((1, 1), (2, 2), (3, 0), (4, 3))],
            [("clock-not-monotone", 3)],
            "p:2<p:3 p:3<p:4",
        )
    ],
    "clock-contradiction": [
        (
            [line("p", 1, clock={"p": 1, "q": 1}), line("q", 1, clock={"p": 1, "q": 1}), line("q", 2)],
            [("clock-contradiction", 2)],
            "q:1<q:2",
        )
    ],
    "another-life": [
        (
            [line("p", seq, life=life) for life in ("abcdefgh", "ijklmnop") for seq in (1, 2)],
            [("another-life", 3)],
            "p:1<p:2 p~ijklmnop:1<p~ijklmnop:2",
        )
    ],
    "no-message": [([line("p", 1, "send"), line("p", 2)], [("no-message", 1)], "p:1<p:2")],
    "unmatched-receive": [([R, line("q", 2)], [("unmatched-receive", 1)], "q:1<q:2")],
    "unreceived-send": [
        ([S], [("unreceived-send", 1)], ""),
        ([line("p", 1, "send", "m", to=["q", "r"]), R], [("unreceived-send", 1)], "p:1<q:1"),
    ],
    "duplicate-receive": [
        ([S, R, line("q", 2, "receive", "m")], [("duplicate-receive", 3)], "p:1<q:1 q:1<q:2")
    ],
    "repeated-send": [([S, line("p", 2, "send", "m"), R], [("repeated-send", 2)], "p:1<p:2 p:1<q:1")],
    "wrong-receiver": [
        (
            [line("p", 1, "send", "m", to=["r"]), R, line("r", 1, "receive", "m")],
            [("wrong-receiver", 2)],
            "p:1<r:1",
        )
    ],
    "ambiguous-message": [
        ([S, line("r", 1, "send", "m"), R], [("ambiguous-message", 3)], ""),
    ],
    "message-against-clock": [
        (
            [line("p", 1, "send", "m", clock={"p": 1}), line("q", 1, "receive", "m", clock={"q": 1})],
            [("message-against-clock", 2)],
            "",
        )
    ],
    "link-against-clock": [
        (
            [line("p", 1, clock={"p": 1}), line("q", 1, clock={"q": 1}, after=["p:1"])],
            [("link-against-clock", 2)],
            "",
        )
    ],
    "message-cycle": [
        (
            [line("p", 1, "receive", "b"), line("p", 2, "send", "a"), line("p", 3, "send", "c"),
             line("q", 1, "receive", "a"), line("q", 2, "send", "b"), line("q", 3, "receive", "c")],
            [("message-cycle", 1), ("message-cycle", 4)],
            "p:1<p:2 p:2<p:3 p:3<q:3 q:1<q:2 q:2<q:3",
        ),
        ([line("p", 1, "receive", "a"), line("p", 2, "send", "a")], [("message-cycle", 1)], "p:1<p:2"),
    ],
    "stamp-inversion": [
        (
            [line("p", 1, stamp=5), line("p", 2, stamp=5), line("p", 3, stamp=6)],
            [("stamp-inversion", 2)],
            "p:1<p:2 p:2<p:3",
        ),
        (
            [line("p", 1, stamp=[8, 9]), line("p", 2), line("p", 3, stamp=[1, 7])],
            [("stamp-inversion", 3)],
            "p:1<p:2 p:2<p:3",
        ),
    ],
    "stamp-of-several": [
        (
            [line("p", at, stamp=at, trace=trace) for trace in "ab" for at in (1, 2)],
            [("stamp-of-several", 1), ("stamp-of-several", 3)],
            "a/p:1<a/p:2 b/p:1<b/p:2",
        )
    ],
    "token-concurrent": [
        (
            [line(name, 1, clock={name: 1}, attributes={"lock": "l"}) for name in "pq"],
            [("token-concurrent", 2)],
            "",
        )
    ],
    "unknown-event": [([S, line("q", 1, "receive", "m", after=["x:9"])], [("unknown-event", 2)], "p:1<q:1")],
    "link-cycle": [
        (
            [line("p", 1, after=["q:2"]), line("p", 2), line("q", 1, after=["p:1"]), line("q", 2)],
            [("link-cycle", 1), ("link-cycle", 3)],
            "p:1<p:2 q:1<q:2",
        ),
        ([line("p", 1, after=["p:2"]), line("p", 2)], [("link-cycle", 1)], "p:1<p:2"),
        ([line("p", 1), line("p", 2, after=["p:2"])], [("link-cycle", 2)], "p:1<p:2"),
    ],
    "isolated-event": [([S, R, line("r", 1)], [("isolated-event", 3)], "p:1<q:1")],
}  # fmt: skip

ELSEWHERE = {
    *("self-send", "line-before-cause", "long-line", "bad-clock", "bad-host", "unparsed-text", "no-text"),
    *("line-order", "clock-inversion", "missing-time", "ambiguous-content", "collective-mismatch"),
    *("restart", "equal-clock", "equal-time"),
    *("log-hole", "partial-span", "scattered-process", "misnamed-field"),
    *("unreadable", "too-many-chosen", "wide-frontier", "unused-clock", "unused-link"),
    *("bad-encoding", "other-encoding", "line-end", "bad-archive", "comment", "left-out"),
}
"""Kinds that a single format, the reading of lines, `order` or the jobs on Spark report: tested beside it."""


def extracted(lines: list[str], kind: str, report: Report) -> Extraction:
    token = "lock" if kind == "token-concurrent" else None
    return extract(read_text("\n".join(lines), report=report)[0], token=token, report=report)


@pytest.mark.parametrize(
    ("kind", "lines", "expected", "edges"),
    [(kind, *case) for kind, cases in CASES.items() for case in cases],
)
def test_an_irregularity_is_reported_once_with_its_place(
    kind: str, lines: list[str], expected: list[tuple[str, int]], edges: str
) -> None:
    report = Report()
    found = extracted(lines, kind, report)
    places = [place for place in told(report) if place[0] == kind]
    assert places == expected
    assert not [place for place in told(report) if place[0] != kind and place[0] not in BESIDE.get(kind, ())]
    facts = sorted(f"{fact.left}<{fact.right}" for fact in found.givens.external.values())
    assert facts == edges.split()
    assert found.reported == report.counts


BESIDE = {"duplicate-event": ("isolated-event",)}
"""What else is odd about a log of a kind."""


def test_every_kind_is_tried_and_told_of() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "traces.md").read_text(encoding="utf-8")
    table = page.partition("## What is reported")[2].partition("\n## ")[0]
    assert CASES.keys() | ELSEWHERE == set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE))


@pytest.mark.parametrize("kind", sorted(CASES.keys() - {"isolated-event", "stamp-of-several"}))
def test_strict_makes_it_an_error(kind: str) -> None:
    lines, _, _ = CASES[kind][0]
    with pytest.raises(TraceError, match=r"^<test>:\d+: .* \[") as caught:
        extracted(lines, kind, Report(strict=True))
    assert caught.value.hint == "Without --strict this is reported and passed over."


def test_an_isolated_event_is_no_error() -> None:
    assert extracted([line("r", 1)], "isolated-event", Report(strict=True)).isolated == 1


def test_a_report_keeps_some_and_counts_all() -> None:
    heard: list[Irregularity] = []
    report = Report(each=heard.append)
    for number in range(300):
        report.add("bad-line", "no event", file="f", line=number, lost=1)
    assert (len(report.findings), report.counts["bad-line"], report.lost) == (Report.KEPT, 300, 300)
    assert [found.line for found in heard] == list(range(300))
    assert str(heard[7]) == "f:7: no event [bad-line]"
    report.add("own-missing", "whole file", file="f")
    assert str(report.findings[-1]) == "f: whole file [own-missing]"


def test_whatever_a_name_is_an_irregularity_is_one_line_that_a_terminal_does_not_obey() -> None:
    log = [line("a\nb", 2, "receive", "\x1b[31mred")]
    events, report = read_text("\n".join(log))
    extract(events, report=report)
    assert list(map(str, report.findings)) == [
        r"<test>:1: a\nb: events 1 are missing [seq-gap]",
        r"<test>:1: a\nb:2: the sending of \x1b[31mred is not in the log [unmatched-receive]",
    ]
    with pytest.raises(TraceError) as error:
        extract(read_text("\n".join(log))[0], report=Report(strict=True))
    assert str(error.value).splitlines()[0] == r"<test>:1: a\nb: events 1 are missing [seq-gap]"
