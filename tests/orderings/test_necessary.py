"""The order that a known ordering makes necessary is exactly what all executions that keep it agree on."""

from __future__ import annotations

import pytest

from microcosm.orderings.computation import parse
from microcosm.orderings.interiors import necessary
from microcosm.orderings.ordering import Ordering
from tests.orderings import oracle
from tests.orderings.notation import chains_of, computation_of
from tests.orderings.oracle import Chains, Placed


def agreed(chains: Chains, name: str) -> set[tuple[Placed, Placed]] | None:
    """The pairs in one order in all executions that keep an ordering; None where there are none."""
    before = oracle.causal(chains)
    found: set[tuple[Placed, Placed]] | None = None
    for execution in oracle.executions(chains):
        if name in oracle.satisfied(execution, before):
            pairs = {(a, b) for i, a in enumerate(execution) for b in execution[i + 1 :]}
            found = pairs if found is None else found & pairs
    return found


def said(chains: Chains, ordering: Ordering) -> set[tuple[Placed, Placed]] | None:
    computation = computation_of(chains)
    placed = [event for row in oracle.placed(chains) for event in row]
    after = necessary(computation, ordering)
    return (
        None
        if after is None
        else {(placed[a], placed[b]) for a, reached in enumerate(after) for b in reached}
    )


@pytest.mark.parametrize("ordering", list(Ordering))
def test_of_all_computations_of_three_messages(ordering: Ordering) -> None:
    for messages in (1, 2, 3):
        for chains in oracle.computations(messages, 4):
            assert said(chains, ordering) == agreed(chains, ordering.value), chains


def test_one_queue_needs_both_directions() -> None:
    """From sends to receptions alone, or back alone, is enough to decide and not to deduce."""
    for text in ("s1 s2|r1|r2", "s1|s2|r1 r2", "s1 r2|s2 s3|r3 r1"):
        chains = chains_of(text)
        assert said(chains, Ordering.FIFO_N_N) == agreed(chains, "fifo-n-n")


def test_several_receivers_are_refused() -> None:
    with pytest.raises(ValueError, match="several receivers"):
        necessary(parse("s1|r1|r1"), Ordering.FIFO_N_N)
