"""Which events of a log a pattern matches, and what its parameters are: one pass over the columns of the
events.

A pattern looks at what the log says of an event and at nothing else, so that it is the same in all worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microcosm.questions.language import (
    And,
    Compared,
    EventPattern,
    Field,
    Formula,
    Matches,
    Not,
    OneOf,
    Operand,
    Or,
    Present,
    Value,
    as_text,
    compared,
)

if TYPE_CHECKING:
    from microcosm.givens.event_table import EventTable

Groups = dict[str, str]
Test = Callable[[int, Groups], bool]
"""Whether the event with this number fits; what its named groups are is put into the dictionary."""

Values = tuple[str, ...]
"""What the parameters of a match are."""


@dataclass(frozen=True)
class Matched:
    """The events that match a pattern, by their numbers in the table, and the parameters of each."""

    events: list[int]
    values: list[Values]


def matched(pattern: EventPattern, table: EventTable) -> Matched:
    """Every event that matches, in the order of the table. One without a value for a parameter matches not.

    Cost: a look at the columns that the condition names, an event.
    """
    test = condition(pattern.condition, table)
    binding = bindings(pattern.parameters, pattern.bound, table)
    events, values = list[int](), list[Values]()
    for number in range(len(table)):
        groups: Groups = {}
        if test(number, groups) and (found := binding(number, groups)) is not None:
            events.append(number)
            values.append(found)
    return Matched(events, values)


def bindings(
    parameters: Sequence[str], bound: dict[str, Field], table: EventTable
) -> Callable[[int, Groups], Values | None]:
    """What the parameters of an event are, by its fields and what groups found; None where one has no
    value.
    """
    if not parameters:
        return lambda number, groups: ()
    getters = [(name, getter(bound[name], table) if name in bound else None) for name in parameters]

    def of(number: int, groups: Groups) -> Values | None:
        found = []
        for name, get in getters:
            value = groups.get(name) if get is None else as_text(get(number))
            if value is None:
                return None
            found.append(value)
        return tuple(found)

    return of


def condition(formula: Formula | None, table: EventTable) -> Test:
    """A condition on one event as a test of its number."""
    match formula:
        case None:
            return lambda number, groups: True
        case And(parts):
            tests = [condition(part, table) for part in parts]
            return lambda number, groups: all(test(number, groups) for test in tests)
        case Or(parts):
            tests = [condition(part, table) for part in parts]
            return lambda number, groups: any(test(number, groups) for test in tests)
        case Not(part):
            refused = condition(part, table)
            return lambda number, groups: not refused(number, {})
        case Matches():
            return _matches(formula, table)
        case Compared():
            one, other, sign = getter(formula.left, table), getter(formula.right, table), formula.sign
            if sign == "=" and isinstance(formula.right, Value):
                return _equals(one, as_text(formula.right.value))
            return lambda number, groups: compared(one(number), sign, other(number))
        case OneOf():
            get, among = getter(formula.operand, table), [getter(part, table) for part in formula.among]
            return lambda number, groups: any(compared(get(number), "=", part(number)) for part in among)
        case Present():
            get = getter(formula.field, table)
            return lambda number, groups: get(number) not in (None, False, "")
    raise AssertionError(formula)


def getter(operand: Operand, table: EventTable) -> Callable[[int], Any]:
    """What an operand is for each event: a column, an attribute (dots lead into it), or a value."""
    if isinstance(operand, Value):
        value = operand.value
        return lambda number: value
    assert isinstance(operand, Field)
    name = operand.name
    match name:
        case "name" | "message" | "label" | "trace" | "time":
            return listed(getattr(table, f"{name}s")).__getitem__
        case "process" | "kind" | "seq" | "file" | "line":
            known = listed(table.processes if name == "process" else getattr(table, f"{name}s"))
            return lambda number: known[number] or None
    attributes = listed(table.attributes)
    if "." not in name:
        return lambda number: attributes[number].get(name)
    return lambda number: _within(attributes[number], name)


def _equals(get: Callable[[int], Any], wanted: str | None) -> Test:
    def found(number: int, groups: Groups) -> bool:
        value = get(number)
        return (value if isinstance(value, str) else as_text(value)) == wanted

    return found


def listed(column: Sequence[Any]) -> list[Any]:
    """A column as a list, which is quicker to look into than one that is worked out entry by entry."""
    return column if isinstance(column, list) else [*column]


def _within(attributes: Any, name: str) -> Any:
    """An attribute by its dotted name: as it is written, or part by part into nested ones."""
    if name in attributes:
        return attributes[name]
    found = attributes
    for part in name.split("."):
        if not hasattr(found, "get"):
            return None
        found = found.get(part)
    return found


def _matches(formula: Matches, table: EventTable) -> Test:
    get, search = getter(formula.operand, table), formula.pattern.search
    if not formula.pattern.groupindex:

        def found(number: int, groups: Groups) -> bool:
            value = get(number)
            return (
                value is not None
                and search(value if isinstance(value, str) else str(as_text(value))) is not None
            )
    else:

        def found(number: int, groups: Groups) -> bool:
            value = get(number)
            if value is None:
                return False
            match = search(value if isinstance(value, str) else str(as_text(value)))
            if match is None:
                return False
            groups.update({name: said for name, said in match.groupdict().items() if said is not None})
            return True

    return found
