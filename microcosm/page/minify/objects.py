"""Objects of a script that only hold together names that all its declarations share: each name for itself.

`const app = {state: {}, set() {}}` is two declarations, and `app.state` one name, where all that the script
does with `app` is to say its members by name. Methods are arrows then, for none of these has a `this`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from microcosm.page.minify.tokens import Lexeme
from microcosm.page.scopes import Bracketed


def apart(tokens: Sequence[Lexeme]) -> list[Lexeme]:
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


def _mark(text: str) -> Lexeme:
    return Lexeme("mark", text, True, False)


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
