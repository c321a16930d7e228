"""Rules as text: as rule files have them, which reads back as equal rules, and as people are shown them.

Written for people, turnstiles are those of the papers and event variables are replaced by events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from microcosm.givens.relation import Relation
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
    Rule,
    RuleChange,
)
from microcosm.logic.rule_terms import DEFAULT_DOMAIN

_SIGNS = {Judgement.INITIAL: "|-0", Judgement.ONLINE: "|-", Judgement.OFFLINE: "||-"}
_NEGATED_SIGNS = {Judgement.INITIAL: "|/-0", Judgement.ONLINE: "|/-", Judgement.OFFLINE: "||/-"}
_NEGATED_TURNSTILES = {Judgement.INITIAL: "⊬₀", Judgement.ONLINE: "⊬", Judgement.OFFLINE: "⊮"}


def print_rule(rule: Rule) -> str:
    """The rule in its one canonical spelling, without a final line end; it reads back to an equal rule.

    Cost: linear in the rule.

    >>> from microcosm.logic.rule_reader import read_rule_text
    >>> [rule] = read_rule_text("rule Un-1:\\n|- a R e or a in M where R in ||, ≬\\n----- + a R b\\n⊢ a ? b")
    >>> print(print_rule(rule))
    rule Un-1:
        |- a R e or a in M  where R in ||, <>
        ------------ + a R b
        |- a ? b
    """
    lines: list[str] = []
    conditions: list[list[str]] = []
    unsaid = {name: domain for name, domain in rule.domains.items() if domain != DEFAULT_DOMAIN}
    for alternatives in rule.premises:
        match alternatives:
            case [MostAccurate(of)]:
                conditions[-1].append(f"{of.relation} is most accurate")
            case [Incompatible(one, other)]:
                conditions[-1].append(f"{one} incompatible {other}")
            case _:
                lines.append(" or ".join(map(_premise, alternatives)))
                conditions.append([])
                said = _variables(alternatives) & unsaid.keys()
                conditions[-1] = [_domain(name, unsaid.pop(name)) for name in rule.domains if name in said]
    conditions[0][:0] = [_domain(name, domain) for name, domain in unsaid.items()]
    return "\n".join(
        (
            f"rule {rule.name}:",
            *("    " + _line(*each) for each in zip(lines, conditions, strict=True)),
            "    ------------" + _change(rule.evolution),
            *("    " + _premise(conclusion) for conclusion in rule.conclusions),
        )
    )


def _line(premises: str, conditions: list[str]) -> str:
    return f"{premises}  where {' and '.join(conditions)}" if conditions else premises


def _domain(name: str, relations: Iterable[Relation]) -> str:
    return f"{name} in {', '.join(map(str, relations))}"


def _change(evolution: RuleChange | None) -> str:
    if evolution is None:
        return ""
    change = f"{evolution.left} {evolution.relation} {evolution.right}"
    return f" {evolution.left} <> {evolution.right} := {change}" if evolution.update else f" + {change}"


def _variables(premises: Iterable[Premise]) -> set[str]:
    """The relation variables of premises, conditions apart."""
    found: set[str] = set()
    for premise in premises:
        match premise:
            case Judged(relation=str(term)) | Given(relation=str(term)) | Assume(relation=str(term)):
                found.add(term.lstrip("!"))
            case Not(body):
                found |= _variables((body,))
            case NoneWith(_, body):
                found |= _variables(body)
    return found


def _premise(premise: Premise) -> str:
    match premise:
        case Judged(judgement, left, term, right):
            return f"{_SIGNS[judgement]} {left} {term} {right}"
        case Not(Judged(judgement, left, term, right)):
            return f"{_NEGATED_SIGNS[judgement]} {left} {term} {right}"
        case NoneWith(event, body):
            return f"no {event} in M with {', '.join(map(_premise, body))}"
        case Given(left, term, right):
            return f"given {left} {term} {right}"
        case _:
            return premise_text(premise, {})


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
