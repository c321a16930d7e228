"""The events around one event, or between two: what a microcosm can tell of each, asked pair by pair.

Functions over the questions of a microcosm; events come in the order in which the givens name them, which for
a log is that of the log. Cost: one question for each event that is named.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    named = list(known.givens.named())
    return (other for other in named if other != event and known.online(other, event) is relation)


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
    if known.online(first, last) is not Relation.BEFORE:
        return iter(())
    return (event for event in future(known, first) if event != last and _before(known, event, last))


def _before(known: Microcosm, a: str, b: str) -> bool:
    return known.online(a, b) is Relation.BEFORE


def pairs(known: Microcosm, relation: Relation) -> Iterator[tuple[str, str]]:
    """Every pair of events with a verdict, the first before the second in sorted order."""
    return ((a, b) for a, b, verdict in known.table() if verdict is relation)
