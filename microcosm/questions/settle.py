"""What would settle what is open: the observations that decide most tuples, each with how many it decides.

An observation is tried: what it says is added to what is known, and the question is evaluated again. For
clocks the outcome is not known beforehand: the clock of an event tells of every other one whether it is
before it, so that a clock is counted for a tuple where it decides every open atom whatever it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from microcosm.engine.engine import Engine
from microcosm.errors import Contradiction, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.order.order import lacking
from microcosm.questions.asked import OPEN, Asked, Scope
from microcosm.questions.evaluate import Evaluation
from microcosm.questions.evidence import ATOMS, Atom, because
from microcosm.questions.language import Formula, Quantified
from microcosm.questions.patterns import by_process
from microcosm.worlds.search import Stop

TUPLES = 10_000
"""So many open tuples are looked at; of more the first."""

TRIED = 64
"""So many places for the lost ends of messages are tried."""

Build = Callable[[Givens], Engine]


@dataclass(frozen=True)
class Observation:
    """Something that can be found out: its kind (`complete`, `message`, `clock`), in words, and what it
    decides.

    `decides` is how many of the `open` tuples it decides; of clocks, how many more after those listed before
    it. `given` is the statement that would be added, where it is one, `event` whose clock it is.
    """

    kind: str
    text: str
    decides: int
    open: int
    event: str | None = None
    given: str | None = None

    def __str__(self) -> str:
        return f"{self.text}: decides {self.decides:,} of {self.open:,}"

    def to_json(self) -> dict[str, Any]:
        """Its fields; those that it has not are left out."""
        found = {"kind": self.kind, "text": self.text, "decides": self.decides, "open": self.open}
        more = {"event": self.event, "given": self.given}
        return {**found, **{name: value for name, value in more.items() if value is not None}}


def observations(asked: Asked, formula: Formula, build: Build, stop: Stop | None = None) -> list[Observation]:
    """What would settle a question, the best first of each kind. Cost: an evaluation for each that is
    tried.
    """
    evaluation = Evaluation(asked, stop)
    tuples = [*islice(_open_tuples(evaluation, formula), TUPLES)]
    if not tuples:
        return []
    body = formula.body if isinstance(formula, Quantified) else formula
    found: list[Observation] = []
    for observation, known in _tried(asked):
        try:
            then = Asked(known, build(known), asked.questions, stop, asked)
        except (Contradiction, Undefined):
            continue
        then.complete = asked.complete or (known.complete is True and not asked.missing)
        again = Evaluation(then, stop)
        left = sum(again.value(body, scope) == OPEN for scope in tuples)
        if left < len(tuples):
            kind, text, given = observation
            found.append(Observation(kind, text, len(tuples) - left, len(tuples), given=given))
    found.sort(key=lambda one: (one.kind != "complete", -one.decides))
    return found + clocks(evaluation, body, tuples)


def clocks(evaluation: Evaluation, body: Formula, tuples: Sequence[Scope]) -> list[Observation]:
    """Few clocks that decide all that clocks decide, chosen greedily: each decides most of what is left.

    No way to choose them that is known to be fast does better than within a factor ln n of the fewest. Cost:
    linear in the open atoms for each clock.
    """
    needed: list[list[frozenset[int]]] = []
    for scope in tuples:
        atoms = [*islice(because(evaluation, body, scope, OPEN), ATOMS)]
        needs = [need for atom in atoms for need in _needs(evaluation.asked, atom)]
        if needs and len(atoms) < ATOMS:
            needed.append(needs)
    chosen: list[tuple[int, int]] = []
    while needed:
        worth: dict[int, float] = {}
        for needs in needed:
            for need in needs:
                for event in need:
                    worth[event] = worth.get(event, 0) + 1 / len(needs)
        best = max(worth, key=lambda event: (worth[event], -event))
        left = [[need for need in needs if best not in need] for needs in needed]
        chosen.append((best, sum(not needs for needs in left)))
        needed = [needs for needs in left if needs]
    names = evaluation.asked.table.names
    return [
        Observation(
            "clock", f"{'and ' * bool(number)}a clock at {names[event]}", decides, len(tuples), names[event]
        )
        for number, (event, decides) in enumerate(chosen)
    ]


def _needs(asked: Asked, atom: Atom) -> Iterator[frozenset[int]]:
    """The clocks that an open atom takes, whatever they show: one of each set."""
    a, b = atom.left, atom.right
    possible = asked.judged.frame((b,)).possible(a)
    match bool(possible.before), bool(possible.after), bool(possible.beside):
        case True, True, False:
            yield frozenset((a, b))
        case True, False, True:
            yield frozenset((b,))
        case False, True, True:
            yield frozenset((a,))
        case True, True, True:
            if atom.relation is not Relation.AFTER:
                yield frozenset((b,))
            if atom.relation is not Relation.BEFORE:
                yield frozenset((a,))


def _open_tuples(evaluation: Evaluation, formula: Formula) -> Iterator[Scope]:
    """The open tuples of a question; of one that is no quantifier the question as a whole."""
    if not isinstance(formula, Quantified):
        if evaluation.value(formula, Scope()) == OPEN:
            yield Scope()
        return
    for part in evaluation.tuples(formula, Scope()):
        true, false = part.row
        yield from part.scopes(part.among & ~(true | false))


def _tried(asked: Asked) -> Iterator[tuple[tuple[str, str, str | None], Givens]]:
    """Each observation whose outcome is one statement, and what would be known then."""
    if not asked.givens.complete and asked.givens.messages and not asked.missing:
        known = asked.givens.copy()
        known.complete = True
        if lacking(known) is None:
            yield ("complete", "if every message of this system is in the log (`complete`)", None), known
    for text, left, right in islice(_ends(asked), TRIED):
        known = asked.givens.copy()
        known.add(Correspondence(left, Relation.BEFORE, right))
        yield ("message", text, f"{left} < {right}"), known


def _ends(asked: Asked) -> Iterator[tuple[str, str, str]]:
    """Where the log lost one end of a message: in words, and what follows if it lies in that gap."""
    sent: dict[str, list[Any]] = {}
    received: dict[str, list[Any]] = {}
    for message in asked.givens.messages:
        (sent if message.kind == "send" else received).setdefault(message.message, []).append(message)
    gaps = _gaps(asked)
    for name, ends in received.items():
        if name not in sent:
            for end in ends:
                for process, before, after in gaps:
                    if process != end.process:
                        where = f"of {process}, between {before} and {after}"
                        yield f"the sending of {name}, if it is in the gap {where}", before, end.event
    for name, ends in sent.items():
        if name not in received:
            for end in ends:
                for process, before, after in gaps:
                    if process in end.receivers:
                        where = f"of {process}, between {before} and {after}"
                        yield f"the reception of {name}, if it is in the gap {where}", end.event, after


def _gaps(asked: Asked) -> list[tuple[str, str, str]]:
    """Where events are missing: the process, and its events before and after."""
    table = asked.table
    return [
        (process, table.names[a], table.names[b])
        for process, events in by_process(table).items()
        for a, b in pairwise(events)
        if table.seqs[a] and table.seqs[b] - table.seqs[a] > 1
    ]
