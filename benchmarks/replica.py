"""Claim: a replica answers as its microcosm does, and what an exchange costs grows with the difference.

The questions are of pairs drawn at random, 99 of 100 answered within the time shown; the peer is the same
microcosm asked without a replica. Beside that, questions each right after an event that is appended: what is
not happens-before is then derived anew, a millisecond or two for the few pairs that are silent. An exchange
is compared with handing over everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from time import perf_counter

from benchmarks.measure import Line, paired
from microcosm.givens.relation import Correspondence, Relation
from microcosm.replica.ledger.dots import Dot
from microcosm.replica.ledger.evolution import Add, Append, Evolution
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory

NAME = "replica"

PROCESSES = 8


def run(quick: bool = False) -> list[Line]:
    """Questions to a replica of 100,000 events, and an exchange of 100 of 20,000 evolutions."""
    size, asked = (2_000, 200) if quick else (100_000, 5_000)
    one = replica("one", size)
    rng = Random(3)
    events = one.events
    pairs = [rng.sample(events, 2) for _ in range(asked)]
    known = one.snapshot()
    for ask in (one.online, known.online):
        ask(*pairs[0])
    case = f"{size:,} events of {PROCESSES} processes, online, 99th of 100"
    at = [percentile(ask, pairs) for ask in (known.online, one.online)]
    lines = [
        Line(NAME, case, subject, seconds, seconds / at[0], asked)
        for subject, seconds in zip(("microcosm", "replica"), at, strict=True)
    ]
    after = pairs[: 20 if quick else 1_000]
    changed = percentile(one.online, after, before=changes(one))
    lines.append(Line(NAME, f"{case}, right after a change", "replica", changed, changed / at[0], len(after)))
    return lines + exchanged(size // 5, 20 if quick else 100)


def exchanged(size: int, new: int) -> list[Line]:
    """An exchange of a few evolutions, and one of all of them."""
    full, other = replica("full", size), replica("other", size)
    for n in range(new):
        other.local(f"new{n}")
    empty = Replica(Memory(), "empty", incarnation=1)
    subjects: dict[str, Callable[[], object]] = {
        "what is missing": lambda: level(full, other),
        "everything": lambda: level(empty, full),
    }
    case = f"exchange of {new} of {size:,} evolutions"
    return paired(NAME, case, subjects, rounds=1, patience=3600)[0]


def replica(name: str, size: int) -> Replica:
    """A replica that has taken the events and messages of others; every third event is a message received."""
    found = Replica(Memory(), name, incarnation=1)
    found.take(evolutions(size))
    return found


def evolutions(size: int) -> Iterator[Evolution]:
    rng = Random(2)
    numbers = [0] * PROCESSES
    for n in range(size):
        p, q = n % PROCESSES, rng.randrange(PROCESSES)
        numbers[p] += 1
        yield Append(Dot(f"p{p}", 1, numbers[p]), f"p{p}:{n}")
        if n % 3 == 0 and n > 50 * PROCESSES and p != q:
            sent = n - 40 * PROCESSES - (n - q) % PROCESSES
            numbers[p] += 1
            fact = Correspondence(f"p{q}:{sent}", Relation.BEFORE, f"p{p}:{n}")
            yield Add(Dot(f"p{p}", 1, numbers[p]), fact)


def changes(one: Replica) -> Callable[[], object]:
    rng = Random(4)
    return lambda: one.local(f"new{rng.random()}")


def percentile(
    ask: Callable[[str, str], object], pairs: list[list[str]], before: Callable[[], object] | None = None
) -> float:
    """The time, in seconds, within which 99 of 100 questions are answered."""
    times = []
    for a, b in pairs:
        if before is not None:
            before()
        start = perf_counter()
        ask(a, b)
        times.append(perf_counter() - start)
    return sorted(times)[len(times) * 99 // 100]
