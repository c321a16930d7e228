"""Labels: everything that rows are held to, on chains that are named, misnamed or not named at all."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import initialize

from microcosm.order.bits import bits
from microcosm.order.chain_cover import Wide
from microcosm.order.happens_before import Cycle
from microcosm.order.labels import Labels
from microcosm.order.rows import Rows
from tests.order.test_rows import SIZE, RowsMachine, closure, ordered


class LabelsMachine(RowsMachine):
    """The machine of `Rows`, over labels."""

    @initialize(processes=st.integers(0, 4), saturated=st.just(False), limit=st.integers(0, 3))
    def start(self, processes: int, saturated: bool, limit: int) -> None:
        def process(at: int) -> Hashable:
            return at * 7 % 5 % processes

        self.rows = Labels(SIZE, [], process if processes else None)  # type: ignore[assignment]
        self.rows.SPARE = limit  # type: ignore[attr-defined]
        self.size = SIZE
        self.edges: set[tuple[int, int]] = set()


TestLabels = LabelsMachine.TestCase


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=24),
    st.lists(st.sampled_from([None, "p", "q", "r"]), min_size=10, max_size=10),
)
def test_labels_are_the_closure_or_a_cycle_is_shown(
    edges: list[tuple[int, int]], owners: list[str | None]
) -> None:
    reach = closure(10, set(edges))
    if any((v, v) in reach for v in range(10)):
        with pytest.raises(Cycle):
            Labels(10, edges, owners.__getitem__)
        return
    labels = Labels(10, edges, owners.__getitem__)
    assert {(a, b) for a in range(10) for b in range(10) if labels.before(a, b)} == reach
    assert {(a, b) for a in range(10) for b in bits(labels.future(a))} == reach
    assert {(a, b) for b in range(10) for a in bits(labels.past(b))} == reach
    some = [9, 0, *range(1, 9, 2)]
    assert labels.pasts(some) == [labels.past(v) for v in some]
    assert set(labels.edges()) == set(edges)
    for a, b in product(range(10), repeat=2):
        assert labels.chain(a, b) == first_shortest(labels, a, b)
        assert labels.ordered(a, b) is ordered(a, b, reach)


def first_shortest(labels: Labels, a: int, b: int) -> list[int] | None:
    """Of the shortest chains the first seen from b: the one before it in its chain, then sendings."""
    if a == b or not labels.before(a, b):
        return None
    cover, paths = labels.cover, [[b]]
    while True:
        paths = [
            [before, *path]
            for path in paths
            for before in (
                *cover.chains[cover.chain[path[0]]][: cover.index[path[0]]][-1:],
                *cover.crossing.get(path[0], ()),
            )
        ]
        found = next((path for path in paths if path[0] == a), None)
        if found is not None:
            return found


def test_chains_that_the_data_names_are_taken_as_they_are() -> None:
    edges, owners = run(3000, 7, Random(5))
    assert len(Labels(3000, edges, owners.__getitem__).cover.chains) == 7


def test_events_between_two_receptions_share_their_vector() -> None:
    edges, owners = run(3000, 7, Random(6))
    labels = Labels(3000, edges, owners.__getitem__)
    assert len({id(vector) for vector in labels.cover.vector}) <= len(labels.cover.crossing) + 1


def test_a_run_is_labelled_as_its_rows_say_in_any_numbering() -> None:
    rng = Random(7)
    for processes in (1, 3, 12):
        edges, owners = run(400, processes, rng)
        for shuffled in (False, True):
            number = rng.sample(range(400), 400) if shuffled else list(range(400))
            renumbered = [(number[a], number[b]) for a, b in edges]
            process = {number[v]: owner for v, owner in enumerate(owners)}
            labels, rows = Labels(400, renumbered, process.__getitem__), Rows(400, renumbered)
            for v in range(400):
                assert labels.past(v) == rows.past(v)
                assert labels.future(v) == rows.future(v)


def test_an_append_in_causal_order_touches_one_label() -> None:
    edges, owners = run(1000, 4, Random(8))
    labels = Labels(1000, edges, lambda v: owners[v] if v < 1000 else owners[999])
    labels.grow(1001)
    labels.add(999, 1000)
    assert labels.updates == 1


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted).map(tuple), max_size=24),
    st.lists(st.sampled_from([None, "p", "q"]), min_size=10, max_size=10),
)
def test_more_chains_than_allowed_are_refused_and_no_others(
    edges: list[tuple[int, int]], owners: list[str | None]
) -> None:
    """Also where the first positions alone tell."""
    edges = [(a, b) for a, b in edges if a < b]
    chains = len(Labels(10, edges, owners.__getitem__).cover.chains)
    for most in range(chains):
        with pytest.raises(Wide):
            Labels(10, edges, owners.__getitem__, most)
    assert len(Labels(10, edges, owners.__getitem__, chains).cover.chains) == chains


def run(size: int, processes: int, rng: Random) -> tuple[list[tuple[int, int]], list[int]]:
    """A log of processes that tell each other something now and then; and whose event each is."""
    last: dict[int, int] = {}
    edges, owners = [], []
    for event in range(size):
        p = rng.randrange(processes)
        edges += [(last[q], event) for q in {p, rng.choice([p, p, rng.randrange(processes)])} if q in last]
        last[p] = event
        owners.append(p)
    return edges, owners
