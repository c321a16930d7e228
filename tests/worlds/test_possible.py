"""Exact possibilities against enumeration of all posets, and planted, crafted and inconsistent knowledge."""

from __future__ import annotations

import signal
from contextlib import suppress
from itertools import combinations
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import tuning
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Clock, Correspondence, Relation
from microcosm.order.bits import bits
from microcosm.order.clock_order import ClockRows
from microcosm.order.order import fits_as_stated
from microcosm.text.mc_reader import read_givens
from microcosm.worlds import sat
from microcosm.worlds.constraints import Constraints, StampOrder
from microcosm.worlds.possible import Possibilities, Undecided
from microcosm.worlds.propagation import MEMBERS, Closed, Orientation, PossibleTable
from microcosm.worlds.search import GreedyChoice, NoWorld, complete, guess
from microcosm.worlds.world import Candidate, fault
from tests import posets
from tests.families import crafted, planted
from tests.posets import Fact

GIVABLE = ("<", ">", "||", "<>", "!<", "!>")
STATED = ((), (), ("<>",), ("<",), (">",), ("||",), ("!<",), ("<>", "!>"))


def check(state: Orientation) -> None:
    """The rows are closed, and what is open is neither ordered nor decided."""
    for v in range(state.size):
        assert state.future[v] >> v & 1
        for w in bits(state.future[v]):
            assert state.past[w] >> v & 1
            assert not state.future[w] & ~state.future[v]
            assert not state.beyond[v] & ~state.beyond[w]
        assert not state.beyond[v] or state.limited >> v & 1
        for w in bits(state.open[v]):
            assert state.open[w] >> v & 1
            assert not (state.future[v] | state.past[v]) >> w & 1
            assert not state.refuted(v, w)


def possible_in(table: PossibleTable, a: int, b: int) -> list[Relation]:
    """The relations of a pair that a table leaves."""
    holds = (table.before[a] >> b & 1, table.before[b] >> a & 1, table.concurrent[a] >> b & 1)
    return [relation for relation, bit in zip(MEMBERS, holds, strict=True) if bit]


def knowledge(size: int, facts: list[Fact], stamps: StampOrder | None = None) -> Constraints:
    """The facts as constraints."""
    of = {s: [(a, b) for a, r, b in facts if r == s] for s in GIVABLE}
    before = of["<"] + [(b, a) for a, b in of[">"]]
    refuted = of["!<"] + [(b, a) for a, b in of["!>"]]
    return Constraints(size, before, of["||"], of["<>"], refuted, stamps=stamps or StampOrder())


@st.composite
def stated(draw: st.DrawFn, low: int = 3, high: int = 5) -> tuple[int, list[Fact]]:
    """Facts about a few events, any of them, so that some fit no world."""
    size = draw(st.integers(low, high))
    facts = []
    for a, b in combinations(range(size), 2):
        for relation in draw(st.sampled_from(STATED)):
            facts.append((a, relation, b))
    return size, facts


def agree(size: int, facts: list[Fact], known: Constraints, **how: int) -> None:
    """Every pair, asked one by one and as a table, and every world."""
    expected = posets.possible(size, facts)
    asked = Possibilities(known, **how)
    for (a, b), signs in expected.items():
        answer = asked.possible(a, b)
        assert {str(relation) for relation in answer.worlds} == signs
        assert not answer.undecided
        for relation, world in answer.worlds.items():
            shown = posets.holds_in([str(v) for v in range(size)], ((str(x), str(y)) for x, y in world.edges))
            assert posets.sign(shown, a, b) == str(relation)
            assert posets.fitting(size, facts) >> posets.posets(size).index(shown) & 1
    assert asked.realisable() == bool(posets.fitting(size, facts))
    table = Possibilities(known, **how).table()
    if table is None:
        assert not posets.fitting(size, facts)
        return
    for (a, b), signs in expected.items():
        assert {str(relation) for relation in possible_in(table, a, b)} == signs


def test_there_are_as_many_posets_as_there_should_be() -> None:
    assert [len(posets.posets(size)) for size in range(1, 6)] == [1, 3, 19, 219, 4231]


@given(stated())
def test_possible_is_what_some_poset_has(drawn: tuple[int, list[Fact]]) -> None:
    size, facts = drawn
    agree(size, facts, knowledge(size, facts))


@given(stated())
def test_what_fits_as_stated_fits_some_poset(drawn: tuple[int, list[Fact]]) -> None:
    size, facts = drawn
    facts = [fact for fact in facts if "!" not in fact[1]]
    givens = Givens()
    for a, sign, b in facts:
        givens.add(Correspondence(str(a), Relation(sign), str(b)))
    if fits_as_stated(givens):
        assert posets.fitting(size, facts)


def test_what_fits_only_another_way_round_is_left_to_the_search() -> None:
    found = {}
    for text in ("a <> b\nc < b\na || c", "a <> b\nb <> c\na || c", "a <> b\nb < a", "a <> b\na || b"):
        found[text] = fits_as_stated(read_givens(text))
    assert [*found.values()] == [True, False, False, False]


@given(stated())
def test_the_solver_finds_what_the_search_finds(drawn: tuple[int, list[Fact]]) -> None:
    pytest.importorskip("pysat", reason="the extra `sat` is not installed")
    size, facts = drawn
    agree(size, facts, knowledge(size, facts), cap=-1)


@given(stated(5, 5), st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=5, max_size=5))
def test_lamport_times_refute(drawn: tuple[int, list[Fact]], times: list[int | None]) -> None:
    size, facts = drawn
    stamps = {v: time for v, time in enumerate(times) if time is not None}
    implied = [(a, "!<", b) for a, x in stamps.items() for b, y in stamps.items() if a != b and x >= y]
    agree(size, facts + implied, knowledge(size, facts, StampOrder(stamps)))


@given(stated(4, 4), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=4, max_size=4))
def test_intervals_refute(drawn: tuple[int, list[Fact]], drawn_spans: list[tuple[int, int]]) -> None:
    size, facts = drawn
    spans = {v: (float(start), float(start + length)) for v, (start, length) in enumerate(drawn_spans)}
    implied = [(a, "!<", b) for a, x in spans.items() for b, y in spans.items() if a != b and x[0] > y[1]]
    agree(size, facts + implied, knowledge(size, facts, StampOrder(spans)))


@given(stated(3, 5))
def test_propagation_keeps_its_rows_closed(drawn: tuple[int, list[Fact]]) -> None:
    size, facts = drawn
    ordered = [fact for fact in facts if fact[1] != ">"]
    state = Orientation(knowledge(size, ordered))
    if not state.consistent:
        return
    check(state)
    before = [list(rows) for rows in (state.future, state.past, state.beyond, state.open)]
    choice = complete(state)
    assert before == [state.future, state.past, state.beyond, state.open]
    if isinstance(choice, NoWorld):
        return
    mark = state.mark()
    for a, b in state.known.related:
        assert state.order(*((a, b) if choice.future[a] >> b & 1 else (b, a)))
        check(state)
    assert not any(state.open)
    assert all(not row & ~later for row, later in zip(state.future, choice.future, strict=True))
    state.undo(mark)
    assert before == [state.future, state.past, state.beyond, state.open]
    assert not state.chosen


def test_five_related_in_a_cycle_with_all_chords_concurrent_fit_no_world() -> None:
    cycle, chords = [(k, (k + 1) % 5) for k in range(5)], [(k, (k + 2) % 5) for k in range(5)]
    assert not Possibilities(Constraints(5, related=cycle, concurrent=chords)).realisable()
    for dropped in range(5):
        rest = chords[:dropped] + chords[dropped + 1 :]
        assert Possibilities(Constraints(5, related=cycle, concurrent=rest)).realisable()
        rest = cycle[:dropped] + cycle[dropped + 1 :]
        assert Possibilities(Constraints(5, related=rest, concurrent=chords)).realisable()


@pytest.mark.parametrize("size", [20, 60, 150])
def test_what_is_drawn_from_a_world_fits_one(size: int) -> None:
    for seed in range(3):
        known = planted(size, seed)
        asked = Possibilities(known)
        world = asked.world()
        assert world is not None
        assert fault(known, world) is None
        rng = Random(seed)
        for _ in range(10):
            a, b = rng.sample(range(size), 2)
            assert asked.possible(a, b).worlds.keys() == {r.converse for r in asked.possible(b, a).worlds}


@pytest.mark.parametrize("ratio", [1.5, 2.1, 2.6])
def test_search_and_solver_agree_on_crafted_knowledge(ratio: float) -> None:
    pytest.importorskip("pysat", reason="the extra `sat` is not installed")
    for seed in range(4):
        known = crafted(90, seed, ratio)
        one, other = Orientation(known), Orientation(known)
        found = complete(one)
        assert (sat.solve(other) is NoWorld.NONE) is (found is NoWorld.NONE)
        assert (Possibilities(known, solver=False).world() is None) is (found is NoWorld.NONE)


@pytest.mark.parametrize("ordered", [0, 1])
def test_a_line_that_fails_widely_is_not_drawn_again_where_nothing_was_decided(ordered: int) -> None:
    """Nor at all where no event is before another, and many are related or concurrent."""
    pytest.importorskip("pysat")
    for seed in range(4):
        hard = crafted(90, seed, 2.1)
        before = [(hard.size, hard.size + 1)] * ordered
        known = Constraints(hard.size + 2 * ordered, before, hard.concurrent, hard.related)
        assert guess(known, Closed.of(known)) is NoWorld.CAPPED
        assert not Orientation(known).forcing
        with patch.object(GreedyChoice, "along", wraps=GreedyChoice.along) as drawn:
            fits = Possibilities(known).realisable()
        assert drawn.call_count == ordered
        assert fits is Possibilities(known, solver=False).realisable()


def test_a_guess_finds_a_world_in_what_has_room_for_it() -> None:
    """At the first or the second look; and none where what is given contradicts itself."""
    first_looks = 0
    for seed in range(10):
        known = planted(200, seed)
        world = guess(known, Closed.of(known))
        assert isinstance(world, GreedyChoice)
        assert fault(known, world.world()) is None
        first_looks += len(world.edges) == len(known.before) + len(known.related)
    assert 0 < first_looks < 10, "both are tried"
    for known in (
        Constraints(3, before=[(0, 1)], concurrent=[(0, 1)], related=[(1, 2)]),
        Constraints(3, before=[(0, 1), (1, 2)], concurrent=[(0, 2)], related=[(0, 2)]),
    ):
        assert guess(known, Closed.of(known)) is None


def test_a_search_can_be_stopped() -> None:
    known = crafted(90, 1, 2.1)
    with pytest.raises(Undecided):
        Possibilities(known, stop=lambda: True).world()
    table = Possibilities(planted(40, 1), stop=lambda: True).table()
    assert table is not None
    assert table.undecided
    asked = Possibilities(planted(40, 1), stop=lambda: True)
    exact = Possibilities(planted(40, 1))
    for a, b in combinations(range(40), 2):
        answer, right = asked.possible(a, b), exact.possible(a, b)
        assert not answer.worlds
        assert set(right.worlds) <= {*answer.undecided} == {*possible_in(table, a, b)}


def test_the_solver_pauses_to_ask_whether_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten pigeons in nine holes keep it busy for many restarts, between which it can be stopped."""
    solvers = pytest.importorskip("pysat.solvers", reason="the extra `sat` is not installed")
    monkeypatch.setattr(tuning, "CONFLICTS", 50)
    holes, pigeons = range(9), range(10)
    apart = [[-(9 * p + h + 1), -(9 * q + h + 1)] for h in holes for p, q in combinations(pigeons, 2)]
    clauses = [[9 * p + h + 1 for h in holes] for p in pigeons] + apart
    for patience in (0, 2):
        asked = [False] * patience + [True]
        with solvers.Solver(name=sat.LIMITED, bootstrap_with=clauses) as solver:
            assert sat._run(solver, lambda asked=asked: asked.pop(0)) is None
            assert not asked, "it was asked until it said so"


@pytest.mark.parametrize("seed", range(4))
def test_a_search_with_a_limit_finds_what_one_without_does(seed: int) -> None:
    pytest.importorskip("pysat", reason="the extra `sat` is not installed")
    known = crafted(90, seed, 2.4)
    found, limited = (sat.solve(Orientation(known), stop=stop) for stop in (None, lambda: False))
    assert (found is NoWorld.NONE) is (limited is NoWorld.NONE)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no alarm on this system")
def test_an_alarm_ends_the_solver_where_it_is() -> None:
    solvers = pytest.importorskip("pysat.solvers", reason="the extra `sat` is not installed")
    holes, pigeons = range(13), range(14)  # years, were it not for the alarm
    apart = [[-(13 * p + h + 1), -(13 * q + h + 1)] for h in holes for p, q in combinations(pigeons, 2)]
    clauses = [[13 * p + h + 1 for h in holes] for p in pigeons] + apart

    def ring(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with solvers.Solver(name=sat.LIMITED, bootstrap_with=clauses) as solver:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                sat._run(solver, None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("certificate", [None, sat.Certificate([])])
def test_an_interrupt_of_the_solver_is_one_of_the_program(
    certificate: sat.Certificate | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    solvers = pytest.importorskip("pysat.solvers", reason="the extra `sat` is not installed")

    def interrupted(self: object) -> bool:
        raise solvers.pysolvers.error("Caught keyboard interrupt")

    monkeypatch.setattr(solvers.Solver, "solve" if certificate is not None else "solve_limited", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sat.solve(Orientation(crafted(60, 1, 1.2)), certificate=certificate)


@pytest.mark.parametrize("solver", [False, True])
def test_an_interrupted_search_leaves_no_trace(solver: bool) -> None:
    known = crafted(60, 1, 1.2)
    asked, fresh = Possibilities(known, solver=solver), Possibilities(known, solver=solver)
    assert asked.realisable()
    asked._choices.clear()
    rows = [list(rows) for rows in (asked._state.future, asked._state.beyond)]  # type: ignore[union-attr]
    interrupted = 0

    def interrupt() -> bool:
        raise KeyboardInterrupt

    for a, b in list(combinations(range(known.size), 2))[::40]:
        asked.stop, asked._choices = interrupt, []
        with suppress(KeyboardInterrupt):
            interrupted += 1
            asked.possible(a, b)
            interrupted -= 1
        asked.stop = None
        assert rows == [asked._state.future, asked._state.beyond]  # type: ignore[union-attr]
        assert asked.possible(a, b).worlds.keys() == fresh.possible(a, b).worlds.keys()
    assert interrupted


@pytest.mark.parametrize("block", [1, 3, 8])
def test_worlds_are_checked_some_columns_at_a_time(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    known = planted(20, 2)
    world = Possibilities(known).world()
    assert world is not None
    whole = world.reduction()
    monkeypatch.setattr(tuning, "CLOSURE_COLUMNS", block)
    assert fault(known, world) is None
    assert world.reduction() == whole
    monkeypatch.setattr(tuning, "ROWS_UP_TO", 0)
    monkeypatch.setattr(tuning, "EVENTS_A_CHAIN", 0)
    assert world.reduction() == whole  # by labels
    for dropped in whole:
        less = Candidate.of(known.size, [edge for edge in whole if edge != dropped])
        named = {*known.before, *known.related} & {dropped, dropped[::-1]}
        assert not named or fault(known, less) is not None


def test_the_checker_of_worlds_finds_each_fault() -> None:
    known = knowledge(4, [(0, "<", 1), (1, "||", 2), (2, "<>", 3)], StampOrder({0: 5, 3: 4}))
    assert fault(known, Candidate.of(4, [(0, 1), (2, 3)])) is None
    for edges, said in (
        ([(2, 3)], "0 < 1 does not hold"),
        ([(0, 1), (1, 2), (2, 3)], "1 < 2 is refuted"),
        ([(0, 1)], "2 and 3 are not ordered"),
        ([(0, 1), (0, 2), (2, 3)], "the stamp of 3 is not above one of its past"),
    ):
        assert fault(known, Candidate.of(4, edges)) == said
    assert fault(known, Candidate([3, 2, 1, 0], [(0, 1), (2, 3)])) == "0 < 1 goes against the order"
    assert fault(known, Candidate([0, 1, 2], [(0, 1)])) == "the order is not one of all events"


def test_a_hundred_thousand_stamps_cost_no_rows() -> None:
    size = 100_000
    rng = Random(1)
    times = [rng.randrange(size) for _ in range(size)]
    known = Constraints(
        size, before=[(3, 4)] if times[3] < times[4] else [], stamps=StampOrder(dict(enumerate(times)))
    )
    asked = Possibilities(known)
    assert asked.realisable()
    low, high = sorted(range(5, 9), key=lambda v: times[v])[::3]
    worlds = asked.possible(low, high).worlds
    assert list(worlds) == [Relation.BEFORE, Relation.CONCURRENT]


def test_events_with_nothing_but_a_stamp_are_left_out_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(25):
        rng = Random(seed)
        named = rng.sample(range(13), 5)
        facts = [
            (a, relation, b)
            for a, b in combinations(named, 2)
            for relation in rng.choice(((), ("<>",), ("<>",), ("<",), ("||",), ("!<",)))
        ]
        times = {v: rng.randrange(6) for v in range(13) if rng.random() < 0.8}
        known = knowledge(13, facts, StampOrder(times))
        known.unseen[named[0]] = 1 << named[1]
        known.groups.append(named[2:4])
        monkeypatch.setattr(tuning, "STAMPED_FROM", 14)
        whole = Possibilities(known)
        monkeypatch.setattr(tuning, "STAMPED_FROM", 0)
        part = Possibilities(known)
        assert part._part is not None
        assert part.realisable() == whole.realisable()
        for a, b in combinations(range(13), 2):
            mine, theirs = part.possible(a, b).worlds, whole.possible(a, b).worlds
            assert mine.keys() == theirs.keys()
            assert all(fault(known, world) is None for world in mine.values())
        world, table = part.world(), part.table()
        assert (world is None) is (table is None) is not whole.realisable()
        assert table == whole.table()


def test_a_related_pair_among_many_stamps_costs_no_rows_of_all() -> None:
    size = 50_000
    times = {v: v * 7919 % size for v in range(size)}
    asked = Possibilities(Constraints(size, related=[(3, 4)], stamps=StampOrder(times)))
    assert asked.realisable()
    assert list(asked.possible(3, 4).worlds) == [Relation.BEFORE]
    assert list(asked.possible(8, 9).worlds) == [Relation.BEFORE, Relation.CONCURRENT]


def test_members_are_the_three_relations_of_a_world() -> None:
    assert MEMBERS == (Relation.BEFORE, Relation.AFTER, Relation.CONCURRENT)


ENTRIES = st.tuples(*[st.integers(0, 2)] * 3)


@given(
    st.lists(
        st.tuples(st.sampled_from("pqr"), ENTRIES, st.sampled_from((None, "run")), st.booleans()), max_size=6
    ),
    st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8),
)
def test_the_checker_holds_worlds_against_clocks(
    drawn: list[tuple[str, tuple[int, ...], str | None, bool]], edges: set[tuple[int, int]]
) -> None:
    """No event may come before another whose clock has not seen its process so far."""
    size = len(drawn)
    clocks = {
        f"{at}": Clock(process, dict(zip("pqr", counts, strict=True)), execution=run)
        for at, (process, counts, run, clocked) in enumerate(drawn)
        if clocked
    }
    known = Constraints(size, clocks=ClockRows(clocks, {f"{at}": at for at in range(size)}))
    upwards = sorted((a, b) for a, b in edges if a < b < size)
    past: list[set[int]] = [set() for _ in range(size)]
    for a, b in sorted(upwards, key=lambda edge: edge[1]):
        past[b] |= past[a] | {a}
    against = any(
        clocks[f"{a}"].missed_by(clocks[f"{b}"])
        for b in range(size)
        for a in past[b]
        if f"{a}" in clocks and f"{b}" in clocks and not clocks[f"{a}"].beside(clocks[f"{b}"])
    )
    assert (fault(known, Candidate.of(size, upwards)) is not None) is against
