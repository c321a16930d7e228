"""Table 1 of Hybrid Buffering, measured: how the costs of each protocol grow with the number of processes.

All protocols get the same work on the same network of constant delays, a round trip being 1. Growth is
the exponent k of n^k between the smallest and the largest number of processes.

Charts of it are SVG text: no library, no date, the same bytes every time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log, log10
from typing import NamedTuple

from microcosm.protocol.catalogue import PROTOCOLS, Protocol
from microcosm.protocol.packets import Packet, encode
from microcosm.simulation.run import (
    Application,
    CausalCheck,
    Constant,
    Network,
    NetworkLink,
    Run,
    carries_message,
)
from microcosm.simulation.simulate import Gauge, Mixture, Statistics, steady_stream

SIZES = (5, 10, 20, 40)
MESSAGES = 400
STREAM = 100
"""So many messages go to one receiver, to see whether throughput depends on the round trip time."""
RTTS = (1, 10, 100)
LIMIT = 2_000_000
"""A run that takes more steps is not live."""


@dataclass(frozen=True, slots=True)
class CostRow:
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


def measured(protocol: Protocol, application: Application, size: int, rtt: float, seed: int) -> Measured:
    """One run on a network of constant delays."""
    check = CausalCheck(protocol.monitors(size))
    run = Run(
        protocol.make(size),
        Network(NetworkLink(Constant(rtt / 2))),
        application,
        seed=seed,
        tick=rtt if protocol.machine.NEEDS_TICKS else None,
        observers=[check.see],
    )
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
        runs = [measured(protocol, Mixture(MESSAGES, spacing=0.25), size, 1.0, seed) for size in SIZES]
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
