"""What is taken of each author is bounded, and who says most displaces himself."""

from __future__ import annotations

import pytest

from microcosm.replica.admission import Quota, Quotas
from microcosm.replica.ledger import evolution as evolutions
from microcosm.replica.ledger.forgetting import Forgetting
from microcosm.replica.replica import Replica
from microcosm.replica.store import Memory
from tests.replica.nodes import is_given
from tests.replica.test_authors import exchanged, signing


def bounded(name: str, quota: Quota) -> Replica:
    replica = signing(name)
    replica.quotas = Quotas(quota)
    return replica


def of(replica: Replica, name: str) -> list[str]:
    return [event for event in replica.events if event.startswith(name)]


def test_a_rate_lets_everything_through_in_time() -> None:
    a = bounded("a", Quota(rate=1.0, held=210))
    assert a.quotas is not None
    spammer, b = signing("spammer"), signing("b")
    for n in range(200):
        spammer.local(f"spam{n}")
    b.local("b0")
    exchanged(a, spammer)
    exchanged(a, b)
    assert len(of(a, "spam")) == 60
    assert of(a, "b") == ["b0"]
    exchanged(a, spammer)  # what is not taken is not held
    exchanged(a, spammer)
    assert a.quotas.over == {"spammer": "more than 1 evolutions a second"}
    for second in range(1, 141):
        a.quotas.now = float(second)
        exchanged(a, spammer)
        assert len(of(a, "spam")) == 60 + second
    exchanged(a, b)
    exchanged(a, spammer)
    exchanged(b, spammer)
    assert a.digest() == spammer.digest() == b.digest()
    assert a.quotas.over == {}


def test_a_rate_of_less_than_one_a_minute_is_one() -> None:
    """Nothing was ever taken: as many as came in a minute were too few for one."""
    quotas = Quotas(Quota(rate=0.01))
    taken = []
    for second in range(0, 1000, 20):
        quotas.now = float(second)
        if quotas.admits("a", 10):
            taken.append(second)
    assert taken == [0, *range(100, 1000, 100)]


@pytest.mark.parametrize("quota", [Quota(held=20), Quota(bytes=20 * 40)])
def test_what_is_held_of_an_author_is_bounded(quota: Quota) -> None:
    a = bounded("a", quota)
    assert a.quotas is not None
    spammer, b = signing("spammer"), signing("b")
    for n in range(100):
        spammer.learn(f"u{n} < v{n}")
        b.local(f"b{n}")
    for _ in range(3):
        exchanged(a, spammer)
    held = [evolutions.encode(each) for each in a.held_of(a.seen()) if each.dot.replica == "spammer"]
    assert 5 <= len(held) <= (quota.held or 100)
    assert sum(map(len, held)) <= (quota.bytes or 1 << 20)
    for n in range(100):
        spammer.remove(f"u{n} < v{n}")  # these are let in as soon as there is room
    a.quotas.now = 2.0
    exchanged(a, spammer)
    exchanged(b, a)
    assert of(a, "b")[0] == "b0"


def test_a_spammer_displaces_what_it_said_itself() -> None:
    a = Replica(Memory(), "a", incarnation=1, forgetting=Forgetting(size=200))
    a.sign()
    spammer, b = signing("spammer"), signing("b")
    for n in range(30):
        b.local(f"b{n}")
        a.local(f"a{n}")
        b.learn(f"told{n} < b{n}")
    exchanged(a, b)
    for n in range(1000):
        spammer.learn(f"u{n} < told{n % 30}") if n % 2 else spammer.local(f"spam{n}")
        if n % 100 == 0:
            exchanged(a, spammer)
            a.tidy()
    exchanged(a, spammer)
    a.tidy()
    assert len(a.held_of(a.seen())) <= 200 + 200 // 8 + 30
    assert all(a.happened(f"b{n}") and a.happened(f"a{n}") for n in range(30))
    assert all(is_given(a, f"told{n} < b{n}") for n in range(30))
