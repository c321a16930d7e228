"""The plugin of pytest: it is loaded by its entry point, and its failures say what went wrong in the log's
words.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from microcosm import Microcosm
from microcosm.errors import TextError
from microcosm.testing import QuestionFailed, assert_that

LOG = """\
{"process": "alice", "seq": 1, "label": "write x", "kind": "send", "message": "m"}
{"process": "bob", "seq": 1, "label": "read x", "kind": "receive", "message": "m"}
{"process": "bob", "seq": 2, "label": "write x"}
"""
PATTERNS = 'event w(k) where label ~ "write (?<k>.)"; event r(k) where label ~ "read (?<k>.)"; '


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_text(LOG)
    return path


def test_what_holds_passes(log: Path, tmp_path: Path) -> None:
    (answer,) = assert_that(log, PATTERNS + "every r(k) after some w(k)")
    assert answer.verdict == "holds"
    asked = tmp_path / "run.ask"
    asked.write_text(PATTERNS + "never w(k) || w(k)")
    assert_that(Microcosm.read(log), asked)
    assert_that([log], str(asked))


def test_what_is_violated_open_or_vacuous_fails(log: Path) -> None:
    with pytest.raises(QuestionFailed) as failed:
        assert_that(log, PATTERNS + "never w(k) < w(k)")
    said = str(failed.value)
    assert all(part in said for part in ('w.1 = alice:1 "write x"', "run.jsonl:3", "alice:1 < bob:2"))
    assert "(In-Tr)" in said
    with pytest.raises(QuestionFailed, match="open"):
        assert_that(log, PATTERNS + "every w(k) before some r(k)")
    assert_that(log, PATTERNS + "every w(k) before some r(k)", open_too=True)
    with pytest.raises(QuestionFailed, match="vacuous"):
        assert_that(log, PATTERNS + 'event none where label = "none"; never none < w')
    assert_that(log, PATTERNS + 'event none where label = "none"; never none < w', vacuous=True)
    with pytest.raises(TextError):
        assert_that(log, "never w || w")


def test_the_entry_point_and_that_it_costs_nothing() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    (module,) = project["project"]["entry-points"]["pytest11"].values()
    program = f"import sys, {module}; print([name for name in sys.modules if name.startswith('microcosm')])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "['microcosm', 'microcosm.errors', 'microcosm.testing']"
