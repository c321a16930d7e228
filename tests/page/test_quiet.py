"""A page asks for nothing and runs nothing but its own scripts, whatever stands in the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm
from microcosm.page.write import page
from tests.page.test_file import ALBUM, HOSTILE, hostile

pytestmark = pytest.mark.browser


def test_no_request_but_the_file_itself(page_of: Any, tmp_path: Path) -> None:
    """From a folder that nobody may write to, with the network off, as it is: no door for tests in it."""
    folder = tmp_path / "sealed"
    folder.mkdir()
    file = folder / "album.html"
    file.write_text(page(Microcosm.read(ALBUM)), encoding="utf-8")
    file.chmod(0o444)
    folder.chmod(0o555)
    opened = page_of(file, door=False)
    opened.tab.context.set_offline(True)
    opened.requests.clear()
    opened.tab.goto(file.as_uri())
    opened.tab.locator("#counts", has_text="15 events").wait_for()
    opened.tab.locator("script[type='application/x-gzip-base64']").wait_for(state="detached")
    others = [each for each in opened.requests if not each.startswith(("blob:", "data:"))]
    assert others == [file.as_uri()]
    assert opened.errors == []
    folder.chmod(0o755)


def test_hostile_names_are_shown_and_run_nothing(page_of: Any) -> None:
    opened = page_of(hostile(), title=HOSTILE[0], files=[HOSTILE[3]])
    names = opened.run("() => Array.from({length: model.n}, (_, i) => model.name(i))")
    told = [name.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for name in HOSTILE]
    assert sorted(
        each.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for each in names
    ) == sorted(told)
    for name in HOSTILE:
        if name != "\ud800":
            assert opened.run("name => model.name(model.find(name)) === name", name)
    opened.run("() => app.set({a: 0, b: 5, focus: 3, list: true, table: true})")
    opened.tab.wait_for_timeout(300)
    assert opened.tab.title() == HOSTILE[0]
    assert opened.tab.evaluate("document.querySelectorAll('img, svg [onload], [onerror]').length") == 0
    assert opened.errors == []


def test_only_the_scripts_of_the_page_may_run(page_of: Any) -> None:
    """A script that somebody writes into the file is refused by its policy."""
    opened = page_of(ALBUM, door=False)
    text = opened.path.read_text(encoding="utf-8").replace(
        "</main>", "<script>window.bad = 1</script></main>"
    )
    opened.path.write_text(text, encoding="utf-8")
    opened.tab.goto(opened.path.as_uri())
    opened.tab.locator("#counts", has_text="15 events").wait_for()
    assert opened.tab.evaluate("window.bad") is None
    assert any("Content Security Policy" in error for error in opened.errors)
