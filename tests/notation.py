"""Microcosms and verdict tables so terse that a test reads like a sentence.

mc("a<b c||d e<>f | i1 i2")     externals, then after a lone bar the internal chain
table("a<b a||c b.c")           the expected verdicts; a dot is silence
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import permutations

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation

Verdicts = dict[tuple[str, str], Relation]

_SIGNS = re.compile(r"(!<>|!\|\||!<|<>|\|\||<|>|\?|\.)")


def mc(text: str) -> Givens:
    """A microcosm: `a<b<c` is short for its links, `a!<b` is a refutation, `| i1 i2` the internal chain."""
    stated, _, chain = text.partition(" | ") if not text.startswith("| ") else ("", "", text[2:])
    givens = Givens(internal=chain.split())
    for fact in facts(stated):
        givens.add(fact)
    return givens


def facts(text: str) -> list[Correspondence]:
    """The correspondences of a text such as `a<b<c d||e`, in order."""
    found = []
    for word in text.split():
        parts = _SIGNS.split(word)
        for at in range(0, len(parts) - 2, 2):
            found.append(Correspondence(parts[at], Relation(_sign(parts[at + 1])), parts[at + 2]))
    return found


def table(text: str) -> Verdicts:
    """The verdicts written in `text`, read in both directions."""
    expected: Verdicts = {}
    for fact in facts(text):
        expected[fact.left, fact.right] = fact.relation
        expected[fact.right, fact.left] = fact.relation.converse
    return expected


def verdicts(events: Iterable[str], ask: Callable[[str, str], Relation]) -> Verdicts:
    """What `ask` answers for every ordered pair of `events`."""
    return {(a, b): ask(a, b) for a, b in permutations(sorted(set(events)), 2)}


def _sign(text: str) -> str | None:
    return None if text == "." else text
