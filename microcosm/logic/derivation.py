"""A derivation: the tree of rule instances that proves a conclusion, as data and as JSON.

Nodes are immutable and may be shared, so a proof is a DAG. As JSON (`proof_object`) plain trees come out as
they are. Where a step is used many times, or the tree is deeper than common readers allow, steps move into
the list `lemmas` and `{"ref": k}` stands in their place; a lemma refers only to lemmas before it.

A leaf that rests on a given shows from which line of which file that came (`leaf_shows`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from microcosm.errors import Undefined, readable
from microcosm.givens.facts import GivenFacts
from microcosm.givens.relation import Relation
from microcosm.givens.spelling import read_relation
from microcosm.logic.rule import ABSENT, Judgement


def read_judgement(said: Judgement | str) -> Judgement:
    """The judgement that a name or a member of the enum stands for. Raises `Undefined` for anything else.

    Cost: constant.

    >>> read_judgement("online"), read_judgement(Judgement.INITIAL)
    (<Judgement.ONLINE: 'online'>, <Judgement.INITIAL: 'initial'>)
    """
    if isinstance(said, Judgement):
        return said
    found = _NAMES.get(said.strip().lower()) if isinstance(said, str) else None
    if found is None:
        raise Undefined(f"{said!r} is no judgement: it is one of {', '.join(_NAMES)}")
    return found


def read_judged(said: Relation | str) -> Relation:
    """The relation that a sign or a name stands for, if judgements can be about it. Raises `Undefined`.

    Cost: constant.
    """
    relation = read_relation(said)
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
        sign = self.judgement.turnstile
        if self.relation == "not-in":
            return f"{self.left} not in M"
        if self.relation == "in-both":
            return f"no event related to both {self.left} and {self.right}"
        return f"{sign} {self.left} {self.relation} {self.right}"


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
        from microcosm.logic.proof_tree import tree_lines

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
    said = node.conclusion
    conclusion = {
        "judgement": said.judgement.value,
        "left": said.left,
        "relation": said.relation,
        "right": said.right,
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


_at_line = re.compile(r"(?:(?P<file>.*):|line )(?P<line>\d+)\Z", re.DOTALL).match


def leaf_shows(facts: GivenFacts, left: str, relation: Relation, right: str) -> dict[str, object]:
    """What a step that rests on one given shows: its clocks or token if it is by these, and its source.

    Cost: constant.
    """
    found = next(facts.evidence(left, relation, right), None)
    shows: dict[str, object] = {}
    if found is not None and found.kind == "token":
        shows["token"] = found.source
    if found is not None and found.kind == "clocks":
        clocks = facts.givens.clocks
        shows["clocks"] = {event: clocks[event].stated() for event in (left, right)}
    return {**shows, "source": source_of(facts, left, relation, right)}


def source_of(facts: GivenFacts, left: str, relation: Relation, right: str) -> dict[str, object]:
    """`text` says by what it is given, `file` and `line` where; None where nobody knows.

    The place is that of the statement in a microcosm file; of what came out of a log it is that of the event
    to which it leads, the right one, or else of the left one. Cost: constant.

    >>> from microcosm.text.mc_reader import read_givens
    >>> facts = GivenFacts(read_givens("a < b\\nb < c from \\"message m\\"\\nevent c at q.log:7", "album.mc"))
    >>> source_of(facts, "a", Relation.BEFORE, "b")
    {'file': 'album.mc', 'line': 1, 'text': 'album.mc:1'}
    >>> source_of(facts, "b", Relation.BEFORE, "c")
    {'file': 'q.log', 'line': 7, 'text': 'message m'}
    """
    text: str | None = None
    for evidence in facts.evidence(left, relation, right):
        match evidence.kind:
            case "external":
                text = None if evidence.source is None else str(evidence.source)
            case "token":
                text = f"token {evidence.source}"
            case kind:
                text = "internal events" if kind == "internal" else kind
        break
    stated = _at_line(text) if text is not None else None
    if stated is not None:
        return {"file": stated["file"], "line": int(stated["line"]), "text": text}
    events = facts.givens.events
    if events is not None:
        for event in (right, left):
            at = events.number(event)
            if at is not None and events.files[at] and events.lines[at]:
                return {"file": events.files[at], "line": events.lines[at], "text": text}
    return {"file": None, "line": None, "text": text}
