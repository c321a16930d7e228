"""Values of decoded JSON, each read as the type that is expected, or refused with its path.

`path` says where a value stands, as in `external[2]`; it is what a fault begins with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

from microcosm.errors import MicrocosmError
from microcosm.givens.exact import Number, of_float, written
from microcosm.text.words import SHOWN, shown, unfit

Value = TypeVar("Value")


class JsonFault(MicrocosmError):
    """What is wrong, and the JSON path of the value."""

    def __init__(self, path: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.hint = hint


def events_of(found: object, path: str, once: bool = True) -> list[str]:
    """A list of names, each standing there once unless `once` is false."""
    events = list_of(found, path)
    seen: set[str] = set()
    for at, event in enumerate(events):
        if not isinstance(event, str) or unfit(event):
            name_of(event, f"{path}[{at}]")
        if once and event in seen:
            raise JsonFault(f"{path}[{at}]", f"{shown(event)} stands twice", "Name it once.")
        seen.add(event)
    return list(events)


def table_of(found: object, path: str, read: Callable[[object, str], Value]) -> dict[str, Value]:
    """An object whose keys are names and whose values `read` reads, given a value and its path."""
    if not isinstance(found, dict):
        raise JsonFault(path, f"expected an object, not {described(found)}")
    table = {}
    for key, value in found.items():
        place = f"{path}[{json.dumps(key)}]"
        table[name_of(key, place)] = read(value, place)
    return table


def list_of(
    found: object, path: str, least: int = 0, most: float = math.inf, what: str = "a list"
) -> list[Any]:
    """A list of `least` to `most` members of any type; `what` describes it."""
    if isinstance(found, list) and least <= len(found) <= most:
        return found
    raise JsonFault(path, f"expected {what}, not {described(found)}")


def name_of(found: object, path: str) -> str:
    """A string that can name an event."""
    if not isinstance(found, str):
        raise JsonFault(path, f"expected a name (a string), not {described(found)}")
    if fault := unfit(found):
        raise JsonFault(path, fault)
    return found


def text_of(found: object, path: str) -> str:
    """A string, possibly empty, that UTF-8 can write."""
    if not isinstance(found, str):
        raise JsonFault(path, f"expected a string, not {described(found)}")
    return name_of(found, path) if found else found


def optional_text(found: object, path: str) -> str | None:
    """A string, or null."""
    return None if found is None else text_of(found, path)


def truth_of(found: object, path: str) -> bool:
    """True or false."""
    if not isinstance(found, bool):
        raise JsonFault(path, f"expected true or false, not {described(found)}")
    return found


def integer_of(found: object, path: str, what: str) -> int:
    """An integer, which true and false are not."""
    if not isinstance(found, int) or isinstance(found, bool):
        raise JsonFault(path, f"expected {what}, not {described(found)}")
    return found


def number_of(found: object, path: str) -> Number:
    """A finite number, exactly; a float stands for what it is shown as."""
    if isinstance(found, int | float | Decimal) and not isinstance(found, bool):
        if not isinstance(found, float) or math.isfinite(found):
            return of_float(found)
        raise JsonFault(path, "the number is too large")
    raise JsonFault(path, f"expected a number, not {described(found)}")


def described(found: object) -> str:
    """A value in an error, in one short line."""
    match found:
        case dict():
            return "an object"
        case list():
            return f"a list of {len(found)}"
        case Decimal():
            return written(found)
        case _:
            text = json.dumps(found, default=repr)
            return text if len(text) <= SHOWN else text[:SHOWN] + "…"
