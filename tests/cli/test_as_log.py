"""Microcosms where logs are asked for: what their events say goes into `trace`, `order` and `extract`."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from tests.cli.conftest import Run


def random_log(seed: int) -> list[dict[str, object]]:
    """Lines of a few processes that send to each other; receptions come after their sendings."""
    draw = Random(seed)
    seqs, waiting, lines = dict.fromkeys("abc", 0), [], list[dict[str, object]]()
    for at in range(draw.randint(1, 14)):
        process = draw.choice("abc")
        seqs[process] += 1
        line: dict[str, object] = {"process": process, "seq": seqs[process], "label": f"step {at}"}
        mine = [message for message in waiting if message[1] == process]
        if mine and draw.random() < 0.7:
            waiting.remove(mine[0])
            line |= {"kind": "receive", "message": mine[0][0]}
        elif draw.random() < 0.6:
            to = draw.choice([other for other in "abc" if other != process])
            waiting.append((f"m{at}", to))
            line |= {"kind": "send", "message": f"m{at}", "to": [to]}
        lines.append(line)
    return lines


def pairs_before(lines: list[dict[str, object]]) -> set[tuple[str, str]]:
    """Happens-before of the lines, by a closure that knows nothing of the package."""
    name = [f"{line['process']}:{line['seq']}" for line in lines]
    past: list[set[int]] = []
    for at, line in enumerate(lines):
        direct = {
            k
            for k in range(at)
            if lines[k]["process"] == line["process"]
            or (line.get("kind") == "receive" and lines[k].get("message") == line["message"])
        }
        past.append(direct.union(*(past[k] for k in direct)))
    return {(name[k], name[at]) for at in range(len(lines)) for k in past[at]}


@pytest.mark.parametrize("seed", range(12))
def test_a_log_that_went_through_a_microcosm_says_what_it_said(run: Run, seed: int) -> None:
    lines = random_log(seed)
    Path("log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run("extract", "log.jsonl", "-o", "log.mc", "-q")
    assert run("trace", "log.mc", "--to", "again.jsonl", "-q").code == 0
    again = [json.loads(line) for line in Path("again.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(e["process"], e["seq"], e["label"], e.get("message")) for e in again} == {
        (e["process"], e["seq"], e["label"], e.get("message")) for e in lines
    }
    table = run("table", "again.jsonl", "--json", "-q").json
    told = {(a, b) for a, b, sign in table["pairs"] if sign == "<"}
    told |= {(b, a) for a, b, sign in table["pairs"] if sign == ">"}
    assert told == pairs_before(lines)
    kept, told_of = (run("order", file, "--json", "-q").json["orderings"] for file in ("log.jsonl", "log.mc"))
    for ordering, answer in kept.items():
        assert told_of[ordering]["execution"] is None  # what it says first did not happen first
        assert (told_of[ordering]["closure"], told_of[ordering]["interior"]) == (
            answer["closure"],
            answer["interior"],
        )


def clocked_microcosm(seed: int) -> str:
    """Clocks of a few processes, of which some did not tick, or are of another execution; and event lines."""
    draw = Random(seed)
    clocks, runs, lines = {p: dict.fromkeys("pqr", 0) for p in "pqr"}, draw.random() < 0.3, list[str]()
    seqs = dict.fromkeys("pqr", 0)
    for _ in range(draw.randint(2, 9)):
        process = draw.choice("pqr")
        mine = clocks[process]
        if draw.random() < 0.5:
            for other, count in clocks[draw.choice("pqr")].items():
                mine[other] = max(mine[other], count if other != process else mine[other])
        ticks = draw.random() < 0.8
        mine[process] += ticks
        seqs[process] += 1
        name = f"{process}:{seqs[process]}"
        if draw.random() < 0.8:
            entries = ", ".join(
                f"{other}: {count}" for other, count in mine.items() if count or other == process
            )
            where = f" in R{draw.randint(1, 2)}" if runs else ""
            lines.append(f"clock {name} = {process} {{{entries}}}{'' if ticks else ' unticked'}{where}")
        lines.append(f"event {name} process {process} seq {seqs[process]}")
        if seqs[process] > 1:
            lines.append(f"{process}:{seqs[process] - 1} < {name}")
    return "\n".join(lines) + "\n"


def test_a_log_of_a_microcosm_claims_nothing_beyond_it(run: Run) -> None:
    claimed = 0
    for seed in range(60):
        Path("x.mc").write_text(clocked_microcosm(seed), encoding="utf-8")
        known = run("table", "x.mc", "--json", "-q")
        if known.code or run("trace", "x.mc", "--to", "x.jsonl", "-q").code:
            continue
        given = {(a, b): sign for a, b, sign in known.json["pairs"]}
        for a, b, sign in run("table", "x.jsonl", "--json", "-q").json["pairs"]:
            claimed += sign in ("<", ">", "||")
            assert sign not in ("<", ">", "||") or given.get((a, b)) == sign, (seed, a, b)
    assert claimed > 100


def test_a_message_of_an_execution_is_called_as_it_was(run: Run) -> None:
    lines = [("send", "p", "m3"), ("receive", "q", "m3")]
    text = "".join(
        json.dumps(
            {"trace": trace, "process": process, "seq": 1, "kind": kind, "message": message, "label": kind}
        )
        + "\n"
        for trace in "AB"
        for kind, process, message in lines
    )
    Path("two.jsonl").write_text(text, encoding="utf-8")
    run("extract", "two.jsonl", "-o", "two.mc", "-q")
    assert run("trace", "two.mc", "--to", "again.jsonl", "-q").code == 0
    again = Path("again.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["message"] for line in again] == ["m3"] * 4
    run("extract", "again.jsonl", "-o", "again.mc", "-q")
    assert run("bisim", "two.mc", "again.mc").code == 0


def test_what_is_given_beyond_processes_goes_along_as_links_and_the_rest_is_told(run: Run) -> None:
    Path("x.mc").write_text("internal a < b\nb < c\nc || d\ntoken t = a, d\n", encoding="utf-8")
    ran = run("trace", "x.mc", "--to", "x.jsonl")
    assert "correspondences other than < (1), tokens (1) [left-out]" in ran.err
    assert run("online", "x.jsonl", "a", "c", "-q").out.startswith("a < c")
    assert run("online", "x.jsonl", "a", "d", "-q").code == 3
    assert run("trace", "x.mc", "--to", "y.jsonl", "--strict").code == 4
    assert not Path("y.jsonl").exists()


def test_without_event_lines_the_given_order_places_messages_in_their_processes(run: Run) -> None:
    order = "s < t\ns < r\nr < u\nt < u\n"
    text = f"{order}send s = m1 p -> q\nsend t = m2 p -> q\nreceive r = m1 q\nreceive u = m2 q\n"
    Path("x.mc").write_text(text, encoding="utf-8")
    assert run("order", "x.mc", "--json").json["orderings"]["fifo-1-1"]["interior"] is True
    Path("y.mc").write_text(text.replace("s < t\n", ""), encoding="utf-8")
    ran = run("order", "y.mc")
    assert ran.code == 4
    assert "nothing says where in process p s and t stand" in ran.err


@pytest.mark.parametrize(
    "text",
    [
        "event e process p seq 2\nevent p\np || e\n",
        'send e = m p -> q\nreceive f = m q\ne < f\np || f\nq || e\n"p\'" || p\n',
        "clock e = p {p: 2, q: 1}\nreceive f = m r\ne < f\nq || p\n",
    ],
)
def test_an_event_that_bears_the_name_of_a_process_is_none_of_its_events(run: Run, text: str) -> None:
    Path("x.mc").write_text(text, encoding="utf-8")
    assert run("trace", "x.mc", "--to", "x.jsonl", "-q").code == 0
    given, told = (run("table", file, "--json").json for file in ("x.mc", "x.jsonl"))
    known = {(a, b): sign for a, b, sign in given["pairs"]}
    assert "duplicate-event" not in run("table", "x.jsonl").err
    assert all(known[a, b] == sign for a, b, sign in told["pairs"] if sign in ("<", ">"))


@pytest.mark.parametrize("form", ["x.jsonl", "x.parquet"])
@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 10**400])
@pytest.mark.parametrize(
    "text",
    [
        "stamp a = {}\na < b\n",
        "stamp a = [1, {}]\na < b\n",
        "clock a = p {{p: {}}}\na < b\n",
        "event a process p seq {}\na < b\n",
    ],
)
def test_a_log_holds_the_number_or_is_not_written(run: Run, text: str, number: int, form: str) -> None:
    Path("x.mc").write_text(text.format(number), encoding="utf-8")
    ran = run("trace", "x.mc", "--to", form, "-q")
    assert ran.code == (0 if number < 2**63 else 4)
    if ran.code == 0:
        assert str(number) in run("extract", form, "-q").out or "event" in text
        assert run("events", form, "--json", "-q").json_lines[0]["name"] == "a"
    else:
        assert not Path(form).exists()


@pytest.mark.parametrize("seq", [1, 2])
def test_a_log_that_would_say_the_opposite_of_what_is_given_is_not_written(run: Run, seq: int) -> None:
    Path("x.mc").write_text(
        f"event a process p seq 2\nevent b process p seq {seq}\na < b\n", encoding="utf-8"
    )
    ran = run("trace", "x.mc", "--to", "x.jsonl")
    assert ran.refused(4)
    assert "a is given before b, and their `event` lines say otherwise" in ran.err


@pytest.mark.parametrize(
    "messages",
    [
        "send a = m p -> q\nreceive b = m r",
        "send a = m p -> r\nsend b = m q -> r",
        "send a = m p\nreceive b = m q\nsend c = m r\nx < c",
        "receive a = m p\nreceive b = m q",
    ],
)
def test_an_order_that_no_message_tells_goes_along_as_a_link(run: Run, messages: str) -> None:
    Path("x.mc").write_text(f"{messages}\na < b\n", encoding="utf-8")
    assert run("trace", "x.mc", "--to", "x.jsonl", "-q").code == 0
    assert run("online", "x.jsonl", "a", "b", "--json", "-q").json["verdict"] == "<"


def test_extract_writes_a_microcosm_in_its_other_form(run: Run) -> None:
    Path("x.mc").write_text("a < b || c\n", encoding="utf-8")
    assert run("extract", "x.mc", "-o", "x.json").code == 0
    assert run("extract", "x.json", "-q").out == "a < b\nb || c\n"
    refused = run("extract", "x.mc", "--complete")
    assert refused.code == 4
    assert "A line `complete` in it" in refused.err


def test_extract_of_a_microcosm_that_contradicts_itself_is_refused_with_both_derivations(run: Run) -> None:
    Path("x.mc").write_text("a < b\nb < a\n", encoding="utf-8")
    refused = run("extract", "x.mc", "-o", "y.mc")
    assert (refused.code, refused.out) == (4, "")
    assert "a < b  (Init: given, x.mc:1)" in refused.err
    assert "b < a  (Init: given, x.mc:2)" in refused.err
    assert not Path("y.mc").exists()


def test_a_folder_of_what_is_neither_log_nor_microcosm_says_how_it_may_be_read(run: Run) -> None:
    Path("logs").mkdir()
    for name in ("alice", "bob"):
        Path(f"logs/{name}.log").write_text(f"12:00:00 {name} got the lease\n", encoding="utf-8")
    for command in (["events", "logs"], ["trace", "logs", "--to", "x.jsonl"], ["online", "logs", "a", "b"]):
        ran = run(*command)
        assert ran.code == 4
        assert "--pattern '(?<time>" in ran.err
    told = run("events", "logs", "--pattern", r"(?<time>\S+) (?<host>\S+) (?<event>.*?)( \[.*\])?")
    assert "took nothing of the line (does the pattern end with $?) [no-text]" in told.err
