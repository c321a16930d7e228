"""The union of what two microcosms are given."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import TypeVar

from microcosm.errors import Undefined
from microcosm.givens.correspondence import Correspondence
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def union(one: Givens, other: Givens) -> Givens:
    """Everything that either is given. Raises `Undefined` where they record one thing differently.

    A device has one internal chain: the second one's becomes external unless the first has none, or
    one of the two begins with the other. Cost: linear.
    """
    both = one.copy()
    both.internal, external = _chains(one.internal, other.internal)
    whose = other.name or "the other"
    for a, b in external:
        both.add(Correspondence(a, Relation.BEFORE, b, f"internal to {whose}"))
    for fact in (*other.external.values(), *other.refuted.values()):
        both.add(fact)
    _merge(both.stamps, other.stamps, "the stamp of")
    _merge(both.clocks, other.clocks, "the clock of")
    for message in other.messages:
        if message not in one.messages:
            both.messages.append(message)
    both.orderings += [ordering for ordering in other.orderings if ordering not in both.orderings]
    both.complete = one.complete and other.complete
    for token, group in other.tokens.items():
        both.tokens[token] = tuple(dict.fromkeys((*both.tokens.get(token, ()), *group)))
    return both


def _chains(one: list[str], other: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    short, long = sorted((one, other), key=len)
    if long[: len(short)] == short:
        return list(long), []
    return list(one), list(pairwise(other))


def _merge(mine: dict[Key, Value], theirs: dict[Key, Value], what: str) -> None:
    for key, value in theirs.items():
        if mine.setdefault(key, value) != value:
            raise Undefined(f"{what} {key} is recorded differently: {mine[key]} and {value}")
