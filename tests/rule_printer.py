"""Rules as rule files have them, each in one canonical spelling: what a reader must read back as it was."""

from __future__ import annotations

from collections.abc import Iterable

from microcosm.givens.relation import Relation
from microcosm.logic.rule import (
    Assume,
    Given,
    Incompatible,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Premise,
    Rule,
    RuleChange,
)
from microcosm.logic.rule_grammar import premise_text
from microcosm.logic.rule_terms import DEFAULT_DOMAIN

_SIGNS = {Judgement.INITIAL: "|-0", Judgement.ONLINE: "|-", Judgement.OFFLINE: "||-"}
_NEGATED_SIGNS = {Judgement.INITIAL: "|/-0", Judgement.ONLINE: "|/-", Judgement.OFFLINE: "||/-"}


def print_rule(rule: Rule) -> str:
    """The rule in its one canonical spelling, without a final line end; it reads back to an equal rule."""
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
