"""Verdicts as what an evolution brought: rules Strng, Weak, Up-S and Up-W (seed 003, Figure 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from microcosm.engine.body import body
from microcosm.engine.engine import Engine
from microcosm.engine.proofs.prove import Witness
from microcosm.errors import Undefined
from microcosm.givens.correspondence import Correspondence
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.derivation import Conclusion, Derivation, absent
from microcosm.logic.judgement import Judgement
from microcosm.logic.rule import ANY, Instance, Judged, MostAccurate, Not, finer
from microcosm.logic.rulebook import RuleBook


def explain_evolution(
    now: Engine, givens: Givens, rules: RuleBook, pair: tuple[str, str], change: Correspondence, update: bool
) -> Derivation | None:
    """See `Microcosm.explain_evolution`. Cost: an engine for what was there before."""
    change = change.normal()
    given = givens.external.get(change.key())
    if given is None:
        raise Undefined(f"`{change}` is not an external given, so nothing came with it")
    before = _before(givens, given, update)
    past = Engine(rules, before)
    witness = Witness(past, before)
    for instance in rules.evolutions:
        found = _instance(now, past, witness, instance, pair, given, update)
        if found is not None:
            return found
    return None


def _before(givens: Givens, change: Correspondence, update: bool) -> Givens:
    before = givens.copy()
    del before.external[change.key()]
    if update:
        before.add(Correspondence(change.left, Relation.RELATED, change.right, change.source))
    return before


def _instance(
    now: Engine,
    past: Engine,
    witness: Witness,
    instance: Instance,
    pair: tuple[str, str],
    change: Correspondence,
    update: bool,
) -> Derivation | None:
    """The rule's step for the verdict on a pair, if its premises held before and its conditions hold now."""
    head, evolution = instance.conclusion, instance.evolution
    assert evolution is not None
    assert isinstance(head.relation, Relation)
    if evolution.update is not update or evolution.relation is not change.relation:
        return None
    for ends in (pair, pair[::-1]):
        names: dict[str, str] = {}
        sides = (
            (evolution.left, change.left),
            (evolution.right, change.right),
            (head.left, ends[0]),
            (head.right, ends[1]),
        )
        if all(names.setdefault(variable, event) == event for variable, event in sides):
            if not now.holds(head.judgement, *_fact(head, names)):
                continue
            for between in _between(now, instance, names):
                premises = _premises(now, past, witness, instance, between)
                if premises is None:
                    continue
                conclusion = Conclusion(
                    head.judgement, names[head.left], str(head.relation), names[head.right]
                )
                shown = [change.left, str(change.relation), change.right]
                return Derivation(
                    instance.name,
                    conclusion,
                    tuple(premises),
                    {"evolution": {"update" if update else "add": shown}},
                )
    return None


def _between(now: Engine, instance: Instance, names: dict[str, str]) -> Iterator[dict[str, str]]:
    """The same with each choice of events for those of the rule that neither change nor verdict name."""
    lowered = body(replace(instance, evolution=None))
    free = [variable for variable in lowered.variables if variable not in names]
    if not free:
        yield names
        return
    named = sorted({*filter(now.mentions, now.universe.position), *names.values()})
    for events in product(named, repeat=len(free)):
        yield names | dict(zip(free, events, strict=True))


def _premises(
    now: Engine, past: Engine, witness: Witness, instance: Instance, names: dict[str, str]
) -> list[Derivation] | None:
    found = []
    for premise in instance.premises:
        match premise:
            case Judged():
                derivation = witness.derive(premise.judgement, *_fact(premise, names))
                if derivation is None:
                    return None
                found.append(derivation)
            case Not(Judged(judgement, left, relation, right)):
                if _holds(past, judgement, names[left], relation, names[right]):
                    return None
                found.append(absent(judgement, names[left], names[right], str(relation)))
            case MostAccurate(of):
                if any(now.holds(more.judgement, *_fact(more, names)) for more in finer(of)):
                    return None
            case _:
                return None
    return found


def _fact(judged: Judged, names: dict[str, str]) -> tuple[str, Relation, str]:
    assert isinstance(judged.relation, Relation)
    return names[judged.left], judged.relation, names[judged.right]


def _holds(past: Engine, judgement: Judgement, a: str, relation: Relation | str, b: str) -> bool:
    if relation != ANY:
        assert isinstance(relation, Relation)
        return past.holds(judgement, a, relation, b)
    return any(
        past.holds(judgement, *ends)
        for r in (Relation.BEFORE, Relation.CONCURRENT, Relation.RELATED, Relation.UNKNOWN)
        for ends in ((a, r, b), (b, r, a))
    )
