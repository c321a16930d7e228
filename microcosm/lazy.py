"""Packages whose modules are loaded when they are first asked for (PEP 562).

So `Microcosm` names what answers a question where it is asked, and a question that nobody asks costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def modules(package: str, names: list[str]) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package, which loads the modules with these names. Raises `AttributeError`.

    Cost: that of the module, once.
    """

    def load(name: str) -> ModuleType:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return load
