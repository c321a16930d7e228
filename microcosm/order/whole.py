"""Whether a log that is stated to be complete says what such a log must say of its messages.

Of a complete log what is not ordered is concurrent. That holds only where the log orders all that is
ordered by definition: the message events of each process, and a sending and its reception. Where it does
not, its silence about a pair proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, pairwise

from microcosm.givens.facts import BaseFacts
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Relation
from microcosm.order.clock_order import ClockRows
from microcosm.order.happens_before import Cycle, cycle_or_order, edge_sets
from microcosm.order.representation import happens_before


def lacking(givens: Givens) -> str | None:
    """What a complete log would say and the givens do not, in words; None where nothing is lacking.

    Cost: that of the order of what is given, and a question of it for each message.

    >>> from microcosm.givens.columns import Message
    >>> givens = Givens(messages=[Message("send", "s", "m", "p"), Message("receive", "r", "m", "q")])
    >>> lacking(givens)
    'nothing orders the sending s of m and its reception r'
    """
    position = givens.numbers()
    before = [(f.left, f.right) for f in givens.external.values() if f.relation is Relation.BEFORE]
    stated = ((position[a], position[b]) for a, b in chain(before, pairwise(givens.internal)))
    edges = [*stated, *ClockRows(givens.clocks, position).cover()]
    try:
        rank = {
            at: place
            for place, at in enumerate(cycle_or_order(len(position), *edge_sets(len(position), edges)))
        }
        order = happens_before(len(position), edges)
    except Cycle:
        return None  # contradictory anyway
    return lacking_order(givens, position, rank.__getitem__, order.before)


def lacking_order(
    givens: Givens,
    position: Mapping[str, int],
    rank: Callable[[int], int],
    before: Callable[[int, int], bool],
) -> str | None:
    """As `lacking`, where the order of positions is known: its test, and a rank that grows along it."""
    sent: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    of_process: dict[str, dict[str, int]] = {}
    for message in givens.messages:
        of_process.setdefault(message.process, {})[message.event] = position[message.event]
        if message.kind == "send":
            sent.setdefault(message.message, []).append((message.event, message.receivers))
    for process, events in of_process.items():
        for a, b in pairwise(sorted(events, key=lambda event: rank(events[event]))):
            if not before(events[a], events[b]):
                return f"nothing orders {a} and {b} of process {process}"
    for message in givens.messages:
        if message.kind == "receive":
            origins = [e for e, to in sent.get(message.message, ()) if not to or message.process in to]
            if not origins:
                return f"the sending of {message.message}, received at {message.event}, is not in it"
            if not any(before(position[origin], position[message.event]) for origin in origins):
                what = f"the sending {origins[0]} of {message.message} and its reception {message.event}"
                return f"nothing orders {what}"
    return None


def base_facts(givens: Givens) -> BaseFacts:
    """The base predicates of some givens. Cost: linear in the messages; of `complete`, that of `lacking`.

    >>> from microcosm.givens.columns import Message
    >>> messages = [Message("send", "e", "m", "p"), Message("receive", "f", "m", "q")]
    >>> facts = base_facts(Givens(messages=messages))
    >>> facts["matches"], facts["send"]
    (frozenset({('e', 'f')}), frozenset({('e',)}))
    """
    return BaseFacts(givens, lambda: lacking(givens) is None)
