"""What a small drawing of a microcosm shows: the events around what was asked, and what is given of them.

The drawing itself is made by `queries.diagrams`. That it has no line between two events says nothing about
them. In which order lanes stand is the same for drawings and pages (`lane_order`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

from microcosm.engine.engine import CyclicGivens, Engine
from microcosm.engine.lowering import online
from microcosm.givens.facts import GivenFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import RuleBook
from microcosm.order.order import given_edges

EVENTS_DRAWN = 40
"""A drawing has at most so many events."""

MOST_SHARED = 60
"""Of the pairs that tokens relate at most so many are drawn."""

DrawnPair = tuple[str, str]

STEP, MESSAGE, CLOCKS, STATED = "step", "message", "clocks", "stated"
"""By what one event is before another: its process, a message, clocks alone, as stated."""


@dataclass(frozen=True, slots=True)
class Missing:
    """How many events before one of its process the drawing leaves out, and how many the log lacks."""

    hidden: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Drawing:
    """Some events, their order and their processes.

    `links` are the cover of happens-before (its transitive reduction), or all its pairs under rules that do
    not make it transitive, and `by` says of each pair that is given by what; messages are in `by` also where
    something else implies them. `more` counts the events left out. `process` says where an event happened,
    where that is known, `words` what a log calls it; `unordered`, `related` are given pairs, `shared` the
    pairs that a token relates and nothing orders, each with the token. `lost` are the sendings and receptions
    whose other end nothing tells of, `holes` what is missing before an event. Cost of its methods: the
    product of events and links, of which there are few.
    """

    events: tuple[str, ...]
    more: int
    links: tuple[DrawnPair, ...]
    unordered: tuple[DrawnPair, ...]
    related: tuple[DrawnPair, ...]
    process: dict[str, str]
    words: dict[str, str] = field(default_factory=dict)
    by: dict[DrawnPair, tuple[str, str]] = field(default_factory=dict)
    shared: dict[DrawnPair, str] = field(default_factory=dict)
    lost: dict[str, tuple[str, str]] = field(default_factory=dict)
    holes: dict[str, Missing] = field(default_factory=dict)

    def layers(self) -> list[list[str]]:
        """The events by the length of the longest chain below them.

        >>> from microcosm.logic.rulebook import read_rules
        >>> from microcosm.text.mc_reader import read_givens
        >>> drawing_of(read_givens("a < b < c \\n a < c \\n d || c"), read_rules()).layers()
        [['a', 'd'], ['b'], ['c']]
        """
        height: dict[str, int] = {}
        for event in self.in_order():
            below = [height[a] for a, b in self.links if b == event and a in height]
            height[event] = max(below, default=-1) + 1
        layers: list[list[str]] = [[] for _ in range(max(height.values(), default=-1) + 1)]
        for event in self.events:
            layers[height[event]].append(event)
        return layers

    def in_order(self) -> list[str]:
        """The events, each after those before it, as far as no rule lets an order run in a cycle."""
        waiting = {event: sum(b == event for _, b in self.links) for event in self.events}
        order: list[str] = []
        while waiting:
            event = min(waiting, key=waiting.__getitem__)
            del waiting[event]
            order.append(event)
            for a, b in self.links:
                if a == event and b in waiting:
                    waiting[b] -= 1
        return order

    def arrows(self) -> list[tuple[str, str, str, str]]:
        """Each pair that is drawn as before, with by what and its source: the links, and all messages."""
        place = {event: at for at, event in enumerate(self.events)}
        messages = {pair for pair, (kind, _) in self.by.items() if kind == MESSAGE}
        implied = sorted(messages - {*self.links}, key=lambda pair: (place[pair[0]], place[pair[1]]))
        return [(*pair, *self.by.get(pair, (STATED, ""))) for pair in (*self.links, *implied)]


def drawing_of(
    givens: Givens, rules: RuleBook, most: int = EVENTS_DRAWN, around: Sequence[str] = ()
) -> Drawing:
    """The drawing of some givens: what is given of at most `most` events, and what follows from that alone.

    The events are those around `around`, by how many givens lead to them, with a shortest way between these;
    without, those around the first that is stated, and then around others. Cost: linear in the givens, and
    cubic in `most`.

    >>> from microcosm.logic.rulebook import read_rules
    >>> from microcosm.text.mc_reader import read_givens
    >>> drawing_of(read_givens("a < b < c < d < e < f"), read_rules(), 3, ["d"]).events
    ('c', 'd', 'e')
    """
    position = givens.numbers()
    logged = () if givens.events is None else filter(position.__contains__, givens.events.names)
    named = [*dict.fromkeys((*logged, *position))]
    shown = dict.fromkeys(named if len(named) <= most else _around(givens, position, named, most, around))
    part = replace(givens.without(position.keys() - shown), refuted={}, stamps={}, tokens={})
    engine = _consistent(part, rules)
    if engine is None:  # only the rest of the givens keeps that away, by rules that ask for absence
        after = {a: [y for x, y in _stated(part, Relation.BEFORE) if x == a] for a in shown}
        reduced = False
    else:
        after = {a: [b for b in shown if a != b and engine.verdict(a, b) is Relation.BEFORE] for a in shown}
        reduced = engine.memo.is_transitive(online(Relation.BEFORE))
    covered = {a: {c for b in after[a] for c in after[b]} if reduced else set() for a in shown}
    links = tuple((a, b) for a in shown for b in after[a] if b not in covered[a])
    ordered = {frozenset((a, b)) for a in shown for b in after[a]}
    process = _processes(givens, shown)
    return Drawing(
        tuple(shown),
        len(named) - len(shown),
        links,
        tuple(_stated(part, Relation.CONCURRENT)),
        tuple(_stated(part, Relation.RELATED)),
        process,
        _words(givens, shown),
        _sources(part, links, process),
        _shared(givens, shown, ordered),
        _lost(givens, shown),
        _holes(givens, shown, process),
    )


def _around(
    givens: Givens, position: dict[str, int], named: list[str], most: int, around: Sequence[str]
) -> list[str]:
    """The events nearest to some, and those on a way between these, in the order in which they are stated."""
    neighbours: dict[int, list[int]] = {}
    pairs = [(position[fact.left], position[fact.right]) for fact in givens.external.values()]
    grouped = [(position[a], position[b]) for group in givens.tokens.values() for a, b in pairwise(group)]
    for a, b in (*given_edges(givens, position), *pairs, *grouped):
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    starts = [position[event] for event in around if event in position]
    found = dict.fromkeys(starts)
    for a, b in pairwise(starts):
        found |= dict.fromkeys(_way(neighbours, a, b))
    found = dict.fromkeys([*found][:most])
    seen = set(found)
    for start in [[*found]] if starts else ([position[event]] for event in named):
        waiting = deque(start)
        while waiting and len(found) < most:
            reached = waiting.popleft()
            found[reached] = None
            fresh = dict.fromkeys(other for other in neighbours.get(reached, ()) if other not in seen)
            seen.update(fresh)
            waiting += fresh
        if len(found) >= most:
            break
    names = [*position]
    kept = {names[at] for at in found}
    return [event for event in named if event in kept]


def _way(neighbours: dict[int, list[int]], start: int, end: int) -> list[int]:
    """A shortest way from one event to another along what is given, in any direction; empty where none is."""
    came = {start: start}
    waiting = deque([start])
    while waiting and end not in came:
        at = waiting.popleft()
        for other in neighbours.get(at, ()):
            if other not in came:
                came[other] = at
                waiting.append(other)
    if end not in came:
        return []
    path = [end]
    while path[-1] != start:
        path.append(came[path[-1]])
    return path[::-1]


def _words(givens: Givens, events: Iterable[str]) -> dict[str, str]:
    """What a log calls some events, where that is more than their names."""
    table = givens.events
    labels = {} if table is None else {event: table.label(event) for event in events}
    return {event: label for event, label in labels.items() if label and label != event}


def _consistent(givens: Givens, rules: RuleBook) -> Engine | None:
    """The engine on some givens; None where their initial judgements exclude each other."""
    try:
        engine = Engine(rules, givens)
    except CyclicGivens:
        return None
    return None if engine.clash() else engine


def _stated(givens: Givens, relation: Relation) -> Iterator[DrawnPair]:
    return ((fact.left, fact.right) for fact in givens.external.values() if fact.relation is relation)


PROCESS_SOURCE, MESSAGE_SOURCE = "process ", "message "
"""How the source of what comes out of a log begins."""


def processes_by_source(givens: Givens) -> dict[str, str]:
    """The process of the events whose order is given from `process P`. Cost: linear."""
    found: dict[str, str] = {}
    for fact in givens.external.values():
        if fact.relation is Relation.BEFORE and (fact.source or "").startswith(PROCESS_SOURCE):
            found[fact.left] = found[fact.right] = str(fact.source).removeprefix(PROCESS_SOURCE)
    return found


def _processes(givens: Givens, shown: Iterable[str]) -> dict[str, str]:
    """Where each event happened, as log, clocks, messages or sources tell; internal events happened here."""
    found = processes_by_source(givens) | dict.fromkeys(givens.internal, givens.name or "internal events")
    found |= {message.event: message.process for message in givens.messages}
    found |= {event: clock.process for event, clock in givens.clocks.items()}
    if givens.events is not None:
        rows = zip(givens.events.names, givens.events.processes, strict=True)
        found |= {name: process for name, process in rows if process}
    return {event: found[event] for event in shown if event in found}


def _sources(
    part: Givens, links: Iterable[DrawnPair], process: dict[str, str]
) -> dict[DrawnPair, tuple[str, str]]:
    """By what each link is given, and each message, with its source."""
    facts = GivenFacts(part)
    found: dict[DrawnPair, tuple[str, str]] = {}
    for a, b in links:
        evidence = next(facts.evidence(a, Relation.BEFORE, b), None)
        source = "" if evidence is None else evidence.source or ""
        of_one = a in process and process[a] == process.get(b)
        if evidence is not None and (evidence.kind == "internal" or source.startswith(PROCESS_SOURCE)):
            found[a, b] = STEP, source
        elif evidence is not None and evidence.kind == "clocks":
            found[a, b] = STEP if of_one else CLOCKS, "clocks"
        elif not source.startswith(MESSAGE_SOURCE):
            found[a, b] = STEP if of_one and evidence is None else STATED, source
    for fact in part.external.values():
        if fact.relation is Relation.BEFORE and (fact.source or "").startswith(MESSAGE_SOURCE):
            found[fact.left, fact.right] = MESSAGE, str(fact.source)
    return found


def _shared(givens: Givens, shown: Iterable[str], ordered: set[frozenset[str]]) -> dict[DrawnPair, str]:
    """The pairs that tokens relate and nothing orders: all of them, or each event and the next."""
    found: dict[DrawnPair, str] = {}
    kept = set(shown)
    for token, group in givens.tokens.items():
        there = [event for event in group if event in kept]
        pairs = [pair for pair in combinations(there, 2) if frozenset(pair) not in ordered]
        if len(found) + len(pairs) > MOST_SHARED:
            pairs = [pair for pair in pairwise(there) if frozenset(pair) not in ordered]
        for pair in pairs:
            found.setdefault(pair, token)
    return found


def _lost(givens: Givens, shown: dict[str, None]) -> dict[str, tuple[str, str]]:
    """The sendings and receptions whose other end nothing tells of: `send` or `receive`, and what is told."""
    sent: dict[str, list[tuple[str, ...]]] = {}
    received: dict[str, set[str]] = {}
    for message in givens.messages:
        if message.kind == "send":
            sent.setdefault(message.message, []).append(message.receivers)
        else:
            received.setdefault(message.message, set()).add(message.process)
    found: dict[str, tuple[str, str]] = {}
    place = {event: at for at, event in enumerate(shown)}
    there = [message for message in givens.messages if message.event in place]
    for message in sorted(there, key=lambda message: place[message.event]):
        got = received.get(message.message, set())
        if message.kind == "send" and (message.receivers or not got):
            lack = [each for each in message.receivers if each not in got]
            if lack or not message.receivers:
                by = f" by {', '.join(lack)}" if lack else ""
                found[message.event] = "send", f"no reception of {message.message}{by} is recorded"
        elif message.kind == "receive":
            origins = sent.get(message.message, ())
            if not any(not receivers or message.process in receivers for receivers in origins):
                found[message.event] = "receive", f"no sending of {message.message} is recorded"
    return found


def _holes(givens: Givens, shown: dict[str, None], process: dict[str, str]) -> dict[str, Missing]:
    """What is missing before some events: what the log lacks, and what the drawing leaves out.

    What the log gives no position in its process is before nothing there.
    """
    if givens.events is None:
        return {}
    wanted = set(process.values())
    chains: dict[str, list[tuple[int, str]]] = {}
    table = givens.events
    for name, where, seq in zip(table.names, table.processes, table.seqs, strict=True):
        if where in wanted:
            chains.setdefault(where, []).append((seq, name))
    found: dict[str, Missing] = {}
    for chain in chains.values():
        placed = sorted(event for event in chain if event[0])
        own = [clock.own for _, name in placed if (clock := givens.clocks.get(name)) is not None]
        # Where clocks contradict positions, or an event has none, nobody knows what is missing.
        believed = own == sorted(own) and len(placed) == len(chain)
        hidden = lost = before = 0
        for seq, name in placed:
            lost += max(0, seq - before - 1) if believed else 0
            before = seq
            if name not in shown:
                hidden += 1
                continue
            if hidden or lost:
                found[name] = Missing(hidden, lost)
            hidden = lost = 0
    return found


LANES_ORDERED = 150
"""More lanes than this stand as they appear: to order them would take longer than to read the log."""

ROUNDS = 20
"""So often at most all pairs of lanes are tried in each other's place."""


def lane_order(count: int, weight: Mapping[tuple[int, int], int]) -> list[int]:
    """The lanes from above, so that what they send to one another has short ways.

    `weight` has for each two lanes, the lesser first, how much they send. Each lane is put where it costs
    least, the busiest first, then pairs change places as long as that helps. Of an order and its reverse that
    one is taken in which lanes that appear early are above. Cost: cubic, up to `LANES_ORDERED` lanes.

    >>> lane_order(3, {(0, 2): 5, (1, 2): 5})
    [0, 2, 1]
    """
    if not weight or count > LANES_ORDERED:
        return list(range(count))
    exchanged: list[dict[int, int]] = [{} for _ in range(count)]
    for (one, other), many in weight.items():
        exchanged[one][other] = exchanged[other][one] = many
    order: list[int] = []
    for lane in sorted(range(count), key=lambda lane: (-sum(exchanged[lane].values()), lane)):
        order.insert(_best_place(order, exchanged[lane], exchanged), lane)
    for _ in range(ROUNDS):
        place = {lane: at for at, lane in enumerate(order)}
        improved = False
        for at in range(count - 1):
            upper, lower = order[at], order[at + 1]
            if _pull(upper, lower, place, exchanged) < _pull(lower, upper, place, exchanged):
                order[at], order[at + 1] = lower, upper
                place[lower], place[upper] = at, at + 1
                improved = True
        if not improved:
            break
    falls = sum(1 if a < b else -1 for a, b in pairwise(order))
    return order if falls > 0 or (falls == 0 and order[0] < order[-1]) else order[::-1]


def _pull(lane: int, but: int, place: Mapping[int, int], exchanged: Sequence[Mapping[int, int]]) -> int:
    """How much more a lane sends to lanes above it than to lanes below, leaving one lane out."""
    own, at = exchanged[lane], place[lane]
    return sum(many if place[other] < at else -many for other, many in own.items() if other != but)


def _best_place(order: Sequence[int], own: Mapping[int, int], exchanged: Sequence[Mapping[int, int]]) -> int:
    """Where in an order one more lane, which sends to its `own`, adds least to the ways of messages."""
    place = {lane: at for at, lane in enumerate(order)}
    below = sum(own.get(lane, 0) * (at + 1) for at, lane in enumerate(order))
    left = right = 0
    for lane in order:
        right += own.get(lane, 0)
    best, least, above, over = 0, below, 0, 0
    for at, lane in enumerate(order):  # the new lane moves below this one
        many = own.get(lane, 0)
        below -= right
        right -= many
        left += many
        above += left
        over += sum(w if place[other] > at else -w for other, w in exchanged[lane].items() if other in place)
        if above + below + over < least:
            best, least = at + 1, above + below + over
    return best


def counted(givens: Givens) -> str:
    """The name of some givens, if they have one, and how much of each kind there is. Cost: constant."""
    counts = {
        "internal events": len(givens.internal),
        "correspondences": givens.external_count,
        "clocks": len(givens.clocks),
        "tokens": len(givens.tokens),
    }
    shown = [f"{n} {what}" for at, (what, n) in enumerate(counts.items()) if n or at < 2]
    return f"{f' {givens.name!r}' if givens.name else ''}: {', '.join(shown)}"
