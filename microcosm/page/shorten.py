"""Scripts made shorter: no comments, blanks or brackets without need, and a letter or two for each name.

A name changes wherever it means the same variable. What follows a dot, stands before a colon in an object, or
is text keeps its name; `{event}` becomes `{event:e}`. `const` is `let`, one for all that stand side by side.
Of objects that only hold together names that all declarations share each name is one for itself:
`const app = {state: {}, set() {}}` is two declarations, and `app.state` one name, where all that the script
does with `app` is to say its members by name. Methods are arrows then, for none of these has a `this`.

Where the scripts break what this relies on, the result has a name that nothing declares or is no script at
all, as TypeScript tells the tests; and the tests run the page as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from microcosm.page.scopes import Bracketed, Lexeme, renamed, tokens

_letter = re.compile(r"[\w$]")

_number = re.compile(r"^0(?=\.)|(?<=[1-9])(0{3,})$")

_WORDS = {"const": "let", "true": "!0", "false": "!1"}
"""What else says the same."""


@lru_cache(2)
def shortened(script: str) -> tuple[str, dict[str, str]]:
    """A script made shorter, and the new name of each that its declarations share. Cost: linear, once."""
    plain = [*tokens(script)]
    numbers = constants(plain)
    read = Bracketed(_arrows(with_members_named(inlined(plain, numbers))))
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
        own = any(token.kind == "name" and token.text in ("this", "arguments") for token in chunk)
        if words[of : of + 1] == ["function"] and "*" not in words and not own:
            arrows += _arrow(chunk[of + 1], chunk[:of], chunk[of + 2 :])
        else:
            others += chunk
    return arrows + others


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
    yield from (name, _mark("="), *kind, *rest[:body], _mark("=>"), *block)
    yield _mark(";")


def _mark(text: str) -> Lexeme:
    return Lexeme("mark", text, False, False)


def with_members_named(tokens: Sequence[Lexeme]) -> list[Lexeme]:
    """The tokens with the members of such objects as names of their own, `app.state`. Cost: linear."""
    read = Bracketed(tokens)
    held = {at: names for at in range(len(tokens)) if (names := _members(read, at))}
    for name in {tokens[at + 1].text for at in held} & _whole(read, held):
        held = {at: names for at, names in held.items() if tokens[at + 1].text != name}
    objects = {tokens[at + 1].text for at in held}
    found: list[Lexeme] = []
    last = 0
    for at, names in held.items():
        found += _named(tokens[last:at], objects)
        for key, value in names:
            whole = tokens[value : _end(read, value)]
            name = f"{tokens[at + 1].text}.{tokens[key].text}"
            found += _named([*_declared(name, whole, key - value)], objects)
        last = read.after(at + 3) + 1
    return [*found, *_named(tokens[last:], objects)]


def _named(tokens: Sequence[Lexeme], objects: set[str]) -> Iterator[Lexeme]:
    """Tokens with each member of the objects as one name."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "name" and token.text in objects:
            yield token._replace(text=f"{token.text}.{tokens[at + 2].text}")
            at += 2
        else:
            yield token
        at += 1


def _members(read: Bracketed, at: int) -> list[tuple[int, int]]:
    """Of an object that is declared here, where each key stands and where its value begins; else nothing."""
    tokens = read.tokens
    if (
        not tokens[at].begins
        or tokens[at].text != "const"
        or [read.text(at + 2), read.text(at + 3)] != ["=", "{"]
    ):
        return []
    found = []
    place, end = at + 4, read.ends[at + 3]
    while place < end:
        begin = place
        place += tokens[place].text == "async"
        if tokens[place].kind != "member" or any(token.text == "this" for token in tokens[begin:end]):
            return []
        found.append((place, begin if read.text(place + 1) == "(" else place + 2))
        place = _end(read, place) + 1
    return found


def _end(read: Bracketed, at: int) -> int:
    """The comma after the member of an object in which a token stands, or the end of the object."""
    end = read.end(at)
    while at < end and read.text(at) != ",":
        at = read.after(at)
    return min(at, end)


def _whole(read: Bracketed, held: dict[int, list[tuple[int, int]]]) -> set[str]:
    """Those of the objects of which something else is said than a member by name."""
    tokens, found = read.tokens, set[str]()
    keys = {tokens[at + 1].text: {tokens[key].text for key, _ in names} for at, names in held.items()}
    for at, token in enumerate(tokens):
        if token.kind in ("name", "short") and token.text in keys and at - 1 not in held:
            member = read.text(at + 2) if token.kind == "name" and read.text(at + 1) == "." else ""
            found |= {token.text} - ({token.text} if member in keys[token.text] else set())
    return found


def _declared(name: str, value: Sequence[Lexeme], key: int) -> Iterator[Lexeme]:
    """The declaration of a name with a value; with a method, if the key stands in it."""
    yield from (Lexeme("name", "let", True, True), Lexeme("name", name, True, False), _mark("="))
    if key < 0:
        yield from value
    else:
        rest = value[key + 1 :]
        body = Bracketed(rest).after(0)
        yield from (*value[:key], *rest[:body], _mark("=>"), *rest[body:])
    yield _mark(";")


def constants(tokens: Sequence[Lexeme]) -> dict[str, str]:
    """The names in capitals that all declarations share and that are numbers, each declared alone."""
    read = Bracketed(tokens)
    found = {
        tokens[at + 1].text: tokens[at + 3].text
        for at, token in enumerate(tokens)
        if token.begins and token.text == "const" and read.text(at + 2) == "=" and read.text(at + 4) == ";"
        if tokens[at + 3].kind == "number" and tokens[at + 1].text.isupper()
    }
    within = {tokens[at].text for _, names in read.scopes() for at in names}
    short = {token.text for token in tokens if token.kind == "short"}
    return {name: number for name, number in found.items() if name not in within | short}


def inlined(tokens: Sequence[Lexeme], numbers: dict[str, str]) -> list[Lexeme]:
    """The tokens with the numbers in the place of these names, which nothing declares then."""
    found: list[Lexeme] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.begins and token.text == "const" and tokens[at + 1].text in numbers:
            at += 5
            continue
        number = numbers.get(token.text) if token.kind == "name" else None
        found.append(token if number is None else token._replace(kind="number", text=number))
        at += 1
    return found
