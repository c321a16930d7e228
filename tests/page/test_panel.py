"""The panel: what it says of one event and of two, proofs that keys walk and the kernel takes, copies."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm
from microcosm.cli.app import main
from microcosm.state.opening import verify
from microcosm.text.names import quote

pytestmark = pytest.mark.browser

ALBUM = Path("examples/photo-album.jsonl")

CHOOSE = (
    "([a, b]) => { app.set({a: model.find(a), b: b === null ? -1 : model.find(b), focus: model.find(a)}); }"
)

COPIES = """() => {
  window.copied = [];
  const writeText = async (text) => { window.copied.push(text); };
  Object.defineProperty(navigator, "clipboard", {value: {writeText}});
}"""

FOCUSED = "document.activeElement.getAttribute('aria-label')"


@pytest.fixture
def album(page_of: Any) -> Any:
    return page_of(ALBUM, files=[str(ALBUM)])


Say = Callable[..., str]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """What the command line says to some arguments."""

    def said(*arguments: str) -> str:
        capsys.readouterr()
        main(list(arguments))
        return capsys.readouterr().out

    return said


def texts(tab: Any, selector: str) -> list[str]:
    return [text.strip() for text in tab.tab.locator(selector).all_inner_texts()]


def chosen(tab: Any, a: str, b: str | None = None) -> None:
    tab.run(CHOOSE, [a, b])
    tab.tab.wait_for_selector("#chosen .badge" if b else "#chosen .card")


def test_one_event_and_what_is_beside_it(album: Any) -> None:
    chosen(album, "digest")
    card = album.tab.inner_text("#chosen .card")
    row = ALBUM.read_text().splitlines()[10]
    assert "the server, five events of its log lost, mails a digest" in card
    assert "server, sends mail" in card
    assert f"{ALBUM}:11" in card
    assert row in card
    assert "events are missing before it" in card
    known = Microcosm.read(ALBUM)
    signs = [known.online(other, "digest").value for other in known.events if other != "digest"]
    words = {"<": "before", ">": "after", "||": "concurrent", "?": "unknown", None: "silent"}
    expected = {f"{signs.count(sign)} {word}" for sign, word in words.items() if sign in signs}
    assert {" ".join(text.split()[-2:]) for text in texts(album, "#chosen .regions li")} == expected
    album.tab.click("#chosen .regions li:first-child button")
    before = {
        event for event in known.events if event != "digest" and known.online(event, "digest").value == "<"
    }
    assert set(album.run("() => Array.from(app.state.found, (i) => model.name(i))")) == before
    assert not album.errors


@pytest.mark.parametrize(
    ("a", "b", "sign", "says"),
    [
        ("unshare", "upload", "<", "unshare is before upload"),
        ("upload", "unshare", ">", "upload is after unshare"),
        ("acl-saved", "ask", "?", "acl-saved is unknown to ask"),
        ("digest", "acl-seen", "silent", "digest is silent beside acl-seen"),
        ("edit", "login", "||", "edit is concurrent with login"),
    ],
)
def test_a_pair_is_said_as_it_is_known(album: Any, a: str, b: str, sign: str, says: str, say: Say) -> None:
    chosen(album, a, b)
    assert says in album.tab.inner_text("#chosen .verdict h2")
    assert album.tab.inner_text("#chosen .badge span >> nth=0") == sign
    offline = json.loads(say("offline", str(ALBUM), a, b, "--json"))
    shown = {each.split()[0] for each in texts(album, "#chosen .chips .chip:not(.refuted) [aria-hidden]")}
    assert shown == set(offline["possible"])
    refuted = album.tab.locator("#chosen .chips .refuted").count()
    assert refuted == 3 - len(shown)
    proofs = album.tab.locator("#chosen [role=tree]").count()
    assert proofs == (sign != "silent")
    assert not album.errors


def test_a_silent_pair_is_settled_by_the_lost_photo(album: Any) -> None:
    chosen(album, "digest", "acl-seen")
    album.tab.wait_for_selector("section[aria-label='What would settle it'] li")
    said = texts(album, "section[aria-label='What would settle it'] li")
    assert said == ["acl-seen < digest if what upload sent was received in the gap before digest"]
    chosen(album, "edit", "acl-saved")
    album.tab.wait_for_selector("section[aria-label='What would settle it'] p")
    assert texts(album, "section[aria-label='What would settle it'] p") == [
        "No lost message of this log could: only a record from elsewhere."
    ]


def test_a_proof_is_walked_by_keys_and_names_its_sources(album: Any) -> None:
    chosen(album, "unshare", "upload")
    leaves = texts(album, "[role=tree] .leaf > .step")
    assert leaves == [
        "⊢₀ unshare < acl-saved message acl, line 4",
        "⊢₀ acl-saved < acl-told process server, line 6",
        "⊢₀ acl-told < acl-seen message news, line 7",
        "⊢₀ acl-seen < choose process laptop, line 8",
        "⊢₀ choose < upload process laptop, line 9",
    ]
    press, tab = album.tab.keyboard.press, album.tab
    tab.focus("[role=tree] [role=treeitem]")
    assert tab.evaluate(FOCUSED).startswith("⊢ unshare < upload")
    lit = "() => app.state.lit.map((i) => model.name(i))"
    assert album.run(lit) == ["unshare", "acl-saved", "acl-told", "acl-seen", "choose", "upload"]
    press("ArrowDown")
    press("ArrowDown")
    assert tab.evaluate(FOCUSED) == "⊢₀ unshare < acl-saved, message acl, line 4"
    assert album.run(lit) == ["unshare", "acl-saved"]
    press("End")
    assert tab.evaluate(FOCUSED).startswith("⊢₀ choose < upload")
    press("ArrowDown")
    assert tab.evaluate(FOCUSED).startswith("⊢₀ choose < upload")
    press("[")
    assert tab.evaluate(FOCUSED).startswith("⊢₀ acl-seen < choose")
    press("Enter")
    line = ALBUM.read_text().splitlines()[7]
    assert tab.inner_text("#opened .here").strip() == line
    assert line in tab.inner_text("#live")
    assert album.run("() => model.name(app.state.focus)") == "choose"
    press("ArrowLeft")
    assert tab.evaluate(FOCUSED).startswith("⊢₀ unshare < upload, In-Tr")
    press("ArrowLeft")
    assert tab.locator("[role=tree] .leaf:visible").count() == 0
    press("ArrowRight")
    press("ArrowRight")
    assert tab.evaluate(FOCUSED).startswith("⊢₀ unshare < acl-saved")
    press("Home")
    assert tab.evaluate(FOCUSED).startswith("⊢ unshare < upload")
    assert tab.locator("[role=tree] [tabindex='0']").count() == 1
    tab.evaluate("document.activeElement.blur()")
    assert album.run(lit) == []
    assert not album.errors


def test_keys_alone(album: Any) -> None:
    press, tab = album.tab.keyboard.press, album.tab
    tab.focus("#picture")
    press("/")
    tab.keyboard.type("line:2")
    tab.wait_for_function("document.querySelector('#hits').textContent === '1 found'")
    press("Enter")
    press("n")
    press("Enter")
    assert album.run("() => model.name(app.state.a)") == "unshare"
    for key in ("m", "ArrowRight", "m", "ArrowRight", "ArrowRight", "Shift+Enter"):
        press(key)
    assert album.run("() => model.name(app.state.b)") == "upload"
    tab.wait_for_selector("[role=tree]")
    assert "unshare is before upload" in tab.inner_text("#live")
    walked = []
    for _ in range(6):
        press("]")
        walked.append(album.run("() => model.name(app.state.focus)"))
    assert walked == ["unshare", "acl-saved", "acl-told", "acl-seen", "choose", "upload"]
    for _ in range(40):
        press("Tab")
        if tab.evaluate("document.activeElement.getAttribute('role')") == "treeitem":
            break
    press("ArrowDown")
    assert tab.evaluate(FOCUSED).startswith("⊢₀ unshare < upload")
    press("Escape")
    chosen(album, "digest", "acl-seen")
    tab.focus("#picture")
    press("w")
    press("Enter")
    tab.wait_for_function("document.querySelector('#whatif p')")
    assert album.run("() => app.state.whatif.sign") == "<"
    tab.wait_for_function("location.hash.includes('a=digest') && location.hash.includes('what=')")
    assert not album.errors


def test_what_is_copied_is_taken_elsewhere(album: Any, tmp_path: Path, say: Say) -> None:
    known = Microcosm.read(ALBUM)
    album.tab.evaluate(COPIES)
    for a, b in (("unshare", "upload"), ("upload", "unshare"), ("acl-saved", "ask"), ("edit", "login")):
        chosen(album, a, b)
        album.tab.wait_for_selector("text=Copy proof")
        album.tab.evaluate("window.copied.length = 0")
        for name in texts(album, "#chosen .actions button"):
            if name.startswith("Copy"):
                album.tab.click(f"text={name}")
        command, *stated, proof = album.tab.evaluate("window.copied")
        assert command == f"microcosm online {ALBUM} {a} {b}"
        answer = json.loads(say(*command.split()[1:], "--json"))
        assert stated == ([] if answer["verdict"] == "?" else [f"{a} {answer['verdict']} {b}"])
        file = tmp_path / "proof.json"
        file.write_text(proof)
        assert say("verify", str(ALBUM), str(file)) == "valid: the kernel accepts every step\n"
        assert json.loads(proof)["verdict"] == answer["verdict"]
        assert verify(known, json.loads(proof)["derivation"]).valid


def test_the_path_is_folded_by_lane(album: Any) -> None:
    chosen(album, "unshare", "upload")
    runs = [" ".join(text.split()) for text in texts(album, ".path li")]
    assert [text.split()[0] for text in runs] == ["phone", "server", "laptop"]
    assert "acl-saved" in runs[1]
    assert "acl-told" in runs[1]
    assert "2 steps" in runs[2]
    assert "upload" in runs[2]


def test_long_proofs_fold_and_do_not_hang(page_of: Any, tmp_path: Path) -> None:
    log = tmp_path / "long.jsonl"
    rows = ({"process": "p", "seq": at, "kind": "internal", "id": f"e{at}"} for at in range(1, 1501))
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tab = page_of(log, proofs="none")
    chosen(tab, "e1", "e200")
    assert texts(tab, "[role=tree] .step")[-1].endswith("p: 199 steps")
    tab.tab.locator("[role=tree] [aria-expanded=false]").last.click()
    assert tab.tab.locator("[role=tree] .leaf").count() == 199
    chosen(tab, "e1", "e1500")
    assert tab.tab.locator("[role=treeitem]").count() < 100
    assert not tab.errors


def test_where_nothing_may_be_copied_it_is_shown(album: Any) -> None:
    album.tab.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    chosen(album, "unshare", "upload")
    album.tab.click("text=Copy statement")
    assert album.tab.input_value("textarea.copied") == "unshare < upload"
    album.tab.focus("#picture")
    assert album.tab.locator("textarea.copied").count() == 0
    assert not album.errors


def test_names_that_a_shell_or_a_session_would_read_otherwise_are_quoted(page_of: Any) -> None:
    names = ["log in", "it's", "from", "-x", 'a"b', "$HOME", "ü", "plain-1:2"]
    known = Microcosm.parse("")
    for one, other in pairwise(names):
        known.add(f"{quote(one)} < {quote(other)}")
    tab = page_of(known, files=["a b.mc"])
    for one, other in pairwise(names):
        ends = f"model.find({json.dumps(one)})", f"model.find({json.dumps(other)})"
        command = tab.run(f"() => commandFor('online', {', '.join(ends)})")
        dashes = ["--"] if "-x" in (one, other) else []
        assert shlex.split(command) == ["microcosm", "online", *dashes, "a b.mc", one, other]
        stated = tab.run(f"() => stated({ends[0]}, '<', {ends[1]})")
        assert Microcosm.parse(stated).online(one, other).value == "<"
