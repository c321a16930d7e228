"""What the page says of two events is what the engine says; what it does not say, it does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from microcosm import Microcosm
from microcosm.givens.givens import Givens
from microcosm.page import knowledge
from tests.strategies import microcosms

pytestmark = pytest.mark.browser

SHARED = Path("/work/shared/traces")

TURNED = {"<": ">", ">": "<"}

EVERY_PAIR = """() => {
  const n = app.model.n, signs = [];
  for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) signs.push(a === b ? '' : verdict(a, b));
  return [Array.from({length: n}, (_, i) => app.model.name(i)), signs];
}"""

COUNTS = "() => Array.from({length: app.model.n}, (_, a) => regions(a).counts)"

CONES = """() => Array.from({length: app.model.n}, (_, a) => {
  const {past, future} = cone(a);
  return [[...past], [...future]];
})"""


def said(tab: Any) -> dict[tuple[str, str], str]:
    """The verdict of the page on every ordered pair, by names."""
    names, signs = tab.run(EVERY_PAIR)
    pairs = ((a, b) for a in names for b in names)
    return {pair: sign for pair, sign in zip(pairs, signs, strict=True) if sign}


def held_to_the_engine(tab: Any, known: Microcosm, head: dict[str, Any]) -> int:
    """Assert that each verdict is that of the engine; how many are not said."""
    unsaid = 0
    for (a, b), sign in said(tab).items():
        truth = str(known.online(a, b))
        if sign == "unsaid":
            unsaid += 1
            assert truth in head["unsaid"], (a, b, truth)
        else:
            assert sign == truth, (a, b)
    return unsaid


def held_to_itself(tab: Any) -> None:
    """Assert that regions count what verdicts say, and that cones hold what is before and after."""
    by_pair = said(tab)
    names = list(dict.fromkeys(a for a, _ in by_pair))
    counts, cones = tab.run(COUNTS), tab.run(CONES)
    offset = tab.run("() => [...app.model.chains.offset]")
    for at, name in enumerate(names):
        signs = [by_pair[other, name] for other in names if other != name]
        assert {sign: count for sign, count in counts[at].items() if count} == {
            sign: signs.count(sign) for sign in set(signs)
        }
        past, future = cones[at]
        for chain, first in enumerate(offset[:-1]):
            for i in range(first, offset[chain + 1]):
                assert (i - first < past[chain]) == (i != at and by_pair[names[i], name] == "<")
                assert (i - first >= future[chain]) == (i != at and by_pair[names[i], name] == ">")


each = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@each
@given(givens=microcosms(high=9))
def test_a_page_of_few_events_says_all(bare: Any, givens: Givens) -> None:
    known = Microcosm(givens)
    head = bare.show(known, proofs="none")
    assert held_to_the_engine(bare, known, head) == 0
    if len(known) > 1:
        held_to_itself(bare)


@each
@given(givens=microcosms(high=9), vectors=st.booleans())
def test_a_page_without_a_table_works_it_out(bare: Any, givens: Givens, vectors: bool) -> None:
    known = Microcosm(givens)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knowledge, "TABLED", 0)
        head = bare.show(known, proofs="none")
    if not vectors:
        bare.run("() => { app.model.found.vectors = null; }")
    alone = not (givens.clocks or givens.tokens)
    alone = alone and all(fact.relation.value == "<" for fact in givens.external.values())
    assert not held_to_the_engine(bare, known, head) or not alone
    if len(known) > 1:
        held_to_itself(bare)
