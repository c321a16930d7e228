"""What questions mean, by enumeration of every world that fits, every consistent cut, every tuple.

It shares no code with what it is held against.

A question is made as nested tuples, which are written out as text for the program, and evaluated as they are.
A value is 1 (true), -1 (false) or 0 (open even in a single world, for what the log may lack).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, pairwise, product
from random import Random
from typing import Any

import networkx

from microcosm.givens.event_table import EventRow, EventTable, EventTableBuilder
from microcosm.givens.givens import Givens

Order = frozenset[tuple[str, str]]
Formula = tuple[Any, ...]
Interval = tuple[str, str | None, str, bool, str]

PATTERNS = """
event A(k = key) where op = "A"
event B(k = key) where op ~ "^B$"
event Any where op != ""
state S(k = key) from op = "S" until op = "E"
"""


@dataclass
class Log:
    """Events with an op and a key, on processes; before those of `skips` an event of the process is
    missing.
    """

    givens: Givens
    events: tuple[str, ...]
    op: Mapping[str, str]
    key: Mapping[str, str]
    chains: Sequence[Sequence[str]]
    skips: frozenset[str]

    def table(self) -> EventTable:
        """As the program has it."""
        builder = EventTableBuilder()
        for number, members in enumerate(self.chains):
            seq = 0
            for event in members:
                seq += 2 if event in self.skips and seq else 1
                attributes = {"op": self.op[event], "key": self.key[event]}
                builder.add(EventRow(event, f"p{number}", seq, label=self.op[event], attributes=attributes))
        return builder.table()

    @property
    def complete(self) -> bool:
        """Whether what is not in the log did not happen: then it orders all that is related."""
        skipped = any(set(c[1:]) & self.skips for c in self.chains)
        return self.givens.complete is True and not skipped and self.ordered

    @cached_property
    def ordered(self) -> bool:
        """Whether all that is said to be related is ordered, as in a complete log."""
        stated = [(fact.left, str(fact.relation), fact.right) for fact in self.givens.external.values()]
        order = networkx.DiGraph(
            [*pairwise(self.givens.internal), *((a, b) for a, r, b in stated if r == "<")]
        )
        known = networkx.transitive_closure(order).edges
        return all((a, b) in known or (b, a) in known for a, r, b in stated if r == "<>")

    @cached_property
    def intervals(self) -> list[Interval]:
        """Start, end or None, the last event of the process, whether a gap lies within, and the key."""
        found = []
        for members in self.chains:
            for at, event in enumerate(members):
                if self.op[event] != "S":
                    continue
                opened = any(
                    self.op[e] == "S"
                    and self.key[e] == self.key[event]
                    and "E" not in [self.op[x] for x in members[i:at]]
                    for i, e in enumerate(members[:at])
                )
                if opened:
                    continue
                ends = [i for i in range(at + 1, len(members)) if self.op[members[i]] == "E"]
                stop = ends[0] if ends else len(members) - 1
                broken = bool(set(members[at + 1 : stop + 1]) & self.skips)
                end = members[ends[0]] if ends else None
                found.append((event, end, members[-1], broken, self.key[event]))
        return found


def chains_of(events: Sequence[str], before: Order, rng: Random) -> list[list[str]]:
    """The events as processes whose events are known to be in order."""
    chains: list[list[str]] = []
    for event in sorted(events, key=lambda e: sum((x, e) in before for x in events)):
        fitting = [c for c in chains if (c[-1], event) in before]
        if fitting and rng.random() < 0.8:
            rng.choice(fitting).append(event)
        else:
            chains.append([event])
    return chains


def random_log(givens: Givens, events: Sequence[str], before: Order, rng: Random) -> Log:
    """A log of a microcosm with words drawn at random; `before` is what is surely ordered."""
    op = {event: rng.choice("AAABBSSE") for event in events}
    key = {event: rng.choice("xxxy") for event in events}
    chains = chains_of(events, before, rng)
    skips = frozenset(e for e in events if rng.random() < 0.15)
    givens = givens.copy()
    givens.complete = rng.random() < 0.4
    log = Log(givens, tuple(events), op, key, chains, skips)
    givens.events = log.table()
    return log


# -- questions ---------------------------------------------------------------------------------------------

RELATIONS = ("<", ">", "||", "<>")


def random_question(rng: Random) -> tuple[str, Formula]:
    """A question as text, and as a formula."""
    kind = rng.choice(["never", "never", "every", "while", "while3", "assert", "assert", "assert"])
    one, other = rng.choice("AB"), rng.choice("AB")
    k, m = rng.choice([("k", "k"), ("k", "m"), ("k", '"x"')])
    sign = rng.choice(RELATIONS)
    if kind == "never":
        pair = ("pairs", (("x", one, k), ("y", other, m)), ("not", ("rel", "x", sign, "y")))
        return f"never {one}({k}) {sign} {other}({m})", pair
    if kind == "every":
        word = rng.choice(["before", "after"])
        inner = ("some", (("y", other, m),), ("rel", "x", "<" if word == "before" else ">", "y"))
        return f"every {one}({k}) {word} some {other}({m})", ("all", (("x", one, k),), inner)
    if kind == "while":
        if rng.random() < 0.5:
            return f"possibly S({k}) and S({m})", (
                "some",
                (("x", "S", k), ("y", "S", m)),
                ("while", "x", "y"),
            )
        pair = ("pairs", (("x", "S", k), ("y", "S", m)), ("not", ("while", "x", "y")))
        return f"never S({k}) while S({m})", pair
    if kind == "while3":
        atoms = [("while", a, b) for a, b in combinations("xyz", 2)]
        binders = (("x", "S", k), ("y", "S", m), ("z", "S", "n"))
        return f"possibly S({k}) and S({m}) and S(n)", ("some", binders, ("and", *atoms))
    return _assertion(rng)


def _assertion(rng: Random) -> tuple[str, Formula]:
    used: list[tuple[str, str]] = []
    formula = _quantified(rng, used, 2)
    if rng.random() < 0.2:
        formula = ("or", formula, ("not", _quantified(rng, used, 1)))
    return f"assert {written(formula)}", formula


def _quantified(rng: Random, used: list[tuple[str, str]], depth: int) -> Formula:
    word, names = rng.choice(["all", "all", "some"]), "abcdefgh"
    binders = []
    for _ in range(rng.choice([1, 2, 2])):
        name = names[len(used) + len(binders)]
        binders.append((name, rng.choice(["A", "B", "S"]), rng.choice(["k", "k", "m", '"x"', "_"])))
    within = used + [(name, pattern) for name, pattern, _ in binders]
    return (word, tuple(binders), _body(rng, within, depth))


def _body(rng: Random, used: list[tuple[str, str]], depth: int) -> Formula:
    choice = rng.random()
    if depth and choice < 0.5:
        return (rng.choice(["and", "or"]), _body(rng, used, depth - 1), _body(rng, used, depth - 1))
    if depth and choice < 0.65:
        return ("not", _body(rng, used, depth - 1))
    if depth and choice < 0.75 and len(used) < 4:
        return _quantified(rng, used, depth - 1)
    one, other = rng.choice(used), rng.choice(used)
    if one[1] == "S" and other[1] == "S":
        return ("while", one[0], other[0])
    if one[1] == "S" or other[1] == "S":
        return ("cmp", one[0], rng.choice(["=", "!="]), other[0], rng.choice(["process", "key"]))
    match rng.randrange(6):
        case 0:
            return ("is", one[0], rng.choice("AB"))
        case 1:
            return ("cmp", one[0], rng.choice(["=", "!="]), other[0], rng.choice(["process", "key"]))
        case 2:
            return ("same", one[0], other[0])
    return ("rel", one[0], rng.choice(RELATIONS), other[0])


def written(formula: Formula) -> str:
    """A formula as it is asked."""
    match formula:
        case ("all" | "some" as word, binders, body):
            said = ", ".join(f"{name}: {pattern}({k})" for name, pattern, k in binders)
            return f"({'for all' if word == 'all' else 'exists'} {said}: {written(body)})"
        case ("not", part):
            return f"not ({written(part)})"
        case ("and" | "or" as word, *parts):
            return "(" + f" {word} ".join(map(written, parts)) + ")"
        case ("while", a, b):
            return f"{a} while {b}"
        case ("rel", a, sign, b):
            return f"{a} {sign} {b}"
        case ("same", a, b):
            return f"{a} = {b}"
        case ("is", a, pattern):
            return f"{a} is {pattern}(_)"
        case ("cmp", a, sign, b, name):
            return f"{a}.{name} {sign} {b}.{name}"
    raise AssertionError(formula)


# -- meaning -----------------------------------------------------------------------------------------------


@dataclass
class Meaning:
    """The value of formulas in one world of a log."""

    log: Log
    before: Order

    def value(self, formula: Formula, chosen: Mapping[str, Any], bound: Mapping[str, str]) -> int:
        match formula:
            case ("not", part):
                return -self.value(part, chosen, bound)
            case ("and", *parts):
                return min(self.value(part, chosen, bound) for part in parts)
            case ("or", *parts):
                return max(self.value(part, chosen, bound) for part in parts)
            case ("all" | "some" | "pairs" as word, _, body):
                values = [self.value(body, c, b) for c, b in self.tuples(formula, chosen, bound)]
                if word == "some":
                    return max([*values, -1 if self.log.complete else 0])
                return min([*values, 1])
            case ("rel", x, sign, y):
                return 1 if self.holds(chosen[x], sign, chosen[y]) else -1
            case ("same", x, y):
                return 1 if chosen[x] == chosen[y] else -1
            case ("is", x, pattern):
                return 1 if self.log.op[chosen[x]] == pattern else -1
            case ("cmp", x, sign, y, name):
                one, other = (self.field(chosen[v], name) for v in (x, y))
                return 1 if (one == other) == (sign == "=") else -1
            case ("while", x, y):
                return self.at_once(chosen[x], chosen[y])
        raise AssertionError(formula)

    def field(self, choice: Any, name: str) -> str:
        event = choice if isinstance(choice, str) else choice[0]
        if name == "key":
            return self.log.key[event]
        return next(str(at) for at, members in enumerate(self.log.chains) if event in members)

    def holds(self, a: str, sign: str, b: str) -> bool:
        forwards, backwards = (a, b) in self.before, (b, a) in self.before
        return {
            "<": forwards,
            ">": backwards,
            "||": a != b and not forwards and not backwards,
            "<>": forwards or backwards,
        }[sign]

    def tuples(
        self, formula: Formula, chosen: Mapping[str, Any], bound: Mapping[str, str]
    ) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        """Every choice for the variables of a quantifier, whose parameters agree."""
        word, binders, body = formula
        for choices in product(*(self.candidates(pattern) for _, pattern, _ in binders)):
            now, agrees = dict(bound), True
            for (_, _, k), choice in zip(binders, choices, strict=True):
                key = self.log.key[choice if isinstance(choice, str) else choice[0]]
                if k.startswith('"'):
                    agrees = agrees and key == k.strip('"')
                elif k != "_":
                    agrees = agrees and now.setdefault(k, key) == key
            if not agrees:
                continue
            if word == "pairs" and not self.is_pair(binders, body, choices):
                continue
            yield {**chosen, **{name: c for (name, _, _), c in zip(binders, choices, strict=True)}}, now

    def is_pair(self, binders: Any, body: Formula, choices: Sequence[Any]) -> bool:
        """Whether two choices are a pair of two: each once where it reads the same both ways."""
        one, other = choices
        if one == other:
            return False
        symmetric = body[1][0] == "while" or body[1][2] in ("||", "<>")
        (_, first, _), (_, second, m) = binders
        if symmetric and first == second and not m.startswith('"'):
            order = [*chain.from_iterable(self.log.chains)]
            places = [order.index(c if isinstance(c, str) else c[0]) for c in choices]
            return places[0] < places[1]
        return True

    def candidates(self, pattern: str) -> list[Any]:
        if pattern == "S":
            return list(self.log.intervals)
        return [event for event in self.log.events if self.log.op[event] == pattern]

    def at_once(self, one: Interval, other: Interval) -> int:
        """Whether some consistent cut sees both, wherever an end that the log lacks may lie."""
        found = [
            self.some_cut((one, other), (first, second))
            for first, second in product(self.places(one), self.places(other))
        ]
        value = 1 if all(found) else 0 if any(found) else -1
        return 0 if value == 1 and (one[3] or other[3]) else value

    def places(self, interval: Interval) -> list[frozenset[str] | None]:
        """What may come at or after the end of an interval: by each way it may lie after the last event."""
        _, end, last, _, _ = interval
        if end is not None:
            return [frozenset(e for e in self.log.events if e == end or (end, e) in self.before)]
        if self.log.complete:
            return [None]
        later = [e for e in self.log.events if (last, e) in self.before]
        subsets = chain.from_iterable(combinations(later, size) for size in range(len(later) + 1))
        closed = [
            frozenset(some)
            for some in subsets
            if all(b in some for a in some for b in later if (a, b) in self.before)
        ]
        return [None, *closed]

    def some_cut(self, both: Sequence[Interval], ends: Sequence[frozenset[str] | None]) -> bool:
        """Whether some cut has both starts, and nothing that is an end or comes after one."""
        refused = frozenset().union(*(end for end in ends if end is not None))
        starts = {interval[0] for interval in both}
        return any(starts <= cut and not cut & refused for cut in self.cuts)

    @cached_property
    def cuts(self) -> list[frozenset[str]]:
        """Every consistent cut: what has all that is before any of it."""
        events = self.log.events
        subsets = chain.from_iterable(combinations(events, size) for size in range(len(events) + 1))
        return [frozenset(some) for some in subsets if all(a in some for a, b in self.before if b in some)]


def orders_fitting(givens: Givens, events: Sequence[str], most: int) -> list[Order] | None:
    """Every order of some events that fits what is given (`< || <> !<`), one event more at a time; None if
    many.
    """
    allowed: dict[tuple[str, str], str] = {}

    def restrict(a: str, b: str, left: str) -> None:
        allowed[a, b] = "".join(sign for sign in allowed.get((a, b), "<>|") if sign in left)

    for fact in (*givens.external.values(), *givens.refuted.values()):
        left = {"<": "<", "||": "|", "<>": "<>", "!<": ">|"}[str(fact.relation)]
        restrict(fact.left, fact.right, left)
        restrict(fact.right, fact.left, left.translate(str.maketrans("<>", "><")))
    found: list[Order] = [frozenset()]
    for number, event in enumerate(events):
        more = []
        for before in found:
            for signs in product(*(allowed.get((event, other), "<>|") for other in events[:number])):
                pairs = zip(signs, events[:number], strict=True)
                new = {(event, o) if sign == "<" else (o, event) for sign, o in pairs if sign != "|"}
                order = before | new
                if all((a, d) in order for a, b in order for c, d in order if b == c):
                    more.append(order)
        found = more
        if len(found) > most:
            return None
    return found


def agreed(values: Sequence[int]) -> int:
    """The value of all worlds; open where they differ."""
    return values[0] if len(set(values)) == 1 else 0
