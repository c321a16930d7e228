"""Faults of rule text, in words and at their place: the voice of `reader.py`.

Lark says which terminals it could have read; the author of a rule is told what could stand there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from microcosm.errors import RuleError

if TYPE_CHECKING:
    from lark import Token
    from lark.exceptions import UnexpectedInput

_SIGNS = "< > || <> ? !< !> !|| !<>"
_WORDS = {
    "HEADER": "a line `rule NAME:`",
    "DASHES": "a line of at least three dashes",
    "TURNSTILE": "a judgement such as `|- a R b`",
    "NAME": "an event variable such as a or e1",
    "PREDICATE": "a predicate such as name(a, b)",
    "SIGN": f"a relation ({_SIGNS})",
    "VARIABLE": "a relation variable such as R",
    "WILDCARD": "`_`",
    "_NL": "the end of the line",
    "COMMA": "`,`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "PLUS": "`+`",
    "_ASSIGN": "`:=`",
    "M": "`M`",
}
"""Terminals of the grammar, said to the author of a rule; the others are keywords."""

_GROUPS = (
    (
        {"TURNSTILE", "NAME", "PREDICATE", "GIVEN", "ASSUME", "NOT", "NO"},
        "a premise (`|- a R b`, `given a R b`, `a in M`, `a not in M`, `name(a, b)`, `not name(a, b)`, "
        "`no e in M with …`, `assume a R b`)",
    ),
    (
        {"TURNSTILE", "NAME", "PREDICATE", "GIVEN"},
        "a premise that affirms (`|- a R b`, `given a R b`, `a in M`, `name(a, b)`)",
    ),
    (
        {"SIGN", "VARIABLE", "WILDCARD"},
        f"a relation ({_SIGNS}, or _ for any) or a relation variable (R, S, T1)",
    ),
)
"""Terminals that stand for one thing together."""

LONGEST_LINE = 10_000
"""A longer line, its comment apart, is no rule: it is refused at once, before it is taken to pieces."""

_LONGEST_WORD = 24


class Source:
    """The text of one rule file, which gives every fault its place."""

    def __init__(self, text: str, file: str | None) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n") + "\n"
        self.file = file

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.split("\n")

    def check_length(self) -> None:
        """Refuse a line of more than `LONGEST_LINE` characters."""
        for number, line in enumerate(self.lines, 1):
            if len(line) > LONGEST_LINE and len(line.split("#", 1)[0].strip()) > LONGEST_LINE:
                message = f"the line has more than {LONGEST_LINE} characters"
                self.fail(number, 1, message, "A rule has one premise or conclusion a line.")

    def fail(self, line: int, column: int, message: str, hint: str | None = None) -> NoReturn:
        """Raise the `RuleError` of a fault at a line and column."""
        text = self.lines[line - 1]
        raise RuleError(message, file=self.file, line=line, column=column, text=text, hint=hint)

    def at(self, token: Token, message: str, hint: str | None = None) -> NoReturn:
        """Raise the `RuleError` of a fault at a token."""
        self.fail(token.line or 1, token.column or 1, message, hint)

    def unexpected(self, error: UnexpectedInput) -> NoReturn:
        """Raise what Lark complains of as a `RuleError` that says what could stand there."""
        cursor = getattr(error, "interactive_parser", None)
        hint = expectation(cursor.accepts()) if cursor is not None else None
        line, column = error.line, error.column
        token = getattr(error, "token", None)
        if token is not None and token.type == "_NL":
            self.fail(line, column, "the line ends too early", hint)
        if token is not None and token.type == "HEADER":
            self.fail(line, column, "a rule begins on a line of its own", hint)
        text = self.lines[line - 1]
        word = _WORD.match(text, column - 1)
        found = word.group() if word else ""
        if not found.strip("-─") and not text[: column - 1].strip():
            hint = "The line between premises and conclusions has at least three dashes."
        elif found and not found.isprintable():
            found = f"U+{ord(found[0]):04X}"
        self.fail(line, column, f"`{cut(found)}` cannot stand here", hint)


_WORD = re.compile(r"[A-Za-z0-9_]+|[^\sA-Za-z0-9_(),:#]+|.")


def cut(text: str) -> str:
    """At most the beginning of a word that may be of any length."""
    return text if len(text) <= _LONGEST_WORD else text[: _LONGEST_WORD - 4] + "…"


def expectation(terminals: set[str]) -> str:
    """What could stand at a place where the parser accepts these terminals.

    >>> expectation({"_NL", "OR", "WHERE"})
    'Expected here: `or`, `where` or the end of the line.'
    """
    names = terminals - {"$END"}
    if "HEADER" in names:
        names.discard("_NL")  # an empty line is no news there
    parts: list[str] = []
    for group, words in _GROUPS:
        if group <= names:
            parts.append(words)
            names -= group
    parts += [_WORDS.get(name, f"`{name.lower()}`") for name in sorted(names, key=lambda n: (n == "_NL", n))]
    return f"Expected here: {either(parts)}."


def either(parts: Sequence[str]) -> str:
    """Alternatives as a phrase.

    >>> either(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
