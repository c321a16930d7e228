"""Numbers as they are written: whole ones are `int`, others `Decimal`, and nothing is rounded.

Stamps are compared, and a float is not what was written: 9007199254740993.0 is read as 9007199254740992.0,
which is less than the integer 9007199254740993. Integers and decimals compare exactly with each other. A
float that comes from elsewhere (a Parquet column, a caller) stands for the shortest decimal that reads back
as it.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from json.encoder import encode_basestring, encode_basestring_ascii

Number = int | Decimal

DIGITS = 4300
"""A number of more digits, or of more decimal places, is not read; Python has the same limit for `int`."""


def number(text: str) -> Number:
    """The number that a text is, as a microcosm file or JSON writes it.

    Raises ValueError where it has too many digits, OverflowError from about 1.8e308 on, as for a float.

    >>> number("12"), number("12.50"), number("9007199254740993.0") == 9007199254740993
    (12, Decimal('12.50'), True)
    """
    if text.lstrip("+-").isdigit():
        return int(text)
    if math.isinf(float(text)):
        raise OverflowError("the number is too large")
    try:
        found = Decimal(text)
    except ArithmeticError:
        raise ValueError("the number has too many digits") from None
    if len(text) > DIGITS or int(found.as_tuple().exponent) < -DIGITS:
        raise ValueError("the number has too many digits")
    return found


def number_or_infinity(text: str) -> Number | float:
    """As `number`, for a reader of JSON: infinity where a float would be."""
    try:
        return number(text)
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def of_float(value: Number | float) -> Number:
    """A finite float as the decimal that it is shown as; other numbers as they are."""
    return number(repr(value)) if isinstance(value, float) else value


def written(value: Number | float) -> str:
    """The text of a number, which reads back as the same."""
    return repr(value) if isinstance(value, float) else str(value)


def as_float(value: Number | float) -> float | None:
    """The float that is shown as this number; None where there is none.

    >>> as_float(Decimal("12.50")), as_float(Decimal("0.12345678901234567890"))
    (12.5, None)
    """
    if isinstance(value, float):
        return value
    try:
        near = float(value)
    except OverflowError:
        return None
    return near if Decimal(repr(near)) == value else None


def below(value: Number) -> float:
    """The greatest float that is shown as no more than this number."""
    near = float(value)
    return near if Decimal(repr(near)) <= value else math.nextafter(near, -math.inf)


def above(value: Number) -> float:
    """The least float that is shown as no less."""
    near = float(value)
    return near if Decimal(repr(near)) >= value else math.nextafter(near, math.inf)


def in_json(value: Number | float) -> Number | float:
    """A number as `json.dumps` takes it, if there is one of its types that says the same; else as it is."""
    if isinstance(value, int):
        return value
    near = as_float(value)
    return value if near is None else near


_MARK = "\udfff"
"""Half of a surrogate pair: in no name, and so in no other text that is written."""

_marked = re.compile(rf'"(?:{_MARK}|\\udfff)([^"]*)"')


def json_text(value: object, *, ensure_ascii: bool = False, indent: int | None = None) -> str:
    """`json.dumps` that also writes decimals, as numbers with all their digits; texts at a tenth of its cost.

    What JSON has no number for, as 1e999 that was read as a float, is a text.

    >>> json_text([Decimal("0.12345678901234567890"), 1.5]), json_text("é\\n")
    ('[0.12345678901234567890, 1.5]', '"é\\\\n"')
    """
    if type(value) is str:
        return encode_basestring_ascii(value) if ensure_ascii else encode_basestring(value)
    if type(value) is int:
        return str(value)
    found = False

    def marked(other: object) -> str:
        nonlocal found
        if not isinstance(other, Decimal):
            raise TypeError(f"{type(other).__name__} is no JSON value")
        found = True
        return _MARK + written(other)

    try:
        text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, default=marked, allow_nan=False)
    except ValueError:
        value = json.loads(json.dumps(value, default=marked), parse_constant=str)
        text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)
    return _marked.sub(r"\1", text) if found else text
