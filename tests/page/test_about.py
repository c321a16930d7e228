"""What the panel has besides a pair: questions, witnesses, two replicas, what is odd, the lines of a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from microcosm import Microcosm
from microcosm.compare.difference import difference
from microcosm.page.write import contents
from microcosm.questions.reader import read_questions
from microcosm.state.opening import verify
from microcosm.traces.report import Report

ALBUM = Path("examples/photo-album.jsonl")

LEASE = Path("examples/lease.jsonl")

CHOSEN = "() => [app.state.a, app.state.b].map((i) => i < 0 ? null : model.name(i))"


def texts(tab: Any, selector: str) -> list[str]:
    return [" ".join(text.split()) for text in tab.tab.locator(selector).all_inner_texts()]


@pytest.mark.browser
def test_each_witness_of_a_question_is_a_click(page_of: Any) -> None:
    known = Microcosm.read(LEASE)
    asked = read_questions(Path("examples/lease.ask").read_text())
    tab = page_of(known, questions=[asked], files=[str(LEASE)])
    answers = known.assert_(asked, settle=True)  # noqa: PT009
    assert texts(tab, ".question > p:first-child code") == [answer.question.text for answer in answers]
    assert texts(tab, ".question .chip") == [answer.verdict for answer in answers]
    witnesses = [witness for answer in answers for witness in answer.witnesses]
    buttons = tab.tab.locator(".question > ul button.event")
    assert buttons.count() == len(witnesses) > 2
    for at, witness in enumerate(witnesses):
        buttons.nth(at).click()
        assert tab.run(CHOSEN) == [witness.atoms[0].left, witness.atoms[0].right]
        named = {*witness.events.values(), *(end for ends in witness.intervals.values() for end in ends)}
        assert set(tab.run("() => Array.from(app.state.found, (i) => model.name(i))")) == named
    settled = [
        f"{seen.text}: decides {seen.decides} of {seen.open}" for each in answers for seen in each.settle
    ]
    assert tab.tab.locator(".question details li").all_text_contents() == settled
    assert not tab.errors


@pytest.mark.browser
def test_the_news_of_two_replicas_are_buttons(page_of: Any) -> None:
    phone, laptop = Microcosm.parse("a < b < c < d"), Microcosm.parse("a < b \n c < d \n d || e \n x <> a")
    tab = page_of(phone, other=laptop, files=["phone.mc", "laptop.mc"])
    found = difference(phone, laptop)
    for news, heading in zip(
        found.news, ("News of phone.mc for laptop.mc", "News of laptop.mc for phone.mc"), strict=True
    ):
        shown = texts(tab, f"#replicas section[aria-label='{heading}'] button")
        assert shown == [f"{item.fact} decides {item.decides}" for item in news]
    tab.tab.click("text=b < c decides 4")
    assert tab.run(CHOSEN) == ["b", "c"]
    assert tab.tab.locator(".conflicts").count() == 0
    assert not tab.errors


@pytest.mark.browser
def test_conflicts_come_first_and_have_both_proofs(page_of: Any) -> None:
    one, other = Microcosm.parse("a < b < c"), Microcosm.parse("b < a \n c || d \n c < e")
    tab = page_of(one, other=other, files=["one.mc", "other.mc"])
    found = difference(one, other)
    assert tab.tab.locator("#replicas > *").first.get_attribute("class") == "conflicts"
    [conflict] = found.conflicts
    assert texts(tab, ".conflicts button") == ["a < b in one.mc, > in other.mc"]
    assert [str(verdict) for verdict in conflict.verdicts] == ["<", ">"]
    trees = tab.tab.locator(".conflicts [role=tree]")
    assert trees.count() == 2
    told = tab.run("() => model.head.other.conflicts[0].derivations")
    assert [verify(known, proof).valid for known, proof in zip((one, other), told, strict=True)] == [
        True,
        True,
    ]
    tab.tab.click(".conflicts details:first-of-type summary")
    assert trees.first.is_visible()
    assert not tab.errors


@pytest.mark.browser
def test_what_is_odd_is_listed_and_leads_there(page_of: Any) -> None:
    report = Report()
    known = Microcosm.read(ALBUM, report=report)
    tab = page_of(known, files=[str(ALBUM)], report=report)
    shown = texts(tab, "#about details:has(summary:text('Odd')) li")
    assert sorted(shown) == sorted(f"{one.message} ({one.file}:{one.line})" for one in report.findings)
    tab.tab.click("button:has-text('events 3 to 7 are missing')")
    assert tab.run(CHOSEN) == ["digest", None]
    assert not tab.errors


def log_of(known: Microcosm, *names: str) -> dict[str, list[str]]:
    """The lines that the page of a microcosm has, by file."""
    _, columns = contents(known, files=list(names))
    return {
        name: lines for column in columns if column.name == "log" for name, lines in json.loads(column.data)
    }


def test_the_page_has_the_lines_of_its_files_and_of_no_others(tmp_path: Path) -> None:
    secret, log = tmp_path / "secret", tmp_path / "app.jsonl"
    secret.write_text("the key\n")
    rows = [{"process": "p", "kind": "internal", "id": "a", "origin": [str(secret), 1], "colour": "red"}]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    known = Microcosm.read(log)
    assert known.events_table is not None
    assert known.events_table.place("a") == f"{secret}:1"
    assert log_of(known, str(log)) == {str(log): log.read_text().splitlines()}
    assert log_of(known) == {}
    _, columns = contents(known, files=[str(log)])
    [attributes] = [column.data for column in columns if column.name == "attributes"]
    assert attributes == b'{"colour": "red"}\n'


def test_large_or_strange_files_are_named_and_not_carried(tmp_path: Path) -> None:
    long, binary, gone = tmp_path / "long.mc", tmp_path / "binary.mc", tmp_path / "gone.mc"
    long.write_text("a < b\n" * 6000)
    binary.write_bytes(b"a < b\0\n")
    known = Microcosm.parse("a < b")
    assert log_of(known, str(long)) == {}
    assert log_of(known, str(binary)) == {}
    gone.write_text("a < b\n")
    assert log_of(known, str(gone)) == {str(gone): ["a < b"]}
    gone.unlink()
    assert log_of(known, "-") == {}
    wide = tmp_path / "wide.mc"
    wide.write_text("# " + "x" * 5000 + "\na < b\n")
    comment, given = log_of(known, str(wide))[str(wide)]
    assert len(comment) == 2001
    assert comment.endswith("…")
    assert given == "a < b"


@pytest.mark.browser
def test_a_page_that_no_world_fits_says_so(page_of: Any) -> None:
    sent = "send s1 = m1 p -> q\nreceive r1 = m1 q\nsend s2 = m2 p -> q\nreceive r2 = m2 q\n"
    given = f"s1 < s2\nr2 < r1\ns1 < r1\ns2 < r2\n{sent}"
    assert texts(page_of(Microcosm.parse(given)), "#about [role=alert]") == []
    told = texts(page_of(Microcosm.parse(f"{given}ordering fifo-1-1\n")), "#about [role=alert]")
    assert told == ["No world fits all that is given: microcosm check says why."]
