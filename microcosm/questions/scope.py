"""What is chosen for the variables of a formula, and the tuples of a quantifier, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from microcosm.order.bits import bits
from microcosm.questions.asked import Candidates, Group
from microcosm.questions.language import Parameter, Reference
from microcosm.questions.states import Interval

TRUE, FALSE, OPEN = 1, -1, 0
"""Kleene's values."""

Row = tuple[int, int]
"""Those of a group for which a formula is true, and those for which it is false."""


@dataclass(frozen=True)
class Chosen:
    """What is chosen for a variable: a candidate of a pattern."""

    candidates: Candidates
    number: int

    @property
    def event(self) -> int:
        """Its event; of an interval the first."""
        return self.candidates.events[self.number]

    @property
    def interval(self) -> Interval:
        """Its interval."""
        assert self.candidates.states is not None
        return self.candidates.states[self.number]


@dataclass(frozen=True)
class Scope:
    """What is chosen for variables, and what their parameters are."""

    variables: dict[str, Chosen] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)

    def with_choice(self, name: str, reference: Reference, candidates: Candidates, number: int) -> Scope:
        """The scope with one more variable."""
        values = candidates.values[number]
        parameters = self.parameters
        new = {
            argument.name: value
            for argument, value in zip(reference.arguments, values, strict=True)
            if isinstance(argument, Parameter) and argument.name not in parameters
        }
        return Scope(
            {**self.variables, name: Chosen(candidates, number)}, {**parameters, **new} if new else parameters
        )


@dataclass(frozen=True)
class Part:
    """Tuples that differ in the last variable only: those that there are (`among`), and their values."""

    scope: Scope
    last: tuple[str, Reference]
    group: Group
    among: int
    row: Row

    def scopes(self, row: int) -> Iterator[Scope]:
        """What is chosen in each tuple of a row."""
        for at in bits(row & self.among):
            yield self.scope.with_choice(*self.last, self.group.candidates, self.group.members[at])
