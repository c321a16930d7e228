"""Forgetting events: what is known about the others stays (beyond Worlds of Events, section 6).

Initial judgements about the others are kept exactly, and so is each `a !< b` that propagation alone refutes:
it is recorded as given. That propagation refuted `||` is lost where it ordered the pair by way of a forgotten
event only: `<>` would say so, but as an initial judgement that was none. `?` against silence may change, and
so may what only a search by cases sees, or what a known ordering of messages refutes by a message of it. Of a
message that was received twice, or sent by two events, nothing more is known when one of the two is
forgotten, nor of a log that is stated to be complete and does not tell all of its order.

All this is so of the rules in force. Where these make anything but a transitive order of the givens, what was
judged of the others is compared with what is judged without the event; and where no givens would keep that as
it was, nothing is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from dataclasses import replace
from itertools import permutations

from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.lowering import closes_givens
from microcosm.errors import Undefined
from microcosm.givens.columns import Message
from microcosm.givens.facts import covered, ports
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.logic.rule import Judgement
from microcosm.logic.rulebook import RuleBook
from microcosm.order.bits import bits
from microcosm.order.happens_before import Cycle
from microcosm.order.order import base_facts, lacking, reached
from microcosm.queries.offline import are_shipped, propagated
from microcosm.worlds.constraints import constraints_of
from microcosm.worlds.possible import Possibilities


def without_events(
    givens: Givens, events: Collection[str], rules: RuleBook, engine: Engine | None = None
) -> Givens:
    """The givens without some events, plus what they said of the others by way of these.

    Orders: the neighbours in the given order suffice; each event before forgotten ones is put before each one
    after them, unless that still follows. Refutations are recorded as `!<`. Cost: building the engine twice
    (once, if the `engine` of these givens is passed), and where something is refuted at all, what propagation
    refutes, twice (n²/8 bytes). Under other rules all judgements of the others are compared. Raises
    `Undefined` where they cannot be kept.
    """
    engine = engine or Engine(rules, givens)
    gone = set(events)
    left = _dropped(givens, gone)
    if gone.isdisjoint(engine.universe.position):
        return left
    what = next(iter(gone)) if len(gone) == 1 else f"{len(gone)} events"
    if closes_givens(rules):
        through = list(_passed_through(engine, gone))
        rest = Engine(rules, left) if through else engine
        for a, e, b in through:
            if not rest.holds(Judgement.INITIAL, a, Relation.BEFORE, b):
                fact = Correspondence(a, Relation.BEFORE, b, f"{a} < {e} < {b}, {e} forgotten")
                left.add(fact)
                rest.add(fact)
    else:
        _restate(engine, left, gone, what)
    if givens.complete and (
        lacking(givens) is not None or _open_ends(left, gone) != _open_ends(givens, gone)
    ):
        left.complete = False  # what may have led on by way of the forgotten would be forgotten too
    source = f"followed by way of {what}, {what} forgotten"
    if are_shipped(rules):
        for a, b in _lost(givens, left, gone):
            left.add(Correspondence(a, Relation.NOT_BEFORE, b, source))
        return left
    was, now = (propagated(some, rules) for some in (givens, left))
    if was is None or now is None:
        return left  # nothing is known of a microcosm that contradicts itself
    was = {fact for fact in was if gone.isdisjoint(fact[::2])}
    for a, relation, b in sorted(was - now, key=str):
        if relation is Relation.NOT_BEFORE:
            left.add(Correspondence(a, relation, b, source))
    if not closes_givens(rules):
        _restate(engine, left, gone, what)  # something may be judged of what is refuted
    now = propagated(left, rules)
    if now is None:
        raise Undefined(
            f"under these rules {what} cannot be forgotten: the others would contradict themselves"
        )
    _expect_kept({fact for fact in was if fact[1] is Relation.NOT_BEFORE or fact in now}, now, what)
    return left


def _restate(engine: Engine, left: Givens, gone: Set[str], what: str) -> None:
    """Give what was judged of the others and is no longer. Raises `Undefined` where it cannot be told so."""
    rules = engine.rules
    others = [name for name in engine.universe.position if name not in gone and engine.mentions(name)]
    was = _judged(engine, others)
    for a, relation, b in sorted(was - _judged(Engine(rules, left), others), key=str):
        if relation in GIVEN_RELATIONS:
            left.add(Correspondence(a, relation, b, f"followed by way of {what}, {what} forgotten"))
    try:
        now = _judged(Engine(rules, left), others)
    except CyclicGivens:
        now = set()
    _expect_kept(was, now, what)


def _expect_kept(was: _Judgements, now: _Judgements, what: str) -> None:
    if now != was:
        a, relation, b = min(now ^ was, key=str)
        change = "would follow" if (a, relation, b) in now else "could not be kept"
        raise Undefined(f"under these rules {what} cannot be forgotten: {a} {relation} {b} {change}")


_Judgements = set[tuple[str, Relation, str]]


def _judged(engine: Engine, events: Collection[str]) -> _Judgements:
    """The initial judgements about some events, which need not be named. Cost: a question for each."""
    relations = [relation for of, relation in engine.program.of if of is Judgement.INITIAL]
    return {
        (a, relation, b)
        for a, b in permutations(events, 2)
        for relation in relations
        if engine.holds(Judgement.INITIAL, a, relation, b)
    }


def _passed_through(engine: Engine, gone: Set[str]) -> Iterator[tuple[str, str, str]]:
    """Each (a, e, b): a and b stay, and forgotten events, e the first of them, lead from a to b."""
    names = engine.universe.names
    after: dict[str, list[str]] = {}
    entries: dict[tuple[str, str], None] = {}
    for x, y in engine.ground.given[Relation.BEFORE]:
        a, b = names[x], names[y]
        if a in gone:
            after.setdefault(a, []).append(b)
        elif b in gone:
            entries[a, b] = None
    for a, e in entries:
        reached, waiting = {e}, [e]
        while waiting:
            for b in after.get(waiting.pop(), ()):
                if b not in reached:
                    reached.add(b)
                    if b in gone:
                        waiting.append(b)
                    else:
                        yield a, e, b


def _lost(old: Givens, new: Givens, gone: Set[str]) -> Iterator[tuple[str, str]]:
    """Pairs that propagation refuted among the others and does no longer; as many as imply the rest."""
    stated = any(fact.relation is not Relation.BEFORE for fact in old.external.values())
    if not (stated or old.refuted or old.stamps or old.clocks or old.tokens or old.complete):
        return  # nothing but an order is given
    names = [name for name in old.named() if name not in gone]
    position = {name: at for at, name in enumerate([*names, *gone])}
    try:
        known = constraints_of(new, position, len(position))
        graph = known.graph()
        was = Possibilities(constraints_of(old, position, len(position))).propagated()
        now = Possibilities(known).propagated()
    except Cycle:
        return
    if was is None or now is None:
        return  # nothing is known of a microcosm that contradicts itself
    others = (1 << len(names)) - 1
    rank = {at: place for place, at in enumerate(graph.order)}
    past = graph.pasts()
    recorded = [0] * len(position)
    for x in graph.order:
        for u in graph.predecessors[x]:
            recorded[x] |= recorded[u]
        if x >= len(names):
            continue
        lost = now.before[x] & ~was.before[x] & others & ~(1 << x) & ~recorded[x]
        for y in sorted(bits(lost), key=rank.__getitem__, reverse=True):
            if not recorded[x] >> y & 1:
                recorded[x] |= past[y]
                yield names[x], names[y]


def _open_ends(givens: Givens, gone: Set[str]) -> list[Set[str]]:
    """The events that a log tells all of, less some, from which something may lead on that is not in it, and
    to which something may lead back.
    """
    events = covered(givens)
    exits, entries = ports(givens, events)
    return [(reached(givens, exits, 1) & events) - gone, (reached(givens, entries, 0) & events) - gone]


def _dropped(givens: Givens, gone: Set[str]) -> Givens:
    # A complete log would tell where they stand, too.
    events = givens.events and givens.events.without_process(gone)
    return replace(givens.without(gone), messages=_messages(givens, gone), events=events)


def _messages(givens: Givens, gone: Set[str]) -> list[Message]:
    """The messages of the other events, but for receptions that only now seem to answer one sending.

    Where a process received a message twice, or two events may have sent it, nothing is known of which is
    meant. With one of them forgotten the other would count; so it is forgotten, too, that it is a reception
    of that message.
    """
    kept = [message for message in givens.messages if message.event not in gone]
    if len(kept) == len(givens.messages):
        return kept
    was, now = (base_facts(some).answered[1] for some in (givens, Givens(messages=kept)))
    seeming = {
        (event, key[0])
        for event, keys in now.items()
        for key in keys
        if isinstance(key, tuple) and key not in was.get(event, ())
    }
    return [m for m in kept if m.kind == "send" or (m.event, m.message) not in seeming]
