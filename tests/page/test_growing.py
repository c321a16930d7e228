"""A page and its session that follow a log are those of the log read whole, wherever it was cut."""

from __future__ import annotations

import base64
import gzip
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.cli.session.page_session import VERSIONS, Following, SessionBackend, reread
from microcosm.cli.session.session import How
from microcosm.givens.relation import Relation
from microcosm.logic.rulebook import read_rules
from tests.page.talking import at_once, behind, written

HOW = How(read_rules())

FORMS = {
    "as they are": lambda line: line,
    "many labels": lambda line: line.replace("step ", f"{hash(line)} é "),
    "messages of no number": lambda line: line.replace('"m', '"m').replace('", "label', 'x", "label'),
    "no labels": lambda line: line[: line.index(', "label')] + "}\n",
    "an execution": lambda line: line.replace("{", '{"trace": "a", ', 1),
    "attributes": lambda line: line.replace("}\n", ', "attributes": {"x": 1.5}}\n'),
    "times of some": lambda line: line.replace(
        "}\n", ', "attributes": {"time": 7}}\n' if "9" in line else "}\n"
    ),
    "labels that are escaped": lambda line: line.replace("step ", "step\\n\\\\"),
}
"""What is done to each line of a log: columns have other forms then."""


@pytest.fixture(autouse=True, scope="module")
def _few_are_many() -> Any:
    """So that a page of few events has no more in it than one of many."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("knowledge.TABLED", "write.LEFT", "growing.TABLED", "write.LINES", "growing.LINES"):
            patch.setattr(f"microcosm.page.{name}", 20)
        yield


def shown(who: SessionBackend) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The head and the bytes of the columns, as somebody has them who opens the page."""
    told = who.contents()
    columns = {name: gzip.decompress(base64.b64decode(text)) for name, text in told["columns"].items()}
    return told["head"], columns


def put_together(columns: dict[str, bytes], pieces: dict[str, list[Any]]) -> dict[str, bytes]:
    """Columns in which pieces are put in the place of what was there, from the end on."""
    found = {}
    for name, listed in pieces.items():
        data = bytearray(columns[name])
        for at, gone, text in reversed(listed):
            data[at : at + gone] = base64.b64decode(text)
        found[name] = bytes(data)
    return found


@given(
    st.integers(2, 4),
    st.integers(0, 10**6),
    st.lists(st.integers(20, 120), min_size=1, max_size=4),
    st.sampled_from(sorted(FORMS)),
)
def test_a_page_that_follows_is_that_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, processes: int, seed: int, cuts: list[int], form: str
) -> None:
    log = tmp_path_factory.mktemp("log") / "run.jsonl"
    lines = [*map(FORMS[form], written(120, processes, seed))]
    followed(log, lines, [20, *sorted({*cuts}), 120])


def followed(log: Path, lines: list[str], cuts: list[int]) -> int:
    """Follow a log cut there, and hold it to the whole; how often pieces were sent."""
    log.write_text("".join(lines[: cuts[0]]), encoding="utf-8")
    who, following = behind(log), Following([str(log)], HOW)
    seen, many = {str(who.version): shown(who)[1]}, 0
    for cut in cuts[1:]:
        log.write_text("".join(lines[:cut]), encoding="utf-8")
        following.look(who, at_once)
        found = reread([str(log)], HOW)
        whole = SessionBackend(found, HOW)
        head, columns = shown(whole)
        assert (head, columns) == shown(who)
        for version, before in seen.items():
            told = who.contents(version)
            if "pieces" in told:
                many += 1
                assert told["head"] == head
                assert put_together(before, told["pieces"]) == columns
        seen[str(who.version)] = columns
        mine, theirs = who.session.known, whole.session.known
        assert mine.givens == theirs.givens
        mine._check()
        assert mine.events == theirs.events
        assert who.session.summary == whole.session.summary
        names = theirs.events[::9]
        for a in names:
            for b in names:
                if a != b:
                    assert mine.online(a, b) is theirs.online(a, b)
    return many


def test_pieces_are_sent_of_a_log_that_grows_steadily(tmp_path: Path) -> None:
    lines = [*written(400, 3, 5)]
    cuts = [*range(100, 400, 25)]
    most = sum(min(VERSIONS - 1, number) for number in range(1, len(cuts) - 1))
    assert followed(tmp_path / "run.jsonl", lines, cuts) == most


def test_what_is_supposed_stays_and_the_log_is_followed_again_when_it_is_taken_back(tmp_path: Path) -> None:
    log, lines = tmp_path / "run.jsonl", [*written(400, 3, 5)]
    log.write_text("".join(lines[:200]), encoding="utf-8")
    who, following = behind(log), Following([str(log)], HOW)

    def grown(end: int) -> dict[str, Any]:
        version = str(who.version)
        log.write_text("".join(lines[:end]), encoding="utf-8")
        following.look(who, at_once)
        return who.contents(version)

    grown(220)
    assert "pieces" in grown(240)
    known = who.session.known
    pair = next(
        (a, b)
        for a, b in combinations(known.events, 2)
        if known.online(a, b) not in (Relation.BEFORE, Relation.AFTER)
    )
    who.answer(f"suppose {pair[0]} < {pair[1]}")
    assert "pieces" not in grown(260)
    assert who.session.known.online(*pair).value == "<"
    assert who.contents()["head"]["counts"]["events"] == 260
    who.answer("undo")
    assert who.session.known.givens == SessionBackend(reread([str(log)], HOW), HOW).session.known.givens
    assert "pieces" not in grown(280)
    assert "pieces" in grown(300)


def test_a_log_that_grows_does_not_grow_into_another_file_that_was_loaded(tmp_path: Path) -> None:
    log, other, lines = tmp_path / "run.jsonl", tmp_path / "other.mc", [*written(400, 3, 5)]
    other.write_text("m < n\n", encoding="utf-8")
    log.write_text("".join(lines[:200]), encoding="utf-8")
    who, following = behind(log), Following([str(log)], HOW)
    for end in (220, 240, 260, 280):
        if end == 260:
            who.answer(f"load {other}")
        loaded = who.session.known
        log.write_text("".join(lines[:end]), encoding="utf-8")
        following.look(who, at_once)
        assert who.session.known.givens == SessionBackend(reread([str(log)], HOW), HOW).session.known.givens
        assert who.session.logs == (str(log),)
        assert end != 260 or [*loaded.events] == ["m", "n"]
    assert who.note is None


def test_what_goes_wrong_leaves_the_session_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, lines = tmp_path / "run.jsonl", [*written(400, 3, 5)]
    log.write_text("".join(lines[:200]), encoding="utf-8")
    who, following = behind(log), Following([str(log)], HOW)
    log.write_text("".join(lines[:220]), encoding="utf-8")
    following.look(who, at_once)
    before, known = who.contents(), who.session.known.givens.copy()
    engine = type(who.session.known._engine)
    added, calls = engine.add, list[int]()

    def fails(self: Any, fact: Any) -> Any:
        calls.append(1)
        if len(calls) == 5:
            raise RuntimeError
        return added(self, fact)

    monkeypatch.setattr(engine, "add", fails)
    log.write_text("".join(lines[:240]), encoding="utf-8")
    with pytest.raises(RuntimeError):
        following.look(who, at_once)
    assert who.session.known.givens == known
    assert who.contents()["columns"] == before["columns"]
    log.write_text("".join(lines[:260]), encoding="utf-8")
    following.look(who, at_once)
    assert who.contents()["head"]["counts"]["events"] == 260


def test_of_one_line_little_is_sent(tmp_path: Path) -> None:
    log, lines = tmp_path / "run.jsonl", [*written(2000, 3, 5)]
    log.write_text("".join(lines[:1900]), encoding="utf-8")
    who, following = behind(log), Following([str(log)], HOW)
    for end in (1950, 1951):
        version = str(who.version)
        log.write_text("".join(lines[:end]), encoding="utf-8")
        following.look(who, at_once)
    pieces = who.contents(version)["pieces"]
    assert sum(len(text) for listed in pieces.values() for _, _, text in listed) < 300
