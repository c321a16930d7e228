"""The site of docs/: built without a warning, no link of it leads nowhere, and it can be read by anybody.

That is by axe-core, on a narrow screen, in the dark, and without JavaScript.
"""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.page.test_accessible import AXE, RULES

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]

LOOKED_AT = ("index", "five-minutes", "reference/api", "reference/commands", "theory/np", "search")
SCREENS: tuple[dict[str, Any], ...] = (
    {"viewport": {"width": 400, "height": 800}},
    {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from nothing."""
    for name in ("sphinx", "myst_parser", "furo", "sphinx_copybutton", "sphinx_design"):
        pytest.importorskip(name, reason=f"no {name}: pip install 'causal-microcosm[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "-j", "2", "-d", str(folder / "doctrees")]
    ran = subprocess.run(
        [*command, "-b", "html", str(ROOT / "docs"), str(folder / "html")],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return folder / "html"


class Links(HTMLParser):
    """What a page leads to, and what in it can be led to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.names.update(filter(None, (said.get("id"), said.get("name"))))
        self.targets += filter(None, (said.get("href"), said.get("src")))


def broken(site: Path) -> list[str]:
    """The links within the site that lead nowhere, with the page that has them."""
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, links in pages.items():
        for link in links.targets:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                continue
            target = (path.parent / unquote(to.path)).resolve() if to.path else path
            anchor = to.fragment if target in pages else ""
            if not target.exists() or (anchor and unquote(anchor) not in pages[target].names):
                found.append(f"{path.relative_to(site)}: {link}")
    return found


def test_the_site(site: Path, chromium: Any) -> None:
    """One test, so that the site is built once."""
    assert len(list(site.rglob("*.html"))) > 50
    assert broken(site) == []
    for screen in SCREENS:
        context = chromium.new_context(**screen)
        tab = context.new_page()
        for name in LOOKED_AT:
            tab.goto((site / f"{name}.html").as_uri())
            tab.evaluate(AXE)
            passed, violations = tab.evaluate(RULES)
            assert passed > 5
            assert not violations, (name, violations)
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        tab.goto((site / "search.html").as_uri() + "?q=silent")
        tab.locator("ul.search a", has_text="Exit codes").wait_for()
        context.close()
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 400, "height": 800})
    tab = context.new_page()
    for name in LOOKED_AT[:3]:
        tab.goto((site / f"{name}.html").as_uri())
        assert tab.locator("h1").first.is_visible()
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    tab.locator("header label[for=__navigation]").first.click()
    tab.get_by_role("link", name="Guides", exact=True).first.click()
    assert tab.url.endswith("guides/index.html")
    context.close()


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#x">b</a><a href="#y"></a><a href="https://x"></a>', "utf-8"
    )
    (tmp_path / "b.html").write_text('<p id="z"></p><img src="c.svg"><a href="a.html"></a>', "utf-8")
    assert sorted(broken(tmp_path)) == ["a.html: #y", "a.html: b.html#x", "b.html: c.svg"]
