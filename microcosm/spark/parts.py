"""The parts that an installation may have or lack. Nothing heavy is loaded to find out."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec

from microcosm.spark.java import OLDEST, WAYS, javas

ALONE = "does not work; every other command does"
SPARK = f"`microcosm spark` {ALONE}"
SLOWER = "deciding microcosms with many <> takes longer; the answers are the same"
CONNECT = "`--master sc://…` (Spark Connect) does not work; other masters do"


@dataclass(frozen=True, slots=True)
class Package:
    """An optional package: the module to import, what its lack disables, and the extra that brings it."""

    module: str
    disables: str
    extra: str


PACKAGES = {
    "numpy": Package("numpy", f"{SPARK}, if more slowly where many questions are asked at once", "bulk"),
    "pyarrow": Package("pyarrow", f"Parquet is not read; {SPARK}", "spark"),
    "pyspark": Package("pyspark", SPARK, "spark"),
    "pandas": Package("pandas", SPARK, "spark"),
    "protobuf": Package("google.protobuf", f"`microcosm spark stream` {ALONE}", "spark"),
    "grpcio": Package("grpc", CONNECT, "connect"),
    "grpcio-status": Package("grpc_status", CONNECT, "connect"),
    "googleapis-common-protos": Package("google.rpc", CONNECT, "connect"),
    "zstandard": Package("zstandard", f"logs packed by zstd are not read; {CONNECT}", "zstd"),
    "python-sat": Package("pysat", SLOWER, "sat"),
    "cryptography": Package("cryptography", f"`microcosm replica serve` {ALONE}", "replica"),
}
"""The optional packages, by the names under which they are installed."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the installation; `version` and `where` are empty for a missing one."""

    name: str
    present: bool
    version: str
    where: str
    disables: str = ""
    remedy: str = ""


def parts() -> Iterator[Part]:
    """Python, Java and the optional packages. Cost: Java is started to tell its version."""
    yield Part("Python", True, platform.python_version(), sys.executable)
    found = list(javas(os.environ))
    usable = next((java for java in found if java.usable), None)
    if usable is not None:
        yield Part("Java", True, str(usable.version), f"{usable.home} ({usable.found})")
    else:
        old = "".join(f" (Java {java.version} of {java.found} is older than {OLDEST})" for java in found)
        yield Part("Java", False, "", "", SPARK + old, WAYS)
    for name, package in PACKAGES.items():
        if is_installed(package.module):
            yield Part(name, True, _version(name), "")
        else:
            yield Part(name, False, "", "", package.disables, f"`pip install 'microcosm[{package.extra}]'`")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(version not known)"


def lacking(modules: Iterable[str]) -> list[str]:
    """Those of some modules that are not installed."""
    return [name for name in modules if not is_installed(name)]


def is_installed(module: str) -> bool:
    """Whether a module can be imported. Cost: its packages are, it is not."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # what it would be a part of
        return False
