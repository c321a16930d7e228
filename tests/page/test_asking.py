"""What the file does not have, the panel asks the session where there is one, and shows it the same way."""

from __future__ import annotations

from typing import Any

import pytest

from microcosm import Microcosm
from microcosm.page import knowledge, write
from tests.page.test_whatif import told

pytestmark = pytest.mark.browser

CHOOSE = "([a, b]) => { app.set({a: model.find(a), b: model.find(b)}); }"


@pytest.fixture
def poor(page_of: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A page without table, possibilities and proofs, and the lines that its session heard."""
    monkeypatch.setattr(knowledge, "TABLED", 0)
    monkeypatch.setattr(write, "LEFT", 0)
    known = Microcosm.parse("a < b < c \n d < e \n b || d \n c <> x \n token lock = e, x")
    tab = page_of(known, proofs="none", files=["know.mc"])
    heard: list[str] = []

    def session(line: str) -> Any:
        heard.append(line)
        return told(known, line)

    tab.tab.expose_function("session", session)
    return tab, known, heard


def test_a_file_alone_says_what_it_does_not_know(poor: Any) -> None:
    tab, _, heard = poor
    tab.run(CHOOSE, ["a", "e"])
    tab.tab.wait_for_selector("#chosen .badge")
    assert "is not ordered with" in tab.tab.inner_text("#chosen .verdict h2")
    assert "not in this page" in tab.tab.inner_text("#chosen .verdict")
    tab.tab.click(".suppose[data-sign='||']")
    tab.tab.wait_for_selector("#whatif p")
    assert tab.tab.inner_text("#whatif p") == "What would follow of a || e is not in this page."
    assert heard == []
    assert not tab.errors


def test_a_session_is_asked_for_the_rest(poor: Any) -> None:
    tab, known, heard = poor
    tab.run("() => { app.ask = (line) => window.session(line); }")
    tab.run(CHOOSE, ["a", "e"])
    tab.tab.wait_for_selector("section[aria-label='What would settle it']")
    verdict = known.online("a", "e")
    word = {"?": "is unknown to", None: "is silent beside"}[verdict.value]
    assert tab.tab.inner_text("#chosen .verdict h2").endswith(f"a {word} e")
    assert heard[:3] == ["a ? e", "why a ? e", "offline a e"]
    assert tab.tab.locator("#chosen [role=tree]").count() == 1
    left = known.offline("a", "e").possible
    assert tab.tab.locator("#chosen .chip:not(.refuted)").count() == len(left)
    tab.tab.click(".suppose[data-sign='||']")
    tab.tab.wait_for_selector("#whatif li")
    said = told(known, "what if a || e")
    assert tab.tab.inner_text("#whatif p").startswith(f"{len(said['follows'])} pair")
    tab.tab.click("#whatif button:text('Keep')")
    tab.tab.wait_for_function("true")
    assert heard[-1] == "suppose a || e"
    assert not tab.errors


def test_refuted_chips_open_their_proofs(poor: Any) -> None:
    tab, _, _ = poor
    tab.run("() => { app.ask = (line) => window.session(line); }")
    tab.run(CHOOSE, ["c", "x"])
    tab.tab.wait_for_selector("#chosen .chip.refuted")
    tab.tab.click("#chosen button.refuted")
    assert tab.tab.inner_text("[role=treeitem] .step >> nth=0").startswith("⊩ c !|| x")
    assert tab.tab.inner_text("#chosen .badge span >> nth=0") == "<>"
    assert not tab.errors
