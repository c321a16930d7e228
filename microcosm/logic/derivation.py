"""A derivation: the tree of rule instances that proves a conclusion, as data and as JSON.

Nodes are immutable and may be shared, so a proof is a DAG; in JSON a shared node can stand in a
top-level `lemmas` list and be referred to as `{"ref": k}`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from microcosm.errors import Undefined, readable
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
        stack = [self]
        while stack:
            node = stack[-1]
            waiting = [p for p in node.premises if id(p) not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            done[id(node)] = {
                "rule": node.rule,
                "conclusion": {
                    "judgement": node.conclusion.judgement.value,
                    "left": node.conclusion.left,
                    "relation": node.conclusion.relation,
                    "right": node.conclusion.right,
                },
                "premises": [done[id(p)] for p in node.premises],
                **node.evidence,
            }
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
