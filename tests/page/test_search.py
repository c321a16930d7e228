"""Finding: words, keys and regular expressions as the log says them; motifs as the engine judges pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from microcosm import Microcosm
from microcosm.givens.givens import Givens
from tests.strategies import microcosms

pytestmark = pytest.mark.browser

ALBUM = Path("examples/photo-album.jsonl")

FOUND = "async (text) => Array.from(await search(text), (i) => model.name(i)).sort()"

MATCHES = """async (text) => {
  const {pairs, unsaid} = await matches(motif(text));
  return [pairs.map(([a, b]) => [model.name(a), model.name(b)]), unsaid];
}"""

SYMMETRIC = ("||", "<>", "?", "silent")


def by(rows: list[dict[str, Any]], test: Callable[[dict[str, Any]], bool]) -> list[str]:
    return sorted(row["id"] for row in rows if test(row))


def test_every_key_finds_what_the_log_says(page_of: Any) -> None:
    rows = [{**json.loads(line), "line": at} for at, line in enumerate(ALBUM.read_text().splitlines(), 1)]
    tab = page_of(ALBUM, files=[str(ALBUM)])
    expected = {
        "alice": by(rows, lambda row: "alice" in row["label"].lower()),
        "ALICE list": by(rows, lambda row: "alice" in row["label"].lower() and "list" in row["label"]),
        '"of the list"': ["acl-told"],
        "process:server": by(rows, lambda row: row["process"] == "server"),
        "process:t": by(rows, lambda row: "t" in row["process"]),
        "process:/^t/": by(rows, lambda row: row["process"].startswith("t")),
        "kind:send": by(rows, lambda row: row["kind"] == "send"),
        "kind:receive process:phone": ["digest-seen", "like-seen"],
        "message:news": ["acl-seen", "acl-told"],
        "message:/^(mail|photo)$/": ["digest", "digest-seen", "upload"],
        "line:9": ["upload"],
        "line:2-4": by(rows, lambda row: 2 <= row["line"] <= 4),
        f"line:{ALBUM}:9": ["upload"],
        "line:photo-album.jsonl:9": ["upload"],
        "line:other.jsonl:9": [],
        "irregular:": ["ask", "digest", "look", "upload"],
        "irregular:gap": ["digest"],
        "irregular:lost": ["ask", "look", "upload"],
        "/^Eve .*album$/": [],
        "/Eve .*album/": ["ask", "look"],
        "/EVE .*ALBUM/i": ["ask", "look"],
        r"/a\/b/": [],
        "*": by(rows, lambda row: True),
        "http:nothing": [],
    }
    assert {text: tab.run(FOUND, text) for text in expected} == expected
    assert not tab.errors


def test_what_cannot_be_read_is_said(page_of: Any) -> None:
    tab = page_of(ALBUM)
    for text, word in (
        ("kind:lost", "kind:"),
        ("line:x", "line:"),
        ("/(/", "regular"),
        ("line:/9/", "line:"),
    ):
        tab.tab.fill("#find", text)
        tab.tab.wait_for_function(
            "text => document.querySelector('#matches .odd')?.textContent.includes(text)", arg=word
        )
        assert tab.run("() => app.state.found.length") == 0
    assert not tab.errors


def test_what_is_found_is_listed_and_walked(page_of: Any) -> None:
    tab = page_of(ALBUM)
    tab.tab.keyboard.press("/")
    tab.tab.keyboard.type("kind:send")
    tab.tab.wait_for_function("document.querySelectorAll('#matches li').length === 6")
    tab.tab.keyboard.press("Enter")
    walked = []
    for _ in range(7):
        tab.tab.keyboard.press("n")
        walked.append(tab.run("() => model.name(app.state.focus)"))
    assert walked[0] == walked[6]
    assert sorted(walked[:6]) == tab.run(FOUND, "kind:send")
    tab.tab.click("#matches li:first-child button")
    assert tab.run("() => model.name(app.state.focus)") == walked[0]
    tab.tab.fill("#find", "")
    tab.tab.wait_for_function("document.querySelectorAll('#matches li').length === 0")
    assert not tab.errors


def test_messages_are_a_motif(page_of: Any) -> None:
    tab = page_of(ALBUM)
    pairs = {
        ("unshare", "acl-saved"),
        ("acl-told", "acl-seen"),
        ("digest", "digest-seen"),
        ("like", "like-seen"),
    }
    assert {(a, b) for a, b in tab.run(MATCHES, "->")[0]} == pairs
    assert tab.run(MATCHES, "process:server -> *")[0] == [["acl-told", "acl-seen"], ["digest", "digest-seen"]]
    assert tab.run(MATCHES, "acl -> list")[0] == [["unshare", "acl-saved"], ["acl-told", "acl-seen"]]
    tab.tab.fill("#find", "process:server -> seen")
    tab.tab.wait_for_function("document.querySelectorAll('#matches li').length === 2")
    tab.tab.click("#matches li:first-child button")
    assert tab.run("() => [app.state.a, app.state.b].map((i) => model.name(i))") == ["acl-told", "acl-seen"]
    assert not tab.errors


def test_messages_that_are_counted_are_read_as_they_are_written(page_of: Any, tmp_path: Path) -> None:
    told = [["p", "send", "m0"], ["p", "send", "m12"], ["q", "receive", "m12"], ["q", "internal", None]]
    told += [["q", "send", "m3"], ["p", "receive", "m0"]]
    lines = [{"process": p, "kind": kind, **({"message": m} if m else {})} for p, kind, m in told]
    path = tmp_path / "counted.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    tab = page_of(path)
    said = tab.run("() => Array.from({length: model.n}, (_, i) => [model.line(i), model.message(i)])")
    assert [message or None for _, message in sorted(said)] == [message for *_, message in told]
    assert tab.run("() => model.columns['messages.n'].length") == len(told)
    assert not tab.errors


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    givens=microcosms(high=8),
    sign=st.sampled_from(["<", ">", *SYMMETRIC]),
    left=st.sampled_from(["", "*", "a", "b", "/[a-d]/"]),
    right=st.sampled_from(["", "*", "c", "/[c-f]/"]),
)
def test_motifs_are_what_the_engine_says(bare: Any, givens: Givens, sign: str, left: str, right: str) -> None:
    known = Microcosm(givens)
    bare.show(known, proofs="none")
    pairs, unsaid = bare.run(MATCHES, f"{left} {sign} {right}")
    lanes = bare.run("() => Array.from({length: model.n}, (_, i) => [model.name(i), laneName(i)])")
    names = dict(lanes)

    def fits(name: str, text: str) -> bool:
        said = f"{name} {names[name]}"
        if text.startswith("/"):
            return any(letter in said for letter in map(chr, range(ord(text[2]), ord(text[4]) + 1)))
        return text in ("", "*") or text in said.lower()

    expected = {
        (a, b) for a in names for b in names
        if a != b and fits(a, left) and fits(b, right) and str(known.online(a, b)) == sign
    }  # fmt: skip
    assert not unsaid
    assert len({*map(tuple, pairs)}) == len(pairs)
    if sign in SYMMETRIC:
        assert {frozenset(pair) for pair in pairs} == {frozenset(pair) for pair in expected}
        assert len(pairs) == len({frozenset(pair) for pair in pairs})
        assert {*map(tuple, pairs)} <= expected
    else:
        assert {*map(tuple, pairs)} == expected
