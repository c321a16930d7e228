"""Proof trees as text: complete at any size, written line by line, without recursion.

A step is `conclusion  (rule)`, its premises indented under it. Three things keep a tree readable: the
nest of a transitive rule is drawn as one step with its links in order; a step met again is not drawn
again; and what would be indented too far is drawn by itself, under a number, further down.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from microcosm.cli.show.style import Style
from microcosm.logic.derivation import ABSENT, ASSUME, Conclusion, Derivation
from microcosm.text.names import quote

if TYPE_CHECKING:
    from microcosm.cli.show.provenance import Provenance

DEEPEST = 12
"""What is more than one step high and stands further in than this is drawn by itself, under a number."""


def proof_lines(
    derivation: Derivation, *, stream: TextIO, provenance: Provenance | None = None
) -> Iterator[str]:
    """The lines of the tree of `derivation` as `stream` wants them. Cost: linear in the derivation."""
    return _Tree(Style.of(stream), provenance).lines(derivation)


def links(derivation: Derivation) -> list[Derivation]:
    """The links of a transitive nest in order: `a < b`, `b < c`, …; the derivation itself if it is none.

    Known by its shape, a step `a R c` from `a R b` and `b R c`, whatever the rule is called.
    """
    found, waiting = [], [derivation]
    while waiting:
        node = waiting.pop()
        if is_transitive(node) and node.rule == derivation.rule:
            waiting += reversed(node.premises)
        else:
            found.append(node)
    return found


def is_transitive(node: Derivation) -> bool:
    """Whether a step goes from `a R b` and `b R c` to `a R c`, all of one judgement."""
    if len(node.premises) != 2:
        return False
    whole, one, two = node.conclusion, node.premises[0].conclusion, node.premises[1].conclusion
    return (
        whole.judgement is one.judgement is two.judgement
        and whole.relation == one.relation == two.relation == "<"
        and (whole.left, one.right, whole.right) == (one.left, two.left, two.right)
    )


def conclusion_text(conclusion: Conclusion, style: Style, *, absent: bool = False) -> str:
    """`⊢₀ a < b`, `⊬₀ a _ b`, `a not in M`, …, every name readable as one."""
    left = quote(conclusion.left)
    if conclusion.right is None:
        return f"{left} not in M"
    right = quote(conclusion.right)
    if conclusion.relation in ("in-both", "none"):
        return f"no event related to both {left} and {right}"
    if conclusion.relation == "contradiction":
        return f"contradiction between {left} and {right}"
    signs = style.signs.underivable if absent else style.signs.derivable
    return f"{signs[conclusion.judgement.value]} {left} {conclusion.relation} {right}"


class _Tree:
    def __init__(self, style: Style, provenance: Provenance | None) -> None:
        self.style = style
        self.provenance = provenance
        self.drawn: dict[int, str] = {}  # by id: where the premises of a step stand
        self.later: deque[tuple[int, Derivation]] = deque()
        self.numbers = 0

    def lines(self, root: Derivation) -> Iterator[str]:
        yield from self._block(root, "")
        while self.later:
            number, node = self.later.popleft()
            yield ""
            yield from self._block(node, f"[{number}] ")

    def _block(self, root: Derivation, label: str) -> Iterator[str]:
        """One tree, from `root` down to where the indentation gets too deep."""
        signs = self.style.signs
        margin = " " * len(label)
        waiting = [(root, label, margin, 0)]  # a step, what stands before it, before its premises, its depth
        while waiting:
            node, before, under, depth = waiting.pop()
            premises, note = self._premises(node, depth)
            text = conclusion_text(node.conclusion, self.style, absent=node.rule == ABSENT)
            yield from self._line(before, text, note, under, depth)
            last = len(premises) - 1
            for at in range(last, -1, -1):
                branch, below = (signs.last, signs.gap) if at == last else (signs.tee, signs.bar)
                waiting.append((premises[at], under + branch, under + below, depth + 1))

    def _premises(self, node: Derivation, depth: int) -> tuple[list[Derivation], str]:
        """The steps to draw under `node`, and the note beside it."""
        note = self._note(node)
        if not node.premises:
            return [], note
        elsewhere = self.drawn.get(id(node)) if depth else None
        if elsewhere is not None:
            return [], f"{note}, {elsewhere}"
        if depth >= DEEPEST and any(premise.premises for premise in node.premises):
            self.numbers += 1
            number = self.numbers
            self.later.append((number, node))
            self.drawn[id(node)] = f"see [{number}]"
            return [], f"{note}, see [{number}]"
        self.drawn.setdefault(id(node), "as above")
        if not is_transitive(node):
            return list(node.premises), note
        chain = links(node)
        return chain, f"{note}, {len(chain)} links" if len(chain) > 2 else note

    def _note(self, node: Derivation) -> str:
        if node.rule == ABSENT:
            return ""
        if not node.premises and self.provenance is not None and node.rule != ASSUME:
            return f"{node.rule}: {self.provenance.of(node)}"
        if node.rule == ASSUME:
            return "assumed"
        if "assumes" in node.evidence:
            left, sign, right = node.evidence["assumes"]
            return f"{node.rule}: assume {quote(left)} {sign} {quote(right)}"
        evolution = node.evidence.get("evolution")
        return f"{node.rule}, {evolution_text(evolution)}" if evolution else node.rule

    def _line(self, before: str, text: str, note: str, under: str, depth: int) -> Iterator[str]:
        columns = self.style.columns
        shown = self.style.dim(before) + (text if depth else self.style.bold(text))
        if not note:
            yield shown
        elif columns is None or len(before) + len(text) + len(note) + 4 <= columns:
            yield f"{shown}  {self.style.dim(f'({note})')}"
        else:
            yield shown
            yield self.style.dim(f"{under}{self.style.signs.gap}({note})")


def evolution_text(evolution: object) -> str:
    """What was added or updated, as rule files write it: `+ a < b`, `a <> b := a < b`."""
    match evolution:
        case {"add": [str(left), str(sign), str(right)]}:
            return f"+ {quote(left)} {sign} {quote(right)}"
        case {"update": [str(left), str(sign), str(right)]}:
            one, other = quote(left), quote(right)
            return f"{one} <> {other} := {one} {sign} {other}"
    return str(evolution)
