"""What the page says of two events is what the engine says; what it does not say, it does not know."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from microcosm import Microcosm, verify
from microcosm.files import shipped
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import read_rules
from microcosm.page import knowledge, write
from microcosm.page.columns import PageModel
from microcosm.page.knowledge import TooLarge
from tests.page.conftest import READY, Opened, opened_up
from tests.strategies import microcosms

pytestmark = pytest.mark.browser

SHARED = Path(__file__).parents[3] / "shared" / "traces"
ALBUM = shipped("examples") / "photo-album.jsonl"

EVERY_PAIR = """() => {
  const n = model.n, signs = [];
  for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) signs.push(a === b ? '' : verdict(a, b));
  return [Array.from({length: n}, (_, i) => model.name(i)), signs];
}"""

COUNTS = "() => Array.from({length: model.n}, (_, a) => regions(a).counts)"

CONES = """() => Array.from({length: model.n}, (_, a) => {
  const {past, future} = cone(a);
  return [[...past], [...future]];
})"""


def said(tab: Opened) -> dict[tuple[str, str], str]:
    """The verdict of the page on every ordered pair, by names."""
    names, signs = tab.run(EVERY_PAIR)
    pairs = ((a, b) for a in names for b in names)
    return {pair: sign for pair, sign in zip(pairs, signs, strict=True) if sign}


def held_to_the_engine(tab: Opened, known: Microcosm, head: dict[str, Any]) -> int:
    """Assert that each verdict is that of the engine; how many are not said."""
    found = said(tab)
    for (a, b), sign in found.items():
        truth = str(known.online(a, b))
        assert truth in head["unsaid"] if sign == "unsaid" else sign == truth, (a, b, sign, truth)
    assert {a for a, _ in found} >= {*known} or len(known) < 2
    return sum(sign == "unsaid" for sign in found.values())


def held_to_itself(tab: Opened) -> None:
    """Assert that regions count what verdicts say, and that cones hold what is before and after."""
    by_pair = said(tab)
    names = list(dict.fromkeys(a for a, _ in by_pair))
    counts, cones = tab.run(COUNTS), tab.run(CONES)
    offset = tab.run("() => [...model.offset]")
    for at, name in enumerate(names):
        signs = [by_pair[other, name] for other in names if other != name]
        assert {sign: count for sign, count in counts[at].items() if count} == {
            sign: signs.count(sign) for sign in set(signs)
        }
        past, future = cones[at]
        for chain, first in enumerate(offset[:-1]):
            for i in range(first, offset[chain + 1]):
                sign = by_pair.get((names[i], name))
                assert (i - first < past[chain]) == (sign == "<")
                assert (i - first >= future[chain]) == (sign == ">")


def shown(tab: Opened, known: Microcosm, *, table: bool = False, vectors: bool = True) -> dict[str, Any]:
    """Put a microcosm into the page; without `table` as if it had very many events. Its head."""
    with pytest.MonkeyPatch.context() as patch:
        if not table:
            patch.setattr(knowledge, "TABLED", 0)
        head = tab.show(known, proofs="none")
    if not vectors:
        tab.run("() => { model.vectors = null; }")
    return head


def orders_alone(givens: Givens) -> bool:
    return not (givens.clocks or givens.tokens) and all(
        fact.relation is Relation.BEFORE for fact in givens.external.values()
    )


each = settings(max_examples=70, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@each
@given(givens=microcosms(high=9, nasty=True))
def test_a_page_of_few_events_says_all(bare: Opened, givens: Givens) -> None:
    known = Microcosm(givens)
    head = shown(bare, known, table=True)
    assert held_to_the_engine(bare, known, head) == 0
    if len(known) > 1:
        held_to_itself(bare)


@each
@given(givens=microcosms(high=9), vectors=st.booleans())
def test_a_page_without_a_table_works_it_out(bare: Opened, givens: Givens, vectors: bool) -> None:
    known = Microcosm(givens)
    head = shown(bare, known, vectors=vectors)
    assert held_to_the_engine(bare, known, head) == 0 or not orders_alone(givens)
    if len(known) > 1:
        held_to_itself(bare)


@st.composite
def orders(draw: st.DrawFn) -> Givens:
    """Sparse orders of many events: of which much is unknown, and much is silent."""
    size, pairs = draw(st.integers(8, 24)), Givens()
    for _ in range(draw(st.integers(size // 2, 2 * size))):
        a, b = sorted((draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))))
        if a != b:
            pairs.add(Correspondence(f"p{a % 5}:{a}", Relation.BEFORE, f"p{b % 5}:{b}"))
    return pairs


@each
@given(givens=orders(), vectors=st.booleans())
def test_of_orders_alone_every_pair_is_said(bare: Opened, givens: Givens, vectors: bool) -> None:
    known = Microcosm(givens)
    assert held_to_the_engine(bare, known, shown(bare, known, vectors=vectors)) == 0
    if len(known) > 1:
        held_to_itself(bare)


LOGS = [ALBUM, shipped("examples") / "lease.jsonl"]
REAL = [SHARED / "shiviz" / "facebook.log", SHARED / "csight_2pc" / "2pc_3nodes_5tx.log"]


@pytest.mark.parametrize("log", [*LOGS, *REAL], ids=lambda log: log.name)
@pytest.mark.parametrize("table", [True, False], ids=["table", "worked out"])
def test_every_pair_of_a_log(bare: Opened, log: Path, table: bool) -> None:
    if not log.is_file():
        pytest.skip(f"no {log.name} here")
    known = Microcosm.read(log)
    head = shown(bare, known, table=table)
    unsaid = held_to_the_engine(bare, known, head)
    assert not (unsaid and table)


@pytest.mark.parametrize("dropped", ["online.rules: Un-3", "initial.rules: In-Tr"])
@pytest.mark.parametrize("text", ["a < b < c\nd < b\nd < e\nf || c\ng <> a", "internal a < b < c\na || x"])
def test_under_other_rules_it_is_the_rules_that_count(
    bare: Opened, tmp_path: Path, dropped: str, text: str
) -> None:
    file, name = dropped.split(": ")
    shutil.copytree(shipped("rules"), tmp_path / "rules")
    rules = (tmp_path / "rules" / file).read_text(encoding="utf-8")
    (tmp_path / "rules" / file).write_text(re.sub(rf"rule {name}:.*?(?=\nrule )", "", rules, flags=re.DOTALL))
    known = Microcosm.parse(text, rules=read_rules(tmp_path / "rules"))
    assert held_to_the_engine(bare, known, shown(bare, known, table=True)) == 0
    if name == "In-Tr":  # nothing but a table could say what is before what
        with pytest.raises(TooLarge):
            shown(bare, known)
    else:
        assert held_to_the_engine(bare, known, shown(bare, known)) > 0


PATHS = """() => {
  const found = [], n = model.n;
  for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) if (a !== b) {
    const way = path(a, b)?.map(step => model.name(step.event)) ?? null;
    found.push([model.name(a), model.name(b), proofOf(a, b), way]);
  }
  return found;
}"""


@each
@given(givens=microcosms(high=7), kept=st.booleans())
def test_every_proof_of_the_page_passes_the_kernel(bare: Opened, givens: Givens, kept: bool) -> None:
    known = Microcosm(givens)
    bare.show(known, proofs="all" if kept else "none")
    for a, b, proof, way in bare.run(PATHS):
        verdict = known.online(a, b)
        assert (way is not None) == (verdict is Relation.BEFORE)
        if way is not None:
            assert way[0] == a
            assert way[-1] == b
            assert all(known.online(x, y) is Relation.BEFORE for x, y in itertools.pairwise(way))
            assert proof is not None or (givens.clocks and not kept)
        if proof is not None:
            assert verify(known, proof).fault is None, (a, b, proof)
            conclusion = proof["conclusion"]
            sign = Relation(conclusion["relation"])
            turned = conclusion["left"] != a
            assert verdict is (sign.converse if turned else sign)
        elif kept:
            assert verdict is Relation.SILENT


ALBUM_ANSWERS = [("acl-saved", "ask", "?"), ("digest", "acl-seen", "silent"), ("unshare", "upload", "<")]


def test_the_album_answers_as_the_design_says(page_of: Any) -> None:
    tab = page_of(ALBUM, files=[str(ALBUM)])
    ask = "([a, b]) => verdict(model.find(a), model.find(b))"
    assert [tab.run(ask, [a, b]) for a, b, _ in ALBUM_ANSWERS] == [sign for *_, sign in ALBUM_ANSWERS]
    settle = "([a, b]) => settles(model.find(a), model.find(b)).map(one => one.text)"
    lost = "acl-seen < digest if what upload sent was received in the gap before digest"
    assert tab.run(settle, ["digest", "acl-seen"]) == [lost]
    assert tab.run(settle, ["acl-saved", "ask"]) == []  # ask can come in before digest, no earlier
    leaves = """([a, b]) => {
      const found = [], look = node => node.premises.length ? node.premises.map(look)
        : found.push(node.source.text);
      look(proofOf(model.find(a), model.find(b)));
      return found;
    }"""
    assert tab.run(leaves, ["unshare", "upload"]) == [
        "message acl", "process server", "message news", "process laptop", "process laptop"
    ]  # fmt: skip
    assert tab.run("() => model.head.gaps.map(([i, count]) => [model.name(i), count])") == [["digest", 5]]
    lanes = "() => [...model.order].map(lane => model.head.lanes[lane].name)"
    assert tab.run(lanes) == ["laptop", "server", "phone", "tablet"]
    whose = "name => model.head.lanes[model.lane(model.find(name))].name"
    assert [tab.run(whose, name) for name in ("choose", "backup")] == ["laptop", "server"]
    stubs = "() => Array.from(model.kind, (kind, i) => kind & 12 ? model.name(i) : '').filter(Boolean)"
    assert sorted(tab.run(stubs)) == ["ask", "look", "upload"]
    assert tab.errors == []


MUTANTS = {
    "< and > change places in the cone": (
        "return { past: past(a), future: future(a) }",
        "return { past: future(a), future: past(a) }",
    ),
    "? is counted as ||": ("counts['?'] += unknown", "counts['||'] += unknown"),
    "the zig-zag is forgotten": ("number % 2 ? -(number + 1) / 2 : number / 2", "number"),
    "an event is before itself": (
        "model.vectors[model.row[b] + model.place[c]] : past(b)[c]) >",
        "model.vectors[model.row[b] + model.place[c]] : past(b)[c]) >=",
    ),
    "what is beside is forgotten": ("counts['||'] += beside", "counts['silent'] += beside"),
    "the table is read upside down": ("turned(IN_TABLE", "(IN_TABLE"),
    "all that is apart is silent": ("if (count > far[c]) far[c] = count", "far[c] = 0"),
    "clocks of two events are one too many": (
        "model.kind[a] & model.kind[b] & CLOCKED",
        "model.kind[a] & CLOCKED",
    ),
}


def held_throughout(tab: Opened) -> None:
    """All that a mutant is held to; a page as it is passes."""
    clocked = "clock p1 = p {p: 1}\nclock q1 = q {q: 1}\nclock p2 = p {p: 2, q: 1}\nq1 < r\nr2 < s"
    for text in ("a < b < c\nd < b\nd < e\nf < c", "a < b\nb < d\nc < d\nc < e\na || f", clocked):
        for table in (True, False):
            known = Microcosm.parse(text)
            held_to_the_engine(tab, known, shown(tab, known, table=table))
            held_to_itself(tab)


def test_signs_beside_one_event_rest_on_what_is_known_of_that_one(bare: Opened) -> None:
    """Not on what is unknown to each of the others: a page of thousands stood still for minutes."""
    text = "\n".join(f"a{chain} < b{chain} < c{chain}\na{chain} < c{chain + 1}" for chain in range(20))
    known = Microcosm.parse(text)
    shown(bare, known)
    names = bare.run("() => Array.from({length: model.n}, (_, i) => model.name(i))")
    signs = bare.run("a => Array.from({length: model.n}, (_, i) => i === a ? '' : regions(a).sign(i))", 7)
    for name, sign in zip(names, signs, strict=True):
        assert sign == ("" if name == names[7] else str(known.online(name, names[7]))), name
    assert bare.run("() => model.memo.unknown.size") == 1


def test_the_page_as_it_is_passes_what_mutants_do_not(bare: Opened) -> None:
    held_throughout(bare)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_page_is_caught(chromium: Any, tmp_path: Path, name: str) -> None:
    right, wrong = MUTANTS[name]
    assert write.sources().count(right) == 1, right
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "_read", lambda file, read=write._read: read(file).replace(right, wrong))
        html = opened_up(write.page(Microcosm()))
    (tmp_path / "mutant.html").write_text(html, encoding="utf-8")
    tab = chromium.new_page()
    tab.goto((tmp_path / "mutant.html").as_uri())
    tab.wait_for_function(READY)
    with pytest.raises(AssertionError):
        held_throughout(Opened(tab, tmp_path / "mutant.html"))
    tab.close()


def test_a_gap_that_is_dropped_is_missed(bare: Opened) -> None:
    """The last mutant is one of the writer: then the page has no gap, nor anything that would settle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PageModel, "gaps", [])
        bare.show(Microcosm.read(ALBUM))
    assert bare.run("() => Array.from(model.kind).some(kind => kind & 32)") is False
    bare.show(Microcosm.read(ALBUM))
    assert bare.run("() => Array.from(model.kind).filter(kind => kind & 32).length") == 1
