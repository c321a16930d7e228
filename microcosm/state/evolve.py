"""How knowledge evolves: additions, updates and removals, and verdicts as what one of them brought.

Worlds of Events, section 3 (definedness of evolutions), section 6 (removals), and Figure 3 (rules Strng,
Weak, Up-S and Up-W). The functions change an engine and its givens together. One that raises leaves both as
they were, but for `append`, after which the engine is to be built anew, and `update` and a strict `remove`,
which may refuse what comes after they took something away. What is refused for what is known already is a
`Contradiction`, in words and with a derivation of each side; it costs what these derivations cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from microcosm import tuning
from microcosm.engine.body import body
from microcosm.engine.engine import Clash, CyclicGivens, Engine
from microcosm.engine.lowering import HAPPENS_BEFORE, compile_rules
from microcosm.engine.prove import Prover, balanced
from microcosm.engine.steps import leaf_shows
from microcosm.errors import Contradiction, Undefined
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.givens.spelling import checked, expect_text
from microcosm.logic.derivation import Conclusion, Derivation, absent, step
from microcosm.logic.rule import Instance, Judged, Judgement, MostAccurate, Not, finer
from microcosm.logic.rulebook import RuleBook
from microcosm.text.mc_reader import parse_correspondences
from microcosm.text.names import quote
from microcosm.text.statement import expect_named, spelled

GIVABLE = (*GIVEN_RELATIONS, Relation.NOT_BEFORE)

Step: TypeAlias = Callable[[Engine, Givens, Correspondence, bool], None]
"""Such as `add`: what changes an engine and its givens by a correspondence, strictly or not."""


def facts_of(given: str | Correspondence) -> list[Correspondence]:
    """The correspondences that a statement says. Raises `TextError`, `Undefined`.

    Cost: linear in the text.
    """
    if isinstance(given, Correspondence):
        if given.source:
            expect_named(given.source)  # it is written beside the given
        return [checked(given).normal()]
    expect_text(given)
    return [fact.normal() for fact in parse_correspondences(given)]


def add(engine: Engine, givens: Givens, fact: Correspondence, strict: bool) -> None:
    """`M + (a R b)`; what is given already changes nothing, or (strict) is refused.

    Raises `Contradiction`, `Undefined`. Cost: one row operation for each event whose past changes.
    """
    if fact.relation not in GIVABLE:
        raise Undefined(f"`{spelled(fact)}` is no correspondence: only <, >, ||, <> and !< can be given")
    expect_distinct(fact.left, fact.right)
    expect_named(fact.left, fact.right)
    key = fact.key()
    if key in givens.external or key in givens.refuted:
        if strict:
            raise Undefined(f"`{spelled(fact)}` is given already")
        return
    if strict and fact.relation in GIVEN_RELATIONS:
        _expect_undecided(engine, givens, fact, "cannot be added (strict)")
    try:
        clash = engine.add(fact)
    except CyclicGivens as cycle:
        other = Prover(engine, givens).derive(Judgement.INITIAL, fact.right, Relation.BEFORE, fact.left)
        problem = f"`{spelled(fact)}` would close a cycle"
        if other is None:
            raise Contradiction(f"{problem}: {cycle} < {quote(cycle.path[0])}") from None
        raise _refused(problem, other) from None
    givens.add(fact)
    contradiction = _contradiction(engine, givens, clash, strict)
    if contradiction is not None:
        _drop(engine, givens, fact)
        raise contradiction


def update(engine: Engine, givens: Givens, fact: Correspondence, strict: bool) -> None:
    """`M[a <> b := a < b]`: a direction in place of an external `a <> b`. Raises, costs as `add` does."""
    if fact.relation is not Relation.BEFORE:
        raise Undefined(f"an update gives a direction, such as `a < b`; it cannot be `{spelled(fact)}`")
    related = _external(givens, fact.left, Relation.RELATED, fact.right)
    if related is None:
        pair = replace(fact, relation=Relation.RELATED)
        raise Undefined(
            f"`{spelled(pair)}` is not an external given, so it cannot be updated to `{spelled(fact)}`"
        )
    _drop(engine, givens, related)
    add(engine, givens, fact, strict)


def remove(engine: Engine, givens: Givens, fact: Correspondence, strict: bool) -> None:
    """`M - (a R b)` (Definition 6.1). Raises `Undefined` where it is not given, or (strict) still follows.

    Cost: what loses something is recomputed.
    """
    found = _external(givens, fact.left, fact.relation, fact.right)
    if found is None:
        raise Undefined(f"`{spelled(fact)}` cannot be removed: {_why_no_given(engine, givens, fact)}")
    _drop(engine, givens, found)
    if strict and found.relation in GIVEN_RELATIONS:
        _expect_undecided(engine, givens, found, "cannot be removed (strict), for it still follows")


def append(engine: Engine, givens: Givens, event: str, strict: bool) -> None:
    """Make an event the last of the internal chain. Raises `Undefined`, `Contradiction`. Cost: as `add`."""
    expect_named(event)
    member = engine.universe.members >> engine.universe.position.get(event, 0) & 1
    if member and event in givens.internal:  # the chain is long: look whether it need be read
        raise Undefined(f"{event} is an internal event already")
    givens.internal.append(event)
    try:
        try:
            problem = _contradiction(engine, givens, engine.append(event), strict)
        except CyclicGivens as cycle:
            problem = _of_cycle(cycle, givens, engine.rules)
        if problem is not None:
            raise problem
    except BaseException:
        givens.internal.pop()
        raise


def built(givens: Givens, rules: RuleBook, strict: bool) -> Engine:
    """An engine on some givens. Raises `Contradiction` where their initial judgements exclude each other.

    `strict` refuses a `<>` on an ordered pair too (Definition 2.3, condition 4). Cost: that of the orders.
    """
    if len(givens.clocks) >= tuning.CLOCKS_IN_COLUMNS:
        givens.keep_clocks_in_columns()
    try:
        engine = Engine(rules, givens)
    except CyclicGivens as cycle:
        raise _of_cycle(cycle, givens, rules) from None
    clash = engine.clash()
    problem = _contradiction(engine, givens, clash, strict) if clash or strict else None
    if problem is not None:
        raise problem
    return engine


def expect_distinct(a: str, b: str) -> None:
    """Raise `Undefined` unless these are two events. Cost: constant."""
    if a == b:
        raise Undefined(f"an event stands in no relation to itself: {a}")


def _external(givens: Givens, left: str, relation: Relation, right: str) -> Correspondence | None:
    key = Correspondence(left, relation, right).key()
    return givens.external.get(key) or givens.refuted.get(key)


def _why_no_given(engine: Engine, givens: Givens, fact: Correspondence) -> str:
    chain = givens.internal
    if fact.relation is Relation.BEFORE and fact.left in chain and fact.right in chain:
        return "it is an order of internal events; forget one of them instead"
    if fact.relation in GIVEN_RELATIONS and engine.holds(
        Judgement.INITIAL, fact.left, fact.relation, fact.right
    ):
        return "it follows from other givens, and is not an external one itself"
    return "it is not given"


def _drop(engine: Engine, givens: Givens, fact: Correspondence) -> None:
    given = givens.external if fact.relation in GIVEN_RELATIONS else givens.refuted
    del given[fact.key()]
    engine.remove(fact)


def _expect_undecided(engine: Engine, givens: Givens, fact: Correspondence, problem: str) -> None:
    """`M + c` is defined only where nothing is judged of the pair in M."""
    witness = Prover(engine, givens)
    for relation in (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT, Relation.RELATED):
        derivation = witness.derive(Judgement.INITIAL, fact.left, relation, fact.right)
        if derivation is not None and (relation is fact.relation or relation is Relation.RELATED):
            raise Undefined(f"`{spelled(fact)}` {problem}: {derivation.conclusion} already")
        if derivation is not None:
            raise _refused(f"`{spelled(fact)}` {problem}", derivation)


def _contradiction(engine: Engine, givens: Givens, clash: Clash | None, strict: bool) -> Contradiction | None:
    """What is wrong with the givens now: a clash, or (strict) that condition (4) is violated.

    Cost: that of the derivations, if anything is; `strict`, two rows for each event with a `<>`.
    """
    if clash is not None:
        found = _sides(clash.left, clash.right, (clash.one, clash.other), Prover(engine, givens))
        return Contradiction(f"contradiction: {' and '.join(map(_plain, found))} cannot both hold", found)
    if not (strict and (superseded := engine.superseded())):
        return None
    found = _sides(*superseded, (Relation.RELATED, Relation.BEFORE), Prover(engine, givens))
    return Contradiction(f"condition (4) is violated (strict): {' while '.join(map(_plain, found))}", found)


def _sides(
    left: str, right: str, relations: tuple[Relation, Relation], witness: Prover
) -> tuple[Derivation, ...]:
    """That each of two relations is judged of a pair, in one direction, or one relation in both."""
    found = []
    for at, relation in enumerate(relations):
        ways = ((left, right), (right, left))
        for ends in ways[::-1] if relation in relations[:at] else ways:
            side = witness.derive(Judgement.INITIAL, ends[0], relation, ends[1])
            if side is not None:
                found.append(side)
                break
    return tuple(found)


def explain_evolution(
    now: Engine, givens: Givens, pair: tuple[str, str], change: Correspondence, update: bool
) -> Derivation | None:
    """The verdict on a pair as what one given brought; None where no evolution rule applies.

    Raises `Undefined` where `change` is not given. Cost: an engine for what was there before.
    """
    expect_distinct(*pair)
    change = checked(change).normal()
    given = givens.external.get(change.key())
    if given is None:
        raise Undefined(f"`{spelled(change)}` is not an external given, so nothing came with it")
    before = _before(givens, given, update)
    past = Engine(now.rules, before)
    witness = Prover(past, before)
    for instance in now.rules.evolutions:
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
    witness: Prover,
    instance: Instance,
    pair: tuple[str, str],
    change: Correspondence,
    update: bool,
) -> Derivation | None:
    """The rule's step for the verdict on a pair, if its premises held before and its conditions hold now."""
    head, evolution = instance.conclusion, instance.evolution
    assert evolution is not None
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
                shown = [change.left, str(change.relation), change.right]
                how = {"update" if update else "add": shown}
                concluded = head.judgement, *_fact(head, names)
                return step(instance.rule.name, *concluded, *premises, evolution=how)
    return None


def _between(now: Engine, instance: Instance, names: dict[str, str]) -> Iterator[dict[str, str]]:
    """The names, with each choice of events for those of the rule that neither change nor verdict name."""
    lowered = body(replace(instance, evolution=None))
    free = [variable for variable in lowered.variables if variable not in names]
    if not free:
        yield names
        return
    named = sorted({*filter(now.mentions, now.universe.position), *names.values()})
    for events in product(named, repeat=len(free)):
        yield names | dict(zip(free, events, strict=True))


def _premises(
    now: Engine, past: Engine, witness: Prover, instance: Instance, names: dict[str, str]
) -> list[Derivation] | None:
    """The derivations of the premises; None where one does not hold.

    `engine.steps.Steps.node` writes down a step that a search has found to hold, in one engine, its
    events by position. Here it is asked whether it holds, in two engines that number events differently: what
    is judged and denied before the change, what is most accurate after it. So the two share no code.
    """
    found = []
    for premise in instance.premises:
        match premise:
            case Judged():
                derivation = witness.derive(premise.judgement, *_fact(premise, names))
                if derivation is None:
                    return None
                found.append(derivation)
            case Not(Judged(judgement, left, relation, right)):
                which = relation if isinstance(relation, Relation) else None
                if past.holds(judgement, names[left], which, names[right]):
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


def _refused(message: str, other: Derivation) -> Contradiction:
    """What was asked for is refused because of `other`. Cost: constant."""
    return Contradiction(f"{message}: {other.conclusion} already", (other,))


def _of_cycle(cycle: CyclicGivens, givens: Givens, rules: RuleBook) -> Contradiction:
    """Givens that close a cycle: all of it but its last link against that link.

    Cost: linear in the givens and the cycle.
    """
    path = cycle.path
    shown = " < ".join([*map(quote, path[:6]), *(["…"] if len(path) > 6 else []), quote(path[0])])
    plan = compile_rules(rules).order
    if plan is None or not plan.plain or len(path) < 2:
        return Contradiction(f"contradiction: the order closes a cycle: {shown}")
    facts = GivenFacts(givens)
    rule = plan.bodies[HAPPENS_BEFORE][0].instance.rule.name
    links = [
        step(rule, Judgement.INITIAL, a, Relation.BEFORE, b, **leaf_shows(facts, a, Relation.BEFORE, b))
        for a, b in zip(path, [*path[1:], path[0]], strict=True)
    ]
    sides = (balanced(plan.transitive[0].instance.rule.name, links[:-1]), links[-1])
    return Contradiction(f"contradiction: the order closes a cycle: {shown}", sides)


def clash_node(problem: Contradiction) -> Derivation | None:
    """The contradiction as one derivation: a `Clash` of its two sides. Cost: constant."""
    if len(problem.derivations) != 2:
        return None
    one, other = problem.derivations
    left, right = one.conclusion.left, one.conclusion.right
    return Derivation("Clash", Conclusion(Judgement.INITIAL, left, "contradiction", right), (one, other))


def _plain(side: Derivation) -> str:
    left, right = quote(side.conclusion.left), quote(str(side.conclusion.right))
    return f"{left} {side.conclusion.relation} {right}"
