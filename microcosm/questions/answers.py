"""Answers to questions about a log: verdict, counts, witnesses with their evidence, and whether they are
vacuous.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from microcosm.errors import printable
from microcosm.givens.event_table import EventTable
from microcosm.givens.spelling import expect
from microcosm.logic.derivation import Derivation
from microcosm.order.bits import bits
from microcosm.questions.counting import tally
from microcosm.questions.evaluate import Evaluation, at_once
from microcosm.questions.evidence import ATOMS, Atom, Deriver, because, decide
from microcosm.questions.language import Formula, Quantified, Question, within
from microcosm.questions.patterns import Interval
from microcosm.questions.questioned_log import FALSE, OPEN, TRUE, Part, QuestionedLog, Scope
from microcosm.questions.settle import Observation
from microcosm.text.names import quote, string
from microcosm.text.statement import readable
from microcosm.tuning import gc_paused
from microcosm.worlds.search import Stop

HOLDS, VIOLATED, UNDECIDED = "holds", "violated", "open"
"""The verdicts on a question."""

Proof = Callable[[Derivation], dict[str, Any]]
"""How a derivation is written as JSON."""

Kept = dict[int, list[Scope | list[Interval]]]
"""What is chosen in some tuples that have a value, by the value."""

VALUES = {TRUE: "true", FALSE: "false", OPEN: "open"}
"""What a value is called."""

SHOWN, PROVED = 5, 1
"""So many witnesses are shown unless more are asked for, and so many of them proved."""


@dataclass(frozen=True)
class ShownAtom:
    """An atom in names: `left R right`, its value, and its derivation if it was asked for and exists."""

    left: str
    relation: str
    right: str
    value: str
    derivation: Derivation | None = field(default=None, repr=False)

    def __str__(self) -> str:
        sign = f"!{self.relation}" if self.value == "false" else self.relation
        return f"{quote(self.left)} {sign} {quote(self.right)}" + (": open" if self.value == "open" else "")


@dataclass(frozen=True)
class Witness:
    """One tuple and its value: the event of each variable, the interval of each state, parameters, atoms.

    `cut` has, where states can be seen at once, the last event of each process in a consistent cut that sees
    them.
    """

    events: dict[str, str]
    intervals: dict[str, tuple[str, str | None]]
    parameters: dict[str, str]
    verdict: str
    atoms: tuple[ShownAtom, ...] = ()
    cut: dict[str, str] | None = None
    searched: bool = False
    """Whether the value was found by a search of worlds: it does not follow from those of the atoms."""

    def to_json(self, proof: Proof = Derivation.to_json) -> dict[str, Any]:
        """The fields of a witness, as they stand in the JSON of an answer; `proof` writes a derivation."""
        found: dict[str, Any] = {"events": self.events}
        if self.intervals:
            found["intervals"] = {name: [*ends] for name, ends in self.intervals.items()}
        found |= {"parameters": self.parameters, "verdict": self.verdict}
        found["atoms"] = [[atom.left, atom.relation, atom.right, atom.value] for atom in self.atoms]
        found["derivations"] = [proof(atom.derivation) for atom in self.atoms if atom.derivation is not None]
        if self.cut is not None:
            found["cut"] = self.cut
        if self.searched:
            found["searched"] = True
        return found

    def described(self, table: EventTable | None = None) -> str:
        """The tuple on one line, in the words that a log has for its events."""

        def words(event: str) -> str:
            row = None if table is None else table.row(event)
            label = f" {string(row.label)}" if row is not None and row.label else ""
            return quote(event) + label + (f" ({printable(row.place)})" if row and row.place else "")

        events = [f"{name} = {words(event)}" for name, event in self.events.items()]
        states = [
            f"{name} from {words(a)} {'on' if b is None else f'until {words(b)}'}"
            for name, (a, b) in self.intervals.items()
        ]
        given = ", ".join(f"{name}: {printable(value)}" for name, value in self.parameters.items())
        return ", ".join(events + states) + (f"; {given}" if given else "")


@dataclass(frozen=True)
class Answer:
    """What is known of one question.

    `verdict` is `holds` (true in every world), `violated` (false in every world) or `open`. `exact` says
    whether worlds were searched to the end, so that an open answer is one that worlds differ about. `counts`
    are of tuples.
    """

    question: Question
    verdict: str
    exact: bool
    vacuous: bool
    counts: dict[str, int]
    witnesses: tuple[Witness, ...] = ()
    notes: tuple[str, ...] = ()
    settle: tuple[Observation, ...] = ()

    def __str__(self) -> str:
        counted = (
            ", ".join(f"{count:,} {value}" for value, count in self.counts.items() if count) or "nothing"
        )
        vacuous = " (vacuous)" if self.vacuous else ""
        return f"{self.verdict}: {printable(self.question.text)}{vacuous} [{counted}]"

    def _repr_html_(self) -> str:
        return f"<pre>{readable(str(self))}</pre>"

    def to_json(self, proof: Proof = Derivation.to_json) -> dict[str, Any]:
        """The fields of a question in the JSON of `assert`; `proof` writes a derivation."""
        return {
            "text": self.question.text,
            "line": self.question.place.line,
            "verdict": self.verdict,
            "exact": self.exact,
            "vacuous": self.vacuous,
            "counts": self.counts,
            "witnesses": [witness.to_json(proof) for witness in self.witnesses],
            "notes": [*self.notes],
            "settle": [one.to_json() for one in self.settle],
        }


def up_to(many: int) -> int:
    """How many are kept at most, to slice by. Raises `Undefined` for no number."""
    expect(int, "number of what is kept", many)
    return max(0, min(many, sys.maxsize))


class Answers:
    """The questions of a text, answered one by one about one log.

    `exact` searches worlds for what stays open; `stop` says when to give up, which leaves it open. `shown`
    witnesses of each kind are kept, `proved` of them with derivations.
    """

    def __init__(
        self,
        log: QuestionedLog,
        *,
        exact: bool = False,
        stop: Stop | None = None,
        shown: int = SHOWN,
        proved: int = PROVED,
    ) -> None:
        self.log, self._exact, self._stop = log, exact, stop
        self._shown, self._proved = up_to(shown), up_to(proved)
        self.evaluation = Evaluation(log)
        self._deriver: Deriver | None = None

    def __iter__(self) -> Iterator[Answer]:
        return map(self.answer, self.log.questions.questions)

    def answer(self, question: Question) -> Answer:
        """The answer to one question. Cost: a row operation a tuple but its last variable, and proofs."""
        formula = question.formula
        counts = {"true": 0, "false": 0, "open": 0}
        kept: Kept = {TRUE: [], FALSE: [], OPEN: []}
        exact = True
        if isinstance(formula, Quantified):
            seen = at_once(self.log, formula, Scope())
            if seen is not None:
                counts[VALUES[seen[0]]] = 1
                if seen[1]:
                    kept[TRUE].append(seen[1])
            else:
                exact = self._tally(formula, counts, kept)
            value = _together(formula, counts, self.log.complete)
            tuples = sum(counts.values()) if seen is None else 0
            vacuous = not tuples and self._matches_nothing(formula)
        else:
            value = self.evaluation.value(formula, Scope())
            vacuous = self._matches_nothing(formula)
            kept[value].append(Scope())
            counts[VALUES[value]] = 1
        if value == OPEN and self._exact:
            value, exact = decide(self.log, formula, Scope(), self._stop)
        verdict = {TRUE: HOLDS, FALSE: VIOLATED, OPEN: UNDECIDED}[value]
        witnesses, notes = self._witnesses(formula, kept), self._notes(formula, value, vacuous)
        return Answer(question, verdict, self._exact and exact, vacuous, counts, witnesses, notes)

    def _tally(self, formula: Quantified, counts: dict[str, int], kept: Kept) -> bool:
        """Count the tuples by their value, and keep the first of each; whether all open ones are truly so."""
        exact = True
        with gc_paused():
            counted = None if self._exact else tally(self.evaluation, formula, self._shown)
        if counted is not None:
            for value, count in counted.counts.items():
                counts[VALUES[value]] += count
                kept[value] += counted.flagged[value]
            return exact
        for part in self.evaluation.tuples(formula, Scope()):
            if self._exact and part.open:
                part, through = self._decided(formula, part)  # noqa: PLW2901
                exact = exact and through
            for value, row in part.rows().items():
                counts[VALUES[value]] += row.bit_count()
                kept[value] += islice(part.scopes(row), self._shown - len(kept[value]))
        return exact

    def _decided(self, formula: Quantified, part: Part) -> tuple[Part, bool]:
        """Some tuples, with what a search of worlds says of those that are open."""
        (true, false), through = part.row, True
        for at in bits(part.open):
            (scope,) = part.scopes(1 << at)
            value, searched = decide(self.log, formula.body, scope, self._stop)
            through = through and searched
            true |= (value == TRUE) << at
            false |= (value == FALSE) << at
        return part._replace(row=(true, false)), through

    def _matches_nothing(self, formula: Formula) -> bool:
        parts = [formula] if isinstance(formula, Quantified) else [*within(formula)]
        references = [r for part in parts if isinstance(part, Quantified) for _, r in part.binders]
        return any(not len(self.log.matching(one.name)) for one in references)

    def _notes(self, formula: Formula, value: int, vacuous: bool) -> tuple[str, ...]:
        """What the answer rests on that the log does not say, and why it is vacuous."""
        notes = []
        if vacuous:
            quantified = [part for part in within(formula) if isinstance(part, Quantified)]
            names = dict.fromkeys(one.name for part in quantified for _, one in part.binders)
            counted = ", ".join(f"{printable(name)} matches {len(self.log.matching(name))}" for name in names)
            notes.append(f"vacuous: a pattern matches nothing ({counted})")
        some = any(isinstance(part, Quantified) and part.some for part in within(formula))
        if value == OPEN and some and not self.log.complete:
            lost = self.log.lost()
            why = f"events are missing ({lost})" if lost else "it is not stated to be complete"
            notes.append(f"what the log lacks may have happened: {why}")
        return tuple(notes)

    # -- witnesses -----------------------------------------------------------------------------------------

    def _witnesses(self, formula: Formula, kept: Kept) -> tuple[Witness, ...]:
        some = isinstance(formula, Quantified) and formula.some
        found = []
        for value in (TRUE, OPEN) if some else (FALSE, OPEN):
            for number, chosen in enumerate(kept[value][: self._shown]):
                found.append(self.witness(formula, chosen, value, prove=number < self._proved))
        return tuple(found)

    def witness(
        self,
        formula: Formula,
        chosen: Scope | list[Interval],
        value: int,
        *,
        prove: bool,
        explained: bool = True,
    ) -> Witness:
        """What is chosen, in names; unless not `explained`, with the atoms from which its value follows."""
        names = self.log.table.names
        body = formula.body if isinstance(formula, Quantified) else formula
        searched = False
        if isinstance(chosen, list):
            assert isinstance(formula, Quantified)
            states = {name: one for (name, _), one in zip(formula.binders, chosen, strict=True)}
            events, parameters = dict[str, str](), dict[str, str]()
            atoms = [*islice(because(self.evaluation, formula, Scope(), TRUE), ATOMS)]
        else:
            one_of = chosen.variables.items()
            states = {name: one.interval for name, one in one_of if one.candidates.states is not None}
            events = {name: names[one.event] for name, one in one_of if one.candidates.states is None}
            parameters = chosen.parameters
            atoms = []
            if explained:
                follows = self.evaluation.value(body, chosen)
                searched = follows != value
                atoms = [*islice(because(self.evaluation, body, chosen, follows), ATOMS)]
        intervals = {
            name: (names[one.begin], None if one.end is None else names[one.end])
            for name, one in states.items()
        }
        some = isinstance(formula, Quantified) and formula.some
        shown = explained and some and value == TRUE and states
        cut = self._cut(list(states.values())) if shown else None
        return Witness(
            events,
            intervals,
            parameters,
            VALUES[value],
            tuple(self._shown_atom(a, prove) for a in atoms),
            cut,
            searched,
        )

    def _shown_atom(self, atom: Atom, prove: bool) -> ShownAtom:
        names = self.log.table.names
        if self._deriver is None:
            self._deriver = Deriver(self.log.judged, self._stop)
        derivation = self._deriver.derive(atom) if prove else None
        return ShownAtom(
            names[atom.left], str(atom.relation), names[atom.right], VALUES[atom.value], derivation
        )

    def _cut(self, states: list[Interval]) -> dict[str, str]:
        """The last event of each process in the least cut, of the known order, that has all the starts."""
        table, judged = self.log.table, self.log.judged
        frame = judged.frame(range(len(table)))
        within_cut = 0
        for one in states:
            possible = frame.possible(one.begin)
            within_cut |= possible.same | possible.after & ~(possible.before | possible.concurrent)
        last: dict[str, int] = {}
        for number in bits(within_cut):
            process = table.processes[number]
            if process not in last or judged.before(last[process], number):
                last[process] = number
        return {process: table.names[number] for process, number in sorted(last.items())}


def _together(formula: Quantified, counts: dict[str, int], complete: bool) -> int:
    """The value of a quantifier by the values of its tuples."""
    if formula.some:
        return TRUE if counts["true"] else FALSE if complete and not counts["open"] else OPEN
    return FALSE if counts["false"] else OPEN if counts["open"] else TRUE
