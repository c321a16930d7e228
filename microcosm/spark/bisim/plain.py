"""The digest of a plain microcosm straight from its JSON object: most of a table are, and reading costs most.

Plain is what gives an internal chain, `<` and `||`, and nothing else. Whatever is not, faults and
contradictions included, is left to the reader of the JSON form and to `microcosm.compare.digest`, whose
digests these are. No Spark here.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, pairwise

from microcosm.compare.digest import rows_digest
from microcosm.compare.verdict_rows import VerdictRows
from microcosm.givens.relation import Relation
from microcosm.text.names import unfit

_FIELDS = {"external", "internal"}


def plain_digest(record: Mapping[str, object]) -> str | None:
    """The digest under the rules of the seed; None for what is not plain. Some world fits what is plain.

    Cost: that of a closure.

    >>> one = plain_digest({"external": [["a", "<", "b"], ["b", "<", "c"]]})
    >>> one == plain_digest({"internal": ["a", "b", "c"]}), plain_digest({"external": [["a", "<>", "b"]]})
    (True, None)
    """
    facts, internal = record.get("external", ()), record.get("internal", ())
    if not record.keys() <= _FIELDS or not isinstance(facts, list | tuple):
        return None
    if not _chain(internal):
        return None
    assert isinstance(internal, list | tuple)
    try:
        relations = {relation for _, relation, _ in facts}
        mentioned = {left for left, _, _ in facts} | {right for _, _, right in facts}
    except (TypeError, ValueError):  # not three to a fact, or something in them that is no text
        return None
    if not relations <= {"<", "||"} or any(type(fact) is not list for fact in facts):
        return None
    if len(internal) > 1:  # an event that is alone is in no relation
        mentioned.update(internal)
    if any(type(name) is not str or unfit(name) is not None for name in mentioned):
        return None
    names: list[str] = sorted(mentioned)
    place = {name: at for at, name in enumerate(names)}
    concurrent = [0] * len(names)
    before: list[list[int]] = [[] for _ in names]
    for left, relation, right in chain(facts, ((a, "<", b) for a, b in pairwise(internal))):
        a, b = place[left], place[right]
        if relation == "<":
            before[b].append(a)
        elif a != b:
            concurrent[a] |= 1 << b
            concurrent[b] |= 1 << a
        else:
            return None
    past = _pasts(before)
    if past is None or any(row & other for row, other in zip(past, concurrent, strict=True)):
        return None
    rows = {Relation.BEFORE: past, Relation.CONCURRENT: concurrent, Relation.RELATED: [0] * len(names)}
    return rows_digest(VerdictRows(names, rows))


def _chain(internal: object) -> bool:
    """Whether this is a chain of events, each of them there once."""
    if not isinstance(internal, list | tuple) or any(type(name) is not str for name in internal):
        return False
    return len(set(internal)) == len(internal) and all(unfit(name) is None for name in internal)


def _pasts(before: list[list[int]]) -> list[int] | None:
    """The events before each, as bits; None for a cycle."""
    waiting = list(map(len, before))
    after: list[list[int]] = [[] for _ in before]
    for event, sources in enumerate(before):
        for source in sources:
            after[source].append(event)
    past = [0] * len(before)
    order = [event for event, count in enumerate(waiting) if not count]
    for event in order:
        row = past[event] | 1 << event
        for target in after[event]:
            past[target] |= row
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    return past if len(order) == len(before) else None
