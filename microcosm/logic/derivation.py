"""A derivation: the tree of rule instances that proves a conclusion, as data, as JSON and as text.

Nodes are immutable and may be shared, so a proof is a DAG. As JSON (`proof_object`) plain trees come out as
they are. Where a step is used many times, or the tree is deeper than common readers allow, steps move into
the list `lemmas` and `{"ref": k}` stands in their place; a lemma refers only to lemmas before it.

As text it is complete at any size, written line by line, without recursion. A step is `conclusion  (rule)`,
its premises indented under it. Three things keep a tree readable: the nest of a transitive rule is drawn as
one step with its links in order; a step met again is not drawn again; and what would be indented too far is
drawn by itself, under a number, further down.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from microcosm.errors import Undefined
from microcosm.givens.relation import Relation
from microcosm.givens.spelling import read_relation, shown
from microcosm.logic.rule import ABSENT, ASSUME, Judgement
from microcosm.logic.rule_grammar import PLAIN, Look
from microcosm.text.names import quote
from microcosm.text.statement import readable


def read_judgement(spelling: Judgement | str) -> Judgement:
    """The judgement that a name or a member of the enum stands for. Raises `Undefined` for anything else.

    Cost: constant.

    >>> read_judgement("online"), read_judgement(Judgement.INITIAL)
    (<Judgement.ONLINE: 'online'>, <Judgement.INITIAL: 'initial'>)
    """
    if isinstance(spelling, Judgement):
        return spelling
    found = _NAMES.get(spelling.strip().lower()) if isinstance(spelling, str) else None
    if found is None:
        raise Undefined(f"{shown(spelling)} is no judgement: it is one of {', '.join(_NAMES)}")
    return found


def read_judged(spelling: Relation | str) -> Relation:
    """The relation that a sign or a name stands for, if judgements can be about it. Raises `Undefined`.

    Cost: constant.
    """
    relation = read_relation(spelling)
    if relation is Relation.SILENT:
        raise Undefined("silence is what is left where no rule says anything: no judgement is about it")
    return relation


_NAMES = {judgement.value: judgement for judgement in Judgement}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`judgement left relation right`; `relation` is a sign, `_`, `in-both`, `not-in` or `contradiction`."""

    judgement: Judgement
    left: str
    relation: str
    right: str | None

    def __str__(self) -> str:
        return conclusion_text(self, PLAIN)


@dataclass(frozen=True, slots=True)
class Derivation:
    """One step: `rule` concludes `conclusion` from `premises` (leaves: `Init` and `absent`).

    `evidence` holds the optional keys of the JSON form: `clocks`, `token`, `evolution`, `assumes`;
    and of a leaf that rests on a given `source`, with `file`, `line` and `text`, which no check looks at.
    """

    rule: str
    conclusion: Conclusion
    premises: tuple[Derivation, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Any]:
        """The JSON form of contract `microcosm/1`, without lemmas. Works at any depth and never recurses.

        A node met twice is written once and shared as the same Python object. Cost: linear in the nodes, each
        counted once.
        """
        done: dict[int, dict[str, Any]] = {}
        for node in from_the_leaves(self):
            done[id(node)] = _written(node, [done[id(p)] for p in node.premises])
        return done[id(self)]

    def __str__(self) -> str:
        return "\n".join(tree_lines(self))

    def _repr_html_(self) -> str:
        return f"<pre>{'<br>'.join(map(readable, str(self).splitlines()))}</pre>"


def absent(judgement: Judgement, left: str, right: str, relation: str = "_") -> Derivation:
    """The leaf `⊬ left relation right`. Cost: constant."""
    return Derivation(ABSENT, Conclusion(judgement, left, relation, right))


def not_in(event: str) -> Derivation:
    """The leaf "event is not in M". Cost: constant."""
    return Derivation(ABSENT, Conclusion(Judgement.INITIAL, event, "not-in", None))


def step(
    rule: str,
    judgement: Judgement,
    left: str,
    relation: Relation,
    right: str,
    *premises: Derivation,
    **evidence: Any,
) -> Derivation:
    """A step with a concrete relation. Cost: constant."""
    return Derivation(rule, Conclusion(judgement, left, str(relation.value), right), premises, evidence)


DEEPEST = 100
"""No branch of the JSON has more steps than this."""

SLACK = 1000
"""A tree of at most so many steps is written out even where it could share some."""


def proof_object(derivation: Derivation) -> dict[str, Any]:
    """The JSON form of `derivation`, with `lemmas` where needed. Cost: linear in its distinct steps."""
    order = from_the_leaves(derivation)
    height: dict[int, int] = {}
    size: dict[int, int] = {}
    for node in order:
        height[id(node)] = 1 + max((height[id(p)] for p in node.premises), default=0)
        size[id(node)] = 1 + sum(size[id(p)] for p in node.premises)
    if height[id(derivation)] <= DEEPEST and size[id(derivation)] <= 2 * len(order) + SLACK:
        return derivation.to_json()
    return _with_lemmas(derivation, order)


def concludes(stated: object, judgement: str, left: str, sign: str, right: str) -> bool:
    """Whether what is stated, as JSON, to be a derivation concludes `left sign right`. Cost: constant."""
    conclusion = stated.get("conclusion") if isinstance(stated, dict) else None
    if sign in (">", "!>"):
        left, sign, right = right, sign.replace(">", "<"), left
    return conclusion == {"judgement": judgement, "left": left, "relation": sign, "right": right}


def _with_lemmas(derivation: Derivation, order: list[Derivation]) -> dict[str, Any]:
    uses: dict[int, int] = {}
    for node in order:
        for premise in node.premises:
            uses[id(premise)] = uses.get(id(premise), 0) + 1
    written: dict[int, dict[str, Any]] = {}
    height: dict[int, int] = {}
    lemmas: list[dict[str, Any]] = []
    for node in order:
        tall = 1 + max((height[id(p)] for p in node.premises), default=0)
        step = _written(node, [written[id(p)] for p in node.premises])
        shared = uses.get(id(node), 0) > 1 and bool(node.premises)
        if node is not derivation and (shared or tall >= DEEPEST):
            lemmas.append(step)
            step, tall = {"ref": len(lemmas) - 1}, 1
        written[id(node)], height[id(node)] = step, tall
    return {**written[id(derivation)], "lemmas": lemmas}


def _written(node: Derivation, premises: list[dict[str, Any]]) -> dict[str, Any]:
    judged = node.conclusion
    conclusion = {
        "judgement": judged.judgement.value,
        "left": judged.left,
        "relation": judged.relation,
        "right": judged.right,
    }
    return {"rule": node.rule, "conclusion": conclusion, "premises": premises, **node.evidence}


def from_the_leaves(derivation: Derivation) -> list[Derivation]:
    """Every distinct step once, each after its premises. Cost: linear in the distinct steps."""
    order: list[Derivation] = []
    seen: set[int] = set()
    waiting = [(derivation, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.append((node, True))
            waiting += [(premise, False) for premise in reversed(node.premises)]
    return order


Words: TypeAlias = Callable[[str], str]
"""How an event is written."""

SourceOf: TypeAlias = "Callable[[Derivation], str]"
"""What tells where a given came from."""

INDENTED = 12
"""What is more than one step high and stands further in than this is drawn by itself, under a number."""


Run: TypeAlias = "Callable[[Derivation], str | None]"
"""What several links of a chain have in common that may be told as one; None where there is nothing such."""

SHORTEST_RUN = 3
"""Fewer links of a run are drawn one by one."""

LINKS_DRAWN = (20, 5)
"""Of a chain that is folded so many links are drawn at its beginning, and so many at its end."""


class Fold(NamedTuple):
    """How chains are shortened: the links of a run are one line, and `more` says how to see the rest."""

    run: Run
    more: str


def tree_lines(
    derivation: Derivation,
    look: Look = PLAIN,
    source: SourceOf | None = None,
    *,
    words: Words = quote,
    fold: Fold | None = None,
) -> Iterator[str]:
    """The lines of the tree of a derivation, whole unless chains are to `fold`; `words` shows an event.

    Cost: linear in its distinct steps.
    """
    return _Tree(look, source, words, fold).lines(derivation)


def links(derivation: Derivation) -> list[Derivation]:
    """The links of a transitive nest in order: `a < b`, `b < c`, …; the derivation itself if it is none.

    Known by its shape, a step `a R c` from `a R b` and `b R c`, whatever the rule is called. Cost: linear in
    the steps of the chain.
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
    """Whether a step goes from `a R b` and `b R c` to `a R c`, all of one judgement.

    Cost: constant.
    """
    if len(node.premises) != 2:
        return False
    whole, one, two = node.conclusion, node.premises[0].conclusion, node.premises[1].conclusion
    return (
        whole.judgement is one.judgement is two.judgement
        and whole.relation == one.relation == two.relation == "<"
        and (whole.left, one.right, whole.right) == (one.left, two.left, two.right)
    )


def conclusion_text(conclusion: Conclusion, look: Look, *, absent: bool = False, words: Words = quote) -> str:
    """`⊢₀ a < b`, `⊬₀ a _ b`, `a not in M`, …, every name readable as one. Cost: linear in the text."""
    left = words(conclusion.left)
    if conclusion.right is None:
        return f"{left} not in M"
    right = words(conclusion.right)
    if conclusion.relation in ("in-both", "none"):
        return f"no event related to both {left} and {right}"
    if conclusion.relation == "contradiction":
        return f"contradiction between {left} and {right}"
    signs = look.signs.underivable if absent else look.signs.derivable
    return f"{signs[conclusion.judgement.value]} {left} {conclusion.relation} {right}"


class _Folded(NamedTuple):
    """Some links of a chain on one line."""

    ends: tuple[str, str] | None
    note: str
    left_out: int = 0


class _Tree:
    def __init__(self, look: Look, source: SourceOf | None, words: Words, fold: Fold | None) -> None:
        self.look = look
        self.source = source
        self.words = words
        self.fold = fold
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
        signs = self.look.signs
        margin = " " * len(label)
        waiting: list[tuple[Derivation | _Folded, str, str, int]]
        waiting = [(root, label, margin, 0)]  # a step, what stands before it, before its premises, its depth
        while waiting:
            node, before, under, depth = waiting.pop()
            if isinstance(node, _Folded):
                ends = f"… {node.left_out:,} links"
                if node.ends is not None:
                    ends = f"{self.words(node.ends[0])} … {self.words(node.ends[1])}"
                yield from self._line(before, ends, node.note, under, depth)
                continue
            premises, note = self._premises(node, depth)
            text = conclusion_text(node.conclusion, self.look, absent=node.rule == ABSENT, words=self.words)
            yield from self._line(before, text, note, under, depth)
            last = len(premises) - 1
            for at in range(last, -1, -1):
                branch, below = (signs.last, signs.gap) if at == last else (signs.tee, signs.bar)
                waiting.append((premises[at], under + branch, under + below, depth + 1))

    def _premises(self, node: Derivation, depth: int) -> tuple[Sequence[Derivation | _Folded], str]:
        """The steps to draw under `node`, and the note beside it."""
        note = self._note(node)
        if not node.premises:
            return [], note
        elsewhere = self.drawn.get(id(node)) if depth else None
        if elsewhere is not None:
            return [], f"{note}, {elsewhere}"
        if depth >= INDENTED and any(premise.premises for premise in node.premises):
            self.numbers += 1
            number = self.numbers
            self.later.append((number, node))
            self.drawn[id(node)] = f"see [{number}]"
            return [], f"{note}, see [{number}]"
        self.drawn.setdefault(id(node), "as above")
        if not is_transitive(node):
            return list(node.premises), note
        chain = links(node)
        shown = chain if self.fold is None else self._folded(chain, self.fold)
        return shown, f"{note}, {len(chain):,} links" if len(chain) > 2 else note

    def _folded(self, chain: list[Derivation], fold: Fold) -> Sequence[Derivation | _Folded]:
        """The links of a chain with its runs as one each, and not more than a page of them."""
        shown: list[Derivation | _Folded] = []
        sizes: list[int] = []
        for run, grouped in groupby(chain, fold.run):
            links = [*grouped]
            if run is None or len(links) < SHORTEST_RUN:
                shown += links
                sizes += [1] * len(links)
            else:
                ends = links[0].conclusion.left, links[-1].conclusion.right or ""
                shown.append(_Folded(ends, f"{run}, {len(links):,} steps"))
                sizes.append(len(links))
        first_drawn, last_drawn = LINKS_DRAWN
        if len(shown) <= first_drawn + last_drawn + 1:
            return shown
        hidden = sum(sizes[first_drawn:-last_drawn])
        left_out = _Folded(None, fold.more, hidden)
        return [*shown[:first_drawn], left_out, *shown[-last_drawn:]]

    def _note(self, node: Derivation) -> str:
        if node.rule == ABSENT:
            return "" if self.source is None else self.source(node)
        if not node.premises and self.source is not None and node.rule != ASSUME:
            return f"{node.rule}: {self.source(node)}"
        if node.rule == ASSUME:
            return "assumed"
        if "assumes" in node.evidence:
            left, sign, right = node.evidence["assumes"]
            return f"{node.rule}: assume {quote(left)} {sign} {quote(right)}"
        evolution = node.evidence.get("evolution")
        return f"{node.rule}, {evolution_text(evolution)}" if evolution else node.rule

    def _line(self, before: str, text: str, note: str, under: str, depth: int) -> Iterator[str]:
        columns = self.look.columns
        shown = self.look.dim(before) + (text if depth else self.look.bold(text))
        if not note:
            yield shown
        elif columns is None or len(before) + len(text) + len(note) + 4 <= columns:
            yield f"{shown}  {self.look.dim(f'({note})')}"
        else:
            yield shown
            yield self.look.dim(f"{under}{self.look.signs.gap}({note})")


def evolution_text(evolution: object) -> str:
    """What was added or updated, as rule files write it: `+ a < b`, `a <> b := a < b`.

    Cost: linear in the text.
    """
    match evolution:
        case {"add": [str(left), str(sign), str(right)]}:
            return f"+ {quote(left)} {sign} {quote(right)}"
        case {"update": [str(left), str(sign), str(right)]}:
            one, other = quote(left), quote(right)
            return f"{one} <> {other} := {one} {sign} {other}"
    return str(evolution)
