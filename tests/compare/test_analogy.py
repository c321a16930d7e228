"""Analogy under any rules, by rows of bits, against pair by pair; and that silence need not be compared."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.compare import verdict_rows as verdict_rows_module
from microcosm.compare.difference import difference
from microcosm.compare.digest import analogy_digest, analogy_digest_of
from microcosm.compare.verdict_rows import (
    KNOWN,
    VerdictRows,
    analogous,
    cover,
    differing,
    first_difference,
    given_apart,
    known_rows,
    related_names,
    seeds_own,
    verdict_rows,
)
from microcosm.errors import Contradiction
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import RuleBook, parse_rules, read_rules
from microcosm.order.bits import bits, transposed
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_reader import read_givens
from tests import oracle
from tests.enumeration import as_givens, enumerated
from tests.rulesets import ADDED, TEN, extended, ten, without
from tests.strategies import microcosms

BOOKS = {
    "the ten": parse_rules(ten()),
    "no Un-4": without("Un-4"),
    "no Un-3": without("Un-3"),
    "no In-Tr": without("In-Tr"),
    **{name: extended(name) for name in ADDED},
}


def pair_by_pair(one: Microcosm, other: Microcosm) -> list[tuple[str, str]]:
    events = sorted({*one.events, *other.events})
    return [pair for pair in combinations(events, 2) if one.online(*pair) is not other.online(*pair)]


@given(microcosms(2, 6), microcosms(2, 6))
def test_differing_pairs_are_found_by_rows(one: Givens, other: Givens) -> None:
    """Of what is known: where that is the same, silence is, too."""
    here, there = Microcosm(one), Microcosm(other)
    apart = pair_by_pair(here, there)
    known = [p for p in apart if {here.online(*p), there.online(*p)} != {Relation.UNKNOWN, Relation.SILENT}]
    assert list(differing(here, there)) == known
    assert analogous(here, there) is (not apart)
    assert first_difference(here, there) == next(iter(known), None)


@given(microcosms(2, 6), st.data())
def test_who_judges_alike_what_either_is_given_is_analogous(givens: Givens, data: st.DataObject) -> None:
    """Where one is given what the other infers, or lacks what it cannot."""
    here, other = Microcosm(givens), givens.copy()
    for key in givens.external:
        if data.draw(st.booleans()):
            del other.external[key]
    for a, b in permutations(here.events, 2):
        if (verdict := here.online(a, b)) in KNOWN and data.draw(st.booleans()):
            other.add(Correspondence(a, verdict, b))
    there = Microcosm(other)
    alike = not pair_by_pair(here, there)
    assert (not given_apart(here, there)) is (not given_apart(there, here)) is alike
    assert difference(here, there).same is alike


def test_no_rows_are_made_of_two_that_know_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million events have 10^12 pairs."""
    monkeypatch.delattr(verdict_rows_module, "compared")
    text = "internal a < b < c\nc || d\nd <> e"
    assert analogous(Microcosm.parse(f"{text}\na < c"), Microcosm.parse(f"{text}\nb < c"))


@given(microcosms(2, 5), microcosms(2, 5), st.sampled_from(sorted(set(BOOKS) - {"the ten"})))
def test_differing_pairs_under_other_rules(one: Givens, other: Givens, book: str) -> None:
    try:
        here, there = (Microcosm(givens, rules=BOOKS[book]) for givens in (one, other))
    except Contradiction:
        return
    assert list(differing(here, there)) == pair_by_pair(here, there)
    assert analogous(here, here.copy())


def test_rules_may_differ_between_the_two() -> None:
    one = Microcosm.parse("a < b < c")
    other = Microcosm.parse("a < b < c", rules=without("In-Tr"))
    assert first_difference(one, other) == ("a", "c")
    same = Microcosm.parse("a < b", rules=without("In-Tr"))
    assert analogous(Microcosm.parse("a < b"), same)


def test_what_is_known_decides_what_is_silent() -> None:
    """On all microcosms of 4 events: two with the same known relations have the same table."""
    tables: dict[frozenset[object], set[frozenset[object]]] = {}
    for facts in enumerated("abcd"):
        inside = {event for a, _, b in facts for event in (a, b)}
        table = oracle.tabulate("abcd", facts, inside)
        known = frozenset((p, sign) for p, sign in table.items() if sign in ("<", ">", "||", "<>"))
        tables.setdefault(known, set()).add(frozenset(table.items()))
    assert len(tables) == 8691
    assert all(len(found) == 1 for found in tables.values())


@given(microcosms(2, 8, nasty=True))
def test_rows_are_the_verdicts(givens: Givens) -> None:
    m = Microcosm(givens)
    table = verdict_rows(m._engine, m.events)
    for relation, rows in table.rows.items():
        held = {(table.names[i], table.names[k]) for k, row in enumerate(rows) for i in bits(row)}
        assert held == {pair for pair in permutations(m.events, 2) if m.online(*pair) is relation}
    related = {e for pair in permutations(m.events, 2) if m.online(*pair) in KNOWN for e in pair}
    assert related_names(m._engine) == sorted(related)


@given(microcosms(2, 8))
def test_the_cover_is_the_transitive_reduction(givens: Givens) -> None:
    m = Microcosm(givens)
    table = verdict_rows(m._engine, m.events)
    found = cover(table.rows[Relation.BEFORE])
    before = {p for p in permutations(m.events, 2) if m.online(*p) is Relation.BEFORE}
    links = {(a, b) for a, b in before if not any((a, e) in before and (e, b) in before for e in m.events)}
    assert {(m.events[i], m.events[k]) for k, row in enumerate(found) for i in bits(row)} == links


@given(st.lists(st.integers(0, 2**70 - 1), max_size=70))
def test_transposed_twice_is_the_same(rows: list[int]) -> None:
    columns = transposed(rows, 70)
    assert all(columns[at] >> k & 1 == row >> at & 1 for k, row in enumerate(rows) for at in range(70))


@pytest.mark.parametrize("book", [None, BOOKS["the ten"], BOOKS["no Un-4"]])
def test_events_of_which_nothing_is_known_do_not_matter(book: RuleBook | None) -> None:
    one = Microcosm.parse("a < b", rules=book)
    assert analogous(one, Microcosm.parse("internal a < b \n stamp z = 1", rules=book))
    assert analogous(Microcosm(rules=book), Microcosm(as_givens(()), rules=book))


def test_thousands_of_events_are_compared_at_once() -> None:
    """The order of arrival is another one; no verdict is asked for pair by pair."""
    links = [f"e{at} < e{at + 1 + at % 7}" for at in range(2000)]
    one, other = Microcosm.parse("\n".join(links)), Microcosm.parse("\n".join(reversed(links)))
    assert analogous(one, other)
    other.remove("e1000 < e1007")
    assert first_difference(one, other) is not None


@given(microcosms(2, 8, nasty=True))
def test_rows_straight_from_the_givens_are_the_same(givens: Givens) -> None:
    assert known_rows(givens) == _known_by_engine(givens)


def test_rows_straight_from_the_givens_of_three_events() -> None:
    for facts in enumerated("abc", superseding=True):
        assert known_rows(as_givens(facts)) == _known_by_engine(as_givens(facts))


def _known_by_engine(givens: Givens) -> VerdictRows:
    engine = Microcosm(givens)._engine
    table = verdict_rows(engine, related_names(engine))
    return VerdictRows(table.names, {relation: table.rows[relation] for relation in KNOWN})


@pytest.mark.parametrize(
    "text",
    [
        "a < b < a",
        "a < b < c \n a || c",
        "a <> b \n b || a",
        "internal a < b \n b < a",
        "a || b \n token t = a, b",
    ],
)
def test_contradictory_givens_have_no_rows(text: str) -> None:
    givens = read_givens(text)
    assert known_rows(givens) is None
    with pytest.raises(Contradiction):
        Microcosm(givens)


def test_only_the_rules_of_the_seed_are_taken_for_them() -> None:
    """If the shipped rules fail it, prove of them what `verdict_rows` says before changing `PROVED`."""
    assert seeds_own(read_rules())
    assert seeds_own(parse_rules("# another comment\n" + ten()))
    assert not any(seeds_own(without(name)) for name in TEN)
    assert not any(seeds_own(extended(name)) for name in ADDED)


def test_rules_edited_where_they_are_shipped_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Un-1, equal relations leave other pairs silent than with it."""
    shipped = Microcosm.parse("a || e \n e || b")
    edited = Microcosm.parse("a || e \n e || b", rules=without("Un-1"))
    assert first_difference(shipped, edited) == ("a", "b")
    monkeypatch.setattr("microcosm.compare.digest.read_rules", lambda: edited.rules)
    assert analogy_digest_of(edited.givens) == analogy_digest(edited)


@pytest.mark.parametrize("book", [None, *sorted(BOOKS)])
def test_an_event_that_is_gone_is_as_one_never_heard_of(book: str | None) -> None:
    rules = BOOKS[book] if book else None
    grown, fresh = (Microcosm.parse("a || b \n b < c", rules=rules) for _ in range(2))
    grown.add("c < d")
    grown.remove("c < d")
    other = Microcosm.parse("a || b \n b < c \n c < d \n d <> e", rules=rules)
    assert analogous(grown, fresh)
    assert analogy_digest(grown) == analogy_digest(fresh)
    for here, there in ((grown, other), (fresh, other), (other, grown)):
        assert first_difference(here, there) in pair_by_pair(here, there)
    assert [*differing(grown, other)] == [*differing(fresh, other)]
