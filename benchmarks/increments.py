"""Claim: correspondences that come one by one, a question after each, cost little more than all at once.

What is given last is added one by one: in causal order or, everything shuffled, in random order; with a
question after each, or none before the end, when all rows of both directions are made. The batch is reading
the whole as text and closing it in both directions. The case says how many rows or labels the additions
updated; and how many rows of both directions a link by itself would change, in the first tenth of them, in
the last, and on average. At the end all say the same of pairs drawn at random.
"""

from __future__ import annotations

from random import Random
from statistics import fmean

from benchmarks.families import Family, Pairs, rand, trace
from benchmarks.measure import Line, paired
from microcosm import Correspondence, Microcosm, Relation
from microcosm.order.happens_before import HappensBefore, cycle_or_order, edge_sets
from microcosm.order.rows import Rows

NAME = "increments"

SAMPLED = 60
"""Of so many additions in each tenth it is told how many rows they change."""


def run(quick: bool = False) -> list[Line]:
    """Logs and random pairs."""
    (size, many), (fewer, few) = ((300, 100),) * 2 if quick else ((20_000, 10_000), (5_000, 2_500))
    lines = []
    for family, added in ((trace(size, 8), many), (rand(fewer, 4), few)):
        for shuffled in (False, True):
            lines += measure(family, shuffled, added, rounds=1 if quick else 3)
    return lines


def measure(family: Family, shuffled: bool, added: int, rounds: int) -> list[Line]:
    rng = Random(5)
    pairs = in_causal_order(family)
    if shuffled:
        rng.shuffle(pairs)
    facts = [Correspondence(f"e{a}", Relation.BEFORE, f"e{b}") for a, b in pairs]
    whole = "\n".join(map(str, facts))
    start = "\n".join(map(str, facts[:-added]))
    events = sorted({name for fact in facts[:-added] for name in (fact.left, fact.right)})
    asked = [rng.sample(events, 2) for _ in range(added)]
    bases = [read(start) for _ in range(2 * rounds)]
    updates = [order(base).updates for base in bases]

    def asked_each_time() -> Microcosm:
        known = bases.pop()
        for fact, (a, b) in zip(facts[-added:], asked, strict=True):
            known.add(fact)
            known.online(a, b)
        return known

    def one_by_one() -> Microcosm:
        known = bases.pop()
        for fact in facts[-added:]:
            known.add(fact)
        return closed(known)

    subjects = {
        "one by one, a question after each": asked_each_time,
        "one by one, nothing asked before the end": one_by_one,
        "the whole at once": lambda: read(whole),
    }
    lines, answers = paired(NAME, "", subjects, rounds=rounds, patience=3600)
    slowly, unasked, at_once = (answers[name] for name in subjects)
    assert isinstance(slowly, Microcosm)
    assert isinstance(unasked, Microcosm)
    assert isinstance(at_once, Microcosm)
    for a, b in asked:
        assert slowly.online(a, b) is unasked.online(a, b) is at_once.online(a, b)
    count = order(slowly).updates - updates[0]
    what = "random" if shuffled else "causal"
    by_itself = changing(family.size, pairs, added)
    rows = f"{by_itself[0]:,} to {by_itself[-1]:,} rows a link, {fmean(by_itself):,.0f} on average"
    case = f"{family.name}, {what} order: {added:,} added, {count:,} updates; by itself {rows}"
    return [Line(NAME, case, line.subject, line.seconds, line.ratio, line.runs) for line in lines]


def changing(size: int, pairs: Pairs, added: int) -> list[int]:
    """How many rows a link changes, at the middle of each tenth of those added: the mean of some."""
    found = []
    for at in range(len(pairs) - added + added // 20, len(pairs), added // 10):
        rows = Rows(size, pairs[:at])
        rows.saturate()
        changed = 0
        for a, b in pairs[at : at + SAMPLED]:
            if not rows.before(a, b):
                changed += ((rows.future(b) | 1 << b) & ~rows.future(a)).bit_count()
                changed += ((rows.past(a) | 1 << a) & ~rows.past(b)).bit_count()
        found.append(changed // len(pairs[at : at + SAMPLED]))
    return found


def in_causal_order(family: Family) -> list[tuple[int, int]]:
    rank = {v: at for at, v in enumerate(cycle_or_order(family.size, *edge_sets(family.size, family.before)))}
    return sorted(family.before, key=lambda pair: rank[pair[1]])


def read(text: str) -> Microcosm:
    """A microcosm whose happens-before is known in both directions."""
    return closed(Microcosm.parse(text))


def closed(known: Microcosm) -> Microcosm:
    """The same with all rows of both directions made."""
    before = order(known)
    if isinstance(before, Rows):
        before.saturate()
    return known


def order(known: Microcosm) -> HappensBefore:
    return known._engine.order
