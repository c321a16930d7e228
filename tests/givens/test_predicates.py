"""Base predicates: one meaning, as sets and one by one."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microcosm.errors import RuleError
from microcosm.givens.columns import Message
from microcosm.givens.facts import PREDICATES
from microcosm.givens.givens import Givens
from microcosm.givens.relation import Stamp
from microcosm.order.order import base_facts

EVENTS = "abcd"
messages = st.builds(
    Message,
    st.sampled_from(["send", "receive"]),
    st.sampled_from(EVENTS),
    st.sampled_from("mn"),
    st.sampled_from("pq"),
)
sendings = st.builds(
    Message,
    st.just("send"),
    st.sampled_from(EVENTS),
    st.sampled_from("mn"),
    st.sampled_from("pqr"),
    st.lists(st.sampled_from("pqr"), max_size=3).map(tuple),
)


def test_a_multicast() -> None:
    facts = base_facts(
        Givens(
            messages=[
                Message("send", "e", "m", "p", ("q", "r")),
                Message("receive", "f", "m", "q"),
                Message("receive", "g", "m", "r"),
                Message("send", "h", "n", "q"),
            ]
        )
    )
    assert facts["send"] == {("e",), ("h",)}
    assert facts["receive"] == {("f",), ("g",)}
    assert facts["matches"] == {("e", "f"), ("e", "g")}
    assert facts["same_process"] == {("f", "h"), ("h", "f")}
    assert list(facts) == list(PREDICATES)
    assert len(facts) == len(PREDICATES)


stamps = st.one_of(
    st.integers(0, 3),
    st.tuples(st.integers(0, 3), st.integers(0, 2)).map(lambda t: (float(t[0]), float(sum(t)))),
)


@given(st.dictionaries(st.sampled_from(EVENTS), stamps))
def test_stamps_rule_out_what_would_run_against_them(stated: dict[str, Stamp]) -> None:
    facts = base_facts(Givens(stamps=stated))
    expected = set()
    for a, b in permutations(stated, 2):
        match stated[a], stated[b]:
            case int(one), int(other) if one >= other:
                expected.add((a, b))
            case (float(earliest), _), (_, float(latest)) if earliest > latest:
                expected.add((a, b))
    assert facts["stamped_out"] == expected
    for a, b in product(EVENTS, EVENTS):
        held = (a, b) in expected
        assert facts.holds("stamped_out", a, b) is held
        assert (b in facts.partners("stamped_out", 0, a)) is held
        assert (a in facts.partners("stamped_out", 1, b)) is held


@given(st.lists(messages, max_size=8))
def test_sets_answers_and_rows_agree(stated: list[Message]) -> None:
    facts = base_facts(Givens(messages=stated))
    matches, same = set(), set()
    for one, other in product(stated, stated):
        if one.event != other.event:
            if one.message == other.message and (one.kind, other.kind) == ("send", "receive"):
                matches.add((one.event, other.event))
            if one.process == other.process:
                same.add((one.event, other.event))
    assert facts["matches"] == matches
    assert facts["same_process"] == same
    for kind in ("send", "receive"):
        assert facts[kind] == {(m.event,) for m in stated if m.kind == kind}
        assert facts[kind] == {(event,) for event in facts.events(kind)}
        assert all(facts.holds(kind, event) == ((event,) in facts[kind]) for event in EVENTS)
    for name, (a, b) in product(("matches", "same_process"), product(EVENTS, EVENTS)):
        held = (a, b) in facts[name]
        assert facts.holds(name, a, b) is held
        assert (b in facts.partners(name, 0, a)) is held
        assert (a in facts.partners(name, 1, b)) is held


def answers(stated: list[Message]) -> set[tuple[str, str]]:
    """Of each process and message the only reception, and the only event that can have sent it there."""
    found = set()
    for one, other in product(stated, stated):
        if (one.kind, other.kind, one.message) != ("send", "receive", other.message):
            continue
        place = (other.message, other.process)
        received = {m.event for m in stated if m.kind == "receive" and (m.message, m.process) == place}
        senders = {
            (m.event, m.process)
            for m in stated
            if m.kind == "send" and m.message == other.message and other.process in (m.receivers or place)
        }
        if len(received) == len(senders) == 1 and (one.event, one.process) in senders:
            found.add((one.event, other.event) if one.process != other.process else ("", ""))
    return {(a, b) for a, b in found if a != b}


@given(st.lists(st.one_of(sendings, sendings, messages), max_size=8))
def test_what_is_answered_and_what_has_one_receiver(stated: list[Message]) -> None:
    for orderings in ([], ["causal"], ["fifo-1-n interior"]):
        facts = base_facts(Givens(messages=stated, orderings=orderings))
        assert facts["answered"] == answers(stated)
        assert facts["causal"] == (answers(stated) if orderings == ["causal"] else set())
        assert facts["fifo_1_n"] == (answers(stated) if orderings == ["fifo-1-n interior"] else set())
        assert facts["fifo_1_1"] == (answers(stated) if orderings else set())
    for event in EVENTS:
        sent = [m for m in stated if (m.kind, m.event) == ("send", event)]
        copies = {(m.message, to) for m in sent for to in m.receivers if to != m.process}
        known = all(m.receivers for m in sent) and len(copies) == 1
        assert facts.holds("unicast", event) is known
        assert ((event,) in facts["unicast"]) is known


def test_what_is_received_twice_or_by_its_sender_answers_nothing() -> None:
    """As `order`, which reports these; but here it is not known which of two receptions came first."""
    sent = Message("send", "s", "m", "p", ("p", "q"))
    once = [sent, Message("receive", "r", "m", "q"), Message("receive", "own", "m", "p")]
    assert base_facts(Givens(messages=once))["answered"] == {("s", "r")}
    assert base_facts(Givens(messages=once))["unicast"] == {("s",)}
    again = [*once, Message("receive", "r2", "m", "q")]
    assert base_facts(Givens(messages=again))["answered"] == set()
    other = [*once, Message("send", "s2", "m", "z")]
    assert base_facts(Givens(messages=other))["answered"] == set()


def test_a_predicate_that_does_not_exist() -> None:
    facts = base_facts(Givens())
    with pytest.raises(RuleError, match=r"`sends` is no base predicate"):
        facts["sends"]
    with pytest.raises(RuleError, match=r"matches\(a, b\)"):
        facts.get("sends")
    with pytest.raises(RuleError, match="`send` is said of 1, not of 2"):
        facts.holds("send", "a", "b")
    with pytest.raises(RuleError, match="`matches` is said of 2, not of 1"):
        facts.events("matches")


def test_rows_of_a_large_process_need_no_pairs() -> None:
    facts = base_facts(Givens(messages=[Message("send", f"e{i}", f"m{i}", "p") for i in range(50_000)]))
    assert facts.holds("same_process", "e0", "e49999")
    assert sum(1 for _ in facts.partners("same_process", 0, "e7")) == 49_999
