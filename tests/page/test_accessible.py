"""axe-core finds nothing against WCAG 2 A and AA, 2.1 and 2.2, in any colours and on a narrow screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

ALBUM = Path("examples/photo-album.jsonl")

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")

RULES = """async () => {
  const only = {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']};
  const {violations, passes} = await axe.run(document, {runOnly: only});
  return [passes.length, violations.map(({id, nodes}) => [id, nodes.map((node) => [node.html.slice(0, 160),
    (node.any[0] || node.all[0] || node.none[0] || {}).message])])];
}"""

SCREENS = {
    "light": {},
    "dark": {"scheme": "dark"},
    "forced colours": {},
    "narrow": {"size": (320, 640)},
    "narrow and dark": {"size": (320, 640), "scheme": "dark"},
}


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_found_against_the_guidelines(page_of: Any, screen: str) -> None:
    page = page_of(ALBUM, **SCREENS[screen])
    if screen == "forced colours":
        page.tab.emulate_media(forced_colors="active")
    page.tab.evaluate(AXE)
    states = [
        "() => 0",
        "() => { choose(model.find('digest'), false); choose(model.find('acl-seen'), true); }",
        "() => app.set({list: true, table: true, find: 'photo'})",
        "() => KEYS_OF_PAGE['?']()",
    ]
    for change in states:
        page.run(change)
        page.tab.wait_for_timeout(400)
        passed, violations = page.tab.evaluate(RULES)
        assert passed > 10
        assert not violations, violations


def test_axe_finds_what_is_wrong(page_of: Any) -> None:
    page = page_of(ALBUM)
    page.tab.evaluate(AXE)
    page.tab.evaluate(
        "document.getElementById('find').labels[0].remove(); document.getElementById('find').placeholder = ''"
    )
    page.tab.evaluate("document.getElementById('counts').style.color = '#ccc'")
    found = {rule for rule, _ in page.tab.evaluate(RULES)[1]}
    assert {"label", "color-contrast"} <= found
