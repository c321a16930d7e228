"""The file of a page: what is in it, that it is the same each time, and that nothing in it can do harm."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from html import unescape
from itertools import pairwise
from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microcosm import Microcosm, verify
from microcosm.cli.app import main
from microcosm.files import shipped
from microcosm.givens.event_table import EventRow, EventTableBuilder
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Correspondence, Relation
from microcosm.logic.rulebook import parse_rules, read_rules
from microcosm.page import write
from microcosm.page.columns import laid_out
from microcosm.page.packing import numbered
from microcosm.page.write import page
from microcosm.queries.drawing import lane_order
from tests.page.unpacked import columns_of, edges_of, head_of, names_of
from tests.strategies import microcosms
from tests.thorough import draws

EXAMPLES = shipped("examples")
ALBUM = EXAMPLES / "photo-album.jsonl"

HOSTILE = (
    "</script><img src=x onerror=alert(1)>", "<!--<script>", "]]>", "\u202eabc", "a\nb\\n\\", "\x00\r\u2028",
    "x" * 10_000, '"><svg onload=alert(2)>', "${alert(3)}", "`", "$head", "\ud800",
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(givens=microcosms(high=10, nasty=True))
def test_chains_and_edges_say_all_of_happens_before(givens: Givens) -> None:
    known = Microcosm(givens)
    text = page(known, proofs="none")
    head, columns = head_of(text), columns_of(text)
    names = names_of(head, columns)
    assert sorted(names) == sorted(known.events)
    order = networkx.DiGraph(edges_of(head, columns))
    order.add_nodes_from(range(len(names)))
    for a in order:
        future = {names[b] for b in networkx.descendants(order, a)}
        assert future == {b for b in known if b != names[a] and known.online(names[a], b) is Relation.BEFORE}


def test_what_the_log_says_comes_back() -> None:
    known = Microcosm.read(ALBUM)
    text = page(known)
    head, columns = head_of(text), columns_of(text)
    rows = [known.events_table.row(name) for name in names_of(head, columns)]
    assert [row.label for row in rows] == columns["labels"]
    assert [row.line for row in rows] == columns["line"]
    kinds = {"internal": 0, "send": 1, "receive": 2}
    assert [kinds[row.kind] for row in rows] == [kind & 3 for kind in columns["kind"]]
    heard = {b: a for a, b in edges_of(head, columns)[-len(columns["dst"]) :]}
    said = [columns["messages"][i] or columns["messages"][heard.get(i, i)] for i in range(len(rows))]
    assert [row.message or "" for row in rows] == said


def test_the_same_input_gives_the_same_bytes() -> None:
    texts = set()
    for seed in ("0", "1"):
        program = "from microcosm import Microcosm\nfrom microcosm.page.write import page\nimport sys\n"
        program += f"sys.stdout.write(page(Microcosm.read({str(ALBUM)!r})))"
        env = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=True)
        texts.add(ran.stdout)
    assert len(texts) == 1
    assert texts.pop().decode() == page(Microcosm.read(ALBUM))


def test_the_policy_is_that_of_the_scripts_in_the_file() -> None:
    text = page(Microcosm.read(ALBUM))
    (policy,) = re.findall('Content-Security-Policy" content="(.*?)"', text)
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        hashed = base64.b64encode(sha256(inside.encode()).digest()).decode()
        assert f"{name} 'sha256-{hashed}'" in unescape(policy)
    assert "default-src 'none'" in unescape(policy)
    assert "connect-src" not in policy
    addresses = {*re.findall(r"https?://[^\s\"'<>]+", text)}
    assert addresses <= {"http://www.w3.org/2000/svg"}


def hostile() -> Microcosm:
    """A microcosm whose names, labels, messages, files and sources are what nobody should trust."""
    givens, rows = Givens(name=HOSTILE[0]), EventTableBuilder()
    for at, name in enumerate(HOSTILE):
        message = HOSTILE[at - 1]
        rows.add(EventRow(name, HOSTILE[at // 2], at + 1, "send", message, name, file=name, line=at + 1))
        if at:
            givens.add(Correspondence(HOSTILE[at - 1], Relation.BEFORE, name, name.replace("\ud800", "")))
    givens.tokens["</script>"] = HOSTILE[:3]
    givens.events = rows.table()
    return Microcosm(givens)


def test_hostile_names_stay_names() -> None:
    text = page(hostile(), title=HOSTILE[0], files=[HOSTILE[3]])
    text.encode()
    head, columns = head_of(text), columns_of(text)
    assert sorted(names_of(head, columns)) == sorted(HOSTILE)
    assert sorted(columns["labels"]) == sorted(HOSTILE)
    (data,) = re.findall(r'id="head">(.*?)</script>', text, re.DOTALL)
    assert data.isascii()
    assert "<" not in data
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>")


def test_lanes_are_processes_and_what_is_of_none_has_room_beside_them() -> None:
    layout = laid_out([0, 1, 3, 4, 0], [1, 2, 4, 5, 4], ["p", "p", "p", None, None, None])
    assert [lane.name for lane in layout.lanes if lane.known] == ["p"]
    assert layout.chains == [[0, 1, 2], [3, 4, 5]]
    assert [layout.lanes[lane].known for lane in layout.lane] == [True, False]
    apart = laid_out([], [], [None, None])
    assert len(apart.chains) == 2


def test_lanes_that_talk_are_near() -> None:
    assert lane_order(4, {(0, 3): 9, (1, 2): 9}) in ([0, 3, 1, 2], [0, 3, 2, 1], [1, 2, 0, 3], [2, 1, 0, 3])
    assert lane_order(3, {}) == [0, 1, 2]


def test_a_page_too_large_is_refused_with_advice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out.html"
    for name in ("EVENTS", "BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(write, name, 3)
            assert main(["page", str(ALBUM), "-o", str(out), "-q"]) == 2
        said = capsys.readouterr().err
        assert "--process" in said
        assert "view" in said
        assert not out.exists()


def test_the_command_tells_what_is_in_the_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    asked = [
        "--pair",
        "unshare",
        "upload",
        "--pair",
        "digest",
        "/^acl-seen$/",
        "--title",
        "T",
        "--json",
        "-q",
    ]
    assert main(["page", str(ALBUM), "-o", str(out), *asked]) == 0
    told = json.loads(capsys.readouterr().out)
    text = out.read_text(encoding="utf-8")
    assert told["schema"]
    assert told["bytes"] == len(text.encode())
    assert told["digest"] == head_of(text)["digest"]
    assert set(told["columns"]) == {column["name"] for column in head_of(text)["columns"]}
    names = names_of(head_of(text), columns_of(text))
    assert [(names[a], names[b], sign) for a, b, sign, _ in told["pairs"]] == [
        ("unshare", "upload", "<"), ("digest", "acl-seen", "silent")
    ]  # fmt: skip
    assert "<title>T</title>" in text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["{album}", "--pair", "unshare", "nobody", "-o", "{out}"], 4),
        (["{album}", "--pair", "unshare", "unshare", "-o", "{out}"], 2),
        (["{album}", "--proofs", "some", "-o", "{out}"], 2),
        (["{album}", "--json"], 2),
        (["nowhere.jsonl", "-o", "{out}"], 4),
        (["{album}", "--ask", "nowhere.ask", "-o", "{out}"], 4),
        (["{album}", "--strict", "-o", "{out}"], 4),
        (["{album}", "-o", "{out}/nowhere/x.html"], 4),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(
    arguments: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.html"
    assert main(["page", *(each.format(album=ALBUM, out=out) for each in arguments)]) == code
    said = capsys.readouterr()
    assert "error:" in said.err
    assert "Traceback" not in said.err
    assert not said.out or ("--json" in arguments and said.out.startswith('{"schema"'))
    assert not out.exists()


def test_the_face_of_it_writes_the_same(tmp_path: Path) -> None:
    known = Microcosm.parse("a < b")
    known.page(tmp_path / "a.html", title="T")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page(known, title="T")


def test_two_microcosms_say_what_is_news_as_diff_does(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    phone, laptop = tmp_path / "phone.mc", tmp_path / "laptop.mc"
    phone.write_text("a < b < c < d\nf < a\n")
    laptop.write_text("a < b\nc < d\nd || e\nf || a\n")
    assert main(["page", str(phone), str(laptop), "-o", str(tmp_path / "both.html"), "-q"]) == 0
    capsys.readouterr()
    assert main(["diff", str(phone), str(laptop), "--json", "--all"]) == 1
    told = json.loads(capsys.readouterr().out)
    text = (tmp_path / "both.html").read_text(encoding="utf-8")
    head, columns = head_of(text), columns_of(text)
    other = head["other"]
    assert (other["news"], other["more"]) == (told["news"], told["more"])
    proofs = [each.pop("derivations") for each in other["conflicts"]]
    assert other["conflicts"] == told["conflicts"]
    assert verify(phone, proofs[0][0]).valid
    assert verify(laptop, proofs[0][1]).valid
    assert other["conflicts"]
    assert not other["joined"]
    names = names_of(head, columns)
    assert dict(zip(names, columns["who"], strict=True)) == {"a": 3, "b": 3, "c": 3, "d": 3, "e": 2, "f": 3}


def test_questions_are_answered_in_the_page(tmp_path: Path) -> None:
    out = tmp_path / "lease.html"
    lease = [str(EXAMPLES / "lease.jsonl"), "--ask", str(EXAMPLES / "lease.ask")]
    assert main(["page", *lease, "-o", str(out), "-q"]) == 0
    head = head_of(out.read_text(encoding="utf-8"))
    assert {question["verdict"] for question in head["questions"]} == {"holds", "open", "violated"}
    violated = next(question for question in head["questions"] if question["verdict"] == "violated")
    names = names_of(head, columns_of(out.read_text(encoding="utf-8")))
    assert violated["witnesses"]
    assert {*violated["witnesses"][0]["events"].values()} <= {*names}


def test_scripts_and_styles_are_in_the_wheel() -> None:
    """hatchling ships whole folders: that this one is inside the package is what counts."""
    folder = Path(write.__file__).parent / "web"
    assert {"model.js", "verdicts.js", "why.js", "page.html"} <= {file.name for file in folder.iterdir()}
    joined = write.scripts()
    assert "</script" not in joined
    assert "<!--" not in joined
    known = {f"{name}.js" for name in write.SCRIPTS}
    assert {file.name for file in folder.glob("*.js")} <= known


@settings(max_examples=draws(40, 400))
@given(
    st.lists(
        st.just("")
        | st.from_regex(r"m(0|[1-9][0-9]{0,9})", fullmatch=True)
        | st.sampled_from(["m07", "m", "n1"])
    )
)
def test_texts_that_are_a_word_and_a_number_are_read_back(texts: list[str]) -> None:
    columns = columns_of(write.html({"title": "texts"}, numbered("messages", texts)))
    assert columns["messages"] == texts
    counted = [*filter(None, texts)]
    if counted and all(re.fullmatch("m(0|[1-9][0-9]{0,8})", text) for text in counted):
        assert ("messages.n" in columns) is not any(a == b for a, b in pairwise(counted))


def test_of_a_pair_of_which_rules_leave_nothing_a_page_says_that_no_world_fits() -> None:
    kept = [rule.text for rule in read_rules().rules if not rule.name.startswith("Canc")]
    void = "rule Void:\n    |- a ? b\n    ----\n    ||- a !< b\n    ||- a !|| b\n"
    known = Microcosm.parse("a < b\nc < d", rules=parse_rules("\n".join([*kept, void])))
    assert () in {left for _, _, left in known.offline_table()}
    head, columns = write.contents(known)
    assert head["consistent"] is False
    assert "left" not in {column.name for column in columns}


def test_where_a_known_ordering_contradicts_what_is_given_a_page_is_written_with_a_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sent = "send s1 = m1 p -> q\nreceive r1 = m1 q\nsend s2 = m2 p -> q\nreceive r2 = m2 q\n"
    for ordering, told in (("", False), ("ordering fifo-1-1\n", True)):
        log = tmp_path / "overtaken.mc"
        log.write_text("s1 < s2\nr2 < r1\ns1 < r1\ns2 < r2\n" + sent + ordering)
        assert main(["page", str(log), "-o", str(tmp_path / "page.html")]) == 0
        assert ("no world fits all" in capsys.readouterr().err) is told
        head, _ = write.contents(Microcosm.read(log))
        assert head["consistent"] is not told
