"""Base predicates: what a rule may ask of the messages of a microcosm.

One meaning for everybody who evaluates rules:

    send(a)             a sends some message
    receive(a)          a receives some message
    matches(a, b)       a sends a message that b receives (the same message id)
    same_process(a, b)  a and b are message events of one process
    stamped_out(a, b)   the stamps of a and b rule out that a is before b
    causal(a, b)        matches(a, b), and the network is stated to keep Causal, or a stronger
                        ordering; likewise fifo_1_1, fifo_n_1, fifo_1_n, fifo_n_n and rsc
    causal_interior(a, b)   the same of its interior; likewise the others
    complete(a, b)      a and b are message events of a log that is stated to be complete, and that
                        orders the events of each process and each sending before its receptions

The binary ones relate two different events, as every relation here does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cached_property

from microcosm.errors import RuleError
from microcosm.relations.givens import Givens
from microcosm.relations.stamps import too_late
from microcosm.relations.whole import lacking

STAMPED_OUT = "stamped_out"

STRONGER = {
    "fifo-1-1": ("fifo-1-1", "causal", "fifo-n-1", "fifo-1-n", "fifo-n-n", "rsc"),
    "causal": ("causal", "fifo-n-1", "fifo-1-n", "fifo-n-n", "rsc"),
    "fifo-n-1": ("fifo-n-1", "fifo-n-n", "rsc"),
    "fifo-1-n": ("fifo-1-n", "fifo-n-n", "rsc"),
    "fifo-n-n": ("fifo-n-n", "rsc"),
    "rsc": ("rsc",),
}
"""Each message ordering, and those that imply it (seed 004, Lemma 4; of interiors Theorem 27)."""

_ORDERED = {
    name.replace("-", "_") + ending: {*(f"{one} interior" for one in stronger), *(() if ending else stronger)}
    for name, stronger in STRONGER.items()
    for ending in ("", "_interior")
}
"""Each predicate that rests on a known ordering, and the statements that make it true of messages."""

PREDICATES = {"send": 1, "receive": 1, "matches": 2, "same_process": 2, STAMPED_OUT: 2} | dict.fromkeys(
    (*_ORDERED, "complete"), 2
)
"""Every base predicate, and how many events it is said of."""


def base_facts(givens: Givens) -> BaseFacts:
    """The base predicates of a microcosm. Cost: linear in its messages.

    >>> from microcosm.relations.told import Message
    >>> messages = [Message("send", "e", "m", "p"), Message("receive", "f", "m", "q")]
    >>> facts = base_facts(Givens(messages=messages))
    >>> facts["matches"], facts["send"]
    (frozenset({('e', 'f')}), frozenset({('e',)}))
    """
    return BaseFacts(givens)


class BaseFacts(Mapping[str, Set[tuple[str, ...]]]):
    """From each predicate to its facts, as tuples of events; made when asked for.

    `facts["same_process"]` is quadratic in the events of a process. `holds` and `partners` answer
    without it, in constant time and in the size of the answer. Each raises `RuleError` for a predicate
    that does not exist or is said of another number of events.
    """

    def __init__(self, givens: Givens) -> None:
        self._givens, self._stamps = givens, givens.stamps
        self._orderings, self._complete = givens.orderings, givens.complete
        self._made: dict[str, frozenset[tuple[str, ...]]] = {}

    @cached_property
    def _keys(self) -> tuple[_Keys, _Keys, _Keys]:
        """What each event sent, what it received, and whose it is."""
        sent: _Keys = {}
        received: _Keys = {}
        process: _Keys = {}
        for message in self._givens.messages:
            known = sent if message.kind == "send" else received
            known.setdefault(message.event, {})[message.message] = None
            process.setdefault(message.event, {})[message.process] = None
        return sent, received, process

    @cached_property
    def _events(self) -> dict[str, Set[str]]:
        sent, received, _ = self._keys
        return {"send": sent.keys(), "receive": received.keys()}

    @cached_property
    def _shared(self) -> dict[str, tuple[_Keys, _Keys]]:
        sent, received, process = self._keys
        shared: dict[str, tuple[_Keys, _Keys]] = {
            "matches": (sent, received),
            "same_process": (process, process),
        }
        for name, statements in _ORDERED.items():
            shared[name] = ({}, {}) if statements.isdisjoint(self._orderings) else (sent, received)
        whole = self._complete and lacking(self._givens) is None
        every: _Keys = {event: {"": None} for event in process} if whole else {}
        shared["complete"] = (every, every)
        return shared

    @cached_property
    def _by_key(self) -> dict[str, tuple[_Keys, _Keys]]:
        return {name: (_inverse(a), _inverse(b)) for name, (a, b) in self._shared.items()}

    def __getitem__(self, name: str) -> frozenset[tuple[str, ...]]:
        if name not in self._made:
            self._made[name] = frozenset(self._facts(name))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PREDICATES)

    def __len__(self) -> int:
        return len(PREDICATES)

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
            one, other = (self._stamps.get(event) for event in events)
            return events[0] != events[1] and too_late(one, other)
        mine, theirs = (keys.get(event, {}) for keys, event in zip(self._shared[name], events, strict=True))
        return events[0] != events[1] and any(key in theirs for key in mine)

    def partners(self, name: str, end: int, event: str) -> Iterator[str]:
        """Every x with `name(event, x)` (end 0) or `name(x, event)` (end 1); one may come twice."""
        expect(name, 2)
        if name == STAMPED_OUT:
            for other in self._stamps:
                if self.holds(name, *((event, other) if end == 0 else (other, event))):
                    yield other
            return
        for key in self._shared[name][end].get(event, ()):
            for other in self._by_key[name][1 - end].get(key, ()):
                if other != event:
                    yield other

    def _facts(self, name: str) -> Iterator[tuple[str, ...]]:
        if name in self._events:
            return ((event,) for event in self._events[name])
        expect(name, 2)
        if name == STAMPED_OUT:
            return ((a, b) for a in self._stamps for b in self.partners(name, 0, a))
        return ((a, b) for a in self._shared[name][0] for b in self.partners(name, 0, a))


def expect(name: str, events: int) -> None:
    """Raise `RuleError` unless `name` is a predicate of so many events."""
    arity = PREDICATES.get(name)
    if arity != events:
        known = ", ".join(f"{p}({', '.join('ab'[:n])})" for p, n in PREDICATES.items())
        fault = "is no base predicate" if arity is None else f"is said of {arity}, not of {events}"
        raise RuleError(f"`{name}` {fault}", hint=f"The base predicates are {known}.")


_Keys = dict[str, dict[str, None]]


def _inverse(keys: _Keys) -> _Keys:
    """From each key to the events that have it."""
    found: _Keys = {}
    for event, own in keys.items():
        for key in own:
            found.setdefault(key, {})[event] = None
    return found
