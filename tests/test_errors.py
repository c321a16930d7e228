"""Whatever this package raises on purpose is a `MicrocosmError`: one `except` catches all of it."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import microcosm
from microcosm import MicrocosmError

MISSING = ("pyspark", "pyarrow", "pandas", "numpy", "cryptography")
"""What a module of the package may lack where the tests run without extras."""


def test_every_exception_class_derives_from_one() -> None:
    seen = 0
    for module in pkgutil.walk_packages(microcosm.__path__, "microcosm."):
        if module.name.endswith("__main__"):
            continue
        try:
            members = inspect.getmembers(import_module(module.name), inspect.isclass)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in MISSING:
                raise
            continue
        for _, found in members:
            if issubclass(found, Exception) and found.__module__.startswith("microcosm"):
                seen += 1
                assert issubclass(found, MicrocosmError), f"{found.__module__}.{found.__name__}"
    assert seen > 40
