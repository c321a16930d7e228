"""The six orderings of a log on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

from microcosm.queries.sheet import RED
from tests.cli.conftest import Run

SIX = ["fifo-1-1", "causal", "fifo-n-1", "fifo-1-n", "fifo-n-n", "rsc"]

Row = tuple[bool | None, bool | None, bool | None]


def log(text: str, kinds: tuple[str, str] = ("send", "receive")) -> str:
    """A log from `a!m b?m`: a word an event, in the order of the execution."""
    counts: dict[str, int] = {}
    lines = []
    for word in text.split():
        sends = "!" in word
        process, message = word.split("!" if sends else "?")
        counts[process] = counts.get(process, 0) + 1
        kind = kinds[0] if sends else kinds[1]
        lines.append({"process": process, "seq": counts[process], "kind": kind, "message": message})
    return "".join(json.dumps(line) + "\n" for line in lines)


def verdicts(run: Run, text: str, *options: str) -> dict[str, Row]:
    Path("run.jsonl").write_text(text, encoding="utf-8")
    ran = run("order", "run.jsonl", "--json", *options)
    assert ran.code == 0, ran.err
    found = ran.json["orderings"]
    assert list(found) == SIX
    return {name: (one["execution"], one["closure"], one["interior"]) for name, one in found.items()}


def test_a_synchronous_run_and_a_crown(run: Run) -> None:
    assert verdicts(run, log("a!1 b?1 b!2 a?2")) == dict.fromkeys(SIX, (True, True, True))
    found = verdicts(run, log("a!1 b!2 a?2 b?1"))
    assert found["rsc"] == (False, False, False)
    assert found["fifo-n-n"] == (False, True, False)
    assert found["fifo-n-1"] == found["fifo-1-n"] == (True, True, True)


def test_of_a_large_pattern_the_text_names_the_first_messages(run: Run) -> None:
    """In a ring each process sends and then receives of the one before it: one crown of all messages."""
    size = 300
    sent = [f"p{at}!m{at}" for at in range(size)]
    received = [f"p{(at + 1) % size}?m{at}" for at in range(size)]
    Path("ring.jsonl").write_text(log(" ".join(sent + received)), encoding="utf-8")
    whole = run("order", "ring.jsonl", "--json").json["orderings"]["rsc"]["witness"]["closure"]["messages"]
    assert sorted(whole) == sorted(f"m{at}" for at in range(size))
    table, told = run("order", "ring.jsonl").out, run("order", "ring.jsonl", "--explain", "rsc").out
    for text in (table, told):
        assert f"and {size - 12} more (--json has all)" in " ".join(text.split())
        assert len(text) < 2000
    assert f"crown {' '.join(whole[:12])} " in told
    assert f"{2 * size} events of {size} peers, too many to draw" in told


def test_witnesses(run: Run) -> None:
    Path("run.jsonl").write_text(log("a!1 a!2 b?2 b!3 c?3 c?1"), encoding="utf-8")
    found = run("order", "run.jsonl", "--json").json["orderings"]
    causal = found["causal"]["witness"]
    assert causal["execution"] == {"pair": ["1", "3"]}
    assert causal["closure"] == {"pattern": "inversion", "messages": ["1", "3"], "within": ["1", "2", "3"]}
    assert causal["interior"]["pair"] == ["1", "3"]
    assert found["fifo-n-n"]["witness"]["closure"]["pattern"] == "causal-knot"
    assert found["rsc"]["witness"]["closure"]["pattern"] == "crown"
    fifo = found["fifo-1-1"]["witness"]
    assert (fifo["execution"], fifo["interior"]) == (None, None)
    assert fifo["closure"]["execution"] == ["a:1", "a:2", "b:1", "b:2", "c:1", "c:2"]


def test_an_execution_that_keeps_what_the_lines_do_not(run: Run) -> None:
    Path("run.jsonl").write_text(log("a!1 b!2 d?2 c?1"), encoding="utf-8")
    one = run("order", "run.jsonl", "--json").json["orderings"]["rsc"]
    assert (one["execution"], one["closure"], one["interior"]) == (False, True, False)
    kept = one["witness"]["closure"]["execution"]
    assert kept in (["a:1", "c:1", "b:1", "d:1"], ["b:1", "d:1", "a:1", "c:1"])
    assert one["witness"]["interior"]["pair"] == ["1", "2"]


def test_an_empty_log_satisfies_everything(run: Run) -> None:
    assert verdicts(run, "") == dict.fromkeys(SIX, (True, True, True))


def test_levels(run: Run) -> None:
    """The application is asked where a log tells of it; the network below may have overtaken."""
    text = log("a!1 a!2 b?2 b?1", ("causal_send", "deliver"))
    network = [dict(json.loads(line)) for line in log("a!1 a!2 b?1 b?2").splitlines()]
    for line in network:
        line["seq"] += 2
    text += "".join(json.dumps(line) + "\n" for line in network)
    assert verdicts(run, text)["fifo-1-1"] == (False, False, False)
    assert verdicts(run, text, "--level", "network")["fifo-1-1"] == (True, True, True)
    assert verdicts(run, log("a!1 a!2 b?2 b?1"))["fifo-1-1"] == (False, False, False)
    assert run("order", "run.jsonl", "--level", "wire").code == 2


def test_what_is_not_monotone_is_null_of_an_incomplete_log(run: Run) -> None:
    found = verdicts(run, log("a!1 b!2 a?2 b?1"), "--incomplete")
    assert found["rsc"] == (False, False, False)
    assert found["fifo-n-n"] == (False, None, False)
    assert found["causal"] == (None, None, None)


def test_lines_that_are_no_execution(run: Run) -> None:
    """Program order is that of `seq`: the computation is there, an execution is not."""
    assert verdicts(run, log("b?1 a!1"))["rsc"] == (None, True, True)
    assert "line-before-cause" in run("order", "run.jsonl").err
    strict = run("order", "run.jsonl", "--strict")
    assert strict.code == 4
    assert "run.jsonl:1" in strict.err


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("b?1", "unmatched-receive"),
        ("a!1 a!1 b?1", "repeated-send"),
        ("a!1 b?1 b?1", "duplicate-receive"),
        ("a!1 a?1", "self-send"),
        ("a?2 a!1 b?1 b!2", "message-cycle"),
    ],
)
def test_bad_input_is_reported_and_left_out(run: Run, text: str, kind: str) -> None:
    Path("run.jsonl").write_text(log(text), encoding="utf-8")
    ran = run("order", "run.jsonl", "--json")
    assert ran.code == 0
    assert ran.json["reported"][kind] >= 1
    assert f"[{kind}]" in ran.err
    assert "run.jsonl:" in ran.err
    strict = run("order", "run.jsonl", "--strict")
    assert strict.code == 4
    assert kind in strict.err


@pytest.mark.parametrize("names", sorted({*permutations(["m", "m", "m", "m#2", "m#2", "m#3"])}))
def test_messages_of_several_senders_are_several_whatever_others_are_called(
    run: Run, names: tuple[str, ...]
) -> None:
    text = " ".join(f"p{at}!{name}" for at, name in enumerate(names))
    Path("run.jsonl").write_text(log(f"{text} a!x b?x b?m#3"), encoding="utf-8")
    ran = run("order", "run.jsonl", "--json")
    assert (ran.code, ran.json["messages"]) == (0, len(names) + 1)


def test_an_unreceived_message_is_no_error(run: Run) -> None:
    Path("run.jsonl").write_text(log("a!1 a!2 b?2"), encoding="utf-8")
    ran = run("order", "run.jsonl", "--json", "--strict")
    assert ran.code == 0
    assert ran.json["orderings"]["rsc"]["execution"] is True
    assert ran.json["orderings"]["fifo-1-1"]["execution"] is True


def test_a_multicast_is_no_duplicate(run: Run) -> None:
    """Total order is what Fifo n-n of multicasts asks for; receivers that disagree rule it out."""
    agreed = verdicts(run, log("a!1 b!2 c?1 d?1 c?2 d?2"))
    assert agreed["fifo-n-n"][:2] == (True, True)
    assert agreed["rsc"] == (False, True, False)
    apart = verdicts(run, log("a!1 b!2 c?1 c?2 d?2 d?1"))
    assert apart["fifo-n-n"] == apart["fifo-n-1"] == (False, False, False)
    assert apart["fifo-1-n"] == (True, True, True)


def test_what_implies_what_of_multicasts(run: Run) -> None:
    """Fifo 1-n and not Causal: who has a message sends to one that has it not (Lemma 4)."""
    Path("run.jsonl").write_text(log("a!1 c?1 c!2 b?2 b?1"), encoding="utf-8")
    told = run("order", "run.jsonl").out
    assert "it kept: fifo-1-n\n" in told
    assert "  causal ···" in told
    Path("run.jsonl").write_text(log("a!1 b?1 c?1"), encoding="utf-8")
    assert "it kept: rsc\n" in run("order", "run.jsonl").out
    Path("run.jsonl").write_text(log("a!1 b!2 c?2 c?1 d?1 d?2"), encoding="utf-8")
    assert "it kept: causal, fifo-1-n\n" in run("order", "run.jsonl").out
    Path("run.jsonl").write_text(log("a!1 b!2 c?2 c?1"), encoding="utf-8")
    assert "it kept: fifo-1-n\n" in run("order", "run.jsonl").out


def test_several_files_in_their_order(run: Run) -> None:
    Path("one.jsonl").write_text(log("a!1 b?1"), encoding="utf-8")
    Path("two.jsonl").write_text(log("a!1 a!2 b?2 b?1"), encoding="utf-8")
    ran = run("order", "two.jsonl", "one.jsonl", "--json")
    assert [one["file"] for one in ran.json_lines] == ["two.jsonl", "one.jsonl"]
    assert ran.json_lines[1]["orderings"]["rsc"]["interior"] is True


def write(**logs: str) -> None:
    for name, text in logs.items():
        Path(f"{name}.jsonl").write_text(text, encoding="utf-8")


def of_process(text: str, *processes: str) -> str:
    return "".join(
        line for line in text.splitlines(keepends=True) if json.loads(line)["process"] in processes
    )


def test_files_that_share_messages_are_one_log(run: Run) -> None:
    """A log split by process says of closures and interiors what the whole says, and of no execution."""
    whole = log("a!1 a!2 b?2 c!3 b?1 c?2 a?3")
    write(whole=whole, a=of_process(whole, "a"), b=of_process(whole, "b", "c"), other=log("x!1 y?1"))
    expected = run("order", "whole.jsonl", "--json").json["orderings"]
    ran = run("order", "b.jsonl", "other.jsonl", "a.jsonl", "--json")
    assert [one["file"] for one in ran.json_lines] == ["b.jsonl", "other.jsonl", "a.jsonl"]
    assert [one["files"] for one in ran.json_lines] == [
        ["b.jsonl", "a.jsonl"],
        ["other.jsonl"],
        ["b.jsonl", "a.jsonl"],
    ]
    assert ran.json_lines[0]["orderings"] == ran.json_lines[2]["orderings"]
    assert all(row["execution"] for row in ran.json_lines[1]["orderings"].values())
    for name, row in ran.json_lines[0]["orderings"].items():
        assert row["execution"] is None
        assert (row["closure"], row["interior"]) == (expected[name]["closure"], expected[name]["interior"])
    assert "no execution" in run("order", "a.jsonl", "b.jsonl").err


def test_a_process_that_goes_on_in_another_file_is_one_log(run: Run) -> None:
    whole = log("a!1 b?1 a!2 b?2").splitlines(keepends=True)
    write(begin="".join(whole[:2]), end="".join(whole[2:]))
    found = run("order", "end.jsonl", "begin.jsonl", "--json").json_lines
    assert [one["messages"] for one in found] == [2, 2]


def test_runs_of_the_same_processes_are_logs_of_their_own(run: Run) -> None:
    write(one=log("a!1 b?1"), two=log("a!1 b!2 a?2 b?1"))
    one, two = run("order", "one.jsonl", "two.jsonl", "--json").json_lines
    assert (one["files"], two["files"]) == (["one.jsonl"], ["two.jsonl"])
    assert one["orderings"] == run("order", "one.jsonl", "--json").json["orderings"]
    assert two["orderings"] == run("order", "two.jsonl", "--json").json["orderings"]


def test_files_are_one_log_or_not_where_that_is_said(run: Run) -> None:
    write(a=log("a!1"), b=log("b?1"))
    assert [one["vacuous"] for one in run("order", "a.jsonl", "b.jsonl", "--json").json_lines] == [False] * 2
    apart = run("order", "a.jsonl", "b.jsonl", "--apart", "--json")
    assert [one["vacuous"] for one in apart.json_lines] == [True] * 2
    write(c=log("c!9 d?9"))
    assert run("order", "a.jsonl", "c.jsonl", "--together", "--json").json_lines[0]["messages"] == 2


def test_one_execution_of_several_files_may_be_chosen(run: Run) -> None:
    runs = {
        name: "".join(
            json.dumps({**json.loads(line), "trace": name}) + "\n" for line in log(text).splitlines()
        )
        for name, text in (("one", "a!1 b?1"), ("two", "a!1 b!2 a?2 b?1"))
    }
    both = "".join(runs.values())
    write(a=of_process(both, "a"), b=of_process(both, "b"))
    found = run("order", "a.jsonl", "b.jsonl", "--trace", "two", "--json").json_lines
    assert [one["messages"] for one in found] == [2, 2]
    assert run("order", "a.jsonl", "b.jsonl", "--trace", "six", "--json").code == 4
    assert run("order", "a.jsonl", "b.jsonl", "--json").code == 4


def test_an_answer_about_no_message_is_vacuous_and_says_so(run: Run) -> None:
    unnamed = log("a!1 b?1 b!2 a?2").replace('"message": "1"', '"label": "x"').replace(', "message": "2"', "")
    write(unnamed=unnamed, none="", sent=log("a!1 b!2"), one=log("a!1 b?1"))
    for name, messages in (("unnamed", 0), ("none", 0), ("sent", 2)):
        found = run("order", f"{name}.jsonl", "--json").json
        assert (found["vacuous"], found["messages"]) == (True, messages)
        told = run("order", f"{name}.jsonl").out
        assert "vacuous: " in told
        assert "it had to keep" not in told
        assert "vacuous: " in run("order", f"{name}.jsonl", "--explain", "rsc").out
    assert "no message has a name (4 events" in run("order", "unnamed.jsonl").out
    assert run("order", "one.jsonl", "--json").json["vacuous"] is False


def test_several_executions_must_be_told_apart(run: Run) -> None:
    lines = [json.loads(line) for line in log("a!1 b?1").splitlines()]
    text = "".join(json.dumps({**line, "trace": name}) + "\n" for name in ("t1", "t2") for line in lines)
    Path("run.jsonl").write_text(text, encoding="utf-8")
    ran = run("order", "run.jsonl")
    assert ran.code == 4
    assert "--trace" in ran.err
    assert run("order", "run.jsonl", "--trace", "t2").code == 0


def test_for_people(run: Run) -> None:
    Path("run.jsonl").write_text(log("a!1 b!2 a?2 b?1"), encoding="utf-8")
    ran = run("order", "run.jsonl")
    assert "crown 1 2" in ran.out
    assert "it could have kept: fifo-n-n" in ran.out
    told = run("order", "run.jsonl", "--explain", "rsc")
    assert "No order of the events keeps it: crown 1 2" in told.out
    assert "  a | !1 " in told.out
    assert run("order", "run.jsonl", "--explain", "fifo").code == 2
    assert run("order", "missing.jsonl").code == 4


def test_the_witnesses_as_a_drawing(run: Run) -> None:
    """Well-formed, the same bytes every time, with an arrow a reception and the pattern in its colour."""
    Path("run.jsonl").write_text(log("a!1 b!<&2 a?<&2 b?1"), encoding="utf-8")
    assert run("order", "run.jsonl", "--explain", "rsc", "--svg", "rsc.svg").code == 0
    first = Path("rsc.svg").read_text(encoding="utf-8")
    assert run("order", "run.jsonl", "--explain", "rsc", "--svg", "rsc.svg").code == 0
    assert Path("rsc.svg").read_text(encoding="utf-8") == first
    drawing = ElementTree.fromstring(first)
    heads = [path for path in drawing.iter() if path.get("class") == "head"]
    assert len(heads) == 4  # two messages, once as they were received and once as a crown
    assert {head.get("fill") for head in heads} == {RED}
    assert drawing.get("role") == "img"
    assert drawing.get("aria-label") == "Message ordering rsc: execution no, closure no, interior no"
    assert 'fill="white"' not in first.split("<mask")[0]  # no white sheet on a dark page
    assert "prefers-color-scheme:dark" in first
    said = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert "No order of the events keeps it: crown 1 <&2" in said
    assert run("order", "run.jsonl", "--svg", "rsc.svg").code == 2
    assert run("order", "run.jsonl", "run.jsonl", "--explain", "rsc", "--svg", "rsc.svg").code == 2


def test_long_executions_are_shown_around_what_matters(run: Run) -> None:
    before = " ".join(f"a!x{at} b?x{at}" for at in range(30))
    Path("run.jsonl").write_text(log(f"{before} a!1 c!2 d?2 b?1"), encoding="utf-8")
    told = run("order", "run.jsonl", "--explain", "fifo-n-n").out
    assert "1 is sent before 2 and received after it." in told
    assert "x7" not in told
    assert "It is kept in another order of the same events; these messages stand so in it:" in told


def test_a_stream_tells_the_first_violations(run: Run) -> None:
    text = log("a!1 a!2 b?2 b?1 a!3 a!4 b?4 b?3").encode()
    ran = run("order", "-", "--stream", stdin=text)
    assert ran.out.startswith("<stdin>:4: rsc is violated by 1 and 2 (at b:2)\n")
    assert ran.out.count("fifo-1-1 is violated by 1 and 2 (at b:2)") == 1
    *found, last = run("order", "-", "--stream", "--json", stdin=text).json_lines
    assert {one["ordering"] for one in found} == set(SIX)
    assert {(one["line"], tuple(one["pair"])) for one in found} == {(4, ("1", "2"))}
    assert (last["kept"], last["sent"], last["received"]) == ([], 4, 4)


def test_a_stream_tells_before_its_end(tmp_path: Path) -> None:
    """The violation is out while the writer still holds the pipe open."""
    program = [sys.executable, "-m", "microcosm", "order", "-", "--stream"]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, env=environment()
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(log("a!1 a!2 b?2 b?1").encode())
        running.stdin.flush()
        assert b"is violated by 1 and 2" in running.stdout.readline()
        running.stdin.write(b'{"process": "a", "seq": 3, "kind": "internal"}\n')
        running.stdin.close()
        assert b"none of the six" in running.stdout.read()


def environment() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": os.defpath}


def test_a_stream_agrees_with_the_whole(run: Run) -> None:
    rng = Random(7)
    for _ in range(20):
        words, transit = list[str](), list[str]()
        for m in range(8):
            words.append(f"{rng.choice('ab')}!{m}")
            transit.append(f"{rng.choice('cd')}?{m}")
            while transit and rng.random() < 0.5:
                words.append(transit.pop(rng.randrange(len(transit))))
        Path("run.jsonl").write_text(log(" ".join(words + transit)), encoding="utf-8")
        whole = run("order", "run.jsonl", "--json").json["orderings"]
        last = run("order", "run.jsonl", "--stream", "--json").json_lines[-1]
        assert last["kept"] == [one for one in SIX if whole[one]["execution"]]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("b?1", "unmatched-receive"),
        ("a!1 a!1 b?1", "repeated-send"),
        ("a!1 b?1 b?1", "duplicate-receive"),
        ("a!1 a?1", "self-send"),
    ],
)
def test_bad_input_of_a_stream(run: Run, text: str, kind: str) -> None:
    ran = run("order", "-", "--stream", "--json", stdin=log(text).encode())
    assert ran.code == 0
    assert ran.json_lines[-1]["reported"] == {kind: 1}
    strict = run("order", "-", "--stream", "--strict", stdin=log(text).encode())
    assert strict.code == 4
    assert "<stdin>:" in strict.err


@pytest.mark.parametrize(("text", "options"), [("a < b\n", ()), (log("a!1 b?1"), ("--trace", "2"))])
def test_a_stream_of_which_nothing_is_watched_keeps_nothing(
    run: Run, text: str, options: tuple[str, ...]
) -> None:
    """It was said to keep all six."""
    ran = run("order", "-", "--stream", *options, stdin=text.encode())
    assert (ran.code, ran.out) == (4, "")
    assert "<stdin>: " in ran.err


@pytest.mark.parametrize(
    "options",
    [
        ("--transit", "10"),
        ("--incomplete", "--complete"),
        ("--incomplete", "--complete=a"),
        ("--stream", "--complete"),
        ("--stream", "--together"),
        ("--stream", "--delimiter", "x"),
    ],
)
def test_options_that_do_not_go_together(run: Run, options: tuple[str, ...]) -> None:
    Path("run.jsonl").write_text(log("a!m"), encoding="utf-8")
    assert run("order", "run.jsonl", *options).refused(2)


def test_a_stream_forgets_the_oldest_in_transit(run: Run) -> None:
    text = log(" ".join(f"a!{m}" for m in range(100)) + " b?0 b?99").encode()
    last = run("order", "-", "--stream", "--json", "--transit", "10", stdin=text).json_lines[-1]
    assert (last["forgotten"], last["reported"]) == (90, {"unmatched-receive": 1})
    assert run("order", "run.jsonl", "--stream", "--explain", "rsc").code == 2
    assert run("order", "missing.jsonl", "--stream").code == 4
    assert run("order", "-", "--stream", stdin=b"").out == (
        "-: kept fifo-1-1, causal, fifo-n-1, fifo-1-n, fifo-n-n, rsc (0 messages sent, 0 receptions)\n"
    )


def test_check_sees_facts_that_contradict_a_known_ordering(run: Run) -> None:
    text = (
        "send s1 = m1 a -> b\nsend s2 = m2 a -> b\nreceive r1 = m1 b\nreceive r2 = m2 b\ns1 < s2\nr2 < r1\n"
    )
    Path("kept.mc").write_text(text, encoding="utf-8")
    Path("broken.mc").write_text(text + "ordering causal\n", encoding="utf-8")
    assert run("check", "kept.mc").code == 0
    ran = run("check", "broken.mc", "--json")
    assert ran.code == 1
    assert (ran.json["consistent"], ran.json["conflict"]) == (False, None)
    Path("proof.json").write_text(json.dumps(ran.json["derivation"]), encoding="utf-8")
    assert run("verify", "broken.mc", "proof.json").code == 0
    assert "Causal-Receive" in run("check", "broken.mc").out
    assert run("offline", "broken.mc", "r1", "r2").code == 1


def test_an_encoding_without_lines_draws_with_others(run: Run) -> None:
    Path("run.jsonl").write_text(log("a!1 b!2 a?2 b?1"), encoding="utf-8")
    ran = run("order", "run.jsonl", encoding="ascii")
    assert "---------+-----------+" in ran.out
    assert "            /   \\\n  fifo-n-1 KCM  fifo-1-n KCM" in ran.out
    assert "             rsc ...\n" in ran.out


def test_events_in_a_drawing_tell_their_words(tmp_path: Path, run: Run) -> None:
    file, drawing = tmp_path / "log.jsonl", tmp_path / "out.svg"
    send = '{"process": "p", "seq": %d, "kind": "send", "message": "m%d", "to": ["q"], "label": "pay <%d>"}\n'
    receive = '{"process": "q", "seq": %d, "kind": "receive", "message": "m%d"}\n'
    file.write_text(
        send % (1, 1, 1) + send % (2, 2, 2) + receive % (1, 2) + receive % (2, 1), encoding="utf-8"
    )
    run("order", str(file), "--explain", "fifo-1-1", "--svg", str(drawing))
    said = drawing.read_text(encoding="utf-8")
    assert "<title>p:1 &quot;pay &lt;1&gt;&quot;</title>" in said
    assert "<title>q:2</title>" in said


def test_what_the_log_lacks_is_in_the_drawing(tmp_path: Path, run: Run) -> None:
    album = Path(__file__).parents[2] / "examples" / "photo-album.jsonl"
    run("order", str(album), "--explain", "fifo-n-n", "--svg", str(tmp_path / "out.svg"))
    drawing = ElementTree.fromstring((tmp_path / "out.svg").read_text(encoding="utf-8"))
    svg = "{http://www.w3.org/2000/svg}"
    [gap] = [path for path in drawing.iter(f"{svg}path") if path.get("class") == "gap"]
    assert gap.findtext(f"{svg}title") == "server: events 3 to 7 are missing"
    [digest] = [dot for dot in drawing.iter(f"{svg}circle") if "digest " in dot.findtext(f"{svg}title", "")]
    assert f" {digest.get('cy')}l" in gap.get("d", "")


def test_a_log_that_is_said_to_be_complete_is_refused_where_it_is_not(run: Run) -> None:
    lines = log("a!1 b?1 b!2 a?2").splitlines()
    Path("whole.jsonl").write_text("\n".join(lines), encoding="utf-8")
    more = '{"process": "c", "seq": 1, "kind": "internal"}\n{"process": "c", "seq": 3, "kind": "internal"}\n'
    Path("gap.jsonl").write_text("\n".join([*lines, more]), encoding="utf-8")
    assert run("order", "whole.jsonl", "--complete").out == run("order", "whole.jsonl").out
    refused = run("order", "gap.jsonl", "--complete", "--json")
    assert refused.refused(4)
    assert "the log is not complete" in refused.err
    some = run("order", "gap.jsonl", "--complete=a,b", "--json", "-q")
    assert some.out == run("order", "gap.jsonl", "--incomplete", "--json", "-q").out
    assert run("order", "whole.jsonl", "--complete=a,b").out == run("order", "whole.jsonl").out
    assert run("order", "whole.jsonl", "--incomplete", "--complete").refused(2)


def test_standard_input_is_a_log_as_any_other(run: Run) -> None:
    """Alone, said to be complete, and as a part of a log of several files."""
    ends = [("p", "send", 1), ("q", "receive", 1), ("q", "send", 2), ("r", "receive", 1)]
    lines = [
        json.dumps({"process": process, "seq": seq, "kind": kind, "message": f"m{at // 2}"})
        for at, (process, kind, seq) in enumerate(ends)
    ]
    for name, part in (("all", lines), ("one", lines[:1]), ("other", lines[1:])):
        Path(f"{name}.jsonl").write_text("\n".join(part), encoding="utf-8")
    for files, read in ((("all.jsonl", "--complete"), 0), (("one.jsonl", "other.jsonl"), 1)):
        asked = ["-" if at == read else name for at, name in enumerate(files)]
        ran = run("order", *asked, "--json", stdin=Path(files[read]).read_bytes())
        told = [line["orderings"] for line in ran.json_lines]
        assert told == [line["orderings"] for line in run("order", *files, "--json").json_lines]
