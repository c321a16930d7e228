"""What a pattern matches, and what its parameters are: events, in one pass over their columns, and states,
which are on each process the intervals from an event that begins one to the next that ends it.

A pattern looks at what the log says of an event and at nothing else, so that it is the same in all worlds.

A consistent cut sees an interval when its first event has happened and its last has not. Of intervals that
can block each other some are left by elimination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from microcosm.errors import MicrocosmError
from microcosm.queries.events import as_text, attribute
from microcosm.questions import language
from microcosm.questions.language import EventPattern, Field, StatePattern, Value, compared, operands, within

if TYPE_CHECKING:
    from microcosm.givens.event_table import EventTable


Groups = dict[str, str]
Test = Callable[[Any, Groups], bool]
"""Whether an event, or what is chosen, fits; what its named groups are is put into the dictionary."""

Get = Callable[[language.Operand], Callable[[Any], Any]]
"""What an operand is for each event, by its number, or for what is chosen."""

Values = tuple[str, ...]
"""What the parameters of a match are."""


class Columns:
    """The columns of an event table as lists, which are quicker to look into than what is worked out entry by
    entry. Cost: one pass over a column, when it is first asked for.
    """

    def __init__(self, table: EventTable) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def __getattr__(self, name: str) -> list[Any]:
        column = getattr(self._table, name)
        found: list[Any] = column if isinstance(column, list) else [*column]
        setattr(self, name, found)
        return found


def matched(pattern: EventPattern, table: Columns) -> tuple[list[int], list[Values]]:
    """Every event that matches, by its number in the table, and the parameters of each.

    One without a value for a parameter matches not.

    Cost: a look at the columns that the condition names, an event; where that is one column, a look at its
    value, and of each text that stands there one at the condition.
    """
    test = condition(pattern.condition, partial(getter, table))
    binding = bindings(pattern.parameters, pattern.bound, table)

    def found(number: int) -> Values | None:
        groups: Groups = {}
        return binding(number, groups) if test(number, groups) else None

    parts = [] if pattern.condition is None else within(pattern.condition)
    named = {*pattern.bound.values(), *(side for part in parts for side in operands(part))}
    fields = [one for one in named if isinstance(one, Field)]
    every: Iterable[Values | None] = map(found, range(len(table)))
    if len(fields) == 1:
        every = _by_text(getter(table, fields[0]), found, len(table))
    both = [(number, values) for number, values in enumerate(every) if values is not None]
    return [number for number, _ in both], [values for _, values in both]


def _by_text(
    get: Callable[[int], Any], found: Callable[[int], Values | None], size: int
) -> Iterator[Values | None]:
    """What is found of each event, where that is the same of all for which a field has one text."""
    known: dict[str, Values | None] = {}
    for number in range(size):
        text = get(number)
        if text.__class__ is not str:
            yield found(number)
            continue
        if text not in known:
            known[text] = found(number)
        yield known[text]


def bindings(
    parameters: Sequence[str], bound: dict[str, Field], table: Columns
) -> Callable[[int, Groups], Values | None]:
    """What the parameters of an event are, by its fields and what groups found; None where one has none."""
    if not parameters:
        return lambda number, groups: ()
    getters = [(name, getter(table, bound[name]) if name in bound else None) for name in parameters]

    def of(number: int, groups: Groups) -> Values | None:
        found = []
        for name, get in getters:
            value = groups.get(name) if get is None else as_text(get(number))
            if value is None:
                return None
            found.append(value)
        return tuple(found)

    return of


_TOGETHER: dict[type, Callable[[Iterable[bool]], bool]] = {language.And: all, language.Or: any}


def condition(formula: language.Formula | None, get: Get) -> Test:
    """A condition as a test of an event, or of what is chosen; of these no relations are asked."""
    match formula:
        case None:
            return lambda number, groups: True
        case language.And(parts) | language.Or(parts):
            tests, together = [condition(part, get) for part in parts], _TOGETHER[formula.__class__]
            return lambda one, groups: together(test(one, groups) for test in tests)
        case language.Not(part):
            refused = condition(part, get)
            return lambda one, groups: not refused(one, {})
        case language.Matches():
            return _matches(formula, get(formula.operand))
        case language.Compared():
            left, right, sign = get(formula.left), get(formula.right), formula.sign
            if sign == "=" and isinstance(formula.right, Value):
                wanted = as_text(formula.right.value)
                return lambda one, groups: as_text(left(one)) == wanted
            return lambda one, groups: compared(left(one), sign, right(one))
        case language.OneOf():
            sought, among = get(formula.operand), [get(part) for part in formula.among]
            return lambda one, groups: any(compared(sought(one), "=", part(one)) for part in among)
        case language.Present():
            there = get(formula.field)
            return lambda one, groups: there(one) not in (None, False, "")
    raise AssertionError(formula)


def getter(table: Columns, operand: language.Operand) -> Callable[[int], Any]:
    """What an operand is for each event: a column, an attribute (dots lead into it), or a value."""
    if isinstance(operand, Value):
        value = operand.value
        return lambda number: value
    assert isinstance(operand, Field)
    name = operand.name
    match name:
        case "name" | "message" | "label" | "trace" | "time":
            column: list[Any] = getattr(table, f"{name}s")
            return column.__getitem__
        case "process" | "kind" | "seq" | "file" | "line":
            known = table.processes if name == "process" else getattr(table, f"{name}s")
            return lambda number: known[number] or None
    attributes = table.attributes
    if "." not in name:
        return lambda number: attributes[number].get(name)
    return lambda number: attribute(attributes[number], name)


def fields_missing(pattern: EventPattern | StatePattern, table: Columns) -> list[str]:
    """The fields that a pattern compares, or binds, and no event of the table has.

    Cost: a look at each event for one that is missing.
    """
    match pattern:
        case EventPattern():
            conditions = [] if pattern.condition is None else [pattern.condition]
        case StatePattern():
            conditions = [pattern.begin, pattern.end]
    compared = [part for one in conditions for part in within(one) if not isinstance(part, language.Present)]
    named = [*pattern.bound.values(), *(side for part in compared for side in operands(part))]
    names = dict.fromkeys(
        one.name for one in named if isinstance(one, Field) and one.name not in language.COLUMNS
    )
    found = []
    for name in names:
        get = getter(table, Field(name))
        if len(table) and all(get(number) is None for number in range(len(table))):
            found.append(name)
    return found


def _matches(formula: language.Matches, get: Callable[[Any], Any]) -> Test:
    search, binds = formula.pattern.search, formula.pattern.groupindex

    def found(one: Any, groups: Groups) -> bool:
        value = get(one)
        if value is None:
            return False
        match = search(value if isinstance(value, str) else str(as_text(value)))
        if match is not None and binds:
            groups.update(
                {name: captured for name, captured in match.groupdict().items() if captured is not None}
            )
        return match is not None

    return found


class Interval(NamedTuple):
    """From `begin` on, until `end`; where the log has no end, None, and `last` is the process's last event.

    `broken` says that events of the process are missing in between, so that it may have been interrupted.
    """

    begin: int
    end: int | None
    last: int
    broken: bool
    values: Values

    @property
    def until(self) -> int:
        """The end, or the last event that is known not to be it."""
        return self.last if self.end is None else self.end


class Unordered(MicrocosmError):
    """Two events of one process of which the log does not say which came first."""

    def __init__(self, process: str, one: str, other: str) -> None:
        super().__init__(
            f"the events of {process or 'no process'} are not known to be in one order: {one} and {other}"
        )


def by_process(table: EventTable | Columns) -> dict[str, list[int]]:
    """The events of each process, in its order: by `seq` where all have one, else as they were read."""
    found: dict[str, list[int]] = {}
    for number, process in enumerate(table.processes):
        found.setdefault(process, []).append(number)
    seqs = [*table.seqs]
    for events in found.values():
        if min(map(seqs.__getitem__, events)) > 0:
            events.sort(key=seqs.__getitem__)
    return found


def missing(table: Columns) -> dict[str, int]:
    """How many events are missing of each process, by the gaps in its numbers from 1; of those with any."""
    found, last, processes, seqs = dict[str, int](), dict[str, int](), table.processes, table.seqs
    for number in _in_order(table):
        process, seq = processes[number], seqs[number]
        if seq and (lost := seq - last.get(process, 0) - 1) > 0 and last.get(process) != 0:
            found[process] = found.get(process, 0) + lost
        last[process] = seq
    return found


def intervals(
    pattern: StatePattern, table: Columns, before: Callable[[int, int], bool]
) -> tuple[list[Interval], int]:
    """Every interval of a state, process by process; and how many events end one.

    A start within an interval of the same parameters begins none. Raises `Unordered` where the log does not
    order the starts and ends of a process. Cost: one pass.
    """
    names, seqs, processes = pattern.parameters, table.seqs, table.processes
    begins, ends = (condition(part, partial(getter, table)) for part in (pattern.begin, pattern.end))
    binding = bindings(names, pattern.bound, table)
    only = as_text(pattern.process.value) if isinstance(pattern.process, Value) else None
    runs: dict[str, _Run] = {}
    closed = 0
    for number in _in_order(table):
        process = processes[number]
        run = runs.get(process)
        if run is None:
            if only is not None and process != only:
                continue
            run = runs[process] = _Run()
        seq = seqs[number]
        run.gaps += 0 < run.seq < seq - 1
        run.seq, run.last = seq, number
        groups: Groups = {}
        step = False
        if ends(number, groups):
            closed += 1
            wanted = [groups.get(name) for name in names]
            over = [
                values
                for values in run.starts
                if all(b is None or b == a for a, b in zip(values, wanted, strict=True))
            ]
            for values in over:
                begin, since = run.starts.pop(values)
                run.found.append(Interval(begin, number, number, run.gaps > since, values))
            step = bool(over)
            groups = {}
        bound = binding(number, groups) if begins(number, groups) else None
        if bound is not None and bound not in run.starts:
            run.starts[bound] = number, run.gaps
            step = True
        if step:
            run.advance(number, before, table)
    for run in runs.values():
        for values, (begin, since) in run.starts.items():
            run.found.append(Interval(begin, None, run.last, run.gaps > since, values))
        if run.starts:
            run.advance(run.last, before, table)
    return [one for run in runs.values() for one in run.found], closed


class _Run:
    """One process as far as it was looked at: its last event, the gaps of its numbers, what has begun."""

    __slots__ = ("found", "gaps", "last", "seq", "starts", "step")

    def __init__(self) -> None:
        self.seq = self.gaps = 0
        self.last = self.step = -1
        self.starts: dict[Values, tuple[int, int]] = {}
        self.found: list[Interval] = []

    def advance(self, number: int, before: Callable[[int, int], bool], table: Columns) -> None:
        """A start or an end more. Raises `Unordered` where it is not after the one before it."""
        if 0 <= self.step != number and not before(self.step, number):
            raise Unordered(table.processes[number], table.names[self.step], table.names[number])
        self.step = number


def _in_order(table: Columns) -> Iterable[int]:
    """All events, those of each process in its order: as they were read where that is so already.

    In that order what is looked at lies side by side in memory.
    """
    last: dict[str, int] = {}
    for process, seq in zip(table.processes, table.seqs, strict=True):
        if seq < last.get(process, 0):
            return chain.from_iterable(by_process(table).values())
        last[process] = seq
    return range(len(table))


def on_chains(found: Sequence[Interval], table: EventTable) -> Iterator[list[Interval]]:
    """Intervals of the same process and parameters together, the earliest first."""
    chains: dict[tuple[str, Values], list[Interval]] = {}
    for one in found:
        chains.setdefault((table.processes[one.begin], one.values), []).append(one)
    yield from chains.values()


def remaining(
    chains: Sequence[Sequence[Interval]], blocks: Callable[[Interval, Interval], bool]
) -> list[Interval] | None:
    """One interval of each chain, none of which another one `blocks`; None where there are no such.

    `blocks(one, other)` says that one ends before the other begins, or that the other does not begin before
    one ends. With an interval it has to be so of all that begin later on the other's chain, and with an end,
    of all earlier ends. So an interval that is blocked by the first one left of another chain is done with.
    Cost: O(k²·m) questions for m intervals on each of k chains.
    """
    at = [0] * len(chains)
    if not all(chains):
        return None
    fresh = list(range(len(chains)))
    while fresh:
        i = fresh.pop()
        for j in range(len(chains)):
            while i != j and blocks(chains[i][at[i]], chains[j][at[j]]):
                at[i] += 1
                if at[i] == len(chains[i]):
                    return None
                if i not in fresh:
                    fresh.append(i)
            if i != j and blocks(chains[j][at[j]], chains[i][at[i]]) and j not in fresh:
                fresh.append(j)
    return [chain[k] for chain, k in zip(chains, at, strict=True)]


def joined(chain: Sequence[Interval]) -> list[Interval]:
    """A chain with those as one that follow without a moment between: one event ends one, begins another."""
    found: list[Interval] = []
    for one in chain:
        if found and found[-1].end == one.begin:
            found[-1] = one._replace(begin=found[-1].begin)
        else:
            found.append(one)
    return found
