"""What a picture shows, read out of the SVG that the page draws: events, their colours, tints, gaps."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any

SVG = "{http://www.w3.org/2000/svg}"

WORDS = {
    "before": "<",
    "after": ">",
    "concurrent": "||",
    "related": "<>",
    "unknown": "?",
    "silent": "silent",
    "dim": "unsaid",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """One event in the picture: its middle, and the name of the colour of its glyph."""

    x: float
    y: float
    colour: str


@dataclass(frozen=True, slots=True)
class Band:
    """A tinted stretch of a lane."""

    left: float
    right: float
    y: float
    colour: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture as its SVG has it, with the names of the colours."""

    events: dict[str, Mark]
    tints: list[Band]
    texts: list[str]
    gaps: int
    stubs: int


def drawn(page: Any) -> Drawn:
    """What the picture of an open page shows now. Raises `ParseError` where its SVG is not XML."""
    text = page.run("() => { frame(); return pictureSvg(); }")
    names = {value: name for name, value in page.run("() => scene.colours").items() if name != "focus"}
    picture = ET.fromstring(text).find(f"{SVG}svg")
    assert picture is not None
    events, tints, texts = {}, [], []
    gaps = stubs = 0
    for part in picture:
        fill, stroke = part.get("fill", ""), part.get("stroke", "")
        if part.get("class") == "event":
            title = part.find(f"{SVG}title")
            assert title is not None
            assert title.text is not None
            xs, ys = outline(part.get("d", ""))
            colour = names[stroke if fill == "none" else fill]
            events[title.text] = Mark((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2, colour)
        if part.tag == f"{SVG}rect" and part.get("opacity") == "0.15":
            left, width = float(part.get("x", 0)), float(part.get("width", 0))
            y = float(part.get("y", 0)) + float(part.get("height", 0)) / 2
            tints.append(Band(left, left + width, y, names[fill]))
        if part.tag == f"{SVG}text" and fill != "none":
            texts.append(part.text or "")
        if part.tag == f"{SVG}path" and names.get(stroke) == "gap":
            if part.get("stroke-dasharray") == "3 3":
                stubs += 1
            elif part.get("d", "").count("L") == 3:
                gaps += 1
    return Drawn(events, tints, texts, gaps, stubs)


def outline(path: str) -> tuple[list[float], list[float]]:
    """The points of a path of `M`, `L`, `Q`, `h`, `v` and whole circles, as columns of x and y."""
    xs, ys = [0.0], [0.0]
    for letter, said in re.findall(r"([MLQhvaZ])([^MLQhvaZ]*)", path):
        numbers = [float(number) for number in said.split()]
        if letter in "MLQ":
            xs += numbers[0::2]
            ys += numbers[1::2]
        elif letter == "h":
            xs.append(xs[-1] + numbers[0])
            ys.append(ys[-1])
        elif letter == "v":
            xs.append(xs[-1])
            ys.append(ys[-1] + numbers[0])
        elif letter == "a":
            r, dx, dy = numbers[0], numbers[5], numbers[6]  # half a circle, on the right of its way
            xs += [xs[-1] + dx / 2 - dy / 2, xs[-1] + dx]
            ys += [ys[-1] + dy / 2 + dx / 2, ys[-1] + dy]
            assert abs(dx * dx + dy * dy - 4 * r * r) < 1
    return xs[1:], ys[1:]
