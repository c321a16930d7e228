"""Offline decision making at depth 0, on sets of pairs, by hand: nothing of the package is used.

Worlds of Events, Figure 5, without assumptions; `<>` stands for all that is not concurrent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.oracle import Triple

Pairs = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Propagated:
    """What is ordered, what is refuted (a !< b), and what is not concurrent."""

    before: Pairs
    refuted: Pairs
    related: Pairs

    def among(self, events: Iterable[str]) -> Propagated:
        """The same of some of the events."""
        kept = {*events}

        def inside(pairs: Pairs) -> Pairs:
            return frozenset(pair for pair in pairs if {*pair} <= kept)

        return Propagated(inside(self.before), inside(self.refuted), inside(self.related))


def propagated(stated: Iterable[Triple]) -> Propagated | None:
    """The fixpoint of statements `<`, `||`, `<>` and `!<`; None where it contradicts itself."""
    before: set[tuple[str, str]] = set()
    refuted: set[tuple[str, str]] = set()
    related: set[tuple[str, str]] = set()
    for a, sign, b in stated:
        if sign == "<":
            before.add((a, b))
        elif sign == "<>":
            related |= {(a, b), (b, a)}
        else:
            refuted |= {(a, b), (b, a)} if sign == "||" else {(a, b)}
    size = -1
    while size != len(before) + len(refuted) + len(related):
        size = len(before) + len(refuted) + len(related)
        refuted |= {(b, a) for a, b in before}
        related |= before | {(b, a) for a, b in before}
        before |= {(a, b) for a, b in related if (b, a) in refuted}
        later, never, unless = by_first(before), by_first(refuted), by_first((b, a) for a, b in refuted)
        before |= {(a, c) for a, b in before for c in later.get(b, ())}
        refuted |= {(b, c) for a, b in before for c in never.get(a, ()) if c != b}
        refuted |= {(c, a) for a, b in before for c in unless.get(b, ()) if c != a}
    if before & refuted or any(a == b for a, b in before):
        return None
    return Propagated(frozenset(before), frozenset(refuted), frozenset(related))


def by_first(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for a, b in pairs:
        found.setdefault(a, set()).add(b)
    return found
