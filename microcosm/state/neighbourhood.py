"""The events around one event, or between two: what a microcosm can tell of each, asked pair by pair.

Functions over the questions of a microcosm; events come in the order in which the givens name them. Cost: one
or two questions for each event that is named.
"""

from __future__ import annotations

from collections.abc import Iterator

from microcosm.logic.judgement import Judgement
from microcosm.relations.relation import Relation
from microcosm.state.microcosm import Microcosm


def with_verdict(known: Microcosm, relation: Relation, event: str) -> Iterator[str]:
    """The events b with the verdict `b R event`.

    >>> album = Microcosm.parse('unshare < upload < view \\n upload || "log in"')
    >>> list(with_verdict(album, Relation.BEFORE, "view"))
    ['unshare', 'upload']
    >>> list(with_verdict(album, Relation.SILENT, "log in"))
    ['unshare', 'view']
    """
    others = (other for other in list(known.givens.named()) if other != event)
    return (other for other in others if _stands(known, other, relation, event))


def _stands(known: Microcosm, a: str, relation: Relation, b: str) -> bool:
    """Whether the verdict is `relation`; what is not even judged is not asked for, as that costs more."""
    if relation is not Relation.SILENT and not known.holds(Judgement.ONLINE, a, relation, b):
        return False
    return known.online(a, b) is relation


def past(known: Microcosm, event: str) -> Iterator[str]:
    """The causal past of an event, without itself."""
    return with_verdict(known, Relation.BEFORE, event)


def future(known: Microcosm, event: str) -> Iterator[str]:
    """The causal future of an event, without itself."""
    return with_verdict(known, Relation.AFTER, event)


def between(known: Microcosm, first: str, last: str) -> Iterator[str]:
    """The events after `first` and before `last`; there are none where `first` is not before `last`.

    >>> list(between(Microcosm.parse("a < b < d \\n a < c"), "a", "d"))
    ['b']
    """
    if not _stands(known, first, Relation.BEFORE, last):
        return iter(())
    return (
        event
        for event in future(known, first)
        if event != last and _stands(known, event, Relation.BEFORE, last)
    )


def pairs(known: Microcosm, relation: Relation) -> Iterator[tuple[str, str]]:
    """Every pair of events with a verdict, the first before the second in sorted order."""
    return ((a, b) for a, b, verdict in known.table() if verdict is relation)
