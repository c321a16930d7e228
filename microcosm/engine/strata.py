"""The order of evaluation: rules cut into strata, so that absence is asked only of what is complete.

A predicate is a judgement and a relation. A stratum is a strongly connected component of "is concluded
from"; the absence of a predicate must not contribute to the predicate itself.

Rules that assume (`Assumptions`) stand in no stratum. Such a rule says: assume `a R b`; if two judgements of
some pair then exclude each other, conclude something about a and b. All else that it asks is a guard, decided
without the assumption. Rules of another form are refused: the search would not find what they conclude.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, NoReturn
from zlib import crc32

from microcosm.engine.body import Body, body
from microcosm.errors import RuleError
from microcosm.givens.facts import expect
from microcosm.givens.relation import Relation
from microcosm.logic.rule import (
    ANY,
    Assume,
    BasePredicate,
    Given,
    Incompatible,
    Instance,
    Judged,
    Judgement,
    MostAccurate,
    NoneWith,
    Not,
    Pred,
    Premise,
    Rule,
    finer,
    predicate,
)
from microcosm.logic.rule_grammar import premise_text
from microcosm.logic.rulebook import RuleBook, refused
from microcosm.order.happens_before import components


class Assumption(NamedTuple):
    """An instance of a rule that assumes, without its two contradicting premises.

    `turned` says that what is assumed relates the right event of the conclusion to the left one.
    """

    instance: Instance
    assumed: Relation
    turned: bool
    guard: Body


class Assumptions(NamedTuple):
    """All that the rules may assume.

    `clashes` holds, for each relation, those that exclude it: of the pair as it is, or (False) turned.
    """

    rules: tuple[Assumption, ...]
    clashes: dict[Relation, tuple[tuple[Relation, bool], ...]]


@lru_cache(maxsize=16)
def assumptions(rules: RuleBook) -> Assumptions:
    """The rules of a book that assume something. Raises `RuleError`. Cost: linear in the instances.

    >>> from microcosm.logic.rulebook import read_rules
    >>> found = assumptions(read_rules())
    >>> sorted({rule.instance.rule.name for rule in found.rules}), len(found.rules)
    (['Cntrd', 'Up-Cntrd'], 8)
    """
    found: dict[_Guarded, Assumption] = {}
    clashes: dict[str, dict[Relation, dict[tuple[Relation, bool], None]]] = {}
    for instance in rules.instances:
        if not any(isinstance(p, Assume) for p in instance.premises):
            continue
        one, other = _read(instance, found)
        name = instance.rule.name
        excluding = clashes.setdefault(name, {})
        straight = (one.left, one.right) == (other.left, other.right)
        for mine, theirs in ((one.relation, other.relation), (other.relation, one.relation)):
            assert isinstance(mine, Relation) and isinstance(theirs, Relation)  # noqa: PT018
            excluding.setdefault(mine, {})[theirs, straight] = None
            if mine.symmetric or theirs.symmetric:
                excluding[mine][theirs, not straight] = None
    first = next(iter(clashes), None)
    known = {} if first is None else clashes[first]
    for name, excluding in clashes.items():
        if first is not None and excluding != known:
            (rule,) = rules.named(name)
            raise refused(rule, f"{name} takes other judgements for a contradiction than {first} does", _FORM)
    return Assumptions(tuple(found.values()), {r: tuple(others) for r, others in known.items()})


_Guarded = tuple[str, Assume, Judged, tuple[Premise, ...]]
"""A rule, what it assumes, what it concludes, and under which further premises: many instances are alike."""


def _read(instance: Instance, found: dict[_Guarded, Assumption]) -> tuple[Judged, Judged]:
    """The two contradicting premises of an instance, the assumption that it makes put among those `found`.

    Raises `RuleError`.
    """
    head, rule = instance.conclusion, instance.rule
    at, assumed = next((at, p) for at, p in enumerate(instance.premises) if isinstance(p, Assume))
    if head.judgement is not Judgement.OFFLINE:
        raise refused(rule, f"{rule.name} assumes something, and does not conclude ||-", _FORM)
    if _ends(assumed) != _ends(head) or assumed.relation not in _ASSUMED:
        fault = f"{rule.name} assumes something else than a given relation of the pair of its conclusion"
        raise refused(rule, fault, _FORM)
    judged = [p for p in instance.premises if isinstance(p, Judged) and p.judgement is head.judgement]
    incompatible = any(isinstance(p, Incompatible) for p in instance.premises)
    rest = tuple(p for p in instance.premises if not isinstance(p, Assume | Incompatible) and p not in judged)
    several = any(isinstance(p, Assume) for p in rest)
    key = rule.name, assumed, head, rest
    if key not in found and not several:
        guarded = replace(instance, premises=rest)
        found[key] = Assumption(guarded, assumed.relation, assumed.left != head.left, body(guarded))
    if (
        several
        or len(judged) != 2
        or any(p in judged for p in instance.premises[:at])
        or _ends(judged[0]) != _ends(judged[1])
        or not incompatible
        or any(p.relation == ANY for p in judged)
        or _ends(judged[0]) & {*_ends(head), *found[key].guard.variables}
    ):
        fault = f"{rule.name} does not assume one thing, and ask then for two judgements of some other pair"
        raise refused(rule, fault, _FORM)
    return judged[0], judged[1]


_ASSUMED = (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED)


_FORM = (
    "Write `assume a R b`, then `||- c S d` and `||- c T d  where S incompatible T`, and conclude "
    "something of a and b."
)


def _ends(premise: Judged | Assume) -> set[str]:
    return {premise.left, premise.right}


class Stratum(NamedTuple):
    """Predicates that depend on each other, and the instances that conclude them."""

    preds: frozenset[Pred]
    instances: tuple[Instance, ...]
    recursive: bool
    """Whether some instance has a premise in `preds`."""


class _Edge(NamedTuple):
    """`instance` concludes something from `premise`, or from its absence."""

    instance: Instance
    premise: Judged
    negative: bool


@dataclass(slots=True, eq=False)
class _Graph:
    """For each predicate that is concluded, what it is concluded from."""

    edges: dict[Pred, dict[Pred, _Edge]] = field(default_factory=dict)
    negative: list[tuple[Pred, Pred, _Edge]] = field(default_factory=list)


@lru_cache(maxsize=16)
def strata(rulebook: RuleBook) -> tuple[Stratum, ...]:
    """The strata of the rules about one microcosm, each after those that it depends on.

    A predicate that no rule concludes is empty and stands in no stratum. Instances with an
    assumption are search, not saturation: they stand in none, but count when negation is checked.
    Raises `RuleError` where a predicate depends on its own absence, or on what only a search by cases can
    tell: the absence of what an assumption may bring, or such a judgement as a premise of `|-0` or `|-`.
    Cost: linear in the instances, a wildcard counting once for each relation that it can be.

    >>> from microcosm.logic.rulebook import read_rules
    >>> [sorted(str(r) for _, r in s.preds) for s in strata(read_rules())][-2]
    ['!<', '!||', '<', '<>', '||']
    """
    if checksum(rulebook) != CHECKED:
        check(rulebook)
    every = saturating(rulebook)
    graph = _graph(every)
    concluding: dict[Pred, list[Instance]] = {}
    for instance in every:
        concluding.setdefault(predicate(instance.conclusion), []).append(instance)
    found = []
    place = {id(instance): at for at, instance in enumerate(every)}
    for component in components(graph.edges, graph.edges.__getitem__):
        preds = frozenset(component)
        instances = sorted((i for pred in component for i in concluding[pred]), key=lambda i: place[id(i)])
        recursive = any(source in preds for pred in component for source in graph.edges[pred])
        found.append(Stratum(preds, tuple(instances), recursive))
    return tuple(found)


CHECKED = 0x7AE0A1C4
"""The checksum of the shipped rules, which a test checks, so that a first answer need not."""


def checksum(rulebook: RuleBook) -> int:
    """That of the text of the rules, as it stands. Cost: linear in the text."""
    return crc32("\n".join([rule.text for rule in rulebook.rules]).encode())


def check(rulebook: RuleBook) -> None:
    """Raise `RuleError` where `strata` does, and for a rule that no answer could rest on. Cost: linear in the
    instances.

    That is one which concludes something of an event and itself, asks a base predicate that there is not, or
    concludes of its own contradiction.
    """
    for rule in rulebook.rules:
        _check_meaning(rule)
    whole = _graph(rulebook.instances)
    _check_negation(whole)
    _check_assumed(whole, assumptions(rulebook))


def _check_meaning(rule: Rule) -> None:
    every = [premise for alternatives in rule.premises for premise in alternatives]
    bodies = [part for p in every for part in (p.body if isinstance(p, NoneWith) else (p,))]
    for premise in (p.body if isinstance(p, Not) else p for p in bodies):
        if isinstance(premise, BasePredicate):
            try:
                expect(premise.name, len(premise.events))
            except RuleError as error:
                raise refused(rule, f"{rule.name}: {error.message}", error.hint or "") from None
    assumes = any(isinstance(premise, Assume) for premise in every)
    for conclusion in rule.conclusions:
        if conclusion.left == conclusion.right:
            fault = f"{rule.name} concludes {premise_text(conclusion, {})}, of an event and itself"
            raise refused(rule, fault, "A relation is one of two different events.")
        name = str(conclusion.relation).lstrip("!")
        having = [p for p in every if isinstance(p, Judged | Given | Assume)]
        having = [p for p in having if str(p.relation).lstrip("!") == name]
        offline = [p for p in having if isinstance(p, Judged) and p.judgement is Judgement.OFFLINE]
        if assumes and not isinstance(conclusion.relation, Relation) and having and having == offline:
            fault = f"{rule.name} concludes the relation {name}, which only follows from what it assumes"
            raise refused(rule, fault, _FORM)


@lru_cache(maxsize=16)
def saturating(rulebook: RuleBook) -> tuple[Instance, ...]:
    """The instances that assume nothing, in their order. Cost: linear in these; most others are not made."""
    rules = tuple(
        rule
        for rule in rulebook.rules
        if not any(all(isinstance(p, Assume) for p in either) for either in rule.premises)
    )
    instances = RuleBook(rules, rulebook.profile).instances
    return tuple(i for i in instances if not any(isinstance(p, Assume) for p in i.premises))


def _graph(instances: Iterable[Instance]) -> _Graph:
    instances = list(instances)
    graph = _Graph({predicate(instance.conclusion): {} for instance in instances})
    for instance in instances:
        head = predicate(instance.conclusion)
        for premise, negative in _dependencies(instance):
            edge = _Edge(instance, premise, negative)
            for pred in _meant(premise, graph.edges):
                graph.edges[head].setdefault(pred, edge)
                if negative:
                    graph.negative.append((head, pred, edge))
    return graph


def _dependencies(instance: Instance) -> Iterator[tuple[Judged, bool]]:
    """The judgements that an instance looks at, and whether it looks for their absence."""
    for premise in instance.premises:
        match premise:
            case Judged():
                yield premise, False
            case Not(Judged() as body):
                yield body, True
            case NoneWith(_, body):
                yield from ((p, True) for p in body if isinstance(p, Judged))
            case MostAccurate(of):
                yield from ((more, True) for more in finer(of))


def _meant(premise: Judged, concluded: Iterable[Pred]) -> list[Pred]:
    """The predicates, of those that are concluded, which a premise speaks of."""
    if premise.relation == ANY:
        return [pred for pred in concluded if pred[0] is premise.judgement]
    pred = predicate(premise)
    return [pred] if pred in concluded else []


def _check_negation(graph: _Graph) -> None:
    found = components(graph.edges, graph.edges.__getitem__)
    member = {pred: at for at, component in enumerate(found) for pred in component}
    for head, pred, edge in graph.negative:
        if member[head] == member[pred]:
            _refuse(edge, _path(graph, pred, head))


def _check_assumed(graph: _Graph, known: Assumptions) -> None:
    assumed = {(Judgement.OFFLINE, rule.assumed) for rule in known.rules}
    assumed |= {predicate(rule.instance.conclusion) for rule in known.rules}
    waiting = list(assumed)
    while waiting:
        source = waiting.pop()
        for head, sources in graph.edges.items():
            if source in sources and head not in assumed:
                assumed.add(head)
                waiting.append(head)
    for _, pred, edge in graph.negative:
        if pred in assumed:
            raise refused(edge.instance.rule, f"{_sentence(edge)}, which an assumption may bring", _CASES)
    for head, sources in graph.edges.items():
        for pred, edge in sources.items():
            if head[0] is not Judgement.OFFLINE and pred in assumed:
                raise refused(edge.instance.rule, f"{_sentence(edge)}, which an assumption may bring", _CASES)


_CASES = "That takes a search by cases: only offline rules may have it as a premise, and only as what holds."


def _path(graph: _Graph, start: Pred, goal: Pred) -> list[_Edge]:
    """A shortest chain of conclusions by which `start` is concluded from `goal`; empty if they are one."""
    came: dict[Pred, tuple[Pred, _Edge]] = {}
    queue = deque([start])
    while queue and goal not in came and start != goal:
        pred = queue.popleft()
        for source, edge in graph.edges[pred].items():
            if source not in came:
                came[source] = (pred, edge)
                queue.append(source)
    path: list[_Edge] = []
    while goal != start:
        goal, edge = came[goal]
        path.append(edge)
    return path[::-1]


def _refuse(edge: _Edge, path: list[_Edge]) -> NoReturn:
    fault = "negation is not stratified: " + "; ".join(_sentence(step) for step in (edge, *path))
    hint = "Absence may be asked only of a judgement that does not depend on the rule's own conclusion."
    raise refused(edge.instance.rule, fault, hint)


def _sentence(edge: _Edge) -> str:
    source = premise_text(edge.premise, {})
    if edge.negative:
        source = f"the absence of {source}"
    return f"{edge.instance.rule.name} concludes {premise_text(edge.instance.conclusion, {})} from {source}"


def never_fire(rulebook: RuleBook) -> list[tuple[Rule, str]]:
    """The rules that can conclude nothing in any microcosm, each with the reason, in their order.

    What is given, membership and predicates are taken to be satisfiable, and so is absence. Cost: the
    instances, once for each round in which another fires.

    >>> from microcosm.logic.rulebook import parse_rules
    >>> [(rule, reason)] = never_fire(parse_rules("rule Un-Sym:\\n |- a ? b\\n ---\\n |- b ? a"))
    >>> print(rule.name, "can never fire:", reason)
    Un-Sym can never fire: its premise ⊢ a ? b is concluded only by Un-Sym
    """
    possible: set[Pred] = set()
    waiting = list(rulebook.instances)
    while waiting:
        fired = [i for i in waiting if _blocking(i, possible) is None]
        if not fired:
            break
        possible.update(predicate(i.conclusion) for i in fired)
        waiting = [i for i in waiting if predicate(i.conclusion) not in possible]
    concluders: dict[Pred, list[str]] = {}
    instances: dict[int, list[Instance]] = {id(rule): [] for rule in rulebook.rules}
    for instance in (*rulebook.instances, *rulebook.evolutions):
        instances[id(instance.rule)].append(instance)
        if instance.evolution is None:
            concluders.setdefault(predicate(instance.conclusion), []).append(instance.rule.name)
    silent = []
    for rule in rulebook.rules:
        blocked = [_blocking(i, possible) for i in instances[id(rule)]]
        if all(blocked):
            faults = dict.fromkeys(_reason(p, concluders) for p in blocked if p is not None)
            silent.append((rule, " and ".join(faults) or "its conditions exclude each other"))
    return silent


def _blocking(instance: Instance, possible: set[Pred]) -> Premise | None:
    """A premise that cannot hold while only `possible` is concluded; the conclusion, if it cannot."""
    denied = [p.body for p in instance.premises if isinstance(p, Not)]
    for premise in (*instance.premises, instance.conclusion):
        match premise:
            case Judged() | Given() | Assume() if premise.left == premise.right:
                return premise
            case Judged() if premise is not instance.conclusion and not _meant(premise, possible):
                return premise
            case Given() if premise.relation is Relation.UNKNOWN:
                return premise
        if premise in denied:
            return premise
    return None


def _reason(premise: Premise, concluders: dict[Pred, list[str]]) -> str:
    text = premise_text(premise, {})
    match premise:
        case Judged() | Given() | Assume() if premise.left == premise.right:
            return f"{text} relates an event to itself"
        case Judged():
            names = dict.fromkeys(n for pred in _meant(premise, concluders) for n in concluders[pred])
            only = f"only by {', '.join(names)}" if names else "by no rule"
            return f"its premise {text} is concluded {only}"
    return f"its premise {text} never holds"
