"""Claim: a replica answers as its microcosm does, and what an exchange costs grows with the difference.

The questions are of pairs drawn at random, 99 of 100 answered within the time shown; the peer is the same
microcosm asked without a replica. Beside that, questions each right after an event that is appended: what is
not happens-before is then derived anew, a millisecond or two for the few pairs that are silent. An exchange
is compared with handing over everything. What contradicts itself: many facts of which each contradicts one
other, asked for what is set aside, beside as many that do not; and what a further fact costs a replica where
something is set aside, beside one where nothing is. And what signatures cost an exchange of everything.
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
    lines += exchanged(size // 5, 20 if quick else 100)
    lines += contradictory(50 if quick else 1_000)
    return [*lines, *beside(size // 2, 5 if quick else 20), *signed(size // 5)]


def contradictory(count: int) -> list[Line]:
    """What is set aside of `count` facts that contradict as many others."""

    def told(sign: str) -> Replica:
        found = Replica(Memory(), "one", incarnation=1)
        orders = [Correspondence(f"u{n}", Relation.BEFORE, f"v{n}") for n in range(count)]
        others = [Correspondence(f"v{n}{sign}", Relation.BEFORE, f"u{n}") for n in range(count)]
        found.take(Add(Dot("x", 1, n), fact) for n, fact in enumerate([*orders, *others], 1))
        return found

    contradicting, consistent = told(""), told("'")
    subjects: dict[str, Callable[[], object]] = {
        "nothing contradicts": lambda: consistent.conflicts,
        "each contradicts one": lambda: contradicting.conflicts,
    }
    return paired(NAME, f"{2 * count:,} facts, what is set aside", subjects, rounds=1, patience=3600)[0]


def beside(size: int, new: int) -> list[Line]:
    """A further fact between two events that are known, where two others contradict each other, and not."""
    quiet, torn = replica("quiet", size), replica("torn", size)
    torn.take(
        Add(Dot("x", 1, n), Correspondence(left, Relation.BEFORE, right))
        for n, (left, right) in enumerate((("u", "v"), ("v", "u")), 1)
    )
    count = iter(range(10**9))

    def learn(one: Replica) -> None:
        for _ in range(new):
            n = next(count)
            one.learn(f"p1:{PROCESSES + 1} < early{n}")
            one.learn(f"early{n} < p3:{size // PROCESSES * PROCESSES - PROCESSES + 3}")

    for each in (quiet, torn):
        _ = each.known
    subjects: dict[str, Callable[[], object]] = {
        "nothing is set aside": lambda: learn(quiet),
        "two facts are set aside": lambda: learn(torn),
    }
    return paired(NAME, f"{2 * new} facts beside {size:,} events", subjects, rounds=3, patience=3600)[0]


def signed(size: int) -> list[Line]:
    """An exchange of everything, of streams that nobody signs, and of such that their authors sign."""
    authors = {sign: Replica(Memory(), "author", incarnation=1) for sign in (False, True)}
    for sign, author in authors.items():
        if sign:
            author.sign()
        for n in range(size):
            author.local(f"event {n}")

    def read(sign: bool) -> None:
        reader = Replica(Memory(), "reader", incarnation=1)
        if sign:
            reader.sign()
        level(authors[sign], reader)

    subjects: dict[str, Callable[[], object]] = {
        "unsigned": lambda: read(False),
        "signed by its author": lambda: read(True),
    }
    return paired(NAME, f"exchange of all {size:,} evolutions", subjects, rounds=3, patience=3600)[0]


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
