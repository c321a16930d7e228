"""What the scripts of a page are made of: tokens, without blanks and comments, and which names mean the same.

The scripts hold to what this relies on: each statement ends with `;` or `}`, what all of them share stands at
the left margin outside of brackets, and what they use of the browser is in `OFFERED`.

What a scope declares is one variable there; what is called so and declared further in is another one.
Variables share a short name where none is in sight of the other: their scopes lie apart, or one lies within
that of the other, which does not occur in it. What is declared in a way that is not looked for here (a
function in a function) is one variable with all else that is called so and not declared further in, and in
sight in the whole declaration of the script that it stands in. So nothing can come to mean what it did not.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import count, product
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

KEYWORDS = """
async await break case catch class const constructor continue default delete do else false finally for
function if in instanceof let new null of return static super switch this throw true try typeof undefined var
void while yield
"""

OFFERED = """
Array ArrayBuffer Blob Boolean DOMParser Date DecompressionStream Error Float64Array Infinity Int32Array JSON
Map Math NaN Number Object Promise RegExp ResizeObserver Response Set String TextDecoder TextDecoderStream URL
URLSearchParams Uint32Array Uint8Array Worker atob clearTimeout document fetch getComputedStyle history
location matchMedia navigator onmessage parseFloat parseInt performance postMessage print
requestAnimationFrame sessionStorage setTimeout window
"""
"""What the scripts use of the browser: these names stay."""

KEPT = frozenset((KEYWORDS + OFFERED).split())

_space = re.compile(r"(?:\s|//[^\n]*|/\*[\s\S]*?\*/)*")
_token = re.compile(
    r"(?P<text>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|(?P<name>[A-Za-z_$][\w$]*)|(?P<number>\.?\d[\w.]*)"
    r"|(?P<mark>=>|\?\.(?!\d)|\.\.\.|\+\+|--|&&|\|\||\?\?|[<>=!]+|[-+*&|?/]|[{}()\[\];,.:`~^%])"
)
_regex = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_template = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.DOTALL)

_OBJECT = frozenset(["(", ",", "=", ":", "?", "[", "&&", "||", "??", "...", "return", "const", "let"])
"""Before a brace that holds names with values; any other brace holds statements, or is that of a class."""


class Lexeme(NamedTuple):
    kind: str
    """`name`; `short` where it is key and value at once; `member`, which keeps its name; and others."""
    text: str
    outside: bool
    """Whether it stands outside of all brackets."""
    begins: bool
    """Whether it stands at the left margin outside of all brackets: a declaration begins."""


def tokens(script: str) -> Iterator[Lexeme]:
    """What a script is made of, without blanks and comments."""
    last, before = Lexeme("mark", ";", True, True), ""
    opened: list[str] = []  # what each bracket holds: `object`, `class`, `template`; or the bracket
    at = _end(_space, script, 0)
    while at < len(script):
        start, outside = at, not opened
        operand = last.kind in ("number", "text", "member", "short") or last.text in (")", "]", "}")
        operand |= last.kind == "name" and last.text not in ("return", "typeof", "of")
        slash = script[at] == "/" and not operand
        found = _token.match(script, at)
        kind = "text" if slash or found is None else found.lastgroup or ""
        at = _end(_regex if slash else _token, script, at)
        text = script[start:at]
        after = _end(_space, script, at)
        if kind == "name":
            kind = _kind(text, last, opened[-1] if opened else "", script[after : after + 1])
        elif text in ("(", "[", "{"):
            valued = last.text in _OBJECT or last.text.endswith("${")
            inside = "class" if "class" in (before, last.text) else "object" if valued else "block"
            opened.append(inside if text == "{" else text)
        elif text == "`" or (text in (")", "]", "}") and opened.pop() == "template"):
            at = _end(_template, script, at)
            opened += ["template"] if script[at - 1] == "{" else []
            kind, text, after = "text", script[start:at], _end(_space, script, at)
        before = last.text
        last = Lexeme(kind, text, outside, outside and script[start - 1 : start] in ("\n", ""))
        yield last
        at = after


def _end(what: re.Pattern[str], script: str, at: int) -> int:
    """Where what begins here ends. Raises `ValueError` where this is not known of scripts."""
    found = what.match(script, at)
    if found is None:
        raise ValueError(f"this cannot be read as a script: {script[at : at + 40]!r}")
    return found.end()


def _kind(text: str, last: Lexeme, inside: str, after: str) -> str:
    """What a name is: `member`, `short` or `name`, by what stands about it."""
    if last.text in (".", "?.") or inside == "class":
        return "member"
    if inside == "object" and last.text in ("{", ",", "async") and not (text == "async" and after.isalpha()):
        return "member" if after in ":(" else "short"
    return "name"


_STATEMENTS = ("if", "for", "while", "switch")
_OPENS = ("=", "(", ",", "[", ":", "return")
_CLOSES = (")", ",", ";", "]", "}")
"""Between these stands one whole expression, unless there is a comma in it."""

_UNREAD = ("do", "try", "switch", "function", "class", "let", "const")
"""What begins a statement whose end is not looked for."""

LETTERS = 20
"""Longer names are of so many letters: with all of them the scripts pack 100 bytes worse."""


class _Scope(NamedTuple):
    """Where a name is declared: the places of its first token and of its last."""

    first: int
    last: int
    within: int
    """Where what holds it begins: of the block of a function, its parameters."""


class _Variable(NamedTuple):
    scope: _Scope
    places: list[int]


class Bracketed:
    """The tokens of a script, with the bracket that each opens or closes."""

    def __init__(self, tokens: Sequence[Lexeme]) -> None:
        self.tokens = tokens
        self.ends: dict[int, int] = {}
        self.starts: dict[int, int] = {}
        self.inside: list[int] = []
        """The bracket that each stands in, -1 outside of all; a bracket stands in the one around it."""
        opened: list[int] = []
        for at, (kind, text, *_) in enumerate(tokens):
            template = kind == "text"
            if text[0] == "}" if template else kind == "mark" and text in (")", "]", "}"):
                start = opened.pop()
                self.ends[start], self.starts[at] = at, start
            self.inside.append(opened[-1] if opened else -1)
            if text.endswith("${") if template else kind == "mark" and text in ("(", "[", "{"):
                opened.append(at)

    def text(self, at: int) -> str:
        """The text of a token; empty where there is none, and of what is text in the script."""
        return self.tokens[at].text if 0 <= at < len(self.tokens) and self.tokens[at].kind != "text" else ""

    def after(self, at: int) -> int:
        """What follows a token, or the bracket that it opens, or the template."""
        while at in self.ends:
            at = self.ends[at]
        return at + 1

    def end(self, at: int) -> int:
        """The bracket that ends what holds a token."""
        return self.ends.get(self.inside[at], len(self.tokens))

    def needless(self) -> set[int]:
        """Brackets about one parameter of an arrow, about one name, and about what nothing takes apart."""
        found: set[int] = set()
        for at, end in self.ends.items():
            if self.text(at) == "(" and self._is_needless(at, end):
                found |= {at, end}
        return found

    def _is_needless(self, at: int, end: int) -> bool:
        before, after = self.text(at - 1), self.text(end + 1)
        if before in _OPENS and after in _CLOSES:
            inside, place = list[int](), at + 1
            while place < end:
                inside.append(place)
                place = self.after(place)
            return "," not in map(self.text, inside)
        alone = end == at + 2 and self.tokens[at + 1].kind == "name"
        free = self.tokens[at - 1].kind == "mark" and before not in (")", "]", "}", "?.")
        return alone and (after == "=>" or free)

    def scopes(self) -> Iterator[tuple[_Scope, list[int]]]:
        """Each scope with the places at which it declares names: parameters, and `let` and `const`."""
        for at, token in enumerate(self.tokens):
            text = self.text(at)
            if text == "=>":
                first = self._parameters(at)
                names = [first] if first == at - 1 else [*self._pattern(first + 1, at - 1)]
                yield _Scope(first, self._last_of_expression(at + 1), first), names
            elif text == "(" and self.text(block := self.after(at)) == "{":
                if self.text(at - 1) not in _STATEMENTS:
                    yield _Scope(at, self.ends[block], at), [*self._pattern(at + 1, block - 1)]
            elif text in ("let", "const") and token.kind == "name" and self.inside[at] >= 0:
                yield self._scope_of(self.inside[at]), [*self._declared(at + 1)]

    def _scope_of(self, bracket: int) -> _Scope:
        """The scope of what `let` declares in a bracket: a block, or that of a loop."""
        if self.text(bracket) == "(":
            return _Scope(bracket, self._last_of_statement(self.ends[bracket] + 1), bracket)
        before, within = bracket - 1, bracket
        if self.text(before) == "=>":
            within = self._parameters(before)
        elif self.text(before) == ")":
            within = self.starts[before]
        return _Scope(bracket, self.ends[bracket], within)

    def _parameters(self, arrow: int) -> int:
        return self.starts[arrow - 1] if self.text(arrow - 1) == ")" else arrow - 1

    def _pattern(self, at: int, end: int) -> Iterator[int]:
        """The places of the names that parameters declare, or what stands in a pattern."""
        while at < end:
            if self.text(at) in ("{", "["):
                yield from self._pattern(at + 1, self.ends[at])
            elif self.tokens[at].kind in ("name", "short"):
                yield at
            elif self.text(at) == "=":
                while at < end and self.text(at) != ",":
                    at = self.after(at)
                continue
            at = self.after(at)

    def _declared(self, at: int) -> Iterator[int]:
        """The places of the names that a `let` before this declares."""
        while True:
            yield from self._pattern(at, self.after(at))
            at = self.after(at)
            if self.text(at) == "=":
                at = self._last_of_expression(at + 1) + 1
            if self.text(at) != ",":
                return
            at += 1

    def _last_of_expression(self, at: int) -> int:
        """The last token of an expression without a comma, which begins here."""
        choices, end = 0, self.end(at)
        while at < end and self.text(at) not in (",", ";") and choices >= 0:
            choices += {"?": 1, ":": -1}.get(self.text(at), 0)
            at = self.after(at)
        return at - 1 - (choices < 0)

    def _last_of_statement(self, at: int) -> int:
        """The last token of a statement that begins here. Raises `ValueError` where it is not looked for."""
        text, end = self.text(at), self.end(at)
        if text == "{":
            return self.ends[at]
        if text in _UNREAD or self.text(at + 1) == ":":
            raise ValueError(f"put this into a block: {text!r}")
        if text in _STATEMENTS:
            last = self._last_of_statement(self.ends[at + 1] + 1)
            return self._last_of_statement(last + 2) if self.text(last + 1) == "else" else last
        while at < end and self.text(at) != ";":
            at = self.after(at)
        return min(at, end - 1)

    def variables(self) -> tuple[dict[str, list[int]], list[list[_Variable]]]:
        """Where each name stands that all declarations share; and the variables of each declaration."""
        scopes: dict[str, dict[_Scope, None]] = defaultdict(dict)
        for scope, names in self.scopes():
            for at in names:
                scopes[self.tokens[at].text].setdefault(scope)
        begins = [at for at, token in enumerate(self.tokens) if token.begins]
        ends = [*(at - 1 for at in begins[1:]), len(self.tokens) - 1]
        outside: dict[str, list[int]] = defaultdict(list)
        places: dict[tuple[int, str, _Scope], list[int]] = defaultdict(list)
        for at, (kind, name, *_) in enumerate(self.tokens):
            if kind not in ("name", "short") or name in KEPT:
                continue
            if around := [one for one in scopes.get(name, ()) if one.first <= at <= one.last]:
                places[bisect(begins, at) - 1, name, max(around)].append(at)
            else:
                outside[name].append(at)
        for name in [name for name in outside if not any(self.tokens[at].outside for at in outside[name])]:
            for at in outside.pop(name):
                one = bisect(begins, at) - 1
                places[one, name, _Scope(begins[one], ends[one], begins[one])].append(at)
        variables: list[list[_Variable]] = [[] for _ in begins]
        for (one, _, scope), here in sorted(places.items(), key=lambda item: item[1][0]):
            variables[one].append(_Variable(scope, here))
        return outside, variables


def renamed(script: Bracketed) -> tuple[dict[int, str], dict[str, str]]:
    """The new name at each place of a script that has one, and that of each name that declarations share.

    Cost: linear, and of each declaration the square of its variables.
    """
    outside, declarations = script.variables()
    often = sorted(outside, key=lambda name: -len(outside[name]))
    shared = dict(zip(often, _names(ascii_uppercase, KEPT), strict=False))
    new = {at: shared[name] for name, places in outside.items() for at in places}
    taken = KEPT.union(shared.values())
    for variables in declarations:
        fresh, names = _names(ascii_lowercase, taken), dict[str, list[_Variable]]()
        for one in variables:
            free = (
                name for name, others in names.items() if not any(_in_sight(one, other) for other in others)
            )
            name = next(free, "") or next(fresh)
            names.setdefault(name, []).append(one)
            new.update(dict.fromkeys(one.places, name))
    return new, shared


def _in_sight(one: _Variable, other: _Variable) -> bool:
    """Whether two variables may not have one name."""
    ((_, last, first), places), ((_, end, begin), others) = one, other
    if last < begin or end < first:
        return False
    if (first, last) != (begin, end):
        if first <= begin and end <= last:
            return any(begin <= at <= end for at in places)
        if begin <= first and last <= end:
            return any(first <= at <= last for at in others)
    return True


def _names(first: str, taken: Container[str]) -> Iterator[str]:
    """All short names that are not taken: single letters of `first`, then two and more of `LETTERS`."""
    yield from (letter for letter in first if letter not in taken)
    for length in count(2):
        longer = map("".join, product(ascii_lowercase[:LETTERS], repeat=length))
        yield from (name for name in longer if name not in taken)
