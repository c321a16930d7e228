"""Drawings are XML of their own, with every event or the number left out, and names stay text in them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import networkx
import pytest
from hypothesis import given

from microcosm import Microcosm, Relation
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence
from microcosm.queries import drawing
from microcosm.queries.drawing import EVENTS_DRAWN, drawing_of
from tests.strategies import microcosms

SVG = "{http://www.w3.org/2000/svg}"
RUN = "clock a = p {p: 1}\nclock b = p {p: 2}\nclock c = q {p: 1, q: 1}\nb <> d\nc || b"


def drawn(text: str) -> ET.Element:
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    return root


def titles(root: ET.Element) -> list[str | None]:
    return [title.text for title in root.iter(f"{SVG}title")]


@given(microcosms(nasty=True))
def test_every_drawing_is_xml_with_a_point_for_each_event(givens: Givens) -> None:
    known = Microcosm(givens)
    part = drawing_of(known.givens, known.rules)
    for text in (drawing.hasse(part), drawing.space_time(part), known._repr_svg_()):
        root = drawn(text)
        assert len(titles(root)) == len(known.events)
        assert len(list(root.iter(f"{SVG}circle"))) == len(known.events)
    ET.fromstring(known._repr_html_())


@given(microcosms())
def test_the_lines_are_the_transitive_reduction_and_point_forwards(givens: Givens) -> None:
    known = Microcosm(givens)
    part = drawing_of(known.givens, known.rules)
    order = networkx.DiGraph()
    order.add_nodes_from(known.events)
    for a, b in combinations(known.events, 2):
        verdict = known.online(a, b)
        if verdict is Relation.BEFORE:
            order.add_edge(a, b)
        elif verdict is Relation.AFTER:
            order.add_edge(b, a)
    assert set(part.links) == set(networkx.transitive_reduction(order).edges)
    for picture, forwards in ((drawing.space_time(part), "x"), (drawing.hasse(part), "y")):
        root = drawn(picture)
        place = {
            circle.find(f"{SVG}title").text: int(circle.get(f"c{forwards}", ""))  # type: ignore[union-attr]
            for circle in root.iter(f"{SVG}circle")
        }
        for a, b in order.edges:
            assert (place[a] < place[b]) if forwards == "x" else (place[a] > place[b])


@given(microcosms())
def test_no_two_events_share_a_place(givens: Givens) -> None:
    part = drawing_of(givens, Microcosm().rules)
    for picture in (drawing.space_time(part), drawing.hasse(part)):
        places = [(circle.get("cx"), circle.get("cy")) for circle in drawn(picture).iter(f"{SVG}circle")]
        assert len(places) == len(set(places))


@pytest.mark.parametrize(
    "name", ["</svg><script>alert(1)</script>", '" onload="x', "&amp;", "a\x00\x1b[31m", "\uffff"]
)
def test_a_name_stays_text(name: str) -> None:
    givens = Givens(internal=[name, "b"])
    root = drawn(Microcosm(givens)._repr_svg_())
    assert {element.tag for element in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "line", "path", "circle", "title", "text")
    }
    assert len(titles(root)) == 2
    assert "<script" not in Microcosm(givens)._repr_html_()
    assert not any(key.startswith("on") for element in root.iter() for key in element.attrib)


def test_what_does_not_fit_is_counted() -> None:
    known = Microcosm(Givens(internal=[f"e{k}" for k in range(1000)]))
    root = drawn(known._repr_svg_())
    assert len(titles(root)) == EVENTS_DRAWN
    assert f"{1000 - EVENTS_DRAWN} more" in [text.text for text in root.iter(f"{SVG}text")]
    wide = Microcosm.parse(f'"{"x" * 100_000}" < b')
    assert len(wide._repr_svg_()) < 3000


def test_a_great_microcosm_is_drawn_at_once() -> None:
    known = Microcosm()
    for k in range(50_000):
        known._givens.add(Correspondence(f"a{k}", Relation.BEFORE, f"b{k}"))
    assert "99,960 more" in known._repr_svg_()


def test_processes_are_lines_and_the_givens_have_their_dashes() -> None:
    known = Microcosm.parse(RUN)
    root = drawn(known._repr_svg_())
    labels = [text.text for text in root.iter(f"{SVG}text")]
    assert labels[:2] == ["p", "q"]
    dashes = sorted(line.get("stroke-dasharray", "") for line in root.iter(f"{SVG}line"))
    assert dashes == ["", "", "", "", "1 3", "5 3"]
    assert drawn(Microcosm()._repr_svg_()).findtext(f"{SVG}text", "") == ""


def test_the_repr_counts_what_is_given() -> None:
    assert repr(Microcosm()) == "<Microcosm: 0 internal events, 0 correspondences>"
    assert repr(Microcosm.parse(RUN + "\nname run")) == (
        "<Microcosm 'run': 0 internal events, 2 correspondences, 3 clocks>"
    )


def test_a_line_is_bent_around_what_stands_in_its_way() -> None:
    root = drawn(Microcosm.parse("a || c\na || b")._repr_svg_())
    assert len(list(root.iter(f"{SVG}path"))) == 1
    assert len(list(root.iter(f"{SVG}line"))) == 1


def test_the_words_of_a_log_stand_with_its_events(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    said = ("ask <x>", "hear")
    log.write_text("".join(f'{{"process": "p", "label": "{each}"}}\n' for each in said), encoding="utf-8")
    shown = Microcosm.read(log)._repr_html_()
    assert "<title>p:1: ask &lt;x&gt;</title>" in shown
    assert ">hear</text>" in shown
