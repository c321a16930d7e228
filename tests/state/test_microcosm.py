"""A microcosm is a collection, a value and a table; files of any kind are read, and proofs checked."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import randoms

from microcosm import Microcosm, MicrocosmError, Relation, bisimilar, diff, verify
from microcosm.errors import MissingLibrary, TextError
from microcosm.givens.givens import Givens
from microcosm.traces.extract import microcosm_of_logs
from tests.rulesets import without
from tests.strategies import microcosms

EXAMPLES = Path(__file__).parents[2] / "examples"
LOG = EXAMPLES / "photo-album.jsonl"


@given(microcosms())
def test_it_is_the_collection_of_the_events_that_are_named(givens: Givens) -> None:
    known = Microcosm(givens)
    assert list(known) == known.events == sorted(set(givens.named()))
    assert len(known) == len(known.events)
    assert all(event in known for event in known)
    assert "no such event" not in known
    assert 3 not in known


def test_it_is_true_even_where_it_is_empty_and_has_no_hash() -> None:
    assert Microcosm()
    assert Microcosm().table()
    with pytest.raises(TypeError, match="unhashable"):
        hash(Microcosm())


def test_an_event_may_be_named_without_being_in_m() -> None:
    known = Microcosm.parse("a < b \n stamp c = 3")
    assert ("c" in known, known.has_member("c"), known.has_member("a"), known.has_member("z")) == (
        True,
        False,
        True,
        False,
    )


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@given(givens=microcosms())
def test_equal_are_those_of_equal_givens_and_rules(way: Callable[[Any], Any], givens: Givens) -> None:
    known = Microcosm(givens)
    other = way(known)
    assert other == known
    assert known != givens
    other.append("one more")
    assert other != known
    assert Microcosm(givens, rules=without("Un-4")) != known


@given(givens=microcosms(), rng=randoms())
def test_equal_are_those_that_say_the_same_in_any_order(givens: Givens, rng: Random) -> None:
    lines = Microcosm(givens).to_text().splitlines()
    lines += ["send x = m1 p", "receive y = m1 q", "ordering causal", "ordering rsc", "token t = x, y"]
    known = Microcosm.parse("\n".join(lines))
    free = [line for line in lines if not line.startswith("clock")]
    rng.shuffle(free)
    other = Microcosm.parse("\n".join([line for line in lines if line.startswith("clock")] + free))
    assert other == known
    other.add("x < another")
    assert other != known


@pytest.mark.parametrize("sign", ["||", "<>"])
def test_a_symmetric_relation_says_the_same_both_ways(sign: str) -> None:
    """Two microcosms that state it the one and the other way give the same (Worlds of Events, section 6)."""
    assert Microcosm.parse(f"a {sign} b\nb < c") == Microcosm.parse(f"b < c\nb {sign} a")
    assert Microcosm.parse("a !< b") != Microcosm.parse("b !< a")


def test_merged_either_way_they_are_equal() -> None:
    one, other = (
        Microcosm.parse("send a = m p\nordering rsc"),
        Microcosm.parse("receive b = m q\nordering causal"),
    )
    both, back = one.copy(), other.copy()
    both.merge(other)
    back.merge(one)
    assert both == back != one


def test_a_log_is_read_like_a_microcosm(tmp_path: Path) -> None:
    log = Microcosm.from_trace(LOG)
    assert log.givens == microcosm_of_logs([LOG]).givens
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(LOG.read_bytes()))
    assert Microcosm.read(LOG) == Microcosm.read(packed) == Microcosm.read(str(LOG)) == log
    assert Microcosm.from_trace(LOG, process="phone").name == "phone"
    for name in ("again.mc", "again.json", "again"):
        log.write(tmp_path / name)
        assert Microcosm.read(tmp_path / name) == log


@pytest.mark.parametrize("text", ["a < < b", '{"schema": "microcosm/1", "external": 3}', "a <"])
@pytest.mark.parametrize("name", ["wrong.mc", "wrong", "wrong.json"])
def test_what_is_wrong_with_a_file_is_said_of_the_microcosm(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(TextError) as raised:
        Microcosm.read(file)
    assert raised.value.file == str(file)
    with pytest.raises(TextError, match="no such file"):
        Microcosm.read(tmp_path / "none")
    with pytest.raises(MicrocosmError):
        Microcosm.from_trace(LOG, process="nobody")


def test_the_kernel_checks_what_was_derived_and_nothing_else(tmp_path: Path) -> None:
    known = Microcosm.parse("a < b < c")
    proof = known.why("a", "c")
    assert proof is not None
    known.write(tmp_path / "known.mc")
    (tmp_path / "proof.json").write_text(json.dumps(proof.to_json()))
    for given_ in (known, known.givens, tmp_path / "known.mc"):
        for said in (proof, proof.to_json(), tmp_path / "proof.json"):
            assert verify(given_, said).valid
    known.remove("b < c")
    answer = verify(known, proof)
    assert not answer.valid
    assert answer.fault
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(answer)
    (tmp_path / "proof.json").write_text("{")
    with pytest.raises(TextError, match="not JSON"):
        verify(known, tmp_path / "proof.json")
    less = Microcosm.parse("a < b < c", rules=without("In-Tr"))
    assert not verify(less, proof).valid
    assert verify(less, proof, rules=Microcosm().rules).valid


def test_files_are_compared_as_microcosms_are(tmp_path: Path) -> None:
    one, other = Microcosm.parse("a < b < c"), Microcosm.parse("a < b")
    one.write(tmp_path / "one.mc")
    other.write(tmp_path / "other.json")
    found = diff(tmp_path / "one.mc", tmp_path / "other.json")
    assert found == diff(one, other)
    assert str(found) == "only the first knows: b < c"
    assert str(diff(one, one)) == "both know the same"
    assert str(diff(one, Microcosm.parse("b < a"))).endswith("they contradict each other: a < b, and >")
    assert not bisimilar(one, other).holds


@given(microcosms(high=6))
def test_a_table_is_there_as_often_as_one_asks_in_every_form(givens: Givens) -> None:
    pytest.importorskip("pyarrow")
    known = Microcosm(givens)
    table = known.table()
    rows = [(a, b, known.online(a, b)) for a, b in combinations(known.events, 2)]
    assert list(table) == list(table) == rows
    assert len(table) == len(rows)
    assert str(table).count("\n") == max(len(rows) - 1, 0)
    columns = {name: [row[at] for row in rows] for at, name in enumerate(("left", "right"))}
    columns["verdict"] = [row[2].value for row in rows]
    assert known.to_arrow().to_pydict() == columns


def test_a_frame_has_the_verdicts() -> None:
    pytest.importorskip("pandas")
    frame = Microcosm.parse("a < b || c").to_pandas()
    assert frame.to_dict("list") == {
        "left": ["a", "a", "b"],
        "right": ["b", "c", "c"],
        "verdict": ["<", None, "||"],
    }


@pytest.mark.parametrize(("way", "missing"), [("to_arrow", "pyarrow"), ("to_pandas", "pandas")])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, way: str, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingLibrary, match=missing):
        getattr(Microcosm.parse("a < b"), way)()


def test_what_is_shown_in_a_notebook_is_escaped() -> None:
    known = Microcosm.parse('"<b>" < "&" || "<script>"')
    shown = [
        known.table()._repr_html_(),
        known.possible("<b>", "<script>")._repr_html_(),
        known.offline("<b>", "<script>")._repr_html_(),
        known.why("<b>", "&")._repr_html_(),  # type: ignore[union-attr]
        known._repr_html_(),
    ]
    for html in shown:
        assert "&lt;b&gt;" in html
        assert "<b>" not in html
        assert "<script" not in html
    assert "2 more" in Microcosm(Givens(internal=[f"e{k}" for k in range(42)])).table()._repr_html_()


def test_answers_print_as_people_read_them() -> None:
    known = Microcosm.parse("a < b \n b < c \n c <> d")
    proof = known.why("a", "c")
    assert str(proof).splitlines()[0] == "⊢ a < c  (In-OK)"
    assert str(known.possible("c", "d")).splitlines() == ["<: a, b, c, d", ">: a, b, d, c"]
    assert str(known.offline("a", "c")).endswith("left: <")
    assert str(Microcosm.parse("a < b < c").table()) == "a < b\na < c\nb < c"
    assert known.table().__repr__() == "<VerdictTable of 4 events, 6 pairs>"
    assert Relation.SILENT.value is None
