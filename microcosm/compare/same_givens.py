"""When two microcosms are given the same, and by what they differ if not (seed 003, Definition 6.1).

Equal I and equal X, symmetric relations unordered; and equal clocks, tokens, refutations, stamps,
messages, orderings and completeness, which are givens too. Names, provenance, the order in which things
were told, and what a writer may leave out (zero entries of clocks, tokens without events) do not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from microcosm.givens.clock import Clock, Stamp
from microcosm.givens.columns import Message
from microcosm.givens.exact import Number, as_float
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.text.mc_reader import write_mc

Item = tuple[object, ...]
"""A kind of given and what it says: strings, numbers, booleans and nested tuples of these."""


def given_items(givens: Givens) -> Iterator[Item]:
    """All that is given, each thing in one form; equal as sets where the givens are equal. Cost: linear."""
    if givens.internal:
        yield ("internal", *givens.internal)
    for kind, facts in (("external", givens.external), ("refuted", givens.refuted)):
        yield from ((kind, *key) for key in facts)
    for event, stamp in givens.stamps.items():
        yield ("stamp", event, *_stamp(stamp))
    yield from _clocks(givens.clocks)
    for message, times in Counter(map(_message, givens.messages)).items():
        yield ("message", times, *message)
    yield from (("ordering", ordering) for ordering in set(givens.orderings))
    if givens.complete:
        yield ("complete",)
    for token, group in givens.tokens.items():
        if group:
            yield ("token", token, *sorted(set(group)))


def same_givens(one: Givens, other: Givens) -> bool:
    """Whether two microcosms are given the same.

    >>> one, other = Givens(), Givens(name="other")
    >>> one.add(Correspondence("a", Relation.CONCURRENT, "b"))
    >>> other.add(Correspondence("b", Relation.CONCURRENT, "a"))
    >>> same_givens(one, other)
    True
    """
    return set(given_items(one)) == set(given_items(other))


def given_differences(one: Givens, other: Givens) -> tuple[list[Item], list[Item]]:
    """What only the one is given and what only the other is, both in order of text."""
    mine, theirs = set(given_items(one)), set(given_items(other))
    return sorted(mine - theirs, key=repr), sorted(theirs - mine, key=repr)


def said(item: Item, givens: Givens) -> str:
    """A given as its own file says it, on one line."""
    alone = Givens()
    kind, *rest = item
    match kind:
        case "internal":
            alone.internal = list(givens.internal)
        case "external" | "refuted":
            left, sign, right = map(str, rest)
            alone.add(Correspondence(left, Relation(sign), right))
        case "stamp":
            alone.stamps = {str(rest[0]): givens.stamps[str(rest[0])]}
        case "clock":
            alone.clocks = {str(rest[0]): givens.clocks[str(rest[0])]}
        case "message":
            alone.messages = [m for m in givens.messages if _message(m) == tuple(rest[1:])][:1]
        case "ordering":
            alone.orderings = [str(rest[0])]
        case "complete":
            alone.complete = True
        case "token":
            alone.tokens = {str(rest[0]): givens.tokens[str(rest[0])]}
        case _:
            return "the order in which clocks with equal components are stated"
    return write_mc(alone, sources=False).rstrip("\n")


def _stamp(stamp: Stamp) -> Item:
    return (stamp,) if isinstance(stamp, int) else (_bound(stamp[0]), _bound(stamp[1]))


def _bound(value: Number) -> object:
    """A number in one form, however many zeros it was written with; a fraction where it has many digits."""
    near = as_float(value)
    return str(Fraction(value)) if near is None else near


def _message(message: Message) -> Item:
    receivers = tuple(sorted(set(message.receivers)))
    return (message.kind, message.event, message.message, message.process, *receivers)


def _clocks(clocks: dict[str, Clock]) -> Iterator[Item]:
    """Each clock, and each run of events of one process whose order is that of statement only."""
    level: dict[tuple[str | None, str, int], list[str]] = {}
    for event, clock in clocks.items():
        entries = tuple(sorted((p, count) for p, count in clock.entries.items() if count))
        execution = () if clock.execution is None else (clock.execution,)
        yield ("clock", event, clock.process, entries, clock.ticked and clock.own > 0, *execution)
        level.setdefault((clock.execution, clock.process, clock.own), []).append(event)
    for events in level.values():
        if len(events) > 1:
            yield ("stated in this order", *events)
