"""The parts that an installation may have or lack. Nothing heavy is loaded to find out."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from microcosm.spark.java import OLDEST, WAYS, javas

SPARK = "`microcosm spark` does not work; every other command does"
CONNECT = "`--master sc://…` (Spark Connect) does not work; other masters do"

PACKAGES = {
    "pyspark": (SPARK, "spark"),
    "pyarrow": (SPARK, "spark"),
    "pandas": (SPARK, "spark"),
    "protobuf": ("`microcosm spark stream` does not work; every other command does", "spark"),
    "grpcio": (CONNECT, "connect"),
    "grpcio-status": (CONNECT, "connect"),
    "googleapis-common-protos": (CONNECT, "connect"),
    "zstandard": (CONNECT, "connect"),
    "python-sat": ("deciding microcosms with many <> takes longer; the answers are the same", "sat"),
}
"""The optional packages: what each missing one disables, and the extra that brings it."""


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
    for name, (disables, extra) in PACKAGES.items():
        try:
            yield Part(name, True, metadata.version(name), "")
        except metadata.PackageNotFoundError:
            yield Part(name, False, "", "", disables, f"`pip install 'microcosm[{extra}]'`")
