"""The value of a formula: true in every world, false in every world, or open; row by row, never a pair at a
time. Of states at once: whether intervals can be seen at once, in some run or in each; n of them by
elimination.

The last variable of a quantifier is evaluated over a whole group at once, as a row of those for which the
formula is true and one of those for which it is false (Kleene's three values); variables before it are gone
through. Groups are the candidates whose shared parameters are equal.

A run adds the events of a world one by one, each after what is before it; a consistent cut is what some run
has added at some time. n intervals can be seen at once iff none ends at or before the start of another: the
least cut that has all the starts has none of the ends then. They are seen at once in each run iff each start
is before each end of another. Of which neither can be so are left out by elimination (Garg and Waldecker,
weak and strong conjunctive predicates); docs/reference/questions.md, propositions 2 to 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from microcosm.errors import Stopped, Undefined
from microcosm.givens.relation import Relation
from microcosm.order.bits import bits, from_positions
from microcosm.queries.events import as_text
from microcosm.questions.language import (
    And,
    Binder,
    Compared,
    Field,
    Formula,
    Is,
    Not,
    Operand,
    Or,
    Parameter,
    Quantified,
    Reference,
    Related,
    Value,
    operands,
    within,
)
from microcosm.questions.patterns import Interval, Test, condition, getter, joined, on_chains, remaining
from microcosm.questions.questioned_log import FALSE, OPEN, TRUE, Group, Part, QuestionedLog, Row, Scope
from microcosm.worlds.search import STOPPED, Stop


class Evaluation:
    """Values of formulas over one log. Where `stop`, asked now and then, says so, `Stopped` is raised."""

    def __init__(self, log: QuestionedLog, stop: Stop | None = None) -> None:
        self.log = log
        self._stop = stop
        self._is: dict[tuple[Reference, tuple[tuple[str, str], ...]], frozenset[int]] = {}
        self._getters: dict[Operand, Callable[[int], Any]] = {}
        self._tests: dict[Formula, Test] = {}
        self._columns: dict[tuple[int, Operand], tuple[Group, dict[str | None, int]]] = {}

    # -- one value -----------------------------------------------------------------------------------------

    def value(self, formula: Formula, scope: Scope) -> int:
        """The value of a formula all of whose variables are chosen."""
        match formula:
            case Not(part):
                return -self.value(part, scope)
            case And(parts) | Or(parts):
                decisive, both = (FALSE, min) if isinstance(formula, And) else (TRUE, max)
                found = -decisive
                for part in parts:
                    found = both(found, self.value(part, scope))
                    if found == decisive:
                        break
                return found
            case Related(left, relation, right):
                one, other = scope.variables[left], scope.variables[right]
                if relation is None and not formula.same:
                    alone = Group(other.candidates, [other.number], self.log.judged)
                    seen = self._in_each_run if formula.surely else self._overlaps
                    return _kleene(seen(one.interval, alone))
                possible = self.log.judged.frame((other.event,)).possible(one.event)
                return _kleene(possible.decided(relation, 1))
            case Is():
                at = scope.variables[formula.variable].event
                return TRUE if at in self.matching(formula.reference, scope) else FALSE
            case Quantified():
                return self._quantified(formula, scope)
        test = self._tests.get(formula)
        if test is None:
            test = self._tests[formula] = condition(formula, lambda operand: partial(self.operand, operand))
        return TRUE if test(scope, {}) else FALSE

    def _quantified(self, formula: Quantified, scope: Scope) -> int:
        if (found := at_once(self.log, formula, scope)) is not None:
            return found[0]
        seen = True
        for part in self.tuples(formula, scope):
            if part.row[not formula.some]:
                return TRUE if formula.some else FALSE
            seen = seen and not part.open
        if formula.some:
            return FALSE if seen and self.log.complete else OPEN
        return TRUE if seen else OPEN

    def operand(self, operand: Operand, scope: Scope) -> Any:
        """What an operand is here."""
        match operand:
            case Value(value):
                return value
            case Parameter(name):
                return scope.parameters[name]
            case Field(_, variable):
                assert variable is not None
                return self._field(operand)(scope.variables[variable].event)

    def _field(self, operand: Field) -> Callable[[int], Any]:
        get = self._getters.get(operand)
        if get is None:
            get = self._getters[operand] = getter(self.log.columns, Field(operand.name))
        return get

    def matching(self, reference: Reference, scope: Scope) -> frozenset[int]:
        """The events that a reference names, its arguments being what they are here."""
        named = tuple(
            (one.name, scope.parameters[one.name])
            for one in reference.arguments
            if isinstance(one, Parameter) and one.name in scope.parameters
        )
        found = self._is.get((reference, named))
        if found is None:
            group = self.log.group(reference, dict(named))
            found = frozenset(group.candidates.events[member] for member in group.members)
            self._is[reference, named] = found
        return found

    # -- rows ----------------------------------------------------------------------------------------------

    def tuples(self, formula: Quantified, scope: Scope) -> Iterator[Part]:
        """The tuples of a quantifier, those that differ in the last variable only together."""
        yield from self._chosen(formula, 0, scope)

    def _chosen(self, formula: Quantified, depth: int, scope: Scope) -> Iterator[Part]:
        if self._stop is not None and self._stop():
            raise Stopped(STOPPED)
        name, reference = formula.binders[depth]
        group = self.log.group(reference, scope.parameters)
        if depth + 1 == len(formula.binders):
            among = self._distinct(formula, scope, group)
            if formula.where is not None and among:
                among = self.row(formula.where, scope, formula.binders[depth], group, among)[0]
            if among:
                row = self.row(formula.body, scope, formula.binders[depth], group, among)
                yield Part(scope, formula.binders[depth], group, among, row)
            return
        for member in group.members:
            yield from self._chosen(
                formula, depth + 1, scope.with_choice(name, reference, group.candidates, member)
            )

    def _distinct(self, formula: Quantified, scope: Scope, group: Group) -> int:
        """Those of the last group that make a tuple: of a pair that is taken once, those after the first."""
        if not formula.distinct or len(formula.binders) != 2:
            return group.every
        (first, reference), (_, other) = formula.binders
        chosen = scope.variables[first]
        if formula.once:
            later = [at for at, member in enumerate(group.members) if member > chosen.number]
            return from_positions(later, len(group.members))
        if chosen.candidates.states is not None:
            if reference.name != other.name:
                return group.every
            return group.every & ~only(group, chosen.number)
        return group.every & ~group.frame.possible(chosen.event).same

    def row(self, formula: Formula, scope: Scope, last: Binder, group: Group, among: int) -> Row:
        """The value of a formula for those of a group that are `among`, as the variable `last`."""
        match formula:
            case Not(part):
                true, false = self.row(part, scope, last, group, among)
                return false, true
            case And(parts):
                true, false = among, 0
                for part in parts:
                    if not among & ~false:
                        break
                    more = self.row(part, scope, last, group, among & ~false)
                    true, false = true & more[0], false | more[1]
                return true, false
            case Or(parts):  # not all of them are false
                return self.row(Not(And(tuple(map(Not, parts)))), scope, last, group, among)
            case Related():
                true, false = self._related(formula, scope, last[0], group, among)
                return true & among, false & among
            case Compared() if (found := self._compared(formula, scope, last, group)) is not None:
                return found & among, among & ~found
        if not self._speaks_of(formula, last):
            return _all(self.value(formula, scope), among)
        true = false = 0
        for at in bits(among):
            chosen = scope.with_choice(*last, group.candidates, group.members[at])
            found = self.value(formula, chosen)
            true |= (found == TRUE) << at
            false |= (found == FALSE) << at
        return true, false

    def _speaks_of(self, formula: Formula, last: Binder) -> bool:
        """Whether the value may depend on the last variable, or on a parameter of it."""
        name, reference = last
        parameters = {one for one in reference.arguments if isinstance(one, Parameter)}
        for part in within(formula):
            if isinstance(part, Quantified):
                return True
            if isinstance(part, Related) and name in (part.left, part.right):
                return True
            if isinstance(part, Is) and (name == part.variable or parameters & {*part.reference.arguments}):
                return True
            for one in operands(part):
                if one in parameters or (isinstance(one, Field) and one.variable == name):
                    return True
        return False

    def _compared(self, formula: Compared, scope: Scope, last: Binder, group: Group) -> int | None:
        """`=` and `!=` between what is chosen and the last variable: a look-up in a column of it."""
        if formula.sign not in ("=", "!="):
            return None
        left, right = formula.left, formula.right
        if self._of_last(left, scope, last):
            left, right = right, left
        if not self._of_last(right, scope, last) or self._of_last(left, scope, last):
            return None
        value = as_text(self.operand(left, scope))
        if value is None:
            return 0
        column = self._column(right, last, group)
        same = column.get(value, 0)
        return same if formula.sign == "=" else column[None] & ~same

    def _of_last(self, operand: Operand, scope: Scope, last: Binder) -> bool:
        if isinstance(operand, Field):
            return operand.variable == last[0]
        return isinstance(operand, Parameter) and operand.name not in scope.parameters

    def _column(self, operand: Operand, last: Binder, group: Group) -> dict[str | None, int]:
        """For each value of an operand those of a group that have it; under None all that have any."""
        known = self._columns.get((id(group), operand))
        if known is not None and known[0] is group:
            return known[1]
        rows: dict[str | None, int] = {None: 0}
        for at, member in enumerate(group.members):
            scope = Scope().with_choice(*last, group.candidates, member)
            value = as_text(self.operand(operand, scope))
            if value is not None:
                rows[value] = rows.get(value, 0) | 1 << at
                rows[None] |= 1 << at
        if len(self._columns) > 256:
            self._columns.clear()
        self._columns[id(group), operand] = group, rows
        return rows

    def _related(self, formula: Related, scope: Scope, last: str, group: Group, among: int) -> Row:
        left, relation, right = formula.left, formula.relation, formula.right
        if last not in (left, right):
            return _all(self.value(formula, scope), among)
        if left == right:
            if relation is None and not formula.same:
                return among & ~group.broken, 0
            return _all(TRUE if formula.same else FALSE, among)
        if left == last:
            other, relation = scope.variables[right], relation.converse if relation is not None else None
        else:
            other = scope.variables[left]
        if formula.surely:
            return self._in_each_run(other.interval, group)
        if relation is None and not formula.same:
            return self._overlaps(other.interval, group)
        return group.frame.possible(other.event).decided(relation, group.every)

    def _overlaps(self, one: Interval, group: Group) -> Row:
        """Which intervals of a group can be seen at once with one, and which cannot."""
        every, complete = group.every, self.log.complete
        starts = group.frame.possible(one.until)
        if one.end is None:
            blocked, free = 0, every if complete else every & ~starts.before
        else:
            blocked, free = starts.decided(Relation.BEFORE, every)
            blocked, free = blocked | starts.same, free & ~starts.same
        ends = group.ends.possible(one.begin)
        ended, begun = ends.decided(Relation.AFTER, every)
        ended, begun = (ended | ends.same) & ~group.endless, begun & ~(ends.same & ~group.endless)
        if complete:
            begun |= group.endless
        whole = 0 if one.broken else every & ~group.broken
        return free & begun & whole, blocked | ended

    def _in_each_run(self, one: Interval, group: Group) -> Row:
        """Which intervals of a group are seen at once with one in each run, and which in some run are not."""
        every, complete = group.every, self.log.complete
        starts = group.frame.possible(one.until)
        begun, late = starts.decided(Relation.AFTER, every)
        if one.end is None:
            begun, late = (every if complete else begun | starts.same), 0
        ends = group.ends.possible(one.begin)
        open_, ended = ends.decided(Relation.BEFORE, every)
        open_ |= group.endless if complete else ends.same & group.endless
        ended &= ~group.endless
        whole = 0 if one.broken else every & ~group.broken
        return begun & open_ & whole, late | ended


def _all(value: int, among: int) -> Row:
    return (among, 0) if value == TRUE else (0, among) if value == FALSE else (0, 0)


def only(group: Group, number: int) -> int:
    """Where a candidate stands in a group; nothing where it is not in it."""
    return sum(1 << at for at, member in enumerate(group.members) if member == number)


def _kleene(row: Row) -> int:
    return TRUE if row[0] else FALSE if row[1] else OPEN


COMBINATIONS = 100_000
"""So many choices of processes for the states of one `possibly` or `definitely` are looked at."""

# -- two intervals -------------------------------------------------------------------------------------------


def ends_before(log: QuestionedLog, one: Interval, other: Interval) -> int:
    """Whether an interval ends at or before the start of another."""
    possible = log.judged.frame((other.begin,)).possible(one.until)
    if one.end is not None:
        true, false = possible.decided(Relation.BEFORE, 1)
        return TRUE if true or possible.same else FALSE if false else OPEN
    return FALSE if log.complete or not possible.before else OPEN


def begins_before_end(log: QuestionedLog, one: Interval, other: Interval) -> int:
    """Whether an interval begins before another ends, whenever that is; what never ends, ends last."""
    possible = log.judged.frame((other.until,)).possible(one.begin)
    true, false = possible.decided(Relation.BEFORE, 1)
    if other.end is not None:
        return TRUE if true else FALSE if false else OPEN
    return TRUE if log.complete or true or possible.same else OPEN


# -- any number of states ------------------------------------------------------------------------------------


def at_once(log: QuestionedLog, formula: Quantified, scope: Scope) -> tuple[int, list[Interval]] | None:
    """Whether there are intervals, one for each variable, each two of which can be seen at once; and those.

    None where a formula does not ask that of three states or more, or of two that are seen at once in each
    run. By elimination, for each choice of parameters and processes. Cost: O(k²·m) for each of these choices.
    """
    surely = _asks(formula)
    if surely is None or len(formula.binders) < 3 - surely:
        return None
    left, certain = COMBINATIONS, True

    def blocks(value: int) -> Callable[[Interval, Interval], bool]:
        """Whether an interval is done with because of another, if what is open is false, or is true."""
        if surely:
            return lambda a, b: begins_before_end(log, b, a) <= value
        return lambda a, b: ends_before(log, a, b) >= -value

    for chains in _combinations(log, formula, 0, scope, []):
        left -= 1
        if not left:
            word = "definitely" if surely else "possibly"
            raise Undefined(f"more than {COMBINATIONS:,} choices of processes for one `{word}`: name some")
        whole = [[one for one in chain if not one.broken] for chain in chains]
        shown = remaining([joined(chain) for chain in whole] if surely else whole, blocks(OPEN))
        if shown is not None:
            return TRUE, shown
        every = [joined(chain) for chain in chains] if surely else chains
        certain = certain and remaining(every, blocks(FALSE)) is None
    return (FALSE if certain and log.complete else OPEN), []


def _asks(formula: Quantified) -> bool | None:
    """Whether a formula asks for states at once in each run, or (False) in some; None: for something else."""
    names = [name for name, _ in formula.binders]
    if not formula.some or len(names) < 2 or formula.where is not None or not isinstance(formula.body, And):
        return None
    parts = formula.body.parts
    related = [
        part for part in parts if isinstance(part, Related) and part.relation is None and not part.same
    ]
    atoms = {(part.left, part.right) for part in related}
    if len(atoms) != len(parts) or atoms != {(a, b) for i, a in enumerate(names) for b in names[i + 1 :]}:
        return None
    return related[0].surely


def _combinations(
    log: QuestionedLog, formula: Quantified, depth: int, scope: Scope, chains: list[list[Interval]]
) -> Iterator[list[list[Interval]]]:
    if depth == len(formula.binders):
        yield chains
        return
    name, reference = formula.binders[depth]
    group = log.group(reference, scope.parameters)
    states = group.candidates.states
    assert states is not None
    numbers = {id(states[member]): member for member in group.members}
    for chain in on_chains([states[member] for member in sorted(group.members)], log.table):
        chosen = scope.with_choice(name, reference, group.candidates, numbers[id(chain[0])])
        yield from _combinations(log, formula, depth + 1, chosen, [*chains, chain])
