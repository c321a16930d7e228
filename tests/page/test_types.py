"""The scripts of the page hold to the types that their comments say, where there is a TypeScript to ask."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from microcosm.page import scopes
from microcosm.page.shorten import shortened
from microcosm.page.write import scripts, sources

pytestmark = pytest.mark.browser

STRICT = ["--checkJs", "--allowJs", "--noEmit", "--strict", "--target", "es2023"]
STRICT += ["--lib", "es2023,dom,dom.iterable"]


def checked(text: str, folder: Path) -> str:
    """What TypeScript has to say of a script."""
    program = os.environ.get("MICROCOSM_TSC") or shutil.which("tsc")
    if program is None:
        pytest.skip("no TypeScript: npm install typescript, and set MICROCOSM_TSC to its bin/tsc")
    script = folder / "page.js"
    script.write_text(text, encoding="utf-8")
    return subprocess.run([program, *STRICT, str(script)], capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("live", [False, True])
def test_the_scripts_are_of_their_types(live: bool, tmp_path: Path) -> None:
    assert checked(f"(() => {{\n'use strict';\n{sources(live=live)}\n}})();\n", tmp_path) == ""


UNKNOWN = re.compile(r"error TS(?:1\d\d\d|2300|2304|2451|2552|2588|18004): .*")
"""Faults of what is no script, and of names that nothing declares, or that are declared twice or for good."""


@pytest.mark.parametrize("live", [False, True])
def test_scripts_made_shorter_have_no_name_that_nothing_declares(live: bool, tmp_path: Path) -> None:
    assert UNKNOWN.findall(checked(scripts(live=live), tmp_path)) == []


def test_the_check_sees_a_name_that_should_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "KEPT", scopes.KEPT - {"parseFloat"})
    found = UNKNOWN.findall(checked(shortened(sources() + "\n")[0], tmp_path))
    assert found
    assert all("Cannot find name" in one for one in found)


def test_the_check_sees_a_fault(tmp_path: Path) -> None:
    text = "/** @param {number} event */\nfunction lane(event) { return event.name; }\n"
    assert "Property 'name' does not exist" in checked(text, tmp_path)
