"""Judgements, which derivations conclude, and a rule as data: premises above the line, conclusions under it.

⊢₀ (initial), ⊢ (online) and ⊩ (offline) are the three judgements. `Rule` is what a rule file says, relation
variables and all. `Instance` is a rule with its relation variables replaced by relations, its disjunctions
chosen and `>` turned into `<`: what the engine and the kernel work with. Event variables
stay; distinct variables may name one event, but no relation holds between an event and itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import product
from typing import TypeVar

from microcosm.givens.relation import MORE_ACCURATE, Relation


class Judgement(Enum):
    """The three judgements of Worlds of Events: Definitions 2.5, 3.1 and 4.1; strata in this order."""

    INITIAL = "initial"
    ONLINE = "online"
    OFFLINE = "offline"

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is slow

    @property
    def turnstile(self) -> str:
        """The sign of the papers: ⊢₀, ⊢ or ⊩."""
        return {"initial": "⊢₀", "online": "⊢", "offline": "⊩"}[self.value]


ABSENT, ASSUME = "absent", "assume"
"""What leaves of a derivation have for the name of a rule: a negative premise, and what is assumed."""

CLASH, CONTRADICTION = "Clash", "contradiction"
"""The step from two judgements that no world has both of, and its relation."""

ANY = "_"
"""The wildcard relation: some relation holds, in one direction or the other."""

Term = Relation | str
"""A relation, a relation variable such as `R` (`!R`: its refutation), or `ANY`."""


@dataclass(frozen=True, slots=True)
class Judged:
    """`|-0 a R b`, `|- a R b` or `||- a R b`."""

    judgement: Judgement
    left: str
    relation: Term
    right: str


Pred = tuple[Judgement, Relation]
"""What rules conclude: a judgement with a relation, never `>`."""


def predicate(judged: Judged) -> Pred:
    """What is judged, of whatever events; its relation is concrete. Cost: constant."""
    assert isinstance(judged.relation, Relation), "an instance has concrete relations"
    return judged.judgement, judged.relation


@dataclass(frozen=True, slots=True)
class Given:
    """`given a R b`: a member of the microcosm's givens."""

    left: str
    relation: Term
    right: str


@dataclass(frozen=True, slots=True)
class In:
    """`a in M`."""

    event: str


@dataclass(frozen=True, slots=True)
class BasePredicate:
    """A base predicate of one or two events, e.g. `matches(a, b)`; facts come with the microcosm."""

    name: str
    events: tuple[str, ...]


Positive = Judged | Given | In | BasePredicate


@dataclass(frozen=True, slots=True)
class Not:
    """`|/- a R b`, `a not in M`, `not matches(a, b)`: that premise does not hold."""

    body: Positive


@dataclass(frozen=True, slots=True)
class NoneWith:
    """`no e in M with P, Q`: no member e satisfies all of the premises P, Q."""

    event: str
    body: tuple[Positive, ...]


@dataclass(frozen=True, slots=True)
class MostAccurate:
    """`where R is most accurate`: nothing more accurate is judged of the same pair (Definition 3.8)."""

    of: Judged


@dataclass(frozen=True, slots=True)
class Assume:
    """`assume a R b`: the premises that follow may use it; the rule discharges it."""

    left: str
    relation: Term
    right: str


@dataclass(frozen=True, slots=True)
class Incompatible:
    """`where S incompatible T`: no pair of events can stand in both relations."""

    one: Term
    other: Term


@dataclass(frozen=True, slots=True)
class InProfile:
    """`profile NAME`: the rule is read in that profile (`RuleBook.profile`)."""

    name: str


Premise = Positive | Not | NoneWith | MostAccurate | Assume | Incompatible | InProfile


@dataclass(frozen=True, slots=True)
class RuleChange:
    """How the microcosm of the conclusion came from the one of the premises.

    `left relation right` was added, or, where `update` is set, put in the place of `left <> right`.
    """

    left: str
    relation: Term
    right: str
    update: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One block of a rule file. Each premise line is a tuple of alternatives (`or`)."""

    name: str
    premises: tuple[tuple[Premise, ...], ...]
    conclusions: tuple[Judged, ...]
    domains: dict[str, tuple[Relation, ...]] = field(hash=False)
    evolution: RuleChange | None = None
    file: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)
    text: str = field(default="", compare=False)

    def instances(self) -> Iterator[Instance]:
        """Every instance, in a fixed order: alternatives and relations as written.

        `>` as a value of a variable is allowed in premises and turned into `<`. Cost: linear in what it
        yields, which is a product of the domains.
        """
        variables = list(self.domains)
        for chosen in product(*self.premises):
            excluding = [(p.one, p.other) for p in chosen if isinstance(p, Incompatible)]
            for relations in product(*(self.domains[v] for v in variables)):
                binding = dict(zip(variables, relations, strict=True))
                if not all(incompatible(*(_relation(r, binding) for r in two)) for two in excluding):
                    continue
                premises = tuple(p for premise in chosen for p in _bind(premise, binding))
                for conclusion in self.conclusions:
                    head = _forward(conclusion, binding)
                    evolution = self.evolution and _forward(self.evolution, binding)
                    yield Instance(self, head, premises, evolution)


@dataclass(frozen=True, slots=True)
class Instance:
    """A rule with every relation concrete. `conclusion.relation` is a `Relation`, never `>`."""

    rule: Rule
    conclusion: Judged
    premises: tuple[Premise, ...]
    evolution: RuleChange | None = None

    def in_its_profile(self) -> Instance:
        """The instance as it is read in its profile, without the premise that names this. Cost: linear."""
        rest = tuple(premise for premise in self.premises if not isinstance(premise, InProfile))
        return self if len(rest) == len(self.premises) else replace(self, premises=rest)


Pair = TypeVar("Pair", bound="Judged | Given | Assume | RuleChange")


def _bind(premise: Premise, binding: dict[str, Relation]) -> tuple[Premise, ...]:
    match premise:
        case Judged() | Given() | Assume():
            return (_forward(premise, binding),)
        case Not(body):
            return tuple(Not(p) for p in _bind(body, binding))  # type: ignore[arg-type]
        case NoneWith(event, body):
            return (NoneWith(event, tuple(q for p in body for q in _bind(p, binding))),)  # type: ignore[misc]
        case MostAccurate(of):
            return (MostAccurate(_forward(of, binding)),)
        case Incompatible(one, other):
            return (Incompatible(_relation(one, binding), _relation(other, binding)),)
        case _:
            return (premise,)


def _relation(term: Term, binding: dict[str, Relation]) -> Term:
    if isinstance(term, Relation) or term == ANY:
        return term
    if term.startswith("!"):
        return Relation("!" + str(binding[term[1:]]))
    return binding[term]


def _forward(pair: Pair, binding: dict[str, Relation]) -> Pair:
    """What is said of two events, its relation concrete, and the other way round where that is `>`."""
    relation = _relation(pair.relation, binding)
    if relation in (Relation.AFTER, Relation.NOT_AFTER):
        assert isinstance(relation, Relation)
        return replace(pair, left=pair.right, relation=relation.converse, right=pair.left)
    return pair if relation is pair.relation else replace(pair, relation=relation)


def finer(of: Judged) -> Iterator[Judged]:
    """What must not be judged of the same pair for `of` (concrete) to be most accurate. Cost: constant."""
    assert isinstance(of.relation, Relation)
    for more in MORE_ACCURATE.get(of.relation, ()):
        yield _forward(Judged(of.judgement, of.left, more, of.right), {})


_POSSIBLE: dict[Relation | str, frozenset[str]] = {Relation(r): frozenset(r) for r in ("<", ">", "||", "<>")}
_POSSIBLE |= {Relation(f"!{one}"): frozenset("<>|") - possible for one, possible in _POSSIBLE.items()}
"""In which of the three ways, `<`, `>` and `|`, events that are so related may stand in a world."""


def incompatible(one: Relation | str, other: Relation | str) -> bool:
    """Whether no pair of events of any world stands in both relations. Cost: constant.

    >>> incompatible(Relation.BEFORE, Relation.NOT_RELATED), incompatible(Relation.RELATED, Relation.AFTER)
    (True, False)
    """
    known = one in _POSSIBLE and other in _POSSIBLE
    return known and not _POSSIBLE[one] & _POSSIBLE[other]
