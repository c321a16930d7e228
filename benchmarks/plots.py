"""Cost against size, ours and peers', as pictures: `docs/benchmarks/plots.md` out of the tables of results.

A picture for each family of cases that was measured at two sizes or more, both axes logarithmic, with a
dashed line of slope 1. It is plain SVG within the page, its letters and lines of the colour of the page's
text, so that it is read by day and by night.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

PLOTTED = ("commands", "closure", "online-table", "refutation", "exact-possibilities", "orderings")
"""The benchmarks of which cost against size is a picture."""

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 330, 62, 230, 12, 40
COLOURS = ("#1f7ae0", "#e07b1f", "#2a9d5c", "#c2489b", "#8a63d2", "#b8860b", "#d64545", "#1a9ba8", "#7f7f7f")
"""Middle tones, to be told from white and from black."""

UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_row = re.compile(r"^\| (?!case )([^|]+) \| ([^|]+) \| ([\d.e+]+) (ns|µs|ms|s) \|", re.MULTILINE).findall
_size = re.compile(r"\b(\d[\d,]*)\b")


class Series(NamedTuple):
    """The seconds of one subject by the size of its cases."""

    name: str
    points: dict[int, float]


def page(results: str) -> str:
    """The page of all pictures, out of the page of all tables."""
    text = [
        "# Cost against size",
        "",
        "Made of the [results](results.md) by `python -m benchmarks --write-docs`; do not edit. Both axes",
        "are logarithmic. The thick line is ours; a dashed one has slope 1: twice the size, twice the cost.",
    ]
    for section in results.split("\n## ")[1:]:
        name, _, tables = section.partition("\n")
        if name in PLOTTED:
            pictures = {case: found for case, found in families(_row(tables)).items() if found}
            text += ["", f"## {name}"] if pictures else []
            for case, found in pictures.items():
                text += [
                    "",
                    *([f"### {case}", ""] if case else []),
                    "```{raw} html",
                    picture(case, found),
                    "```",
                ]
    return "\n".join(text) + "\n"


def families(rows: Iterable[tuple[str, str, str, str]]) -> dict[str, list[Series]]:
    """What was measured at several sizes, by the family of its cases; families of one subject are one.

    >>> families([("rand 20", "ours", "2", "ms"), ("rand 40", "ours", "4", "ms")])
    {'': [Series(name='rand', points={20: 0.002, 40: 0.004})]}
    """
    found: dict[str, dict[str, dict[int, float]]] = {}
    for case, told, amount, unit in rows:
        size = _size.search(plain := re.sub(r" \(.*?\)|, [\d.]+ MB", "", case))
        if size is not None:
            family = (plain[: size.start()] + plain[size.end() :]).replace(" events", "").strip(" ,")
            family, subject = " ".join(family.split()).replace(" ,", ","), told.partition(" (")[0]
            points = found.setdefault(family, {}).setdefault(subject, {})
            points[int(size[1].replace(",", ""))] = float(amount) * UNITS[unit]
    series = {
        family: [Series(name, points) for name, points in subjects.items() if len(points) > 1]
        for family, subjects in found.items()
    }
    if all(len(each) < 2 for each in series.values()):
        return {"": [Series(family, points) for family, each in series.items() for _, points in each]}
    return series


def picture(about: str, series: list[Series]) -> str:
    """A picture in SVG: the first of the series, which is ours, thick."""
    sizes = sorted({size for each in series for size in each.points})
    seconds = [at for each in series for at in each.points.values()]
    low, high = floor(log10(min(seconds))), ceil(log10(max(seconds)))
    first, last = log10(sizes[0]), log10(sizes[-1])

    def x(size: float) -> float:
        return LEFT + (log10(size) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(at: float) -> float:
        return TOP + (high - log10(at)) / (high - low) * (HEIGHT - TOP - BOTTOM)

    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    drawn = [_text(LEFT - 8, y(10.0**at) + 4, _duration(at), "end") for at in range(low, high + 1)]
    drawn += [
        _line([(LEFT, y(10.0**at)), (right, y(10.0**at))], 'opacity=".2"') for at in range(low, high + 1)
    ]
    drawn += [_text(x(size), bottom + 16, f"{size:,}", "middle") for size in sizes]
    drawn += [_line([(x(size), TOP), (x(size), bottom)], 'opacity=".2"') for size in sizes]
    drawn.append(_text((LEFT + right) / 2, bottom + 32, "events", "middle"))
    start = 10.0**low * 1.5
    end = min(10.0**high, start * sizes[-1] / sizes[0])
    slope = [(x(sizes[0]), y(start)), (x(sizes[0] * end / start), y(end))]
    drawn.append(_line(slope, 'stroke-dasharray="3 5" opacity=".6"'))
    labels: list[tuple[float, str, str]] = []
    for at, each in enumerate(series):
        colour = COLOURS[at % len(COLOURS)]
        points = [(x(size), y(spent)) for size, spent in sorted(each.points.items())]
        drawn.append(_line(points, f'style="stroke:{colour};stroke-width:{2 if at else 4}"'))
        drawn += [f'<circle cx="{a:.0f}" cy="{b:.0f}" r="3.5" style="fill:{colour}"/>' for a, b in points]
        labels.append((points[-1][1], colour, each.name))
    down = TOP - 10.0
    for wanted, colour, name in sorted(labels):  # none over another
        down = max(down + 15, min(wanted + 4, HEIGHT - 15.0 * len(labels)))
        drawn.append(
            f'<rect x="{right + 14}" y="{down - 9:.0f}" width="10" height="10" style="fill:{colour}"/>'
        )
        drawn.append(_text(right + 30, down, name, "start"))
    label = escape(
        f"Seconds against events{f', {about}' if about else ''}: {', '.join(e.name for e in series)}"
    )
    size = f'viewBox="0 0 {WIDTH} {max(HEIGHT, down + 8):.0f}" width="{WIDTH}"'
    svg = f'<svg class="curves" {size} role="img" aria-label="{label}">{"".join(drawn)}</svg>'
    return f'<div class="picture">{svg}</div>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(points: list[tuple[float, float]], style: str) -> str:
    steps = " ".join(f"{a:.0f},{b:.0f}" for a, b in points)
    return f'<polyline points="{steps}" {style}/>'


def _duration(power: int) -> str:
    """Ten to a power, in seconds, with the unit that suits it.

    >>> _duration(-4), _duration(1)
    ('100 µs', '10 s')
    """
    unit = next(name for name in ("s", "ms", "µs", "ns") if power >= round(log10(UNITS[name])))
    return f"{10 ** (power - round(log10(UNITS[unit])))} {unit}"
