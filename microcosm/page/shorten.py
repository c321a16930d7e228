"""Scripts made shorter: no comments, blanks or brackets without need, and a letter or two for each name.

A name changes wherever it means the same variable, as `scopes` tells. What follows a dot, stands before a
colon in an object, or is text keeps its name; `{event}` becomes `{event:e}`. `const` is `let`, one for all
that stand side by side. Where the scripts break what this relies on, the result has a name that nothing
declares or is no script at all, as TypeScript tells the tests; and the tests run the page as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from microcosm.page.minify.objects import apart, constants, inlined
from microcosm.page.minify.tokens import Lexeme, tokens
from microcosm.page.scopes import Bracketed, renamed

_letter = re.compile(r"[\w$]")

_number = re.compile(r"^0(?=\.)|(?<=[1-9])(0{3,})$")

_WORDS = {"const": "let", "true": "!0", "false": "!1"}
"""What else says the same."""


@lru_cache(2)
def shortened(script: str) -> tuple[str, dict[str, str]]:
    """A script made shorter, and the new name of each that its declarations share. Cost: linear, once."""
    plain = [*tokens(script)]
    numbers = constants(plain)
    read = Bracketed(_arrows(apart(inlined(plain, numbers))))
    new, shared = renamed(read)
    needless = read.needless()
    parts: list[str] = []
    last = ";"
    declares = [False]  # in each bracket that is open: whether the statement is a `let`
    for at, token in enumerate(read.tokens):
        if at in needless:
            continue
        text = token.text
        if token.kind == "name" and text in _WORDS:
            text = _WORDS[text]
        elif token.kind == "number":
            text = _number.sub(lambda found: f"e{len(found[1])}" if found[1] else "", text)
        elif at in new:
            text = f"{text}:{new[at]}" if token.kind == "short" and text != new[at] else new[at]
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
    return "".join(parts), shared | numbers


def _arrows(read: Sequence[Lexeme]) -> list[Lexeme]:
    """Functions as arrows, where these do the same: before all else, for until then they are not declared."""
    begins = [at for at, token in enumerate(read) if token.begins]
    arrows: list[Lexeme] = []
    others: list[Lexeme] = []
    for begin, end in pairwise([*begins, len(read)]):
        chunk = read[begin:end]
        words = [token.text for token in chunk if token.kind in ("name", "mark")][:3]
        of = "async" in words[:1]
        if words[of : of + 1] == ["function"] and "*" not in words and not any(map(_is_own, chunk)):
            arrows += _arrow(chunk[of + 1], chunk[:of], chunk[of + 2 :])
        else:
            others += chunk
    return arrows + others


def _is_own(token: Lexeme) -> bool:
    return token.kind == "name" and token.text in ("this", "arguments")


def _arrow(name: Lexeme, kind: Sequence[Lexeme], rest: Sequence[Lexeme]) -> Iterator[Lexeme]:
    """A function as the value of a name; `rest` are its parameters and its block."""
    read = Bracketed(rest)
    body = read.after(0)
    ends = [at for at, inside in enumerate(read.inside) if inside == body and read.text(at) == ";"]
    block: Sequence[Lexeme] = rest[body:]
    if read.text(body + 1) == "return" and ends == [len(rest) - 2]:
        block = rest[body + 2 : -2]
        whole = block[0].text == "{" or any(
            read.text(at) == "," for at, inside in enumerate(read.inside) if inside == body
        )
        block = [_mark("("), *block, _mark(")")] if whole else block
    yield Lexeme("name", "let", True, True)
    yield from (name, Lexeme("mark", "=", True, False), *kind, *rest[:body], _mark("=>"), *block)
    yield Lexeme("mark", ";", True, False)


def _mark(text: str) -> Lexeme:
    return Lexeme("mark", text, False, False)
