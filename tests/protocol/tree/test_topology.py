"""Trees of any shape: what a topology's name stands for, and that all of them deliver causally."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import ProtocolError
from microcosm.protocol.catalogue import on_tree
from microcosm.protocol.tree_static import check_tree, complete_tree, tree_of
from tests.protocol.random_net import RandomNet
from tests.protocol.tree.model import next_hop, well_formed_tree


@pytest.mark.parametrize("topology", ["binary", "star", "path", "1-ary", "3-ary", "10-ary"])
@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_a_name_is_a_tree_of_that_size(topology: str, size: int) -> None:
    parents = tree_of(topology, size)
    assert well_formed_tree(tuple(parents[node] for node in range(size)))
    assert list(parents) == list(range(size))


def test_what_the_names_mean() -> None:
    assert tree_of("path", 4) == tree_of("1-ary", 4) == {0: 0, 1: 0, 2: 1, 3: 2}
    assert tree_of("star", 4) == tree_of("9-ary", 4) == {0: 0, 1: 0, 2: 0, 3: 0}
    assert tree_of("binary", 6) == tree_of("2-ary", 6) == complete_tree(6, 2)
    assert tree_of("p2, p3,p3,p3", 4) == {0: 1, 1: 2, 2: 2, 3: 2}


@pytest.mark.parametrize(
    "topology", ["", "tree", "0-ary", "-ary", "p1", "p2,p1,p1", "p1,p2,p1", "p1,p9,p1", "p2,p3,p2", "p1,,p1"]
)
def test_what_is_no_tree_of_three_nodes(topology: str) -> None:
    with pytest.raises(ProtocolError):
        tree_of(topology, 3)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_trees_are_checked_as_definition_3_2_says(parents: list[int]) -> None:
    well_formed = well_formed_tree(tuple(parents))
    try:
        check_tree(dict(enumerate(parents)))
    except ProtocolError:
        assert not well_formed
    else:
        assert well_formed


@given(st.data(), st.integers(4, 8), st.integers(0, 10**6))
def test_any_tree_delivers_causally(data: st.DataObject, size: int, seed: int) -> None:
    """Each node hangs below an earlier one, and then the names are shuffled: every labelled rooted tree."""
    above = [0, *(data.draw(st.integers(0, node - 1)) for node in range(1, size))]
    name = data.draw(st.permutations(range(size)))
    parents = {name[node]: name[parent] for node, parent in enumerate(above)}
    protocol = on_tree(parents)
    RandomNet(protocol, size, seed, messages=25, fifo=True).run(ticks=False)
    tree = tuple(parents[node] for node in range(size))
    for node in protocol.make(size):
        assert node._hops == {b: next_hop(node.me, b, tree) for b in range(size) if b != node.me}  # type: ignore[attr-defined]
