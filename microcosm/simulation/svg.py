"""Line charts on logarithmic axes, as SVG text: no library, no date, the same bytes every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10

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
