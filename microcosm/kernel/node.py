"""The nodes of a derivation as JSON: what they say, and what is wrong with their form.  (trusted)

Nothing here knows a rule or a given. Any JSON value may stand anywhere; what is no node is a `ProofFault`.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, NamedTuple, NoReturn

from microcosm.errors import MicrocosmError
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rule import ABSENT, ASSUME, CLASH, CONTRADICTION, Judgement, incompatible
from microcosm.text.names import quote

JUDGEMENTS = {judgement.value: judgement for judgement in Judgement}
SIGNS = ("<", "||", "<>", "?", "!<", "!||", "!<>")
"""The relations of conclusions."""

DENIALS = (*SIGNS, "_", "in-both", "not-in", "none")
"""The relations of leaves `absent`: `_` is any relation in either direction."""

_NODE = frozenset(("rule", "conclusion", "premises"))
EVIDENCE = frozenset(("clocks", "token", "evolution", "assumes", "source"))
_CONCLUSION = frozenset(("judgement", "left", "relation", "right"))
_DENIES = {"initial": "⊬₀", "online": "⊬", "offline": "⊮"}
_LONGEST_PATH, _LONGEST_NAME = 20, 60

Binding = dict[str, str]
"""Which event each variable stands for, so far."""

NodePath = tuple[Any, int | str] | None
"""How a node is reached: the path of the step above it, and its place there. None: the root."""


class ProofFault(MicrocosmError):
    """What is wrong with a derivation, after the path of the node."""


def fail(path: NodePath, message: str) -> NoReturn:
    """Raise the fault of the node at `path`. Cost: linear in the path."""
    places: list[str] = []
    while path is not None:
        path, place = path
        places.append(place if isinstance(place, str) else f"premises[{place}]")
    if len(places) > _LONGEST_PATH:
        places[8:-8] = [f"… {len(places) - 16} more …"]
    raise ProofFault(f"{'.'.join(reversed(places)) or 'root'}: {message}")


class NodeLine(NamedTuple):
    """What a node says: the conclusion of a step, or (`absent`) what a leaf denies.

    As a pattern: events are variables, and relation None is any. The missing event of `not-in` is "".
    """

    absent: bool
    judgement: str
    left: str
    relation: str | None
    right: str

    def matches(self, line: NodeLine, binding: Binding) -> bool:
        """Whether this pattern can say what `line` says, its variables standing for what `binding` says.

        Variables that `binding` lacks are added to it. Cost: constant.
        """
        return (
            self.absent == line.absent
            and self.judgement == line.judgement
            and (self.relation == line.relation or (self.relation is None and line.relation != CONTRADICTION))
            and binding.setdefault(self.left, line.left) == line.left
            and binding.setdefault(self.right, line.right) == line.right
        )

    @property
    def turned(self) -> NodeLine:
        """The line with its ends exchanged."""
        return self._replace(left=self.right, right=self.left)

    def __str__(self) -> str:
        left, right = shown(self.left), shown(self.right)
        if self.relation == "not-in":
            return f"{left} not in M"
        if self.relation in ("in-both", "none"):
            return f"no event related to both {left} and {right}"
        sign = _DENIES[self.judgement] if self.absent else JUDGEMENTS[self.judgement].turnstile
        return f"{sign} {left} {self.relation} {right}"


def read(node: Any, path: NodePath, events: Set[str], also: Set[str] = frozenset()) -> NodeLine:
    """What a node over `events` says; it may have the keys `also` besides those of every node.

    Cost: constant, whatever stands below the node.
    """
    if not isinstance(node, dict):
        fail(path, "a node is an object with `rule`, `conclusion` and `premises`")
    _exactly(node, _NODE, EVIDENCE | also, path, "the node")
    rule, conclusion, premises = node["rule"], node["conclusion"], node["premises"]
    if not isinstance(rule, str):
        fail(path, "`rule` is the name of a rule")
    if not isinstance(premises, list):
        fail(path, "`premises` is a list")
    if not isinstance(conclusion, dict):
        fail(path, "`conclusion` is an object")
    _exactly(conclusion, _CONCLUSION, frozenset(), path, "`conclusion`")
    absent = rule == ABSENT
    if rule in (ABSENT, ASSUME) and (premises or len(node) > len(_NODE)):
        what = "a negative premise" if absent else "an assumption"
        fail(path, f"{what} is a leaf: it has no premises and shows nothing")
    if "source" in node and (premises or not isinstance(node["source"], dict)):
        fail(path, "`source` is an object, and of a leaf: from where its given is")
    judgement, left, relation, right = map(conclusion.__getitem__, ("judgement", "left", "relation", "right"))
    if not isinstance(judgement, str) or judgement not in JUDGEMENTS:
        fail(path, f"`judgement` is one of {', '.join(JUDGEMENTS)}")
    signs = DENIALS if absent else (CONTRADICTION,) if rule == CLASH else SIGNS
    if not isinstance(relation, str) or relation not in signs:
        fail(path, f"`relation` is one of {' '.join(signs)}")
    one_event = relation == "not-in"
    if one_event and right is not None:
        fail(path, "`right` is null beside `not-in`")
    for event in (left,) if one_event else (left, right):
        if not isinstance(event, str) or not event:
            fail(path, "`left` and `right` are names of events")
        if event not in events:
            fail(path, f"{shown(event)} is named neither by the microcosm nor by what is proved")
    if left == right and not absent:
        fail(path, f"{shown(left)} is related to itself")
    return NodeLine(absent, judgement, left, relation, "" if one_event else right)


def exclude(one: NodeLine, other: NodeLine) -> bool:
    """Whether two lines judge one pair of events so that no relation is left to it. Cost: constant."""
    judged = not (one.absent or other.absent) and one.judgement == other.judgement
    if not judged or not {one.relation, other.relation} <= {*SIGNS}:
        return False
    mine, theirs = Relation(one.relation), Relation(other.relation)
    if (one.left, one.right) == (other.right, other.left):
        return incompatible(mine, theirs.converse)
    return (one.left, one.right) == (other.left, other.right) and incompatible(mine, theirs)


def read_evolution(value: object, path: NodePath) -> tuple[bool, Correspondence]:
    """Whether an `evolution` is an update, and the external given that is new. Cost: constant."""
    match [*value.items()] if isinstance(value, dict) else None:
        case [("add" | "update" as way, [str(left), str(sign), str(right)])]:
            pass
        case _:
            fail(path, '`evolution` is `{"add": [a, R, b]}` or `{"update": [a, "<", b]}`')
    if sign not in ("<", ">", "||", "<>"):
        fail(path, f"`{shown(sign)}` is no relation of an external given")
    return way == "update", Correspondence(left, Relation(sign), right).normal()


def read_assumption(value: object, judgement: str, path: NodePath) -> NodeLine:
    """What a step that discharges an assumption names as such: `[a, R, b]`, or the conclusion of the leaf.

    Cost: constant.
    """
    match value:
        case [str(left), str(sign), str(right)]:
            pass
        case {"judgement": str(named), "left": str(left), "relation": str(sign), "right": str(right), **rest}:
            if rest or named != judgement:
                fail(path, "`assumes` is the conclusion of the leaf that is discharged")
        case _:
            fail(path, "`assumes` is `[a, R, b]`")
    if sign == ">":
        left, sign, right = right, "<", left
    return NodeLine(False, judgement, left, sign, right)


def same(value: object, expected: object) -> bool:
    """Whether two JSON values are equal, 1 and true being different. Descends no further than `expected`.

    Cost: linear in `expected`.
    """
    if type(value) is not type(expected):
        return False
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(same(value[k], expected[k]) for k in expected)
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(same, value, expected))
    return value == expected


def shown(name: str) -> str:
    """A name in a message, cut where it is long. Cost: constant."""
    return quote(name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…")


def _exactly(value: dict[str, Any], needed: Set[str], allowed: Set[str], path: NodePath, what: str) -> None:
    if value.keys() == needed:
        return
    if missing := needed - value.keys():
        fail(path, f"{what} lacks {', '.join(sorted(missing))}")
    if unknown := value.keys() - needed - allowed:
        fail(path, f"{what} has unknown keys: {', '.join(map(shown, sorted(unknown)[:5]))}")
