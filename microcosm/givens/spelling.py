"""Relations as people write them: signs, ASCII or mathematical, and names.

It stands apart from the relations themselves, which the kernel rests on: what reads a spelling need not be
trusted.
"""

from __future__ import annotations

from dataclasses import replace
from reprlib import repr
from types import UnionType

from microcosm.errors import Undefined
from microcosm.givens.relation import Correspondence, Relation

SPELLINGS: dict[str, Relation] = {
    **{relation.value: relation for relation in Relation if relation.value is not None},
    "≺": Relation.BEFORE,
    "→": Relation.BEFORE,
    "≻": Relation.AFTER,
    "∥": Relation.CONCURRENT,
    "≬": Relation.RELATED,
    "≮": Relation.NOT_BEFORE,
}
"""Every accepted spelling of a relation, ASCII and mathematical."""


def read_relation(spelling: Relation | str | None) -> Relation:
    """The relation that a sign, a name or a member of the enum stands for; None is silence, as in JSON.

    Raises `Undefined` for anything else.

    >>> read_relation("<"), read_relation("before"), read_relation("∥"), read_relation(Relation.UNKNOWN)
    (Relation.BEFORE, Relation.BEFORE, Relation.CONCURRENT, Relation.UNKNOWN)
    """
    if isinstance(spelling, Relation):
        return spelling
    if spelling is None:
        return Relation.SILENT
    if isinstance(spelling, str):
        text = spelling.strip()
        found = SPELLINGS.get(text, Relation.__members__.get(text.upper().replace(" ", "_")))
        if found is not None:
            return found
    known = ", ".join(f"{relation} ({relation.name})" for relation in Relation if relation.value is not None)
    raise Undefined(f"{shown(spelling)} is no relation: it is one of {known}, or SILENT")


def expect_text(*values: object) -> None:
    """Raise `Undefined` for what is no text, where an event is to be named or something to be said of it.

    >>> expect_text("a", 1)
    Traceback (most recent call last):
    ...
    microcosm.errors.Undefined: 1 is no text: an event is named, and spoken of, by text
    """
    expect(str, "text: an event is named, and spoken of, by text", *values)


def expect(kind: type | UnionType, wanted: str, *values: object) -> None:
    """Raise `Undefined` for what is not of a kind, `wanted` being what it is no ….

    >>> expect(Relation, "relation", Relation.BEFORE, "<")
    Traceback (most recent call last):
    ...
    microcosm.errors.Undefined: '<' is no relation
    """
    for value in values:
        if not isinstance(value, kind):
            raise Undefined(f"{shown(value)} is no {wanted}")


def shown(value: object) -> str:
    """What was handed over, shortened; by its type where it cannot be shown."""
    try:
        return repr(value)
    except Exception:  # a number has too many digits, or the code of others fails
        return f"what has the type {type(value).__name__}"


def pair_of(pair: tuple[str, str]) -> tuple[str, str]:
    """The two that are to be a pair of events. Raises `Undefined` for what is none, such as a text."""
    try:
        a, b = () if isinstance(pair, str) else pair
    except (TypeError, ValueError):
        raise Undefined(f"{shown(pair)} is no pair of events") from None
    return a, b


def checked(fact: Correspondence) -> Correspondence:
    """A correspondence with a relation where it has a sign or a name.

    Raises `Undefined` for what is neither, and between what is no text.

    >>> checked(Correspondence("a", "||", "b"))  # type: ignore[arg-type]
    Correspondence(left='a', relation=Relation.CONCURRENT, right='b', source=None)
    """
    if type(fact) is not Correspondence:
        expect(Correspondence, "correspondence", fact)
    if type(fact.left) is not str or type(fact.right) is not str:
        expect_text(fact.left, fact.right)
    relation = read_relation(fact.relation)
    return fact if relation is fact.relation else replace(fact, relation=relation)
