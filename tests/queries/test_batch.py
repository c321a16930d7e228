"""What is shown of a log that is said to be complete, held to its execution and to offline decisions."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from microcosm import Microcosm, Relation
from microcosm.kernel.check import check
from microcosm.queries.batch import ConcludedOffline


def log(rng: Random) -> tuple[str, set[tuple[str, str]]]:
    """The statements of a small complete log, and the order of its events."""
    last: dict[str, str] = {}
    sent: dict[str, tuple[str, str]] = {}
    lines: list[str] = []
    order: set[tuple[str, str]] = set()
    for number in range(rng.randint(2, 12)):
        process, event = rng.choice("pqr"), f"e{number}"
        before = [last[process]] if process in last else []
        waiting = [m for m, (_, of) in sent.items() if of != process]
        if waiting and rng.random() < 0.5:
            message = rng.choice(waiting)
            before.append(sent.pop(message)[0])
            lines.append(f"receive {event} = {message} {process}")
        elif rng.random() < 0.6:
            sent[f"m{number}"] = event, process
            lines.append(f"send {event} = m{number} {process}")
        lines += [f"{a} < {event}" for a in before]
        order |= {(a, event) for b in before for a in (b, *(x for x, y in order if y == b))}
        last[process] = event
    return "\n".join([*lines, "complete"]), order


@pytest.mark.parametrize("seed", range(40))
def test_a_complete_log_shows_what_happened_of_every_pair(seed: int) -> None:
    text, order = log(Random(seed))
    known = Microcosm.parse(text)
    shown = known.concluded
    table = {(a, b): verdict for a, b, verdict in shown.table(known.events)}
    assert [*table] == [*combinations(known.events, 2)]
    for (a, b), verdict in table.items():
        assert verdict is shown.verdict(a, b)
        if (a, b) in order or (b, a) in order:
            assert verdict is (Relation.BEFORE if (a, b) in order else Relation.AFTER)
            assert shown.proof(a, b) is None
            continue
        assert verdict is ConcludedOffline.APART
        assert known.online(a, b) in (Relation.UNKNOWN, Relation.SILENT)
        assert known.offline(a, b, depth=0).relation is Relation.CONCURRENT
        proof = shown.proof(a, b)
        assert proof is not None
        assert str(proof.conclusion) == f"⊩ {a} || {b}"
        assert not check(known.givens, known.rules, proof.to_json())
    for event in known.events:
        around = {b for a, b in table if a == event and table[a, b] is ConcludedOffline.APART}
        around |= {a for a, b in table if b == event and table[a, b] is ConcludedOffline.APART}
        assert {*shown.apart(event)} == around == {*shown.with_verdict(Relation.CONCURRENT, event)}
        assert not [*shown.with_verdict(Relation.UNKNOWN, event)]
        assert not [*shown.with_verdict(Relation.SILENT, event)]
        assert {*shown.with_verdict(Relation.BEFORE, event)} == {a for a, b in order if b == event}
    counts = shown.table(known.events).counts()
    assert counts.total() == len(table)
    assert counts[ConcludedOffline.APART] == len([*shown.table(known.events).of_any(ConcludedOffline.APART)])


def test_of_some_processes_no_more_is_shown_than_follows() -> None:
    text = "send s = m1 ann -> cid\nsend t = m2 bob -> cid\nreceive r = m1 cid\ns < r\ncomplete ann, bob"
    known = Microcosm.parse(text)
    for a, b in combinations(known.events, 2):
        apart = known.concluded.verdict(a, b) is ConcludedOffline.APART
        assert apart is (
            known.offline(a, b, depth=0).relation is Relation.CONCURRENT
            and known.online(a, b) is not Relation.CONCURRENT
        )


def test_nothing_is_shown_of_a_log_that_lacks_something_or_of_what_it_does_not_name() -> None:
    lacking = Microcosm.parse("send s = m p\nreceive r = m q\nsend t = n z\ncomplete")
    assert lacking.concluded.verdict("s", "t") is Relation.UNKNOWN
    assert lacking.concluded.verdict("s", "nobody") is Relation.UNKNOWN
    assert lacking.concluded.proof("s", "nobody") is None
    lacking.add("s < r")
    assert lacking.concluded.verdict("s", "t") is ConcludedOffline.APART
    lacking.remove("s < r")
    assert lacking.concluded.verdict("s", "t") is Relation.UNKNOWN


def test_what_is_given_otherwise_stays() -> None:
    known = Microcosm.parse("r < a\nr < b\nr < c\na || b\na < c\na <> c\ncomplete")
    shown = known.concluded
    assert shown.verdict("a", "b") is Relation.CONCURRENT
    assert shown.verdict("a", "c") is Relation.BEFORE
    assert shown.verdict("b", "c") is ConcludedOffline.APART
    assert [*shown.with_verdict(Relation.CONCURRENT, "b")] == ["a", "c"]
    assert shown.apart("b") == ["c"]
