"""Every answer under --json has the shape that the shipped schemas say, and they would notice another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import microcosm
from microcosm.cli.app import COMMANDS, GROUPS, whole
from tests.cli.conftest import Run

jsonschema = pytest.importorskip("jsonschema")

SCHEMA = json.loads((Path(microcosm.__file__).parent / "schemas" / "answers.json").read_text("utf-8"))

LOG = """\
{"process": "ann", "seq": 1, "kind": "send", "message": "m1", "to": ["store"], "label": "write x"}
{"process": "ann", "seq": 2, "label": "works"}
{"process": "bob", "seq": 1, "kind": "send", "message": "m2", "label": "write x", "stamp": [1.5, 2]}
{"process": "store", "seq": 1, "kind": "receive", "message": "m1", "label": "lends"}
{"process": "store", "seq": 2, "kind": "receive", "message": "m2", "label": "x is 2"}
{"process": "lonely", "seq": 1, "label": "started"}
"""
ASK = """\
event w where label ~ "write"
state s from label ~ "write" until label ~ "works"
never w || w
never s while s
every w after some w
possibly s
"""
FILES = {
    "log.jsonl": LOG,
    "lost.jsonl": '{"process": "p", "seq": 1, "kind": "receive", "message": "m"}\n'
    '{"process": "q", "seq": 1, "label": "y"}\n{"process": "q", "seq": 3, "label": "y"}\n',
    "gap.jsonl": '{"process": "p", "seq": 1, "label": "x"}\n{"process": "p", "seq": 3, "label": "y"}\n',
    "clocks.log": 'p {"p": 1} a\nq {"p": 1, "q": 1} b\nr {"r": 1} c\n',
    "q.ask": ASK,
    "cycle.mc": "a < b < a\n",
    "ab.mc": "a < b\n",
    "ba.mc": "b < a\n",
    "sent.mc": "a < b\nsend a = m p -> q\n",
    "bare.jsonl": '{"process": "p", "kind": "internal"}\n{"process": "p", "kind": "internal"}\n',
    "deep.mc": "a <> b\na !< b\na !> b\nb || c\n",
    "other.mc": "view < unshare\nx !< y\nstamp x = 3\ntoken t = x, y, z\nordering causal\n",
    "none.rules/x.rules": "rule Alone:\n no g in M with |-0 a || g, |-0 b _ g\n ---\n |- a < b\n",
    "bad.rules/x.rules": "rule A:\n |- a R\n ---\n |- a R b\n",
}

ANSWERS = [
    "online album.mc unshare view", "online album.mc notify like", "online album.mc unshare nobody",
    "online ab.mc a b --rules none.rules",
    "online log.jsonl ann:2 bob:1 --complete", "online clocks.log p:1 q:1",
    "why log.jsonl ann:1 store:2", "why log.jsonl ann:1 store:2 --offline",
    "offline album.mc like view", "offline deep.mc a b", "offline other.mc x y",
    "offline log.jsonl ann:2 bob:1 --complete", "possible album.mc like comment", "possible deep.mc a b",
    "why-not album.mc view unshare", "why-not log.jsonl ann:2<bob:1 --complete",
    "table album.mc", "table log.jsonl --complete", "table deep.mc --mode offline",
    "table album.mc --mode possible", "table deep.mc --mode possible", "table clocks.log nowhere.mc",
    "verify album.mc proof.json", "check cycle.mc",
    "check log.jsonl nowhere.mc", "repl log.jsonl",
    "find log.jsonl label~\"write\"", "find log.jsonl w||w --with q.ask", "find log.jsonl s --with q.ask",
    "assert log.jsonl q.ask",
    "assert log.jsonl q.ask --complete", "settle log.jsonl ann:2 bob:1", "settle log.jsonl q.ask",
    "settle gap.jsonl p:1 p:3", "settle lost.jsonl q:1 p:1",
    "evolve album.mc --add p<q", "evolve album.mc --remove p<q", "evolve other.mc --forget x",
    "merge album.mc log.jsonl", "merge album.mc clocks.log", "merge ab.mc ba.mc",
    "bisim log.jsonl gap.jsonl", "bisim album.mc other.mc --backward", "bisim ab.mc sent.mc --backward",
    "online bare.jsonl p:1 p:2",
    "diff log.jsonl gap.jsonl",
    "events log.jsonl", "events album.mc", "extract log.jsonl", "extract clocks.log",
    "extract log.jsonl --complete", "extract gap.jsonl -o out.mc", "trace log.jsonl --to t.jsonl",
    "page log.jsonl -o p.html", "draw log.jsonl", "draw log.jsonl -o d.svg",
    "order log.jsonl", "order log.jsonl --explain fifo-n-n", "order other.mc", "order log.jsonl --stream",
    "simulate rst --messages 8", "explore rst --messages 2",
    "rules list", "rules show Un-1", "rules check", "rules check --rules bad.rules", "doctor", "demo", "help",
]  # fmt: skip
REPLICAS = [
    "init c.journal --name c", "import a.journal album.mc", "query a.journal unshare view",
    "query a.journal unshare nobody", "query a.journal unshare view --offline",
    "query a.journal unshare nobody --possible",
    "export a.journal", "exchange a.journal b.journal", "status a.journal",
    "authors a.journal", "proof a.journal", "fsck a.journal", "backup a.journal a.copy", "compact a.journal",
    "metrics a.journal", "renew a.journal", "restore a.backup d.journal",
    "member add a.journal e 127.0.0.1:7001", "member evict b.journal e", "key new c.key", "key rotate b.key",
]  # fmt: skip
ANSWERS += [f"replica {line}" for line in REPLICAS]
REFUSED = [
    "online", "online album.mc view", "online cycle.mc a b", "possible album.mc a b --limit x",
    "extract gap.jsonl --complete", "trace nowhere --to x.jsonl", "onlin album.mc", "merge cycle.mc",
]  # fmt: skip


def definition(name: str) -> Any:
    return jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})


def test_the_schemas_are_schemas_and_there_is_one_for_every_command() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    asked = {line.split()[0] for line in ANSWERS}
    for command in COMMANDS:
        names = [name for name in SCHEMA["$defs"] if name.split()[0] == command]
        assert names or command in GROUPS, command
        assert command in asked or command in {"view", "collect", "spark"}, command


def test_there_is_one_for_every_command_of_replicas() -> None:
    replica: Any = whole().get_command(None, "replica")  # type: ignore[attr-defined]
    said = {name.split()[1] for name in SCHEMA["$defs"] if name.startswith("replica ")}
    assert said == {*replica.list_commands(None)}
    assert said - {"serve"} == {line.split()[0] for line in REPLICAS}


def replicas(run: Run) -> None:
    """Two replicas that know of each other's events, a backup of one, and a key file."""
    for line in (
        "init a.journal --name a", "init b.journal --name b", "import b.journal ab.mc",
        "exchange a.journal b.journal", "backup a.journal a.backup", "key new b.key",
        "member add b.journal e 127.0.0.1:7001",
    ):  # fmt: skip
        assert run("replica", *line.split()).code == 0


def test_what_is_rare_of_replicas_has_the_shape_of_its_schema(run: Run, album: str) -> None:
    """Messages that go with a member, and a journal that was put back."""
    Path("ab.mc").write_text(FILES["ab.mc"], encoding="utf-8")
    replicas(run)
    sent = b'{"do": "send", "to": "e", "payload": ""}\n'
    assert run("replica", "serve", "b.journal", "--keys", "b.key", stdin=sent).code == 0
    old = {path: path.read_bytes() for path in Path().glob("a.journal*")}
    assert run("replica", "import", "a.journal", album).code == 0
    assert run("replica", "exchange", "a.journal", "b.journal").code == 0
    for path, content in old.items():
        path.write_bytes(content)
    answers = {
        "member replace b.journal e": "lost",
        "exchange a.journal b.journal": "diverged",
        "status a.journal": "divergences",
    }
    for line, member in answers.items():
        [answer] = run("replica", *line.split(), "--json").json_lines
        assert answer[member], line
        definition(f"replica {line.split()[0]}").validate(answer)


@pytest.mark.parametrize("line", [*ANSWERS, *REFUSED])
def test_an_answer_has_the_shape_of_its_schema(run: Run, album: str, line: str) -> None:
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    if line.startswith("replica"):
        replicas(run)
    if "proof.json" in line:
        Path("proof.json").write_text(run("online", album, "unshare", "view", "--json").out, encoding="utf-8")
    ran = run(*line.split(), "--json", stdin=b"table\nnonsense here\nwhy ann:1 < store:2\n")
    command = " ".join(line.split()[: 2 if line.startswith(("rules", "replica")) else 1])
    lines = ran.json_lines
    assert lines
    assert all("exit" in answer for answer in lines) == (line in REFUSED)
    for answer in lines:
        name = command if "exit" not in answer else "error"
        fault = jsonschema.exceptions.best_match(definition(name).iter_errors(answer))
        assert fault is None, f"{name}: {fault}"
        assert name != "error" or answer["exit"] == ran.code or len(lines) > 1
        for member in answer:  # and without it, or with another one, it would have none
            less = {key: value for key, value in answer.items() if key != member}
            if member in SCHEMA["$defs"][name].get("required", ()):
                assert not definition(name).is_valid(less)
        if SCHEMA["$defs"][name].get("additionalProperties") is False:
            assert not definition(name).is_valid({**answer, "surplus": 1})
