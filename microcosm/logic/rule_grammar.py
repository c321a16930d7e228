"""How rules are written: their text to trees of tokens, line by line, and premises and proofs back to text.

Lines and tokens only: what a line may say where is checked by `rulebook`, which can say it in words. One
token tells at every place what stands there, so that each rule of the grammar is one function here. For
people turnstiles are those of the papers, and event variables become events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn, Protocol

from microcosm.errors import MicrocosmError
from microcosm.logic.rule import (
    ANY,
    Assume,
    BasePredicate,
    Given,
    In,
    Incompatible,
    InProfile,
    Judged,
    MostAccurate,
    NoneWith,
    Not,
    Premise,
)

KEYWORDS = {
    *("accurate", "and", "assume", "given", "in", "incompatible", "is", "most", "no", "not", "or", "profile"),
    *("where", "with"),
}

_TERMINALS = {
    "HEADER": r"rule(?![A-Za-z0-9_])[^\n#]*",
    "DASHES": r"[-─]{3,}",
    "TURNSTILE": r"\|\|/?-|\|/?-0?|[⊢⊬]₀?|[⊩⊮]",
    "PREDICATE": r"[a-z][a-z0-9_-]*(?=[ \t]*\()",
    "_NL": r"(?:[ \t\f]*+(?:#[^\n]*+)?+\n)++",
    "BLANK": r"[ \t\f]+",
    "NAME": r"[a-z][A-Za-z0-9_]*",
    "VARIABLE": r"!?[A-Z][0-9]*(?![A-Za-z0-9_])",
    "_ASSIGN": r":=",
    "WILDCARD": r"_",
    "PLUS": r"\+",
    "COMMA": r",",
    "LPAR": r"\(",
    "RPAR": r"\)",
    "SIGN": r"[^\sA-Za-z0-9_(),:#]+",
}
"""The kinds of token; at each place the first one that matches. A keyword is a kind of its own."""

_token_at = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _TERMINALS.items())).match

_TERM = ("SIGN", "VARIABLE", "WILDCARD")
_BODY = ("TURNSTILE", "GIVEN", "NAME", "PREDICATE")
_PREMISE = (*_BODY, "ASSUME", "NOT", "NO", "PROFILE")
"""How a term, what stands after `with`, and a premise begin."""


class RuleToken(str):
    """A piece of the text, of a kind (`type`), at a line and column."""

    __slots__ = ("column", "line", "type")

    type: str
    line: int
    column: int


class Tree(NamedTuple):
    """What stands for a rule of the grammar, `data`: its tokens but for those that are always the same."""

    data: str
    children: list[Tree | RuleToken]


class UnexpectedTokenError(MicrocosmError):
    """The first token that cannot stand where it does, of no kind where it is none; and what could."""

    def __init__(self, token: RuleToken, accepts: set[str]) -> None:
        super().__init__(str(token))
        self.token = token
        self.accepts = accepts


def blocks(text: str) -> list[Tree]:
    """The rules of a text that ends with a line end, each its header and lines. Cost: linear.

    Raises `UnexpectedTokenError`.

    >>> [block] = blocks("rule Init:\\n given a R b\\n ---\\n |-0 a R b\\n")
    >>> [str(child) if isinstance(child, RuleToken) else child.data for child in block.children]
    ['rule Init:', 'premises', 'dashes', 'premises']
    """
    return _Parser(text).blocks()


def _tokens(text: str) -> Iterator[RuleToken]:
    at, line, began = 0, 1, 0
    while at < len(text):
        found = _token_at(text, at)
        kind = (found.lastgroup or "") if found is not None else ""
        if found is not None and kind == "BLANK":
            at = found.end()
            continue
        token = RuleToken(text[at : found.end()] if found is not None else text[at])
        named = token in KEYWORDS if kind == "NAME" else kind == "VARIABLE" and token == "M"
        token.type = token.upper() if named else kind
        token.line, token.column = line, at - began + 1
        yield token
        at += len(token)
        if kind == "_NL":
            line += token.count("\n")
            began = at
    end = RuleToken("")
    end.type, end.line, end.column = "$END", line, 1
    yield end


class _Parser:
    """A text on its way: the token at hand, and the kinds that were looked for in its place."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._tried: set[str] = set()
        self._token = next(self._tokens)

    def _may(self, *kinds: str) -> RuleToken | None:
        """The token, which is gone then, where it is of one of these kinds."""
        token = self._token
        if token.type not in kinds:
            self._tried.update(kinds)
            return None
        self._tried.clear()
        if token.type != "$END":
            self._token = next(self._tokens)
        return token

    def _take(self, *kinds: str) -> RuleToken:
        """The token, which must be of one of these kinds."""
        return self._may(*kinds) or self._fail()

    def _fail(self) -> NoReturn:
        raise UnexpectedTokenError(self._token, self._tried)

    def blocks(self) -> list[Tree]:
        found: list[Tree] = []
        self._may("_NL")
        while self._may("$END") is None:
            block: list[Tree | RuleToken] = [self._take("HEADER")]
            self._take("_NL")
            while (line := self._line()) is not None:
                block.append(line)
                self._take("_NL")
            found.append(Tree("block", block))
        return found

    def _line(self) -> Tree | None:
        """A line of dashes, one of premises, or None where neither begins."""
        dashes = self._may("DASHES")
        if dashes is not None:
            return Tree("dashes", [dashes, *self._change()])
        first = self._may(*_PREMISE)
        if first is None:
            return None
        premises: list[Tree | RuleToken] = [self._premise(first)]
        while self._may("OR"):
            premises.append(self._premise(self._take(*_PREMISE)))
        if self._may("WHERE"):
            conditions: list[Tree | RuleToken] = [self._condition()]
            while self._may("COMMA", "AND"):
                conditions.append(self._condition())
            premises.append(Tree("where", conditions))
        return Tree("premises", premises)

    def _change(self) -> Iterator[Tree]:
        """What an evolution does, after the dashes."""
        if self._may("PLUS"):
            yield Tree("addition", self._triple())
        elif name := self._may("NAME"):
            old = [name, self._take(*_TERM), self._take("NAME")]
            self._take("_ASSIGN")
            yield Tree("update", [*old, *self._triple()])

    def _premise(self, first: RuleToken, within: bool = False) -> Tree:
        """The premise that begins with a token; `within` a `no … with`, where nothing is negated."""
        match first.type:
            case "TURNSTILE":
                return Tree("judged", [first, *self._triple()])
            case "GIVEN" | "ASSUME":
                return Tree(first.type.lower(), self._triple())
            case "PREDICATE":
                return self._base(first)
            case "NOT":
                return Tree("negated", [self._base(self._take("PREDICATE"))])
            case "PROFILE":
                return Tree("profile", [self._take("NAME")])
            case "NO":
                return self._none()
        outside = not within and self._may("NOT") is not None
        self._all("IN", "M")
        return Tree("outside" if outside else "member", [first])

    def _none(self) -> Tree:
        none: list[Tree | RuleToken] = [self._take("NAME")]
        self._all("IN", "M", "WITH")
        none.append(self._premise(self._take(*_BODY), within=True))
        while self._may("COMMA", "AND"):
            none.append(self._premise(self._take(*_BODY), within=True))
        return Tree("none", none)

    def _base(self, predicate: RuleToken) -> Tree:
        self._take("LPAR")
        base: list[Tree | RuleToken] = [predicate, self._take("NAME")]
        while self._may("COMMA"):
            base.append(self._take("NAME"))
        self._take("RPAR")
        return Tree("base", base)

    def _condition(self) -> Tree:
        first = self._take(*_TERM)
        if first.type == "VARIABLE" and self._may("IN"):
            return Tree("domain", [first, self._take("SIGN")])
        if first.type == "VARIABLE" and self._may("IS"):
            self._all("MOST", "ACCURATE")
            return Tree("accurate", [first])
        if self._may("INCOMPATIBLE"):
            return Tree("incompatible", [first, self._take(*_TERM)])
        return Tree("another", [first]) if first.type == "SIGN" else self._fail()

    def _triple(self) -> list[Tree | RuleToken]:
        return [self._take("NAME"), self._take(*_TERM), self._take("NAME")]

    def _all(self, *kinds: str) -> None:
        for kind in kinds:
            self._take(kind)


class Signs(NamedTuple):
    """The characters that proofs are drawn with."""

    tee: str
    last: str
    bar: str
    gap: str
    derivable: dict[str, str]
    underivable: dict[str, str]
    yes: str
    no: str
    at_most: str
    silent: str


PAPER = Signs(
    "├─ ", "└─ ", "│  ", "   ",
    {"initial": "⊢₀", "online": "⊢", "offline": "⊩"},
    {"initial": "⊬₀", "online": "⊬", "offline": "⊮"},
    "✓", "✗", "≤", "·",
)  # fmt: skip
"""The signs of the papers, and box characters."""

ASCII = Signs(
    "+- ", "`- ", "|  ", "   ",
    {"initial": "|-0", "online": "|-", "offline": "||-"},
    {"initial": "|/-0", "online": "|/-", "offline": "||/-"},
    "yes", "no ", "<=", ".",
)  # fmt: skip
"""The signs of the rule files, where the encoding has no others."""


class Look(Protocol):
    """How a tree is to look: its signs, its width if that matters, and text that stands back or out."""

    @property
    def signs(self) -> Signs: ...
    @property
    def columns(self) -> int | None: ...
    def dim(self, text: str) -> str: ...
    def bold(self, text: str) -> str: ...


class _Plain:
    signs = PAPER
    columns: int | None = None

    def dim(self, text: str) -> str:
        return text

    bold = dim


PLAIN = _Plain()


def premise_text(premise: Premise, names: Mapping[str, str]) -> str:
    """A premise for people, its event variables replaced by `names` where they have one.

    Cost: linear in the premise.

    >>> from microcosm.logic.rule import Judgement
    >>> premise_text(Not(Judged(Judgement.INITIAL, "a", ANY, "b")), {"a": "upload", "b": "share"})
    '⊬₀ upload _ share'
    """

    def named(event: str) -> str:
        return names.get(event, event)

    match premise:
        case Judged(judgement, left, term, right):
            return f"{judgement.turnstile} {named(left)} {term} {named(right)}"
        case Not(Judged(judgement, left, term, right)):
            return f"{PAPER.underivable[judgement.value]} {named(left)} {term} {named(right)}"
        case Not(In(event)):
            return f"{named(event)} not in M"
        case Not(body):
            return f"not {premise_text(body, names)}"
        case Given(left, term, right):
            return f"given {named(left)} {term} {named(right)}"
        case Assume(left, term, right):
            return f"assume {named(left)} {term} {named(right)}"
        case In(event):
            return f"{named(event)} in M"
        case BasePredicate(name, events):
            return f"{name}({', '.join(map(named, events))})"
        case NoneWith(event, body):
            return _none_text(event, body, {k: v for k, v in names.items() if k != event})
        case MostAccurate(of):
            return f"nothing more accurate than {premise_text(of, names)}"
        case InProfile(name):
            return f"profile {name}"
        case Incompatible(one, other):
            return f"{one} and {other} exclude each other"


def _none_text(event: str, body: tuple[Premise, ...], names: Mapping[str, str]) -> str:
    related = []
    for premise in body:
        match premise:
            case Judged(_, left, term, right) if term == ANY and event in (left, right):
                related.append(right if left == event else left)
    if len(related) == len(body) == 2 and event not in related:
        one, other = (names.get(e, e) for e in related)
        return f"no event related to both {one} and {other}"
    return f"no event {event} in M with {' and '.join(premise_text(p, names) for p in body)}"
