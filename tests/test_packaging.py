"""What the wheel holds, and that it works where no checkout is.  Built in this process, without network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from microcosm.cli.app import main
from microcosm.errors import DISTRIBUTION, installing
from microcosm.files import other_project

pytest.importorskip("hatch_vcs", reason="no hatch-vcs: the version comes of the tag by it")

ROOT = Path(__file__).parents[1]
SHIPPED = ("rules", "examples")


def build(folder: Path, version: str) -> ZipFile:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=[version])
    return ZipFile(wheel)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    return build(tmp_path_factory.mktemp("dist"), "standard")


def tracked(folder: str) -> set[str]:
    files = (ROOT / folder).rglob("*")
    return {str(f.relative_to(ROOT)) for f in files if f.is_file() and f.suffix != ".pyc"}


def test_the_wheel_holds_the_package_the_rules_and_the_examples_and_nothing_else(wheel: ZipFile) -> None:
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    shipped = {f"microcosm/{name}" for folder in SHIPPED for name in tracked(folder)}
    assert {"microcosm/rules/initial.rules", "microcosm/rules/online.rules"} <= shipped
    assert inside == tracked("microcosm") | shipped
    assert "microcosm/py.typed" in inside


@pytest.mark.parametrize("folder", SHIPPED)
def test_what_ships_is_what_stands_in_the_checkout(wheel: ZipFile, folder: str) -> None:
    assert tracked(folder)
    for name in tracked(folder):
        assert wheel.read(f"microcosm/{name}") == (ROOT / name).read_bytes()


def test_the_metadata(wheel: ZipFile) -> None:
    (record,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(wheel.read(record).decode())
    assert (metadata["Name"], metadata["License-Expression"]) == (DISTRIBUTION, "Apache-2.0")
    assert metadata["Requires-Python"] == ">=3.11"
    core = {line.split(">=")[0] for line in metadata.get_all("Requires-Dist", []) if "extra" not in line}
    assert core == {"lark", "msgpack", "networkx", "prompt-toolkit", "rich", "starlette", "typer", "uvicorn"}
    told = str(metadata.get_payload())
    links = re.findall(r'\]\(([^)#]+)|src(?:set)?="([^"]+)', told)
    source = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
    inside = [link for both in links for link in both if link.startswith(f"{source}/")]
    assert len(inside) > 20
    assert all(link.startswith("https://") for both in links for link in both if link)
    assert all((ROOT / link.split("/main/")[1]).exists() for link in inside)
    scripts = wheel.read(record.replace("METADATA", "entry_points.txt")).decode()
    assert "microcosm = microcosm.__main__:main" in scripts


def test_an_editable_install_copies_nothing(tmp_path: Path) -> None:
    inside = build(tmp_path, "editable").namelist()
    assert [name for name in inside if ".dist-info/" not in name] == ["_causal_microcosm.pth"]


def test_the_package_exports_what_it_says_and_loads_it_when_asked() -> None:
    program = """
import sys
import microcosm
print([name for name in sys.modules if name.startswith("microcosm.")])
print([name for name in microcosm.__all__ if getattr(microcosm, name).__name__ != name])
print(sorted(microcosm.__all__) == microcosm.__all__ == [n for n in dir(microcosm) if n != "__version__"])
print(hasattr(microcosm, "nothing"), microcosm.__version__[0])
"""
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["[]", "[]", "True", "False 0"]


def test_the_unpacked_wheel_finds_its_own_rules(wheel: ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from microcosm.files import shipped
for folder in {SHIPPED!r}:
    print(shipped(folder))
"""
    command = [sys.executable, "-P", "-c", program]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(tmp_path / "microcosm" / folder) for folder in SHIPPED]


@pytest.mark.slow
def test_what_is_built_twice_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, whenever it is built: no time of day gets in but SOURCE_DATE_EPOCH."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1763856000")
    builders = (WheelBuilder, ["standard"]), (SdistBuilder, ["standard"])
    for builder, versions in builders:
        one, other = (
            Path(*builder(str(ROOT)).build(directory=str(tmp_path / n), versions=versions)) for n in "ab"
        )
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes()
    with tarfile.open(next((tmp_path / "a").glob("*.tar.gz"))) as source:
        inside = {member.name.split("/")[1] for member in source.getmembers()}
    folders = {"benchmarks", "docs", "examples", "microcosm", "rules", "tests"}
    made = {"PKG-INFO", ".gitignore", "pyproject.toml", "LICENSE"}
    told = {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "README.md"}
    assert inside == folders | made | told, "nothing else that lies in the checkout"
    with ZipFile(next((tmp_path / "a").glob("*.whl"))) as again:
        assert {member.date_time for member in again.infolist()} == {(2025, 11, 23, 0, 0, 0)}


def version_of(folder: Path) -> str:
    version: str = ProjectMetadata(str(folder), PluginManager()).version
    return version


def test_the_version_is_the_tag_and_what_has_none_cannot_be_published(tmp_path: Path) -> None:
    """A local version, that with a `+`, is one that no index takes."""
    (tmp_path / "docs").mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "docs/readme.py"):
        shutil.copy(ROOT / name, tmp_path / name)

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    assert version_of(tmp_path) == "0+untagged"
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    assert re.fullmatch(r"0\.post1\.dev1\+untagged\.g\w+", version_of(tmp_path))
    git("tag", "v0.1.0")
    assert version_of(tmp_path) == "0.1.0"
    git("commit", "--allow-empty", "-m", "two")
    assert re.fullmatch(r"0\.1\.0\.post1\.dev1\+g\w+", version_of(tmp_path))


HINT = re.compile(r"pip install\b[^\n`]*?(?<![-\w/.])microcosm(?![-\w./(])")
"""A hint that installs the other project."""


def test_no_hint_installs_the_other_project() -> None:
    assert HINT.search("pip install 'microcosm[spark]'")
    assert HINT.search("pip install microcosm")
    assert not HINT.search(installing("spark"))
    program = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert program["name"] == DISTRIBUTION
    own = [
        each for extra in program["optional-dependencies"].values() for each in extra if "microcosm" in each
    ]
    assert own
    assert all(each.startswith(f"{DISTRIBUTION}[") for each in own)
    asked = {extra for each in own for extra in each[len(DISTRIBUTION) + 1 : -1].split(",")}
    assert asked <= set(program["optional-dependencies"])
    pages = [
        file
        for folder in ("microcosm", "docs", "examples", "benchmarks")
        for file in (ROOT / folder).rglob("*.*")
    ]
    for file in [*pages, *ROOT.glob("*.md")]:
        if file.suffix in {".py", ".md", ".sh", ".ipynb", ".json"} and "_build" not in file.parts:
            said = HINT.search(file.read_text(encoding="utf-8"))
            assert said is None, (file, said)


def test_where_the_other_project_is_installed_as_well_the_program_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert other_project(tmp_path) is None
    record = tmp_path / "microcosm-4.1.0.dist-info"
    record.mkdir()
    (record / "entry_points.txt").write_text(
        "[console_scripts]\ncreateall = another:main\n", encoding="utf-8"
    )
    assert other_project(tmp_path) == "4.1.0"
    monkeypatch.setattr("microcosm.cli.app.other_project", lambda: other_project(tmp_path))
    assert main(["rules", "check"]) == 0
    assert f"--force-reinstall {DISTRIBUTION}" in capsys.readouterr().err
    assert main(["rules", "check", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    (record / "entry_points.txt").write_text("microcosm = microcosm.cli.app:main\n", encoding="utf-8")
    assert other_project(tmp_path) is None


def test_the_workflow_runs_what_decides_with_every_python_that_is_named() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "\n      - run: bash .ci/run ${{" in workflow
    program = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(program["classifiers"]))
    assert re.findall(r'"(3\.\d+)"', workflow.split("matrix:")[1].split("steps:")[0]) == named
    site = (ROOT / ".readthedocs.yaml").read_text(encoding="utf-8")
    assert "extra_requirements: [docs]" in site
    assert "fail_on_warning: true" in site


def test_the_licences_of_what_the_package_needs_are_listed() -> None:
    program = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = program["optional-dependencies"]
    needed = [*program["dependencies"]]
    for extra in extras.keys() - {"test", "docs", "dev", "browser"}:
        needed += extras[extra]
    names = {re.split(r"[<>=\[ ]", each)[0] for each in needed} - {DISTRIBUTION}
    page = (ROOT / "docs" / "project" / "licences.md").read_text(encoding="utf-8")
    listed = {
        name for row in re.findall(r"^\| ([a-z][^|]*) \|", page, re.MULTILINE) for name in row.split(", ")
    }
    assert names == listed - {"package"}


def test_the_citation_names_the_newest_version() -> None:
    said = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version, date = re.findall(r"^version: (\S+)|^date-released: \"(\S+)\"", said, re.MULTILINE)
    newest = re.search(r"^## \[(\d[^]]*)\] - (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert (version[0], date[1]) == newest.groups()
