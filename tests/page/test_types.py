"""The scripts of the page hold to the types that their comments say, where there is a TypeScript to ask."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from microcosm.page.write import SCRIPTS

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


def test_the_scripts_are_of_their_types(tmp_path: Path) -> None:
    web = files("microcosm.page").joinpath("web")
    parts = [web.joinpath(f"{name}.js") for name in SCRIPTS]
    text = "\n".join(part.read_text(encoding="utf-8") for part in parts if part.is_file())
    assert checked(f"(() => {{\n'use strict';\n{text}\n}})();\n", tmp_path) == ""


def test_the_check_sees_a_fault(tmp_path: Path) -> None:
    text = "/** @param {number} event */\nfunction lane(event) { return event.name; }\n"
    assert "Property 'name' does not exist" in checked(text, tmp_path)
