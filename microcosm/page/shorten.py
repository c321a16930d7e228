"""Scripts made shorter: no comments, blanks or brackets without need, and a letter or two for each name.

A name changes wherever it means the same variable, as `scopes` tells. What follows a dot, stands before a
colon in an object, or is text keeps its name; `{event}` becomes `{event:e}`. `const` is `let`, one for all
that stand side by side. Where the scripts break what this relies on, the result has a name that nothing
declares or is no script at all, as TypeScript tells the tests; and the tests run the page as it is written.
"""

from __future__ import annotations

import re
from functools import lru_cache

from microcosm.page.scopes import Bracketed, renamed
from microcosm.page.tokens import tokens

_letter = re.compile(r"[\w$]")

_number = re.compile(r"^0(?=\.)|(?<=[1-9])(0{3,})$")


@lru_cache(2)
def shortened(script: str) -> tuple[str, dict[str, str]]:
    """A script made shorter, and the new name of each that its declarations share. Cost: linear, once."""
    read = Bracketed([*tokens(script)])
    new, shared = renamed(read)
    needless = read.needless()
    parts: list[str] = []
    last = ";"
    declares = [False]  # in each bracket that is open: whether the statement is a `let`
    for at, token in enumerate(read.tokens):
        if at in needless:
            continue
        text = token.text
        if text == "const" and token.kind == "name":
            text = "let"
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
    return "".join(parts), shared
