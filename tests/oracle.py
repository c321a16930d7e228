"""A second opinion: the calculus of Worlds of Events worked out by hand, from its definitions, with sets.

Nothing here reads a rule file or imports the engine, the naive evaluator, the kernel or the state: only
the dataclass of the givens is shared. Signs are strings, None is silence.

`verdict_table` is ⊢ (Definition 3.1) over ⊢₀ (Definition 2.5); `refusal` says which microcosms are
not accepted at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

from microcosm.givens.givens import Givens

Triple = tuple[str, str, str]
Table = dict[tuple[str, str], str | None]


def stated(givens: Givens) -> set[Triple]:
    """All that is given, pair by pair: chain, correspondences, clocks and tokens written out."""
    chain = givens.internal
    facts = {(chain[i], "<", chain[j]) for j in range(len(chain)) for i in range(j)}
    for fact in givens.external.values():
        facts.add((fact.left, str(fact.relation.value), fact.right))
    for group in givens.tokens.values():
        facts |= {(a, "<>", b) for a in group for b in group if a != b}
    clocked = list(givens.clocks.items())
    for i, (a, at_a) in enumerate(clocked):
        for j, (b, at_b) in enumerate(clocked):
            p, q = at_a.process, at_b.process
            own_a, own_b = at_a.entries.get(p, 0), at_b.entries.get(q, 0)
            if i == j or at_a.execution != at_b.execution:
                continue
            if p == q:
                if own_a < own_b or (own_a == own_b and i < j):
                    facts.add((a, "<", b))
                continue
            seen_a, seen_b = at_b.entries.get(p, 0), at_a.entries.get(q, 0)
            if seen_a > own_a or (seen_a == own_a and at_a.ticked and own_a != 0):
                facts.add((a, "<", b))
            if seen_a < own_a and seen_b < own_b:
                facts.add((a, "||", b))
    return facts


def members(givens: Givens) -> set[str]:
    """The events in M."""
    inside = set(givens.internal) | set(givens.clocks)
    for fact in givens.external.values():
        inside |= {fact.left, fact.right}
    return inside.union(*givens.tokens.values())


def initial(facts: Iterable[Triple]) -> set[Triple]:
    """⊢₀: the facts, the transitive closure of `<` (Floyd and Warshall), `||` and `<>` both ways."""
    facts = set(facts)
    events = {e for a, _, b in facts for e in (a, b)}
    before = {(a, b) for a, sign, b in facts if sign == "<"}
    for via in events:
        for a in events:
            if (a, via) in before:
                for b in events:
                    if (via, b) in before:
                        before.add((a, b))
    judged = {(a, "<", b) for a, b in before}
    for a, sign, b in facts:
        if sign != "<":
            judged |= {(a, sign, b), (b, sign, a)}
    return judged


def refusal(facts: Iterable[Triple], *, strict: bool = False) -> str | None:
    """Why a microcosm with these givens is refused, or None; `strict` adds condition (4)."""
    judged = initial(facts)
    for a, sign, b in judged:
        if sign == "<" and a == b:
            return "cycle"
        if sign == "<" and (a, "||", b) in judged:
            return "order on a concurrent pair"
        if sign == "<>" and (a, "||", b) in judged:
            return "causally related and concurrent"
        if sign == "<" and strict and (a, "<>", b) in judged:
            return "condition (4)"
    return None


def verdict_table(events: Iterable[str], givens: Givens, *, strict: bool = False) -> Table:
    """The online verdict for every ordered pair of distinct `events`, named in the givens or not."""
    return tabulate(events, stated(givens), members(givens), strict=strict)


def tabulate(
    events: Iterable[str], facts: Iterable[Triple], inside: set[str], *, strict: bool = False
) -> Table:
    """As `verdict_table`, over givens written out as triples, with the set of the events in M."""
    judged = initial(facts)
    known = {(a, b) for a, _, b in judged} | {(b, a) for a, _, b in judged}
    approved = {
        (a, sign, b)
        for a, sign, b in judged
        if strict or sign != "<>" or not {(a, "<", b), (b, "<", a)} & judged
    }
    everyone = sorted(set(events) | inside)
    unknown: set[tuple[str, str]] = set()
    for a, b in permutations(everyone, 2):
        if a not in inside or b not in inside:  # Un-4
            unknown.add((a, b))
        elif (a, b) not in known:
            if not any((a, e) in known and (b, e) in known for e in inside):  # Un-3
                unknown.add((a, b))
            for e in inside:
                for sign in ("||", "<>"):
                    if (a, sign, e) in approved and (e, sign, b) in approved:  # Un-1
                        unknown.add((a, b))
    changed = True
    while changed:
        changed = False
        for a, b in permutations(everyone, 2):
            if (a, b) in unknown or (a, b) in known:
                continue
            related = {e for e in inside for sign in ("<", "||", "<>") if (a, sign, e) in approved}
            if any((e, b) in unknown for e in related) or (b, a) in unknown:  # Un-2, Un-Sym
                unknown.add((a, b))
                changed = True
    table: Table = {}
    for a, b in permutations(sorted(set(events)), 2):
        if (a, "<", b) in approved:
            table[a, b] = "<"
        elif (b, "<", a) in approved:
            table[a, b] = ">"
        elif (a, "||", b) in approved:
            table[a, b] = "||"
        elif (a, "<>", b) in approved:
            table[a, b] = "<>"
        else:
            table[a, b] = "?" if (a, b) in unknown else None
    return table
