"""What would settle what is open: the observations that decide most tuples, each with how many it decides.

An observation is tried: what it says is added to what is known, and the question is evaluated again. For
clocks the outcome is not known beforehand: the clock of an event tells of every other one whether it is
before it, so that a clock is counted for a tuple where it decides every open atom whatever it shows. Who has
the record of an event is its process: that is the peer to ask, for one clock or for all that it knew.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from heapq import heapify, heappop, heappush
from itertools import chain, islice, pairwise
from math import lcm
from typing import Any

from microcosm.engine.engine import Engine
from microcosm.errors import Contradiction, Undefined
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.questions.evaluate import Evaluation, at_once, begins_before_end, ends_before
from microcosm.questions.evidence import ATOMS, Atom, because
from microcosm.questions.language import And, Formula, Not, Or, Quantified, Related
from microcosm.questions.patterns import by_process
from microcosm.questions.questioned_log import OPEN, QuestionedLog, Scope, stated_complete
from microcosm.text.names import quote
from microcosm.worlds.search import Stop

TUPLES = 10_000
"""So many open tuples are looked at; of more the first."""

TRIED = 64
"""So many places for the lost ends of messages are tried."""

PEERS = 5
"""So many processes to ask are named."""

Build = Callable[[Givens], Engine]
"""An engine on some givens; raises `Contradiction` where they contradict each other."""


@dataclass(frozen=True)
class Observation:
    """Something that can be found out: its kind (`complete`, `message`, `clock`, `peer`), in words, and what
    it decides.

    `decides` is how many of the `open` tuples it decides; of clocks, how many more after those listed before
    it. `given` is the statement that would be added, where it is one, `event` whose clock it is, `peer` the
    process that would have the record.
    """

    kind: str
    text: str
    decides: int
    open: int
    event: str | None = None
    given: str | None = None
    peer: str | None = None

    def __str__(self) -> str:
        return f"{self.text}: decides {self.decides:,} of {self.open:,}"

    def to_json(self) -> dict[str, Any]:
        """Its fields; those that it has not are left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def observations(
    log: QuestionedLog, formula: Formula, build: Build, stop: Stop | None = None
) -> list[Observation]:
    """What would settle a question, the best first of each kind. Cost: an evaluation for each one tried."""
    evaluation = Evaluation(log, stop)
    tuples = [*islice(_open_tuples(evaluation, formula), TUPLES)]
    body = formula
    if isinstance(formula, Quantified) and not at_once(log, formula, Scope()):
        body = formula.body
    if not tuples:  # what no tuple shows may have happened all the same: open as a whole, or not at all
        if evaluation.value(formula, Scope()) != OPEN:
            return []
        tuples, body = [Scope()], formula
    found: list[Observation] = []
    for observation, known in _tried(log):
        try:
            then = QuestionedLog(known, build(known), log.questions, stop, log)
        except (Contradiction, Undefined):
            continue
        then.complete = log.complete or (known.complete is True and not log.missing)
        again = Evaluation(then, stop)
        left = sum(again.value(body, scope) == OPEN for scope in tuples)
        if left < len(tuples):
            kind, text, given, peer = observation
            found.append(Observation(kind, text, len(tuples) - left, len(tuples), given=given, peer=peer))
    found.sort(key=lambda one: (one.kind != "complete", -one.decides))
    needed = _needed(evaluation, body, tuples)
    found += clocks(log, needed, len(tuples))
    return found + peers(log, needed, len(tuples))


Needs = list[list[frozenset[Any]]]
"""For each open tuple that clocks decide, sets of events: of each set one clock."""


def clocks(log: QuestionedLog, needed: Needs, count: int) -> list[Observation]:
    """Few clocks that decide all that clocks decide of `count` open tuples. Cost: that of `_cover`."""
    names, processes = log.table.names, log.table.processes
    return [
        Observation(
            "clock",
            f"{'and ' * bool(number)}a clock at {quote(names[event])}",
            decides,
            count,
            names[event],
            peer=processes[event] or None,
        )
        for number, (event, decides) in enumerate(_cover(needed))
    ]


def peers(log: QuestionedLog, needed: Needs, count: int) -> list[Observation]:
    """Whom to ask: few processes that, if each tells the clocks of its events, decide all that clocks do.

    Cost: that of `_cover`.
    """
    processes = log.table.processes
    among = [[frozenset(processes[event] for event in need) - {""} for need in needs] for needs in needed]
    found: list[Observation] = []
    for process, decides in _cover([needs for needs in among if all(needs)])[:PEERS]:
        lost = log.missing.get(process)
        lacks = f" ({lost:,} of its events are not in this log)" if lost else ""
        text = f"{'and ' * bool(found)}ask {quote(process)} what it knew at its events{lacks}"
        found.append(Observation("peer", text, decides, count, peer=process))
    return found


def _cover(needed: Needs) -> list[tuple[Any, int]]:
    """Few that have one of each set, chosen greedily, each with how many more tuples are decided by it.

    No way to choose them that is known to be fast does better than within a factor ln n of the fewest. Cost:
    that of a heap with an entry for each member of a set, and as often for each as its tuple has sets.
    """
    whole = lcm(*range(1, 1 + max(map(len, needed), default=0)))
    worth, holding = Counter[Any](), defaultdict[Any, set[int]](set)

    def weigh(needs: list[frozenset[Any]], sign: int) -> Iterator[Any]:
        for one in chain.from_iterable(needs):
            worth[one] += sign * whole // len(needs)
            yield one

    left = [*needed]
    for at, needs in enumerate(left):
        for one in weigh(needs, 1):
            holding[one].add(at)
    best_first = [(-value, one) for one, value in worth.items()]
    heapify(best_first)
    chosen = []
    while best_first:
        value, best = heappop(best_first)
        if not value or -value != worth[best]:  # it is worth something else by now
            continue
        touched, decided = set[Any](), 0
        for at in holding[best]:
            rest = [need for need in left[at] if best not in need]
            if len(rest) < len(left[at]):
                touched.update(chain(weigh(left[at], -1), weigh(rest, 1)))
                left[at] = rest
                decided += not rest
        chosen.append((best, decided))
        for one in touched:
            heappush(best_first, (-worth[one], one))
    return chosen


def _needed(evaluation: Evaluation, body: Formula, tuples: Sequence[Scope]) -> Needs:
    """What clocks each open tuple takes; those that no clocks decide are left out."""
    needed = []
    for scope in tuples:
        atoms = [*islice(because(evaluation, body, scope, OPEN), ATOMS)]
        needs = [need for atom in atoms for need in _needs(evaluation.log, atom)]
        if needs and len(atoms) < ATOMS and not _lacks_more(evaluation, body, scope):
            needed.append(needs)
    return needed


def _lacks_more(evaluation: Evaluation, formula: Formula, scope: Scope) -> bool:
    """Whether an open formula may stay open though the order of all events is known: what is to exist may not
    be in the log, and a state may have been interrupted, or not have ended in the log.
    """
    log = evaluation.log
    match formula:
        case Not(part):
            return _lacks_more(evaluation, part, scope)
        case And(parts) | Or(parts):
            left = [part for part in parts if evaluation.value(part, scope) == OPEN]
            return any(_lacks_more(evaluation, part, scope) for part in left)
        case Related(relation=None, same=False):
            one, other = scope.variables[formula.left].interval, scope.variables[formula.right].interval
            when = begins_before_end if formula.surely else ends_before
            endless = [
                (a, b) for a, b in ((one, other), (other, one)) if (b if formula.surely else a).end is None
            ]
            return one.broken or other.broken or any(when(log, *pair) == OPEN for pair in endless)
        case Quantified():
            if (formula.some and not log.complete) or at_once(log, formula, scope):
                return True
            opened = (each for part in evaluation.tuples(formula, scope) for each in part.scopes(part.open))
            return any(_lacks_more(evaluation, formula.body, each) for each in opened)
    return False


def _needs(log: QuestionedLog, atom: Atom) -> Iterator[frozenset[int]]:
    """The clocks that an open atom takes, whatever they show: one of each set."""
    a, b = atom.left, atom.right
    possible = log.judged.frame((b,)).possible(a)
    match bool(possible.before), bool(possible.after), bool(possible.concurrent):
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
    """The open tuples of a question; the question as a whole, where it is counted as one."""
    if not isinstance(formula, Quantified) or at_once(evaluation.log, formula, Scope()):
        if evaluation.value(formula, Scope()) == OPEN:
            yield Scope()
        return
    for part in evaluation.tuples(formula, Scope()):
        yield from part.scopes(part.open)


def _tried(log: QuestionedLog) -> Iterator[tuple[tuple[str, str, str | None, str | None], Givens]]:
    """Each observation whose outcome is one statement, and what would be known then."""
    if not log.givens.complete and log.givens.messages:
        known = log.givens.copy()
        if stated_complete(log, known) is None:
            yield (
                ("complete", "if every message of this system is in the log (`complete`)", None, None),
                known,
            )
    for text, left, right, process in islice(_ends(log), TRIED):
        known = log.givens.copy()
        known.add(Correspondence(left, Relation.BEFORE, right))
        yield ("message", text, f"{quote(left)} < {quote(right)}", process), known


def _ends(log: QuestionedLog) -> Iterator[tuple[str, str, str, str]]:
    """Where the log lost one end of a message: in words, what follows if it lies in a gap, whose that is."""
    sent: dict[str, list[Any]] = {}
    received: dict[str, list[Any]] = {}
    for message in log.givens.messages:
        (sent if message.kind == "send" else received).setdefault(message.message, []).append(message)
    for process, before, after in _gaps(log):
        where = f"between {quote(before)} and {quote(after)}" if before else f"before {quote(after)}"
        gap = f"if it is in the gap of {quote(process)}, {where}"
        for name, ends in received.items() if before else ():
            for end in ends if name not in sent else ():
                if process != end.process:
                    yield f"the sending of {quote(name)}, {gap}", before, end.event, process
        for name, ends in sent.items():
            for end in ends if name not in received else ():
                if process in end.receivers:
                    yield f"the reception of {quote(name)}, {gap}", end.event, after, process


def _gaps(log: QuestionedLog) -> Iterator[tuple[str, str, str]]:
    """Where events are missing: the process, and its events before (empty where none is) and after."""
    table = log.table
    for process, events in by_process(table).items():
        if table.seqs[events[0]] > 1:
            yield process, "", table.names[events[0]]
        for a, b in pairwise(events):
            if table.seqs[a] and table.seqs[b] - table.seqs[a] > 1:
                yield process, table.names[a], table.names[b]
