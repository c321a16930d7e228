"""The union of what several microcosms are given, and the two ends of each message put in order.

A message is sent before it is received: that is so by definition, and names of messages are unique within an
execution. So what several processes recorded, each by itself, is put in order where they are merged. Nothing
is concluded where a name does not tell which sending a reception answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise

from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.kinds import KINDS
from microcosm.givens.relation import Correspondence, Relation


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
