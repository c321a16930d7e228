"""What the scripts of a page are made of: tokens, without blanks and comments.

The scripts hold to what this relies on: each statement ends with `;` or `}`, what all of them share stands at
the left margin outside of brackets, and what they use of the browser is in `OFFERED`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
