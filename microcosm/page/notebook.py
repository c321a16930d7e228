"""The page of a small microcosm inside a notebook: a frame that can reach nothing around it."""

from __future__ import annotations

from html import escape

from microcosm.errors import MicrocosmError
from microcosm.page.write import page
from microcosm.state.microcosm import Microcosm

SMALL = 2_000
"""A microcosm of more events is drawn and not embedded."""

PROVED = 24
"""Of so many events all proofs are in the frame."""

HIGH = 480


def embedded(known: Microcosm) -> str | None:
    """The page as a frame with its own document, sandboxed; None where it would be large, or cannot be.

    The frame runs its scripts under an origin of its own, without access to the notebook, and its policy lets
    it ask for nothing. Cost: as that of `page`.
    """
    many = len(known)
    if not 0 < many <= SMALL:
        return None
    title = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in known.name or "microcosm")
    try:
        text = page(known, title=title, proofs="all" if many <= PROVED else "none")
    except MicrocosmError:
        return None
    style = f"width: 100%; height: {HIGH}px; border: 1px solid #8B93A3"
    called = escape(f"Space-time page of {title}")
    return (
        f'<iframe sandbox="allow-scripts" title="{called}" style="{style}" srcdoc="{escape(text)}"></iframe>'
    )
