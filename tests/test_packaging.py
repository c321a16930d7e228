"""What the wheel holds, and that it works where no checkout is.  Built in this process, without network."""

from __future__ import annotations

import subprocess
import sys
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

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
    assert (metadata["Name"], metadata["License-Expression"]) == ("microcosm", "Apache-2.0")
    assert metadata["Requires-Python"] == ">=3.11"
    core = {line.split(">=")[0] for line in metadata.get_all("Requires-Dist", []) if "extra" not in line}
    assert core == {"lark", "msgpack", "networkx", "prompt-toolkit", "rich", "starlette", "typer", "uvicorn"}
    scripts = wheel.read(record.replace("METADATA", "entry_points.txt")).decode()
    assert "microcosm = microcosm.cli.app:main" in scripts


def test_an_editable_install_copies_nothing(tmp_path: Path) -> None:
    inside = build(tmp_path, "editable").namelist()
    assert [name for name in inside if ".dist-info/" not in name] == ["_microcosm.pth"]


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
