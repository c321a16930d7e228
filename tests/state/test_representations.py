"""Rows and labels are indistinguishable from outside: every operation, on both.

Labels are for tens of thousands of events; here they are forced upon a handful.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise, permutations
from pathlib import Path
from random import Random

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant

from microcosm import tuning
from microcosm.compare.digest import analogy_digest
from microcosm.compare.verdict_rows import analogous
from microcosm.engine.engine import VERDICTS
from microcosm.errors import Contradiction, Undefined
from microcosm.givens.columns import Message
from microcosm.givens.givens import Givens
from microcosm.givens.relation import GIVEN_RELATIONS, Correspondence, Relation
from microcosm.order.labels import Labels
from microcosm.order.rows import Rows
from microcosm.state.microcosm import Microcosm
from tests.proofs import proved, steps
from tests.random_rules import random_givens, random_rules
from tests.state.test_evolution import Evolving
from tests.strategies import microcosms


@contextmanager
def by_labels() -> Iterator[None]:
    """Inside, every happens-before is kept as labels, however small it is and however many chains it has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "ROWS_UP_TO", 0)
        patch.setattr(tuning, "EVENTS_A_CHAIN", 0)
        patch.setattr(Rows, "SATURATE", 0)
        yield


def order(known: Microcosm) -> object:
    return known._engine.order


def both(given: Givens) -> tuple[Microcosm, Microcosm]:
    with by_labels():
        labels = Microcosm(given)
        assert isinstance(order(labels), Labels)
    rows = Microcosm(given)
    assert isinstance(order(rows), Rows)
    return labels, rows


class EvolvingByLabels(Evolving):
    """The machine of evolution, over labels, and beside it what rows say."""

    def __init__(self) -> None:
        self.forced = by_labels()
        self.forced.__enter__()
        super().__init__()

    def teardown(self) -> None:
        self.forced.__exit__(None, None, None)
        super().teardown()

    @invariant()
    def rows_say_the_same(self) -> None:
        if hasattr(self, "m"):
            assert isinstance(order(self.m), Labels)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(tuning, "ROWS_UP_TO", 1 << 20)
                rows = Microcosm(self.m.givens)
                assert isinstance(order(rows), Rows)
                there, digest = [*rows.table()], analogy_digest(rows)
            assert [*self.m.table()] == there
            assert analogy_digest(self.m) == digest


class EvolvingStrictlyByLabels(EvolvingByLabels):
    """The same, as the paper has it."""

    strict = True


TestEvolvingByLabels = EvolvingByLabels.TestCase
TestEvolvingByLabels.settings = settings(max_examples=15, stateful_step_count=15)
TestEvolvingStrictlyByLabels = EvolvingStrictlyByLabels.TestCase
TestEvolvingStrictlyByLabels.settings = settings(max_examples=10, stateful_step_count=15)


@given(microcosms(2, 9, nasty=True))
def test_every_question_has_the_same_answer(given: Givens) -> None:
    labels, rows = both(given)
    assert [*labels.table()] == [*rows.table()]
    assert analogy_digest(labels) == analogy_digest(rows)
    assert analogous(labels, rows)
    pairs = list(permutations([*rows.events, "never heard of"], 2))
    for a, b in pairs:
        assert labels.online(a, b) is rows.online(a, b)
        one, other = proved(labels, a, b), proved(rows, a, b)
        assert (one is None) is (other is None)
        assert one is None or other is None or len(steps(one)) == len(steps(other))
    with by_labels():
        assert [*labels.online_many(pairs)] == [rows.online(a, b) for a, b in pairs]
        assert [*rows.online_many(pairs)] == [rows.online(a, b) for a, b in pairs]


@given(microcosms(2, 9))
def test_events_around_an_event_are_those_with_the_verdict(given: Givens) -> None:
    for known in both(given):
        stated = list(known.givens.named())
        for a in stated:
            at = {b: known.online(b, a) for b in stated if b != a}
            wanted = {
                "past": Relation.BEFORE,
                "future": Relation.AFTER,
                "concurrent": Relation.CONCURRENT,
                "unknown": Relation.UNKNOWN,
                "silent": Relation.SILENT,
            }
            for name, relation in wanted.items():
                assert [*getattr(known, name)(a)] == [b for b, verdict in at.items() if verdict is relation]
            for b in stated:
                inside = [e for e in known.future(a) if e in set(known.past(b))]
                assert [*known.between(a, b)] == (inside if a != b else [])


@given(microcosms(2, 9))
def test_frontiers_chains_and_the_hasse_diagram_are_those_of_networkx(given: Givens) -> None:
    for known in both(given):
        ordered = [(a, b) for a, b in permutations(known.events, 2) if known.online(a, b) is Relation.BEFORE]
        graph = networkx.DiGraph(ordered)
        graph.add_nodes_from(known.events)
        assert set(known.hasse().edges) == set(networkx.transitive_reduction(graph).edges)
        assert set(known.hasse().nodes) == set(known.events)
        longest = known.longest_chain()
        assert len(longest) == (networkx.dag_longest_path_length(graph) + 1 if ordered else 0)
        assert all(pair in ordered for pair in pairwise(longest))
        for a, b in permutations(known.events, 2):
            between = {a, b, *known.between(a, b)} if (a, b) in ordered else set()
            chain = known.longest_chain(a, b)
            inside = networkx.dag_longest_path_length(graph.subgraph(between)) + 1 if between else 0
            assert len(chain) == inside
            assert not chain or (chain[0], chain[-1]) == (a, b)
            below = set(graph.pred[a]) & set(graph.pred[b])
            above = set(graph.succ[a]) & set(graph.succ[b])
            last, first = known.frontier(a, b)
            assert set(last) == {e for e in below if not below & set(graph.succ[e])}
            assert set(first) == {e for e in above if not above & set(graph.pred[e])}


@given(microcosms(2, 9))
def test_a_graph_reads_back_to_the_same_correspondences(given: Givens) -> None:
    known = Microcosm(given)
    back = Microcosm.from_networkx(known.to_networkx())
    assert back.givens.external == given.external
    assert back.givens.tokens.keys() <= given.tokens.keys()
    assert back.givens.clocks == given.clocks
    assert back.givens.internal == (given.internal if len(given.internal) > 1 else [])


def test_a_plain_graph_says_happens_before() -> None:
    known = Microcosm.from_networkx(networkx.DiGraph([("a", "b"), ("b", "c")]))
    assert known.online("a", "c") is Relation.BEFORE
    for graph in (networkx.Graph([("a", "b")]), networkx.DiGraph([(1, 2)]), networkx.DiGraph([("a", "a")])):
        with pytest.raises(Undefined):
            Microcosm.from_networkx(graph)


@given(st.integers(0, 1 << 20))
@settings(max_examples=8)
def test_a_log_in_labels_says_what_it_says_in_rows(seed: int) -> None:
    rng = Random(seed)
    given = log(120, rng.randrange(1, 6), rng)
    labels, rows = both(given)
    with by_labels():  # so that nothing is saturated
        for a, b in permutations(rng.sample(rows.events, 12), 2):
            assert labels.online(a, b) is rows.online(a, b)
    assert [*rows.table()] == [*labels.table()]


def test_arrays_and_tables_of_pairs_are_answered_in_kind() -> None:
    numpy = pytest.importorskip("numpy", reason="the extra `bulk` is not installed")
    given = log(200, 5, Random(3))
    for known in both(given):
        events = known.events
        places = numpy.array([(i, j) for i in range(0, 200, 7) for j in range(200) if i != j])
        codes = known.online_many(places)
        names = [(events[i], events[j]) for i, j in places.tolist()]
        expected = [known.online(a, b) for a, b in names]
        assert [VERDICTS[code] for code in codes] == expected
        with pytest.raises(Undefined):
            known.online_many(numpy.array([[3, 3]]))
        with pytest.raises(Undefined):
            known.online_many(numpy.array([[0, len(events)]]))
        pyarrow = pytest.importorskip("pyarrow", reason="the extra `bulk` is not installed")
        asked = pyarrow.table({"left": [a for a, _ in names], "right": [b for _, b in names]})
        assert known.online_many(asked).column("verdict").to_pylist() == [r.value for r in expected]


def log(size: int, processes: int, rng: Random) -> Givens:
    """Events `p:seq` in the order of their processes, and messages now and then."""
    given, last, seq = Givens(), dict[int, str](), dict[int, int]()
    for number in range(size):
        p = rng.randrange(processes)
        seq[p] = seq.get(p, 0) + 1
        event = f"p{p}:{seq[p]}"
        for q in dict.fromkeys((p, rng.randrange(processes))) if number % 3 == 0 else (p,):
            if q in last:
                given.add(Correspondence(last[q], Relation.BEFORE, event))
        given.messages.append(Message("send", event, f"m{number}", f"p{p}"))
        last[p] = event
    return given


@given(microcosms(2, 8, nasty=True), st.randoms(use_true_random=False))
def test_the_first_pair_is_found_without_the_order(given: Givens, rng: Random) -> None:
    rows = Microcosm(given)
    pairs = list(permutations([*rows.events, "never heard of"], 2))
    for a, b in rng.sample(pairs, min(len(pairs), 12)):
        with by_labels():
            first = Microcosm(given)
            assert first.online(a, b) is rows.online(a, b)
            one, other = proved(first, a, b), proved(rows, a, b)
            assert (one is None) is (other is None)
            assert one is None or other is None or len(steps(one)) == len(steps(other))
            for x, y in rng.sample(pairs, min(len(pairs), 3)):
                assert first.online(x, y) is rows.online(x, y)
            assert first.online(b, a) is rows.online(b, a)


CLOCKED = """p {"p": 1}
one
q {"q": 1}
two
q {"p": 1, "q": 2}
three
r {"r": 1}
four
"""


@pytest.mark.parametrize(("a", "b", "verdict"), [("p:1", "q:2", "<"), ("p:1", "r:1", "||")])
def test_of_right_clocks_no_order_is_made_for_the_first_pair(
    tmp_path: Path, a: str, b: str, verdict: str
) -> None:
    path = tmp_path / "a.log"
    path.write_text(CLOCKED, encoding="utf-8")
    with by_labels(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("microcosm.engine.memo.happens_before", None)
        known = Microcosm.from_trace(path)
        assert str(known.online(a, b)) == verdict
        assert proved(known, a, b) is not None
    with by_labels():
        assert str(known.online("p:1", "q:1")) == "||"
        assert isinstance(order(known), Labels)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14), st.integers(0, 2))
def test_changes_after_the_first_pair_are_those_of_the_order(
    pairs: list[tuple[int, int]], asked: int
) -> None:
    """Nothing but `<` is given, upwards: then no order is made before it is needed, nor is it by one pair."""
    given = Givens()
    for a, b in {pair for pair in pairs if pair[0] < pair[1]}:
        given.add(Correspondence(f"e{a}", Relation.BEFORE, f"e{b}"))
    with by_labels():
        labels, rows = Microcosm(given), Microcosm(given)
        assert isinstance(order(rows), Labels)
        names = [f"e{at}" for at in range(8)]
        for a, b in list(permutations(names, 2))[:asked]:
            assert labels.online(a, b) is rows.online(a, b)
        for a, b in pairs[::-1]:
            fact = Correspondence(f"e{a}", Relation.BEFORE, f"e{b}")
            if a != b and fact not in rows.givens.external.values():
                found = []
                for known in (labels, rows):
                    try:
                        known.add(fact)
                    except Contradiction as fault:
                        found.append(str(fault))
                assert len({*found}) < 2
                assert len(found) != 1
        assert [*labels.table()] == [*rows.table()]


def answered_after_each_change(known: Microcosm, rng: Random) -> None:
    """Also of events that no given names, which may be named and forgotten by the changes."""
    pairs = list(permutations([*known.events[:5], "never heard of", "nor of this"], 2))
    for _ in range(6):
        a, b = rng.choice(pairs)
        fact = Correspondence(a, rng.choice(GIVEN_RELATIONS), b)
        with suppress(Contradiction, Undefined):
            rng.choice([known.add, known.add, known.remove])(fact)
        fresh = Microcosm(known.givens, rules=known.rules)
        for x, y in pairs:
            assert known.online(x, y) is fresh.online(x, y)
            assert (proved(known, x, y) is None) is (proved(fresh, x, y) is None)


@given(microcosms(2, 6, nasty=True), st.randoms(use_true_random=False))
def test_events_that_nothing_names_are_answered_after_each_change(given: Givens, rng: Random) -> None:
    answered_after_each_change(Microcosm(given), rng)


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(n, marks=pytest.mark.slow) for n in range(20, 60))]
)
def test_so_they_are_under_random_rules(seed: int) -> None:
    rng = Random(seed)
    rules = random_rules(rng)
    with suppress(Contradiction):
        answered_after_each_change(Microcosm(random_givens(rng), rules=rules), rng)
