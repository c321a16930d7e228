"""Java is looked for in the order that is promised, and where there is none it is said what to do."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from microcosm.cli.app import main
from microcosm.spark import session
from microcosm.spark.installation import NoJava, find_java, launcher, spark_home


def java(folder: Path, version: str) -> Path:
    """A program that calls itself Java; its arguments are what it prints first."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\necho "$@"\necho \'openjdk version "{version}" 2026\' >&2\n', encoding="utf-8"
    )
    program.chmod(0o755)
    return program


@pytest.fixture
def nothing(tmp_path: Path) -> dict[str, str]:
    return {"PATH": str(tmp_path / "empty"), "HOME": str(tmp_path)}


def test_java_home_comes_before_the_path(tmp_path: Path, nothing: dict[str, str]) -> None:
    java(tmp_path / "home", "21.0.1")
    java(tmp_path / "other", "17.0.2")
    on_path = {**nothing, "PATH": str(tmp_path / "other" / "bin")}
    assert find_java({**on_path, "JAVA_HOME": str(tmp_path / "home")}).version == 21
    assert find_java(on_path).home == tmp_path / "other"


def test_a_java_that_is_too_old_is_passed_over_and_named(tmp_path: Path, nothing: dict[str, str]) -> None:
    java(tmp_path / "old", "1.8.0_402")
    java(tmp_path / "new", "17")
    old = {**nothing, "JAVA_HOME": str(tmp_path / "old")}
    assert find_java({**old, "PATH": str(tmp_path / "new" / "bin")}).version == 17
    with pytest.raises(NoJava, match=r"JAVA_HOME\) is Java 8; Spark needs 17\..*pip install"):
        find_java(old)


def test_the_launcher_drops_the_one_argument(tmp_path: Path, nothing: dict[str, str]) -> None:
    home = launcher(java(tmp_path / "real", "17"), {**nothing, "PATH": "/bin:/usr/bin"})
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"]
    ran = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert ran.stdout == "-Xmx1g -cp a b Main\n"


def test_without_java_spark_says_what_to_do(
    nothing: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", nothing["PATH"])
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("microcosm.spark.session._running", lambda: None)
    (tmp_path / "one.mc").write_text("a < b", encoding="utf-8")
    assert main(["spark", "bisim", str(tmp_path), "--out", str(tmp_path / "out")]) == 4
    said = capsys.readouterr().err
    assert "JAVA_HOME" in said
    assert "causal-microcosm[java]" in said
    assert "PATH" in said
    assert not (tmp_path / "out").exists()


def test_without_pyspark_spark_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("microcosm.spark.installation.find_spec", lambda name: None)
    assert main(["spark", "bisim", str(tmp_path), "--out", str(tmp_path / "out")]) == 4
    assert "pip install 'causal-microcosm[spark]'" in capsys.readouterr().err


def test_jobs_use_nothing_that_spark_connect_lacks() -> None:
    used = set()
    for file in Path(session.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                used.add(node.attr)
    assert used.isdisjoint({"rdd", "sparkContext", "_sc", "_jvm", "_jdf", "_jsparkSession"})
    assert "mapInArrow" in used


def test_spark_has_a_home_without_the_archive_of_its_modules(tmp_path: Path) -> None:
    for name in ("bin", "jars", "python/lib"):
        (tmp_path / "pyspark" / name).mkdir(parents=True)
    (tmp_path / "pyspark" / "jars" / "spark.jar").touch()
    (tmp_path / "pyspark" / "python" / "lib" / "pyspark.zip").touch()
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for _ in range(2):  # it may be there already
        home = spark_home(tmp_path / "pyspark", environment)
        assert sorted(path.name for path in home.iterdir()) == ["bin", "jars"]
    assert (home / "jars" / "spark.jar").is_file()
    assert spark_home(tmp_path / "other", environment) != home
