"""The page with a session behind it, in a browser: it asks, it hears, it keeps what was chosen."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from microcosm.cli.app import main
from microcosm.cli.session.page_session import Following, SessionBackend, reread
from microcosm.cli.session.session import How
from microcosm.logic.rulebook import read_rules
from microcosm.page.server import Turns, served
from microcosm.page.write import page
from microcosm.state.microcosm import Microcosm
from microcosm.text.mc_writer import write_mc
from tests import drat
from tests.notation import mc
from tests.page.conftest import opened_up
from tests.page.talking import at_once, behind, written
from tests.queries.test_offline import OPEN_CHORD

pytestmark = pytest.mark.browser

ALBUM = Path(__file__).parents[2] / "examples" / "photo-album.jsonl"
LINES = ALBUM.read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.fixture
def tabs(chromium: Any) -> Iterator[Callable[[SessionBackend, int], list[Any]]]:
    """Tabs with the page of one session, ready; faults of theirs fail the test.

    The browser is driven from this thread, so that the session is answered from another one, without a limit.
    """
    closing: list[Callable[[], object]] = []
    faults: list[str] = []

    def opening(who: SessionBackend, many: int) -> list[Any]:
        turns = Turns(0)
        server = served(who, turns)
        address = server.__enter__()
        worker = Thread(target=turns.work)
        worker.start()
        context = chromium.new_context(viewport={"width": 1280, "height": 800})
        closing.extend([turns.close, worker.join, context.close, lambda: server.__exit__(None, None, None)])
        found = []
        for _ in range(many):
            tab = context.new_page()
            tab.on("pageerror", lambda error: faults.append(str(error)))
            tab.goto(address)
            tab.wait_for_selector("body[data-ready=true]")
            found.append(tab)
        return found

    yield opening
    for close in closing:
        close()
    assert faults == [], faults


def says(tab: Any, line: str) -> str:
    """What the session answers to a line typed in the page."""
    tab.evaluate("document.getElementById('session').open = true")
    tab.fill("#line", line)
    tab.press("#line", "Enter")
    answer = tab.locator(f"#said li:has(code:text-is({line!r})) pre").first  # the page may say more meanwhile
    return str(answer.inner_text())


def choose(tab: Any, a: str, b: str) -> None:
    """A and B by the link."""
    tab.evaluate(f"location.hash = 'a={a}&b={b}'")
    tab.wait_for_selector(".verdict h2")


def test_the_token_is_struck_from_the_address_and_the_tab_can_be_loaded_again(tabs: Any) -> None:
    [tab] = tabs(behind(ALBUM), 1)
    assert "token" not in tab.url
    assert "15 events" in tab.inner_text("#counts")
    tab.reload()
    tab.wait_for_selector("body[data-ready=true]")
    assert "token" not in tab.url
    assert tab.title().endswith("photo-album.jsonl")


def test_two_tabs_see_what_one_of_them_supposes(tabs: Any) -> None:
    who = behind(ALBUM)
    one, other = tabs(who, 2)
    for tab in (one, other):
        choose(tab, "digest", "ask")
    assert "ask < digest" in says(one, "suppose ask < digest")
    for tab in (one, other):
        tab.wait_for_selector(".verdict h2:has-text('is after')")
    assert "suppose ask < digest" in says(other, "undo")
    for tab in (one, other):
        tab.wait_for_selector(".verdict h2:not(:has-text('is after'))")


HELD = """
const plain = window.fetch;
window.fetch = async (path, how) => {
    const found = await plain(path, how);
    const {dataset} = document.body;
    if (path.startsWith('columns')) dataset.asked = 1 + Number(dataset.asked ?? 0);
    if (path.startsWith('columns') && !window.free) {
        dataset.held = 'true';
        await new Promise((resolve) => { window.free = resolve; });
    }
    return found;
};
"""
"""Holds the first columns that come until they are let `free`, and counts how often some were `asked` for."""


def test_what_is_withdrawn_while_columns_come_does_not_stay(tabs: Any) -> None:
    one, other = tabs(behind(ALBUM), 2)
    choose(one, "digest", "ask")
    one.evaluate(f"() => {{{HELD}}}")
    says(one, "suppose ask < digest")
    one.wait_for_selector("body[data-held]")
    says(other, "undo")
    one.wait_for_timeout(800)  # the other change is told while the columns of this one are held
    one.evaluate("window.free()")
    one.wait_for_selector("body[data-asked='2']")
    one.wait_for_selector(".verdict h2:not(:has-text('is after'))")


def test_what_is_said_while_columns_come_is_shown_too(tabs: Any) -> None:
    [tab] = tabs(behind(ALBUM), 1)
    tab.route("**/events", lambda route: route.abort())  # so that only its own answers tell of changes
    tab.reload()
    tab.wait_for_selector("body[data-ready=true]")
    choose(tab, "digest", "ask")
    tab.evaluate(f"() => {{{HELD}}}")
    says(tab, "suppose ask < digest")
    tab.wait_for_selector("body[data-held]")
    says(tab, "undo")
    says(tab, "suppose digest < ask")
    tab.evaluate("window.free()")
    tab.wait_for_selector(".verdict h2:has-text('is before')")


def test_what_if_is_what_the_session_answers_and_is_kept_and_undone(tabs: Any) -> None:
    who = behind(ALBUM)
    [tab] = tabs(who, 1)
    choose(tab, "ask", "digest")
    tab.click(".suppose[data-sign='<']")
    tab.wait_for_selector("#whatif p:has-text('decided further')")
    told = who.answer("what if ask < digest")
    assert tab.inner_text("#whatif p").startswith(f"{len(told['follows'])} ")
    assert "what if ask < digest" in tab.text_content("#said")
    tab.click("#whatif button:has-text('Keep')")
    tab.wait_for_selector(".verdict h2:has-text('is before')")
    assert who.session.known.online("ask", "digest").value == "<"
    says(tab, "undo")
    assert who.session.known.online("ask", "digest").value != "<"


def test_a_and_b_stay_while_the_log_grows(tabs: Any, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text("".join(LINES[:8]), encoding="utf-8")
    who = behind(log)
    [tab] = tabs(who, 1)
    choose(tab, "unshare", "acl-seen")
    for many in (11, 15):
        log.write_text("".join(LINES[:many]), encoding="utf-8")
        found = reread([str(log)], How(read_rules()))
        who.renew(found, who.pack(found.known, found))
        tab.wait_for_selector(f"#counts:has-text('{many} events')")
        assert "unshare is before acl-seen" in tab.inner_text(".verdict h2")
    assert "a=unshare&b=acl-seen" in tab.url


def test_what_a_solver_alone_refuted_says_how_to_have_its_certificate(
    tabs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pysat", reason="the extra `sat` is not installed")
    monkeypatch.setattr("microcosm.tuning.ASSUMPTIONS", 1)
    monkeypatch.setattr("microcosm.page.write.LEFT", 0)  # as of many events: the session is asked
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.mc"
    path.write_text(write_mc(mc(OPEN_CHORD)), encoding="utf-8")
    [tab] = tabs(behind(path), 1)
    tab.evaluate(
        "Object.defineProperty(navigator, 'clipboard',"
        " {value: {writeText: async (text) => { window.copied = text; }}})"
    )
    choose(tab, "b", "e")
    tab.click("text=Copy refutation")
    tab.wait_for_function("window.copied")
    command = shlex.split(tab.evaluate("window.copied"))
    assert command[0] == "microcosm"
    assert main([*command[1:], "--json"]) == 0
    cnf, proof = (Path(f"OUT.{kind}").read_text(encoding="utf-8") for kind in ("cnf", "drat"))
    assert drat.fault(cnf, proof) is None


def test_saving_asks(tabs: Any, tmp_path: Path) -> None:
    who = behind(ALBUM)
    [tab] = tabs(who, 1)
    target = tmp_path / "saved.mc"
    asked: list[str] = []
    answers = [False, True]

    def answer(dialog: Any) -> None:
        asked.append(dialog.message)
        dialog.accept() if answers.pop(0) else dialog.dismiss()

    tab.on("dialog", answer)
    tab.evaluate("document.getElementById('session').open = true")
    tab.fill("#line", f"save {target}")
    tab.press("#line", "Enter")
    tab.wait_for_timeout(300)
    assert not target.exists()
    says(tab, f"save {target}")
    assert target.exists()
    assert len(asked) == 2
    assert all(str(target) in each for each in asked)


def test_a_session_that_has_ended_is_said_and_the_page_stays(chromium: Any) -> None:
    turns = Turns(0)
    who = behind(ALBUM)
    with served(who, turns) as address:
        worker = Thread(target=turns.work)
        worker.start()
        context = chromium.new_context()
        tab = context.new_page()
        tab.goto(address)
        tab.wait_for_selector("body[data-ready=true]")
    turns.close()
    worker.join()
    tab.wait_for_selector("#note:has-text('The session has ended')", timeout=10_000)
    assert "15 events" in tab.inner_text("#counts")
    tab.fill("#find", "look ? acl-saved")
    tab.click("#matches .found button")
    tab.wait_for_selector("section[aria-label='What would settle it']")
    assert tab.inner_text("section[aria-label='What would settle it'] p") == "The session does not say."
    context.close()


def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing(chromium: Any, tmp_path: Path) -> None:
    names = ['"</script><img src=x onerror=parent.hit=1>"', "b"]
    shown = Microcosm.parse(" < ".join(names))._repr_html_()
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{shown}{shown}", encoding="utf-8")
    context = chromium.new_context()
    tab = context.new_page()
    faults: list[str] = []
    asked: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(path.as_uri())
    for frame in tab.frames[1:]:
        frame.wait_for_selector("body[data-ready=true]")
        assert "2 events" in frame.inner_text("#counts")
        assert (
            frame.evaluate("(() => { try { return String(parent.document) } catch { return 'kept out' } })()")
            == "kept out"
        )
    assert len(tab.frames) == 3
    assert tab.evaluate("window.hit") is None
    assert faults == [], faults
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    tab.click("summary >> nth=0")
    assert tab.is_visible("svg >> nth=0")
    context.close()


@pytest.mark.parametrize(
    "style", ["display: none", "width: 0", "width: 40px", "width: 140px", "width: 900px"]
)
def test_a_page_in_a_frame_that_opens_later_shows_the_whole_log(
    chromium: Any, tmp_path: Path, style: str
) -> None:
    shown = escape(opened_up(page(Microcosm.parse("\n".join(f"a{i} < a{i + 1}" for i in range(9))))))
    path = tmp_path / "folded.html"
    path.write_text(
        f'<!doctype html><meta charset=utf-8><body><iframe style="{style}" srcdoc="{shown}"></iframe>',
        encoding="utf-8",
    )
    context = chromium.new_context()
    tab = context.new_page()
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.goto(path.as_uri())
    frame = tab.frames[1]
    frame.wait_for_selector("body[data-ready=true]", state="attached")
    for wide in (700, 900):
        tab.evaluate(f"document.querySelector('iframe').style.cssText = 'width: {wide}px; height: 600px'")
        frame.wait_for_function(
            "window.inside('() => view.width > 100 && view.x0 < 0 && view.width / view.k < 2 * scene.end"
            " && view.right > scene.end')"
        )
        frame.wait_for_function(f"innerWidth === {wide}")
    assert faults == [], faults
    context.close()


def test_a_log_that_grows_is_seen_as_the_whole(tabs: Any, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    lines = [*written(400, 4)]
    log.write_text("".join(lines[:200]), encoding="utf-8")
    who, following = behind(log), Following([str(log)], How(read_rules()))
    [tab] = tabs(who, 1)
    for end in (300, 301, 355, 400):
        log.write_text("".join(lines[:end]), encoding="utf-8")
        following.look(who, at_once)
        tab.wait_for_selector(f"#counts:has-text('{end} events')")
        tab.wait_for_timeout(300)
        [other] = tabs(who, 1)
        assert _seen(tab) == _seen(other)
        other.close()


def _seen(tab: Any) -> list[str]:
    """The picture, and what the list says."""
    return [
        tab.evaluate("document.querySelector('canvas').toDataURL()"),
        tab.evaluate("document.getElementById('list').textContent"),
    ]
