"""Plain logs: told by what they are, a chain a process, messages only where fields say so."""

from __future__ import annotations

import csv
import io
import json
import time
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import TextError, TraceError
from microcosm.traces import reading as formats
from microcosm.traces.event import TraceEvent
from microcosm.traces.extract import extract
from microcosm.traces.reading import might_be
from microcosm.traces.report import Report
from microcosm.traces.text.records import guessed
from tests.traces.logs import read_text, told

LOGS = {
    "structlog": """\
{"key": "x", "event": "got lease", "level": "info", "timestamp": "2026-11-22T19:33:32.539791Z"}
{"key": "x", "event": "lost lease", "level": "warning", "timestamp": "2026-11-22T19:33:32.539886Z"}
""",
    "loguru": """\
{"text": "hello w\\n", "record": {"elapsed": {"repr": "0:00:00.01", "seconds": 0.01}, "exception": null, \
"extra": {"k": 1}, "file": {"name": "gen.py", "path": "/gen.py"}, "function": "<module>", "level": {"icon": \
"i", "name": "INFO", "no": 20}, "line": 5, "message": "hello w", "module": "gen", "name": "__main__", \
"process": {"id": 61, "name": "MainProcess"}, "thread": {"id": 1397, "name": "MainThread"}, "time": {"repr": \
"2026-11-22 19:33:32.548461+00:00", "timestamp": 1795376012.548461}}}
""",
    "logging": """\
{"asctime": "2026-11-22 19:33:32,558", "levelname": "WARNING", "name": "a", "message": "w 1", \
"process": 61, "q": 2}
{"asctime": "2026-11-22 19:33:32,559", "levelname": "ERROR", "name": "a", "message": "e", "process": 61}
""",
    "journald": """\
{"__CURSOR":"s=1;i=1","__REALTIME_TIMESTAMP":"1714564800000000","_BOOT_ID":"b","_HOSTNAME":"web",\
"SYSLOG_IDENTIFIER":"sshd","_PID":"12","PRIORITY":"6","MESSAGE":"Accepted"}
{"__CURSOR":"s=1;i=2","__REALTIME_TIMESTAMP":"1714564801000000","_BOOT_ID":"b","_HOSTNAME":"web",\
"SYSLOG_IDENTIFIER":"sshd","_PID":"12","PRIORITY":"3","MESSAGE":[98,121,101]}
""",
    "docker": """\
{"log":"started\\n","stream":"stdout","time":"2024-05-01T12:00:00.669794202Z"}
{"log":"oops\\n","stream":"stderr","time":"2024-05-01T12:00:01.669794202Z"}
{"log":"a long","stream":"stdout","time":"2024-05-01T12:00:02.669794202Z"}
""",
    "cri": """\
2024-05-01T12:00:00.669794202Z stdout F started
2024-05-01T12:00:00.769794202+02:00 stderr F warn: x
2024-05-01T12:00:01.669794202Z stdout P a long
""",
    "klog": """\
I0501 12:00:00.678901       1 leader.go:92] attempting to acquire leader lease
E0501 12:00:03.000000       1 leader.go:102] lost it
""",
    "syslog": """\
May  1 12:00:00 web su[12]: 'su root' failed
<34>May  1 12:00:01 web sshd: ok
2024-05-01T12:00:02.250+02:00 web su[12]: again
""",
    "syslog of 5424": """\
<165>1 2003-10-11T22:14:15.003Z web.example.com app 12 ID47 [a@1 iut="3" s="A\\"b]c"] started
<34>1 - - su - - - done
""",
    "logfmt": """\
time=2024-05-01T12:00:00Z level=info msg="starting \\"up\\"" host=a
time=2024-05-01T12:00:01Z level=info msg=sends host=a message=m1 to=b,c
time=2024-05-01T12:00:02Z level=info msg=got host=b kind=recv message=m1
""",
    "dated": """\
2024-05-01 12:00:00,250 [main] INFO  app.Main - started
INFO  [main] 2024-05-01 12:00:01,250 Main.java:12 - 3 files
[2024-05-01 12:00:02,250] WARN 5 files are missing (app.Main)
""",
    "csv": """\
Time,Process,Label,Kind,Message,Lock
1,alice,"write, x",send,m1,l
2,bob,got,receive,m1,
""",
}

SAID: dict[str, list[tuple[str, str, str | None, object]]] = {
    "structlog": [
        ("log:1", "got lease", None, "2026-11-22T19:33:32.539791Z"),
        ("log:2", "lost lease", None, "2026-11-22T19:33:32.539886Z"),
    ],
    "loguru": [("log[61]:1", "hello w", None, 1795376012.548461)],
    "logging": [
        ("log[61]:1", "w 1", None, "2026-11-22 19:33:32,558"),
        ("log[61]:2", "e", None, "2026-11-22 19:33:32,559"),
    ],
    "journald": [
        ("web/sshd[12]:1", "Accepted", None, "1714564800000000"),
        ("web/sshd[12]:2", "bye", None, "1714564801000000"),
    ],
    "docker": [
        ("log:1", "started", None, "2024-05-01T12:00:00.669794202Z"),
        ("log/stderr:1", "oops", None, "2024-05-01T12:00:01.669794202Z"),
        ("log:2", "a long", None, "2024-05-01T12:00:02.669794202Z"),
    ],
    "cri": [
        ("log:1", "started", None, "2024-05-01T12:00:00.669794202Z"),
        ("log/stderr:1", "warn: x", None, "2024-05-01T12:00:00.769794202+02:00"),
        ("log:2", "a long", None, "2024-05-01T12:00:01.669794202Z"),
    ],
    "klog": [
        ("log[1]:1", "attempting to acquire leader lease", None, "0501 12:00:00.678901"),
        ("log[1]:2", "lost it", None, "0501 12:00:03.000000"),
    ],
    "syslog": [
        ("web/su[12]:1", "'su root' failed", None, "May  1 12:00:00"),
        ("web/sshd:1", "ok", None, "May  1 12:00:01"),
        ("web/su[12]:2", "again", None, "2024-05-01T12:00:02.250+02:00"),
    ],
    "syslog of 5424": [
        ("web.example.com/app[12]:1", "started", None, "2003-10-11T22:14:15.003Z"),
        ("su:1", "done", None, None),
    ],
    "logfmt": [
        ("a:1", 'starting "up"', None, "2024-05-01T12:00:00Z"),
        ("a:2", "sends", "m1", "2024-05-01T12:00:01Z"),
        ("b:1", "got", "m1", "2024-05-01T12:00:02Z"),
    ],
    "dated": [
        ("log[main]:1", "app.Main - started", None, "2024-05-01 12:00:00,250"),
        ("log[main]:2", "Main.java:12 - 3 files", None, "2024-05-01 12:00:01,250"),
        ("log:1", "5 files are missing (app.Main)", None, "2024-05-01 12:00:02,250"),
    ],
    "csv": [("alice:1", "write, x", "m1", "1"), ("bob:1", "got", "m1", "2")],
}


def read(folder: Path, text: str, name: str = "x.log", **more: str) -> tuple[list[TraceEvent], Report]:
    path, report = folder / name, Report()
    path.write_text(text, encoding="utf-8")
    return list(formats.read([path], report=report, **more)), report  # type: ignore[arg-type]


@pytest.mark.parametrize("log", LOGS)
def test_a_plain_log_is_told_and_read(log: str, tmp_path: Path) -> None:
    assert log.split(" ", maxsplit=1)[0] == formats.detect(LOGS[log], "x.log").NAME
    events, report = read(tmp_path, LOGS[log], "log.log")
    assert [(e.id, e.label, e.message, e.attributes.get("time")) for e in events] == SAID[log]
    assert not report.counts
    lines = LOGS[log].splitlines()
    assert [event.line for event in events] == [*range(len(lines) - len(events) + 1, len(lines) + 1)]


ATTRIBUTES = {
    "structlog": {"key": "x", "level": "info"},
    "loguru": {
        **{"k": 1, "level": "INFO", "thread": "MainThread", "process": "MainProcess", "file": "gen.py"},
        **{"logger": "__main__", "module": "gen", "function": "<module>", "line": 5},
    },
    "logging": {"levelname": "WARNING", "name": "a", "process": 61, "q": 2},
    "docker": {"stream": "stdout"},
    "klog": {"level": "info", "source": "leader.go:92"},
    "syslog of 5424": {"level": "notice", "facility": 20, "msgid": "ID47", "iut": "3", "s": 'A"b]c'},
    "logfmt": {"level": "info"},
    "dated": {"level": "info"},
    "csv": {"Lock": "l"},
}


@pytest.mark.parametrize("log", ATTRIBUTES)
def test_all_else_becomes_attributes(log: str, tmp_path: Path) -> None:
    event = read(tmp_path, LOGS[log])[0][0]
    assert {name: value for name, value in event.attributes.items() if name != "time"} == ATTRIBUTES[log]


def test_messages_are_what_fields_say(tmp_path: Path) -> None:
    events, _ = read(tmp_path, LOGS["logfmt"])
    assert [(event.kind, event.to) for event in events[1:]] == [("send", ("b", "c")), ("receive", ())]
    assert "message m1" in {fact.source for fact in extract(events).givens.external.values()}


MARKED = [
    ('{"level":30,"time":1531171074631,"msg":"hi","pid":657,"hostname":"web"}', "logging", "web[657]"),
    ('{"message": "hi"}', "logging", "x"),
    ('{"@t": "2026-11-29T00:00:00Z", "@mt": "{n}", "n": 1, "host": "web"}', "logging", "web"),
    ('{"Timestamp": "2026-11-29T00:00:00Z", "Level": "Debug", "MessageTemplate": "a"}', "logging", "x"),
    ('{"timestamp": "2026", "level": "INFO", "fields": {"message": "hi"}, "target": "a"}', "logging", "x"),
    ('{"severity": "INFO", "message": "hi", "service": "shop"}', "logging", "shop"),
    ('{"process": "worker", "message": "hi", "level": "info"}', "logging", "worker"),
    ('{"process": "worker", "label": "hi", "time": 1}', "jsonl", "worker"),
    ('{"process": "worker", "message": "hi", "to": ["x"], "time": 1}', "jsonl", "worker"),
    ('{"event": "hi", "logger": "a", "process": "worker"}', "structlog", "worker"),
    ('{"level": "INFO", "message": "hi", "service": "a", "traceId": "t", "id": "o"}', "logging", "a"),
    ('{"level": "INFO", "msg": "hi", "service": "a", "traceID": "t", "spanID": "s"}', "logging", "a"),
    ('{"level": "INFO", "msg": "hi", "traceID": "t", "spanID": "s", "operationName": "o"}', "logging", "x"),
    ('{"level": "INFO", "message": "hi", "service": "a", "traceId": "t", "spanId": "s"}', "logging", "a"),
]


@pytest.mark.parametrize(("line", "name", "process"), MARKED)
def test_what_loggers_write_is_told_from_the_own_format(
    line: str, name: str, process: str, tmp_path: Path
) -> None:
    assert name == formats.detect(line + "\n", "x.log").NAME
    assert [event.process for event in read(tmp_path, line + "\n")[0]] == [process]


def test_a_line_of_a_span_is_none_of_a_logger() -> None:
    line = '{"traceId": "t", "id": "a", "timestamp": 1, "tags": {"level": "info", "message": "hi"}}\n'
    assert formats.detect(line, "x.json").NAME == "zipkin"
    assert formats.detect(line.replace(", ", ",\n "), "x.jsonl").NAME == "zipkin"


OTHERS = [
    "alice < bob\n",
    'internal "a" < b\n# time, label\n',
    "a, b, c, d\n1, 2, 3, 4\n",
    "2024-05-01T12:00:00Z main.go:12: started\n",
    '2024-05-01T12:00:00Z INFO a {"a": "b"}\nmain.go: started\nexit\n',
    "x=1 y=2\n",
    '{"a": 1}\n',
    '{"schema": "microcosm/1", "external": [["a", "<", "b"]]}\n',
]


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_log_is_not_taken_for_one(text: str) -> None:
    with pytest.raises(TraceError, match="is in no trace format"):
        formats.detect(text, "x.log")


DATED = {
    "2015-10-18 18:01:47,978 INFO [IPC 1] org.apache.X: Created": ("x[IPC 1]", "org.apache.X: Created"),
    "15/10/18 18:01:47 INFO spark.SecurityManager: Changing": ("x", "spark.SecurityManager: Changing"),
    "081109 203615 148 INFO dfs.DataNode: PacketResponder 1": ("x[148]", "dfs.DataNode: PacketResponder 1"),
    "2015-07-29 17:41:44,747 - INFO  [Peer[myid=1]/0:0:2181:Fast@774] - Notified": (
        "x[Peer[myid=1]/0:0:2181]",
        "Notified",
    ),
    "2024-05-01T12:00:00.1+01:00  INFO 12 --- [ main] c.App   : Up": ("x[12][main]", "c.App   : Up"),
    "01-May-2024 12:00:00.123 SEVERE [main] a.b Server": ("x[main]", "a.b Server"),
    "2024-05-01 12:00:00.123 UTC [12] LOG:  ready": ("x[12]", "ready"),
    "2024-05-01 12:00:00.123 CEST [12] ERROR:  deadlock": ("x[12]", "deadlock"),
    "2024-05-01T12:00:00.123456Z 8 [Note] bye": ("x[8]", "bye"),
    "[Sun Dec 04 04:47:44 2005] [core:error] [pid 12:tid 4] bad": ("x[pid 12:tid 4]", "bad"),
    "[1] 2024/05/01 12:00:00.123 [INF] Starting": ("x[1]", "Starting"),
    "[12:00:00 INF] Hello": ("x", "Hello"),
    "12:00:00.123 [info] Sent 200": ("x", "Sent 200"),
    "2024-05-01T12:00:00Z\tINFO\tmain.go:1\thello": ("x", "main.go:1\thello"),
    "2024-05-01 12:00:00,123 - app.mod - INFO - hello": ("x[app.mod]", "hello"),
    "2024-05-01 12:00:00,123 root WARNING hello": ("x[root]", "hello"),
    "web_1  | 2024-05-01 12:00:00 INFO hi": ("x[web_1]", "hi"),
    "[pod/web-1/c] 2024-05-01 12:00:00 INFO hi": ("x[pod/web-1/c]", "hi"),
    "node-1: 2024-05-01 12:00:00 INFO 3 peers": ("x[node-1]", "3 peers"),
    "2024-05-01 12:00:00 INFO n1: elected": ("x[n1]", "elected"),
    "2024-05-01 12:00:00 INFO node.Peer: elected": ("x", "node.Peer: elected"),
    "2024-05-01 12:00:00 INFO": ("x", ""),
    "[2024-05-01 12:00:00.123][12][info][main] [a.cc:4] up": ("x[12][main]", "[a.cc:4] up"),
    "12:M 01 May 2024 12:00:00.123 * Ready": ("x[12]", "Ready"),
    "12:S 01 May 2024 12:00:00.123 # Lost": ("x[12]", "Lost"),
    "I, [2024-05-01T12:00:00.123456 #12]  INFO -- : Started": ("x[12]", "Started"),
    "E, [2024-05-01T12:00:00.123456 #12] ERROR -- app: no": ("x[12][app]", "no"),
    "WARNING:app.db:bye": ("x", "app.db:bye"),
    "2024/05/01 12:00:00 [error] 29#31: *1 open() failed": ("x[29#31]", "*1 open() failed"),
    "2024-05-01 12:00:00.123+00:00 [info] <0.230.0> Flags:": ("x[0.230.0]", "Flags:"),
    "2024-05-01 12:00:00.123 UTC [33] me@db ERROR:  no x": ("x[33]", "no x"),
    "[2024-05-01T12:00:00.1+0000] {task.py:11} INFO - Done {x}": ("x", "Done {x}"),
    "2024-05-01 12:00:00 INFO {a} b@c": ("x", "{a} b@c"),
    "2024.05.01 12:00:00.1 [ 4 ] {q-1} <Information> App: up": ("x[4]", "App: up"),
    "[2024-05-01 12:00:00,123: INFO/ForkPoolWorker-1] Task ok": ("x[ForkPoolWorker-1]", "Task ok"),
    "2024-05-01T12:00:00.1Z pid=1 tid=ab class=J INFO: start": ("x[1]", "start"),
    "INFO:     Started": ("x", "Started"),
    "CRITICAL: down": ("x", "down"),
}


@pytest.mark.parametrize("line", DATED)
def test_a_time_and_a_level_begin_the_lines_of_loggers(line: str, tmp_path: Path) -> None:
    assert ("compose" if "web" in line else "dated") == formats.detect(line + "\n", "x.log").NAME
    (event,), _ = read(tmp_path, line + "\n")
    assert (event.process, event.label) == DATED[line]
    assert str(event.attributes.get("time", "")) in line
    assert "level" in event.attributes


def test_the_text_of_a_line_of_dotnet_stands_below_it(tmp_path: Path) -> None:
    text = "info: A.Life[14]\n      Now on: 1\nwarn: A.Life[0]\n"
    text += "fail: B[1]\n      bad\n      at C.D()\ncrit: A[2]\n"
    assert formats.detect(text, "x.log").NAME == "dated"
    events, report = read(tmp_path, text)
    told = [(event.label, event.line, event.attributes["level"]) for event in events]
    assert told == [
        ("A.Life[14] Now on: 1", 1, "info"),
        ("A.Life[0]", 3, "warn"),
        ("B[1] bad", 4, "fail"),
        ("A[2]", 7, "crit"),
    ]
    assert events[2].attributes["following"] == "      at C.D()"
    assert [*report.counts] == ["unparsed-text"]


def test_what_stands_before_a_level_is_not_lost(tmp_path: Path) -> None:
    for line, more in {
        "2024-05-01 12:00:00.123 UTC [33] me@db ERROR:  no x": {"user": "me@db"},
        "[2024-05-01T12:00:00.1+0000] {task.py:11} INFO - Done": {"context": "task.py:11"},
        "2024-05-01T12:00:00.1Z pid=1 tid=ab class=J jid=2 INFO: a": {
            "thread": "ab",
            "class": "J",
            "jid": "2",
        },
    }.items():
        ((event, *_), _) = read(tmp_path, line + "\n")
        assert more.items() <= event.attributes.items()


OWNERS = [
    "{time} [{who}] {level} {text}",
    "{time} {level} [{who}] {text}",
    "{time} {level} {who}: {text}",
    "{time} - {who} - {level} - {text}",
    "{time} {who} {level} {text}",
    "[{who}] {time} {level} {text}",
    "{who} {time} {level} {text}",
    "{who} | {time} {level} {text}",
    "{level} [{who}] {time} {text}",
    "[1] {time} {level} [{who}] {text}",
    "{time} [main] {level} [{who}] {text}",
    "{time} 7 {level} {who}: {text}",
    "{time} [main] {level} {who}: {text}",
]


@pytest.mark.parametrize("form", OWNERS)
@given(
    whose=st.lists(st.sampled_from(["n1", "n2", "web-1", "db.prod"]), min_size=2, max_size=12),
    texts=st.lists(
        st.sampled_from(["got it", "vote: yes", "INFO", "[x] y", "12 left", "- 2024"]),
        min_size=12,
        max_size=12,
    ),
)
def test_what_a_logger_may_call_a_host_orders_no_lines_of_others(
    form: str, whose: list[str], texts: list[str]
) -> None:
    lines = [
        form.format(time=f"2024-05-01 12:00:{at:02}", who=who, level="INFO", text=texts[at])
        for at, who in enumerate(whose)
    ]
    with TemporaryDirectory() as folder:
        events, report = read(Path(folder), "".join(f"{line}\n" for line in lines))
    assert not report.counts
    assert [event.line for event in events] == [*range(1, len(lines) + 1)]
    processes = [event.process for event in events]
    for (one, who), (other, whom) in combinations(zip(processes, whose, strict=True), 2):
        assert who == whom or one != other


def test_few_names_in_texts_are_no_names_of_whose_they_are(tmp_path: Path) -> None:
    text = "".join(f"2024-05-01 12:00:0{at} INFO {what}\n" for at, what in enumerate(["up", "cfg: a", "on"]))
    events, _ = read(tmp_path, text)
    assert [event.id for event in events] == ["x:1", "x:2", "x:3"]


NAMING = [
    *("hostname", "host", "host.name", "host.hostname", "node", "service", "service.name", "app"),
    *("process", "container_id", "container.id", "kubernetes.pod_name", "kubernetes.pod.name"),
    *("container_name", "container.name"),
    *("kubernetes.namespace_name", "kubernetes.container_name", "MachineName", "Properties.Application"),
]
LINES = {
    "structlog": {"event": "x", "level": "info"},
    "logging": {"msg": "x", "level": "info", "pid": 7},
    "docker": {"log": "x\n", "stream": "stdout"},
}


@pytest.mark.parametrize("field", NAMING)
@pytest.mark.parametrize("log", LINES)
@pytest.mark.parametrize("nested", [False, True])
def test_lines_that_a_field_tells_apart_are_of_two_processes(
    log: str, field: str, nested: bool, tmp_path: Path
) -> None:
    """So collectors of the logs of many programs mark whose a line is."""

    def line(value: str) -> str:
        names = field.split(".") if nested else [field]
        told: object = value
        for name in reversed(names[1:]):
            told = {name: told}
        beside = {} if field.startswith(("host", "Machine")) else {"host": "h"}
        beside |= {"service": "s"} if field == "process" else {}
        return json.dumps({**LINES[log], **beside, names[0]: told, "time": f"2024-05-01T12:00:0{value}Z"})

    events, report = read(tmp_path, "".join(f"{line(value)}\n" for value in "1212"))
    assert [event.seq for event in events] == [1, 1, 2, 2]
    assert not report.counts


@pytest.mark.parametrize(
    "fields",
    [("host", "service"), ("host", "app"), ("node", "service"), ("app", "process"), ("host", "process")],
)
def test_columns_and_pairs_name_a_program_and_its_host(fields: tuple[str, str], tmp_path: Path) -> None:
    rows = [("a", "x"), ("b", "x"), ("a", "y"), ("a", "x")]
    table = "".join(f"{one},{other},m\n" for one, other in rows)
    pairs = "".join(f"level=info {fields[0]}={one} {fields[1]}={other} msg=m\n" for one, other in rows)
    for text in (f"{fields[0]},{fields[1]},msg\n{table}", pairs):
        assert [e.id for e in read(tmp_path, text)[0]] == ["a/x:1", "b/x:1", "a/y:1", "a/x:2"]


@pytest.mark.parametrize(("to", "kept"), [("q", ()), ("b/q", ("b/q",))])
def test_a_receiver_that_is_called_by_a_part_of_its_name_is_not_known(
    to: str, kept: tuple[str, ...], tmp_path: Path
) -> None:
    """The message still is."""
    text = f"host,process,kind,message,to\na,p,send,m1,{to}\nb,q,receive,m1,\n"
    events, report = read(tmp_path, text)
    assert [(event.id, event.message, event.to) for event in events] == [
        ("a/p:1", "m1", kept),
        ("b/q:1", "m1", ()),
    ]
    assert not report.counts


# -- patterns without a clock --------------------------------------------------------------------------------

LEASE = """\
12:00:00.1 alice: got lease
12:00:00.2 alice: send w1 -> store write x
  on two lines
12:00:00.3 store: recv w1 x = 1
"""
PATTERN = (
    r"(?<time>\S+) (?<host>[^:\s]+): (?:(?<kind>send|recv) (?<message>\S+)(?: -> (?<to>\S+))? )?(?<event>.*)"
)


def test_a_pattern_needs_no_clock(tmp_path: Path) -> None:
    events, report = read(tmp_path, LEASE, pattern=PATTERN)
    assert [(e.id, e.kind, e.message, e.to, e.label) for e in events] == [
        ("alice:1", "internal", None, (), "got lease"),
        ("alice:2", "send", "w1", ("store",), "write x"),
        ("store:1", "receive", "w1", (), "x = 1"),
    ]
    assert [event.attributes["time"] for event in events] == ["12:00:00.1", "12:00:00.2", "12:00:00.3"]
    assert told(report) == [("unparsed-text", 3)]


def test_groups_of_other_names_are_attributes_and_a_file_is_a_process(tmp_path: Path) -> None:
    events, _ = read(tmp_path, "INFO got x\n", "bob.log", pattern=r"(?<level>\w+) (?<event>.*)")
    assert [(e.id, e.label, dict(e.attributes)) for e in events] == [("bob:1", "got x", {"level": "INFO"})]


def test_a_kind_follows_from_receivers_or_a_sending(tmp_path: Path) -> None:
    pattern = r"(?<host>\w+) (?<message>m\d+)(?: to (?<to>\w+))?"
    events, report = read(tmp_path, "b m1\na m1 to b\nb m2\n", pattern=pattern)
    assert [(e.id, e.kind) for e in events] == [("b:1", "receive"), ("a:1", "send")]
    assert told(report) == [("bad-line", 3)]


def test_positions_may_be_said(tmp_path: Path) -> None:
    events, report = read(tmp_path, "p 2\np 1\np x\np 2\n", pattern=r"(?<process>\w+) (?<seq>\S+)(?<event>)")
    assert [e.id for e in events] == ["p:2", "p:1"]
    assert told(report) == [("bad-line", 3), ("duplicate-event", 4)]


COLUMNS = "Process,Seq,Label,Kind\np,2,b,internal\np,1,a,internal\n"


def test_columns_may_have_positions(tmp_path: Path) -> None:
    events, report = read(tmp_path, COLUMNS)
    assert [(e.id, e.kind, dict(e.attributes)) for e in events] == [
        ("p:2", "internal", {}),
        ("p:1", "internal", {}),
    ]
    events, report = read(tmp_path, COLUMNS + "p,1,c,\np,2,d,\n")
    assert [e.full_id for e in events] == ["p:2", "p:1", "2/p:1", "2/p:2"]
    assert report.counts == {"restart": 1}


def test_positions_that_another_file_has_are_those_of_another_process(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(COLUMNS.replace("b,", f"{name},"), encoding="utf-8")
    events = list(formats.read([tmp_path / "a.csv", tmp_path / "b.csv"]))
    assert [e.id for e in events] == ["p:2", "p:1", "p (b.csv):2", "p (b.csv):1"]


def test_a_delimiter_begins_an_execution(tmp_path: Path) -> None:
    text = "p a\n# run one\np b\n# run two\np c\n"
    events, report = read(tmp_path, text, pattern=r"(?<host>\w) (?<event>\w)", delimiter=r"^# (?<trace>.*)$")
    assert [event.full_id for event in events] == ["p:1", "run one/p:1", "run two/p:1"]
    assert not report.counts
    events, _ = read(tmp_path, text.replace("# run", "=== run ===\n#"), pattern=r"(?<host>p) (?<event>\w)")
    assert [event.full_id for event in events] == ["p:1", "run/p:1", "run (2)/p:1"]


def test_delimiters_stand_in_all_plain_logs(tmp_path: Path) -> None:
    events, _ = read(tmp_path, LOGS["klog"].replace("\n", "\n--\n", 1), delimiter="^--$")
    assert [event.full_id for event in events] == ["x[1]:1", "2/x[1]:1"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("x", "the pattern has none of the groups (?<host>…), (?<process>…), (?<event>…)"),
        ("(?<host>a)(?<process>b)", "`host` and `process` are the same thing"),
        ("(?<host>", "unterminated subpattern"),
    ],
)
def test_a_pattern_that_is_of_no_use_is_shown(pattern: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TextError) as caught:
        read(tmp_path, "p x\n", pattern=pattern)
    assert message in str(caught.value)


def test_a_pattern_that_matches_nothing_is_answered_with_one_that_would(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="matches no record in the whole text") as caught:
        read(tmp_path, LEASE, pattern=r"(?<host>\d+)=(?<event>.*)")
    assert r"--pattern '(?<time>\S+) (?<host>[^:\s]+): (?<event>.*)'" in str(caught.value)


# -- times, files, damage ------------------------------------------------------------------------------------


def test_times_that_go_back_are_told_and_order_nothing(tmp_path: Path) -> None:
    lines = LOGS["klog"].splitlines()
    events, report = read(tmp_path, f"{lines[1]}\n{lines[0]}\n")
    assert [event.id for event in events] == ["x[1]:1", "x[1]:2"]
    assert told(report) == [("clock-inversion", 2)]


def test_times_without_a_zone_are_not_those_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no 02:30 in Berlin on that day; the log was written elsewhere."""
    text = "2024-03-31 02:30:00 a\n2024-03-31 03:00:00 b\n"
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert not read(tmp_path, text, pattern=r"(?<time>\S+ \S+) (?<event>.*)")[1].counts
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_time_that_is_a_number_beyond_all_others_is_an_attribute(tmp_path: Path) -> None:
    line = '{"event": "x", "level": "info", "timestamp": %s}\n'
    events, report = read(tmp_path, line % 1 + line % 10**400 + line % 2)
    assert [event.attributes["time"] for event in events] == [1, 10**400, 2]
    assert not report.counts


def test_a_year_or_a_day_begins_again(tmp_path: Path) -> None:
    _, report = read(tmp_path, "Dec 31 23:59:59 h a: x\nJan  1 00:00:00 h a: y\n")
    assert not report.counts
    _, report = read(tmp_path, "23:59:59 a\n00:00:00 b\n", pattern=r"(?<time>\S+) (?<event>.*)")
    assert not report.counts


def test_a_log_that_is_there_twice_is_read_once(tmp_path: Path) -> None:
    events, report = read(tmp_path, LEASE * 2, pattern=PATTERN)
    assert len(events) == 3
    assert (report.counts["duplicate-event"], report.lost) == (3, 3)


def test_equal_lines_of_one_time_are_several_events(tmp_path: Path) -> None:
    assert len(read(tmp_path, "May  1 12:00:00 h a: retry\n" * 3)[0]) == 3


def test_nothing_orders_two_files(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(f"12:00:00 p: {name}\n", encoding="utf-8")
    report = Report()
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    events = list(formats.read(paths, pattern=PATTERN, report=report))
    assert [event.id for event in events] == ["p:1", "p (b.log):1"]
    assert report.counts == {"scattered-process": 1}


NAMES = ["p", "p (b.log)", "p (a.log)", "p (b.log) (b.log)", "p (c.log)"]
ORDERS = [
    {"a.log": ["p (b.log)", "p"], "b.log": ["p"], "c.log": ["p (b.log)", "p (b.log)"]},
    {"a.log": ["p"], "b.log": ["p", "p (b.log)"]},
    *(
        {
            f"{name}.log": Random(seed).choices(NAMES, k=6)
            for name, seed in (("a", at), ("b", -at), ("c", at + 99))
        }
        for at in range(20)
    ),
]


@pytest.mark.parametrize("seq", ["", r"(?<seq>\d+) "])
@pytest.mark.parametrize("lines", ORDERS)
def test_a_name_that_is_made_for_what_a_process_does_elsewhere_is_no_other_process(
    lines: dict[str, list[str]], seq: str, tmp_path: Path
) -> None:
    for name, processes in lines.items():
        numbers = [
            f"{processes[:at].count(process) + 1} " * bool(seq) for at, process in enumerate(processes)
        ]
        text = "".join(
            f"{number}{process}: {process}\n" for number, process in zip(numbers, processes, strict=True)
        )
        (tmp_path / name).write_text(text, encoding="utf-8")
    pattern = f"{seq}(?<host>[^:]+): (?<event>.*)"
    events = list(formats.read([tmp_path / name for name in lines], pattern=pattern))
    assert len(events) == sum(map(len, lines.values()))
    stated: dict[str, set[tuple[str, str | None]]] = {}
    for event in events:
        stated.setdefault(event.process, set()).add((event.file, event.label))
    assert all(len(each) == 1 for each in stated.values())


def test_a_line_that_is_none_is_told(tmp_path: Path) -> None:
    text = LOGS["structlog"] + "Traceback\n  more\n" + '{"event": 1, "level": "info"}\n' + '{"event": "cut'
    events, report = read(tmp_path, text)
    assert len(events) == 2
    assert told(report) == [("unparsed-text", 3), ("bad-line", 5), ("bad-line", 6)]
    assert "half-written last line" in report.findings[2].message
    assert told(read_text("Time,Label\n1,a,b\n2,c\n", "csv")[1]) == [("bad-line", 2)]


# -- what is in no format ------------------------------------------------------------------------------------

GUESSES = [
    (
        "2024-05-01 12:00:01,250 (main) [store] wrote x",
        r"(?<time>\S+ \S+) \((?<thread>[^\)]+)\) \[(?<host>[^\]]+)\] (?<event>.*)",
    ),
    ("[12:00:01] alice | hello", r"\[(?<time>[^\]]+)\] (?<host>\S+) (?<event>.*)"),
    ("1714564800.25 bob> hi", r"(?<time>\S+) (?<host>[^>\s]+)> (?<event>.*)"),
    ("Mon: hello", r"(?<host>[^:\s]+): (?<event>.*)"),
    ("ERROR: it broke", r"(?<level>\w+): (?<host>\S+) (?<event>.*)"),
    ("42", "(?<event>.*)"),
]


@pytest.mark.parametrize(("line", "pattern"), GUESSES)
def test_the_pattern_that_is_shown_reads_the_first_line(line: str, pattern: str, tmp_path: Path) -> None:
    assert guessed(line + "\n") == pattern
    events, _ = read(tmp_path, line + "\n", pattern=pattern)
    assert [event.line for event in events] == [1]
    with pytest.raises(TraceError) as caught:
        formats.detect(line + "\n", "x.log")
    assert f"If it is a plain log, --pattern '{pattern}' reads its first line." in str(caught.value)


def test_a_record_of_graylog_is_read() -> None:
    line = '{"version": "1.1", "host": "web", "short_message": "up", "timestamp": 1.5, "level": 6}\n'
    (event,), _ = read_text(line, formats.detect(line, "x.log").NAME)
    assert (event.id, event.label, event.attributes["time"]) == ("web:1", "up", 1.5)


def test_a_message_that_is_named_is_not_the_text() -> None:
    record = {"level": "info", "msg": "reserve", "kind": "send", "message": "m1"}
    for more, said in (
        ({"to": ["b"]}, "reserve"),
        ({"kind": "SENT"}, "reserve"),
        ({"kind": "odd"}, "m1"),
        ({"kind": "event"}, "m1"),
    ):
        (event,), _ = read_text(json.dumps({**record, **more}) + "\n", "logging")
        assert event.label == said


def test_lines_of_containers_are_told_by_what_stands_before_them(tmp_path: Path) -> None:
    text = """\
Attaching to web-1, db-1
web-1  | {"level": "info", "msg": "ask", "kind": "send", "message": "m1", "to": ["db"], "service": "shop"}
web-2  | {"level": "info", "msg": "wait", "service": "shop"}
db-1   | level=info msg=asked kind=receive message=m1
db-1   | 2024-05-01 12:00:00.123 UTC [12] LOG:  ready
db-1   | 2024-05-01T12:00:01.123456789Z done
web-1  | Traceback (most recent call last):
web-1  |
[pod/a-1/c] 12:00:00 INFO up
db-1 exited with code 0
lost its beginning
"""
    assert formats.detect(text, "x.log").NAME == "compose"
    events, report = read(tmp_path, text)
    assert [(event.id, event.kind, event.message, event.label) for event in events] == [
        ("x[web-1]:1", "send", "m1", "ask"),
        ("x[web-2]:1", "internal", None, "wait"),
        ("x[db-1]:1", "receive", "m1", "asked"),
        ("x[db-1][12]:1", "internal", None, "ready"),
        ("x[db-1]:2", "internal", None, "done"),
        ("x[web-1]:2", "internal", None, "Traceback (most recent call last):"),
        ("x[web-1]:3", "internal", None, ""),
        ("x[pod/a-1/c]:1", "internal", None, "up"),
    ]
    assert events[0].attributes["service"] == "shop"
    assert events[4].attributes["time"] == "2024-05-01T12:00:01.123456789Z"
    assert told(report) == [("bad-line", 11)]


@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(["web-1", "web-2", "db_1"]),
            st.sampled_from(
                [
                    '{"msg": "x", "level": 1, "service": "s"}',
                    "msg=x level=i host=h",
                    "12:00:00 INFO x",
                    "x",
                    "",
                ]
            ),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_containers_that_call_themselves_alike_are_not_one(lines: list[tuple[str, str]]) -> None:
    events, report = read_text("".join(f"{who}  | {said}\n" for who, said in lines), "compose")
    assert not report.counts
    assert [f"[{who}]" in event.process for event, (who, _) in zip(events, lines, strict=True)].count(
        False
    ) == 0
    assert len({event.id for event in events}) == len(lines)


@pytest.mark.parametrize(
    ("line", "who"),
    {
        "12:00:01 web.1     | ready": "web.1",
        "web.1.k2x@node1    | ready": "web.1.k2x@node1",
        "0|api  | ready": "0|api",
        "[pod/web-1/c] ready": "pod/web-1/c",
        "web_1  | ready": "web_1",
    }.items(),
)
def test_what_starts_several_programs_says_which_one_wrote(line: str, who: str) -> None:
    assert formats.detect(line + "\n", "x.log").NAME == "compose"
    (event,), report = read_text(line + "\n", "compose")
    assert (event.process.partition("[")[2], event.label) == (who + "]", "ready")
    assert not report.counts


@pytest.mark.parametrize("line", ["alice | bob", "| a-1 | b |", "a-1 || b-2", "a-1 | b-2, c", " a_1 | 2"])
def test_tables_and_statements_are_no_logs_of_containers(line: str) -> None:
    with suppress(TraceError):
        assert formats.detect(f"{line}\nalice < bob\nx y z\n", "x.log").NAME != "compose"


LISTS = {
    '[{"level": "info", "msg": "a"},\n{"level": "info", "msg": "b"}]\n': ".[]",
    '{"hits": {"total": 1, "hits": [{"_id": 1, "_source": {"@timestamp": 1, "message": "a"}}]}}': (
        ".hits.hits[]._source"
    ),
    '{"events": [{"logStreamName": "a", "timestamp": 1, "message": "b"}]}': ".events[]",
    '[\n  {"process": "a", "label": "x", "seq": 1, "kind": "internal"}\n]': ".[]",
}


@pytest.mark.parametrize("text", LISTS)
def test_where_records_stand_in_a_list_is_said(text: str) -> None:
    assert f"`jq -c '{LISTS[text]}'`" in might_be(text)


def test_what_it_might_be_is_said() -> None:
    assert "JSON lines with the fields who, what" in might_be(json.dumps({"who": 1, "what": 2}) + "\n")
    assert "binary" in might_be("\0\1\2")
    assert "XML" in might_be("<a/>")
    for history in ("[{:process 0,\n  :type :invoke}]", "{:type :ok}"):
        assert "EDN" in might_be(history)


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_tables_are_read_as_they_were_written(sign: str) -> None:
    rng = Random(sign)
    pieces = ["a", " b", '"', "\n", "x\ny", sign, "it's 5\"", "1,5", "two; three"]
    for _ in range(60):
        rows = [
            (rng.choice("pq"), "".join(rng.choice(pieces) for _ in range(rng.randint(1, 4))), str(at))
            for at in range(rng.randint(1, 6))
        ]
        text = io.StringIO()
        writer = csv.writer(text, delimiter=sign, lineterminator="\n")
        writer.writerows([("Process", "Label", "number"), *rows])
        assert reading_of_table(text.getvalue()) == [(p, label.strip(), number) for p, label, number in rows]


def reading_of_table(text: str) -> list[tuple[str, str, object]]:
    assert formats.detect(text, "a.csv").NAME == "csv"
    events, report = read_text(text, "csv")
    assert not report.counts
    events.sort(key=lambda event: event.line)
    return [(event.process, event.label, event.attributes["number"]) for event in events]


def test_a_quoted_cell_that_does_not_end_costs_its_line_only() -> None:
    text = 'process,label\np,"a\nq,b\nq,"c"\np,d\n' + "q,e\n" * 300
    events, report = read_text(text, "csv")
    assert told(report) == [("bad-line", 2)]
    assert len(events) == 303
    assert "does not end" in report.findings[0].message


TRACEBACKS = {
    "java": "a.IllegalStateException: no lamp\n\tat a.B.c(B.java:4)\nCaused by: a.IOException: gone",
    "python": 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    1 / 0\nValueError: no',
    "go": "panic: no lamp\n\ngoroutine 1 [running]:\nmain.main()\n\t/tmp/a.go:4 +0x1d",
}


@pytest.mark.parametrize("language", TRACEBACKS)
@pytest.mark.parametrize("log", ["cri", "klog", "syslog", "logfmt", "dated", "structlog", "pattern"])
def test_a_traceback_goes_with_the_line_above_it(log: str, language: str, tmp_path: Path) -> None:
    if log == "pattern":
        text, more = LOGS["dated"].splitlines()[0] + "\n", {"pattern": r"(?<time>\d\S+ \S+) (?<event>.*)"}
    else:
        text, more = next(LOGS[name] for name in LOGS if name.split()[0] == log).splitlines()[0] + "\n", {}
    events, report = read(tmp_path, f"{text}{TRACEBACKS[language]}\n" * 2 + text, **more)
    said = TRACEBACKS[language].replace("\n\n", "\n")
    assert [event.attributes.get("following") for event in events] in ([said, said, None], [said])
    assert {finding.kind for finding in report.findings} <= {"unparsed-text", "duplicate-event"}
    assert report.counts["unparsed-text"] == 2


NO_EVENTS = st.lists(st.sampled_from(["  at a.b(c:1)", "Caused by: x", "so it is", "# no words"]), max_size=5)


@given(
    before=NO_EVENTS,
    blocks=st.lists(st.tuples(st.sampled_from(["got it", "x=1"]), NO_EVENTS), min_size=1, max_size=8),
)
def test_every_line_behind_the_first_event_is_in_one_or_is_a_comment(
    before: list[str], blocks: list[tuple[str, list[str]]]
) -> None:
    lines = [*before]
    for at, (label, following) in enumerate(blocks):
        lines += [f"2024-05-01 12:00:{at:02} INFO {label}", *following]
    events, report = read_text("\n".join(lines) + "\n", "dated")
    assert [event.label for event in events] == [label for label, _ in blocks]
    for event, (_, following) in zip(events, blocks, strict=True):
        words = [line for line in following if not line.startswith("#")]
        assert event.attributes.get("following", "") == "\n".join(words)
    assert report.counts.keys() <= {"unparsed-text", "comment"}


def test_a_column_without_a_name_is_an_attribute_without_one() -> None:
    (event,), _ = read_text(",process,label\nx,p,got it\n", "csv")
    assert event.attributes == {"": "x"}


def test_keys_alone_in_logfmt_are_true() -> None:
    text = 'level=info msg="a b" service=api cached id=7\nlevel=info msg=c service=api retry\n'
    assert formats.detect(text, "log").NAME == "logfmt"
    events, report = read_text(text, "logfmt")
    assert not report.counts
    assert [(event.label, event.attributes.get("cached")) for event in events] == [
        ("a b", "true"),
        ("c", None),
    ]
    assert events[1].attributes["retry"] == "true"
    _, report = read_text(text + "Traceback most recent\n", "logfmt")
    assert told(report) == [("unparsed-text", 3)]


def test_lines_of_syslog_without_a_tag_are_events_of_their_host() -> None:
    text = "May  1 12:00:00 web su[12]: failed\n<13>May  1 12:00:01 web last message repeated 2 times\n"
    events, report = read_text(text, "syslog")
    assert not report.counts
    assert [(event.id, event.label) for event in events] == [
        ("web/su[12]:1", "failed"),
        ("web:1", "last message repeated 2 times"),
    ]


def test_an_entry_of_the_journal_without_a_time_is_one() -> None:
    lines = ['{"__REALTIME_TIMESTAMP":"1","__CURSOR":"a","MESSAGE":"x"}', '{"__CURSOR":"b","MESSAGE":"y"}']
    events, report = read_text("\n".join(lines) + "\n", "journald")
    assert [(event.label, event.attributes.get("time")) for event in events] == [("x", "1"), ("y", None)]
    assert not report.counts
