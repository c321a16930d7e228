"""How a stream wants its text: which signs it can carry, whether colour, how wide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from microcosm.cli.output import can_show, is_terminal, printable, styled, width
from microcosm.logic.derivation import ASCII, PAPER, Derivation, Signs, tree_lines

if TYPE_CHECKING:
    from microcosm.cli.show.provenance import Provenance


@dataclass(frozen=True, slots=True)
class Style:
    """What `stream` asks for; `columns` is None where long lines are no trouble (a pipe, a file)."""

    signs: Signs
    colour: bool
    columns: int | None
    prose: int

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """The style of a stream as it is now."""
        fits = can_show("⊢₀⊬⊩⊮├─└│✓✗≤·", stream)
        columns = width(stream)
        return cls(
            PAPER if fits else ASCII,
            styled(stream),
            columns if is_terminal(stream) else None,
            columns,
        )

    def readable(self, text: str) -> str:
        """`text` with turnstiles in these signs, and nothing in it that a terminal would obey."""
        if self.signs is ASCII:
            for theirs, ours in ((PAPER.underivable, ASCII.underivable), (PAPER.derivable, ASCII.derivable)):
                for judgement in ("initial", "online", "offline"):
                    text = text.replace(theirs[judgement], ours[judgement])
        return printable(text)

    def dim(self, text: str) -> str:
        """Text that stands back."""
        return f"\x1b[2m{text}\x1b[0m" if self.colour and text else text

    def bold(self, text: str) -> str:
        """Text that stands out."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour and text else text


def proof_lines(
    derivation: Derivation, *, stream: TextIO, provenance: Provenance | None = None
) -> Iterator[str]:
    """The lines of the tree of `derivation` as `stream` wants them. Cost: linear in the derivation."""
    return tree_lines(derivation, Style.of(stream), None if provenance is None else provenance.of)
