"""JSON that says one thing: no key twice in an object, no NaN; where that is asked for, at any depth."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from microcosm.errors import TextError
from microcosm.givens.exact import number_or_infinity
from microcosm.text.statement import shown

LONGEST_INTEGER = 300
"""Of JSON at any depth an integer of more digits than any count has is read as a float."""


class TwiceError(TextError):
    """A key that stands twice in one object: well-formed JSON that says two things."""


def decode_json(text: str, file: str | None = None, *, deep: bool = False) -> object:
    """JSON to plain objects, numbers being exact; `deep`: at any depth, with floats. Cost: linear.

    Raises `TwiceError` for a repeated key, `TextError` for NaN, infinities, and what is no JSON, with line
    and column where the decoder knows them.
    """
    try:
        return _decoded(text, file, deep)
    except json.JSONDecodeError as error:
        several = error.msg == "Extra data"
        hint = "If these are the lines of a log: they are in no format known here." if several else None
        message = "more than one JSON document" if several else f"not JSON: {error.msg}"
        raise _at(text, error.pos, message, file, hint) from None
    except RecursionError:
        if deep:
            return from_inside(text, file)
        raise TextError("the JSON is nested too deeply", file=file) from None
    except ValueError:
        raise TextError("a JSON number has too many digits", file=file) from None


def _decoded(text: str, file: str | None, deep: bool, members: Iterator[object] | None = None) -> object:
    """The value of a text, one of `members` standing wherever there is a hole."""

    def constant(name: str) -> object:
        if members is not None and name == _HOLE:
            return next(members)
        raise TextError(f"{name} is no JSON number", file=file)

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for at, key in enumerate(keys) if key in keys[:at])
            raise TwiceError(f"the key {shown(twice)} stands twice in one object", file=file)
        return found

    return json.loads(
        text,
        object_pairs_hook=unique,
        parse_constant=constant,
        parse_float=None if deep else number_or_infinity,
        parse_int=_integer if deep else None,
    )


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_INTEGER else float(digits)


def _at(text: str, at: int, message: str, file: str | None, hint: str | None = None) -> TextError:
    begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = text[begin : end if end >= 0 else None]
    number = text.count("\n", 0, at) + 1
    return TextError(message, file=file, line=number, column=at - begin + 1, text=line, hint=hint)


_PART = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}]|-Infinity|[^]["{}-]++|.', re.DOTALL)
"""A string, a bracket, or what stands between."""

_HOLE = "-Infinity"
"""What stands in the place of an array or object that was read already: nothing that a text may have."""


@dataclass
class _Opened:
    """An array or object that is open, or the text around all of them: what was read of it, and in it."""

    begins: int
    parts: list[str] = field(default_factory=list)
    members: list[object] = field(default_factory=list)


def from_inside(text: str, file: str | None = None) -> object:
    """The value of a text that is nested deeper than the library reads: from inside to outside.

    Raises as `decode_json`. Cost: linear.
    """

    def value(opened: _Opened) -> object:
        try:
            return _decoded("".join(opened.parts), file, True, iter(opened.members))
        except json.JSONDecodeError as error:
            raise _at(text, opened.begins, f"not JSON: {error.msg}", file) from None

    opened = [_Opened(0)]
    for found in _PART.finditer(text):
        part = found[0]
        if part == _HOLE:
            raise _at(text, found.start(), f"{part} is no JSON number", file)
        if part in "[{":
            opened.append(_Opened(found.start()))
        opened[-1].parts.append(part)
        if part in "]}":
            if len(opened) == 1:
                break
            inner = opened.pop()
            opened[-1].members.append(value(inner))
            opened[-1].parts.append(_HOLE)
    return value(opened[-1])
