"""What would follow of what is supposed is what a session says; what cannot be has a proof for the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from microcosm import Microcosm
from microcosm.cli.session.commands import COMMANDS
from microcosm.cli.session.session import How, Opened, Session
from microcosm.givens.givens import Givens
from microcosm.page import knowledge, write
from microcosm.state.opening import verify
from microcosm.text.names import quote
from tests.strategies import microcosms

pytestmark = pytest.mark.browser

ALBUM = Path("examples/photo-album.jsonl")

SUPPOSED = "([a, sign, b]) => supposed(model.find(a), sign, model.find(b))"

REFUTED = "([a, sign, b]) => refutation(model.find(a), sign, model.find(b))"


def told(known: Microcosm, line: str) -> dict[str, Any]:
    """What a session answers to a line."""
    session = Session(Opened(known, None, None, ""), How(known.rules), COMMANDS)
    answer = session.answer(line)
    assert answer is not None
    return dict(answer.fields())


each = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@each
@given(givens=microcosms(high=7), data=st.data())
def test_what_follows_is_what_a_session_says(bare: Any, givens: Givens, data: st.DataObject) -> None:
    known = Microcosm(givens)
    if known.conflict() is not None or len(known) < 2:
        return
    bare.show(known)
    names = bare.run("() => Array.from({length: model.n}, (_, i) => model.name(i))")
    a, b = data.draw(st.permutations(names))[:2]
    vague = bool(givens.tokens) or any(fact.relation.value == "<>" for fact in givens.external.values())
    plain = not (givens.stamps or givens.complete or givens.orderings)
    plain = plain and all(clock.ticked for clock in givens.clocks.values())
    for sign in ("<", "||", ">"):
        said = told(known, f"what if {quote(a)} {sign} {quote(b)}")
        found = bare.run(SUPPOSED, [a, sign, b])
        if said["possible"]:
            assert found["possible"]
            assert found["follows"] == said["follows"]
        else:
            assert not found["possible"] or vague  # what takes a proof by cases, the file does not know
        proof = bare.run(REFUTED, [a, sign, b])
        if proof is not None:
            assert not said["possible"]
            conclusion = proof["conclusion"]
            turned = sign == ">"
            assert [conclusion["left"], conclusion["right"]] == ([b, a] if turned else [a, b])
            assert conclusion["relation"] == ("!<" if turned else f"!{sign}")
            assert verify(known, proof).valid
        elif plain and not vague:
            assert said["possible"]


@each
@given(
    pairs=st.sets(st.sampled_from([*combinations("abcdefgh", 2)]), min_size=1, max_size=12), data=st.data()
)
def test_many_events_are_supposed_by_cones(
    bare: Any, pairs: set[tuple[str, str]], data: st.DataObject
) -> None:
    known = Microcosm.parse("\n".join(f"{a} < {b}" for a, b in sorted(pairs)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "LEFT", 0)
        patch.setattr(knowledge, "TABLED", data.draw(st.sampled_from([0, 2000])))
        bare.show(known, proofs="none")
    names = bare.run("() => Array.from({length: model.n}, (_, i) => model.name(i))")
    a, b = data.draw(st.permutations(names))[:2]
    found = bare.run(SUPPOSED, [a, "<", b])
    said = told(known, f"what if {quote(a)} < {quote(b)}")
    assert found["possible"] == said["possible"]
    if said["possible"]:
        assert found["count"] == len(said["follows"])
        ordered = {(x, y) if signs == ["<"] else (y, x) for x, y, signs in said["follows"]}
        assert {(x, y) for x, y, _ in found["follows"]} <= ordered
        assert not ordered or found["follows"]
    assert bare.run(SUPPOSED, [a, "||", b]) is None or known.online(a, b).value in "<>"


def test_what_cannot_be_has_a_proof(page_of: Any) -> None:
    used = set()
    for source in ("examples/photo-album.mc", "examples/clocks.mc"):
        known = Microcosm.read(source)
        tab = page_of(known)
        for a, b in permutations(tab.run("() => Array.from({length: model.n}, (_, i) => model.name(i))"), 2):
            refuted = {str(relation) for relation in known.offline(a, b).refuted}
            for sign in ("<", "||", ">"):
                proof = tab.run(REFUTED, [a, sign, b])
                assert (proof is not None) == (sign in refuted), (a, sign, b)
                if proof is not None:
                    assert verify(known, proof).valid, proof
                    used |= {step["rule"] for step in steps(proof)}
    assert {"Ref-<", "Ref-||", "Ref-<>", "Off-OK", "No-Tr-L", "No-Tr-R"} <= used


def steps(proof: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield proof
    for premise in proof["premises"]:
        yield from steps(premise)


def test_the_panel_says_it(page_of: Any) -> None:
    known = Microcosm.read(ALBUM)
    tab = page_of(known)
    tab.run("() => { app.set({a: model.find('acl-seen'), b: model.find('digest')}); }")
    tab.tab.click("#panel .suppose[data-sign='<']")
    tab.tab.wait_for_function("document.querySelectorAll('#whatif li').length > 0")
    said = told(known, "what if acl-seen < digest")
    assert tab.tab.inner_text("#whatif p").startswith(f"{len(said['follows'])} pairs decided further")
    shown = tab.tab.locator("#whatif li").all_inner_texts()
    assert sorted(shown) == sorted(f"{x} {' or '.join(left)} {y}" for x, y, left in said["follows"])
    assert shown[0] == "acl-seen < digest"  # of which the others follow
    tab.tab.click("#whatif li:nth-child(2) button")
    assert tab.run("() => app.state.whatif") is None
    tab.run("() => { app.set({a: model.find('acl-saved'), b: model.find('edit')}); }")
    tab.tab.click("#panel .suppose[data-sign='<']")
    tab.tab.wait_for_selector("#whatif .odd")
    assert tab.tab.inner_text("#whatif .odd") == "acl-saved < edit cannot be."
    assert tab.tab.locator("#whatif [role=treeitem]").count() > 3
    assert not tab.errors
