"""Tree Topologies: its theorem and lemmas, over every configuration of small trees, and its errata."""

from __future__ import annotations

from itertools import product

import pytest

from tests.protocol.tree.model import (
    Configuration,
    Mail,
    ParentTree,
    Rec,
    Snd,
    arrives_before,
    arrives_before_printed,
    causes,
    children,
    consistent,
    edges,
    initial,
    next_hop,
    path,
    places,
    reachable,
    received_first,
    steps,
    well_formed,
    well_formed_tree,
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


def labelled_trees(size: int) -> list[ParentTree]:
    return [tree for tree in product(range(size), repeat=size) if well_formed_tree(tree)]


def test_definition_3_2_well_formed_trees_are_counted_by_cayley() -> None:
    assert [len(labelled_trees(size)) for size in range(1, 6)] == [1, 2, 9, 64, 625]


def test_definition_3_1_children() -> None:
    assert [children(node, (1, 2, 2, 2)) for node in range(4)] == [[], [0], [1, 3], []]


MAIL = Mail(0, 2)
PATH: ParentTree = (0, 0, 1)


def placed(*where: tuple[str, int, int], history: tuple[Snd | Rec, ...] = (Snd(MAIL, 0),)) -> Configuration:
    """A configuration of the path 0 - 1 - 2 with the message to 2 at so many places."""
    ends = edges(PATH)
    ins = tuple((MAIL,) * where.count(("in", a, b)) for a, b in ends)
    outs = tuple((MAIL,) * where.count(("out", a, b)) for a, b in ends)
    return Configuration(history, ins, outs)


@pytest.mark.parametrize(
    ("definition", "now"),
    [
        ("3.3 one queue", placed(("out", 0, 1), ("in", 1, 0))),
        ("3.3 one place in it", placed(("out", 0, 1), ("out", 0, 1))),
        ("3.4 on its way", placed(("out", 1, 0))),
        ("3.4 from where it comes", placed(("in", 0, 1))),
        ("3.5 sent once", placed(("out", 0, 1), history=(Snd(MAIL, 0), Snd(MAIL, 1)))),
        ("3.5 received once", placed(history=(Snd(MAIL, 0), Rec(MAIL), Rec(MAIL)))),
        ("3.6 sent", placed(("out", 0, 1), history=())),
        ("3.6 sent before it was received", placed(history=(Rec(MAIL), Snd(MAIL, 0)))),
        ("3.6 received or on its way", placed()),
        ("3.6 not both", placed(("in", 2, 1), history=(Snd(MAIL, 0), Rec(MAIL)))),
        ("3.6 no detour", placed(("out", 0, 1), history=(Snd(MAIL, 1),))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_definitions_3_3_to_3_6_what_is_not_well_formed(definition: str, now: Configuration) -> None:
    assert not well_formed(PATH, now)


def test_definition_3_7_what_is() -> None:
    for place in (("out", 0, 1), ("in", 1, 0), ("out", 1, 2), ("in", 2, 1)):
        assert well_formed(PATH, placed(place))
    assert well_formed(PATH, placed(history=(Snd(MAIL, 0), Rec(MAIL))))


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


def as_printed(a: int, b: int, tree: ParentTree) -> tuple[int, ...]:
    """Figure 5, as it stands there."""
    return (a,) if a == b else (a, *as_printed(next_hop(a, b, tree), b, tree))


def test_figure_5_a_path_is_the_concatenation_of_next_hops() -> None:
    for size in range(1, 6):
        for tree in labelled_trees(size):
            for a, b in product(range(size), repeat=2):
                way = path(a, b, tree)
                assert way == as_printed(a, b, tree)
                assert (way[0], way[-1]) == (a, b)
                assert len(set(way)) == len(way)


def test_figure_6_a_path_is_included_in_one_that_ends_with_it() -> None:
    """Rule P-INCL: p is included in what puts one node or more before it; nothing else is.

    From every node of a path but the first, the rest of it is included in it, and from no other node is
    the path to the same destination: whoever passes a message on makes no detour iff paths are included.
    """

    def included(p: tuple[int, ...], whole: tuple[int, ...]) -> bool:
        return any(p == whole[skipped:] for skipped in range(1, len(whole)))

    for size in range(1, 5):
        for tree in labelled_trees(size):
            for a, b in product(range(size), repeat=2):
                whole = path(a, b, tree)
                assert not included(whole, whole)  # so Definition 3.6 fails of what has not moved (errata)
                for node in range(size):
                    assert included(path(node, b, tree), whole) is (node in whole[1:])
                    if b not in (node, a):
                        outs = tuple(
                            (Mail(0, b),) * (end == (node, next_hop(node, b, tree))) for end in edges(tree)
                        )
                        now = Configuration((Snd(Mail(0, b), a),), ((),) * len(outs), outs)
                        assert well_formed(tree, now) is (node == a or included(path(node, b, tree), whole))


def holds_theorem_4_1(now: Configuration) -> bool:
    """As corrected: the premise is that m′ has been received."""
    return all(
        received_first(now, m, other)
        for m, other in causes(now)
        if m.to == other.to and Rec(other) in now.history
    )


@scopes
def test_theorem_4_1_message_delivery_is_causal(tree: ParentTree, messages: int) -> None:
    assert all(holds_theorem_4_1(now) for now in reachable(tree, messages))


@scopes
def test_lemma_4_2_consistency_implies_causality(tree: ParentTree, messages: int) -> None:
    for now in reachable(tree, messages):
        assert not consistent(tree, now) or holds_theorem_4_1(now)


@scopes
def test_lemma_4_3_execution_preserves_well_formedness(tree: ParentTree, messages: int) -> None:
    assert all(well_formed(tree, now) for now in reachable(tree, messages))


@scopes
def test_lemma_4_4_message_order_is_preserved(tree: ParentTree, messages: int) -> None:
    for now in reachable(tree, messages):
        mails = [event.mail for event in now.history if isinstance(event, Snd)]
        ordered = [(a, b) for a, b in product(mails, mails) if a != b and arrives_before(tree, now, a, b)]
        for _, following in steps(tree, now, messages):
            assert all(arrives_before(tree, following, a, b) for a, b in ordered)


@scopes
def test_lemma_4_5_only_a_send_adds_causes(tree: ParentTree, messages: int) -> None:
    """As corrected: e is Snd(m′, ·); a reception adds none."""
    for now in reachable(tree, messages):
        known = causes(now)
        for _, following in steps(tree, now, messages):
            new = causes(following) - known
            last = following.history[-1] if len(following.history) > len(now.history) else None
            assert not new or isinstance(last, Snd)
            assert all(last is not None and other == last.mail for _, other in new)


@scopes
def test_lemma_4_6_execution_preserves_consistency(tree: ParentTree, messages: int) -> None:
    assert all(consistent(tree, now) for now in reachable(tree, messages))


@pytest.mark.slow
@pytest.mark.parametrize(("tree", "messages"), LARGE, ids=str)
def test_all_of_it_on_larger_scopes(tree: ParentTree, messages: int) -> None:
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
    tree: ParentTree = (0, 0, 1)
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
    tree: ParentTree = (0, 0, 0, 1)
    assert any(not consistent(tree, now, arrives_before_printed) for now in reachable(tree, 2))


def test_arrives_before_is_not_transitive() -> None:
    """The paper's own example, in section 3.4: A ≺ B and B ≺ C, and not A ≺ C."""
    tree: ParentTree = (0, 0, 1, 1)
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


CREDIT, BUY, DEBIT = range(3)
"""The three messages of section 2, as they are numbered: credit, buy, debit."""


def shopping(tree: ParentTree, customer: int, bank: int, shop: int) -> list[Configuration]:
    """Every configuration of the example of section 2: credit, then buy; debit once buy has been received."""
    credit, buy, debit = Mail(CREDIT, bank), Mail(BUY, shop), Mail(DEBIT, bank)
    story = [Snd(credit, customer), Snd(buy, customer), Snd(debit, shop)]
    start = initial(tree)
    seen, stack = {start}, [start]
    while stack:
        now = stack.pop()
        for _, following in steps(tree, now, 3):
            sent = [event for event in following.history if isinstance(event, Snd)]
            told = sent == story[: len(sent)] and (len(sent) < 3 or Rec(buy) in following.history)
            if told and following not in seen:
                seen.add(following)
                stack.append(following)
    return sorted(seen, key=lambda now: len(now.history))


def complete(configurations: list[Configuration]) -> set[tuple[int, ...]]:
    """In which orders the three messages were received, in the end."""
    received = (
        tuple(event.mail.mid for event in now.history if isinstance(event, Rec)) for now in configurations
    )
    return {order for order in received if len(order) == 3}


FIGURE_1: ParentTree = (1, 2, 2, 2)
"""The path ι1 - ι2 - ι3 - ι4: the customer on ι1, the bank on ι3, the shop on ι4 (here from 0)."""
LEFT: ParentTree = (1, 1, 1, 2)
"""The same path; by section 3.4 credit is in the out-queue of ι2 while buy is in the in-queue of ι4."""
RIGHT: ParentTree = (3, 3, 3, 3)
"""ι4 in the middle, where credit arrives before buy; debit is placed on its queue to ι1."""


def test_figure_1_two_histories_and_no_others() -> None:
    """Section 3.1: "this leaves us with only Δ1 and Δ2 as possible histories"."""
    ends = {now.history for now in shopping(FIGURE_1, 0, 2, 3) if len(now.history) == 6}
    m0, m1, m2 = Mail(CREDIT, 2), Mail(BUY, 3), Mail(DEBIT, 2)
    assert ends == {
        (Snd(m0, 0), Rec(m0), Snd(m1, 0), Rec(m1), Snd(m2, 3), Rec(m2)),
        (Snd(m0, 0), Snd(m1, 0), Rec(m0), Rec(m1), Snd(m2, 3), Rec(m2)),
    }
    assert path(0, 3, FIGURE_1)[: len(path(0, 2, FIGURE_1))] == path(0, 2, FIGURE_1)  # a prefix


def test_figure_1_the_configurations_that_section_3_1_writes_out() -> None:
    m0, m1, m2 = Mail(CREDIT, 2), Mail(BUY, 3), Mail(DEBIT, 2)
    configurations = shopping(FIGURE_1, 0, 2, 3)
    [first] = [now for now in configurations if places(FIGURE_1, now) == {m0: [("out", 0, 1)]}]
    assert first.history == (Snd(m0, 0),)
    before_the_end = [now for now in configurations if places(FIGURE_1, now) == {m2: [("out", 3, 2)]}]
    history = (Snd(m0, 0), Snd(m1, 0), Rec(m0), Rec(m1), Snd(m2, 3))
    assert history in {now.history for now in before_the_end}


def test_figure_2_left_credit_is_the_end_of_the_way_of_debit() -> None:
    """Bank ι1, customer ι2, shop ι4: buy may arrive first; debit cannot overtake credit."""
    assert complete(shopping(LEFT, 1, 0, 3)) == {(CREDIT, BUY, DEBIT), (BUY, CREDIT, DEBIT)}
    credit, debit = path(1, 0, LEFT), path(3, 0, LEFT)
    assert debit[-len(credit) :] == credit


def test_figure_2_right_credit_arrives_in_the_middle_before_buy() -> None:
    """Bank ι1, customer ι2, shop ι3, all around ι4."""
    configurations = shopping(RIGHT, 1, 0, 2)
    assert complete(configurations) == {(CREDIT, BUY, DEBIT), (BUY, CREDIT, DEBIT)}
    for now in configurations:
        where = places(RIGHT, now)
        credit, buy = Mail(CREDIT, 0), Mail(BUY, 2)
        if buy in where and where[buy][0] in (("out", 3, 2), ("in", 2, 3)):  # it has passed ι4
            assert credit not in where or where[credit][0] in (("out", 3, 0), ("in", 0, 3))


@pytest.mark.parametrize(
    ("tree", "places_of"), [(FIGURE_1, (0, 2, 3)), (LEFT, (1, 0, 3)), (RIGHT, (1, 0, 2))], ids=str
)
def test_section_2_debit_never_arrives_before_credit(
    tree: ParentTree, places_of: tuple[int, int, int]
) -> None:
    customer, bank, shop = places_of
    for now in shopping(tree, customer, bank, shop):
        assert consistent(tree, now)
        assert holds_theorem_4_1(now)


@pytest.mark.parametrize("customer", range(4))
@pytest.mark.parametrize("bank", range(4))
@pytest.mark.parametrize("shop", range(4))
def test_section_2_it_holds_wherever_the_actors_are(customer: int, bank: int, shop: int) -> None:
    """ "Does this argument apply over any topologies?" Here: on the three of the figures, all placements."""
    if len({customer, bank, shop}) < 3:
        return
    for tree in (FIGURE_1, LEFT, RIGHT):
        orders = complete(shopping(tree, customer, bank, shop))
        assert all(order.index(CREDIT) < order.index(DEBIT) for order in orders)


def test_figure_7_credit_causes_buy_causes_debit() -> None:
    ends = [now for now in shopping(FIGURE_1, 0, 2, 3) if len(now.history) == 6]
    m0, m1, m2 = Mail(CREDIT, 2), Mail(BUY, 3), Mail(DEBIT, 2)
    assert [causes(now) for now in ends] == [{(m0, m1), (m1, m2), (m0, m2)}] * 2


@scopes
def test_figure_7_causality_is_transitive_and_irreflexive(tree: ParentTree, messages: int) -> None:
    for now in reachable(tree, messages):
        pairs = causes(now)
        assert all(a != b for a, b in pairs)
        assert all((a, d) in pairs for a, b in pairs for c, d in pairs if b == c)


def test_section_3_4_credit_before_buy_and_buy_before_credit() -> None:
    """On the left topology, credit in the out-queue of ι2 and buy in the in-queue of ι4: both hold."""
    credit, buy = Mail(CREDIT, 0), Mail(BUY, 3)
    where = {credit: [("out", 1, 0)], buy: [("in", 3, 2)]}
    [now] = [now for now in shopping(LEFT, 1, 0, 3) if places(LEFT, now) == where]
    assert arrives_before(LEFT, now, credit, buy)
    assert arrives_before(LEFT, now, buy, credit)
    assert not set(path(1, 0, LEFT)) & {3}  # what is left of their routes has nothing in common


def test_section_3_4_arrives_before_is_not_transitive_by_its_own_example() -> None:
    """A to ι3 in the out-queue of ι2 to ι3; B to ι1 in that of ι2 to ι1; C to ι2 in that of ι4 to ι3."""
    a, b, c = Mail(0, 2), Mail(1, 0), Mail(2, 1)
    now = initial(LEFT)
    for mail, node in ((a, 1), (b, 1), (c, 3)):
        [now] = [
            following
            for rule, following in steps(LEFT, now, 3)
            if rule == "M-Send" and following.history[-1] == Snd(mail, node)
        ]
    assert places(LEFT, now) == {a: [("out", 1, 2)], b: [("out", 1, 0)], c: [("out", 3, 2)]}
    assert arrives_before(LEFT, now, a, b)
    assert arrives_before(LEFT, now, b, c)
    assert not arrives_before(LEFT, now, a, c)


@scopes
def test_section_3_4_nothing_arrives_before_itself(tree: ParentTree, messages: int) -> None:
    for now in reachable(tree, messages):
        for mail in places(tree, now):
            assert not arrives_before(tree, now, mail, mail)
