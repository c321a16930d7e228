"""What is given of single events and pairs: by what a fact is given, and what a rule may ask of messages.

Plain and complete, for proofs rest on it. The base predicates have one meaning for everybody who evaluates
rules:

    send(a)             a sends some message
    receive(a)          a receives some message
    matches(a, b)       a sends a message that b receives (the same message id)
    same_process(a, b)  a and b are message events of one process
    unicast(a)          a sends one message to one receiver, as its statement says
    answered(a, b)      a sends what b receives: the same message id, of which b's process is a
                        receiver if receivers are stated, and no other event can have sent it there
    stamped_out(a, b)   the stamps of a and b rule out that a is before b
    causal(a, b)        answered(a, b), and the network is stated to keep Causal, or a stronger
                        ordering; likewise fifo_1_1, fifo_n_1, fifo_1_n, fifo_n_n and rsc
    causal_interior(a, b)   the same of its interior; likewise the others
    complete(a, b)      the log is stated to tell all of a and b (`covered`, `ports`), and it
                        orders the events of each process and each sending before its receptions

The binary ones relate two different events, as every relation here does. What a process receives from
itself is not answered. Nor is what it receives twice: which of the two came first is not known here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Set
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from microcosm.errors import RuleError
from microcosm.givens.relation import GIVEN_RELATIONS, Clock, Relation, between, too_late

if TYPE_CHECKING:
    from microcosm.givens.columns import Message
    from microcosm.givens.givens import Givens


class Evidence(NamedTuple):
    """Why a fact is given: the kind of given and where it came from."""

    kind: Literal["internal", "external", "clocks", "token"]
    source: str | None = None
    """The provenance of an external correspondence, or the name of the token."""


class GivenFacts:
    """Answers "is `a R b` given, and by what?" for fixed givens.

    Cost: linear in what is given to make; constant for each question, but for links in columns, which the
    first questions read where nobody expected them.
    """

    def __init__(self, givens: Givens) -> None:
        self.givens = givens
        self.chain = {event: at for at, event in enumerate(givens.internal)}
        self._stated = cache(lambda: {event: at for at, event in enumerate(givens.clocks)})
        self.tokens: dict[str, dict[str, None]] = {}
        """Which tokens an event holds; and of the internal chain, `chain`, where it stands, last if twice."""
        for token, group in givens.tokens.items():
            for event in group:
                self.tokens.setdefault(event, {})[token] = None

    @cached_property
    def members(self) -> frozenset[str]:
        """The events in the microcosm."""
        return frozenset(self.givens.members())

    def evidence(self, left: str, relation: Relation, right: str) -> Iterator[Evidence]:
        """Each given that states `left relation right` exactly so (`||` and `<>` of X as written)."""
        if left == right:
            return
        if relation is Relation.BEFORE and -1 < self.chain.get(left, -1) < self.chain.get(right, -1):
            yield Evidence("internal")
        links = self.givens.order_columns if relation in GIVEN_RELATIONS else None
        if links is not None:
            facts = [links.fact(left, right)] if relation is Relation.BEFORE else []
        else:
            stated = self.givens.external if relation in GIVEN_RELATIONS else self.givens.refuted
            facts = [stated.get((a, relation.value or "", b)) for a, b in ((left, right), (right, left))]
        for fact in facts:
            if fact is not None and (fact.left, fact.right) == (left, right):
                yield Evidence("external", fact.source)
        if self._by_clocks(left, relation, right):
            yield Evidence("clocks")
        if relation is Relation.RELATED:
            mine, theirs = self.tokens.get(left, ()), self.tokens.get(right, ())
            yield from (Evidence("token", token) for token in mine if token in theirs)

    def _by_clocks(self, left: str, relation: Relation, right: str) -> bool:
        a, b = self.givens.clocks.get(left), self.givens.clocks.get(right)
        if a is None or b is None:
            return False
        if a.beside(b):
            before = a.own < b.own or (a.own == b.own and self._stated()[left] < self._stated()[right])
            return relation is (Relation.BEFORE if before else Relation.AFTER)
        return between(a, b) is relation or (relation is Relation.NOT_BEFORE and a.missed_by(b))


STAMPED_OUT = "stamped_out"
COMPLETE = "complete"

STRONGER = {
    "fifo-1-1": ("fifo-1-1", "causal", "fifo-n-1", "fifo-1-n", "fifo-n-n", "rsc"),
    "causal": ("causal", "fifo-n-1", "fifo-n-n", "rsc"),
    "fifo-n-1": ("fifo-n-1", "fifo-n-n", "rsc"),
    "fifo-1-n": ("fifo-1-n", "fifo-n-n", "rsc"),
    "fifo-n-n": ("fifo-n-n", "rsc"),
    "rsc": ("rsc",),
}
"""Each message ordering, and those that imply it, of messages with several receivers too.

Orderings Beyond Causality, Lemma 4, and of interiors Theorem 27. That Fifo 1-n implies Causal is left out: it
is true of messages with one receiver only, and stands in the rules, with `unicast`.
"""

_ORDERED = {
    name.replace("-", "_") + ending: {*(f"{one} interior" for one in stronger), *(() if ending else stronger)}
    for name, stronger in STRONGER.items()
    for ending in ("", "_interior")
}
"""Each predicate that rests on a known ordering, and the statements that make it true of messages."""

PREDICATES = {
    **dict.fromkeys(("send", "receive", "unicast"), 1),
    **dict.fromkeys(("matches", "same_process", "answered", STAMPED_OUT, *_ORDERED, COMPLETE), 2),
}
"""Every base predicate, and how many events it is said of."""


class BaseFacts:
    """What the base predicates say of some givens, found when asked for.

    `holds` answers in constant time, `partners` in the size of the answer. Each raises `RuleError` for a
    predicate that does not exist or is said of another number of events.

    `whole` tells of a log that is stated to be complete whether it orders what such a log must order, and
    `reach` what is before or after some events; they are asked once, and only where `complete` is.
    """

    def __init__(self, givens: Givens, whole: Callable[[], bool], reach: Reach) -> None:
        self.givens, self._whole, self._reach = givens, whole, reach
        self._columned: dict[str, _Columns] = {}

    @cached_property
    def _keys(self) -> tuple[_Keys, _Keys, _Keys]:
        """What each event sent, what it received, and whose it is."""
        sent, received, process = _Keys(), _Keys(), _Keys()
        for message in self.givens.messages:
            known = sent if message.kind == "send" else received
            known.setdefault(message.event, {})[message.message] = None
            process.setdefault(message.event, {})[message.process] = None
        return sent, received, process

    @cached_property
    def _events(self) -> dict[str, Set[str]]:
        sent, received, _ = self._keys
        copies: dict[str, set[tuple[str, str | None]]] = {}
        for message in self.givens.messages:
            if message.kind == "send":
                to = set(message.receivers) - {message.process} if message.receivers else {None}
                copies.setdefault(message.event, set()).update((message.message, name) for name in to)
        unicast = {event for event, to in copies.items() if len(to) == 1 and next(iter(to))[1] is not None}
        return {"send": sent.keys(), "receive": received.keys(), "unicast": unicast}

    @cached_property
    def answered(self) -> tuple[_Keys, _Keys]:
        """For each event what it sends and what it receives, each reception by the one that it answers."""
        receptions: dict[tuple[str, str], dict[str, Message]] = {}
        for message in self.givens.messages:
            if message.kind == "receive":
                receptions.setdefault((message.message, message.process), {})[message.event] = message
        sent, received = _Keys(), _Keys()
        sendings = senders(self.givens.messages)
        for (name, process), events in receptions.items():
            (reception, message), *more = events.items()
            found = {(one.event, one.process) for one in sendings(message)}
            if not more and len(found) == 1 and (one := found.pop())[1] != process:
                sent.setdefault(one[0], {})[name, one[0]] = None
                received.setdefault(reception, {})[name, one[0]] = None
        return sent, received

    def shared(self, name: str) -> tuple[_Keys, _Keys]:
        """What is said of events that a binary predicate relates where they share some of it."""
        if name == COMPLETE:
            return self._covered() if self.givens.complete and self._whole() else ({}, {})
        if name == "same_process":
            return self._keys[2], self._keys[2]
        if name == "matches":
            return self._keys[0], self._keys[1]
        if name in _ORDERED and _ORDERED[name].isdisjoint(self.givens.orderings):
            return {}, {}
        return self.answered

    def _covered(self) -> tuple[_Keys, _Keys]:
        """Keys that two events share unless something outside the log may lead from one to the other."""
        events = covered(self.givens)
        exits, entries = ports(self.givens, events)
        leaving, entered = self._reach(exits, 1), self._reach(entries, 0)
        keys = {event: _OPEN[event in leaving, event in entered] for event in events}
        return {event: two[0] for event, two in keys.items()}, {event: two[1] for event, two in keys.items()}

    def _columns(self, name: str) -> _Columns:
        """What is `shared`, and the other way round: from what is shared to the events."""
        if name not in self._columned:
            one, other = self.shared(name)
            self._columned[name] = one, other, _inverse(one), _inverse(other)
        return self._columned[name]

    def events(self, name: str) -> Set[str]:
        """The events of which a unary predicate is true."""
        expect(name, 1)
        return self._events[name]

    def holds(self, name: str, *events: str) -> bool:
        """Whether the predicate is true of `events`."""
        expect(name, len(events))
        if len(events) == 1:
            return events[0] in self._events[name]
        if name == STAMPED_OUT:
            return events[0] != events[1] and too_late(*map(self.givens.stamps.get, events))
        columns = self._columns(name)
        mine, theirs = columns[0].get(events[0], {}), columns[1].get(events[1], {})
        return events[0] != events[1] and any(key in theirs for key in mine)

    def partners(self, name: str, end: int, event: str) -> Iterator[str]:
        """Every x with `name(event, x)` (end 0) or `name(x, event)` (end 1); one may come twice."""
        expect(name, 2)
        if name == STAMPED_OUT:
            pairs = ((event, other) if end == 0 else (other, event) for other in self.givens.stamps)
            yield from (pair[1 - end] for pair in pairs if self.holds(name, *pair))
            return
        columns = self._columns(name)
        keys, others = columns[end].get(event, ()), columns[2] if end else columns[3]
        yield from (other for key in keys for other in others.get(key, ()) if other != event)


def expect(name: str, events: int) -> None:
    """Raise `RuleError` unless `name` is a predicate of so many events."""
    arity = PREDICATES.get(name)
    if arity != events:
        known = ", ".join(f"{p}({', '.join('ab'[:n])})" for p, n in PREDICATES.items())
        fault = "is no base predicate" if arity is None else f"is said of {arity}, not of {events}"
        raise RuleError(f"`{name}` {fault}", hint=f"The base predicates are {known}.")


Reach = Callable[[Set[str], Literal[0, 1]], Set[str]]
"""Some events and all that is given to be after them (end 0), or before them (end 1)."""
_Keys = dict[str, dict[Hashable, None]]
_TWO = {(False, False): ("lex", "elb"), (True, False): "ll", (False, True): "ee", (True, True): "bx"}
_OPEN: dict[tuple[bool, bool], list[dict[Hashable, None]]] = {
    ends: [{key: None for key in keys} for keys in two]  # noqa: C420 (keys of any type)
    for ends, two in _TWO.items()
}
"""The keys of an event as the first of two and as the second, by whether something may lead away from it, and
whether something may lead to it: they share none where one may lead to the other."""
_Events = dict[Hashable, dict[str, None]]
_Columns = tuple[_Keys, _Keys, _Events, _Events]


def _inverse(keys: _Keys) -> _Events:
    """From each key to the events that have it."""
    found: _Events = {}
    for event, own in keys.items():
        for key in own:
            found.setdefault(key, {})[event] = None
    return found


def covered(givens: Givens) -> Set[str]:
    """The events of which the log is stated to tell all. Cost: linear.

    None where an event is said to be of a process that is named and of one that is not.
    """
    if givens.complete is True:
        return {*givens.members(), *givens.events_with_process()}
    named = frozenset(givens.complete or ())
    found = {event for event, process in owned(givens) if process in named}
    others = {event for event, process in owned(givens) if process not in named}
    return found if found.isdisjoint(others) else frozenset()


def owned(givens: Givens) -> Iterator[tuple[str, str]]:
    """Events and the process that each is said to be of, by a message or in so many words. Cost: linear."""
    yield from ((message.event, message.process) for message in givens.messages)
    for process, events in givens.processes.items():
        yield from ((event, process) for event in events)


def lines(givens: Givens) -> dict[str, list[str]]:
    """The events of each process, as far as the log is stated to tell all of them; also those that only a
    clock says are of it. Cost: linear.
    """
    events = covered(givens) if isinstance(givens.complete, tuple) else None
    found: dict[str, list[str]] = {}
    clocked = ((event, clock.process) for event, clock in givens.clocks.items())
    for event, process in dict.fromkeys(chain(clocked, owned(givens))):
        if events is None or event in events:
            found.setdefault(process, []).append(event)
    return found


def undirected(givens: Givens) -> Iterator[Iterable[str]]:
    """The groups of events of which each two are given to be related, in whatever direction. Cost: linear."""
    facts = givens.external.values() if givens.order_columns is None else ()
    yield from ((f.left, f.right) for f in facts if f.relation is Relation.RELATED)
    yield from givens.tokens.values()


class Heard(NamedTuple):
    """What clocks have seen of others, as far as a complete log does not tell of which events that came."""

    fault: str | None
    """What such a log must tell and this one does not, in words."""
    exits: set[str]
    entries: set[str]
    """Something that is not in the log may lead from any exit to any entry."""


def heard(givens: Givens) -> Heard:
    """What the clocks of a complete log have seen without its telling how.

    Clocks stand for messages that are not recorded one by one. Whoever has seen a value of a process has seen
    the event that counted it, and perhaps others that share the value or have no clock; and an event without
    a clock may have seen as much as the next one: nobody knows. So what is seen must be one event's alone, or
    the event before in the process, or one that is stated to come before as by a message, had seen as much.
    Where no message is recorded, each event must have a clock. Cost: linear in what is given and the entries
    of clocks, plus sorting.
    """
    clocks, found = givens.clocks, Heard(None, set(), set())
    counted, told = defaultdict[tuple[str, int], list[str]](list), defaultdict[str, list[Clock]](list)
    silent: dict[str, set[str]] = {}
    for process, line in lines(givens).items() if clocks else ():
        ours = [event for event in line if event in clocks and clocks[event].process == process]
        ours.sort(key=lambda event: clocks[event].own)  # stable: equal ones stay as they are stated
        silent[process] = {*line}.difference(ours)
        for event in ours:
            counted[process, clocks[event].own].append(event)
        for before, event in pairwise(ours):
            told[event].append(clocks[before])
        if ours and not givens.messages and (silent[process] or (process, 0) in counted):
            fault = f"no clock counts some events of {process}, and messages are not recorded one by one"
            return found._replace(fault=fault)
    for fact in givens.external.values() if clocks else ():
        if fact.relation is Relation.BEFORE and fact.left in clocks:
            told[fact.right].append(clocks[fact.left])
    named, vague = {*givens.complete} if isinstance(givens.complete, tuple) else None, set[tuple[str, int]]()
    for event, clock in clocks.items():
        for other, seen in clock.entries.items() if named is None or clock.process in named else ():
            if not seen or other == clock.process or (named is not None and other not in named):
                continue
            if any(cause.entries.get(other, 0) >= seen for cause in told[event]):
                continue
            some, beside = counted.get((other, seen), []), silent.get(other)
            if not some and not beside:
                return found._replace(fault=f"{event} has seen {other} at {seen}, shown by no event")
            if beside or silent.get(clock.process) or len(some) > 1 or not clocks[some[0]].ticked:
                vague.add((other, seen))
                found.entries.add(event)
    for process in {clocks[event].process for event in found.entries}:
        found.entries.update(silent.get(process, ()))
    for process in {process for process, _ in vague}:
        found.exits.update(silent.get(process, ()))
    found.exits.update(*(counted.get(seen, ()) for seen in vague))
    return found


def senders(messages: Iterable[Message]) -> Callable[[Message], list[Message]]:
    """Of each reception the sendings that it may answer: of its message, to its process if that is stated.

    Cost: linear; of a reception, in the sendings of its message.
    """
    sent: dict[str, list[tuple[Message, frozenset[str]]]] = {}
    for one in messages:
        if one.kind == "send":
            sent.setdefault(one.message, []).append((one, frozenset(one.receivers)))
    of = sent.get
    return lambda got: [one for one, to in of(got.message, ()) if not to or got.process in to]


def ports(givens: Givens, events: Set[str]) -> tuple[set[str], set[str]]:
    """The exits and the entries of events that are `covered`. Cost: linear, and that of `heard`.

    `complete` says that nothing is missing from a log: every event is in it, every message, and the order of
    each process. So two events of the microcosm that nothing orders are concurrent.

    `complete alice, bob` says so of some processes: every event of theirs is in it with what it sends and
    receives, their orders, and every message between two of them. Of the others anything may be missing. Let
    a and b be events of processes that are named, not ordered by what is given. Suppose that a came before b.
    Then steps led from a to b, each to the next event of a process or from a sending to its reception. Had
    all of them been of named processes, each would be in the log, and the log would order a and b. So one was
    not. The steps left the named processes for the first time at a sending of theirs to somebody else, an
    *exit*, and came back for the last time at a reception from somebody else, an *entry*. Before that exit
    and after that entry all steps are in the log: it tells that the exit is a or after a, and that the entry
    is b or before b. Hence, where no exit is at or after a, or no entry at or before b, a did not come before
    b. Where that is so both ways, a and b are concurrent.

    Whoever may receive a message is somebody else unless its receivers are stated. Whose an event is say its
    messages, and `process alice = e, f` of events that send and receive nothing. Of which neither is said,
    that is of no known process: it is covered only where the whole log is complete.

    Of either, exits and entries are also what may have been `heard` in ways that the log does not tell.
    """
    _, exits, entries = heard(givens)
    if not isinstance(givens.complete, tuple):
        return exits, entries
    sent = senders(givens.messages)
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
