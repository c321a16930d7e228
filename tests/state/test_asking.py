"""How questions are put from Python: relations by sign, name or member, and events that must exist."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import networkx
import pytest

from microcosm import Correspondence, Microcosm, MicrocosmError, Relation, bisimilar, verify
from microcosm.errors import Undefined, UnknownEvent
from microcosm.givens.spelling import SPELLINGS, read_relation
from microcosm.state.timeline import Timeline
from microcosm.testing import assert_that
from microcosm.worlds.world import World

ALBUM = 'unshare < upload < view \n upload || "log in" \n view <> like'

Ask = Callable[[Microcosm, Any], Any]

ASKS: dict[str, Ask] = {
    "why_not": lambda known, said: known.why_not("unshare", said, "view").holds,
    "holds": lambda known, said: known.holds("online", "unshare", said, "view"),
    "derive": lambda known, said: known.derive("offline", "unshare", said, "view"),
    "with_verdict": lambda known, said: list(known.with_verdict(said, "upload")),
    "pairs": lambda known, said: list(known.pairs(said)),
    "table": lambda known, said: list(known.table().of(said)),
    "world": lambda known, said: World.of("ab", [("a", "b")]).holds("a", said, "b"),
    "certificate": lambda known, said: known.worlds.certificate("unshare", said, "view") is None,
    "add": lambda known, said: known.add(Correspondence("view", said, "late")) or known.to_text(),
}


def spellings(relation: Relation) -> list[object]:
    signs = [sign for sign, meant in SPELLINGS.items() if meant is relation]
    return [*signs, relation.name, relation.name.lower(), relation.name.replace("_", " "), relation.value]


def answer(ask: Ask, said: object) -> object:
    try:
        return ask(Microcosm.parse(ALBUM), said)
    except MicrocosmError as error:
        return str(error)


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("relation", Relation, ids=str)
def test_a_relation_is_read_alike_however_it_is_said(ask: Ask, relation: Relation) -> None:
    if relation is Relation.CONCURRENT and ask is ASKS["certificate"]:
        pytest.importorskip("pysat")
    expected = answer(ask, relation)
    assert all(answer(ask, said) == expected for said in spellings(relation))


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
@pytest.mark.parametrize("said", ["bogus", "", "=", "<<", 5, True, ["<"], b"<"], ids=repr)
def test_anything_else_is_refused(ask: Ask, said: object) -> None:
    with pytest.raises(Undefined, match="is no relation"):
        ask(Microcosm.parse(ALBUM), said)


def test_why_not_agrees_with_the_verdict() -> None:
    known = Microcosm.parse(ALBUM)
    assert known.why_not("unshare", "<", "view").holds
    assert known.why_not("unshare", Relation.BEFORE, "view").holds
    assert known.why_not("view", "after", "unshare").holds
    with pytest.raises(Undefined, match="silence"):
        known.why_not("unshare", None, "view")  # type: ignore[arg-type]


def test_none_is_silence_as_in_json() -> None:
    assert read_relation(None) is Relation.SILENT


@pytest.mark.parametrize("said", ["offlin", "", None, 3])
def test_a_judgement_is_one_of_three(said: Any) -> None:
    with pytest.raises(Undefined, match="is no judgement"):
        Microcosm.parse(ALBUM).holds(said, "unshare", "<", "view")


AROUND: dict[str, Callable[[Microcosm], object]] = {
    "past": lambda known: known.past("viev"),
    "future": lambda known: known.future("viev"),
    "concurrent": lambda known: known.concurrent("viev"),
    "unknown": lambda known: known.unknown("viev"),
    "silent": lambda known: known.silent("viev"),
    "between, first": lambda known: known.between("viev", "upload"),
    "between, last": lambda known: known.between("upload", "viev"),
    "frontier": lambda known: known.frontier("upload", "viev"),
    "longest_chain, first": lambda known: known.longest_chain(first="viev"),
    "longest_chain, last": lambda known: known.longest_chain(last="viev"),
    "online": lambda known: known.online("unshare", "viev", must_exist=True),
    "offline": lambda known: known.offline("unshare", "viev", must_exist=True),
    "possible": lambda known: known.possible("unshare", "viev", must_exist=True),
    "why": lambda known: known.why("unshare", "viev", must_exist=True),
    "why_not": lambda known: known.why_not("unshare", "<", "viev", must_exist=True),
    "certificate": lambda known: known.worlds.certificate("unshare", "<", "viev"),
}


@pytest.mark.parametrize("ask", AROUND.values(), ids=AROUND)
def test_an_event_that_nothing_names_is_an_error(ask: Callable[[Microcosm], object]) -> None:
    with pytest.raises(UnknownEvent, match="'viev'") as raised:
        ask(Microcosm.parse(ALBUM))
    assert raised.value.events == ("viev",)


def test_a_forgotten_event_is_named_no_more() -> None:
    known = Microcosm.parse(ALBUM)
    known.forget("view")
    known.remove('upload || "log in"')
    for event in ("view", "log in"):
        with pytest.raises(UnknownEvent):
            known.past(event)


def test_the_verdict_on_a_misspelt_event_stays_what_it_is() -> None:
    known = Microcosm.parse(ALBUM)
    assert known.online("unshare", "viev") is Relation.UNKNOWN
    assert known.why("unshare", "viev") is not None
    with pytest.raises(UnknownEvent, match="did you mean 'view'"):
        known.online("unshare", "viev", must_exist=True)


NAMING: dict[str, Ask] = {
    "online": lambda known, event: known.online("unshare", event),
    "online, both": lambda known, event: known.online(event, "unshare", must_exist=True),
    "online_many": lambda known, event: list(known.online_many([(event, "view")])),
    "why": lambda known, event: known.why(event, "view"),
    "why_not": lambda known, event: known.why_not(event, "<", "view"),
    "holds": lambda known, event: known.holds("online", event, "<", "view"),
    "derive": lambda known, event: known.derive("online", "view", "<", event),
    "offline": lambda known, event: known.offline(event, "view"),
    "possible": lambda known, event: known.possible("view", event),
    "past": lambda known, event: known.past(event),
    "frontier": lambda known, event: known.frontier("view", event),
    "require": lambda known, event: known.require("view", event),
    "has_member": lambda known, event: known.has_member(event),
    "nearest": lambda known, event: known.nearest(event),
    "event": lambda known, event: known.event(event),
    "add": lambda known, event: known.add(event),
    "add, an end": lambda known, event: known.add(Correspondence("view", Relation.BEFORE, event)),
    "remove": lambda known, event: known.remove(Correspondence(event, Relation.BEFORE, "view")),
    "append": lambda known, event: known.append(event),
}


@pytest.mark.parametrize("event", [1, None, b"view", ["view"], {"view": 1}, Relation.BEFORE], ids=repr)
@pytest.mark.parametrize("ask", NAMING.values(), ids=NAMING)
def test_what_is_no_text_names_no_event(ask: Ask, event: object) -> None:
    known = Microcosm.parse(ALBUM)
    with pytest.raises(Undefined, match="is no text: an event is named, and spoken of, by text"):
        ask(known, event)
    assert known == Microcosm.parse(ALBUM)
    assert event not in known


QUESTION = "event any; never any || any"
WRONG: dict[str, Callable[[Microcosm, Any], object]] = {
    "Microcosm": lambda _, said: Microcosm(said),
    "rules": lambda _, said: Microcosm.parse("", rules=said),
    "parse": lambda _, said: Microcosm.parse(said),
    "from_networkx": lambda _, said: Microcosm.from_networkx(said),
    "process": lambda _, said: Microcosm.from_trace("examples/photo-album.jsonl", process=said),
    "report": lambda _, said: Microcosm.from_trace("examples/photo-album.jsonl", report=said),
    "find": lambda known, said: known.find(said),
    "find, known": lambda known, said: known.find('name = "a"', known=said),
    "find, limit": lambda known, said: known.find('name ~ "a"', limit=said),
    "assert_": lambda known, said: known.assert_(said),  # noqa: PT009
    "shown": lambda known, said: known.assert_(QUESTION, shown=said),  # noqa: PT009
    "assert_that": assert_that,
    "settle": lambda known, said: [*known.settle(said)],
    "online_many": lambda known, said: [*known.online_many([said])],
    "page, pairs": lambda known, said: known.page("page.html", pairs=[said]),
    "explain_evolution": lambda known, said: known.explain_evolution("a", "b", said),
    "merge": lambda known, said: known.merge(said),
    "bisimilar": bisimilar,
    "Timeline": lambda _, said: Timeline(said),
    "Timeline.add": lambda known, said: Timeline(known).add(said),
    "Timeline.update": lambda known, said: Timeline(known).update(said),
    "Timeline.remove": lambda known, said: Timeline(known).remove(said),
    "Timeline.append": lambda known, said: Timeline(known).append([said]),
    "Timeline.forget": lambda known, said: Timeline(known).forget(said),
    "verify": lambda known, said: verify(said, known.why("unshare", "view") or {}),
    "verify, rules": lambda known, said: verify(known, {}, rules=said),
    "depth": lambda known, said: known.offline("unshare", "like", depth=said),
    "depth of all": lambda known, said: known.offline_table(depth=said),
}


@pytest.mark.parametrize("ask", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("said", [1.5, b"a", ("a",), {}, [10**5000]], ids=type)
def test_whatever_else_is_handed_over_is_refused_in_words(ask: Callable[..., object], said: object) -> None:
    known = Microcosm.parse(ALBUM)
    with pytest.raises(Undefined, match="is no "):
        ask(known, said)
    assert known == Microcosm.parse(ALBUM)


def test_a_text_of_two_letters_is_no_pair() -> None:
    known = Microcosm.parse("a < b")
    for ask in (WRONG["online_many"], WRONG["page, pairs"]):
        with pytest.raises(Undefined, match="'ab' is no pair"):
            ask(known, "ab")


def test_a_table_of_one_column_has_no_pairs() -> None:
    table = pytest.importorskip("pyarrow").table({"left": ["unshare"]})
    with pytest.raises(Undefined, match="two columns"):
        Microcosm.parse(ALBUM).online_many(table)


def test_a_table_that_was_answered_already_gets_no_second_column_of_the_name() -> None:
    pytest.importorskip("pyarrow")
    known = Microcosm.parse(ALBUM)
    told = known.to_arrow()
    with pytest.raises(Undefined, match="there is a column `verdict` already"):
        known.online_many(told)
    assert known.online_many(told.drop_columns(["verdict"])) == told


def test_a_number_of_any_size_is_handed_over() -> None:
    known = Microcosm.parse(ALBUM)
    assert len(known.find('name ~ "."', limit=10**30).true) == len(known)
    for shown in (-1, 10**30):
        assert known.assert_(QUESTION, shown=shown)[0].verdict == "violated"  # noqa: PT009
    with pytest.raises(Undefined, match="is no text"):
        known.online("view", 10**5000)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", ["<>", "!<", "?"])
def test_a_certificate_is_of_what_a_world_gives_two_events(relation: str) -> None:
    """Of `view <> like` a refutation was certified."""
    worlds = Microcosm.parse(ALBUM).worlds
    with pytest.raises(Undefined, match="two distinct events"):
        worlds.certificate("view", relation, "like")
    with pytest.raises(Undefined, match="two distinct events"):
        worlds.certificate("view", "<", "view")
    with pytest.raises(Undefined, match="no relation to itself"):
        worlds.possible("view", "view")


def test_what_no_file_could_say_comes_in_nowhere() -> None:
    """Names, tokens and sources: a file that is written can be read."""
    for event, attributes in ((1, {"tokens": ["t"]}), ("", {"tokens": ["t"]}), ("a", {"tokens": ["\ud800"]})):
        graph = networkx.DiGraph()
        graph.add_node(event, **attributes)
        with pytest.raises(Undefined):
            Microcosm.from_networkx(graph)
    graph = networkx.DiGraph([("a", "b", {"source": "\ud800"})])
    with pytest.raises(Undefined, match="surrogate"):
        Microcosm.from_networkx(graph)
    for source in ("\ud800", 5):
        with pytest.raises(Undefined):
            Microcosm().add(Correspondence("a", Relation.BEFORE, "b", source))  # type: ignore[arg-type]


def test_threads_that_ask_of_events_that_nothing_names_are_each_told_of_their_own() -> None:
    """Another one asks of another event while a first one is answered: proofs named that of the other."""
    known, others = Microcosm.parse(ALBUM), list[Thread]()

    def beside(event: str) -> str:
        if not others:
            others.append(Thread(target=lambda: known.why("view", "nobody")))
            others[0].start()
            others[0].join(0.05)
        return event

    found = known.why_not("view", "<", "nowhere", words=beside)
    others[0].join()
    assert {event for line in found.premises for event in line.events} == {"view", "nowhere"}
    assert "nowhere" not in str(known.why("view", "nobody"))
