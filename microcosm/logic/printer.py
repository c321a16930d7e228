"""What rules and proofs are written with, and premises as text for people.

Turnstiles are those of the papers, event variables become events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

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
