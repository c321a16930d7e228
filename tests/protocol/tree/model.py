"""The formal model of Tree Topologies, section 3: configurations of a tree of nodes, and their steps.

A model to be explored, not a protocol to be run (that is `microcosm.protocol.tree_static`): a configuration
is the history of sends and receptions and the queues of all nodes, and `steps` yields every next one. As
corrected (theory/errata-protocols.md): M-Route passes on only what has not arrived, M-Forward pushes into
the queue of the node that it reaches, and nobody sends to itself.

Cause and arrival: Figures 7 and 8, Definition 3.8. *Arrives before* (m ≺ m′) is to say that m is sure to
arrive at its destination before m′ could arrive there. As printed (Figure 8) it does not: it is neither kept
by execution (Lemma 4.4) nor implied by causality. Corrected, with the channel from w to v being the queue
into v from w, then the queue out of w to v; and with "y is on w's side" for: the edge (w, v) lies on the path
from y to the destination of m:

1. m has been received, and before m′ if both have been, at the same node;
2. both are on one channel, m′ behind;
3. m is on the channel from w to v, and m′ on another one, whose end is on w's side;
4. m is on the channel from w to v, and m′ has been received on w's side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

ParentTree = tuple[int, ...]
"""Node i has parent `tree[i]`; the root is its own."""


class Mail(NamedTuple):
    """A message: its id and its destination."""

    mid: int
    to: int


class Snd(NamedTuple):
    """A message was sent, at a node."""

    mail: Mail
    node: int


class Rec(NamedTuple):
    """A message was received, at its destination."""

    mail: Mail


Queues = tuple[tuple[Mail, ...], ...]
"""By the number of a directed edge (`edges`), oldest message first."""


class Configuration(NamedTuple):
    """History Δ and state Σ: `ins` of (a, b) is what b sent to a, `outs` of (a, b) what a will send to b."""

    history: tuple[Snd | Rec, ...]
    ins: Queues
    outs: Queues


def children(node: int, tree: ParentTree) -> list[int]:
    """Definition 3.1. Cost: linear in the tree."""
    return [child for child, parent in enumerate(tree) if parent == node != child]


def well_formed_tree(tree: ParentTree) -> bool:
    """Definition 3.2, and every parent is a node: one root, no circles. Cost: quadratic in the tree."""
    if any(not 0 <= parent < len(tree) for parent in tree):
        return False
    if sum(parent == node for node, parent in enumerate(tree)) != 1:
        return False
    for start in range(len(tree)):
        node = start
        for _ in tree:
            node = tree[node]
        if tree[node] != node:
            return False
    return True


def next_hop(a: int, b: int, tree: ParentTree) -> int:
    """Figure 4: the neighbour of a towards b. Cost: the tree, for each node between the two."""
    while b not in children(a, tree):
        if b == tree[b]:
            return tree[a]
        b = tree[b]
    return b


def path(a: int, b: int, tree: ParentTree) -> tuple[int, ...]:
    """Figure 5: the nodes from a to b.

    Cost: `next_hop`, for each node of it.

    >>> path(3, 2, (0, 0, 0, 1))
    (3, 1, 0, 2)
    """
    nodes = [a]
    while nodes[-1] != b:
        nodes.append(next_hop(nodes[-1], b, tree))
    return tuple(nodes)


def edges(tree: ParentTree) -> list[tuple[int, int]]:
    """Both directions of every edge, each with a queue in and a queue out at its first node.

    Cost: n log n.
    """
    return sorted({pair for a, b in enumerate(tree) if a != b for pair in ((a, b), (b, a))})


def initial(tree: ParentTree) -> Configuration:
    """Nothing has been sent. Cost: linear in the tree."""
    empty: Queues = ((),) * len(edges(tree))
    return Configuration((), empty, empty)


def steps(
    tree: ParentTree, now: Configuration, messages: int, *, premise: bool = True
) -> Iterator[tuple[str, Configuration]]:
    """Every next configuration, with the rule of Figure 3 that leads to it, up to so many messages in all.

    Without `premise`, M-Route is as printed: it also passes on what has arrived. Cost: quadratic in the tree,
    times `next_hop` and the length of the history.
    """
    edge = {pair: at for at, pair in enumerate(edges(tree))}
    sent = sum(isinstance(event, Snd) for event in now.history)
    if sent < messages:
        for a in range(len(tree)):
            for b in range(len(tree)):
                if a != b:
                    mail = Mail(sent, b)
                    outs = _pushed(now.outs, edge[a, next_hop(a, b, tree)], mail)
                    yield "M-Send", Configuration((*now.history, Snd(mail, a)), now.ins, outs)
    for (a, b), at in edge.items():
        if now.outs[at]:
            mail = now.outs[at][0]
            yield (
                "M-Forward",
                now._replace(outs=_popped(now.outs, at), ins=_pushed(now.ins, edge[b, a], mail)),
            )
        if now.ins[at]:
            mail = now.ins[at][0]
            popped = _popped(now.ins, at)
            if mail.to == a:
                yield "M-Receive", Configuration((*now.history, Rec(mail)), popped, now.outs)
            way = (a, next_hop(a, mail.to, tree))
            if mail.to != a or (not premise and way in edge):  # from the root to itself there is no way
                outs = _pushed(now.outs, edge[way], mail)
                yield "M-Route", now._replace(ins=popped, outs=outs)


def reachable(tree: ParentTree, messages: int, *, premise: bool = True) -> Iterator[Configuration]:
    """Every configuration that can be reached. Cost: their number, times the steps of each."""
    start = initial(tree)
    seen, stack = {start}, [start]
    while stack:
        now = stack.pop()
        yield now
        for _, following in steps(tree, now, messages, premise=premise):
            if following not in seen:
                seen.add(following)
                stack.append(following)


def places(tree: ParentTree, now: Configuration) -> Mapping[Mail, list[tuple[str, int, int]]]:
    """Where each message is: `in` or `out`, and the node and neighbour of the queue.

    Cost: the queues and their messages.
    """
    found: dict[Mail, list[tuple[str, int, int]]] = {}
    for at, (a, b) in enumerate(edges(tree)):
        for kind, queue in (("in", now.ins[at]), ("out", now.outs[at])):
            for mail in queue:
                found.setdefault(mail, []).append((kind, a, b))
    return found


def well_formed(tree: ParentTree, now: Configuration) -> bool:
    """Definition 3.7, as corrected: 3.3 by position, 3.4 with the neighbours meant, 3.6 over all messages.

    Cost: quadratic in the history, and a path for each message.
    """
    history, where = now.history, places(tree, now)
    sent = {event.mail: event.node for event in history if isinstance(event, Snd)}
    received = [event.mail for event in history if isinstance(event, Rec)]
    if not well_formed_tree(tree) or len(set(history)) != len(history) or len(set(received)) != len(received):
        return False
    if len({mail.mid for mail in sent}) != len(sent):
        return False
    for mail, found in where.items():
        if len(found) != 1 or mail not in sent or mail in received or not 0 <= mail.to < len(tree):
            return False
        [(kind, a, b)] = found
        here, there = (a, b) if kind == "out" else (b, a)
        if next_hop(here, mail.to, tree) != there:
            return False
        way, whole = path(a, mail.to, tree), path(sent[mail], mail.to, tree)
        if whole[-len(way) :] != way:  # path inclusion, reflexive: no detour
            return False
    for mail in received:
        if mail not in sent or history.index(Snd(mail, sent[mail])) > history.index(Rec(mail)):
            return False
    return all((mail in where) is not (mail in received) for mail in sent)


def _pushed(queues: Queues, at: int, mail: Mail) -> Queues:
    return (*queues[:at], (*queues[at], mail), *queues[at + 1 :])


def _popped(queues: Queues, at: int) -> Queues:
    return (*queues[:at], queues[at][1:], *queues[at + 1 :])


ArrivalOrder = Callable[[ParentTree, Configuration, Mail, Mail], bool]


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


def arrives_before(tree: ParentTree, now: Configuration, m: Mail, other: Mail) -> bool:
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


def arrives_before_printed(tree: ParentTree, now: Configuration, m: Mail, other: Mail) -> bool:
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


def consistent(tree: ParentTree, now: Configuration, before: ArrivalOrder = arrives_before) -> bool:
    """Definition 3.8: well-formed, and what causes another message arrives before it.

    Cost: `before`, for each pair of which one causes the other.
    """
    return well_formed(tree, now) and all(before(tree, now, m, other) for m, other in causes(now))


def _channels(tree: ParentTree, now: Configuration) -> dict[Mail, tuple[tuple[int, int], int]]:
    """For each message on its way, its channel (from, to) and its place there, the oldest first."""
    edge = {pair: at for at, pair in enumerate(edges(tree))}
    found = {}
    for (v, w), at in edge.items():
        for place, mail in enumerate((*now.ins[at], *now.outs[edge[w, v]])):
            found[mail] = ((w, v), place)
    return found
