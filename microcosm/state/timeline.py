"""The evolutions of one microcosm, one after the other, each of which can be undone and made again.

The steps are the truth here; the deductions, and the givens themselves, follow from them and can be made anew
at any time. Where the present is among the steps changes in one assignment. So a computation may be
interrupted wherever it is: `recover` forgets what was half made, and either what was given before or what was
given after is what is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

from microcosm.errors import MicrocosmError
from microcosm.givens.givens import Givens
from microcosm.givens.kinds import either_complete, union
from microcosm.givens.relation import Correspondence, Relation
from microcosm.givens.spelling import expect, expect_text
from microcosm.state.evolve import facts_of
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_reader import parse_statement, read_givens
from microcosm.text.mc_writer import iter_mc
from microcosm.text.names import quote
from microcosm.text.statement import Correspondences

_Facts = tuple[Correspondence, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A change and the step before it: the facts that it took away and added, or else all given after it."""

    number: int
    description: str
    before: _Step | None
    gone: _Facts = ()
    facts: _Facts = ()
    after: Givens | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Present:
    """The last step that is made, and the first of those that are undone, with the present after it."""

    step: _Step
    undone: _Present | None = None


class Timeline:
    """A microcosm with its past: `add`, `update`, `remove`, `forget`, `append`, and `undo`, `redo`, `diff`.

    A change costs what it does in a `Microcosm`, and undoing or redoing any but an addition makes a microcosm
    anew. What an addition, an update or a removal changed is remembered; of any other change a copy of the
    givens is kept. What goes wrong raises as in `Microcosm`, and changes nothing.

    >>> story = Timeline(Microcosm.parse("a < b"))
    >>> story.add("b < c"), story.undo(), story.known.to_text()
    (True, 'add b < c', 'a < b\\n')
    >>> story.redo(), list(story.diff())
    ('add b < c', [('+', 'b < c')])
    """

    def __init__(self, known: Microcosm) -> None:
        expect(Microcosm, "microcosm", known)
        self._known: Microcosm | None = known
        self._strict, self._rules = known.strict, known.rules
        self._now = _Present(_Step(0, "", None, after=known.givens.copy()))
        self._numbers = 0
        self._saved = self._now.step

    def __copy__(self) -> Timeline:
        """An independent timeline of the same steps, which themselves do not change."""
        other = Timeline(self.known.copy())
        other._now, other._numbers, other._saved = self._now, self._numbers, self._saved
        return other

    def __deepcopy__(self, memo: dict[int, object]) -> Timeline:
        return self.__copy__()

    @property
    def known(self) -> Microcosm:
        """The microcosm as it is now; to be asked, and changed only by the methods here."""
        if self._known is None:
            self._known = Microcosm(_given(self._now.step), strict=self._strict, rules=self._rules)
        return self._known

    @property
    def givens(self) -> Givens:
        """What is given now; read only."""
        return self.known.givens

    @property
    def number(self) -> int:
        """The number of the last change; another one wherever the givens are others. 0 at the beginning."""
        return self._now.step.number

    def recover(self) -> None:
        """Forget whatever was made of the steps: some of it was interrupted, and may be half made."""
        self._known = None

    # -- what was saved --------------------------------------------------------------------------------

    @property
    def is_saved(self) -> bool:
        """Whether nothing was changed since the beginning, or since `saved`, but for what was undone."""
        return self._saved is self._now.step

    def saved(self) -> None:
        """Take the givens as they are now for those that `diff` compares with."""
        self._saved = self._now.step

    def since_saved(self) -> Iterator[str]:
        """The changes since the beginning or `saved`, the last one first."""
        step: _Step | None = self._now.step
        while step is not None and step is not self._saved and step.before is not None:
            yield step.description
            step = step.before

    def diff(self) -> Iterator[tuple[str, str]]:
        """What was taken away and what was added since the last `saved`: `-` or `+`, and a statement.

        Each internal event is a statement of its own. Cost: linear in all givens.
        """
        if self.is_saved:
            return
        old, new = Counter(_statements(_given(self._saved))), Counter(_statements(self.givens))
        for sign, left in (("-", old - new), ("+", new - old)):
            yield from ((sign, statement) for statement in left.elements())

    # -- evolution -------------------------------------------------------------------------------------

    def add(self, text: str, description: str | None = None, source: str | None = None) -> bool:
        """Add what a statement says; whether that is anything new. `description` names the step.

        Correspondences have this `source`, whatever the statement says of it.

        Raises `TextError` for what is no statement, `Contradiction`, `Undefined`.
        """
        expect_text(text)
        statement = parse_statement(text)
        description = description or f"add {text.strip()}"
        if not isinstance(statement, Correspondences):
            return self._join(description, read_givens(text))
        stated = statement.facts if source is None else [replace(f, source=source) for f in statement.facts]
        facts = tuple(self._fresh(stated))
        if not facts and not self._strict:
            return False
        with self._whole():
            if facts:
                self._add(facts)
            else:  # strictly, adding what is given is refused
                self.known.add(text)
            self._did(description, facts)
        return True

    def update(self, text: str) -> None:
        """Put `a < b` in the place of a given `a <> b`. Raises `TextError`, `Undefined`, `Contradiction`."""
        expect_text(text)
        facts = facts_of(text)
        with self._whole():
            self.known.update(text)
            gone = (Correspondence(fact.left, Relation.RELATED, fact.right) for fact in facts)
            self._did(f"update {text.strip()}", facts, gone)

    def remove(self, text: str) -> None:
        """Take back what is given. Raises `TextError`, `Undefined`."""
        expect_text(text)
        with self._whole():
            self.known.remove(text)
            self._did(f"remove {text.strip()}", gone=facts_of(text))

    def forget(self, event: str) -> None:
        """Drop all that names an event, keeping what follows of the others. Raises `Undefined`."""
        expect_text(event)
        self._evolve(f"forget {quote(event)}", lambda known: known.forget(event))

    def append(self, events: Iterable[str]) -> None:
        """Make events the last internal ones, in this order. Raises `Undefined`, `Contradiction`."""
        chain = list(events)
        expect_text(*chain)

        def change(known: Microcosm) -> None:
            with known.batch():
                for event in chain:
                    known.append(event)

        self._evolve(f"internal {' < '.join(map(quote, chain))}", change)

    def undo(self) -> str | None:
        """Go back before the last change; what that was, None where there is none."""
        step = self._now.step
        if step.before is None:
            return None
        with self._whole():
            if step.after is None and not step.gone and not self._strict:
                for fact in step.facts:
                    self.known.remove(fact)
            else:  # strictly, removing asks for more than that it was added
                self._known = None
            self._now = _Present(step.before, self._now)
        return step.description

    def redo(self) -> str | None:
        """Make the change again that was undone last; what that is, None where there is none."""
        undone = self._now.undone
        if undone is None:
            return None
        step = undone.step
        with self._whole():
            if step.after is None and not step.gone:
                self._add(step.facts)
            else:
                self._known = None
            self._now = undone
        return step.description

    # -- inside ----------------------------------------------------------------------------------------

    def _add(self, facts: _Facts) -> None:
        with self.known.batch() if len(facts) > 1 else nullcontext():
            for fact in facts:
                self.known.add(fact)

    def _did(
        self,
        description: str,
        facts: Iterable[Correspondence] = (),
        gone: Iterable[Correspondence] = (),
        after: Givens | None = None,
    ) -> None:
        self._numbers += 1
        step = _Step(self._numbers, description, self._now.step, tuple(gone), tuple(facts), after)
        self._now = _Present(step)

    def _evolve(self, description: str, change: Callable[[Microcosm], None]) -> None:
        with self._whole():
            change(self.known)
            self._did(description, after=self.known.givens.copy())

    def _join(self, description: str, more: Givens) -> bool:
        """Add what is no correspondence: a clock, a token, a stamp, a message, …"""
        new = union(self.givens, more)
        new.name = more.name or new.name
        if (complete := either_complete(self.givens.complete, more.complete)) != new.complete:
            new.state_complete(complete if isinstance(complete, tuple) else None)
        new.add_processes_of_table()
        if new == self.givens:
            return False
        known = Microcosm(new, strict=self._strict, rules=self._rules)
        with self._whole():
            self._known = known
            self._did(description, after=new)
        return True

    def _fresh(self, facts: Iterable[Correspondence]) -> Iterator[Correspondence]:
        """Those of `facts` that are not given yet, each once."""
        seen: set[tuple[str, str, str]] = set()
        given = self.givens
        for fact in facts:
            key = fact.key()
            if not (key in seen or key in given.external or key in given.refuted):
                seen.add(key)
                yield fact

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """A change that is made whole, or leaves things as they were: a failed one, as the microcosm does."""
        try:
            yield
        except MicrocosmError:
            raise
        except BaseException:
            self.recover()
            raise


def _given(step: _Step) -> Givens:
    """What is given after a step: what was when last all of it was kept, as it was changed since."""
    since: list[_Step] = []
    while step.after is None and step.before is not None:
        since.append(step)
        step = step.before
    givens = Givens() if step.after is None else step.after.copy()
    for step in reversed(since):
        for fact in step.gone:
            (givens.refuted if fact.relation is Relation.NOT_BEFORE else givens.external).pop(fact.key())
        for fact in step.facts:
            givens.add(fact)
    return givens


def _statements(givens: Givens) -> Iterator[str]:
    """Each statement of the givens by itself, the internal chain event by event."""
    yield from (f"internal {quote(event)}" for event in givens.internal)
    others = givens.copy()
    others.internal = []
    yield from (line.rstrip("\n") for line in iter_mc(others, events=False))
