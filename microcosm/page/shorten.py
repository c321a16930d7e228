"""Scripts made shorter: no comments, no blanks, and a letter or two for each name that they declare.

Only names change (and `const`, which is `let`, one for all that stand side by side).
Each changes everywhere: all that is called `event` in one
function of the page gets one and the same new name there, which nothing else in it has. So no name can come
to mean what another one means, whatever the scopes inside are, and no scope has to be looked at. What follows
a dot, stands before a colon in an object, or is text keeps its name; `{event}` becomes `{event:e}`.

The scripts hold to what this relies on: each statement ends with `;` or `}`, what all of them share stands at
the left margin outside of brackets, and what they use of the browser is in `OFFERED`. Where one of these is
broken, the result has a name that nothing declares or is no script at all, as TypeScript tells the tests; and
the tests run the page with the names that it is written with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import count, product
from string import ascii_letters, ascii_lowercase, ascii_uppercase
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
_letter = re.compile(r"[\w$]")

_OBJECT = frozenset(["(", ",", "=", ":", "?", "[", "&&", "||", "??", "...", "return", "const", "let"])
"""Before a brace that holds names with values; any other brace holds statements, or is that of a class."""


class _Token(NamedTuple):
    kind: str
    """`name`; `short` where it is key and value at once; `member`, which keeps its name; and others."""
    text: str
    outside: bool
    """Whether it stands outside of all brackets."""
    begins: bool
    """Whether it stands at the left margin outside of all brackets: a declaration begins."""


@lru_cache(2)
def shortened(script: str) -> tuple[str, dict[str, str]]:
    """A script made shorter, and the new name of each that its declarations share. Cost: linear, once."""
    tokens = [*_tokens(script)]
    renamed = [t for t in tokens if t.kind in ("name", "short") and t.text not in KEPT]
    outside = {t.text for t in renamed if t.outside}
    often = Counter(t.text for t in renamed if t.text in outside)
    shared = dict(zip((name for name, _ in often.most_common()), _names(ascii_uppercase, KEPT), strict=False))
    taken = KEPT.union(shared.values())
    local: dict[str, str] = {}
    fresh = _names(ascii_lowercase, taken)
    parts: list[str] = []
    last = ";"
    declares = [False]  # in each bracket that is open: whether the statement is a `let`
    for token in tokens:
        text = token.text
        if token.begins:
            local, fresh = {}, _names(ascii_lowercase, taken)
        if text == "const" and token.kind == "name":
            text = "let"
        elif token.kind in ("name", "short") and text not in KEPT:
            new = shared.get(text) or local.get(text) or local.setdefault(text, next(fresh))
            text = f"{text}:{new}" if token.kind == "short" else new
        if (text in ("}", ")", "]") and last == ",") or (text == "}" and last == ";"):
            parts.pop()
            last = parts[-1]
        if text == "let" and last == ";" and declares[-1]:
            parts[-1] = last = ","
            continue
        if text == "let" or last == ";":
            declares[-1] = text == "let" and last != "("
        if token.kind == "mark" and text in ("(", "[", "{"):
            declares.append(False)
        elif token.kind == "mark" and text in (")", "]", "}"):
            declares.pop()
        if (_letter.match(last[-1]) and _letter.match(text)) or (last[-1] == text[0] and last[-1] in "+-"):
            parts.append(" ")
        parts.append(text)
        last = text
    return "".join(parts), shared


def _names(first: str, taken: Container[str]) -> Iterator[str]:
    """All short names that are not taken: single letters of `first`, then two and more of any."""
    yield from (letter for letter in first if letter not in taken)
    for length in count(2):
        longer = map("".join, product(ascii_letters, repeat=length))
        yield from (name for name in longer if name not in taken)


def _tokens(script: str) -> Iterator[_Token]:
    """What a script is made of, without blanks and comments."""
    last, before = _Token("mark", ";", True, True), ""
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
            inside = "class" if before == "class" else "object" if valued else "block"
            opened.append(inside if text == "{" else text)
        elif text == "`" or (text in (")", "]", "}") and opened.pop() == "template"):
            at = _end(_template, script, at)
            opened += ["template"] if script[at - 1] == "{" else []
            kind, text, after = "text", script[start:at], _end(_space, script, at)
        before = last.text
        last = _Token(kind, text, outside, outside and script[start - 1 : start] in ("\n", ""))
        yield last
        at = after


def _end(what: re.Pattern[str], script: str, at: int) -> int:
    """Where what begins here ends. Raises `ValueError` where this is not known of scripts."""
    found = what.match(script, at)
    if found is None:
        raise ValueError(f"this cannot be read as a script: {script[at : at + 40]!r}")
    return found.end()


def _kind(text: str, last: _Token, inside: str, after: str) -> str:
    """What a name is: `member`, `short` or `name`, by what stands about it."""
    if last.text in (".", "?.") or inside == "class":
        return "member"
    if inside == "object" and last.text in ("{", ",", "async") and not (text == "async" and after.isalpha()):
        return "member" if after in ":(" else "short"
    return "name"
