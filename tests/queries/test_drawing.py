"""Drawings are XML of their own, with every event or the number left out, and names stay text in them."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm import Microcosm, Relation
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence
from microcosm.queries import diagrams
from microcosm.queries.drawing import EVENTS_DRAWN, Missing, drawing_of
from tests.strategies import microcosms

SVG = "{http://www.w3.org/2000/svg}"
RUN = "clock a = p {p: 1}\nclock b = p {p: 2}\nclock c = q {p: 1, q: 1}\nb <> d\nc || b"


def drawn(text: str) -> ET.Element:
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    return root


def events(root: ET.Element) -> list[ET.Element]:
    """The circles that are events, and no lost ends."""
    return [circle for circle in root.iter(f"{SVG}circle") if circle.get("class") is None]


def titles(root: ET.Element) -> list[str]:
    return [circle.findtext(f"{SVG}title", "") for circle in events(root)]


def words(root: ET.Element) -> list[str | None]:
    return [text.text for text in root.iter(f"{SVG}text")]


def lines(root: ET.Element) -> list[ET.Element]:
    """What is drawn from one event to another: no lane, no head, no zigzag, no sign of the legend."""
    return [path for path in root.iter(f"{SVG}path") if not path.get("class") and not path.get("opacity")]


def curve(path: str) -> list[tuple[float, float]]:
    """Points along a straight line or a curve with one control point, a hundred of each."""
    numbers = [float(each) for each in re.findall(r"-?[\d.]+", path)]
    (ax, ay), (bx, by) = numbers[:2], numbers[-2:]
    cx, cy = numbers[2:4] if "Q" in path else ((ax + bx) / 2, (ay + by) / 2)
    at = [k / 100 for k in range(101)]
    return [
        (
            (1 - t) ** 2 * ax + 2 * t * (1 - t) * cx + t * t * bx,
            (1 - t) ** 2 * ay + 2 * t * (1 - t) * cy + t * t * by,
        )
        for t in at
    ]


@given(microcosms(nasty=True))
def test_every_drawing_is_xml_with_a_point_for_each_event(givens: Givens) -> None:
    known = Microcosm(givens)
    part = drawing_of(known.givens, known.rules)
    for text in (diagrams.hasse(part), diagrams.space_time(part), known._repr_svg_()):
        root = drawn(text)
        assert len(titles(root)) == len(known.events)
        assert root.get("role") == "img"
        assert f"of {len(known.events)} event" in root.get("aria-label", "")
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
    for picture, forwards in ((diagrams.space_time(part), "x"), (diagrams.hasse(part), "y")):
        root = drawn(picture)
        place = {
            circle.findtext(f"{SVG}title", ""): int(circle.get(f"c{forwards}", "")) for circle in events(root)
        }
        for a, b in order.edges:
            assert (place[a] < place[b]) if forwards == "x" else (place[a] > place[b])


@given(microcosms())
def test_no_two_events_share_a_place(givens: Givens) -> None:
    part = drawing_of(givens, Microcosm().rules)
    for picture in (diagrams.space_time(part), diagrams.hasse(part)):
        places = [(circle.get("cx"), circle.get("cy")) for circle in events(drawn(picture))]
        assert len(places) == len(set(places))


@pytest.mark.parametrize(
    "name", ["</svg><script>alert(1)</script>", '" onload="x', "&amp;", "a\x00\x1b[31m", "\uffff"]
)
def test_a_name_stays_text(name: str) -> None:
    givens = Givens(internal=[name, "b"])
    root = drawn(Microcosm(givens)._repr_svg_())
    assert {element.tag for element in root.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "path", "circle", "title", "text", "mask", "rect", "g")
    }
    assert len(titles(root)) == 2
    assert "<script" not in Microcosm(givens)._repr_html_()
    assert not any(key.startswith("on") for element in root.iter() for key in element.attrib)


def test_what_does_not_fit_is_counted() -> None:
    known = Microcosm(Givens(internal=[f"e{k}" for k in range(1000)]))
    root = drawn(known._repr_svg_())
    assert len(titles(root)) == EVENTS_DRAWN
    assert f"{1000 - EVENTS_DRAWN} more" in words(root)
    wide = Microcosm.parse(f'"{"x" * 100_000}" < b')
    assert len(wide._repr_svg_()) < 4000


def test_a_great_microcosm_is_drawn_at_once() -> None:
    known = Microcosm()
    for k in range(50_000):
        known._givens.add(Correspondence(f"a{k}", Relation.BEFORE, f"b{k}"))
    assert "99,960 more" in known._repr_svg_()


def test_processes_are_lines_and_the_givens_have_their_dashes() -> None:
    known = Microcosm.parse(RUN)
    root = drawn(known._repr_svg_())
    assert words(root)[:2] == ["p", "q"]
    dashes = sorted(line.get("stroke-dasharray", "") for line in lines(root))
    assert dashes == ["", "2 5", "6 2 1 2", "8 5"]
    assert {"next in its process", "before, by clocks", "concurrent, as stated"} <= set(words(root))
    assert drawn(Microcosm()._repr_svg_()).findtext(f"{SVG}text", "") == ""


@given(microcosms())
def test_no_line_runs_through_an_event_that_it_does_not_touch(givens: Givens) -> None:
    part = drawing_of(givens, Microcosm().rules)
    for picture in (diagrams.space_time(part), diagrams.hasse(part)):
        root = drawn(picture)
        places = [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in events(root)]
        for line in lines(root):
            way = curve(line.get("d", ""))
            others = [place for place in places if place not in (way[0], way[-1])]
            assert all(math.dist(point, place) > 4 for point in way for place in others)


def test_an_arrow_goes_round_a_reception_that_it_has_nothing_to_do_with() -> None:
    """`middle` stands just between `out` and `in`, on the line of a third process."""
    processes = ("process p: out late", "process q: early middle later", "process r: one two in last")
    said = [each.partition(": ") for each in processes]
    steps = [f'{a} < {b} from "{name}"' for name, _, row in said for a, b in pairwise(row.split())]
    text = [*steps, 'out < in from "message m"']
    text += ['late < later from "message n"', 'later < last from "message o"']
    root = drawn(Microcosm.parse("\n".join(text))._repr_svg_())
    at = {
        each.findtext(f"{SVG}title"): (int(each.get("cx", "")), int(each.get("cy", "")))
        for each in events(root)
    }
    straight = [(at["out"][k] + at["in"][k]) / 2 for k in (0, 1)]
    assert tuple(straight) == at["middle"]
    [arrow] = [line for line in lines(root) if line.findtext(f"{SVG}title") == "message m"]
    assert min(math.dist(point, at["middle"]) for point in curve(arrow.get("d", ""))) > 8


def test_no_label_is_struck_through() -> None:
    """Whatever line passes through the place of a label is cut out there, by a mask over all lines."""
    crossed = "".join(f"a{i} < c0\nc0 < b{i}\n" for i in range(9))
    root = drawn(Microcosm.parse(crossed)._repr_svg_())
    [mask] = root.iter(f"{SVG}mask")
    [group] = [each for each in root.iter(f"{SVG}g") if each.get("mask") == f"url(#{mask.get('id')})"]
    assert len([*group.iter(f"{SVG}path")]) == 18
    holes = [rect for rect in mask.iter(f"{SVG}rect") if rect.get("fill") == "black"]
    boxes = [[float(rect.get(name, "")) for name in ("x", "y", "width", "height")] for rect in holes]
    ways = [point for path in group.iter(f"{SVG}path") for point in curve(path.get("d", ""))]
    for text in root.iter(f"{SVG}text"):
        if re.fullmatch(r"[abc]\d", text.text or ""):
            x, y, anchor = float(text.get("x", "")), float(text.get("y", "")), text.get("text-anchor")
            left = x - {"start": 0, "middle": 7, "end": 14}[anchor or ""]
            struck = any(left < px < left + 14 and y - 10 < py < y for px, py in ways)
            cut = any(
                bx <= left and by <= y - 10 and left + 14 <= bx + w and y <= by + h for bx, by, w, h in boxes
            )
            assert cut or not struck


def test_the_repr_counts_what_is_given() -> None:
    assert repr(Microcosm()) == "<Microcosm: 0 internal events, 0 correspondences>"
    assert repr(Microcosm.parse(RUN + "\nname run")) == (
        "<Microcosm 'run': 0 internal events, 2 correspondences, 3 clocks>"
    )


def test_the_words_of_a_log_stand_with_its_events(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    said = ("ask <x>", "hear")
    log.write_text("".join(f'{{"process": "p", "label": "{each}"}}\n' for each in said), encoding="utf-8")
    shown = Microcosm.read(log)._repr_html_()
    assert "<title>p:1: ask &lt;x&gt;</title>" in shown
    assert ">hear</text>" in shown


ALBUM = Path(__file__).parents[2] / "examples" / "photo-album.jsonl"


def test_what_has_no_clock_stands_on_the_line_of_its_process() -> None:
    known = Microcosm.read(ALBUM)
    root = drawn(known._repr_svg_())
    height = {each.findtext(f"{SVG}title", "").split(":")[0]: each.get("cy") for each in events(root)}
    assert height["choose"] == height["edit"] == height["upload"]
    assert height["backup"] == height["digest"] != height["choose"]
    without = Microcosm.parse("\n".join(line for line in known.to_text().splitlines() if line[:5] != "event"))
    assert drawing_of(without.givens, without.rules).process == drawing_of(known.givens, known.rules).process


def test_gaps_and_messages_with_one_end_are_drawn() -> None:
    known = Microcosm.read(ALBUM)
    part = drawing_of(known.givens, known.rules)
    assert part.holes == {"digest": Missing(0, 5)}
    assert {event: kind for event, (kind, _) in part.lost.items()} == {
        "upload": "send",
        "ask": "send",
        "look": "receive",
    }
    root = drawn(diagrams.diagram(part))
    assert (
        len([path for path in root.iter(f"{SVG}path") if path.get("class") == "gap"]) == 2
    )  # and the legend
    assert len([each for each in root.iter(f"{SVG}circle") if each.get("class") == "lost"]) == 5
    assert "5 missing" in words(root)
    heads = [path for path in root.iter(f"{SVG}path") if path.get("class") == "head"]
    assert (
        len([head for head in heads if head.get("fill") == "currentColor"]) == 5
    )  # four messages, the legend


def test_what_is_not_drawn_of_a_process_is_told_on_its_line() -> None:
    known = Microcosm.read(ALBUM)
    part = drawing_of(known.givens, known.rules, 4, ["backup"])
    assert set(part.events) == {"backup", "digest", "acl-told", "digest-seen"}
    assert part.holes["digest-seen"] == Missing(hidden=1)
    assert "1 not shown" in words(drawn(diagrams.diagram(part)))
    between = drawing_of(known.givens, known.rules, 5, ["unshare", "choose"])
    assert set(between.events) == {"unshare", "acl-saved", "acl-told", "acl-seen", "choose"}


def test_positions_that_clocks_contradict_tell_of_no_hole(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    rows = ((1, 2), (5, 1), (9, 3))
    log.write_text(
        "".join(
            f'{{"process": "p", "seq": {s}, "kind": "internal", "clock": {{"p": {c}}}}}\n' for s, c in rows
        )
    )
    known = Microcosm.read(log)
    assert drawing_of(known.givens, known.rules).holes == {}


@given(st.permutations("abcdef"), st.sets(st.sampled_from("abcdef")), st.integers(1, 5))
def test_what_has_no_position_is_before_nothing(order: list[str], placed: set[str], most: int) -> None:
    seq = {event: number for number, event in enumerate(order, 1) if event in placed}
    stated = [f"event {e} process p{f' seq {seq[e]}' if e in seq else ''}" for e in "abcdef"]
    known = Microcosm.parse("\n".join([*stated, f"{' < '.join(order)}"]))
    part = drawing_of(known.givens, known.rules, most)
    for event, hole in part.holes.items():
        hidden = {other for other in seq.keys() - {*part.events} if seq[other] < seq[event]}
        assert hole.hidden <= len(hidden)
        assert hidden <= {*known.past(event)}
        assert not hole.lost  # what may be there without a position is not said to be missing


def test_the_pairs_of_a_token_are_drawn_where_nothing_orders_them() -> None:
    known = Microcosm.parse("token lock = a, b, c\na < x < b")
    part = drawing_of(known.givens, known.rules)
    assert part.shared == {("a", "c"): "lock", ("b", "c"): "lock"}
    dotted = [line for line in lines(drawn(known._repr_svg_())) if line.get("stroke-dasharray") == "2 5"]
    assert [line.findtext(f"{SVG}title") for line in dotted] == [
        "a <> c by the token lock",
        "b <> c by the token lock",
    ]


def test_a_file_of_its_own_has_colours_for_light_and_dark() -> None:
    part = drawing_of(Microcosm.parse("a < b").givens, Microcosm().rules)
    assert "prefers-color-scheme:dark" in diagrams.diagram(part, alone=True)
    assert "<style" not in diagrams.diagram(part)
    assert diagrams.diagram(part, alone=True) == diagrams.diagram(part, alone=True)


@given(microcosms(nasty=True))
def test_dot_and_mermaid_name_each_event_once_and_stay_text(givens: Givens) -> None:
    part = drawing_of(givens, Microcosm().rules)
    dot, mermaid = diagrams.dot(part), diagrams.mermaid(part)
    assert len(re.findall(r"^ +n\d+ \[label=\"(?:[^\"\\]|\\.)*\"\];$", dot, re.MULTILINE)) == len(part.events)
    assert len(
        re.findall(
            r'^ +n\d+\(\["[^"`<>\[\]{}|;&]*(?:(?:#\d+;|<br/>)[^"`<>\[\]{}|;&]*)*"\]\)$', mermaid, re.MULTILINE
        )
    ) == len(part.events)
    for text, arrow in ((dot, r"^  (n\d+) -> (n\d+) (?!\[style)"), (mermaid, r"^  (n\d+) -(?!\.).* (n\d+)$")):
        pairs = {
            tuple(part.events[int(end[1:])] for end in found)
            for found in re.findall(arrow, text, re.MULTILINE)
        }
        assert pairs == {(a, b) for a, b, _, _ in part.arrows()}


def test_dot_shows_names_as_they_are_and_nothing_that_a_terminal_would_obey() -> None:
    known = Microcosm.parse(
        'send "&amp;" = "m\\u001b&lt;" "p\\u001b[" -> q\nreceive b = "m\\u001b&lt;" q\n'
        '"&amp;" < b from "message m\\u001b&lt;"\n'
    )
    part = drawing_of(known.givens, known.rules)
    text = diagrams.dot(part)
    assert r'[label="&amp;amp;"]' in text
    assert r'label="p\\x1b["' in text
    assert r'[label="m\\x1b&amp;lt;"]' in text
    assert "\x1b" not in text


def test_a_notebook_shows_what_is_near_the_pair_that_was_asked_about() -> None:
    chain = [f"e{number}" for number in range(1000)]
    known = Microcosm(Givens(internal=chain))
    assert {"e0", "e39"} <= {*titles(drawn(known._repr_svg_()))}
    known.why("e500", "e510")
    shown = {*titles(drawn(known._repr_svg_()))}
    assert {f"e{number}" for number in range(490, 521)} <= shown
    assert len(shown) == EVENTS_DRAWN
    known.possible("e9", "nobody")  # whom nothing names
    assert "e9" in titles(drawn(known._repr_svg_()))


@given(microcosms(), st.integers(1, 6), st.data())
def test_what_is_near_is_nearest_by_the_givens(givens: Givens, most: int, data: st.DataObject) -> None:
    known = Microcosm(givens)
    if not known.events:
        return
    asked = data.draw(st.sampled_from(known.events))
    shown = drawing_of(known.givens, known.rules, most, [asked]).events
    assert asked in shown
    assert len(shown) <= most
    if givens.clocks or len(known) <= most:  # which relate more than is stated; or all is shown
        return
    near = networkx.Graph(list(known.to_networkx().edges()))
    near.remove_edges_from((fact.left, fact.right) for fact in givens.refuted.values())
    near.add_edges_from((fact.left, fact.right) for fact in givens.external.values())
    near.add_edges_from(pair for group in givens.tokens.values() for pair in pairwise(group))
    near.add_edges_from(pairwise(givens.internal))
    near.add_nodes_from(known.events)
    reached = networkx.single_source_shortest_path_length(near, asked)
    far = [reached[event] for event in shown]
    left = [steps for event, steps in reached.items() if event not in shown]
    assert len(shown) == min(most, len(reached))
    assert max(far) <= min(left, default=max(far))


def test_many_ways_between_events_are_not_gone_one_by_one() -> None:
    layers = "\n".join(f"a{k}.{i} < a{k + 1}.{j}" for k in range(20) for i in range(6) for j in range(6))
    known = Microcosm.parse(layers)
    assert len(drawing_of(known.givens, known.rules, 100, ["a0.0"]).events) == 100


def test_internal_events_share_no_lane_with_a_process_called_internal() -> None:
    known = Microcosm.parse('internal a < b\nsend s = m "internal"\ns < b')
    drawing = drawing_of(known.givens, known.rules)
    assert drawing.process["a"] == drawing.process["b"] != drawing.process["s"]
