"""Histories: an operation is an event, real time an interval, and no order is made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from microcosm.givens.relation import Relation
from microcosm.state.microcosm import Microcosm
from microcosm.traces import reading as formats
from microcosm.traces.extract import extract
from microcosm.traces.formats.histories import value_at
from microcosm.traces.report import Report
from microcosm.traces.text.lines import BadLine
from tests.traces.logs import read_text, told

JEPSEN = """\
{:process 0, :type :invoke, :f :write, :value 3, :time 1000, :index 0}
{:process 1, :type :invoke, :f :read, :value nil, :time 1500, :index 1}
{:process 0, :type :ok, :f :write, :value 3, :time 2000, :index 2}
{:process :nemesis, :type :info, :f :start, :value "cut off", :time 2100, :index 3}
{:process 1, :type :ok, :f :read, :value [3 nil], :time 2500, :index 4, :node "n1"}
{:process 0, :type :invoke, :f :cas, :value [3 4], :time 3000, :index 5}
{:process 0, :type :info, :f :cas, :value [3 4], :time 9000, :index 6, :error :timeout}
{:process 2, :type :invoke, :f :read, :value nil, :time 9500, :index 7}
"""
FOREVER = 4 * 10**18


def test_an_operation_is_an_event_with_an_interval() -> None:
    events, report = read_text(JEPSEN, "jepsen")
    assert [(e.id, e.label, e.stamp, e.line) for e in events] == [
        ("0:1", "write 3", (1000, 2000), 1),
        ("nemesis:1", "start cut off", (2100, 2100), 4),
        ("1:1", "read [3 nil]", (1500, 2500), 2),
        ("0:2", "cas [3 4]", (3000, FOREVER), 6),
        ("2:1", "read nil", (9500, FOREVER), 8),
    ]
    assert not report.counts
    assert events[2].attributes == {
        "node": "n1", "outcome": "ok", "completed_line": 5, "completed": 2500, "time": 1500
    }  # fmt: skip
    assert events[3].attributes["error"] == "timeout"
    assert formats.detect(JEPSEN, "history.edn").NAME == "jepsen"


def test_real_time_refutes_and_orders_nothing() -> None:
    givens = extract(read_text(JEPSEN, "jepsen")[0]).givens
    assert set(givens.external) == {("0:1", "<", "0:2")}
    known = Microcosm(givens)
    assert known.online("1:1", "0:2") is Relation.UNKNOWN
    assert known.offline("0:2", "1:1").refuted
    assert not known.offline("0:1", "1:1").refuted  # they overlap


LOG = """\
INFO  jepsen.core - Worker 0 starting
INFO  jepsen.util - 2\t:invoke\t:read\tnil
INFO  jepsen.util - 3\t:invoke\t:cas\t[4 4]
INFO  jepsen.util - 2\t:ok\t:read\t7
INFO  jepsen.util - 3\t:info\t:cas\t:timed-out
2024-01-01 12:00:00,123{GMT}\tINFO\t[jepsen worker 2] jepsen.util: 2\t:invoke\t:write\t1
"""


def test_without_times_the_lines_are_the_real_time() -> None:
    events, report = read_text(LOG, "jepsen")
    assert [(e.id, e.label, e.stamp) for e in events] == [
        ("2:1", "read 7", (2, 4)),
        ("3:1", "cas [4 4]", (3, FOREVER)),
        ("2:2", "write 1", (6, FOREVER)),
    ]
    assert told(report) == [("unparsed-text", 1)]
    assert formats.detect(LOG, "jepsen.log").NAME == "jepsen"


def test_what_lacks_the_clock_of_its_history_happened_at_any_time() -> None:
    """Positions, times and lines are three clocks: by two of them the read was over before the write."""
    odd = JEPSEN.replace(":time 1500, ", "").replace(":time 2500", ":time 0.5")
    events, report = read_text(odd, "jepsen")
    stamps = {event.id: event.stamp for event in events}
    assert stamps["0:1"] == (1000, 2000)
    assert stamps["1:1"] == (-FOREVER, FOREVER)
    assert not report.counts
    logged = "INFO  jepsen.util - 2\t:invoke\t:read\tnil\n"
    assert read_text(JEPSEN + logged, "jepsen")[0][-1].stamp == (-FOREVER, FOREVER)


def test_a_text_of_a_history_says_what_the_lines_of_the_log_say() -> None:
    text = "".join(line.partition("jepsen.util - ")[2] for line in LOG.splitlines(keepends=True))
    assert formats.detect(text, "history.txt").NAME == "jepsen"
    bare, logged = (read_text(one, "jepsen")[0] for one in (text, LOG.partition("2024")[0]))
    assert [(e.id, e.label) for e in bare] == [(e.id, e.label) for e in logged] != []


def test_what_crashed_may_take_effect_after_what_follows() -> None:
    text = LOG + "INFO  jepsen.util - 3\t:invoke\t:read\tnil\n"
    assert [e.id for e in read_text(text, "jepsen")[0]][-1] == "3 (2):1"


def test_of_a_hole_an_interval_is_wider_and_nothing_is_false() -> None:
    lines = JEPSEN.splitlines(keepends=True)
    events, _ = read_text("".join(lines[1:3] + lines[5:]), "jepsen")
    assert [(e.label, e.stamp) for e in events if e.process != "2"] == [
        ("write 3", (-FOREVER, 2000)),
        ("cas [3 4]", (3000, FOREVER)),
        ("read nil", (1500, FOREVER)),
    ]


def test_the_times_of_two_histories_say_nothing_of_each_other(tmp_path: Path) -> None:
    events, report = read_text(JEPSEN + JEPSEN.replace(":value 3", ":value 5"), "jepsen")
    assert report.counts["restart"] == 1
    assert {e.trace for e in events if e.stamp is None} == {"2"}
    paths = [tmp_path / "a.edn", tmp_path / "b.edn"]
    for path in paths:
        path.write_text(JEPSEN.replace(":value 3", f":value {path.name}"), encoding="utf-8")
    found = list(formats.read(paths))
    assert {e.file for e in found if e.stamp is not None} == {str(paths[0])}
    assert not any(e.process == "0" for e in found if e.file == str(paths[1]))


def test_what_ends_before_it_begins_has_no_interval() -> None:
    events, report = read_text(JEPSEN.replace(":time 2000", ":time 900"), "jepsen")
    assert events[0].stamp is None
    assert told(report) == [("clock-inversion", 3)]


def test_a_history_that_is_there_twice_is_read_once() -> None:
    events, report = read_text(JEPSEN * 2, "jepsen")
    assert len(events) == 5
    assert report.counts == {"duplicate-event": 8}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{:a 1}", {":a": 1}),
        ('#jepsen.history.Op{:f :r, :v #{1 2}, "k" \\x}', {":f": ":r", ":v": [1, 2], "k": "\\x"}),
        ("[1 #_ [2 3] -4N 1.5M nil true ; more\n :k]", [1, -4, 1.5, None, True, ":k"]),
        ("[##NaN ##-Inf 1e999 12345678901234567.5M]", ["##NaN", "##-Inf", "1e999", "12345678901234567.5M"]),
        ("9" * 41, "9" * 41),
        ("[" * 5000 + "]" * 5000, None),
    ],
)
def test_edn(text: str, value: object) -> None:
    found = value_at(text, 0)[0]
    assert value is None or found == value


@pytest.mark.parametrize("text", ["{:a}", "{:a 1", "[1)", '"open', "", "{:process 0, :type :invoke"])
def test_what_is_no_edn_is_said_so(text: str) -> None:
    with pytest.raises(BadLine):
        value_at(text, 0)


def test_what_is_done_may_be_left_out() -> None:
    """Elle's histories are of transactions alone."""
    lines = (
        "{:process 0, :type :invoke, :value [[:append x 1]], :index 0}",
        "{:process 0, :type :ok, :value [[:append x 1]], :index 1}",
    )
    events, report = read_text("\n".join(lines), "jepsen")
    assert [(event.label, event.stamp, event.attributes["outcome"]) for event in events] == [
        ('[[":append", "x", 1]]', (0, 1), "ok")
    ]
    assert not report.counts


FAULTS = [
    '{:process "", :type :invoke, :f :read}',
    "{:process 0, :type :begin, :f :read}",
    "{:process 0, :type :ok",
    "{:type :ok, :f " + "[" * 9000 + "]" * 9000 + "}",
]


@pytest.mark.parametrize("line", FAULTS)
def test_a_line_that_is_no_operation_is_told(line: str) -> None:
    assert told(read_text(line + "\n", "jepsen")[1]) == [("bad-line", 1)]


PORCUPINE: list[dict[str, object]] = [
    {"ClientId": 0, "Input": {"Op": 1, "Value": 5}, "Call": 10, "Output": None, "Return": 20},
    {"ClientId": 1, "Input": {"Op": 0}, "Call": 15, "Output": {"Value": 5}, "Return": 30},
    {"ClientId": 0, "Input": {"Op": 0}, "Call": 40, "Output": {"Value": 5}, "Return": 50},
]


@pytest.mark.parametrize("text", [json.dumps(PORCUPINE), "\n".join(map(json.dumps, PORCUPINE))])
def test_operations_of_porcupine(text: str) -> None:
    assert formats.detect(text, "x.json").NAME == "porcupine"
    events, report = read_text(text, "porcupine")
    assert [(e.id, e.label, e.stamp) for e in events] == [
        ("0:1", '{"Op": 1, "Value": 5}', (10, 20)),
        ("0:2", '{"Op": 0} → {"Value": 5}', (40, 50)),
        ("1:1", '{"Op": 0} → {"Value": 5}', (15, 30)),
    ]
    assert not report.counts


def test_an_operation_that_returns_when_no_clock_can_is_one_without_end() -> None:
    [event], report = read_text(json.dumps([{**PORCUPINE[0], "Return": 2**63 - 1}]), "porcupine")
    assert event.stamp == (10, FOREVER)
    assert not report.counts


def test_a_client_without_a_name_has_one_that_can_be_written() -> None:
    [event], _ = read_text(json.dumps([{**PORCUPINE[0], "ClientId": ""}]), "porcupine")
    assert event.process == '""'


def test_a_client_that_does_two_things_at_once_is_no_process() -> None:
    report = Report()
    text = json.dumps([{**PORCUPINE[0], "Return": 45}, PORCUPINE[2], {"Call": 2, "Return": 1}])
    events, report = read_text(text, "porcupine", report=report)
    assert len({e.process for e in events}) == 2
    assert sorted(report.counts) == ["bad-line", "clock-inversion"]


@pytest.mark.parametrize("layout", ["[{}]", "({})", "{}", "[{} ; a comment"])
def test_operations_that_share_a_line_are_all_read(layout: str) -> None:
    """As `(pr history)` writes them."""
    operations = [
        "{:process 0, :type :invoke, :f :write, :value [1 (2)], :index 0}",
        "#jepsen.history.Op{:process 0, :type :ok, :f :write, :value [1 (2)], :index 1}",
        "{:process 1, :type :ok}",
        '{:process 1, :type :invoke, :f :read, :value "}", :index 2}',
    ]
    events, report = read_text(layout.format(" ".join(operations)) + "\n", "jepsen")
    assert [(e.id, e.label, e.stamp) for e in events] == [
        ("0:1", "write [1, [2]]", (0, 1)),
        ("1:1", "read }", (2, 4 * 10**18)),
    ]
    assert report.counts == {"bad-line": 1}
    assert report.lost == 1


def test_a_name_that_is_made_for_another_life_is_no_other_client() -> None:
    def line(process: str, type_: str) -> str:
        return f'{{:process "{process}", :type :{type_}, :f :write, :value "{process}"}}\n'

    lives = [line("p", "invoke"), line("p", "info"), line("p", "invoke"), line("p", "ok")]
    other = [line("p (2)", "invoke"), line("p (2)", "ok")]
    for lines in (lives + other, other + lives):
        events, _ = read_text("".join(lines), "jepsen")
        assert len({event.process for event in events}) == 3


def test_a_name_that_is_made_for_one_of_several_operations_at_once_is_no_other_client() -> None:
    operations = [("p", 1, 9), ("p", 2, 8), ("p.1", 20, 30), ("p.2", 40, 50)]
    text = json.dumps([{"ClientId": who, "Call": call, "Return": back} for who, call, back in operations])
    events, _ = read_text(text, "porcupine")
    assert len({event.process for event in events}) == 4
