"""A backup that is older than a removal: what was removed stays so, at everybody, also after a restore."""

from __future__ import annotations

from random import Random

import pytest

from microcosm.replica.exchange import Removed, decode
from microcosm.replica.ledger.dots import LAST_NUMBER, DotRun
from microcosm.replica.replica import Replica, level
from microcosm.replica.store import Memory
from tests.replica.nodes import is_given
from tests.replica.test_rollback import copy_of

NAMES = ("a", "b", "c")


def all_level(*some: Replica) -> None:
    for _ in range(2):
        for one in some:
            for other in some:
                if one is not other:
                    level(one, other)


@pytest.mark.parametrize("removal", ["remove", "update"])
def test_what_was_removed_after_a_backup_does_not_come_back(removal: str) -> None:
    stores = {name: Memory() for name in NAMES}
    a, b, c = (Replica(store, name, members=NAMES) for name, store in stores.items())
    a.learn("x <> y")
    a.learn("p < q")
    all_level(a, b, c)
    backup = copy_of(stores["a"])
    if removal == "remove":
        b.remove("x <> y")
    else:
        b.update("x < y")
    all_level(a, b, c)
    assert b.counts()["removals"] == 0  # all have it, so nobody holds it any more
    restored = Replica(backup)
    restored.renew()
    all_level(restored, b, c)
    assert len({each.digest() for each in (restored, b, c)}) == 1
    assert not is_given(restored, "x <> y")
    assert is_given(restored, "p < q")
    assert is_given(restored, "x < y") == (removal == "update")
    newcomer = Replica(Memory(), "d")
    level(newcomer, restored)
    assert newcomer.digest() == b.digest()
    again = Replica(backup)
    assert again.digest() == b.digest()
    again.compact()
    assert Replica(backup).digest() == b.digest()
    assert Replica(backup).ledger.struck == b.ledger.struck


def test_many_removals_by_any_of_them_and_backups_at_any_time() -> None:
    random = Random(5)
    stores = {name: Memory() for name in NAMES}
    replicas = {name: Replica(store, name, members=NAMES) for name, store in stores.items()}
    backups = {name: copy_of(store) for name, store in stores.items()}
    for n in range(240):
        one = replicas[random.choice(NAMES)]
        match random.randrange(6):
            case 0 | 1:
                one.learn(f"x{n} < y{n}")
            case 2:
                given = [fact for fact in one.known.givens.external.values() if str(fact).startswith("x")]
                if given:
                    one.remove(random.choice(given))
            case 3:
                level(one, replicas[random.choice([name for name in NAMES if name != one.name])])
            case 4:
                backups[one.name] = copy_of(stores[one.name])
            case 5 if n % 10 == 0:
                name = one.name
                stores[name] = copy_of(backups[name])
                replicas[name] = Replica(stores[name])
                replicas[name].renew()
    all_level(*replicas.values())
    assert len({each.digest() for each in replicas.values()}) == 1
    assert len({tuple(each.ledger.struck) for each in replicas.values()}) == 1


def test_a_removal_of_everything_that_may_come_is_none() -> None:
    """Who invents takes away what it could remove anyway, and nothing that nobody has seen yet."""
    one = Replica(Memory(), "a", incarnation=1)
    one.learn("x < y")
    everything = Removed((), answer=False)
    assert decode(b"\x93\x02\x05\x92\x90\xc2") == everything
    one.strike([DotRun("a", 1, 1, LAST_NUMBER + 1), DotRun("b", 1, 1, LAST_NUMBER + 1)])
    assert not is_given(one, "x < y")
    one.learn("p < q")
    other = Replica(Memory(), "b", incarnation=1)
    other.learn("r < s")
    level(one, other)
    assert is_given(one, "p < q")
    assert is_given(one, "r < s")
