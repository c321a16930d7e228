"""Questions as data: patterns, states, what is known, formulas; what each stands for, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

from microcosm.errors import TextError
from microcosm.givens.exact import Number, number
from microcosm.givens.relation import Relation
from microcosm.queries.events import as_text


class Place(NamedTuple):
    """Where something stands in a text of questions; both count from 1."""

    line: int
    column: int


COLUMNS = ("name", "process", "seq", "kind", "message", "label", "trace", "time", "file", "line")
"""What can be asked of an event; any other name is one of its attributes."""


@dataclass(frozen=True)
class Value:
    """A text or a number that stands in the question."""

    value: str | Number | float


@dataclass(frozen=True)
class Field:
    """A column of an event, or an attribute; of the event `variable`, or (None) of the one at hand."""

    name: str
    variable: str | None = None


@dataclass(frozen=True)
class Parameter:
    """What a parameter stands for."""

    name: str


Operand = Value | Field | Parameter


@dataclass(frozen=True)
class Compared:
    """`left sign right`, for sign one of `= != < <= > >=`. False where either side is absent."""

    left: Operand
    sign: str
    right: Operand
    place: Place


@dataclass(frozen=True)
class Matches:
    """`operand ~ "regex"`: found somewhere in it. Its named groups bind parameters."""

    operand: Operand
    pattern: re.Pattern[str]
    place: Place


@dataclass(frozen=True)
class OneOf:
    """`operand in (…)`."""

    operand: Operand
    among: tuple[Operand, ...]
    place: Place


@dataclass(frozen=True)
class Present:
    """A field by itself: that the event has it, and not as false or as nothing."""

    field: Field
    place: Place


@dataclass(frozen=True)
class Related:
    """`left R right` for two variables: an atom, of events; `while`, of states (`relation` None).

    `same` says that the two are one event, `surely` that the states are seen at once in each run, not in
    some.
    """

    left: str
    relation: Relation | None
    right: str
    place: Place
    same: bool = False
    surely: bool = False


@dataclass(frozen=True)
class Is:
    """`variable is pattern(arguments)`."""

    variable: str
    reference: Reference
    place: Place


@dataclass(frozen=True)
class Not:
    """Kleene's negation: open stays open."""

    part: Formula


@dataclass(frozen=True)
class And:
    """False where a part is, else open where a part is."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Or:
    """True where a part is, else open where a part is."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Quantified:
    """`for all` (or, if `some`, `exists`) of what matches the references, one for each variable.

    `where` is a condition of two values. `distinct` says that the two of a pair differ, `once` that each two
    are taken once only, whichever comes first.
    """

    some: bool
    binders: tuple[Binder, ...]
    where: Formula | None
    body: Formula
    place: Place
    once: bool = False
    distinct: bool = False


Formula = Compared | Matches | OneOf | Present | Related | Is | Not | And | Or | Quantified


Binder = tuple[str, "Reference"]
"""A variable, and the pattern whose matches it stands for."""


@dataclass(frozen=True)
class Reference:
    """A use of a pattern: its name, and for each parameter a name, a value, or None for whatever it is."""

    name: str
    arguments: tuple[Parameter | Value | None, ...]
    place: Place


@dataclass(frozen=True)
class EventPattern:
    """`event NAME(parameters) where condition`; `bound` says which field a parameter is."""

    name: str
    parameters: tuple[str, ...]
    bound: dict[str, Field]
    condition: Formula | None
    place: Place


@dataclass(frozen=True)
class StatePattern:
    """`state NAME(parameters) on process from begin until end`; `process` None: on every one."""

    name: str
    parameters: tuple[str, ...]
    bound: dict[str, Field]
    process: Value | Parameter | None
    begin: Formula
    end: Formula
    place: Place


Pattern = EventPattern | StatePattern


@dataclass(frozen=True)
class Known:
    """`know A R B where …`: every matching pair is in this relation."""

    left: Binder
    relation: Relation
    right: Binder
    where: Formula | None
    text: str
    place: Place


@dataclass(frozen=True)
class Question:
    """One question: its text, and the formula that it stands for."""

    text: str
    formula: Formula
    place: Place


@dataclass
class Questions:
    """All that a text says, in its order. `file` is where it was read, None where nowhere."""

    text: str = ""
    file: str | None = None
    patterns: dict[str, Pattern] = field(default_factory=dict)
    known: list[Known] = field(default_factory=list)
    complete: Place | None = None
    questions: list[Question] = field(default_factory=list)

    def fault(self, message: str, place: Place, hint: str | None = None) -> TextError:
        """An error at a place of the text."""
        lines, (line, column) = self.text.split("\n"), place
        text = lines[line - 1] if line <= len(lines) else None
        return TextError(message, file=self.file, line=line, column=column, text=text, hint=hint)


def children(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that a formula is made of."""
    match formula:
        case Not(part):
            return (part,)
        case And(parts) | Or(parts):
            return parts
        case Quantified():
            return (formula.body,) if formula.where is None else (formula.where, formula.body)
    return ()


def within(formula: Formula) -> Iterator[Formula]:
    """A formula and all within it."""
    stack = [formula]
    while stack:
        found = stack.pop()
        yield found
        stack += children(found)


def operands(formula: Formula) -> tuple[Operand, ...]:
    """The operands of a formula that compares something."""
    match formula:
        case Compared():
            return formula.left, formula.right
        case Matches():
            return (formula.operand,)
        case OneOf():
            return formula.operand, *formula.among
        case Present():
            return (formula.field,)
    return ()


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def compared(left: object, sign: str, right: object) -> bool:
    """Whether two values compare so: as numbers where both are, else as texts; nothing is like the absent.

    >>> compared("10", ">", 9), compared("b", ">", "a"), compared(None, "!=", "a")
    (True, True, False)
    >>> compared("1796000000000000001", ">", 1796000000000000000)
    True
    """
    one, other = as_text(left), as_text(right)
    if one is None or other is None:
        return False
    if sign in ("=", "!="):
        return (one == other) == (sign == "=")
    first, second = _number(one), _number(other)
    if first is not None and second is not None:
        return _COMPARE[sign](first, second)
    return _COMPARE[sign](one, other)


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?").fullmatch


def _number(text: str) -> Number | None:
    if _NUMBER(text):
        with suppress(ValueError, OverflowError):  # too many digits, too large
            return number(text)
    return None
