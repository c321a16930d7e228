"""Seed 000: its theorem and lemmas, over every configuration that small trees can reach, and its errata."""

from __future__ import annotations

from itertools import product

import pytest

from microcosm.protocol.tree_model import (
    Configuration,
    Mail,
    Rec,
    Snd,
    Tree,
    next_hop,
    path,
    reachable,
    steps,
    well_formed,
    well_formed_tree,
)
from microcosm.protocol.tree_order import (
    arrives_before,
    arrives_before_printed,
    causes,
    consistent,
    received_first,
)

SCOPES = [
    ((0, 0), 3),
    ((0, 0, 0), 2),
    ((0, 0, 1), 2),
    ((0, 0, 0, 0), 2),
    ((0, 0, 1, 2), 2),
    ((0, 0, 1, 0), 2),
]
"""Every shape of tree to four nodes, up to renaming, and how many messages."""
LARGE = [((0, 0, 0), 3), ((0, 0, 1), 3), ((0, 0, 1, 1), 2), ((0, 0, 1, 2), 3)]
scopes = pytest.mark.parametrize(("tree", "messages"), SCOPES, ids=str)


def labelled_trees(size: int) -> list[Tree]:
    return [tree for tree in product(range(size), repeat=size) if well_formed_tree(tree)]


def test_definition_3_2_well_formed_trees_are_counted_by_cayley() -> None:
    assert [len(labelled_trees(size)) for size in range(1, 6)] == [1, 2, 9, 64, 625]


def test_figure_4_the_next_hop_is_on_the_only_way() -> None:
    for size in range(2, 6):
        for tree in labelled_trees(size):
            near = {node: {tree[node]} - {node} for node in range(size)}
            for node, parent in enumerate(tree):
                near[parent] |= {node} - {parent}
            for a, b in product(range(size), repeat=2):
                if a == b:
                    continue
                hop = next_hop(a, b, tree)
                assert hop in near[a]
                seen, stack = {a}, [hop]
                while stack:
                    node = stack.pop()
                    seen.add(node)
                    stack.extend(near[node] - seen)
                assert b in seen  # reachable from the hop without a
                assert path(a, b, tree)[::-1] == path(b, a, tree)


def holds_theorem_4_1(now: Configuration) -> bool:
    """As corrected: the premise is that m′ has been received."""
    return all(
        received_first(now, m, other)
        for m, other in causes(now)
        if m.to == other.to and Rec(other) in now.history
    )


@scopes
def test_theorem_4_1_message_delivery_is_causal(tree: Tree, messages: int) -> None:
    assert all(holds_theorem_4_1(now) for now in reachable(tree, messages))


@scopes
def test_lemma_4_2_consistency_implies_causality(tree: Tree, messages: int) -> None:
    for now in reachable(tree, messages):
        assert not consistent(tree, now) or holds_theorem_4_1(now)


@scopes
def test_lemma_4_3_execution_preserves_well_formedness(tree: Tree, messages: int) -> None:
    assert all(well_formed(tree, now) for now in reachable(tree, messages))


@scopes
def test_lemma_4_4_message_order_is_preserved(tree: Tree, messages: int) -> None:
    for now in reachable(tree, messages):
        mails = [event.mail for event in now.history if isinstance(event, Snd)]
        ordered = [(a, b) for a, b in product(mails, mails) if a != b and arrives_before(tree, now, a, b)]
        for _, following in steps(tree, now, messages):
            assert all(arrives_before(tree, following, a, b) for a, b in ordered)


@scopes
def test_lemma_4_5_only_a_send_adds_causes(tree: Tree, messages: int) -> None:
    """As corrected: e is Snd(m′, ·); a reception adds none."""
    for now in reachable(tree, messages):
        known = causes(now)
        for _, following in steps(tree, now, messages):
            new = causes(following) - known
            last = following.history[-1] if len(following.history) > len(now.history) else None
            assert not new or isinstance(last, Snd)
            assert all(last is not None and other == last.mail for _, other in new)


@scopes
def test_lemma_4_6_execution_preserves_consistency(tree: Tree, messages: int) -> None:
    assert all(consistent(tree, now) for now in reachable(tree, messages))


@pytest.mark.slow
@pytest.mark.parametrize(("tree", "messages"), LARGE, ids=str)
def test_all_of_it_on_larger_scopes(tree: Tree, messages: int) -> None:
    for count, now in enumerate(reachable(tree, messages)):
        assert consistent(tree, now)
        assert holds_theorem_4_1(now)
        if count > 30_000:
            break


def test_erratum_m_route_needs_a_premise() -> None:
    """Without it a message that has arrived may go on, and two messages to node 1 change places."""
    bad = [now for now in reachable_prefix() if not holds_theorem_4_1(now)]
    assert bad
    [first] = {now.history for now in bad if len(now.history) == 4}
    a, b = Mail(0, 1), Mail(1, 1)
    assert first == (Snd(a, 0), Snd(b, 0), Rec(b), Rec(a))


def reachable_prefix() -> list[Configuration]:
    """Root 0, child 1, two messages from 0 to 1, M-Route as printed."""
    start = Configuration((), ((), ()), ((), ()))
    seen, stack = {start}, [start]
    while stack:
        now = stack.pop()
        for _, following in steps((0, 0), now, 2, premise=False):
            sent = [event for event in following.history if isinstance(event, Snd)]
            if following not in seen and all(event.node == 0 for event in sent):
                seen.add(following)
                stack.append(following)
    return list(seen)


def test_erratum_theorem_4_1_needs_the_other_premise() -> None:
    """With Rec(m) for a premise, as printed, it claims that a message still on its way has been received."""
    m, other = Mail(0, 1), Mail(1, 1)
    assert any(
        (m, other) in causes(now) and Rec(m) in now.history and not received_first(now, m, other)
        for now in reachable((0, 0), 2)
    )


def test_erratum_figure_8_is_not_kept_by_execution() -> None:
    """Lemma 4.4 fails for the printed relation: case 5 holds of any two messages to one node on their way."""
    tree: Tree = (0, 0, 1)
    failures = 0
    for now in reachable(tree, 2):
        mails = [event.mail for event in now.history if isinstance(event, Snd)]
        for a, b in product(mails, mails):
            if a != b and arrives_before_printed(tree, now, a, b):
                failures += any(
                    not arrives_before_printed(tree, following, a, b) for _, following in steps(tree, now, 2)
                )
    assert failures > 0


def test_erratum_figure_8_does_not_follow_from_causality() -> None:
    """Reachable, so Lemma 4.6 should call it consistent; by the printed relation it is not."""
    tree: Tree = (0, 0, 0, 1)
    assert any(not consistent(tree, now, arrives_before_printed) for now in reachable(tree, 2))


def test_arrives_before_is_not_transitive() -> None:
    """The seed's own example, in section 3.4: A ≺ B and B ≺ C, and not A ≺ C."""
    tree: Tree = (0, 0, 1, 1)
    found = False
    for now in reachable(tree, 3):
        mails = [event.mail for event in now.history if isinstance(event, Snd)]
        for a, b, c in product(mails, repeat=3):
            if len({a, b, c}) == 3:
                found |= (
                    arrives_before(tree, now, a, b)
                    and arrives_before(tree, now, b, c)
                    and not arrives_before(tree, now, a, c)
                )
        if found:
            break
    assert found
