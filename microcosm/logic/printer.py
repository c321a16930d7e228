"""Premises of rules as text for people: turnstiles are those of the papers, event variables become events."""

from __future__ import annotations

from collections.abc import Mapping

from microcosm.logic.rule import (
    ANY,
    Assume,
    BasePredicate,
    Given,
    In,
    Incompatible,
    InProfile,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Premise,
)

_NEGATED_TURNSTILES = {Judgement.INITIAL: "⊬₀", Judgement.ONLINE: "⊬", Judgement.OFFLINE: "⊮"}


def premise_text(premise: Premise, names: Mapping[str, str]) -> str:
    """A premise for people, its event variables replaced by `names` where they have one.

    Cost: linear in the premise.

    >>> premise_text(Not(Judged(Judgement.INITIAL, "a", ANY, "b")), {"a": "upload", "b": "share"})
    '⊬₀ upload _ share'
    """

    def named(event: str) -> str:
        return names.get(event, event)

    match premise:
        case Judged(judgement, left, term, right):
            return f"{judgement.turnstile} {named(left)} {term} {named(right)}"
        case Not(Judged(judgement, left, term, right)):
            return f"{_NEGATED_TURNSTILES[judgement]} {named(left)} {term} {named(right)}"
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
