"""The picture says what the engine says: glyphs, tints, gaps, lost messages; a broken one is found out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import pytest

from microcosm import Microcosm
from microcosm.page import write
from tests.page.drawn import WORDS, Band, Drawn, drawn

pytestmark = pytest.mark.browser

ALBUM = Path("examples/photo-album.jsonl")

CHOOSE = "(name) => app.set({a: model.find(name), b: -1})"

LOST = {"ask", "look", "upload"}


def tinted(picture: Drawn, name: str, colour: str) -> bool:
    """Whether an event lies in a tint of its lane."""
    mark = picture.events[name]

    def holds(band: Band) -> bool:
        return band.colour == colour and band.left <= mark.x <= band.right and abs(band.y - mark.y) < 2

    return any(map(holds, picture.tints))


def held_to_the_engine(picture: Drawn, known: Microcosm, a: str) -> None:
    """Assert that each event in view has the sign, and lies in the tint, that the engine has for it."""
    for name, mark in picture.events.items():
        truth = None if name == a else str(known.online(name, a))
        assert (None if mark.colour == "ink" else WORDS[mark.colour]) == truth, name
        assert tinted(picture, name, "before") == (truth == "<"), name
        assert tinted(picture, name, "after") == (truth == ">"), name


def shows_what_is_missing(picture: Drawn) -> None:
    """Assert that the picture of the album has its gap and its three lost ends."""
    assert picture.gaps == 1
    assert "5 missing" in picture.texts
    assert picture.stubs == len(LOST)


@pytest.mark.parametrize("a", ["acl-saved", "digest", "unshare", "backup"])
def test_signs_and_tints_are_the_verdicts_of_the_engine(page_of: Any, a: str) -> None:
    known, page = Microcosm.read(ALBUM), page_of(ALBUM)
    page.run(CHOOSE, a)
    held_to_the_engine(drawn(page), known, a)
    assert not page.errors


def test_the_album_shows_every_event_its_gap_and_what_was_lost(page_of: Any) -> None:
    page = page_of(ALBUM)
    picture = drawn(page)
    assert len(picture.events) == page.run("() => model.n") == 15
    shows_what_is_missing(picture)
    lanes = page.run("() => Array.from(document.querySelectorAll('#lanes span'), (span) => span.textContent)")
    assert set(lanes) == {"laptop", "server", "phone", "tablet"}
    heights = {name: mark.y for name, mark in picture.events.items()}
    assert heights["choose"] == heights["upload"]
    assert heights["backup"] == heights["digest"]
    names = set(picture.texts)
    assert set(picture.events) <= names, "at this scale every event has its name"


def test_no_arrow_passes_through_an_event_that_it_does_not_touch(page_of: Any) -> None:
    page = page_of(ALBUM)
    nearest = page.run("""() => {
      frame();
      look();
      const found = [];
      for (let edge = 0; edge < model.src.length; edge++) {
        const [x1, y1, cx, cy, x2, y2] = curveOf(edge, true);
        for (let i = 0; i < model.n; i++) {
          if (i === model.src[edge] || i === model.dst[edge]) continue;
          for (let t = 0; t <= 1; t += 0.002) {
            const s = 1 - t, x = s * s * x1 + 2 * s * t * cx + t * t * x2;
            const y = s * s * y1 + 2 * s * t * cy + t * t * y2;
            found.push(Math.hypot(x - px(i), y - py(i)) - view.r);
          }
        }
      }
      return Math.min(...found);
    }""")
    assert nearest > 3


def test_an_arrow_in_the_way_is_bent(page_of: Any) -> None:
    page = page_of(ALBUM)
    page.run(
        "() => app.set({order: Int32Array.from(['laptop', 'phone', 'server', 'tablet'].map((name) => "
        "model.head.lanes.findIndex((lane) => lane.name === name)))})"
    )
    bends = page.run("() => { frame(); return [...scene.bends.values()].filter(Boolean).length; }")
    straight = page.run("""() => {
      look();
      return Array.from(model.src, (a, edge) => {
        const b = model.dst[edge];
        return touched(curve(ends(a, b), 0, 0), a, b);
      }).filter(Boolean).length;
    }""")
    assert bends == straight


def test_what_stands_at_the_middle_of_an_arrow_is_on_no_lane(page_of: Any) -> None:
    """The clock of an arrow over other lanes is not taken for an event of theirs."""
    lines = [f"clock {p}1 = {p} {{{p}: 1}}" for p in "abcde"]
    lines += [f"clock {q}2 = {q} {{{p}: 1, {q}: 2}}" for p, q in ("ac", "ae", "ab", "ad")]
    page = page_of(Microcosm.parse("\n".join(lines)))
    found = page.run("""() => {
      app.set({order: Int32Array.from(model.head.lanes, (_, lane) => lane)});
      frame();
      look();
      return Array.from(model.src, (_, edge) => {
        const [, y] = middleOf(curveOf(edge, true));
        const far = model.head.lanes.map((_, lane) => Math.abs(y - laneY(lane)));
        return Math.min(...far) / scene.unit;
      });
    }""")
    assert len(found) == 4
    assert min(found) > 0.3


@pytest.mark.parametrize("k", [0.4, 3, 8, 20, 60])
def test_what_is_missing_is_shown_at_every_scale(page_of: Any, k: float) -> None:
    page = page_of(ALBUM)
    red = page.run(
        """(k) => {
      app.set({k, x0: -20 / k});
      frame();
      const pen = recorder();
      drawPicture(pen);
      return pen.parts.filter((part) => part.includes(`stroke="${scene.colours.gap}"`)).length;
    }""",
        k,
    )
    assert red >= 2 if k < 1 else red >= 4


Mutant = tuple[str, str, Callable[[Any], None]]


def _cone(page: Any) -> None:
    page.run(CHOOSE, "digest")
    held_to_the_engine(drawn(page), Microcosm.read(ALBUM), "digest")


def _missing(page: Any) -> None:
    shows_what_is_missing(drawn(page))


MUTANTS: dict[str, Mutant] = {
    "past and future change their tints": (
        "band(alone ? -2 : first, past, scene.colours.before, past)",
        "band(alone ? -2 : first, past, scene.colours.after, past)",
        _cone,
    ),
    "past and future change their glyphs": ("event < past[chain] ? 1 :", "event < past[chain] ? 2 :", _cone),
    "the cut is one event early": (
        "past: past > first ? between(past - 1,",
        "past: past > first ? between(past - 2,",
        _cone,
    ),
    "a gap is not drawn": ("if (kind & 32) drawGap(", "if (kind & 32 && kind & 64) drawGap(", _missing),
    "what was sent and lost is not drawn": ("if (kind & 4) stub(", "if (kind & 128) stub(", _missing),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_picture_is_seen_to_be(page_of: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    good, bad, check = MUTANTS[name]
    read = write._read
    scripts = "".join(read(f"{script}.js") for script in write.SCRIPTS)
    assert scripts.count(good) == 1, "the mutant changes one place"
    check(page_of(ALBUM))
    monkeypatch.setattr(write, "_read", lambda file: read(file).replace(good, bad))
    with pytest.raises(AssertionError):
        check(page_of(ALBUM))


def test_two_replicas_are_two_halves_of_each_sign(page_of: Any) -> None:
    said = {
        "1": ["a1 < a2", "a2 < b2", "b1 < b2", "c1 < c2", "b2 < c2"],
        "2": ["a1 < a2", "a2 < c1", "b1 < b2", "c2 < c3"],
    }
    one, other = (Microcosm.parse("\n".join(lines)) for lines in said.values())
    page = page_of(one, other=other)
    page.run(CHOOSE, "b2")
    names = page.run("() => upTo(model.n).reduce((names, i) => [...names, model.name(i)], [])")
    for which, known in (("1", one), ("2", other)):
        signs = page.run("(which) => Array.from(upTo(model.n)).map((i) => signIn(which, i))", int(which))
        for name, sign in zip(names, signs, strict=True):
            assert sign == ("" if name == "b2" or name not in known else str(known.online(name, "b2"))), name
    picture = drawn(page)
    assert set(picture.events) == set(names)
    for number in ("1", "2"):
        assert picture.texts.count(number) > 1, "what one alone is given has its number, as has the axis"
    assert not page.errors


def test_steps_without_messages_are_a_count_where_they_are_folded(page_of: Any, tmp_path: Path) -> None:
    random, rows, seqs = Random(21), [], Counter[str]()

    def row(process: str, kind: str, message: str | None = None) -> None:
        seqs[process] += 1
        rows.append({"process": process, "seq": seqs[process], "kind": kind, "message": message})

    for at in range(120):
        sender, receiver = random.sample("abcd", 2)
        row(sender, "internal")
        if at % 4 == 0:
            row(sender, "send", f"m{at}")
            row(receiver, "receive", f"m{at}")
    log = tmp_path / "steps.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    page = page_of(log)
    assert len(drawn(page).events) == len(rows)
    page.tab.click("#show-fold")
    picture = drawn(page)
    kept = {f"{one['process']}:{one['seq']}": one for one in rows if one["message"]}
    assert set(picture.events) == set(kept)
    # The step of an event is the longest chain of events with messages that leads to it.
    step: dict[str, int] = {}
    last: dict[str, int] = {}
    for name, one in kept.items():
        before = [last.get(str(one["process"]), -1)]
        before += [last[str(one["message"])]] if one["kind"] == "receive" else []
        step[name] = last[str(one["process"])] = last[str(one["message"])] = max(before) + 1
    places = page.run("(names) => names.map((name) => scene.x[model.find(name)])", [*kept])
    assert dict(zip(kept, places, strict=True)) == step
    folded = {}
    for process in "abcd":
        kinds = [one["message"] is None for one in rows if one["process"] == process]
        runs = [(at, len([*run])) for at, (plain, run) in enumerate(groupby(kinds)) if plain]
        folded[process] = [length for _, length in runs]
    told = page.run("""() => [...scene.runs].map(([first, count]) => [laneName(first), count])""")
    assert {process: [count for lane, count in told if lane == process] for process in "abcd"} == folded
    page.run("() => { showWhole(); zoomAbout(2, 0); frame(); }")
    assert any(text.isdigit() or text.endswith((" step", " steps")) for text in drawn(page).texts)
    page.run("(name) => app.set({focus: model.find(name)})", "a:1")
    for _ in range(seqs["a"]):
        page.run("() => step(1)")
    steps = page.run("() => { step(-1); return model.name(app.state.focus); }")
    assert steps == [name for name in kept if name.startswith("a:")][-2]
    assert not page.errors


def test_an_arrow_against_the_axis_is_red_and_odd_times_are_shown(page_of: Any, tmp_path: Path) -> None:
    rows = [
        {"process": "b", "seq": 1, "kind": "receive", "message": "m", "time": 1_700_000_000_000_000_000},
        {"process": "a", "seq": 1, "kind": "send", "message": "m", "time": 1_700_000_000_000_000_900},
    ]
    log = tmp_path / "backwards.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    page = page_of(log)
    red = """() => {
      frame();
      const pen = recorder();
      drawPicture(pen);
      return pen.parts.some((part) => part.includes(`stroke="${scene.colours.gap}"`));
    }"""
    assert not page.run(red), "on the axis of steps every arrow points to the right"
    for axis in ("lines", "time"):
        page.run("(axis) => app.set({axis})", axis)
        assert len(drawn(page).events) == 2
        assert page.run(red) or axis == "time"
    assert not page.errors


@pytest.mark.parametrize("clocks", ["", "clock a = p {p: 1}\nclock b = q {p: 1, q: 1}\na || c"])
def test_the_legend_names_every_sign(page_of: Any, clocks: str) -> None:
    signs = page_of(Microcosm.parse(clocks) if clocks else ALBUM).tab.locator("#legend li")
    words = ["before", "after", "concurrent", "related, either way", "unknown", "silent"]
    clock = ["before, by clocks alone"] if clocks else []
    assert [one for one in signs.all_inner_texts() if "not ordered" not in one] == [
        *words,
        *clock,
        "gap",
        "lost message",
    ]
    assert all(one.query_selector("svg path") for one in signs.element_handles())
