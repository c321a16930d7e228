"""Digests that say in 64 characters what a microcosm knows, or what it is given.

Two microcosms are analogous exactly if their analogy digests are equal, and are given the same exactly if
their givens digests are equal (but for collisions of SHA-256). Both depend on names and relations alone:
not on the order of arrival, the process, the machine or the version of this program, as long as the first
byte of what is hashed stays as it is here.

To be given the same is to have equal I and equal X, symmetric relations unordered (Worlds of Events,
Definition 6.1); and equal clocks, tokens, refutations, stamps, messages, processes, orderings and
completeness, which are givens too. Names, provenance, the order in which things were told, and what a writer
may leave out (zero entries of clocks, tokens without events) do not matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from hashlib import sha256

from microcosm import tuning
from microcosm.compare.verdict_rows import (
    KNOWN,
    VerdictRows,
    cover,
    given_order,
    given_verdicts,
    known_rows,
    related_names,
    seeds_own,
    verdict_rows,
)
from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.ground import Universe
from microcosm.givens.columns import Message
from microcosm.givens.exact import Number, as_float
from microcosm.givens.givens import Givens
from microcosm.givens.kinds import levels
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.logic.rulebook import RuleBook, read_rules
from microcosm.order.bits import bits
from microcosm.order.labels import Labels
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_writer import write_mc

VERSION = b"\x01"
"""The first byte of what is hashed."""


def analogy_digest(known: Microcosm) -> str:
    """The digest of all online verdicts, `?` and silence included, in hexadecimal.

    SHA-256 of, in this order (numbers are 8 bytes, little-endian):

    1. the byte 01;
    2. the number n of events of which something is known, and each of them in the order of Unicode code
       points: the number of bytes of its name in UTF-8, and these bytes;
    3. for each of `<`, `||`, `<>` in turn n rows of ⌈n/8⌉ bytes: bit i of row k, counted from the low
       bit of the first byte, is set where event i has that verdict to event k;
    4. only where the silent pairs are others than the shipped rules conclude from 3, which no
       microcosm under the shipped rules shows: the byte 3f and n rows of silent pairs; the events of 2 are
       then all that have a verdict other than `?`.

    Isolated events do not matter, as they do not to analogy. Under rules that leave events outside the
    microcosm silent (without Un-4), compare digests only where the same events are named. Cost: as
    analogy; under other rules than the shipped ones the saturation of the table comes in.

    >>> one, other = Microcosm.parse("a < b < c"), Microcosm.parse("b < c \\n a < b \\n a < c")
    >>> analogy_digest(one) == analogy_digest(other) != analogy_digest(Microcosm())
    True
    """
    return _hashed(_parts_of(known))


def analogy_digest_of(givens: Givens, rules: RuleBook | None = None) -> str:
    """`analogy_digest` of the microcosm with these givens, many times faster where it is small.

    Raises `Contradiction` where it cannot be a microcosm. Cost: under the rules of the paper that of one
    closure; no engine is built.
    """
    rows = known_rows(givens) if seeds_own(rules if rules is not None else read_rules()) else None
    if rows is None:
        return analogy_digest(Microcosm(givens, rules=rules))
    return rows_digest(rows)


def rows_digest(table: VerdictRows) -> str:
    """The digest of known relations under the shipped rules; each event of the table has one."""
    return sha256(VERSION + b"".join(_parts(table))).hexdigest()


def givens_digest(givens: Givens) -> str:
    """The digest of all that is given (`given_items`), in hexadecimal.

    SHA-256 of the byte 01 and the UTF-8 bytes of a JSON array in ASCII, without spaces: one array for
    each given, tuples as arrays, in the order of their JSON texts by code points. Cost: n log n.
    """
    items = sorted(json.dumps(item, ensure_ascii=True, separators=(",", ":")) for item in given_items(givens))
    return sha256(VERSION + f"[{','.join(items)}]".encode()).hexdigest()


def _hashed(parts: Iterable[bytes]) -> str:
    hashed = sha256(VERSION)
    for part in parts:
        hashed.update(part)
    return hashed.hexdigest()


def _parts_of(known: Microcosm) -> Iterator[bytes]:
    engine = known._engine
    if seeds_own(known.rules):
        yield from _from_givens(known.givens, related_names(engine))
        return
    table = verdict_rows(engine, known.events)
    if _under_shipped_rules(table) == table:
        yield from _parts(verdict_rows(engine, related_names(engine)))
    else:
        table = verdict_rows(engine, _remarkable(table))
        yield from _parts(table)
        yield b"?"
        yield _bytes(table.rows[Relation.SILENT], len(table.names))


def _under_shipped_rules(table: VerdictRows) -> VerdictRows | None:
    """The verdicts that the shipped rules give on the relations known in `table`; None for a cycle."""
    names, givens = table.names, Givens(stamps=dict.fromkeys(table.names, 0))
    for relation in KNOWN:
        rows = table.rows[relation]
        for k, row in enumerate(cover(rows) if relation is Relation.BEFORE else rows):
            for i in bits(row):
                givens.add(Correspondence(names[i], relation, names[k]))
    try:
        return verdict_rows(Engine(read_rules(), givens), names)
    except CyclicGivens:
        return None


def _remarkable(table: VerdictRows) -> list[str]:
    """The events with a verdict other than `?`."""
    found = 0
    for rows in table.rows.values():
        for k, row in enumerate(rows):
            if row:
                found |= row | 1 << k
    return [table.names[k] for k in bits(found)]


def _parts(table: VerdictRows) -> Iterator[bytes]:
    yield from _names(table.names)
    for relation in KNOWN:
        yield _bytes(table.rows[relation], len(table.names))


def _from_givens(givens: Givens, names: list[str]) -> Iterator[bytes]:
    """`_parts` under the shipped rules, of a block of events after the other."""
    yield from _names(names)
    universe = Universe([*dict.fromkeys((*names, *givens.named()))])
    order = given_order(givens, universe)
    _, past, _, concurrent, related = given_verdicts(givens, universe, order)
    places = range(universe.OUTSIDERS, universe.OUTSIDERS + len(names))
    for row in (past, concurrent, related):
        for first in range(0, len(names), tuning.ROWS_HELD):
            block = places[first : first + tuning.ROWS_HELD]
            labels = order.order if row is past else None
            rows = labels.pasts(block) if isinstance(labels, Labels) else map(row, block)
            yield _bytes([found >> universe.OUTSIDERS for found in rows], len(names))


def _names(names: list[str]) -> Iterator[bytes]:
    yield _number(len(names))
    for name in names:
        written = name.encode("utf-8", "surrogatepass")
        yield _number(len(written)) + written


def _bytes(rows: list[int], events: int) -> bytes:
    width = events + 7 >> 3
    return b"".join([row.to_bytes(width, "little") for row in rows])


def _number(number: int) -> bytes:
    return number.to_bytes(8, "little")


GivenItem = tuple[object, ...]
"""A kind of given and what it says: strings, numbers, booleans and nested tuples of these."""


def given_items(givens: Givens) -> Iterator[GivenItem]:
    """All that is given, each thing in one form; equal as sets where the givens are equal. Cost: linear."""
    if givens.internal:
        yield ("internal", *givens.internal)
    for kind, facts in (("external", givens.external), ("refuted", givens.refuted)):
        yield from ((kind, *key) for key in facts)
    for event, stamp in givens.stamps.items():
        yield ("stamp", event, *([stamp] if isinstance(stamp, int) else map(_bound, stamp)))
    yield from _clocks(givens.clocks)
    for message in dict.fromkeys(map(_message, givens.messages)):
        yield ("message", 1, *message)  # which is a given once, however often it is stated
    for process, events in givens.processes.items():
        if events:
            yield ("process", process, *sorted(set(events)))
    yield from (("ordering", ordering) for ordering in set(givens.orderings))
    if givens.complete:
        yield ("complete", *(sorted(givens.complete) if isinstance(givens.complete, tuple) else ()))
    for token, group in givens.tokens.items():
        if group:
            yield ("token", token, *sorted(set(group)))


def same_givens(one: Givens, other: Givens) -> bool:
    """Whether two microcosms are given the same.

    >>> one, other = Givens(), Givens(name="other")
    >>> one.add(Correspondence("a", Relation.CONCURRENT, "b"))
    >>> other.add(Correspondence("b", Relation.CONCURRENT, "a"))
    >>> same_givens(one, other)
    True
    """
    return set(given_items(one)) == set(given_items(other))


def given_differences(one: Givens, other: Givens) -> tuple[list[GivenItem], list[GivenItem]]:
    """What only the one is given and what only the other is, both in order of text."""
    mine, theirs = set(given_items(one)), set(given_items(other))
    return sorted(mine - theirs, key=repr), sorted(theirs - mine, key=repr)


def sentence(item: GivenItem, givens: Givens) -> str:
    """A given as its own file says it, on one line."""
    alone = Givens()
    kind, *rest = item
    match kind:
        case "internal":
            alone.internal = list(givens.internal)
        case "external" | "refuted":
            left, sign, right = map(str, rest)
            alone.add(Correspondence(left, Relation(sign), right))
        case "stamp":
            alone.stamps = {str(rest[0]): givens.stamps[str(rest[0])]}
        case "clock":
            alone.clocks = {str(rest[0]): givens.clocks[str(rest[0])]}
        case "message":
            alone.messages = [m for m in givens.messages if _message(m) == tuple(rest[1:])][:1]
        case "process":
            alone.processes = {str(rest[0]): givens.processes[str(rest[0])]}
        case "ordering":
            alone.orderings = [str(rest[0])]
        case "complete":
            alone.complete = tuple(map(str, rest)) or True
        case "token":
            alone.tokens = {str(rest[0]): givens.tokens[str(rest[0])]}
        case _:
            return "the order in which clocks with equal components are stated"
    return write_mc(alone, sources=False, events=False).rstrip("\n")


def _bound(value: Number) -> object:
    """A number in one form, however many zeros it was written with; a fraction where it has many digits."""
    near = as_float(value)
    return str(Fraction(value)) if near is None else near + 0.0  # which is no -0.0


def _message(message: Message) -> GivenItem:
    receivers = tuple(sorted(set(message.receivers)))
    return (message.kind, message.event, message.message, message.process, *receivers)


def _clocks(clocks: Mapping[str, Clock]) -> Iterator[GivenItem]:
    """Each clock, and each run of events of one process whose order is that of statement only."""
    for event, clock in clocks.items():
        entries = tuple(sorted((p, count) for p, count in clock.entries.items() if count))
        execution = () if clock.execution is None else (clock.execution,)
        yield ("clock", event, clock.process, entries, clock.ticked and clock.own > 0, *execution)
    for events in levels(clocks).values():
        if len(events) > 1:
            yield ("stated in this order", *events)
