"""Of which events a complete log tells all, and where what it does not tell may come in.

`complete` says that nothing is missing from a log: every event is in it, every message, and the order of each
process. So two events of the microcosm that nothing orders are concurrent.

`complete alice, bob` says so of some processes: every event of theirs is in it with what it sends and
receives, their orders, and every message between two of them. Of the others anything may be missing. Let a
and b be events of processes that are named, not ordered by what is given. Suppose that a came before b. Then
steps led from a to b, each to the next event of a process or from a sending to its reception. Had all of them
been of named processes, each would be in the log, and the log would order a and b. So one was not. The steps
left the named processes for the first time at a sending of theirs to somebody else, an *exit*, and came back
for the last time at a reception from somebody else, an *entry*. Before that exit and after that entry all
steps are in the log: it tells that the exit is a or after a, and that the entry is b or before b. Hence,
where no exit is at or after a, or no entry at or before b, a did not come before b. Where that is so both
ways, a and b are concurrent.

Whoever may receive a message is somebody else unless its receivers are stated. Whose an event is say its
messages, and `process alice = e, f` of events that send and receive nothing. Of which neither is said, that
is of no known process: it is covered only where the whole log is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from microcosm.givens.relation import Relation

if TYPE_CHECKING:
    from microcosm.givens.columns import Message
    from microcosm.givens.givens import Givens


def covered(givens: Givens) -> Set[str]:
    """The events of which the log is stated to tell all. Cost: linear.

    None where an event is said to be of a process that is named and of one that is not.
    """
    if givens.complete is True:
        return {*givens.members(), *givens.tellers()}
    named = frozenset(givens.complete or ())
    found = {event for event, process in owned(givens) if process in named}
    others = {event for event, process in owned(givens) if process not in named}
    return found if found.isdisjoint(others) else frozenset()


def owned(givens: Givens) -> Iterator[tuple[str, str]]:
    """Events and the process that each is said to be of, by a message or in so many words. Cost: linear."""
    yield from ((message.event, message.process) for message in givens.messages)
    for process, events in givens.processes.items():
        yield from ((event, process) for event in events)


def senders(messages: Iterable[Message]) -> Callable[[Message], list[Message]]:
    """Of each reception the sendings that it may answer: of its message, to its process if that is stated.

    Cost: linear; of a reception, in the sendings of its message.
    """
    sent: dict[str, list[Message]] = {}
    for one in messages:
        if one.kind == "send":
            sent.setdefault(one.message, []).append(one)
    return lambda received: [s for s in sent.get(received.message, ()) if s.may_reach(received.process)]


def ports(givens: Givens, events: Set[str]) -> tuple[set[str], set[str]]:
    """The exits and the entries of events that are `covered`: none of a log that is whole. Cost: linear."""
    if not isinstance(givens.complete, tuple):
        return set(), set()
    exits, entries, sent = set[str](), set[str](), senders(givens.messages)
    for one in givens.messages:
        if one.kind == "send" and not (one.receivers and {*one.receivers} <= {*givens.complete}):
            exits.add(one.event)
        if one.kind == "receive" and not (sent(one) and {s.event for s in sent(one)} <= events):
            entries.add(one.event)
    stated = ((f.left, f.right) for f in givens.external.values() if f.relation is Relation.BEFORE)
    for a, b in chain(stated, pairwise(givens.internal)):
        exits.update(() if b in events else (a,))
        entries.update(() if a in events else (b,))
    return exits & events, entries & events
