"""A page in a real browser: `page_of` writes one, opens it in Chromium from the file, and hands it over.

The browser is that of the machine (`MICROCOSM_CHROMIUM`, or one of `PROGRAMS` on the path); where there is
none, or no Playwright, what needs it is skipped, and says so. Playwright's plugin for pytest is not used.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from microcosm.givens.givens import Givens
from microcosm.page.shorten import shortened
from microcosm.page.write import contents, page, scripts, sources
from microcosm.state.microcosm import Microcosm

PROGRAMS = ("chromium-headless-shell", "chromium")
"""The same engine, which takes half as long where it has no window to draw."""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--no-first-run"]

SHOW = "async ([head, texts]) => shown(head, await unpack(head, texts, VECTORS))"

READY = "window.inside && window.inside('() => model.head !== null')"

DECLARED = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
"""What the scripts declare for all of them."""

INNER = "})();\n"
"""The end of the one function in which all scripts stand."""


@dataclass
class Opened:
    """A tab with a page, and what it did that no page may: errors, dialogs, requests."""

    tab: Any
    path: Path
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def run(self, script: str, argument: Any = None) -> Any:
        """What an expression of the page's own scope is, or what a promise of it becomes."""
        return self.tab.evaluate("([script, given]) => window.inside(script, given)", [script, argument])

    def show(self, known: Microcosm, **options: Any) -> dict[str, Any]:
        """Put the model of another microcosm in the place of this one, for questions alone; its head."""
        head, columns = contents(known, **options)
        head["columns"] = [{"name": c.name, "type": c.kind, "count": c.count} for c in columns]
        self.run(SHOW, [head, {column.name: column.packed for column in columns}])
        return head


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser for all tests of a worker."""
    found = (os.environ.get("MICROCOSM_CHROMIUM"), *map(shutil.which, PROGRAMS))
    program = next(filter(None, found), None)
    if program is None:
        pytest.skip("no Chromium: install chromium-headless-shell, or set MICROCOSM_CHROMIUM")
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="no Playwright: pip install 'causal-microcosm[browser]'"
    )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def bare(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """A page that shows nothing yet: `show` gives it one microcosm after another."""
    path = tmp_path_factory.mktemp("page") / "bare.html"
    path.write_text(opened_up(page(Microcosm())), encoding="utf-8")
    found = Opened(chromium.new_page(), path)
    found.tab.goto(path.as_uri())
    found.tab.wait_for_function(READY)
    return found


def opened_up(html: str) -> str:
    """The page with a door into the one scope of its scripts, for tests alone; its policy lets it be.

    The scripts are as in any page, made shorter; tests call what is in them by the names of the sources.
    """
    script, (_, names) = scripts(), shortened(sources())
    declared = DECLARED.findall(sources())
    known = ",".join(f"{name}:{_seen(name, names)}" for name in declared)
    inner = f"(()=>{{const {{{','.join(declared)}}}=window.declared;return "
    asked = f"window.declared={{{known}}};return eval('{inner}'+script+'}})()')(argument)"
    door = f"window.inside=(script,argument)=>{{{asked}}};"
    assert html.count(script) == 1, "the scripts of the page as they are joined"
    html = re.sub(
        "script-src .*? style-src", "script-src 'unsafe-inline' 'unsafe-eval'; style-src", html, count=1
    )
    return html.replace(script, script.removesuffix(INNER) + f";{door}{INNER}")


def _seen(name: str, names: dict[str, str]) -> str:
    """What a name of the sources is in the page: an object may have been taken apart into its members."""
    members = [
        (one.removeprefix(f"{name}."), new) for one, new in names.items() if one.startswith(f"{name}.")
    ]
    parts = (f"get {one}(){{return {new}}},set {one}(given){{{new}=given}}" for one, new in members)
    return f"{{{','.join(parts)}}}" if members else names[name]


@pytest.fixture
def page_of(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """A page of a microcosm, of givens or of a file, opened from disk and ready, as `Opened`.

    Options are those of `microcosm.page.write.page`; `size` is that of the window, `scheme` light or dark,
    `fragment` what stands behind `#`. `door=False` opens the file as it is, with nothing to look inside.
    """
    contexts = []

    def opening(
        source: Microcosm | Givens | str | Path,
        *,
        size: tuple[int, int] = (1280, 800),
        scheme: str = "light",
        fragment: str = "",
        door: bool = True,
        **options: Any,
    ) -> Opened:
        if isinstance(source, str | Path) and str(source).endswith(".html"):
            html = Path(source).read_text(encoding="utf-8")
        else:
            known = source if isinstance(source, Microcosm) else _known(source)
            html = page(known, **options)
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(opened_up(html) if door else html, encoding="utf-8")
        width, height = size
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        found = Opened(tab, path)
        tab.on("pageerror", lambda error: found.errors.append(str(error)))
        tab.on("dialog", lambda dialog: (found.errors.append(dialog.message), dialog.dismiss()))
        tab.on("console", lambda said: found.errors.append(said.text) if said.type == "error" else None)
        tab.on("request", lambda request: found.requests.append(request.url))
        tab.goto(path.as_uri() + (f"#{fragment}" if fragment else ""))
        if door:
            tab.wait_for_function(
                "window.inside && window.inside('() => model.head !== null')", timeout=30_000
            )
        return found

    yield opening
    for context in contexts:
        context.close()


def _known(source: Givens | str | Path) -> Microcosm:
    return Microcosm(source) if isinstance(source, Givens) else Microcosm.read(source)
