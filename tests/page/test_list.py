"""The list: all events in causal order, a window of rows. The table: the verdict of each pair in its cell."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm

pytestmark = pytest.mark.browser

ALBUM = Path("examples/photo-album.jsonl")

EVENTS = 30_000

ROWS = """Array.from(document.querySelectorAll('#list [role=row]'),
  (row) => row.id + ' ' + row.children[1].textContent)"""


ACTIVE = "document.getElementById(find('rows').getAttribute('aria-activedescendant'))"

SCROLL = """(part) => {
  const box = find('rows');
  box.scrollTop = part * (box.scrollHeight - box.clientHeight);
  drawList();
}"""

BOTTOMS = """() => [find('rows').querySelector('[role=row]:last-of-type'), find('rows')]
  .map((one) => one.getBoundingClientRect().bottom)"""


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight processes that pass a message round, with steps between."""
    path = tmp_path_factory.mktemp("long") / "long.jsonl"
    with path.open("w") as file:
        for at in range(EVENTS // 4):
            process, following, turn = f"p{at % 8}", f"p{(at + 1) % 8}", f"m{at}"
            for kind, whose in (
                ("receive", f"m{at - 1}"),
                ("internal", ""),
                ("internal", ""),
                ("send", turn),
            ):
                row = {"process": process, "kind": kind} | ({"message": whose} if whose else {})
                if at or kind != "receive":
                    file.write(json.dumps(row | ({"to": [following]} if kind == "send" else {})) + "\n")
    return path


def test_a_window_of_many_events(page_of: Any, long_log: Path) -> None:
    tab = page_of(long_log, proofs="none")
    tab.tab.click("#show-list")
    tab.tab.wait_for_selector("#list [role=row]")
    grid = tab.tab.locator("#list [role=grid]")
    assert grid.get_attribute("aria-rowcount") == str(EVENTS - 1)
    assert len(tab.tab.evaluate(ROWS)) < 60
    order = tab.run("() => Array.from(causal())")
    assert sorted(order) == list(range(EVENTS - 1))
    edges = tab.run("() => [Array.from(model.src), Array.from(model.dst)]")
    place = {event: at for at, event in enumerate(order)}
    assert all(place[a] < place[b] for a, b in zip(*edges, strict=True))
    begins = {*tab.run("() => Array.from(model.offset)")}
    assert all(place[i] < place[i + 1] for i in range(EVENTS - 2) if i + 1 not in begins)
    grid.focus()
    press = tab.tab.keyboard.press
    press("End")
    assert tab.tab.evaluate(ROWS)[-1].startswith(f"row-{EVENTS - 2} ")
    assert tab.run(f"() => {ACTIVE}.getAttribute('aria-rowindex')") == str(EVENTS - 1)
    press("PageUp")
    press("ArrowUp")
    row, box = tab.run(f"() => [{ACTIVE}, find('rows')].map((one) => one.getBoundingClientRect().top)")
    assert row >= box
    row, box = tab.run(f"() => [{ACTIVE}, find('rows')].map((one) => one.getBoundingClientRect().bottom)")
    assert row <= box
    press("Enter")
    assert tab.run("() => app.state.a === causal()[listed.at]")
    tab.tab.wait_for_selector("#list [role=row] .mark.after")
    press("Home")
    press("Shift+Enter")
    assert tab.run("() => verdict(app.state.b, app.state.a)") == "<"
    assert not tab.errors


def test_a_list_taller_than_what_browsers_scroll(page_of: Any, long_log: Path) -> None:
    tab = page_of(long_log, proofs="none")
    tab.run("() => { listed.tallest = 200000; app.set({list: true}); }")
    tab.tab.wait_for_selector("#list [role=row]")
    rows, places = EVENTS - 1, (0, 0.25, 0.5, 1)
    for part in places:
        tab.run(SCROLL, part)
        numbers = [int(row.split()[0][4:]) for row in tab.tab.evaluate(ROWS)]
        assert numbers == [*range(numbers[0], numbers[-1] + 1)]
        assert abs(numbers[0] - part * rows) < 60
    assert numbers[-1] == rows - 1
    last, box = tab.run(BOTTOMS)
    assert last <= box + 2
    tab.run("() => { showRow(20000); drawList(); }")
    assert any(row.startswith("row-20000 ") for row in tab.tab.evaluate(ROWS))


def test_what_the_list_leaves_out(page_of: Any) -> None:
    tab = page_of(ALBUM, size=(1280, 1600))
    tab.run("() => { app.set({list: true, a: model.find('acl-seen')}); }")
    known = Microcosm.read(ALBUM)
    all_are_drawn = "many => document.querySelectorAll('#list [role=row]').length === many"
    tab.tab.wait_for_function(all_are_drawn, arg=len(known.events))
    signs = tab.tab.evaluate(
        "Array.from(document.querySelectorAll('#list [role=row]'), (row) => [row.children[1].textContent, "
        "row.querySelector('.mark [aria-hidden]')?.textContent ?? ''])"
    )
    assert {name: sign for name, sign in signs if name != "acl-seen"} == {
        event: known.online(event, "acl-seen").value or "silent"
        for event in known.events
        if event != "acl-seen"
    }
    names = "Array.from(document.querySelectorAll('#list [role=row]'), (row) => row.children[1].textContent)"
    tab.run("() => app.set({fold: true})")
    assert set(tab.tab.evaluate(names)) == set(known.events) - {"edit", "login", "choose", "backup"}
    tab.run("() => app.set({fold: false})")
    tab.tab.select_option("#list select", "found")
    assert tab.tab.evaluate(names) == []
    tab.tab.fill("#find", "process:phone")
    tab.tab.wait_for_function("document.querySelectorAll('#list [role=row]').length === 3")
    assert tab.tab.evaluate(names) == ["unshare", "digest-seen", "like-seen"]
    tab.tab.select_option("#list select", "all")
    tab.tab.click("summary:has-text('Lanes')")
    tab.tab.uncheck("label:has-text('tablet') input")
    assert not {"login", "ask", "look", "like"} & set(tab.tab.evaluate(names))
    assert tab.tab.evaluate("document.querySelector('#list .gap').textContent").count("digest")
    assert not tab.errors


@pytest.mark.parametrize("source", ["examples/photo-album.jsonl", "examples/clocks.mc", "examples/lock.mc"])
def test_each_cell_is_what_the_engine_says(page_of: Any, source: str) -> None:
    known = Microcosm.read(source)
    tab = page_of(known)
    tab.tab.keyboard.press("T")
    tab.tab.wait_for_selector("#table table")
    cells = tab.run(
        "() => Array.from(document.querySelectorAll('#table td[data-a]'), (cell) => "
        "[model.name(+cell.dataset.a), model.name(+cell.dataset.b), cell.dataset.sign])"
    )
    events = {a for a, _, _ in cells}
    assert {(a, b): sign for a, b, sign in cells} == {
        (a, b): known.online(a, b).value or "silent" for a in events for b in events if a != b
    }
    assert set(known.events) <= events
    tab.tab.focus("#table td[tabindex='0']")
    press = tab.tab.keyboard.press
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        press(key)
    chosen = tab.tab.evaluate("[+document.activeElement.dataset.a, +document.activeElement.dataset.b]")
    assert tab.run("() => [app.state.a, app.state.b]") == chosen
    assert tab.tab.locator("#table .chosen").count() == 1
    assert tab.tab.locator("#table td[tabindex='0']").count() == 1
    assert not tab.errors


def test_a_table_is_of_few_events(page_of: Any) -> None:
    for known in (Microcosm.parse(" < ".join(f"e{at}" for at in range(201))), Microcosm()):
        tab = page_of(known, proofs="none")
        tab.run("KEYS_OF_PAGE.T")
        assert "up to 200 events" in tab.tab.inner_text("#table")
        assert not tab.errors


@pytest.mark.parametrize("size", [(1200, 800), (1280, 500)])
def test_list_and_table_leave_the_picture_its_room(page_of: Any, size: tuple[int, int]) -> None:
    """They stood over the legend where both were open, and the table was a line of a pixel."""
    page = page_of(ALBUM, size=size)
    page.run("() => app.set({list: true, table: true})")
    edges = [page.tab.locator(part).bounding_box() for part in ("#stage", "#legend", "#list", "#table")]
    assert all(one["y"] + one["height"] <= other["y"] + 1 for one, other in pairwise(edges))
    assert all(one["height"] > 20 for one in edges)
