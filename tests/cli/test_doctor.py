"""`doctor` names what is there, and what each missing part disables."""

from __future__ import annotations

import platform

import pytest

from microcosm.spark.installation import PACKAGES
from tests.cli.conftest import Run


def test_what_is_there_and_what_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("microcosm.spark.installation.find_spec", lambda name: None)
    found = run("doctor", "--json")
    parts = {part["name"]: part for part in found.json["parts"]}
    assert found.code == 0
    assert list(parts) == ["Python", "SQLite", "Java", *PACKAGES]
    assert parts["Python"]["version"] == platform.python_version()
    assert parts["Python"]["disables"] is None
    assert not parts["Java"]["present"]
    assert "microcosm spark" in parts["Java"]["disables"]
    assert "JAVA_HOME" in parts["Java"]["remedy"]


def test_for_people(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microcosm.spark.installation.javas", lambda environment: [])
    lines = run("doctor").out.splitlines()
    assert lines[0].startswith("Python ")
    assert any(line.startswith("Java ") and "missing" in line for line in lines)


@pytest.mark.parametrize(("version", "warned"), [((3, 40, 1), True), ((3, 51, 3), False)])
def test_an_sqlite_with_the_reset_bug_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...], warned: bool
) -> None:
    monkeypatch.setattr("microcosm.spark.installation.javas", lambda environment: [])
    monkeypatch.setattr("sqlite3.sqlite_version_info", version)
    found = run("doctor")
    assert found.code == 0
    assert ("as long as no other program opens it" in found.err) is warned
