"""The keyboard alone does everything, a link holds the state, and the page asks for nothing but its file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from microcosm import Correspondence, Microcosm, Relation

pytestmark = pytest.mark.browser

ALBUM = Path("examples/photo-album.jsonl")

STATE = """() => {
  const {a, b, focus, axis, x0, k, find, cut, list, table, panel, whatif} = app.state;
  const name = (i) => i < 0 ? null : model.name(i);
  return {a: name(a), b: name(b), focus: name(focus), axis, x0: +x0.toPrecision(6), k: +k.toPrecision(6),
          find, cut, list, table, panel, whatif: whatif && whatif.sign, order: [...model.order],
          hidden: [...app.state.hidden]};
}"""


def state(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = page.run(STATE)
    return found


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.tab.keyboard.press(key)


def label(page: Any) -> str:
    return str(page.tab.get_attribute("#picture", "aria-label"))


def fragment(page: Any) -> str:
    """The link as it stands half a second after the last change."""
    page.tab.wait_for_timeout(700)
    return str(page.tab.evaluate("location.hash.slice(1)"))


def test_keys_choose_walk_find_and_show(page_of: Any) -> None:
    page = page_of(ALBUM)
    tab = page.tab
    while tab.evaluate("document.activeElement.id") != "picture":
        press(page, "Tab")
    press(page, "ArrowRight")
    assert label(page).startswith("edit, process laptop, line 1")
    press(page, "ArrowDown", "ArrowDown")
    assert label(page).startswith("unshare, process phone, line 2")
    press(page, "m")
    assert label(page).startswith("acl-saved, process server")
    press(page, "Enter")
    assert state(page)["a"] == "acl-saved"
    assert "chosen as A" in label(page)
    press(page, "m", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft")
    assert "unknown to acl-saved" in label(page) or "after acl-saved" in label(page)
    press(page, "Shift+Enter")
    assert state(page)["b"] == state(page)["focus"]
    before = state(page)
    press(page, "x")
    assert (state(page)["a"], state(page)["b"]) == (before["b"], before["a"])
    press(page, "l", "T", "p", "c", "t", "d")
    now = state(page)
    assert now["list"]
    assert now["table"]
    assert now["cut"]
    assert not now["panel"]
    assert now["axis"] == "lines"
    assert tab.get_attribute("html", "data-theme") == "light"
    press(page, "Escape")
    assert state(page)["b"] is None
    press(page, "x")
    assert (state(page)["a"], state(page)["b"]) == (before["b"], None), "there is no B without an A"
    press(page, "Escape")
    assert state(page)["a"] is None
    assert not state(page)["cut"]
    press(page, "/", *"digest", "Enter")
    tab.wait_for_function("document.getElementById('hits').textContent.includes('2')")
    press(page, "n")
    assert label(page).startswith("digest")
    press(page, "?")
    assert tab.evaluate("document.getElementById('help').open")
    press(page, "Escape")
    assert not page.errors


def test_the_help_says_every_key(page_of: Any) -> None:
    page = page_of(ALBUM)
    said = page.run("() => Array.from(find('help').querySelectorAll('kbd'), (key) => key.textContent)")
    whole = {
        "Left": "ArrowLeft",
        "Right": "ArrowRight",
        "Up": "ArrowUp",
        "Down": "ArrowDown",
        "Esc": "Escape",
    }
    named = {re.sub(r"\w+$", lambda key: whole.get(key[0], key[0]), key) for key in said}
    assert named == {*page.run("() => Object.keys(KEYS_OF_PAGE)")} - {"="}


def test_letters_are_keys_only_where_nobody_writes_and_may_be_turned_off(page_of: Any) -> None:
    page = page_of(ALBUM)
    page.tab.focus("#find")
    press(page, "l", "t")
    assert not state(page)["list"]
    assert state(page)["axis"] == "steps"
    page.tab.focus("#picture")
    page.run("() => app.set({letters: false})")
    press(page, "l", "ArrowRight")
    assert not state(page)["list"]
    assert state(page)["focus"] == "edit"


def test_zoom_pan_and_the_lanes_obey_keys(page_of: Any) -> None:
    page = page_of(ALBUM)
    whole = state(page)
    page.tab.focus("#picture")
    press(page, "+", "+")
    assert state(page)["k"] > whole["k"] * 1.9
    press(page, "Shift+ArrowRight")
    assert state(page)["x0"] > whole["x0"]
    press(page, "0")
    assert state(page)["k"] == pytest.approx(whole["k"])
    assert state(page)["x0"] == pytest.approx(whole["x0"])
    press(page, "ArrowRight", "Alt+ArrowDown")
    order = state(page)["order"]
    assert [order[1], order[0], *order[2:]] == whole["order"]
    assert page.tab.inner_text("#live").endswith(f"is lane 2 of {len(order)}.")


def test_a_link_gives_the_same_state(page_of: Any) -> None:
    page = page_of(ALBUM)
    page.tab.focus("#picture")
    page.run("() => choose(model.find('digest'), false)")
    page.run("() => choose(model.find('acl-seen'), true)")
    press(page, "+", "t", "l", "c", "ArrowRight", "Alt+ArrowDown")
    page.run("() => app.set({find: 'photo', hidden: new Set([model.lane(model.find('login'))])})")
    page.run("(sign) => app.set({whatif: {a: app.state.a, sign, b: app.state.b}})", "<")
    link, before = fragment(page), state(page)
    again = page_of(ALBUM, fragment=link)
    assert state(again) == before
    assert "for another file" not in again.tab.inner_text("body")
    assert not page.errors
    assert not again.errors


def test_a_link_of_another_file_says_so(page_of: Any) -> None:
    page = page_of(ALBUM)
    page.run("() => choose(model.find('digest'), false)")
    link = fragment(page)
    digest = parse_qs(link)["digest"][0]
    again = page_of(ALBUM, fragment=link.replace(digest, "0" * len(digest)))
    assert state(again)["a"] == "digest"
    assert "This link was made for another file" in again.tab.inner_text("#note")
    stranger = page_of(ALBUM, fragment=f"a=nobody&digest={digest}")
    assert state(stranger)["a"] is None
    assert "nobody" in stranger.tab.inner_text("#note")


def test_the_address_may_change_under_an_open_page(page_of: Any) -> None:
    page = page_of(ALBUM)
    link = fragment(page)
    page.tab.evaluate("(link) => { location.hash = link; }", f"{link}&a=upload")
    page.tab.wait_for_function(
        "document.getElementById('picture').getAttribute('aria-label').includes('upload')"
    )
    assert state(page)["a"] == "upload"


@pytest.mark.parametrize("door", [True, False])
def test_the_page_asks_for_nothing_but_its_file(page_of: Any, door: bool) -> None:
    page = page_of(ALBUM, door=door)
    page.tab.wait_for_selector("body[data-ready]")
    page.tab.focus("#picture")
    press(page, "ArrowRight", "Enter", "ArrowDown", "Shift+Enter", "l", "T", "t")
    page.tab.wait_for_timeout(300)
    asked = [url for url in page.requests if not url.startswith(("blob:", "data:"))]
    assert [url.partition("#")[0] for url in asked] == [page.path.as_uri()]
    assert not page.errors


def test_svg_and_png_are_saved(page_of: Any, tmp_path: Path) -> None:
    page = page_of(ALBUM)
    page.run("() => choose(model.find('digest'), false)")
    for kind in ("svg", "png"):
        with page.tab.expect_download() as waited:
            page.tab.select_option("#save", kind)
        waited.value.save_as(tmp_path / f"picture.{kind}")
    svg = ET.parse(tmp_path / "picture.svg").getroot()
    shown = page.run("""() => {
      const {width} = size(), {x0, k} = app.state;
      return upTo(model.n).filter((i) => (scene.x[i] - x0) * k < width).length;
    }""")
    assert len(svg.findall(".//*[@class='event']")) == shown == 15
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_an_svg_of_hostile_names_is_xml(page_of: Any, tmp_path: Path) -> None:
    names = ["</script><img src=x onerror=alert(1)>", "a\u0000b", "&\"'<>", "\u202eabc", "x" * 10_000]
    known = Microcosm()
    for one, other in pairwise(names):
        known.add(Correspondence(one, Relation.BEFORE, other))
    page = page_of(known)
    root = ET.fromstring(page.run("() => { frame(); return pictureSvg(); }"))
    assert len(root.findall(".//*[@class='event']")) == len(names)
    assert not page.errors


def test_names_turn_round_nothing_that_stands_behind_them(page_of: Any) -> None:
    known = Microcosm()
    known.add(Correspondence("\u202eabc", Relation.BEFORE, "x\u2066y"))
    page = page_of(known)
    page.run("() => { app.set({list: true, table: true}); choose(0, false); choose(1, true); frame(); }")
    page.tab.wait_for_selector(".verdict h2")
    said = page.run("() => { find('live').remove(); return document.body.innerText; }")
    assert "abc" in said
    assert not {*said} & {"\u202e", "\u2066"}
    assert page.run("() => model.find('\u202eabc') >= 0 && commandFor('online', 0, 1).includes('\u202eabc')")


def test_at_400_pixels_everything_is_in_one_column(page_of: Any) -> None:
    page = page_of(ALBUM, size=(400, 800))
    boxes = {name: page.tab.locator(f"#{name}").bounding_box() for name in ("stage", "minimap", "panel")}
    assert boxes["stage"]["height"] >= 240
    assert boxes["stage"]["y"] < boxes["minimap"]["y"] < boxes["panel"]["y"]
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert len(page.run("() => { frame(); return pictureSvg(); }")) > 1000
    page.tab.set_viewport_size({"width": 100, "height": 800})
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 100


def test_print_shows_the_picture_on_white(page_of: Any) -> None:
    page = page_of(ALBUM, scheme="dark")
    page.run("() => { choose(model.find('digest'), false); frame(); }")
    page.tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.tab.emulate_media(media="print")
    assert page.tab.locator("#printed svg").first.is_visible()
    assert not page.tab.locator("#picture").is_visible()
    assert not page.tab.locator("#search").is_visible()
    assert page.tab.locator("#printed path.event").count() == 15
    assert page.tab.locator("#printed svg rect").first.get_attribute("fill") == "rgb(255, 255, 255)"
    page.tab.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.tab.locator("#printed").count() == 0


def test_what_can_be_clicked_is_said_on_paper_too(page_of: Any) -> None:
    page = page_of(ALBUM, pairs=[("unshare", "upload")])
    page.tab.wait_for_selector(".path")
    page.tab.emulate_media(media="print")
    assert "acl-saved" in page.tab.locator(".path").inner_text()
    assert "Copy" not in page.tab.locator("#panel").inner_text()


def test_the_page_begins_with_the_first_pair_that_it_was_asked_for(page_of: Any) -> None:
    pairs = [("unshare", "upload"), ("digest", "acl-seen")]
    page = page_of(ALBUM, pairs=pairs)
    assert (state(page)["a"], state(page)["b"]) == ("unshare", "upload")
    page.tab.wait_for_selector(".verdict")
    assert page.errors == []
    linked = page_of(ALBUM, pairs=pairs, fragment="a=ask")
    assert (state(linked)["a"], state(linked)["b"]) == ("ask", None)


@pytest.mark.parametrize(("control", "key"), [("Drop A", "Enter"), ("Drop B", "Space"), ("Drop B", "x")])
def test_the_focus_is_nowhere_lost_where_what_had_it_is_gone(page_of: Any, control: str, key: str) -> None:
    page = page_of(ALBUM, pairs=[("digest", "acl-seen")])
    page.tab.wait_for_selector(".verdict")
    page.tab.get_by_label(control, exact=True).focus()
    press(page, key)
    page.tab.wait_for_timeout(300)
    assert page.tab.evaluate("document.activeElement.id") == "picture"
