"""What may happen to a log between its writing and its reading, and what is then claimed of its events.

A damage makes files of the records of one log or two. An event that is read is known by its file and
line, whatever its name: so what a damaged log claims can be compared with what truly held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.order.bits import bits
from microcosm.order.clock_order import ClockRows
from microcosm.traces import reading as formats
from microcosm.traces.execution import executions
from microcosm.traces.extract import extract
from microcosm.traces.report import Report
from tests.traces.samples import Sample

Piece = int | str
"""The number of a record, or text that is no record: the header of a log, a line between executions."""

Damage = Callable[[Sample, Random], list[list[Piece]]]
"""The pieces of each file that a damage makes of a log."""


def whole(sample: Sample, random: Random) -> list[list[Piece]]:
    return [[*_all(sample)]]


def head_cut(sample: Sample, random: Random) -> list[list[Piece]]:
    return [[*_all(sample)][random.randrange(1, max(2, 3 * len(sample.records) // 4)) :]]


def tail_cut(sample: Sample, random: Random) -> list[list[Piece]]:
    return [[*_all(sample)][: -random.randrange(1, max(2, 3 * len(sample.records) // 4))]]


def thinned_a_little(sample: Sample, random: Random) -> list[list[Piece]]:
    return [[at for at in _all(sample) if random.random() >= 0.05]]


def thinned(sample: Sample, random: Random) -> list[list[Piece]]:
    return [[at for at in _all(sample) if random.random() >= 0.3]]


def shuffled(sample: Sample, random: Random) -> list[list[Piece]]:
    pieces = [*_all(sample)]
    random.shuffle(pieces)
    return [pieces]


def shuffled_and_thinned(sample: Sample, random: Random) -> list[list[Piece]]:
    return [[at for at in shuffled(sample, random)[0] if random.random() >= 0.3]]


def split_in_order(sample: Sample, random: Random) -> list[list[Piece]]:
    pieces = [*_all(sample)]
    at = random.randrange(1, len(pieces))
    return [pieces[:at], pieces[at:]]


def split_backwards(sample: Sample, random: Random) -> list[list[Piece]]:
    return split_in_order(sample, random)[::-1]


def split_by_process(sample: Sample, random: Random) -> list[list[Piece]]:
    files = [
        [at for at in _all(sample) if sample.process[at] == name] for name in dict.fromkeys(sample.process)
    ]
    random.shuffle(files)
    return [[*file] for file in files]


def doubled(sample: Sample, random: Random) -> list[list[Piece]]:
    return [[*_all(sample), *_all(sample)]]


def doubled_as_files(sample: Sample, random: Random) -> list[list[Piece]]:
    return [[*_all(sample)], [*_all(sample)]]


def each_line_doubled(sample: Sample, random: Random) -> list[list[Piece]]:
    return [[at for one in _all(sample) for at in (one, one)]]


DAMAGES: tuple[Damage, ...] = (
    whole,
    head_cut,
    tail_cut,
    thinned_a_little,
    thinned,
    shuffled,
    shuffled_and_thinned,
    split_in_order,
    split_backwards,
    split_by_process,
    doubled,
    doubled_as_files,
    each_line_doubled,
)


def joined(one: Sample, other: Sample, separated: bool, files: bool) -> tuple[Sample, list[list[Piece]]]:
    """Two executions as one sample whose executions have nothing to do with each other, and its pieces."""
    count, shift = len(one.records), len(one.past)
    both = Sample(
        one.format,
        one.records + other.records,
        one.past + [row << shift for row in other.past],
        one.process + other.process,
        one.header,
        one.footer,
        one.each,
        binary=one.binary,
        pattern=one.pattern,
    )
    first: list[Piece] = [*range(count)]
    second: list[Piece] = [*range(count, len(both.records))]
    if separated:
        assert one.separator is not None
        assert other.separator is not None
        if not files and "===" in one.separator:
            first.insert(0, one.separator)
        second.insert(0, other.separator)
    between = [] if separated or files else [one.footer, other.header]
    return both, [first, second] if files else [[*first, *between, *second]]


def _all(sample: Sample) -> range:
    return range(len(sample.records))


@dataclass
class Claims:
    """What was read of damaged files: the events' identities by name, and the microcosm.

    `place` numbers the events that were read, `identity` says which event of the sample each is.
    """

    givens: Givens
    place: dict[str, int]
    identity: list[int]
    report: Report
    events: int


def read_pieces(sample: Sample, files: list[list[Piece]], folder: Path) -> Claims:
    """Write the files of a damaged sample, read them as one log, and extract its microcosm."""
    paths = []
    where: dict[tuple[str, int], int] = {}
    for number, pieces in enumerate(files):
        path = folder / f"{number}.log"
        texts = [sample.header]
        line = 1 + sample.header.count("\n")
        for piece in pieces:
            text = sample.records[piece] if isinstance(piece, int) else piece
            if isinstance(piece, int):
                where.update({(str(path), line + at): piece for at in range(text.count("\n"))})
            line += text.count("\n")
            texts.append(text)
        path.write_bytes(sample.binary("".join((*texts, sample.footer))))
        paths.append(path)
    report = Report()
    events = list(formats.read(paths, format=sample.format, pattern=sample.pattern, report=report))
    met: dict[tuple[str, int], int] = {}
    known: dict[tuple[str, int, str, int, str | None], int] = {}
    for event in events:
        place = event.file, event.line
        ordinal = met[place] = met.get(place, -1) + 1
        known[(*place, event.process, event.seq, event.label)] = where[place] * sample.each + ordinal
        assert ordinal < sample.each
    found = extract(events, report=report)
    runs = executions(events, Report())
    place_of: dict[str, int] = {}
    identity: list[int] = []
    for run in runs:
        for event in run.events:
            name = event.full_id if len(runs) > 1 else event.id
            assert name not in place_of
            place_of[name] = len(identity)
            identity.append(known[event.file, event.line, event.process, event.seq, event.label])
    return Claims(found.givens, place_of, identity, report, len(events))


def false_claims(claims: Claims, past: list[int], alone: list[int]) -> Iterator[str]:
    """What is claimed and does not hold. `alone[i]`: the events of i's execution, as bits."""
    place, identity, givens = claims.place, claims.identity, claims.givens
    names = list(place)
    rows = ClockRows(givens.clocks, place)
    edges = [(place[a], place[b]) for a, b in pairwise(givens.internal)] + [*rows.cover()]
    apart: list[tuple[int, int]] = []
    for fact in (*givens.external.values(), *givens.refuted.values()):
        pair = place[fact.left], place[fact.right]
        if fact.relation is Relation.BEFORE:
            edges.append(pair)
        elif fact.relation is Relation.CONCURRENT:
            apart += [pair, pair[::-1]]
        elif fact.relation is Relation.NOT_BEFORE:
            apart.append(pair)
    for a, b in edges:
        if not past[identity[b]] >> identity[a] & 1:
            yield f"{names[a]} < {names[b]}"
    for event in givens.clocks:
        b = place[event]
        for a in bits(rows.unseen(b) | rows.concurrent(b)):
            apart.append((a, b))
    for a, b in apart:
        i, j = identity[a], identity[b]
        if i == j or past[j] >> i & 1 or not alone[j] >> i & 1:
            yield f"{names[a]} !< {names[b]}"


def of_one(sample: Sample) -> list[int]:
    """All events of a sample, for each of them."""
    return [(1 << len(sample.past)) - 1] * len(sample.past)


def of_two(one: Sample, other: Sample) -> list[int]:
    """The events of its own sample, for each event of two that were joined."""
    first, both = len(one.past), len(one.past) + len(other.past)
    low = (1 << first) - 1
    return [low] * first + [(1 << both) - 1 & ~low] * (both - first)


def closed(count: int, edges: list[tuple[int, int]]) -> list[int]:
    """The events before each, as bits, where edges lead from the earlier to the later."""
    targets: dict[int, list[int]] = {}
    waiting = [0] * count
    for a, b in edges:
        targets.setdefault(a, []).append(b)
        waiting[b] += 1
    past = [0] * count
    order = [at for at in range(count) if not waiting[at]]
    for at in order:
        for target in targets.get(at, ()):
            past[target] |= past[at] | 1 << at
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    assert len(order) == count, "what is claimed runs in a circle"
    return past


def claimed_order(claims: Claims) -> list[int]:
    """What a log claims of its own events, as bits by identity."""
    place, identity, givens = claims.place, claims.identity, claims.givens
    edges = [(place[a], place[b]) for a, b in pairwise(givens.internal)]
    edges += ClockRows(givens.clocks, place).cover()
    edges += [
        (place[fact.left], place[fact.right])
        for fact in givens.external.values()
        if fact.relation is Relation.BEFORE
    ]
    top = max(identity, default=-1) + 1
    return closed(top, [(identity[a], identity[b]) for a, b in edges])
