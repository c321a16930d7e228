"""From which line of which file a given came: what a leaf of a proof shows of it, as data."""

from __future__ import annotations

import re

from microcosm.givens.facts import GivenFacts
from microcosm.givens.relation import Relation

_place = re.compile(r"(?:(?P<file>.*):|line )(?P<line>\d+)\Z", re.DOTALL).match


def leaf_shows(facts: GivenFacts, left: str, relation: Relation, right: str) -> dict[str, object]:
    """What a step that rests on one given shows: its clocks or token if it is by these, and its source."""
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
    stated = _place(text) if text is not None else None
    if stated is not None:
        return {"file": stated["file"], "line": int(stated["line"]), "text": text}
    events = facts.givens.events
    if events is not None:
        for event in (right, left):
            at = events.number(event)
            if at is not None and events.files[at] and events.lines[at]:
                return {"file": events.files[at], "line": events.lines[at], "text": text}
    return {"file": None, "line": None, "text": text}
