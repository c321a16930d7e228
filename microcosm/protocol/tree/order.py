"""Cause and arrival in the model of seed 000: Figures 7 and 8, Definition 3.8.

*Arrives before* (m ≺ m′) is to say that m is sure to arrive at its destination before m′ could arrive there.
As printed (Figure 8) it does not: it is neither kept by execution (Lemma 4.4) nor implied by causality.
Corrected, with the channel from w to v being the queue into v from w, then the queue out of w to v; and
with "y is on w's side" for: the edge (w, v) lies on the path from y to the destination of m:

1. m has been received, and before m′ if both have been, at the same node;
2. both are on one channel, m′ behind;
3. m is on the channel from w to v, and m′ on another one, whose end is on w's side;
4. m is on the channel from w to v, and m′ has been received on w's side.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from microcosm.protocol.tree.model import (
    Configuration,
    Mail,
    Rec,
    Snd,
    Tree,
    edges,
    path,
    places,
    well_formed,
)

Before = Callable[[Tree, Configuration, Mail, Mail], bool]


def causes(now: Configuration) -> set[tuple[Mail, Mail]]:
    """Figure 7: the pairs m ≪ m′, read off the history. Cost: linear in the pairs and the history."""
    past: dict[int, set[Mail]] = {}
    """For each node, the messages that cause whatever it sends next."""
    before: dict[Mail, set[Mail]] = {}
    for event in now.history:
        if isinstance(event, Snd):
            known = past.setdefault(event.node, set())
            before[event.mail] = set(known)
            known.add(event.mail)
        else:
            past.setdefault(event.mail.to, set()).update(before[event.mail], {event.mail})
    return {(m, later) for later, earlier in before.items() for m in earlier}


def received_first(now: Configuration, m: Mail, other: Mail) -> bool:
    """Rec(m) comes before Rec(m′) in the history, both being there. Cost: linear in the history."""
    history = now.history
    return Rec(m) in history and Rec(other) in history and history.index(Rec(m)) < history.index(Rec(other))


def arrives_before(tree: Tree, now: Configuration, m: Mail, other: Mail) -> bool:
    """m ≺ m′ as corrected. Cost: linear in the configuration."""
    where = _channels(tree, now)
    if Rec(m) in now.history:
        return m.to != other.to or Rec(other) not in now.history or received_first(now, m, other)
    if m not in where:
        return False
    (w, v), at = where[m]

    def on_the_side_of_w(node: int) -> bool:
        way = path(node, m.to, tree)
        return (w, v) in pairwise(way)

    if Rec(other) in now.history:
        return on_the_side_of_w(other.to)
    if other not in where:
        return False
    channel, behind = where[other]
    if channel == (w, v):
        return at < behind
    return on_the_side_of_w(channel[1])


def arrives_before_printed(tree: Tree, now: Configuration, m: Mail, other: Mail) -> bool:
    """m ≺ m′ as Figure 8 has it; case 2 as its prose explains it. Cost: linear in the configuration."""
    history, where = now.history, places(tree, now)
    for queue in (*now.ins, *now.outs):
        if m in queue and other in queue and queue.index(m) < queue.index(other):
            return True
    if m in where and other in where:
        [(kind, a, b)], [(its_kind, c, _)] = where[m], where[other]
        if (kind, its_kind) == ("out", "in") and a == c and b in path(a, other.to, tree):
            return True
        mine, its = path(a, m.to, tree), path(c, m.to, tree)
        if a != c and len(mine) < len(its) and its[-len(mine) :] == mine:
            return True
    if m.to != other.to:
        return Rec(m) in history or Rec(other) in history
    return Rec(other) not in history or received_first(now, m, other)


def consistent(tree: Tree, now: Configuration, before: Before = arrives_before) -> bool:
    """Definition 3.8: well-formed, and what causes another message arrives before it.

    Cost: `before`, for each pair of which one causes the other.
    """
    return well_formed(tree, now) and all(before(tree, now, m, other) for m, other in causes(now))


def _channels(tree: Tree, now: Configuration) -> dict[Mail, tuple[tuple[int, int], int]]:
    """For each message on its way, its channel (from, to) and its place there, the oldest first."""
    edge = {pair: at for at, pair in enumerate(edges(tree))}
    found = {}
    for (v, w), at in edge.items():
        for place, mail in enumerate((*now.ins[at], *now.outs[edge[w, v]])):
            found[mail] = ((w, v), place)
    return found
