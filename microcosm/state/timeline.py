"""The evolutions of one microcosm, one after the other, each of which can be undone and made again.

The givens are the truth here; the deductions stand on them and can be made anew at any time. So a computation
may be interrupted wherever it is: `recover` forgets what was half deduced, and nothing that is given is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from microcosm.errors import MicrocosmError
from microcosm.logic.document import iter_mc, parse_statement, read_givens
from microcosm.logic.names import quote
from microcosm.logic.statement import Correspondences
from microcosm.relations.correspondence import Correspondence
from microcosm.relations.givens import Givens
from microcosm.state.microcosm import Microcosm
from microcosm.state.union import union

_Facts = tuple[Correspondence, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A change: what was said, and the way to its other side, by the facts that it added or by all givens."""

    number: int
    said: str
    facts: _Facts = ()
    other: Givens | None = None


class Timeline:
    """A microcosm with its past: `add`, `update`, `remove`, `forget`, `append`, and `undo`, `redo`, `diff`.

    An addition costs what it does in a `Microcosm` and remembers what it added; any other change keeps the
    givens of before as well. What goes wrong raises as in `Microcosm`, and changes nothing.

    >>> story = Timeline(Microcosm.parse("a < b"))
    >>> story.add("b < c"), story.undo(), story.known.to_text()
    (True, 'add b < c', 'a < b\\n')
    >>> story.redo(), list(story.diff())
    ('add b < c', [('+', 'b < c')])
    """

    def __init__(self, known: Microcosm) -> None:
        self._known: Microcosm | None = known
        self._strict, self._rules = known.strict, known.rules
        self._givens = self._saved = known.givens.copy()
        self._done: list[_Step] = []
        self._undone: list[_Step] = []
        self._numbers = 0
        self._saved_at = 0

    @property
    def known(self) -> Microcosm:
        """The microcosm as it is now; to be asked, and changed only by the methods here."""
        if self._known is None:
            self._known = Microcosm(self._givens, strict=self._strict, rules=self._rules)
        return self._known

    @property
    def givens(self) -> Givens:
        """What is given now; read only."""
        return self._givens

    @property
    def number(self) -> int:
        """The number of the last change; another one wherever the givens are others. 0 at the beginning."""
        return self._done[-1].number if self._done else 0

    def recover(self) -> None:
        """Forget every deduction: one of them was interrupted, and may be half made."""
        self._known = None

    # -- what was saved --------------------------------------------------------------------------------

    @property
    def is_saved(self) -> bool:
        """Whether nothing was changed since the beginning, or since `saved`, but for what was undone."""
        return self._saved_at == self.number

    def saved(self) -> None:
        """Take the givens as they are now for those that `diff` compares with."""
        self._saved, self._saved_at = self._givens, self.number

    def diff(self) -> Iterator[tuple[str, str]]:
        """What was taken away and what was added since the last `saved`: `-` or `+`, and a statement.

        Each internal event is a statement of its own. Cost: linear in all givens.
        """
        if self._saved is self._givens:
            return
        old, new = Counter(_statements(self._saved)), Counter(_statements(self._givens))
        for sign, left in (("-", old - new), ("+", new - old)):
            yield from ((sign, said) for said in left.elements())

    # -- evolution -------------------------------------------------------------------------------------

    def add(self, text: str) -> bool:
        """Add what a statement says; whether that is anything new.

        Raises `TextError` for what is no statement, `Contradiction`, `Undefined`.
        """
        statement = parse_statement(text)
        said = f"add {text.strip()}"
        if not isinstance(statement, Correspondences):
            return self._join(said, read_givens(text))
        facts = tuple(self._fresh(statement.facts))
        if not facts and not self._strict:
            return False
        with self._whole():
            self.known.add(text)
        self._did(said, *facts)
        self._record(facts)
        return True

    def update(self, text: str) -> None:
        """Put `a < b` in the place of a given `a <> b`. Raises `TextError`, `Undefined`, `Contradiction`."""
        self._evolve(f"update {text.strip()}", lambda known: known.update(text))

    def remove(self, text: str) -> None:
        """Take back what is given. Raises `TextError`, `Undefined`."""
        self._evolve(f"remove {text.strip()}", lambda known: known.remove(text))

    def forget(self, event: str) -> None:
        """Drop all that names an event, keeping what follows of the others. Raises `Undefined`."""
        self._evolve(f"forget {quote(event)}", lambda known: known.forget(event))

    def append(self, events: Iterable[str]) -> None:
        """Make events the last internal ones, in this order. Raises `Undefined`, `Contradiction`."""
        chain = list(events)

        def change(known: Microcosm) -> None:
            with known.batch():
                for event in chain:
                    known.append(event)

        self._evolve(f"internal {' < '.join(map(quote, chain))}", change)

    def undo(self) -> str | None:
        """Go back before the last change; what that was, None where there is none."""
        return self._travel(self._done, self._undone, self._exclude)

    def redo(self) -> str | None:
        """Make the change again that was undone last; what that is, None where there is none."""
        return self._travel(self._undone, self._done, self._include)

    # -- inside ----------------------------------------------------------------------------------------

    def _did(self, said: str, *facts: Correspondence, other: Givens | None = None) -> None:
        self._numbers += 1
        self._done.append(_Step(self._numbers, said, facts, other))
        self._undone.clear()

    def _evolve(self, said: str, change: Callable[[Microcosm], None]) -> None:
        with self._whole():
            change(self.known)
            new = self.known.givens.copy()
        self._did(said, other=self._givens)
        self._givens = new

    def _join(self, said: str, more: Givens) -> bool:
        """Add what is no correspondence: a clock, a token, a stamp, a message, …"""
        new = union(self._givens, more)
        new.name = more.name or new.name
        new.complete = more.complete or self._givens.complete
        if new == self._givens:
            return False
        known = Microcosm(new, strict=self._strict, rules=self._rules)
        self._did(said, other=self._givens)
        self._givens, self._known = new, known
        return True

    def _travel(self, here: list[_Step], there: list[_Step], go: Callable[[_Facts], None]) -> str | None:
        if not here:
            return None
        step = here[-1]
        if step.other is None:
            with self._whole():
                go(step.facts)
            there.append(step)
        else:
            there.append(replace(step, other=self._givens))
            self._givens, self._known = step.other, None
        here.pop()
        return step.said

    def _fresh(self, facts: _Facts) -> Iterator[Correspondence]:
        """Those of `facts` that are not given yet, each once."""
        seen: set[tuple[str, str, str]] = set()
        for fact in facts:
            key = fact.key()
            if not (key in seen or key in self._givens.external or key in self._givens.refuted):
                seen.add(key)
                yield fact

    def _include(self, facts: _Facts) -> None:
        for fact in facts:
            self.known.add(fact)
        self._record(facts)

    def _exclude(self, facts: _Facts) -> None:
        if self._strict:  # where removing needs more than that it was added
            self._known = None
        elif self._known is not None:
            for fact in facts:
                self._known.remove(fact)
        self._keep_saved()
        for fact in facts:
            self._givens.external.pop(fact.key(), None)
            self._givens.refuted.pop(fact.key(), None)

    def _record(self, facts: _Facts) -> None:
        """Write down what the microcosm has accepted, all of it at once."""
        self._keep_saved()
        new = Givens()
        for fact in facts:
            new.add(fact)
        self._givens.external.update(new.external)
        self._givens.refuted.update(new.refuted)

    def _keep_saved(self) -> None:
        if self._saved is self._givens:
            self._saved = self._givens.copy()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """A change of the microcosm that is made whole or leaves the givens as they were."""
        try:
            yield
        except MicrocosmError:  # the microcosm is as it was
            raise
        except BaseException:
            self.recover()
            raise


def _statements(givens: Givens) -> Iterator[str]:
    """Each statement of the givens by itself, the internal chain event by event."""
    yield from (f"internal {quote(event)}" for event in givens.internal)
    yield from (line.rstrip("\n") for line in iter_mc(replace(givens, internal=[])))
