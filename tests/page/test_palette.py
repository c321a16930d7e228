"""The colours of the signs: enough contrast to be seen, and told apart by who does not see all colours."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from microcosm.page import write

Colour = tuple[float, float, float]

CSS = (Path(write.__file__).parent / "web" / "page.css").read_text(encoding="utf-8")
SIGNS = ("before", "after", "concurrent", "related", "unknown", "silent")
TEXTS = ("ink", "dim", "gap")
SCHEMES = ("light", "dark")

# What is left of linear red, green and blue: Machado, Oliveira and Fernandes 2009, at full severity.
BLINDNESSES = {
    "none": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def colours(scheme: str) -> dict[str, str]:
    """The colours of a scheme as the style sheet has them."""
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", CSS)
    return {name: dark if scheme == "dark" else light for name, light, dark in pairs}


def linear(colour: str) -> Colour:
    """Red, green and blue as light."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return red, green, blue


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def seen(colour: str, blindness: str) -> Colour:
    """A colour as CIE L*a*b*, as it is seen."""
    light = linear(colour)
    red, green, blue = (
        min(1.0, max(0.0, sum(part * share for part, share in zip(light, row, strict=True))))
        for row in BLINDNESSES[blindness]
    )
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    fx, fy, fz = (
        part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116 for part in (x, y, z)
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def apart(one: str, other: str, blindness: str) -> float:
    """How far two colours are from each other: dE of 1976."""
    return sum((a - b) ** 2 for a, b in zip(seen(one, blindness), seen(other, blindness), strict=True)) ** 0.5


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_glyph_has_contrast_and_every_text_more(scheme: str) -> None:
    table = colours(scheme)
    for name in (*SIGNS, "lane", "focus"):
        assert contrast(table[name], table["paper"]) >= 3, (scheme, name)
    for name in TEXTS:
        for ground in ("paper", "raised"):
            assert contrast(table[name], table[ground]) >= 4.5, (scheme, name, ground)


@pytest.mark.parametrize("blindness", BLINDNESSES)
@pytest.mark.parametrize(("scheme", "least"), [("light", 26.9), ("dark", 33.0)])
def test_signs_are_told_apart_by_who_does_not_see_all_colours(
    scheme: str, least: float, blindness: str
) -> None:
    table = colours(scheme)
    for one, other in combinations(SIGNS, 2):
        assert apart(table[one], table[other], blindness) >= least, (one, other)


def test_contrast_and_distance_are_those_of_known_colours() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.01)
    assert apart("#FF0000", "#FF0000", "protanopia") == 0
    assert apart("#000000", "#FFFFFF", "none") == pytest.approx(100, abs=0.1)
    assert apart("#DD0000", "#5A5A00", "protanopia") < apart("#DD0000", "#5A5A00", "none") / 2
