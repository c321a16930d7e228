"""The kinds of givens, each one entry of a table: its container, what is left of it, what two of it say.

A new kind is a field of `Givens`, an entry here, a statement in `text` with its line and its member of JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from microcosm.errors import Undefined
from microcosm.givens.columns import Facts
from microcosm.givens.relation import Clock

Value = TypeVar("Value")
Groups = dict[str, tuple[str, ...]]
"""Events by the name of their token or process."""


class Kind(NamedTuple):
    """What can be done with all that is given of one kind.

    `copied` makes a container of its own of the same members, `without` one of what is left without some
    events, `joined` the union of two; that raises `Undefined` where they record one thing differently.
    """

    copied: Callable[[Any], Any]
    without: Callable[[Any, Set[str]], Any]
    joined: Callable[[Any, Any], Any]


def _other_events(recorded: Mapping[str, Value], gone: Set[str]) -> dict[str, Value]:
    return {event: value for event, value in recorded.items() if event not in gone}


def _other_facts(facts: Facts, gone: Set[str]) -> Facts:
    return {key: fact for key, fact in facts.items() if gone.isdisjoint((fact.left, fact.right))}


def _other_groups(groups: Groups, gone: Set[str], least: int = 1) -> Groups:
    """What is left of groups, those of fewer than `least` events apart: they say nothing."""
    left = {name: tuple(e for e in group if e not in gone) for name, group in groups.items()}
    return {name: group for name, group in left.items() if len(group) >= least}


def _both_groups(mine: Groups, theirs: Groups) -> Groups:
    """Of each name the events of both."""
    return mine | {name: tuple(dict.fromkeys((*mine.get(name, ()), *more))) for name, more in theirs.items()}


def _longer(mine: list[str], theirs: list[str]) -> list[str]:
    """The longer chain if it begins with the other one, else mine: whose the other is, is said elsewhere."""
    short, long = sorted((mine, theirs), key=len)
    return [*(long if long[: len(short)] == short else mine)]


def _union(mine: list[Value], theirs: list[Value]) -> list[Value]:
    return [*dict.fromkeys((*mine, *theirs))]


def _same(what: str) -> Callable[[Mapping[str, Value], Mapping[str, Value]], dict[str, Value]]:
    """The union of two tables that must agree."""

    def joined(mine: Mapping[str, Value], theirs: Mapping[str, Value]) -> dict[str, Value]:
        both = dict(mine)
        for event, value in theirs.items():
            if both.setdefault(event, value) != value:
                raise Undefined(f"{what} {event} is recorded differently: {both[event]} and {value}")
        return both

    return joined


Level: TypeAlias = "tuple[str | None, str, int]"
"""An execution, one of its processes, and a count of it."""


def levels(clocks: Mapping[str, Clock]) -> dict[Level, list[str]]:
    """The events of each process that count alike, which are in the order in which they are stated.

    Cost: linear.
    """
    found: dict[Level, list[str]] = {}
    for event, clock in clocks.items():
        found.setdefault((clock.execution, clock.process, clock.own), []).append(event)
    return found


def _both_clocks(mine: Mapping[str, Clock], theirs: Mapping[str, Clock]) -> dict[str, Clock]:
    """The union; events of one process that count alike keep the order in which each states them."""
    both, known = _same("the clock of")(mine, theirs), levels(mine)
    for level, events in levels(theirs).items():
        stated = known.get(level, [])
        if stated[: len(events)] != events:
            both.update([(event, both.pop(event)) for event in _in_turn(stated, events, both)])
    return both


def _in_turn(mine: list[str], theirs: list[str], clocks: Mapping[str, Clock]) -> list[str]:
    """Two lists of events that count alike as one. Raises `Undefined` where no order of it is told."""
    shared, one, other, found = {*mine} & {*theirs}, mine[::-1], theirs[::-1], list[str]()
    while one and other:
        heads = {one[-1], other[-1]}
        first = heads if len(heads) == 1 else heads - shared
        if len(first) > 1:  # whoever advanced the count was the first that had it
            first = {event for event in first if clocks[event].ticked}
        if len(first) != 1:
            a, b = sorted(heads)
            raise Undefined(
                f"the clocks of {a} and {b} count alike for process {clocks[a].process}, and it is not told, "
                "or told differently, which came first"
            )
        found += first
        for rest in (one, other):
            if rest[-1] in first:
                rest.pop()
    return [*found, *reversed(one or other)]


def _both_complete(mine: bool | tuple[str, ...], theirs: bool | tuple[str, ...]) -> bool | tuple[str, ...]:
    """What is complete in both: of processes, those that both name."""
    if isinstance(mine, bool) or isinstance(theirs, bool):
        return mine is True and theirs is True
    return tuple(process for process in mine if process in theirs) or False


FACTS = Kind(dict, _other_facts, lambda mine, theirs: {**mine, **theirs, **mine})

KINDS = {
    "internal": Kind(list, lambda chain, gone: [e for e in chain if e not in gone], _longer),
    "external": FACTS,
    "refuted": FACTS,
    "stamps": Kind(dict, _other_events, _same("the stamp of")),
    "clocks": Kind(dict, _other_events, _both_clocks),
    "messages": Kind(
        list,
        lambda messages, gone: [message for message in messages if message.event not in gone],
        _union,
    ),
    "processes": Kind(dict, _other_groups, _both_groups),
    "orderings": Kind(list, lambda known, _: known, _union),
    "complete": Kind(lambda said: said, lambda said, _: said, _both_complete),
    "tokens": Kind(dict, partial(_other_groups, least=2), _both_groups),
}
"""By the field of `Givens` that holds it."""
