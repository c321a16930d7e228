"""Whatever this package raises on purpose is a `MicrocosmError`: one `except` catches all of it."""

from __future__ import annotations

import copy
import inspect
import pickle
import pkgutil
from importlib import import_module

import pytest

import microcosm
from microcosm import MicrocosmError, TextError, UnknownEvent
from microcosm.errors import DamagedJournal, JournalError, MissingLibrary, NotComplete

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


@pytest.mark.parametrize(
    "error",
    [
        TextError("m", file="f", line=1, column=2, text="x", hint="h"),
        UnknownEvent(("viev",), ("view",)),
        NotComplete(("a sign",)),
        MissingLibrary("Spark jobs", ("pyspark",), "spark"),
        JournalError("m", file="f", hint="h"),
        DamagedJournal(("a fault",), file="f", copy=None, hint="h"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_copy_of_an_error_says_the_same(error: MicrocosmError) -> None:
    """One that a process of a pool raises comes back as it is."""
    pickled = (pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))
    for again in (copy.copy(error), copy.deepcopy(error), *pickled):
        assert type(again) is type(error)
        assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))
