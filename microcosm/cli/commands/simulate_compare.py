"""`simulate --compare`: Table 1 of Hybrid Buffering, measured; and knowledge per byte.

How the costs of each protocol grow with the number of processes: all get the same work on the same network of
constant delays, a round trip being 1. Growth is the exponent k of n^k between the smallest and the largest
number of processes. Charts of it are SVG text: no library, no date, the same bytes every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from math import floor, log, log10
from pathlib import Path
from typing import NamedTuple

from microcosm.cli import exits, output
from microcosm.givens.relation import Correspondence
from microcosm.protocol.catalogue import PROTOCOLS, Protocol
from microcosm.protocol.disclosure import Disclosure
from microcosm.protocol.machine import Delivery
from microcosm.protocol.packets import Packet, encode
from microcosm.queries.possible import Worlds
from microcosm.simulation.run import (
    CAUSAL_SEND,
    Application,
    CausalCheck,
    Constant,
    Event,
    Network,
    NetworkLink,
    Run,
    carries_message,
)
from microcosm.simulation.simulate import Gauge, Mixture, Statistics, steady_stream
from microcosm.state.microcosm import Microcosm
from microcosm.worlds.propagation import MEMBERS

SIZES = (5, 10, 20, 40)
UNICASTS = 400
STREAM = 100
"""So many messages go to one receiver, to see whether throughput depends on the round trip time."""
RTTS = (1, 10, 100)
LIMIT = 2_000_000
"""A run that takes more steps is not live."""


class CostRow(NamedTuple):
    """What was measured of one protocol; lists run over `SIZES`, `finish` over `RTTS`.

    `octets` are the bytes of a message packet, with a payload of a few.
    """

    protocol: str
    tolerates: tuple[str, ...]
    metadata: list[float]
    octets: list[float]
    state: list[float]
    sender: list[float]
    receiver: list[float]
    non_causal: list[float]
    non_causal_peak: list[float]
    control: list[float]
    finish: list[float]
    in_transit: int
    live: bool
    violations: int

    def growth(self, costs: list[float]) -> float | None:
        """The exponent of a cost in the number of processes; None where there is no cost."""
        if not costs[0] or not costs[-1]:
            return None
        return log(costs[-1] / costs[0]) / log(SIZES[-1] / SIZES[0])


class Measured(NamedTuple):
    """One run: what it cost, how often it went wrong, and the mean size of a message packet in bytes."""

    statistics: Statistics
    run: Run
    violations: int
    octets: float


def run_of(protocol: Protocol, application: Application, size: int, rtt: float, seed: int) -> Run:
    """A run on a network of constant delays."""
    network, tick = Network(NetworkLink(Constant(rtt / 2))), rtt if protocol.machine.NEEDS_TICKS else None
    return Run(protocol.make(size), network, application, seed=seed, tick=tick)


def measured(protocol: Protocol, application: Application, size: int, rtt: float, seed: int) -> Measured:
    """One run, measured."""
    check = CausalCheck(protocol.monitors(size))
    run = run_of(protocol, application, size, rtt, seed)
    run.observers.append(check.see)
    written: list[int] = []

    def weigh(sender: int, receiver: int, packet: Packet) -> None:
        if carries_message(packet):
            written.append(len(encode(packet)))

    run.on_packet = weigh
    gauge = Gauge(run, lambda i, j: rtt / 2)
    run.go(LIMIT)
    return Measured(gauge.read(), run, len(check.finish()), sum(written) / max(1, len(written)))


def table(seed: int = 0) -> Iterator[CostRow]:
    """The rows, one after the other as they are measured; all protocols get the same unicast work."""
    for name, protocol in PROTOCOLS.items():
        runs = [measured(protocol, Mixture(UNICASTS, spacing=0.25), size, 1.0, seed) for size in SIZES]
        streams = [measured(protocol, steady_stream(STREAM), SIZES[0], float(rtt), seed) for rtt in RTTS]
        costs = [one.statistics for one in runs]
        yield CostRow(
            protocol=name,
            tolerates=tuple(sorted(protocol.machine.TOLERATES)),
            metadata=[cost.metadata for cost in costs],
            octets=[one.octets for one in runs],
            state=[float(cost.state) for cost in costs],
            sender=[one.statistics.operations - _receiving(one.run) for one in runs],
            receiver=[_receiving(one.run) for one in runs],
            non_causal=[cost.non_causal or 0.0 for cost in costs],
            non_causal_peak=[cost.non_causal_peak or 0.0 for cost in costs],
            control=[cost.control for cost in costs],
            finish=[one.statistics.duration for one in streams],
            in_transit=streams[-1].statistics.in_transit,
            live=not any(one.run.undelivered for one in (*runs, *streams)),
            violations=sum(one.violations for one in (*runs, *streams)),
        )


def _receiving(run: Run) -> float:
    return run.receiver_operations / max(1, run.sent)


WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 400, 70, 50, 40, 170
COLOURS = (
    *("#1b6ca8", "#c8553d", "#2f7f4f", "#7b4fa3", "#b8860b", "#3a9ea5"),
    *("#8c2f39", "#5a6b2f", "#444444", "#d1699c", "#6a8caf"),
)
DASHES = ("", "6 3", "2 3")


def chart(title: str, x: str, y: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Points by the name of their line; those that are not above 0 cannot be drawn and are left out.

    >>> chart("a < b", "n", "cost", {"one": [(1, 1), (10, 100)]}).count("<circle")
    2
    """
    drawn = {name: [(a, b) for a, b in points if a > 0 and b > 0] for name, points in lines.items()}
    points = [point for line in drawn.values() for point in line] or [(1.0, 1.0)]
    xs, ys = _axis([a for a, _ in points]), _axis([b for _, b in points])

    def at(point: tuple[float, float]) -> tuple[float, float]:
        across = (log10(point[0]) - xs[0]) / (xs[-1] - xs[0])
        up = (log10(point[1]) - ys[0]) / (ys[-1] - ys[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x)}</text>',
        f'<text transform="translate(16 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(y)}</text>',
    ]
    for power in xs:
        left, _ = at((10.0**power, 10.0 ** ys[0]))
        parts.append(f'<path d="M{left:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>')
        parts.append(
            f'<text x="{left:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_power(power)}</text>'
        )
    for power in ys:
        _, top = at((10.0 ** xs[0], 10.0**power))
        parts.append(f'<path d="M{LEFT} {top:.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{top + 4:.1f}" text-anchor="end">{_power(power)}</text>')
    for number, (name, line) in enumerate(drawn.items()):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        places = [at(point) for point in line]
        path = " ".join(f"{left:.1f},{top:.1f}" for left, top in places)
        stroke = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{path}" fill="none" {stroke}/>')
        parts += [f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="{colour}"/>' for left, top in places]
        top = TOP + 8 + 18 * number
        parts.append(f'<path d="M{WIDTH - RIGHT + 12} {top}h22" {stroke}/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 40}" y="{top + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axis(values: Sequence[float]) -> list[int]:
    """The powers of ten that enclose the values, at least two."""
    low = floor(log10(min(values)))
    high = max(low + 1, -floor(-log10(max(values))))
    return list(range(low, high + 1))


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def compare_all(seed: int, plots: str | None) -> int:
    """Measure all protocols, print the table, write the plots."""
    rows = list(table(seed))
    known = list(knowledge(seed))
    if plots is not None:
        _plot(rows, plots)
    if output.for_machines():
        protocols = []
        for row, one in zip(rows, known, strict=True):
            growth = {cost: _rounded(row.growth(getattr(row, cost)), 2) for cost in COSTS}
            shares = {name: _rounded(share, 5) for name, share in one._asdict().items() if name != "protocol"}
            protocols.append({**row._asdict(), "growth": growth, "knowledge": shares})
        output.emit({"seed": seed, "processes": SIZES, "rtts": RTTS, "protocols": protocols})
    else:
        _show(rows)
        _show_knowledge(known)
    return exits.holding(not any(row.violations for row in rows))


COSTS = ("metadata", "octets", "state", "sender", "receiver", "non_causal", "control")


def _rounded(value: object, digits: int) -> object:
    return round(value, digits) if isinstance(value, float) else value


def _show(rows: list[CostRow]) -> None:
    from microcosm.cli.show.tables import draw, new_table

    low, high = SIZES[0], SIZES[-1]
    output.say(
        f"{UNICASTS} messages, half of them reactions, between {low} to {high} processes; round trip time 1.",
        f"A cost is shown for {low} and {high} processes, with its growth n^k between them.",
        "",
    )
    measures = ("metadata", "bytes", "state", "sender", "receiver", "non-causal latency")
    drawn = new_table("protocol", "network", numbers=measures)
    for row in rows:
        costs = (row.metadata, row.octets, row.state, row.sender, row.receiver, row.non_causal)
        drawn.add_row(row.protocol, _network(row), *(_cost(row, cost) for cost in costs))
    draw(drawn)
    output.say("", f"{STREAM} messages to one receiver, one every 0.01: when the last one is delivered.", "")
    trips = (f"RTT {rtt}" for rtt in RTTS)
    drawn = new_table("protocol", numbers=(*trips, "in transit", "live", "control packets"))
    for row in rows:
        finish = (f"{time:.1f}" for time in row.finish)
        live = "yes" if row.live else "no"
        drawn.add_row(row.protocol, *finish, f"{row.in_transit}", live, f"{row.control[0]:.2g}")
    draw(drawn)


def _show_knowledge(known: list[Known]) -> None:
    from microcosm.cli.show.tables import draw, new_table

    output.say(
        "",
        f"{MESSAGES} messages between {PROCESSES} processes: the share of all pairs of causal sends and "
        "deliveries that",
        "a process can decide of what it was told, and that it can narrow down; by byte of a message packet.",
        "",
    )
    columns = ("integers", "bytes", "online", "offline", "exactly", "narrowed", "exactly, a byte")
    drawn = new_table("protocol", numbers=columns)
    for one in known:
        shares = (f"{share:.1%}" for share in (one.online, one.offline, one.exactly, one.narrowed))
        each = f"{one.exactly / one.octets:.2%}"
        drawn.add_row(one.protocol, f"{one.metadata:.3g}", f"{one.octets:.3g}", *shares, each)
    draw(drawn)


def _network(row: CostRow) -> str:
    if not row.tolerates:
        return "reliable, FIFO"
    return "any" if "loss" in row.tolerates else "reliable"


def _cost(row: CostRow, costs: list[float]) -> str:
    growth = row.growth(costs)
    shown = f"{costs[0]:.3g} .. {costs[-1]:.3g}"
    return shown if growth is None else f"{shown}  n^{round(growth, 1) + 0.0:.1f}"


def _plot(rows: list[CostRow], folder: str) -> None:
    from microcosm import files

    plots = {
        name: (title, "processes", y, {row.protocol: _line(SIZES, getattr(row, name)) for row in rows})
        for name, title, y in (
            ("metadata", "Metadata a message", "integers"),
            ("octets", "Size of a message packet", "bytes"),
            ("state", "State of a process", "integers"),
            ("sender", "Work of the sender, a message", "operations"),
            ("receiver", "Work of the receiver, a message", "operations"),
            ("non_causal", "Latency that causality does not demand", "round trips"),
        )
    }
    plots["throughput"] = (
        f"{STREAM} messages to one receiver",
        "round trip time",
        "time to the last delivery",
        {row.protocol: _line(RTTS, row.finish) for row in rows},
    )
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise exits.UsageError(f"--plots: {folder}: {error.strerror}") from None
    for name, (title, x, y, lines) in plots.items():
        files.write_text(Path(folder) / f"{name}.svg", chart(title, x, y, lines))
    output.note(f"{len(plots)} plots in {folder}")


def _line(xs: tuple[int, ...], ys: list[float]) -> list[tuple[float, float]]:
    return [(float(x), y) for x, y in zip(xs, ys, strict=True)]


PROCESSES, MESSAGES = 4, 40


class Known(NamedTuple):
    """What the replicas of one protocol know after the same work, as shares of all pairs, on average.

    A pair is decided `online` by the verdict `<`, `>` or `||`, `offline` where one of them is left by
    propagation, `exactly` where all worlds that fit agree; of a `narrowed` one some world is ruled out.
    `metadata` is in integers, `octets` in bytes a message; `network` counts facts of the network world
    a message.
    """

    protocol: str
    metadata: float
    octets: float
    online: float
    offline: float
    exactly: float
    narrowed: float
    network: float


def knowledge(seed: int = 0) -> Iterator[Known]:
    """The protocols one after the other, by the same unicasts on a network of constant delays."""
    for name, protocol in PROTOCOLS.items():
        run = run_of(protocol, Mixture(MESSAGES), PROCESSES, 1.0, seed)
        sizes: list[int] = []
        listeners = listening(run, sizes)
        run.go()
        events = 2 * MESSAGES
        pairs = len(listeners) * events * (events - 1) / 2
        counted = [_decided(disclosure.application) for disclosure in listeners]
        online, offline, exactly, narrowed = (sum(counts) / pairs for counts in zip(*counted, strict=True))
        yield Known(
            name,
            sum(run.metadata) / len(run.metadata),
            sum(sizes) / len(sizes),
            online,
            offline,
            exactly,
            narrowed,
            sum(len(disclosure.network) for disclosure in listeners) / MESSAGES,
        )


def _decided(facts: list[Correspondence]) -> tuple[int, int, int, int]:
    """How many pairs facts decide online, offline and exactly; and of how many they rule something out."""
    known = Microcosm()
    for fact in facts:
        known.add(fact)
    online = sum(verdict in MEMBERS for _, _, verdict in known.table())
    offline = sum(len(left) == 1 for _, _, left in known.offline_table())
    worlds = Worlds(known.givens).table()
    assert worlds is not None, "what was disclosed is true of a world"
    pairs, exact = worlds
    sizes = [len(left) for _, _, left in pairs]
    assert exact
    return online, offline, sizes.count(1), sizes.count(1) + sizes.count(2)


def listening(run: Run, sizes: list[int]) -> list[Disclosure]:
    """A disclosure for each machine of a run, told what the machine does; `sizes` are those of packets."""
    listeners = [Disclosure(machine, str(machine.me)) for machine in run.machines]
    sends = [0] * run.size

    def see(event: Event) -> None:
        if event.kind == CAUSAL_SEND:
            sends[event.process] += 1
            listeners[event.process].causally_sent(str(event.message), sends[event.process])

    run.observers.append(see)

    def take(i: int, j: int, packet: Packet) -> None:
        listeners[j].received(i, packet)
        if carries_message(packet):
            sizes.append(len(encode(packet)))

    run.on_packet = take
    for machine, disclosure in zip(run.machines, listeners, strict=True):
        machine.on_deliver = _first(disclosure, machine.on_deliver)
    return listeners


def _first(disclosure: Disclosure, then: Callable[[Delivery], None] | None) -> Callable[[Delivery], None]:

    def deliver(delivery: Delivery) -> None:
        disclosure.delivered(delivery, str(delivery.payload))
        if then is not None:
            then(delivery)

    return deliver
