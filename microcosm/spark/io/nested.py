"""A row of a Parquet table of microcosms as the JSON form, however its writer has nested it.

A field may be nested as the JSON form is, with structs in place of short lists and maps or lists of
entries in place of objects, or be the JSON text of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from microcosm.givens.exact import number_or_infinity

_TABLES = ("stamps", "clocks", "tokens")
_LISTS = ("internal", "external", "refuted", "messages", "orderings")


def json_form(row: Mapping[str, object]) -> dict[str, object]:
    """The fields of a row that are not null. Raises `ValueError` where a text is no JSON.

    >>> json_form({"external": [{"left": "a", "relation": "<", "right": "b", "source": None}], "name": None})
    {'external': [['a', '<', 'b']]}
    >>> json_form({"stamps": [("a", [5])], "clocks": '{"a": ["p", {"p": 1}]}'})
    {'stamps': {'a': 5}, 'clocks': {'a': ['p', {'p': 1}]}}
    """
    found: dict[str, object] = {}
    for field, value in row.items():
        if value is None:
            continue
        if field in _TABLES or field in _LISTS:
            decoded = json.loads(value, parse_float=number_or_infinity) if isinstance(value, str) else value
            found[field] = _table(field, decoded) if field in _TABLES else _list(decoded)
        else:
            found[field] = value
    return found


def _table(field: str, value: object) -> object:
    entries = _entries(value)
    if entries is None:
        return value
    return {name: _member(field, member) for name, member in entries.items() if member is not None}


def _member(field: str, value: object) -> object:
    if field == "stamps" and isinstance(value, list) and len(value) == 1:
        return value[0]
    if field != "clocks":
        return _listed(value)
    clock = _listed(value)
    if isinstance(clock, list) and len(clock) > 1:
        return [clock[0], _entries(clock[1]) or {}, *clock[2:]]
    return clock


def _entries(value: object) -> dict[str, object] | None:
    """An object, or the list of entries that Arrow makes of a map."""
    if isinstance(value, dict):
        return {name: member for name, member in value.items() if member is not None}
    if isinstance(value, list) and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        return dict(value)
    return None


def _list(value: object) -> object:
    return [_listed(each) for each in value] if isinstance(value, list) else value


def _listed(value: object) -> object:
    """A struct as the list of its members, without the nulls at the end."""
    members = list(value.values()) if isinstance(value, dict) else value
    if isinstance(members, list):
        while members and members[-1] is None:
            members.pop()
    return members
