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

pytest_plugins = ["pytester"]

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


RECORDED = PATTERNS.replace('"', "'")
TESTS = f"""
import subprocess, sys, pytest

@pytest.mark.causality({RECORDED + "never w(k) || w(k); complete"!r})
def test_ordered(causality):
    bob = causality.process("bob")
    assert causality.process("bob") is bob
    bob.receive(causality.send("write x"), "write x")

@pytest.mark.causality({RECORDED + "never w(k) || w(k); complete"!r})
def test_race(causality):
    for name in ("alice", "bob"):
        causality.process(name).event("write x")
    header = causality.process("alice").send("hello")
    causality.process("bob").receive(header, "hello")

@pytest.mark.causality({RECORDED + "never w(k) || w(k)"!r}, vacuous=True)
def test_vacuous_if_it_may_be(causality):
    causality.event("nothing")

@pytest.mark.causality("other.ask")
def test_by_a_file(causality):
    causality.event("write x")
    causality.event("read x")

def test_by_the_file_of_its_name(causality):
    causality.event("read x")

@pytest.mark.causality("never w || w")
def test_of_nothing(causality):
    pass

@pytest.mark.causality({RECORDED + "never r(k)"!r})
def test_that_fails_by_itself(causality):
    causality.event("read x")
    assert not "by itself"

@pytest.mark.causality({RECORDED + "every r(k) after some w(k)"!r})
def test_of_two_programs(causality):
    header = causality.send("write x")
    program = "import sys; from microcosm.record import Recorder; "
    program += "Recorder('other', sys.argv[1]).receive(sys.argv[2], 'read x')"
    subprocess.run([sys.executable, "-c", program, causality.folder / "other.jsonl", header], check=True)
"""


@pytest.fixture
def alone(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Tests of their own, by a pytest that has this plugin and no other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    return pytester


def test_what_a_test_records_is_asked_about(alone: pytest.Pytester) -> None:
    alone.makepyfile(test_them=TESTS)
    (alone.path / "test_them.ask").write_text(PATTERNS + "every r(k) after some w(k)")
    (alone.path / "other.ask").write_text(PATTERNS + "every r(k) after some w(k)")
    ran = alone.runpytest_subprocess("-p", "microcosm.testing", "--strict-markers", "-rA")
    said = ran.stdout.str()
    failed = ("race", "by_the_file_of_its_name", "of_nothing", "that_fails_by_itself")
    passed = ("ordered", "vacuous_if_it_may_be", "by_a_file", "of_two_programs")
    assert all(f"FAILED test_them.py::test_{name}" in said for name in failed), said
    assert all(f"PASSED test_them.py::test_{name}" in said for name in passed), said
    assert 'w.1 = alice:1 "write x"' in said
    assert "the test recorded no event" in said
    ran.assert_outcomes(passed=4, failed=4)


def test_nothing_asked_is_an_error_unless_the_log_was_taken(alone: pytest.Pytester) -> None:
    alone.makepyfile(
        test_one="def test(causality): causality.event('x')",
        test_two="def test(causality):\n [*map(causality.event, 'ab')]\n assert len(causality.log()) == 2",
    )
    ran = alone.runpytest_subprocess("-p", "microcosm.testing")
    ran.assert_outcomes(passed=1, failed=1)
    assert "nothing is asked about what the test recorded" in ran.stdout.str()


def test_a_question_that_is_none_is_one_error_without_the_frames_of_this_package(
    alone: pytest.Pytester,
) -> None:
    alone.makepyfile(
        "import pytest\nfrom microcosm.testing import assert_that\n"
        "@pytest.mark.causality('never (')\ndef test_mark(causality): causality.event('x')\n"
        "def test_call(causality):\n causality.event('x')\n assert_that(causality.log(), 'never (')\n"
    )
    ran = alone.runpytest_subprocess("-p", "microcosm.testing")
    ran.assert_outcomes(failed=2)
    said = ran.stdout.str()
    assert said.count("expected `[` or a name, not '('") >= 2
    assert "assert_that(causality.log(), 'never (')" in said
    assert not any(name in said for name in ("reader.py", "formulas.py", "testing.py"))
