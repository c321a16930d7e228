"""What a microcosm is given: plain data, in the order in which it was stated.

Everything that the other layers deduce rests on one `Givens`: the internal chain I, the external
correspondences X (Worlds of Events, Definition 2.3), and the compressed or offline-only statements that go
beyond the paper (clocks, tokens, stamps, refutations, messages, processes, orderings).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain, count, filterfalse
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, overload

from microcosm.errors import NotComplete, Undefined
from microcosm.givens.clock_columns import ClockColumns
from microcosm.givens.columns import Facts, Message, MessageColumns, OrderColumns
from microcosm.givens.event_table import EventTable
from microcosm.givens.kinds import KINDS, levels
from microcosm.givens.relation import GIVEN_RELATIONS, Clock, Correspondence, Relation, Stamp
from microcosm.tuning import gc_paused

_UNORDERED = frozenset({"messages", "processes", "orderings", "complete", "tokens"})


def _set_of(field: str, value: Any) -> object:
    """What a field says, in whatever order it may be said; of an object, by name."""
    if field in ("external", "refuted"):
        return {fact.key() for fact in value.values()}
    if field not in _UNORDERED:
        return value
    if isinstance(value, dict):
        return {name: _set_of(field, each) for name, each in value.items()}
    return frozenset(value) if isinstance(value, list | tuple) else value


class Gap(NamedTuple):
    """Something that speaks against a log's being complete, in words."""

    text: str
    process: str | None = None
    """Of which process something is missing or in no known order; None: it may be of any."""
    elsewhere: bool = False
    """Whether processes may be complete all the same, as it is of others."""

    def concerns(self, processes: Collection[str] | None) -> bool:
        """Whether it speaks against that these processes (None: all) are complete."""
        if processes is None:
            return True
        return not self.elsewhere and (self.process is None or self.process in processes)


@dataclass(slots=True)
class Givens:
    """The givens of one microcosm; `external` and `refuted` are keyed by `Correspondence.key()`.

    The order of `clocks` is the program order of events whose own components are equal. No
    invariant beyond the types is enforced here; `microcosm.state` does that.
    """

    name: str | None = None
    internal: list[str] = field(default_factory=list)
    external: Facts = field(default_factory=dict)
    refuted: Facts = field(default_factory=dict)
    stamps: dict[str, Stamp] = field(default_factory=dict)
    clocks: Mapping[str, Clock] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    processes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Events of each process: those of which no message tells whose they are."""
    orderings: list[str] = field(default_factory=list)
    complete: bool | tuple[str, ...] = False
    """Whether nothing is missing from the log; or of which processes nothing is (`givens.facts`)."""
    tokens: dict[str, tuple[str, ...]] = field(default_factory=dict)
    events: EventTable | None = field(default=None, repr=False, compare=False)
    """What a log says of its events. Nothing follows from it, and copies share it."""
    gaps: tuple[Gap, ...] | None = field(default=None, repr=False, compare=False)
    """What speaks against the completeness of the log that was read; None: of no log."""
    order_columns: OrderColumns | None = field(default=None, init=False, repr=False, compare=False)
    """What is external, in columns, as long as nobody has asked for `external` itself."""
    message_columns: MessageColumns | None = field(default=None, init=False, repr=False, compare=False)
    """The messages, in columns, as long as nobody has asked for `messages` itself."""

    __hash__ = None  # type: ignore[assignment]  # they change

    def __eq__(self, other: object) -> bool:
        """Whether the same is given: an order is said by the chain, by clocks, and by nothing else.

        Also where a symmetric relation is stated the other way round.
        """
        if type(other) is not Givens or levels(self.clocks) != levels(other.clocks):
            return False
        for name in [one.name for one in fields(self) if one.compare]:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs and _set_of(name, mine) != _set_of(name, theirs):
                return False
        return True

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            # Only asked for what is kept in columns so far; or another thread just made it.
            links = self.order_columns if name == "external" else None
            messages = self.message_columns if name == "messages" else None
            with gc_paused():
                if links is not None:
                    self.external, self.order_columns = links.facts(), None
                elif messages is not None:
                    self.messages, self.message_columns = messages.messages(), None
            return object.__getattribute__(self, name)

    def set_order_columns(self, links: OrderColumns) -> None:
        """Let all that is external be these links; there must be nothing external yet."""
        assert not self.external
        del self.external
        self.order_columns = links

    def set_message_columns(self, messages: MessageColumns) -> None:
        """Let the messages be these; there must be none yet."""
        assert not self.messages
        del self.messages
        self.message_columns = messages

    @property
    def external_count(self) -> int:
        """How many external correspondences there are."""
        return len(self.external) if self.order_columns is None else len(self.order_columns)

    @property
    def message_count(self) -> int:
        """How many messages there are, each for its sending and for each reception."""
        return len(self.messages) if self.message_columns is None else len(self.message_columns)

    @property
    def rightly_clocked(self) -> bool:
        """Whether nothing is given but clocks that are right: these say a world, and no other."""
        return isinstance(self.clocks, ClockColumns) and self._clocks_alone

    def keep_clocks_in_columns(self) -> None:
        """Keep clocks in columns where they are right, and alone given. Cost: that of `ClockColumns.of`."""
        if self._clocks_alone and not isinstance(self.clocks, ClockColumns):
            self.clocks = ClockColumns.of(self.clocks) or self.clocks

    @property
    def _clocks_alone(self) -> bool:
        kinds = (kind for kind in KINDS if kind not in ("external", "clocks"))
        return not (self.external_count or any(getattr(self, kind) for kind in kinds))

    @property
    def orders_alone(self) -> bool:
        """Whether every external correspondence is `<`. Cost: linear; none where they are kept in columns."""
        return self.order_columns is not None or all(
            fact.relation is Relation.BEFORE for fact in self.external.values()
        )

    @property
    def beyond_worlds(self) -> bool:
        """Whether the rules may refute what a world allows: an ordering is known, or a log complete."""
        return bool(self.orderings or self.complete)

    def copy(self) -> Givens:
        """An independent copy; the members are immutable and shared. Cost: linear."""
        links, messages, clocks = self.order_columns, self.message_columns, self.clocks
        in_columns = isinstance(clocks, ClockColumns)  # nobody can change these
        kept_apart = {"external": links is not None, "messages": messages is not None, "clocks": in_columns}
        copied = replace(
            self,
            **{
                name: kind.copied(() if kept_apart.get(name) else getattr(self, name))
                for name, kind in KINDS.items()
            },
        )
        if links is not None:
            copied.set_order_columns(links)
        if messages is not None:
            copied.set_message_columns(messages)
        if in_columns:
            copied.clocks = clocks
        return copied

    def without(self, gone: Set[str]) -> Givens:
        """What is left without some events. Cost: linear."""
        return replace(
            self, **{name: kind.without(getattr(self, name), gone) for name, kind in KINDS.items()}
        )

    def by_relation(self) -> dict[Relation, tuple[list[str], list[str]]]:
        """For each relation that is stated, refuted or not, the left ends and the right ends; not of columns.

        >>> givens = Givens(); givens.add(Correspondence("a", Relation.BEFORE, "b")); givens.by_relation()
        {Relation.BEFORE: (['a'], ['b'])}
        """
        found: dict[Relation, tuple[list[str], list[str]]] = {}
        relation, lefts, rights = None, list[str](), list[str]()
        for facts in (self.external, self.refuted) if self.order_columns is None else (self.refuted,):
            for fact in facts.values():
                if fact.relation is not relation:
                    relation = fact.relation
                    lefts, rights = found.setdefault(relation, ([], []))
                lefts.append(fact.left)
                rights.append(fact.right)
        return found

    def add(self, correspondence: Correspondence) -> None:
        """Record an external or refuted correspondence; one already given keeps its provenance."""
        fact = correspondence.normal()
        given = self.external if fact.relation in GIVEN_RELATIONS else self.refuted
        given.setdefault(fact.key(), fact)

    def set_clock(self, event: str, clock: Clock) -> None:
        """Record the clock of an event. Cost: constant; of clocks in columns, all are made once."""
        if not isinstance(self.clocks, dict):
            self.clocks = dict(self.clocks)
        self.clocks[event] = clock

    def members(self) -> Iterator[str]:
        """The events that are *in* the microcosm (in I, in X, clocked or under a token), once each."""
        return iter(self._members())

    def named(self) -> Iterator[str]:
        """Every event that any given names, members first, once each."""
        return iter(self.listed())

    def numbers(self) -> dict[str, int]:
        """The number of each named event, from 0, in the order of `named`."""
        found = dict(zip(self._members(), count(), strict=False))
        refuted = chain.from_iterable(map(_ends, self.refuted.values()))
        outside_members = chain(refuted, self.stamps, self._unlinked_events(), *self.processes.values())
        others = dict.fromkeys(filterfalse(found.__contains__, outside_members))
        found.update(zip(others, count(len(found)), strict=False))
        return found

    def listed(self) -> list[str]:
        """The named events, as `named`. Cost: linear; nothing is looked up where all are in columns."""
        links, clocks = self.order_columns, self.clocks
        others = (self.internal, self.tokens, self.refuted, self.stamps, self.processes)
        if any(others) or (self.message_columns is None and self.messages):
            return [*self.numbers()]
        if links is not None and not clocks:
            return [*links.names, *dict.fromkeys(self._unlinked_events())]
        alone = (
            links is None
            and self.message_columns is None
            and isinstance(clocks, ClockColumns)
            and not self.external
        )
        return [*clocks] if alone else [*self.numbers()]

    def state_complete(self, processes: Sequence[str] | None = None) -> None:
        """State that nothing is missing from the log; or (`processes`) of which processes nothing is.

        Each event of theirs is given then. Raises `NotComplete` where what was read speaks against it; what
        else such a log must tell, tells `microcosm.order.order.lacking`. Cost: linear.
        """
        if signs := tuple(gap.text for gap in self.gaps or () if gap.concerns(processes)):
            raise NotComplete(signs)
        self.complete = True if processes is None else (*processes,)
        self.add_processes_of_table()

    def add_processes_of_table(self) -> None:
        """Where the log is complete, or some processes, let be given whose each event is that no message
        tells of, as the event table has it. Cost: linear.
        """
        if not self.complete or self.events is None:
            return
        known, found = set(self.events_with_process()), dict[str, list[str]]()
        named = {*self.complete} if isinstance(self.complete, tuple) else None
        for event, process in zip(self.events.names, self.events.processes, strict=True):
            if process and event not in known and (named is None or process in named):
                found.setdefault(process, []).append(event)
        for process, events in found.items():
            self.processes[process] = (*self.processes.get(process, ()), *events)

    def events_with_process(self) -> Iterable[str]:
        """The events of the messages and processes, as they are now, once for each."""
        events = (
            map(attrgetter("event"), (*self.messages,))
            if self.message_columns is None
            else self.message_columns.events()
        )
        return chain(events, *self.processes.values())

    def process_columns(self) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        """Columns of events and of the process of each, as links, messages and processes say."""
        messages, links = self.message_columns, self.order_columns
        of_linked = None if links is None else links.processes
        if links is not None and of_linked is not None:
            yield links.names, of_linked
        if messages is None:
            yield [m.event for m in self.messages], [m.process for m in self.messages]
        elif of_linked is None:
            yield [*messages.events()], [*messages.processes()]
        else:
            yield [*self._unlinked_events()], [*map(messages.process.__getitem__, messages.unlinked)]
        for process, events in self.processes.items():
            yield events, [process] * len(events)

    def _unlinked_events(self) -> Iterable[str]:
        """The events of messages; while both are in columns, only those that no link names."""
        if self.message_columns is None:
            return map(attrgetter("event"), (*self.messages,))
        if self.order_columns is None:
            return self.message_columns.events()
        return map(self.message_columns.event.__getitem__, self.message_columns.unlinked)

    def _members(self) -> Iterable[str]:
        found = dict.fromkeys(self.internal)
        if self.order_columns is None:
            for fact in self.external.values():
                found[fact.left] = found[fact.right] = None
        elif not (self.internal or self.clocks or self.tokens):
            return self.order_columns.names
        else:
            found.update(dict.fromkeys(self.order_columns.names))
        found.update(dict.fromkeys(self.clocks))
        for group in self.tokens.values():
            found.update(dict.fromkeys(group))
        return found


_ends = attrgetter("left", "right")


Member = TypeVar("Member")

READ_ONLY = "givens are read only: evolve the microcosm (`add`, `update`, …), or take a `copy()` of them"


class GivenView(Givens):
    """The givens `of` somebody; whoever changes them here is refused.

    `copy` gives givens that may be changed. Cost: none to make, a call for each member that is looked up.

    >>> given = Givens(internal=["a", "b"])
    >>> view = GivenView(given)
    >>> view == given, view.internal[-1], view.copy().internal
    (True, 'b', ['a', 'b'])
    >>> view.internal.append("c")
    Traceback (most recent call last):
    ...
    AttributeError: 'ListView' object has no attribute 'append'
    """

    __slots__ = ("_of",)
    _of: Givens

    def __init__(self, of: Givens) -> None:
        object.__setattr__(self, "_of", of)

    if not TYPE_CHECKING:

        def __new__(cls, of=None, **fields):
            """A view; of fields, as `dataclasses.replace` has them, givens that may be changed."""
            if of is None:
                return Givens(**{name: _changeable(value) for name, value in fields.items()})
            return super().__new__(cls)

        # The types are those of `Givens`, less what would change them.
        name = property(lambda self: self._of.name)
        events = property(lambda self: self._of.events)
        gaps = property(lambda self: self._of.gaps)
        order_columns = property(lambda self: self._of.order_columns)
        message_columns = property(lambda self: self._of.message_columns)

        def add(self, *_: object) -> NoReturn:
            """Refused, as is whatever would change something."""
            raise Undefined(READ_ONLY)

        __setattr__ = __delattr__ = set_order_columns = set_message_columns = add

    def copy(self) -> Givens:
        """An independent copy, which may be changed. Cost: linear."""
        return self._of.copy()

    __copy__ = copy

    def __reduce__(self) -> tuple[object, ...]:
        return Givens.copy, (self._of,)

    __hash__ = None  # as of `Givens`, which change

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Givens):
            return NotImplemented
        return self._of == (other._of if isinstance(other, GivenView) else other)

    def __repr__(self) -> str:
        return repr(self._of)


def _seen(name: str, view: GivenView) -> object:
    return _looked_at(getattr(view._of, name))


for _name in KINDS:
    setattr(GivenView, _name, property(partial(_seen, _name)))


class ListView(Sequence[Member]):
    """A list to be looked at."""

    __slots__ = ("_of",)

    def __init__(self, of: list[Member]) -> None:
        self._of = of

    @overload
    def __getitem__(self, at: int) -> Member: ...
    @overload
    def __getitem__(self, at: slice) -> list[Member]: ...
    def __getitem__(self, at: int | slice) -> Member | list[Member]:
        return self._of[at]

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._of)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | ListView):
            return NotImplemented
        return self._of == (other._of if isinstance(other, ListView) else other)

    def __add__(self, other: list[Member]) -> list[Member]:
        return self._of + other

    def __repr__(self) -> str:
        return repr(self._of)


def _looked_at(value: object) -> object:
    """A list or dictionary to be looked at."""
    if isinstance(value, list):
        return ListView(value)
    return MappingProxyType(value) if isinstance(value, dict) else value


def _changeable(value: object) -> object:
    """A list or dictionary of its own for the view of one."""
    if isinstance(value, ListView):
        return list(value)
    return dict(value) if isinstance(value, MappingProxyType) else value
