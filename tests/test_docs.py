"""What README and the pages show is what happens: their code is run, their links are followed.

A `python` block is a session (`>>>`) or a program. A `console` block is run line by line: `$ microcosm …`
(pipes between commands of the program included) in this process, anything else by the shell; what the block
shows must be what comes out, where a line `...` stands for any lines, and `$ echo $?` for the exit code. What
stands behind `> ` is the standard input of a session.
An `mc NAME` or `rules NAME` block is written to the file NAME first. Each page has a folder of its own, with
copies of `examples/` and `rules/`.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm
from microcosm.cli.app import COMMANDS, loaded, main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<kind>\w+)(?: (?P<name>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
REDIRECTED = re.compile(r"(.*) > (\S+\.\w+)")
NAMED = re.compile(r"`(?P<file>(?:tests|benchmarks|examples)/[\w/.-]+?\.py)(?:::(?P<test>\w+))?`")
MENTIONED = re.compile(r"(?:^(?:    |- run: )|`)microcosm (?P<rest>[a-z][^`\n]*)", re.MULTILINE)
"""A command in a sentence, or in a block that is not run here."""
LINK = re.compile(r"\]\((?!https?:|#)(?P<path>[^)#]+)")


def blocks(page: Path) -> Iterator[tuple[str, str | None, str]]:
    for found in FENCE.finditer(page.read_text(encoding="utf-8")):
        yield found["kind"], found["name"], found["body"]


def commands(body: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with the output that the block shows."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def microcosm(pipeline: str, monkeypatch: pytest.MonkeyPatch, fed: str = "") -> tuple[str, int]:
    """What a pipeline of `microcosm` commands prints, warnings included, and its exit code."""
    said, code = io.StringIO(), 0
    redirected = REDIRECTED.fullmatch(pipeline)
    for stage in (redirected[1] if redirected else pipeline).split(" | "):
        program, *arguments = shlex.split(stage)
        assert program == "microcosm", pipeline
        out = io.StringIO()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(fed.encode()), encoding="utf-8"))
        with redirect_stdout(out), redirect_stderr(said):
            code = main(arguments)
        fed = out.getvalue()
    if redirected:
        Path(redirected[2]).write_text(fed, encoding="utf-8")
        fed = ""
    return said.getvalue() + fed, code


def matches(shown: str, printed: str) -> bool:
    lines = (r"(?:.*\n)*?" if line == "..." else re.escape(line) + r" *\n" for line in shown.splitlines())
    return re.fullmatch("".join(lines), printed) is not None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("examples", "rules"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_shows_what_happens(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, object] = {}
    code = 0
    for kind, name, body in blocks(page):
        if name is not None:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(body, encoding="utf-8")
        elif kind == "python" and ">>>" in body:
            session = doctest.DocTestParser().get_doctest(body, names, page.name, str(page), 0)
            said = io.StringIO()
            failed, _ = doctest.DocTestRunner().run(session, out=said.write, clear_globs=False)
            assert not failed, said.getvalue()
            names.update(session.globs)
        elif kind == "python":
            exec(compile(body, str(page), "exec"), names)
        elif kind == "console":
            for command, shown in commands(body):
                if command == "echo $?":
                    assert shown == f"{code}\n", command
                    continue
                if command.startswith("microcosm "):
                    lines = [line[2:] for line in shown.splitlines() if line.startswith("> ")]
                    printed, code = microcosm(command, monkeypatch, "".join(f"{line}\n" for line in lines))
                else:
                    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
                    printed, code = ran.stdout, 0
                assert matches(shown, printed), f"$ {command}\n{printed}"


def unknown(text: str) -> list[str]:
    """The commands of a text that the program does not have, or that do not take an option that is given."""
    found = []
    text = FENCE.sub(lambda block: re.sub("^", "    ", block[0], flags=re.MULTILINE), text)
    for said in MENTIONED.finditer(text):
        words = re.split(r" [|;#&>]|\)", said["rest"])[0].split()
        if words[0] not in COMMANDS:
            found.append(said[0])
            continue
        command: Any = loaded(words[0])
        for word in words[1:]:
            command = getattr(command, "commands", {}).get(word, command)
        taken = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        asked = {word.split("=")[0].rstrip(",.") for word in words if word.startswith("--")}
        if asked - taken - {"--help"}:
            found.append(said[0])
    return found


def test_the_tests_that_pages_show_pass(tmp_path: Path) -> None:
    """A `py` block with a test is one for pytest; those of the guide on Spark are for tests/spark."""
    tests = {body for page in PAGES for kind, _, body in blocks(page) if kind == "py" and "def test_" in body}
    assert tests
    for at, body in enumerate(sorted(tests)):
        (tmp_path / f"test_{at}.py").write_text(f"import pytest\n\n{body}", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "microcosm.testing"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert f"{len(tests)} passed" in ran.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_mentioned_exist(page: Path) -> None:
    assert unknown(page.read_text(encoding="utf-8")) == []


def test_a_command_that_does_not_exist_is_noticed() -> None:
    assert unknown("say `microcosm sing a`, or\n\n    microcosm online a b --nosuch\n") == [
        "`microcosm sing a",
        "    microcosm online a b --nosuch",
    ]
    assert unknown("`microcosm replica member add --author K` | `microcosm spark extract --max-bad 1%`") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [path for path in links if not (page.parent / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_tests_that_are_named_exist(page: Path) -> None:
    for file, test in NAMED.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / file).is_file(), file
        if test:
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"


def without_test(page: str) -> list[str]:
    """The statements of a page of the theory after which no test is named before the next one begins."""
    parts = re.split(r"^\*\*((?:Theorem|Lemma|Corollary) \d+)", page, flags=re.MULTILINE)
    return [
        name
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
        if not re.search(r"^\*Tests?\*.*`tests/[^`]*::", text, re.MULTILINE)
    ]


def test_each_statement_of_the_theory_names_a_test() -> None:
    pages = {page.name: page.read_text("utf-8") for page in (ROOT / "docs" / "theory").glob("*.md")}
    proved = {name: text for name, text in pages.items() if "*Proof.*" in text}
    assert len(proved) == 8
    assert {name: without_test(text) for name, text in proved.items() if without_test(text)} == {}
    said = "**Lemma 2.** *x*\n\n*Test*: `tests/a.py::test_b`.\n\n**Theorem 3.** *y*\n"
    assert without_test(said) == ["Theorem 3"]
    numbers = re.findall(r"^\*\*\w+ (\d+)", "\n".join(proved.values()), re.MULTILINE)
    assert sorted(map(int, numbers)) == [*range(1, 32)]


REPLICA_PAGES = {
    "guides/replica.md": r"^(##.*|\*\*[^*\n]+\*\*)",
    "reference/replica-network.md": r"^(##.*|\*\*[^*\n]+\*\*)",
    "reference/security.md": r"^(##.*)",
    "reference/wire-and-journal.md": r"^(## .*)",
}
"""The pages on what replicas guarantee, and where on each another promise begins."""


def promises(page: str, begins: str) -> list[str]:
    """The promises of a page after which no test is named before the next one begins."""
    parts = re.split(begins, FENCE.sub("", page), flags=re.MULTILINE)
    return [
        name
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
        if text.strip() and not re.search(r"`tests/[^`]*::", text)
    ]


@pytest.mark.parametrize("page", REPLICA_PAGES)
def test_each_promise_of_replicas_names_a_test(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert text.count("::test_") > 10
    assert promises(text, REPLICA_PAGES[page]) == []
    said = "## One\n\n*Tests*: `tests/a.py::test_b`.\n\n**Two.** words\n"
    assert promises(said, REPLICA_PAGES["guides/replica.md"]) == ["**Two.**"]


@pytest.mark.slow
def test_each_statement_of_the_page_of_formats_is_read() -> None:
    page = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    rows = [row.split(" | ")[0] for row in page.split("\n## ")[1].splitlines() if row.startswith("| `")]
    stated = re.findall(r"`([^`]+)`", "\n".join(rows).replace("\\|", "|"))
    assert len(stated) > 15
    for statement in stated:
        Microcosm.parse(statement.replace("…", "a < b"))


def test_nothing_is_misspelt() -> None:
    """codespell finds nothing in what people read; `pyproject.toml` has the words that are meant."""
    pytest.importorskip("codespell_lib", reason="no codespell: pip install 'causal-microcosm[dev]'")
    read = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        ".github",
        "docs",
        "rules",
        "examples",
        "microcosm",
    ]
    command = [sys.executable, "-m", "codespell_lib", *read]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr


def test_the_readme_shows_both_commands_and_a_proof() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("<!-- command: demo -->\n```sh\n") < text.index("<!-- command: tests -->\n```sh\n")
    assert "\n```console\n$ microcosm why " in text


def test_a_wrong_output_is_noticed() -> None:
    assert matches("one\n...\nfour\n", "one\ntwo\nthree\nfour\n")
    assert not matches("one\n", "one\ntwo\n")
    assert not matches("", "one\n")
