"""Without an optional library every command works that does not need it; the others say what to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from microcosm.spark.installation import PACKAGES

LOG = '{"process": "p", "seq": 1, "kind": "send", "message": "m1"}\n'
SPARK = [
    ["spark", "extract", "log.jsonl", "--out", "out"],
    ["spark", "bisim", "many", "--out", "out"],
    ["spark", "stream", "log.jsonl", "--out", "out", "--checkpoint", "kept", "--once"],
]
PARQUET = [["extract", "log.parquet"], ["trace", "log.jsonl", "--to", "out.parquet"]]
SERVE = [["replica", "serve", "a.journal", "--keys", "a.keys", "--name", "a"]]

NEEDING = {
    "numpy": SPARK,
    "pyarrow": [*SPARK, *PARQUET],
    "pyspark": SPARK,
    "pandas": SPARK,
    "protobuf": SPARK[2:],
    "grpcio": [[*SPARK[0], "--master", "sc://localhost:1"]],
    "grpcio-status": [[*SPARK[0], "--master", "sc://localhost:1"]],
    "googleapis-common-protos": [[*SPARK[0], "--master", "sc://localhost:1"]],
    "zstandard": [[*SPARK[0], "--master", "sc://localhost:1"]],
    "cryptography": SERVE,
}
"""The commands that cannot do without a package."""

ANYWAY = [
    ["online", "a.mc", "a", "b"],
    ["offline", "a.mc", "a", "c"],
    ["possible", "a.mc", "a", "c"],
    ["table", "a.mc"],
    ["check", "a.mc"],
    ["merge", "a.mc"],
    ["extract", "log.jsonl"],
]
"""Commands that do without any."""

NOT_HERE = {"grpcio", "grpcio-status", "googleapis-common-protos", "zstandard", "protobuf"}
"""What is asked for only where pyspark is there, too."""

PROGRAM = """
import contextlib, io, json, sys
sys.modules[sys.argv[1]] = None
if sys.argv[1] == "fcntl":
    import os, signal
    for module, name in ((os, "fchmod"), (os, "O_CLOEXEC"), (os, "O_DIRECTORY"), (signal, "setitimer")):
        delattr(module, name)
from microcosm.cli.app import main
told = []
for command in json.loads(sys.argv[2]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(command)
    told.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(told))
"""


FEW = ("numpy", "pyarrow", "pyspark", "cryptography")

CASES = [package if package in FEW else pytest.param(package, marks=pytest.mark.slow) for package in PACKAGES]


@pytest.mark.parametrize("package", CASES)
def test_without_a_library(package: str, tmp_path: Path) -> None:
    """In a process of its own, where nobody has imported it before."""
    needing = NEEDING.get(package, [])
    if package in NOT_HERE and find_spec("pyspark") is None:
        needing = []
    (tmp_path / "many").mkdir()
    (tmp_path / "many/a.mc").write_text("a < b\n", encoding="utf-8")
    (tmp_path / "a.mc").write_text("a < b < c\n", encoding="utf-8")
    (tmp_path / "log.jsonl").write_text(LOG, encoding="utf-8")
    (tmp_path / "log.parquet").write_bytes(b"PAR1")
    key = ["replica", "key", "new", "a.keys"]
    commands = [key, *ANYWAY, ["doctor", "--json"], *needing]
    given = [sys.executable, "-c", PROGRAM, PACKAGES[package].module, json.dumps(commands)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "", "JAVA_HOME": ""}
    ran = subprocess.run(given, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    told = dict(zip(map(" ".join, commands), json.loads(ran.stdout), strict=True))
    for command in ANYWAY:
        code, _, err = told[" ".join(command)]
        assert code in (0, 1, 3), (command, err)
    for command in needing:
        code, _, err = told[" ".join(command)]
        assert (code, "fault of this program" in err) == (4, False), (command, err)
        assert package in err
        assert "pip install 'causal-microcosm[" in err
    found = {part["name"]: part for part in json.loads(told["doctor --json"][1])["parts"]}
    assert not found[package]["present"]
    assert found[package]["disables"]
    assert f"microcosm[{PACKAGES[package].extra}]" in found[package]["remedy"]


def test_off_posix_what_needs_it_says_so_and_all_else_works(tmp_path: Path) -> None:
    """As docs/reference/platforms.md has it; without the modules and functions that Windows lacks."""
    (tmp_path / "a.mc").write_text("a < b < c\n", encoding="utf-8")
    (tmp_path / "log.jsonl").write_text(LOG, encoding="utf-8")
    writing = [
        ["trace", "log.jsonl", "--to", "copy.jsonl"],
        ["page", "log.jsonl", "-o", "log.html"],
        ["draw", "a.mc", "-o", "a.svg"],
        ["assert", "log.jsonl", "-e", "never [kind = 'send'] || [kind = 'send']"],
    ]
    needing = [SPARK[0], ["replica", "init", "a.journal", "--name", "a"], ["collect", "--out", "spans"]]
    given = [sys.executable, "-c", PROGRAM, "fcntl", json.dumps([*ANYWAY, *writing, *needing])]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run(given, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    told = json.loads(ran.stdout)
    assert [(code, err) for code, _, err in told[: -len(needing)] if code not in (0, 1, 3)] == []
    for code, _, err in told[-len(needing) :]:
        assert code == 4, err
        assert "need a POSIX system, such as Linux or macOS" in err
