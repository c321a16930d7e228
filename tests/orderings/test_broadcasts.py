"""Broadcasts: every message is received by every other peer. What coincides then, and what does not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations, product

from microcosm.orderings.computation import parse
from microcosm.orderings.ordering import Ordering
from microcosm.orderings.verdicts import classify
from tests.orderings import oracle
from tests.orderings.notation import chains_of, computation_of
from tests.orderings.oracle import Chains
from tests.orderings.test_enumeration import check, said

LATE = "s1 s2 r3 r4|r1 r2 s3 r4|s4 r1 r2 r3"
"""Mailboxes agree on 1, 2, 3, 4; but 4 is sent before 1 reaches its sender, and after 2 reached another."""


@cache
def broadcasts(messages: int, peers: int) -> tuple[Chains, ...]:
    """All of them up to isomorphism."""

    def every() -> Iterator[Chains]:
        for senders in product(range(peers), repeat=messages):
            rows = [
                permutations([("s" if senders[m] == p else "r", m) for m in range(messages)])
                for p in range(peers)
            ]
            for chains in product(*rows):
                if next(oracle.executions(chains), None) is not None:
                    yield oracle.canonical(chains)

    return tuple(sorted(set(every())))


def scopes() -> Iterator[Chains]:
    for messages, peers in ((1, 2), (1, 3), (2, 2), (2, 3), (2, 4), (3, 3)):
        yield from broadcasts(messages, peers)


def test_all_broadcasts_of_up_to_three_messages() -> None:
    count = 0
    for chains in scopes():
        count += 1
        computation = computation_of(chains)
        verdicts = classify(computation)
        assert said(verdicts) == oracle.verdicts(chains), chains
        check(computation, verdicts)
    assert count > 100


def test_with_two_peers_they_are_messages_with_one_receiver() -> None:
    """And the boxes collapse to Causal (Theorem 11, erratum 5)."""
    for chains in (*broadcasts(1, 2), *broadcasts(2, 2)):
        verdicts = oracle.verdicts(chains)
        assert len({verdicts[name] for name in ("fifo-1-1", "causal", "fifo-n-1", "fifo-1-n")}) == 1


def test_mailboxes_and_one_queue_differ_from_four_messages_on() -> None:
    """Up to three messages their closures coincide: receivers that agree can be made to agree in time."""
    for chains in scopes():
        verdicts = oracle.verdicts(chains)
        assert verdicts["fifo-n-1"][0] is verdicts["fifo-n-n"][0]
    verdicts = classify(parse(LATE))
    assert verdicts[Ordering.FIFO_N_1].closure
    assert not verdicts[Ordering.FIFO_N_N].closure
    late = oracle.verdicts(chains_of(LATE))
    assert late["fifo-n-1"][0]
    assert not late["fifo-n-n"][0]


def test_total_order_is_no_more_than_agreement_of_the_mailboxes() -> None:
    """Two receivers that disagree are outside Fifo n-1 and inside Causal and Fifo 1-n."""
    disagree = oracle.verdicts(chains_of("s1 r2|s2 r1|r1 r2|r2 r1"))
    assert [name for name, (closure, _) in disagree.items() if closure] == ["fifo-1-1", "causal", "fifo-1-n"]
