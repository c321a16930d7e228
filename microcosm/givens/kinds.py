"""The kinds of givens, each one entry of a table: its container, what is left of it; and the union of two.

A new kind is a field of `Givens`, an entry here, a statement in `text` with its line and its member of JSON.

A message is sent before it is received: that is so by definition, and names of messages are unique within an
execution. So what several processes recorded, each by itself, is put in order where they are merged. Nothing
is concluded where a name does not tell which sending a reception answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from microcosm.errors import Undefined
from microcosm.givens.columns import Facts
from microcosm.givens.facts import GivenFacts
from microcosm.givens.relation import Clock, Correspondence, Relation

if TYPE_CHECKING:
    from microcosm.givens.givens import Givens

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
        list, lambda messages, gone: [message for message in messages if message.event not in gone], _union
    ),
    "processes": Kind(dict, _other_groups, _both_groups),
    "orderings": Kind(list, lambda known, _: known, _union),
    "complete": Kind(lambda said: said, lambda said, _: said, _both_complete),
    "tokens": Kind(dict, partial(_other_groups, least=2), _both_groups),
}
"""By the field of `Givens` that holds it."""


def merged(all_givens: Iterable[Givens], join: bool) -> tuple[Givens, list[str]]:
    """The union of some givens, and what could not be joined in it. Raises `Undefined`. Cost: linear.

    Unless `join`, no message is joined.
    """
    both = reduce(union, all_givens)
    return both, join_messages(both) if join else []


def union(one: Givens, other: Givens) -> Givens:
    """Everything that either is given. Raises `Undefined` where they record one thing differently.

    A device has one internal chain: the second one's becomes external unless the first has none, or
    one of the two begins with the other. Cost: linear.
    """
    both = one.copy()
    both.internal = KINDS["internal"].joined(one.internal, other.internal)
    if both.internal[: len(other.internal)] != other.internal:
        for a, b in pairwise(other.internal):
            both.add(Correspondence(a, Relation.BEFORE, b, f"internal to {other.name or 'the other'}"))
    for name, kind in KINDS.items():
        if name != "internal":
            setattr(both, name, kind.joined(getattr(both, name), getattr(other, name)))
    if other.gaps is not None:
        both.gaps = (*(one.gaps or ()), *other.gaps)
    if other.events is not None:
        both.events = other.events if one.events is None else one.events.joined(other.events)
    return both


def either_complete(one: bool | tuple[str, ...], other: bool | tuple[str, ...]) -> bool | tuple[str, ...]:
    """What is complete where both is said of one log. Cost: linear.

    >>> either_complete(False, ("a",)), either_complete(("a",), ("b", "a")), either_complete(("a",), True)
    (('a',), ('a', 'b'), True)
    """
    if one is True or other is True:
        return True
    return tuple(dict.fromkeys((*(one or ()), *(other or ())))) or False


def join_messages(givens: Givens) -> list[str]:
    """Add `send < receive` for each message of which both ends are named; what could not be joined.

    An order that is given already is left as it is. A reception is not joined with several sendings of its
    message, nor with one to other receivers; each such message is reported once. Cost: linear in the
    messages.

    >>> from microcosm.givens.columns import Message
    >>> from microcosm.givens.givens import Givens
    >>> givens = Givens(messages=[Message("send", "e", "m", "p"), Message("receive", "f", "m", "q")])
    >>> join_messages(givens), [str(fact) for fact in givens.external.values()]
    ([], ['e < f'])
    """
    if not any(True for _ in givens.events_with_process()):
        return []
    facts = GivenFacts(givens)
    reported: dict[str, str] = {}
    for message, sender, reception in ends(givens, reported):
        if next(facts.evidence(sender, Relation.BEFORE, reception), None) is None:
            givens.add(Correspondence(sender, Relation.BEFORE, reception, f"message {message}"))
    return list(reported.values())


def ends(givens: Givens, reported: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Each message with the event that sent it and one that received it, where its name tells which.

    What a name does not tell is put into `reported`, under the name of the message. Cost: linear in the
    messages, and in the sendings of one name for each reception.
    """
    sent: dict[str, dict[str, frozenset[str]]] = {}
    for entry in givens.messages:
        if entry.kind == "send":
            sent.setdefault(entry.message, {})[entry.event] = frozenset(entry.receivers)
    for entry in givens.messages:
        if entry.kind != "receive" or entry.message not in sent:
            continue
        sendings = sent[entry.message].items()
        fit = [event for event, receivers in sendings if not receivers or entry.process in receivers]
        if len(fit) > 1:
            reported[entry.message] = f"message {entry.message} was sent by {' and by '.join(sorted(fit))}"
        elif not fit:
            reported[entry.message] = f"message {entry.message} was not sent to {entry.process}"
        elif fit[0] != entry.event:
            yield entry.message, fit[0], entry.event
