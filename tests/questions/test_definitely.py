"""`definitely`: against every world that fits, every run of it, and every place where an end may lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from random import Random

from microcosm.engine.engine import Engine
from microcosm.givens.event_table import EventRow, EventTableBuilder
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.kernel.check import check
from microcosm.logic.rulebook import read_rules
from microcosm.questions.answers import Answers
from microcosm.questions.questioned_log import QuestionedLog
from microcosm.questions.reader import read_questions
from tests.questions.enumerated import Order, agreed, orders_fitting

STATES = """
state S(k = key) on "0" from op in ("s", "r") until op in ("e", "r")
state T(k = key) on "1" from op in ("s", "r") until op in ("e", "r")
state U(k = key) on "2" from op in ("s", "r") until op in ("e", "r")
"""
VERDICTS = {1: "holds", -1: "violated", 0: "open"}
VAGUE = (Relation.BEFORE, Relation.BEFORE, Relation.BEFORE, Relation.RELATED, Relation.CONCURRENT)

Ops = Mapping[str, str]
Chains = Sequence[Sequence[str]]


def phases(chain: Sequence[str], ops: Ops, lost: frozenset[str]) -> list[bool]:
    """For each number of events that a process has done, whether it is surely in the state then: it is not
    where an event before which some are missing lies between a start and its end.
    """
    found, begin = [False] * (len(chain) + 1), None
    for at, event in enumerate([*chain, None]):
        ends = event is None or ops[event] in ("e", "r")
        if ends and begin is not None:
            if not lost & {*chain[begin + 1 : at + 1]}:
                found[begin + 1 : at + 1] = [True] * (at - begin)
            begin = None
        if event is not None and ops[event] in ("s", "r") and begin is None:
            begin = at
    return found


def value(chains: Chains, ops: Ops, lost: frozenset[str], before: Order, complete: bool) -> int:
    """Whether each run of a world goes through a cut in which all the processes are in the state.

    Where the log is not complete, what it has not may end a state after the last event of its process, at
    worst beside all else: that is an event more; and then it is never sure that there is no state besides.
    """
    order = set(before)
    states = [phases(chain, ops, lost) for chain in chains]
    if not complete:
        longer = []
        for number, chain in enumerate(chains):
            end = f"end{number}"
            order |= {(a, end) for a, b in before if chain and b == chain[-1]} | {(a, end) for a in chain}
            longer.append([*chain, end])
        chains, states = longer, [[*state, False] for state in states]

    @cache
    def avoided(at: tuple[int, ...]) -> bool:
        """Whether some run goes on from a cut to the end without one that has all the states."""
        if all(state[done] for state, done in zip(states, at, strict=True)):
            return False
        if all(done == len(chain) for chain, done in zip(chains, at, strict=True)):
            return True
        cut = {event for chain, done in zip(chains, at, strict=True) for event in chain[:done]}
        next_ones = [
            (*at[:i], at[i] + 1, *at[i + 1 :])
            for i, chain in enumerate(chains)
            if at[i] < len(chain) and all(a in cut for a, b in order if b == chain[at[i]])
        ]
        return any(map(avoided, next_ones))

    in_each = not avoided((0,) * len(chains))
    return 1 if in_each else -1 if complete else 0


def test_it_is_decided_as_every_run_tells() -> None:
    """Where nothing but `<` is known, what evaluation leaves open is open; `--exact` decides all there is."""
    seen: dict[tuple[str, bool], int] = {}
    for seed in range(350):
        rng = Random(seed)
        count = rng.choice([2, 2, 3])
        events = "abcdefgh"[: rng.choice([4, 5, 6, 7])]
        chains: list[list[str]] = [[] for _ in range(count)]
        for event in events:
            rng.choice(chains).append(event)
        vague = rng.random() < 0.4 and len(events) < 7
        complete = not vague and rng.random() < 0.4
        givens = Givens()
        for chain in chains:
            for a, b in combinations(chain, 2):
                givens.add(Correspondence(a, Relation.BEFORE, b))
        for a, b in combinations(events, 2):
            if any(a in c and b in c for c in chains) or rng.random() < (0.3 if vague else 0.5):
                continue
            relation = rng.choice(VAGUE) if vague else Relation.BEFORE
            givens.add(Correspondence(a, relation, b))
        ops = {event: rng.choice("ssser-") for event in events}
        givens.complete = complete
        worlds = orders_fitting(givens, events, 400)
        if not worlds:
            continue
        if complete:
            worlds = [min(worlds, key=len)]
        lost = frozenset(e for c in chains for e in c[1:] if not complete and rng.random() < 0.1)
        expected = agreed([value(chains, ops, lost, before, complete) for before in worlds])
        builder = EventTableBuilder()
        for number, chain in enumerate(chains):
            seq = 0
            for event in chain:
                seq += 2 if event in lost else 1
                builder.add(EventRow(event, str(number), seq, attributes={"op": ops[event], "key": "x"}))
        givens.events = builder.table()
        text = "definitely " + " and ".join(f"{'STU'[at]}(_)" for at in range(count))
        asked = QuestionedLog(givens, Engine(read_rules(), givens), read_questions(STATES + text))
        (quick,) = Answers(asked)
        said = (seed, chains, ops, lost, [*map(str, givens.external.values())])
        if not vague or quick.verdict != "open":
            assert quick.verdict == VERDICTS[expected], said
        (exact,) = Answers(asked, exact=True)
        assert exact.verdict == VERDICTS[expected], said
        seen[quick.verdict, vague] = seen.get((quick.verdict, vague), 0) + 1
        for witness in quick.witnesses:
            for atom in witness.atoms:
                assert atom.derivation is not None
                assert check(givens, read_rules(), atom.derivation.to_json()) is None
    assert all(seen.get((verdict, False), 0) > 10 for verdict in VERDICTS.values()), seen
    assert seen.get(("holds", True), 0) > 2, seen
