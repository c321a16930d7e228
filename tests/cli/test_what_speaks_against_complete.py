"""A log that cannot be complete is so for `--complete`, for the line in a question, and in a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from microcosm import Microcosm
from microcosm.errors import NotComplete, TextError
from microcosm.traces.report import Report
from tests.cli.conftest import Run


def own(*lines: dict[str, object]) -> str:
    return "".join(json.dumps({"process": "p", "kind": "internal", **line}) + "\n" for line in lines)


SENT, RECEIVED = {"kind": "send", "message": "m"}, {"process": "q", "kind": "receive", "message": "m"}
SPAN = (
    '{{"traceId": "1", "spanId": "{}", "name": "{}", "startTimeUnixNano": "{}", "endTimeUnixNano": "{}", {}}}'
)
SPANS = ", ".join(
    SPAN.format(*one)
    for one in (
        ("a", "order", 10, 60, '"kind": 1'),
        ("b", "reserve", 20, 30, '"parentSpanId": "a"'),
        ("c", "pay", 40, 50, '"parentSpanId": "a"'),
    )
)
REFUSED = {
    "a message is sent twice": {"x.jsonl": own(SENT, SENT, RECEIVED)},
    "two executions": {"x.jsonl": own({"trace": "A", **SENT}, {"trace": "A", **RECEIVED}, {"trace": "B"})},
    "a line is cut off": {"x.jsonl": own(SENT, RECEIVED) + '{"proc'},
    "a message has no name": {"x.jsonl": own({"kind": "send"}, SENT, RECEIVED)},
    "a link leads out of the log": {"x.jsonl": own({"seq": 1}, {"seq": 2, "after": ["q:7"]})},
    "a field is misspelt": {"x.jsonl": own({"kind": "internal", "mesage": "m"}, {"process": "q"})},
    "a process is in two files": {"x.jsonl": own(SENT), "y.jsonl": own({}, RECEIVED)},
    "lines are missing": {"x.jsonl": own({"seq": 1, **SENT}, {"seq": 3}, {**RECEIVED, "seq": 1})},
    "spans": {"x.json": f'{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{SPANS}]}}]}}]}}'},
    "a plain log names no message": {"x.log": "ts=1 host=a msg=old\nts=2 host=b msg=new\n"},
    "two streams of a container": {
        "x.log": "".join(
            json.dumps(
                {"log": f"{at}\n", "stream": stream, "time": f"2024-01-01T00:00:0{at}Z", "container": "c"}
            )
            + "\n"
            for at, stream in enumerate(("stdout", "stderr", "stdout"))
        )
    },
    "a history of operations": {
        "x.edn": "".join(
            f"{{:type {type}, :f {f}, :value 1, :process {process}, :time {time}, :index {at}}}\n"
            for at, (type, f, process, time) in enumerate(
                (
                    (":invoke", ":write", 0, 10),
                    (":ok", ":write", 0, 20),
                    (":invoke", ":read", 1, 30),
                    (":ok", ":read", 1, 40),
                )
            )
        )
    },
}


@pytest.mark.parametrize("log", REFUSED.values(), ids=REFUSED)
def test_nothing_calls_it_complete(run: Run, log: dict[str, str]) -> None:
    for name, text in log.items():
        Path(name).write_text(text, encoding="utf-8")
    files = [*log]
    for form in ([], ["--synchronous"]) if "x.edn" in log else ([],):
        assert run("extract", *files, *form, "--complete", "-o", "out.mc").refused(4)
        assert not Path("out.mc").exists()
    with pytest.raises(NotComplete):
        Microcosm.from_trace(*files, complete=True)
    known = Microcosm.from_trace(*files)
    with pytest.raises(TextError, match="the log is not complete"):
        known.assert_("complete; event any; never any || any")  # noqa: PT009
    for answer, observations in known.settle("event any; never any || any"):
        assert "complete" not in [one.kind for one in observations], answer
    session = run("repl", *files, "--json", stdin=b"suppose complete\n").json_lines[0]
    assert "the log is not complete" in session["error"]
    assert known.events_table is not None
    first, *_, last = known.events_table.names
    assert "--complete" not in run("online", *files, first, last).out


def test_a_log_that_nothing_speaks_against_is_called_so_by_all(run: Run) -> None:
    Path("x.jsonl").write_text(own(SENT, {}, RECEIVED, {"process": "q"}), encoding="utf-8")
    asked = 'event any; never [name = "p:2"] || any'
    by_line = Microcosm.from_trace("x.jsonl").assert_(f"complete; {asked}")  # noqa: PT009
    by_option = Microcosm.from_trace("x.jsonl", complete=True).assert_(asked)  # noqa: PT009
    assert [answer.counts for answer in by_line] == [answer.counts for answer in by_option]
    assert by_line[0].verdict == "violated"
    stated = run("repl", "x.jsonl", "--json", stdin=b"suppose complete\np:2 ? q:1\n").json_lines
    assert (stated[1]["verdict"], stated[1]["concluded"]) == ("||", "offline")


@pytest.mark.usefixtures("run")
def test_where_more_is_odd_than_is_kept_nobody_is_complete() -> None:
    """The findings of one process may be beyond those that are kept."""
    lines = [{"process": "z", "seq": 2 * at} for at in range(1, 3 * Report.KEPT // 2)]
    gap = [{"seq": 1, **SENT}, {"seq": 3}, {**RECEIVED, "seq": 1}]
    Path("x.jsonl").write_text(own(*lines, *gap), encoding="utf-8")
    with pytest.raises(NotComplete):
        Microcosm.from_trace("x.jsonl", complete=["p"])
    with pytest.raises(NotComplete):
        Microcosm.from_trace("x.jsonl", complete=["q"])
